#include <string.h>

#include "Passes/arith.h"
#include "Passes/stage.h"

enum { PARTIAL_BYTES = 4, COUNTER_BYTES = 128 }; /* of an element; a counter has a line of its own */
enum { MOST_FRAGMENTS = 8 };

/* One split of one warp: its part of the tile in f32 or s32. Sums of f16 would round once more a split,
 * and overflow where the whole sum does not. */
static int64_t partial_bytes(const hd_stage *st) {
  return (int64_t)st->s.tile_m * st->s.tile_n / (st->s.warps_m * st->s.warps_n) * PARTIAL_BYTES;
}

int64_t hd_stage_tile_bytes(const hd_stage *st) {
  return (int64_t)st->s.tile_m * st->s.tile_n * PARTIAL_BYTES;
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

/* --- in a cluster ----------------------------------------------------------------------------- */

/* The byte of a slot at which fragment i of this warp begins. */
static hd_value *find_fragment(hd_stage *st, hd_builder *b, hd_value *warp, int32_t n_acc, int32_t i) {
  int64_t bytes = partial_bytes(st);
  return hd_arith_const(b, HD_OP_ADD, hd_arith_const(b, HD_OP_MUL, warp, bytes), bytes / n_acc * i);
}

static void send(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                 hd_value *const *acc, int32_t n_acc) {
  for (int32_t i = 0; i < n_acc; i++)
    hd_build_op(b, HD_OP_PARTIAL_SEND, (hd_type){0}, 6, st->partials,
                find_fragment(st, b, warp, n_acc, i), place->split, st->n_splits, st->n_granules,
                acc[i]);
  hd_build_yield(b, NULL, 0);
}

/* acc += the partials of splits 1, 2, …, slot after slot. */
static void receive(hd_stage *st, hd_builder *b, hd_value *warp, hd_value **acc, int32_t n_acc) {
  hd_value *carried[MOST_FRAGMENTS + 1];
  hd_op *cursor = hd_build_op(b, HD_OP_CURSOR, HD_CURSOR, 0);
  hd_op_set_int(st->module, cursor, HD_ATTR_STAGES, st->along_k - 1);
  carried[0] = cursor->results[0];
  memcpy(carried + 1, acc, sizeof *acc * (size_t)n_acc);
  hd_op *loop = hd_build_for(b, st->one, st->n_splits, st->one, carried, n_acc + 1);
  hd_builder in = hd_builder_at_end(st->module, loop->regions[0]);
  hd_value **args = loop->regions[0]->args;
  for (int32_t i = 0; i < n_acc; i++)
    carried[i + 1] = hd_build_value(&in, HD_OP_PARTIAL_ADD, acc[i]->type, 7, st->partials, args[1],
                                    find_fragment(st, &in, warp, n_acc, i), args[0], st->n_splits,
                                    st->n_granules, args[i + 2]);
  hd_op *next = hd_build_op(&in, HD_OP_CURSOR_NEXT, HD_CURSOR, 1, args[1]);
  hd_op_set_int(st->module, next, HD_ATTR_STAGES, st->along_k - 1);
  carried[0] = next->results[0];
  hd_build_yield(&in, carried, n_acc + 1);
  memcpy(acc, loop->results + 1, sizeof *acc * (size_t)n_acc);
}

/* CTA 0 goes on with the sums; the others have sent theirs. */
static void reduce_in_cluster(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                              hd_value *warp, hd_value **acc, int32_t n_acc) {
  hd_op *which = hd_build_if(b, hd_build_cmp(b, "eq", place->rank, st->zero), NULL, 0);
  hd_builder other = hd_builder_at_end(st->module, which->regions[1]);
  send(st, &other, place, warp, acc, n_acc);
  *b = hd_builder_at_end(st->module, which->regions[0]);
  receive(st, b, warp, acc, n_acc);
}

void hd_stage_end_reduce(hd_stage *st, hd_builder *b) {
  if (st->along_k > 1)
    hd_build_yield(b, NULL, 0);
}

/* --- through the workspace -------------------------------------------------------------------- */

void hd_stage_reduce(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                     hd_value **acc, int32_t n_acc) {
  if (!st->n_splits)
    return;
  if (st->along_k > 1)
    return reduce_in_cluster(st, b, place, warp, acc, n_acc);
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
