/* heddle/svg.h: a page of panels with axes, as SVG text, in the reader's light or dark scheme.
 * Coordinates are pixels of the page; svg_x and svg_y give those of a panel's values. Lines and
 * marks take a class of the page's style: "roof", "fed" (dashed), "c0" … "c5", "open" (only a
 * mark's outline). */
#ifndef HD_SVG_H
#define HD_SVG_H

#include <stdbool.h>

#include "Support/strbuf.h"

enum { SVG_N_COLOURS = 6, SVG_N_MARKS = 4 };

/* From lo to hi, a whole number of steps; a step is a factor or (linear) a difference. */
typedef struct svg_axis {
  double lo, hi, step;
  bool linear;
  const char *label;
} svg_axis;

typedef struct svg_panel {
  double left, top, width, height; /* of the plotting area */
  svg_axis x, y;
} svg_panel;

/* Legend entries are placed from left to right, then on the next line. */
typedef struct svg_legend {
  double left, right, x, y; /* x, y: of the next entry's baseline */
} svg_legend;

void svg_begin(hd_strbuf *out, double width, double height, const char *title);
void svg_end(hd_strbuf *out);

/* Sets the ends around lo … hi, a whole number of steps apart; false, and unchanged, if hi < lo. */
bool svg_axis_around(svg_axis *axis, double lo, double hi);
/* Draws frame, title, grid lines with their numbers, and axis labels. */
void svg_axes(hd_strbuf *out, const svg_panel *p, const char *title);
double svg_x(const svg_panel *p, double x);
double svg_y(const svg_panel *p, double y);

void svg_line(hd_strbuf *out, double x0, double y0, double x1, double y1, const char *class);
/* shape: 0 … SVG_N_MARKS - 1. */
void svg_mark(hd_strbuf *out, double x, double y, int shape, const char *class);
/* anchor: "start", "middle" or "end". */
void svg_text(hd_strbuf *out, double x, double y, int size, const char *anchor, const char *text);
/* Adds an entry: a line of a class (or NULL), with a mark of a class (or NULL) on it. */
void svg_key(hd_strbuf *out, svg_legend *legend, const char *line, const char *mark, int shape,
             const char *text);

#endif
