#include "IR/shared_layout.h"

#include "Spec/spec.h"

/* No device has more shared memory; the limit keeps the arithmetic far from overflow. */
enum { MAX_BYTES = 1 << 20 };

static bool in_tensor(const hd_op *op) {
  return op->kind == HD_OP_BUFFER && hd_op_is(op, HD_ATTR_SPACE, "tmem");
}

static bool in_shared(const hd_op *op) {
  return op->kind == HD_OP_BARRIER || op->kind == HD_OP_TCGEN05_ALLOC ||
         (op->kind == HD_OP_BUFFER && !in_tensor(op));
}

static heddle_status place(heddle_context *ctx, const hd_op *op, hd_shared_layout *layout) {
  bool buffer = op->kind == HD_OP_BUFFER; /* others are words of 8 bytes; tcgen05.alloc has one */
  int64_t bytes = buffer ? hd_op_int(op, HD_ATTR_BYTES, 0) : HD_BARRIER_BYTES;
  int64_t align = buffer ? hd_op_int(op, HD_ATTR_ALIGN, 0) : HD_BARRIER_BYTES;
  int64_t stages = hd_op_int(op, HD_ATTR_STAGES, !buffer);
  if (bytes <= 0 || bytes > MAX_BYTES || stages <= 0 || stages > 1024)
    return hd_error(ctx, HEDDLE_INVALID, op->loc, "shared.size",
                    "%lld bytes in %lld stages; legal: 1 to %d bytes, 1 to 1024 stages",
                    (long long)bytes, (long long)stages, MAX_BYTES);
  if (align <= 0 || align > HD_SHARED_ALIGN || (align & (align - 1)) || bytes % align)
    return hd_error(ctx, HEDDLE_INVALID, op->loc, "shared.align",
                    "alignment %lld of slots of %lld bytes; legal: a power of two up to %d that "
                    "divides the slot",
                    (long long)align, (long long)bytes, HD_SHARED_ALIGN);
  const hd_op *under = buffer && op->n_operands ? hd_buffer_under(op)->op : NULL;
  const hd_shared_item *shared = under ? hd_shared_layout_find(layout, under) : NULL;
  int64_t offset = shared ? shared->offset : (layout->n_bytes + align - 1) / align * align;
  int64_t end = offset + bytes * stages;
  layout->item[layout->n_items++] = (hd_shared_item){op, offset, bytes, stages};
  layout->n_bytes = end > layout->n_bytes ? end : layout->n_bytes;
  return HEDDLE_OK;
}

heddle_status hd_shared_layout_make(heddle_context *ctx, const hd_op *kernel, hd_arena *arena,
                                    hd_shared_layout *layout) {
  int32_t n = 0;
  HD_FOR_OPS(op, kernel->regions[0])
    n += in_shared(op);
  hd_shared_layout made = {.item = HD_NEW_ARRAY(arena, hd_shared_item, n + 1)};
  static const hd_op_kind order[] = {HD_OP_BUFFER, HD_OP_BARRIER, HD_OP_TCGEN05_ALLOC};
  for (size_t i = 0; i < HD_COUNT(order); i++)
    HD_FOR_OPS(op, kernel->regions[0])
      if (op->kind == order[i] && in_shared(op))
        HD_TRY(place(ctx, op, &made));
  *layout = made;
  return HEDDLE_OK;
}

const hd_shared_item *hd_shared_layout_find(const hd_shared_layout *layout, const hd_op *op) {
  for (int32_t i = 0; i < layout->n_items; i++)
    if (layout->item[i].op == op)
      return &layout->item[i];
  return NULL;
}

int64_t hd_tensor_slot_columns(const hd_op *op) {
  return hd_op_int(op, HD_ATTR_BYTES, 0) / HD_TENSOR_COLUMN_BYTES;
}

int64_t hd_tensor_column(const hd_op *kernel, const hd_op *op) {
  int64_t column = 0;
  for (const hd_op *at = kernel->regions[0]->first; at && at != op; at = at->next)
    if (in_tensor(at))
      column += hd_tensor_slot_columns(at) * hd_op_int(at, HD_ATTR_STAGES, 1);
  return column;
}

int32_t hd_tensor_ctas(const hd_op *kernel) {
  const hd_op *mma = hd_find_op(kernel->regions[0], HD_OP_TCGEN05_MMA_SP);
  const char *name = mma ? hd_op_str(mma, HD_ATTR_ROW) : NULL;
  const hd_spec_row *row = name ? hd_spec_find(name) : NULL; /* the IR may not be verified yet */
  return row && row->cta_group > 1 ? row->cta_group : 1;
}
