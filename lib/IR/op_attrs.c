#include <string.h>

#include "IR/grow.h"
#include "IR/ir.h"

/* The index of a key's attribute in the sorted list, or the index at which to insert it. */
static int32_t place_of(const hd_op *op, hd_attr_key key) {
  int32_t i = 0;
  while (i < op->n_attrs && op->attrs[i].key < key)
    i++;
  return i;
}

const hd_attr *hd_op_attr(const hd_op *op, hd_attr_key key) {
  int32_t i = place_of(op, key);
  return i < op->n_attrs && op->attrs[i].key == key ? &op->attrs[i] : NULL;
}

bool hd_op_has(const hd_op *op, hd_attr_key key) {
  return hd_op_attr(op, key) != NULL;
}

int64_t hd_op_int(const hd_op *op, hd_attr_key key, int64_t otherwise) {
  const hd_attr *attr = hd_op_attr(op, key);
  return attr ? attr->i : otherwise;
}

int64_t hd_partial_bytes(const hd_op *op) {
  enum { ELEM_BYTES = 4, LANES = 32 };
  int64_t bytes = 0;
  for (int32_t i = 0; i < op->n_operands; i++)
    if (op->operands[i]->type.kind == HD_TYPE_FRAG)
      bytes += (int64_t)op->operands[i]->type.n * ELEM_BYTES * LANES;
  return bytes;
}

const char *hd_op_str(const hd_op *op, hd_attr_key key) {
  const hd_attr *attr = hd_op_attr(op, key);
  return attr ? attr->s : NULL;
}

bool hd_op_is(const hd_op *op, hd_attr_key key, const char *symbol) {
  const char *text = hd_op_str(op, key);
  return text && strcmp(text, symbol) == 0;
}

heddle_elem hd_op_elem(const hd_op *op, hd_attr_key key) {
  return (heddle_elem)hd_op_int(op, key, HEDDLE_N_ELEMS);
}

hd_arg_kind hd_op_arg(const hd_op *op) {
  return (hd_arg_kind)hd_op_int(op, HD_ATTR_ARG, HD_ARG_NONE);
}

static void set(hd_module *m, hd_op *op, hd_attr attr) {
  int32_t at = place_of(op, attr.key);
  if (at == op->n_attrs || op->attrs[at].key != attr.key) {
    op->attrs = hd_grow(&m->arena, op->attrs, op->n_attrs, sizeof attr);
    memmove(op->attrs + at + 1, op->attrs + at, sizeof attr * (size_t)(op->n_attrs - at));
    op->n_attrs++;
  }
  op->attrs[at] = attr;
}

void hd_op_set_int(hd_module *m, hd_op *op, hd_attr_key key, int64_t value) {
  set(m, op, (hd_attr){.key = key, .i = value});
}

void hd_op_set_str(hd_module *m, hd_op *op, hd_attr_key key, const char *text) {
  hd_attr attr = {.key = key, .s = hd_arena_strdup(&m->arena, text)};
  hd_arg_kind arg;
  if (hd_attr_get_kind(key) == HD_ATTR_KIND_ARG && hd_arg_parse(text, &arg) == HEDDLE_OK)
    attr.i = arg;
  set(m, op, attr);
}

void hd_op_set_elem(hd_module *m, hd_op *op, hd_attr_key key, heddle_elem elem) {
  set(m, op, (hd_attr){.key = key, .i = elem});
}

void hd_op_set_flag(hd_module *m, hd_op *op, hd_attr_key key) {
  set(m, op, (hd_attr){.key = key, .i = 1});
}

void hd_op_set_ints(hd_module *m, hd_op *op, hd_attr_key key, const int64_t *values, int32_t n) {
  const int64_t *copy = hd_arena_copy(&m->arena, values, sizeof *values * (size_t)n);
  set(m, op, (hd_attr){.key = key, .ints = copy, .n = n});
}

void hd_op_set_arg(hd_module *m, hd_op *op, hd_arg_kind arg) {
  set(m, op, (hd_attr){.key = HD_ATTR_ARG, .i = arg, .s = hd_arg_name(arg)});
}

void hd_op_set_exprs(hd_module *m, hd_op *op, hd_attr_key key, const hd_expr *values, int32_t n) {
  const hd_expr *copy = hd_arena_copy(&m->arena, values, sizeof *values * (size_t)n);
  set(m, op, (hd_attr){.key = key, .exprs = copy, .n = n});
}

void hd_op_remove_attr(hd_op *op, hd_attr_key key) {
  int32_t at = place_of(op, key);
  if (at == op->n_attrs || op->attrs[at].key != key)
    return;
  memmove(op->attrs + at, op->attrs + at + 1, sizeof *op->attrs * (size_t)(op->n_attrs - at - 1));
  op->n_attrs--;
}
