#include "Passes/accesses.h"
#include "Passes/arith.h"
#include "Schedule/resources.h"
#include "Passes/stage.h"

/* Running backwards, a tile begins with the k-blocks that its neighbours have just read. */
hd_value *hd_stage_k_block(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *k) {
  if (!place->is_back)
    return k;
  hd_value *last = hd_arith(b, HD_OP_SUB, place->k_hi, st->one);
  hd_value *from_end = hd_arith(b, HD_OP_SUB, k, place->k_lo);
  hd_value *back = hd_arith(b, HD_OP_SUB, last, from_end);
  return hd_build_value(b, HD_OP_SELECT, HD_I32, 3, place->is_back, back, k);
}

/* Builds an `if` without results, and builders at the ends of its two regions. */
static void build_if(hd_stage *st, hd_builder *b, hd_value *condition, hd_builder *yes,
                     hd_builder *no) {
  hd_op *op = hd_build_if(b, condition, NULL, 0);
  *yes = hd_builder_at_end(st->module, op->regions[0]);
  *no = hd_builder_at_end(st->module, op->regions[1]);
}

/* Where a copy stands in its loop: the k-block to copy, and the slot that receives it. */
typedef struct copy_at {
  const hd_tile_place *place;
  hd_value *kg, *cursor;
} copy_at;

/* Builds the part of a copy that CTA `rank` of `sharers` issues. */
typedef void (*part_builder)(hd_stage *st, hd_builder *b, const copy_at *at, int32_t sharers,
                             int32_t rank);

/* Builds the parts from `rank`: the last CTA's needs no condition. */
static void build_parts(hd_stage *st, hd_builder *b, const copy_at *at, int32_t sharers,
                        int32_t rank, part_builder build) {
  hd_builder mine, others;
  if (rank == sharers - 1) {
    build(st, b, at, sharers, rank);
    return;
  }
  build_if(st, b, hd_build_cmp(b, "eq", at->place->rank, hd_i32(b, rank)), &mine, &others);
  build(st, &mine, at, sharers, rank);
  hd_build_yield(&mine, NULL, 0);
  build_parts(st, &others, at, sharers, rank + 1, build);
  hd_build_yield(&others, NULL, 0);
}

static void set_multicast(hd_stage *st, hd_op *op, int32_t sharers) {
  if (sharers > 1)
    hd_op_set_int(st->module, op, HD_ATTR_MULTICAST, (1 << sharers) - 1);
}

/* Byte offset of the block of the tile's i-th slab. Slabs after the last one repeat the last. The
 * slab's own offset is the same in all iterations: the loop only adds that of the k-block. */
static hd_value *block_offset(hd_stage *st, hd_builder *b, const hd_tile_place *place, int32_t i,
                              hd_value *kg) {
  hd_value *slab = hd_arith_const(b, HD_OP_ADD, place->slab0, i);
  slab = hd_arith(b, HD_OP_MIN, slab, st->last_slab);
  int32_t block = hd_block_bytes(st->p.a_elem);
  hd_value *line = hd_arith_const(b, HD_OP_MUL, hd_widen(b, st->n_k_blocks), block);
  hd_value *offset = hd_arith(b, HD_OP_MUL, hd_widen(b, slab), line);
  offset = hd_arith(b, HD_OP_ADD, offset, hd_arith_const(b, HD_OP_MUL, hd_widen(b, kg), block));
  return place->a_base ? hd_arith(b, HD_OP_ADD, offset, place->a_base) : offset;
}

/* Copies block scales in tiles (docs/format.md): those of a k-block for each 128 rows of the tile.
 * Rows after the last 128 repeat them. */
static void copy_scale_tiles(hd_stage *st, hd_builder *b, const hd_tile_place *place, int which,
                             hd_value *kg, hd_value *cursor) {
  const bool of_b = which == 1;
  int32_t each = hd_scales_a_row(&st->p);
  int32_t n = hd_scale_bands(of_b ? st->s.tile_n : st->s.tile_m);
  int64_t bytes = (int64_t)hd_scale_tiles(&st->p) * HD_SCALE_TILE_BYTES;
  if (!st->factors[which])
    return;
  hd_value *first = hd_arith_const(b, HD_OP_DIV, of_b ? place->col0 : place->row0,
                                   HD_SCALE_TILE_ROWS);
  hd_value *at = hd_arith_const(b, HD_OP_MUL, kg, each);
  at = hd_widen(b, hd_arith_const(b, HD_OP_DIV, at, HD_SCALES_A_WORD));
  hd_value *tiles = hd_widen(b, st->n_scale_tiles);
  for (int32_t i = 0; i < n; i++) {
    hd_value *band = hd_arith_const(b, HD_OP_ADD, first, i);
    band = hd_arith(b, HD_OP_MIN, band, st->last_band[which]);
    hd_value *tile = hd_arith(b, HD_OP_MUL, hd_widen(b, band), tiles);
    tile = hd_arith(b, HD_OP_ADD, tile, at);
    hd_value *from = hd_arith_const(b, HD_OP_MUL, tile, HD_SCALE_TILE_BYTES);
    hd_op *op = hd_build_op(b, HD_OP_COPY_BULK, (hd_type){0}, 4,
                            st->arg[of_b ? HD_ARG_BLOCK_SCALE_B : HD_ARG_BLOCK_SCALE_A], from,
                            st->scales[which], cursor);
    hd_op_set_int(st->module, op, HD_ATTR_OFFSET, i * bytes);
    hd_op_set_int(st->module, op, HD_ATTR_BYTES, bytes);
  }
}

/* Copies A to a slot with layout by_step, where each k-step of all slabs is one matrix. */
static void copy_a_by_step(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *kg,
                           hd_value *cursor) {
  int32_t block = hd_block_bytes(st->p.a_elem), slabs = st->s.tile_m / HD_SLAB_ROWS;
  int32_t step = HD_BLOCK_VALUE_BYTES / 2;
  const int32_t piece[] = {0, step, 2 * step, block};
  for (int32_t i = 0; i < slabs; i++) {
    hd_value *offset = block_offset(st, b, place, i, kg);
    for (int32_t j = 0; j < 3; j++) {
      int32_t bytes = piece[j + 1] - piece[j];
      hd_op *op = hd_build_op(b, HD_OP_COPY_BULK, (hd_type){0}, 4, st->arg[HD_ARG_A],
                              hd_arith_const(b, HD_OP_ADD, offset, piece[j]), st->sa, cursor);
      hd_op_set_int(st->module, op, HD_ATTR_OFFSET, (int64_t)slabs * piece[j] + i * bytes);
      hd_op_set_int(st->module, op, HD_ATTR_BYTES, bytes);
    }
  }
}

static void copy_a_part(hd_stage *st, hd_builder *b, const copy_at *at, int32_t sharers,
                        int32_t rank) {
  int32_t block = hd_block_bytes(st->p.a_elem), part = block / sharers;
  for (int32_t i = 0; i < st->s.tile_m / HD_SLAB_ROWS; i++) {
    hd_value *offset = block_offset(st, b, at->place, i, at->kg);
    offset = hd_arith_const(b, HD_OP_ADD, offset, rank * part);
    hd_op *op = hd_build_op(b, HD_OP_COPY_BULK, (hd_type){0}, 4, st->arg[HD_ARG_A], offset, st->sa,
                            at->cursor);
    hd_op_set_int(st->module, op, HD_ATTR_OFFSET, (int64_t)i * block + rank * part);
    hd_op_set_int(st->module, op, HD_ATTR_BYTES, part);
    set_multicast(st, op, sharers);
  }
}

/* Values and metadata of (slab, k-block) are contiguous: one bulk copy, or one part per sharer.
 * Also copies block scales in tiles. */
static void copy_a_bulk(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *kg,
                        hd_value *cursor) {
  copy_scale_tiles(st, b, place, 0, kg, cursor);
  if (hd_op_has(st->sa->op, HD_ATTR_BY_STEP))
    copy_a_by_step(st, b, place, kg, cursor);
  else
    build_parts(st, b, &(copy_at){place, kg, cursor}, hd_stage_along_n(st), 0, copy_a_part);
}

void hd_stage_prefetch(hd_stage *st, hd_builder *b, hd_value *cursor) {
  if (!st->prefetch)
    return;
  hd_tile_place place;
  hd_builder some, none;
  hd_work work;
  hd_stage_find_work(st, b, &work);
  build_if(st, b, hd_build_cmp(b, "lt", work.lo, work.hi), &some, &none);
  hd_build_yield(&none, NULL, 0);
  hd_stage_find_place(st, &some, &work, work.lo, &place);
  hd_value *share = hd_arith(&some, HD_OP_SUB, place.k_hi, place.k_lo);
  hd_value *n = hd_arith(&some, HD_OP_MIN, share, hd_i32(&some, st->s.stages));
  hd_op *loop = hd_build_for(&some, st->zero, n, st->one, &cursor, 1);
  hd_builder in = hd_builder_at_end(st->module, loop->regions[0]);
  hd_value **args = loop->regions[0]->args;
  copy_a_bulk(st, &in, &place, hd_arith(&in, HD_OP_ADD, args[0], place.k_lo), args[1]);
  hd_value *next = hd_next_slot(&in, args[1], st->s.stages);
  hd_build_yield(&in, &next, 1);
  hd_build_yield(&some, NULL, 0);
}

/* Copies A's k-block unless hd_stage_prefetch has copied it. */
static void copy_a_rest(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *k,
                        hd_value *kg, hd_value *cursor) {
  hd_builder done, rest;
  hd_value *turn = hd_arith(b, HD_OP_SUB, k, place->k_lo);
  hd_value *in_ring = hd_build_cmp(b, "lt", turn, hd_i32(b, st->s.stages));
  build_if(st, b, hd_build_value(b, HD_OP_AND, HD_I1, 2, place->is_first, in_ring), &done, &rest);
  hd_build_yield(&done, NULL, 0);
  copy_a_bulk(st, &rest, place, kg, cursor);
  hd_build_yield(&rest, NULL, 0);
}

/* The column of B at which the box at column `first` of a slot begins. A box past N loads the first
 * columns of B again instead of zeros. Their results are never stored. */
static hd_value *box_column(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                            int32_t first) {
  hd_value *n0 = hd_arith_const(b, HD_OP_ADD, place->b_col0, first);
  bool is_sure = first == 0 && !st->shares_a && !st->pair;
  if (is_sure || hd_schedule_is_whole_n(&st->p, &st->s))
    return n0;
  hd_value *is_there = hd_build_cmp(b, "lt", n0, st->arg[HD_ARG_N]);
  return hd_build_value(b, HD_OP_SELECT, HD_I32, 3, is_there, n0, st->zero);
}

/* Copies one box from column n0 of B to column `first` of the slot. */
static void copy_b_box(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *map,
                       int32_t box, int32_t first, hd_value *n0, hd_value *k0, hd_value *cursor) {
  bool t = st->p.b.transposed;
  int32_t bytes = (t ? st->s.tile_k : box) * HD_K_BLOCK_BYTES;
  /* With permuted rows, the map's last dimension counts groups of 4 * run rows. */
  n0 = hd_arith_const(b, HD_OP_DIV, n0, st->variant->permutes ? 4 * hd_d_run(&st->p) : 1);
  hd_op *op = hd_build_op(b, HD_OP_COPY_TMA, (hd_type){0}, 5, map, st->sb, cursor, t ? n0 : k0,
                          t ? k0 : n0);
  if (place->b_g)
    hd_op_add_operand(st->module, op, place->b_g);
  hd_op_set_int(st->module, op, HD_ATTR_OFFSET, (int64_t)first / box * bytes);
  hd_op_set_int(st->module, op, HD_ATTR_BYTES, bytes);
  set_multicast(st, op, hd_stage_b_sharers(st));
}

/* Copies columns [first, first + share) of a slot: by one box if they end before N, else by small
 * boxes (hd_schedule_b_box). */
static void copy_b_share(hd_stage *st, hd_builder *b, const hd_tile_place *place, int32_t first,
                         int32_t share, hd_value *k0, hd_value *cursor) {
  hd_builder at = *b;
  if (st->map_b_whole) {
    hd_builder whole;
    hd_value *end = hd_arith_const(b, HD_OP_ADD, place->b_col0, first + share);
    build_if(st, b, hd_build_cmp(b, "le", end, st->arg[HD_ARG_N]), &whole, &at);
    hd_value *n0 = hd_arith_const(&whole, HD_OP_ADD, place->b_col0, first);
    copy_b_box(st, &whole, place, st->map_b_whole, share, first, n0, k0, cursor);
    hd_build_yield(&whole, NULL, 0);
  }
  int32_t box = st->plan->b_box;
  for (int32_t i = first; i < first + share; i += box)
    copy_b_box(st, &at, place, st->map_b, box, i, box_column(st, &at, place, i), k0, cursor);
  if (st->map_b_whole)
    hd_build_yield(&at, NULL, 0);
}

static void copy_b_part(hd_stage *st, hd_builder *b, const copy_at *at, int32_t sharers,
                        int32_t rank) {
  int32_t k_block = HD_K_BLOCK_BYTES / hd_map_bytes(st->p.b.elem); /* in elements of the map */
  int32_t share = st->b_n / sharers;
  hd_value *k0 = hd_arith_const(b, HD_OP_MUL, at->kg, k_block);
  copy_b_share(st, b, at->place, rank * share, share, k0, at->cursor);
}

/* Copies B in boxes. Each CTA that shares B copies its part of the rows (or panels) to all of them;
 * a CTA of a pair copies only its own half. */
static void copy_b_tma(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *kg,
                       hd_value *cursor) {
  build_parts(st, b, &(copy_at){place, kg, cursor}, hd_stage_b_sharers(st), 0, copy_b_part);
}

/* base: operand 8, or NULL. */
static hd_op *copy_rows(hd_stage *st, hd_builder *b, bool async, hd_value *const operands[8],
                        hd_value *base, int64_t rows, int64_t row_bytes, int64_t vec) {
  hd_op *op = hd_build(b, async ? HD_OP_COPY_CP_ASYNC : HD_OP_COPY_LD_ST, operands, 8, NULL, 0);
  if (base)
    hd_op_add_operand(st->module, op, base);
  hd_op_set_int(st->module, op, HD_ATTR_OFFSET, 0);
  hd_op_set_int(st->module, op, HD_ATTR_ROWS, rows);
  hd_op_set_int(st->module, op, HD_ATTR_ROW_BYTES, row_bytes);
  hd_op_set_int(st->module, op, HD_ATTR_VEC, vec);
  return op;
}

/* Copies B with all threads of the role: rows of n (of k if transposed), zeros outside B. */
static void copy_b_rows(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *kg,
                        hd_value *cursor, bool async) {
  bool t = st->p.b.transposed;
  hd_value *k0 = hd_arith_const(b, HD_OP_MUL, kg, hd_k_block_size(st->p.b.elem));
  /* One op per statement: the order of ops must not depend on C's order of evaluation. */
  hd_value *pitch = hd_stage_bytes(b, st->arg[HD_ARG_LDB], st->p.b.elem);
  hd_value *first = hd_stage_bytes(b, hd_widen(b, t ? place->b_col0 : k0), st->p.b.elem);
  hd_value *exist = hd_stage_bytes(b, hd_widen(b, st->arg[t ? HD_ARG_N : HD_ARG_K]), st->p.b.elem);
  hd_value *operands[] = {st->arg[HD_ARG_B],      pitch, st->sb, cursor,
                          t ? k0 : place->b_col0, first, exist,  st->arg[t ? HD_ARG_K : HD_ARG_N]};
  hd_op *op = copy_rows(st, b, async, operands, place->b_base, t ? st->s.tile_k : st->b_n,
                        t ? (int64_t)st->b_n * 2 /* 16-bit types only */ : HD_K_BLOCK_BYTES,
                        hd_b_variant_align(st->variant, st->p.b.elem));
  if (st->p.gather)
    hd_op_set_flag(st->module, op, HD_ATTR_GATHER_B);
}

/* Copies A by cp.async, one packed block per slab. Slabs after the last one repeat the last, as in
 * copy_a_bulk. They are not zeros, since 0x0 is not metadata that the ISA defines. */
static void copy_a_cp_async(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *kg,
                            hd_value *cursor) {
  int64_t block = hd_block_bytes(st->p.a_elem);
  hd_value *bytes = hd_i64(b, block);
  hd_value *pitch = hd_arith(b, HD_OP_MUL, hd_widen(b, st->n_k_blocks), bytes);
  hd_value *slabs = hd_arith(b, HD_OP_ADD, st->last_slab, st->one);
  for (int32_t i = 0; i < st->s.tile_m / HD_SLAB_ROWS; i++) {
    hd_value *slab = hd_arith_const(b, HD_OP_ADD, place->slab0, i);
    slab = hd_arith(b, HD_OP_MIN, slab, st->last_slab);
    hd_value *first = hd_arith(b, HD_OP_MUL, hd_widen(b, kg), bytes);
    hd_value *operands[] = {st->arg[HD_ARG_A], pitch, st->sa, cursor, slab, first, pitch, slabs};
    hd_op *op = copy_rows(st, b, true, operands, place->a_base, 1, block, 16);
    hd_op_set_int(st->module, op, HD_ATTR_OFFSET, i * block);
  }
}

/* The scales of a k-block are a row of a matrix. Copies the tile's part; zeros after the end. */
static void copy_scale_rows(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *kg,
                            hd_value *cursor) {
  static const hd_arg_kind ptr[] = {HD_ARG_BLOCK_SCALE_A, HD_ARG_BLOCK_SCALE_B},
                           pitch[] = {HD_ARG_LDSA, HD_ARG_LDSB}, size[] = {HD_ARG_M, HD_ARG_N};
  hd_value *const first[] = {place->row0, place->col0};
  const int32_t rows[] = {st->s.tile_m, st->s.tile_n}, each = hd_scales_a_row(&st->p);
  for (int i = 0; i < 2; i++) {
    hd_value *from = hd_arith_const(b, HD_OP_MUL, hd_widen(b, first[i]), each);
    hd_value *exist = hd_arith_const(b, HD_OP_MUL, hd_widen(b, st->arg[size[i]]), each);
    hd_value *operands[] = {st->arg[ptr[i]], st->arg[pitch[i]], st->scales[i], cursor, kg, from,
                            exist,           st->n_k_blocks};
    copy_rows(st, b, true, operands, NULL, 1, (int64_t)rows[i] * each, HD_SCALE_ALIGN);
  }
}

/* A box of a tensor map has at most 256 elements per dimension. */
int32_t hd_stage_scale_box(const hd_stage *st, int which) {
  enum { MAX_BOX = 256 };
  int32_t n = hd_schedule_promoted_scales(&st->p, &st->s, which);
  return n > MAX_BOX ? n / 2 : n;
}

/* The scale at which a box begins that has scale `first` of a line: a multiple of 16 bytes. */
static hd_value *start_of_box(hd_builder *b, hd_value *first, int32_t each) {
  first = hd_arith_const(b, HD_OP_DIV, first, HD_SCALE_UNIT * each);
  return hd_arith_const(b, HD_OP_MUL, first, HD_SCALE_UNIT);
}

hd_value *hd_stage_scale_column(hd_stage *st, hd_builder *b, const hd_tile_place *place) {
  if (!hd_is_grouped(&st->p) || hd_scales_by_index(&st->p))
    return st->zero;
  return hd_arith(b, HD_OP_REM, box_column(st, b, place, 0), hd_i32(b, HD_SCALE_UNIT));
}

/* The f32 scales of a k-block are a line of a matrix. Copies the tile's part; zeros after the end.
 * Each CTA copies its own scales, even if it shares an operand. */
static void copy_scale_boxes(hd_stage *st, hd_builder *b, const hd_tile_place *place, int which,
                             hd_value *kg, hd_value *cursor) {
  enum { BYTES = 4 };
  int32_t box = hd_stage_scale_box(st, which), rows = which ? 1 : st->p.block_rows;
  int32_t n = hd_schedule_promoted_scales(&st->p, &st->s, which);
  hd_value *first = which ? box_column(st, b, place, 0) : place->row0;
  if (n != (which ? st->s.tile_n : st->s.tile_m)) /* the box may begin before the tile */
    first = start_of_box(b, first, rows);
  for (int32_t i = 0; i < n; i += box) {
    hd_op *op = hd_build_op(b, HD_OP_COPY_TMA, (hd_type){0}, 5, st->map_scales[which],
                            st->scales[which], cursor, hd_arith_const(b, HD_OP_ADD, first, i), kg);
    if (hd_scales_apart(&st->p, which))
      hd_op_add_operand(st->module, op, place->g);
    hd_op_set_int(st->module, op, HD_ATTR_OFFSET, i * BYTES);
    hd_op_set_int(st->module, op, HD_ATTR_BYTES, box * BYTES);
  }
}

/* f32 scales of B by index: each column's own, as a row of one element. */
static void copy_scales_by_index(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                                 hd_value *kg, hd_value *cursor) {
  enum { BYTES = 4 };
  hd_value *bytes = hd_i64(b, BYTES), *none = hd_i64(b, 0);
  hd_value *line = hd_arith(b, HD_OP_MUL, st->arg[HD_ARG_LDSB], bytes);
  line = hd_arith(b, HD_OP_MUL, hd_widen(b, kg), line);
  hd_value *operands[] = {st->arg[HD_ARG_BLOCK_SCALE_B], bytes, st->scales[1], cursor,
                          place->b_col0, none, bytes, st->arg[HD_ARG_N]};
  hd_op *op = copy_rows(st, b, true, operands, line, st->s.tile_n, BYTES, BYTES);
  hd_op_set_flag(st->module, op, HD_ATTR_GATHER_B);
}

void hd_stage_copy(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *k,
                   hd_value *cursor) {
  hd_b_path path = st->variant->path;
  hd_value *kg = hd_stage_k_block(st, b, place, k);
  if (st->prefetch)
    copy_a_rest(st, b, place, k, kg, cursor);
  else if (!hd_schedule_is_mma(&st->s))
    copy_a_bulk(st, b, place, kg, cursor);
  else
    copy_a_cp_async(st, b, place, kg, cursor);
  if (hd_b_path_has_map(path))
    copy_b_tma(st, b, place, kg, cursor);
  else
    copy_b_rows(st, b, place, kg, cursor, hd_b_variant_is_async(st->variant, st->p.b.elem));
  copy_scale_tiles(st, b, place, 1, kg, cursor);
  if (hd_scales_promoted(&st->p)) {
    copy_scale_boxes(st, b, place, 0, kg, cursor);
    if (hd_scales_by_index(&st->p))
      copy_scales_by_index(st, b, place, kg, cursor);
    else
      copy_scale_boxes(st, b, place, 1, kg, cursor);
  } else if (st->scales[0] && !st->factors[0])
    copy_scale_rows(st, b, place, kg, cursor);
}
