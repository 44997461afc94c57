/* Complete files: the bytes of the header, every kind of damage, noise, and .npy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <unistd.h>

#include "Sparse/npy.h"
#include "Support/arena.h"
#include "Support/file.h"
#include "Support/hash.h"
#include "sparse_random.h"

typedef struct image {
  heddle_sparse_info info;
  uint8_t *bytes;
} image;

static image make_image(heddle_sparse_form form, heddle_elem elem, uint64_t m, uint64_t k) {
  image x;
  uint64_t seed = 3 + elem;
  size_t row_bytes;
  assert_int_equal(heddle_sparse_plan(NULL, form, elem, HEDDLE_FAMILY_MMA, m, k, &x.info), 0);
  assert_int_equal(heddle_sparse_dense_row_bytes(NULL, elem, k, &row_bytes), HEDDLE_OK);
  x.bytes = hd_xmalloc(x.info.file_bytes);
  memset(x.bytes, 0xcc, x.info.file_bytes);
  uint8_t *dense = hd_xmalloc(m * row_bytes);
  fill_sparse(&seed, elem, dense, m * row_bytes);
  if (form == HEDDLE_SPARSE_PACKED)
    assert_int_equal(heddle_sparse_pack_dense(NULL, elem, HEDDLE_FAMILY_MMA, m, k, dense, row_bytes,
                                              x.bytes + x.info.payload_offset),
                     HEDDLE_OK);
  else
    assert_int_equal(heddle_sparse_compress(NULL, elem, m, k, dense, row_bytes,
                                            x.bytes + x.info.values_offset,
                                            x.bytes + x.info.codes_offset),
                     HEDDLE_OK);
  free(dense);
  assert_int_equal(heddle_sparse_seal(NULL, &x.info, x.bytes), HEDDLE_OK);
  return x;
}

/* Copies into an allocation of the exact size, so that a sanitizer detects a read past the end. */
static heddle_status check_copy(const uint8_t *bytes, size_t n_bytes, const char **rule) {
  static char last_rule[64];
  heddle_context *ctx = heddle_context_create();
  heddle_sparse_info info;
  uint8_t *copy = hd_xmalloc(n_bytes);
  memcpy(copy, bytes, n_bytes);
  heddle_status status = heddle_sparse_check(ctx, copy, n_bytes, &info);
  assert_true(status == HEDDLE_OK || heddle_context_count(ctx) >= 1);
  if (status != HEDDLE_OK) {
    strncpy(last_rule, heddle_context_get(ctx, 0)->rule, sizeof last_rule - 1);
    *rule = last_rule;
  }
  heddle_context_free(ctx);
  free(copy);
  return status;
}

#define FOR_FORMS(form)                                                                            \
  for (heddle_sparse_form form = HEDDLE_SPARSE_CANONICAL; form <= HEDDLE_SPARSE_PACKED; form++)

static void good_files_are_sound(void **state) {
  (void)state;
  const char *rule;
  FOR_FORMS(form) FOR_SPARSE_ELEMS(elem) {
    image x = make_image(form, elem, 3, 5u * heddle_elem_get(elem)->group);
    assert_int_equal(check_copy(x.bytes, x.info.file_bytes, &rule), HEDDLE_OK);
    free(x.bytes);
  }
}

static void header_bytes(void **state) {
  (void)state;
  static const uint8_t canonical[112] = {
      0x89, 'H', 'D', 'L', '\r', '\n', 0x1a, '\n', 1, 0, 0, 0, 128, 0, 0, 0, /* */
      1, 1, 0, 16, 4, 2, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,                       /* M = 3 */
      20, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0,                     /* K = 20, values */
      60, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,                       /* 60 bytes; 256 */
      9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,                        /* 9 bytes */
      'b', 'f', '1', '6'};
  static const uint8_t packed[112] = {
      0x89, 'H', 'D', 'L', '\r', '\n', 0x1a, '\n', 1, 0, 0, 0, 128, 0, 0, 0, /* */
      2, 1, 1, 16, 4, 2, 64, 0, 3, 0, 0, 0, 0, 0, 0, 0,                      /* mma, 64 rows */
      20, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0,                     /* */
      0, 0x12, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0,                  /* 4608; 4096 */
      0, 2, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0x12, 0, 0,                    /* 512; k64; 4608 */
      'b', 'f', '1', '6'};
  image c = make_image(HEDDLE_SPARSE_CANONICAL, HEDDLE_BF16, 3, 20);
  image p = make_image(HEDDLE_SPARSE_PACKED, HEDDLE_BF16, 3, 20);
  assert_memory_equal(c.bytes, canonical, 112);
  assert_memory_equal(p.bytes, packed, 112);
  free(c.bytes);
  free(p.bytes);
}

static void every_flipped_byte_is_found(void **state) {
  (void)state;
  const char *rule;
  FOR_FORMS(form) {
    image x = make_image(form, HEDDLE_F16, 2, 12);
    for (size_t i = 0; i < x.info.file_bytes; i++) {
      x.bytes[i] ^= 0x81;
      assert_int_equal(check_copy(x.bytes, x.info.file_bytes, &rule), HEDDLE_INVALID);
      x.bytes[i] ^= 0x81;
    }
    free(x.bytes);
  }
}

static void every_truncation_is_found(void **state) {
  (void)state;
  const char *rule = NULL;
  FOR_FORMS(form) {
    image x = make_image(form, HEDDLE_S8, 2, 12);
    for (size_t n = 0; n < x.info.file_bytes; n++) {
      assert_int_equal(check_copy(x.bytes, n, &rule), HEDDLE_INVALID);
      assert_string_equal(rule, n == 0 ? "sparse.file-empty" : "sparse.file-truncated");
    }
    uint8_t *longer = hd_xmalloc(x.info.file_bytes + 1);
    memcpy(longer, x.bytes, x.info.file_bytes);
    longer[x.info.file_bytes] = 0;
    assert_int_equal(check_copy(longer, x.info.file_bytes + 1, &rule), HEDDLE_INVALID);
    assert_string_equal(rule, "sparse.file-tail");
    free(longer);
    free(x.bytes);
  }
}

/* Damage that the checksum does not detect, because the checksum is recomputed after it. */
static void expect_sealed_damage(image *x, size_t at, uint8_t value, const char *expected) {
  const char *rule = NULL;
  uint8_t saved = x->bytes[at];
  x->bytes[at] = value;
  assert_int_equal(heddle_sparse_seal(NULL, &x->info, x->bytes), HEDDLE_OK);
  assert_int_equal(check_copy(x->bytes, x->info.file_bytes, &rule), HEDDLE_INVALID);
  assert_string_equal(rule, expected);
  x->bytes[at] = saved;
}

static void bad_codes_and_padding_are_found(void **state) {
  (void)state;
  image c = make_image(HEDDLE_SPARSE_CANONICAL, HEDDLE_BF16, 3, 20);
  expect_sealed_damage(&c, c.info.codes_offset, 0x40, "sparse.code");
  expect_sealed_damage(&c, c.info.codes_offset, 0x55, "sparse.code");
  expect_sealed_damage(&c, c.info.codes_offset + 2, 0x44, "sparse.padding");
  free(c.bytes);
  image p = make_image(HEDDLE_SPARSE_PACKED, HEDDLE_BF16, 3, 20);
  size_t first = p.info.payload_offset;
  expect_sealed_damage(&p, first + 4096, 0x00, "sparse.code");
  expect_sealed_damage(&p, first + 4096 + 2, 0x55, "sparse.padding"); /* row 8 of 3 */
  expect_sealed_damage(&p, first + 3 * 16, 0x01, "sparse.padding");   /* row 3 */
  expect_sealed_damage(&p, first + 128 + 8, 0x01, "sparse.padding");  /* column 24 */
  free(p.bytes);
}

/* A file of another writer: its checksum is correct, but the gap between values and codes is not
 * zero. */
static void the_gap_must_be_zero(void **state) {
  (void)state;
  const char *rule = NULL;
  image x = make_image(HEDDLE_SPARSE_CANONICAL, HEDDLE_BF16, 3, 20);
  x.bytes[x.info.codes_offset - 1] = 1;
  memset(x.bytes + 112, 0, 16);
  hd_hash sum = hd_hash_combine(hd_hash_bytes(x.bytes, 128),
                                hd_hash_bytes(x.bytes + 128, x.info.payload_bytes));
  memcpy(x.bytes + 112, &sum.lo, 8);
  memcpy(x.bytes + 120, &sum.hi, 8);
  assert_int_equal(check_copy(x.bytes, x.info.file_bytes, &rule), HEDDLE_INVALID);
  assert_string_equal(rule, "sparse.padding");
  free(x.bytes);
}

static void the_version_and_the_magic_have_their_own_rules(void **state) {
  (void)state;
  const char *rule = NULL;
  image x = make_image(HEDDLE_SPARSE_PACKED, HEDDLE_F16, 2, 12);
  x.bytes[8] = 2;
  check_copy(x.bytes, x.info.file_bytes, &rule);
  assert_string_equal(rule, "sparse.file-version");
  x.bytes[8] = 1;
  x.bytes[0] = 0x93;
  check_copy(x.bytes, x.info.file_bytes, &rule);
  assert_string_equal(rule, "sparse.file-magic");
  x.bytes[0] = 0x89;
  x.bytes[31] = 0xff; /* M is 2^63 or more */
  check_copy(x.bytes, x.info.file_bytes, &rule);
  assert_string_equal(rule, "sparse.size");
  free(x.bytes);
}

/* Byte 96: rows of gate and up are interleaved, 8 and 8. Only packed files may have this. */
static void the_order_of_rows_is_told(void **state) {
  (void)state;
  const char *rule = NULL;
  heddle_sparse_info found;
  image x = make_image(HEDDLE_SPARSE_PACKED, HEDDLE_F16, 32, 12);
  assert_int_equal(x.bytes[96], 0);
  x.info.pair = true;
  assert_int_equal(heddle_sparse_seal(NULL, &x.info, x.bytes), HEDDLE_OK);
  assert_int_equal(x.bytes[96], 1);
  assert_int_equal(heddle_sparse_check(NULL, x.bytes, x.info.file_bytes, &found), HEDDLE_OK);
  assert_true(found.pair);
  x.bytes[96] = 0;
  check_copy(x.bytes, x.info.file_bytes, &rule);
  assert_string_equal(rule, "sparse.file-checksum");
  x.bytes[96] = 2;
  check_copy(x.bytes, x.info.file_bytes, &rule);
  assert_string_equal(rule, "sparse.file-header");
  free(x.bytes);
  image odd = make_image(HEDDLE_SPARSE_PACKED, HEDDLE_F16, 24, 12);
  image canonical = make_image(HEDDLE_SPARSE_CANONICAL, HEDDLE_F16, 32, 12);
  odd.info.pair = canonical.info.pair = true;
  assert_int_equal(heddle_sparse_seal(NULL, &odd.info, odd.bytes), HEDDLE_INVALID);
  assert_int_equal(heddle_sparse_seal(NULL, &canonical.info, canonical.bytes), HEDDLE_INVALID);
  odd.bytes[96] = 1;
  check_copy(odd.bytes, odd.info.file_bytes, &rule);
  assert_string_equal(rule, "sparse.pair");
  free(odd.bytes);
  free(canonical.bytes);
}

/* Noise, and valid headers with a few random bytes changed: no crash, and never accepted as
 * valid. */
static void fuzz(void **state) {
  (void)state;
  const char *rule;
  uint64_t seed = 20;
  uint8_t noise[512];
  image images[2] = {make_image(HEDDLE_SPARSE_CANONICAL, HEDDLE_S4, 2, 24),
                     make_image(HEDDLE_SPARSE_PACKED, HEDDLE_TF32, 2, 6)};
  for (int i = 0; i < 20000; i++) {
    image *x = &images[i % 2];
    size_t n = next_random(&seed) % sizeof noise;
    fill_random(&seed, noise, n);
    if (i % 3 == 0)
      memcpy(noise, x->bytes, n < 16 ? n : 16);
    assert_int_equal(check_copy(noise, n, &rule), HEDDLE_INVALID);
    uint8_t saved[128];
    memcpy(saved, x->bytes, sizeof saved);
    for (unsigned j = 0; j < 1 + next_random(&seed) % 4; j++)
      x->bytes[next_random(&seed) % 112] = (uint8_t)(next_random(&seed) >> 7);
    bool same = memcmp(saved, x->bytes, sizeof saved) == 0;
    assert_true((check_copy(x->bytes, x->info.file_bytes, &rule) == HEDDLE_OK) == same);
    memcpy(x->bytes, saved, sizeof saved);
  }
  free(images[0].bytes);
  free(images[1].bytes);
}

/* ---- .npy ---- */

static size_t npy_text(uint8_t *out, int version, const char *dictionary, size_t data_bytes) {
  size_t n = strlen(dictionary), at = version == 1 ? 10 : 12;
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (uint8_t)version;
  out[7] = 0;
  for (size_t i = 8; i < at; i++)
    out[i] = (uint8_t)(n >> (8 * (i - 8)));
  memcpy(out + at, dictionary, n);
  for (size_t i = 0; i < data_bytes; i++)
    out[at + n + i] = (uint8_t)i;
  return at + n + data_bytes;
}

static heddle_status open_npy(int version, const char *dictionary, size_t data_bytes, hd_npy *npy) {
  uint8_t bytes[512];
  size_t n = npy_text(bytes, version, dictionary, data_bytes);
  uint8_t *copy = hd_xmalloc(n);
  memcpy(copy, bytes, n);
  heddle_status status = hd_npy_open(NULL, "x.npy", copy, n, npy);
  free(copy);
  return status;
}

static void npy_headers(void **state) {
  (void)state;
  hd_npy npy;
  const struct {
    int version;
    const char *dictionary;
    size_t data_bytes;
    heddle_status expected;
  } cases[] = {
      {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4), }\n", 16, HEDDLE_OK},
      {2, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4)}  \n", 16, HEDDLE_OK},
      {3, "{\"shape\":(2,4),\"descr\":\"<f2\",\"fortran_order\":True}", 16, HEDDLE_OK},
      {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }", 7, HEDDLE_OK},
      {1, "{'descr': '|i1', 'fortran_order': False, 'shape': (), }", 1, HEDDLE_OK},
      {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4), }", 15, HEDDLE_INVALID},
      {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4), }", 17, HEDDLE_INVALID},
      {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (99999999999999999999, 4), }", 0,
       HEDDLE_INVALID},
      {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (9223372036854775808, 2), }", 0,
       HEDDLE_INVALID},
      {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, 4), }", 16, HEDDLE_UNSUPPORTED},
      {1, "{'descr': '>f2', 'fortran_order': False, 'shape': (2, 4), }", 16, HEDDLE_UNSUPPORTED},
      {1, "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 1), }", 16, HEDDLE_UNSUPPORTED},
      {1, "{'descr': [('a', '<f2')], 'fortran_order': False, 'shape': (2,)}", 4,
       HEDDLE_UNSUPPORTED},
      {1, "{'descr': '<f2', 'fortran_order': Maybe, 'shape': (2, 4), }", 16, HEDDLE_INVALID},
      {1, "{'descr': '<f2', 'shape': (2, 4), }", 16, HEDDLE_INVALID},
      {1, "{'descr': '<f2', 'descr': '<f2', 'fortran_order': False, 'shape': (2, 4)}", 16,
       HEDDLE_INVALID},
      {1, "{'descr': '<f2', 'other': False, 'shape': (2, 4), }", 16, HEDDLE_INVALID},
      {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2 4), }", 16, HEDDLE_INVALID},
      {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (-2, 4), }", 16, HEDDLE_INVALID},
      {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4)", 0, HEDDLE_INVALID},
      {1, "", 0, HEDDLE_INVALID},
      {4, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4), }", 16, HEDDLE_UNSUPPORTED},
  };
  for (size_t i = 0; i < HD_COUNT(cases); i++)
    assert_int_equal(open_npy(cases[i].version, cases[i].dictionary, cases[i].data_bytes, &npy),
                     cases[i].expected);
}

static void npy_cut_and_noisy(void **state) {
  (void)state;
  uint8_t bytes[512];
  uint64_t seed = 4;
  hd_npy npy;
  size_t n = npy_text(bytes, 1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4), }", 16);
  for (size_t cut = 0; cut < n; cut++) {
    uint8_t *copy = hd_xmalloc(cut);
    memcpy(copy, bytes, cut);
    assert_int_equal(hd_npy_open(NULL, NULL, copy, cut, &npy), HEDDLE_INVALID);
    free(copy);
  }
  for (int i = 0; i < 20000; i++) {
    uint8_t *copy = hd_xmalloc(n);
    memcpy(copy, bytes, n);
    for (int j = 0; j < 3; j++)
      copy[6 + next_random(&seed) % 60] = (uint8_t)(next_random(&seed) >> 9);
    if (hd_npy_open(NULL, NULL, copy, n, &npy) == HEDDLE_OK)
      assert_true(npy.data + npy.data_bytes == copy + n);
    free(copy);
  }
}

static void npy_fortran_order_is_transposed(void **state) {
  (void)state;
  uint8_t bytes[512];
  hd_npy npy;
  void *rows;
  size_t n = npy_text(bytes, 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", 6);
  const uint8_t expected[6] = {0, 2, 4, 1, 3, 5};
  assert_int_equal(hd_npy_open(NULL, NULL, bytes, n, &npy), HEDDLE_OK);
  assert_int_equal(hd_npy_copy_rows(NULL, &npy, &rows), HEDDLE_OK);
  assert_memory_equal(rows, expected, 6);
  free(rows);
}

static void npy_files_come_back(void **state) {
  (void)state;
  char *folder;
  uint64_t seed = 6;
  assert_int_equal(hd_file_tempdir(NULL, NULL, &folder), HEDDLE_OK);
  hd_strbuf path = {0};
  hd_strbuf_printf(&path, "%s/x.npy", folder);
  for (heddle_elem elem = 0; elem < HEDDLE_N_ELEMS; elem++) {
    size_t row_bytes = (size_t)10 * heddle_elem_get(elem)->container_bits / 8;
    uint8_t data[5 * 64];
    void *back;
    uint64_t rows, cols;
    fill_random(&seed, data, sizeof data);
    assert_int_equal(hd_npy_write(NULL, path.text, elem, 5, 10, data, 64), HEDDLE_OK);
    assert_int_equal(hd_npy_read(NULL, path.text, elem, &back, &rows, &cols), HEDDLE_OK);
    assert_true(rows == 5 && cols == 10);
    for (int i = 0; i < 5; i++)
      assert_memory_equal((uint8_t *)back + i * row_bytes, data + i * 64, row_bytes);
    free(back);
    heddle_elem other = elem == HEDDLE_F32 || elem == HEDDLE_TF32 ? HEDDLE_F16 : HEDDLE_F32;
    assert_int_equal(hd_npy_read(NULL, path.text, other, &back, &rows, &cols), HEDDLE_INVALID);
  }
  assert_int_equal(hd_npy_write(NULL, path.text, HEDDLE_S4, 1, 3, "ab", 2), HEDDLE_INVALID);
  assert_int_equal(hd_file_remove(NULL, folder), HEDDLE_OK);
  hd_strbuf_free(&path);
  free(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(good_files_are_sound),
      cmocka_unit_test(header_bytes),
      cmocka_unit_test(every_flipped_byte_is_found),
      cmocka_unit_test(every_truncation_is_found),
      cmocka_unit_test(bad_codes_and_padding_are_found),
      cmocka_unit_test(the_gap_must_be_zero),
      cmocka_unit_test(the_version_and_the_magic_have_their_own_rules),
      cmocka_unit_test(the_order_of_rows_is_told),
      cmocka_unit_test(fuzz),
      cmocka_unit_test(npy_headers),
      cmocka_unit_test(npy_cut_and_noisy),
      cmocka_unit_test(npy_fortran_order_is_transposed),
      cmocka_unit_test(npy_files_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
