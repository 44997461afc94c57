/* Compares a kernel with the problem that its `product` states: which sizes are arguments, the
 * types and orders of the operands, and the epilogue of each store. Sizes and pitches that the
 * problem fixes are compared during the runs (check_store.c, check_instances.c). */
#include <string.h>

#include "Check/check_instances.h"
#include "Support/activations.h"

static void differ(hd_ck_kernel *k, const hd_op *op, const char *what, const char *got,
                   const char *expected) {
  hd_ck_static_find(k, "data", op, "the problem that `product` says",
                    "%s: the kernel has %s, the problem %s", what, got, expected);
}

static void compare_elems(hd_ck_kernel *k, const hd_op *op, const char *what, heddle_elem got,
                          heddle_elem expected) {
  if (got != expected)
    differ(k, op, what, heddle_elem_get(got)->name, heddle_elem_get(expected)->name);
}

/* --- sizes ---------------------------------------------------------------------------------- */

static const struct size {
  hd_attr_key key;
  hd_arg_kind arg;
  bool is_needed; /* if the problem does not fix it, every kernel has it as an argument */
} sizes[] = {{HD_ATTR_M, HD_ARG_M, true},          {HD_ATTR_N, HD_ARG_N, true},
             {HD_ATTR_K, HD_ARG_K, true},          {HD_ATTR_G, HD_ARG_G, false},
             {HD_ATTR_T, HD_ARG_T, false},
             {HD_ATTR_LDB, HD_ARG_LDB, false},     {HD_ATTR_LDD, HD_ARG_LDD, false},
             {HD_ATTR_LDSA, HD_ARG_LDSA, false},   {HD_ATTR_LDSB, HD_ARG_LDSB, false}};

static const hd_op *find_argument(const hd_ck_kernel *k, hd_arg_kind arg) {
  HD_FOR_OPS(op, k->program.kernel->regions[0])
    if (op->kind == HD_OP_ARG && hd_op_arg(op) == arg)
      return op;
  return NULL;
}

/* --- operands and epilogue ------------------------------------------------------------------ */

static const hd_attr_key epilogue[] = {
    HD_ATTR_TYPE,    HD_ATTR_ORDER,   HD_ATTR_ACT,         HD_ATTR_USER,
    HD_ATTR_C,       HD_ATTR_BIAS,    HD_ATTR_ALPHA,       HD_ATTR_BETA,
    HD_ATTR_SCALE_A, HD_ATTR_SCALE_B, HD_ATTR_BIAS_TYPE,   HD_ATTR_C_TYPE,
    HD_ATTR_C_ORDER, HD_ATTR_BIAS_ALONG, HD_ATTR_SCALE_A_ONE, HD_ATTR_SCALE_B_ONE,
    HD_ATTR_SCATTER_D, HD_ATTR_REDUCE, HD_ATTR_SCALE_D, HD_ATTR_STATISTIC};

/* An attribute of the epilogue in words, for messages. */
static const char *word_of(const hd_op *op, hd_attr_key key) {
  const hd_attr *attr = hd_op_attr(op, key);
  if (!attr)
    return "none";
  if (hd_attr_get_kind(key) == HD_ATTR_KIND_ELEM)
    return heddle_elem_get((heddle_elem)attr->i)->name;
  return attr->s ? attr->s : "one";
}

/* What an attribute of a store must be. The second matrix has a type of its own, no statistics, and
 * the activation's input has no activation. */
static const char *expected_word(const hd_op *product, hd_attr_key key, bool of_aux) {
  bool input = of_aux && hd_op_is(product, HD_ATTR_AUX, "input");
  if (of_aux && key == HD_ATTR_TYPE)
    return word_of(product, HD_ATTR_AUX_TYPE);
  if ((of_aux && (key == HD_ATTR_REDUCE || key == HD_ATTR_SCALE_D)) ||
      (input && (key == HD_ATTR_ACT || key == HD_ATTR_USER)))
    return "none";
  return word_of(product, key);
}

static void check_store(hd_ck_kernel *k, const hd_op *op) {
  const hd_op *product = k->program.product.op;
  bool of_aux = hd_op_has(op, HD_ATTR_AUX);
  if (of_aux && strcmp(word_of(op, HD_ATTR_AUX), word_of(product, HD_ATTR_AUX)))
    return differ(k, op, hd_attr_name(HD_ATTR_AUX), word_of(op, HD_ATTR_AUX),
                  word_of(product, HD_ATTR_AUX));
  for (size_t i = 0; i < HD_COUNT(epilogue); i++) {
    const char *got = word_of(op, epilogue[i]);
    const char *expected = expected_word(product, epilogue[i], of_aux);
    if (strcmp(got, expected))
      return differ(k, op, hd_attr_name(epilogue[i]), got, expected);
  }
}

/* If D has statistics, every tile passes finish.tile before it is stored. The second matrix is
 * stored from the accumulators. */
static void check_finished(hd_ck_kernel *k, const hd_op *op) {
  bool reduces = hd_op_has(k->program.product.op, HD_ATTR_REDUCE) && !hd_op_has(op, HD_ATTR_AUX);
  if (hd_op_has(op, HD_ATTR_FINISHED) != reduces)
    differ(k, op, hd_attr_name(HD_ATTR_FINISHED), word_of(op, HD_ATTR_FINISHED),
           reduces ? "a statistic of D" : "none of D");
}

/* The parts, and their reduction, must belong to the problem's statistic. */
static void check_statistic(hd_ck_kernel *k, const hd_op *op, bool makes) {
  static const hd_attr_key keys[] = {HD_ATTR_REDUCE, HD_ATTR_ACT, HD_ATTR_SCALE_D, HD_ATTR_TYPE};
  for (size_t i = 0; i < (makes ? HD_COUNT(keys) : 2); i++) {
    const char *got = word_of(op, keys[i]), *expected = word_of(k->program.product.op, keys[i]);
    if (strcmp(got, expected))
      return differ(k, op, hd_attr_name(keys[i]), got, expected);
  }
}

/* Scales of columns must be computed from the problem's statistic and its eps. Their sums and pitch
 * are compared elsewhere (check_argument.c, check_columns.c). */
static void check_columns(hd_ck_kernel *k, const hd_op *op) {
  const hd_op *eps = hd_scale_columns_eps(op)->op;
  const char *got = word_of(op, HD_ATTR_STATISTIC);
  const char *expected = word_of(k->program.product.op, HD_ATTR_STATISTIC);
  if (strcmp(got, expected))
    differ(k, op, hd_attr_name(HD_ATTR_STATISTIC), got, expected);
  if (!eps || eps->kind != HD_OP_ARG || hd_op_arg(eps) != HD_ARG_EPS)
    differ(k, op, "eps",
           eps && eps->kind == HD_OP_ARG ? hd_arg_name(hd_op_arg(eps)) : "another value",
           "the argument eps");
}

static void check_buffer(hd_ck_kernel *k, const hd_op *op) {
  const hd_op *product = k->program.product.op;
  if (hd_op_is(op, HD_ATTR_LAYOUT, "packed_a"))
    compare_elems(k, op, "A's elements", hd_op_elem(op, HD_ATTR_TYPE),
                  hd_op_elem(product, HD_ATTR_A_TYPE));
  if (hd_op_is(op, HD_ATTR_LAYOUT, "rows"))
    compare_elems(k, op, "B's elements", hd_op_elem(op, HD_ATTR_TYPE),
                  hd_op_elem(product, HD_ATTR_B_TYPE));
}

static void check_instruction(hd_ck_kernel *k, const hd_op *op, const hd_spec_row *row) {
  const hd_op *product = k->program.product.op;
  bool promoted = hd_op_has(product, HD_ATTR_ROWS); /* instructions do not apply these scales */
  int64_t block = promoted ? 0 : hd_op_int(product, HD_ATTR_BLOCK, 0);
  compare_elems(k, op, "accumulators", row->operand[HD_OPERAND_D].elem,
                hd_op_elem(product, HD_ATTR_ACC));
  if (hd_spec_block(row) != block)
    hd_ck_static_find(k, "data", op, "the problem that `product` says",
                      "block scales: the instruction's are of %d elements, the problem's of %lld",
                      hd_spec_block(row), (long long)block);
}

/* A scale must cover as many rows of A as the problem states. */
static void check_promote(hd_ck_kernel *k, const hd_op *op) {
  int64_t got = hd_op_int(op, HD_ATTR_ROWS, 1);
  int64_t expected = hd_op_int(k->program.product.op, HD_ATTR_ROWS, 0);
  if (got != expected)
    hd_ck_static_find(k, "data", op, "the problem that `product` says",
                      "a block scale is for %lld rows of A, the problem's for %lld (0: it has "
                      "none)",
                      (long long)got, (long long)expected);
}

/* Either all copies of B and its block scales gather by index, as the problem states, or none. The
 * rows of a copied B are in order. */
static void check_copy(hd_ck_kernel *k, const hd_op *op, const hd_op *buffer) {
  const hd_op *product = k->program.product.op, *source = op->operands[0]->op;
  bool of_scales = source && (source->kind == HD_OP_ARG || source->kind == HD_OP_TMAP) &&
                   hd_op_arg(source) == HD_ARG_BLOCK_SCALE_B;
  bool in_order = !of_scales && hd_op_is(product, HD_ATTR_B_PATH, "copied");
  bool expected = hd_op_has(product, HD_ATTR_GATHER_B) && !in_order;
  if (buffer && (of_scales || hd_op_is(buffer, HD_ATTR_LAYOUT, "rows")) &&
      hd_op_has(op, HD_ATTR_GATHER_B) != expected)
    differ(k, op, hd_attr_name(HD_ATTR_GATHER_B), word_of(op, HD_ATTR_GATHER_B),
           expected ? "one" : "none");
}

static bool is_grouped(const hd_ck_kernel *k) { return find_argument(k, HD_ARG_OFFSETS) != NULL; }

/* Columns that a later kernel combines must have a pitch of whole runs of 16 elements. */
static void check_combined(hd_ck_kernel *k) {
  enum { RUN = 16 };
  const hd_op *product = k->program.product.op;
  int64_t rows = hd_op_int(product, HD_ATTR_M, 0), ldd = hd_op_int(product, HD_ATTR_LDD, 0);
  rows = hd_act_is_pair(hd_op_str(product, HD_ATTR_ACT)) ? rows / 2 : rows;
  if (!hd_op_has(product, HD_ATTR_COMBINE_D))
    return;
  if (!is_grouped(k) || !hd_op_is(product, HD_ATTR_ORDER, "col_major") || !rows || ldd % RUN ||
      ldd < rows || ldd >= rows + RUN)
    hd_ck_static_find(k, "data", product, "groups, col_major, at a pitch of m in whole runs of 16",
                      "columns to combine of %lld rows at a pitch of %lld", (long long)rows,
                      (long long)ldd);
}

static bool multiplies(hd_op_kind kind) {
  return kind == HD_OP_MMA_SP || kind == HD_OP_MMA_SP_SCALED || kind == HD_OP_WGMMA_SS ||
         kind == HD_OP_WGMMA_RS || kind == HD_OP_TCGEN05_MMA_SP;
}

static heddle_status check_op(void *user, hd_op *op) {
  hd_ck_kernel *k = user;
  const hd_spec_row *row = multiplies(op->kind) ? hd_spec_find(hd_op_str(op, HD_ATTR_ROW)) : NULL;
  bool stores = op->kind == HD_OP_STORE_TILE || op->kind == HD_OP_STAGE_TILE;
  if (stores || op->kind == HD_OP_FINISH_TILE)
    check_store(k, op);
  if (stores)
    check_finished(k, op);
  else if (op->kind == HD_OP_REDUCE_TILE || op->kind == HD_OP_SCALE_TILE)
    check_statistic(k, op, op->kind == HD_OP_SCALE_TILE);
  else if (op->kind == HD_OP_SCALE_COLUMNS)
    check_columns(k, op);
  else if (op->kind == HD_OP_BUFFER)
    check_buffer(k, op);
  else if (op->kind == HD_OP_PROMOTE)
    check_promote(k, op);
  else if (op->kind == HD_OP_COPY_TMA)
    check_copy(k, op, hd_copy_tma_buffer(op)->op);
  else if (op->kind == HD_OP_COPY_CP_ASYNC || op->kind == HD_OP_COPY_LD_ST)
    check_copy(k, op, hd_copy_rows_buffer(op)->op);
  else if (row)
    check_instruction(k, op, row);
  return HEDDLE_OK;
}

void hd_ck_check_product(hd_ck_kernel *k) {
  const hd_op *product = k->program.product.op;
  if (!product)
    return;
  /* A size is either fixed or an argument; a pitch is neither if a tensor map contains it. */
  for (size_t i = 0; i < HD_COUNT(sizes); i++) {
    const hd_op *arg = find_argument(k, sizes[i].arg);
    bool fixed = hd_op_has(product, sizes[i].key);
    if (fixed && arg)
      differ(k, arg, hd_attr_name(sizes[i].key), "an argument", "a constant");
    else if (sizes[i].is_needed && !fixed && !arg)
      differ(k, product, hd_attr_name(sizes[i].key), "a constant", "an argument");
  }
  if (k->program.transposed != hd_op_is(product, HD_ATTR_B_ORDER, "mn_major"))
    differ(k, product, "B", k->program.transposed ? "mn_major" : "k_major",
           hd_op_str(product, HD_ATTR_B_ORDER));
  check_combined(k);
  hd_walk(k->program.kernel->regions[0], check_op, k);
}
