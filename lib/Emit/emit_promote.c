/* Promotion: adds the scaled sums of a k-block to the total, by FFMAs between wgmma batches. */
#include "Emit/emit_pinned.h"

enum { BLOCK = 8, ELEMS = 4, QUAD = 4, SCALE_BYTES = 4, WIDEST = 4, STRIP_APART = 64 };
/* Registers per thread besides sums, parts and scales (for the loop; for each strip but one), and
 * the default of max_registers. */
enum { OTHER_REGISTERS = 24, STRIP_REGISTERS = 4, MAX_REGISTERS = 232 };

/* The state of a promote: fragments 0 to n - 1 are the sums, the others the parts to add. */
typedef struct hd_promotion {
  const hd_op *op;
  int32_t n, blocks; /* strips; blocks of 8 columns of each */
  int32_t read;      /* blocks whose scales of B were read */
  int64_t rows, run;
  bool inside; /* the first column may be any scale of the slot */
  LLVMValueRef at_a, at_b;    /* this lane's first scales (i32 addresses) */
  LLVMValueRef (*scale_a)[2]; /* of each strip's rows g and g + 8 */
  LLVMValueRef *scale_b;      /* two per block */
  bool multiplied;            /* scale_b includes scale_a: one strip, whose rows share a scale */
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

/* Lane 4g + q has rows g and g + 8 of a strip, and in block j columns 8j + 2q and the next one. In
 * run order: columns run * q + 2j and the next one of each 4 * run columns. */
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
  LLVMValueRef inside = hd_emit_get1(e, hd_promote_column(op));
  p->inside = !LLVMIsConstant(inside) || LLVMConstIntGetZExtValue(inside) % WIDEST;
  p->at_b = hd_emit_add(e, p->at_b, hd_emit_muli(e, inside, SCALE_BYTES));
}

/* Loads the scales of A of strip i's rows g and g + 8; one value if the rows share it. */
static void load_a(hd_emitter *e, const promotion *p, int32_t i) {
  LLVMValueRef *scale = p->scale_a[i];
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

/* Loads the scales of B of blocks before `to`: two per load, in run order four; one by one if the
 * first column is not known to be aligned. */
static void load_b(hd_emitter *e, promotion *p, int32_t to) {
  int32_t each = p->run ? 2 : 1;
  unsigned n = 2 * (unsigned)each;
  LLVMTypeRef type = LLVMVectorType(e->f32, n);
  for (; p->read < to; p->read += each) {
    int64_t at = columns_at(p, p->read) * SCALE_BYTES;
    LLVMValueRef all = p->inside ? NULL : load(e, p->at_b, at, type, n * SCALE_BYTES);
    for (unsigned i = 0; i < n; i++) {
      LLVMValueRef scale = p->inside
                               ? load(e, p->at_b, at + i * SCALE_BYTES, e->f32, SCALE_BYTES)
                               : LLVMBuildExtractElement(e->b, all, hd_emit_i32(e, i), "");
      p->scale_b[2 * p->read + (int32_t)i] =
          p->multiplied ? LLVMBuildFMul(e->b, p->scale_a[0][0], scale, "") : scale;
    }
  }
}

static promotion *begin(hd_emitter *e, const hd_op *op) {
  promotion *p = HD_NEW(&e->arena, promotion);
  *p = (promotion){.op = op,
                   .n = hd_promote_n_parts(op) / 2,
                   .blocks = hd_promote_parts(op)[0]->type.n / ELEMS,
                   .rows = hd_op_int(op, HD_ATTR_ROWS, 1),
                   .run = hd_op_int(op, HD_ATTR_RUN, 0)};
  p->multiplied = p->n == 1 && p->rows > 1;
  p->scale_a = hd_arena_alloc(&e->arena, sizeof *p->scale_a * (size_t)p->n);
  p->scale_b = HD_NEW_ARRAY(&e->arena, LLVMValueRef, 2 * p->blocks);
  find_lane(e, p);
  for (int32_t i = 0; i < p->n; i++)
    load_a(e, p, i);
  return p;
}

/* The number of blocks whose scales of B fit into registers while a batch of wgmma still runs. */
static int32_t blocks_ahead(const hd_emitter *e, const promotion *p) {
  int64_t has = e->role.op ? hd_op_int(e->role.op, HD_ATTR_REGISTERS, 0) : 0;
  if (!has)
    has = hd_op_int(e->kernel, HD_ATTR_MAX_REGISTERS, MAX_REGISTERS);
  if (hd_op_int(e->kernel, HD_ATTR_MIN_CTAS, 1) > 1)
    return 0;
  has -= 2 * p->n * p->blocks * ELEMS + OTHER_REGISTERS + (p->n - 1) * STRIP_REGISTERS;
  int64_t blocks = has < 0 ? 0 : has / 4 * 2; /* even: run order loads two at a time */
  return blocks < p->blocks ? (int32_t)blocks : p->blocks;
}

/* Loads the scales of a promote before the wait that precedes it, while the tensor cores still run.
 * They are in the slot that the wgmmas read, which is not refilled before the promote is done. */
void hd_emit_promote_ahead(hd_emitter *e, const hd_op *op) {
  e->promotion = begin(e, op);
  load_b(e, e->promotion, blocks_ahead(e, e->promotion));
}

/* Adds the four elements of a block: columns 0 and 1 of row g, then of row g + 8. */
static void add_pinned(hd_emitter *e, int32_t sum, int32_t part, LLVMValueRef const by[ELEMS]) {
  hd_strbuf text = {0};
  for (int32_t x = 0; x < ELEMS; x++)
    hd_strbuf_printf(
        &text,
        "fma.rn.f32 " HD_PINNED_REGISTER ", " HD_PINNED_REGISTER ", $%d, " HD_PINNED_REGISTER ";%s",
        (int)(sum + x), (int)(part + x), (int)x, (int)(sum + x), x + 1 < ELEMS ? "\n\t" : "");
  hd_emit_asm(e, e->none, hd_arena_strdup(&e->arena, hd_strbuf_text(&text)), "f,f,f,f", by, ELEMS,
              HD_ASM_VOLATILE);
  hd_strbuf_free(&text);
}

/* The factors of the four elements of block j of strip i. */
static void scales_of(hd_emitter *e, const promotion *p, int32_t i, int32_t j,
                      LLVMValueRef by[ELEMS]) {
  for (int32_t r = 0; r < ELEMS; r++) {
    LLVMValueRef b = p->scale_b[2 * j + r % 2];
    if (r >= 2 && p->rows > 1)
      by[r] = by[r - 2];
    else
      by[r] = p->multiplied ? b : LLVMBuildFMul(e->b, p->scale_a[i][r / 2], b, "");
  }
}

/* Promotes strip i. Pinned registers are updated in place. */
static void promote_strip(hd_emitter *e, const promotion *p, int32_t i) {
  const hd_value *sum = hd_promote_parts(p->op)[i], *part = hd_promote_parts(p->op)[p->n + i];
  int32_t pinned = hd_emit_pinned_of(e, sum), pinned_part = hd_emit_pinned_of(e, part);
  bool stays = pinned != HD_NOT_PINNED && pinned_part != HD_NOT_PINNED;
  LLVMValueRef by[ELEMS];
  LLVMValueRef *x = stays ? NULL : hd_emit_get(e, sum, NULL);
  LLVMValueRef *y = stays ? NULL : hd_emit_get(e, part, NULL);
  LLVMValueRef *to = HD_NEW_ARRAY(&e->arena, LLVMValueRef, ELEMS * p->blocks);
  for (int32_t j = 0; j < p->blocks; j++) {
    scales_of(e, p, i, j, by);
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
  int32_t n = hd_promote_n_parts(op) / 2;
  for (int32_t i = 0; i < n; i++) {
    bool sum = hd_emit_pinned_of(e, hd_promote_parts(op)[i]) != HD_NOT_PINNED;
    bool part = hd_emit_pinned_of(e, hd_promote_parts(op)[n + i]) != HD_NOT_PINNED;
    if (sum != part)
      return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.promote",
                      "sums and parts of which one is read by other ops, too; legal: both carried "
                      "by the loop alone, or neither");
  }
  promotion *p = e->promotion && e->promotion->op == op ? e->promotion : begin(e, op);
  e->promotion = NULL;
  load_b(e, p, p->blocks);
  for (int32_t i = 0; i < n; i++)
    promote_strip(e, p, i);
  return HEDDLE_OK;
}
