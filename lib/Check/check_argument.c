/* What an op names of the kernel's arguments: no run is needed for it. A slot's layout says which
 * operand of the product it holds; D and the workspace have one pointer each; and the tensor map
 * of B says its sizes and pitch as B is stored. */
#include <stdio.h>
#include <string.h>

#include "Check/check_instances.h"

/* Where operand 0 is the pointer or tensor map, and `filled` the buffer that is filled from it; -1:
 * none is, `arg` it must be. */
static const struct use {
  hd_op_kind op;
  int8_t filled;
  const char *arg;
} uses[] = {{HD_OP_COPY_BULK, 2, NULL},
            {HD_OP_COPY_TMA, 1, NULL},
            {HD_OP_COPY_CP_ASYNC, 2, NULL},
            {HD_OP_COPY_LD_ST, 2, NULL},
            {HD_OP_STORE_TILE, -1, "d"},
            {HD_OP_COPY_OUT, -1, "d"},
            {HD_OP_PARTIAL_STORE, -1, "workspace"},
            {HD_OP_PARTIAL_SUM, -1, "workspace"},
            {HD_OP_LAST_ARRIVER, -1, "workspace"}};

static const struct use *use_of(hd_op_kind kind) {
  for (size_t i = 0; i < HD_COUNT(uses); i++)
    if (uses[i].op == kind)
      return &uses[i];
  return NULL;
}

/* Block scales of which operand they are, their copies' checks ask. */
static const char *held_by(const hd_op *buffer, const hd_op *source) {
  if (hd_op_is(buffer, HD_ATTR_LAYOUT, "packed_a"))
    return "a";
  if (hd_op_is(buffer, HD_ATTR_LAYOUT, "rows"))
    return "b";
  return hd_op_is(source, HD_ATTR_ARG, "block_scale_b") ? "block_scale_b" : "block_scale_a";
}

/* A plane of two dimensions, and a batch's; run order has more, and is compared where it is
 * copied. */
static void check_map(hd_ck_kernel *k, const hd_op *map, const hd_op *buffer) {
  char line[8], pitch[16], stride[24];
  const char *const *dims = hd_op_attr(map, HD_ATTR_DIMS)->strings;
  const char *const *strides = hd_op_attr(map, HD_ATTR_STRIDES)->strings;
  int32_t bits = heddle_elem_get(hd_op_elem(map, HD_ATTR_TYPE))->container_bits;
  int32_t elem_bits = heddle_elem_get(hd_op_elem(buffer, HD_ATTR_TYPE))->container_bits;
  const char *along = k->program.transposed ? "n" : "k";
  const char *across = k->program.transposed ? "k" : "n";
  int32_t rank = hd_op_attr(map, HD_ATTR_BOX)->n;
  if (rank > 3)
    return;
  bool pairs = elem_bits < 8; /* are bytes of the map */
  snprintf(line, sizeof line, "%s%s", along, pairs ? "/2" : "");
  snprintf(pitch, sizeof pitch, pairs ? "ldb/2" : "ldb*%d", elem_bits / 8);
  snprintf(stride, sizeof stride, pairs ? "stride_b/2" : "stride_b*%d", elem_bits / 8);
  if (rank == 3 && (strcmp(dims[2], "g") || strcmp(strides[2], stride)))
    return hd_ck_static_find(k, "data", map, "the batch's g, and B's stride in bytes",
                             "a tensor map of %s matrices, %s bytes apart; B has g at %s", dims[2],
                             strides[2], stride);
  if (!strcmp(dims[0], line) && !strcmp(dims[1], across) && !strcmp(strides[1], pitch) &&
      bits == (pairs ? 8 : elem_bits))
    return;
  hd_ck_static_find(k, "data", map, "B's own sizes, contiguous first, and its pitch in bytes",
                    "a tensor map of %s x %s elements of %d bits at a pitch of %s; B has %s x %s "
                    "of %d at %s", dims[0], dims[1], (int)bits, strides[1], line, across,
                    pairs ? 8 : (int)elem_bits, pitch);
}

static bool has_argument(const hd_ck_kernel *k, const char *name) {
  HD_FOR_OPS(op, k->program.kernel->regions[0])
    if (op->kind == HD_OP_ARG && hd_op_is(op, HD_ATTR_ARG, name))
      return true;
  return false;
}

static heddle_status check_op(void *user, hd_op *op) {
  hd_ck_kernel *k = user;
  const struct use *use = use_of(op->kind);
  if (!use)
    return HEDDLE_OK;
  const hd_op *source = op->operands[0]->op, *buffer = NULL;
  bool declared = source && (source->kind == HD_OP_ARG || source->kind == HD_OP_TMAP);
  if (use->filled >= 0)
    buffer = op->operands[use->filled]->op;
  if (!declared || (use->filled >= 0 && (!buffer || buffer->kind != HD_OP_BUFFER))) {
    hd_ck_static_find(k, "undecided", op, "",
                      "an argument or buffer that is not named by its declaration");
    return HEDDLE_OK;
  }
  const char *arg = buffer ? held_by(buffer, source) : use->arg;
  if (!hd_op_is(source, HD_ATTR_ARG, arg))
    hd_ck_static_find(k, "data", op, "the argument that the op is for",
                      "%s goes to argument \"%s\" where \"%s\" belongs",
                      hd_op_get_info(op->kind)->text, hd_op_str(source, HD_ATTR_ARG), arg);
  else if (op->kind == HD_OP_COPY_TMA)
    check_map(k, source, buffer);
  else if (op->kind == HD_OP_STORE_TILE && hd_op_batch(op, HD_AT_store_tile_g) &&
           !has_argument(k, "stride_d"))
    hd_ck_static_find(k, "data", op, "arg {arg = stride_d}",
                      "a matrix of a batch is stored by a kernel without its stride");
  return HEDDLE_OK;
}

void hd_ck_check_arguments(hd_ck_kernel *k) {
  hd_walk(k->program.kernel->regions[0], check_op, k);
}
