/* Computes a statistic for each column of each 128 rows of D. The results are computed once and
 * kept in registers. Each warp writes the part of its rows to a slot of shared memory. Then all
 * warps compute the statistics or scales of the tile, and for a scale the factor of the store.
 *
 *   slab of the tile   0 1 2 3     256 x 128, two warpgroups of two slabs each
 *   block of 128 rows  0 0 1 1
 *   slots              0 1 2 3: block 0, one per warp, for its strips of both slabs; 4 5 6 7: block
 *                      1; 8 and 9: their factors
 *
 * Only the warps of a block synchronise. Here these are a warpgroup, so that one warpgroup can
 * multiply while the other stores. */
#include "Passes/arith.h"
#include "Passes/stage.h"

static hd_value *finish(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *strip,
                        hd_value *acc) {
  hd_value *row =
      hd_arith(b, HD_OP_ADD, place->row0, hd_arith_const(b, HD_OP_MUL, strip, HD_STRIP_ROWS));
  hd_type type = hd_type_frag(HEDDLE_F32, acc->type.n);
  hd_op *op = hd_build_op(b, HD_OP_FINISH_TILE, type, 6, row, place->col0, st->arg[HD_ARG_M],
                          place->end_n, place->g, acc);
  hd_stage_set_epilogue(st, op);
  return op->results[0];
}

/* The slot of a warp's strips from `first` on. The slots of a block are consecutive. */
static void put_part(hd_stage *st, hd_builder *b, hd_value *first, hd_value *const *strips) {
  enum { WARPS = 4 /* per slab */ };
  hd_value *slab = hd_arith_const(b, HD_OP_DIV, first, WARPS);
  hd_value *quarter = hd_arith_const(b, HD_OP_REM, first, WARPS);
  hd_value *part = hd_arith_const(b, HD_OP_DIV, slab, st->slots.strips);
  hd_value *slot = hd_arith(b, HD_OP_ADD, hd_arith_const(b, HD_OP_MUL, part, WARPS), quarter);
  hd_op *op = hd_build_op(b, HD_OP_REDUCE_TILE, (hd_type){0}, 2, st->sr, slot);
  for (int32_t i = 0; i < st->slots.strips; i++)
    hd_op_add_operand(st->module, op, strips[i]);
  hd_op_set_str(st->module, op, HD_ATTR_REDUCE, st->p.reduce);
  hd_op_set_str(st->module, op, HD_ATTR_ACT, st->p.act);
}

void hd_stage_statistic(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                        const hd_stage_strips *strips, hd_value **acc) {
  for (int32_t i = 0; i < strips->n; i++)
    acc[i] = finish(st, b, place, strips->strip[i], acc[i]);
  for (int32_t i = 0; i < strips->n; i += st->slots.strips)
    put_part(st, b, strips->strip[i], acc + i);
  hd_op *op = hd_build_op(b, HD_OP_SCALE_TILE, (hd_type){0}, 8, st->sr, st->arg[HD_ARG_SCALE_D],
                          st->arg[HD_ARG_LDSD], place->row0, place->col0, st->arg[HD_ARG_M],
                          place->end_n, place->g);
  hd_op_set_elem(st->module, op, HD_ATTR_TYPE, st->p.d.elem);
  hd_op_set_str(st->module, op, HD_ATTR_ACT, st->p.act);
  hd_op_set_str(st->module, op, HD_ATTR_REDUCE, st->p.reduce);
  if (st->p.scale_d)
    hd_op_set_flag(st->module, op, HD_ATTR_SCALE_D);
  hd_op_set_int(st->module, op, HD_ATTR_ROWS, st->slots.rows);
  if (st->slots.rows < st->s.warps_m)
    hd_op_set_int(st->module, op, HD_ATTR_AMONG, st->slots.rows);
  hd_op_set_int(st->module, op, HD_ATTR_TILE_COLUMNS, st->s.tile_n);
}
