/* Computes scale_b of a tile's columns from a statistic of B, once per tile: the stores read the
 * scales from shared memory. To load the sums takes as long as a k-block, so this is the first op
 * of a tile, while the ring is filled.
 *
 *   wgmma     each warpgroup has its own copy, so that they need not wait for each other; with a
 *             cluster along k one slot for the columns of each CTA
 *   mma.sp    one slot for the columns of each of the warps side by side
 *   tcgen05   one slot; a store of some of the columns begins inside it */
#include "Passes/arith.h"
#include "Passes/stage.h"

void hd_stage_columns(hd_stage *st, hd_builder *b, hd_tile_place *place, hd_value *warp) {
  const hd_column_slots *slots = &st->columns;
  if (!st->sc)
    return;
  hd_op *op = hd_build_op(b, HD_OP_SCALE_COLUMNS, (hd_type){0}, 7, st->sc,
                          st->arg[HD_ARG_SCALE_B], st->arg[HD_ARG_LDSB], st->arg[HD_ARG_K],
                          st->arg[HD_ARG_EPS], place->col0, place->end_n);
  hd_op_set_str(st->module, op, HD_ATTR_STATISTIC, st->p.statistic);
  hd_op_set_int(st->module, op, HD_ATTR_TILE_COLUMNS, st->s.tile_n / slots->across);
  if (slots->across > 1)
    hd_op_set_int(st->module, op, HD_ATTR_ACROSS, slots->across);
  place->first_scales = st->zero;
  if (slots->sets == 1)
    return;
  int32_t among = st->s.warps_m / slots->sets;
  hd_op_set_int(st->module, op, HD_ATTR_AMONG, among);
  place->first_scales = hd_arith_const(b, HD_OP_MUL, hd_arith_const(b, HD_OP_DIV, warp, among),
                                       slots->across);
}

hd_value *hd_stage_column_slot(hd_stage *st, hd_builder *b, const hd_tile_place *place) {
  if (!place->across || st->columns.across <= 1)
    return place->first_scales; /* NULL: none */
  return hd_arith(b, HD_OP_ADD, place->first_scales, place->across);
}

void hd_stage_add_scales(hd_stage *st, const hd_tile_place *place, hd_op *op, hd_value *slot) {
  if (!slot)
    return;
  hd_op_add_operand(st->module, op, st->sc);
  hd_op_add_operand(st->module, op, slot);
  if (place->offset)
    hd_op_set_int(st->module, op, HD_ATTR_OFFSET, place->offset);
}
