/* tcgen05: compares the simulator's maps and its decoding of descriptors with the tables of
 * specs/. */
#include <string.h>

#include "Sim/sim_tcgen05_maps.h"
#include "spec_tests.h"

/* ---- tensor memory ---- */

/* The simulator's position of field (r, c) of an operand, r and c as in hd_fragment. */
static hd_sim_tensor_coord place_of(const hd_spec_row *row, const hd_fragment *f,
                                    hd_operand_id operand, unsigned selector, uint32_t r,
                                    uint32_t c) {
  uint32_t bits = heddle_elem_get(row->operand[HD_OPERAND_A].elem)->container_bits;
  hd_sim_paths paths;
  assert_true(hd_sim_paths_find(row->m, row->cta_group, true, &paths));
  switch (operand) {
  case HD_OPERAND_A:
    return hd_sim_coord_a5(paths, bits, r, c);
  case HD_OPERAND_META:
    return hd_sim_coord_meta5(paths, bits, selector, r, c / f->col_step);
  case HD_OPERAND_SCALE_A:
    return hd_sim_coord_scale_a5(r, f->field_base, c);
  case HD_OPERAND_SCALE_B:
    return hd_sim_coord_scale_b5(paths, row->n, c, f->field_base, r);
  default:
    return hd_sim_coord_d5(paths, row->n, r, c);
  }
}

static uint64_t compare_tensor(const hd_spec_row *row, hd_operand_id operand, unsigned selector) {
  hd_fragment f;
  uint64_t n = 0;
  if (!row->fragment[operand] ||
      hd_spec_fragment(row, operand, selector, &f) != HEDDLE_OK || f.space != HD_SPACE_TENSOR)
    return 0;
  for (unsigned lane = 0; lane < f.n_lanes; lane++)
    for (unsigned reg = 0; reg < f.n_regs; reg++)
      for (unsigned field = 0; field < 1u << f.map.in[2].bits; field++) {
        uint32_t r, c;
        if (!hd_fragment_at(&f, lane, reg, field, &r, &c))
          continue;
        hd_sim_tensor_coord sim = place_of(row, &f, operand, selector, r, c);
        assert_int_equal(f.broadcast ? lane % 32 : lane, sim.lane);
        assert_int_equal(f.reg_base + reg, sim.column);
        assert_int_equal((field + f.field_base) * f.field_bits, sim.bit);
        n++;
      }
  return n;
}

/* Compares everything that specs/ defines for tensor memory. A map that specs/ does not have adds
 * no fields to the count. */
void sim_agrees_on_tensor_memory(void **state) {
  (void)state;
  uint64_t n[HD_N_OPERANDS] = {0};
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    if (row->family != HD_FAMILY_TCGEN05_SP)
      continue;
    for (int o = 0; o < HD_N_OPERANDS; o++)
      for (unsigned s = 0; s < 4; s++) /* of metadata and scales; other operands have one layout */
        n[o] += s == 0 || o >= HD_OPERAND_META ? compare_tensor(row, (hd_operand_id)o, s) : 0;
  }
  for (int o = 0; o < HD_N_OPERANDS; o++)
    if (n[o])
      print_message("tensor memory, %s: %llu fields compared with the simulator\n",
                    hd_operand_name((hd_operand_id)o), (unsigned long long)n[o]);
  assert_true(n[HD_OPERAND_A] && n[HD_OPERAND_D] && n[HD_OPERAND_META] && n[HD_OPERAND_SCALE_A] &&
              n[HD_OPERAND_SCALE_B]);
}

/* tcgen05.ld and st: every thread, register and half. The halves of 16x32bx2 are side by side. */
void sim_moves_tensor_memory_the_same_way(void **state) {
  (void)state;
  static const char *const shapes[] = {[HD_SIM_32X32B] = ".32x32b.",
                                       [HD_SIM_16X32BX2] = ".16x32bx2.",
                                       [HD_SIM_16X64B] = ".16x64b.",
                                       [HD_SIM_16X128B] = ".16x128b.",
                                       [HD_SIM_16X256B] = ".16x256b."};
  unsigned n = 0, shape;
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    const hd_fragment *f = row->fragment[HD_OPERAND_D];
    if (row->family != HD_FAMILY_TCGEN05 || !f || f->broadcast)
      continue;
    for (shape = 0; !strstr(row->ptx, shapes[shape]); shape++) {}
    unsigned parts = 32 / f->field_bits;
    assert_int_equal(parts == 2, strstr(row->ptx, "pack::16b") != NULL);
    for (unsigned lane = 0; lane < 32; lane++)
      for (unsigned reg = 0; reg < f->n_regs; reg++)
        for (unsigned part = 0; part < parts; part++, n++) {
          uint32_t r, c;
          assert_true(hd_fragment_at(f, lane, reg, part, &r, &c));
          hd_sim_tensor_coord sim = hd_sim_coord_ldst((hd_sim_ldst)shape, lane, reg, f->n_regs);
          assert_int_equal(r, sim.lane);
          assert_int_equal(c, parts * sim.column + part);
        }
  }
  print_message("fields of tcgen05.ld and st compared with the simulator: %u\n", n);
  assert_int_equal(n, 2 * 3 * 32 * (255 * 3 + 2 * 127 + 4 * 63));
}

/* The copy of block scales: 32 rows of 16 bytes, each to four lanes, as in the simulator. */
void sim_copies_block_scales_the_same_way(void **state) {
  (void)state;
  hd_fragment f;
  const hd_spec_row *row = hd_spec_find("tcgen05_cp_cg1_32x128b_warpx4");
  hd_sim_cp_shape shape = hd_sim_cp_shape_of(HD_SIM_CP_32X128B_X4);
  assert_int_equal(hd_spec_fragment(row, HD_OPERAND_D, 0, &f), HEDDLE_OK);
  assert_int_equal(f.n_lanes, shape.rows * shape.copies);
  assert_int_equal(f.n_regs * 4, shape.bytes);
  unsigned n = 0;
  for (uint32_t r = 0; r < shape.rows; r++)
    for (uint32_t copy = 0; copy < shape.copies; copy++)
      for (unsigned reg = 0; reg < f.n_regs; reg++, n++) {
        uint32_t at_row, column;
        uint32_t lane = hd_sim_cp_lane(HD_SIM_CP_32X128B_X4, r, copy);
        assert_true(hd_fragment_at(&f, lane, reg, 0, &at_row, &column));
        assert_int_equal(at_row, r);
        assert_int_equal(column, reg);
      }
  print_message("fields of tcgen05.cp compared with the simulator: %u\n", n);
}

/* ---- descriptors ---- */

static uint64_t value_of(const hd_sim_idesc *i, const char *field) {
  const struct {
    const char *name;
    uint64_t value;
  } fields[] = {{"sparsity_selector", i->selector}, {"sparse", i->sparse},
                {"saturate", i->saturate},          {"d_type", i->d},
                {"a_type", i->a},                   {"b_type", i->b},
                {"negate_a", i->negate_a},          {"negate_b", i->negate_b},
                {"transpose_a", i->transpose_a},    {"transpose_b", i->transpose_b},
                {"n", i->n},                        {"m", i->m},
                {"scale_a_id", i->scale_a},         {"scale_b_id", i->scale_b},
                {"scale_type", i->scale_type},      {"k96", i->long_k}};
  for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
    if (strcmp(fields[f].name, field) == 0)
      return fields[f].value;
  fail_msg("the simulator does not read %s", field);
  return 0;
}

/* Tests every value of every field, with all other fields zero and with all their bits set. */
static unsigned compare_idesc(const char *name, hd_sim_idesc_form form) {
  const hd_descriptor *d = hd_descriptor_find(name);
  unsigned n = 0;
  assert_non_null(d);
  for (unsigned f = 0; f < d->n_fields; f++) {
    const hd_field *field = &d->field[f];
    uint64_t limit = 1ull << (field->hi - field->lo + 1), others = 0;
    if (strcmp(field->name, "max_shift") == 0)
      continue; /* only for .ws; must be zero here */
    for (unsigned g = 0; g < d->n_fields; g++)
      if (g != f && d->field[g].fixed == UINT64_MAX && strcmp(d->field[g].name, "max_shift") != 0)
        others |= ((1ull << (d->field[g].hi - d->field[g].lo + 1)) - 1) << d->field[g].lo;
    for (uint64_t v = 0; v < limit; v++) {
      for (unsigned beside = 0; beside < 2; beside++, n++) {
        uint32_t bits = (uint32_t)(v << field->lo | (beside ? others : 0));
        hd_sim_idesc i = hd_sim_idesc_read(form, bits);
        if (field->fixed != UINT64_MAX)
          assert_int_equal(i.reserved != 0, v != field->fixed);
        else
          assert_int_equal(value_of(&i, field->name), v << field->shift);
        assert_true(field->fixed != UINT64_MAX || i.reserved == 0);
      }
    }
  }
  return n;
}

void sim_reads_the_same_instruction_descriptors(void **state) {
  (void)state;
  unsigned n = compare_idesc("tcgen05_idesc", HD_SIM_IDESC_PLAIN) +
               compare_idesc("tcgen05_idesc_mxf8f6f4", HD_SIM_IDESC_MX8) +
               compare_idesc("tcgen05_idesc_mxf4", HD_SIM_IDESC_MX4);
  print_message("values of instruction descriptor fields compared with the simulator: %u\n", n);
  assert_true(n > 700);
}

static uint64_t put(const hd_descriptor *d, const char *name, uint64_t value) {
  for (unsigned f = 0; f < d->n_fields; f++)
    if (strcmp(d->field[f].name, name) == 0)
      return (value >> d->field[f].shift) << d->field[f].lo;
  fail_msg("no field %s", name);
  return 0;
}

static uint32_t read_tcgen05(const hd_canonical *form, uint32_t mn, uint32_t k, uint32_t bytes) {
  static const uint64_t mode[] = {0, 6, 4, 2};
  const hd_descriptor *table = hd_descriptor_find("tcgen05_smem");
  uint64_t bits = put(table, "start_address", CANONICAL_START) |
                  put(table, "leading_offset", form->lbo_bytes) |
                  put(table, "stride_offset", form->sbo_bytes) | put(table, "version", 1) |
                  put(table, "swizzle", mode[form->swizzle]);
  hd_sim_descriptor5 d = hd_sim_descriptor5_read(bits);
  assert_true(d.valid && !d.wide && !d.absolute && d.base_offset == 0);
  assert_false(hd_sim_descriptor5_read(bits & ~put(table, "version", 1)).valid);
  assert_true(hd_sim_descriptor5_read(bits | put(table, "lbo_mode", 1)).absolute);
  assert_int_equal(hd_sim_descriptor5_read(bits | put(table, "base_offset", 5)).base_offset, 5);
  return hd_sim_descriptor5_address(&d, form->mn_major, mn, k, bytes);
}

/* Addresses by the descriptor that lib/Spec builds from the canonical form. */
static uint32_t read_made(const hd_canonical *form, uint32_t mn, uint32_t k, uint32_t bytes) {
  hd_sim_descriptor5 d =
      hd_sim_descriptor5_read(hd_tcgen05_descriptor(form) | CANONICAL_START >> 4);
  assert_true(d.valid && !d.wide && !d.absolute && d.base_offset == 0);
  return hd_sim_descriptor5_address(&d, form->mn_major, mn, k, bytes);
}

/* The simulator's numbers for types: f16 and e4m3 0, bf16 and e5m2 1, tf32 2, u8 0, s8 1, pairs of
 * e2m1 1. */
static uint32_t type_number(heddle_elem elem) {
  bool one = elem == HEDDLE_BF16 || elem == HEDDLE_E5M2 || elem == HEDDLE_S8 ||
             elem == HEDDLE_E2M1P;
  return elem == HEDDLE_TF32 ? 2 : one;
}

static hd_sim_idesc_form form_of(const hd_spec_row *row) {
  bool pairs = row->operand[HD_OPERAND_A].elem == HEDDLE_E2M1P;
  return !row->scale_vec ? HD_SIM_IDESC_PLAIN : pairs ? HD_SIM_IDESC_MX4 : HD_SIM_IDESC_MX8;
}

static void compare_made(const hd_spec_row *row, uint32_t n, unsigned selector, bool mn_major) {
  uint32_t bits = hd_tcgen05_idesc(row, n, selector, mn_major);
  hd_sim_idesc i = hd_sim_idesc_read(form_of(row), bits);
  bool ue8m0 = row->operand[HD_OPERAND_SCALE_A].elem == HEDDLE_UE8M0;
  assert_true(i.sparse && !i.saturate && !i.negate_a && !i.negate_b && !i.transpose_a);
  assert_int_equal(i.reserved, 0);
  assert_int_equal(i.m, row->m);
  assert_int_equal(i.n, n);
  assert_int_equal(i.selector, row->scale_vec ? 0 : selector);
  assert_int_equal(i.scale_a, row->scale_vec ? selector : 0);
  assert_int_equal(i.scale_b, row->scale_vec ? selector : 0);
  assert_int_equal(i.scale_type, row->scale_vec && ue8m0);
  assert_int_equal(i.transpose_b, mn_major);
  assert_int_equal(i.d, row->operand[HD_OPERAND_D].elem == HEDDLE_S32 ? 2 : 1);
  assert_int_equal(i.a, type_number(row->operand[HD_OPERAND_A].elem));
  assert_int_equal(i.b, type_number(row->operand[HD_OPERAND_B].elem));
}

/* For every row that may be generated. */
void sim_reads_the_descriptors_of_rows(void **state) {
  (void)state;
  int n_rows = 0;
  for (size_t i = 0; i < hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i);
    if (row->family != HD_FAMILY_TCGEN05_SP || !hd_spec_can_generate(row))
      continue;
    n_rows++;
    bool pairs = row->operand[HD_OPERAND_A].elem == HEDDLE_E2M1P; /* cannot be transposed */
    unsigned selectors = row->scale_vec ? 4 : row->n_selectors;
    unsigned unit = row->scale_vec ? row->scale_vec : 1;
    for (uint32_t n = 16; n <= 256; n += 16)
      for (unsigned s = 0; s < selectors; s += unit)
        for (int mn_major = 0; mn_major < 2 - pairs; mn_major++)
          compare_made(row, n, s, mn_major);
  }
  assert_true(n_rows >= 11 + 4 + 4);
}

/* The 64 bits by the table, and the addresses by lib/Spec's canonical layouts. */
void sim_reads_the_same_shared_descriptors(void **state) {
  (void)state;
  assert_canonical_layouts(read_tcgen05);
  assert_canonical_layouts(read_made);
}
