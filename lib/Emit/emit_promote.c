/* Promotion: adds the scaled sums of a k-block to the total, by FFMAs between wgmma batches. */
#include "Emit/emit_pinned.h"

enum { BLOCK = 8, ELEMS = 4, QUAD = 4, SCALE_BYTES = 4, WIDEST = 4, STRIP_APART = 64 };
/* Registers per thread besides sums, parts and scales of B, those for each strip (if each row has
 * its own scale; if the first column is not known), and the default of max_registers. */
enum { OTHER_REGISTERS = 12, STRIP_REGISTERS = 2, ROWS_REGISTERS = 2, INSIDE_REGISTERS = 4 };
enum { MAX_REGISTERS = 232 };

/* The state of the promotes of a k-block: they share its scales. */
typedef struct hd_promotion {
  const hd_op *op;  /* the next one */
  int32_t n, first; /* strips of all; the first of the next one */
  int32_t blocks;   /* of 8 columns of each */
  int32_t read;     /* blocks whose scales of B were read */
  int64_t rows, run;
  bool inside; /* the first column may be any scale of the slot */
  LLVMValueRef at_b; /* this lane's first scale of B (i32 address) */
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

/* The op that promotes the next strips of the same k-block, with only a wait between; else NULL. */
static const hd_op *following(const hd_op *op) {
  const hd_op *next = op->next;
  while (next && next->kind == HD_OP_WGMMA_WAIT)
    next = next->next;
  return next && next->kind == HD_OP_PROMOTE && hd_promote_cursor(next) == hd_promote_cursor(op) &&
                 hd_promote_scale_b(next) == hd_promote_scale_b(op) &&
                 hd_promote_column(next) == hd_promote_column(op)
             ? next
             : NULL;
}

/* Lane 4g + q has in block j columns 8j + 2q and the next one. In run order: columns run * q + 2j
 * and the next one of each 4 * run columns. */
static void find_columns(hd_emitter *e, promotion *p) {
  const hd_op *op = p->op;
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  int64_t apart = (p->run ? p->run : 2) * SCALE_BYTES;
  LLVMValueRef column = hd_emit_muli(e, hd_emit_remi(e, e->lane, QUAD), apart);
  hd_emit_return_from_entry(e, here);
  p->at_b = hd_emit_add(e, slot_of(e, op, hd_promote_scale_b(op)), column);
  LLVMValueRef inside = hd_emit_get1(e, hd_promote_column(op));
  p->inside = !LLVMIsConstant(inside) || LLVMConstIntGetZExtValue(inside) % WIDEST;
  p->at_b = hd_emit_add(e, p->at_b, hd_emit_muli(e, inside, SCALE_BYTES));
}

/* Loads the scales of A of the op's strips: of lane 4g + q's rows g and g + 8; one value if the
 * rows share it. */
static void load_a(hd_emitter *e, const promotion *p, const hd_op *op, LLVMValueRef scale[][2]) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef g = hd_emit_divi(e, e->lane, QUAD);
  hd_emit_return_from_entry(e, here);
  LLVMValueRef slot = slot_of(e, op, hd_promote_scale_a(op));
  for (int32_t i = 0; i < hd_promote_n_parts(op) / 2; i++) {
    LLVMValueRef row = hd_emit_addi(e, hd_emit_get1(e, hd_promote_row(op)), i * STRIP_APART);
    LLVMValueRef first = p->rows == 1 ? hd_emit_add(e, row, g) : hd_emit_divi(e, row, p->rows);
    LLVMValueRef at = hd_emit_add(e, slot, hd_emit_muli(e, first, SCALE_BYTES));
    scale[i][0] = scale[i][1] = load(e, at, 0, e->f32, SCALE_BYTES);
    if (p->rows == 1)
      scale[i][1] = load(e, at, BLOCK * SCALE_BYTES, e->f32, SCALE_BYTES);
  }
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
                   .blocks = hd_promote_parts(op)[0]->type.n / ELEMS,
                   .rows = hd_op_int(op, HD_ATTR_ROWS, 1),
                   .run = hd_op_int(op, HD_ATTR_RUN, 0)};
  for (const hd_op *each = op; each; each = following(each))
    p->n += hd_promote_n_parts(each) / 2;
  p->multiplied = p->n == 1 && p->rows > 1;
  p->scale_a = hd_arena_alloc(&e->arena, sizeof *p->scale_a * (size_t)p->n);
  p->scale_b = HD_NEW_ARRAY(&e->arena, LLVMValueRef, 2 * p->blocks);
  find_columns(e, p);
  int32_t n = 0;
  for (const hd_op *each = op; each; each = following(each)) {
    load_a(e, p, each, p->scale_a + n);
    n += hd_promote_n_parts(each) / 2;
  }
  return p;
}

/* The number of blocks whose scales of B fit into registers while a batch of wgmma still runs. */
static int32_t blocks_ahead(const hd_emitter *e, const promotion *p) {
  int64_t has = e->role.op ? hd_op_int(e->role.op, HD_ATTR_REGISTERS, 0) : 0;
  if (!has)
    has = hd_op_int(e->kernel, HD_ATTR_MAX_REGISTERS, MAX_REGISTERS);
  if (hd_op_int(e->kernel, HD_ATTR_MIN_CTAS, 1) > 1)
    return 0;
  int32_t strip = 2 * p->blocks * ELEMS + STRIP_REGISTERS + (p->rows == 1 ? ROWS_REGISTERS : 0) +
                  (p->inside ? INSIDE_REGISTERS : 0);
  has -= OTHER_REGISTERS + p->n * strip;
  int64_t blocks = has < 0 ? 0 : has / 4 * 2; /* even: run order loads two at a time */
  return blocks < p->blocks ? (int32_t)blocks : p->blocks;
}

static bool is_made_behind(const hd_op *fence, const hd_value *value) {
  const hd_op *op = fence;
  while (op && op != value->op)
    op = op->next;
  return op != NULL;
}

/* Loads the scales of the promotes behind a batch before it begins: a load behind it would wait for
 * the batch's own reads of shared memory. The slot is not refilled before the promotes are done. */
void hd_emit_promote_ahead(hd_emitter *e, const hd_op *fence) {
  const hd_op *op = fence;
  while (op && op->kind != HD_OP_PROMOTE)
    op = op->next;
  for (const hd_op *each = op; each; each = following(each))
    for (int32_t i = 0; i < HD_AT_promote_parts; i++)
      if (is_made_behind(fence, each->operands[i]))
        return;
  if (!op)
    return;
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

/* Promotes strip i of an op. Pinned registers are updated in place. */
static void promote_strip(hd_emitter *e, const promotion *p, const hd_op *op, int32_t i) {
  int32_t n = hd_promote_n_parts(op) / 2;
  const hd_value *sum = hd_promote_parts(op)[i], *part = hd_promote_parts(op)[n + i];
  int32_t pinned = hd_emit_pinned_of(e, sum), pinned_part = hd_emit_pinned_of(e, part);
  bool stays = pinned != HD_NOT_PINNED && pinned_part != HD_NOT_PINNED;
  LLVMValueRef by[ELEMS];
  LLVMValueRef *x = stays ? NULL : hd_emit_get(e, sum, NULL);
  LLVMValueRef *y = stays ? NULL : hd_emit_get(e, part, NULL);
  LLVMValueRef *to = HD_NEW_ARRAY(&e->arena, LLVMValueRef, ELEMS * p->blocks);
  for (int32_t j = 0; j < p->blocks; j++) {
    scales_of(e, p, p->first + i, j, by);
    if (stays)
      add_pinned(e, pinned + j * ELEMS, pinned_part + j * ELEMS, by);
    for (int32_t r = 0; r < ELEMS && !stays; r++)
      to[j * ELEMS + r] = hd_emit_fma(e, y[j * ELEMS + r], by[r], x[j * ELEMS + r]);
  }
  if (stays)
    return;
  hd_emit_set(e, op->results[i], to, ELEMS * p->blocks);
  hd_emit_set(e, op->results[n + i], y, ELEMS * p->blocks);
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
  if (!e->promotion || e->promotion->op != op)
    e->promotion = begin(e, op);
  promotion *p = e->promotion;
  load_b(e, p, p->blocks);
  for (int32_t i = 0; i < n; i++)
    promote_strip(e, p, op, i);
  p->op = following(op);
  p->first += n;
  if (!p->op)
    e->promotion = NULL;
  return HEDDLE_OK;
}
