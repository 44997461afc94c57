/* Rules of a second matrix beside D: the store that requests one, and the op that writes it. */
#include <string.h>

#include "IR/verify.h"
#include "Support/activations.h"

/* What is stored, and its type, are given together. */
static void check_request(hd_verifier *v, const hd_op *op) {
  bool has = hd_op_has(op, HD_ATTR_AUX), typed = hd_op_has(op, HD_ATTR_AUX_TYPE);
  if (has != typed)
    hd_verify_fail(v, op, "ir.aux", "got %s without %s; legal: both, or neither; nearest: %s",
                   hd_attr_name(has ? HD_ATTR_AUX : HD_ATTR_AUX_TYPE),
                   hd_attr_name(has ? HD_ATTR_AUX_TYPE : HD_ATTR_AUX),
                   has ? "aux_type = bf16" : "aux = result");
}

/* The second matrix is stored from accumulators, before any statistic of D. */
static void check_store(hd_verifier *v, const hd_op *op) {
  static const hd_attr_key of_d[] = {HD_ATTR_REDUCE, HD_ATTR_SCALE_D, HD_ATTR_FINISHED};
  const char *act = hd_op_str(op, HD_ATTR_ACT);
  if (!hd_op_has(op, HD_ATTR_AUX))
    return;
  for (size_t i = 0; i < HD_COUNT(of_d); i++)
    if (hd_op_has(op, of_d[i]))
      hd_verify_fail(v, op, "ir.aux", "got %s with aux; legal: only in a store of D",
                     hd_attr_name(of_d[i]));
  if (hd_op_is(op, HD_ATTR_AUX, "input") && strcmp(act, "none") != 0)
    hd_verify_fail(v, op, "ir.aux",
                   "got act = %s with aux = input; legal: none; nearest: act = none", act);
}

void hd_verify_aux(hd_verifier *v, const hd_op *op) {
  if (op->kind == HD_OP_STORE || op->kind == HD_OP_PRODUCT)
    check_request(v, op);
  else if (op->kind == HD_OP_STORE_TILE)
    check_store(v, op);
}
