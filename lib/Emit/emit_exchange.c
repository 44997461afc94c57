/* Exchanges registers between lanes, so that stores become wide. */
#include "Emit/emit_strip.h"

/* i1: bit `bit` of the lane index, computed at the role's entry. */
static LLVMValueRef lane_bit(hd_emitter *e, int bit) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef shifted = LLVMBuildLShr(e->b, e->lane, hd_emit_i32(e, bit), "");
  LLVMValueRef set = LLVMBuildTrunc(e->b, shifted, e->i1, "");
  hd_emit_return_from_entry(e, here);
  return set;
}

/* Lanes that differ in `mask` exchange a word: the lane whose bit is set keeps y and sends x, the
 * other keeps x and sends y. *x is then the word of the lane without the bit, *y the other's. */
static void trade(hd_emitter *e, LLVMValueRef set, int32_t mask, LLVMValueRef *x, LLVMValueRef *y) {
  LLVMValueRef given = hd_emit_select(e, set, *x, *y);
  LLVMValueRef taken = hd_emit_shfl_xor(e, given, mask);
  LLVMValueRef kept_y = *y;
  *y = hd_emit_select(e, set, kept_y, taken);
  *x = hd_emit_select(e, set, taken, *x);
}

/* Two rounds of a 4x4 transpose among the lanes that differ in bits `bit` and `bit` + 1: 2x2 blocks
 * inside lane pairs, then between them. */
static void transpose(hd_emitter *e, int bit, LLVMValueRef w[4]) {
  LLVMValueRef odd = lane_bit(e, bit), high = lane_bit(e, bit + 1);
  trade(e, odd, 1 << bit, &w[0], &w[1]);
  trade(e, odd, 1 << bit, &w[2], &w[3]);
  trade(e, high, 2 << bit, &w[0], &w[2]);
  trade(e, high, 2 << bit, &w[1], &w[3]);
}

void hd_emit_transpose_quad(hd_emitter *e, LLVMValueRef w[4]) { transpose(e, 0, w); }

void hd_emit_transpose_quads(hd_emitter *e, LLVMValueRef w[4]) { transpose(e, 2, w); }

void hd_emit_trade_pairs(hd_emitter *e, LLVMValueRef w[4]) {
  LLVMValueRef odd = lane_bit(e, 0);
  trade(e, odd, 1, &w[0], &w[2]);
  trade(e, odd, 1, &w[1], &w[3]);
}

LLVMValueRef hd_emit_movmatrix(hd_emitter *e, LLVMValueRef word) {
  return hd_emit_asm(e, e->i32, "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r", &word, 1,
                     HD_ASM_VOLATILE);
}
