#include "tune_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "cli.h"
#include "svg.h"

enum { PAGE_W = 880, LEFT = 64, TOP = 106, SIDE_W = 780, SIDE_H = 520, WORST = 5 };

typedef struct point {
  const hd_product *product;
  const char *schedule;
  double predicted, measured;
} point;

typedef struct points {
  point *list; /* owned */
  int64_t n, cap;
} points;

static heddle_status add_point(void *user, const product_times *t, const hd_timed *timed,
                               const hd_cost *cost) {
  points *p = user;
  HD_PUSH(p->list, p->n, p->cap,
          ((point){&t->product, timed->schedule, cost->seconds, timed->seconds}));
  return HEDDLE_OK;
}

static double error_of(const point *p) {
  return fabs(p->predicted / p->measured - 1);
}

/* Orders by distance from the diagonal, farthest first. */
static int by_distance(const void *a, const void *b) {
  const point *x = a, *y = b;
  double dx = fabs(log(x->predicted / x->measured)), dy = fabs(log(y->predicted / y->measured));
  return (dx < dy) - (dx > dy);
}

/* The worst point of each product from a sorted list, at most WORST; returns their number. */
static int32_t worst_of(const points *p, const point *worst[WORST]) {
  int32_t n = 0;
  for (int64_t i = 0; i < p->n && n < WORST; i++) {
    int32_t at = 0;
    while (at < n && worst[at]->product != p->list[i].product)
      at++;
    if (at == n)
      worst[n++] = &p->list[i];
  }
  return n;
}

/* The number of points whose A has this type. */
static int32_t count_of(const points *p, heddle_elem elem, double *error) {
  int32_t n = 0;
  double sum = 0;
  for (int64_t i = 0; i < p->n; i++)
    if (p->list[i].product->a == elem) {
      n++;
      sum += error_of(&p->list[i]);
    }
  *error = n ? sum / n : 0;
  return n;
}

static void format_point(const point *p, char *text, size_t size) {
  const hd_product *x = p->product;
  snprintf(text, size, "%.2f us predicted, %.2f measured: %s %lld x %lld x %lld, D %s %s",
           p->predicted * 1e6, p->measured * 1e6, heddle_elem_get(x->a)->name, (long long)x->m,
           (long long)x->k, (long long)x->n, heddle_elem_get(x->d)->name,
           x->d_col_major ? "col_major" : "row_major");
}

/* ---- the picture ---- */

static const char *const colours[SVG_N_COLOURS] = {"c0 open", "c1 open", "c2 open",
                                                   "c3 open", "c4 open", "c5 open"};

/* Draws y = factor * x within the panel. */
static void draw_ratio(hd_strbuf *out, const svg_panel *p, double factor, const char *class) {
  double from = fmax(p->x.lo, p->y.lo / factor), to = fmin(p->x.hi, p->y.hi / factor);
  if (from < to)
    svg_line(out, svg_x(p, from), svg_y(p, from * factor), svg_x(p, to), svg_y(p, to * factor),
             class);
}

static void draw_types(hd_strbuf *out, const points *p, const svg_panel *panel) {
  svg_legend legend = {.left = LEFT, .right = PAGE_W, .x = LEFT, .y = 50};
  int32_t index = 0;
  for (int elem = 0; elem < HEDDLE_N_ELEMS; elem++) {
    double error;
    char text[64];
    int32_t n = count_of(p, (heddle_elem)elem, &error);
    const char *class = colours[index % SVG_N_COLOURS];
    if (!n)
      continue;
    snprintf(text, sizeof text, "%s: %d, mean error %.1f %%",
             heddle_elem_get((heddle_elem)elem)->name, n, error * 100);
    svg_key(out, &legend, NULL, class, index % SVG_N_MARKS, text);
    for (int64_t i = 0; i < p->n; i++)
      if ((int)p->list[i].product->a == elem)
        svg_mark(out, svg_x(panel, p->list[i].predicted * 1e6),
                 svg_y(panel, p->list[i].measured * 1e6), index % SVG_N_MARKS, class);
    index++;
  }
  svg_key(out, &legend, "roof", NULL, 0, "as predicted");
  svg_key(out, &legend, "fed", NULL, 0, "within a fifth");
}

static void draw_worst(hd_strbuf *out, const points *p, double y) {
  const point *worst[WORST];
  int32_t n = worst_of(p, worst);
  svg_text(out, LEFT, y, 12, "start", "Largest errors, one for each product:");
  for (int32_t i = 0; i < n; i++) {
    char text[160];
    format_point(worst[i], text, sizeof text);
    svg_text(out, LEFT, y + 18 * (i + 1), 11, "start", text);
  }
}

static heddle_status draw(heddle_context *ctx, const points *p, const char *device,
                          const char *path) {
  double least = INFINITY, most = 0;
  hd_strbuf out = {0};
  char about[128];
  for (int64_t i = 0; i < p->n; i++) {
    least = fmin(least, fmin(p->list[i].predicted, p->list[i].measured) * 1e6);
    most = fmax(most, fmax(p->list[i].predicted, p->list[i].measured) * 1e6);
  }
  svg_panel panel = {.left = LEFT, .top = TOP, .width = SIDE_W, .height = SIDE_H};
  panel.x = panel.y = (svg_axis){.step = 2};
  svg_axis_around(&panel.x, least, most);
  svg_axis_around(&panel.y, least, most);
  panel.x.label = "predicted, us";
  panel.y.label = "measured, us";
  snprintf(about, sizeof about, "%lld schedules; the model of an %s", (long long)p->n, device);
  svg_begin(&out, PAGE_W, TOP + SIDE_H + 64 + 18 * (WORST + 1), "Predicted against measured times");
  svg_text(&out, LEFT, 26, 16, "start", "Predicted against measured times");
  svg_axes(&out, &panel, about);
  draw_types(&out, p, &panel);
  draw_ratio(&out, &panel, 1, "roof");
  draw_ratio(&out, &panel, 1.2, "fed");
  draw_ratio(&out, &panel, 1 / 1.2, "fed");
  draw_worst(&out, p, TOP + SIDE_H + 58);
  svg_end(&out);
  heddle_status status = hd_file_write(ctx, path, hd_strbuf_text(&out), out.len);
  hd_strbuf_free(&out);
  return status;
}

/* ---- the table ---- */

static void print(const points *p) {
  double sum = 0;
  for (int64_t i = 0; i < p->n; i++)
    sum += error_of(&p->list[i]);
  for (int elem = 0; elem < HEDDLE_N_ELEMS; elem++) {
    double error;
    int32_t n = count_of(p, (heddle_elem)elem, &error);
    if (n)
      printf("%-6s %6d schedules, mean error %.1f %%\n", heddle_elem_get((heddle_elem)elem)->name,
             n, error * 100);
  }
  printf("all    %6lld schedules, mean error %.1f %%\n", (long long)p->n, sum / (double)p->n * 100);
  const point *worst[WORST];
  int32_t n_worst = worst_of(p, worst);
  for (int32_t i = 0; i < n_worst; i++) {
    char text[160];
    format_point(worst[i], text, sizeof text);
    cli_print("worst  %s\n       %s\n", text, worst[i]->schedule);
  }
}

heddle_status tune_plot(heddle_context *ctx, const all_times *all, const hd_device_model *ceilings,
                        const char *path) {
  points p = {0};
  heddle_status status = tune_times_predict(ctx, all, ceilings, add_point, &p);
  if (status == HEDDLE_OK) {
    qsort(p.list, (size_t)p.n, sizeof *p.list, by_distance);
    status = draw(ctx, &p, ceilings->device, path);
  }
  if (status == HEDDLE_OK)
    print(&p);
  hd_free(p.list);
  return status;
}
