/* heddle/svg.h: a page of panels with axes, as SVG text. */
#ifndef HD_SVG_H
#define HD_SVG_H

#include <stdbool.h>

#include "Support/strbuf.h"

/* Both axes of a panel are logarithmic to base 2 or (y, when `linear`) plain. */
typedef struct svg_panel {
  double left, top, width, height; /* of the plotting area, in pixels */
  double x_lo, x_hi, y_lo, y_hi;
  bool y_linear;
} svg_panel;

void svg_begin(hd_strbuf *out, int width, int height, const char *title);
void svg_end(hd_strbuf *out);
/* Frame, title, grid lines and their labels: of x at powers of two (every x_step-th), of y at
 * powers of two or at multiples of y_step. */
void svg_axes(hd_strbuf *out, const svg_panel *p, const char *title, const char *x_label,
              const char *y_label, int x_step, double y_step);
/* In the panel's units; what lies outside is drawn at the edge. */
void svg_line(hd_strbuf *out, const svg_panel *p, double x0, double y0, double x1, double y1,
              const char *style);
void svg_dot(hd_strbuf *out, const svg_panel *p, double x, double y, const char *style);
/* anchor: "start", "end", "middle"; dx, dy in pixels. */
void svg_label(hd_strbuf *out, const svg_panel *p, double x, double y, double dx, double dy,
               const char *anchor, const char *colour, const char *text);
/* On the page, in pixels. */
void svg_text(hd_strbuf *out, double x, double y, int size, const char *anchor, const char *text);

#endif
