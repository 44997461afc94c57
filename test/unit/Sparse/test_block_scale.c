/* Granule order: every scale at the place that docs/format.md names, nothing else written. */
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

/* Scale i of granule g of a row stands at g * pitch + row * (granule / block) + i. */
static void check_order(heddle_elem elem, uint32_t granule, uint32_t block, size_t rows, size_t k,
                        size_t more) {
  size_t pitch, n_bytes, blocks = (k + block - 1) / block, each = granule / block;
  assert_int_equal(heddle_block_scale_plan(NULL, elem, block, rows, k, &pitch, &n_bytes),
                   HEDDLE_OK);
  assert_int_equal(pitch, (rows * each + 15) / 16 * 16);
  assert_int_equal(n_bytes, (k + granule - 1) / granule * pitch);
  pitch += more;
  size_t granules = (k + granule - 1) / granule;
  uint8_t *from = hd_xmalloc(rows * (blocks + 1)), *to = hd_xmalloc(granules * pitch);
  memset(to, UNTOUCHED, granules * pitch);
  for (size_t row = 0; row < rows; row++)
    for (size_t b = 0; b <= blocks; b++)
      from[row * (blocks + 1) + b] = scale_of(row, b);
  assert_int_equal(heddle_block_scale_pack(NULL, elem, block, rows, k, from, blocks + 1, to, pitch),
                   HEDDLE_OK);
  for (size_t i = 0; i < granules * pitch; i++) {
    size_t row = i % pitch / each, b = i / pitch * each + i % pitch % each;
    uint8_t expected = row >= rows ? UNTOUCHED : b < blocks ? scale_of(row, b) : 0;
    assert_int_equal(to[i], expected);
  }
  free(from);
  free(to);
}

static void scales_of_a_granule_stand_together(void **state) {
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

static void what_no_kernel_reads_is_refused(void **state) {
  (void)state;
  size_t pitch = 1, n_bytes = 2;
  uint8_t scales[64] = {0}, packed[256];
  memset(packed, UNTOUCHED, sizeof packed);
  assert_int_equal(heddle_block_scale_plan(NULL, HEDDLE_BF16, 64, 8, 64, &pitch, &n_bytes),
                   HEDDLE_UNSUPPORTED);
  assert_int_equal(heddle_block_scale_plan(NULL, HEDDLE_E4M3, 48, 8, 64, &pitch, &n_bytes),
                   HEDDLE_UNSUPPORTED);
  assert_int_equal(heddle_block_scale_plan(NULL, HEDDLE_E4M3, 0, 8, 64, &pitch, &n_bytes),
                   HEDDLE_UNSUPPORTED);
  assert_int_equal(heddle_block_scale_plan(NULL, HEDDLE_E4M3, 64, 0, 64, &pitch, &n_bytes),
                   HEDDLE_INVALID);
  assert_int_equal(heddle_block_scale_plan(NULL, HEDDLE_E4M3, 64, UINT64_MAX, 64, &pitch, &n_bytes),
                   HEDDLE_INVALID);
  assert_true(pitch == 1 && n_bytes == 2);
  static const size_t strides[][2] = {{1, 16}, {2, 8}, {2, 24}, {2, 0}}; /* of 8 rows of 2 scales */
  for (size_t i = 0; i < HD_COUNT(strides); i++)
    assert_int_equal(heddle_block_scale_pack(NULL, HEDDLE_E4M3, 64, 8, 128, scales, strides[i][0],
                                             packed, strides[i][1]),
                     HEDDLE_INVALID);
  for (size_t i = 0; i < sizeof packed; i++)
    assert_int_equal(packed[i], UNTOUCHED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(scales_of_a_granule_stand_together),
                                     cmocka_unit_test(what_no_kernel_reads_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
