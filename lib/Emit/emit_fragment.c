/* Fragments: loads of a warp from shared memory, and the initial accumulators. */
#include "Emit/emit_pinned.h"
#include "Emit/emit_buffer.h"
#include "Layout/packed_format.h"

/* What a k-step of a sparse mma reads of B: bytes of a row (K-major), 16-bit rows (MN-major). */
enum { B_STEP_BYTES = 64, B_STEP_K16 = 32 };

/* Checks the buffer's layout. With by_step, warps load only the metadata. */
static heddle_status packed_a(hd_emitter *e, const hd_op *op, const hd_value *buffer) {
  const hd_op *def = hd_emit_def(buffer);
  bool misplaced = hd_op_has(def, HD_ATTR_BY_STEP) && op->kind != HD_OP_LOAD_META;
  if (hd_op_is(def, HD_ATTR_LAYOUT, "packed_a") && hd_op_int(def, HD_ATTR_SLAB_BYTES, 0) > 0 &&
      !misplaced)
    return HEDDLE_OK;
  return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.layout",
                  "%s of a buffer of another layout; legal: packed_a with slab_bytes",
                  hd_op_get_info(op->kind)->text);
}

/* The slab of a strip: slot + strip / 4 * slab_bytes. */
static LLVMValueRef slab_of(hd_emitter *e, const hd_op *op) {
  const hd_op *def = hd_emit_def(hd_load_buffer(op));
  LLVMValueRef slot =
      hd_emit_slot(e, hd_load_buffer(op), hd_load_cursor(op), hd_op_int(def, HD_ATTR_BYTES, 0));
  LLVMValueRef slab = hd_emit_divi(e, hd_emit_get1(e, hd_load_place(op)), HD_SLAB_STRIPS);
  return hd_emit_add(e, slot, hd_emit_muli(e, slab, hd_op_int(def, HD_ATTR_SLAB_BYTES, 0)));
}

static LLVMValueRef strip_in_slab(hd_emitter *e, const hd_op *op) {
  return hd_emit_remi(e, hd_emit_get1(e, hd_load_place(op)), HD_SLAB_STRIPS);
}

/* The words of a thread are adjacent. The thread is strip % 4 * 32 + lane of the slab; with by_step
 * strip * 32 + lane of the slot, and the metadata follows the values of all slabs. */
heddle_status hd_emit_op_load_meta(hd_emitter *e, const hd_op *op) {
  HD_TRY(packed_a(e, op, hd_load_buffer(op)));
  const hd_op *def = hd_emit_def(hd_load_buffer(op));
  int64_t first = hd_op_int(def, HD_ATTR_META_OFFSET, 0), word = hd_op_int(op, HD_ATTR_WORD, 0);
  int64_t words = (hd_op_int(def, HD_ATTR_SLAB_BYTES, 0) - first) / HD_META_PLANE_BYTES;
  if (word < 0 || word >= words)
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.word",
                    "word = %lld; legal: below %lld, which the slab holds a thread",
                    (long long)word, (long long)words);
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef lane = hd_emit_muli(e, e->lane, 4 * words);
  hd_emit_return_from_entry(e, here);
  bool by_step = hd_op_has(def, HD_ATTR_BY_STEP);
  int64_t bytes = hd_op_int(def, HD_ATTR_BYTES, 0);
  LLVMValueRef index = by_step ? hd_emit_get1(e, hd_load_place(op)) : strip_in_slab(e, op);
  LLVMValueRef inside = hd_emit_add(e, hd_emit_muli(e, index, HD_LANES * 4 * words), lane);
  LLVMValueRef base =
      by_step ? hd_emit_slot(e, hd_load_buffer(op), hd_load_cursor(op), bytes) : slab_of(e, op);
  LLVMValueRef at = hd_emit_add(e, base, inside);
  if (by_step)
    first *= bytes / hd_op_int(def, HD_ATTR_SLAB_BYTES, 1);
  LLVMValueRef ptr = hd_emit_shared_ptr(e, hd_emit_addi(e, at, first + 4 * word), HD_AS_SHARED);
  LLVMValueRef value = LLVMBuildLoad2(e->b, e->i32, ptr, "");
  LLVMSetAlignment(value, word == 0 && words == 2 ? 8 : 4);
  if (op->n_operands == 4)
    value = hd_emit_read_late(e, value, hd_emit_get1(e, hd_load_meta_older(op)));
  hd_emit_set1(e, op->results[0], value);
  return HEDDLE_OK;
}

static void load_matrices(hd_emitter *e, const hd_op *op, LLVMValueRef at, bool trans) {
  LLVMValueRef ptr = hd_emit_shared_ptr(e, at, HD_AS_SHARED);
  /* ldmatrix.x4 is overloaded on the pointer's address space. */
  LLVMValueRef four = hd_emit_intrinsic_of(
      e, trans ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"
               : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16", e->shared_ptr, &ptr, 1);
  LLVMValueRef v[4];
  for (unsigned i = 0; i < 4; i++)
    v[i] = hd_emit_bitcast(e, LLVMBuildExtractValue(e->b, four, i, ""),
                           hd_emit_type_of(e, op->results[0]->type));
  hd_emit_set(e, op->results[0], v, 4);
}

static heddle_status four_registers(hd_emitter *e, const hd_op *op) {
  int32_t n = hd_emit_type_count(op->results[0]->type);
  if (n == 4)
    return HEDDLE_OK;
  return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.fragment",
                  "%s into a fragment of %d registers; legal: 4", hd_op_get_info(op->kind)->text,
                  n);
}

/* Lane l gives the address of row l % 8 of matrix l / 8. Matrices in register order: rows 0-7 and
 * 8-15 of the first 16 bytes, then of the second: lane -> ((l/8)&1) * 256 + (l/16) * 128 + (l%8)
 * * 16. */
heddle_status hd_emit_op_load_a(hd_emitter *e, const hd_op *op) {
  HD_TRY(packed_a(e, op, hd_load_buffer(op)));
  HD_TRY(four_registers(e, op));
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef group = hd_emit_divi(e, e->lane, 8);
  LLVMValueRef lane = hd_emit_muli(e, hd_emit_remi(e, group, 2), 2 * HD_CORE_BYTES);
  lane = hd_emit_add(e, lane, hd_emit_muli(e, hd_emit_divi(e, group, 2), HD_CORE_BYTES));
  lane = hd_emit_add(e, lane, hd_emit_muli(e, hd_emit_remi(e, e->lane, 8), HD_CHUNK_BYTES));
  hd_emit_return_from_entry(e, here);
  LLVMValueRef strip = hd_emit_muli(e, strip_in_slab(e, op), HD_STRIP_VALUE_BYTES);
  LLVMValueRef at = hd_emit_add(e, slab_of(e, op), hd_emit_add(e, strip, lane));
  at = hd_emit_addi(e, at, hd_op_int(op, HD_ATTR_STEP, 0) * HD_STEP_VALUE_BYTES);
  load_matrices(e, op, at, false);
  return HEDDLE_OK;
}

/* K-major: matrix j holds bytes 16j..16j+15 of the step; lane l gives the address of row l % 8 of
 * matrix l / 8. The column is a multiple of 8, so the swizzle depends only on the lane. */
static LLVMValueRef b_along_k(hd_emitter *e, const hd_op *op, const hd_rows *rows) {
  int64_t first = hd_op_int(op, HD_ATTR_STEP, 0) * B_STEP_BYTES;
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef c = hd_emit_muli(e, hd_emit_divi(e, e->lane, 8), HD_CHUNK_BYTES);
  c = hd_emit_addi(e, c, first);
  LLVMValueRef byte = hd_emit_rows_byte(e, rows, hd_emit_remi(e, e->lane, 8), c);
  hd_emit_return_from_entry(e, here);
  LLVMValueRef column = hd_emit_get1(e, hd_load_place(op));
  return hd_emit_add(e, hd_emit_muli(e, column, rows->panel), byte);
}

/* MN-major, 16-bit types: matrix j holds rows 8j..8j+7 of k of the step, so lane l gives the
 * address of row 32 * step + l. ldmatrix transposes. */
static LLVMValueRef b_along_n(hd_emitter *e, const hd_op *op, const hd_rows *rows) {
  int64_t first = hd_op_int(op, HD_ATTR_STEP, 0) * B_STEP_K16;
  LLVMValueRef byte = hd_emit_muli(e, hd_emit_get1(e, hd_load_place(op)), 2);
  return hd_emit_rows_byte(e, rows, hd_emit_addi(e, e->lane, first), byte);
}

heddle_status hd_emit_op_load_b(hd_emitter *e, const hd_op *op) {
  hd_rows rows;
  HD_TRY(hd_emit_rows(e, op, hd_load_buffer(op), &rows));
  HD_TRY(four_registers(e, op));
  bool trans = hd_op_has(op, HD_ATTR_TRANS);
  LLVMValueRef byte = trans ? b_along_n(e, op, &rows) : b_along_k(e, op, &rows);
  LLVMValueRef slot = hd_emit_slot(e, hd_load_buffer(op), hd_load_cursor(op), rows.slot_bytes);
  load_matrices(e, op, hd_emit_add(e, slot, byte), trans);
  return HEDDLE_OK;
}

/* Lane 4g + q loads the adjacent scales of row 8q + g; q is limited to the rows that exist. */
heddle_status hd_emit_op_load_scale(hd_emitter *e, const hd_op *op) {
  enum { QUAD = 4, ROWS_A_LANE = 8, WORD_BYTES = 4 };
  const hd_spec_row *row = NULL;
  HD_TRY(hd_emit_row(e, op, HD_FAMILY_MMA_SP, -1, &row));
  int64_t each = hd_spec_scales_a_row(row), last = hd_op_int(op, HD_ATTR_ROWS, 0) / ROWS_A_LANE - 1;
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef eight = hd_emit_min(e, hd_emit_remi(e, e->lane, QUAD), hd_emit_i32(e, last));
  LLVMValueRef lane = hd_emit_muli(e, eight, ROWS_A_LANE * each);
  lane = hd_emit_add(e, lane, hd_emit_muli(e, hd_emit_divi(e, e->lane, QUAD), each));
  hd_emit_return_from_entry(e, here);
  const hd_op *buffer = hd_emit_def(hd_load_buffer(op));
  LLVMValueRef at =
      hd_emit_slot(e, hd_load_buffer(op), hd_load_cursor(op), hd_op_int(buffer, HD_ATTR_BYTES, 0));
  at = hd_emit_add(e, at, hd_emit_muli(e, hd_emit_get1(e, hd_load_place(op)), each));
  at = hd_emit_addi(e, hd_emit_add(e, at, lane), hd_op_int(op, HD_ATTR_WORD, 0) * WORD_BYTES);
  LLVMValueRef ptr = hd_emit_shared_ptr(e, at, HD_AS_SHARED);
  bool half = each < WORD_BYTES;
  LLVMValueRef value = LLVMBuildLoad2(e->b, half ? e->i16 : e->i32, ptr, "");
  LLVMSetAlignment(value, half ? (unsigned)each : WORD_BYTES);
  hd_emit_set1(e, op->results[0], half ? LLVMBuildZExt(e->b, value, e->i32, "") : value);
  return HEDDLE_OK;
}

static heddle_status fill(hd_emitter *e, const hd_op *op) {
  int32_t n = hd_emit_type_count(op->results[0]->type);
  LLVMTypeRef type = hd_emit_type_of(e, op->results[0]->type);
  LLVMValueRef *v = HD_NEW_ARRAY(&e->arena, LLVMValueRef, n);
  for (int32_t i = 0; i < n; i++)
    v[i] = LLVMConstNull(type);
  hd_emit_set(e, op->results[0], v, n);
  return HEDDLE_OK;
}

/* The sums of a promotion are pinned, like the accumulators that are added to them. */
heddle_status hd_emit_op_frag_zero(hd_emitter *e, const hd_op *op) {
  return hd_emit_pinned_open(e, op) ? HEDDLE_OK : fill(e, op);
}

/* Also sets zeros: accumulators are inputs and outputs of wgmma, so registers that are never set
 * would stay live around the loop over tiles, and the epilogue could not use them (340 bytes of
 * spills with n256 and gelu; otherwise 64 moves per tile). */
heddle_status hd_emit_op_frag_undef(hd_emitter *e, const hd_op *op) {
  return hd_emit_pinned_open(e, op) ? HEDDLE_OK : fill(e, op);
}

/* The registers of a fragment are in column order: 4 elements per block of 8 columns. */
heddle_status hd_emit_op_frag_columns(hd_emitter *e, const hd_op *op) {
  enum { BLOCK = 8 };
  int32_t n, n_own = hd_emit_type_count(op->results[0]->type);
  LLVMValueRef *all = hd_emit_get(e, hd_frag_columns_whole(op), &n);
  int64_t blocks = hd_op_int(op, HD_ATTR_OFFSET, 0) / BLOCK;
  int64_t each = n / (hd_frag_columns_whole(op)->type.n / 4);
  hd_emit_set(e, op->results[0], all + blocks * each, n_own);
  return HEDDLE_OK;
}
