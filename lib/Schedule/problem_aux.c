/* A second matrix beside D: the result of the epilogue before its conversion to D's type, or the
 * input of the activation. */
#include <string.h>

#include "Schedule/problem.h"

bool hd_aux_is_input(const hd_problem *p) {
  return p->aux_of && strcmp(p->aux_of, "input") == 0;
}

heddle_status hd_problem_check_aux(heddle_context *ctx, const hd_problem *p) {
  if (hd_aux_is_input(p) && p->pair)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->store->loc, "problem.aux",
                    "got aux = input with act = %s, which has two inputs for each element; legal: "
                    "aux = result, or an act of one input; nearest: aux = result",
                    p->act);
  if (p->aux_of && p->combine)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->store->loc, "problem.aux",
                    "got aux = %s with combine_d, whose columns are sums of several results; "
                    "legal: columns of D that are the products'; nearest: without aux",
                    p->aux_of);
  return HEDDLE_OK;
}
