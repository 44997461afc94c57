#include "Bench/whole_check.h"

#include <stdlib.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/parallel.h"

/* Elements of a band at least: a norm of fewer says little about rounding. */
enum { BAND_ELEMS = 1 << 16, WHOLE_ELEM_BYTES = 4 };

heddle_status hd_whole_make(heddle_context *ctx, const hd_device *device, hd_peer *peer,
                            const hd_bench_case *bench, hd_whole *whole) {
  hd_whole w = {.integer = heddle_elem_get(bench->elem)->kind != HEDDLE_FLOAT,
                .m = bench->m,
                .n = bench->n};
  hd_buffer d = {0};
  size_t n_bytes = (size_t)bench->m * (size_t)bench->n * WHOLE_ELEM_BYTES;
  HD_TRY(hd_buffer_create(ctx, device, n_bytes, 0, &d));
  heddle_status status = hd_peer_product(ctx, peer, bench, d.address, &w.row_major);
  if (status == HEDDLE_OK)
    status = hd_device_sync(ctx, device);
  if (status == HEDDLE_OK) {
    w.data = hd_try_malloc(ctx, n_bytes, "all of D");
    status = w.data ? hd_buffer_download(ctx, device, &d, w.data) : HEDDLE_NO_MEMORY;
  }
  hd_buffer_free(device, &d);
  if (status != HEDDLE_OK) {
    hd_whole_free(&w);
    return status;
  }
  *whole = w;
  return HEDDLE_OK;
}

void hd_whole_free(hd_whole *w) {
  hd_free(w->data);
  *w = (hd_whole){0};
}

/* ---- comparing ---- */

typedef struct comparing {
  const hd_whole *whole;
  const hd_matrix *d;
  double bound;
  int64_t band_rows;
  hd_comparison *band; /* owned; one each */
} comparing;

static double value_at(const hd_whole *w, int64_t i, int64_t j) {
  int64_t at = w->row_major ? i * w->n + j : j * w->m + i;
  return w->integer ? ((const int32_t *)w->data)[at] : (double)((const float *)w->data)[at];
}

static void compare_band(void *user, int32_t index) {
  const comparing *x = user;
  const hd_whole *w = x->whole;
  int64_t first = index * x->band_rows;
  int64_t n_rows = w->m - first < x->band_rows ? w->m - first : x->band_rows;
  uint64_t *rows = hd_xmalloc(sizeof *rows * (size_t)n_rows);
  double *expected = hd_xmalloc(sizeof *expected * (size_t)(n_rows * w->n));
  for (int64_t i = 0; i < n_rows; i++) {
    rows[i] = (uint64_t)(first + i);
    for (int64_t j = 0; j < w->n; j++)
      expected[i * w->n + j] = value_at(w, first + i, j);
  }
  x->band[index] =
      hd_compare_bounded(x->d, (uint64_t)w->n, rows, (size_t)n_rows, expected, NULL, x->bound);
  hd_free(rows);
  hd_free(expected);
}

hd_comparison hd_whole_compare(const hd_whole *w, const hd_matrix *d, double bound,
                               int32_t n_jobs) {
  comparing x = {w, d, bound, (BAND_ELEMS + w->n - 1) / w->n, NULL};
  int32_t n_bands = (int32_t)((w->m + x.band_rows - 1) / x.band_rows), worst = 0;
  hd_comparison all = {.ok = true};
  x.band = hd_xmalloc(sizeof *x.band * (size_t)n_bands);
  hd_parallel(n_jobs, n_bands, compare_band, &x);
  for (int32_t i = 0; i < n_bands; i++) {
    const hd_comparison *b = &x.band[i], *so_far = &x.band[worst];
    all.ok &= b->ok;
    all.n_compared += b->n_compared;
    all.n_wrong += b->n_wrong;
    if (b->ok < so_far->ok || (b->ok == so_far->ok && b->error > so_far->error))
      worst = i;
  }
  hd_comparison result = x.band[worst];
  result.ok = all.ok;
  result.n_compared = all.n_compared;
  result.n_wrong = all.n_wrong;
  hd_free(x.band);
  return result;
}
