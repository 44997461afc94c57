/* select_operand_path: chooses how A and B reach the instruction and how D is stored.
 *
 * Requires   assign_fragments.
 * Ensures    a kernel for each variant that the problem and schedule require (variants.c), with the
 *            variant's name; `b_path`, `b_align`, `b_box`, `swizzle` on its matmul, `path` on its
 *            store. The swizzle is the smallest one with which the rows of a k-block are read
 *            without bank conflicts. For wgmma and tcgen05 a canonical descriptor matches it
 *            (decided by layout algebra; refused if undecided).
 * Why here   build_mainloop makes buffers with exactly these layouts.
 * Does not   create buffers.
 */
#include "Passes/pass_list.h"

#include "Passes/plan.h"
#include "Schedule/resources.h"

/* The layout of a slot of B: rows of 128 bytes in swizzle atoms of 8 rows. The inputs (mn, k) are
 * elements, or bytes of 4-bit types. */
static hd_layout slot_layout(const hd_problem *p, const hd_schedule *s, int swizzle_bits) {
  int32_t elem_bytes = hd_map_bytes(p->b.elem), n = hd_schedule_b_columns(s);
  int32_t along[7][HD_LAYOUT_DIMS] = {{0}}, across[3][HD_LAYOUT_DIMS] = {{128}, {256}, {512}};
  unsigned n_along = 0;
  for (int32_t byte = elem_bytes; byte < HD_K_BLOCK_BYTES; byte *= 2)
    along[n_along++][0] = byte;
  int32_t atom[HD_LAYOUT_DIMS] = {1024}, panel[HD_LAYOUT_DIMS] = {s->tile_k * HD_K_BLOCK_BYTES};
  hd_layout layout = hd_layout_empty();
  hd_layout_add_out(&layout, "byte", 10);
  if (p->b.transposed) {
    hd_layout_add_in(&layout, "mn", n_along, along);
    hd_layout_add_in(&layout, "k", 3, across);
    hd_layout_add_repeat(&layout, 0, (uint32_t)(n * elem_bytes / HD_K_BLOCK_BYTES), panel);
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

static heddle_status select_paths(heddle_context *ctx, hd_module *m, hd_plan *plan,
                                  const hd_b_variant *variant) {
  const hd_problem *p = &plan->p;
  int swizzle_bits = hd_swizzle_for_rows(HD_K_BLOCK_BYTES);
  if (!hd_schedule_is_mma(&plan->s) && !has_descriptor(p, &plan->s, swizzle_bits))
    return HD_BUG(ctx, "no canonical descriptor matches a slot of B");
  plan->variant = variant;
  plan->swizzle = hd_plan_swizzle();
  plan->b_box = hd_b_path_has_map(variant->path) ? hd_schedule_b_box(p, &plan->s) : 0;
  hd_b_variant_narrow(variant, &plan->s);
  if (variant->path == HD_B_COPIED) /* starts during the copy, and waits for its end */
    hd_op_set_flag(m, plan->p.kernel, HD_ATTR_DEPENDENT);
  if (plan->s.store == HD_STORE_QUAD && hd_plan_store_blocks(plan) < HD_QUAD_BLOCKS)
    plan->s.store = HD_STORE_DIRECT;
  hd_plan_write_paths(m, plan);
  return HEDDLE_OK;
}

/* Makes one clone per variant; the first variant is the kernel itself. */
heddle_status hd_pass_select_operand_path(hd_pass_context *pass, hd_module *module) {
  HD_FOR_OPS(kernel, module->body) {
    hd_plan *plan;
    const hd_b_variant *variant;
    HD_TRY(hd_plan_of(pass->ctx, module, kernel, &plan));
    HD_TRY(hd_b_variant_check(pass->ctx, &plan->p, &plan->s));
    hd_op *last = kernel;
    for (int i = 1; (variant = hd_b_variant_get(&plan->p, &plan->s, i)); i++) {
      hd_builder b = hd_builder_after(module, last);
      hd_value_map map = {0};
      last = hd_op_clone(&b, kernel, &map);
      hd_plan *clone = hd_plan_clone(module, plan, last, &map);
      hd_value_map_free(&map);
      hd_op_set_str(module, last, HD_ATTR_NAME,
                    hd_arena_printf(&module->arena, "%s_%s", hd_op_str(last, HD_ATTR_NAME),
                                    variant->name));
      HD_TRY(select_paths(pass->ctx, module, clone, variant));
    }
    HD_TRY(select_paths(pass->ctx, module, plan, hd_b_variant_get(&plan->p, &plan->s, 0)));
  }
  return HEDDLE_OK;
}
