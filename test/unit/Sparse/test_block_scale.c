/* K-block and tile order: every scale is at the offset that docs/format.md defines, and nothing
 * else is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "heddle/block_scale.h"

enum { UNTOUCHED = 0xee };

static uint8_t scale_of(size_t row, size_t block) {
  return (uint8_t)(1 + row * 7 + block * 3);
}

/* Scale i of k-block g of a row is at g * pitch + row * (k-block / block) + i. */
static void check_order(heddle_elem elem, uint32_t k_block, uint32_t block, size_t rows, size_t k,
                        size_t more) {
  const heddle_block_scale_shape shape = {HEDDLE_SCALES_K_BLOCKS, elem, block, rows, k, 0};
  size_t pitch, n_bytes, blocks = (k + block - 1) / block, each = k_block / block;
  assert_int_equal(heddle_block_scale_plan(NULL, &shape, &pitch, &n_bytes), HEDDLE_OK);
  assert_int_equal(pitch, (rows * each + 15) / 16 * 16);
  assert_int_equal(n_bytes, (k + k_block - 1) / k_block * pitch);
  pitch += more;
  size_t k_blocks = (k + k_block - 1) / k_block;
  uint8_t *from = hd_xmalloc(rows * (blocks + 1)), *to = hd_xmalloc(k_blocks * pitch);
  memset(to, UNTOUCHED, k_blocks * pitch);
  for (size_t row = 0; row < rows; row++)
    for (size_t b = 0; b <= blocks; b++)
      from[row * (blocks + 1) + b] = scale_of(row, b);
  assert_int_equal(heddle_block_scale_pack(NULL, &shape, from, blocks + 1, to, pitch), HEDDLE_OK);
  for (size_t i = 0; i < k_blocks * pitch; i++) {
    size_t row = i % pitch / each, b = i / pitch * each + i % pitch % each;
    uint8_t expected = row >= rows ? UNTOUCHED : b < blocks ? scale_of(row, b) : 0;
    assert_int_equal(to[i], expected);
  }
  free(from);
  free(to);
}

static void scales_of_a_k_block_stand_together(void **state) {
  (void)state;
  static const size_t rows[] = {1, 7, 8, 65}, ks[] = {8, 64, 72, 128, 200, 256, 520};
  for (size_t r = 0; r < HD_COUNT(rows); r++)
    for (size_t i = 0; i < HD_COUNT(ks); i++)
      for (size_t more = 0; more <= 32; more += 32) {
        check_order(HEDDLE_E4M3, 128, 64, rows[r], ks[i], more);
        check_order(HEDDLE_E2M1P, 256, 64, rows[r], ks[i], more);
        check_order(HEDDLE_E2M1P, 256, 32, rows[r], ks[i], more);
      }
}

/* f32: scale b of a row is at b * pitch + row * 4. */
static void scales_of_f32_stand_in_k_blocks(void **state) {
  (void)state;
  enum { ROWS = 7, K = 900, BLOCKS = 8, PITCH = 48 };
  const heddle_block_scale_shape shape = {HEDDLE_SCALES_K_BLOCKS, HEDDLE_E4M3, 128, ROWS, K, 4};
  float from[ROWS][BLOCKS], to[BLOCKS][PITCH / 4];
  size_t pitch, n_bytes;
  assert_int_equal(heddle_block_scale_plan(NULL, &shape, &pitch, &n_bytes), HEDDLE_OK);
  assert_true(pitch == 32 && n_bytes == BLOCKS * 32);
  for (int row = 0; row < ROWS; row++)
    for (int b = 0; b < BLOCKS; b++)
      from[row][b] = (float)(row * BLOCKS + b + 1) / 3;
  memset(to, UNTOUCHED, sizeof to);
  assert_int_equal(heddle_block_scale_pack(NULL, &shape, from, sizeof from[0], to, PITCH),
                   HEDDLE_OK);
  for (int b = 0; b < BLOCKS; b++)
    for (int row = 0; row < PITCH / 4; row++) {
      uint32_t got, untouched = 0xeeeeeeee, right = untouched;
      memcpy(&got, &to[b][row], sizeof got);
      if (row < ROWS)
        memcpy(&right, &from[row][b], sizeof right);
      assert_int_equal(got, right);
    }
}

static void refuse_bytes(heddle_scales_order order, uint32_t bytes) {
  const heddle_block_scale_shape shape = {order, HEDDLE_E4M3, 128, 8, 128, bytes};
  size_t pitch, n_bytes;
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(heddle_block_scale_plan(ctx, &shape, &pitch, &n_bytes), HEDDLE_UNSUPPORTED);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "block-scale.bytes");
  heddle_context_free(ctx);
}

/* Scale i of a row is in tile i / 4 of its 128 rows, in line row % 32, word row / 32 of it. */
static void check_tiles(heddle_elem elem, uint32_t k_block, uint32_t block, size_t rows, size_t k) {
  const heddle_block_scale_shape shape = {HEDDLE_SCALES_TILES, elem, block, rows, k, 1};
  size_t pitch, n_bytes, blocks = (k + block - 1) / block, bands = (rows + 127) / 128;
  size_t tiles = ((k + k_block - 1) / k_block * (k_block / block) + 3) / 4;
  assert_int_equal(heddle_block_scale_plan(NULL, &shape, &pitch, &n_bytes), HEDDLE_OK);
  assert_int_equal(pitch, tiles * 512);
  assert_int_equal(n_bytes, bands * pitch);
  uint8_t *from = hd_xmalloc(rows * blocks), *to = hd_xmalloc(n_bytes);
  memset(to, UNTOUCHED, n_bytes);
  for (size_t row = 0; row < rows; row++)
    for (size_t b = 0; b < blocks; b++)
      from[row * blocks + b] = scale_of(row, b);
  assert_int_equal(heddle_block_scale_pack(NULL, &shape, from, blocks, to, pitch), HEDDLE_OK);
  for (size_t at = 0; at < n_bytes; at++) {
    size_t row = at / pitch * 128 + at / 4 % 4 * 32 + at / 16 % 32;
    size_t b = at % pitch / 512 * 4 + at % 4;
    assert_int_equal(to[at], row < rows && b < blocks ? scale_of(row, b) : 0);
  }
  free(from);
  free(to);
}

static void scales_of_128_rows_stand_in_tiles(void **state) {
  (void)state;
  static const size_t rows[] = {1, 33, 128, 257}, ks[] = {8, 64, 128, 200, 256, 520};
  for (size_t r = 0; r < HD_COUNT(rows); r++)
    for (size_t i = 0; i < HD_COUNT(ks); i++) {
      check_tiles(HEDDLE_E4M3, 128, 64, rows[r], ks[i]);
      check_tiles(HEDDLE_E2M1P, 256, 64, rows[r], ks[i]);
      check_tiles(HEDDLE_E2M1P, 256, 32, rows[r], ks[i]);
    }
}

static void refuse_plan(heddle_scales_order order, heddle_elem elem, uint32_t block, uint64_t rows,
                        uint64_t k, const char *rule) {
  const heddle_block_scale_shape shape = {order, elem, block, rows, k, 0};
  size_t pitch = 1, n_bytes = 2;
  bool unsupported = !strcmp(rule, "block-scale.type") || !strcmp(rule, "block-scale.block");
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(heddle_block_scale_plan(ctx, &shape, &pitch, &n_bytes),
                   unsupported ? HEDDLE_UNSUPPORTED : HEDDLE_INVALID);
  assert_true(pitch == 1 && n_bytes == 2);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, rule);
  heddle_context_free(ctx);
}

static void refuse_strides(heddle_scales_order order, size_t row_bytes, size_t pitch) {
  const heddle_block_scale_shape shape = {order, HEDDLE_E4M3, 64, 8, 128, 0};
  uint8_t scales[64] = {0}, packed[1024];
  heddle_context *ctx = heddle_context_create();
  memset(packed, UNTOUCHED, sizeof packed);
  assert_int_equal(heddle_block_scale_pack(ctx, &shape, scales, row_bytes, packed, pitch),
                   HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "block-scale.stride");
  heddle_context_free(ctx);
  for (size_t i = 0; i < sizeof packed; i++)
    assert_int_equal(packed[i], UNTOUCHED);
}

static void what_no_kernel_reads_is_refused(void **state) {
  (void)state;
  static const heddle_scales_order orders[] = {HEDDLE_SCALES_K_BLOCKS, HEDDLE_SCALES_TILES};
  for (size_t i = 0; i < HD_COUNT(orders); i++) {
    refuse_plan(orders[i], HEDDLE_BF16, 64, 8, 64, "block-scale.type");
    refuse_plan(orders[i], HEDDLE_E4M3, 48, 8, 64, "block-scale.block");
    refuse_plan(orders[i], HEDDLE_E4M3, 0, 8, 64, "block-scale.block");
    refuse_plan(orders[i], HEDDLE_E4M3, 64, 0, 64, "block-scale.size");
    refuse_plan(orders[i], HEDDLE_E4M3, 64, UINT64_MAX, 64, "block-scale.size");
    refuse_plan(orders[i], HEDDLE_E4M3, 64, 8, UINT64_MAX, "block-scale.size");
  }
  refuse_plan((heddle_scales_order)2, HEDDLE_E4M3, 64, 8, 64, "block-scale.order");
  refuse_bytes(HEDDLE_SCALES_K_BLOCKS, 2);
  refuse_bytes(HEDDLE_SCALES_TILES, 4);
  /* for 8 rows of 2 scales */
  static const size_t strides[][2] = {{1, 16}, {2, 8}, {2, 24}, {2, 0}}, tiles[] = {0, 256, 1024};
  for (size_t i = 0; i < HD_COUNT(strides); i++)
    refuse_strides(HEDDLE_SCALES_K_BLOCKS, strides[i][0], strides[i][1]);
  for (size_t i = 0; i < HD_COUNT(tiles); i++)
    refuse_strides(HEDDLE_SCALES_TILES, 2, tiles[i]);
  const heddle_block_scale_shape two = {HEDDLE_SCALES_K_BLOCKS, HEDDLE_E4M3, 64, 1, 256, 0};
  uint8_t scales[4] = {0}, packed[32]; /* the offset of the second k-block would wrap around */
  assert_int_equal(
      heddle_block_scale_pack(NULL, &two, scales, 4, packed + 16, SIZE_MAX - 15),
      HEDDLE_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(scales_of_a_k_block_stand_together),
                                     cmocka_unit_test(scales_of_128_rows_stand_in_tiles),
                                     cmocka_unit_test(scales_of_f32_stand_in_k_blocks),
                                     cmocka_unit_test(what_no_kernel_reads_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
