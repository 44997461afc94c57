#include "svg.h"

#include <math.h>
#include <stdio.h>

/* The Okabe-Ito palette, safe for colour blindness; lighter in the dark scheme. */
static const char sheet[] =
    "<style>\n"
    "text{fill:#1f2328}.page{fill:#fff}line,path{stroke:currentColor;stroke-width:1.4}\n"
    "path{fill:currentColor}.open{fill:none}.frame{fill:none;stroke:#8c959f}\n"
    ".grid{stroke:#e2e6ea;stroke-width:1}.roof,.fed{stroke:#6e7781}.fed{stroke-dasharray:5 3}\n"
    ".c0{color:#0072b2}.c1{color:#d55e00}.c2{color:#009e73}\n"
    ".c3{color:#b5558f}.c4{color:#b07d00}.c5{color:#4a4a4a}\n"
    "@media(prefers-color-scheme:dark){\n"
    "text{fill:#e6edf3}.page{fill:#0d1117}.grid{stroke:#262c36}.roof,.fed{stroke:#9198a1}\n"
    ".c0{color:#56b4e9}.c1{color:#ff8a4c}.c2{color:#3fcf9f}\n"
    ".c3{color:#e29cc7}.c4{color:#e6b422}.c5{color:#c0c0c0}}\n"
    "</style>\n";

void svg_begin(hd_strbuf *out, double width, double height, const char *title) {
  hd_strbuf_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                   "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\">\n<title>%s</title>\n",
                   width, height, width, height, title);
  hd_strbuf_add(out, sheet);
  hd_strbuf_printf(out, "<rect class=\"page\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height);
}

void svg_end(hd_strbuf *out) { hd_strbuf_add(out, "</svg>\n"); }

void svg_line(hd_strbuf *out, double x0, double y0, double x1, double y1, const char *class) {
  hd_strbuf_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n",
                   x0, y0, x1, y1, class);
}

void svg_mark(hd_strbuf *out, double x, double y, int shape, const char *class) {
  static const char *const outlines[SVG_N_MARKS] = {
      "m-2.8,0a2.8,2.8 0 1,0 5.6,0a2.8,2.8 0 1,0 -5.6,0z", "m-2.5,-2.5h5v5h-5z",
      "m0,-3.4l3.3,5.7h-6.6z", "m0,-3.6l3.6,3.6l-3.6,3.6l-3.6,-3.6z"};
  hd_strbuf_printf(out, "<path d=\"M%.1f,%.1f%s\" class=\"%s\"/>\n", x, y, outlines[shape], class);
}

void svg_text(hd_strbuf *out, double x, double y, int size, const char *anchor, const char *text) {
  hd_strbuf_printf(out,
                   "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\">%s</text>\n", x,
                   y, size, anchor, text);
}

/* ---- axes ---- */

/* The number of steps from lo to value, and the value n steps after lo. */
static double steps(const svg_axis *a, double lo, double value) {
  return a->linear ? (value - lo) / a->step : log(value / lo) / log(a->step);
}

static double after(const svg_axis *a, double lo, double n) {
  return a->linear ? lo + n * a->step : lo * pow(a->step, n);
}

bool svg_axis_around(svg_axis *a, double lo, double hi) {
  const double from = a->linear ? 0 : 1, slack = 1e-9;
  if (hi < lo)
    return false;
  double first = floor(steps(a, from, lo) + slack), last = ceil(steps(a, from, hi) - slack);
  a->lo = after(a, from, first);
  a->hi = after(a, from, fmax(last, first + 1));
  return true;
}

static double part(const svg_axis *a, double value) {
  return steps(a, a->lo, value) / steps(a, a->lo, a->hi);
}

double svg_x(const svg_panel *p, double x) { return p->left + p->width * part(&p->x, x); }
double svg_y(const svg_panel *p, double y) { return p->top + p->height * (1 - part(&p->y, y)); }

static void draw_grid(hd_strbuf *out, const svg_panel *p, const svg_axis *a, bool is_x) {
  double right = p->left + p->width, bottom = p->top + p->height;
  int n = (int)lround(steps(a, a->lo, a->hi));
  for (int i = 0; i <= n; i++) {
    char text[32];
    double value = after(a, a->lo, i), x = svg_x(p, value), y = svg_y(p, value);
    snprintf(text, sizeof text, a->linear ? "%.1f" : value < 1 ? "%.2g" : "%g", value);
    if (is_x) {
      svg_line(out, x, p->top, x, bottom, "grid");
      svg_text(out, x, bottom + 15, 10, "middle", text);
    } else {
      svg_line(out, p->left, y, right, y, "grid");
      svg_text(out, p->left - 8, y + 3.5, 10, "end", text);
    }
  }
}

void svg_axes(hd_strbuf *out, const svg_panel *p, const char *title) {
  draw_grid(out, p, &p->x, true);
  draw_grid(out, p, &p->y, false);
  hd_strbuf_printf(out,
                   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"frame\"/>\n",
                   p->left, p->top, p->width, p->height);
  svg_text(out, p->left, p->top - 7, 13, "start", title);
  svg_text(out, p->left + p->width, p->top - 7, 11, "end", p->y.label);
  svg_text(out, p->left + p->width / 2, p->top + p->height + 30, 11, "middle", p->x.label);
}

/* ---- legend ---- */

/* Estimated width of the text in a wide font. */
static double width_of(const char *text, double size) {
  int n = 0;
  for (; *text; text++)
    n += (*text & 0xc0) != 0x80; /* skips UTF-8 continuation bytes */
  return 0.56 * size * n;
}

void svg_key(hd_strbuf *out, svg_legend *l, const char *line, const char *mark, int shape,
             const char *text) {
  const double gap = 18, row = 17, size = 11, lead = line ? 26 : 13;
  double width = lead + width_of(text, size);
  if (l->x > l->left && l->x + width > l->right) {
    l->x = l->left;
    l->y += row;
  }
  if (line)
    svg_line(out, l->x, l->y - 4, l->x + lead - 6, l->y - 4, line);
  if (mark)
    svg_mark(out, l->x + (lead - 6) / 2, l->y - 4, shape, mark);
  svg_text(out, l->x + lead, l->y, (int)size, "start", text);
  l->x += width + gap;
}
