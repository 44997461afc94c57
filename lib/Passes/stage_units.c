/* Which tiles a CTA computes, and over which part of k.
 *
 * Whole tiles and their splits are units of work; CTAs (or clusters) take every n_workers-th unit.
 * With stream_k the k-blocks of some tiles form one line, which is divided evenly among workers:
 *
 *   tile      0         1         2
 *   line   |---------|---------|---------|      a part is the overlap of a piece and a tile:
 *   worker |  0   |  1   |  2   |  3   |4|      tile 1 has parts of workers 1, 2 and 3, in this
 *                                               order
 *
 * The line has the first tiles, so many that the rest is whole waves of workers. If possible these
 * are one to two tiles per worker, so that no tile has more than two parts (Osama et al., Stream-K,
 * 2023: "two-tile"). A worker computes its piece first, then whole tiles, so that all workers end
 * with a whole tile. */
#include "Passes/arith.h"
#include "Passes/stage.h"

/* --- equal splits of every tile --------------------------------------------------------------- */

/* The splits of a tile are consecutive units, so that its partials are still in L2. Returns the
 * unit of D. */
static hd_value *find_split(hd_stage *st, hd_builder *b, hd_value *unit, hd_tile_place *place) {
  bool in_cluster = st->along_k > 1;
  place->part = in_cluster ? place->rank : hd_arith(b, HD_OP_REM, unit, st->n_splits);
  place->n_parts = st->n_splits;
  hd_value *from = hd_arith(b, HD_OP_MUL, place->part, st->n_k_blocks);
  hd_value *to = hd_arith(b, HD_OP_ADD, from, st->n_k_blocks);
  place->k_lo = hd_arith(b, HD_OP_DIV, from, st->n_splits);
  place->k_hi = hd_arith(b, HD_OP_DIV, to, st->n_splits);
  if (in_cluster)
    return unit;
  unit = hd_arith(b, HD_OP_DIV, unit, st->n_splits);
  hd_value *tile = unit;
  if (place->rank)
    tile = hd_arith(b, HD_OP_ADD, hd_arith_const(b, HD_OP_MUL, unit, st->cluster), place->rank);
  place->slot = hd_arith_const(b, HD_OP_MUL, tile, st->s.split_k);
  return unit;
}

/* --- stream-K --------------------------------------------------------------------------------- */

/* The number of tiles in the line: 0 if all tiles form whole waves. */
static void find_waves(hd_stage *st, hd_builder *b, hd_work *w) {
  hd_value *waves = hd_arith(b, HD_OP_DIV, st->n_units, w->n_workers);
  hd_value *rest = hd_arith(b, HD_OP_REM, st->n_units, w->n_workers);
  hd_value *fewer = hd_arith_const(b, HD_OP_SUB, waves, 1);
  fewer = hd_arith(b, HD_OP_MAX, fewer, st->zero);
  hd_value *even = hd_build_cmp(b, "eq", rest, st->zero);
  w->hi = hd_build_value(b, HD_OP_SELECT, HD_I32, 3, even, waves, fewer);
  hd_value *whole = hd_arith(b, HD_OP_MUL, w->hi, w->n_workers);
  w->n_streamed = hd_arith(b, HD_OP_SUB, st->n_units, whole);
}

/* The loop index is negative for parts and starts at 0 for whole tiles. An empty piece begins and
 * ends at the end of the line, which is the end of a tile, and so has no part. */
static void find_piece(hd_stage *st, hd_builder *b, hd_work *w) {
  hd_value *line = hd_arith(b, HD_OP_MUL, w->n_streamed, st->n_k_blocks);
  hd_value *up = hd_arith(b, HD_OP_ADD, line, w->n_workers);
  up = hd_arith_const(b, HD_OP_SUB, up, 1);
  w->piece = hd_arith(b, HD_OP_DIV, up, w->n_workers);
  w->piece = hd_arith(b, HD_OP_MAX, w->piece, st->one);
  w->from = hd_arith(b, HD_OP_MUL, w->worker, w->piece);
  w->from = hd_arith(b, HD_OP_MIN, w->from, line);
  w->to = hd_arith(b, HD_OP_ADD, w->from, w->piece);
  w->to = hd_arith(b, HD_OP_MIN, w->to, line);
  hd_value *first = hd_arith(b, HD_OP_DIV, w->from, st->n_k_blocks);
  up = hd_arith(b, HD_OP_ADD, w->to, st->n_k_blocks);
  up = hd_arith_const(b, HD_OP_SUB, up, 1);
  w->end_tile = hd_arith(b, HD_OP_DIV, up, st->n_k_blocks);
  w->lo = hd_arith(b, HD_OP_SUB, first, w->end_tile);
  w->step = st->one;
}

/* Parts of a tile are numbered by worker. The slot of a part is worker + tile, which grows along
 * the line. */
static hd_value *find_part(hd_stage *st, hd_builder *b, const hd_work *w, hd_value *turn,
                           hd_tile_place *place) {
  hd_value *is_whole = hd_build_cmp(b, "ge", turn, st->zero);
  hd_value *at = hd_arith(b, HD_OP_ADD, w->end_tile, turn);
  hd_value *tile = hd_build_value(b, HD_OP_SELECT, HD_I32, 3, is_whole, st->zero, at);
  hd_value *begin = hd_arith(b, HD_OP_MUL, tile, st->n_k_blocks);
  hd_value *lo = hd_arith(b, HD_OP_SUB, w->from, begin);
  lo = hd_arith(b, HD_OP_MAX, lo, st->zero);
  hd_value *hi = hd_arith(b, HD_OP_SUB, w->to, begin);
  hi = hd_arith(b, HD_OP_MIN, hi, st->n_k_blocks);
  place->k_lo = hd_build_value(b, HD_OP_SELECT, HD_I32, 3, is_whole, st->zero, lo);
  place->k_hi = hd_build_value(b, HD_OP_SELECT, HD_I32, 3, is_whole, st->n_k_blocks, hi);
  hd_value *first = hd_arith(b, HD_OP_DIV, begin, w->piece);
  hd_value *end = hd_arith(b, HD_OP_ADD, begin, st->n_k_blocks);
  end = hd_arith_const(b, HD_OP_SUB, end, 1);
  hd_value *last = hd_arith(b, HD_OP_DIV, end, w->piece);
  hd_value *part = hd_arith(b, HD_OP_SUB, w->worker, first);
  hd_value *n = hd_arith(b, HD_OP_SUB, last, first);
  n = hd_arith_const(b, HD_OP_ADD, n, 1);
  place->part = hd_build_value(b, HD_OP_SELECT, HD_I32, 3, is_whole, st->zero, part);
  place->n_parts = hd_build_value(b, HD_OP_SELECT, HD_I32, 3, is_whole, st->one, n);
  place->slot = hd_arith(b, HD_OP_ADD, first, tile);
  if (place->rank)
    place->slot = hd_arith(b, HD_OP_ADD, hd_arith_const(b, HD_OP_MUL, place->slot, st->cluster),
                           place->rank);
  hd_value *whole = hd_arith(b, HD_OP_MUL, turn, w->n_workers);
  whole = hd_arith(b, HD_OP_ADD, whole, w->worker);
  whole = hd_arith(b, HD_OP_ADD, whole, w->n_streamed);
  return hd_build_value(b, HD_OP_SELECT, HD_I32, 3, is_whole, whole, tile);
}

/* --- both ------------------------------------------------------------------------------------- */

void hd_stage_find_work(hd_stage *st, hd_builder *b, hd_work *w) {
  int32_t ctas = st->cluster * st->along_k;
  *w = (hd_work){0};
  w->worker = hd_build_value(b, HD_OP_BLOCK_INDEX, HD_I32, 0);
  w->n_workers = hd_build_value(b, HD_OP_GRID_SIZE, HD_I32, 0);
  if (ctas > 1) {
    hd_value *n = hd_i32(b, ctas);
    w->worker = hd_arith(b, HD_OP_DIV, w->worker, n);
    w->n_workers = hd_arith(b, HD_OP_DIV, w->n_workers, n);
    w->rank = hd_build_value(b, HD_OP_CTA_RANK, HD_I32, 0);
  }
  if (st->groups)
    st->n_units = hd_build_value(b, HD_OP_GROUP_COUNT, HD_I32, 2, st->groups, st->arg[HD_ARG_G]);
  w->lo = w->worker;
  if (st->along_k > 1 && !st->p.k.value) {
    /* If k has fewer k-blocks than the cluster has CTAs, the CTAs without a split start after the
     * last unit. */
    hd_value *has_one = hd_build_cmp(b, "lt", w->rank, st->n_splits);
    w->lo = hd_build_value(b, HD_OP_SELECT, HD_I32, 3, has_one, w->worker, st->n_units);
  }
  w->hi = st->n_units;
  w->step = w->n_workers;
  if (!st->s.stream_k)
    return;
  find_waves(st, b, w);
  find_piece(st, b, w);
}

/* The offsets of the operands of product g of a batch. A launch with stride 0 shares B: the tensor
 * map has one matrix, and the index must be 0. */
static void find_matrix(hd_stage *st, hd_builder *b, hd_value *g, hd_tile_place *place) {
  hd_value *a = st->arg[HD_ARG_STRIDE_A], *stride = st->arg[HD_ARG_STRIDE_B];
  place->g = g;
  if (a)
    place->a_base = hd_arith(b, HD_OP_MUL, hd_widen(b, g), a);
  if (stride && hd_b_path_has_map(st->variant->path)) {
    hd_value *is_apart = hd_build_cmp(b, "ne", stride, hd_i64(b, 0));
    place->b_g = hd_build_value(b, HD_OP_SELECT, HD_I32, 3, is_apart, g, st->zero);
  } else if (stride) {
    place->b_base = hd_arith(b, HD_OP_MUL, hd_widen(b, g), hd_stage_bytes(b, stride, st->p.b.elem));
  }
}

/* The tile row and tile column of a unit, and the index of its product in a batch. */
static hd_op *find_coord(hd_stage *st, hd_builder *b, hd_value *index, hd_value *tiles_n,
                         hd_value *matrices) {
  hd_value *operands[] = {index, st->units_m, tiles_n, matrices};
  hd_type types[] = {HD_I32, HD_I32, HD_I32};
  int32_t more = matrices != NULL;
  hd_op *coord = hd_build(b, HD_OP_TILE_COORD, operands, 3 + more, types, 2 + more);
  hd_op_set_str(st->module, coord, HD_ATTR_ORDER, "grouped");
  hd_op_set_int(st->module, coord, HD_ATTR_GROUP, st->s.raster_group);
  return coord;
}

/* The group of a unit. The tiles of a group start at its first column. */
static hd_op *find_group(hd_stage *st, hd_builder *b, hd_value *unit, hd_value **first,
                         hd_tile_place *place) {
  hd_value *operands[] = {st->groups, st->arg[HD_ARG_G], unit};
  hd_type types[] = {HD_I32, HD_I32, HD_I32, HD_I32};
  int32_t unit_n = st->s.tile_n * hd_stage_along_n(st);
  hd_op *find = hd_build(b, HD_OP_GROUP_FIND, operands, 3, types, 4);
  place->g = find->results[0];
  *first = find->results[2];
  place->end_n = find->results[3];
  hd_value *columns = hd_arith(b, HD_OP_SUB, place->end_n, *first);
  hd_value *up = hd_arith_const(b, HD_OP_ADD, columns, unit_n - 1);
  hd_value *tiles_n = hd_arith_const(b, HD_OP_DIV, up, unit_n);
  return find_coord(st, b, find->results[1], tiles_n, NULL);
}

void hd_stage_find_place(hd_stage *st, hd_builder *b, const hd_work *w, hd_value *unit,
                         hd_tile_place *place) {
  *place = (hd_tile_place){.rank = w->rank, .k_lo = st->zero, .k_hi = st->n_k_blocks};
  hd_value *tile = st->s.stream_k ? find_part(st, b, w, unit, place)
                   : st->n_splits ? find_split(st, b, unit, place)
                                  : unit;
  hd_value *first = NULL;
  hd_op *coord = st->groups ? find_group(st, b, tile, &first, place)
                            : find_coord(st, b, tile, st->tiles_n, st->arg[HD_ARG_G]);
  hd_value *tm = coord->results[0], *tn = coord->results[1], **along = st->shares_a ? &tn : &tm;
  if (st->cluster > 1)
    *along = hd_arith(b, HD_OP_ADD, hd_arith_const(b, HD_OP_MUL, *along, st->cluster), place->rank);
  place->row0 = hd_arith_const(b, HD_OP_MUL, tm, st->s.tile_m);
  place->slab0 = hd_arith_const(b, HD_OP_MUL, tm, st->s.tile_m / HD_SLAB_ROWS);
  place->col0 = hd_arith_const(b, HD_OP_MUL, tn, st->s.tile_n);
  if (first) {
    place->col0 = hd_arith(b, HD_OP_ADD, first, place->col0);
    if (hd_schedule_half_columns(&st->p, &st->s))
      place->columns = hd_arith(b, HD_OP_SUB, place->end_n, place->col0);
  } else {
    place->end_n = st->arg[HD_ARG_N];
  }
  place->b_col0 = place->col0;
  if (st->pair)
    place->b_col0 = hd_arith(b, HD_OP_ADD, place->col0,
                             hd_arith_const(b, HD_OP_MUL, place->rank, st->b_n));
  if (hd_is_batch(&st->p))
    find_matrix(st, b, first ? place->g : coord->results[2], place);
  if (st->prefetch)
    place->is_first = hd_build_cmp(b, "eq", unit, w->lo);
  if (st->s.k_order != HD_K_ZIGZAG)
    return;
  /* Every second tile runs backwards. unit / step counts from 0: the first unit is below the
   * step. */
  hd_value *turn = st->s.stream_k ? hd_arith(b, HD_OP_SUB, unit, w->lo)
                                  : hd_arith(b, HD_OP_DIV, unit, w->step);
  place->is_back = hd_build_cmp(b, "ne", hd_arith(b, HD_OP_REM, turn, hd_i32(b, 2)), st->zero);
}

hd_op *hd_stage_tiles(hd_stage *st, hd_builder *b, hd_value *const *carried, int32_t n_carried,
                      hd_builder *in, hd_tile_place *place) {
  hd_work work;
  hd_stage_find_work(st, b, &work);
  hd_op *loop = hd_build_for(b, work.lo, work.hi, work.step, carried, n_carried);
  *in = hd_builder_at_end(st->module, loop->regions[0]);
  hd_stage_find_place(st, in, &work, loop->regions[0]->args[0], place);
  return loop;
}

hd_value *hd_stage_bytes(hd_builder *b, hd_value *elems, heddle_elem elem) {
  int32_t bytes = heddle_elem_get(elem)->container_bits / 8;
  return bytes ? hd_arith_const(b, HD_OP_MUL, elems, bytes)
               : hd_arith_const(b, HD_OP_DIV, elems, hd_elems_per_byte(elem));
}
