#include "Bench/peer_pad.h"

#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"

static int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

static size_t bytes_of(heddle_elem elem) {
  return (size_t)heddle_elem_get(elem)->container_bits / 8;
}

/* Rows of `row` bytes at a pitch to others at another. */
static void copy_rows(const char *from, size_t from_pitch, char *to, size_t to_pitch, size_t row,
                      int64_t n_rows) {
  for (int64_t i = 0; i < n_rows; i++)
    memcpy(to + (size_t)i * to_pitch, from + (size_t)i * from_pitch, row);
}

/* The matrix of buffer set 0, rows of k elements, as n_rows x k, in as many sets. */
static heddle_status pad(heddle_context *ctx, const hd_device *device, const hd_rotation *from,
                         int64_t had_rows, size_t had_row, int64_t rows, size_t row, size_t n_sets,
                         hd_rotation *to) {
  char *had = hd_try_zalloc(ctx, (size_t)had_rows * had_row, "an operand");
  char *has = had ? hd_try_zalloc(ctx, (size_t)rows * row, "a padded operand") : NULL;
  heddle_status status =
      has ? hd_buffer_download(ctx, device, &from->set[0], had) : HEDDLE_NO_MEMORY;
  if (status == HEDDLE_OK) {
    copy_rows(had, had_row, has, row, had_row, had_rows);
    status = hd_rotation_create(ctx, device, has, (size_t)rows * row, n_sets, to);
  }
  hd_free(has);
  hd_free(had);
  return status;
}

bool hd_padded_differs(const hd_bench_case *bench, int64_t unit, int64_t smaller) {
  return round_up(bench->m, unit) != round_up(bench->m, smaller) ||
         round_up(bench->n, unit) != round_up(bench->n, smaller) ||
         round_up(bench->k, unit) != round_up(bench->k, smaller);
}

heddle_status hd_padded_make(heddle_context *ctx, const hd_device *device,
                             const hd_bench_case *from, int64_t unit, hd_padded *padded) {
  hd_padded p = {.bench = *from};
  hd_bench_case *to = &p.bench;
  size_t elem = bytes_of(from->elem), had_row = (size_t)from->k * elem;
  to->m = round_up(from->m, unit);
  to->n = round_up(from->n, unit);
  to->k = round_up(from->k, unit);
  size_t row = (size_t)to->k * elem, d_bytes = (size_t)(to->m * to->n) * bytes_of(from->d_elem);
  heddle_status status =
      pad(ctx, device, from->a_dense, from->m, had_row, to->m, row, from->n_sets, &p.a);
  if (status == HEDDLE_OK)
    status = pad(ctx, device, from->b, from->n, had_row, to->n, row, from->n_sets, &p.b);
  if (status == HEDDLE_OK)
    status = hd_rotation_create(ctx, device, NULL, d_bytes, from->n_sets, &p.d);
  if (status != HEDDLE_OK) {
    hd_padded_free(device, &p);
    return status;
  }
  *padded = p;
  to = &padded->bench;
  to->a_dense = &padded->a;
  to->b = &padded->b;
  to->d = &padded->d;
  return HEDDLE_OK;
}

void hd_padded_free(const hd_device *device, hd_padded *padded) {
  hd_rotation_free(device, &padded->a);
  hd_rotation_free(device, &padded->b);
  hd_rotation_free(device, &padded->d);
  *padded = (hd_padded){0};
}

heddle_status hd_padded_crop(heddle_context *ctx, const hd_device *device, const hd_padded *padded,
                             const hd_bench_case *to, bool row_major) {
  const hd_bench_case *from = &padded->bench;
  size_t elem = bytes_of(to->d_elem);
  int64_t n_rows = row_major ? to->m : to->n;
  size_t had_row = (size_t)(row_major ? from->n : from->m) * elem;
  size_t row = (size_t)(row_major ? to->n : to->m) * elem;
  char *had = hd_try_zalloc(ctx, padded->d.set[0].n_bytes, "a padded D");
  char *has = had ? hd_try_zalloc(ctx, to->d->set[0].n_bytes, "D") : NULL;
  heddle_status status =
      has ? hd_buffer_download(ctx, device, &padded->d.set[0], had) : HEDDLE_NO_MEMORY;
  if (status == HEDDLE_OK) {
    copy_rows(had, had_row, has, row, row, n_rows);
    status = hd_buffer_upload(ctx, device, &to->d->set[0], has);
  }
  hd_free(has);
  hd_free(had);
  return status;
}
