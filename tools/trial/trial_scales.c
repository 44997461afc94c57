/* Block scales: made by seed or read row-major, then stored as the kernel reads them. */
#include "Reference/operands.h"
#include "Sparse/npy.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "heddle/block_scale.h"
#include "heddle/sparse.h"
#include "trial/trial_parts.h"

/* Finite in ue8m0 and ue4m3. */
enum { PAD = 0x5a };
/* An exponent, or the mantissa's lowest bit, of a injected fault. */
enum { ONE_MORE = 1 };

/* The first scale of the last k-block that has a whole block: a part of one may be all zeros. */
static int64_t last_k_block(int64_t whole_blocks, int64_t each) {
  return whole_blocks > 0 ? (whole_blocks - 1) / each * each : 0;
}

int64_t trial_scales_a_k_block(const hd_manifest *manifest) {
  int64_t k_block_size = 1024 / heddle_elem_get(manifest->a_elem)->container_bits;
  return manifest->scale_block ? k_block_size / manifest->scale_block : 0;
}

int64_t trial_scales_a_row(const hd_manifest *manifest, const trial_shape *s) {
  return manifest->scale_block ? (s->k + manifest->scale_block - 1) / manifest->scale_block : 0;
}

int64_t trial_scaled_rows(const hd_manifest *manifest, const trial_shape *s, int which) {
  int64_t each = which == 0 && manifest->scale_rows > 1 ? manifest->scale_rows : 1;
  return ((which ? s->n : s->m) + each - 1) / each;
}

static int64_t scale_bytes(const hd_manifest *manifest) {
  const hd_arg *arg = hd_manifest_arg(manifest, HD_ARG_BLOCK_SCALE_A);
  return arg ? heddle_elem_get(arg->elem)->container_bits / 8 : 1;
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
                  "the block scales are %llu x %llu; legal: %llu x %llu, as the problem has them",
                  (unsigned long long)n_rows, (unsigned long long)n_cols, (unsigned long long)rows,
                  (unsigned long long)blocks);
}

/* Where the i-th scale of a row is stored. */
static int64_t place_of(const hd_manifest *manifest, int64_t pitch, int64_t row, int64_t i) {
  int64_t each = trial_scales_a_k_block(manifest);
  return manifest->scale_tiles
             ? row / 128 * pitch + i / 4 * 512 + row % 32 * 16 + row % 128 / 32 * 4 + i % 4
             : i / each * pitch + row * each + i % each;
}

/* K-blocks stand at the pitch, and the last one ends with its last scale; tiles are whole. */
int64_t trial_block_scale_bytes(const hd_manifest *manifest, const trial_shape *s, int which) {
  int64_t each = trial_scales_a_k_block(manifest), rows = trial_scaled_rows(manifest, s, which);
  int64_t k_blocks = (trial_scales_a_row(manifest, s) + each - 1) / each;
  int64_t pitch = which ? s->ldsb : s->ldsa;
  return (manifest->scale_tiles ? (rows + 127) / 128 * pitch
                                : (k_blocks - 1) * pitch + rows * each) * scale_bytes(manifest);
}

/* One, of the last row and k-block, is another: a byte's exponent or lowest bit of its mantissa, of
 * an f32 twice as large. */
static void inject(const hd_manifest *manifest, const trial_shape *s, int64_t rows, int64_t pitch,
                   uint8_t *to) {
  int64_t each = trial_scales_a_k_block(manifest);
  int64_t at =
      place_of(manifest, pitch, rows - 1, last_k_block(s->k / manifest->scale_block, each));
  if (scale_bytes(manifest) > 1)
    ((float *)(void *)to)[at] *= 2;
  else
    to[at] += ONE_MORE;
}

/* As A's rows of gate and up. */
static heddle_status pack_pairs(heddle_context *ctx, const heddle_block_scale_shape *shape,
                                const void *scales, size_t row_bytes, void *to, size_t pitch) {
  void *paired = hd_try_malloc(ctx, shape->rows * row_bytes, "pairs of rows");
  if (!paired)
    return HEDDLE_NO_MEMORY;
  heddle_status status = heddle_sparse_pair_rows(ctx, shape->rows, row_bytes, scales, paired);
  if (status == HEDDLE_OK)
    status = heddle_block_scale_pack(ctx, shape, paired, row_bytes, to, pitch);
  hd_free(paired);
  return status;
}

heddle_status trial_block_scales(heddle_context *ctx, const hd_manifest *manifest,
                                 const trial_request *r, const trial_shape *s, int which,
                                 uint8_t **scales, uint8_t *to) {
  hd_arg_kind kind = which ? HD_ARG_BLOCK_SCALE_B : HD_ARG_BLOCK_SCALE_A;
  heddle_elem elem = hd_manifest_arg(manifest, kind)->elem;
  int64_t rows = trial_scaled_rows(manifest, s, which), pitch = which ? s->ldsb : s->ldsa;
  int64_t bytes = scale_bytes(manifest);
  int64_t blocks = trial_scales_a_row(manifest, s), each = trial_scales_a_k_block(manifest);
  if (r->block_scale_file[which]) {
    HD_TRY(read_scales(ctx, r->block_scale_file[which], elem, (uint64_t)rows, (uint64_t)blocks,
                       scales));
  } else {
    hd_fill fill = {.seed = r->seed * TRIAL_STREAMS + (uint64_t)kind, .limit = r->exact};
    *scales = hd_try_malloc(ctx, (size_t)(rows * blocks * bytes), "block scales");
    if (!*scales)
      return HEDDLE_NO_MEMORY;
    hd_fill_scales(&fill, elem, (uint64_t)rows, (uint64_t)blocks, *scales);
  }
  const heddle_block_scale_shape shape = {
      .order = manifest->scale_tiles ? HEDDLE_SCALES_TILES : HEDDLE_SCALES_K_BLOCKS,
      .elem = manifest->a_elem,
      .block = (uint32_t)manifest->scale_block,
      .rows = (uint64_t)rows,
      .k = (uint64_t)s->k,
      .scale_bytes = (uint32_t)bytes};
  bool pairs = which == 0 && hd_act_is_pair(manifest->act);
  HD_TRY((pairs ? pack_pairs : heddle_block_scale_pack)(
      ctx, &shape, *scales, (size_t)(blocks * bytes), to, (size_t)(pitch * bytes)));
  /* Of rows past the last one nothing is stored in D: not even NaN may matter. */
  for (int64_t row = rows; manifest->scale_tiles && row % 128; row++)
    for (int64_t i = 0; i < blocks; i++)
      to[place_of(manifest, pitch, row, i)] = elem == HEDDLE_UE8M0 ? 0xff : 0x7f;
  /* Scales past K meet zeros only: what they are may not matter, unless NaN. */
  for (int64_t row = 0; row < rows; row++)
    for (int64_t i = blocks; i % each; i++)
      to[place_of(manifest, pitch, row, i)] = PAD;
  if (r->fault == (which ? TRIAL_FAULT_SCALE_B : TRIAL_FAULT_SCALE))
    inject(manifest, s, rows, pitch, to);
  return HEDDLE_OK;
}
