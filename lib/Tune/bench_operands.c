#include "Tune/bench_operands.h"

#include <stdatomic.h>
#include <string.h>

#include "Reference/operands.h"
#include "Reference/reference.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/parallel.h"
#include "heddle/sparse.h"

/* Rows of A and of stored B, and columns of D, in one work item of a thread. Packed A has blocks of
 * as many rows. */
enum { ROWS = 64 };

typedef struct making {
  const hd_product *p;
  hd_bench_host *host;
  size_t block_bytes; /* packed A of ROWS rows */
  atomic_int failed;  /* a heddle_status */
} making;

static int64_t rows_at(int64_t all, int32_t i) {
  int64_t left = all - (int64_t)i * ROWS;
  return left < ROWS ? left : ROWS;
}

static int32_t pieces(int64_t all) { return (int32_t)((all + ROWS - 1) / ROWS); }

static void note(making *x, heddle_status status) {
  if (status != HEDDLE_OK)
    atomic_store(&x->failed, (int)status);
}

/* ---- A ---- */

static heddle_status make_a(const making *x, int32_t i) {
  hd_bench_host *h = x->host;
  uint64_t n = (uint64_t)rows_at(x->p->m, i), k = (uint64_t)x->p->k;
  hd_fill fill = {.seed = h->seed + 1, .first_row = (uint64_t)i * ROWS};
  char *a = (char *)h->a + (size_t)i * ROWS * h->a_row_bytes;
  char *packed = (char *)h->packed + (size_t)i * x->block_bytes;
  hd_fill_dense(&fill, h->elem, n, k, a, k);
  HD_TRY(heddle_sparse_prune(NULL, h->elem, n, k, a, h->a_row_bytes));
  return heddle_sparse_pack_dense(NULL, h->elem, h->family, n, k, a, h->a_row_bytes, packed);
}

static void work_a(void *user, int32_t i) { note(user, make_a(user, i)); }

static bool has_a(const hd_bench_host *h, const hd_product *p, uint64_t seed) {
  return h->elem == p->a && h->m == p->m && h->k == p->k && h->seed == seed;
}

static heddle_status allocate_a(heddle_context *ctx, making *x, uint64_t seed) {
  const hd_product *p = x->p;
  hd_bench_host *h = x->host;
  hd_free(h->a);
  hd_free(h->packed);
  h->a = h->packed = NULL;
  h->m = h->k = 0;
  h->elem = p->a;
  h->seed = seed;
  h->family = HEDDLE_FAMILY_WGMMA;
  uint64_t m = (uint64_t)p->m, k = (uint64_t)p->k;
  if (heddle_sparse_packed_bytes(NULL, p->a, h->family, m, k, &h->packed_bytes) != HEDDLE_OK)
    h->family = HEDDLE_FAMILY_MMA;
  HD_TRY(heddle_sparse_dense_row_bytes(ctx, p->a, k, &h->a_row_bytes));
  HD_TRY(heddle_sparse_packed_bytes(ctx, p->a, h->family, m, k, &h->packed_bytes));
  HD_TRY(heddle_sparse_packed_bytes(ctx, p->a, h->family, ROWS, k, &x->block_bytes));
  h->a = hd_try_malloc(ctx, (size_t)p->m * h->a_row_bytes, "A");
  h->packed = h->a ? hd_try_malloc(ctx, h->packed_bytes, "packed A") : NULL;
  return h->packed ? HEDDLE_OK : HEDDLE_NO_MEMORY;
}

/* ---- B, and rows of D ---- */

static int64_t batch_of(const hd_product *p) { return p->g ? p->g : 1; }
static int64_t b_rows(const hd_product *p) { return p->b_mn_major ? p->k : p->n; }
static int64_t b_cols(const hd_product *p) { return p->b_mn_major ? p->n : p->k; }

static void work_b(void *user, int32_t i) {
  const making *x = user;
  uint64_t first = (uint64_t)i * ROWS, cols = (uint64_t)b_cols(x->p);
  hd_fill fill = {.seed = x->host->seed + 2, .first_row = first};
  hd_fill_dense(&fill, x->p->b, (uint64_t)rows_at(batch_of(x->p) * b_rows(x->p), i), cols,
                (char *)x->host->b + first * x->host->b_row_bytes, cols);
}

/* Elements of the checked rows of one matrix, and of all matrices of a batch. */
static size_t checked_elems(const hd_bench_host *h, const hd_product *p) {
  return h->n_checked * (size_t)p->n;
}
static size_t all_checked(const hd_bench_host *h, const hd_product *p) {
  return (size_t)batch_of(p) * checked_elems(h, p);
}

const double *hd_bench_host_expected(const hd_bench_host *h, const hd_product *p, int64_t g,
                                     const double **slack) {
  size_t at = (size_t)g * checked_elems(h, p);
  *slack = h->slack + at;
  return h->expected + at;
}

hd_comparison hd_bench_host_compare_aux(const hd_bench_host *h, const hd_product *p, int64_t g,
                                        const void *aux, bool row_major) {
  uint64_t m = (uint64_t)hd_product_d_rows(p), n = (uint64_t)p->n;
  size_t at = all_checked(h, p) + (size_t)g * checked_elems(h, p);
  size_t matrix_bytes = hd_product_aux_bytes(p) / (size_t)batch_of(p);
  heddle_elem elem = p->epilogue.aux_type;
  hd_matrix out = {(const char *)aux + (size_t)g * matrix_bytes, elem, row_major ? n : 1,
                   row_major ? 1 : m};
  return hd_compare_bounded(&out, n, h->checked, h->n_checked, h->expected + at, h->slack + at,
                            hd_product_bound(p, elem));
}

heddle_status hd_bench_host_check_aux(heddle_context *ctx, const hd_device *device,
                                      const hd_bench_host *h, const hd_product *p,
                                      const hd_buffer *buffer, bool row_major,
                                      hd_comparison *worst) {
  void *aux = hd_try_malloc(ctx, hd_product_aux_bytes(p), "the second matrix");
  heddle_status status = aux ? hd_buffer_download(ctx, device, buffer, aux) : HEDDLE_NO_MEMORY;
  *worst = (hd_comparison){.ok = true};
  for (int64_t g = 0; g < batch_of(p) && status == HEDDLE_OK && worst->ok; g++) {
    hd_comparison c = hd_bench_host_compare_aux(h, p, g, aux, row_major);
    if (!c.ok || c.error >= worst->error)
      *worst = c;
  }
  hd_free(aux);
  return status == HEDDLE_OK ? hd_buffer_check(ctx, device, buffer, "aux") : status;
}

/* Computes ROWS columns of the checked rows of D, for one product of a batch; after all of D also
 * of the second matrix. */
static heddle_status make_expected(const making *x, int32_t i) {
  const hd_product *p = x->p;
  const hd_bench_host *h = x->host;
  int64_t matrix = i / pieces(p->n), g = matrix % batch_of(p);
  int32_t piece = i % pieces(p->n);
  uint64_t first = (uint64_t)piece * ROWS, n = (uint64_t)rows_at(p->n, piece), k = (uint64_t)p->k;
  size_t elem_bits = heddle_elem_get(p->b)->container_bits;
  size_t offset = p->b_mn_major ? first * elem_bits / 8 : first * h->b_row_bytes;
  uint64_t row = p->b_mn_major ? (uint64_t)p->n : 1, col = p->b_mn_major ? 1 : k;
  offset += (size_t)g * (size_t)b_rows(p) * h->b_row_bytes;
  hd_reference r = {.m = (uint64_t)p->m,
                    .n = n,
                    .k = k,
                    .a = {h->a, h->elem, k, 1},
                    .b = {(char *)h->b + offset, p->b, row, col},
                    .alpha = 1};
  hd_epilogue_add_blocks(p, &h->values, first, &r);
  size_t part_elems = h->n_checked * n;
  double *part = hd_try_malloc(NULL, 2 * sizeof *part * part_elems, "a part of the reference");
  if (!part)
    return HEDDLE_NO_MEMORY;
  heddle_status status =
      hd_epilogue_rows(NULL, p, &h->values, &r, g, matrix >= batch_of(p), first, h->checked,
                       h->n_checked, part, part + part_elems);
  for (size_t at = 0; at < h->n_checked && status == HEDDLE_OK; at++) {
    size_t to = ((size_t)matrix * h->n_checked + at) * (size_t)p->n + first;
    memcpy(h->expected + to, part + at * n, sizeof *part * n);
    memcpy(h->slack + to, part + part_elems + at * n, sizeof *part * n);
  }
  hd_free(part);
  return status;
}

static void work_expected(void *user, int32_t i) { note(user, make_expected(user, i)); }

static heddle_status allocate_b(heddle_context *ctx, const hd_product *p, hd_bench_host *h) {
  h->b_row_bytes = ((size_t)b_cols(p) * heddle_elem_get(p->b)->container_bits + 7) / 8;
  h->n_checked = hd_reference_sample_rows(h->seed, (uint64_t)hd_product_d_rows(p),
                                          HD_BENCH_CHECKED_ROWS, h->checked);
  hd_free(h->b);
  hd_free(h->expected);
  hd_free(h->slack);
  h->b_bytes = (size_t)batch_of(p) * (size_t)b_rows(p) * h->b_row_bytes;
  h->expected = h->slack = NULL;
  h->b = hd_try_malloc(ctx, h->b_bytes, "B");
  size_t n_bytes = sizeof *h->expected * all_checked(h, p) * (p->epilogue.aux ? 2 : 1);
  if (h->b)
    h->expected = hd_try_malloc(ctx, n_bytes, "the reference");
  if (h->expected)
    h->slack = hd_try_malloc(ctx, n_bytes, "the reference's slack");
  return h->slack ? hd_epilogue_values_make(ctx, p, h->seed, &h->values) : HEDDLE_NO_MEMORY;
}

heddle_status hd_bench_host_make(heddle_context *ctx, const hd_product *p, uint64_t seed,
                                 int32_t n_jobs, hd_bench_host *h) {
  making x = {.p = p, .host = h};
  if (!has_a(h, p, seed)) {
    HD_TRY(allocate_a(ctx, &x, seed));
    hd_parallel(n_jobs, pieces(p->m), work_a, &x);
  }
  HD_TRY(allocate_b(ctx, p, h));
  hd_parallel(n_jobs, pieces(batch_of(p) * b_rows(p)), work_b, &x);
  if (!x.failed)
    hd_parallel(n_jobs, (int32_t)batch_of(p) * pieces(p->n) * (p->epilogue.aux ? 2 : 1),
                work_expected, &x);
  if (x.failed)
    return hd_error(ctx, (heddle_status)x.failed, HD_NOWHERE, "bench.operands",
                    "the operands of %lld x %lld x %lld could not be made: %s", (long long)p->m,
                    (long long)p->n, (long long)p->k, heddle_status_text((heddle_status)x.failed));
  h->m = p->m;
  h->k = p->k;
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
  hd_free(h->a);
  hd_free(h->packed);
  hd_free(h->b);
  hd_free(h->expected);
  hd_free(h->slack);
  hd_epilogue_values_free(&h->values);
  hd_free(h);
}
