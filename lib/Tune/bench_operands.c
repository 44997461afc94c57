#include "Tune/bench_operands.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "Reference/operands.h"
#include "Reference/reference.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Tune/parallel.h"
#include "heddle/sparse.h"

/* Rows of A, or of B (columns of D), that one thread makes at a time: whole blocks of the packed order. */
enum { ROWS = 64 };

typedef struct making {
  const hd_bench_problem *p;
  hd_bench_host *host;
  size_t block_bytes; /* packed A of ROWS rows */
  atomic_int failed;  /* a heddle_status */
} making;

static int64_t rows_at(int64_t all, int32_t i) {
  int64_t left = all - (int64_t)i * ROWS;
  return left < ROWS ? left : ROWS;
}

static int32_t pieces(int64_t all) { return (int32_t)((all + ROWS - 1) / ROWS); }

static heddle_status make_a(const making *x, int32_t i) {
  hd_bench_host *h = x->host;
  uint64_t n = (uint64_t)rows_at(x->p->m, i), k = (uint64_t)x->p->k;
  hd_fill fill = {.seed = h->seed + 1, .first_row = (uint64_t)i * ROWS};
  char *a = (char *)h->a + (size_t)i * ROWS * h->row_bytes;
  char *packed = (char *)h->packed + (size_t)i * x->block_bytes;
  hd_fill_dense(&fill, h->elem, n, k, a, k);
  HD_TRY(heddle_sparse_prune(NULL, h->elem, n, k, a, h->row_bytes));
  return heddle_sparse_pack_dense(NULL, h->elem, HEDDLE_FAMILY_WGMMA, n, k, a, h->row_bytes,
                                  packed);
}

static heddle_status make_b(const making *x, int32_t i) {
  hd_bench_host *h = x->host;
  uint64_t first = (uint64_t)i * ROWS, n = (uint64_t)rows_at(x->p->n, i), k = (uint64_t)x->p->k;
  hd_fill fill = {.seed = h->seed + 2, .first_row = first};
  char *b = (char *)h->b + first * h->row_bytes;
  hd_fill_dense(&fill, h->elem, n, k, b, k);
  hd_reference r = {.m = (uint64_t)x->p->m,
                    .n = n,
                    .k = k,
                    .a = {h->a, h->elem, k, 1},
                    .b = {b, h->elem, 1, k},
                    .alpha = 1};
  double *part = hd_xmalloc(sizeof *part * h->n_checked * n);
  heddle_status status = hd_reference_rows(NULL, &r, h->checked, h->n_checked, part);
  for (size_t row = 0; row < h->n_checked && status == HEDDLE_OK; row++)
    memcpy(h->expected + row * (size_t)x->p->n + first, part + row * n, sizeof *part * n);
  free(part);
  return status;
}

static void work_a(void *user, int32_t i) {
  making *x = user;
  heddle_status status = make_a(x, i);
  if (status != HEDDLE_OK)
    atomic_store(&x->failed, (int)status);
}

static void work_b(void *user, int32_t i) {
  making *x = user;
  heddle_status status = make_b(x, i);
  if (status != HEDDLE_OK)
    atomic_store(&x->failed, (int)status);
}

static bool has_a(const hd_bench_host *h, const hd_bench_problem *p, uint64_t seed) {
  return h->elem == p->elem && h->m == p->m && h->k == p->k && h->seed == seed;
}

static heddle_status allocate_a(heddle_context *ctx, making *x, uint64_t seed) {
  const hd_bench_problem *p = x->p;
  hd_bench_host *h = x->host;
  free(h->a);
  free(h->packed);
  h->a = h->packed = NULL;
  h->m = h->k = 0;
  h->elem = p->elem;
  h->seed = seed;
  HD_TRY(heddle_sparse_dense_row_bytes(ctx, p->elem, (uint64_t)p->k, &h->row_bytes));
  HD_TRY(heddle_sparse_packed_bytes(ctx, p->elem, HEDDLE_FAMILY_WGMMA, (uint64_t)p->m,
                                    (uint64_t)p->k, &h->packed_bytes));
  HD_TRY(heddle_sparse_packed_bytes(ctx, p->elem, HEDDLE_FAMILY_WGMMA, ROWS, (uint64_t)p->k,
                                    &x->block_bytes));
  h->a = hd_xmalloc((size_t)p->m * h->row_bytes);
  h->packed = hd_xmalloc(h->packed_bytes);
  return HEDDLE_OK;
}

heddle_status hd_bench_host_make(heddle_context *ctx, const hd_bench_problem *problem,
                                 uint64_t seed, int32_t n_jobs, hd_bench_host *h) {
  making x = {.p = problem, .host = h};
  if (!has_a(h, problem, seed)) {
    HD_TRY(allocate_a(ctx, &x, seed));
    hd_parallel(n_jobs, pieces(problem->m), work_a, &x);
  }
  h->n_checked =
      hd_reference_sample_rows(seed, (uint64_t)problem->m, HD_BENCH_CHECKED_ROWS, h->checked);
  free(h->b);
  free(h->expected);
  h->b = hd_xmalloc((size_t)problem->n * h->row_bytes);
  h->expected = hd_xmalloc(sizeof *h->expected * h->n_checked * (size_t)problem->n);
  if (!x.failed)
    hd_parallel(n_jobs, pieces(problem->n), work_b, &x);
  if (x.failed)
    return hd_error(ctx, (heddle_status)x.failed, HD_NOWHERE, "bench.operands",
                    "the operands of %lld x %lld x %lld could not be made", (long long)problem->m,
                    (long long)problem->n, (long long)problem->k);
  h->m = problem->m;
  h->k = problem->k;
  return HEDDLE_OK;
}

hd_bench_host *hd_bench_host_create(void) {
  hd_bench_host *host = hd_xmalloc(sizeof *host);
  *host = (hd_bench_host){0};
  return host;
}

void hd_bench_host_free(hd_bench_host *h) {
  if (!h)
    return;
  free(h->a);
  free(h->packed);
  free(h->b);
  free(h->expected);
  free(h);
}
