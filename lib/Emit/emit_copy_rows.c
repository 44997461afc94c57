#include "Emit/emit_copy_rows.h"

enum { MOST_CHUNKS = 256 }; /* a thread; all are unrolled */

/* --- what depends on the thread alone --------------------------------------------------------------------- */

/* Row and byte of chunk i. Where rows and threads divide, only one of the two changes with i. */
static void place_chunk(hd_emitter *e, hd_rows_copy *c, int64_t i) {
  LLVMValueRef t = e->role.thread;
  if (c->threads % c->per_row == 0) {
    c->row[i] = hd_emit_addi(e, hd_emit_divi(e, t, c->per_row), i * (c->threads / c->per_row));
    c->col[i] = hd_emit_muli(e, hd_emit_remi(e, t, c->per_row), c->vec);
  } else if (c->per_row % c->threads == 0) {
    int64_t turns = c->per_row / c->threads;
    c->row[i] = hd_emit_i32(e, i / turns);
    c->col[i] = hd_emit_muli(e, hd_emit_addi(e, t, i % turns * c->threads), c->vec);
  } else {
    LLVMValueRef index = hd_emit_addi(e, t, i * c->threads);
    c->row[i] = hd_emit_divi(e, index, c->per_row);
    c->col[i] = hd_emit_muli(e, hd_emit_remi(e, index, c->per_row), c->vec);
  }
}

/* Bytes between rows in a buffer that is not cut into panels. */
static int64_t plain_pitch(const hd_op *buffer, const hd_rows_copy *c) {
  return hd_op_is(buffer, HD_ATTR_LAYOUT, "packed_a")
             ? hd_op_int(buffer, HD_ATTR_SLAB_BYTES, c->row_bytes)
             : c->row_bytes;
}

static heddle_status place_destinations(hd_emitter *e, hd_rows_copy *c) {
  const hd_op *buffer = hd_emit_def(c->op->operands[2]);
  int64_t offset = hd_op_int(c->op, HD_ATTR_OFFSET, 0), pitch = plain_pitch(buffer, c);
  bool panels = hd_op_is(buffer, HD_ATTR_LAYOUT, "rows");
  hd_rows rows = {0};
  if (panels)
    HD_TRY(hd_emit_rows(e, c->op, c->op->operands[2], &rows));
  /* A step of 8 rows leaves the swizzle alone: one address and constants. */
  int64_t stride = panels && c->threads % c->per_row == 0 && c->threads / c->per_row % 8 == 0
                       ? c->threads / c->per_row * rows.panel
                   : !panels && pitch == c->row_bytes ? c->threads * c->vec
                                                      : 0;
  for (int64_t i = 0; i < c->n_mine; i++) {
    LLVMValueRef byte =
        i && stride ? hd_emit_addi(e, c->dst[0], i * stride)
        : panels
            ? hd_emit_addi(e, hd_emit_rows_byte(e, &rows, c->row[i], c->col[i]), offset)
            : hd_emit_addi(e, hd_emit_add(e, hd_emit_muli(e, c->row[i], pitch), c->col[i]), offset);
    c->dst[i] = byte;
  }
  return HEDDLE_OK;
}

static heddle_status check(hd_emitter *e, const hd_rows_copy *c) {
  bool vec = c->vec == 2 || c->vec == 4 || c->vec == 8 || c->vec == 16;
  if (!vec || (c->vec == 2 && c->op->kind == HD_OP_COPY_CP_ASYNC))
    return hd_error(e->ctx, HEDDLE_INVALID, c->op->loc, "emit.vec",
                    "vec = %lld bytes; %s takes 4, 8 or 16%s", (long long)c->vec,
                    hd_op_get_info(c->op->kind)->text,
                    c->op->kind == HD_OP_COPY_CP_ASYNC ? "" : ", or 2");
  if (c->rows <= 0 || c->row_bytes <= 0 || c->row_bytes % c->vec)
    return hd_error(e->ctx, HEDDLE_INVALID, c->op->loc, "emit.copy",
                    "%lld rows of %lld bytes cannot be cut into chunks of %lld",
                    (long long)c->rows, (long long)c->row_bytes, (long long)c->vec);
  if (c->rows * (c->row_bytes / c->vec) > (int64_t)MOST_CHUNKS * c->threads)
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, c->op->loc, "emit.copy",
                    "a thread would copy more than %d chunks of %lld bytes", MOST_CHUNKS,
                    (long long)c->vec);
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
  int64_t total = c.rows * c.per_row;
  c.n_mine = (total + c.threads - 1) / c.threads;
  c.row = HD_NEW_ARRAY(&e->arena, LLVMValueRef, c.n_mine);
  c.col = HD_NEW_ARRAY(&e->arena, LLVMValueRef, c.n_mine);
  c.dst = HD_NEW_ARRAY(&e->arena, LLVMValueRef, c.n_mine);
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  for (int64_t i = 0; i < c.n_mine; i++)
    place_chunk(e, &c, i);
  heddle_status status = place_destinations(e, &c);
  if (total % c.threads)
    c.last_is_mine = hd_emit_lt(e, e->role.thread, hd_emit_i32(e, total % c.threads));
  hd_emit_return_from_entry(e, here);
  *copy = c;
  return status;
}

/* --- what depends on the tile ---------------------------------------------------------------------------------
 * Operands: ptr, pitch, buffer, cursor, first row, first byte, bytes of a row, rows. */

/* Bytes of the block's rows that exist, 0 to row_bytes (i32). */
static LLVMValueRef bytes_left(hd_emitter *e, const hd_rows_copy *c) {
  LLVMValueRef left = hd_emit_sub(e, hd_emit_get1(e, c->op->operands[6]),
                                  hd_emit_get1(e, c->op->operands[5]));
  left = hd_emit_max(e, hd_emit_min(e, left, hd_emit_i64(e, c->row_bytes)), hd_emit_i64(e, 0));
  return LLVMBuildTrunc(e->b, left, e->i32, "");
}

static LLVMValueRef chunk_size(hd_emitter *e, const hd_rows_copy *c, LLVMValueRef bytes,
                               LLVMValueRef rows, int64_t i) {
  LLVMValueRef size = hd_emit_sub(e, bytes, c->col[i]);
  size = hd_emit_max(e, hd_emit_min(e, size, hd_emit_i32(e, c->vec)), hd_emit_i32(e, 0));
  return hd_emit_select(e, hd_emit_lt(e, c->row[i], rows), size, hd_emit_i32(e, 0));
}

/* Addresses: where each chunk is a fixed number of rows below the one before, one addition each. */
static void find_sources(hd_emitter *e, const hd_rows_copy *c, hd_chunk *chunk) {
  LLVMValueRef pitch = hd_emit_get1(e, c->op->operands[1]);
  LLVMValueRef first = hd_emit_mul(e, hd_emit_widen(e, hd_emit_get1(e, c->op->operands[4])), pitch);
  first = hd_emit_add(e, first, hd_emit_get1(e, c->op->operands[5]));
  LLVMValueRef base = hd_emit_global_at(e, hd_emit_get1(e, c->op->operands[0]), first);
  bool regular = c->threads % c->per_row == 0;
  LLVMValueRef step = hd_emit_muli(e, pitch, regular ? c->threads / c->per_row : 1);
  for (int64_t i = 0; i < c->n_mine; i++) {
    if (regular && i) {
      chunk[i].src = hd_emit_global_at(e, chunk[i - 1].src, step);
      continue;
    }
    LLVMValueRef at = hd_emit_mul(e, hd_emit_widen(e, c->row[i]), pitch);
    chunk[i].src = hd_emit_global_at(e, base, hd_emit_add(e, at, hd_emit_widen(e, c->col[i])));
  }
}

hd_chunk *hd_emit_chunks(hd_emitter *e, const hd_rows_copy *c) {
  hd_chunk *chunk = HD_NEW_ARRAY(&e->arena, hd_chunk, c->n_mine);
  const hd_op *buffer = hd_emit_def(c->op->operands[2]);
  LLVMValueRef slot = hd_emit_slot(e, c->op->operands[2], c->op->operands[3],
                                   hd_op_int(buffer, HD_ATTR_BYTES, 0));
  LLVMValueRef bytes = bytes_left(e, c);
  LLVMValueRef rows = hd_emit_sub(e, hd_emit_get1(e, c->op->operands[7]),
                                  hd_emit_get1(e, c->op->operands[4]));
  find_sources(e, c, chunk);
  for (int64_t i = 0; i < c->n_mine; i++) {
    chunk[i].dst = hd_emit_add(e, slot, c->dst[i]);
    chunk[i].size = chunk_size(e, c, bytes, rows, i);
    chunk[i].mine = i == c->n_mine - 1 ? c->last_is_mine : NULL;
  }
  return chunk;
}

/* --- cp.async ------------------------------------------------------------------------------------------------------ */

/* 16 bytes bypass L1 (.cg), as only that size may. What does not exist arrives as zeros: src-size. */
static void copy_async(hd_emitter *e, const hd_chunk *chunk, int64_t vec) {
  const char *name = vec == 16  ? "llvm.nvvm.cp.async.cg.shared.global.16.s"
                     : vec == 8 ? "llvm.nvvm.cp.async.ca.shared.global.8.s"
                                : "llvm.nvvm.cp.async.ca.shared.global.4.s";
  LLVMValueRef args[] = {hd_emit_shared_ptr(e, chunk->dst, HD_AS_SHARED), chunk->src, chunk->size};
  LLVMBasicBlockRef join = chunk->mine ? hd_emit_if(e, chunk->mine, "last_chunk") : NULL;
  hd_emit_intrinsic(e, name, args, 3);
  if (join)
    hd_emit_endif(e, join);
}

heddle_status hd_emit_op_copy_cp_async(hd_emitter *e, const hd_op *op) {
  hd_rows_copy copy;
  HD_TRY(hd_emit_plan_rows(e, op, &copy));
  hd_chunk *chunk = hd_emit_chunks(e, &copy);
  for (int64_t i = 0; i < copy.n_mine; i++)
    copy_async(e, &chunk[i], copy.vec);
  return HEDDLE_OK;
}
