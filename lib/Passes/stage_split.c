#include <string.h>

#include "Passes/accesses.h"
#include "Passes/arith.h"
#include "Passes/stage.h"

enum { MAX_FRAGMENTS = 8 };

int64_t hd_stage_own_bytes(const hd_stage *st) {
  return hd_record_partial_bytes(&st->s) * st->s.warps_m * st->s.warps_n / st->owners;
}

int64_t hd_stage_slot_bytes(const hd_stage *st) {
  return st->records.bytes * st->records.n;
}

/* Bytes between two parts of a tile. stream_k interleaves the slots of a cluster's CTAs. */
static int64_t part_bytes(const hd_stage *st) {
  return hd_stage_slot_bytes(st) * (st->s.stream_k ? st->cluster : 1);
}

/* --- in a cluster ----------------------------------------------------------------------------- */

/* Byte offset of this warp's i-th strip in a slot. */
static hd_value *find_fragment(hd_stage *st, hd_builder *b, const hd_stage_strips *strips,
                               int32_t i) {
  int64_t bytes = hd_record_partial_bytes(&st->s) / st->owners;
  hd_value *first = hd_arith_const(b, HD_OP_MUL, strips->warp, bytes);
  return hd_arith_const(b, HD_OP_ADD, first, bytes / strips->n * i);
}

/* The columns of CTA `owner`. */
static hd_value *find_columns(hd_stage *st, hd_builder *b, hd_value *acc, int32_t owner) {
  if (st->owners == 1)
    return acc;
  hd_type type = hd_type_frag(acc->type.elem, acc->type.n / st->owners);
  hd_value *own = hd_build_value(b, HD_OP_FRAG_COLUMNS, type, 1, acc);
  hd_op_set_int(st->module, own->op, HD_ATTR_OFFSET, (int64_t)owner * st->own_n);
  return own;
}

static void send(hd_stage *st, hd_builder *b, hd_value *split, int32_t owner,
                 const hd_stage_strips *strips, hd_value *const *acc) {
  for (int32_t i = 0; i < strips->n; i++) {
    hd_value *part = find_columns(st, b, acc[i], owner);
    hd_op *op =
        hd_build_op(b, HD_OP_PARTIAL_SEND, (hd_type){0}, 6, st->partials,
                    find_fragment(st, b, strips, i), split, st->n_splits, st->n_k_blocks, part);
    hd_op_set_int(st->module, op, HD_ATTR_OWNER, owner);
  }
}

/* The i-th split other than the owner's own; i starts at 1. */
static hd_value *find_sender(hd_builder *b, hd_value *i, int32_t owner) {
  if (owner == 0)
    return i;
  hd_value *below = hd_build_cmp(b, "le", i, hd_i32(b, owner));
  return hd_build_value(b, HD_OP_SELECT, HD_I32, 3, below, hd_arith_const(b, HD_OP_SUB, i, 1), i);
}

/* sum: the owner's columns of acc plus the partials of the other splits, in the order of slots. */
static void receive(hd_stage *st, hd_builder *b, int32_t owner, const hd_stage_strips *strips,
                    hd_value *const *acc, hd_value **sum) {
  hd_value *carried[MAX_FRAGMENTS + 1];
  carried[0] = hd_first_slot(b, st->along_k - 1);
  for (int32_t i = 0; i < strips->n; i++)
    carried[i + 1] = find_columns(st, b, acc[i], owner);
  hd_op *loop = hd_build_for(b, st->one, st->n_splits, st->one, carried, strips->n + 1);
  hd_builder in = hd_builder_at_end(st->module, loop->regions[0]);
  hd_value **args = loop->regions[0]->args, *split = find_sender(&in, args[0], owner);
  for (int32_t i = 0; i < strips->n; i++)
    carried[i + 1] = hd_build_value(&in, HD_OP_PARTIAL_ADD, args[i + 2]->type, 7, st->partials,
                                    args[1], find_fragment(st, &in, strips, i), split, st->n_splits,
                                    st->n_k_blocks, args[i + 2]);
  carried[0] = hd_next_slot(&in, args[1], st->along_k - 1);
  hd_build_yield(&in, carried, strips->n + 1);
  memcpy(sum, loop->results + 1, sizeof *sum * (size_t)strips->n);
}

typedef struct exchange {
  const hd_tile_place *place;
  const hd_stage_strips *strips;
  hd_value *const *acc;
  hd_stage_store_fn *store;
} exchange;

/* The code of the CTA of rank `owner`. Each owner has its own code, since columns are registers. */
static void own_columns(hd_stage *st, hd_builder *b, const exchange *x, int32_t owner) {
  hd_value *sum[MAX_FRAGMENTS];
  hd_tile_place own = *x->place;
  for (int32_t other = 0; other < st->owners; other++)
    if (other != owner)
      send(st, b, hd_i32(b, owner), other, x->strips, x->acc);
  receive(st, b, owner, x->strips, x->acc, sum);
  own.col0 = hd_arith_const(b, HD_OP_ADD, own.col0, owner * st->own_n);
  if (st->columns.across > 1)
    own.across = hd_i32(b, owner);
  x->store(st, b, &own, x->strips, sum);
}

/* if rank == 0 { … } else if rank == 1 { … } …: the last rank needs no test. CTAs after the owners
 * only send. */
static void exchange_from(hd_stage *st, hd_builder *b, const exchange *x, int32_t owner) {
  if (owner == st->owners)
    return send(st, b, x->place->part, 0, x->strips, x->acc);
  if (owner == st->along_k - 1)
    return own_columns(st, b, x, owner);
  hd_op *which =
      hd_build_if(b, hd_build_cmp(b, "eq", x->place->rank, hd_i32(b, owner)), NULL, 0);
  hd_builder own = hd_builder_at_end(st->module, which->regions[0]);
  hd_builder others = hd_builder_at_end(st->module, which->regions[1]);
  own_columns(st, &own, x, owner);
  hd_build_yield(&own, NULL, 0);
  exchange_from(st, &others, x, owner + 1);
  hd_build_yield(&others, NULL, 0);
}

void hd_stage_exchange(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                       const hd_stage_strips *strips, hd_value *const *acc,
                       hd_stage_store_fn *store) {
  exchange_from(st, b, &(exchange){place, strips, acc, store}, 0);
}

/* --- through the workspace -------------------------------------------------------------------- */

void hd_stage_reduce(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                     hd_value **acc, int32_t n_acc) {
  if (!place->n_parts)
    return;
  /* The byte offset of this warp's first partial of the tile. It ends where the counter begins. */
  hd_value *slot = hd_widen(b, place->slot), *within = hd_widen(b, warp);
  slot = hd_arith_const(b, HD_OP_MUL, slot, hd_stage_slot_bytes(st));
  within = hd_arith_const(b, HD_OP_MUL, within, st->records.bytes);
  within = hd_arith_const(b, HD_OP_ADD, within, hd_record_partial(st->records, &st->s));
  hd_value *workspace = st->arg[HD_ARG_WORKSPACE], *partial = hd_arith(b, HD_OP_ADD, slot, within);
  hd_op *store = hd_build_op(b, HD_OP_PARTIAL_STORE, (hd_type){0}, 7, workspace, partial,
                             place->part, place->n_parts, place->k_lo, place->k_hi, st->n_k_blocks);
  hd_op *sum = hd_build_op(b, HD_OP_PARTIAL_SUM, (hd_type){0}, 4, workspace, partial, place->part,
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
