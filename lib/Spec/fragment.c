/* Layouts of operands for a selector. */
#include "Spec/spec.h"

const char *hd_operand_name(hd_operand_id operand) {
  static const char *const names[HD_N_OPERANDS] = {"a",    "b",       "c",      "d",
                                                   "meta", "scale_a", "scale_b"};
  return names[operand];
}

static uint16_t lane_value(unsigned mask, unsigned selector) {
  return (uint16_t)(mask ? selector * (mask & -mask) : 0);
}

/* The selector of block scales is byte-id (0..3) + 4 * thread-id. The ISA's table of selectors: 1X
 * any byte, 2X bytes 0 and 2, 4X byte 0. Tensor memory has no threads. */
static heddle_status select_scale(const hd_spec_row *row, unsigned selector, hd_fragment *f) {
  unsigned byte = selector % 4, thread = selector / 4;
  unsigned n_threads = f->lane_mask == 3 ? 4 : f->lane_mask == 2 ? 2 : 1;
  if (thread >= n_threads || byte % row->scale_vec != 0)
    return HEDDLE_UNSUPPORTED;
  f->field_base = (uint8_t)byte;
  f->lane_value = lane_value(f->lane_mask, thread);
  return HEDDLE_OK;
}

/* Selector s selects the lanes whose masked bits equal s, or column s of tensor memory. */
static void select_metadata(unsigned selector, hd_fragment *f) {
  if (f->space == HD_SPACE_TENSOR)
    f->reg_base = (uint8_t)selector;
  else
    f->lane_value = lane_value(f->lane_mask, selector);
}

heddle_status hd_spec_fragment(const hd_spec_row *row, hd_operand_id operand, unsigned selector,
                               hd_fragment *fragment) {
  if (!row->fragment[operand])
    return HEDDLE_UNSUPPORTED;
  hd_fragment f = *row->fragment[operand];
  heddle_status status = HEDDLE_OK;
  if (operand == HD_OPERAND_SCALE_A || operand == HD_OPERAND_SCALE_B)
    status = select_scale(row, selector, &f);
  else if (operand == HD_OPERAND_META && selector < (row->n_selectors ? row->n_selectors : 1))
    select_metadata(selector, &f);
  else if (operand == HD_OPERAND_META || selector != 0)
    status = HEDDLE_UNSUPPORTED;
  if (status == HEDDLE_OK)
    *fragment = f;
  return status;
}

bool hd_fragment_at(const hd_fragment *fragment, unsigned lane, unsigned reg, unsigned field,
                    uint32_t *row, uint32_t *col) {
  uint32_t in[HD_LAYOUT_DIMS] = {lane, reg, field};
  int64_t out[HD_LAYOUT_DIMS];
  if (lane >= fragment->n_lanes || (lane & fragment->lane_mask) != fragment->lane_value)
    return false;
  hd_layout_apply(&fragment->map, in, out);
  *row = (uint32_t)out[0];
  *col = (uint32_t)out[1];
  return true;
}
