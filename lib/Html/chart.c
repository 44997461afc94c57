/* Charts, as SVG within the page. */
#include <math.h>

#include "Html/html.h"

enum { WIDTH = 720, HEIGHT = 260, LEFT = 64, RIGHT = 16, TOP = 34, BOTTOM = 40 };

typedef struct scale {
  double least, most, step;
  int from, to; /* pixels */
} scale;

/* Chooses a step of 1, 2 or 5 times a power of ten, so that there are about five steps. */
static scale scale_of(double least, double most, int from, int to) {
  scale s = {least, most, 1, from, to};
  if (!(most > least)) {
    s.least = least - (least != 0 ? fabs(least) * 0.1 : 1);
    s.most = most + (most != 0 ? fabs(most) * 0.1 : 1);
  }
  double rough = (s.most - s.least) / 5, power = pow(10, floor(log10(rough)));
  s.step = rough / power < 1.5   ? power
           : rough / power < 3.5 ? 2 * power
           : rough / power < 7.5 ? 5 * power
                                 : 10 * power;
  s.least = floor(s.least / s.step) * s.step;
  s.most = ceil(s.most / s.step) * s.step;
  return s;
}

static double at(const scale *s, double value) {
  return s->from + (value - s->least) / (s->most - s->least) * (s->to - s->from);
}

static void draw_axes(hd_strbuf *out, const hd_chart *c, const scale *x, const scale *y) {
  for (double v = y->least; v <= y->most + y->step / 2; v += y->step)
    hd_strbuf_printf(out,
                     "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                     "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>",
                     LEFT, WIDTH - RIGHT, at(y, v), at(y, v), LEFT - 6, at(y, v) + 4,
                     fabs(v) < y->step / 1e6 ? 0 : v);
  for (double v = x->least; v <= x->most + x->step * 1e-6; v += x->step)
    hd_strbuf_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.6g</text>", at(x, v),
                     HEIGHT - BOTTOM + 16, fabs(v) < x->step / 1e6 ? 0 : v);
  hd_strbuf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + WIDTH) / 2,
                   HEIGHT - 6);
  hd_html_text(out, c->x_title);
  hd_strbuf_printf(out, "</text><text x=\"%d\" y=\"%d\">", 4, TOP - 10);
  hd_html_text(out, c->y_title);
  hd_strbuf_add(out, "</text>");
}

/* Draws the i-th series; `place` is the position of its name. */
static void draw_series(hd_strbuf *out, const hd_chart *c, int i, int place, const scale *x,
                        const scale *y) {
  const hd_series *s = &c->series[i];
  if (s->line) {
    hd_strbuf_printf(out, "<polyline class=\"s%d\" points=\"", i);
    for (int k = 0; k < c->n; k++)
      if (!isnan(s->y[k]))
        hd_strbuf_printf(out, "%.1f,%.1f ", at(x, c->x[k]), at(y, s->y[k]));
    hd_strbuf_add(out, "\"/>");
  }
  for (int k = 0; k < c->n; k++)
    if (!isnan(s->y[k]))
      hd_strbuf_printf(out, "<circle class=\"s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", i,
                       at(x, c->x[k]), at(y, s->y[k]));
  hd_strbuf_printf(out,
                   "<circle class=\"s%d\" cx=\"%d\" cy=\"%d\" r=\"4\"/><text x=\"%d\" y=\"%d\">", i,
                   LEFT + 110 + 120 * place, TOP - 14, LEFT + 118 + 120 * place, TOP - 10);
  hd_html_text(out, s->name);
  hd_strbuf_add(out, "</text>");
}

void hd_html_chart(hd_strbuf *out, const hd_chart *c) {
  double x_least = INFINITY, x_most = -INFINITY, y_least = INFINITY, y_most = -INFINITY;
  for (int k = 0; k < c->n; k++) {
    x_least = fmin(x_least, c->x[k]);
    x_most = fmax(x_most, c->x[k]);
    for (int i = 0; i < c->n_series; i++) /* fmin ignores NaN */
      y_least = fmin(y_least, c->series[i].y[k]), y_most = fmax(y_most, c->series[i].y[k]);
  }
  if (!isfinite(y_least))
    return;
  scale x = scale_of(x_least, x_most, LEFT, WIDTH - RIGHT);
  if (c->x_counts) { /* start at the first value, with whole steps */
    x.step = fmax(x.step, 1);
    x.least = x_least;
    x.most = fmax(x_most, x_least + 1);
  }
  scale y = scale_of(y_least, y_most, HEIGHT - BOTTOM, TOP);
  hd_strbuf_printf(out, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, HEIGHT);
  hd_html_text(out, c->title);
  hd_strbuf_add(out, "</title>");
  draw_axes(out, c, &x, &y);
  for (int i = 0, place = 0; i < c->n_series; i++) {
    bool has_points = false;
    for (int k = 0; k < c->n; k++)
      has_points |= !isnan(c->series[i].y[k]);
    if (has_points)
      draw_series(out, c, i, place++, &x, &y);
  }
  hd_strbuf_add(out, "</svg><figcaption>");
  hd_html_text(out, c->title);
  hd_strbuf_add(out, "</figcaption></figure>\n");
}

/* ---- strips ---- */

enum { STRIP_HEIGHT = 34, TICK_HEIGHT = 18 };

/* Estimated width of a text in the style sheet's size. */
static double width_of(const char *text) {
  int n = 0;
  for (; *text; text++)
    n += (*text & 0xc0) != 0x80; /* skips UTF-8 continuation bytes */
  return 6.4 * n;
}

static void draw_span(hd_strbuf *out, const hd_span *s) {
  double x = s->from * WIDTH, width = (s->to - s->from) * WIDTH;
  hd_strbuf_printf(out, "<g><rect class=\"span f%d\" x=\"%.2f\" width=\"%.2f\" height=\"%d\"/>",
                   s->colour < 0 ? HD_N_FILLS : s->colour % HD_N_FILLS, x, width, STRIP_HEIGHT);
  if (s->about) {
    hd_strbuf_add(out, "<title>");
    hd_html_text(out, s->about);
    hd_strbuf_add(out, "</title>");
  }
  if (s->name && width_of(s->name) + 6 <= width) {
    hd_strbuf_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x + width / 2,
                     STRIP_HEIGHT / 2 + 4);
    hd_html_text(out, s->name);
    hd_strbuf_add(out, "</text>");
  }
  hd_strbuf_add(out, "</g>");
}

/* Labels of ticks at the ends are aligned inwards. */
static void draw_ticks(hd_strbuf *out, const hd_tick *ticks, int n) {
  double taken = -WIDTH;
  for (int i = 0; i < n; i++) {
    double x = ticks[i].at * WIDTH, width = width_of(ticks[i].name);
    double left = fmin(fmax(x - width / 2, 0), WIDTH - width);
    if (left < taken)
      continue;
    taken = left + width + 8;
    hd_strbuf_printf(out,
                     "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                     "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                     x, x, STRIP_HEIGHT, STRIP_HEIGHT + 4, left + width / 2,
                     STRIP_HEIGHT + TICK_HEIGHT - 3);
    hd_html_text(out, ticks[i].name);
    hd_strbuf_add(out, "</text>");
  }
}

void hd_html_strip(hd_strbuf *out, const char *title, const hd_span *spans, int n,
                   const hd_tick *ticks, int n_ticks) {
  hd_strbuf_printf(out, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH,
                   STRIP_HEIGHT + TICK_HEIGHT);
  hd_html_text(out, title);
  hd_strbuf_add(out, "</title>");
  for (int i = 0; i < n; i++)
    draw_span(out, &spans[i]);
  draw_ticks(out, ticks, n_ticks);
  hd_strbuf_add(out, "</svg><figcaption>");
  hd_html_text(out, title);
  hd_strbuf_add(out, "</figcaption></figure>\n");
}

void hd_html_swatch(hd_strbuf *out, int colour) {
  hd_strbuf_printf(out,
                   "<svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect "
                   "class=\"span f%d\" width=\"10\" height=\"10\"/></svg>",
                   colour < 0 ? HD_N_FILLS : colour % HD_N_FILLS);
}
