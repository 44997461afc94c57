#include "Passes/accesses.h"
#include "Support/memory.h"

bool hd_is_copy(const hd_op *op) {
  uint32_t effects = hd_op_effects(op->kind);
  return (effects & HD_EFFECT_RD_GLOBAL) && (effects & HD_EFFECT_WR_SHARED) &&
         op->kind != HD_OP_STAGE_TILE && op->kind != HD_OP_GROUP_TABLE &&
         op->kind != HD_OP_SCALE_COLUMNS;
}

bool hd_is_read(const hd_op *op) {
  uint32_t effects = hd_op_effects(op->kind);
  bool only_reads = (effects & HD_EFFECT_RD_SHARED) &&
                    !(effects & (HD_EFFECT_WR_SHARED | HD_EFFECT_WR_GLOBAL));
  return only_reads && op->kind != HD_OP_GROUP_COUNT && op->kind != HD_OP_GROUP_FIND &&
         op->kind != HD_OP_PARTIAL_ADD;
}

bool hd_is_weights(const hd_op *op) {
  return op->kind == HD_OP_COPY_BULK &&
         hd_op_arg(hd_copy_bulk_source(op)->op) != HD_ARG_BLOCK_SCALE_B;
}

bool hd_is_wgmma(const hd_op *op) {
  return op->kind == HD_OP_WGMMA_SS || op->kind == HD_OP_WGMMA_RS;
}

hd_value *hd_wgmma_metadata(const hd_op *wgmma) {
  bool ss = wgmma->kind == HD_OP_WGMMA_SS;
  return ss ? hd_wgmma_ss_metadata(wgmma) : hd_wgmma_rs_metadata(wgmma);
}

hd_value *hd_wgmma_columns(const hd_op *wgmma) {
  bool ss = wgmma->kind == HD_OP_WGMMA_SS;
  return ss ? hd_wgmma_ss_columns(wgmma) : hd_wgmma_rs_columns(wgmma);
}

void hd_accesses_find(hd_region *region, bool (*want)(const hd_op *op), hd_accesses *out) {
  HD_FOR_OPS(op, region) {
    if (want(op))
      HD_PUSH(out->op, out->n, out->cap, op);
    for (int32_t r = 0; r < op->n_regions; r++)
      hd_accesses_find(op->regions[r], want, out);
  }
}

void hd_accesses_free(hd_accesses *list) {
  hd_free(list->op);
  *list = (hd_accesses){0};
}

hd_op *hd_loop_of(const hd_op *op) {
  for (hd_op *up = op->region->parent; up; up = up->region->parent)
    if (up->kind == HD_OP_FOR)
      return up;
  return NULL;
}

hd_op *hd_op_in_region(hd_op *op, const hd_region *region) {
  while (op && op->region != region)
    op = op->region->parent;
  return op;
}

static hd_value *set_stages(hd_builder *b, hd_op *cursor, int64_t stages) {
  hd_op_set_int(b->module, cursor, HD_ATTR_STAGES, stages);
  return cursor->results[0];
}

hd_value *hd_first_slot(hd_builder *b, int64_t stages) {
  return set_stages(b, hd_build_op(b, HD_OP_CURSOR, HD_CURSOR, 0), stages);
}

hd_value *hd_next_slot(hd_builder *b, hd_value *cursor, int64_t stages) {
  return set_stages(b, hd_build_op(b, HD_OP_CURSOR_NEXT, HD_CURSOR, 1, cursor), stages);
}

hd_value *hd_cursor_of(const hd_op *op) {
  for (int32_t i = 0; i < op->n_operands; i++)
    if (op->operands[i]->type.kind == HD_TYPE_CURSOR)
      return op->operands[i];
  return NULL;
}

hd_value *hd_carry(hd_module *m, hd_op *loop, hd_value *first) {
  hd_op_add_operand(m, loop, first);
  hd_op_add_result(m, loop, first->type);
  return hd_region_add_arg(m, loop->regions[0], first->type, NULL);
}

int32_t hd_slot_end(const hd_accesses *list, int32_t from) {
  int32_t to = from + 1;
  while (to < list->n && hd_cursor_of(list->op[to]) == hd_cursor_of(list->op[from]) &&
         list->op[to]->region == list->op[from]->region)
    to++;
  return to;
}

bool hd_is_fill(const hd_op *op) { return op->kind == HD_OP_STAGE_TILE; }

hd_op *hd_role_of(const hd_op *op) {
  hd_op *up = op->region->parent;
  while (up->kind != HD_OP_ROLE)
    up = up->region->parent;
  return up;
}

int64_t hd_slots_of_warp(const hd_op *fill) {
  return hd_op_int(hd_stage_tile_buffer(fill)->op, HD_ATTR_STAGES, 1) /
         hd_op_int(hd_role_of(fill), HD_ATTR_N_WARPS, 1);
}

bool hd_fills_again(const hd_accesses *fills, int32_t i) {
  hd_op *fill = fills->op[i];
  int32_t before = 0;
  for (int32_t j = 0; j < i; j++)
    before += fills->op[j]->region == fill->region;
  return before >= hd_slots_of_warp(fill) || hd_op_has(hd_op_kernel(fill), HD_ATTR_PERSISTENT);
}
