/* A batch: dimension g of a problem, the number of products of the same sizes. The matrices of an
 * operand are a stride apart. */
#include "Schedule/problem.h"
#include "Support/batch.h"

#define REFUSE(status, op, ...)                                                                    \
  return hd_error(ctx, status, (op)->loc, "problem.batch", __VA_ARGS__)

static bool has_columns(const hd_problem *p, const hd_dense *x) {
  return x == &p->b || x == &p->c || x == &p->d || x == &p->aux || x == &p->scale_b ||
         (x == &p->bias && p->bias_along_n);
}

void hd_problem_share_columns(hd_problem *p) {
  hd_dense *operands[] = {&p->b, &p->c, &p->d, &p->aux, &p->bias, &p->scale_b};
  for (size_t i = 0; hd_is_grouped(p) && i < HD_COUNT(operands); i++)
    operands[i]->shared |= has_columns(p, operands[i]);
}

static heddle_status check_stride(heddle_context *ctx, const hd_problem *p, const hd_dense *x,
                                  const char *name) {
  int32_t unit = x->op ? hd_elems_per_byte(x->elem) : 1;
  if (!x->op || !hd_op_has(x->op, HD_ATTR_G_STRIDE))
    return HEDDLE_OK;
  if (hd_is_grouped(p) && has_columns(p, x))
    REFUSE(HEDDLE_INVALID, x->op,
           "got g_stride for %s, whose columns belong to groups; legal: for A, a bias along m, "
           "scale_a; nearest: without it",
           name);
  if (!hd_is_batch(p))
    REFUSE(HEDDLE_INVALID, x->op,
           "got g_stride for %s without a batch; legal: with size {dim = g}; nearest: without it",
           name);
  if (x->g_stride % unit)
    REFUSE(HEDDLE_INVALID, x->op,
           "got g_stride = %lld for %s, whose matrices of %s start at whole bytes; nearest: %lld",
           (long long)x->g_stride, name, heddle_elem_get(x->elem)->name,
           (long long)x->g_stride + 1);
  return HEDDLE_OK;
}

/* Two products must not write the same element. The launch checks values that it provides. */
static heddle_status check_d(heddle_context *ctx, const hd_problem *p) {
  const hd_size m = {.value = p->m.value / hd_rows_of_d(p)};
  const hd_size *rows = p->d.transposed ? &p->n : &m, *row = p->d.transposed ? &m : &p->n;
  int64_t least_pitch = p->d.ld ? p->d.ld : row->value;
  if (p->d.shared)
    REFUSE(HEDDLE_INVALID, p->store,
           "got g_stride = 0 for D: all products would write one matrix; nearest: without it");
  if (!p->d.g_stride || !p->d.ld || !rows->value || !row->value || !p->g.value ||
      !hd_batch_overlaps(p->g.value, p->d.g_stride, rows->value, row->value, p->d.ld))
    return HEDDLE_OK;
  REFUSE(HEDDLE_INVALID, p->store,
         "got g_stride = %lld for D, whose matrices of %lld rows at a pitch of %lld would overlap; "
         "nearest: %lld",
         (long long)p->d.g_stride, (long long)rows->value, (long long)p->d.ld,
         (long long)(rows->value * least_pitch));
}

/* ---- groups ---- */

/* The table of groups is in shared memory, which limits the number of groups. */
static heddle_status check_groups(heddle_context *ctx, const hd_problem *p) {
  const char *ready = hd_op_has(p->kernel, HD_ATTR_WEIGHTS_READY) ? "weights_ready" : NULL;
  int64_t most = hd_most_groups(p);
  if (!hd_is_batch(p))
    return hd_error(ctx, HEDDLE_INVALID, p->offsets->loc, "problem.groups",
                    "got offsets, but the number of groups is missing; nearest: size {dim = g, max "
                    "= 64}");
  if (most < 1 || most > HD_GROUPS_MOST)
    return hd_error(ctx, HEDDLE_INVALID, p->g.op->loc, "problem.groups",
                    "got groups with g %s%lld; legal: value or max of 1 to %d; nearest: max = %d",
                    most ? "up to " : "without a bound, ", (long long)most, HD_GROUPS_MOST,
                    HD_GROUPS_MOST);
  if (p->a_shared)
    return hd_error(ctx, HEDDLE_INVALID, p->sparse->loc, "problem.groups",
                    "got groups that share one A; nearest: one product, without offsets");
  if (p->b.transposed)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->b.op->loc, "problem.groups",
                    "got groups with an mn_major B, whose columns are not aligned to a line; "
                    "nearest: order = k_major");
  if (ready)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->offsets->loc, "problem.groups",
                    "got groups with %s: the offsets, which the predecessor writes, determine "
                    "which matrix of A is read first; nearest: dependent", ready);
  return HEDDLE_OK;
}

/* Index vectors: one index per column of B to load, per column of D to store, or per summand. */
static heddle_status check_indices(heddle_context *ctx, const hd_problem *p) {
  const hd_op *indices[] = {p->gather, p->scatter, p->combine};
  for (size_t i = 0; i < HD_COUNT(indices); i++) {
    const hd_op *op = indices[i];
    if (!op)
      continue;
    const char *name = hd_op_str(op, HD_ATTR_OPERAND);
    if (!hd_is_grouped(p))
      return hd_error(ctx, HEDDLE_UNSUPPORTED, op->loc, "problem.index",
                      "got %s without groups; nearest: vector {type = s32, operand = offsets}",
                      name);
    const hd_size *length = op == p->combine ? &p->t : &p->n;
    if (!length->op || hd_vector_length(op)->op != length->op)
      return hd_error(ctx, HEDDLE_INVALID, op->loc, "problem.index",
                      "%s has another length; legal: %s", name,
                      op == p->combine ? "t, one row of indices for each column of D"
                                       : "n, one index for each column");
  }
  if (p->t.op && !p->gather && !p->combine)
    return hd_error(ctx, HEDDLE_INVALID, p->t.op->loc, "problem.index",
                    "got dim = t without gather_b or combine_d; nearest: vector %%n {type = s32, "
                    "operand = gather_b}");
  if (p->scatter && (!p->d.transposed || p->c.op))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->scatter->loc, "problem.index",
                    "got scatter_d with %s; legal: a col_major D without C",
                    p->c.op ? "a D with C" : "a row_major D");
  return HEDDLE_OK;
}

/* With combine_d, the workspace holds the columns of the products, with as many rows as D, which is
 * col_major. */
static heddle_status check_combine(heddle_context *ctx, const hd_problem *p) {
  if (!p->combine)
    return HEDDLE_OK;
  if (!p->d.transposed || p->c.op || p->scatter)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->combine->loc, "problem.combine",
                    "got combine_d with %s; legal: a col_major D without C and without scatter_d",
                    p->scatter ? "a D with scatter_d" : p->c.op ? "a D with C" : "a row_major D");
  if (!p->m.value)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->m.op->loc, "problem.combine",
                    "got combine_d with an m known only at launch; legal: size {dim = m, value = "
                    "…}");
  return HEDDLE_OK;
}

int64_t hd_combine_pitch(const hd_problem *p) {
  enum { RUN = 16 };
  int64_t rows = p->m.value / hd_rows_of_d(p);
  return (rows + RUN - 1) / RUN * RUN;
}

bool hd_scales_apart(const hd_problem *p, int which) {
  return which ? hd_has_stride(p, &p->b) : hd_is_batch(p) && !p->a_shared;
}

/* The scale matrices of a batch follow each other, k-block by k-block, without a stride of their
 * own. A tensor map of them therefore needs the number of k-blocks. */
static heddle_status check_blocks(heddle_context *ctx, const hd_problem *p) {
  if (!p->block)
    return HEDDLE_OK;
  if (!hd_scales_promoted(p))
    REFUSE(HEDDLE_UNSUPPORTED, p->g.op,
           "got a batch with block scales of %s; legal: f32 on sm_90a, or scale_a, scale_b of the "
           "epilogue; nearest: one launch for each product",
           heddle_elem_get(p->block_a.elem)->name);
  if (!p->k.value)
    REFUSE(HEDDLE_UNSUPPORTED, p->k.op,
           "got a batch with block scales and a k known only at launch; legal: size {dim = k, "
           "value = …}");
  return HEDDLE_OK;
}

heddle_status hd_problem_check_batch(heddle_context *ctx, const hd_problem *p) {
  const struct {
    const hd_dense *operand;
    const char *name;
  } operands[] = {{&p->b, "B"},       {&p->c, "C"},
                  {&p->d, "D"},       {&p->bias, "the bias"},
                  {&p->scale_a, "scale_a"}, {&p->scale_b, "scale_b"}};
  for (size_t i = 0; i < HD_COUNT(operands); i++)
    HD_TRY(check_stride(ctx, p, operands[i].operand, operands[i].name));
  if (hd_op_has(p->sparse, HD_ATTR_G_STRIDE) && (!hd_is_batch(p) || !p->a_shared))
    REFUSE(HEDDLE_INVALID, p->sparse,
           "got g_stride = %lld for A; legal: 0, if all products share A; nearest: without it, "
           "which makes it an argument",
           (long long)hd_op_int(p->sparse, HD_ATTR_G_STRIDE, 0));
  HD_TRY(check_indices(ctx, p));
  HD_TRY(check_combine(ctx, p));
  if (hd_is_grouped(p))
    HD_TRY(check_groups(ctx, p));
  if (!hd_is_batch(p))
    return HEDDLE_OK;
  if (p->g.value > HD_BATCH_MOST || p->g.max > HD_BATCH_MOST)
    REFUSE(HEDDLE_INVALID, p->g.op, "got g %s%lld; legal: up to %d; nearest: %d",
           p->g.value ? "= " : "up to ", (long long)(p->g.value ? p->g.value : p->g.max),
           HD_BATCH_MOST, HD_BATCH_MOST);
  HD_TRY(check_blocks(ctx, p));
  return hd_is_grouped(p) ? HEDDLE_OK : check_d(ctx, p);
}
