/* tile: the work, one kernel for each way B can come.
 *
 * Requires   select_shape.
 * Ensures    tile level; in each kernel one `work` op that holds matmul, epilogue and store;
 *            `variant`, and the kernel's entry name, on each kernel.
 * Why here   the tile is the instruction's multiple; a variant differs only from here on.
 * Does not   place anything in memory.
 */
#include "Passes/pass_list.h"

#include <stdio.h>
#include <string.h>

#include "Passes/problem.h"
#include "Passes/schedule_room.h"
#include "Passes/variants.h"

static void build_work(hd_module *m, const hd_problem *p, const hd_schedule *s,
                       const hd_b_variant *variant) {
  hd_builder b = hd_builder_before(m, p->store); /* behind all that the epilogue reads */
  b.loc = p->matmul->loc;
  hd_value *sizes[] = {p->m.op->results[0], p->n.op->results[0], p->k.op->results[0]};
  hd_op *work = hd_build(&b, HD_OP_WORK, sizes, 3, NULL, 0);
  int64_t tile[] = {s->tile_m, s->tile_n, s->tile_k};
  hd_op_set_ints(m, work, HD_ATTR_TILE, tile, 3);
  hd_op_set_str(m, work, HD_ATTR_ORDER, "grouped");
  hd_op_set_int(m, work, HD_ATTR_GROUP, s->group);
  bool multicasts = strcmp(variant->path, "gather") != 0;
  hd_op_set_int(m, work, HD_ATTR_CLUSTER, multicasts || hd_schedule_is_pair(s) ? s->cluster : 1);
  hd_op_set_int(m, work, HD_ATTR_SPLIT_K, s->split_k);
  if (s->stream_k)
    hd_op_set_flag(m, work, HD_ATTR_STREAM_K);
  hd_op_set_int(m, work, HD_ATTR_GRANULES, s->tile_k / hd_granule_k(p->a_elem));
  if (s->persistent)
    hd_op_set_flag(m, work, HD_ATTR_PERSISTENT);
  hd_op_move_to_end(p->matmul, work->regions[0]);
  hd_op_move_to_end(p->epilogue, work->regions[0]);
  hd_op_move_to_end(p->store, work->regions[0]);
  hd_builder inside = hd_builder_at_end(m, work->regions[0]);
  hd_build_yield(&inside, NULL, 0);
}

static heddle_status tile_kernel(hd_pass_context *pass, hd_module *m, hd_op *kernel,
                                 const hd_b_variant *variant, int index) {
  hd_problem p;
  hd_schedule s;
  HD_TRY(hd_problem_read(pass->ctx, kernel, &p));
  HD_TRY(hd_schedule_chosen(pass->ctx, kernel, &s));
  hd_op_set_str(m, kernel, HD_ATTR_VARIANT, variant->name);
  if (index > 0)
    hd_op_set_str(m, kernel, HD_ATTR_NAME,
                  hd_arena_printf(&m->arena, "%s_%s", hd_op_str(kernel, HD_ATTR_NAME),
                                  variant->name));
  build_work(m, &p, &s, variant);
  return HEDDLE_OK;
}

/* One clone a variant; the first keeps the kernel itself. */
static heddle_status tile_variants(hd_pass_context *pass, hd_module *m, hd_op *kernel) {
  hd_problem p;
  hd_schedule s;
  HD_TRY(hd_problem_read(pass->ctx, kernel, &p));
  HD_TRY(hd_schedule_chosen(pass->ctx, kernel, &s));
  HD_TRY(hd_b_variant_check(pass->ctx, &p, &s));
  int n = 0;
  while (hd_b_variant_get(&p, &s, n))
    n++;
  hd_op *last = kernel;
  for (int i = 1; i < n; i++) {
    hd_builder b = hd_builder_after(m, last);
    hd_value_map map = {0};
    last = hd_op_clone(&b, kernel, &map);
    hd_value_map_free(&map);
    HD_TRY(tile_kernel(pass, m, last, hd_b_variant_get(&p, &s, i), i));
  }
  return tile_kernel(pass, m, kernel, hd_b_variant_get(&p, &s, 0), 0);
}

heddle_status hd_pass_tile(hd_pass_context *pass, hd_module *module) {
  HD_FOR_OPS(kernel, module->body)
    HD_TRY(tile_variants(pass, module, kernel));
  module->level = HD_LEVEL_TILE;
  return HEDDLE_OK;
}
