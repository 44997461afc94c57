#include "forms.h"

form form_plain(const hd_spec_row *row, unsigned selector) {
  form f = {.row = row, .selector = selector};
  f.a = (shared_form){{.lbo_bytes = 128, .sbo_bytes = 256}, 1, 0};
  f.b = (shared_form){{.swizzle = HD_SMEM_128B, .sbo_bytes = 1024}, 2, selector & 1};
  return f;
}

/* ---- forms of operands in shared memory ---- */

static bool k_major_forms(const hd_spec_row *row, form_visit *visit, void *user) {
  bool ok = true;
  for (unsigned swizzle = HD_SMEM_32B; swizzle <= HD_SMEM_128B; swizzle++)
    for (unsigned step = 0; !row->a_in_registers && step < 1u << (swizzle - 1); step++) {
      form f = form_plain(row, 0);
      f.a = (shared_form){
          {.swizzle = swizzle, .sbo_bytes = 128u << swizzle}, 1u << (swizzle - 1), step};
      ok &= visit(user, &f);
    }
  form none = form_plain(row, 0), gaps = none, narrow = none, second = none;
  none.b = (shared_form){{.lbo_bytes = 128, .sbo_bytes = 512}, 1, 0};
  gaps.b = (shared_form){{.lbo_bytes = row->n * 16u + 256, .sbo_bytes = 128}, 1, 0};
  narrow.b = (shared_form){{.swizzle = HD_SMEM_64B, .sbo_bytes = 512}, 1, 0};
  second.b.step = 1;
  return visit(user, &none) && visit(user, &gaps) && visit(user, &narrow) &&
         visit(user, &second) && ok;
}

/* 16-bit types: A and B with M or N contiguous. S: bytes of a pattern of eight k rows. */
static bool mn_major_forms(const hd_spec_row *row, form_visit *visit, void *user) {
  bool ok = true;
  for (unsigned swizzle = HD_SMEM_NONE; swizzle <= HD_SMEM_128B; swizzle++) {
    uint32_t atom = 128u << swizzle, n_atoms = row->n * 2u / (16u << swizzle);
    shared_form b = {{true, swizzle, swizzle ? atom * (row->k / 8u) : atom * n_atoms, atom}, 1, 0};
    form f = form_plain(row, 0);
    f.trans_b = true;
    f.b = b;
    ok &= visit(user, &f);
    if (row->a_in_registers)
      continue;
    f = form_plain(row, 0);
    f.trans_a = true;
    n_atoms = row->m * 2u / (16u << swizzle);
    f.a = (shared_form){
        {true, swizzle, swizzle ? atom * (row->k / 16u) : atom * n_atoms, atom}, 1, 0};
    ok &= visit(user, &f);
  }
  return ok;
}

static bool negated(const hd_spec_row *row, form_visit *visit, void *user) {
  bool ok = true;
  for (unsigned i = 1; i < 4; i++) {
    form f = form_plain(row, 0);
    f.negate_a = i & 1;
    f.negate_b = i >> 1;
    ok &= visit(user, &f);
  }
  return ok;
}

bool forms_of_wgmma(const hd_spec_row *row, form_visit *visit, void *user) {
  bool ok = k_major_forms(row, visit, user);
  if (row->modifiers & HD_MOD_TRANS_B)
    ok &= mn_major_forms(row, visit, user);
  if (row->modifiers & HD_MOD_NEGATE_A)
    ok &= negated(row, visit, user);
  return ok;
}

bool forms_of_overflow(const hd_spec_row *row, form_visit *visit, void *user) {
  bool ok = true;
  for (int i = 0; i < 4; i++) {
    form f = form_plain(row, 0);
    f.satfinite = i & 1;
    f.c_base = i < 2 ? INT32_MAX - 3 : INT32_MIN + 3; /* C itself is -2..3 */
    ok &= visit(user, &f);
  }
  return ok;
}

bool row_runs(const hd_spec_row *row, const hd_target *target) {
  return row->family != HD_FAMILY_TCGEN05_SP && row->family <= HD_FAMILY_STMATRIX &&
         !row->scale_vec && row->layout_verified_by != HD_VERIFIED_BY_NONE &&
         hd_spec_min_ptx(row, target);
}
