/* Checks the arguments that ops use; no run is needed. A slot's layout determines which operand of
 * the product it holds. D and the workspace have one pointer each. The tensor map of B must have
 * the sizes and pitch with which B is stored. */
#include "Check/check_instances.h"

/* The operands that are the pointer or tensor map, and the buffer that is filled from it; -1: no
 * buffer, and the argument must be `arg`. */
static const struct use {
  hd_op_kind op;
  int8_t source, filled;
  hd_arg_kind arg;
} uses[] = {{HD_OP_COPY_BULK, HD_AT_copy_bulk_source, HD_AT_copy_bulk_buffer, HD_ARG_NONE},
            {HD_OP_COPY_TMA, HD_AT_copy_tma_map, HD_AT_copy_tma_buffer, HD_ARG_NONE},
            {HD_OP_COPY_CP_ASYNC, HD_AT_copy_rows_source, HD_AT_copy_rows_buffer, HD_ARG_NONE},
            {HD_OP_COPY_LD_ST, HD_AT_copy_rows_source, HD_AT_copy_rows_buffer, HD_ARG_NONE},
            {HD_OP_STORE_TILE, HD_AT_store_tile_d, -1, HD_ARG_D},
            {HD_OP_COPY_OUT, HD_AT_copy_out_map, -1, HD_ARG_D},
            {HD_OP_SCALE_TILE, HD_AT_scale_tile_scales, -1, HD_ARG_SCALE_D},
            {HD_OP_SCALE_COLUMNS, HD_AT_scale_columns_sums, -1, HD_ARG_SCALE_B},
            {HD_OP_PARTIAL_STORE, HD_AT_partial_store_workspace, -1, HD_ARG_WORKSPACE},
            {HD_OP_PARTIAL_SUM, HD_AT_partial_sum_workspace, -1, HD_ARG_WORKSPACE},
            {HD_OP_LAST_ARRIVER, HD_AT_last_arriver_workspace, -1, HD_ARG_WORKSPACE},
            {HD_OP_GROUP_TABLE, HD_AT_group_table_offsets, -1, HD_ARG_OFFSETS},
            {HD_OP_PRUNE_PACK, HD_AT_prune_pack_packed, -1, HD_ARG_D},
            {HD_OP_PRUNE_PACK, HD_AT_prune_pack_twin, -1, HD_ARG_TWIN},
            {HD_OP_PRUNE_PACK, HD_AT_prune_pack_mask, -1, HD_ARG_MASK},
            {HD_OP_TWIN_CODES, HD_AT_twin_codes_twin, -1, HD_ARG_TWIN},
            {HD_OP_MASK_PACK, HD_AT_mask_pack_packed, -1, HD_ARG_D},
            {HD_OP_MASK_PACK, HD_AT_mask_pack_twin, -1, HD_ARG_TWIN},
            {HD_OP_MASK_PACK, HD_AT_mask_pack_keep, -1, HD_ARG_KEEP},
            {HD_OP_QUANTIZE_PACK, HD_AT_quantize_pack_packed, -1, HD_ARG_D},
            {HD_OP_QUANTIZE_PACK, HD_AT_quantize_pack_scales, -1, HD_ARG_SCALE_A},
            {HD_OP_COPY_GLOBAL, HD_AT_copy_global_copy, -1, HD_ARG_WORKSPACE},
            {HD_OP_COMBINE_GLOBAL, HD_AT_combine_global_products, -1, HD_ARG_WORKSPACE},
            {HD_OP_COMBINE_GLOBAL, HD_AT_combine_global_index, -1, HD_ARG_COMBINE_D},
            {HD_OP_COMBINE_GLOBAL, HD_AT_combine_global_d, -1, HD_ARG_D}};

/* Accepts the block scales of either operand: their copies check which operand they belong to. */
static hd_arg_kind held_by(const hd_op *buffer, const hd_op *source) {
  if (hd_op_is(buffer, HD_ATTR_LAYOUT, "packed_a"))
    return HD_ARG_A;
  if (hd_op_is(buffer, HD_ATTR_LAYOUT, "rows"))
    return HD_ARG_B;
  return hd_op_arg(source) == HD_ARG_BLOCK_SCALE_B ? HD_ARG_BLOCK_SCALE_B : HD_ARG_BLOCK_SCALE_A;
}

/* The workspace holds B, at a pitch of whole lines. */
static bool is_copied(const hd_ck_kernel *k) {
  return k->program.product.op && hd_op_is(k->program.product.op, HD_ATTR_B_PATH, "copied");
}

static int64_t copied_pitch(const hd_ck_kernel *k, int32_t elem_bits) {
  enum { LINE = 128 };
  int64_t bytes = hd_op_int(k->program.product.op, HD_ATTR_K, 0) * elem_bits / 8;
  return (bytes + LINE - 1) / LINE * LINE;
}

/* Checks maps of two dimensions, and of three for a batch. Maps in run order have more dimensions
 * and are checked at the copy. */
static void check_map(hd_ck_kernel *k, const hd_op *map, const hd_op *buffer) {
  const hd_expr *dims = hd_op_attr(map, HD_ATTR_DIMS)->exprs;
  const hd_expr *strides = hd_op_attr(map, HD_ATTR_STRIDES)->exprs;
  int32_t bits = heddle_elem_get(hd_op_elem(map, HD_ATTR_TYPE))->container_bits;
  int32_t elem_bits = heddle_elem_get(hd_op_elem(buffer, HD_ATTR_TYPE))->container_bits;
  hd_arg_kind along = k->program.transposed ? HD_ARG_N : HD_ARG_K;
  hd_arg_kind across = k->program.transposed ? HD_ARG_K : HD_ARG_N;
  int32_t rank = hd_op_attr(map, HD_ATTR_BOX)->n;
  bool pairs = elem_bits < 8; /* two elements per byte of the map */
  int64_t bytes = pairs ? 1 : elem_bits / 8, a_byte = pairs ? 2 : 1;
  if (rank > 3)
    return;
  bool pitch = is_copied(k) ? hd_expr_is(&strides[1], HD_ARG_NONE, copied_pitch(k, elem_bits), 1)
                            : hd_expr_is(&strides[1], HD_ARG_LDB, bytes, a_byte);
  bool plane = hd_expr_is(&dims[0], along, 1, a_byte) && hd_expr_is(&dims[1], across, 1, 1) &&
               pitch && bits == (pairs ? 8 : elem_bits);
  bool batch = rank < 3 || (hd_expr_is(&dims[2], HD_ARG_G, 1, 1) &&
                            hd_expr_is(&strides[2], HD_ARG_STRIDE_B, bytes, a_byte));
  if (plane && batch)
    return;
  int32_t at = batch ? 1 : 2;
  hd_strbuf text = {0};
  for (int32_t i = 0; i <= at; i++) {
    hd_strbuf_add(&text, i ? " x " : "");
    hd_expr_print(&dims[i], &text);
  }
  hd_strbuf_printf(&text, " elements of %d bits, with a stride of ", (int)bits);
  hd_expr_print(&strides[at], &text);
  hd_ck_static_find(k, "data", map,
                    batch ? "B's own sizes, contiguous first, and its pitch in bytes"
                          : "the batch's g, and B's stride in bytes",
                    "a tensor map of %s; B is %s x %s%s of %d bits", hd_strbuf_text(&text),
                    hd_arg_name(along), hd_arg_name(across), batch ? "" : " x g", (int)elem_bits);
  hd_strbuf_free(&text);
}

static bool has_argument(const hd_ck_kernel *k, hd_arg_kind arg) {
  HD_FOR_OPS(op, k->program.kernel->regions[0])
  if (op->kind == HD_OP_ARG && hd_op_arg(op) == arg)
    return true;
  return false;
}

/* f32 scales: one line per k-block, one scale for each `rows` rows of A, or column of B. */
static void check_scale_map(hd_ck_kernel *k, const hd_op *map, hd_arg_kind arg) {
  enum { BYTES = 4 };
  const hd_op *product = k->program.product.op;
  bool of_b = arg == HD_ARG_BLOCK_SCALE_B;
  int64_t block = product ? hd_op_int(product, HD_ATTR_BLOCK, 0) : 0;
  int64_t rows = product && !of_b ? hd_op_int(product, HD_ATTR_ROWS, 1) : 1;
  const hd_expr *dims = hd_op_attr(map, HD_ATTR_DIMS)->exprs;
  const hd_expr *strides = hd_op_attr(map, HD_ATTR_STRIDES)->exprs;
  const int64_t *box = hd_op_attr(map, HD_ATTR_BOX)->ints;
  int32_t rank = hd_op_attr(map, HD_ATTR_BOX)->n;
  bool batch = has_argument(k, of_b ? HD_ARG_STRIDE_B : HD_ARG_STRIDE_A);
  int64_t lines = block ? (hd_op_int(product, HD_ATTR_K, 0) + block - 1) / block : 0;
  bool apart = rank == 3 && box[2] == 1 && lines && hd_expr_is(&dims[2], HD_ARG_G, 1, 1) &&
               hd_expr_is(&strides[2], of_b ? HD_ARG_LDSB : HD_ARG_LDSA, BYTES * lines, 1);
  bool right = block && (apart || (rank == 2 && !batch)) && box[1] == 1 &&
               hd_op_elem(map, HD_ATTR_TYPE) == HEDDLE_F32 &&
               hd_expr_is(&dims[0], of_b ? HD_ARG_N : HD_ARG_M, 1, rows) &&
               hd_expr_is(&dims[1], HD_ARG_K, 1, block) &&
               hd_expr_is(&strides[1], of_b ? HD_ARG_LDSB : HD_ARG_LDSA, BYTES, 1);
  if (!right)
    hd_ck_static_find(k, "data", map,
                      "f32, a scale for each `rows` of m (or n), a line a k-block; in a batch the "
                      "index of the product",
                      "a tensor map of other block scales than the product's");
}

static void check_use(hd_ck_kernel *k, const hd_op *op, const struct use *use) {
  const hd_op *source = op->operands[use->source]->op, *buffer = NULL;
  bool declared = source && (source->kind == HD_OP_ARG || source->kind == HD_OP_TMAP);
  if (use->filled >= 0)
    buffer = op->operands[use->filled]->op;
  if (!declared || (use->filled >= 0 && (!buffer || buffer->kind != HD_OP_BUFFER))) {
    hd_ck_static_find(k, "undecided", op, "",
                      "an argument or buffer that is not named by its declaration");
    return;
  }
  hd_arg_kind arg = buffer ? held_by(buffer, source) : use->arg;
  const hd_op *product = k->program.product.op;
  bool combines = product && hd_op_has(product, HD_ATTR_COMBINE_D); /* in a later kernel */
  bool of_aux = op->kind == HD_OP_STORE_TILE && hd_op_has(op, HD_ATTR_AUX);
  if ((arg == HD_ARG_B && is_copied(k)) || (op->kind == HD_OP_STORE_TILE && combines))
    arg = HD_ARG_WORKSPACE;
  else if (of_aux)
    arg = HD_ARG_AUX;
  if (hd_op_arg(source) != arg)
    hd_ck_static_find(k, "data", op, "the argument that the op is for",
                      "%s uses argument \"%s\" instead of \"%s\"",
                      hd_op_get_info(op->kind)->text, hd_arg_name(hd_op_arg(source)),
                      hd_arg_name(arg));
  else if (arg == HD_ARG_BLOCK_SCALE_A || arg == HD_ARG_BLOCK_SCALE_B)
    op->kind == HD_OP_COPY_TMA ? check_scale_map(k, source, arg) : (void)0;
  else if (op->kind == HD_OP_COPY_TMA)
    check_map(k, source, buffer);
  else if (op->kind == HD_OP_STORE_TILE && hd_op_batch(op, HD_AT_store_tile_g) &&
           !has_argument(k, of_aux ? HD_ARG_STRIDE_AUX : HD_ARG_STRIDE_D) &&
           !has_argument(k, HD_ARG_OFFSETS))
    hd_ck_static_find(k, "data", op, of_aux ? "arg {arg = stride_aux}" : "arg {arg = stride_d}",
                      "a matrix of a batch is stored by a kernel without its stride");
}

static heddle_status check_op(void *user, hd_op *op) {
  for (size_t i = 0; i < HD_COUNT(uses); i++)
    if (uses[i].op == op->kind && uses[i].source < op->n_operands)
      check_use(user, op, &uses[i]);
  return HEDDLE_OK;
}

void hd_ck_check_arguments(hd_ck_kernel *k) {
  hd_walk(k->program.kernel->regions[0], check_op, k);
}
