#include "heddle/block_scale.h"

#include <string.h>

#include "Support/diag.h"
#include "heddle/sparse.h"

enum {
  PITCH_UNIT = 16,
  TILE_ROWS = 128,
  TILE_SCALES = 4,
  TILE_BYTES = 512,
  LANES = 32,
  F32_BYTES = 4
};

/* each, blocks: bytes of a row's scales in a k-block, and in the whole row. parts: the number of
 * k-blocks, or of bands of 128 rows. pitch: the minimum distance between parts in bytes. */
typedef struct order {
  size_t each, blocks, parts, pitch;
} order;

static heddle_status too_large(heddle_context *ctx, const heddle_block_scale_shape *s) {
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "block-scale.size",
                  "got scales of %llu rows of %llu elements; legal: at least 1 x 1, and at most "
                  "what memory can address",
                  (unsigned long long)s->rows, (unsigned long long)s->k);
}

static heddle_status find_k_block(heddle_context *ctx, const heddle_block_scale_shape *s,
                                  uint32_t *k_block) {
  const heddle_elem_info *info = heddle_elem_get(s->elem);
  *k_block = info && info->container_bits <= 8
                 ? HEDDLE_SPARSE_K_BLOCK_BYTES * 8 / info->container_bits
                 : 0;
  if (!*k_block)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "block-scale.type",
                    "got %s; legal: 8-bit and 4-bit types; nearest: e4m3",
                    info ? info->name : "none");
  if (s->block == 0 || *k_block % s->block)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "block-scale.block",
                    "got blocks of %u for %s, whose k-block is %u; nearest: %u", s->block,
                    info->name, *k_block, s->block > 0 && s->block < 64 ? 32 : 64);
  return HEDDLE_OK;
}

static heddle_status find_order(heddle_context *ctx, const heddle_block_scale_shape *s, order *o) {
  bool tiles = s->order == HEDDLE_SCALES_TILES;
  uint32_t k_block;
  if (!tiles && s->order != HEDDLE_SCALES_K_BLOCKS)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "block-scale.order",
                    "got order %d; legal: enumerators of heddle_scales_order; nearest: %d",
                    (int)s->order,
                    HEDDLE_SCALES_TILES);
  HD_TRY(find_k_block(ctx, s, &k_block));
  size_t bytes = s->scale_bytes ? s->scale_bytes : 1, each = k_block / s->block * bytes;
  if (bytes != 1 && (bytes != F32_BYTES || tiles))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "block-scale.bytes",
                    "got scales of %zu bytes%s; legal: 1, or 4 in k-block order; nearest: %d",
                    bytes, tiles ? " in tile order" : "",
                    tiles || bytes < F32_BYTES ? 1 : F32_BYTES);
  /* Ensures that the sums and products below do not overflow. */
  if (s->rows == 0 || s->k == 0 || s->k > SIZE_MAX / TILE_BYTES - k_block ||
      s->rows > (SIZE_MAX / TILE_BYTES - PITCH_UNIT) / each)
    return too_large(ctx, s);
  size_t rows = (size_t)s->rows, k_blocks = ((size_t)s->k + k_block - 1) / k_block;
  *o = (order){.each = each,
               .blocks = ((size_t)s->k + s->block - 1) / s->block * bytes,
               .parts = tiles ? (rows + TILE_ROWS - 1) / TILE_ROWS : k_blocks,
               .pitch = tiles ? (k_blocks * each + TILE_SCALES - 1) / TILE_SCALES * TILE_BYTES
                              : (rows * each + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT};
  return o->parts > SIZE_MAX / o->pitch ? too_large(ctx, s) : HEDDLE_OK;
}

heddle_status heddle_block_scale_plan(heddle_context *ctx, const heddle_block_scale_shape *shape,
                                      size_t *pitch, size_t *n_bytes) {
  order o = {0};
  HD_TRY(find_order(ctx, shape, &o));
  *pitch = o.pitch;
  *n_bytes = o.parts * o.pitch;
  return HEDDLE_OK;
}

static heddle_status check_strides(heddle_context *ctx, const heddle_block_scale_shape *s,
                                   const order *o, size_t row_bytes, size_t pitch) {
  bool fixed = s->order == HEDDLE_SCALES_TILES;
  if (row_bytes < o->blocks || s->rows > SIZE_MAX / row_bytes)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "block-scale.stride",
                    "got a row pitch of %zu bytes; legal: at least the %zu scales of a row",
                    row_bytes,
                    o->blocks);
  if (fixed ? pitch == o->pitch
            : pitch >= o->pitch && pitch % PITCH_UNIT == 0 && pitch <= SIZE_MAX / o->parts)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "block-scale.stride",
                  "got a pitch of %zu bytes; legal: %s; nearest: %zu", pitch,
                  fixed ? "that of tiles" : "multiples of 16",
                  fixed || pitch < o->pitch ? o->pitch : pitch / PITCH_UNIT * PITCH_UNIT);
}

static void pack_k_blocks(const order *o, size_t rows, const uint8_t *scales, size_t row_bytes,
                          uint8_t *packed, size_t pitch) {
  for (size_t g = 0; g < o->parts; g++)
    for (size_t row = 0; row < rows; row++) {
      size_t first = g * o->each, left = o->blocks - first, n = left < o->each ? left : o->each;
      uint8_t *to = packed + g * pitch + row * o->each;
      memcpy(to, scales + row * row_bytes + first, n);
      memset(to + n, 0, o->each - n);
    }
}

static void pack_tiles(const order *o, size_t rows, const uint8_t *scales, size_t row_bytes,
                       uint8_t *packed) {
  memset(packed, 0, o->parts * o->pitch);
  for (size_t row = 0; row < rows; row++) {
    uint8_t *to = packed + row / TILE_ROWS * o->pitch + row % LANES * (TILE_BYTES / LANES) +
                  row % TILE_ROWS / LANES * TILE_SCALES;
    for (size_t i = 0; i < o->blocks; i++)
      to[i / TILE_SCALES * TILE_BYTES + i % TILE_SCALES] = scales[row * row_bytes + i];
  }
}

heddle_status heddle_block_scale_pack(heddle_context *ctx, const heddle_block_scale_shape *shape,
                                      const void *scales, size_t row_bytes, void *packed,
                                      size_t pitch) {
  order o = {0};
  HD_TRY(find_order(ctx, shape, &o));
  HD_TRY(check_strides(ctx, shape, &o, row_bytes, pitch));
  if (shape->order == HEDDLE_SCALES_TILES)
    pack_tiles(&o, (size_t)shape->rows, scales, row_bytes, packed);
  else
    pack_k_blocks(&o, (size_t)shape->rows, scales, row_bytes, packed, pitch);
  return HEDDLE_OK;
}
