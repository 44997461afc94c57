/* A column-major C of 16-bit types: 4 bytes at a time, two rows of a column, which movmatrix turns
 * into two columns of a row. It is the reverse of the store of a column-major D.
 *
 * Of block b, half h, lane 4g + q loads rows 8h + 2q and 8h + 2q + 1 of column g. After movmatrix
 * it has columns 2q and 2q + 1 of row 8h + g, as in the accumulators. movmatrix waits for the load;
 * so it comes when the element is needed, and other loads are in flight until then. */
#include "Emit/emit_strip.h"

enum { BLOCK = 8, QUAD = 4, BYTES = 2 };

void hd_emit_open_c_words(hd_emitter *e, hd_strip *s) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef column = hd_emit_divi(e, e->lane, QUAD);
  LLVMValueRef row = hd_emit_muli(e, hd_emit_remi(e, e->lane, QUAD), 2);
  hd_emit_return_from_entry(e, here);
  LLVMValueRef across = hd_emit_mul(e, hd_emit_widen(e, column), s->c.ld_bytes);
  LLVMValueRef along = hd_emit_widen(e, hd_emit_muli(e, row, BYTES));
  LLVMValueRef address = LLVMBuildPtrToInt(e->b, s->c.origin, e->i64, "");
  LLVMValueRef low = hd_emit_and(e, LLVMBuildOr(e->b, address, s->c.ld_bytes, ""),
                                 hd_emit_i64(e, 2 * BYTES - 1));
  hd_c_words *c = HD_NEW(&e->arena, hd_c_words);
  c->at = hd_emit_global_at(e, s->c.origin, hd_emit_add(e, across, along));
  c->columns_left = hd_emit_sub(e, s->n, hd_emit_add(e, s->col0, column));
  LLVMValueRef aligned = hd_emit_eqi(e, low, 0);
  LLVMValueRef rows_left = hd_emit_sub(e, s->m, hd_emit_add(e, s->row0, row));
  for (int h = 0; h < 2; h++) {
    LLVMValueRef first = hd_emit_lt(e, hd_emit_i32(e, BLOCK * h), rows_left);
    LLVMValueRef second = hd_emit_lt(e, hd_emit_i32(e, BLOCK * h + 1), rows_left);
    c->both[h] = hd_emit_and(e, aligned, second);
    LLVMValueRef alone = LLVMBuildNot(e->b, c->both[h], "");
    c->each[h][0] = hd_emit_and(e, first, alone);
    c->each[h][1] = hd_emit_and(e, second, alone);
  }
  s->c_words = c;
}

void hd_emit_read_c_words(hd_emitter *e, const hd_strip *s, int32_t b, LLVMValueRef words[2]) {
  const hd_c_words *c = s->c_words;
  LLVMValueRef inside = hd_emit_lt(e, hd_emit_i32(e, BLOCK * b), c->columns_left);
  LLVMValueRef before = hd_emit_muli(e, s->c.ld_bytes, BLOCK * b);
  LLVMValueRef at = hd_emit_global_at(e, c->at, before);
  for (int h = 0; h < 2; h++) {
    int bytes = h * BLOCK * BYTES;
    LLVMValueRef args[] = {at, hd_emit_and(e, inside, c->both[h]),
                           hd_emit_and(e, inside, c->each[h][0]),
                           hd_emit_and(e, inside, c->each[h][1])};
    const char *text = hd_arena_printf(
        &e->arena,
        "{ .reg .b16 lo, hi;\n\tmov.b16 lo, 0;\n\tmov.b16 hi, 0;\n\t"
        "@$3 ld.global.b16 lo, [$1+%d];\n\t@$4 ld.global.b16 hi, [$1+%d];\n\t"
        "mov.b32 $0, {lo, hi};\n\t@$2 ld.global.b32 $0, [$1+%d]; }",
        bytes, bytes + BYTES, bytes);
    words[h] = hd_emit_asm(e, e->i32, text, "=&r,l,b,b,b", args, 4, HD_ASM_MEMORY);
  }
}

void hd_emit_take_c_words(hd_emitter *e, const hd_strip *s, LLVMValueRef word,
                          LLVMValueRef out[2]) {
  hd_emit_word_elements(e, s->c.elem, hd_emit_movmatrix(e, word), s->integer, out);
}
