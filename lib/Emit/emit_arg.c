/* Arguments of a kernel, sizes, and the matrices of a batch. */
#include "Emit/emit_pinned.h"

/* The kernel's argument of this kind; NULL if it has none. */
static const hd_value *find_arg(const hd_emitter *e, hd_arg_kind arg) {
  HD_FOR_OPS(op, e->kernel->regions[0])
    if (op->kind == HD_OP_ARG && hd_op_arg(op) == arg)
      return op->results[0];
  return NULL;
}

heddle_status hd_emit_arg(hd_emitter *e, const hd_op *user, hd_arg_kind arg, LLVMValueRef *v) {
  const hd_value *value = find_arg(e, arg);
  if (!value)
    return hd_error(e->ctx, HEDDLE_INVALID, user->loc, "emit.arg",
                    "%s reads an argument that the kernel lacks; nearest: arg {arg = %s}",
                    hd_op_get_info(user->kind)->text, hd_arg_name(arg));
  *v = hd_emit_get1(e, value);
  return HEDDLE_OK;
}

heddle_status hd_emit_size(hd_emitter *e, const hd_op *user, hd_arg_kind arg, hd_attr_key key,
                           LLVMValueRef *v) {
  HD_FOR_OPS(op, e->kernel->regions[0])
    if (op->kind == HD_OP_PRODUCT && hd_op_has(op, key)) {
      *v = hd_emit_i32(e, hd_op_int(op, key, 0));
      return HEDDLE_OK;
    }
  return hd_emit_arg(e, user, arg, v);
}

heddle_status hd_emit_matrix(hd_emitter *e, const hd_op *user, hd_arg_kind arg, hd_arg_kind stride,
                             heddle_elem elem, LLVMValueRef *v) {
  const hd_value *g = hd_op_batch(user, hd_strip_g_at(user)), *apart = find_arg(e, stride);
  HD_TRY(hd_emit_arg(e, user, arg, v));
  if (!g || !apart)
    return HEDDLE_OK;
  int64_t bytes = heddle_elem_get(elem)->container_bits / 8;
  LLVMValueRef each = hd_emit_muli(e, hd_emit_get1(e, apart), bytes);
  *v = hd_emit_global_at(e, *v, hd_emit_mul(e, hd_emit_widen(e, hd_emit_get1(e, g)), each));
  return HEDDLE_OK;
}
