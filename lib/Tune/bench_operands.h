/* Tune/bench_operands.h: the values of a product on the host: A pruned and packed, B, what its
 * epilogue reads, and what some rows of D must be. Of a batch all have the one A, in memory of
 * their own, and a B each; of pairs A's rows count as interleaved. */
#ifndef HD_BENCH_OPERANDS_H
#define HD_BENCH_OPERANDS_H

#include "Choice/product.h"
#include "Tune/epilogue_values.h"
#include "heddle/sparse.h"

enum { HD_BENCH_CHECKED_ROWS = 8 };

/* The operands of the product before: what the next one can use again is kept. All arrays are
 * owned. */
typedef struct hd_bench_host {
  heddle_elem elem;
  int64_t m, k; /* of a and packed; 0: there are none */
  uint64_t seed;
  void *a, *packed; /* a: pruned, dense form; packed: for the family */
  heddle_family family; /* wgmma, where it takes the type */
  void *b;          /* as stored: n x k, mn_major k x n; of a batch one behind the other */
  size_t a_row_bytes, packed_bytes, b_row_bytes, b_bytes;
  uint64_t checked[HD_BENCH_CHECKED_ROWS]; /* rows of D, ascending */
  size_t n_checked;
  double *expected; /* those rows, n_checked x n, of each product of a batch in turn */
  double *slack;    /* how far off a right kernel may be there, for what its epilogue does */
  hd_epilogue_values values;
} hd_bench_host;
/* Of a product of a batch, from 0. */
const double *hd_bench_host_expected(const hd_bench_host *host, const hd_product *product,
                                     int64_t g, const double **slack);
hd_bench_host *hd_bench_host_create(void);
void hd_bench_host_free(hd_bench_host *host); /* accepts NULL */

/* The values of the product, by n_jobs threads; A is kept when type, M, K and seed are the same
 * again: the same bytes serve every N. */
heddle_status hd_bench_host_make(heddle_context *ctx, const hd_product *product, uint64_t seed,
                                 int32_t n_jobs, hd_bench_host *host);

#endif
