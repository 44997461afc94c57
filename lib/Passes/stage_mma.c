#include <string.h>

#include "Passes/accesses.h"
#include "Passes/arith.h"
#include "Passes/stage.h"

enum { MAX_STRIPS = 32, MAX_BLOCKS = 32 };
/* A register has the block scales of 32 rows or columns: so many strips, or blocks. */
enum { SCALED_STRIPS = 2, SCALED_BLOCKS = 4 };

/* The part of the tile that one warp owns: strips of 16 rows, blocks of 8 columns. */
typedef struct warp_tile {
  int32_t n_strips, n_blocks;
  hd_value *warp, *across; /* across: which of the warps side by side; NULL: there is one */
  hd_value *strip[MAX_STRIPS], *block[MAX_BLOCKS]; /* strip: index; block: first column */
} warp_tile;

static hd_value *offset(hd_builder *b, hd_value *index, int32_t unit, int32_t plus, int32_t scale) {
  hd_value *first = hd_arith_const(b, HD_OP_MUL, index, unit * scale);
  return hd_arith_const(b, HD_OP_ADD, first, plus * scale);
}

static void find_tile(hd_stage *st, hd_builder *b, warp_tile *t) {
  t->n_strips = st->s.tile_m / 16 / st->s.warps_m;
  t->n_blocks = st->s.tile_n / 8 / st->s.warps_n;
  t->warp = hd_build_value(b, HD_OP_WARP_INDEX, HD_I32, 0);
  hd_value *across = hd_i32(b, st->s.warps_n);
  hd_value *wm = hd_arith(b, HD_OP_DIV, t->warp, across);
  hd_value *wn = hd_arith(b, HD_OP_REM, t->warp, across);
  for (int32_t i = 0; i < t->n_strips; i++)
    t->strip[i] = offset(b, wm, t->n_strips, i, 1);
  for (int32_t j = 0; j < t->n_blocks; j++)
    t->block[j] = offset(b, wn, t->n_blocks, j, 8);
  t->across = st->s.warps_n > 1 ? wn : NULL;
}

static hd_value *load(hd_stage *st, hd_builder *b, hd_op_kind kind, hd_operand_id operand,
                      hd_value *cursor, hd_value *where, int32_t index) {
  hd_op *op = hd_build_op(b, kind, hd_stage_fragment(st, operand), 3,
                          kind == HD_OP_LOAD_B ? st->sb : st->sa, cursor, where);
  if (kind == HD_OP_LOAD_META) {
    hd_op_set_int(st->module, op, HD_ATTR_WORD, index);
    return op->results[0];
  }
  hd_op_set_str(st->module, op, HD_ATTR_ROW, st->row->name);
  hd_op_set_int(st->module, op, HD_ATTR_STEP, index);
  if (kind == HD_OP_LOAD_B && st->p.b.transposed)
    hd_op_set_flag(st->module, op, HD_ATTR_TRANS);
  return op->results[0];
}

/* The block scales that a warp holds in registers. */
typedef struct warp_scales {
  hd_value *a[MAX_STRIPS / SCALED_STRIPS], *b[MAX_BLOCKS / SCALED_BLOCKS];
} warp_scales;

/* Loads word `word` of the scales of n strips (A; first: strip indices) or blocks of 8 columns (B;
 * first: their first columns). */
static void load_scales(hd_stage *st, hd_builder *b, hd_operand_id operand, hd_value *cursor,
                        hd_value *const *first, int32_t n, int32_t word, hd_value **out) {
  bool of_a = operand == HD_OPERAND_SCALE_A;
  int32_t per = of_a ? SCALED_STRIPS : SCALED_BLOCKS, rows = of_a ? HD_STRIP_ROWS : 8;
  for (int32_t i = 0; i < n; i += per) {
    hd_value *row = of_a ? hd_arith_const(b, HD_OP_MUL, first[i], HD_STRIP_ROWS) : first[i];
    hd_op *op = hd_build_op(b, HD_OP_LOAD_SCALE, hd_stage_fragment(st, operand), 3,
                            st->scales[!of_a], cursor, row);
    hd_op_set_str(st->module, op, HD_ATTR_ROW, st->row->name);
    hd_op_set_str(st->module, op, HD_ATTR_OPERAND, of_a ? "scale_a" : "scale_b");
    hd_op_set_int(st->module, op, HD_ATTR_ROWS, (n - i < per ? n - i : per) * rows);
    hd_op_set_int(st->module, op, HD_ATTR_WORD, word);
    out[i / per] = op->results[0];
  }
}

/* Multiplies strip i by block j. */
static hd_value *mma(hd_stage *st, hd_builder *b, hd_value *const operands[4], const warp_scales *s,
                     int32_t i, int32_t j, int32_t step) {
  hd_value *in[] = {operands[0], operands[1], operands[2], operands[3], NULL, NULL};
  if (st->p.block) {
    in[4] = s->a[i / SCALED_STRIPS];
    in[5] = s->b[j / SCALED_BLOCKS];
  }
  hd_op *op = hd_build(b, st->p.block ? HD_OP_MMA_SP_SCALED : HD_OP_MMA_SP, in, st->p.block ? 6 : 4,
                       &in[0]->type, 1);
  hd_op_set_str(st->module, op, HD_ATTR_ROW, st->row->name);
  hd_op_set_int(st->module, op, HD_ATTR_SELECTOR, hd_stage_selector(st, step));
  if (st->p.block) {
    int64_t byte = step * st->row->scale_vec % HD_SCALES_A_WORD;
    int64_t ids[] = {byte, i % SCALED_STRIPS, byte, j % SCALED_BLOCKS};
    hd_op_set_ints(st->module, op, HD_ATTR_SCALE_IDS, ids, 4);
  }
  return op->results[0];
}

static void compute(hd_stage *st, hd_builder *b, const warp_tile *t, hd_value *cursor,
                    hd_value **acc) {
  hd_value *a[MAX_STRIPS], *word[MAX_STRIPS];
  warp_scales scales;
  for (int32_t step = 0; step < st->steps; step++) {
    bool fresh = step == 0 || hd_stage_word(st, step) != hd_stage_word(st, step - 1);
    /* The scales of a step follow those of the previous step, in the same word or the next one. */
    int32_t at = step * st->row->scale_vec;
    if (st->p.block && at % HD_SCALES_A_WORD == 0) {
      int32_t from = at / HD_SCALES_A_WORD;
      load_scales(st, b, HD_OPERAND_SCALE_A, cursor, t->strip, t->n_strips, from, scales.a);
      load_scales(st, b, HD_OPERAND_SCALE_B, cursor, t->block, t->n_blocks, from, scales.b);
    }
    for (int32_t i = 0; i < t->n_strips; i++) {
      if (fresh)
        word[i] = load(st, b, HD_OP_LOAD_META, HD_OPERAND_META, cursor, t->strip[i],
                       hd_stage_word(st, step));
      a[i] = load(st, b, HD_OP_LOAD_A, HD_OPERAND_A, cursor, t->strip[i], step);
    }
    for (int32_t j = 0; j < t->n_blocks; j++) {
      hd_value *bf = load(st, b, HD_OP_LOAD_B, HD_OPERAND_B, cursor, t->block[j], step);
      for (int32_t i = 0; i < t->n_strips; i++) {
        hd_value **c = &acc[i * t->n_blocks + j];
        *c = mma(st, b, (hd_value *[]){*c, a[i], bf, word[i]}, &scales, i, j, step);
      }
    }
  }
}

/* if kg < k_hi: copy the stage. */
static void copy_if_any(hd_stage *st, hd_builder *b, const hd_tile_place *place, hd_value *kg,
                        hd_value *cursor) {
  hd_op *some = hd_build_if(b, hd_build_cmp(b, "lt", kg, place->k_hi), NULL, 0);
  hd_builder yes = hd_builder_at_end(st->module, some->regions[0]);
  hd_builder no = hd_builder_at_end(st->module, some->regions[1]);
  hd_stage_copy(st, &yes, place, kg, cursor);
  hd_build_yield(&yes, NULL, 0);
  hd_build_yield(&no, NULL, 0);
}

/* Copies all stages but one before the first computation. Returns the cursor of the next copy. */
static hd_value *prologue(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                          hd_value *cursor) {
  hd_value *ahead = hd_i32(b, st->s.stages - 1);
  hd_op *loop = hd_build_for(b, st->zero, ahead, st->one, &cursor, 1);
  hd_builder in = hd_builder_at_end(st->module, loop->regions[0]);
  hd_value **args = loop->regions[0]->args;
  copy_if_any(st, &in, place, hd_arith(&in, HD_OP_ADD, args[0], place->k_lo), args[1]);
  hd_value *after = hd_next_slot(&in, args[1], st->s.stages);
  hd_build_yield(&in, &after, 1);
  return loop->results[0];
}

/* for k: copy stage k + stages - 1, compute stage k. Carries both cursors and the accumulators. */
static hd_op *stage_loop(hd_stage *st, hd_builder *b, const hd_tile_place *place,
                         const warp_tile *t, hd_value *write, hd_value *read) {
  int32_t n_acc = t->n_strips * t->n_blocks;
  hd_value *carried[MAX_STRIPS * MAX_BLOCKS + 2] = {write, read}, *acc[MAX_STRIPS * MAX_BLOCKS];
  for (int32_t i = 0; i < n_acc; i++)
    carried[i + 2] = hd_build_value(b, HD_OP_FRAG_ZERO, hd_stage_fragment(st, HD_OPERAND_D), 0);
  hd_op *loop = hd_build_for(b, place->k_lo, place->k_hi, st->one, carried, n_acc + 2);
  hd_builder in = hd_builder_at_end(st->module, loop->regions[0]);
  hd_value **args = loop->regions[0]->args;
  memcpy(acc, args + 3, sizeof *acc * (size_t)n_acc);
  hd_value *ahead = hd_arith_const(&in, HD_OP_ADD, args[0], st->s.stages - 1);
  copy_if_any(st, &in, place, ahead, args[1]);
  compute(st, &in, t, args[2], acc);
  carried[0] = hd_next_slot(&in, args[1], st->s.stages);
  carried[1] = hd_next_slot(&in, args[2], st->s.stages);
  memcpy(carried + 2, acc, sizeof *acc * (size_t)n_acc);
  hd_build_yield(&in, carried, n_acc + 2);
  return loop;
}

void hd_stage_mma(hd_stage *st) {
  hd_builder b = hd_stage_begin_role(st, st->s.warps_m * st->s.warps_n), in;
  warp_tile tile;
  find_tile(st, &b, &tile);
  hd_tile_place place;
  hd_stage_tiles(st, &b, NULL, 0, &in, &place);
  hd_stage_columns(st, &in, &place, tile.warp);
  hd_value *read = hd_first_slot(&in, st->s.stages);
  hd_value *write = prologue(st, &in, &place, read);
  hd_op *loop = stage_loop(st, &in, &place, &tile, write, read);
  hd_value *acc[MAX_STRIPS * MAX_BLOCKS];
  int32_t n_acc = tile.n_strips * tile.n_blocks;
  memcpy(acc, loop->results + 2, sizeof *acc * (size_t)n_acc);
  hd_stage_reduce(st, &in, &place, tile.warp, acc, n_acc);
  hd_value *col = hd_arith(&in, HD_OP_ADD, place.col0, tile.block[0]);
  hd_stage_strips strips = {tile.warp, tile.strip, tile.n_strips};
  int32_t each = tile.n_blocks; /* fragments of a strip */
  place.across = tile.across;
  for (int32_t i = 0; i < tile.n_strips; i++)
    hd_stage_store_aux(st, &in, &place, tile.strip[i], col, acc + i * each, each);
  if (st->sr) {
    hd_stage_finish(st, &in, &place, &strips, col, each, acc, acc);
    hd_stage_parts(st, &in, &place, &strips, acc);
    hd_stage_statistics(st, &in, &place);
    each = 1;
  }
  for (int32_t i = 0; i < tile.n_strips; i++)
    hd_stage_store(st, &in, &place, tile.strip[i], col, acc + i * each, each);
  hd_build_yield(&in, NULL, 0);
}
