/* The loops of a kernel with accumulators and metadata in tensor memory. split_roles makes four
 * roles of them: the producer copies; the metadata warps store metadata to tensor memory; one
 * thread of the MMA warp copies block scales there and multiplies; the consumer writes D. With two
 * slots of accumulators, it writes one tile while the next is multiplied. */
#include "Passes/accesses.h"
#include "Passes/arith.h"
#include "Schedule/resources.h"
#include "Passes/stage.h"

enum {
  STRIPS = 2,       /* per warp: the 32 lanes of tensor memory that it can access */
  MAX_PIECES = 16,
  PLAIN_OPERANDS = 7 /* operands of an instruction without block scales */
};

static void set_row(hd_stage *st, hd_op *op, const char *name, int32_t number) {
  hd_op_set_str(st->module, op, HD_ATTR_ROW,
                hd_arena_printf(&st->module->arena, "%s%d", name, (int)number));
}

static hd_value *strip_of(hd_builder *b, hd_value *warp, int32_t i) {
  return hd_arith_const(b, HD_OP_ADD, hd_arith_const(b, HD_OP_MUL, warp, STRIPS), i);
}

/* A store of 16 lanes x 64 bits converts a metadata word of wgmma to the layout of tcgen05.mma.sp:
 * lane (g, q) goes to row g + 8 * (q % 2) of the strip, column q / 2. */
static void move_metadata(hd_stage *st, hd_builder *b, hd_value *warp, hd_value *cursor) {
  enum { MAX_WORDS = 2 };
  int32_t n = hd_block_meta_words(st->p.a_elem);
  hd_value *word[STRIPS][MAX_WORDS], *strip[STRIPS];
  for (int32_t i = 0; i < STRIPS; i++) {
    strip[i] = strip_of(b, warp, i);
    for (int32_t w = 0; w < n; w++) {
      hd_op *load =
          hd_build_op(b, HD_OP_LOAD_META, hd_type_frag(HEDDLE_S32, 1), 3, st->sa, cursor, strip[i]);
      hd_op_set_int(st->module, load, HD_ATTR_WORD, w);
      word[i][w] = load->results[0];
    }
  }
  for (int32_t i = 0; i < STRIPS; i++) {
    hd_op *store = hd_build_op(b, HD_OP_TCGEN05_ST, (hd_type){0}, 3, st->meta, cursor, strip[i]);
    for (int32_t w = 0; w < n; w++)
      hd_op_add_operand(st->module, store, word[i][w]);
    set_row(st, store, "tcgen05_st_16x64b_x", n);
  }
}

/* Copies the stage's block scales. The thread that multiplies issues the copy, which completes
 * before the multiplication. */
static void move_scales(hd_stage *st, hd_builder *b, hd_value *cursor) {
  const int32_t rows[] = {st->s.tile_m, st->s.tile_n};
  for (int i = 0; st->factors[0] && i < 2; i++) {
    hd_op *op = hd_build_op(b, HD_OP_TCGEN05_CP, (hd_type){0}, 3, st->factors[i], st->scales[i],
                            cursor);
    hd_op_set_str(st->module, op, HD_ATTR_ROW,
                  st->pair ? "tcgen05_cp_cg2_32x128b_warpx4" : "tcgen05_cp_cg1_32x128b_warpx4");
    hd_op_set_int(st->module, op, HD_ATTR_ROWS, hd_scale_bands(rows[i]) * HD_SCALE_TILE_ROWS);
  }
}

/* for k: copy the stage, move its metadata and block scales, multiply. Returns the cursor after the
 * last stage. */
static hd_value *stage_loop(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                            hd_value *sums, hd_value *cursor) {
  hd_op *loop = hd_build_for(b, place->k_lo, place->k_hi, st->one, &cursor, 1);
  hd_builder in = hd_builder_at_end(st->module, loop->regions[0]);
  hd_value **args = loop->regions[0]->args;
  hd_stage_copy(st, &in, place, args[0], args[1]);
  move_metadata(st, &in, warp, args[1]);
  move_scales(st, &in, args[1]);
  hd_value *more = hd_build_cmp(&in, "ne", args[0], place->k_lo);
  hd_value *kg = hd_stage_k_block(st, &in, place, args[0]);
  hd_value *yes = hd_build_i1(&in, true);
  for (int32_t step = 0; step < st->steps; step++) {
    hd_value *operands[] = {st->sums, sums, st->sa, args[1], st->sb, st->meta, step ? yes : more,
                            st->factors[0], st->factors[1], kg, place->col0};
    hd_op *op = hd_build(&in, HD_OP_TCGEN05_MMA_SP, operands,
                         st->factors[0] ? (int32_t)HD_COUNT(operands) : PLAIN_OPERANDS, NULL, 0);
    hd_op_set_str(st->module, op, HD_ATTR_ROW, st->row->name);
    hd_op_set_int(st->module, op, HD_ATTR_SELECTOR, hd_stage_selector(st, step));
    hd_op_set_int(st->module, op, HD_ATTR_STEP, step);
    if (st->p.b.transposed)
      hd_op_set_flag(st->module, op, HD_ATTR_TRANS);
  }
  hd_value *after = hd_next_slot(&in, args[1], st->s.stages);
  hd_build_yield(&in, &after, 1);
  return loop->results[0];
}

/* A part of a strip that a warp loads at once. */
typedef struct piece {
  hd_value *strip;
  int32_t col, n_blocks; /* of 8 columns */
} piece;

/* The widest pieces first. The strips of the same columns follow each other, which shortens the
 * live ranges of values that depend on the column. */
static int32_t find_pieces(hd_stage *st, hd_builder *b, hd_value *warp, piece pieces[MAX_PIECES]) {
  int32_t n = 0, blocks = hd_plan_store_blocks(st->plan);
  hd_value *strip[STRIPS];
  for (int32_t i = 0; i < STRIPS; i++)
    strip[i] = strip_of(b, warp, i);
  for (int32_t col = 0; col < st->s.tile_n; col += 8 * blocks) {
    while (8 * blocks > st->s.tile_n - col)
      blocks /= 2;
    for (int32_t i = 0; i < STRIPS; i++)
      pieces[n++] = (piece){strip[i], col, blocks};
  }
  return n;
}

static hd_value *load(hd_stage *st, hd_builder *b, hd_value *sums, const piece *x) {
  hd_op *op = hd_build_op(b, HD_OP_TCGEN05_LD, hd_type_frag(st->p.acc_elem, 4 * x->n_blocks), 3,
                          st->sums, sums, x->strip);
  set_row(st, op, "tcgen05_ld_16x256b_x", x->n_blocks);
  hd_op_set_int(st->module, op, HD_ATTR_OFFSET, x->col);
  return op->results[0];
}

static void store(hd_stage *st, hd_builder *b, const hd_tile_place *of_tile, const piece *x,
                  hd_value *acc) {
  hd_value *col = hd_arith_const(b, HD_OP_ADD, of_tile->col0, x->col);
  hd_tile_place place = *of_tile;
  place.offset = x->col;
  hd_stage_store_aux(st, b, &place, x->strip, col, &acc, 1);
  hd_stage_store(st, b, &place, x->strip, col, &acc, 1);
}

/* Stores piece by piece. If the tile is divided, all pieces are loaded and summed first. */
static void store_tile(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *warp,
                       hd_value *sums) {
  piece pieces[MAX_PIECES];
  hd_value *acc[MAX_PIECES];
  int32_t n = find_pieces(st, b, warp, pieces);
  for (int32_t i = 0; i < n; i++) {
    acc[i] = load(st, b, sums, &pieces[i]);
    if (!place->n_parts)
      store(st, b, place, &pieces[i], acc[i]);
  }
  hd_stage_reduce(st, b, place, warp, acc, n);
  for (int32_t i = 0; i < n && place->n_parts; i++)
    store(st, b, place, &pieces[i], acc[i]);
}

/* The results of the warp's strips in slice i of the columns. With `first`, the slice of the second
 * matrix is stored, too. */
static void finish_slice(hd_stage *st, hd_builder *b, const hd_tile_place *of_tile,
                         const hd_stage_strips *strips, hd_value *sums, int32_t i, bool first,
                         hd_value **results) {
  enum { BLOCK = 8 };
  int32_t width = st->s.tile_n / st->slots.across;
  hd_value *acc[STRIPS];
  for (int32_t j = 0; j < STRIPS; j++)
    acc[j] = load(st, b, sums, &(piece){strips->strip[j], i * width, width / BLOCK});
  hd_value *col = hd_arith_const(b, HD_OP_ADD, of_tile->col0, i * width);
  hd_tile_place place = *of_tile;
  place.offset = i * width;
  for (int32_t j = 0; first && j < STRIPS; j++)
    hd_stage_store_aux(st, b, &place, strips->strip[j], col, &acc[j], 1);
  hd_stage_finish(st, b, &place, strips, col, 1, acc, results);
}

/* The same with statistics of D, a slice of the columns at a time. Several slices do not fit into
 * registers, and are computed again. */
static void store_with_statistics(hd_stage *st, hd_builder *b, const hd_tile_place *of_tile,
                                  hd_value *warp, hd_value *sums) {
  int32_t n = st->slots.across, width = st->s.tile_n / n;
  hd_value *strip[] = {strip_of(b, warp, 0), strip_of(b, warp, 1)}, *results[STRIPS];
  hd_stage_strips strips = {warp, strip, STRIPS};
  hd_tile_place place = *of_tile;
  for (int32_t i = 0; i < n; i++) {
    place.across = n > 1 ? hd_i32(b, i) : NULL;
    finish_slice(st, b, &place, &strips, sums, i, true, results);
    hd_stage_parts(st, b, &place, &strips, results);
  }
  hd_stage_statistics(st, b, &place);
  for (int32_t i = 0; i < n; i++) {
    place.across = n > 1 ? hd_i32(b, i) : NULL;
    if (n > 1)
      finish_slice(st, b, &place, &strips, sums, i, false, results);
    hd_value *col = hd_arith_const(b, HD_OP_ADD, place.col0, i * width);
    for (int32_t j = 0; j < STRIPS; j++)
      hd_stage_store(st, b, &place, strip[j], col, &results[j], 1);
  }
}

void hd_stage_tcgen05(hd_stage *st) {
  hd_builder b = hd_stage_begin_role(st, st->s.warps_m), in;
  int32_t slots = hd_schedule_sum_slots(&st->p, &st->s);
  hd_value *warp = hd_build_value(&b, HD_OP_WARP_INDEX, HD_I32, 0);
  hd_value *carried[] = {hd_first_slot(&b, st->s.stages), hd_first_slot(&b, slots)};
  hd_stage_prefetch(st, &b, carried[0]);
  hd_tile_place place;
  hd_op *tiles = hd_stage_tiles(st, &b, carried, 2, &in, &place);
  hd_value **args = tiles->regions[0]->args;
  hd_stage_columns(st, &in, &place, warp);
  carried[0] = stage_loop(st, &in, &place, warp, args[2], args[1]);
  carried[1] = hd_next_slot(&in, args[2], slots);
  if (st->sr)
    store_with_statistics(st, &in, &place, warp, args[2]);
  else
    store_tile(st, &in, &place, warp, args[2]);
  hd_build_yield(&in, carried, 2);
}
