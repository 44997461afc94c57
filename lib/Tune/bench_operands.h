/* Tune/bench_operands.h: the operands of a product on the host: A pruned and packed, B, the inputs
 * of the epilogue, and the expected values of some rows of D. The products of a batch use copies of
 * the same A, and a B each. If the activation takes pairs, A's rows are interleaved. */
#ifndef HD_BENCH_OPERANDS_H
#define HD_BENCH_OPERANDS_H

#include "Choice/product.h"
#include "Reference/reference_compare.h"
#include "Tune/epilogue_values.h"
#include "heddle/sparse.h"

enum { HD_BENCH_CHECKED_ROWS = 8 };

/* The operands of the last product. The next product reuses A if it can. All arrays are owned. */
typedef struct hd_bench_host {
  heddle_elem elem;
  int64_t m, k; /* size of a and packed; 0: not allocated */
  uint64_t seed;
  void *a, *packed; /* a: pruned, dense form; packed: for the family */
  heddle_family family; /* wgmma if it supports the type, else mma */
  void *b;          /* as stored: n x k, mn_major k x n; the matrices of a batch are contiguous */
  size_t a_row_bytes, packed_bytes, b_row_bytes, b_bytes;
  uint64_t checked[HD_BENCH_CHECKED_ROWS]; /* rows of D, ascending */
  size_t n_checked;
  double *expected; /* those rows, n_checked x n, for each product of a batch; then the same of the
                     * second matrix, if there is one */
  double *slack;    /* the error that the epilogue of a correct kernel may add, per element */
  hd_epilogue_values values;
} hd_bench_host;
/* expected and *slack of product g of a batch, from 0. */
const double *hd_bench_host_expected(const hd_bench_host *host, const hd_product *product,
                                     int64_t g, const double **slack);
/* Compares the second matrix of product g, which is stored like D; aux: those of all products. */
hd_comparison hd_bench_host_compare_aux(const hd_bench_host *host, const hd_product *product,
                                        int64_t g, const void *aux, bool row_major);
/* Downloads the second matrices and compares all: *worst is the comparison of one that is wrong, or
 * has the largest error. HEDDLE_MISMATCH: a guard of the buffer was written. */
heddle_status hd_bench_host_check_aux(heddle_context *ctx, const hd_device *device,
                                      const hd_bench_host *host, const hd_product *product,
                                      const hd_buffer *aux, bool row_major, hd_comparison *worst);
hd_bench_host *hd_bench_host_create(void);
void hd_bench_host_free(hd_bench_host *host); /* accepts NULL */

/* Makes the operands of the product with n_jobs threads. A does not depend on N, and is kept if
 * type, M, K and seed are those of the last product. */
heddle_status hd_bench_host_make(heddle_context *ctx, const hd_product *product, uint64_t seed,
                                 int32_t n_jobs, hd_bench_host *host);

#endif
