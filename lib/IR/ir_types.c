#include "IR/op_info.h"

bool hd_type_equal(hd_type a, hd_type b) {
  if (a.kind != b.kind)
    return false;
  switch (a.kind) {
  case HD_TYPE_PTR:
  case HD_TYPE_MATRIX:
    return a.elem == b.elem;
  case HD_TYPE_FRAG:
    return a.elem == b.elem && a.n == b.n;
  default:
    return true;
  }
}

int32_t hd_type_registers(hd_type frag) {
  const heddle_elem_info *info = heddle_elem_get(frag.elem);
  if (frag.kind != HD_TYPE_FRAG || !info)
    return 0;
  return (int32_t)(((int64_t)frag.n * info->container_bits + 31) / 32);
}

static const char *elem_text(heddle_elem elem) {
  const heddle_elem_info *info = heddle_elem_get(elem);
  return info ? info->name : "?";
}

const char *hd_type_word(hd_type_kind kind) {
  static const char *const words[] = {
      [HD_TYPE_NONE] = "none",       [HD_TYPE_I1] = "i1",         [HD_TYPE_I32] = "i32",
      [HD_TYPE_I64] = "i64",         [HD_TYPE_F32] = "f32",       [HD_TYPE_PTR] = "ptr",
      [HD_TYPE_TMAP] = "tmap",       [HD_TYPE_MATRIX] = "matrix", [HD_TYPE_BUFFER] = "buffer",
      [HD_TYPE_BARRIER] = "barrier", [HD_TYPE_CURSOR] = "cursor", [HD_TYPE_FRAG] = "frag"};
  return (size_t)kind < HD_COUNT(words) ? words[kind] : NULL;
}

void hd_type_print(hd_type type, hd_strbuf *out) {
  hd_strbuf_add(out, hd_type_word(type.kind));
  if (type.kind == HD_TYPE_PTR || type.kind == HD_TYPE_MATRIX)
    hd_strbuf_printf(out, "<%s>", elem_text(type.elem));
  else if (type.kind == HD_TYPE_FRAG)
    hd_strbuf_printf(out, "<%s x %d>", elem_text(type.elem), (int)type.n);
}
