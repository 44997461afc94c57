#include <string.h>

#include "Passes/arith.h"
#include "Passes/stage.h"

enum {
  PARTIAL_BYTES = 4,
  COUNTER_BYTES = 128
}; /* of an element; a counter has a line of its own */
enum { MOST_FRAGMENTS = 8 };

/* A warp's part of the tile in f32 or s32: sums of f16 would round once more a part, and overflow
 * where the whole sum does not. */
static int64_t partial_bytes(const hd_stage *st) {
  return (int64_t)st->s.tile_m * st->s.tile_n / (st->s.warps_m * st->s.warps_n) * PARTIAL_BYTES;
}

/* What a warp leaves in a slot: its partial, then a counter, which counts in the first slot of a
 * tile. Slots lie at the same bytes whatever the sizes of a launch: counters are never where
 * partials have been. */
static int64_t record_bytes(const hd_stage *st) { return partial_bytes(st) + COUNTER_BYTES; }

int64_t hd_stage_tile_bytes(const hd_stage *st) {
  return (int64_t)st->s.tile_m * st->s.tile_n * PARTIAL_BYTES;
}

int64_t hd_stage_slot_bytes(const hd_stage *st) {
  return record_bytes(st) * st->s.warps_m * st->s.warps_n;
}

/* The byte at which this warp's record of the tile's first part begins. */
static hd_value *find_record(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                             hd_value *warp) {
  hd_value *slot = hd_widen(b, place->slot), *within = hd_widen(b, warp);
  slot = hd_arith_const(b, HD_OP_MUL, slot, hd_stage_slot_bytes(st));
  within = hd_arith_const(b, HD_OP_MUL, within, record_bytes(st));
  return hd_arith(b, HD_OP_ADD, slot, within);
}

/* From one part to the next: the CTAs of a cluster lie between those of stream_k. */
static int64_t part_bytes(const hd_stage *st) {
  return hd_stage_slot_bytes(st) * (st->s.stream_k ? st->cluster : 1);
}

/* --- in a cluster ----------------------------------------------------------------------------- */

/* The byte of a slot at which fragment i of this warp begins. */
static hd_value *find_fragment(hd_stage *st, hd_builder *b, hd_value *warp, int32_t n_acc,
                               int32_t i) {
  int64_t bytes = partial_bytes(st);
  return hd_arith_const(b, HD_OP_ADD, hd_arith_const(b, HD_OP_MUL, warp, bytes), bytes / n_acc * i);
}

static void send(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                 hd_value *const *acc, int32_t n_acc) {
  for (int32_t i = 0; i < n_acc; i++)
    hd_build_op(b, HD_OP_PARTIAL_SEND, (hd_type){0}, 6, st->partials,
                find_fragment(st, b, warp, n_acc, i), place->part, st->n_splits, st->n_granules,
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
  if (!place->n_parts)
    return;
  if (st->along_k > 1)
    return reduce_in_cluster(st, b, place, warp, acc, n_acc);
  hd_value *workspace = st->arg[HD_STAGE_WORKSPACE], *record = find_record(st, b, place, warp);
  hd_op *store = hd_build_op(b, HD_OP_PARTIAL_STORE, (hd_type){0}, 7, workspace, record,
                             place->part, place->n_parts, place->k_lo, place->k_hi, st->n_granules);
  hd_op *sum = hd_build_op(b, HD_OP_PARTIAL_SUM, (hd_type){0}, 4, workspace, record, place->part,
                           place->n_parts);
  for (int32_t i = 0; i < n_acc; i++) {
    hd_type whole = acc[i]->type;
    whole.elem = whole.elem == HEDDLE_F16 ? HEDDLE_F32 : whole.elem;
    hd_op_add_operand(st->module, store, acc[i]);
    hd_op_add_operand(st->module, sum, acc[i]);
    acc[i] = hd_op_add_result(st->module, sum, whole);
  }
  if (st->s.split_k > 1)
    hd_op_set_int(st->module, store, HD_ATTR_SPLITS, st->s.split_k);
  hd_op_set_int(st->module, store, HD_ATTR_BYTES, part_bytes(st));
  hd_op_set_int(st->module, sum, HD_ATTR_BYTES, part_bytes(st));
}
