#include "layout_print.h"

#include <stdio.h>
#include <string.h>

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

void layout_print_table(const layout_picture *p) {
  printf("%s  operand %s  selector %u  space %s  %u x %u\n", p->row->name, p->operand, p->selector,
         p->space, p->rows, p->cols);
  printf("source: %s\n", p->row->source);
  printf("lane  reg  bits    row  col\n");
  for (size_t i = 0; i < p->n; i++) {
    const layout_entry *e = &p->entry[i];
    char bits[16];
    snprintf(bits, sizeof bits, "%u..%u", e->bit_lo, e->bit_hi);
    printf("%4u  %3u  %-6s  %3u  %3u\n", e->lane, e->reg, bits, e->row, e->col);
  }
}

/* ---- SVG ---- */

enum { CELL_X = 58, CELL_Y = 26, LEFT = 48, TOP = 58 };

/* Lanes of a group of four share a hue family; the hue turns with the lane. */
static const char *colour(uint32_t lane) {
  static const char *const palette[] = {"#dbe9f6", "#fde4cf", "#d8f0dc", "#f6dbe9",
                                        "#e6e0f4", "#f4f1d0", "#d4eef2", "#eee0d6"};
  return palette[(lane % 4 + lane / 4) % 8];
}

static void svg_head(const layout_picture *p, uint32_t columns) {
  unsigned width = LEFT + columns * CELL_X + 12, height = TOP + p->rows * CELL_Y + 34;
  printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
         "viewBox=\"0 0 %u %u\" font-family=\"monospace\" font-size=\"10\">\n",
         width, height, width, height);
  printf("<rect width=\"%u\" height=\"%u\" fill=\"white\"/>\n", width, height);
  printf("<text x=\"8\" y=\"18\" font-size=\"13\" font-weight=\"bold\">%s</text>\n", p->row->name);
  printf("<text x=\"8\" y=\"34\">operand %s, selector %u, %s; cell: T thread, r register, bits</text>\n",
         p->operand, p->selector, p->space);
}

static void svg_axes(const layout_picture *p, uint32_t columns) {
  for (uint32_t c = 0; c < columns; c++) {
    unsigned x = LEFT + c * CELL_X + CELL_X / 2, first = c * p->col_step;
    if (p->col_step == 1)
      printf("<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">%u</text>\n", x, TOP - 6, first);
    else
      printf("<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">%u..%u</text>\n", x, TOP - 6, first,
             first + p->col_step - 1);
  }
  for (uint32_t r = 0; r < p->rows; r++)
    printf("<text x=\"%u\" y=\"%u\" text-anchor=\"end\">%u</text>\n", LEFT - 8,
           TOP + r * CELL_Y + CELL_Y / 2 + 4, r);
}

static void svg_cell(const layout_picture *p, const layout_entry *e) {
  unsigned x = LEFT + e->col / p->col_step * CELL_X, y = TOP + e->row * CELL_Y;
  printf("<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"#888\"/>", x, y,
         CELL_X, CELL_Y, colour(strcmp(p->space, "shared") ? e->lane : e->reg % 32));
  if (strcmp(p->space, "shared"))
    printf("<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">T%u r%u</text>", x + CELL_X / 2, y + 11,
           e->lane, e->reg);
  else
    printf("<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">byte %u</text>", x + CELL_X / 2, y + 11,
           e->reg * 4 + e->bit_lo / 8);
  printf("<text x=\"%u\" y=\"%u\" text-anchor=\"middle\" fill=\"#555\" font-size=\"9\">[%u:%u]</text>\n",
         x + CELL_X / 2, y + 22, e->bit_hi, e->bit_lo);
}

void layout_print_svg(const layout_picture *p) {
  uint32_t columns = p->cols / p->col_step;
  svg_head(p, columns);
  svg_axes(p, columns);
  for (size_t i = 0; i < p->n; i++)
    svg_cell(p, &p->entry[i]);
  printf("<text x=\"8\" y=\"%u\" fill=\"#555\">source: %s</text>\n</svg>\n",
         TOP + p->rows * CELL_Y + 22, p->row->source);
}
