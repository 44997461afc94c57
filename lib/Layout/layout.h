/* Layout/layout.h: layouts. A layout maps named input coordinates (lane, register, field, row,
 * column) to named output coordinates (row, column, or a byte address with its swizzle).
 *
 * A layout is an affine map over GF(2) inside a power-of-two block, plus outer repeats with integer
 * strides:
 *
 *   out[d] = sum over repeats r of digit(r) * r.stride[d]
 *          + bits of d in ( offset XOR of column[i] for every set block bit i of the inputs )
 *
 * An input dimension of size 2^bits * c1 * c2 ... is divided into digits, lowest first: its block
 * bits, then its repeats in list order. So swizzles (in the block) and sizes like n192, five stages
 * or 4608-byte blocks (by repeats) are exact. A layout is a plain value that owns nothing. */
#ifndef HD_LAYOUT_H
#define HD_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Support/strbuf.h"

enum {
  HD_LAYOUT_DIMS = 4,     /* maximum number of input or output dimensions */
  HD_LAYOUT_BITS = 24,    /* maximum block input bits of all dimensions together */
  HD_LAYOUT_REPEATS = 8
};

typedef struct hd_layout_dim {
  const char *name; /* borrowed; static text in practice */
  uint8_t bits;     /* of the block */
} hd_layout_dim;

typedef struct hd_layout_repeat {
  uint8_t in_dim;
  uint32_t count;
  int32_t stride[HD_LAYOUT_DIMS]; /* added to each output dimension, per step */
} hd_layout_repeat;

/* The output bits of all dimensions are concatenated in a word. Dimension 0 is in the lowest
 * out[0].bits bits. */
typedef struct hd_layout {
  uint8_t n_in, n_out, n_repeats;
  hd_layout_dim in[HD_LAYOUT_DIMS], out[HD_LAYOUT_DIMS];
  uint32_t column[HD_LAYOUT_BITS]; /* image of input bit i; inputs are concatenated like outputs */
  uint32_t offset;                 /* image of zero */
  hd_layout_repeat repeat[HD_LAYOUT_REPEATS];
} hd_layout;

/* Starts a layout with no dimensions. */
hd_layout hd_layout_empty(void);
/* Adds an output dimension of `bits` block bits. All output dimensions must be added before the
 * first input dimension. False if there are too many. */
bool hd_layout_add_out(hd_layout *layout, const char *name, unsigned bits);
/* Adds an input dimension whose block bits have the images image[i][out dim]. An image has one
 * integer per output dimension: {8, 0} moves by 8 rows. False if there are too many, or one is out
 * of range. */
bool hd_layout_add_in(hd_layout *layout, const char *name, unsigned n_bits,
                      const int32_t (*image)[HD_LAYOUT_DIMS]);
bool hd_layout_add_repeat(hd_layout *layout, unsigned in_dim, uint32_t count,
                          const int32_t stride[HD_LAYOUT_DIMS]);

/* The number of values of an input dimension; the largest value of an output dimension + 1. */
uint32_t hd_layout_in_size(const hd_layout *layout, unsigned dim);
uint64_t hd_layout_out_extent(const hd_layout *layout, unsigned dim);
/* Points in the domain: the product of all input sizes. */
uint64_t hd_layout_points(const hd_layout *layout);

/* Computes out[] from in[]; inputs must be in range. */
void hd_layout_apply(const hd_layout *layout, const uint32_t *in, int64_t *out);
/* The coordinates of point i of the domain (dimension 0 fastest). */
void hd_layout_point(const hd_layout *layout, uint64_t i, uint32_t *in);

/* The answer to a question about layouts. UNDECIDED: it could not be decided exactly; treat it as a
 * refusal. */
typedef enum hd_answer { HD_NO, HD_YES, HD_UNDECIDED } hd_answer;

/* Whether two layouts are the same function on the same domain (names of dimensions must agree). */
hd_answer hd_layout_equal(const hd_layout *a, const hd_layout *b);
/* Whether all points have distinct images; whether every point of the box `extent` is an image. */
hd_answer hd_layout_injective(const hd_layout *layout);
hd_answer hd_layout_onto(const hd_layout *layout, const uint64_t *extent);

/* Swizzle<b, m, s> of CuTe on byte addresses: address bits [m+s, m+s+b) are XORed into [m, m+b).
 * Applies to output dimension `dim`, which must be wide enough. */
bool hd_layout_swizzle(hd_layout *layout, unsigned dim, unsigned b, unsigned m, unsigned s);

/* Bank conflicts of an access of access_bytes (4, 8 or 16) per lane at the given byte addresses, in
 * the phases of the hardware (32, 16 or 8 lanes). Returns the maximum number of distinct 4-byte
 * words that one bank must serve in a phase; 1: no conflicts. */
unsigned hd_bank_conflicts(const uint32_t *address, unsigned n_lanes, unsigned access_bytes);

/* The smallest Swizzle<b, 4, 3> (b = 0..3) that makes ldmatrix and 16-byte copies of rows of
 * `row_bytes` free of bank conflicts; -1 if there is none. */
int hd_swizzle_for_rows(uint32_t row_bytes);

/* An order of n columns that gives each lane of an accumulator `run` consecutive columns (a power
 * of two, at least 4; n is a multiple of 4 * run). mma gives lane q the places 8j + 2q + e, e < 2,
 * of a row. So in each 4 * run columns: place 8j + 2q + e  ->  column run * q + 2j + e */
hd_layout hd_layout_run_order(uint32_t run, uint32_t n);

/* Prints CuTe notation, "((4,8),2):((2,16),1)", with one mode per input dimension, and Swizzle<> if
 * needed. Strides are in units of the flattened output, dimension 0 fastest. Without a CuTe form:
 * one line per input bit and repeat, "lane[0] -> row 0, col 2", and a line for the image of zero
 * unless that is zero. */
void hd_layout_print_cute(const hd_layout *layout, hd_strbuf *out);

#endif
