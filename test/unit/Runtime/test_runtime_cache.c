/* Cached kernels: a stored entry is read back unchanged, anything else is a miss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "Runtime/kernel_cache.h"
#include "Support/blob.h"
#include "Support/file.h"
#include "fake_cuda.h"

static int setup(void **state) {
  return hd_file_tempdir(NULL, NULL, (char **)state) == HEDDLE_OK ? 0 : -1;
}

static int teardown(void **state) {
  hd_file_remove(NULL, *state);
  free(*state);
  return 0;
}

static const hd_hash key = {1, 2};

static void entries_come_back(void **state) {
  const char cubin[] = "\x7f" "ELF\0binary";
  for (int parts = 0; parts < 8; parts++) {
    hd_cache_entry in = {0}, out = {0};
    if (parts & 1)
      in.manifest_json = "{}", in.manifest_bytes = 2;
    if (parts & 2)
      in.ptx = ".version 8.6", in.ptx_bytes = 12;
    if (parts & 4)
      in.cubin = cubin, in.cubin_bytes = sizeof cubin;
    assert_int_equal(hd_cache_put(NULL, *state, key, &in), HEDDLE_OK);
    assert_int_equal(hd_cache_get(*state, key, &out), HEDDLE_OK);
    assert_string_equal(out.manifest_json, parts & 1 ? "{}" : "");
    assert_int_equal(out.ptx != NULL, (parts & 2) != 0);
    if (parts & 2)
      assert_string_equal(out.ptx, ".version 8.6");
    assert_int_equal(out.cubin_bytes, parts & 4 ? sizeof cubin : 0);
    if (parts & 4)
      assert_memory_equal(out.cubin, cubin, sizeof cubin);
    hd_cache_entry_free(&out);
  }
}

static void memory_that_is_not_given_is_told_of(void **state) {
  heddle_context *ctx = heddle_context_create();
  fake_refuse_in = 1;
  assert_int_equal(hd_cache_put(ctx, *state, key, &(hd_cache_entry){0}), HEDDLE_NO_MEMORY);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "memory.size");
  heddle_context_free(ctx);
}

static void absent_is_a_miss(void **state) {
  hd_cache_entry out = {0};
  assert_int_equal(hd_cache_get(*state, (hd_hash){9, 9}, &out), HEDDLE_NOT_FOUND);
  assert_null(out.storage);
}

/* Valid blobs that are not entries. */
static void other_blobs_are_misses(void **state) {
  char bytes[64] = "hdkern01";
  uint64_t sizes[][3] = {{UINT64_MAX, 0, 0}, {0, UINT64_MAX, 0}, {0, 0, UINT64_MAX}, {1, 1, 1},
                         {60, 60, 60}};
  hd_cache_entry out = {0};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    memcpy(bytes + 8, sizes[i], sizeof sizes[i]);
    assert_int_equal(hd_blob_put(NULL, *state, key, bytes, sizeof bytes), HEDDLE_OK);
    assert_int_equal(hd_cache_get(*state, key, &out), HEDDLE_NOT_FOUND);
  }
  for (size_t n = 0; n < 40; n += 3) {
    assert_int_equal(hd_blob_put(NULL, *state, key, bytes, n), HEDDLE_OK);
    assert_int_equal(hd_cache_get(*state, key, &out), HEDDLE_NOT_FOUND);
  }
}

/* The sum of these sizes equals the size of the blob only because it overflows. */
static void sizes_that_wrap_are_misses(void **state) {
  char bytes[50] = "hdkern01";
  uint64_t sizes[3] = {0, 0, (uint64_t)0 - 14}; /* manifest at 32, PTX at 48, cubin at 64 */
  hd_cache_entry out = {0};
  memcpy(bytes + 8, sizes, sizeof sizes);
  assert_int_equal(hd_blob_put(NULL, *state, key, bytes, sizeof bytes), HEDDLE_OK);
  assert_int_equal(hd_cache_get(*state, key, &out), HEDDLE_NOT_FOUND);
}

/* The strings have the stored sizes but no terminator: a reader of either would read past its
 * end. */
static void strings_without_an_end_are_misses(void **state) {
  static const size_t ends[] = {0, 33, 49}; /* 0: both strings end; the manifest; the PTX */
  uint64_t sizes[3] = {1, 1, 0};
  hd_cache_entry out = {0};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    char bytes[64] = "hdkern01";
    memcpy(bytes + 8, sizes, sizeof sizes);
    if (ends[i])
      bytes[ends[i]] = 'x';
    assert_int_equal(hd_blob_put(NULL, *state, key, bytes, sizeof bytes), HEDDLE_OK);
    assert_int_equal(hd_cache_get(*state, key, &out), ends[i] ? HEDDLE_NOT_FOUND : HEDDLE_OK);
    if (!ends[i])
      hd_cache_entry_free(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_come_back),
      cmocka_unit_test(memory_that_is_not_given_is_told_of),
      cmocka_unit_test(absent_is_a_miss),
      cmocka_unit_test(other_blobs_are_misses),
      cmocka_unit_test(sizes_that_wrap_are_misses),
      cmocka_unit_test(strings_without_an_end_are_misses),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
