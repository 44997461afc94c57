#include "IR/ir.h"

void hd_value_map_set(hd_value_map *map, const hd_value *from, hd_value *to) {
  hd_facts_set(&map->places, from, (int64_t)(intptr_t)to);
}

hd_value *hd_value_map_get(const hd_value_map *map, const hd_value *from) {
  int64_t place = hd_facts_get(&map->places, from);
  return place == HD_NO_FACT ? NULL : (hd_value *)(intptr_t)place;
}

void hd_value_map_free(hd_value_map *map) {
  hd_facts_free(&map->places);
}

static void copy_attr(hd_module *m, hd_op *op, const hd_attr *attr) {
  switch (hd_attr_get_kind(attr->key)) {
  case HD_ATTR_KIND_STRING:
  case HD_ATTR_KIND_SYMBOL:
  case HD_ATTR_KIND_ARG:
    hd_op_set_str(m, op, attr->key, attr->s);
    break;
  case HD_ATTR_KIND_INTS:
    hd_op_set_ints(m, op, attr->key, attr->ints, attr->n);
    break;
  case HD_ATTR_KIND_EXPRS:
    hd_op_set_exprs(m, op, attr->key, attr->exprs, attr->n);
    break;
  default:
    hd_op_set_int(m, op, attr->key, attr->i);
  }
}

static void copy_region(hd_module *m, hd_region *to, const hd_region *from, hd_value_map *map) {
  for (int32_t i = 0; i < from->n_args; i++) {
    hd_value *arg = hd_region_add_arg(m, to, from->args[i]->type, from->args[i]->name);
    hd_value_map_set(map, from->args[i], arg);
  }
  hd_builder b = hd_builder_at_end(m, to);
  for (const hd_op *op = from->first; op; op = op->next)
    hd_op_clone(&b, op, map);
}

hd_op *hd_op_clone(hd_builder *b, const hd_op *op, hd_value_map *map) {
  hd_op *copy = hd_build(b, op->kind, NULL, 0, NULL, 0);
  copy->loc = op->loc;
  for (int32_t i = 0; i < op->n_operands; i++) {
    hd_value *mapped = hd_value_map_get(map, op->operands[i]);
    hd_op_add_operand(b->module, copy, mapped ? mapped : op->operands[i]);
  }
  for (int32_t i = 0; i < op->n_attrs; i++)
    copy_attr(b->module, copy, &op->attrs[i]);
  for (int32_t i = 0; i < op->n_results; i++) {
    hd_value *result = hd_op_add_result(b->module, copy, op->results[i]->type);
    if (op->results[i]->name)
      result->name = hd_arena_strdup(&b->module->arena, op->results[i]->name);
    hd_value_map_set(map, op->results[i], result);
  }
  for (int32_t i = 0; i < op->n_regions; i++)
    copy_region(b->module, copy->regions[i], op->regions[i], map);
  return copy;
}

static heddle_status set_file(void *user, hd_op *op) {
  op->loc.file = user;
  return HEDDLE_OK;
}

hd_module *hd_module_clone(const hd_module *module) {
  hd_module *copy = hd_module_create(module->level);
  copy->sync_placed = module->sync_placed;
  hd_value_map map = {0};
  copy_region(copy, copy->body, module->body, &map);
  hd_value_map_free(&map);
  if (module->file) {
    copy->file = hd_arena_strdup(&copy->arena, module->file);
    hd_walk(copy->body, set_file, (void *)copy->file);
  }
  return copy;
}

heddle_status hd_module_copy(heddle_context *ctx, const hd_module *module, hd_module **copy) {
  uint64_t before = hd_memory_shortages();
  hd_module *made = hd_module_clone(module);
  heddle_status status = hd_memory_status(ctx, before, HEDDLE_OK);
  if (status == HEDDLE_OK)
    *copy = made;
  else
    hd_module_free(made);
  return status;
}
