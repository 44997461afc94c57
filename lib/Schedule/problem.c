#include "Schedule/problem.h"

#include "IR/op_info.h"
#include "Support/activations.h"

static heddle_status check_value(heddle_context *ctx, const hd_size *size) {
  if (size->value >= 1 && size->value <= HD_SIZE_MOST)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, size->op->loc, "problem.size",
                  "got %s = %lld; legal: 1 to %d", hd_op_str(size->op, HD_ATTR_DIM),
                  (long long)size->value, HD_SIZE_MOST);
}

static heddle_status read_size(heddle_context *ctx, hd_op *op, hd_problem *p) {
  hd_size size = {.op = op,
                  .value = hd_op_int(op, HD_ATTR_VALUE, 0),
                  .max = hd_op_int(op, HD_ATTR_MAX, 0),
                  .divisible_by = hd_op_int(op, HD_ATTR_DIVISIBLE_BY, 1)};
  hd_size *slot = hd_op_is(op, HD_ATTR_DIM, "m")   ? &p->m
                  : hd_op_is(op, HD_ATTR_DIM, "n") ? &p->n
                  : hd_op_is(op, HD_ATTR_DIM, "k") ? &p->k
                  : hd_op_is(op, HD_ATTR_DIM, "g") ? &p->g
                  : hd_op_is(op, HD_ATTR_DIM, "t") ? &p->t
                                                   : NULL;
  if (!slot)
    return hd_error(ctx, HEDDLE_INVALID, op->loc, "problem.dim",
                    "got dim = %s; legal: m, n, k, g, t", hd_op_str(op, HD_ATTR_DIM));
  if (slot->op)
    return hd_error(ctx, HEDDLE_INVALID, op->loc, "problem.dim",
                    "dim = %s is given twice; legal: once", hd_op_str(op, HD_ATTR_DIM));
  *slot = size;
  return hd_op_has(op, HD_ATTR_VALUE) ? check_value(ctx, &size) : HEDDLE_OK;
}

static void read_batch(const hd_op *op, hd_dense *x) {
  x->g_stride = hd_op_int(op, HD_ATTR_G_STRIDE, 0);
  x->shared = hd_op_has(op, HD_ATTR_G_STRIDE) && x->g_stride == 0;
}

static hd_dense *dense_slot(hd_problem *p, const hd_op *op) {
  static const char *const names[] = {"b", "c", "bias", "scale_a", "scale_b"};
  hd_dense *slots[] = {&p->b, &p->c, &p->bias, &p->scale_a, &p->scale_b};
  for (size_t i = 0; i < HD_COUNT(names); i++)
    if (hd_op_is(op, HD_ATTR_OPERAND, names[i]))
      return slots[i];
  return NULL;
}

/* The field of p for the index vector that the operand names; NULL: not an index vector. */
static hd_op **index_slot(hd_problem *p, const hd_op *op) {
  return hd_op_is(op, HD_ATTR_OPERAND, "offsets")     ? &p->offsets
         : hd_op_is(op, HD_ATTR_OPERAND, "gather_b")  ? &p->gather
         : hd_op_is(op, HD_ATTR_OPERAND, "scatter_d") ? &p->scatter
         : hd_op_is(op, HD_ATTR_OPERAND, "combine_d") ? &p->combine
                                                      : NULL;
}

static heddle_status read_dense(heddle_context *ctx, hd_op *op, hd_problem *p) {
  hd_dense *slot = dense_slot(p, op);
  hd_op **index = index_slot(p, op);
  if (!slot && !index)
    return hd_error(ctx, HEDDLE_INVALID, op->loc, "problem.operand",
                    "got operand = %s; legal: b, c, bias, scale_a, scale_b, offsets, gather_b, "
                    "scatter_d, combine_d",
                    hd_op_str(op, HD_ATTR_OPERAND));
  if (index ? *index : slot->op)
    return hd_error(ctx, HEDDLE_INVALID, op->loc, "problem.operand",
                    "operand = %s is given twice; legal: once", hd_op_str(op, HD_ATTR_OPERAND));
  if (index) {
    *index = op;
    return HEDDLE_OK;
  }
  *slot = (hd_dense){.op = op,
                     .elem = hd_op_elem(op, HD_ATTR_TYPE),
                     .transposed = hd_op_is(op, HD_ATTR_ORDER, "mn_major") ||
                                   hd_op_is(op, HD_ATTR_ORDER, "col_major"),
                     .one = op->n_operands == 0,
                     .ld = hd_op_int(op, HD_ATTR_LD, 0),
                     .divisible_by = hd_op_int(op, HD_ATTR_DIVISIBLE_BY, 1)};
  read_batch(op, slot);
  if (slot == &p->scale_b)
    p->statistic = hd_op_str(op, HD_ATTR_STATISTIC);
  return HEDDLE_OK;
}

static heddle_status read_blocks(heddle_context *ctx, hd_op *op, hd_problem *p) {
  hd_dense *slot = hd_op_is(op, HD_ATTR_OPERAND, "a") ? &p->block_a : &p->block_b;
  if (slot->op)
    return hd_error(ctx, HEDDLE_INVALID, op->loc, "problem.operand",
                    "block_scale {operand = %s} is given twice; legal: once",
                    hd_op_str(op, HD_ATTR_OPERAND));
  *slot = (hd_dense){.op = op,
                     .elem = hd_op_elem(op, HD_ATTR_TYPE),
                     .ld = hd_op_int(op, HD_ATTR_LD, 0),
                     .divisible_by = 1};
  return HEDDLE_OK;
}

static void read_epilogue(hd_op *op, hd_problem *p) {
  p->epilogue = op;
  p->alpha = hd_op_has(op, HD_ATTR_ALPHA);
  p->beta = hd_op_has(op, HD_ATTR_BETA);
  p->act = hd_op_str(op, HD_ATTR_ACT);
  p->user = hd_op_str(op, HD_ATTR_USER);
}

static heddle_status read_op(heddle_context *ctx, hd_op *op, hd_problem *p) {
  switch (op->kind) {
  case HD_OP_SIZE:
    return read_size(ctx, op, p);
  case HD_OP_SPARSE:
    if (p->sparse)
      return hd_error(ctx, HEDDLE_UNSUPPORTED, op->loc, "problem.one-sparse",
                      "got a second sparse operand; legal: one per kernel");
    p->sparse = op;
    p->a_elem = hd_op_elem(op, HD_ATTR_TYPE);
    p->a_shared = hd_op_int(op, HD_ATTR_G_STRIDE, -1) == 0;
    return HEDDLE_OK;
  case HD_OP_DENSE:
  case HD_OP_VECTOR:
    return read_dense(ctx, op, p);
  case HD_OP_BLOCK_SCALE:
    return read_blocks(ctx, op, p);
  case HD_OP_MATMUL:
    if (p->matmul)
      return hd_error(ctx, HEDDLE_UNSUPPORTED, op->loc, "problem.one-matmul",
                      "got a second matmul; legal: one per kernel");
    p->matmul = op;
    p->acc_elem = hd_op_elem(op, HD_ATTR_ACC);
    p->kind = hd_op_str(op, HD_ATTR_KIND);
    return HEDDLE_OK;
  case HD_OP_EPILOGUE:
    if (p->epilogue)
      return hd_error(ctx, HEDDLE_UNSUPPORTED, op->loc, "problem.one-epilogue",
                      "got a second epilogue; legal: one per kernel");
    read_epilogue(op, p);
    return HEDDLE_OK;
  case HD_OP_STORE:
    if (p->store)
      return hd_error(ctx, HEDDLE_UNSUPPORTED, op->loc, "problem.one-store",
                      "got a second store; legal: one per kernel");
    p->store = op;
    p->d = (hd_dense){.op = op,
                      .elem = hd_op_elem(op, HD_ATTR_TYPE),
                      .transposed = hd_op_is(op, HD_ATTR_ORDER, "col_major"),
                      .ld = hd_op_int(op, HD_ATTR_LD, 0),
                      .divisible_by = hd_op_int(op, HD_ATTR_DIVISIBLE_BY, 1)};
    read_batch(op, &p->d);
    p->reduce = hd_op_str(op, HD_ATTR_REDUCE);
    p->scale_d = hd_op_has(op, HD_ATTR_SCALE_D);
    if (p->reduce)
      p->reduced = (hd_dense){.op = op, .elem = HEDDLE_F32, .divisible_by = 1};
    p->aux_of = hd_op_str(op, HD_ATTR_AUX);
    if (p->aux_of)
      p->aux = (hd_dense){.op = op,
                          .elem = hd_op_elem(op, HD_ATTR_AUX_TYPE),
                          .transposed = p->d.transposed,
                          .divisible_by = 1};
    return HEDDLE_OK;
  default:
    return HEDDLE_OK;
  }
}

static heddle_status read_region(heddle_context *ctx, hd_region *region, hd_problem *p) {
  HD_FOR_OPS(op, region) {
    HD_TRY(read_op(ctx, op, p));
    if (op->kind == HD_OP_WORK)
      HD_TRY(read_region(ctx, op->regions[0], p));
  }
  return HEDDLE_OK;
}

static heddle_status check_complete(heddle_context *ctx, const hd_problem *p) {
  const struct {
    const void *there;
    const char *what;
  } needed[] = {{p->m.op, "size {dim = m}"},   {p->n.op, "size {dim = n}"},
                {p->k.op, "size {dim = k}"},   {p->sparse, "sparse"},
                {p->b.op, "dense {operand = b}"}, {p->matmul, "matmul"},
                {p->store, "store"}};
  for (size_t i = 0; i < HD_COUNT(needed); i++)
    if (!needed[i].there)
      return hd_error(ctx, HEDDLE_INVALID, p->kernel->loc, "problem.complete",
                      "the kernel has no `%s`; legal: one", needed[i].what);
  return HEDDLE_OK;
}

static bool defines(const hd_value *value, const hd_op *op) { return value->op == op; }

static heddle_status check_flow(heddle_context *ctx, const hd_problem *p) {
  if (!defines(hd_matrix_rows(p->sparse), p->m.op) ||
      !defines(hd_matrix_columns(p->sparse), p->k.op))
    return hd_error(ctx, HEDDLE_INVALID, p->sparse->loc, "problem.shape",
                    "`sparse` has other sizes; legal: (m, k)");
  const hd_size *columns = p->gather ? &p->t : &p->n;
  if (!defines(hd_matrix_rows(p->b.op), p->k.op) ||
      !defines(hd_matrix_columns(p->b.op), columns->op))
    return hd_error(ctx, HEDDLE_INVALID, p->b.op->loc, "problem.shape",
                    "B has other sizes; legal: (k, %s)", p->gather ? "t) with gather_b" : "n)");
  if (!defines(hd_matmul_a(p->matmul), p->sparse) || !defines(hd_matmul_b(p->matmul), p->b.op))
    return hd_error(ctx, HEDDLE_INVALID, p->matmul->loc, "problem.shape",
                    "`matmul` has other operands; legal: (sparse A, dense B)");
  const hd_op *last = p->epilogue ? p->epilogue : p->matmul;
  if (!defines(hd_store_x(p->store), last))
    return hd_error(ctx, HEDDLE_INVALID, p->store->loc, "problem.shape",
                    "`store` has another operand; legal: the result of %s",
                    p->epilogue ? "the epilogue" : "the matmul");
  if (p->c.op && (!defines(hd_matrix_rows(p->c.op), p->m.op) ||
                  !defines(hd_matrix_columns(p->c.op), p->n.op)))
    return hd_error(ctx, HEDDLE_INVALID, p->c.op->loc, "problem.shape",
                    "C has other sizes; legal: (m, n)");
  return HEDDLE_OK;
}

/* Refuses operands that no epilogue reads: they would still be arguments of the kernel. */
static heddle_status check_used(heddle_context *ctx, const hd_problem *p) {
  const hd_dense *operands[] = {&p->c, &p->bias, &p->scale_a, &p->scale_b};
  for (size_t i = 0; i < HD_COUNT(operands); i++) {
    const hd_op *op = operands[i]->op;
    bool used = !op;
    for (int32_t j = 1; p->epilogue && j < p->epilogue->n_operands; j++)
      used |= defines(p->epilogue->operands[j], op);
    if (!used)
      return hd_error(
          ctx, HEDDLE_INVALID, op->loc, "problem.unused",
          "operand = %s is declared, but no epilogue uses it; nearest: epilogue %%x, %%%s {%s}",
          hd_op_str(op, HD_ATTR_OPERAND), hd_op_str(op, HD_ATTR_OPERAND),
          hd_op_str(op, HD_ATTR_OPERAND));
  }
  return HEDDLE_OK;
}

/* A scale has one element, or one element per index of `size`. */
static heddle_status check_scale(heddle_context *ctx, const hd_dense *scale, const hd_size *size,
                                 const char *name) {
  if (!scale->op)
    return HEDDLE_OK;
  if (scale->elem != HEDDLE_F32)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, scale->op->loc, "epilogue.scale-type",
                    "got %s of type %s; legal: f32", name, heddle_elem_get(scale->elem)->name);
  if (!scale->one && !defines(hd_vector_length(scale->op), size->op))
    return hd_error(ctx, HEDDLE_INVALID, scale->op->loc, "epilogue.scale",
                    "%s has another length; legal: %s, or none for one value for the whole matrix",
                    name, hd_op_str(size->op, HD_ATTR_DIM));
  return HEDDLE_OK;
}

/* Refuses C with pairs: it would be added before a pair of rows is combined into a row of D. */
static heddle_status check_pair(heddle_context *ctx, hd_problem *p) {
  p->pair = hd_act_is_pair(p->act);
  if (!p->pair || !p->c.op)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_UNSUPPORTED, p->c.op->loc, "epilogue.pair",
                  "got an operand C with act = %s; nearest: without it", p->act);
}

static heddle_status check_epilogue(heddle_context *ctx, hd_problem *p) {
  if (!p->epilogue) {
    p->act = "none";
    return HEDDLE_OK;
  }
  hd_op *op = p->epilogue;
  if (!hd_find_word(hd_act_words, p->act))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, op->loc, "epilogue.act", "got act = %s; legal: %s",
                    p->act, hd_act_list);
  if (hd_act_is_user(p->act) != (p->user != NULL))
    return hd_error(ctx, HEDDLE_INVALID, op->loc, "epilogue.user",
                    "got only one of act = user (user_pair) and user = \"NAME\"; legal: both, or "
                    "neither");
  const struct {
    bool flag;
    const hd_dense *operand;
    const char *name;
  } inputs[] = {{hd_op_has(op, HD_ATTR_C), &p->c, "c"},
                {hd_op_has(op, HD_ATTR_BIAS), &p->bias, "bias"},
                {hd_op_has(op, HD_ATTR_SCALE_A), &p->scale_a, "scale_a"},
                {hd_op_has(op, HD_ATTR_SCALE_B), &p->scale_b, "scale_b"}};
  int next = 1;
  for (size_t i = 0; i < HD_COUNT(inputs); i++) {
    bool wired = next < op->n_operands && inputs[i].operand->op &&
                 defines(op->operands[next], inputs[i].operand->op);
    if (inputs[i].flag != wired)
      return hd_error(ctx, HEDDLE_INVALID, op->loc, "epilogue.inputs",
                      "got only one of the flag `%s` and its operand, number %d; legal: both, or "
                      "neither",
                      inputs[i].name, next);
    next += wired;
  }
  if (p->beta && !p->c.op)
    return hd_error(ctx, HEDDLE_INVALID, op->loc, "epilogue.beta",
                    "got beta without the operand C; legal: both");
  HD_TRY(check_scale(ctx, &p->scale_a, &p->m, "scale_a"));
  HD_TRY(check_scale(ctx, &p->scale_b, &p->n, "scale_b"));
  if (p->bias.op) {
    p->bias_along_n = defines(hd_vector_length(p->bias.op), p->n.op);
    if (!p->bias_along_n && !defines(hd_vector_length(p->bias.op), p->m.op))
      return hd_error(ctx, HEDDLE_INVALID, p->bias.op->loc, "epilogue.bias",
                      "the bias has another length; legal: m or n");
  }
  return check_pair(ctx, p);
}

static heddle_status check_group(heddle_context *ctx, const hd_problem *p) {
  const heddle_elem_info *info = heddle_elem_get(p->a_elem);
  if (!info->group)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->sparse->loc, "problem.type",
                    "%s cannot be a sparse operand; nearest: bf16", info->name);
  int64_t nearest = (p->k.value + info->group - 1) / info->group * info->group;
  if (p->k.value % info->group)
    return hd_error(
        ctx, HEDDLE_INVALID, p->k.op->loc, "problem.k-group",
        "got k = %lld, not a multiple of the group of %d (%s is %d:%d sparse); nearest: %lld",
        (long long)p->k.value, info->group, info->name, info->kept, info->group,
        (long long)nearest);
  return HEDDLE_OK;
}

/* A fixed pitch must hold a row of fixed size and be a multiple of its divisible_by, and rows must
 * start at whole bytes. */
static heddle_status check_pitch(heddle_context *ctx, const hd_dense *x, const hd_size *row,
                                 const char *name) {
  if (!x->op || !x->ld)
    return HEDDLE_OK;
  if (x->ld < 1 || (row->value && x->ld < row->value))
    return hd_error(ctx, HEDDLE_INVALID, x->op->loc, "problem.stride",
                    "got ld = %lld for %s, shorter than its row of %lld elements; nearest: %lld",
                    (long long)x->ld, name, (long long)row->value, (long long)row->value);
  if (x->ld % x->divisible_by)
    return hd_error(ctx, HEDDLE_INVALID, x->op->loc, "problem.stride",
                    "got ld = %lld for %s, not a multiple of its divisible_by = %lld; nearest: "
                    "%lld",
                    (long long)x->ld, name, (long long)x->divisible_by,
                    (long long)((x->ld / x->divisible_by + 1) * x->divisible_by));
  int32_t unit = hd_elems_per_byte(x->elem);
  if (x->ld % unit)
    return hd_error(ctx, HEDDLE_INVALID, x->op->loc, "problem.stride",
                    "got ld = %lld for %s, whose rows of %s start at whole bytes; nearest: %lld",
                    (long long)x->ld, name, heddle_elem_get(x->elem)->name, (long long)x->ld + 1);
  return HEDDLE_OK;
}

/* The rows of gate and up are interleaved in blocks of 8, all of them complete. */
static heddle_status check_pair_rows(heddle_context *ctx, const hd_problem *p) {
  enum { UNIT = 2 * HD_PAIR_ROWS };
  int64_t m = p->m.value ? p->m.value : p->m.divisible_by;
  if (!p->pair || m % UNIT == 0)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, p->m.op->loc, "epilogue.pair",
                  "got m %s %lld with act = %s, which needs 8 rows each of gate and up; nearest: "
                  "%lld",
                  p->m.value ? "=" : "divisible by", (long long)m, p->act,
                  (long long)((m + UNIT - 1) / UNIT * UNIT));
}

heddle_status hd_problem_check_sizes(heddle_context *ctx, hd_problem *p) {
  const hd_size *sizes[] = {&p->m, &p->n, &p->k, &p->t};
  for (size_t i = 0; i < HD_COUNT(sizes); i++)
    if (sizes[i]->value)
      HD_TRY(check_value(ctx, sizes[i]));
  HD_TRY(check_group(ctx, p));
  HD_TRY(check_pair_rows(ctx, p));
  HD_TRY(hd_problem_check_blocks(ctx, p));
  HD_TRY(check_pitch(ctx, &p->b, p->b.transposed ? &p->n : &p->k, "B"));
  HD_TRY(check_pitch(ctx, &p->c, p->c.transposed ? &p->m : &p->n, "C"));
  hd_size rows_of_d = {.value = p->m.value / hd_rows_of_d(p)};
  HD_TRY(check_pitch(ctx, &p->d, p->d.transposed ? &rows_of_d : &p->n, "D"));
  return hd_problem_check_batch(ctx, p);
}

heddle_status hd_problem_read(heddle_context *ctx, hd_op *kernel, hd_problem *problem) {
  hd_problem p = {.kernel = kernel};
  const char *target = hd_op_str(kernel, HD_ATTR_TARGET);
  if (hd_target_parse(target, &p.target) != HEDDLE_OK)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, kernel->loc, "target.unknown",
                    "got target \"%s\"; nearest: %s", target, hd_target_nearest(target));
  HD_TRY(read_region(ctx, kernel->regions[0], &p));
  HD_TRY(check_complete(ctx, &p));
  HD_TRY(check_flow(ctx, &p));
  HD_TRY(check_epilogue(ctx, &p));
  HD_TRY(check_used(ctx, &p));
  hd_problem_share_columns(&p);
  HD_TRY(hd_problem_check_sizes(ctx, &p));
  HD_TRY(hd_problem_check_reduce(ctx, &p));
  HD_TRY(hd_problem_check_statistic(ctx, &p));
  HD_TRY(hd_problem_check_aux(ctx, &p));
  *problem = p;
  return HEDDLE_OK;
}

int32_t hd_d_run(const hd_problem *p) {
  return 128 / heddle_elem_get(p->d.elem)->container_bits;
}
