/* Sums of a k-block, scaled, to those of others: FFMAs between a wgmma batch and the next. */
#include "Emit/emit_pinned.h"

enum { BLOCK = 8, ELEMS = 4, QUAD = 4, SCALE_BYTES = 4, STRIP_APART = 64 };

/* What a promote works on: fragments 0 to n - 1 are sums, the others their parts. */
typedef struct promotion {
  const hd_op *op;
  int32_t n, blocks; /* strips; blocks of 8 columns of each */
  int64_t rows, run;
  LLVMValueRef at_a, at_b; /* this lane's first scales (i32 addresses) */
} promotion;

static LLVMValueRef load(hd_emitter *e, LLVMValueRef at, int64_t offset, LLVMTypeRef type,
                         unsigned align) {
  LLVMValueRef ptr = hd_emit_shared_ptr(e, hd_emit_addi(e, at, offset), HD_AS_SHARED);
  LLVMValueRef value = LLVMBuildLoad2(e->b, type, ptr, "");
  LLVMSetAlignment(value, align);
  return value;
}

static LLVMValueRef slot_of(hd_emitter *e, const hd_op *op, const hd_value *buffer) {
  return hd_emit_slot(e, buffer, hd_promote_cursor(op),
                      hd_op_int(hd_emit_def(buffer), HD_ATTR_BYTES, 0));
}

/* Lane 4g + q has rows g and g + 8 of a strip, and in block j columns 8j + 2q and the next one; of
 * run order columns run * q + 2j and the next one of each 4 * run. */
static void find_lane(hd_emitter *e, promotion *p) {
  const hd_op *op = p->op;
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef row = hd_emit_divi(e, e->lane, QUAD);
  int64_t apart = (p->run ? p->run : 2) * SCALE_BYTES;
  LLVMValueRef column = hd_emit_muli(e, hd_emit_remi(e, e->lane, QUAD), apart);
  hd_emit_return_from_entry(e, here);
  LLVMValueRef first = hd_emit_get1(e, hd_promote_row(op));
  if (p->rows == 1)
    first = hd_emit_add(e, first, row);
  p->at_a = slot_of(e, op, hd_promote_scale_a(op));
  if (p->rows == 1)
    p->at_a = hd_emit_add(e, p->at_a, hd_emit_muli(e, first, SCALE_BYTES));
  p->at_b = hd_emit_add(e, slot_of(e, op, hd_promote_scale_b(op)), column);
}

/* The scales of A of strip i's rows g and g + 8: one value where they share it. */
static void load_a(hd_emitter *e, const promotion *p, int32_t i, LLVMValueRef scale[2]) {
  if (p->rows == 1) {
    for (int h = 0; h < 2; h++)
      scale[h] = load(e, p->at_a, (i * STRIP_APART + h * BLOCK) * SCALE_BYTES, e->f32, SCALE_BYTES);
    return;
  }
  LLVMValueRef row = hd_emit_addi(e, hd_emit_get1(e, hd_promote_row(p->op)), i * STRIP_APART);
  LLVMValueRef at = hd_emit_muli(e, hd_emit_divi(e, row, p->rows), SCALE_BYTES);
  scale[0] = scale[1] = load(e, hd_emit_add(e, p->at_a, at), 0, e->f32, SCALE_BYTES);
}

/* The offset of block j's two scales of B from the lane's first, in scales. */
static int64_t columns_at(const promotion *p, int32_t j) {
  if (!p->run)
    return (int64_t)j * BLOCK;
  int64_t columns = QUAD * p->run, blocks = columns / BLOCK;
  return j / blocks * columns + j % blocks * 2;
}

/* Scales of B of all blocks: by pairs, of run order by fours. */
static void load_b(hd_emitter *e, const promotion *p, LLVMValueRef *scale) {
  int32_t each = p->run ? 2 : 1;
  unsigned n = 2 * (unsigned)each;
  LLVMTypeRef type = LLVMVectorType(e->f32, n);
  for (int32_t j = 0; j < p->blocks; j += each) {
    LLVMValueRef all = load(e, p->at_b, columns_at(p, j) * SCALE_BYTES, type, n * SCALE_BYTES);
    for (unsigned i = 0; i < n; i++)
      scale[2 * j + (int32_t)i] = LLVMBuildExtractElement(e->b, all, hd_emit_i32(e, i), "");
  }
}

/* The four elements of a block: columns 0 and 1 of row g, then of row g + 8. */
static void add_pinned(hd_emitter *e, int32_t sum, int32_t part, LLVMValueRef const by[ELEMS]) {
  hd_strbuf text = {0};
  for (int32_t x = 0; x < ELEMS; x++)
    hd_strbuf_printf(&text,
                     "fma.rn.f32 " HD_PINNED_REGISTER ", " HD_PINNED_REGISTER
                     ", $%d, " HD_PINNED_REGISTER ";%s",
                     (int)(sum + x), (int)(part + x), (int)x, (int)(sum + x),
                     x + 1 < ELEMS ? "\n\t" : "");
  hd_emit_asm(e, e->none, hd_arena_strdup(&e->arena, hd_strbuf_text(&text)), "f,f,f,f", by, ELEMS,
              HD_ASM_VOLATILE);
  hd_strbuf_free(&text);
}

/* Strip i, whose registers stay where they are if LLVM has not seen them. */
static void promote_strip(hd_emitter *e, const promotion *p, int32_t i,
                          LLVMValueRef const *scale_b) {
  const hd_value *sum = hd_promote_parts(p->op)[i], *part = hd_promote_parts(p->op)[p->n + i];
  int32_t pinned = hd_emit_pinned_of(e, sum), pinned_part = hd_emit_pinned_of(e, part);
  bool stays = pinned != HD_NOT_PINNED && pinned_part != HD_NOT_PINNED;
  LLVMValueRef scale_a[2], by[ELEMS];
  LLVMValueRef *x = stays ? NULL : hd_emit_get(e, sum, NULL);
  LLVMValueRef *y = stays ? NULL : hd_emit_get(e, part, NULL);
  LLVMValueRef *to = HD_NEW_ARRAY(&e->arena, LLVMValueRef, ELEMS * p->blocks);
  load_a(e, p, i, scale_a);
  for (int32_t j = 0; j < p->blocks; j++) {
    for (int32_t r = 0; r < ELEMS; r++)
      by[r] = r >= 2 && p->rows > 1
                  ? by[r - 2]
                  : LLVMBuildFMul(e->b, scale_a[r / 2], scale_b[2 * j + r % 2], "");
    if (stays)
      add_pinned(e, pinned + j * ELEMS, pinned_part + j * ELEMS, by);
    for (int32_t r = 0; r < ELEMS && !stays; r++)
      to[j * ELEMS + r] = hd_emit_fma(e, y[j * ELEMS + r], by[r], x[j * ELEMS + r]);
  }
  if (stays)
    return;
  hd_emit_set(e, p->op->results[i], to, ELEMS * p->blocks);
  hd_emit_set(e, p->op->results[p->n + i], y, ELEMS * p->blocks);
}

heddle_status hd_emit_op_promote(hd_emitter *e, const hd_op *op) {
  promotion p = {.op = op,
                 .n = hd_promote_n_parts(op) / 2,
                 .blocks = hd_promote_parts(op)[0]->type.n / ELEMS,
                 .rows = hd_op_int(op, HD_ATTR_ROWS, 1),
                 .run = hd_op_int(op, HD_ATTR_RUN, 0)};
  for (int32_t i = 0; i < p.n; i++) {
    bool sum = hd_emit_pinned_of(e, hd_promote_parts(op)[i]) != HD_NOT_PINNED;
    bool part = hd_emit_pinned_of(e, hd_promote_parts(op)[p.n + i]) != HD_NOT_PINNED;
    if (sum != part)
      return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.promote",
                      "sums and parts of which one is read by other ops, too; legal: both carried "
                      "by the loop alone, or neither");
  }
  LLVMValueRef *scale_b = HD_NEW_ARRAY(&e->arena, LLVMValueRef, 2 * p.blocks);
  find_lane(e, &p);
  load_b(e, &p, scale_b);
  for (int32_t i = 0; i < p.n; i++)
    promote_strip(e, &p, i, scale_b);
  return HEDDLE_OK;
}
