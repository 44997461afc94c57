#include "Emit/emit_copy_rows.h"

enum {
  MAX_CHUNKS = 256, /* per thread */
  MAX_HOISTED = 8,  /* loose chunks whose row and column are kept in registers */
  MAX_POINTERS = 8, /* of cp.async: chunks whose addresses may be kept in registers, too */
  MAX_HELD = 8      /* chunks whose row indices are kept in registers; 16 may spill */
};

/* ---- values that depend only on the thread ---- */

static LLVMValueRef loose_row(hd_emitter *e, const hd_rows_copy *c, int64_t i) {
  return hd_emit_divi(e, hd_emit_addi(e, e->role.thread, i * c->threads), c->per_row);
}

static LLVMValueRef loose_col(hd_emitter *e, const hd_rows_copy *c, int64_t i) {
  LLVMValueRef index = hd_emit_addi(e, e->role.thread, i * c->threads);
  return hd_emit_muli(e, hd_emit_remi(e, index, c->per_row), c->vec);
}

static LLVMValueRef row_of(hd_emitter *e, const hd_rows_copy *c, int64_t i) {
  if (c->order == HD_CHUNKS_LOOSE)
    return c->row[i] ? c->row[i] : loose_row(e, c, i);
  return c->order == HD_CHUNKS_DOWN ? hd_emit_addi(e, c->row[0], i * c->row_step)
                                    : hd_emit_i32(e, i * c->threads / c->per_row);
}

static LLVMValueRef col_of(hd_emitter *e, const hd_rows_copy *c, int64_t i) {
  if (c->order == HD_CHUNKS_LOOSE)
    return c->col[i] ? c->col[i] : loose_col(e, c, i);
  int64_t more = c->order == HD_CHUNKS_ALONG ? i * c->threads % c->per_row : 0;
  return hd_emit_addi(e, c->col[0], more * c->vec);
}

/* Bytes between rows in a buffer without panels; 0: it has panels (layout rows). */
static int64_t plain_pitch(const hd_op *buffer, const hd_rows_copy *c) {
  if (hd_op_is(buffer, HD_ATTR_LAYOUT, "rows"))
    return 0;
  return hd_op_is(buffer, HD_ATTR_LAYOUT, "packed_a")
             ? hd_op_int(buffer, HD_ATTR_SLAB_BYTES, c->row_bytes)
             : c->row_bytes;
}

/* The byte of the slot for (row, byte) of the block. */
static LLVMValueRef byte_of(hd_emitter *e, const hd_rows_copy *c, LLVMValueRef row,
                            LLVMValueRef col) {
  const hd_op *buffer = hd_emit_def(hd_copy_rows_buffer(c->op));
  int64_t pitch = plain_pitch(buffer, c);
  hd_rows rows;
  LLVMValueRef byte;
  if (pitch)
    byte = hd_emit_add(e, hd_emit_muli(e, row, pitch), col);
  else if (hd_emit_rows(e, c->op, hd_copy_rows_buffer(c->op), &rows) == HEDDLE_OK)
    byte = hd_emit_rows_byte(e, &rows, row, col);
  else
    byte = col; /* plan_rows has reported it */
  return hd_emit_addi(e, byte, hd_op_int(c->op, HD_ATTR_OFFSET, 0));
}

/* If the destinations of chunks are a fixed distance apart, a few addresses serve all chunks. */
static void place_bases(hd_emitter *e, hd_rows_copy *c) {
  const hd_op *buffer = hd_emit_def(hd_copy_rows_buffer(c->op));
  int64_t pitch = plain_pitch(buffer, c);
  if (pitch == c->row_bytes) {
    c->period = 1;
    c->stride = c->threads * c->vec;
  } else if (c->order == HD_CHUNKS_DOWN) {
    c->period = 1;
    while (!pitch && c->period * c->row_step % HD_SWIZZLE_ROWS)
      c->period *= 2;
    c->stride = c->period * c->row_step * (pitch ? pitch : hd_op_int(buffer, HD_ATTR_PANEL, 0));
  }
  for (int64_t i = 0; i < c->period && i < c->n_mine; i++)
    c->base[i] = byte_of(e, c, row_of(e, c, i), col_of(e, c, i));
}

static heddle_status check(hd_emitter *e, const hd_rows_copy *c) {
  bool vec = c->vec > 0 && c->vec <= 16 && (c->vec & (c->vec - 1)) == 0;
  bool async = c->op->kind == HD_OP_COPY_CP_ASYNC;
  if (!vec || (c->vec < 4 && async))
    return hd_error(e->ctx, HEDDLE_INVALID, c->op->loc, "emit.vec",
                    "vec = %lld bytes of %s; legal: 4, 8 or 16%s", (long long)c->vec,
                    hd_op_get_info(c->op->kind)->text, async ? "" : ", or 1 or 2");
  if (c->rows <= 0 || c->row_bytes <= 0 || c->row_bytes % c->vec)
    return hd_error(e->ctx, HEDDLE_INVALID, c->op->loc, "emit.copy",
                    "%lld rows of %lld bytes; legal: whole chunks of vec = %lld",
                    (long long)c->rows, (long long)c->row_bytes, (long long)c->vec);
  if (c->rows * (c->row_bytes / c->vec) > MAX_CHUNKS * c->threads)
    return hd_error(
        e->ctx, HEDDLE_UNSUPPORTED, c->op->loc, "emit.copy",
        "%lld rows of %lld bytes by %lld threads; legal: up to %d chunks of vec = %lld each",
        (long long)c->rows, (long long)c->row_bytes, (long long)c->threads, MAX_CHUNKS,
        (long long)c->vec);
  hd_rows rows;
  if (hd_op_is(hd_emit_def(hd_copy_rows_buffer(c->op)), HD_ATTR_LAYOUT, "rows"))
    return hd_emit_rows(e, c->op, hd_copy_rows_buffer(c->op), &rows);
  return HEDDLE_OK;
}

heddle_status hd_emit_plan_rows(hd_emitter *e, const hd_op *op, hd_rows_copy *copy) {
  hd_rows_copy c = {.op = op,
                    .rows = hd_op_int(op, HD_ATTR_ROWS, 0),
                    .row_bytes = hd_op_int(op, HD_ATTR_ROW_BYTES, 0),
                    .vec = hd_op_int(op, HD_ATTR_VEC, 0),
                    .threads = (int64_t)e->role.n_warps * HD_LANES};
  HD_TRY(check(e, &c));
  c.per_row = c.row_bytes / c.vec;
  c.order = c.threads % c.per_row == 0   ? HD_CHUNKS_DOWN
            : c.per_row % c.threads == 0 ? HD_CHUNKS_ALONG
                                         : HD_CHUNKS_LOOSE;
  c.row_step = c.threads / c.per_row;
  int64_t total = c.rows * c.per_row;
  c.n_mine = (total + c.threads - 1) / c.threads;
  c.row = HD_NEW_ARRAY(&e->arena, LLVMValueRef, c.n_mine);
  c.col = HD_NEW_ARRAY(&e->arena, LLVMValueRef, c.n_mine);
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  int64_t n_placed = c.order == HD_CHUNKS_LOOSE && c.n_mine <= MAX_HOISTED ? c.n_mine : 1;
  for (int64_t i = 0; i < n_placed; i++) {
    c.row[i] = loose_row(e, &c, i); /* ALONG: 0 */
    c.col[i] = loose_col(e, &c, i);
  }
  place_bases(e, &c);
  if (total % c.threads)
    c.last_is_mine = hd_emit_lt(e, e->role.thread, hd_emit_i32(e, total % c.threads));
  hd_emit_return_from_entry(e, here);
  *copy = c;
  return HEDDLE_OK;
}

/* ---- values that depend on the tile ---- */

/* Operands: ptr, pitch, buffer, cursor, first row, first byte, bytes of a row, rows. */

static LLVMValueRef bytes_left(hd_emitter *e, const hd_rows_copy *c) {
  LLVMValueRef left = hd_emit_sub(e, hd_emit_get1(e, hd_copy_rows_row_bytes(c->op)),
                                  hd_emit_get1(e, hd_copy_rows_byte(c->op)));
  left = hd_emit_max(e, hd_emit_min(e, left, hd_emit_i64(e, c->row_bytes)), hd_emit_i64(e, 0));
  return LLVMBuildTrunc(e->b, left, e->i32, "");
}

/* Address of byte `col` of the block's columns in a row of the matrix. */
static LLVMValueRef address_of(hd_emitter *e, const hd_rows_copy *c, LLVMValueRef row,
                               LLVMValueRef col) {
  LLVMValueRef pitch = hd_emit_get1(e, hd_copy_rows_pitch(c->op));
  LLVMValueRef at = hd_emit_mul(e, hd_emit_widen(e, row), pitch);
  at = hd_emit_add(e, at, hd_emit_get1(e, hd_copy_rows_byte(c->op)));
  at = hd_emit_add(e, at, hd_emit_widen(e, col));
  if (hd_copy_rows_base(c->op))
    at = hd_emit_add(e, at, hd_emit_get1(e, hd_copy_rows_base(c->op)));
  return hd_emit_global_at(e, hd_emit_get1(e, hd_copy_rows_source(c->op)), at);
}

/* Address of (row, byte) of the block in global memory. */
static LLVMValueRef source_of(hd_emitter *e, const hd_rows_copy *c, LLVMValueRef row,
                              LLVMValueRef col) {
  LLVMValueRef first = hd_emit_add(e, hd_emit_get1(e, hd_copy_rows_row(c->op)), row);
  return address_of(e, c, first, col);
}

hd_rows_place hd_emit_place_rows(hd_emitter *e, const hd_rows_copy *c) {
  const hd_op *buffer = hd_emit_def(hd_copy_rows_buffer(c->op));
  hd_rows_place p = {.source = source_of(e, c, c->row[0], c->col[0]),
                     .step =
                         hd_emit_muli(e, hd_emit_get1(e, hd_copy_rows_pitch(c->op)), c->row_step),
                     .slot = hd_emit_slot(e, hd_copy_rows_buffer(c->op), hd_copy_rows_cursor(c->op),
                                          hd_op_int(buffer, HD_ATTR_BYTES, 0)),
                     .bytes = bytes_left(e, c)};
  p.rows = hd_emit_sub(e, hd_emit_get1(e, hd_copy_rows_rows(c->op)),
                       hd_emit_get1(e, hd_copy_rows_row(c->op)));
  p.rows = hd_emit_min(e, p.rows, hd_emit_i32(e, c->rows));
  if (c->order == HD_CHUNKS_DOWN)
    p.rows = hd_emit_sub(e, p.rows, c->row[0]);
  return p;
}

/* Whether no chunk is cut by the end of a row. */
static bool has_whole_chunks(const hd_rows_copy *c) {
  const hd_op *bytes = hd_emit_def(hd_copy_rows_row_bytes(c->op));
  return bytes && bytes->kind == HD_OP_CONST && hd_op_int(bytes, HD_ATTR_VALUE, 1) % c->vec == 0;
}

/* A whole chunk, a chunk cut by the row's end, or nothing. Uses comparisons on purpose: for a
 * constant `bytes`, ptxas 13.0 miscompiles max(min(bytes - col, vec), 0) to max(col - bytes, 0)
 * (VIADDMNMX with the wrong sign), so that every copy of an unrolled prologue loads zeros. */
LLVMValueRef hd_emit_chunk_bytes(hd_emitter *e, const hd_rows_copy *c, LLVMValueRef bytes,
                                 LLVMValueRef col) {
  LLVMValueRef rest = LLVMBuildAnd(e->b, bytes, hd_emit_i32(e, c->vec - 1), "");
  LLVMValueRef cut = hd_emit_select(e, hd_emit_lt(e, col, bytes), rest, hd_emit_i32(e, 0));
  LLVMValueRef is_cut = hd_emit_lt(e, bytes, hd_emit_addi(e, col, c->vec));
  return hd_emit_select(e, is_cut, cut, hd_emit_i32(e, c->vec));
}

/* exists (i1): whether the chunk's row of B does; NULL: it does. */
static hd_chunk make_chunk(hd_emitter *e, const hd_rows_copy *c, const hd_rows_place *p, int64_t i,
                           LLVMValueRef src, LLVMValueRef exists) {
  bool down = c->order == HD_CHUNKS_DOWN;
  LLVMValueRef row = down ? hd_emit_i32(e, i * c->row_step) : row_of(e, c, i);
  LLVMValueRef col = col_of(e, c, i), there = hd_emit_lt(e, row, p->rows);
  if (exists)
    there = hd_emit_and(e, there, exists);
  bool whole = has_whole_chunks(c);
  LLVMValueRef size = whole ? hd_emit_i32(e, c->vec) : hd_emit_chunk_bytes(e, c, p->bytes, col);
  if (whole)
    there = hd_emit_and(e, there, hd_emit_lt(e, col, p->bytes));
  LLVMValueRef byte = c->period ? c->base[i % c->period] : byte_of(e, c, row, col);
  return (hd_chunk){
      .src = !i && !exists ? p->source : down ? src : source_of(e, c, row, col),
      .dst = hd_emit_add(e, p->slot, byte),
      .offset = c->period ? i / c->period * c->stride : 0,
      .size = hd_emit_select(e, there, size, hd_emit_i32(e, 0)),
      .there = whole ? there : NULL,
      .mine = i == c->n_mine - 1 ? c->last_is_mine : NULL};
}

hd_chunk hd_emit_chunk(hd_emitter *e, const hd_rows_copy *c, const hd_rows_place *p, int64_t i,
                       LLVMValueRef src) {
  return make_chunk(e, c, p, i, src, NULL);
}

/* ---- cp.async ---- */

/* Copies of 16 bytes bypass L1 (.cg), which only this size can. Bytes that do not exist become
 * zeros (src-size). If the size is one of two constants, and ptxas sees both, the copy takes seven
 * instructions less; LLVM would make more than one select of them. Returns src + step (step NULL:
 * nothing). The asm does the addition, because LLVM's strength reduction takes time quadratic in
 * the length of the chain. */
static LLVMValueRef copy_async(hd_emitter *e, const hd_chunk *chunk, int64_t vec,
                               LLVMValueRef step) {
  int at = step ? 1 : 0; /* of the operands */
  const char *select =
      chunk->there ? hd_arena_printf(&e->arena, ".reg .b32 n; selp.b32 n, %lld, 0, $%d;\n\t",
                                     (long long)vec, at + 2)
                   : "";
  const char *size = chunk->there ? "n" : hd_arena_printf(&e->arena, "$%d", at + 2);
  const char *text = hd_arena_printf(
      &e->arena, "{ %scp.async.%s.shared.global [$%d+%lld], [$%d], %lld, %s;%s }", select,
      vec == 16 ? "cg" : "ca", at, (long long)chunk->offset, at + 1, (long long)vec, size,
      step ? "\n\tadd.s64 $0, $2, $4;" : "");
  const char *constraints = chunk->there ? (step ? "=l,r,l,b,l" : "r,l,b")
                                         : (step ? "=l,r,l,r,l" : "r,l,r");
  LLVMValueRef args[] = {chunk->dst, chunk->src, chunk->there ? chunk->there : chunk->size, step};
  LLVMBasicBlockRef join = chunk->mine ? hd_emit_if(e, chunk->mine, "last_chunk") : NULL;
  LLVMValueRef next = hd_emit_asm(e, step ? e->global_ptr : e->none, text, constraints, args,
                                  3 + at, HD_ASM_MEMORY);
  if (join)
    hd_emit_endif(e, join);
  return next;
}

/* Hides a pointer from LLVM in asm. Otherwise LLVM sees that the addresses of chunks advance by
 * constants in each iteration, and may keep one address per chunk in registers. */
static LLVMValueRef hide(hd_emitter *e, LLVMValueRef pointer) {
  return hd_emit_asm(e, e->global_ptr, "mov.b64 $0, $1;", "=l,l", &pointer, 1, HD_ASM_PURE);
}

/* ---- rows by index ---- */

typedef struct row_index {
  LLVMValueRef at, left, n_rows; /* indices from chunk 0's row on; their number; rows of B */
  LLVMValueRef *of; /* row indices of chunks i, i + 1, …; -1: no row */
  int32_t n_loaded; /* of all chunks, before the loop; 0: MAX_POINTERS of them at a time */
} row_index;

/* The indices of a tile are the same for all of its k-blocks. They are loaded where the tile's
 * first row is computed, before the loop over k, and LLVM computes the addresses of the rows there.
 * Loading them in each iteration takes longer than the copies: ptxas loads them one after the
 * other. */
static bool go_before_loop(hd_emitter *e, const hd_rows_copy *c) {
  LLVMValueRef at = LLVMIsAInstruction(hd_emit_get1(e, hd_copy_rows_row(c->op)));
  if (!at || LLVMIsATerminatorInst(at))
    return false;
  LLVMBasicBlockRef block = LLVMGetInstructionParent(at);
  do
    at = LLVMGetNextInstruction(at);
  while (LLVMIsAPHINode(at));
  LLVMPositionBuilder(e->b, block, at);
  return true;
}

static void load_index(hd_emitter *e, const hd_rows_copy *c, int64_t i, int64_t end,
                       row_index *index) {
  for (int64_t j = i; j < end; j++)
    index->of[j - i] = hd_emit_index(e, index->at, index->left, j * c->row_step);
}

static heddle_status open_index(hd_emitter *e, const hd_rows_copy *c, row_index *index) {
  LLVMValueRef at;
  if (!hd_op_has(c->op, HD_ATTR_GATHER_B))
    return HEDDLE_OK;
  if (c->order != HD_CHUNKS_DOWN)
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, c->op->loc, "emit.copy",
                    "gather_b of rows of %lld chunks by %lld threads; legal: a multiple of them",
                    (long long)c->per_row, (long long)c->threads);
  HD_TRY(hd_emit_arg(e, c->op, HD_ARG_GATHER_B, &at));
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
  bool before = c->n_mine <= MAX_HELD && go_before_loop(e, c);
  LLVMValueRef first = hd_emit_add(e, hd_emit_get1(e, hd_copy_rows_row(c->op)), c->row[0]);
  index->at = hd_emit_global_at(e, at, hd_emit_muli(e, hd_emit_widen(e, first), 4));
  index->left = hd_emit_sub(e, hd_emit_get1(e, hd_copy_rows_rows(c->op)), first);
  index->of = HD_NEW_ARRAY(&e->arena, LLVMValueRef, before ? c->n_mine : MAX_POINTERS);
  if (before) {
    index->n_loaded = (int32_t)c->n_mine;
    load_index(e, c, 0, c->n_mine, index);
    hd_emit_at(e, here);
  }
  return hd_emit_size(e, c->op, HD_ARG_T, HD_ATTR_T, &index->n_rows);
}

/* A row that does not exist becomes zeros; its index is not used for an address. The loads of
 * MAX_POINTERS indices are in flight together. */
static hd_chunk indexed_chunk(hd_emitter *e, const hd_rows_copy *c, const hd_rows_place *p,
                              int64_t i, row_index *index) {
  int64_t end = i + MAX_POINTERS < c->n_mine ? i + MAX_POINTERS : c->n_mine;
  if (!index->n_loaded && i % MAX_POINTERS == 0)
    load_index(e, c, i, end, index);
  LLVMValueRef row = index->of[index->n_loaded ? i : i % MAX_POINTERS];
  LLVMValueRef exists = LLVMBuildICmp(e->b, LLVMIntULT, row, index->n_rows, "");
  row = hd_emit_select(e, exists, row, hd_emit_i32(e, 0));
  return make_chunk(e, c, p, i, address_of(e, c, row, col_of(e, c, i)), exists);
}

heddle_status hd_emit_op_copy_cp_async(hd_emitter *e, const hd_op *op) {
  hd_rows_copy copy;
  row_index index = {0};
  HD_TRY(hd_emit_plan_rows(e, op, &copy));
  HD_TRY(open_index(e, &copy, &index));
  hd_rows_place place = hd_emit_place_rows(e, &copy);
  if (copy.n_mine > MAX_POINTERS)
    place.source = hide(e, place.source);
  LLVMValueRef src = NULL;
  bool chained = copy.order == HD_CHUNKS_DOWN && !index.at;
  for (int64_t i = 0; i < copy.n_mine; i++) {
    hd_chunk chunk = index.at ? indexed_chunk(e, &copy, &place, i, &index)
                              : hd_emit_chunk(e, &copy, &place, i, src);
    src = copy_async(e, &chunk, copy.vec, chained && i < copy.n_mine - 1 ? place.step : NULL);
  }
  return HEDDLE_OK;
}
