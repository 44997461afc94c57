/* unswitch: takes an `if` out of a loop.
 *
 * Requires   insert_fences.
 * Ensures    in a role of a single thread, a loop that chooses between two lists of ops by a
 *            condition that is the same in all iterations becomes an `if` with two loops. (The
 *            producer copies B by one box, or at the end of N by several small boxes; in a cluster,
 *            each CTA copies a part of B.)
 * Why here   the loops are then copies that already have their waits and arrivals, so
 *            insert_barriers and insert_fences see one loop; check sees those that run.
 * Does not   change what an iteration does. It only makes the loop shorter: a branch in the loop
 *            delays the copies after it (bf16 5120 x 5120, N = 48: 5 % of the kernel's time on an
 *            H200; docs/bench/dynamic.md has another case).
 */
#include "Passes/pass_list.h"
#include "Support/arena.h"

/* Whether `value` is the same in all iterations: computed by pure ops from values outside. */
static bool is_invariant(const hd_op *loop, const hd_value *value) {
  const hd_region *body = loop->regions[0];
  if (!value->op)
    return value->region != body;
  if (value->op->region != body)
    return true;
  if (value->op->n_regions || hd_op_effects(value->op->kind) != HD_EFFECT_PURE)
    return false;
  for (int32_t i = 0; i < value->op->n_operands; i++)
    if (!is_invariant(loop, value->op->operands[i]))
      return false;
  return true;
}

/* Moves what computes an invariant value before the loop. */
static void hoist(hd_op *loop, hd_value *value) {
  if (!value->op || value->op->region != loop->regions[0])
    return;
  for (int32_t i = 0; i < value->op->n_operands; i++)
    hoist(loop, value->op->operands[i]);
  hd_op_move_before(value->op, loop);
}

/* Builds the loop without the `if`: with the ops of its region `taken` in its place. */
static void build_loop(hd_builder *b, const hd_op *loop, const hd_op *choice, int taken) {
  const hd_region *body = loop->regions[0];
  hd_op *made = hd_build_for(b, hd_for_lo(loop), hd_for_hi(loop), hd_for_step(loop),
                             hd_for_carried(loop), loop->n_results);
  hd_builder in = hd_builder_at_end(b->module, made->regions[0]);
  hd_value_map map = {0};
  for (int32_t i = 0; i < body->n_args; i++)
    hd_value_map_set(&map, body->args[i], made->regions[0]->args[i]);
  for (const hd_op *op = body->first; op; op = op->next) {
    const hd_region *only = op == choice ? choice->regions[taken] : NULL;
    for (const hd_op *inner = only ? only->first : NULL; inner && inner != only->last;
         inner = inner->next)
      hd_op_clone(&in, inner, &map);
    if (!only)
      hd_op_clone(&in, op, &map);
  }
  hd_value_map_free(&map);
  hd_build_yield(b, made->results, made->n_results);
}

/* Returns the `if` that replaces the loop. */
static hd_op *unswitch(hd_module *m, hd_op *loop, hd_op *choice) {
  hd_type *types = HD_NEW_ARRAY(&m->arena, hd_type, loop->n_results);
  for (int32_t i = 0; i < loop->n_results; i++)
    types[i] = loop->results[i]->type;
  hoist(loop, choice->operands[0]);
  hd_builder b = hd_builder_before(m, loop);
  hd_op *outer = hd_build_if(&b, choice->operands[0], types, loop->n_results);
  for (int taken = 0; taken < 2; taken++) {
    hd_builder in = hd_builder_at_end(m, outer->regions[taken]);
    build_loop(&in, loop, choice, taken);
  }
  for (int32_t i = 0; i < loop->n_results; i++)
    hd_replace_uses(loop->region, loop->results[i], outer->results[i], NULL);
  hd_op_erase(loop);
  return outer;
}

/* The first `if` of the loop that chooses between two lists of ops, the same in all iterations. */
static hd_op *find_choice(const hd_op *loop) {
  HD_FOR_OPS(op, loop->regions[0])
    if (op->kind == HD_OP_IF && op->n_results == 0 && op->regions[0]->first->kind != HD_OP_YIELD &&
        op->regions[1]->first->kind != HD_OP_YIELD && is_invariant(loop, op->operands[0]))
      return op;
  return NULL;
}

static void unswitch_loops(hd_module *m, hd_region *region) {
  HD_FOR_OPS(op, region) {
    for (int32_t i = 0; i < op->n_regions; i++)
      unswitch_loops(m, op->regions[i]);
    hd_op *choice = op->kind == HD_OP_FOR ? find_choice(op) : NULL;
    hd_op *outer = choice ? unswitch(m, op, choice) : NULL;
    for (int taken = 0; outer && taken < 2; taken++) /* the loops may have more choices */
      unswitch_loops(m, outer->regions[taken]);
  }
}

heddle_status hd_pass_unswitch(hd_pass_context *pass, hd_module *module) {
  (void)pass;
  HD_FOR_OPS(kernel, module->body)
    HD_FOR_OPS(role, kernel->regions[0])
      if (role->kind == HD_OP_ROLE && hd_op_has(role, HD_ATTR_SINGLE))
        unswitch_loops(module, role->regions[0]);
  return HEDDLE_OK;
}
