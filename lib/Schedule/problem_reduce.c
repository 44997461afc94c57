/* A statistic of each 128 rows of a column of D, stored with D or as the scale that divides D; and
 * a scale_b that is computed from such a statistic of B. */
#include "Schedule/problem.h"

#define REFUSE(...)                                                                                \
  return hd_error(ctx, HEDDLE_UNSUPPORTED, p->store->loc, "problem.reduce", __VA_ARGS__)

/* In tensor memory a CTA has 128 rows of A, half of those of a statistic of pairs. */
static heddle_status check_instruction(heddle_context *ctx, const hd_problem *p) {
  if (hd_problem_has(p, HD_FAMILY_WGMMA_SP) || hd_problem_has(p, HD_FAMILY_MMA_SP) || !p->pair)
    return HEDDLE_OK;
  REFUSE("got reduce = %s of pairs on %s, which has neither wgmma nor mma.sp for %s x %s -> %s; "
         "legal: without pairs; nearest: act = none",
         p->reduce, p->target->name, heddle_elem_get(p->a_elem)->name,
         heddle_elem_get(p->b.elem)->name, heddle_elem_get(p->acc_elem)->name);
}

heddle_status hd_problem_check_reduce(heddle_context *ctx, const hd_problem *p) {
  if (!p->reduce)
    return HEDDLE_OK;
  if (hd_is_batch(p) && !hd_is_grouped(p))
    REFUSE("got reduce = %s of a batch; legal: of one product or of groups; nearest: a launch for "
           "each product",
           p->reduce);
  if (p->scatter || p->combine)
    REFUSE("got reduce = %s with %s; legal: columns of D that are the products'; nearest: without "
           "%s",
           p->reduce, p->scatter ? "scatter_d" : "combine_d",
           p->scatter ? "scatter_d" : "combine_d");
  return check_instruction(ctx, p);
}

/* The statistic has one row for all products, and one column for each of B's; its pitch is ldsb. */
heddle_status hd_problem_check_statistic(heddle_context *ctx, const hd_problem *p) {
  if (!p->statistic)
    return HEDDLE_OK;
  const char *with = hd_is_batch(p) && !hd_is_grouped(p) ? "a batch"
                     : p->gather                         ? "gather_b"
                     : p->block                          ? "block scales"
                                                         : NULL;
  if (!with)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_UNSUPPORTED, p->scale_b.op->loc, "problem.statistic",
                  "got scale_b with statistic = %s and %s; legal: %s; nearest: %s", p->statistic,
                  with,
                  p->block    ? "one of both, because ldsb is the pitch of either"
                  : p->gather ? "a B whose columns are the products'"
                              : "one product or groups",
                  p->block    ? "a scale_b without statistic"
                  : p->gather ? "without gather_b"
                              : "a launch for each product");
}
