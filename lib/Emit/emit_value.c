/* Maps IR values to LLVM values. */
#include "Emit/emit_state.h"

/* A scalar has one value, a cursor (slot, phase), a fragment one per register (none if it is
 * pinned, emit_pinned.h), a buffer or a barrier its i32 shared address. */
typedef struct emitted {
  LLVMValueRef *v;
  int32_t n, pinned;
} emitted;

static emitted *find(const hd_emitter *e, const hd_value *value) {
  int64_t place = hd_facts_get(&e->values, value);
  return place == HD_NO_FACT ? NULL : (emitted *)(intptr_t)place;
}

static void set(hd_emitter *e, const hd_value *value, emitted new) {
  emitted *entry = hd_arena_copy(&e->arena, &new, sizeof new);
  hd_facts_set(&e->values, value, (int64_t)(intptr_t)entry);
}

void hd_emit_set(hd_emitter *e, const hd_value *value, LLVMValueRef const *v, int32_t n) {
  set(e, value, (emitted){hd_arena_copy(&e->arena, v, sizeof *v * (size_t)n), n, HD_NOT_PINNED});
}

void hd_emit_set_pinned(hd_emitter *e, const hd_value *value, int32_t pinned) {
  set(e, value, (emitted){NULL, 0, pinned});
}

int32_t hd_emit_pinned_of(const hd_emitter *e, const hd_value *value) {
  const emitted *entry = find(e, value);
  return entry ? entry->pinned : HD_NOT_PINNED;
}

void hd_emit_set1(hd_emitter *e, const hd_value *value, LLVMValueRef v) {
  hd_emit_set(e, value, &v, 1);
}

LLVMValueRef *hd_emit_get(hd_emitter *e, const hd_value *value, int32_t *n) {
  if (!find(e, value)) {
    /* A verified module has no value without definition. If one occurs, it becomes undef and fails
     * the compile, instead of a crash. */
    LLVMValueRef undefined[512];
    int32_t n_regs = hd_emit_type_count(value->type);
    n_regs = n_regs > 512 ? 512 : n_regs;
    for (int32_t i = 0; i < n_regs; i++)
      undefined[i] = LLVMGetUndef(hd_emit_type_of(e, value->type));
    hd_emit_set(e, value, undefined, n_regs);
    if (!e->failed)
      hd_error(e->ctx, HEDDLE_INTERNAL, HD_NOWHERE, "emit.value",
               "a value is used before it is defined");
    e->failed = true;
  }
  const emitted *entry = find(e, value);
  if (n)
    *n = entry->n;
  return entry->v;
}

LLVMValueRef hd_emit_get1(hd_emitter *e, const hd_value *value) {
  return hd_emit_get(e, value, NULL)[0];
}

int32_t hd_emit_type_count(hd_type type) {
  if (type.kind == HD_TYPE_CURSOR)
    return 2;
  return type.kind == HD_TYPE_FRAG ? hd_type_registers(type) : 1;
}

LLVMTypeRef hd_emit_type_of(hd_emitter *e, hd_type type) {
  switch (type.kind) {
  case HD_TYPE_I1:
    return e->i1;
  case HD_TYPE_I64:
    return e->i64;
  case HD_TYPE_F32:
    return e->f32;
  case HD_TYPE_PTR:
    return e->global_ptr;
  case HD_TYPE_TMAP:
    return e->generic_ptr;
  case HD_TYPE_FRAG: /* all types but f32 are packed, or used as bits */
    return type.elem == HEDDLE_F32 ? e->f32 : e->i32;
  default:
    return e->i32;
  }
}
