/* select_operand_path: how A and B reach the instruction.
 *
 * Requires   assign_fragments.
 * Ensures    `a_path`, `b_path`, `stages` and B's `swizzle` on each matmul: the smallest swizzle
 *            under which rows of a granule are read without bank conflicts; for wgmma and tcgen05,
 *            one that a canonical descriptor describes (decided by layout algebra, refused when
 *            undecided).
 * Why here   pipeline makes buffers of exactly these layouts.
 * Does not   create buffers.
 */
#include "Passes/pass_list.h"

#include <string.h>

#include "Passes/schedule_room.h"
#include "Passes/variants.h"

/* The slot of B: rows of 128 bytes in swizzle atoms of 8 rows. Inputs (mn, k) in elements, or
 * bytes of 4-bit ones. */
static hd_layout slot_layout(const hd_problem *p, const hd_schedule *s, int swizzle_bits) {
  int32_t elem_bytes = hd_map_bytes(p->b.elem), n = hd_schedule_b_columns(s);
  int32_t along[7][HD_LAYOUT_DIMS] = {{0}}, across[3][HD_LAYOUT_DIMS] = {{128}, {256}, {512}};
  unsigned n_along = 0;
  for (int32_t byte = elem_bytes; byte < HD_GRANULE_BYTES; byte *= 2)
    along[n_along++][0] = byte;
  int32_t atom[HD_LAYOUT_DIMS] = {1024}, panel[HD_LAYOUT_DIMS] = {s->tile_k * HD_GRANULE_BYTES};
  hd_layout layout = hd_layout_empty();
  hd_layout_add_out(&layout, "byte", 10);
  if (p->b.transposed) {
    hd_layout_add_in(&layout, "mn", n_along, along);
    hd_layout_add_in(&layout, "k", 3, across);
    hd_layout_add_repeat(&layout, 0, (uint32_t)(n * elem_bytes / HD_GRANULE_BYTES), panel);
    hd_layout_add_repeat(&layout, 1, (uint32_t)(s->tile_k / 8), atom);
  } else {
    hd_layout_add_in(&layout, "mn", 3, across);
    hd_layout_add_in(&layout, "k", n_along, along);
    hd_layout_add_repeat(&layout, 0, (uint32_t)(n / 8), atom);
  }
  hd_layout_swizzle(&layout, 0, (unsigned)swizzle_bits, 4, 3);
  return layout;
}

static bool has_descriptor(const hd_problem *p, const hd_schedule *s, int swizzle_bits) {
  hd_layout slot = slot_layout(p, s, swizzle_bits);
  hd_canonical form;
  return hd_canonical_match(&slot, 8 * (unsigned)hd_map_bytes(p->b.elem), &form) == HD_YES;
}

static heddle_status select_paths(hd_pass_context *pass, hd_module *m, hd_op *kernel) {
  hd_problem p;
  hd_schedule s;
  HD_TRY(hd_problem_read(pass->ctx, kernel, &p));
  HD_TRY(hd_schedule_chosen(pass->ctx, kernel, &s));
  int swizzle_bits = hd_swizzle_for_rows(HD_GRANULE_BYTES);
  if (swizzle_bits < 0)
    return HD_BUG(pass->ctx, "rows of a granule always have a swizzle");
  if (!hd_schedule_is_mma(&s) && !has_descriptor(&p, &s, swizzle_bits))
    return HD_BUG(pass->ctx, "no canonical descriptor describes a slot of B");
  hd_op_set_int(m, p.matmul, HD_ATTR_SWIZZLE, swizzle_bits ? 16 << swizzle_bits : 0);
  hd_op_set_int(m, p.matmul, HD_ATTR_STAGES, s.stages);
  hd_op_set_str(m, p.matmul, HD_ATTR_A_PATH, s.a_path);
  hd_op_set_str(m, p.matmul, HD_ATTR_B_PATH,
                hd_b_variant_find(hd_op_str(kernel, HD_ATTR_VARIANT))->path);
  return HEDDLE_OK;
}

heddle_status hd_pass_select_operand_path(hd_pass_context *pass, hd_module *module) {
  HD_FOR_OPS(kernel, module->body)
    HD_TRY(select_paths(pass, module, kernel));
  return HEDDLE_OK;
}
