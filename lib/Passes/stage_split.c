#include "Passes/arith.h"
#include "Passes/stage.h"

enum { PARTIAL_BYTES = 4, COUNTER_BYTES = 128 }; /* of an element; a counter has a line of its own */

/* One split of one warp: its part of the tile in f32 or s32. Sums of f16 would round once more a split,
 * and overflow where the whole sum does not. */
static int64_t partial_bytes(const hd_stage *st) {
  return (int64_t)st->s.tile_m * st->s.tile_n / (st->s.warps_m * st->s.warps_n) * PARTIAL_BYTES;
}

int64_t hd_stage_record_bytes(const hd_stage *st) {
  return st->s.split_k * partial_bytes(st) + COUNTER_BYTES;
}

/* The byte at which this warp's record of the tile begins. */
static hd_value *find_record(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                             hd_value *warp) {
  int64_t record = hd_stage_record_bytes(st);
  hd_value *tile = hd_widen(b, place->index), *within = hd_widen(b, warp);
  tile = hd_arith_const(b, HD_OP_MUL, tile, record * st->s.warps_m * st->s.warps_n);
  within = hd_arith_const(b, HD_OP_MUL, within, record);
  return hd_arith(b, HD_OP_ADD, tile, within);
}

static void set_sizes(hd_stage *st, hd_op *op) {
  hd_op_set_int(st->module, op, HD_ATTR_SPLITS, st->s.split_k);
  hd_op_set_int(st->module, op, HD_ATTR_BYTES, partial_bytes(st));
}

void hd_stage_reduce(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                     hd_value **acc, int32_t n_acc) {
  if (!st->n_splits)
    return;
  hd_value *record = find_record(st, b, place, warp);
  hd_op *store = hd_build_op(b, HD_OP_PARTIAL_STORE, (hd_type){0}, 5, st->arg[HD_STAGE_WORKSPACE],
                             record, place->split, st->n_splits, st->n_granules);
  hd_op *sum = hd_build_op(b, HD_OP_PARTIAL_SUM, (hd_type){0}, 4, st->arg[HD_STAGE_WORKSPACE],
                           record, place->split, st->n_splits);
  for (int32_t i = 0; i < n_acc; i++) {
    hd_type whole = acc[i]->type;
    whole.elem = whole.elem == HEDDLE_F16 ? HEDDLE_F32 : whole.elem;
    hd_op_add_operand(st->module, store, acc[i]);
    hd_op_add_operand(st->module, sum, acc[i]);
    acc[i] = hd_op_add_result(st->module, sum, whole);
  }
  set_sizes(st, store);
  set_sizes(st, sum);
}
