/* The two pictures of a report, with one panel per type. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "report.h"
#include "svg.h"

enum { COLUMNS = 3, PANEL_W = 272, PANEL_H = 210, CELL_W = 346, CELL_H = 292, LEFT = 44 };
enum { PAGE_W = LEFT + COLUMNS * CELL_W };

/* The types in the report, in the order of the enumeration. */
static int types_of(const report *r, heddle_elem list[HEDDLE_N_ELEMS]) {
  int n = 0;
  for (int elem = 0; elem < HEDDLE_N_ELEMS; elem++) {
    bool there = false;
    for (int32_t i = 0; i < r->n; i++)
      there |= (int)r->cell[i].elem == elem;
    if (there)
      list[n++] = (heddle_elem)elem;
  }
  return n;
}

/* ---- roofline ---- */

/* Measured on an H200 (docs/bench/README.md): TFLOP/s (dense equivalent) of its tensor cores with
 * the loads of a product, sustained at the power limit, and its read bandwidth in TB/s. */
static const struct ceiling {
  heddle_elem elem;
  double issue, fed;
} ceilings[] = {{HEDDLE_BF16, 1421, 1200}, {HEDDLE_F16, 1332, 0},   {HEDDLE_E4M3, 2683, 2114},
                {HEDDLE_E5M2, 2683, 2114}, {HEDDLE_S8, 3170, 2237}, {HEDDLE_U8, 3170, 2237},
                {HEDDLE_TF32, 751, 530}};
static const double read_tb = 4.53;

static struct ceiling ceiling_of(heddle_elem elem) {
  for (size_t i = 0; i < HD_COUNT(ceilings); i++)
    if (ceilings[i].elem == elem)
      return ceilings[i];
  return (struct ceiling){.elem = elem};
}

/* Draws a ceiling from the memory slope to the right edge. Its number is above or below the
 * line. */
static void draw_ceiling(hd_strbuf *out, const svg_panel *p, double rate, const char *style,
                         bool above) {
  char text[32];
  if (rate <= 0)
    return;
  double right = p->left + p->width, y = svg_y(p, rate);
  snprintf(text, sizeof text, "%.0f", rate);
  svg_line(out, svg_x(p, rate / read_tb), y, right, y, style);
  svg_text(out, right + 4, above ? y : y + 8, 10, "start", text);
}

static double intensity(const report_cell *c) {
  return 2.0 * (double)c->m * (double)c->n * (double)c->k / report_all_bytes(c);
}

static double ours_rate(const report_cell *c) {
  const report_figure *f = &c->of[REPORT_HEDDLE];
  return report_tflops(c, report_is_sustained(c) ? f->sustained_us : f->us);
}

static double peer_rate(const report_cell *c) {
  return report_tflops(c, report_peer(c, report_is_sustained(c)));
}

/* Points of Heddle or of the peers. */
static void draw_points(hd_strbuf *out, const svg_panel *p, const report *r, heddle_elem elem,
                        double (*rate_of)(const report_cell *cell), const char *style) {
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    double rate = rate_of(c);
    if (c->elem == elem && rate > 0)
      svg_mark(out, svg_x(p, intensity(c)), svg_y(p, rate), 0, style);
  }
}

/* Extends from … to so that they include the value. */
static void widen(double value, double *from, double *to) {
  *from = value > 0 ? fmin(*from, value) : *from;
  *to = value > 0 ? fmax(*to, value) : *to;
}

/* The axes include the slope and the ceilings. */
static bool roofline_axes(const report *r, svg_axis *x, svg_axis *y) {
  double x_lo = INFINITY, x_hi = 0, y_lo = INFINITY, y_hi = 0;
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    struct ceiling roof = ceiling_of(c->elem);
    widen(intensity(c), &x_lo, &x_hi);
    widen(ours_rate(c), &y_lo, &y_hi);
    widen(peer_rate(c), &y_lo, &y_hi);
    widen(roof.issue, &y_lo, &y_hi);
    widen(roof.issue / read_tb, &x_lo, &x_hi);
    widen(roof.fed / read_tb, &x_lo, &x_hi);
  }
  widen(isfinite(x_lo) ? x_lo * read_tb : 0, &y_lo, &y_hi);
  *x = (svg_axis){.step = 4, .label = "2·M·N·K a byte of packed A, B and D"};
  *y = (svg_axis){.step = 4, .label = "TFLOP/s"};
  return svg_axis_around(x, x_lo, x_hi) && svg_axis_around(y, y_lo, y_hi);
}

static void roofline_legend(hd_strbuf *out, const report *r, svg_legend *l) {
  char peers[48], best[64];
  report_peer_names(r, peers, sizeof peers);
  snprintf(best, sizeof best, "the best of %s", peers);
  svg_key(out, l, NULL, "c0", 0, "Heddle");
  svg_key(out, l, NULL, "c1 open", 0, best);
  svg_key(out, l, "roof", NULL, 0,
          "reading DRAM, 4.53 TB/s; tensor cores without loads, sustained");
  svg_key(out, l, "fed", NULL, 0, "with the loads of a product");
}

static void draw_roofline(hd_strbuf *out, const report *r, heddle_elem elem, const svg_panel *p) {
  struct ceiling c = ceiling_of(elem);
  double low = fmax(p->x.lo, p->y.lo / read_tb);
  double high = fmin(p->x.hi, (c.issue > 0 ? c.issue : p->y.hi) / read_tb);
  svg_line(out, svg_x(p, low), svg_y(p, low * read_tb), svg_x(p, high), svg_y(p, high * read_tb),
           "roof");
  draw_ceiling(out, p, c.issue, "roof", true);
  draw_ceiling(out, p, c.fed, "fed", false);
  draw_points(out, p, r, elem, ours_rate, "c0");
  draw_points(out, p, r, elem, peer_rate, "c1 open");
}

/* ---- speed-up ---- */

typedef struct shape {
  int64_t m, k;
} shape;

/* The shapes of A in the report, in order of their first cases; *list is owned. */
static int32_t shapes_of(const report *r, shape **list) {
  int32_t n = 0, cap = 0;
  *list = NULL;
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    int32_t at = 0;
    while (at < n && ((*list)[at].m != c->m || (*list)[at].k != c->k))
      at++;
    if (at == n)
      HD_PUSH(*list, n, cap, ((shape){c->m, c->k}));
  }
  return n;
}

static const char *colour_of(int32_t i) {
  static const char *const colours[SVG_N_COLOURS] = {"c0", "c1", "c2", "c3", "c4", "c5"};
  return colours[i % SVG_N_COLOURS];
}

static bool speedup_axes(const report *r, svg_axis *x, svg_axis *y) {
  double x_lo = INFINITY, x_hi = 0, y_lo = 1, y_hi = 1;
  for (int32_t i = 0; i < r->n; i++) {
    widen((double)r->cell[i].n, &x_lo, &x_hi);
    widen(report_gain(&r->cell[i]), &y_lo, &y_hi);
  }
  *x = (svg_axis){.step = 4, .label = "N"};
  *y = (svg_axis){.step = 0.2, .linear = true, .label = "time of the best peer over Heddle's"};
  while ((y_hi - y_lo) / y->step > 8)
    y->step *= 2;
  return svg_axis_around(x, x_lo, x_hi) && svg_axis_around(y, y_lo, y_hi);
}

static void speedup_legend(hd_strbuf *out, const report *r, svg_legend *l) {
  shape *list;
  int32_t n = shapes_of(r, &list);
  for (int32_t i = 0; i < n; i++) {
    char text[64];
    snprintf(text, sizeof text, "%lld × %lld", (long long)list[i].m, (long long)list[i].k);
    svg_key(out, l, colour_of(i), colour_of(i), i % SVG_N_MARKS, text);
  }
  hd_free(list);
}

static int by_n(const void *a, const void *b) {
  int64_t x = (*(const report_cell *const *)a)->n, y = (*(const report_cell *const *)b)->n;
  return (x > y) - (x < y);
}

/* The gains of one shape, by N. */
static void draw_line(hd_strbuf *out, const report *r, heddle_elem elem, shape s, int32_t index,
                      const svg_panel *p) {
  const report_cell **list = NULL;
  int32_t n = 0, cap = 0;
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    if (c->elem == elem && c->m == s.m && c->k == s.k && report_gain(c) > 0)
      HD_PUSH(list, n, cap, c);
  }
  if (n)
    qsort(list, (size_t)n, sizeof *list, by_n);
  double was_x = 0, was_y = 0;
  for (int32_t i = 0; i < n; i++) {
    double x = svg_x(p, (double)list[i]->n), y = svg_y(p, report_gain(list[i]));
    if (i)
      svg_line(out, was_x, was_y, x, y, colour_of(index));
    svg_mark(out, x, y, index % SVG_N_MARKS, colour_of(index));
    was_x = x;
    was_y = y;
  }
  hd_free(list);
}

static void draw_speedup(hd_strbuf *out, const report *r, heddle_elem elem, const svg_panel *p) {
  shape *list;
  int32_t n = shapes_of(r, &list);
  svg_line(out, p->left, svg_y(p, 1), p->left + p->width, svg_y(p, 1), "roof");
  for (int32_t i = 0; i < n; i++)
    draw_line(out, r, elem, list[i], i, p);
  hd_free(list);
}

/* ---- pages ---- */

typedef struct page {
  const char *name, *title, *about;
  bool (*axes)(const report *r, svg_axis *x, svg_axis *y); /* false: nothing to draw */
  void (*legend)(hd_strbuf *out, const report *r, svg_legend *l);
  void (*draw)(hd_strbuf *out, const report *r, heddle_elem elem, const svg_panel *p);
} page;

static const page pages[] = {
    {"roofline.svg", "Roofline of an H200",
     "Each point is a case; N ≥ 1024 sustained. 2·M·N·K operations, for s8 TOP/s.",
     roofline_axes, roofline_legend, draw_roofline},
    {"speedup.svg", "Speed-up over the best peer",
     "The best of cuBLAS (dense), cuSPARSELt (every algorithm) and, if given, CUTLASS in each "
     "case; N ≥ 1024 sustained.",
     speedup_axes, speedup_legend, draw_speedup},
};

/* Draws title, legend and panels; returns the height of the page. */
static double draw_page(hd_strbuf *out, const report *r, const page *of) {
  heddle_elem types[HEDDLE_N_ELEMS];
  int n = types_of(r, types);
  svg_panel p = {.width = PANEL_W, .height = PANEL_H};
  svg_legend legend = {.left = LEFT, .right = PAGE_W, .x = LEFT, .y = 68};
  svg_text(out, LEFT, 26, 16, "start", of->title);
  svg_text(out, LEFT, 46, 12, "start", of->about);
  if (!of->axes(r, &p.x, &p.y))
    return legend.y;
  of->legend(out, r, &legend);
  for (int i = 0; i < n; i++) {
    p.left = LEFT + i % COLUMNS * CELL_W;
    p.top = legend.y + 38 + i / COLUMNS * CELL_H;
    svg_axes(out, &p, heddle_elem_get(types[i])->name);
    of->draw(out, r, types[i], &p);
  }
  return legend.y + (n + COLUMNS - 1) / COLUMNS * CELL_H;
}

static heddle_status write_page(heddle_context *ctx, const report *r, const page *of,
                                const char *folder) {
  hd_strbuf body = {0}, out = {0}, path = {0};
  svg_begin(&out, PAGE_W, draw_page(&body, r, of), of->title);
  hd_strbuf_add(&out, hd_strbuf_text(&body));
  svg_end(&out);
  hd_strbuf_printf(&path, "%s/%s", folder, of->name);
  heddle_status status = hd_file_write(ctx, hd_strbuf_text(&path), hd_strbuf_text(&out), out.len);
  hd_strbuf_free(&path);
  hd_strbuf_free(&body);
  hd_strbuf_free(&out);
  return status;
}

heddle_status report_plot(heddle_context *ctx, const report *r, const char *folder) {
  HD_TRY(hd_file_mkdirs(ctx, folder));
  for (size_t i = 0; i < HD_COUNT(pages); i++)
    HD_TRY(write_page(ctx, r, &pages[i], folder));
  return HEDDLE_OK;
}
