/* A: made by seed, or read from a file of any form, and the errors injected in it. */
#include <string.h>

#include "Reference/operands.h"
#include "Sparse/npy.h"
#include "Sparse/sparse_file.h"
#include "Sparse/sparse_rule.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "trial/trial_parts.h"

/* ---- files ---- */

/* Rows of gate and up apart again. */
static heddle_status unpair(heddle_context *ctx, uint64_t m, size_t row_bytes, void *dense) {
  void *paired = hd_try_malloc(ctx, (size_t)m * row_bytes, "rows of gate and up");
  if (!paired)
    return HEDDLE_NO_MEMORY;
  memcpy(paired, dense, (size_t)m * row_bytes);
  heddle_status status = heddle_sparse_unpair_rows(ctx, m, row_bytes, paired, dense);
  hd_free(paired);
  return status;
}

/* Canonical or packed to dense. */
static heddle_status expand(heddle_context *ctx, const heddle_sparse_info *info,
                            const uint8_t *image, void *dense, size_t row_bytes) {
  if (info->form == HEDDLE_SPARSE_CANONICAL)
    return heddle_sparse_decompress(ctx, info->elem, info->m, info->k, image + info->values_offset,
                                    image + info->codes_offset, dense, row_bytes);
  heddle_sparse_info canonical;
  HD_TRY(heddle_sparse_plan(ctx, HEDDLE_SPARSE_CANONICAL, info->elem, HEDDLE_FAMILY_NONE, info->m,
                            info->k, &canonical));
  uint8_t *values = hd_xmalloc(canonical.values_bytes), *codes = hd_xmalloc(canonical.codes_bytes);
  heddle_status status = heddle_sparse_unpack(ctx, info->elem, info->family, info->m, info->k,
                                              image + info->payload_offset, values, codes);
  if (status == HEDDLE_OK)
    status = heddle_sparse_decompress(ctx, info->elem, info->m, info->k, values, codes, dense,
                                      row_bytes);
  if (status == HEDDLE_OK && info->pair)
    status = unpair(ctx, info->m, row_bytes, dense);
  hd_free(values);
  hd_free(codes);
  return status;
}

static heddle_status read_sparse_image(heddle_context *ctx, const char *path, const char *image,
                                       size_t n_bytes, heddle_elem elem, void **dense,
                                       uint64_t *m, uint64_t *k) {
  heddle_sparse_info info;
  HD_TRY(heddle_sparse_check(ctx, image, n_bytes, &info));
  if (info.elem != elem)
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "run.type",
                    "the file holds %s; legal: %s, the problem's A",
                    heddle_elem_get(info.elem)->name, heddle_elem_get(elem)->name);
  size_t row_bytes;
  HD_TRY(heddle_sparse_dense_row_bytes(ctx, elem, info.k, &row_bytes));
  *dense = hd_try_malloc(ctx, row_bytes * info.m, "A");
  if (!*dense)
    return HEDDLE_NO_MEMORY;
  *m = info.m;
  *k = info.k;
  return expand(ctx, &info, (const uint8_t *)image, *dense, row_bytes);
}

static heddle_status read_a(heddle_context *ctx, const char *path, heddle_elem elem, void **dense,
                            uint64_t *m, uint64_t *k) {
  char *image = NULL;
  size_t n_bytes, n_said = heddle_context_count(ctx);
  heddle_status status = hd_sparse_file_read(ctx, path, &image, &n_bytes);
  if (status == HEDDLE_OK && hd_npy_is(image, n_bytes))
    status = hd_npy_read(ctx, path, elem, dense, m, k);
  else if (status == HEDDLE_OK)
    status = read_sparse_image(ctx, path, image, n_bytes, elem, dense, m, k);
  if (status != HEDDLE_OK)
    hd_note(ctx, HD_NOWHERE, "run.operand", "this was read as A");
  hd_name_file(ctx, n_said, path);
  hd_free(image);
  return status;
}

static heddle_status npy_sizes(heddle_context *ctx, const char *path, heddle_elem elem,
                               uint64_t *rows, uint64_t *cols) {
  void *unused = NULL;
  heddle_status status = hd_npy_read(ctx, path, elem, &unused, rows, cols);
  hd_free(unused);
  return status;
}

/* A size that is fixed or asked for stands: what contradicts it is then said of the file. */
static void take_size(const hd_manifest *manifest, hd_arg_kind kind, uint64_t size,
                      int64_t *asked) {
  const hd_arg *arg = hd_manifest_arg(manifest, kind);
  if (!asked[kind] && !(arg && arg->fixed > 0))
    asked[kind] = (int64_t)size;
}

heddle_status trial_operand_sizes(heddle_context *ctx, const hd_manifest *manifest,
                                  const trial_request *request, int64_t *asked) {
  uint64_t rows, cols;
  if (request->a_file) {
    void *unused = NULL;
    heddle_status status = read_a(ctx, request->a_file, manifest->a_elem, &unused, &rows, &cols);
    hd_free(unused);
    HD_TRY(status);
    if (!hd_manifest_arg(manifest, HD_ARG_G))
      take_size(manifest, HD_ARG_M, rows, asked);
    take_size(manifest, HD_ARG_K, cols, asked);
  }
  if (request->b_file) {
    HD_TRY(npy_sizes(ctx, request->b_file, manifest->b_elem, &rows, &cols));
    if (manifest->b_mn_major || !hd_manifest_arg(manifest, HD_ARG_G))
      take_size(manifest, HD_ARG_N, manifest->b_mn_major ? cols : rows, asked);
  }
  return HEDDLE_OK;
}

enum { SLAB_ROWS = 64 };

static uint64_t round_to_slab(uint64_t rows) {
  return (rows + SLAB_ROWS - 1) / SLAB_ROWS * SLAB_ROWS;
}

/* A packed file's matrices of a batch are whole slabs each: their own rows alone, together. Gives
 * how many there are. */
static uint64_t join(void *dense, uint64_t n, uint64_t rows, size_t row_bytes) {
  for (uint64_t i = 1; i < n; i++)
    memmove((uint8_t *)dense + (size_t)(i * rows) * row_bytes,
            (uint8_t *)dense + (size_t)(i * round_to_slab(rows)) * row_bytes,
            (size_t)rows * row_bytes);
  return n * rows;
}

heddle_status trial_operand_a(heddle_context *ctx, const hd_manifest *manifest,
                              const trial_request *request, const trial_shape *shape,
                              unsigned limit, void **dense, size_t *row_bytes) {
  uint64_t n = (uint64_t)trial_matrices(shape, HD_ARG_STRIDE_A), each = (uint64_t)shape->m;
  uint64_t m = n * each, k = (uint64_t)shape->k, file_m = m, file_k = k;
  HD_TRY(heddle_sparse_dense_row_bytes(ctx, manifest->a_elem, k, row_bytes));
  if (!request->a_file) {
    *dense = hd_try_malloc(ctx, *row_bytes * m, "A");
    if (!*dense)
      return HEDDLE_NO_MEMORY;
    for (uint64_t i = 0; i < n; i++) {
      hd_fill fill = {.seed = request->seed + i * TRIAL_NEXT_MATRIX, .limit = limit};
      hd_fill_sparse(&fill, manifest->a_elem, each, k, (uint8_t *)*dense + i * each * *row_bytes,
                     k);
    }
    return HEDDLE_OK;
  }
  HD_TRY(read_a(ctx, request->a_file, manifest->a_elem, dense, &file_m, &file_k));
  if (n > 1 && file_m == n * round_to_slab(each) && file_k == k)
    file_m = join(*dense, n, each, *row_bytes);
  if (file_m == m && file_k == k)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = request->a_file}, "run.shape",
                  "A is %llu x %llu; legal: %llu x %llu, as the problem has it",
                  (unsigned long long)file_m, (unsigned long long)file_k, (unsigned long long)m,
                  (unsigned long long)k);
}

/* ---- injected faults ---- */

static size_t at(const trial_shape *s, int64_t row, int64_t col) {
  return (size_t)(row * s->k + col);
}

static bool is_free(heddle_elem elem, const void *dense, size_t first, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (hd_elem_get_bits(elem, dense, first + (size_t)i))
      return false;
  return true;
}

/* Moves one unit (an element, or a pair of 4-bit ones) to a free place of its group: the values
 * stay, one code changes. */
static bool inject_metadata(heddle_elem elem, const trial_shape *s, void *dense) {
  int64_t group = heddle_elem_get(elem)->group, unit = group / hd_sparse_rule_get(elem)->n_units;
  for (int64_t row = s->m - 1; row >= 0; row--)
    for (int64_t first = (s->k / group - 1) * group; first >= 0; first -= group)
      for (int64_t i = first; i + unit < first + group; i += unit) {
        size_t here = at(s, row, i), next = at(s, row, i + unit);
        if (is_free(elem, dense, here, unit) || !is_free(elem, dense, next, unit))
          continue;
        for (int64_t j = 0; j < unit; j++, here++) {
          hd_elem_set_bits(elem, dense, next + (size_t)j, hd_elem_get_bits(elem, dense, here));
          hd_elem_set_bits(elem, dense, here, 0);
        }
        return true;
      }
  return false;
}

static bool inject_k_step(heddle_elem elem, const trial_shape *s, void *dense) {
  int64_t step = 512 / heddle_elem_get(elem)->container_bits;
  int64_t first = (s->k - 1) / step * step;
  for (int64_t row = 0; row < s->m && row < SLAB_ROWS; row++)
    for (int64_t col = first; col < s->k; col++)
      hd_elem_set_bits(elem, dense, at(s, row, col), 0);
  return true;
}

static bool inject_rows(const trial_shape *s, uint8_t *dense, size_t row_bytes) {
  if (s->m < 2)
    return false;
  uint8_t *last = dense + (size_t)(s->m - 1) * row_bytes, *kept = hd_xmalloc(row_bytes);
  memcpy(kept, last, row_bytes);
  memcpy(last, last - row_bytes, row_bytes);
  memcpy(last - row_bytes, kept, row_bytes);
  hd_free(kept);
  return true;
}

/* What packing interleaves is as if it had not been. */
static bool inject_pairs(const trial_shape *s, void *dense, size_t row_bytes) {
  size_t n_bytes = (size_t)s->m * row_bytes;
  void *kept = hd_xmalloc(n_bytes);
  memcpy(kept, dense, n_bytes);
  bool apart = heddle_sparse_unpair_rows(NULL, (uint64_t)s->m, row_bytes, kept, dense) == HEDDLE_OK;
  hd_free(kept);
  return apart;
}

heddle_status trial_inject_fault(heddle_context *ctx, trial_fault plant, heddle_elem elem,
                                const trial_shape *shape, void *dense, size_t row_bytes) {
  bool injected = plant == TRIAL_FAULT_METADATA ? inject_metadata(elem, shape, dense)
                 : plant == TRIAL_FAULT_K_STEP ? inject_k_step(elem, shape, dense)
                 : plant == TRIAL_FAULT_PAIRS  ? inject_pairs(shape, dense, row_bytes)
                                               : inject_rows(shape, dense, row_bytes);
  if (injected)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "trial.fault",
                  "a matrix of %lld x %lld has no place for that error", (long long)shape->m,
                  (long long)shape->k);
}
