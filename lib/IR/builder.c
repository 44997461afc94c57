#include <stdarg.h>

#include "IR/ir.h"

hd_builder hd_builder_at_end(hd_module *module, hd_region *region) {
  hd_loc loc = region->parent ? region->parent->loc : HD_NOWHERE;
  return (hd_builder){.module = module, .region = region, .loc = loc};
}

hd_builder hd_builder_before(hd_module *module, hd_op *op) {
  return (hd_builder){.module = module, .region = op->region, .before = op, .loc = op->loc};
}

hd_builder hd_builder_after(hd_module *module, hd_op *op) {
  return (hd_builder){.module = module, .region = op->region, .before = op->next, .loc = op->loc};
}

static hd_op *build_listed(hd_builder *b, hd_op_kind kind, hd_type result, int32_t n,
                           va_list list) {
  hd_op *op = hd_build(b, kind, NULL, 0, &result, result.kind != HD_TYPE_NONE);
  for (int32_t i = 0; i < n; i++) {
    hd_value *operand = va_arg(list, hd_value *);
    if (operand)
      hd_op_add_operand(b->module, op, operand);
  }
  return op;
}

hd_op *hd_build_op(hd_builder *b, hd_op_kind kind, hd_type result, int32_t n_operands, ...) {
  va_list list;
  va_start(list, n_operands);
  hd_op *op = build_listed(b, kind, result, n_operands, list);
  va_end(list);
  return op;
}

hd_value *hd_build_value(hd_builder *b, hd_op_kind kind, hd_type result, int32_t n_operands, ...) {
  va_list list;
  va_start(list, n_operands);
  hd_op *op = build_listed(b, kind, result, n_operands, list);
  va_end(list);
  return op->n_results ? op->results[0] : NULL;
}

static hd_value *build_const(hd_builder *b, hd_type type, int64_t value) {
  hd_op *op = hd_build(b, HD_OP_CONST, NULL, 0, &type, 1);
  hd_op_set_int(b->module, op, HD_ATTR_VALUE, value);
  return op->results[0];
}

hd_value *hd_build_i32(hd_builder *b, int64_t value) {
  return build_const(b, HD_I32, value);
}

hd_value *hd_build_i64(hd_builder *b, int64_t value) {
  return build_const(b, HD_I64, value);
}

hd_value *hd_build_i1(hd_builder *b, bool value) {
  return build_const(b, HD_I1, value);
}

hd_value *hd_build_cmp(hd_builder *b, const char *pred, hd_value *x, hd_value *y) {
  hd_op *op = hd_build_op(b, HD_OP_CMP, HD_I1, 2, x, y);
  hd_op_set_str(b->module, op, HD_ATTR_PRED, pred);
  return op->results[0];
}

hd_op *hd_build_for(hd_builder *b, hd_value *lo, hd_value *hi, hd_value *step,
                    hd_value *const *carried, int32_t n_carried) {
  hd_op *op = hd_build_op(b, HD_OP_FOR, (hd_type){0}, 3, lo, hi, step);
  hd_region_add_arg(b->module, op->regions[0], HD_I32, NULL);
  for (int32_t i = 0; i < n_carried; i++) {
    hd_op_add_operand(b->module, op, carried[i]);
    hd_region_add_arg(b->module, op->regions[0], carried[i]->type, NULL);
    hd_op_add_result(b->module, op, carried[i]->type);
  }
  return op;
}

hd_op *hd_build_if(hd_builder *b, hd_value *condition, const hd_type *results, int32_t n_results) {
  return hd_build(b, HD_OP_IF, &condition, 1, results, n_results);
}

hd_op *hd_build_yield(hd_builder *b, hd_value *const *values, int32_t n) {
  return hd_build(b, HD_OP_YIELD, values, n, NULL, 0);
}
