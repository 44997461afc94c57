/* Choice/product.h: what is tuned: a product of fixed sizes, with what its epilogue does. Records
 * are kept, and looked up, by it. */
#ifndef HD_PRODUCT_H
#define HD_PRODUCT_H

#include "Passes/front.h"

/* What follows the sums; zeros: nothing. alpha, beta and a user's function are left out: they cost
 * what the plain product costs. */
typedef struct hd_product_epilogue {
  char act[12];              /* "swiglu"; "": none */
  char bias;                 /* 'm' or 'n', of f32; 0: none */
  char scale_a, scale_b;     /* 'o': one, 'v': a vector; 0: none */
  bool c;                    /* C is added, of D's type and order */
  char blocks; /* f32 scales of 128 of k: of A 'r' a row's, 'b' shared by 128 rows; 0: none */
  char reduce; /* of 128 rows of D: 'a': absmax, 's': sumsq, 'q': a scale that divides; 0: none */
} hd_product_epilogue;

typedef struct hd_product {
  char target[16];
  heddle_elem a, b, acc, d;
  int64_t m, n, k;
  int64_t g; /* of a batch: how many such products; 0: it is one, or a launch says */
  int64_t groups; /* of n columns in all, in the order of so many products; 0: there are none */
  bool b_mn_major, d_col_major; /* otherwise k_major, row_major */
  bool weights_ready; /* launches overlap, and A may be read before the predecessor has ended. A
                         deeper ring is then faster, so it is another product */
  hd_product_epilogue epilogue;
} hd_product;

enum { HD_PRODUCT_MOST_SIZE = 1 << 20 }; /* of m, n and k */

/* "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=4096 n=16 k=4096 k_major row_major": a record's name. Then
 * what there is of " act=swiglu", " bias=m", " blocks=128x128" (or 1x128), " c", " g=12" (a batch),
 * " groups=8", " reduce=scale", " scale_a=one", " scale_b=vector", " weights_ready", in the order
 * of the names. */
enum { HD_PRODUCT_TEXT = 256 };
/* Is any of the epilogue there? */
bool hd_product_is_plain(const hd_product *product);
/* The same without its epilogue: of pairs the plain product of the same A. */
hd_product hd_product_plain(const hd_product *product);
/* Does anything follow the sums? */
bool hd_product_has_epilogue(const hd_product *product);
/* Rows of A that share a block scale; scales of A or B (which 1) of a k-block: the pitch. */
int64_t hd_product_block_rows(const hd_product *product);
int64_t hd_product_scales(const hd_product *product, int which);
/* Matrices of A. */
static inline int64_t hd_product_matrices(const hd_product *product) {
  return product->g ? product->g : product->groups ? product->groups : 1;
}
/* Rows of D: half of A's where the epilogue is of pairs. */
int64_t hd_product_d_rows(const hd_product *product);
/* The letter of a statistic's name, "absmax", "sumsq", "scale"; 0: it is none. The name of one. */
char hd_product_reduce(const char *word);
const char *hd_product_reduce_word(char reduce);
/* What an epilogue is, but the activation's name is checked; "": fine, else what is legal. */
const char *hd_product_epilogue_check(const hd_product_epilogue *epilogue);
void hd_product_print(const hd_product *product, char out[HD_PRODUCT_TEXT]);
heddle_status hd_product_parse(heddle_context *ctx, const char *text, hd_product *product);

/* The product of a problem; a size known at launch counts as its hint (> 0), else as its max,
 * else as 4096. */
hd_product hd_product_of(const hd_problem *problem, const int64_t hint_mnk[3]);
/* HEDDLE_INVALID for a size (0: not said) that no launch of the problem could have. */
heddle_status hd_check_sizes(heddle_context *ctx, const hd_problem *problem, const int64_t mnk[3]);

/* A line of a grid: "TYPE M K N [DTYPE [ORDER [weights_ready]]]"; TYPE of A and B, "AxB" when they
 * differ; D is of A's usual type, row_major, unless it says otherwise. HEDDLE_INVALID at loc. */
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
