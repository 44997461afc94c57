#include "svg.h"

#include <math.h>
#include <stdio.h>

static double clamp(double t) { return t < 0 ? 0 : t > 1 ? 1 : t; }

static double at_x(const svg_panel *p, double x) {
  return p->left + p->width * clamp(log2(x / p->x_lo) / log2(p->x_hi / p->x_lo));
}

static double at_y(const svg_panel *p, double y) {
  double t = p->y_linear ? (y - p->y_lo) / (p->y_hi - p->y_lo)
                         : log2(y / p->y_lo) / log2(p->y_hi / p->y_lo);
  return p->top + p->height * (1 - clamp(t));
}

void svg_begin(hd_strbuf *out, int width, int height, const char *title) {
  hd_strbuf_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n"
                   "<title>%s</title>\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
                   width, height, width, height, title, width, height);
}

void svg_end(hd_strbuf *out) { hd_strbuf_add(out, "</svg>\n"); }

void svg_text(hd_strbuf *out, double x, double y, int size, const char *anchor, const char *text) {
  hd_strbuf_printf(out,
                   "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\">%s</text>\n", x,
                   y, size, anchor, text);
}

void svg_line(hd_strbuf *out, const svg_panel *p, double x0, double y0, double x1, double y1,
              const char *style) {
  hd_strbuf_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n",
                   at_x(p, x0), at_y(p, y0), at_x(p, x1), at_y(p, y1), style);
}

void svg_dot(hd_strbuf *out, const svg_panel *p, double x, double y, const char *style) {
  hd_strbuf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" %s/>\n", at_x(p, x), at_y(p, y),
                   style);
}

void svg_label(hd_strbuf *out, const svg_panel *p, double x, double y, double dx, double dy,
               const char *anchor, const char *colour, const char *text) {
  hd_strbuf_printf(out,
                   "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" text-anchor=\"%s\" "
                   "fill=\"%s\">%s</text>\n",
                   at_x(p, x) + dx, at_y(p, y) + dy, anchor, colour, text);
}

static const char grid[] = "stroke=\"#e4e4e4\"";

static void x_axis(hd_strbuf *out, const svg_panel *p, int step) {
  char text[32];
  for (double x = p->x_lo; x <= p->x_hi * 1.001; x *= pow(2, step)) {
    svg_line(out, p, x, p->y_lo, x, p->y_hi, grid);
    snprintf(text, sizeof text, "%g", x);
    svg_text(out, at_x(p, x), p->top + p->height + 14, 10, "middle", text);
  }
}

static void y_axis(hd_strbuf *out, const svg_panel *p, double step) {
  char text[32];
  for (double y = p->y_lo; y <= p->y_hi * 1.001; y = p->y_linear ? y + step : y * 2) {
    svg_line(out, p, p->x_lo, y, p->x_hi, y, grid);
    snprintf(text, sizeof text, p->y_linear ? "%.1f" : "%g", y);
    svg_text(out, p->left - 6, at_y(p, y) + 3.5, 10, "end", text);
  }
}

void svg_axes(hd_strbuf *out, const svg_panel *p, const char *title, const char *x_label,
              const char *y_label, int x_step, double y_step) {
  x_axis(out, p, x_step);
  y_axis(out, p, y_step);
  hd_strbuf_printf(out,
                   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
                   "stroke=\"#888\"/>\n",
                   p->left, p->top, p->width, p->height);
  svg_text(out, p->left, p->top - 8, 13, "start", title);
  svg_text(out, p->left + p->width / 2, p->top + p->height + 30, 11, "middle", x_label);
  svg_text(out, p->left + p->width, p->top - 8, 11, "end", y_label);
}
