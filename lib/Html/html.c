#include "Html/html.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void hd_html_text(hd_strbuf *out, const char *text) {
  for (; *text; text++) {
    const char *as = *text == '<'   ? "&lt;"
                     : *text == '>' ? "&gt;"
                     : *text == '&' ? "&amp;"
                     : *text == '"' ? "&quot;"
                                    : NULL;
    if (as)
      hd_strbuf_add(out, as);
    else
      hd_strbuf_addn(out, text, 1);
  }
}

void hd_html_query(hd_strbuf *out, const char *text) {
  for (; *text; text++)
    if (isalnum((unsigned char)*text) || strchr("-_.", *text))
      hd_strbuf_addn(out, text, 1);
    else
      hd_strbuf_printf(out, "%%%02X", (unsigned char)*text);
}

void hd_html_begin(hd_strbuf *out, const char *title, const hd_html_entry *entries, int n,
                   const char *here) {
  hd_strbuf_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width\"><title>Heddle: ");
  hd_html_text(out, title);
  hd_strbuf_add(out, "</title><link rel=\"stylesheet\" href=\"/style.css\"></head><body><header>"
                     "<strong>Heddle</strong><nav>");
  for (int i = 0; i < n; i++)
    hd_strbuf_printf(out, "<a href=\"%s\"%s>%s</a>", entries[i].path,
                     strcmp(entries[i].path, here) == 0 ? " aria-current=\"page\"" : "",
                     entries[i].title);
  hd_strbuf_add(out, "</nav></header><main><h1>");
  hd_html_text(out, title);
  hd_strbuf_add(out, "</h1>\n");
}

void hd_html_end(hd_strbuf *out) {
  hd_strbuf_add(out, "</main></body></html>\n");
}

/* ---- cells ---- */

void hd_cell_as_text(hd_strbuf *out, const hd_rows *rows, int row, int col) {
  hd_html_text(out, hd_cell_text(rows, row, col));
}

void hd_cell_as_number(hd_strbuf *out, const hd_rows *rows, int row, int col) {
  const char *text = hd_cell(rows, row, col);
  if (text)
    hd_strbuf_printf(out, "<span class=\"n\">%.6g</span>", strtod(text, NULL));
}

void hd_cell_as_us(hd_strbuf *out, const hd_rows *rows, int row, int col) {
  const char *text = hd_cell(rows, row, col);
  if (text)
    hd_strbuf_printf(out, "<span class=\"n\">%.2f</span>", strtod(text, NULL));
}

void hd_cell_as_time(hd_strbuf *out, const hd_rows *rows, int row, int col) {
  char time[32];
  if (!hd_cell(rows, row, col))
    return;
  hd_time_format(hd_cell_int(rows, row, col), time);
  hd_strbuf_printf(out, "<time datetime=\"%s\">%.10s %.8s</time>", time, time, time + 11);
}

void hd_cell_as_duration(hd_strbuf *out, const hd_rows *rows, int row, int col) {
  static const struct {
    double seconds;
    const char *unit;
  } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  const char *text = hd_cell(rows, row, col);
  double s = text ? strtod(text, NULL) : 0;
  size_t i = 0;
  while (i < HD_COUNT(units) - 1 && s < 2 * units[i].seconds)
    i++;
  if (text)
    hd_strbuf_printf(out, "<span class=\"n\">%.0f %s</span>", s / units[i].seconds, units[i].unit);
}

void hd_cell_as_code(hd_strbuf *out, const hd_rows *rows, int row, int col) {
  hd_strbuf_add(out, "<code>");
  hd_html_text(out, hd_cell_text(rows, row, col));
  hd_strbuf_add(out, "</code>");
}

void hd_cell_as_hash(hd_strbuf *out, const hd_rows *rows, int row, int col) {
  const char *text = hd_cell_text(rows, row, col);
  hd_strbuf_add(out, "<code title=\"");
  hd_html_text(out, text);
  hd_strbuf_add(out, "\">");
  for (int i = 0; i < 8 && text[i]; i++)
    hd_html_text(out, (char[]){text[i], '\0'});
  hd_strbuf_add(out, "</code>");
}

/* Numbers stand at the right of their column, and so does its title. */
static const char *class_of(const hd_html_column *column) {
  bool is_number = column->cell == hd_cell_as_number || column->cell == hd_cell_as_us ||
                   column->cell == hd_cell_as_duration;
  return is_number ? " class=\"r\"" : "";
}

void hd_html_table(hd_strbuf *out, const char *heading, const hd_rows *rows,
                   const hd_html_column *columns, int n, const char *none) {
  if (heading)
    hd_strbuf_printf(out, "<h2>%s</h2>\n", heading);
  if (!rows->n) {
    hd_strbuf_printf(out, "<p class=\"none\">%s</p>\n", none);
    return;
  }
  hd_strbuf_add(out, "<table><thead><tr>");
  for (int k = 0; k < n; k++)
    hd_strbuf_printf(out, "<th%s>%s</th>", class_of(&columns[k]), columns[k].title);
  hd_strbuf_add(out, "</tr></thead><tbody>\n");
  for (int i = 0; i < rows->n; i++) {
    hd_strbuf_add(out, "<tr>");
    for (int k = 0; k < n; k++) {
      hd_strbuf_printf(out, "<td%s>", class_of(&columns[k]));
      columns[k].cell(out, rows, i, columns[k].col);
      hd_strbuf_add(out, "</td>");
    }
    hd_strbuf_add(out, "</tr>\n");
  }
  hd_strbuf_add(out, "</tbody></table>\n");
}

/* ---- charts ---- */

enum { WIDTH = 720, HEIGHT = 260, LEFT = 64, RIGHT = 16, TOP = 34, BOTTOM = 40 };

typedef struct scale {
  double least, most, step;
  int from, to; /* pixels */
} scale;

/* Bounds and a step of 1, 2 or 5 times a power of ten: about five of them. */
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

static bool has_points(const hd_chart *c, const hd_series *s) {
  for (int k = 0; k < c->n; k++)
    if (!isnan(s->y[k]))
      return true;
  return false;
}

/* The i-th series; `place` is that of its name. */
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
    for (int i = 0; i < c->n_series; i++) /* fmin leaves NaN out */
      y_least = fmin(y_least, c->series[i].y[k]), y_most = fmax(y_most, c->series[i].y[k]);
  }
  if (!isfinite(y_least))
    return;
  scale x = scale_of(x_least, x_most, LEFT, WIDTH - RIGHT);
  if (c->x_counts) { /* from the first one on, and no half of one */
    x.step = fmax(x.step, 1);
    x.least = x_least;
    x.most = fmax(x_most, x_least + 1);
  }
  scale y = scale_of(y_least, y_most, HEIGHT - BOTTOM, TOP);
  hd_strbuf_printf(out, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, HEIGHT);
  hd_html_text(out, c->title);
  hd_strbuf_add(out, "</title>");
  draw_axes(out, c, &x, &y);
  for (int i = 0, place = 0; i < c->n_series; i++)
    if (has_points(c, &c->series[i]))
      draw_series(out, c, i, place++, &x, &y);
  hd_strbuf_add(out, "</svg><figcaption>");
  hd_html_text(out, c->title);
  hd_strbuf_add(out, "</figcaption></figure>\n");
}
