/* The 16 consecutive bytes that each lane of a quad gets of a row of D, from the pairs that it
 * holds. The four lanes have a *group* of 64 bytes. */
#include "Emit/emit_strip.h"

int32_t hd_quad_blocks(const hd_strip *s) {
  enum { BLOCK = 8 };
  return HD_QUAD_BYTES / BLOCK / (int32_t)s->d.bytes;
}

/* 16-bit types, 4 blocks: after the transpose lane q holds all 8 columns of block q. */
static void quad_16(hd_emitter *e, int h, const hd_pair *pair, LLVMValueRef w[4]) {
  for (int i = 0; i < 4; i++)
    w[i] = pair[2 * i + h].v[0];
  hd_emit_transpose_quad(e, w);
}

void hd_emit_sort_halves(hd_emitter *e, const LLVMValueRef w[4], LLVMValueRef sorted[4]) {
  for (int i = 0; i < 4; i++)
    sorted[i] = hd_emit_permute(e, w[i % 2 * 2], w[i % 2 * 2 + 1],
                                i < 2 ? HD_LOW_HALVES : HD_HIGH_HALVES);
}

/* 8-bit types, 8 blocks: word i has a pair of block 2i (low) and one of 2i + 1. */
static void join_pairs(hd_emitter *e, const hd_pair *pair, int h, LLVMValueRef w[4]) {
  for (int i = 0; i < 4; i++) {
    LLVMValueRef low = LLVMBuildZExt(e->b, pair[4 * i + h].v[0], e->i32, "");
    LLVMValueRef high = LLVMBuildZExt(e->b, pair[4 * i + 2 + h].v[0], e->i32, "");
    w[i] = hd_emit_permute(e, low, high, HD_LOW_HALVES);
  }
}

/* 8-bit types: after the transpose lane q has the words of all four lanes for blocks 2q and 2q + 1:
 * their 16 columns, which are then sorted. */
static void quad_8(hd_emitter *e, int h, const hd_pair *pair, LLVMValueRef w[4]) {
  LLVMValueRef joined[4];
  join_pairs(e, pair, h, joined);
  hd_emit_transpose_quad(e, joined);
  hd_emit_sort_halves(e, joined, w);
}

/* 32-bit types, 2 blocks: lanes 2i and 2i + 1 exchange pairs, so that each holds 4 columns: the
 * even lane of block 0, the odd lane of block 1. */
static void quad_32(hd_emitter *e, int h, const hd_pair *pair, LLVMValueRef w[4]) {
  for (int i = 0; i < 4; i++)
    w[i] = pair[i / 2 * 2 + h].v[i % 2];
  hd_emit_trade_pairs(e, w);
}

/* The blocks of a run: this lane's words are already consecutive. */
static void permuted(hd_emitter *e, const hd_strip *s, int h, const hd_pair *pair,
                     LLVMValueRef w[4]) {
  if (s->d.bytes == 1)
    join_pairs(e, pair, h, w);
  for (int i = 0; i < 4 && s->d.bytes > 1; i++)
    w[i] = s->d.bytes == 2 ? pair[2 * i + h].v[0] : pair[i / 2 * 2 + h].v[i % 2];
}

void hd_emit_row_words(hd_emitter *e, const hd_strip *s, int h, const hd_pair *pair,
                       LLVMValueRef w[4]) {
  if (s->run > 2)
    permuted(e, s, h, pair, w);
  else if (s->d.bytes == 1)
    quad_8(e, h, pair, w);
  else if (s->d.bytes == 2)
    quad_16(e, h, pair, w);
  else
    quad_32(e, h, pair, w);
}

/* Where this lane's 16 bytes begin, from its first element. The lanes have them in lane order, but
 * quad_32 gives lanes 1 and 2 the other order: they begin at column (q & 1) * 8 + (q & 2) * 2. */
static LLVMValueRef words_after_element(hd_emitter *e, const hd_strip *s) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef q = hd_emit_remi(e, e->lane, 4), odd = hd_emit_remi(e, e->lane, 2);
  LLVMValueRef bytes = s->d.bytes == 4 ? hd_emit_muli(e, odd, 24)
                                       : hd_emit_muli(e, q, 16 - 2 * s->d.bytes);
  bytes = hd_emit_widen(e, bytes);
  hd_emit_return_from_entry(e, here);
  return bytes;
}

hd_place hd_emit_place_of_words(hd_emitter *e, const hd_strip *s, int32_t b, int h) {
  hd_place at = hd_emit_place(e, s, &s->d, b, h, 0);
  if (s->run == 2)
    at.ptr = hd_emit_global_at(e, at.ptr, words_after_element(e, s));
  return at;
}
