/* Block scales: made by seed or read row-major, then stored in granule order. */
#include <stdlib.h>
#include <string.h>

#include "Reference/operands.h"
#include "Sparse/npy.h"
#include "Support/diag.h"
#include "heddle/block_scale.h"
#include "trial/trial_parts.h"

/* Finite in ue8m0 and ue4m3. */
enum { PAD = 0x5a };
/* An exponent, or the mantissa's lowest bit, of a planted error. */
enum { ONE_MORE = 1 };

int64_t trial_scales_a_granule(const hd_manifest *manifest) {
  int64_t granule_k = 1024 / heddle_elem_get(manifest->a_elem)->container_bits;
  return manifest->scale_block ? granule_k / manifest->scale_block : 0;
}

int64_t trial_scales_a_row(const hd_manifest *manifest, const trial_shape *s) {
  return manifest->scale_block ? (s->k + manifest->scale_block - 1) / manifest->scale_block : 0;
}

static heddle_status read_scales(heddle_context *ctx, const char *path, heddle_elem elem,
                                 uint64_t rows, uint64_t blocks, uint8_t **scales) {
  void *data = NULL;
  uint64_t n_rows, n_cols;
  HD_TRY(hd_npy_read(ctx, path, elem, &data, &n_rows, &n_cols));
  *scales = data;
  if (n_rows == rows && n_cols == blocks)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "run.shape",
                  "the block scales are %llu x %llu; the problem wants %llu x %llu",
                  (unsigned long long)n_rows, (unsigned long long)n_cols, (unsigned long long)rows,
                  (unsigned long long)blocks);
}

/* Scales past K meet zeros only: what they are may not matter, unless NaN. */
static void fill_pads(uint8_t *last, int64_t rows, int64_t each, int64_t used) {
  for (int64_t row = 0; row < rows; row++)
    memset(last + row * each + used, PAD, (size_t)(each - used));
}

heddle_status trial_block_scales(heddle_context *ctx, const hd_manifest *manifest,
                                 const trial_request *r, const trial_shape *s, int which,
                                 uint8_t **scales, uint8_t *to) {
  hd_arg_kind kind = which ? HD_ARG_BLOCK_SCALE_B : HD_ARG_BLOCK_SCALE_A;
  heddle_elem elem = hd_manifest_arg(manifest, kind)->elem;
  int64_t rows = which ? s->n : s->m, pitch = which ? s->ldsb : s->ldsa;
  int64_t blocks = trial_scales_a_row(manifest, s), each = trial_scales_a_granule(manifest);
  if (r->block_scale_file[which]) {
    HD_TRY(read_scales(ctx, r->block_scale_file[which], elem, (uint64_t)rows, (uint64_t)blocks,
                       scales));
  } else {
    hd_fill fill = {.seed = r->seed * HD_N_ARG_KINDS + (uint64_t)kind, .limit = r->exact};
    *scales = hd_xmalloc((size_t)(rows * blocks));
    hd_fill_scales(&fill, elem, (uint64_t)rows, (uint64_t)blocks, *scales);
  }
  HD_TRY(heddle_block_scale_pack(ctx, manifest->a_elem, (uint32_t)manifest->scale_block,
                                 (uint64_t)rows, (uint64_t)s->k, *scales, (size_t)blocks, to,
                                 (size_t)pitch));
  int64_t last = (blocks - 1) / each;
  fill_pads(to + last * pitch, rows, each, blocks - last * each);
  if (r->plant == TRIAL_PLANT_SCALE && which == 0)
    to[last * pitch + (rows - 1) * each] += ONE_MORE;
  return HEDDLE_OK;
}
