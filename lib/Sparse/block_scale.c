#include "heddle/block_scale.h"

#include <string.h>

#include "Support/diag.h"
#include "heddle/sparse.h"

enum { PITCH_UNIT = 16 };

/* Scales of a row: in a granule, and in all; and the least pitch. */
typedef struct order {
  size_t each, blocks, granules, pitch;
} order;

static heddle_status too_large(heddle_context *ctx, uint64_t rows, uint64_t k) {
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "block-scale.size",
                  "got scales of %llu rows of %llu elements; legal: 1 x 1 to what memory addresses",
                  (unsigned long long)rows, (unsigned long long)k);
}

static heddle_status find_order(heddle_context *ctx, heddle_elem elem, uint32_t block,
                                uint64_t rows, uint64_t k, order *o) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  uint32_t granule = info && info->container_bits <= 8
                         ? HEDDLE_SPARSE_GRANULE_BYTES * 8 / info->container_bits
                         : 0;
  if (!granule)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "block-scale.type",
                    "got %s; legal: types of 8 and 4 bits, nearest: e4m3",
                    info ? info->name : "none");
  if (block == 0 || granule % block)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "block-scale.block",
                    "got blocks of %u of %s, whose granule is %u; nearest legal: %u", block,
                    info->name, granule, block > 0 && block < 64 ? 32 : 64);
  *o = (order){.each = granule / block};
  if (rows == 0 || k == 0 || k > SIZE_MAX - granule || rows > (SIZE_MAX - PITCH_UNIT) / o->each)
    return too_large(ctx, rows, k);
  o->blocks = ((size_t)k + block - 1) / block;
  o->granules = ((size_t)k + granule - 1) / granule;
  o->pitch = ((size_t)rows * o->each + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT;
  return o->granules > SIZE_MAX / o->pitch ? too_large(ctx, rows, k) : HEDDLE_OK;
}

heddle_status heddle_block_scale_plan(heddle_context *ctx, heddle_elem elem, uint32_t block,
                                      uint64_t rows, uint64_t k, size_t *pitch, size_t *n_bytes) {
  order o = {0};
  HD_TRY(find_order(ctx, elem, block, rows, k, &o));
  *pitch = o.pitch;
  *n_bytes = o.granules * o.pitch;
  return HEDDLE_OK;
}

static heddle_status check_strides(heddle_context *ctx, const order *o, uint64_t rows,
                                   size_t row_bytes, size_t pitch) {
  if (row_bytes < o->blocks || rows > SIZE_MAX / row_bytes)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "block-scale.stride",
                    "got rows of %zu bytes apart; legal: at least a row's %zu scales", row_bytes,
                    o->blocks);
  if (pitch >= o->pitch && pitch % PITCH_UNIT == 0 && pitch <= SIZE_MAX / o->granules)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "block-scale.stride",
                  "got a pitch of %zu bytes; legal: multiples of %d, nearest %zu", pitch,
                  PITCH_UNIT, pitch < o->pitch ? o->pitch : pitch / PITCH_UNIT * PITCH_UNIT);
}

heddle_status heddle_block_scale_pack(heddle_context *ctx, heddle_elem elem, uint32_t block,
                                      uint64_t rows, uint64_t k, const void *scales,
                                      size_t row_bytes, void *packed, size_t pitch) {
  order o = {0};
  HD_TRY(find_order(ctx, elem, block, rows, k, &o));
  HD_TRY(check_strides(ctx, &o, rows, row_bytes, pitch));
  for (size_t g = 0; g < o.granules; g++)
    for (size_t row = 0; row < rows; row++) {
      size_t first = g * o.each, left = o.blocks - first, n = left < o.each ? left : o.each;
      uint8_t *to = (uint8_t *)packed + g * pitch + row * o.each;
      memcpy(to, (const uint8_t *)scales + row * row_bytes + first, n);
      memset(to + n, 0, o.each - n);
    }
  return HEDDLE_OK;
}
