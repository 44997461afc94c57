/* One tcgen05.mma, its operands stored as in the ISA's figures, and the expected product. */
#ifndef TCGEN05_CASE_H
#define TCGEN05_CASE_H

#include "Sim/sim_types.h"
#include "Support/strbuf.h"
#include "sim_harness.h"

enum {
  TC_ROWS = 256, /* of A and D, in both CTAs */
  TC_MAX_K = 128,
  TC_MAX_N = 64,
  TC_COLUMNS = 128, /* allocated: D 0-63, A 64-, metadata 72-, scales of A 76-, of B 80- */
  TC_AT_A = 64,
  TC_AT_META = 72,
  TC_AT_SCALE_A = 76,
  TC_AT_SCALE_B = 80,
  TC_IMAGE = 32768,
  TC_B_AT = 16384
};

typedef enum tc_layout {
  TC_NONE,
  TC_SW32,
  TC_SW64,
  TC_SW128,
  TC_MN_NONE,
  TC_MN_SW32,
  TC_MN_SW64,
  TC_MN_SW128,
  TC_MN_WIDE
} tc_layout;

typedef struct tc_kind {
  const char *kind, *a, *b, *d;
  const char *scale; /* type, or NULL */
  uint32_t n_scales;
  uint32_t code_a, code_b, code_d; /* in the instruction descriptor */
} tc_kind;

typedef struct tc_case {
  const tc_kind *kind;
  bool sparse, a_in_tensor, accumulate, negate_a, shift_lanes; /* shift_lanes: HALF at lane 16 */
  uint32_t group, m, n, selector, scale_a_id, scale_b_id, scale_d;
  uint32_t disabled; /* those of the first 32 lanes that keep their D */
  tc_layout a_layout, b_layout;
} tc_case;

typedef struct tc_run {
  tc_case c;
  uint32_t k, rows, bits, chunk_bits, block, kept; /* rows: per CTA; block: elements of a group */
  uint8_t a_type, b_type, d_type, scale_type;
  double a[TC_ROWS][TC_MAX_K], b[TC_MAX_K][TC_MAX_N];
  double scale_a[TC_ROWS][4], scale_b[TC_MAX_N][4];
  uint32_t d[TC_ROWS][TC_MAX_N]; /* bits, before the mma */
  uint32_t place[TC_ROWS][TC_MAX_K / 2];
  uint8_t image[2][TC_IMAGE];                /* shared memory */
  uint32_t tensor[2][128][TC_COLUMNS];       /* tensor memory before */
  uint32_t out[2][128][TC_COLUMNS];
} tc_run;

/* Creates the matrices and stores them in shared and tensor memory. */
void tc_make(tc_run *t, const tc_case *c, uint64_t seed);
/* Writes the kernel: it copies both images in, multiplies, and copies tensor memory out. */
void tc_write_text(const tc_run *t, hd_strbuf *out);
/* Returns the number of elements of D that differ from the product. */
int tc_compare(const tc_run *t);

#endif
