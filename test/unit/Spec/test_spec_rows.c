/* Rows, targets, legality and queries. */
#include <stdio.h>
#include <string.h>

#include "spec_tests.h"

void every_row_is_found_by_name_and_text(void **state) {
  (void)state;
  assert_true(hd_spec_count() > 1900);
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i), *by_text = hd_spec_find(row->ptx);
    assert_ptr_equal(hd_spec_find(row->name), row);
    assert_non_null(by_text);
    assert_string_equal(by_text->ptx, row->ptx); /* several rows may have the same text */
    if (row->family == HD_FAMILY_MMA_SP)
      assert_ptr_equal(by_text, row);
    if (row->family == HD_FAMILY_WGMMA_SP)
      assert_false(by_text->a_in_registers);
  }
  assert_null(hd_spec_find("mma_sp_m16n8k7"));
  assert_null(hd_spec_find("mma.sp.sync"));
  assert_null(hd_spec_find("mma.sp.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32"));
  assert_non_null(hd_spec_find("mma.sp.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32"));
  assert_null(hd_spec_get(hd_spec_count()));
}

void rows_have_source_and_effects(void **state) {
  (void)state;
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    assert_true(*row->source && row->n_effects > 0 && row->n_avail > 0);
  }
}

void targets_are_found(void **state) {
  (void)state;
  const hd_target *t = NULL;
  assert_int_equal(hd_target_parse("sm_90a", &t), HEDDLE_OK);
  assert_true(t->sm == 90 && t->suffix == 'a' && t->min_ptx == 80 && t->shared_per_block == 232448);
  assert_int_equal(t->llvm_ptx, 86);
  assert_int_equal(hd_target_parse("sm_91", &t), HEDDLE_UNSUPPORTED);
  assert_string_equal(hd_target_nearest("sm_91"), "sm_90a");
  assert_string_equal(hd_target_nearest("sm_102a"), "sm_103a");
  assert_string_equal(hd_target_nearest("sm_101a"), "sm_110a"); /* its name since PTX 9.0 */
  assert_string_equal(hd_target_nearest("nonsense"), "sm_90a");
  for (size_t i = 0; i < hd_target_count(); i++) {
    assert_int_equal(hd_target_parse(hd_target_get(i)->name, &t), HEDDLE_OK);
    assert_ptr_equal(t, hd_target_get(i));
  }
}

static hd_legality legality(const char *target, unsigned ptx, const char *name, int selector) {
  hd_legal_query query = {.ptx = (uint16_t)ptx, .selector = selector};
  assert_int_equal(hd_target_parse(target, &query.target), HEDDLE_OK);
  return hd_spec_legal(hd_spec_find(name), &query, NULL, 0);
}

void families_reach_their_members(void **state) {
  (void)state;
  const char *fp4 = "mma_sp_ordered_m16n8k128_mxf4_f32_e2m1p_e2m1p";
  const char *f8 = "mma_sp_ordered_m16n8k64_f8f6f4_f32_e2m1_e3m2";
  assert_int_equal(legality("sm_120a", 87, f8, -1), HD_LEGAL);
  assert_int_equal(legality("sm_120f", 87, f8, -1), HD_ILLEGAL);
  assert_int_equal(legality("sm_120f", 88, f8, -1), HD_LEGAL);
  assert_int_equal(legality("sm_121a", 88, f8, -1), HD_LEGAL);
  assert_int_equal(legality("sm_120", 88, f8, -1), HD_ILLEGAL);
  assert_int_equal(legality("sm_100a", 88, f8, -1), HD_ILLEGAL);
  assert_int_equal(legality("sm_120f", 90, fp4, -1), HD_ILLEGAL);
  assert_int_equal(legality("sm_121a", 88, fp4, -1), HD_LEGAL);
  assert_int_equal(legality("sm_90a", 82, "wgmma_sp_ss_m64n8k32_f32_f16_f16", -1), HD_LEGAL);
  assert_int_equal(legality("sm_90a", 81, "wgmma_sp_ss_m64n8k32_f32_f16_f16", -1), HD_ILLEGAL);
  assert_int_equal(legality("sm_90", 90, "wgmma_sp_ss_m64n8k32_f32_f16_f16", -1), HD_ILLEGAL);
  assert_int_equal(legality("sm_100a", 88, "wgmma_sp_ss_m64n8k32_f32_f16_f16", -1), HD_ILLEGAL);
}

void selectors_are_checked(void **state) {
  (void)state;
  assert_int_equal(legality("sm_80", 85, "mma_sp_ordered_m16n8k32_f32_f16_f16", 1), HD_LEGAL);
  assert_int_equal(legality("sm_80", 85, "mma_sp_ordered_m16n8k32_f32_f16_f16", 2), HD_UNDEFINED);
  assert_int_equal(legality("sm_80", 85, "mma_sp_ordered_m16n8k32_f32_f16_f16", 4), HD_ILLEGAL);
  assert_int_equal(legality("sm_80", 85, "mma_sp_ordered_m16n8k16_f32_f16_f16", 3), HD_LEGAL);
  assert_int_equal(legality("sm_90a", 85, "wgmma_sp_ss_m64n8k64_f32_e4m3_e4m3", 1), HD_ILLEGAL);
}

void queries_find_each_wgmma(void **state) {
  (void)state;
  hd_mma_query q = HD_MMA_ANY;
  q.family = HD_FAMILY_WGMMA_SP;
  q.a = q.b = HEDDLE_BF16;
  q.d = HEDDLE_F32;
  assert_int_equal(hd_target_parse("sm_90a", &q.target), HEDDLE_OK);
  for (int n = 8; n <= 256; n += 8)
    for (int rs = 0; rs < 2; rs++) {
      q.n = n;
      q.a_in_registers = rs;
      const hd_spec_row *row = hd_spec_next_mma(&q, &(size_t){0});
      assert_non_null(row);
      assert_true(row->n == n && row->a_in_registers == rs && row->k == 32);
    }
  q.n = 12;
  assert_null(hd_spec_next_mma(&q, &(size_t){0}));
  q.n = 40;
  q.a = q.b = HEDDLE_S8;
  q.d = HEDDLE_S32;
  assert_null(hd_spec_next_mma(&q, &(size_t){0})); /* integer types have fewer values of N */
  assert_int_equal(hd_target_parse("sm_80", &q.target), HEDDLE_OK);
  q.n = 64;
  assert_null(hd_spec_next_mma(&q, &(size_t){0}));
}

/* The search skips the rows of other families; this counts all rows. */
void queries_find_all_rows_of_a_family(void **state) {
  (void)state;
  size_t n_all = 0;
  for (int family = HD_FAMILY_MMA_SP; family <= HD_FAMILY_TCGEN05_SP; family++) {
    size_t n = 0, expected = 0, at = 0;
    hd_mma_query q = HD_MMA_ANY;
    q.family = family;
    for (const hd_spec_row *row; (row = hd_spec_next_mma(&q, &at)); n++)
      assert_int_equal((int)row->family, family);
    for (size_t i = 0; i < hd_spec_count(); i++)
      expected += (int)hd_spec_get(i)->family == family;
    assert_int_equal(n, expected);
    n_all += n;
  }
  hd_mma_query any = HD_MMA_ANY;
  for (size_t at = 0; hd_spec_next_mma(&any, &at);)
    n_all--;
  assert_int_equal(n_all, 0);
}

/* A row is found by its own properties, as the first of those that share them. */
void queries_find_each_row(void **state) {
  (void)state;
  for (size_t i = 0; hd_spec_get(i)->family <= HD_FAMILY_TCGEN05_SP; i++) {
    const hd_spec_row *row = hd_spec_get(i), *found;
    hd_mma_query q = {.family = (int)row->family, .n = row->n, .ordered = -1, .a_in_registers = -1};
    q.a = (int)row->operand[HD_OPERAND_A].elem;
    q.b = (int)row->operand[HD_OPERAND_B].elem;
    q.d = (int)row->operand[HD_OPERAND_D].elem;
    size_t at = 0;
    while ((found = hd_spec_next_mma(&q, &at)) && found != row)
      assert_true(found < row && found->n == row->n);
    assert_ptr_equal(found, row);
    assert_int_equal(at, i + 1);
  }
}

void only_verified_rows_are_generated(void **state) {
  (void)state;
  size_t n = 0;
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    bool other_form = row->family == HD_FAMILY_TCGEN05_SP &&
                      (row->m == 64 * row->cta_group || row->a_in_registers);
    if (other_form || row->syntax_verified_by == HD_VERIFIED_BY_NONE)
      assert_false(hd_spec_can_generate(row));
    n += hd_spec_can_generate(row);
  }
  assert_true(n > 1000);
}
