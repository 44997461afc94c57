/* copy.ld_st: global to shared memory through registers, for what cp.async cannot take. */
#include <stdio.h>
#include <string.h>

#include "Emit/emit_copy_rows.h"

enum { BATCH_BYTES = 128 }; /* a thread has in flight before it stores */

/* How a chunk of a size is read and written. In the texts $0.. are the registers. */
static const struct width {
  int64_t vec;
  int n_regs;
  const char *load, *load_constraints;
  const char *store, *store_constraints;
} widths[] = {
    {2, 1, "mov.b16 $0, 0;\n\t@$2 ld.global.b16 $0, [$1];", "=&h,l,b",
     "@$1 st.shared.b16 [$0], $2;", "r,b,h"},
    {4, 1, "mov.b32 $0, 0;\n\t@$2 ld.global.b32 $0, [$1];", "=&r,l,b",
     "@$1 st.shared.b32 [$0], $2;", "r,b,r"},
    {8, 2, "mov.b32 $0, 0;\n\tmov.b32 $1, 0;\n\t@$3 ld.global.v2.b32 {$0, $1}, [$2];",
     "=&r,=&r,l,b", "@$1 st.shared.v2.b32 [$0], {$2, $3};", "r,b,r,r"},
    {16, 4,
     "mov.b32 $0, 0;\n\tmov.b32 $1, 0;\n\tmov.b32 $2, 0;\n\tmov.b32 $3, 0;\n\t"
     "@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];",
     "=&r,=&r,=&r,=&r,l,b", "@$1 st.shared.v4.b32 [$0], {$2, $3, $4, $5};", "r,b,r,r,r,r"},
};

static const struct width *find_width(int64_t vec) {
  for (size_t i = 0; i < HD_COUNT(widths); i++)
    if (widths[i].vec == vec)
      return &widths[i];
  return NULL;
}

/* Reads a chunk that exists as a whole; any other gives zeros. */
static void load_chunk(hd_emitter *e, const struct width *w, const hd_chunk *chunk,
                       LLVMValueRef *v) {
  LLVMTypeRef reg = w->vec == 2 ? LLVMInt16TypeInContext(e->llvm) : e->i32;
  LLVMTypeRef regs[] = {reg, reg, reg, reg};
  LLVMTypeRef type =
      w->n_regs == 1 ? reg : LLVMStructTypeInContext(e->llvm, regs, (unsigned)w->n_regs, false);
  LLVMValueRef args[] = {chunk->src, hd_emit_eqi(e, chunk->size, w->vec)};
  LLVMValueRef all = hd_emit_asm(e, type, w->load, w->load_constraints, args, 2, HD_ASM_MEMORY);
  for (int i = 0; i < w->n_regs; i++)
    v[i] = w->n_regs == 1 ? all : LLVMBuildExtractValue(e->b, all, (unsigned)i, "");
}

static void store_chunk(hd_emitter *e, const struct width *w, const hd_chunk *chunk,
                        LLVMValueRef const *v) {
  LLVMValueRef args[6] = {chunk->dst, chunk->mine ? chunk->mine : LLVMConstInt(e->i1, 1, false)};
  for (int i = 0; i < w->n_regs; i++)
    args[2 + i] = v[i];
  hd_emit_asm(e, e->none, w->store, w->store_constraints, args, 2 + w->n_regs, HD_ASM_MEMORY);
}

/* The end of a row that is no whole chunk: element by element, over the zeros stored before. */
static void copy_elements(hd_emitter *e, const hd_chunk *chunk, int64_t vec, int64_t elem) {
  const char *bits = elem == 1 ? "b8" : elem == 2 ? "b16" : "b32";
  for (int64_t at = 0; at < vec; at += elem) {
    char text[160];
    snprintf(text, sizeof text,
             "{ .reg .b%d t; @$2 ld.global.%s t, [$0+%d];\n\t@$2 st.shared.%s [$1+%d], t; }",
             elem == 4 ? 32 : 16, bits, (int)at, bits, (int)at);
    LLVMValueRef args[] = {chunk->src, chunk->dst,
                           hd_emit_lt(e, hd_emit_i32(e, at), chunk->size)};
    hd_emit_asm(e, e->none, text, "l,r,b", args, 3, HD_ASM_MEMORY);
  }
}

static LLVMValueRef is_partial(hd_emitter *e, const hd_chunk *chunk, int64_t vec) {
  LLVMValueRef some = hd_emit_lt(e, hd_emit_i32(e, 0), chunk->size);
  return hd_emit_and(e, some, hd_emit_lt(e, chunk->size, hd_emit_i32(e, vec)));
}

static void copy_batch(hd_emitter *e, const struct width *w, const hd_chunk *chunk, int64_t n,
                       int64_t elem) {
  LLVMValueRef v[BATCH_BYTES / 2][4], partial = NULL;
  for (int64_t i = 0; i < n; i++)
    load_chunk(e, w, &chunk[i], v[i]);
  for (int64_t i = 0; i < n; i++)
    store_chunk(e, w, &chunk[i], v[i]);
  if (w->vec <= elem)
    return;
  for (int64_t i = 0; i < n; i++) {
    LLVMValueRef this_one = is_partial(e, &chunk[i], w->vec);
    partial = partial ? LLVMBuildOr(e->b, partial, this_one, "") : this_one;
  }
  LLVMBasicBlockRef join = hd_emit_if(e, partial, "partial_chunks");
  for (int64_t i = 0; i < n; i++)
    copy_elements(e, &chunk[i], w->vec, elem);
  hd_emit_endif(e, join);
}

/* A chunk that is not this thread's does not exist for it: it loads nothing and stores nothing. */
static void drop_foreign(hd_emitter *e, const hd_rows_copy *copy, hd_chunk *chunk) {
  hd_chunk *last = &chunk[copy->n_mine - 1];
  if (last->mine)
    last->size = hd_emit_select(e, last->mine, last->size, hd_emit_i32(e, 0));
}

heddle_status hd_emit_op_copy_ld_st(hd_emitter *e, const hd_op *op) {
  hd_rows_copy copy;
  HD_TRY(hd_emit_plan_rows(e, op, &copy));
  const struct width *w = find_width(copy.vec);
  const heddle_elem_info *info =
      heddle_elem_get(hd_op_elem(hd_emit_def(op->operands[2]), HD_ATTR_TYPE));
  int64_t elem = info && info->container_bits >= 8 ? info->container_bits / 8 : 1;
  hd_chunk *chunk = hd_emit_chunks(e, &copy);
  drop_foreign(e, &copy, chunk);
  int64_t batch = BATCH_BYTES / (copy.vec < 8 ? 8 : copy.vec);
  for (int64_t i = 0; i < copy.n_mine; i += batch)
    copy_batch(e, w, chunk + i, copy.n_mine - i < batch ? copy.n_mine - i : batch, elem);
  return HEDDLE_OK;
}
