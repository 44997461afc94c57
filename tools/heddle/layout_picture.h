/* heddle/layout_picture.h: prints a layout as JSON, as a table or as a picture. */
#ifndef HD_LAYOUT_PICTURE_H
#define HD_LAYOUT_PICTURE_H

#include "Spec/spec.h"

/* Bits bit_lo..bit_hi of register `reg` of `lane` hold element (row, col). */
typedef struct layout_entry {
  uint32_t lane, reg, bit_lo, bit_hi, row, col;
} layout_entry;

typedef struct layout_picture {
  const hd_spec_row *row;
  const char *operand, *space;
  unsigned selector;
  uint32_t rows, cols, col_step; /* of the tile; col_step: columns per entry */
  hd_layout map;
  layout_entry *entry;           /* owned, sorted by lane, register, bit */
  size_t n, cap;
} layout_picture;

void layout_print_json(const layout_picture *p);
void layout_print_table(const layout_picture *p);
/* A cell is a run of adjacent fields of one register: T = thread, r = register. */
void layout_print_svg(const layout_picture *p);

#endif
