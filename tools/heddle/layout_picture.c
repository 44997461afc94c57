#include "layout_picture.h"

#include <stdio.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/strbuf.h"

void layout_print_json(const layout_picture *p) {
  printf("{\"row\":\"%s\",\"operand\":\"%s\",\"selector\":%u,\"space\":\"%s\",\"entries\":[",
         p->row->name, p->operand, p->selector, p->space);
  for (size_t i = 0; i < p->n; i++) {
    const layout_entry *e = &p->entry[i];
    printf("%s\n{\"lane\":%u,\"reg\":%u,\"bit_lo\":%u,\"bit_hi\":%u,\"row\":%u,\"col\":%u}",
           i ? "," : "", e->lane, e->reg, e->bit_lo, e->bit_hi, e->row, e->col);
  }
  printf("\n]}\n");
}

/* Prints the map in CuTe's notation. */
static void print_cute(const hd_layout *map) {
  hd_strbuf text = {0};
  hd_layout_print_cute(map, &text);
  printf("CuTe: (");
  for (unsigned d = 0; d < map->n_in; d++)
    printf("%s%s", d ? ", " : "", map->in[d].name);
  printf(") to %s", map->out[0].name);
  if (map->n_out > 1)
    printf(" + %llu %s", (unsigned long long)hd_layout_out_extent(map, 0), map->out[1].name);
  printf(": %s\n", hd_strbuf_text(&text));
  hd_strbuf_free(&text);
}

void layout_print_table(const layout_picture *p) {
  printf("%s  operand %s  selector %u  space %s  %u x %u\n", p->row->name, p->operand, p->selector,
         p->space, p->rows, p->cols);
  printf("source: %s\n", p->row->source);
  print_cute(&p->map);
  printf("lane  reg  bits    row  col\n");
  for (size_t i = 0; i < p->n; i++) {
    const layout_entry *e = &p->entry[i];
    char bits[16];
    snprintf(bits, sizeof bits, "%u..%u", e->bit_lo, e->bit_hi);
    printf("%4u  %3u  %-6s  %3u  %3u\n", e->lane, e->reg, bits, e->row, e->col);
  }
}

/* ---- SVG ---- */

enum { CELL_Y = 22, LEFT = 48, TOP = 62 };

/* Consecutive fields of one register at adjacent positions: one cell of the picture. */
typedef struct cell {
  layout_entry first;
  uint32_t bit_hi, rows, cols; /* extent in entries */
} cell;

static bool continues(const layout_picture *p, const cell *c, const layout_entry *e) {
  bool same = e->lane == c->first.lane && e->reg == c->first.reg && e->bit_lo == c->bit_hi + 1;
  bool right =
      e->row == c->first.row && c->rows == 1 && e->col == c->first.col + c->cols * p->col_step;
  bool below = e->col == c->first.col && c->cols == 1 && e->row == c->first.row + c->rows;
  return same && (right || below);
}

/* The cell that starts at entry *i; advances *i past the cell. */
static cell next_cell(const layout_picture *p, size_t *i) {
  cell c = {p->entry[*i], p->entry[*i].bit_hi, 1, 1};
  for (++*i; *i < p->n && continues(p, &c, &p->entry[*i]); ++*i) {
    const layout_entry *e = &p->entry[*i];
    c.cols += e->row == c.first.row;
    c.rows += e->row != c.first.row;
    c.bit_hi = e->bit_hi;
  }
  return c;
}

/* "T5 r0"; fields narrower than 32 bits as "T5 r0 hi" or "T5 r0 [15:8]". Tensor memory: lane and
 * column. Metadata in registers always has a single register. */
static void label(const layout_picture *p, const cell *c, char text[40]) {
  const layout_entry *e = &c->first;
  bool tensor = !strcmp(p->space, "tensor"), meta = !strcmp(p->operand, "meta");
  int n = tensor ? snprintf(text, 40, "L%u c%u", e->lane, e->reg)
          : meta ? snprintf(text, 40, "T%u", e->lane)
                 : snprintf(text, 40, "T%u r%u", e->lane, e->reg);
  if (c->bit_hi - e->bit_lo == 31)
    return;
  if (c->bit_hi - e->bit_lo == 15 && !meta && !tensor)
    snprintf(text + n, 40 - (size_t)n, "%s", e->bit_lo ? " hi" : " lo");
  else
    snprintf(text + n, 40 - (size_t)n, " [%u:%u]", c->bit_hi, e->bit_lo);
}

/* Wide enough for every cell's text. */
static unsigned column_width(const layout_picture *p) {
  unsigned width = strcmp(p->space, "shared") ? 34 : 66;
  for (size_t i = 0; i < p->n && strcmp(p->space, "shared");) {
    char text[40];
    cell c = next_cell(p, &i);
    label(p, &c, text);
    unsigned needed = ((unsigned)strlen(text) * 6 + 12 + c.cols - 1) / c.cols;
    width = needed > width ? needed : width;
  }
  return width;
}

static const char *colour(uint32_t lane) {
  static const char *const palette[] = {"#dbe9f6", "#fde4cf", "#d8f0dc", "#f6dbe9",
                                        "#e6e0f4", "#f4f1d0", "#d4eef2", "#eee0d6"};
  return palette[(lane % 4 + lane / 4) % 8];
}

/* Titles of the rows and columns of the picture. */
static const char *axes_of(const layout_picture *p) {
  static const struct {
    const char *operand, *axes;
  } names[] = {{"a", "m x compressed k"}, {"b", "k x n"},
               {"c", "m x n"},            {"d", "m x n"},
               {"meta", "m x groups of k"}, {"scale_a", "m x blocks of k"},
               {"scale_b", "blocks of k x n"}};
  if (p->row->family == HD_FAMILY_TCGEN05)
    return "lanes x columns of tensor memory";
  if (p->row->family == HD_FAMILY_LDMATRIX || p->row->family == HD_FAMILY_STMATRIX)
    return "rows x elements of memory";
  for (size_t i = 0; i < HD_COUNT(names); i++)
    if (!strcmp(names[i].operand, p->operand))
      return names[i].axes;
  return "";
}

static void subtitle(const layout_picture *p, char text[160]) {
  bool tensor = !strcmp(p->space, "tensor");
  int n = snprintf(text, 160, "operand %s, %s", p->operand, axes_of(p));
  if (!strcmp(p->space, "shared"))
    snprintf(text + n, 160 - (size_t)n,
             ", in shared memory: the first byte of what lies in one word");
  else
    snprintf(text + n, 160 - (size_t)n, ", selector %u, in %s: %s, [bits]", p->selector,
             tensor ? "tensor memory" : "registers",
             tensor ? "L lane, c column" : "T thread, r register");
}

static void svg_head(const layout_picture *p, uint32_t columns, unsigned cell_x) {
  char text[160];
  subtitle(p, text);
  unsigned width = LEFT + columns * cell_x + 12, height = TOP + p->rows * CELL_Y + 34;
  unsigned least = (unsigned)strlen(text) * 6 + 24;
  width = width < least ? least : width;
  printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
         "viewBox=\"0 0 %u %u\" font-family=\"monospace\" font-size=\"10\">\n",
         width, height, width, height);
  printf("<style>rect{stroke:#888}.c{text-anchor:middle}</style>\n"
         "<rect width=\"%u\" height=\"%u\" fill=\"white\"/>\n",
         width, height);
  printf("<text x=\"8\" y=\"18\" font-size=\"13\" font-weight=\"bold\">%s</text>\n", p->row->name);
  printf("<text x=\"8\" y=\"34\">%s</text>\n", text);
}

/* Lines between the 16 rows of one warp of a warpgroup and those of the next. */
static void svg_warps(const layout_picture *p, uint32_t columns, unsigned cell_x) {
  bool warpgroup = !strcmp(p->space, "register") && p->n && p->entry[p->n - 1].lane >= 32;
  for (uint32_t row = 16; warpgroup && row < p->rows; row += 16)
    printf("<line x1=\"8\" y1=\"%u\" x2=\"%u\" y2=\"%u\" stroke=\"#222\" stroke-width=\"2\"/>\n",
           TOP + row * CELL_Y, LEFT + columns * cell_x, TOP + row * CELL_Y);
}

static void svg_axes(const layout_picture *p, uint32_t columns, unsigned cell_x) {
  for (uint32_t c = 0; c < columns; c++) {
    unsigned x = LEFT + c * cell_x + cell_x / 2, first = c * p->col_step;
    if (p->col_step == 1)
      printf("<text class=\"c\" x=\"%u\" y=\"%u\">%u</text>\n", x, TOP - 6, first);
    else
      printf("<text class=\"c\" x=\"%u\" y=\"%u\" font-size=\"8\">%u-%u</text>\n", x, TOP - 6,
             first, first + p->col_step - 1);
  }
  for (uint32_t r = 0; r < p->rows; r++)
    printf("<text x=\"%u\" y=\"%u\" text-anchor=\"end\">%u</text>\n", LEFT - 8,
           TOP + r * CELL_Y + CELL_Y / 2 + 4, r);
}

static void svg_cell(const layout_picture *p, const cell *c, unsigned cell_x) {
  const layout_entry *e = &c->first;
  bool shared = !strcmp(p->space, "shared");
  char text[40];
  label(p, c, text);
  unsigned x = LEFT + e->col / p->col_step * cell_x, y = TOP + e->row * CELL_Y;
  unsigned width = c->cols * cell_x, height = c->rows * CELL_Y;
  printf("<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\"/>", x, y, width, height,
         colour(shared ? e->reg % 32 : e->lane));
  printf("<text class=\"c\" x=\"%u\" y=\"%u\">", x + width / 2, y + height / 2 + 4);
  if (shared)
    printf("byte %u</text>\n", e->reg * 4 + e->bit_lo / 8);
  else
    printf("%s</text>\n", text);
}

void layout_print_svg(const layout_picture *p) {
  uint32_t columns = p->cols / p->col_step;
  unsigned cell_x = column_width(p);
  svg_head(p, columns, cell_x);
  svg_axes(p, columns, cell_x);
  for (size_t i = 0; i < p->n;) {
    cell c = next_cell(p, &i);
    svg_cell(p, &c, cell_x);
  }
  svg_warps(p, columns, cell_x);
  printf("<text x=\"8\" y=\"%u\" fill=\"#555\">source: %s</text>\n</svg>\n",
         TOP + p->rows * CELL_Y + 22, p->row->source);
}
