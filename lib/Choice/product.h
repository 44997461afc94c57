/* Choice/product.h: what is tuned: a product of fixed sizes. Records are kept, and looked up, by
 * it; the epilogue is no part of it (it changes what is stored, hardly which tile is best). */
#ifndef HD_PRODUCT_H
#define HD_PRODUCT_H

#include "Passes/front.h"

typedef struct hd_product {
  char target[16];
  heddle_elem a, b, acc, d;
  int64_t m, n, k;
  int64_t g; /* of a batch: how many such products; 0: it is one, or a launch says */
  bool b_mn_major, d_col_major; /* otherwise k_major, row_major */
  bool weights_ready; /* launches overlap, and A may be read before the one ahead has ended: a
                         deeper ring pays, so it is another product */
} hd_product;

enum { HD_PRODUCT_MOST_SIZE = 1 << 20 }; /* of m, n and k */

/* What a product of A's type accumulates in, and D's type, unless another is said. */
heddle_elem hd_product_accumulator(heddle_elem a);
heddle_elem hd_product_output(heddle_elem a);

/* "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=4096 n=16 k=4096 k_major row_major", and " g=12" of a
 * batch, " weights_ready" where that is promised: a record's name. */
enum { HD_PRODUCT_TEXT = 160 };
void hd_product_print(const hd_product *product, char out[HD_PRODUCT_TEXT]);
heddle_status hd_product_parse(heddle_context *ctx, const char *text, hd_product *product);

/* The product of a problem; a size known at launch counts as its hint (> 0), else as its max,
 * else as 4096. */
hd_product hd_product_of(const hd_problem *problem, const int64_t hint_mnk[3]);

/* A line of a grid: "TYPE M K N [DTYPE [ORDER [weights_ready]]]"; TYPE of A and B, "AxB" when they
 * differ; D is of hd_product_output,
 * row_major, unless it says otherwise. HEDDLE_INVALID at loc. */
heddle_status hd_product_line(heddle_context *ctx, hd_loc loc, const char *target, const char *line,
                              hd_product *product);

/* It as a problem text, whose kernel is "tuned", or has that name (owned, hd_free). */
/* A size of 0 is known at launch, and at most HD_PRODUCT_OPEN. */
enum { HD_PRODUCT_OPEN = 65536 };
char *hd_product_problem(const hd_product *product);
char *hd_product_kernel(const hd_product *product, const char *kernel);

/* It as a kernel, legalized: what schedules are enumerated and checked for. place: where it comes
 * from, for diagnostics. */
heddle_status hd_product_build(heddle_context *ctx, hd_loc place, const hd_product *product,
                               hd_front *front);

/* Floating-point operations, counted as the dense product's. */
double hd_product_flops(const hd_product *product);

#endif
