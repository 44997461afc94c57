/* tcgen05: allocation of tensor memory, moves to and from it, the multiplication, which one thread
 * issues, and their synchronisation. An address is lane << 16 | column; the columns of buffers are
 * relative to the address that tcgen05.alloc returned. All are asm, since LLVM would use the
 * results of tcgen05.ld before the wait. */
#include "Emit/emit_descriptor.h"
#include "Emit/emit_instruction.h"
#include "Layout/packed_format.h"

enum { STRIP_SHIFT = 20 /* 16 lanes */ };

/* The name of the row's variant for one CTA, or for a pair of CTAs. */
static const char *for_ctas(hd_emitter *e, const char *name) {
  return hd_arena_printf(&e->arena, "%s_cg%d", name, (int)hd_tensor_ctas(e->kernel));
}

/* Emits the row `name`, which implements the op, with `inputs`. */
static heddle_status issue(hd_emitter *e, const hd_op *op, const char *name,
                           LLVMValueRef const *inputs) {
  const hd_emit_number columns = {"columns", hd_op_int(op, HD_ATTR_COLUMNS, 0)};
  const hd_spec_row *row;
  HD_TRY(hd_emit_row_named(e, op, name, HD_FAMILY_TCGEN05, -1, &row));
  hd_emit_row_asm(e, row, inputs, &columns, 1, NULL);
  return HEDDLE_OK;
}

/* The address of the first column of a buffer's slot, for all lanes. */
static heddle_status slot_address(hd_emitter *e, const hd_op *op, const hd_value *buffer,
                                  const hd_value *cursor, LLVMValueRef *address) {
  if (!e->tensor)
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.tensor",
                    "%s comes before tcgen05.address; legal: after it",
                    hd_op_get_info(op->kind)->text);
  LLVMValueRef column =
      hd_emit_slot(e, buffer, cursor, hd_tensor_slot_columns(hd_emit_def(buffer)));
  *address = hd_emit_add(e, e->tensor, column);
  return HEDDLE_OK;
}

/* The same for one strip (operand 2), plus `offset` columns. */
static heddle_status strip_address(hd_emitter *e, const hd_op *op, LLVMValueRef *address) {
  HD_TRY(slot_address(e, op, hd_load_buffer(op), hd_load_cursor(op), address));
  LLVMValueRef strip = hd_emit_get1(e, hd_load_place(op));
  *address = hd_emit_add(e, *address, hd_emit_muli(e, strip, 1 << STRIP_SHIFT));
  *address = hd_emit_addi(e, *address, hd_op_int(op, HD_ATTR_OFFSET, 0));
  return HEDDLE_OK;
}

/* --- moves ---------------------------------------------------------------------------------- */

heddle_status hd_emit_op_tcgen05_st(hd_emitter *e, const hd_op *op) {
  enum { FIRST_WORD = 3 };
  const hd_spec_row *row;
  LLVMValueRef inputs[HD_MAX_EMIT_ARGS];
  HD_TRY(hd_emit_row(e, op, HD_FAMILY_TCGEN05, -1, &row));
  HD_TRY(strip_address(e, op, &inputs[0]));
  for (int32_t i = FIRST_WORD; i < op->n_operands; i++)
    inputs[1 + i - FIRST_WORD] = hd_emit_get1(e, op->operands[i]);
  hd_emit_row_asm(e, row, inputs, NULL, 0, NULL);
  return HEDDLE_OK;
}

/* 32 consecutive lines of 16 bytes. */
static const hd_canonical tile_form = {false, HD_SMEM_NONE, 128, 128};

/* Operands: tensor memory, shared memory, cursor. In shared memory the tiles of the same 128 rows
 * are consecutive; in tensor memory the tiles of all rows for the same word are. */
heddle_status hd_emit_op_tcgen05_cp(hd_emitter *e, const hd_op *op) {
  int64_t bytes = hd_op_int(hd_emit_def(hd_tcgen05_cp_from(op)), HD_ATTR_BYTES, 0);
  int64_t bands = hd_op_int(op, HD_ATTR_ROWS, 0) / HD_SCALE_TILE_ROWS;
  int64_t tiles = bytes / HD_SCALE_TILE_BYTES;
  hd_operand_place from = {hd_emit_get1(e, hd_tcgen05_cp_from(op)),
                           hd_emit_get(e, hd_tcgen05_cp_cursor(op), NULL)[0], bytes, 0};
  const hd_spec_row *row;
  LLVMValueRef to = NULL;
  HD_TRY(hd_emit_row(e, op, HD_FAMILY_TCGEN05, -1, &row));
  HD_TRY(slot_address(e, op, hd_tcgen05_cp_to(op), hd_tcgen05_cp_cursor(op), &to));
  for (int64_t i = 0; i < tiles; i++, from.step_bytes += HD_SCALE_TILE_BYTES) {
    int64_t words = tiles / bands, at = i % words * bands + i / words;
    LLVMValueRef inputs[] = {hd_emit_addi(e, to, at * HD_SCALE_TILE_COLUMNS),
                             hd_emit_descriptor(e, &from, hd_tcgen05_descriptor(&tile_form))};
    hd_emit_row_asm(e, row, inputs, NULL, 0, NULL);
  }
  return HEDDLE_OK;
}

heddle_status hd_emit_op_tcgen05_ld(hd_emitter *e, const hd_op *op) {
  const hd_spec_row *row;
  LLVMValueRef address, results[HD_MAX_EMIT_ARGS];
  hd_type type = op->results[0]->type;
  HD_TRY(hd_emit_row(e, op, HD_FAMILY_TCGEN05, -1, &row));
  HD_TRY(strip_address(e, op, &address));
  hd_emit_row_asm(e, row, &address, NULL, 0, results);
  int32_t n = row->operand[HD_OPERAND_D].n_regs;
  for (int32_t i = 0; i < n; i++)
    results[i] = hd_emit_bitcast(e, results[i], hd_emit_type_of(e, type));
  hd_emit_set(e, op->results[0], results, n);
  return HEDDLE_OK;
}

/* Only the first asm waits. The others only tie operands to results. */
heddle_status hd_emit_op_tcgen05_wait_ld(hd_emitter *e, const hd_op *op) {
  const hd_spec_row *row;
  if (op->n_operands == 0)
    return issue(e, op, "tcgen05_wait_ld", NULL);
  HD_TRY(hd_emit_row_named(e, op, "tcgen05_wait_ld", HD_FAMILY_TCGEN05, -1, &row));
  const char *wait = hd_arena_printf(&e->arena, "%s;", row->ptx);
  for (int32_t i = 0; i < op->n_operands; i++)
    hd_emit_tie(e, i ? "" : wait, op->operands[i], op->results[i]);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_tcgen05_wait_st(hd_emitter *e, const hd_op *op) {
  return issue(e, op, "tcgen05_wait_st", NULL);
}

heddle_status hd_emit_op_tcgen05_fence(hd_emitter *e, const hd_op *op) {
  return issue(e, op,
               op->kind == HD_OP_TCGEN05_FENCE_BEFORE ? "tcgen05_fence_before"
                                                      : "tcgen05_fence_after",
               NULL);
}

/* --- multiplication ------------------------------------------------------------------------- */

/* With by_step, the same k-step of all slabs is consecutive: one matrix of 64 rows per slab. */
static heddle_status descriptor_a(hd_emitter *e, const hd_op *op, LLVMValueRef *result) {
  const hd_op *def = hd_emit_def(hd_tcgen05_mma_a(op));
  int64_t bytes = hd_op_int(def, HD_ATTR_BYTES, 0), slab = hd_op_int(def, HD_ATTR_SLAB_BYTES, 0);
  if (!hd_op_has(def, HD_ATTR_BY_STEP) || slab <= 0)
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.layout",
                    "%s of A in a buffer of another layout; legal: packed_a, by_step",
                    hd_op_get_info(op->kind)->text);
  hd_operand_place at = {hd_emit_get1(e, hd_tcgen05_mma_a(op)),
                         hd_emit_get(e, hd_tcgen05_mma_cursor(op), NULL)[0], bytes,
                         hd_op_int(op, HD_ATTR_STEP, 0) * (bytes / slab) * HD_STEP_VALUE_BYTES};
  *result = hd_emit_descriptor(e, &at, hd_tcgen05_descriptor(&hd_packed_a_form));
  return HEDDLE_OK;
}

/* The block scales of the op's k-step. */
typedef struct scale_place {
  LLVMValueRef a, b; /* addresses in tensor memory */
  LLVMValueRef odd;  /* i1: the k-block begins in the middle of a word; NULL: never */
  unsigned byte;     /* in the word, for even k-blocks */
} scale_place;

/* The scales of a row in a k-block fill whole words, or half a word, which two k-blocks share. The
 * scales of B begin at the position of the tile's first column in its 128 columns. */
static heddle_status find_scales(hd_emitter *e, const hd_op *op, const hd_spec_row *row,
                                 int64_t n, scale_place *s) {
  int64_t step = hd_op_int(op, HD_ATTR_STEP, 0), each = hd_spec_scales_a_row(row);
  int64_t first = step * row->scale_vec, bands = (n + HD_SCALE_TILE_ROWS - 1) / HD_SCALE_TILE_ROWS;
  LLVMValueRef k_block = hd_emit_get1(e, hd_tcgen05_mma_k_block(op));
  HD_TRY(slot_address(e, op, hd_tcgen05_mma_scale_a(op), hd_tcgen05_mma_cursor(op), &s->a));
  HD_TRY(slot_address(e, op, hd_tcgen05_mma_scale_b(op), hd_tcgen05_mma_cursor(op), &s->b));
  s->a = hd_emit_addi(e, s->a, first / HD_SCALES_A_WORD * HD_SCALE_TILE_COLUMNS);
  s->b = hd_emit_addi(e, s->b, first / HD_SCALES_A_WORD * HD_SCALE_TILE_COLUMNS * bands);
  if (n % HD_SCALE_TILE_ROWS) {
    LLVMValueRef inside =
        hd_emit_remi(e, hd_emit_get1(e, hd_tcgen05_mma_column(op)), HD_SCALE_TILE_ROWS);
    s->b = hd_emit_add(e, s->b, hd_emit_divi(e, inside, HD_SCALE_COLUMN_ROWS));
  }
  s->byte = (unsigned)(first % HD_SCALES_A_WORD);
  if (each < HD_SCALES_A_WORD)
    s->odd = hd_emit_eqi(e, hd_emit_remi(e, k_block, HD_SCALES_A_WORD / each), 1);
  return HEDDLE_OK;
}

static LLVMValueRef idesc_of(hd_emitter *e, const hd_op *op, const hd_spec_row *row, int64_t n,
                             const scale_place *s) {
  bool trans = hd_op_has(op, HD_ATTR_TRANS);
  unsigned selector = row->scale_vec ? s->byte : (unsigned)hd_op_int(op, HD_ATTR_SELECTOR, 0);
  LLVMValueRef even = hd_emit_i32(e, hd_tcgen05_idesc(row, (uint32_t)n, selector, trans));
  if (!s->odd)
    return even;
  selector += (unsigned)hd_spec_scales_a_row(row);
  return hd_emit_select(
      e, s->odd, hd_emit_i32(e, hd_tcgen05_idesc(row, (uint32_t)n, selector, trans)), even);
}

/* Operands: accumulators, cursor, A, cursor of the stage, B, metadata, scale-d; and block scales of
 * A, of B, k-block, first column. */
heddle_status hd_emit_op_tcgen05_mma(hd_emitter *e, const hd_op *op) {
  int64_t selector = hd_op_int(op, HD_ATTR_SELECTOR, 0);
  const hd_spec_row *row;
  scale_place scales = {0};
  LLVMValueRef d = NULL, a = NULL, b = NULL, meta = NULL;
  HD_TRY(hd_emit_row(e, op, HD_FAMILY_TCGEN05_SP, selector, &row));
  HD_TRY(slot_address(e, op, hd_tcgen05_mma_sums(op), hd_tcgen05_mma_sums_cursor(op), &d));
  HD_TRY(descriptor_a(e, op, &a));
  HD_TRY(hd_emit_descriptor_b(e, op, hd_tcgen05_mma_b(op), hd_tcgen05_mma_cursor(op),
                              hd_tcgen05_descriptor, &b));
  HD_TRY(slot_address(e, op, hd_tcgen05_mma_metadata(op), hd_tcgen05_mma_cursor(op), &meta));
  int64_t n = hd_tensor_slot_columns(hd_emit_def(hd_tcgen05_mma_sums(op)));
  if (row->scale_vec)
    HD_TRY(find_scales(e, op, row, n, &scales));
  /* If the selector distinguishes k-steps, they share columns; else each has two columns. */
  int64_t column = row->n_selectors > 1 ? 0 : 2 * hd_op_int(op, HD_ATTR_STEP, 0);
  meta = hd_emit_addi(e, meta, column);
  LLVMValueRef inputs[8] = {d, a, b, meta, idesc_of(e, op, row, n, &scales)};
  int32_t n_inputs = 5;
  if (row->scale_vec) {
    inputs[n_inputs++] = scales.a;
    inputs[n_inputs++] = scales.b;
  }
  inputs[n_inputs] = hd_emit_get1(e, hd_tcgen05_mma_scale_d(op));
  hd_emit_row_asm(e, row, inputs, NULL, 0, NULL);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_tcgen05_commit(hd_emitter *e, const hd_op *op) {
  bool far = hd_op_has(op, HD_ATTR_RANK);
  LLVMValueRef mask = LLVMConstInt(e->i16, (uint64_t)hd_op_int(op, HD_ATTR_RANK, 0), 0);
  LLVMValueRef inputs[] = {
      hd_emit_slot(e, hd_barrier_barrier(op), hd_barrier_cursor(op), HD_BARRIER_BYTES), mask};
  return issue(e, op, for_ctas(e, far ? "tcgen05_commit_multicast" : "tcgen05_commit"), inputs);
}

/* --- the columns of a CTA ------------------------------------------------------------------- */

static LLVMBasicBlockRef first_warp(hd_emitter *e) {
  return hd_emit_if(e, hd_emit_eqi(e, e->warp, 0), "tensor");
}

/* The shared address where tcgen05.alloc writes the address of the tensor memory. */
static heddle_status address_slot(hd_emitter *e, const hd_op *op, LLVMValueRef *at) {
  HD_FOR_OPS(alloc, e->kernel->regions[0])
  if (alloc->kind == HD_OP_TCGEN05_ALLOC) {
    int64_t offset = hd_shared_layout_find(&e->layout, alloc)->offset;
    *at = hd_emit_addi(e, LLVMConstPtrToInt(e->shared, e->i32), offset);
    return HEDDLE_OK;
  }
  return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.tensor",
                  "%s without tcgen05.alloc; legal: after one", hd_op_get_info(op->kind)->text);
}

heddle_status hd_emit_op_tcgen05_alloc(hd_emitter *e, const hd_op *op) {
  LLVMValueRef at;
  HD_TRY(address_slot(e, op, &at));
  LLVMBasicBlockRef join = first_warp(e);
  HD_TRY(issue(e, op, for_ctas(e, "tcgen05_alloc"), &at));
  HD_TRY(issue(e, op, for_ctas(e, "tcgen05_relinquish_alloc_permit"), NULL));
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_tcgen05_address(hd_emitter *e, const hd_op *op) {
  LLVMValueRef at;
  HD_TRY(address_slot(e, op, &at));
  e->tensor = hd_emit_asm(e, e->i32, "ld.shared.b32 $0, [$1];", "=r,r", &at, 1, HD_ASM_MEMORY);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_tcgen05_dealloc(hd_emitter *e, const hd_op *op) {
  if (!e->tensor)
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.tensor",
                    "tcgen05.dealloc comes before tcgen05.address; legal: after it");
  LLVMBasicBlockRef join = first_warp(e);
  HD_TRY(issue(e, op, for_ctas(e, "tcgen05_dealloc"), &e->tensor));
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}
