/* Layout/two_way.h: which elements of a matrix stay if it is to be 2:4 along rows and columns.
 *
 * A 4 x 4 tile has 90 patterns with two elements in each row and column. A half is two rows, 0-1 or
 * 2-3, with a pair of columns each. Halves with the same number of elements in each column form a
 * class, and each class has one class that completes it:
 *
 *   x x . .    columns 2 1 1 0      . x . x    columns 0 1 1 2
 *   x . x .                         . . x x
 *
 * So the largest sum of a tile is the maximum over classes of (the largest sum of rows 0-1 in the
 * class) + (the largest sum of rows 2-3 in the class that completes it). */
#ifndef HD_TWO_WAY_H
#define HD_TWO_WAY_H

#include <stdint.h>

enum {
  HD_TWO_WAY_SIDE = 4,     /* of a tile */
  HD_TWO_WAY_PAIRS = 6,    /* of columns */
  HD_TWO_WAY_CLASSES = 19,
  HD_TWO_WAY_MOST = 6      /* halves in a class */
};

/* The columns of each pair, bit i for column i. */
extern const uint8_t hd_two_way_pairs[HD_TWO_WAY_PAIRS];

typedef struct hd_two_way_class {
  int32_t n;
  uint8_t half[HD_TWO_WAY_MOST][2]; /* the pairs of the two rows, in ascending order */
  int32_t rest;                     /* index of the class that completes it */
} hd_two_way_class;

/* ORDER TWO-WAY: of equal sums the first class, and in it the first half. */
void hd_two_way_classes(hd_two_way_class classes[HD_TWO_WAY_CLASSES]);

#endif
