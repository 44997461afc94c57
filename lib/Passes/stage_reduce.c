/* Computes a statistic for each column of each 128 rows of D. The results are computed, and kept in
 * registers if they fit. Each warp writes the part of its rows to a slot of shared memory. Then all
 * warps compute the statistics or scales of the tile, and for a scale the factor of the store.
 *
 *   wgmma, 256 x 128, two warpgroups of two slabs each; a cell is 128 rows of the tile
 *   slab of the tile   0 1 2 3
 *   cell               0 0 1 1
 *   slots              0 1 2 3: cell 0, one per warp, for its strips of both slabs; 4 5 6 7: cell
 *                      1; 8 and 9: their factors
 *
 *   mma.sp, 128 x 128, warps 2x4 of 64 x 32 each; a cell is 128 rows by the columns of a warp
 *   warp               0 1 2 3     0 and 4 have the same columns
 *                      4 5 6 7
 *   slots              0 1: cell 0, the parts of warps 0 and 4; 2 3: cell 1, of 1 and 5; 4 to 7:
 *                      cells 2 and 3; 8 to 11: the factors of cells 0 to 3
 *
 *   tcgen05, 128 x 96; a cell is 128 rows by a slice of 32 columns, which the four warps load one
 *   after another: slots 0 to 3 are of cell 0, 4 to 7 of cell 1, …; 12 to 14: the factors. Tensor
 *   memory keeps the sums, so with several slices the results are computed again for the store.
 *
 * Only the warps of the cells side by side synchronise. For wgmma these are a warpgroup, so that
 * one warpgroup can multiply while the other stores. */
#include "Passes/arith.h"
#include "Passes/stage.h"

static hd_value *finish(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *strip,
                        hd_value *col, int32_t n, hd_value *const *acc) {
  hd_value *row =
      hd_arith(b, HD_OP_ADD, place->row0, hd_arith_const(b, HD_OP_MUL, strip, HD_STRIP_ROWS));
  hd_type type = hd_type_frag(HEDDLE_F32, n * acc[0]->type.n);
  hd_value *slot = hd_stage_column_slot(st, b, place);
  hd_op *op = hd_build_op(b, HD_OP_FINISH_TILE, type, 5, row, col, st->arg[HD_ARG_M], place->end_n,
                          place->g);
  hd_stage_add_scales(st, place, op, slot);
  for (int32_t i = 0; i < n; i++)
    hd_op_add_operand(st->module, op, acc[i]);
  hd_stage_set_epilogue(st, op);
  return op->results[0];
}

/* The number of a warp's part of the strips from `strip` on, in the order of rows. */
static hd_value *part_of(hd_stage *st, hd_builder *b, hd_value *strip) {
  int32_t warps = hd_schedule_warp_rows(&st->s).warps;
  if (warps == 1)
    return hd_arith_const(b, HD_OP_DIV, strip, st->slots.strips);
  hd_value *slab = hd_arith_const(b, HD_OP_DIV, strip, warps);
  hd_value *quarter = hd_arith_const(b, HD_OP_REM, strip, warps);
  hd_value *part = hd_arith_const(b, HD_OP_DIV, slab, st->slots.strips);
  return hd_arith(b, HD_OP_ADD, hd_arith_const(b, HD_OP_MUL, part, warps), quarter);
}

/* The slot of a warp's strips from `strip` on. The slots of a cell are consecutive. */
static hd_value *slot_of(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                         hd_value *strip) {
  hd_value *part = part_of(st, b, strip);
  if (!place->across)
    return part;
  hd_value *block = hd_arith_const(b, HD_OP_DIV, part, st->slots.rows);
  hd_value *within = hd_arith_const(b, HD_OP_REM, part, st->slots.rows);
  hd_value *cell = hd_stage_cell(st, b, place, block);
  return hd_arith(b, HD_OP_ADD, hd_arith_const(b, HD_OP_MUL, cell, st->slots.rows), within);
}

static void put_part(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *first,
                     hd_value *const *strips) {
  hd_value *slot = slot_of(st, b, place, first);
  hd_op *op = hd_build_op(b, HD_OP_REDUCE_TILE, (hd_type){0}, 2, st->sr, slot);
  for (int32_t i = 0; i < st->slots.strips; i++)
    hd_op_add_operand(st->module, op, strips[i]);
  hd_op_set_str(st->module, op, HD_ATTR_REDUCE, st->p.reduce);
  hd_op_set_str(st->module, op, HD_ATTR_ACT, st->p.act);
}

void hd_stage_finish(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                     const hd_stage_strips *strips, hd_value *col, int32_t each,
                     hd_value *const *acc, hd_value **results) {
  for (int32_t i = 0; i < strips->n; i++)
    results[i] = finish(st, b, place, strips->strip[i], col, each, acc + i * each);
}

void hd_stage_parts(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                    const hd_stage_strips *strips, hd_value *const *results) {
  for (int32_t i = 0; i < strips->n; i += st->slots.strips)
    put_part(st, b, place, strips->strip[i], results + i);
}

void hd_stage_statistics(hd_stage *st, hd_builder *b, const hd_tile_place *place) {
  hd_op *op = hd_build_op(b, HD_OP_SCALE_TILE, (hd_type){0}, 8, st->sr, st->arg[HD_ARG_SCALE_D],
                          st->arg[HD_ARG_LDSD], place->row0, place->col0, st->arg[HD_ARG_M],
                          place->end_n, place->g);
  hd_op_set_elem(st->module, op, HD_ATTR_TYPE, st->p.d.elem);
  hd_op_set_str(st->module, op, HD_ATTR_ACT, st->p.act);
  hd_op_set_str(st->module, op, HD_ATTR_REDUCE, st->p.reduce);
  if (st->p.scale_d)
    hd_op_set_flag(st->module, op, HD_ATTR_SCALE_D);
  hd_op_set_int(st->module, op, HD_ATTR_ROWS, st->slots.rows);
  int32_t meet = st->slots.rows * st->slots.across;
  if (meet < st->s.warps_m * st->s.warps_n)
    hd_op_set_int(st->module, op, HD_ATTR_AMONG, meet);
  hd_op_set_int(st->module, op, HD_ATTR_TILE_COLUMNS, st->own_n / st->slots.across);
  if (st->slots.across > 1)
    hd_op_set_int(st->module, op, HD_ATTR_ACROSS, st->slots.across);
}
