/* Layout/layout.h: where things lie. A layout maps named input coordinates (lane, register, field,
 * row, column) to named output coordinates (row, column, or a byte address with its swizzle).
 *
 * It is an affine map over GF(2) inside a power-of-two block, plus outer repeats with integer
 * strides:
 *
 *   out[d] = sum over repeats r of digit(r) * r.stride[d]
 *          + bits of d in ( offset XOR of column[i] for every set block bit i of the inputs )
 *
 * An input dimension of size 2^bits * c1 * c2 ... is cut into digits, lowest first: its block bits,
 * then its repeats in list order. So swizzles are exact inside the block, and n192, five stages or
 * 4608-byte blocks are exact outside it. A layout is a plain value: copy it, nothing is owned. */
#ifndef HD_LAYOUT_H
#define HD_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Support/strbuf.h"

enum {
  HD_LAYOUT_DIMS = 4,     /* input or output dimensions, at most */
  HD_LAYOUT_BITS = 24,    /* block input bits, all dimensions together, at most */
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

/* Output bits lie concatenated in a word: dimension 0 in the lowest bits, as wide as
 * out[0].bits. */
typedef struct hd_layout {
  uint8_t n_in, n_out, n_repeats;
  hd_layout_dim in[HD_LAYOUT_DIMS], out[HD_LAYOUT_DIMS];
  uint32_t column[HD_LAYOUT_BITS]; /* image of input bit i; inputs concatenated like outputs */
  uint32_t offset;                 /* image of zero */
  hd_layout_repeat repeat[HD_LAYOUT_REPEATS];
} hd_layout;

/* Starts a layout with no dimensions. */
hd_layout hd_layout_empty(void);
/* Adds an output dimension of `bits` block bits; all of them before the first input bit. False when
 * full. */
bool hd_layout_add_out(hd_layout *layout, const char *name, unsigned bits);
/* Adds an input dimension whose block bits have the images bits[i][out dim]. An image is given per
 * output dimension as an integer: {8, 0} = "moves 8 rows". False when full or out of range. */
bool hd_layout_add_in(hd_layout *layout, const char *name, unsigned n_bits,
                      const int32_t (*image)[HD_LAYOUT_DIMS]);
bool hd_layout_add_repeat(hd_layout *layout, unsigned in_dim, uint32_t count,
                          const int32_t stride[HD_LAYOUT_DIMS]);

/* How many values an input dimension takes, and one more than the largest value of an output. */
uint32_t hd_layout_in_size(const hd_layout *layout, unsigned dim);
uint64_t hd_layout_out_extent(const hd_layout *layout, unsigned dim);
/* Points in the domain: the product of all input sizes. */
uint64_t hd_layout_points(const hd_layout *layout);

/* out[] of in[]; inputs must be in range. */
void hd_layout_apply(const hd_layout *layout, const uint32_t *in, int64_t *out);
/* The point number i of the domain (dimension 0 fastest). */
void hd_layout_point(const hd_layout *layout, uint64_t i, uint32_t *in);

/* What a question about layouts comes to. UNDECIDED: outside the exact forms; treat it as a
 * refusal. */
typedef enum hd_answer { HD_NO, HD_YES, HD_UNDECIDED } hd_answer;

/* Same function on the same domain (names of dimensions must agree, their factoring need not). */
hd_answer hd_layout_equal(const hd_layout *a, const hd_layout *b);
/* No two points share an image / every point of the box of out extents is an image. */
hd_answer hd_layout_injective(const hd_layout *layout);
hd_answer hd_layout_onto(const hd_layout *layout, const uint64_t *extent);

/* Swizzle<b, m, s> of CuTe on byte addresses: address bits [m+s, m+s+b) are XORed into [m, m+b).
 * Applies to output dimension `dim`, which must be wide enough. */
bool hd_layout_swizzle(hd_layout *layout, unsigned dim, unsigned b, unsigned m, unsigned s);

/* Bank conflicts of one access: byte addresses of the lanes, access_bytes (4, 8 or 16) each, as the
 * hardware groups them (32, 16 or 8 lanes a phase). 1 = free of conflicts; else the worst number of
 * distinct 4-byte words that one bank must serve in a phase. */
unsigned hd_bank_conflicts(const uint32_t *address, unsigned n_lanes, unsigned access_bytes);

/* The smallest Swizzle<b, 4, 3> (b = 0..3) that makes ldmatrix and 16-byte copies of rows of
 * `row_bytes` free of bank conflicts; -1 when none does. */
int hd_swizzle_for_rows(uint32_t row_bytes);

/* Columns in an order that gives each lane of an accumulator `run` of them in a row (a power of
 * two, from 4; n a multiple of 4 run). mma leaves lane q places 8j + 2q + e, e < 2, of a row; so
 * these are place 8j + 2q + e of each 4 run  ->  column run * q + 2j + e */
hd_layout hd_layout_run_order(uint32_t run, uint32_t n);

/* CuTe notation, "((4,8),2):((2,16),1)", a mode an input dimension, with Swizzle<> where one
 * applies: strides in units of the flattened output, dimension 0 fastest. Without a CuTe form, a
 * line for each input bit and repeat: "lane[0] -> row 0, col 2", and for zero where its image is
 * not. */
void hd_layout_print_cute(const hd_layout *layout, hd_strbuf *out);

#endif
