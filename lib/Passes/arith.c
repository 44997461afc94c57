#include "Passes/arith.h"

static bool is_const(const hd_value *v) { return v->op && v->op->kind == HD_OP_CONST; }

static int64_t const_value(const hd_value *v) { return hd_op_int(v->op, HD_ATTR_VALUE, 0); }

/* Finds an existing constant before the insertion point, in the region or an enclosing one. */
static hd_value *find_const(const hd_builder *b, hd_type type, int64_t value) {
  const hd_op *at = b->before ? b->before->prev : b->region->last;
  for (const hd_region *region = b->region; region;) {
    for (; at; at = at->prev)
      if (at->kind == HD_OP_CONST && hd_type_equal(at->results[0]->type, type) &&
          hd_op_int(at, HD_ATTR_VALUE, 0) == value)
        return at->results[0];
    if (!region->parent)
      break;
    at = region->parent->prev;
    region = region->parent->region;
  }
  return NULL;
}

hd_value *hd_i32(hd_builder *b, int64_t value) {
  hd_value *old = find_const(b, HD_I32, value);
  return old ? old : hd_build_i32(b, value);
}

hd_value *hd_i64(hd_builder *b, int64_t value) {
  hd_value *old = find_const(b, HD_I64, value);
  return old ? old : hd_build_i64(b, value);
}

/* Folds an operation; false for an overflow, or a division by 0 or of negative numbers. */
static bool fold(hd_op_kind kind, int64_t x, int64_t y, int64_t *out) {
  switch (kind) {
  case HD_OP_ADD:
    return !__builtin_add_overflow(x, y, out);
  case HD_OP_SUB:
    return !__builtin_sub_overflow(x, y, out);
  case HD_OP_MUL:
    return !__builtin_mul_overflow(x, y, out);
  case HD_OP_DIV:
    *out = y > 0 ? x / y : 0;
    return y > 0 && x >= 0;
  case HD_OP_REM:
    *out = y > 0 ? x % y : 0;
    return y > 0 && x >= 0;
  case HD_OP_MIN:
    *out = x < y ? x : y;
    return true;
  case HD_OP_MAX:
    *out = x > y ? x : y;
    return true;
  default:
    return false;
  }
}

static bool is_neutral(hd_op_kind kind, int64_t y) {
  return ((kind == HD_OP_ADD || kind == HD_OP_SUB) && y == 0) ||
         ((kind == HD_OP_MUL || kind == HD_OP_DIV) && y == 1);
}

hd_value *hd_arith(hd_builder *b, hd_op_kind kind, hd_value *x, hd_value *y) {
  int64_t value;
  bool wide = x->type.kind == HD_TYPE_I64;
  if (is_const(x) && is_const(y) && fold(kind, const_value(x), const_value(y), &value) &&
      (wide || value == (int32_t)value))
    return wide ? hd_i64(b, value) : hd_i32(b, value);
  if (is_const(y) && is_neutral(kind, const_value(y)))
    return x;
  return hd_build_value(b, kind, x->type, 2, x, y);
}

hd_value *hd_arith_const(hd_builder *b, hd_op_kind kind, hd_value *x, int64_t y) {
  bool wide = x->type.kind == HD_TYPE_I64;
  return hd_arith(b, kind, x, wide ? hd_i64(b, y) : hd_i32(b, y));
}

hd_value *hd_widen(hd_builder *b, hd_value *x) {
  return is_const(x) ? hd_i64(b, const_value(x)) : hd_build_value(b, HD_OP_EXTEND, HD_I64, 1, x);
}

/* Recognizes lo = x / n, hi = (x + range) / n: at most ceil(range / n) iterations. */
int64_t hd_most_turns(const hd_op *loop) {
  const hd_value *lo = hd_for_lo(loop), *hi = hd_for_hi(loop);
  if (is_const(lo) && is_const(hi))
    return const_value(hi) - const_value(lo);
  if (!lo->op || !hi->op || lo->op->kind != HD_OP_DIV || hi->op->kind != HD_OP_DIV)
    return INT64_MAX;
  const hd_value *n = hd_binary_y(hi->op), *sum = hd_binary_x(hi->op);
  bool is_share = n == hd_binary_y(lo->op) && is_const(n) && const_value(n) > 0 && sum->op &&
                  sum->op->kind == HD_OP_ADD && hd_binary_x(sum->op) == hd_binary_x(lo->op) &&
                  is_const(hd_binary_y(sum->op));
  if (!is_share)
    return INT64_MAX;
  return (const_value(hd_binary_y(sum->op)) + const_value(n) - 1) / const_value(n);
}
