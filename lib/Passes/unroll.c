/* unroll: unrolls a loop by two stages.
 *
 * Requires   split_roles.
 * Ensures    a loop over stages with `unroll` (of a consumer in which a wgmma batch is to stay in
 *            flight) runs two stages per iteration, each with its own registers. An odd last stage
 *            follows the loop.
 * Why here   only the consumer benefits: the next stage then does not load the registers (metadata)
 *            that the tensor cores still read, so that insert_fences can leave a batch in flight
 *            across the end of an iteration.
 * Does not   change the producer, or decide which batch is waited for where.
 */
#include "Passes/arith.h"
#include "Passes/pass_list.h"

enum { MAX_CARRIED = 16 };

/* Clones the loop's body for stage i at the insertion point, and updates `carried`. */
static void build_iteration(hd_builder *b, const hd_op *loop, hd_value *i, hd_value **carried) {
  const hd_region *body = loop->regions[0];
  hd_value_map map = {0};
  hd_value_map_set(&map, body->args[0], i);
  for (int32_t c = 0; c < loop->n_results; c++)
    hd_value_map_set(&map, body->args[1 + c], carried[c]);
  for (const hd_op *op = body->first; op != body->last; op = op->next)
    hd_op_clone(b, op, &map);
  for (int32_t c = 0; c < loop->n_results; c++) {
    hd_value *mapped = hd_value_map_get(&map, body->last->operands[c]);
    carried[c] = mapped ? mapped : body->last->operands[c];
  }
  hd_value_map_free(&map);
}

static void copy_values(hd_value **to, hd_value *const *from, int32_t n) {
  for (int32_t i = 0; i < n; i++)
    to[i] = from[i];
}

static hd_op *build_pairs(hd_builder *b, const hd_op *loop, hd_value *even) {
  hd_value *two = hd_i32(b, 2), *carried[MAX_CARRIED];
  hd_op *pairs = hd_build_for(b, hd_for_lo(loop), even, two, hd_for_carried(loop), loop->n_results);
  hd_builder in = hd_builder_at_end(b->module, pairs->regions[0]);
  hd_value *i = pairs->regions[0]->args[0];
  copy_values(carried, pairs->regions[0]->args + 1, loop->n_results);
  build_iteration(&in, loop, i, carried);
  build_iteration(&in, loop, hd_arith_const(&in, HD_OP_ADD, i, 1), carried);
  hd_build_yield(&in, carried, loop->n_results);
  return pairs;
}

/* The remainder of an odd count: one stage, whose index is `even`. */
static hd_op *build_last(hd_builder *b, const hd_op *loop, hd_value *odd, hd_value *even,
                         hd_value *const *values) {
  hd_type types[MAX_CARRIED];
  hd_value *carried[MAX_CARRIED];
  for (int32_t c = 0; c < loop->n_results; c++)
    types[c] = loop->results[c]->type;
  hd_value *left = hd_build_cmp(b, "ne", odd, hd_i32(b, 0));
  hd_op *last = hd_build_if(b, left, types, loop->n_results);
  hd_builder then = hd_builder_at_end(b->module, last->regions[0]);
  hd_builder otherwise = hd_builder_at_end(b->module, last->regions[1]);
  copy_values(carried, values, loop->n_results);
  build_iteration(&then, loop, even, carried);
  hd_build_yield(&then, carried, loop->n_results);
  hd_build_yield(&otherwise, values, loop->n_results);
  return last;
}

static heddle_status unroll(heddle_context *ctx, hd_module *m, hd_op *loop) {
  if (loop->n_results > MAX_CARRIED)
    return HD_BUG(ctx, "unroll: the loop carries too many values");
  hd_builder b = hd_builder_before(m, loop);
  hd_value *count = hd_arith(&b, HD_OP_SUB, hd_for_hi(loop), hd_for_lo(loop));
  hd_value *odd = hd_arith_const(&b, HD_OP_REM, count, 2);
  hd_value *even = hd_arith(&b, HD_OP_SUB, hd_for_hi(loop), odd);
  hd_op *done = build_pairs(&b, loop, even);
  if (odd->op->kind != HD_OP_CONST || hd_op_int(odd->op, HD_ATTR_VALUE, 1))
    done = build_last(&b, loop, odd, even, done->results);
  for (int32_t c = 0; c < loop->n_results; c++)
    hd_replace_uses(loop->region, loop->results[c], done->results[c], NULL);
  hd_op_erase(loop);
  return HEDDLE_OK;
}

static heddle_status unroll_marked(hd_pass_context *pass, hd_module *m, hd_region *region) {
  HD_FOR_OPS(op, region) {
    for (int32_t i = 0; i < op->n_regions; i++)
      HD_TRY(unroll_marked(pass, m, op->regions[i]));
    if (op->kind == HD_OP_FOR && hd_op_has(op, HD_ATTR_UNROLL))
      HD_TRY(unroll(pass->ctx, m, op));
  }
  return HEDDLE_OK;
}

heddle_status hd_pass_unroll(hd_pass_context *pass, hd_module *module) {
  return unroll_marked(pass, module, module->body);
}
