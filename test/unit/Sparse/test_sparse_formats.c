/* The two formats, byte by byte: test vectors, the packed plane compared with the hardware's
 * register maps, and round trips for all types and odd sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "Support/arena.h"
#include "Support/convert.h"
#include "sparse_random.h"

/* ---- single groups ---- */

typedef struct group_case {
  heddle_elem elem;
  double dense[8];
  unsigned code; /* 0: refused */
  double values[4];
} group_case;

#define NZ -0.0

static const group_case group_cases[] = {
    /* zero, one and two non-zeros: the lowest free positions are added */
    {HEDDLE_F16, {0, 0, 0, 0}, 0x4, {0, 0}},
    {HEDDLE_F16, {5, 0, 0, 0}, 0x4, {5, 0}},
    {HEDDLE_F16, {0, 5, 0, 0}, 0x4, {0, 5}},
    {HEDDLE_F16, {0, 0, 5, 0}, 0x8, {0, 5}},
    {HEDDLE_F16, {0, 0, 0, 5}, 0xc, {0, 5}},
    /* all six patterns */
    {HEDDLE_BF16, {1, 2, 0, 0}, 0x4, {1, 2}},
    {HEDDLE_BF16, {1, 0, 2, 0}, 0x8, {1, 2}},
    {HEDDLE_BF16, {0, 1, 2, 0}, 0x9, {1, 2}},
    {HEDDLE_BF16, {1, 0, 0, 2}, 0xc, {1, 2}},
    {HEDDLE_BF16, {0, 1, 0, 2}, 0xd, {1, 2}},
    {HEDDLE_BF16, {0, 0, 1, 2}, 0xe, {1, 2}},
    /* -0.0 counts as zero in every position */
    {HEDDLE_F16, {NZ, 1, NZ, 2}, 0xd, {1, 2}},
    {HEDDLE_E4M3, {1, NZ, NZ, 2}, 0xc, {1, 2}},
    {HEDDLE_E2M1, {NZ, NZ, 1, 2}, 0xe, {1, 2}},
    {HEDDLE_E3M2, {NZ, 0, 1, NZ}, 0x8, {0, 1}},
    {HEDDLE_TF32, {NZ, 3}, 0xe, {3}},
    {HEDDLE_E2M1P, {NZ, NZ, 1, NZ, 0, 0, NZ, 6}, 0xd, {1, NZ, NZ, 6}},
    /* tf32: one of two */
    {HEDDLE_TF32, {0, 0}, 0x4, {0}},
    {HEDDLE_TF32, {7, 0}, 0x4, {7}},
    {HEDDLE_TF32, {1, 2}, 0, {0}},
    /* pairs */
    {HEDDLE_S4, {0, 0, -8, 0, 0, 0, 0, 7}, 0xd, {-8, 0, 0, 7}},
    {HEDDLE_U4, {0, 0, 0, 0, 0, 0, 0, 15}, 0xc, {0, 0, 0, 15}},
    {HEDDLE_U4, {1, 0, 0, 1, 0, 1, 0, 0}, 0, {0}},
    /* three and four */
    {HEDDLE_S8, {1, 2, 3, 0}, 0, {0}},
    {HEDDLE_S8, {0, 2, 3, -128}, 0, {0}},
    {HEDDLE_U8, {1, 2, 3, 4}, 0, {0}},
    {HEDDLE_E5M2, {1, 0, 3, 4}, 0, {0}},
};

static void compress_single_groups(void **state) {
  (void)state;
  for (size_t i = 0; i < HD_COUNT(group_cases); i++) {
    const group_case *c = &group_cases[i];
    unsigned group = heddle_elem_get(c->elem)->group;
    uint8_t dense[16] = {0}, values[8], code = 0xff;
    heddle_context *ctx = heddle_context_create();
    for (unsigned j = 0; j < group; j++)
      hd_elem_store(c->elem, dense, j, c->dense[j]);
    heddle_status status =
        heddle_sparse_compress(ctx, c->elem, 1, group, dense, sizeof dense, values, &code);
    assert_int_equal(status, c->code ? HEDDLE_OK : HEDDLE_INVALID);
    if (c->code)
      assert_int_equal(code, c->code);
    for (unsigned j = 0; c->code && j < group / 2; j++)
      assert_int_equal(hd_elem_get_bits(c->elem, values, j),
                       hd_elem_from_double(c->elem, c->values[j]));
    assert_int_equal(heddle_context_count(ctx), c->code ? 0 : 1);
    heddle_context_free(ctx);
  }
}

static void special_values_are_kept_bit_for_bit(void **state) {
  (void)state;
  const uint16_t dense[8] = {0x7e01, 0,      0xfc00, 0,
                             0,      0x0001, 0,      0xfe55}; /* NaNs, -Inf, subnormal */
  const uint16_t expected[4] = {0x7e01, 0xfc00, 0x0001, 0xfe55};
  uint16_t values[4];
  uint8_t codes;
  assert_int_equal(
      heddle_sparse_compress(NULL, HEDDLE_F16, 1, 8, dense, sizeof dense, values, &codes),
      HEDDLE_OK);
  assert_memory_equal(values, expected, sizeof expected);
  assert_int_equal(codes, 0x8 | 0xd << 4);
}

static void low_bits_of_tf32_do_not_count(void **state) {
  (void)state;
  const uint32_t dense[4] = {0x00001fff, 0x3f801234, 0x80000001, 0}; /* 0, 1, -0, 0 */
  uint32_t values[2];
  uint8_t codes;
  assert_int_equal(
      heddle_sparse_compress(NULL, HEDDLE_TF32, 1, 4, dense, sizeof dense, values, &codes),
      HEDDLE_OK);
  assert_int_equal(codes, 0xe | 0x4 << 4);
  assert_int_equal(values[0], 0x3f801234);
  assert_int_equal(values[1], 0);
}

static void refusal_names_row_group_and_values(void **state) {
  (void)state;
  const int8_t dense[2][8] = {{0}, {1, 0, 2, 0, 3, -4, 0, 5}};
  int8_t values[8];
  uint8_t codes[2];
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(heddle_sparse_compress(ctx, HEDDLE_S8, 2, 8, dense, 8, values, codes),
                   HEDDLE_INVALID);
  const heddle_diagnostic *d = heddle_context_get(ctx, 0);
  assert_string_equal(d->rule, "sparse.not-2-4");
  assert_non_null(strstr(d->text, "row 1, group 1 (columns 4 to 7) holds {3, -4, 0, 5}"));
  heddle_context_free(ctx);
}

/* ---- shapes ---- */

static void bad_shapes_are_refused(void **state) {
  (void)state;
  heddle_sparse_info info;
  uint8_t buffer[64] = {0};
  const heddle_sparse_form packed = HEDDLE_SPARSE_PACKED;
  const struct {
    heddle_elem elem;
    heddle_family family;
    uint64_t m, k;
    heddle_status expected;
  } cases[] = {
      {HEDDLE_F16, HEDDLE_FAMILY_MMA, 0, 4, HEDDLE_INVALID},
      {HEDDLE_F16, HEDDLE_FAMILY_MMA, 1, 0, HEDDLE_INVALID},
      {HEDDLE_F16, HEDDLE_FAMILY_MMA, 1, 6, HEDDLE_INVALID},
      {HEDDLE_TF32, HEDDLE_FAMILY_MMA, 1, 3, HEDDLE_INVALID},
      {HEDDLE_S4, HEDDLE_FAMILY_MMA, 1, 12, HEDDLE_INVALID},
      {HEDDLE_F32, HEDDLE_FAMILY_MMA, 1, 4, HEDDLE_UNSUPPORTED},
      {HEDDLE_UE8M0, HEDDLE_FAMILY_MMA, 1, 4, HEDDLE_UNSUPPORTED},
      {HEDDLE_S4, HEDDLE_FAMILY_WGMMA, 1, 8, HEDDLE_UNSUPPORTED},
      {HEDDLE_E2M1, HEDDLE_FAMILY_WGMMA, 1, 8, HEDDLE_UNSUPPORTED},
      {HEDDLE_F16, HEDDLE_FAMILY_NONE, 1, 4, HEDDLE_INVALID},
      {HEDDLE_F16, (heddle_family)7, 1, 4, HEDDLE_INVALID},
      {(heddle_elem)99, HEDDLE_FAMILY_MMA, 1, 4, HEDDLE_INVALID},
      {HEDDLE_F16, HEDDLE_FAMILY_MMA, UINT64_MAX, 4, HEDDLE_INVALID},
      {HEDDLE_F16, HEDDLE_FAMILY_MMA, 1, UINT64_MAX - 3, HEDDLE_INVALID},
      {HEDDLE_F16, HEDDLE_FAMILY_MMA, (uint64_t)1 << 32, (uint64_t)1 << 32, HEDDLE_INVALID},
      {HEDDLE_TF32, HEDDLE_FAMILY_MMA, (uint64_t)1 << 31, (uint64_t)1 << 29, HEDDLE_INVALID},
  };
  for (size_t i = 0; i < HD_COUNT(cases); i++)
    assert_int_equal(heddle_sparse_plan(NULL, packed, cases[i].elem, cases[i].family, cases[i].m,
                                        cases[i].k, &info),
                     cases[i].expected);
  assert_int_equal(heddle_sparse_plan(NULL, 3, HEDDLE_F16, HEDDLE_FAMILY_MMA, 1, 4, &info),
                   HEDDLE_INVALID);
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(heddle_sparse_prune(ctx, HEDDLE_F16, 2, 8, buffer, 15), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "sparse.stride");
  heddle_context_free(ctx);
  assert_int_equal(heddle_sparse_prune(NULL, HEDDLE_F16, 2, 8, buffer, SIZE_MAX), HEDDLE_INVALID);
  assert_int_equal(heddle_sparse_prune(NULL, HEDDLE_F16, 2, 8, buffer, 16), HEDDLE_OK);
}

static void sizes_are_those_of_the_design(void **state) {
  (void)state;
  const struct {
    heddle_elem elem;
    uint32_t k_block_size, block_bytes;
  } cases[] = {{HEDDLE_TF32, 32, 4608},  {HEDDLE_F16, 64, 4608},  {HEDDLE_BF16, 64, 4608},
               {HEDDLE_E4M3, 128, 5120}, {HEDDLE_S8, 128, 5120},  {HEDDLE_E2M1, 128, 5120},
               {HEDDLE_S4, 256, 5120},   {HEDDLE_E2M1P, 256, 5120}};
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    heddle_sparse_info info;
    assert_int_equal(heddle_sparse_plan(NULL, HEDDLE_SPARSE_PACKED, cases[i].elem,
                                        HEDDLE_FAMILY_MMA, 65, cases[i].k_block_size + 8, &info),
                     HEDDLE_OK);
    assert_int_equal(info.k_block_size, cases[i].k_block_size);
    assert_int_equal(info.block_bytes, cases[i].block_bytes);
    assert_int_equal(info.payload_bytes, 4 * cases[i].block_bytes);
    assert_int_equal(info.payload_bytes % 128, 0);
  }
}

/* ---- the packed plane, by the register maps of the instructions ---- */

/* A matrix in both formats. */
typedef struct matrix {
  heddle_sparse_info canonical, packed;
  uint8_t *dense, *values, *codes, *payload;
  size_t row_bytes;
} matrix;

static matrix make_matrix(heddle_elem elem, uint64_t m, uint64_t k, uint64_t seed) {
  matrix x;
  assert_int_equal(heddle_sparse_plan(NULL, HEDDLE_SPARSE_CANONICAL, elem, 0, m, k, &x.canonical),
                   HEDDLE_OK);
  assert_int_equal(
      heddle_sparse_plan(NULL, HEDDLE_SPARSE_PACKED, elem, HEDDLE_FAMILY_MMA, m, k, &x.packed),
      HEDDLE_OK);
  assert_int_equal(heddle_sparse_dense_row_bytes(NULL, elem, k, &x.row_bytes), HEDDLE_OK);
  x.dense = hd_xmalloc(m * x.row_bytes);
  x.values = hd_xmalloc(x.canonical.values_bytes);
  x.codes = hd_xmalloc(x.canonical.codes_bytes);
  x.payload = hd_xmalloc(x.packed.payload_bytes);
  memset(x.payload, 0xee, x.packed.payload_bytes);
  fill_sparse(&seed, elem, x.dense, m * x.row_bytes);
  assert_int_equal(
      heddle_sparse_compress(NULL, elem, m, k, x.dense, x.row_bytes, x.values, x.codes),
      HEDDLE_OK);
  assert_int_equal(
      heddle_sparse_pack(NULL, elem, HEDDLE_FAMILY_MMA, m, k, x.values, x.codes, x.payload),
      HEDDLE_OK);
  return x;
}

static void free_matrix(matrix *x) {
  free(x->dense);
  free(x->values);
  free(x->codes);
  free(x->payload);
}

/* The code of a group of the padded matrix. */
static unsigned code_at(const matrix *x, uint64_t row, uint64_t group) {
  uint64_t n = x->canonical.k / heddle_elem_get(x->canonical.elem)->group;
  return row < x->canonical.m && group < n
             ? hd_nibble(x->codes + row * x->canonical.codes_row_bytes, group)
             : 4;
}

static unsigned value_byte_at(const matrix *x, uint64_t row, uint64_t byte) {
  return row < x->canonical.m && byte < x->canonical.values_row_bytes
             ? x->values[row * x->canonical.values_row_bytes + byte]
             : 0;
}

static uint32_t word_at(const uint8_t *p) {
  return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ldmatrix.x4 on a k-step: matrix j has rows 8(j&1) and bytes 16(j>>1). Its lane l gets row l/4,
 * bytes 4(l%4). This is the map of the A registers of mma.sp and of wgmma with A in registers. */
static void check_values(const matrix *x, const uint8_t *block, uint64_t row0, uint64_t byte0) {
  for (unsigned step = 0; step < 2; step++)
    for (unsigned t = 0; t < 128; t++)
      for (unsigned j = 0; j < 4; j++) {
        unsigned g = t % 32 / 4, q = t % 4, row = 16 * (t / 32) + g + 8 * (j & 1);
        unsigned byte = 16 * (j >> 1) + 4 * q;
        const uint8_t *at =
            block + step * 2048 + row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16;
        for (unsigned b = 0; b < 4; b++)
          assert_int_equal(at[b], value_byte_at(x, row0 + row, byte0 + 32 * step + byte + b));
      }
}

/* 16-bit types and tf32: k-step `sel` reads lanes q = 2 sel + h of the only word. They hold four
 * groups, beginning at h * (half a step), of rows g and g + 8. */
static void check_one_word_plane(const matrix *x, const uint8_t *plane, uint64_t row0,
                                 uint64_t group0) {
  for (unsigned w = 0; w < 4; w++)
    for (unsigned g = 0; g < 8; g++)
      for (unsigned sel = 0; sel < 2; sel++)
        for (unsigned h = 0; h < 2; h++) {
          unsigned thread = 32 * w + 4 * g + 2 * sel + h;
          uint32_t word = word_at(plane + 4 * thread);
          for (unsigned i = 0; i < 4; i++) {
            uint64_t group = group0 + 8 * sel + 4 * h + i;
            assert_int_equal(word >> (4 * i) & 15, code_at(x, row0 + 16 * w + g, group));
            assert_int_equal(word >> (16 + 4 * i) & 15, code_at(x, row0 + 16 * w + g + 8, group));
          }
        }
}

/* 8- and 4-bit types: k-step s reads word s of every lane: row g + 8(q & 1), groups 8(q >> 1) to
 * 8(q >> 1) + 7. */
static void check_two_word_plane(const matrix *x, const uint8_t *plane, uint64_t row0,
                                 uint64_t group0) {
  for (unsigned t = 0; t < 128; t++)
    for (unsigned s = 0; s < 2; s++) {
      unsigned w = t / 32, g = t % 32 / 4, q = t % 4;
      uint32_t word = word_at(plane + 8 * t + 4 * s);
      for (unsigned i = 0; i < 8; i++)
        assert_int_equal(word >> (4 * i) & 15, code_at(x, row0 + 16 * w + g + 8 * (q & 1),
                                                       group0 + 16 * s + 8 * (q >> 1) + i));
    }
}

static void packed_plane_is_what_the_instructions_read(void **state) {
  (void)state;
  FOR_SPARSE_ELEMS(elem) {
    bool narrow = heddle_elem_get(elem)->container_bits <= 8;
    unsigned k_block_size = 1024 / heddle_elem_get(elem)->container_bits;
    unsigned groups = k_block_size / heddle_elem_get(elem)->group;
    matrix x = make_matrix(elem, 131, k_block_size * 2 + 24, 7 + elem);
    for (unsigned i = 0; i < x.packed.n_slabs; i++)
      for (unsigned j = 0; j < x.packed.n_k_blocks; j++) {
        const uint8_t *block =
            x.payload + (i * x.packed.n_k_blocks + j) * x.packed.block_bytes;
        check_values(&x, block, 64 * i, 64 * j);
        (narrow ? check_two_word_plane : check_one_word_plane)(&x, block + 4096, 64 * i,
                                                              (uint64_t)groups * j);
      }
    free_matrix(&x);
  }
}

/* ---- round trips ---- */

static void round_trip(heddle_elem elem, uint64_t m, uint64_t k) {
  matrix x = make_matrix(elem, m, k, m * 1000003 + k * 31 + elem);
  uint8_t *values = hd_xmalloc(x.canonical.values_bytes);
  uint8_t *codes = hd_xmalloc(x.canonical.codes_bytes);
  uint8_t *dense = hd_xmalloc(m * x.row_bytes), *again = hd_xmalloc(x.packed.payload_bytes);
  memset(values, 0xee, x.canonical.values_bytes);
  memset(codes, 0xee, x.canonical.codes_bytes);
  memset(dense, 0xee, m * x.row_bytes);
  memset(again, 0xdd, x.packed.payload_bytes);
  assert_int_equal(
      heddle_sparse_unpack(NULL, elem, HEDDLE_FAMILY_MMA, m, k, x.payload, values, codes),
      HEDDLE_OK);
  assert_memory_equal(values, x.values, x.canonical.values_bytes);
  assert_memory_equal(codes, x.codes, x.canonical.codes_bytes);
  assert_int_equal(heddle_sparse_decompress(NULL, elem, m, k, values, codes, dense, x.row_bytes),
                   HEDDLE_OK);
  assert_memory_equal(dense, x.dense, m * x.row_bytes);
  assert_int_equal(heddle_sparse_pack_dense(NULL, elem, HEDDLE_FAMILY_MMA, m, k, dense,
                                            x.row_bytes, again),
                   HEDDLE_OK);
  assert_memory_equal(again, x.payload, x.packed.payload_bytes);
  free(again);
  free(dense);
  free(codes);
  free(values);
  free_matrix(&x);
}

static void round_trips_over_all_types_and_odd_sizes(void **state) {
  (void)state;
  static const unsigned rows[] = {1, 7, 8, 63, 64, 65, 129};
  FOR_SPARSE_ELEMS(elem) {
    unsigned group = heddle_elem_get(elem)->group;
    unsigned k_block = 1024 / heddle_elem_get(elem)->container_bits;
    const unsigned columns[] = {group,          3 * group,       k_block - group, k_block,
                                k_block + group, 2 * k_block,     3 * k_block - group,
                                5 * k_block + 7 * group};
    for (size_t i = 0; i < HD_COUNT(rows); i++)
      for (size_t j = 0; j < HD_COUNT(columns); j++)
        round_trip(elem, rows[i], columns[j]);
  }
}

/* Rows with a stride: the bytes between them are neither read nor written. */
static void strides_are_respected(void **state) {
  (void)state;
  uint8_t wide[3][24], values[12], codes[3];
  const uint8_t row[8] = {0, 1, 0, 2, 3, 0, 0, 4};
  memset(wide, 0x77, sizeof wide);
  for (int i = 0; i < 3; i++)
    memcpy(wide[i], row, 8);
  assert_int_equal(heddle_sparse_compress(NULL, HEDDLE_U8, 3, 8, wide, 24, values, codes),
                   HEDDLE_OK);
  assert_int_equal(codes[2], 0xd | 0xc << 4);
  memset(wide, 0x77, sizeof wide);
  assert_int_equal(heddle_sparse_decompress(NULL, HEDDLE_U8, 3, 8, values, codes, wide, 24),
                   HEDDLE_OK);
  for (int i = 0; i < 3; i++) {
    assert_memory_equal(wide[i], row, 8);
    for (int j = 8; j < 24; j++)
      assert_int_equal(wide[i][j], 0x77);
  }
}

static void illegal_codes_are_refused(void **state) {
  (void)state;
  FOR_SPARSE_ELEMS(elem) {
    bool one_of_two = elem == HEDDLE_TF32;
    for (unsigned code = 0; code < 16; code++) {
      uint8_t values[8] = {0}, codes = (uint8_t)code, dense[16];
      unsigned first = code & 3, second = code >> 2;
      bool legal = one_of_two ? code == 4 || code == 14 : first < second;
      assert_int_equal(heddle_sparse_decompress(NULL, elem, 1, heddle_elem_get(elem)->group,
                                                values, &codes, dense, sizeof dense),
                       legal ? HEDDLE_OK : HEDDLE_INVALID);
    }
  }
}

static void masks_agree_with_the_conversions(void **state) {
  (void)state;
  FOR_SPARSE_ELEMS(elem) {
    const hd_sparse_rule *rule = hd_sparse_rule_get(elem);
    bool pairs = heddle_elem_get(elem)->container_bits == 4;
    uint32_t n = rule->unit_bytes == 1 ? 256 : 65536, shift = rule->unit_bytes == 4 ? 16 : 0;
    for (uint32_t i = 0; i < n; i++) {
      uint32_t bits = i << shift;
      bool zero = hd_elem_to_double(elem, bits) == 0;
      if (pairs)
        zero = zero && hd_elem_to_double(elem, bits >> 4) == 0;
      assert_int_equal((bits & rule->nonzero_mask) == 0, zero);
    }
  }
}

/* The positions of the rows of gate and up, written out by hand; the inverse; and numbers of rows
 * that cannot be paired in blocks of 8. */
static void rows_of_gate_and_up_are_interleaved(void **state) {
  (void)state;
  const uint8_t gate_and_up[] = {0, 7, 16, 23, 8, 15, 24, 31};
  uint16_t rows[32], paired[32], again[32];
  for (unsigned i = 0; i < 32; i++)
    rows[i] = (uint16_t)(1000 + i);
  assert_int_equal(heddle_sparse_pair_rows(NULL, 32, sizeof *rows, rows, paired), HEDDLE_OK);
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(paired[8 * i], 1000 + gate_and_up[2 * i]);
    assert_int_equal(paired[8 * i + 7], 1000 + gate_and_up[2 * i + 1]);
  }
  assert_int_equal(heddle_sparse_unpair_rows(NULL, 32, sizeof *rows, paired, again), HEDDLE_OK);
  assert_memory_equal(again, rows, sizeof rows);
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(heddle_sparse_pair_rows(ctx, 24, sizeof *rows, rows, paired), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "sparse.pair");
  assert_non_null(strstr(heddle_context_get(ctx, 0)->text, "nearest: 32"));
  heddle_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compress_single_groups),
      cmocka_unit_test(special_values_are_kept_bit_for_bit),
      cmocka_unit_test(low_bits_of_tf32_do_not_count),
      cmocka_unit_test(refusal_names_row_group_and_values),
      cmocka_unit_test(bad_shapes_are_refused),
      cmocka_unit_test(sizes_are_those_of_the_design),
      cmocka_unit_test(packed_plane_is_what_the_instructions_read),
      cmocka_unit_test(round_trips_over_all_types_and_odd_sizes),
      cmocka_unit_test(strides_are_respected),
      cmocka_unit_test(illegal_codes_are_refused),
      cmocka_unit_test(masks_agree_with_the_conversions),
      cmocka_unit_test(rows_of_gate_and_up_are_interleaved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
