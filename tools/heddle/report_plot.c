/* The two pictures of a report: one panel a type. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "report.h"
#include "svg.h"

enum { COLUMNS = 2, PANEL_W = 430, PANEL_H = 260, PAGE_W = 1040, ROW_H = 340, HEAD = 60 };

static const char ours_style[] = "fill=\"#1f6feb\"",
                  peer_style[] = "fill=\"white\" stroke=\"#c0392b\"";
static const char *const colours[] = {"#1f6feb", "#c0392b", "#2e8b57", "#8e44ad",
                                      "#d98200", "#16808a", "#7a5c3e", "#555555"};

/* The types of the report, in their own order. */
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

static svg_panel panel_at(int i) {
  return (svg_panel){.left = 60 + i % COLUMNS * (PANEL_W + 80),
                     .top = HEAD + 30 + i / COLUMNS * ROW_H,
                     .width = PANEL_W,
                     .height = PANEL_H};
}

static int page_height(int n) { return HEAD + (n + COLUMNS - 1) / COLUMNS * ROW_H + 10; }

static double tflops(const report_cell *c, double us) {
  return us > 0 ? 2e-6 * (double)c->m * (double)c->n * (double)c->k / us : 0;
}

/* ---- roofline ---- */

/* Dense-equivalent TFLOP/s of an H200's tensor cores fed as a product feeds them, sustained at its
 * power cap; and what its memory gives to a read, TB/s. Measured: docs/bench/README.md. */
static const struct ceiling {
  heddle_elem elem;
  double issue, fed;
} ceilings[] = {{HEDDLE_BF16, 1421, 1200}, {HEDDLE_F16, 1332, 0},    {HEDDLE_E4M3, 2683, 2114},
                {HEDDLE_E5M2, 2683, 2114}, {HEDDLE_S8, 3170, 2237},  {HEDDLE_U8, 3170, 2237},
                {HEDDLE_TF32, 751, 530}};
static const double read_tb = 4.53;

static void draw_ceiling(hd_strbuf *out, const svg_panel *p, double rate, const char *what,
                         double dy) {
  char text[64];
  if (rate <= 0)
    return;
  double corner = rate / read_tb;
  svg_line(out, p, corner > p->x_lo ? corner : p->x_lo, rate, p->x_hi, rate, "stroke=\"#888\"");
  snprintf(text, sizeof text, "%s %.0f", what, rate);
  svg_label(out, p, p->x_hi, rate, -4, dy, "end", "#666", text);
}

static void draw_ceilings(hd_strbuf *out, const svg_panel *p, heddle_elem elem) {
  double top = 0;
  for (size_t i = 0; i < sizeof ceilings / sizeof *ceilings; i++)
    if (ceilings[i].elem == elem) {
      draw_ceiling(out, p, ceilings[i].issue, "issue, sustained:", -3);
      draw_ceiling(out, p, ceilings[i].fed, "fed by a product's traffic:", 11);
      top = ceilings[i].issue;
    }
  double right = top > 0 ? top / read_tb : p->y_hi / read_tb;
  svg_line(out, p, p->x_lo, p->x_lo * read_tb, right, right * read_tb, "stroke=\"#888\"");
  svg_label(out, p, p->x_lo * 16, p->x_lo * 16 * read_tb, 8, 10, "start", "#666",
            "DRAM, read: 4.53 TB/s");
}

static void draw_roofline(hd_strbuf *out, const report *r, heddle_elem elem, int index) {
  svg_panel p = panel_at(index);
  p.x_lo = 0.5;
  p.x_hi = 16384;
  p.y_lo = 1;
  p.y_hi = 4096;
  svg_axes(out, &p, heddle_elem_get(elem)->name, "2·M·N·K a byte of packed A, B and D", "TFLOP/s",
           2, 0);
  draw_ceilings(out, &p, elem);
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    double x = 2.0 * (double)c->m * (double)c->n * (double)c->k / report_all_bytes(c);
    bool sustained = report_is_sustained(c);
    double peer = tflops(c, report_peer(c, sustained));
    const report_figure *f = &c->of[REPORT_HEDDLE];
    double ours = tflops(c, sustained ? f->sustained_us : f->us);
    if (c->elem == elem && peer > 0)
      svg_dot(out, &p, x, peer, peer_style);
    if (c->elem == elem && ours > 0)
      svg_dot(out, &p, x, ours, ours_style);
  }
}

/* ---- speed-up ---- */

typedef struct shape {
  int64_t m, k;
} shape;

static int by_n(const void *a, const void *b) {
  int64_t x = (*(const report_cell *const *)a)->n, y = (*(const report_cell *const *)b)->n;
  return (x > y) - (x < y);
}

/* The cases of one matrix that have a gain, by N; list has room for all. */
static int32_t line_of(const report *r, heddle_elem elem, shape s, const report_cell **list) {
  int32_t n = 0;
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    if (c->elem == elem && c->m == s.m && c->k == s.k && report_gain(c) > 0)
      list[n++] = c;
  }
  qsort(list, (size_t)n, sizeof *list, by_n);
  return n;
}

static void draw_line(hd_strbuf *out, const svg_panel *p, const report_cell **list, int32_t n,
                      int colour) {
  char stroke[64], fill[64], text[64];
  const char *c = colours[colour % 8];
  snprintf(stroke, sizeof stroke, "stroke=\"%s\" stroke-width=\"1.5\"", c);
  snprintf(fill, sizeof fill, "fill=\"%s\"", c);
  for (int32_t i = 0; i < n; i++) {
    if (i)
      svg_line(out, p, (double)list[i - 1]->n, report_gain(list[i - 1]), (double)list[i]->n,
               report_gain(list[i]), stroke);
    svg_dot(out, p, (double)list[i]->n, report_gain(list[i]), fill);
  }
  snprintf(text, sizeof text, "%lld × %lld", (long long)list[0]->m, (long long)list[0]->k);
  svg_text(out, p->left + p->width - 90, p->top + 16 + 13 * colour, 10, "start", text);
  hd_strbuf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\" fill=\"%s\"/>\n",
                   p->left + p->width - 102, p->top + 8 + 13.0 * colour, c);
}

static void draw_speedup(hd_strbuf *out, const report *r, heddle_elem elem, int index) {
  svg_panel p = panel_at(index);
  int n_lines = 0;
  p.x_lo = 1;
  p.x_hi = 16384;
  p.y_lo = 0.6;
  p.y_hi = 2.4;
  p.y_linear = true;
  svg_axes(out, &p, heddle_elem_get(elem)->name, "N", "time of the best peer over Heddle's", 2,
           0.2);
  svg_line(out, &p, p.x_lo, 1, p.x_hi, 1, "stroke=\"black\"");
  const report_cell **list = malloc(sizeof *list * (size_t)(r->n ? r->n : 1));
  for (int32_t i = 0; list && i < r->n; i++) {
    shape s = {r->cell[i].m, r->cell[i].k};
    int32_t n = r->cell[i].elem == elem ? line_of(r, elem, s, list) : 0;
    bool first = n > 0;
    for (int32_t j = 0; j < i; j++)
      first = first && !(r->cell[j].elem == elem && r->cell[j].m == s.m && r->cell[j].k == s.k);
    if (first)
      draw_line(out, &p, list, n, n_lines++);
  }
  free(list);
}

/* ---- pages ---- */

typedef void draw_fn(hd_strbuf *out, const report *r, heddle_elem elem, int index);

static heddle_status write_page(heddle_context *ctx, const report *r, draw_fn *draw,
                                const char *title, const char *legend, const char *folder,
                                const char *name) {
  heddle_elem types[HEDDLE_N_ELEMS];
  int n = types_of(r, types);
  hd_strbuf out = {0}, path = {0};
  svg_begin(&out, PAGE_W, page_height(n), title);
  svg_text(&out, 60, 26, 16, "start", title);
  svg_text(&out, 60, 46, 12, "start", legend);
  for (int i = 0; i < n; i++)
    draw(&out, r, types[i], i);
  svg_end(&out);
  hd_strbuf_printf(&path, "%s/%s", folder, name);
  heddle_status status = hd_file_write(ctx, hd_strbuf_text(&path), hd_strbuf_text(&out), out.len);
  hd_strbuf_free(&path);
  hd_strbuf_free(&out);
  return status;
}

heddle_status report_plot(heddle_context *ctx, const report *r, const char *folder) {
  HD_TRY(hd_file_mkdirs(ctx, folder));
  HD_TRY(
      write_page(ctx, r, draw_roofline, "Roofline of an H200",
                 "Filled: Heddle. Open: the best of cuBLAS, cuSPARSELt, CUTLASS. From N = 1024 on "
                 "sustained.",
                 folder, "roofline.svg"));
  return write_page(
      ctx, r, draw_speedup, "Speed-up over the best peer",
      "The best of cuBLAS (dense), cuSPARSELt (every algorithm) and CUTLASS in each case; "
      "from N = 1024 on sustained.",
      folder, "speedup.svg");
}
