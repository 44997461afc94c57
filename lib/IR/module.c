#include "IR/grow.h"
#include "IR/ir.h"
#include "Support/memory.h"

hd_module *hd_module_create(hd_level level) {
  hd_module *module = hd_xmalloc(sizeof *module);
  *module = (hd_module){.level = level};
  module->body = HD_NEW(&module->arena, hd_region);
  return module;
}

void hd_module_free(hd_module *module) {
  if (!module)
    return;
  hd_arena_free(&module->arena);
  hd_free(module);
}

/* Inserts an op that is in no region into a region, before another op or (NULL) at the end. */
static void link_op(hd_op *op, hd_region *region, hd_op *before) {
  op->region = region;
  op->next = before;
  op->prev = before ? before->prev : region->last;
  *(op->prev ? &op->prev->next : &region->first) = op;
  *(before ? &before->prev : &region->last) = op;
}

static void unlink_op(hd_op *op) {
  *(op->prev ? &op->prev->next : &op->region->first) = op->next;
  *(op->next ? &op->next->prev : &op->region->last) = op->prev;
  op->region = NULL;
  op->prev = op->next = NULL;
}

void hd_op_erase(hd_op *op) {
  unlink_op(op);
}

void hd_op_move_before(hd_op *op, hd_op *before) {
  if (op == before)
    return;
  unlink_op(op);
  link_op(op, before->region, before);
}

void hd_op_move_to_end(hd_op *op, hd_region *region) {
  unlink_op(op);
  link_op(op, region, NULL);
}

void hd_op_add_operand(hd_module *m, hd_op *op, hd_value *value) {
  op->operands = hd_grow(&m->arena, op->operands, op->n_operands, sizeof value);
  op->operands[op->n_operands++] = value;
}

hd_value *hd_op_add_result(hd_module *m, hd_op *op, hd_type type) {
  hd_value *value = HD_NEW(&m->arena, hd_value);
  *value = (hd_value){.type = type, .op = op, .index = op->n_results};
  op->results = hd_grow(&m->arena, op->results, op->n_results, sizeof value);
  op->results[op->n_results++] = value;
  return value;
}

hd_value *hd_region_add_arg(hd_module *m, hd_region *region, hd_type type, const char *name) {
  hd_value *value = HD_NEW(&m->arena, hd_value);
  *value = (hd_value){.type = type, .region = region, .index = region->n_args};
  value->name = name ? hd_arena_strdup(&m->arena, name) : NULL;
  region->args = hd_grow(&m->arena, region->args, region->n_args, sizeof value);
  region->args[region->n_args++] = value;
  return value;
}

hd_op *hd_build(hd_builder *b, hd_op_kind kind, hd_value *const *operands, int32_t n_operands,
                const hd_type *results, int32_t n_results) {
  hd_module *m = b->module;
  hd_op *op = HD_NEW(&m->arena, hd_op);
  op->kind = kind;
  op->loc = b->loc;
  op->operands = hd_grow_exact(&m->arena, n_operands, sizeof *operands);
  for (int32_t i = 0; i < n_operands; i++)
    op->operands[op->n_operands++] = operands[i];
  for (int32_t i = 0; i < n_results; i++)
    hd_op_add_result(m, op, results[i]);
  op->n_regions = hd_op_get_info(kind)->n_regions;
  op->regions = HD_NEW_ARRAY(&m->arena, hd_region *, op->n_regions);
  for (int32_t i = 0; i < op->n_regions; i++) {
    op->regions[i] = HD_NEW(&m->arena, hd_region);
    op->regions[i]->parent = op;
  }
  link_op(op, b->region, b->before);
  return op;
}
