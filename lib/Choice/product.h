/* Choice/product.h: the unit of tuning: a product of fixed sizes with its epilogue. It is the key
 * under which records are stored and looked up. */
#ifndef HD_PRODUCT_H
#define HD_PRODUCT_H

#include "Passes/front.h"

/* The epilogue; zeros: none. alpha, beta and a user's function are omitted, since a product with
 * them takes the same time as without. */
typedef struct hd_product_epilogue {
  char act[12];              /* "swiglu"; "": none */
  char bias;                 /* f32 bias along 'm' or 'n'; 0: none */
  char scale_a, scale_b;     /* 'o': one scale, 'v': a vector; 0: none; b 's': sums of squares */
  bool c;                    /* C is added, with D's type and order */
  char blocks; /* f32 scales per 128 of k: in A 'r' per row, 'b' per 128 rows; 0: none */
  char reduce; /* per 128 rows of D: 'a': absmax, 's': sumsq, 'q': a scale that divides; 0: none */
  char aux;    /* a second matrix: 'r': result, 'i': the activation's input; 0: none */
  heddle_elem aux_type; /* of its elements; 0 without it */
} hd_product_epilogue;

typedef struct hd_product {
  char target[16];
  heddle_elem a, b, acc, d;
  int64_t m, n, k;
  int64_t g; /* number of products of a batch; 0: a single product, or known only at launch */
  int64_t groups; /* number of groups, which have n columns in total; 0: no groups */
  bool b_mn_major, d_col_major; /* otherwise k_major, row_major */
  bool weights_ready; /* launches overlap, and A may be read before the predecessor has ended. This
                         is a different product, since a deeper ring is faster */
  bool dependent; /* launches overlap, but read A after the predecessor's end. The same product,
                     with the same choices, as without this */
  hd_product_epilogue epilogue;
} hd_product;

enum { HD_PRODUCT_MOST_SIZE = 1 << 20 }; /* maximum of m, n and k */

/* "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=4096 n=16 k=4096 k_major row_major": the name of a record.
 * Optional words follow in alphabetical order: " act=swiglu", " aux=input:f32" (or result:f32),
 * " bias=m", " blocks=128x128" (or 1x128), " c", " g=12" (a batch), " groups=8", " reduce=scale",
 * " scale_a=one", " scale_b=vector" (or sumsq), " weights_ready". */
enum { HD_PRODUCT_TEXT = 256 };
/* Whether the product has neither an epilogue nor block scales. */
bool hd_product_is_plain(const hd_product *product);
/* The product without its epilogue and block scales. For pairs: the plain product of the same A. */
hd_product hd_product_plain(const hd_product *product);
/* Whether the product has an epilogue; block scales do not count. */
bool hd_product_has_epilogue(const hd_product *product);
/* Rows of A that share a block scale; pitch of the scales of A or B (which = 1) in a k-block. */
int64_t hd_product_block_rows(const hd_product *product);
int64_t hd_product_scales(const hd_product *product, int which);
/* The number of matrices A. */
static inline int64_t hd_product_matrices(const hd_product *product) {
  return product->g ? product->g : product->groups ? product->groups : 1;
}
static inline bool hd_product_same_sizes(const hd_product *x, const hd_product *y) {
  return x->m == y->m && x->n == y->n && x->k == y->k;
}
/* Rows of D: half of A's rows if the activation takes pairs. */
int64_t hd_product_d_rows(const hd_product *product);
/* The letter for a statistic's name ("absmax", "sumsq", "scale"; 0: unknown), and the reverse. */
char hd_product_reduce(const char *word);
const char *hd_product_reduce_word(char reduce);
/* Reads "input:f32" or "result" (of bf16) into an epilogue. False: neither. */
bool hd_product_read_aux(const char *text, hd_product_epilogue *epilogue);
const char *hd_product_aux_word(char aux);
/* The word for a letter of scale_a and scale_b: "one", "vector", "sumsq". */
const char *hd_product_scale_word(char scale);
/* Checks the activation of an epilogue. Returns "" if it is legal, else the legal ones. */
const char *hd_product_epilogue_check(const hd_product_epilogue *epilogue);
void hd_product_print(const hd_product *product, char out[HD_PRODUCT_TEXT]);
heddle_status hd_product_parse(heddle_context *ctx, const char *text, hd_product *product);

/* The product of a problem. A size known only at launch is replaced by its hint (> 0), else by its
 * max, else by 4096. */
hd_product hd_product_of(const hd_problem *problem, const int64_t hint_mnk[3]);
/* HEDDLE_INVALID for a size (0: unspecified) that no launch of the problem can have. */
heddle_status hd_check_sizes(heddle_context *ctx, const hd_problem *problem, const int64_t mnk[3]);

/* A line of a grid: "TYPE M K N [DTYPE [ORDER [weights_ready]]]". TYPE: the type of A and B, "AxB"
 * if they differ. Defaults of D: the usual type for A, row_major. HEDDLE_INVALID at loc. */
heddle_status hd_product_line(heddle_context *ctx, hd_loc loc, const char *target, const char *line,
                              hd_product *product);

/* The product as the text of a problem (owned, hd_free). The kernel has the name "tuned", or the
 * given one. A size of 0 is known only at launch, with the maximum HD_PRODUCT_OPEN. */
enum { HD_PRODUCT_OPEN = 65536 };
char *hd_product_problem(const hd_product *product);
char *hd_product_kernel(const hd_product *product, const char *kernel);

/* The product as a legalized kernel, for which schedules are enumerated and checked. place: the
 * location for diagnostics. */
heddle_status hd_product_build(heddle_context *ctx, hd_loc place, const hd_product *product,
                               hd_front *front);

/* Floating-point operations of the dense product. */
double hd_product_flops(const hd_product *product);

#endif
