/* prune.pack, mask.pack, quantize.pack: prune 16 rows of a dense matrix in one k-block, and store
 * them to the packed block. twin.codes.
 *
 * Lane 4g + q takes bytes 32q to 32q + 31 of rows g and g + 8. Of each row it keeps a chunk of 16
 * bytes of values. The chunk's codes are half of the lane's own metadata word (16-bit types, tf32),
 * or a whole word (8-bit types); then lanes q and q ^ 2 exchange one word.
 *
 * With a twin (16-bit types) the strip is transposed in registers: 64 rows of the transposed matrix
 * by 16 elements. Lane 4g + q gets rows 2q + g % 2 and 8 below of strip g / 2 of a block, and
 * stores the chunk that the strip's number in its slab says. Its codes are every fourth word of the
 * block's codes, so they go to shared memory, where the four strips of the slab join theirs. With a
 * mask, too, the strip is pruned to 2:4 along rows and columns first; mask.pack reads such a mask.
 *
 * quantize.pack loads twice as many bytes (`from` has 16 bits, `elem` 8), and converts what is
 * kept. */
#include "Emit/emit_copy_rows.h"
#include "Emit/emit_prune.h"
#include "Emit/emit_strip.h"
#include "Layout/packed_format.h"

enum {
  ROWS = HD_STRIP_LANE_ROWS,
  WORDS = HD_STRIP_LANE_WORDS,
  TILES = HD_STRIP_LANE_TILES,
  LANE_BYTES = 4 * WORDS,
  VALUES = WORDS / 2
};
enum { HALVES = 2 /* of a lane's part of a row, if `from` has twice the bits of `elem` */ };

/* The strip, and the position of this lane in it. */
typedef struct strip {
  const hd_op *op;
  heddle_elem elem, from; /* packed; in memory */
  hd_ranking rank;        /* of `from` */
  LLVMValueRef row, k_block, m, k; /* i32; row: the strip's first */
  LLVMValueRef g, q;               /* of the lane */
} strip;

/* The first element of the lane's part of row g + 8h. */
typedef struct origin {
  LLVMValueRef from, is_row, column; /* its address; i1: the row exists; column */
} origin;

/* Elements of a lane's part of a row. */
static int64_t lane_elements(const strip *s) {
  return LANE_BYTES * 8 / heddle_elem_get(s->elem)->container_bits;
}

static LLVMValueRef find_row(hd_emitter *e, const strip *s, int h) {
  return hd_emit_addi(e, hd_emit_add(e, s->row, s->g), 8 * h);
}

/* The first column of the lane's part of a row. */
static LLVMValueRef find_column(hd_emitter *e, const strip *s) {
  return hd_emit_add(e, hd_emit_muli(e, s->k_block, hd_k_block_size(s->elem)),
                     hd_emit_muli(e, s->q, lane_elements(s)));
}

static origin find_origin(hd_emitter *e, const strip *s, int h) {
  int64_t bytes = s->rank.bits / 8;
  LLVMValueRef row = find_row(e, s, h), column = find_column(e, s);
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
                     LLVMValueRef *w) {
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

/* Transposes the strip: words w[h][i] are elements 16q + 2i, + 1 of row g + 8h, and become elements
 * 8i' + 2i'', + 1 of a row of the transposed matrix, i = 4i' + i''. Each movmatrix transposes the
 * same word of all lanes. A lane then has two elements of each of 8 rows; with its quad it gets
 * two rows with 16 elements each. */
static void transpose(hd_emitter *e, LLVMValueRef w[ROWS][WORDS], LLVMValueRef t[ROWS][WORDS]) {
  enum { QUAD = 4 };
  for (int h = 0; h < ROWS; h++)
    for (int lower = 0; lower < ROWS; lower++) {
      LLVMValueRef *quad = &t[lower][QUAD * h];
      for (int i = 0; i < QUAD; i++)
        quad[i] = hd_emit_movmatrix(e, w[h][QUAD * lower + i]);
      hd_emit_transpose_quad(e, quad);
    }
}

/* Loads the words of the lane's part of a row; elements outside of the matrix are zeros. */
static void load_row(hd_emitter *e, const strip *s, int h, LLVMValueRef *w) {
  int64_t bytes = s->rank.bits / 8, vec = hd_op_int(s->op, HD_ATTR_VEC, 1);
  origin o = find_origin(e, s, h);
  for (int64_t at = 0; at < lane_elements(s) * bytes; at += vec) {
    LLVMValueRef there = hd_emit_lt(e, hd_emit_addi(e, o.column, at / bytes), s->k), v[4];
    hd_emit_load_vec(e, vec, hd_emit_global_at(e, o.from, find_offset(e, s, at)),
                     hd_emit_and(e, o.is_row, there), v);
    put_part(e, at, vec, v, w);
  }
}

/* A mask has a byte for each element: a word for each tile of four columns. The lane's words of row
 * g + 8h, which are accessed two at a time if the elements' loads are wide. */
static hd_place find_mask(hd_emitter *e, const strip *s, hd_value *mask, int h, int32_t tile) {
  LLVMValueRef row = find_row(e, s, h), column = find_column(e, s);
  LLVMValueRef index = hd_emit_mul(e, hd_emit_widen(e, row), hd_emit_widen(e, s->k));
  index = hd_emit_add(e, index, hd_emit_widen(e, column));
  LLVMValueRef there = hd_emit_lt(e, hd_emit_addi(e, column, 4 * tile), s->k);
  return (hd_place){hd_emit_global_at(e, hd_emit_get1(e, mask), index), 4 * tile,
                    hd_emit_and(e, hd_emit_lt(e, row, s->m), there)};
}

static int32_t mask_words(const strip *s) { return hd_op_int(s->op, HD_ATTR_VEC, 1) == 16 ? 2 : 1; }

static void store_mask(hd_emitter *e, const strip *s, LLVMValueRef mask[ROWS][TILES]) {
  int32_t n = mask_words(s);
  for (int h = 0; h < ROWS; h++)
    for (int32_t t = 0; t < TILES; t += n)
      hd_emit_put_words(e, find_mask(e, s, hd_prune_pack_mask(s->op), h, t), mask[h] + t, n);
}

static void apply_mask(hd_emitter *e, const strip *s, LLVMValueRef w[ROWS][WORDS]) {
  enum { SIGN_BIT = 7 };
  LLVMValueRef mask[TILES];
  int32_t n = mask_words(s);
  for (int h = 0; h < ROWS; h++) {
    for (int32_t t = 0; t < TILES; t += n) {
      hd_place from = find_mask(e, s, hd_mask_pack_keep(s->op), h, t);
      LLVMValueRef at = hd_emit_global_at(e, from.ptr, hd_emit_i64(e, from.bytes));
      hd_emit_load_vec(e, 4 * n, at, from.where, mask + t);
    }
    for (int t = 0; t < TILES; t++)
      hd_emit_keep_signed(e, LLVMBuildShl(e->b, mask[t], hd_emit_i32(e, SIGN_BIT), ""),
                          &w[h][2 * t]);
  }
}

/* Where a lane stores: a block, and there row g of a strip and 8 below it, chunk q of each. */
typedef struct target {
  LLVMValueRef block;       /* its address */
  LLVMValueRef codes;       /* i32: shared address of a slot for the codes; NULL: in the block */
  LLVMValueRef strip, g, q; /* i32 */
} target;

/* The address of a block; the blocks of a slab are consecutive along k. */
static LLVMValueRef find_block(hd_emitter *e, heddle_elem elem, LLVMValueRef packed,
                               LLVMValueRef slab, LLVMValueRef k_block, LLVMValueRef k) {
  int32_t each = hd_k_block_size(elem);
  LLVMValueRef n_k_blocks = hd_emit_divi(e, hd_emit_addi(e, k, each - 1), each);
  LLVMValueRef index = hd_emit_mul(e, hd_emit_widen(e, slab), hd_emit_widen(e, n_k_blocks));
  index = hd_emit_add(e, index, hd_emit_widen(e, k_block));
  return hd_emit_global_at(e, packed, hd_emit_muli(e, index, hd_block_bytes(elem)));
}

static target find_target(hd_emitter *e, const strip *s) {
  LLVMValueRef slab = hd_emit_divi(e, s->row, HD_SLAB_ROWS);
  LLVMValueRef packed = hd_emit_get1(e, hd_prune_pack_packed(s->op));
  LLVMValueRef strips = hd_emit_divi(e, s->row, HD_STRIP_ROWS);
  return (target){find_block(e, s->elem, packed, slab, s->k_block, s->k), NULL,
                  hd_emit_remi(e, strips, HD_SLAB_STRIPS), s->g, s->q};
}

/* In the twin slabs are k-blocks, and k-blocks slabs. */
static target find_twin(hd_emitter *e, const strip *s, const target *own) {
  LLVMValueRef slab = hd_emit_divi(e, s->row, HD_SLAB_ROWS);
  LLVMValueRef packed = hd_emit_get1(e, hd_prune_pack_twin(s->op));
  LLVMValueRef g = hd_emit_add(e, hd_emit_muli(e, s->q, 2), hd_emit_remi(e, s->g, 2));
  return (target){find_block(e, s->elem, packed, s->k_block, slab, s->m),
                  hd_emit_slot_at(e, hd_prune_pack_codes(s->op),
                                  hd_emit_get1(e, hd_prune_pack_slot(s->op))),
                  hd_emit_divi(e, s->g, 2), g, own->strip};
}

/* Byte `bytes` of the block, plus `offset`, which depends on the strip and the lane. */
static hd_place place(hd_emitter *e, const target *to, LLVMValueRef offset, int64_t bytes) {
  return (hd_place){hd_emit_global_at(e, to->block, hd_emit_widen(e, offset)), bytes, NULL};
}

/* ORDER hd_value_offset. */
static void store_values(hd_emitter *e, const target *to, LLVMValueRef values[ROWS][VALUES]) {
  LLVMValueRef step = hd_emit_divi(e, to->q, 2), half = hd_emit_remi(e, to->q, 2);
  LLVMValueRef offset = hd_emit_add(e, hd_emit_muli(e, step, HD_STEP_VALUE_BYTES),
                                    hd_emit_muli(e, half, HD_CORE_BYTES));
  offset = hd_emit_add(e, offset, hd_emit_muli(e, to->g, HD_CHUNK_BYTES));
  offset = hd_emit_add(e, offset, hd_emit_muli(e, to->strip, HD_STRIP_VALUE_BYTES));
  for (int h = 0; h < ROWS; h++)
    hd_emit_put_words(e, place(e, to, offset, h * 2 * HD_CORE_BYTES), values[h], VALUES);
}

static LLVMValueRef find_thread(hd_emitter *e, LLVMValueRef g, LLVMValueRef in_quad) {
  return hd_emit_add(e, hd_emit_muli(e, g, 4), in_quad);
}

/* 8-bit types: this lane has run q of rows g and g + 8. In the packed format, word s of thread
 * 2p + h of the quad is run 2s + p of row g + 8h. So lane 2s + p writes the words of thread 2p + s,
 * and sends the other row's codes to lane q ^ 2. Returns the thread. */
static LLVMValueRef exchange_codes(hd_emitter *e, const target *to, const LLVMValueRef codes[ROWS],
                                   LLVMValueRef word[2]) {
  LLVMValueRef step = hd_emit_divi(e, to->q, 2), p = hd_emit_remi(e, to->q, 2);
  LLVMValueRef upper = hd_emit_eqi(e, step, 1);
  LLVMValueRef got = hd_emit_shfl_xor(e, hd_emit_select(e, upper, codes[0], codes[1]), 2);
  word[0] = hd_emit_select(e, upper, got, codes[0]);
  word[1] = hd_emit_select(e, upper, codes[1], got);
  return find_thread(e, to->g, hd_emit_add(e, hd_emit_muli(e, p, 2), step));
}

/* The offset in a slot of a strip's word for row g of a strip of the twin's block. Each strip of
 * the slab has a line of words, rotated by 8 words from one line to the next: lanes of twin.codes
 * read from all lines at once, from 32 banks. */
static LLVMValueRef find_word(hd_emitter *e, LLVMValueRef line, LLVMValueRef block_strip,
                              LLVMValueRef g) {
  enum { ROWS_OF_G = 8 };
  LLVMValueRef word = hd_emit_muli(e, hd_emit_add(e, block_strip, line), ROWS_OF_G);
  word = hd_emit_remi(e, hd_emit_add(e, word, g), HD_LANES);
  return hd_emit_add(e, hd_emit_muli(e, line, HD_META_STRIP_BYTES),
                     hd_emit_muli(e, word, HD_WORD_BYTES));
}

/* ORDER hd_code_offset. */
static void store_codes(hd_emitter *e, const strip *s, const target *to,
                        const LLVMValueRef codes[ROWS]) {
  int32_t n_words = hd_block_meta_words(s->elem);
  LLVMValueRef thread, word[2];
  if (n_words == 1) {
    word[0] = hd_emit_permute(e, codes[0], codes[1], HD_LOW_HALVES);
    thread = find_thread(e, to->g, to->q);
  } else {
    thread = exchange_codes(e, to, codes, word);
  }
  LLVMValueRef offset = hd_emit_add(e, hd_emit_muli(e, thread, n_words * HD_WORD_BYTES),
                                    hd_emit_muli(e, to->strip, n_words * HD_META_STRIP_BYTES));
  hd_emit_put_words(e, place(e, to, offset, HD_BLOCK_VALUE_BYTES), word, n_words);
}

static void leave_codes(hd_emitter *e, const target *to, const LLVMValueRef codes[ROWS]) {
  LLVMValueRef at = hd_emit_add(e, to->codes, find_word(e, to->q, to->strip, to->g));
  LLVMValueRef args[] = {at, hd_emit_permute(e, codes[0], codes[1], HD_LOW_HALVES)};
  hd_emit_asm(e, e->none, "st.shared.b32 [$0], $1;", "r,r", args, 2, HD_ASM_MEMORY);
}

static void prune_and_store(hd_emitter *e, const strip *s, const target *to,
                            LLVMValueRef w[ROWS][WORDS]) {
  LLVMValueRef values[ROWS][VALUES], codes[ROWS];
  for (int h = 0; h < ROWS; h++)
    codes[h] = hd_emit_keep(e, &s->rank, w[h], values[h]);
  store_values(e, to, values);
  if (to->codes)
    leave_codes(e, to, codes);
  else
    store_codes(e, s, to, codes);
}

/* The factor of row g + 8h: the reciprocal of its scale. The zeros after the last row have none. */
static LLVMValueRef find_factor(hd_emitter *e, const strip *s, int h) {
  LLVMValueRef row = find_row(e, s, h), is_row = hd_emit_lt(e, row, s->m), bits;
  LLVMValueRef scales = hd_emit_get1(e, hd_quantize_pack_scales(s->op));
  hd_emit_load_vec(e, 4, hd_emit_global_at(e, scales, hd_emit_muli(e, hd_emit_widen(e, row), 4)),
                   is_row, &bits);
  LLVMValueRef scale = LLVMBuildBitCast(e->b, bits, e->f32, "");
  scale = hd_emit_select(e, is_row, scale, LLVMConstReal(e->f32, 1));
  return hd_emit_intrinsic(e, "llvm.nvvm.rcp.rn.f", &scale, 1);
}

/* Converts two words of 16-bit elements to one of 8-bit elements. */
static LLVMValueRef convert(hd_emitter *e, const strip *s, LLVMValueRef factor,
                            LLVMValueRef const *words) {
  LLVMValueRef half[HALVES], x[2];
  for (int i = 0; i < HALVES; i++) {
    hd_emit_word_elements(e, s->from, words[i], false, x);
    for (int j = 0; j < 2; j++)
      x[j] = LLVMBuildFMul(e->b, x[j], factor, "");
    half[i] = LLVMBuildZExt(e->b, hd_emit_pack(e, s->elem, x[0], x[1]).v[0], e->i32, "");
  }
  return hd_emit_permute(e, half[0], half[1], HD_LOW_HALVES);
}

/* Prunes a row of 16-bit elements, and converts what is kept. Returns the codes. */
static LLVMValueRef quantize(hd_emitter *e, const strip *s, LLVMValueRef factor,
                             LLVMValueRef const *w, LLVMValueRef values[VALUES]) {
  LLVMValueRef kept[HALVES * VALUES], codes[HALVES];
  hd_ranking from = s->rank, to;
  from.any_zero = true;
  hd_ranking_find(s->elem, &to);
  for (int i = 0; i < HALVES; i++)
    codes[i] = hd_emit_keep(e, &from, w + i * WORDS, kept + i * VALUES);
  for (int i = 0; i < VALUES; i++)
    values[i] = hd_emit_without_negative_zero(e, &to, convert(e, s, factor, kept + HALVES * i));
  return hd_emit_permute(e, codes[0], codes[1], HD_LOW_HALVES);
}

static heddle_status find_strip(hd_emitter *e, const hd_op *op, strip *s) {
  *s = (strip){.op = op, .elem = hd_op_elem(op, HD_ATTR_TYPE),
               .from = hd_op_elem(op, op->kind == HD_OP_QUANTIZE_PACK ? HD_ATTR_B_TYPE
                                                                      : HD_ATTR_TYPE),
               .row = hd_emit_get1(e, hd_prune_pack_row(op)),
               .k_block = hd_emit_get1(e, hd_prune_pack_k_block(op)),
               .m = hd_emit_get1(e, hd_prune_pack_m(op)),
               .k = hd_emit_get1(e, hd_prune_pack_k(op))};
  if (!hd_ranking_find(s->from, &s->rank))
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.prune-pack",
                    "got %s; legal: sparse types of one element in whole bytes; nearest: %s",
                    heddle_elem_get(s->from)->name,
                    heddle_elem_get(s->from)->kind == HEDDLE_FLOAT ? "e4m3" : "s8");
  int64_t vec = hd_op_int(op, HD_ATTR_VEC, 1), bytes = s->rank.bits / 8;
  if (vec < bytes || (hd_op_has(op, HD_ATTR_TRANS) && vec > bytes))
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.prune-pack",
                    "got vec = %lld of elements of %lld bytes; legal: %s; nearest: %lld",
                    (long long)vec, (long long)bytes,
                    vec < bytes ? "whole elements" : "with trans one element", (long long)bytes);
  bool twin = op->kind != HD_OP_QUANTIZE_PACK && hd_prune_pack_twin(op);
  if (twin && (bytes != 2 || hd_op_has(op, HD_ATTR_TRANS)))
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.prune-pack",
                    "got a twin of %s%s; legal: elements of 16 bits without trans; nearest: bf16",
                    heddle_elem_get(s->elem)->name,
                    hd_op_has(op, HD_ATTR_TRANS) ? " with trans" : "");
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  s->g = hd_emit_divi(e, e->lane, 4);
  s->q = hd_emit_remi(e, e->lane, 4);
  hd_emit_return_from_entry(e, here);
  return HEDDLE_OK;
}

/* i1: the k-block exists. Warp-uniform. */
static LLVMValueRef is_in_k(hd_emitter *e, const strip *s) {
  return hd_emit_lt(e, hd_emit_muli(e, s->k_block, hd_k_block_size(s->elem)), s->k);
}

/* Prunes the strip, and the twin's part of it if there is one, and stores both. */
static void pack_strip(hd_emitter *e, const strip *s, LLVMValueRef w[ROWS][WORDS]) {
  LLVMValueRef transposed[ROWS][WORDS];
  target own = find_target(e, s);
  prune_and_store(e, s, &own, w);
  if (!hd_prune_pack_twin(s->op))
    return;
  target twin = find_twin(e, s, &own);
  transpose(e, w, transposed);
  prune_and_store(e, s, &twin, transposed);
}

heddle_status hd_emit_op_prune_pack(hd_emitter *e, const hd_op *op) {
  strip s;
  HD_TRY(find_strip(e, op, &s));
  LLVMBasicBlockRef join = hd_emit_if(e, is_in_k(e, &s), "in_k");
  LLVMValueRef w[ROWS][WORDS], mask[ROWS][TILES];
  for (int h = 0; h < ROWS; h++)
    load_row(e, &s, h, w[h]);
  if (hd_prune_pack_mask(op)) {
    hd_emit_prune_two_way(e, s.elem, w, mask);
    store_mask(e, &s, mask);
    s.rank.is_pruned = true;
  }
  pack_strip(e, &s, w);
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_mask_pack(hd_emitter *e, const hd_op *op) {
  strip s;
  HD_TRY(find_strip(e, op, &s));
  LLVMBasicBlockRef join = hd_emit_if(e, is_in_k(e, &s), "in_k");
  LLVMValueRef w[ROWS][WORDS];
  for (int h = 0; h < ROWS; h++)
    load_row(e, &s, h, w[h]);
  apply_mask(e, &s, w);
  pack_strip(e, &s, w);
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_twin_codes(hd_emitter *e, const hd_op *op) {
  heddle_elem elem = hd_op_elem(op, HD_ATTR_TYPE);
  LLVMValueRef row = hd_emit_get1(e, hd_twin_codes_row(op));
  LLVMValueRef k_block = hd_emit_get1(e, hd_twin_codes_k_block(op));
  LLVMValueRef before = hd_emit_muli(e, k_block, hd_k_block_size(elem));
  LLVMValueRef in_k = hd_emit_lt(e, before, hd_emit_get1(e, hd_twin_codes_k(op)));
  LLVMBasicBlockRef join = hd_emit_if(e, in_k, "in_k");
  LLVMValueRef share = hd_emit_remi(e, hd_emit_divi(e, row, HD_STRIP_ROWS), HD_SLAB_STRIPS);
  LLVMValueRef offset = hd_emit_add(e, hd_emit_muli(e, share, HD_META_STRIP_BYTES),
                                    hd_emit_muli(e, e->lane, HD_WORD_BYTES));
  LLVMValueRef slot =
      hd_emit_slot_at(e, hd_twin_codes_codes(op), hd_emit_get1(e, hd_twin_codes_slot(op)));
  LLVMValueRef g = hd_emit_divi(e, e->lane, 4), q = hd_emit_remi(e, e->lane, 4);
  LLVMValueRef at = hd_emit_add(e, slot, find_word(e, q, share, g));
  LLVMValueRef word =
      hd_emit_asm(e, e->i32, "ld.shared.b32 $0, [$1];", "=r,r", &at, 1, HD_ASM_MEMORY);
  LLVMValueRef twin = hd_emit_get1(e, hd_twin_codes_twin(op));
  target to = {.block = find_block(e, elem, twin, k_block, hd_emit_divi(e, row, HD_SLAB_ROWS),
                                   hd_emit_get1(e, hd_twin_codes_m(op)))};
  hd_emit_put_words(e, place(e, &to, offset, HD_BLOCK_VALUE_BYTES), &word, 1);
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}

static heddle_status check_types(hd_emitter *e, const hd_op *op) {
  heddle_elem elem = hd_op_elem(op, HD_ATTR_TYPE), from = hd_op_elem(op, HD_ATTR_B_TYPE);
  bool legal = (elem == HEDDLE_E4M3 || elem == HEDDLE_E5M2) &&
               (from == HEDDLE_BF16 || from == HEDDLE_F16) && hd_emit_can_store(e, elem);
  if (legal)
    return HEDDLE_OK;
  return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.quantize-pack",
                  "got %s from %s on %s; legal: e4m3 or e5m2 from bf16 or f16, from sm_89 on; "
                  "nearest: e4m3 from bf16 on sm_89",
                  heddle_elem_get(elem)->name, heddle_elem_get(from)->name, e->target->name);
}

heddle_status hd_emit_op_quantize_pack(hd_emitter *e, const hd_op *op) {
  strip s;
  HD_TRY(check_types(e, op));
  HD_TRY(find_strip(e, op, &s));
  LLVMBasicBlockRef join = hd_emit_if(e, is_in_k(e, &s), "in_k");
  LLVMValueRef w[ROWS][HALVES * WORDS], factor[ROWS], values[ROWS][VALUES], codes[ROWS];
  for (int h = 0; h < ROWS; h++) {
    load_row(e, &s, h, w[h]);
    factor[h] = find_factor(e, &s, h);
  }
  for (int h = 0; h < ROWS; h++)
    codes[h] = quantize(e, &s, factor[h], w[h], values[h]);
  target own = find_target(e, &s);
  store_values(e, &own, values);
  store_codes(e, &s, &own, codes);
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}
