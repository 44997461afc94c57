/* Split-K: partials in the workspace, their sum, and the warp that goes on (R7). */
#include <string.h>

#include "Emit/emit_strip.h"

/* Elements of a lane that are summed together: as many loads are on their way at once. */
enum { MOST_GROUP = 64, OTHER_REGISTERS = 40 };

/* A partial lies in fragment order: of block after block (8 columns), 16 bytes a lane. */
enum { VECTOR = 4, LANE_BYTES = 16, BLOCK_BYTES = HD_LANES * LANE_BYTES };

/* Fragments from operand `first` on, one value an element: f32 or s32. */
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

/* This lane's first vector of split 0. */
static LLVMValueRef lane_place(hd_emitter *e, const hd_op *op) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef lane = hd_emit_widen(e, hd_emit_muli(e, e->lane, LANE_BYTES));
  hd_emit_return_from_entry(e, here);
  LLVMValueRef at = hd_emit_add(e, hd_emit_get1(e, op->operands[1]), lane);
  return hd_emit_global_at(e, hd_emit_get1(e, op->operands[0]), at);
}

heddle_status hd_emit_op_partial_store(hd_emitter *e, const hd_op *op) {
  elements x = read_elements(e, op, 5);
  int64_t bytes = hd_op_int(op, HD_ATTR_BYTES, 0);
  LLVMValueRef split = hd_emit_widen(e, hd_emit_get1(e, op->operands[2]));
  LLVMValueRef at = hd_emit_global_at(e, lane_place(e, op), hd_emit_muli(e, split, bytes));
  for (int32_t i = 0; i < x.n; i += VECTOR) {
    LLVMValueRef args[] = {at, x.v[i], x.v[i + 1], x.v[i + 2], x.v[i + 3]};
    hd_emit_asm(e, e->none,
                hd_arena_printf(&e->arena, "st.global.v4.b32 [$0+%d], {$1, $2, $3, $4};",
                                i / VECTOR * BLOCK_BYTES),
                x.integer ? "l,r,r,r,r" : "l,f,f,f,f", args, 1 + VECTOR, HD_ASM_MEMORY);
  }
  return HEDDLE_OK;
}

/* What is the same for every vector: which splits there are, and which one is here. */
typedef struct splits {
  LLVMValueRef at; /* this lane's first vector of split 0 */
  int64_t most, bytes;
  LLVMValueRef *is_own, *is_foreign; /* i1, by split */
  bool integer;
} splits;

static splits find_splits(hd_emitter *e, const hd_op *op, bool integer) {
  splits s = {.at = lane_place(e, op), .most = hd_op_int(op, HD_ATTR_SPLITS, 2),
              .bytes = hd_op_int(op, HD_ATTR_BYTES, 0), .integer = integer};
  LLVMValueRef own = hd_emit_get1(e, op->operands[2]), n = hd_emit_get1(e, op->operands[3]);
  s.is_own = HD_NEW_ARRAY(&e->arena, LLVMValueRef, s.most);
  s.is_foreign = HD_NEW_ARRAY(&e->arena, LLVMValueRef, s.most);
  for (int64_t i = 0; i < s.most; i++) {
    LLVMValueRef other = LLVMBuildICmp(e->b, LLVMIntNE, own, hd_emit_i32(e, i), "");
    s.is_own[i] = hd_emit_eqi(e, own, i);
    s.is_foreign[i] = hd_emit_and(e, other, hd_emit_lt(e, hd_emit_i32(e, i), n));
  }
  return s;
}

/* sum[0..3] += a vector of the workspace, or become it. One asm for both, since LLVM would move the
 * additions behind the loads of all groups, for which there are no registers. */
static void load_vector(hd_emitter *e, const splits *s, int64_t offset, bool add, LLVMValueRef *sum) {
  LLVMTypeRef type = s->integer ? e->i32 : e->f32, types[] = {type, type, type, type};
  LLVMValueRef args[] = {s->at, sum[0], sum[1], sum[2], sum[3]};
  const char *word = s->integer ? "s32" : "f32", *load = "ld.global.v4.b32 {$0, $1, $2, $3}, [$4+%lld];";
  const char *both = "{ .reg .b32 x<4>;\n\tld.global.v4.b32 {x0, x1, x2, x3}, [$4+%lld];\n\t"
                     "add.%s $0, $0, x0;\n\tadd.%s $1, $1, x1;\n\t"
                     "add.%s $2, $2, x2;\n\tadd.%s $3, $3, x3; }";
  char *text = add ? hd_arena_printf(&e->arena, both, (long long)offset, word, word, word, word)
                   : hd_arena_printf(&e->arena, load, (long long)offset);
  const char *registers = s->integer ? "=r,=r,=r,=r,l,0,1,2,3" : "=f,=f,=f,=f,l,0,1,2,3";
  LLVMValueRef all = hd_emit_asm(e, LLVMStructTypeInContext(e->llvm, types, VECTOR, false), text,
                                 registers, args, 1 + VECTOR, HD_ASM_MEMORY);
  for (unsigned i = 0; i < VECTOR; i++)
    sum[i] = LLVMBuildExtractValue(e->b, all, i, "");
}

static void choose(hd_emitter *e, int32_t n, LLVMBasicBlockRef const from[2],
                   LLVMValueRef const *otherwise, LLVMValueRef *x) {
  for (int32_t i = 0; i < n; i++) {
    LLVMValueRef values[] = {otherwise[i], x[i]};
    x[i] = LLVMBuildPhi(e->b, LLVMTypeOf(values[0]), "");
    LLVMAddIncoming(x[i], values, (LLVMBasicBlockRef *)from, 2);
  }
}

/* All lanes branch alike. */
static void add_foreign(hd_emitter *e, const splits *s, int64_t split, bool add, int32_t first,
                        int32_t n, LLVMValueRef *sum) {
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(e->b)};
  LLVMValueRef before[MOST_GROUP];
  memcpy(before, sum, sizeof *sum * (size_t)n);
  LLVMBasicBlockRef join = hd_emit_if(e, s->is_foreign[split], "foreign");
  for (int32_t i = 0; i < n; i += VECTOR)
    load_vector(e, s, split * s->bytes + (first + i) / VECTOR * BLOCK_BYTES, add, sum + i);
  from[1] = LLVMGetInsertBlock(e->b);
  hd_emit_endif(e, join);
  choose(e, n, from, before, sum);
}

static void add_own(hd_emitter *e, const splits *s, int64_t split, int32_t n,
                    LLVMValueRef const *own, LLVMValueRef *sum) {
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(e->b)};
  LLVMValueRef before[MOST_GROUP];
  memcpy(before, sum, sizeof *sum * (size_t)n);
  LLVMBasicBlockRef join = hd_emit_if(e, s->is_own[split], "own");
  for (int32_t i = 0; i < n; i++)
    sum[i] = s->integer ? hd_emit_add(e, sum[i], own[i]) : LLVMBuildFAdd(e->b, sum[i], own[i], "");
  from[1] = LLVMGetInsertBlock(e->b);
  hd_emit_endif(e, join);
  choose(e, n, from, before, sum);
}

/* What the accumulators leave of a thread's registers. */
static int32_t spare_registers(const hd_emitter *e, int32_t n_acc) {
  enum { MOST = 255, POOL = 65536 };
  int64_t threads = hd_op_int(e->kernel, HD_ATTR_THREADS, 1024);
  int64_t fair = POOL / (threads * hd_op_int(e->kernel, HD_ATTR_MIN_CTAS, 1));
  int64_t cap = hd_op_int(e->kernel, HD_ATTR_MAX_REGISTERS, fair < MOST ? fair : MOST);
  cap = hd_op_int(e->role.op, HD_ATTR_REGISTERS, cap);
  return (int32_t)(cap - n_acc - OTHER_REGISTERS);
}

static int32_t group_of(int32_t registers) {
  int32_t group = registers / VECTOR * VECTOR;
  return group < VECTOR ? VECTOR : group > MOST_GROUP ? MOST_GROUP : group;
}

/* Of two partials the order does not matter: x + y is y + x, so that the own one stays where it is. */
static void sum_two(hd_emitter *e, const hd_op *op, elements *x) {
  int64_t bytes = hd_op_int(op, HD_ATTR_BYTES, 0);
  LLVMValueRef own = hd_emit_get1(e, op->operands[2]), n = hd_emit_get1(e, op->operands[3]);
  LLVMValueRef other = hd_emit_widen(e, hd_emit_sub(e, hd_emit_i32(e, 1), own)), yes;
  splits s = {.at = hd_emit_global_at(e, lane_place(e, op), hd_emit_muli(e, other, bytes)),
              .bytes = bytes, .is_foreign = &yes, .integer = x->integer};
  int32_t group = group_of(spare_registers(e, x->n));
  yes = hd_emit_eqi(e, n, 2);
  for (int32_t i = 0; i < x->n; i += group)
    add_foreign(e, &s, 0, true, i, x->n - i < group ? x->n - i : group, x->v + i);
}

/* Split after split: (p0 + p1) + p2 …, whichever of them is here. */
static void sum_group(hd_emitter *e, const splits *s, int32_t first, int32_t n, LLVMValueRef *own) {
  LLVMValueRef sum[MOST_GROUP];
  memcpy(sum, own, sizeof *sum * (size_t)n);
  add_foreign(e, s, 0, false, first, n, sum);
  for (int64_t i = 1; i < s->most; i++) {
    add_foreign(e, s, i, true, first, n, sum);
    add_own(e, s, i, n, own, sum);
  }
  memcpy(own, sum, sizeof *sum * (size_t)n);
}

static void sum_all(hd_emitter *e, const hd_op *op, elements *x) {
  splits s = find_splits(e, op, x->integer);
  int32_t group = group_of(spare_registers(e, x->n) / 2); /* loaded, and summed up */
  for (int32_t i = 0; i < x->n; i += group)
    sum_group(e, &s, i, x->n - i < group ? x->n - i : group, x->v + i);
}

heddle_status hd_emit_op_partial_sum(hd_emitter *e, const hd_op *op) {
  elements x = read_elements(e, op, 4);
  if (hd_op_int(op, HD_ATTR_SPLITS, 2) == 2)
    sum_two(e, op, &x);
  else
    sum_all(e, op, &x);
  int32_t at = 0;
  for (int32_t i = 0; i < op->n_results; i++) {
    int32_t n = op->results[i]->type.n;
    hd_emit_set(e, op->results[i], x.v + at, n);
    at += n;
  }
  return HEDDLE_OK;
}

static void sync_lanes(hd_emitter *e) {
  LLVMValueRef all = hd_emit_i32(e, -1);
  hd_emit_intrinsic(e, "llvm.nvvm.bar.warp.sync", &all, 1);
}

/* One lane counts for its warp: what the others wrote is its own by the sync before, what it acquires is
 * theirs by the sync behind. atom.inc wraps: the last arrival leaves zero. */
heddle_status hd_emit_op_last_arriver(hd_emitter *e, const hd_op *op) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef first = hd_emit_eqi(e, e->lane, 0);
  hd_emit_return_from_entry(e, here);
  LLVMValueRef at = hd_emit_addi(e, hd_emit_get1(e, op->operands[1]),
                                 hd_op_int(op, HD_ATTR_OFFSET, 0));
  LLVMValueRef last = hd_emit_addi(e, hd_emit_get1(e, op->operands[2]), -1);
  LLVMValueRef args[] = {hd_emit_global_at(e, hd_emit_get1(e, op->operands[0]), at), last, first,
                         hd_emit_i32(e, 0)};
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
