/* Split-K and stream-K: partial sums in the workspace, their addition, and the warp that arrives
 * last and continues (R7). */
#include <string.h>

#include "Emit/emit_strip.h"

/* Elements that a lane loads at once: of one partial, or of several small ones. */
enum { FLIGHT = 64, MAX_AT_ONCE = 4 };
enum { STORE_FRAGS = 7, SUM_FRAGS = 4 }; /* the first fragment's operand */

/* The elements of all fragments from operand `first` on, one value each: f32 or s32. */
typedef struct elements {
  LLVMValueRef *v;
  int32_t n;
  bool integer;
} elements;

static elements read_elements(hd_emitter *e, const hd_op *op, int32_t first) {
  elements all = {.integer = op->operands[first]->type.elem == HEDDLE_S32};
  for (int32_t i = first; i < op->n_operands; i++)
    all.n += op->operands[i]->type.n;
  all.v = HD_NEW_ARRAY(&e->arena, LLVMValueRef, all.n);
  int32_t at = 0;
  for (int32_t i = first; i < op->n_operands; i++) {
    int32_t regs;
    LLVMValueRef *v = hd_emit_get(e, op->operands[i], &regs);
    hd_emit_accumulators(e, op->operands[i]->type.elem, v, regs, all.v + at);
    at += op->operands[i]->type.n;
  }
  return all;
}

/* The address of this lane's first vector of a part. */
static LLVMValueRef lane_place(hd_emitter *e, const hd_op *op, LLVMValueRef part) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef lane = hd_emit_widen(e, hd_emit_muli(e, e->lane, HD_VECTOR_BYTES));
  hd_emit_return_from_entry(e, here);
  LLVMValueRef at = hd_emit_add(e, hd_emit_get1(e, hd_partial_store_place(op)), lane);
  LLVMValueRef far = hd_emit_muli(e, hd_emit_widen(e, part), hd_op_int(op, HD_ATTR_BYTES, 0));
  return hd_emit_global_at(e, hd_emit_get1(e, hd_partial_store_workspace(op)),
                           hd_emit_add(e, at, far));
}

heddle_status hd_emit_op_partial_store(hd_emitter *e, const hd_op *op) {
  elements x = read_elements(e, op, STORE_FRAGS);
  LLVMValueRef n = hd_emit_get1(e, hd_partial_store_n_parts(op));
  LLVMBasicBlockRef join = hd_emit_if(e, hd_emit_lt(e, hd_emit_i32(e, 1), n), "part");
  LLVMValueRef at = lane_place(e, op, hd_emit_get1(e, hd_partial_store_part(op)));
  for (int32_t i = 0; i < x.n; i += HD_VECTOR) {
    LLVMValueRef args[] = {at, x.v[i], x.v[i + 1], x.v[i + 2], x.v[i + 3]};
    hd_emit_asm(e, e->none,
                hd_arena_printf(&e->arena, "st.global.v4.b32 [$0+%d], {$1, $2, $3, $4};",
                                hd_part_offset(i)),
                x.integer ? "l,r,r,r,r" : "l,f,f,f,f", args, 1 + HD_VECTOR, HD_ASM_MEMORY);
  }
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}

/* --- partial.sum ---------------------------------------------------------------------------- */

/* The loop over the parts of a place, several of them per iteration. */
typedef struct part_loop {
  LLVMValueRef at;                    /* this lane's first vector of the iteration's first part */
  LLVMValueRef is_there[MAX_AT_ONCE]; /* i1: the iteration's p-th part exists; [0] is not used */
  int32_t at_once;
  int64_t bytes; /* from part to part */
  bool integer;
} part_loop;

/* The asm that loads and adds one vector. LLVM would move the additions after the loads of all
 * vectors, for which there are not enough registers. A part that does not exist is -0, which
 * changes no sum, not even -0. */
static const char *sum_text(hd_emitter *e, const part_loop *l, int64_t offset) {
  const char *word = l->integer ? "s32" : "f32", *zero = l->integer ? "0" : "0f80000000";
  hd_strbuf text = {0};
  hd_strbuf_printf(&text, "{ .reg .b32 x<%d>;", l->at_once * HD_VECTOR);
  for (int32_t p = 1; p < l->at_once; p++)
    for (int32_t i = 0; i < HD_VECTOR; i++)
      hd_strbuf_printf(&text, "\n\tmov.b32 x%d, %s;", p * HD_VECTOR + i, zero);
  for (int32_t p = 0; p < l->at_once; p++) {
    int32_t x = p * HD_VECTOR;
    hd_strbuf_add(&text, "\n\t");
    if (p > 0)
      hd_strbuf_printf(&text, "@$%d ", HD_VECTOR + p);
    hd_strbuf_printf(&text, "ld.global.v4.b32 {x%d, x%d, x%d, x%d}, [$4+%lld];", x, x + 1, x + 2,
                     x + 3, (long long)(offset + p * l->bytes));
  }
  for (int32_t x = 0; x < l->at_once * HD_VECTOR; x++)
    hd_strbuf_printf(&text, "\n\tadd.%s $%d, $%d, x%d;", word, x % HD_VECTOR, x % HD_VECTOR, x);
  hd_strbuf_add(&text, " }");
  const char *kept = hd_arena_strdup(&e->arena, hd_strbuf_text(&text));
  hd_strbuf_free(&text);
  return kept;
}

static void add_vector(hd_emitter *e, const part_loop *l, int64_t offset, LLVMValueRef *sum) {
  LLVMTypeRef type = l->integer ? e->i32 : e->f32, types[] = {type, type, type, type};
  LLVMValueRef args[2 * HD_VECTOR + MAX_AT_ONCE] = {l->at};
  int32_t n = 1;
  for (int32_t p = 1; p < l->at_once; p++)
    args[n++] = l->is_there[p];
  memcpy(args + n, sum, sizeof *sum * HD_VECTOR);
  char *inputs =
      hd_arena_printf(&e->arena, "%s,l%.*s,0,1,2,3", l->integer ? "=r,=r,=r,=r" : "=f,=f,=f,=f",
                      2 * (l->at_once - 1), ",b,b,b");
  LLVMValueRef all = hd_emit_asm(e, LLVMStructTypeInContext(e->llvm, types, HD_VECTOR, false),
                                 sum_text(e, l, offset), inputs, args, n + HD_VECTOR,
                                 HD_ASM_MEMORY);
  for (unsigned i = 0; i < HD_VECTOR; i++)
    sum[i] = LLVMBuildExtractValue(e->b, all, i, "");
}

/* for (i = lo; i < hi; i += at_once) x += parts i to i + at_once - 1. */
static void add_parts(hd_emitter *e, const hd_op *op, LLVMValueRef lo, LLVMValueRef hi,
                      elements *x) {
  part_loop l = {.at_once = FLIGHT / x->n, .bytes = hd_op_int(op, HD_ATTR_BYTES, 0),
                 .integer = x->integer};
  l.at_once = l.at_once < 1 ? 1 : l.at_once > MAX_AT_ONCE ? MAX_AT_ONCE : l.at_once;
  LLVMBasicBlockRef exit = hd_emit_block(e, "summed"), body = hd_emit_block(e, "sum");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
  LLVMBuildCondBr(e->b, hd_emit_lt(e, lo, hi), body, exit);
  hd_emit_at(e, body);
  LLVMValueRef i = LLVMBuildPhi(e->b, e->i32, "i");
  LLVMValueRef *sum = HD_NEW_ARRAY(&e->arena, LLVMValueRef, x->n);
  LLVMValueRef *next = HD_NEW_ARRAY(&e->arena, LLVMValueRef, x->n);
  for (int32_t j = 0; j < x->n; j++)
    next[j] = sum[j] = LLVMBuildPhi(e->b, LLVMTypeOf(x->v[j]), "");
  l.at = lane_place(e, op, i);
  for (int32_t p = 1; p < l.at_once; p++)
    l.is_there[p] = hd_emit_lt(e, hd_emit_addi(e, i, p), hi);
  for (int32_t j = 0; j < x->n; j += HD_VECTOR)
    add_vector(e, &l, hd_part_offset(j), next + j);
  LLVMValueRef more = hd_emit_addi(e, i, l.at_once);
  LLVMBuildCondBr(e->b, hd_emit_lt(e, more, hi), body, exit);
  LLVMBasicBlockRef from[] = {before, body};
  LLVMAddIncoming(i, (LLVMValueRef[]){lo, more}, from, 2);
  for (int32_t j = 0; j < x->n; j++)
    LLVMAddIncoming(sum[j], (LLVMValueRef[]){x->v[j], next[j]}, from, 2);
  hd_emit_at(e, exit);
  for (int32_t j = 0; j < x->n; j++) {
    LLVMValueRef result = LLVMBuildPhi(e->b, LLVMTypeOf(x->v[j]), "");
    LLVMAddIncoming(result, (LLVMValueRef[]){x->v[j], next[j]}, from, 2);
    x->v[j] = result;
  }
}

/* Adds all parts from the workspace, in the order of k, to -0 (s32: 0). With two parts the order
 * does not matter (x + y = y + x): the other part is added to the registers. One part: nothing. */
heddle_status hd_emit_op_partial_sum(hd_emitter *e, const hd_op *op) {
  elements x = read_elements(e, op, SUM_FRAGS);
  LLVMValueRef part = hd_emit_get1(e, hd_partial_store_part(op)),
               n = hd_emit_get1(e, hd_partial_store_n_parts(op));
  LLVMValueRef zero = hd_emit_i32(e, 0), is_two = hd_emit_eqi(e, n, 2);
  LLVMValueRef stays = hd_emit_lt(e, n, hd_emit_i32(e, 3));
  LLVMValueRef other = hd_emit_sub(e, hd_emit_i32(e, 1), part);
  LLVMValueRef lo = hd_emit_select(e, is_two, other, zero);
  LLVMValueRef few = hd_emit_select(e, is_two, hd_emit_addi(e, other, 1), zero);
  LLVMValueRef hi = hd_emit_select(e, stays, few, n);
  LLVMValueRef none = x.integer ? zero : LLVMConstReal(e->f32, -0.0);
  for (int32_t i = 0; i < x.n; i++)
    x.v[i] = hd_emit_select(e, stays, x.v[i], none);
  add_parts(e, op, lo, hi, &x);
  int32_t at = 0;
  for (int32_t i = 0; i < op->n_results; i++) {
    int32_t count = op->results[i]->type.n;
    hd_emit_set(e, op->results[i], x.v + at, count);
    at += count;
  }
  return HEDDLE_OK;
}

static void sync_lanes(hd_emitter *e) {
  LLVMValueRef all = hd_emit_i32(e, -1);
  hd_emit_intrinsic(e, "llvm.nvvm.bar.warp.sync", &all, 1);
}

/* One lane counts for its warp: the sync before the atomic orders the other lanes' writes before
 * it, and the sync after it orders their reads. atom.inc wraps, so the last arrival leaves zero. A
 * single CTA is always the last. */
heddle_status hd_emit_op_last_arriver(hd_emitter *e, const hd_op *op) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef first = hd_emit_eqi(e, e->lane, 0);
  hd_emit_return_from_entry(e, here);
  LLVMValueRef at = hd_emit_addi(e, hd_emit_get1(e, hd_last_arriver_place(op)),
                                 hd_op_int(op, HD_ATTR_OFFSET, 0));
  LLVMValueRef last = hd_emit_addi(e, hd_emit_get1(e, hd_last_arriver_n(op)), -1);
  LLVMValueRef some = hd_emit_lt(e, hd_emit_i32(e, 0), last);
  LLVMValueRef args[] = {hd_emit_global_at(e, hd_emit_get1(e, hd_last_arriver_workspace(op)), at),
                         last, hd_emit_and(e, first, some), hd_emit_i32(e, 0)};
  sync_lanes(e);
  LLVMValueRef before = hd_emit_asm(
      e, e->i32, "@$3 atom.acq_rel.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r,b,0", args, 4,
      HD_ASM_MEMORY);
  before = hd_emit_shfl_idx(e, before, 0);
  sync_lanes(e);
  LLVMValueRef is_last = LLVMBuildICmp(e->b, LLVMIntEQ, before, last, "");
  LLVMBasicBlockRef join = hd_emit_if(e, is_last, "last");
  HD_TRY(hd_emit_region(e, op->regions[0]));
  LLVMMoveBasicBlockAfter(join, LLVMGetInsertBlock(e->b));
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}
