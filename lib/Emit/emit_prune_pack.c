/* prune.pack: prunes 16 rows of a dense matrix in one k-block, and stores them to the packed block.
 *
 * Lane 4g + q takes bytes 32q to 32q + 31 of rows g and g + 8. Of each row it keeps a chunk of 16
 * bytes of values. The chunk's codes are half of the lane's own metadata word (16-bit types, tf32),
 * or a whole word (8-bit types); then lanes q and q ^ 2 exchange one word. */
#include "Emit/emit_copy_rows.h"
#include "Emit/emit_prune.h"
#include "Emit/emit_strip.h"
#include "Layout/packed_format.h"

enum { LANE_BYTES = 32, ROWS = 2, WORDS = LANE_BYTES / 4, VALUES = WORDS / 2 };

/* The strip, and the position of this lane in it. */
typedef struct strip {
  const hd_op *op;
  heddle_elem elem;
  hd_ranking rank;
  LLVMValueRef row, k_block, m, k; /* i32; row: the strip's first */
  LLVMValueRef g, q;               /* of the lane */
} strip;

/* The first element of the lane's part of row g + 8h. */
typedef struct origin {
  LLVMValueRef from, is_row, column; /* its address; i1: the row exists; column */
} origin;

static origin find_origin(hd_emitter *e, const strip *s, int h) {
  int64_t bytes = s->rank.bits / 8;
  LLVMValueRef row = hd_emit_addi(e, hd_emit_add(e, s->row, s->g), 8 * h);
  LLVMValueRef column = hd_emit_add(e, hd_emit_muli(e, s->k_block, HD_K_BLOCK_BYTES / bytes),
                                    hd_emit_muli(e, s->q, LANE_BYTES / bytes));
  LLVMValueRef pitch = hd_emit_get1(e, hd_prune_pack_pitch(s->op));
  bool trans = hd_op_has(s->op, HD_ATTR_TRANS);
  LLVMValueRef line = hd_emit_widen(e, trans ? column : row), in_line = trans ? row : column;
  LLVMValueRef index = hd_emit_add(e, hd_emit_mul(e, line, pitch), hd_emit_widen(e, in_line));
  LLVMValueRef source = hd_emit_get1(e, hd_prune_pack_source(s->op));
  return (origin){hd_emit_global_at(e, source, hd_emit_muli(e, index, bytes)),
                  hd_emit_lt(e, row, s->m), column};
}

/* Puts `vec` bytes into whole words, or ORs them into a part of a word. */
static void put_part(hd_emitter *e, int64_t at, int64_t vec, LLVMValueRef const *v,
                     LLVMValueRef w[WORDS]) {
  for (int64_t i = 0; i < vec / 4; i++)
    w[at / 4 + i] = v[i];
  if (vec >= 4)
    return;
  LLVMValueRef wide = LLVMBuildZExt(e->b, v[0], e->i32, "");
  LLVMValueRef part = LLVMBuildShl(e->b, wide, hd_emit_i32(e, at % 4 * 8), "");
  w[at / 4] = at % 4 ? LLVMBuildOr(e->b, w[at / 4], part, "") : part;
}

/* The offset in memory of byte `at` of the lane's part of a row. */
static LLVMValueRef find_offset(hd_emitter *e, const strip *s, int64_t at) {
  return hd_op_has(s->op, HD_ATTR_TRANS)
             ? hd_emit_muli(e, hd_emit_get1(e, hd_prune_pack_pitch(s->op)), at)
             : hd_emit_i64(e, at);
}

/* Loads the 8 words of the lane's part of a row; elements outside of the matrix are zeros. */
static void load_row(hd_emitter *e, const strip *s, int h, LLVMValueRef w[WORDS]) {
  int64_t bytes = s->rank.bits / 8, vec = hd_op_int(s->op, HD_ATTR_VEC, 1);
  origin o = find_origin(e, s, h);
  for (int64_t at = 0; at < LANE_BYTES; at += vec) {
    LLVMValueRef there = hd_emit_lt(e, hd_emit_addi(e, o.column, at / bytes), s->k), v[4];
    hd_emit_load_vec(e, vec, hd_emit_global_at(e, o.from, find_offset(e, s, at)),
                     hd_emit_and(e, o.is_row, there), v);
    put_part(e, at, vec, v, w);
  }
}

/* The block's address; the blocks of a slab are consecutive along k. */
static LLVMValueRef find_block(hd_emitter *e, const strip *s, LLVMValueRef n_k_blocks) {
  LLVMValueRef slab = hd_emit_widen(e, hd_emit_divi(e, s->row, HD_SLAB_ROWS));
  LLVMValueRef index = hd_emit_add(e, hd_emit_mul(e, slab, hd_emit_widen(e, n_k_blocks)),
                                   hd_emit_widen(e, s->k_block));
  return hd_emit_global_at(e, hd_emit_get1(e, hd_prune_pack_packed(s->op)),
                           hd_emit_muli(e, index, hd_block_bytes(s->elem)));
}

/* Byte `bytes` of the block, plus `offset`, which depends on the strip and the lane. */
static hd_place place(hd_emitter *e, LLVMValueRef block, LLVMValueRef offset, int64_t bytes) {
  return (hd_place){hd_emit_global_at(e, block, hd_emit_widen(e, offset)), bytes, NULL};
}

/* ORDER hd_value_offset: stores chunk q of rows g and g + 8 of the strip. */
static void store_values(hd_emitter *e, const strip *s, LLVMValueRef block, LLVMValueRef in_slab,
                         LLVMValueRef values[ROWS][VALUES]) {
  LLVMValueRef step = hd_emit_divi(e, s->q, 2), half = hd_emit_remi(e, s->q, 2);
  LLVMValueRef offset = hd_emit_add(e, hd_emit_muli(e, step, HD_STEP_VALUE_BYTES),
                                    hd_emit_muli(e, half, HD_CORE_BYTES));
  offset = hd_emit_add(e, offset, hd_emit_muli(e, s->g, HD_CHUNK_BYTES));
  offset = hd_emit_add(e, offset, hd_emit_muli(e, in_slab, HD_STRIP_VALUE_BYTES));
  for (int h = 0; h < ROWS; h++)
    hd_emit_put_words(e, place(e, block, offset, h * 2 * HD_CORE_BYTES), values[h], VALUES);
}

/* 8-bit types: this lane has run q of rows g and g + 8. In the packed format, word s of thread
 * 2p + h of the quad is run 2s + p of row g + 8h. So lane 2s + p writes the words of thread 2p + s,
 * and sends the other row's codes to lane q ^ 2. Returns the thread. */
static LLVMValueRef exchange_codes(hd_emitter *e, const strip *s, const LLVMValueRef codes[ROWS],
                                   LLVMValueRef word[2]) {
  LLVMValueRef step = hd_emit_divi(e, s->q, 2), p = hd_emit_remi(e, s->q, 2);
  LLVMValueRef upper = hd_emit_eqi(e, step, 1);
  LLVMValueRef got = hd_emit_shfl_xor(e, hd_emit_select(e, upper, codes[0], codes[1]), 2);
  word[0] = hd_emit_select(e, upper, got, codes[0]);
  word[1] = hd_emit_select(e, upper, codes[1], got);
  LLVMValueRef in_quad = hd_emit_add(e, hd_emit_muli(e, p, 2), step);
  return hd_emit_add(e, hd_emit_muli(e, s->g, 4), in_quad);
}

/* ORDER hd_code_offset. */
static void store_codes(hd_emitter *e, const strip *s, LLVMValueRef block, LLVMValueRef in_slab,
                        const LLVMValueRef codes[ROWS]) {
  int32_t n_words = hd_block_meta_words(s->elem);
  LLVMValueRef thread = e->lane, word[2];
  if (n_words == 1)
    word[0] = hd_emit_permute(e, codes[0], codes[1], HD_LOW_HALVES);
  else
    thread = exchange_codes(e, s, codes, word);
  LLVMValueRef offset = hd_emit_add(e, hd_emit_muli(e, thread, n_words * HD_WORD_BYTES),
                                    hd_emit_muli(e, in_slab, n_words * HD_META_STRIP_BYTES));
  hd_emit_put_words(e, place(e, block, offset, HD_BLOCK_VALUE_BYTES), word, n_words);
}

static heddle_status find_strip(hd_emitter *e, const hd_op *op, strip *s) {
  *s = (strip){.op = op, .elem = hd_op_elem(op, HD_ATTR_TYPE),
               .row = hd_emit_get1(e, hd_prune_pack_row(op)),
               .k_block = hd_emit_get1(e, hd_prune_pack_k_block(op)),
               .m = hd_emit_get1(e, hd_prune_pack_m(op)),
               .k = hd_emit_get1(e, hd_prune_pack_k(op))};
  if (!hd_ranking_find(s->elem, &s->rank))
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.prune-pack",
                    "got %s; legal: sparse types of one element in whole bytes; nearest: %s",
                    heddle_elem_get(s->elem)->name,
                    heddle_elem_get(s->elem)->kind == HEDDLE_FLOAT ? "e4m3" : "s8");
  int64_t vec = hd_op_int(op, HD_ATTR_VEC, 1), bytes = s->rank.bits / 8;
  if (vec < bytes || (hd_op_has(op, HD_ATTR_TRANS) && vec > bytes))
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.prune-pack",
                    "got vec = %lld of elements of %lld bytes; legal: %s; nearest: %lld",
                    (long long)vec, (long long)bytes,
                    vec < bytes ? "whole elements" : "with trans one element", (long long)bytes);
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  s->g = hd_emit_divi(e, e->lane, 4);
  s->q = hd_emit_remi(e, e->lane, 4);
  hd_emit_return_from_entry(e, here);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_prune_pack(hd_emitter *e, const hd_op *op) {
  strip s;
  HD_TRY(find_strip(e, op, &s));
  int32_t k_block = hd_k_block_size(s.elem);
  LLVMValueRef n_k_blocks = hd_emit_divi(e, hd_emit_addi(e, s.k, k_block - 1), k_block);
  LLVMBasicBlockRef join = hd_emit_if(e, hd_emit_lt(e, s.k_block, n_k_blocks), "in_k");
  LLVMValueRef w[ROWS][WORDS], values[ROWS][VALUES], codes[ROWS];
  LLVMValueRef in_slab = hd_emit_remi(e, hd_emit_divi(e, s.row, HD_STRIP_ROWS), HD_SLAB_STRIPS);
  for (int h = 0; h < ROWS; h++)
    load_row(e, &s, h, w[h]);
  for (int h = 0; h < ROWS; h++)
    codes[h] = hd_emit_keep(e, &s.rank, w[h], values[h]);
  LLVMValueRef block = find_block(e, &s, n_k_blocks);
  store_values(e, &s, block, in_slab, values);
  store_codes(e, &s, block, in_slab, codes);
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}
