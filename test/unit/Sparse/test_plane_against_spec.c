/* Compares the packed block with lib/Spec. For every mma.sp and wgmma.sp row, the bits that its
 * metadata and A fragments read must be the codes and values in the block. lib/Spec does not depend
 * on the format, and the format does not depend on lib/Spec. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "Spec/spec.h"
#include "Support/arena.h"
#include "Support/convert.h"
#include "sparse_random.h"

enum { ROWS = 64, META = 4096 };

/* One block of random sparse values, and its unpacked values and codes. */
typedef struct block {
  heddle_elem elem;
  unsigned k_block_size, group, bits; /* bits per element */
  uint8_t values[ROWS * 64], codes[ROWS * 16], packed[5120];
} block;

static void make_block(block *b, heddle_elem elem) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  uint8_t dense[ROWS * 128];
  uint64_t seed = 77 + elem;
  *b = (block){.elem = elem, .group = info->group, .bits = info->container_bits};
  b->k_block_size = 1024 / b->bits;
  fill_sparse(&seed, elem, dense, sizeof dense);
  assert_int_equal(heddle_sparse_compress(NULL, elem, ROWS, b->k_block_size, dense, 128, b->values,
                                          b->codes),
                   HEDDLE_OK);
  assert_int_equal(heddle_sparse_pack_dense(NULL, elem, HEDDLE_FAMILY_MMA, ROWS, b->k_block_size,
                                            dense, 128, b->packed),
                   HEDDLE_OK);
}

static unsigned code_at(const block *b, unsigned row, unsigned k) {
  unsigned n_groups = b->k_block_size / b->group;
  return hd_nibble(b->codes + row * (n_groups / 2), k / b->group);
}

static unsigned words_a_thread(const block *b) {
  return b->bits <= 8 ? 2 : 1;
}

static uint32_t word_at(const uint8_t *p) {
  return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* One instruction of the k-block. k0: its first column; thread0: the first thread of its warp. For
 * each contributing lane, the fields must equal the codes of their groups. Returns the number of
 * compared fields. */
static unsigned check_meta_step(const block *b, const hd_fragment *f, unsigned thread0, unsigned k0,
                                unsigned word) {
  unsigned n = 0;
  for (unsigned lane = 0; lane < f->n_lanes; lane++)
    for (unsigned field = 0; field < 32u / f->field_bits; field++) {
      uint32_t row, col;
      if (!hd_fragment_at(f, lane, 0, field, &row, &col))
        continue;
      const uint8_t *at = b->packed + META + 4 * ((thread0 + lane) * words_a_thread(b) + word);
      unsigned bit = (f->field_base + field) * f->field_bits;
      assert_int_equal(word_at(at) >> bit & 15, code_at(b, 16 * (thread0 / 32) + row, k0 + col));
      n++;
    }
  return n;
}

/* All instructions of a k-block: each word serves n_selectors of them, one after the other. */
static unsigned check_meta(const block *b, const hd_spec_row *spec) {
  unsigned n = 0, n_steps = b->k_block_size / spec->k;
  assert_int_equal(n_steps, words_a_thread(b) * spec->n_selectors);
  for (unsigned step = 0; step < n_steps; step++) {
    hd_fragment f;
    assert_int_equal(
        hd_spec_fragment(spec, HD_OPERAND_META, step % spec->n_selectors, &f), HEDDLE_OK);
    for (unsigned thread0 = 0; thread0 < 128; thread0 += f.n_lanes)
      n += check_meta_step(b, &f, thread0, step * spec->k, step / spec->n_selectors);
  }
  assert_int_equal(n, ROWS * b->k_block_size / b->group); /* every code once */
  return n;
}

/* docs/format.md, "Families": the half shapes of 8- and 4-bit types distribute their codes
 * differently, so they are left out. */
static bool is_served(const block *b, const hd_spec_row *spec) {
  return words_a_thread(b) == 1 || 2u * spec->k == b->k_block_size;
}

/* The contents of register j after ldmatrix.x4 on the k-step's four core matrices of rows 16w and
 * following. */
static uint32_t loaded(const block *b, unsigned step, unsigned w, unsigned lane, unsigned j) {
  unsigned row = 16 * w + 8 * (j & 1) + lane / 4, half = j >> 1;
  return word_at(b->packed + step * 2048 + row / 8 * 256 + half * 128 + row % 8 * 16 +
                 lane % 4 * 4);
}

static unsigned check_a_step(const block *b, const hd_fragment *f, const hd_spec_row *spec,
                             unsigned step, unsigned thread0) {
  unsigned n = 0, per_row = b->k_block_size / 2;
  for (unsigned lane = 0; lane < f->n_lanes; lane++)
    for (unsigned reg = 0; reg < f->n_regs; reg++)
      for (unsigned field = 0; field < 32u / f->field_bits; field++) {
        uint32_t row, col;
        if (!hd_fragment_at(f, lane, reg, field, &row, &col))
          continue;
        unsigned thread = thread0 + lane, matrix_row = 16 * (thread0 / 32) + row;
        uint32_t word = loaded(b, step, thread / 32, thread % 32, reg);
        uint32_t mask = b->bits == 32 ? UINT32_MAX : (1u << b->bits) - 1;
        uint32_t expected = hd_elem_get_bits(
            b->elem, b->values, (size_t)matrix_row * per_row + step * spec->k / 2 + col);
        assert_int_equal(word >> (field * f->field_bits) & mask, expected);
        n++;
      }
  return n;
}

/* Checks spec rows with A in registers that use a full k-step. */
static unsigned check_a(const block *b, const hd_spec_row *spec) {
  hd_fragment f;
  unsigned n = 0;
  if (!spec->a_in_registers || 2u * spec->k != b->k_block_size)
    return 0;
  assert_int_equal(hd_spec_fragment(spec, HD_OPERAND_A, 0, &f), HEDDLE_OK);
  for (unsigned step = 0; step < 2; step++)
    for (unsigned thread0 = 0; thread0 < 128; thread0 += f.n_lanes)
      n += check_a_step(b, &f, spec, step, thread0);
  assert_int_equal(n, ROWS * b->k_block_size / 2);
  return n;
}

static void blocks_are_what_every_row_reads(void **state) {
  (void)state;
  size_t n_rows = 0, n_left_out = 0, n_codes = 0, n_values = 0;
  unsigned elems = 0;
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *spec = hd_spec_get(i);
    if (spec->family != HD_FAMILY_MMA_SP && spec->family != HD_FAMILY_WGMMA_SP)
      continue;
    block b;
    make_block(&b, spec->operand[HD_OPERAND_A].elem);
    if (!is_served(&b, spec)) {
      n_left_out++;
      continue;
    }
    n_codes += check_meta(&b, spec);
    n_values += check_a(&b, spec);
    n_rows++;
    elems |= 1u << b.elem;
  }
  print_message("rows=%zu half_shapes=%zu codes=%zu values=%zu\n", n_rows, n_left_out, n_codes,
                n_values);
  FOR_SPARSE_ELEMS(elem) assert_true(elems >> elem & 1); /* each type was checked */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_are_what_every_row_reads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
