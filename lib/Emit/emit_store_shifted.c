/* The stores of row-major strips, of 1- or 2-byte elements, that are not aligned or cross an edge
 * of D. The bytes of a row are shifted across the lanes of a quad, so that all stores but the row's
 * first and last are of 16 bytes at aligned addresses.
 *
 * A *chunk* is 16 bytes at an aligned address. The row's first byte is in chunk 0, `skip` bytes
 * from its beginning. A *group* is 64 bytes of the row; lane q of a quad holds 16 q to 16 q + 15.
 * From group g and the last 16 bytes of group g - 1, lane q computes chunk 4 g + q. */
#include <string.h>

#include "Emit/emit_strip.h"

enum { QUAD = 4, CHUNK = 16, BLOCK = 8 };

/* What all groups of a half of the strip have in common, for each lane. */
typedef struct row_shift {
  LLVMValueRef q;                     /* the lane of its quad */
  LLVMValueRef address;               /* i64: of chunk 0 */
  LLVMValueRef skip, end;             /* the row's bytes, counted from there: skip to end - 1 */
  LLVMValueRef to_last;               /* from chunk q to the chunk of byte `end` */
  LLVMValueRef by_one, by_two, bytes; /* shift by a word; by two words; selector of prmt */
} row_shift;

/* A word of lane `from` of this quad. */
static LLVMValueRef from_lane(hd_emitter *e, LLVMValueRef word, LLVMValueRef from) {
  LLVMValueRef quad = hd_emit_and(e, e->lane, hd_emit_i32(e, -QUAD));
  return hd_emit_shfl_from(e, word, LLVMBuildOr(e->b, quad, from, ""));
}

static row_shift begin_rows(hd_emitter *e, const hd_strip *s, int32_t first, int32_t end, int h) {
  row_shift r;
  LLVMValueRef none = hd_emit_i32(e, 0);
  r.q = hd_emit_remi(e, e->lane, QUAD);
  hd_place at = hd_emit_place(e, s, &s->d, first, h, 0);
  LLVMValueRef before = hd_emit_widen(e, hd_emit_muli(e, r.q, s->run * s->d.bytes));
  LLVMValueRef address = LLVMBuildPtrToInt(e->b, at.ptr, e->i64, "");
  address = hd_emit_sub(e, hd_emit_addi(e, address, at.bytes), before);
  r.address = hd_emit_and(e, address, hd_emit_i64(e, -CHUNK));
  r.skip = LLVMBuildTrunc(e->b, hd_emit_sub(e, address, r.address), e->i32, "");
  LLVMValueRef columns = hd_emit_addi(e, hd_emit_sub(e, s->n, s->col0), -BLOCK * first);
  columns = hd_emit_max(e, none, hd_emit_min(e, columns, hd_emit_i32(e, BLOCK * (end - first))));
  columns = hd_emit_select(e, s->row_ok[h], columns, none);
  r.end = hd_emit_add(e, r.skip, hd_emit_muli(e, columns, s->d.bytes));
  r.to_last = hd_emit_sub(e, hd_emit_divi(e, r.end, CHUNK), r.q);
  LLVMValueRef words = hd_emit_divi(e, r.skip, 4);
  r.by_one = LLVMBuildTrunc(e->b, words, e->i1, "");
  r.by_two = LLVMBuildTrunc(e->b, hd_emit_divi(e, words, 2), e->i1, "");
  LLVMValueRef bytes = hd_emit_muli(e, hd_emit_remi(e, r.skip, 4), 0x1111);
  r.bytes = hd_emit_sub(e, hd_emit_i32(e, 0x7654), bytes);
  return r;
}

/* A word of the 16 bytes before this lane's: lane 0 gets that of lane 3 in the group before. */
static LLVMValueRef word_before(hd_emitter *e, const row_shift *r, LLVMValueRef old,
                                LLVMValueRef own) {
  LLVMValueRef given = hd_emit_select(e, hd_emit_eqi(e, r->q, QUAD - 1), old, own);
  LLVMValueRef from = hd_emit_remi(e, hd_emit_addi(e, r->q, QUAD - 1), QUAD);
  return from_lane(e, given, from);
}

/* out: the lane's chunk, of the last `skip` bytes of `before` and the first 16 - skip of `own`. */
static void shift_words(hd_emitter *e, const row_shift *r, LLVMValueRef const before[4],
                        LLVMValueRef const own[4], LLVMValueRef out[4]) {
  LLVMValueRef all[8], once[8], twice[5];
  for (int i = 0; i < 8; i++)
    all[i] = i < 4 ? before[i] : own[i - 4];
  for (int i = 1; i < 8; i++)
    once[i] = hd_emit_select(e, r->by_one, all[i - 1], all[i]);
  for (int i = 0; i < 5; i++)
    twice[i] = hd_emit_select(e, r->by_two, once[1 + i], once[3 + i]);
  for (int i = 0; i < 4; i++)
    out[i] = hd_emit_permute_by(e, twice[i], twice[1 + i], r->bytes);
}

/* Stores the bytes `low` to `high` - 1 of the chunk at `address`, which lane `from` of the quad
 * holds, an element at a time. Lane q stores those of word q. */
static void store_part(hd_emitter *e, const hd_strip *s, LLVMValueRef const chunk[4],
                       LLVMValueRef from, LLVMValueRef address, LLVMValueRef low,
                       LLVMValueRef high) {
  LLVMValueRef q = hd_emit_remi(e, e->lane, QUAD), word = NULL;
  for (int i = 0; i < 4; i++) {
    LLVMValueRef w = from_lane(e, chunk[i], from);
    word = i ? hd_emit_select(e, hd_emit_eqi(e, q, i), w, word) : w;
  }
  LLVMValueRef at = hd_emit_muli(e, q, 4);
  address = hd_emit_add(e, address, hd_emit_widen(e, at));
  LLVMValueRef ptr = LLVMBuildIntToPtr(e->b, address, LLVMTypeOf(s->d.base), "");
  LLVMTypeRef type = s->d.bytes == 1 ? e->i8 : e->i16;
  for (int32_t i = 0; i < 4; i += (int32_t)s->d.bytes) {
    LLVMValueRef byte = hd_emit_addi(e, at, i);
    LLVMValueRef is_in = LLVMBuildNot(e->b, hd_emit_lt(e, byte, low), "");
    is_in = hd_emit_and(e, is_in, hd_emit_lt(e, byte, high));
    LLVMValueRef x = LLVMBuildLShr(e->b, word, hd_emit_i32(e, 8 * i), "");
    x = LLVMBuildTrunc(e->b, x, type, "");
    hd_emit_put_words(e, (hd_place){ptr, i, is_in}, &x, 1);
  }
}

/* The words of group `g` of a half; zeros for blocks that do not exist. */
static void group_words(hd_emitter *e, const hd_strip *s, int32_t n_blocks, int32_t g, int h,
                        const hd_pair *pair, LLVMValueRef w[4]) {
  hd_pair have[2 * BLOCK];
  int32_t each = hd_quad_blocks(s);
  for (int32_t i = 0; i < 2 * each; i++) {
    bool is_there = each * g + i / 2 < n_blocks;
    have[i] = is_there ? pair[2 * each * g + i] : pair[h];
    for (int32_t j = 0; j < have[i].n && !is_there; j++)
      have[i].v[j] = LLVMConstNull(LLVMTypeOf(pair[h].v[j]));
  }
  hd_emit_row_words(e, s, h, have, w);
}

/* What is left of a row after its whole chunks: its first bytes in chunk 0, unless that is whole,
 * and its last bytes. If it ends in chunk 0, those are the same bytes, and are stored twice. */
static void store_first(hd_emitter *e, const hd_strip *s, const row_shift *r,
                        LLVMValueRef const chunk[4]) {
  LLVMValueRef none = hd_emit_i32(e, 0);
  LLVMValueRef end = hd_emit_min(e, r->end, hd_emit_i32(e, CHUNK));
  end = hd_emit_select(e, hd_emit_eqi(e, r->skip, 0), none, end);
  store_part(e, s, chunk, none, r->address, r->skip, end);
}

static void store_last(hd_emitter *e, const hd_strip *s, const row_shift *r,
                       LLVMValueRef const chunk[4]) {
  LLVMValueRef at = hd_emit_and(e, r->end, hd_emit_i32(e, -CHUNK));
  LLVMValueRef low = hd_emit_select(e, hd_emit_eqi(e, at, 0), r->skip, hd_emit_i32(e, 0));
  LLVMValueRef from = hd_emit_remi(e, hd_emit_divi(e, r->end, CHUNK), QUAD);
  LLVMValueRef address = hd_emit_add(e, r->address, hd_emit_widen(e, at));
  store_part(e, s, chunk, from, address, low, hd_emit_remi(e, r->end, CHUNK));
}

/* Chunk 4 g + q, if it is whole. */
static void store_chunk(hd_emitter *e, const hd_strip *s, const row_shift *r, int32_t g,
                        LLVMValueRef const chunk[4]) {
  LLVMValueRef before = hd_emit_widen(e, hd_emit_muli(e, r->q, CHUNK));
  LLVMValueRef address = hd_emit_add(e, r->address, before);
  LLVMValueRef ptr = LLVMBuildIntToPtr(e->b, address, LLVMTypeOf(s->d.base), "");
  LLVMValueRef is_whole = hd_emit_lt(e, hd_emit_i32(e, QUAD * g), r->to_last);
  if (g == 0) {
    LLVMValueRef skip = hd_emit_select(e, hd_emit_eqi(e, r->q, 0), r->skip, hd_emit_i32(e, 0));
    is_whole = hd_emit_and(e, is_whole, hd_emit_eqi(e, skip, 0));
  }
  hd_emit_put_words(e, (hd_place){ptr, g * HD_QUAD_BYTES, is_whole}, chunk, 4);
}

/* Half h of the strip. */
static void store_rows(hd_emitter *e, const hd_strip *s, int32_t first, int32_t end, int h,
                       const hd_pair *pair) {
  row_shift r = begin_rows(e, s, first, end, h);
  LLVMValueRef none = hd_emit_i32(e, 0);
  LLVMValueRef own[4] = {none, none, none, none}, last[4] = {none, none, none, none};
  int32_t each = hd_quad_blocks(s), n_groups = (end - first + each - 1) / each;
  for (int32_t g = 0; g <= n_groups; g++) {
    LLVMValueRef old[4], before[4], chunk[4];
    memcpy(old, own, sizeof old);
    if (g < n_groups)
      group_words(e, s, end - first, g, h, pair, own);
    for (int i = 0; i < 4; i++)
      before[i] = word_before(e, &r, old[i], own[i]);
    shift_words(e, &r, before, own, chunk);
    if (g == 0)
      store_first(e, s, &r, chunk);
    if (g < n_groups) /* of the chunk after the last group the row has no more than a part */
      store_chunk(e, s, &r, g, chunk);
    LLVMValueRef is_last = hd_emit_eqi(e, r.to_last, QUAD * g);
    for (int i = 0; i < 4; i++)
      last[i] = hd_emit_select(e, is_last, chunk[i], last[i]);
  }
  store_last(e, s, &r, last);
}

void hd_emit_store_shifted(hd_emitter *e, const hd_strip *s, int32_t first, int32_t end,
                           const hd_pair *pair) {
  for (int h = 0; h < s->halves; h++)
    store_rows(e, s, first, end, h, pair);
}
