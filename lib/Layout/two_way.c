#include "Layout/two_way.h"

const uint8_t hd_two_way_pairs[HD_TWO_WAY_PAIRS] = {0x3, 0x5, 0x9, 0x6, 0xa, 0xc};

/* The number of elements in each column of two rows, two bits each. */
static unsigned count(unsigned i, unsigned j) {
  unsigned n = 0;
  for (unsigned c = 0; c < HD_TWO_WAY_SIDE; c++)
    n |= ((hd_two_way_pairs[i] >> c & 1u) + (hd_two_way_pairs[j] >> c & 1u)) << 2 * c;
  return n;
}

/* The index of the class with these columns; n if there is none. */
static int32_t find(const unsigned *columns, int32_t n, unsigned wanted) {
  int32_t i = 0;
  while (i < n && columns[i] != wanted)
    i++;
  return i;
}

void hd_two_way_classes(hd_two_way_class classes[HD_TWO_WAY_CLASSES]) {
  const unsigned two_each = 0xaa;
  unsigned columns[HD_TWO_WAY_CLASSES];
  int32_t n = 0;
  for (uint8_t i = 0; i < HD_TWO_WAY_PAIRS; i++)
    for (uint8_t j = 0; j < HD_TWO_WAY_PAIRS; j++) {
      int32_t at = find(columns, n, count(i, j));
      if (at == n) {
        columns[n] = count(i, j);
        classes[n++].n = 0;
      }
      hd_two_way_class *c = &classes[at];
      c->half[c->n][0] = i;
      c->half[c->n++][1] = j;
    }
  for (int32_t i = 0; i < n; i++)
    classes[i].rest = find(columns, n, two_each - columns[i]);
}
