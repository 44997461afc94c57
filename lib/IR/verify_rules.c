/* Rules of single ops that ops.def and the tables of attributes cannot express. */
#include "IR/verify.h"
#include "Support/activations.h"

static void check_const(hd_verifier *v, const hd_op *op) {
  hd_type_kind kind = op->results[0]->type.kind;
  int64_t value = hd_op_int(op, HD_ATTR_VALUE, 0);
  if (kind != HD_TYPE_I1 && kind != HD_TYPE_I32 && kind != HD_TYPE_I64)
    hd_verify_fail(v, op, "ir.type", "the constant has another type; legal: i1, i32, i64");
  else if (kind == HD_TYPE_I1 && value != 0 && value != 1)
    hd_verify_fail(v, op, "ir.const", "value = %lld of i1; legal: 0, 1", (long long)value);
  else if (kind == HD_TYPE_I32 && (value < INT32_MIN || value > INT32_MAX))
    hd_verify_fail(v, op, "ir.const", "value = %lld of i32; legal: -2147483648 to 2147483647",
                   (long long)value);
}

/* Both operands and the result (except of cmp) have the same integer type. */
static void check_arithmetic(hd_verifier *v, const hd_op *op) {
  hd_type_kind kind = hd_binary_x(op)->type.kind;
  bool same = hd_binary_y(op)->type.kind == kind;
  if (op->kind != HD_OP_CMP)
    same = same && op->results[0]->type.kind == kind;
  if (!same || (kind != HD_TYPE_I32 && kind != HD_TYPE_I64))
    hd_verify_fail(v, op, "ir.type",
                   "operands and result have different types; legal: all i32, or all i64");
}

static void check_select(hd_verifier *v, const hd_op *op) {
  hd_type type = op->results[0]->type;
  if (type.kind > HD_TYPE_PTR)
    hd_verify_fail(v, op, "ir.type",
                   "the operands are not scalars; legal: scalars of one type");
  else if (!hd_type_equal(hd_select_yes(op)->type, type) ||
           !hd_type_equal(hd_select_no(op)->type, type))
    hd_verify_fail(v, op, "ir.type", "an operand has another type; legal: the type of the result");
}

/* Fragments pass through: each result has the type of its operand. */
static void check_pass_through(hd_verifier *v, const hd_op *op) {
  bool same = op->n_results == op->n_operands;
  for (int32_t i = 0; same && i < op->n_results; i++)
    same = hd_type_equal(op->results[i]->type, op->operands[i]->type);
  if (!same)
    hd_verify_fail(v, op, "ir.type",
                   "the results do not match the operands; legal: one for each operand, of the "
                   "same type");
}

static void check_accumulates(hd_verifier *v, const hd_op *op) {
  if (!hd_type_equal(op->results[0]->type, hd_mma_acc(op)->type))
    hd_verify_fail(v, op, "ir.type", "the result has another type; legal: the type of operand 0");
}

/* Types that a loop or an if may carry. Buffers and barriers are excluded, so that the storage of
 * every access is known statically. */
static bool can_be_carried(hd_type type) {
  return type.kind <= HD_TYPE_PTR || type.kind == HD_TYPE_CURSOR || type.kind == HD_TYPE_FRAG;
}

static void check_carried(hd_verifier *v, const hd_op *op) {
  for (int32_t i = 0; i < op->n_results; i++)
    if (!can_be_carried(op->results[i]->type))
      hd_verify_fail(v, op, "ir.type",
                     "result %d is a buffer, a barrier, a tensor map or a matrix; legal: values in "
                     "registers",
                     (int)i);
}

static void check_for(hd_verifier *v, const hd_op *op) {
  const hd_region *body = op->regions[0];
  int32_t n = hd_for_n_carried(op);
  const hd_op *step = hd_for_step(op)->op;
  if (step && step->kind == HD_OP_CONST && hd_op_int(step, HD_ATTR_VALUE, 0) < 1)
    hd_verify_fail(v, op, "ir.for", "step = %lld; legal: 1 or more",
                   (long long)hd_op_int(step, HD_ATTR_VALUE, 0));
  bool fits =
      body->n_args == n + 1 && op->n_results == n && body->args[0]->type.kind == HD_TYPE_I32;
  for (int32_t i = 0; fits && i < n; i++)
    fits = hd_type_equal(hd_for_carried(op)[i]->type, body->args[i + 1]->type) &&
           hd_type_equal(hd_for_carried(op)[i]->type, op->results[i]->type);
  if (!fits) {
    hd_verify_fail(v, op, "ir.for",
                   "region arguments or results do not match the carried values; legal: arguments "
                   "(i32, the %d carried values), results the carried values",
                   (int)n);
    return;
  }
  for (int32_t i = 0; i < n; i++)
    if (hd_verify_stages(v, hd_for_carried(op)[i]) != HD_NO_FACT)
      hd_facts_set(&v->stages, body->args[i + 1], hd_verify_stages(v, hd_for_carried(op)[i]));
  check_carried(v, op);
}

static void check_size(hd_verifier *v, const hd_op *op) {
  const hd_attr *fixed = hd_op_attr(op, HD_ATTR_VALUE), *max = hd_op_attr(op, HD_ATTR_MAX);
  int64_t unit = hd_op_int(op, HD_ATTR_DIVISIBLE_BY, 1);
  const char *dim = hd_op_str(op, HD_ATTR_DIM);
  if (!fixed && max && max->i < unit)
    hd_verify_fail(v, op, "ir.size",
                   "no %s up to max = %lld is divisible by %lld; nearest: max = %lld", dim,
                   (long long)max->i, (long long)unit, (long long)unit);
  if (!fixed)
    return;
  if (fixed->i < 1 || fixed->i > HD_SIZE_MOST)
    hd_verify_fail(v, op, "ir.size", "%s = %lld; legal: 1 to %d; nearest: %d", dim,
                   (long long)fixed->i, HD_SIZE_MOST, fixed->i < 1 ? 1 : HD_SIZE_MOST);
  else if (fixed->i % unit)
    hd_verify_fail(v, op, "ir.size", "%s = %lld is not divisible by %lld; nearest: %lld", dim,
                   (long long)fixed->i, (long long)unit,
                   (long long)(fixed->i / unit ? fixed->i / unit * unit : unit));
  else if (max && fixed->i > max->i)
    hd_verify_fail(v, op, "ir.size", "%s = %lld; legal: up to its own max = %lld", dim,
                   (long long)fixed->i, (long long)max->i);
}

/* The element type of a matrix result equals the attribute. */
static void check_elem(hd_verifier *v, const hd_op *op, hd_attr_key key) {
  if (op->results[0]->type.elem != hd_op_elem(op, key))
    hd_verify_fail(v, op, "ir.type", "%s = %s; legal: %s, as the result", hd_attr_name(key),
                   heddle_elem_get(hd_op_elem(op, key))->name,
                   heddle_elem_get(op->results[0]->type.elem)->name);
}

static void check_sparse(hd_verifier *v, const hd_op *op) {
  check_elem(v, op, HD_ATTR_TYPE);
  if (heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->group == 0)
    hd_verify_unsupported(v, op, "ir.sparse-type",
                          "no sparse form of %s exists; legal: types of groups (`heddle list`)",
                          heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->name);
}

static void check_dense(hd_verifier *v, const hd_op *op) {
  check_elem(v, op, HD_ATTR_TYPE);
  bool is_b = hd_op_is(op, HD_ATTR_OPERAND, "b");
  bool b_order = hd_op_is(op, HD_ATTR_ORDER, "k_major") || hd_op_is(op, HD_ATTR_ORDER, "mn_major");
  if (is_b != b_order)
    hd_verify_fail(v, op, "ir.order", "order = %s of operand %s; legal: %s",
                   hd_op_str(op, HD_ATTR_ORDER), hd_op_str(op, HD_ATTR_OPERAND),
                   is_b ? "k_major mn_major" : "row_major col_major");
}

static void check_vector(hd_verifier *v, const hd_op *op) {
  check_elem(v, op, HD_ATTR_TYPE);
  bool offsets = hd_op_is(op, HD_ATTR_OPERAND, "offsets");
  if (offsets && (op->n_operands || hd_op_elem(op, HD_ATTR_TYPE) != HEDDLE_S32))
    hd_verify_fail(v, op, "ir.vector",
                   "the offsets of groups have a length, or a type other than s32; nearest: vector "
                   "{type = s32, operand = offsets}");
  bool combine = hd_op_is(op, HD_ATTR_OPERAND, "combine_d");
  bool index = combine || hd_op_is(op, HD_ATTR_OPERAND, "gather_b") ||
               hd_op_is(op, HD_ATTR_OPERAND, "scatter_d");
  if (combine != hd_op_has(op, HD_ATTR_SLOTS))
    hd_verify_fail(v, op, "ir.vector",
                   "%s; nearest: vector %%t {type = s32, operand = combine_d, slots = 2}",
                   combine ? "combine_d without slots" :
                   "slots with a vector other than combine_d");
  if (index && (!op->n_operands || hd_op_elem(op, HD_ATTR_TYPE) != HEDDLE_S32))
    hd_verify_fail(v, op, "ir.vector",
                   "%s has no length, or a type other than s32; nearest: vector %%n {type = s32, "
                   "operand = %s}",
                   hd_op_str(op, HD_ATTR_OPERAND), hd_op_str(op, HD_ATTR_OPERAND));
  if (op->n_operands == 0 && hd_op_is(op, HD_ATTR_OPERAND, "bias"))
    hd_verify_fail(v, op, "ir.vector", "only a scale may lack its length; nearest: vector %%m");
}

static void check_matmul(hd_verifier *v, const hd_op *op) {
  check_elem(v, op, HD_ATTR_ACC);
  if (op->n_operands == 3)
    hd_verify_fail(v, op, "ir.block-scale",
                   "only one operand has block scales; legal: both, or neither");
}

static void check_user(hd_verifier *v, const hd_op *op) {
  const char *act = hd_op_str(op, HD_ATTR_ACT);
  if (hd_act_is_user(act) != hd_op_has(op, HD_ATTR_USER))
    hd_verify_fail(v, op, "ir.epilogue",
                   "got only one of act = user (user_pair) and user = \"NAME\"; legal: both, or "
                   "neither");
  if (hd_act_is_pair(act) && hd_op_has(op, HD_ATTR_C))
    hd_verify_unsupported(v, op, "epilogue.pair",
                          "got the flag c with act = %s; nearest: without it", act);
}

static void check_epilogue(hd_verifier *v, const hd_op *op) {
  static const hd_attr_key flags[] = {HD_ATTR_C, HD_ATTR_BIAS, HD_ATTR_SCALE_A, HD_ATTR_SCALE_B};
  int32_t n = 1;
  for (size_t i = 0; i < HD_COUNT(flags); i++)
    n += hd_op_has(op, flags[i]);
  if (op->n_operands != n)
    hd_verify_fail(v, op, "ir.epilogue",
                   "got %d operands; legal: %d, by the flags c, bias, scale_a, scale_b",
                   (int)op->n_operands, (int)n);
  if (hd_op_has(op, HD_ATTR_BETA) && !hd_op_has(op, HD_ATTR_C))
    hd_verify_fail(v, op, "ir.epilogue",
                   "got beta without the flag c; legal: both");
  check_user(v, op);
}

static void check_store_tile(hd_verifier *v, const hd_op *op) {
  static const struct {
    hd_attr_key flag, needs;
  } pairs[] = {{HD_ATTR_C, HD_ATTR_C_TYPE},
               {HD_ATTR_C, HD_ATTR_C_ORDER},
               {HD_ATTR_BIAS, HD_ATTR_BIAS_TYPE},
               {HD_ATTR_BIAS, HD_ATTR_BIAS_ALONG}},
    ones[] = {{HD_ATTR_SCALE_A, HD_ATTR_SCALE_A_ONE}, {HD_ATTR_SCALE_B, HD_ATTR_SCALE_B_ONE}};
  for (size_t i = 0; i < HD_COUNT(ones); i++)
    if (hd_op_has(op, ones[i].needs) && !hd_op_has(op, ones[i].flag))
      hd_verify_fail(v, op, "ir.epilogue", "%s without %s; legal: after it",
                     hd_attr_name(ones[i].needs), hd_attr_name(ones[i].flag));
  for (size_t i = 0; i < HD_COUNT(pairs); i++)
    if (hd_op_has(op, pairs[i].flag) != hd_op_has(op, pairs[i].needs))
      hd_verify_fail(v, op, "ir.epilogue",
                     "got only one of %s and %s; legal: both, or neither",
                     hd_attr_name(pairs[i].flag),
                     hd_attr_name(pairs[i].needs));
  if (hd_op_has(op, HD_ATTR_BETA) && !hd_op_has(op, HD_ATTR_C))
    hd_verify_fail(v, op, "ir.epilogue",
                   "got beta without the flag c; legal: both");
  check_user(v, op);
  if (hd_op_is(op, HD_ATTR_PATH, "permuted") && hd_op_is(op, HD_ATTR_ORDER, "col_major"))
    hd_verify_fail(v, op, "ir.run", "path = permuted stores along rows; legal: order = row_major");
  int32_t first = hd_first_acc(op);
  if (op->n_operands <= first)
    hd_verify_fail(v, op, "ir.count", "there is no fragment; legal: 1 or more");
  for (int32_t i = first; i < op->n_operands; i++) {
    hd_type type = op->operands[i]->type;
    if (type.elem != op->operands[first]->type.elem || type.n % 4)
      hd_verify_fail(v, op, "ir.type",
                     "operand %d is another fragment; legal: one type, 4 elements for each "
                     "8-column block",
                     (int)i);
  }
  if (op->kind == HD_OP_STORE_TILE &&
      hd_store_tile_d(op)->type.elem != hd_op_elem(op, HD_ATTR_TYPE))
    hd_verify_fail(v, op, "ir.type",
                   "type differs from the type of D (operand 0); legal: the same type");
}

/* A partial consists of 8-column blocks: 4 elements per lane, 512 bytes as f32 or s32. */
static void check_partial(hd_verifier *v, const hd_op *op, int32_t first) {
  enum { LANE_BYTES = 16 };
  int64_t bytes = hd_op_int(op, HD_ATTR_BYTES, 0);
  for (int32_t i = first; i < op->n_operands; i++) {
    hd_type type = op->operands[i]->type;
    if (type.n % 4 ||
        (type.elem != HEDDLE_F32 && type.elem != HEDDLE_F16 && type.elem != HEDDLE_S32))
      hd_verify_fail(v, op, "ir.type",
                     "operand %d is not such a fragment; legal: f32, f16, s32, 4 elements for each "
                     "8-column block",
                     (int)i);
  }
  if (bytes < hd_partial_bytes(op) || bytes % LANE_BYTES)
    hd_verify_fail(v, op, "ir.partial",
                   "bytes = %lld; legal: multiples of %d from %lld, the size of its fragments",
                   (long long)bytes, LANE_BYTES, (long long)hd_partial_bytes(op));
}

static void check_partial_sum(hd_verifier *v, const hd_op *op) {
  enum { FIRST = HD_AT_partial_sum_acc };
  bool same = op->n_results == op->n_operands - FIRST;
  for (int32_t i = 0; same && i < op->n_results; i++) {
    hd_type in = hd_partial_sum_acc(op)[i]->type, out = op->results[i]->type;
    in.elem = in.elem == HEDDLE_F16 ? HEDDLE_F32 : in.elem;
    same = hd_type_equal(in, out);
  }
  check_partial(v, op, FIRST);
  if (!same)
    hd_verify_fail(v, op, "ir.type",
                   "the results do not match the fragments; legal: one for each fragment, with as "
                   "many f32 (s32)");
}

/* A fragment that is exchanged in a cluster, and the result of partial.add. */
static void check_exchanged(hd_verifier *v, const hd_op *op, int32_t fragment) {
  hd_type type = op->operands[fragment]->type;
  bool adds = op->n_results > 0, wide = type.elem == HEDDLE_F32 || type.elem == HEDDLE_S32;
  if (type.n % 4 || !(wide || (!adds && type.elem == HEDDLE_F16)))
    hd_verify_fail(v, op, "ir.type",
                   "operand %d is not such a fragment; legal: f32, s32%s, 4 elements for each "
                   "8-column block",
                   (int)fragment, adds ? "" : " or f16");
  else if (adds && !hd_type_equal(type, op->results[0]->type))
    hd_verify_fail(v, op, "ir.type", "the sum has another type; legal: the type of the fragment");
}

static void check_columns(hd_verifier *v, const hd_op *op) {
  enum { BLOCK = 8, ELEMS = 4 };
  hd_type in = hd_frag_columns_whole(op)->type, out = op->results[0]->type;
  int64_t offset = hd_op_int(op, HD_ATTR_OFFSET, 0), end = offset + out.n / ELEMS * BLOCK;
  if (in.elem != out.elem || in.n % ELEMS || out.n % ELEMS)
    hd_verify_fail(v, op, "ir.type",
                   "the fragments have different types or odd lengths; legal: one type, 4 elements "
                   "for each 8-column block");
  else if (offset < 0 || offset % BLOCK || end > in.n / ELEMS * BLOCK)
    hd_verify_fail(v, op, "ir.columns", "columns [%lld, %lld) of %d; legal: whole blocks of %d",
                   (long long)offset, (long long)end, in.n / ELEMS * BLOCK, BLOCK);
}

/* As many sums as parts, all of one type, in blocks of 8 columns that the slot of B's scales must
 * cover. */
static void check_promote(hd_verifier *v, const hd_op *op) {
  enum { BLOCK = 8, ELEMS = 4, SCALE_BYTES = 4 };
  int32_t n = hd_promote_n_parts(op);
  hd_type type = n ? hd_promote_parts(op)[0]->type : (hd_type){0};
  bool same = n > 0 && n % 2 == 0 && op->n_results == n && type.elem == HEDDLE_F32 &&
              type.n % ELEMS == 0;
  for (int32_t i = 0; same && i < n; i++)
    same = hd_type_equal(hd_promote_parts(op)[i]->type, type) &&
           hd_type_equal(op->results[i]->type, type);
  if (!same) {
    hd_verify_fail(v, op, "ir.promote",
                   "fragments and results of several types or numbers; legal: sums, then as many "
                   "parts, all one f32, 4 elements an 8-column block; results like them");
    return;
  }
  int64_t bytes = (int64_t)type.n / ELEMS * BLOCK * SCALE_BYTES;
  const hd_op *buffer = hd_promote_scale_b(op)->op;
  int64_t rows = hd_op_int(op, HD_ATTR_ROWS, 1), run = hd_op_int(op, HD_ATTR_RUN, 0);
  if (hd_op_int(buffer, HD_ATTR_BYTES, bytes) < bytes)
    hd_verify_fail(v, op, "ir.slot", "%lld bytes of B's scales; legal: %lld and more",
                   (long long)hd_op_int(buffer, HD_ATTR_BYTES, 0), (long long)bytes);
  if (rows != 1 && rows != 128)
    hd_verify_fail(v, op, "ir.promote", "rows = %lld; legal: 1, 128", (long long)rows);
  if (run & (run - 1))
    hd_verify_fail(v, op, "ir.run", "run = %lld; legal: 4, 8, 16", (long long)run);
  else if (run && type.n / ELEMS * BLOCK % (4 * run))
    hd_verify_fail(v, op, "ir.run", "%d columns with run = %lld; legal: multiples of %lld",
                   type.n / ELEMS * BLOCK, (long long)run, (long long)(4 * run));
}

/* Sync ops for the lanes of one warp, or for its own bulk groups. */
static bool is_inside_warp(hd_op_kind kind) {
  return kind == HD_OP_WARP_SYNC || kind == HD_OP_FENCE_PROXY || kind == HD_OP_BULK_COMMIT ||
         kind == HD_OP_BULK_WAIT;
}

static heddle_status check_own(void *user, hd_op *op) {
  const hd_op_info *info = hd_op_get_info(op->kind);
  bool is_own = info->issuer == HD_BY_NONE || info->issuer == HD_BY_WARP;
  if (!is_own || (*info->levels == 'S' && !is_inside_warp(op->kind)))
    hd_verify_fail(
        user, op, "ir.last-arriver",
        "is inside a region that a single warp may run; legal: ops of a single warp");
  return HEDDLE_OK;
}

static hd_type_kind type_of_arg(hd_arg_kind arg) {
  static const hd_type_kind types[] = {
      [HD_ARG_NONE] = HD_TYPE_I64,
#define HD_ARG(kind, name, class) [HD_ARG_##kind] = HD_TYPE_##class,
#include "Kernel/args.def"
#undef HD_ARG
  };
  return types[arg];
}

static bool is_known_arg(hd_verifier *v, const hd_op *op) {
  if (hd_op_arg(op) != HD_ARG_NONE)
    return true;
  hd_strbuf legal = {0};
  for (hd_arg_kind arg = HD_ARG_NONE + 1; arg < HD_N_ARG_KINDS; arg++)
    hd_strbuf_printf(&legal, " %s", hd_arg_name(arg));
  hd_verify_fail(v, op, "ir.arg", "arg = %.60s; legal:%s", hd_op_str(op, HD_ATTR_ARG),
                 hd_strbuf_text(&legal));
  hd_strbuf_free(&legal);
  return false;
}

static void check_arg(hd_verifier *v, const hd_op *op) {
  const char *name = hd_op_str(op, HD_ATTR_ARG);
  hd_arg_kind arg = hd_op_arg(op);
  hd_type type = op->results[0]->type;
  if (!is_known_arg(v, op))
    return;
  hd_type_kind legal = type_of_arg(arg);
  if (legal != type.kind)
    hd_verify_fail(v, op, "ir.arg", "argument %s has another type; legal: %s", name,
                   legal == HD_TYPE_PTR   ? "ptr"
                   : legal == HD_TYPE_I32 ? "i32"
                   : legal == HD_TYPE_I64 ? "i64"
                                          : "f32");
  else if ((type.kind == HD_TYPE_PTR) != hd_op_has(op, HD_ATTR_TYPE))
    hd_verify_fail(v, op, "ir.arg", "got only one of type and a ptr; legal: both, or neither");
  else if (type.kind == HD_TYPE_PTR)
    check_elem(v, op, HD_ATTR_TYPE);
  bool sized = hd_op_has(op, HD_ATTR_TILE) && hd_op_has(op, HD_ATTR_BYTES);
  bool half = hd_op_has(op, HD_ATTR_TILE) != hd_op_has(op, HD_ATTR_BYTES);
  if (half || (sized && (arg != HD_ARG_WORKSPACE || hd_op_attr(op, HD_ATTR_TILE)->n != 2)))
    hd_verify_fail(v, op, "ir.arg",
                   "got only one of bytes and tile = [m, n], or not for the workspace; legal: "
                   "both, for the workspace");
  else if (hd_op_has(op, HD_ATTR_STREAM_K) && !sized)
    hd_verify_fail(v, op, "ir.arg", "got stream_k without the bytes of the workspace; legal: both");
}

/* Each expression uses a size or stride argument. The stride of dimension 0 is not checked. */
static void check_expressions(hd_verifier *v, const hd_op *op, hd_attr_key key) {
  const hd_attr *list = hd_op_attr(op, key);
  for (int32_t i = key == HD_ATTR_STRIDES; i < list->n; i++) {
    hd_type_kind kind = type_of_arg(list->exprs[i].arg);
    if (list->exprs[i].div == 0 || (kind != HD_TYPE_I32 && kind != HD_TYPE_I64))
      hd_verify_fail(v, op, "ir.tmap",
                     "%s[%d] does not use a size or stride; legal: e.g. \"ldb*2\"",
                     hd_attr_name(key), (int)i);
  }
}

/* CUDA Driver API, cuTensorMapEncodeTiled: box rows are multiples of 16 bytes, at most the
 * swizzle. */
static void check_tmap(hd_verifier *v, const hd_op *op) {
  int32_t rank = hd_op_attr(op, HD_ATTR_BOX)->n;
  int64_t bits = heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->container_bits;
  is_known_arg(v, op);
  int64_t row = hd_op_attr(op, HD_ATTR_BOX)->ints[0] * bits / 8;
  int64_t swizzle = hd_op_int(op, HD_ATTR_SWIZZLE, 0);
  if (rank < 2 || rank > 5 || hd_op_attr(op, HD_ATTR_DIMS)->n != rank ||
      hd_op_attr(op, HD_ATTR_STRIDES)->n != rank)
    hd_verify_fail(v, op, "ir.tmap",
                   "dims, strides and box have different lengths; legal: one length, 2 to 5");
  if (row % 16)
    hd_verify_fail(v, op, "ir.tmap", "a box row of %lld bytes; legal: multiples of 16",
                   (long long)row);
  else if (swizzle && row > swizzle)
    hd_verify_fail(v, op, "ir.tmap", "a box row of %lld bytes; legal: up to swizzle = %lld",
                   (long long)row, (long long)swizzle);
  check_expressions(v, op, HD_ATTR_DIMS);
  check_expressions(v, op, HD_ATTR_STRIDES);
}

static void check_list_length(hd_verifier *v, const hd_op *op, hd_attr_key key, int32_t n) {
  if (hd_op_attr(op, key)->n != n)
    hd_verify_fail(v, op, "ir.attribute", "%s has %d elements; legal: %d", hd_attr_name(key),
                   (int)hd_op_attr(op, key)->n, (int)n);
}

void hd_verify_op_rules(hd_verifier *v, const hd_op *op) {
  switch (op->kind) {
  case HD_OP_FOR:
    check_for(v, op);
    break;
  case HD_OP_IF:
    check_carried(v, op);
    break;
  case HD_OP_SIZE:
    check_size(v, op);
    break;
  case HD_OP_SPARSE:
    check_sparse(v, op);
    break;
  case HD_OP_DENSE:
    check_dense(v, op);
    break;
  case HD_OP_VECTOR:
    check_vector(v, op);
    break;
  case HD_OP_BLOCK_SCALE:
    check_elem(v, op, HD_ATTR_TYPE);
    break;
  case HD_OP_MATMUL:
    check_matmul(v, op);
    break;
  case HD_OP_EPILOGUE:
    check_epilogue(v, op);
    break;
  case HD_OP_WORK:
    check_list_length(v, op, HD_ATTR_TILE, 3);
    break;
  case HD_OP_ARG:
    check_arg(v, op);
    break;
  case HD_OP_TMAP:
    check_tmap(v, op);
    break;
  case HD_OP_CONST:
    check_const(v, op);
    break;
  case HD_OP_ADD:
  case HD_OP_SUB:
  case HD_OP_MUL:
  case HD_OP_DIV:
  case HD_OP_REM:
  case HD_OP_MIN:
  case HD_OP_MAX:
  case HD_OP_CMP:
    check_arithmetic(v, op);
    break;
  case HD_OP_SELECT:
    check_select(v, op);
    break;
  case HD_OP_MMA_SP:
  case HD_OP_WGMMA_SS:
  case HD_OP_WGMMA_RS:
    check_accumulates(v, op);
    break;
  case HD_OP_MMA_SP_SCALED:
    check_accumulates(v, op);
    check_list_length(v, op, HD_ATTR_SCALE_IDS, 4);
    break;
  case HD_OP_STORE_TILE:
  case HD_OP_STAGE_TILE:
  case HD_OP_FINISH_TILE:
    check_store_tile(v, op);
    break;
  case HD_OP_PARTIAL_STORE:
    check_partial(v, op, HD_AT_partial_store_acc);
    break;
  case HD_OP_PARTIAL_SUM:
    check_partial_sum(v, op);
    break;
  case HD_OP_FRAG_COLUMNS:
    check_columns(v, op);
    break;
  case HD_OP_PROMOTE:
    check_promote(v, op);
    break;
  case HD_OP_PARTIAL_SEND:
    check_exchanged(v, op, HD_AT_partial_send_acc);
    break;
  case HD_OP_PARTIAL_ADD:
    check_exchanged(v, op, HD_AT_partial_add_acc);
    break;
  case HD_OP_LAST_ARRIVER:
    hd_walk(op->regions[0], check_own, v);
    break;
  case HD_OP_WGMMA_FENCE:
  case HD_OP_WGMMA_WAIT:
  case HD_OP_TCGEN05_WAIT_LD:
    check_pass_through(v, op);
    break;
  default:
    break;
  }
}
