#include "Tune/workload.h"

#include <string.h>

#include "Reference/reference_compare.h"
#include "Reference/routing.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Tune/bench_operands.h"
#include "heddle/sparse.h"

enum { N_FAMILIES = 2 };

static const heddle_family families[N_FAMILIES] = {HEDDLE_FAMILY_WGMMA, HEDDLE_FAMILY_MMA};

struct hd_workload {
  const hd_device *device;   /* borrowed */
  const hd_bench_host *host; /* borrowed */
  hd_product product;
  size_t d_bytes, n_sets;
  void *d; /* owned: what came back */
  hd_rotation packed[N_FAMILIES]; /* made when a schedule first wants it */
  hd_rotation b_sets, d_sets, offsets;
  hd_epilogue_buffers epilogue;
};

size_t hd_workload_n_sets(const hd_workload *w) { return w->n_sets; }

/* ---- operands ---- */

/* Groups are dealt evenly in one set and by Zipf in the next: a schedule has to be good for both.
 * All have the one A, so that D is the plain product. */
static heddle_status place_offsets(heddle_context *ctx, hd_workload *w) {
  static const hd_routing routings[] = {HD_ROUTING_BALANCED, HD_ROUTING_ZIPF};
  const hd_product *p = &w->product;
  size_t n_bytes = (size_t)(p->groups + 1) * sizeof(int32_t);
  heddle_status status = HEDDLE_OK;
  if (!p->groups)
    return HEDDLE_OK;
  HD_TRY(hd_rotation_create(ctx, w->device, NULL, n_bytes, w->n_sets, &w->offsets));
  int32_t *offsets = hd_xmalloc(n_bytes);
  for (size_t i = 0; i < w->n_sets && status == HEDDLE_OK; i++) {
    hd_routing_fill(routings[i % HD_COUNT(routings)], i, p->groups, p->n, offsets);
    status = hd_buffer_upload(ctx, w->device, &w->offsets.set[i], offsets);
  }
  hd_free(offsets);
  return status;
}

static heddle_status place_operands(heddle_context *ctx, hd_workload *w) {
  const hd_product *p = &w->product;
  const hd_bench_host *h = w->host;
  size_t a_bytes = h->packed_bytes * (size_t)hd_product_matrices(p);
  w->d_bytes = hd_product_d_bytes(p);
  w->d = hd_try_malloc(ctx, w->d_bytes, "D");
  if (!w->d)
    return HEDDLE_NO_MEMORY;
  w->n_sets = hd_measure_sets(a_bytes + h->b_bytes + w->d_bytes + h->values.c_bytes);
  HD_TRY(hd_rotation_create(ctx, w->device, h->b, h->b_bytes, w->n_sets, &w->b_sets));
  HD_TRY(hd_epilogue_upload(ctx, w->device, p, &h->values, w->n_sets, &w->epilogue));
  HD_TRY(place_offsets(ctx, w));
  return hd_rotation_create(ctx, w->device, NULL, w->d_bytes, w->n_sets, &w->d_sets);
}

heddle_status hd_workload_open(heddle_context *ctx, const hd_device *device,
                               const hd_product *product, const hd_bench_host *host,
                               hd_workload **workload) {
  hd_workload *w = hd_try_zalloc(ctx, sizeof *w, "a workload");
  if (!w)
    return HEDDLE_NO_MEMORY;
  w->device = device;
  w->host = host;
  w->product = *product;
  heddle_status status = place_operands(ctx, w);
  if (status != HEDDLE_OK) {
    hd_workload_close(w);
    return status;
  }
  *workload = w;
  return HEDDLE_OK;
}

void hd_workload_close(hd_workload *w) {
  if (!w)
    return;
  for (int i = 0; i < N_FAMILIES; i++)
    hd_rotation_free(w->device, &w->packed[i]);
  hd_rotation_free(w->device, &w->b_sets);
  hd_rotation_free(w->device, &w->d_sets);
  hd_rotation_free(w->device, &w->offsets);
  hd_epilogue_buffers_free(w->device, &w->epilogue);
  hd_free(w->d);
  hd_free(w);
}

/* A in the order of a family, packed and copied once. */
static heddle_status packed_for(heddle_context *ctx, hd_workload *w, const char *family,
                                const hd_rotation **packed) {
  const hd_product *p = &w->product;
  heddle_family wanted = HEDDLE_FAMILY_NONE;
  HD_TRY(heddle_family_parse(family, &wanted));
  int i = wanted == families[0] ? 0 : 1;
  *packed = &w->packed[i];
  if (w->packed[i].n_sets)
    return HEDDLE_OK;
  uint64_t m = (uint64_t)p->m, k = (uint64_t)p->k;
  const hd_bench_host *h = w->host;
  int64_t matrices = hd_product_matrices(p);
  if (wanted == h->family)
    return hd_rotation_repeat(ctx, w->device, h->packed, h->packed_bytes, matrices, w->n_sets,
                              &w->packed[i]);
  size_t n_bytes;
  HD_TRY(heddle_sparse_packed_bytes(ctx, p->a, wanted, m, k, &n_bytes));
  void *payload = hd_try_malloc(ctx, n_bytes, "packed A");
  if (!payload)
    return HEDDLE_NO_MEMORY;
  heddle_status status =
      heddle_sparse_pack_dense(ctx, p->a, wanted, m, k, h->a, h->a_row_bytes, payload);
  if (status == HEDDLE_OK)
    status =
        hd_rotation_repeat(ctx, w->device, payload, n_bytes, matrices, w->n_sets, &w->packed[i]);
  hd_free(payload);
  return status;
}

/* ---- candidates ---- */

static heddle_status load(heddle_context *ctx, hd_candidate *c) {
  hd_workload *w = c->workload;
  const hd_product *p = &w->product;
  hd_rotated_operands operands = {.b = &w->b_sets,
                                  .d = &w->d_sets,
                                  .ldb = p->b_mn_major ? p->n : p->k,
                                  .ldd = p->d_col_major ? hd_product_d_rows(p) : p->n,
                                  .epilogue = &w->epilogue};
  HD_TRY(hd_load_compiled(ctx, w->device->runtime, c->compiled, &c->loaded.kernel));
  HD_TRY(packed_for(ctx, w, heddle_kernel_family(c->loaded.kernel), &operands.a));
  if (p->groups)
    operands.offsets = &w->offsets;
  hd_rotated_strides(p, operands.a->set[0].n_bytes / (size_t)hd_product_matrices(p), &operands);
  return hd_rotated_give(ctx, w->device, &operands, &c->loaded);
}

heddle_status hd_candidate_load(heddle_context *ctx, hd_workload *workload,
                                const heddle_compile_options *options, hd_candidate *candidate) {
  hd_candidate c = {.workload = workload};
  char *text = hd_product_problem(&workload->product);
  heddle_status status = heddle_compile(ctx, "product", text, strlen(text), options, &c.compiled);
  hd_free(text);
  if (status == HEDDLE_OK)
    status = load(ctx, &c);
  if (status != HEDDLE_OK) {
    hd_candidate_free(&c);
    return status;
  }
  *candidate = c;
  return HEDDLE_OK;
}

void hd_candidate_free(hd_candidate *c) {
  if (c->workload)
    hd_rotated_free(c->workload->device, &c->loaded);
  heddle_compiled_free(c->compiled);
  *c = (hd_candidate){0};
}

hd_contender hd_candidate_contender(const hd_candidate *c) {
  bool col = c->workload->product.d_col_major;
  return (hd_contender){.name = "heddle",
                        .launch = hd_rotated_launch,
                        .user = (void *)&c->loaded,
                        .stored = col ? HD_STORED_COL_MAJOR : HD_STORED_ROW_MAJOR};
}

/* ---- checking ---- */

static heddle_status compare(heddle_context *ctx, const hd_workload *w, int64_t g, double *error) {
  const hd_product *p = &w->product;
  uint64_t m = (uint64_t)hd_product_d_rows(p), n = (uint64_t)p->n;
  size_t elem_bytes = heddle_elem_get(p->d)->container_bits / 8;
  double bound = hd_product_bound(p, p->d);
  const char *d = (const char *)w->d + (size_t)g * m * n * elem_bytes;
  hd_matrix out = {d, p->d, p->d_col_major ? 1 : n, p->d_col_major ? m : 1};
  const hd_bench_host *h = w->host;
  const double *slack, *expected = hd_bench_host_expected(h, p, g, &slack);
  double *divided;
  HD_TRY(hd_epilogue_divided(ctx, w->device, p, &w->epilogue, h->checked, h->n_checked, expected,
                             slack, &divided));
  hd_comparison c = hd_compare_bounded(&out, n, h->checked, h->n_checked,
                                       divided ? divided : expected,
                                       divided ? divided + h->n_checked * n : slack, bound);
  hd_free(divided);
  *error = c.error > *error ? c.error : *error;
  if (c.ok)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_MISMATCH, HD_NOWHERE, "tune.verify",
                  "D[%llu, %llu] is %g, the reference's %g; relative error %.3g, bound %.3g",
                  (unsigned long long)c.row, (unsigned long long)c.col, c.got, c.expected, c.error,
                  bound);
}

/* The compared rows alone where a row lies together. */
static heddle_status fetch(heddle_context *ctx, const hd_workload *w) {
  const hd_product *p = &w->product;
  if (p->d_col_major || p->g)
    return hd_buffer_download(ctx, w->device, &w->d_sets.set[0], w->d);
  size_t row_bytes = w->d_bytes / (size_t)hd_product_d_rows(p);
  for (size_t i = 0; i < w->host->n_checked; i++) {
    size_t at = (size_t)w->host->checked[i] * row_bytes;
    HD_TRY(heddle_device_download(ctx, w->device->runtime, (char *)w->d + at,
                                  (const void *)(uintptr_t)(w->d_sets.set[0].address + at),
                                  row_bytes));
  }
  return HEDDLE_OK;
}

static heddle_status compare_aux(heddle_context *ctx, const hd_workload *w, double *error) {
  const hd_product *p = &w->product;
  hd_comparison c;
  if (!p->epilogue.aux)
    return HEDDLE_OK;
  HD_TRY(hd_bench_host_check_aux(ctx, w->device, w->host, p, &w->epilogue.aux.set[0],
                                 !p->d_col_major, &c));
  *error = c.error > *error ? c.error : *error;
  if (c.ok)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_MISMATCH, HD_NOWHERE, "tune.verify",
                  "the second matrix is %g at [%llu, %llu], the reference's %g; relative error "
                  "%.3g, bound %.3g",
                  c.got, (unsigned long long)c.row, (unsigned long long)c.col, c.expected, c.error,
                  hd_product_bound(p, p->epilogue.aux_type));
}

heddle_status hd_candidate_verify(heddle_context *ctx, const hd_candidate *c, double *error) {
  const hd_workload *w = c->workload;
  HD_TRY(hd_buffer_fill(ctx, w->device, &w->d_sets.set[0], HD_POISON_BYTE));
  if (w->product.epilogue.aux)
    HD_TRY(hd_buffer_fill(ctx, w->device, &w->epilogue.aux.set[0], HD_POISON_BYTE));
  HD_TRY(hd_rotated_launch(ctx, (void *)&c->loaded, 0, w->device->stream));
  HD_TRY(hd_device_sync(ctx, w->device));
  HD_TRY(fetch(ctx, w));
  *error = 0;
  for (int64_t g = 0; g < (w->product.g ? w->product.g : 1); g++)
    HD_TRY(compare(ctx, w, g, error));
  HD_TRY(compare_aux(ctx, w, error));
  return hd_buffer_check(ctx, w->device, &w->d_sets.set[0], "d");
}
