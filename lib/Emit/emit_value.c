/* Which LLVM values stand for an IR value. */
#include <stdlib.h>

#include "Emit/emit_state.h"

static size_t home(const hd_emit_map *map, const hd_value *key) {
  uint64_t h = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
  return (size_t)(h >> 32) & (map->cap - 1);
}

static hd_emit_value *find(const hd_emit_map *map, const hd_value *key) {
  size_t i = home(map, key);
  while (map->slot[i].key && map->slot[i].key != key)
    i = (i + 1) & (map->cap - 1);
  return &map->slot[i];
}

static void grow(hd_emit_map *map) {
  hd_emit_map old = *map;
  map->cap = old.cap ? old.cap * 2 : 256;
  map->slot = hd_xmalloc(map->cap * sizeof *map->slot);
  for (size_t i = 0; i < map->cap; i++)
    map->slot[i] = (hd_emit_value){0};
  for (size_t i = 0; i < old.cap; i++)
    if (old.slot[i].key)
      *find(map, old.slot[i].key) = old.slot[i];
  free(old.slot);
}

void hd_emit_map_free(hd_emit_map *map) {
  free(map->slot);
  *map = (hd_emit_map){0};
}

static void set(hd_emitter *e, hd_emit_value new) {
  if (2 * (e->values.n + 1) > e->values.cap)
    grow(&e->values);
  hd_emit_value *entry = find(&e->values, new.key);
  e->values.n += entry->key == NULL;
  *entry = new;
}

void hd_emit_set(hd_emitter *e, const hd_value *value, LLVMValueRef const *v, int32_t n) {
  set(e, (hd_emit_value){value, hd_arena_copy(&e->arena, v, sizeof *v * (size_t)n), n, HD_NO_BANK});
}

void hd_emit_set_bank(hd_emitter *e, const hd_value *value, int32_t bank) {
  set(e, (hd_emit_value){value, NULL, 0, bank});
}

int32_t hd_emit_bank_of(const hd_emitter *e, const hd_value *value) {
  const hd_emit_value *entry = e->values.cap ? find(&e->values, value) : NULL;
  return entry && entry->key ? entry->bank : HD_NO_BANK;
}

void hd_emit_set1(hd_emitter *e, const hd_value *value, LLVMValueRef v) {
  hd_emit_set(e, value, &v, 1);
}

/* A value without definition cannot come from a verified module; it reads as undef and fails the
 * compile instead of crashing it. */
static void invent(hd_emitter *e, const hd_value *value) {
  LLVMValueRef undefined[512];
  int32_t n = hd_emit_type_count(value->type);
  n = n > 512 ? 512 : n;
  for (int32_t i = 0; i < n; i++)
    undefined[i] = LLVMGetUndef(hd_emit_type_of(e, value->type));
  hd_emit_set(e, value, undefined, n);
  if (!e->failed)
    hd_error(e->ctx, HEDDLE_INTERNAL, HD_NOWHERE, "emit.value",
             "a value is used before it is made");
  e->failed = true;
}

LLVMValueRef *hd_emit_get(hd_emitter *e, const hd_value *value, int32_t *n) {
  if (e->values.cap == 0 || !find(&e->values, value)->key)
    invent(e, value);
  const hd_emit_value *entry = find(&e->values, value);
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
  case HD_TYPE_FRAG: /* everything but f32 is packed, or read as bits */
    return type.elem == HEDDLE_F32 ? e->f32 : e->i32;
  default:
    return e->i32;
  }
}
