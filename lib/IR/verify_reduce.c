/* Rules of reductions over rows of D: the store that requests one, and the ops that compute it. */
#include "IR/verify.h"

enum { BLOCK = 8, ELEMS = 4 /* of a block, per lane */, FLOAT_BYTES = 4 };

/* scale_d needs absmax and a signed 8-bit type. */
static void check_scaled(hd_verifier *v, const hd_op *op) {
  heddle_elem elem = hd_op_elem(op, HD_ATTR_TYPE);
  if (!hd_op_has(op, HD_ATTR_SCALE_D))
    return;
  if (!hd_op_is(op, HD_ATTR_REDUCE, "absmax"))
    hd_verify_fail(v, op, "ir.reduce",
                   "scale_d with reduce = %s; legal: absmax; nearest: reduce = "
                   "absmax",
                   hd_op_has(op, HD_ATTR_REDUCE) ? hd_op_str(op, HD_ATTR_REDUCE) : "none");
  else if (elem != HEDDLE_E4M3 && elem != HEDDLE_E5M2 && elem != HEDDLE_S8)
    hd_verify_unsupported(v, op, "ir.reduce",
                          "scale_d of a D of %s; legal: e4m3, e5m2, s8; nearest: type = e4m3",
                          heddle_elem_get(elem)->name);
}

/* A statistic replaces the elements of a scale_b of length n. */
static void check_statistic(hd_verifier *v, const hd_op *op) {
  bool vector = op->kind == HD_OP_VECTOR;
  bool columns = vector ? hd_op_is(op, HD_ATTR_OPERAND, "scale_b") && op->n_operands == 1
                        : hd_op_has(op, HD_ATTR_SCALE_B) && !hd_op_has(op, HD_ATTR_SCALE_B_ONE);
  if (hd_op_has(op, HD_ATTR_STATISTIC) && !columns)
    hd_verify_fail(v, op, "ir.statistic",
                   "statistic = %s without a scale_b of each column; legal: %s",
                   hd_op_str(op, HD_ATTR_STATISTIC),
                   vector ? "operand = scale_b with the length n" : "scale_b, not scale_b_one");
}

/* A store of finished results needs reduce, and factors if it has scales. Other stores need factors
 * if scale_b is a statistic. */
static void check_finished(hd_verifier *v, const hd_op *op) {
  bool reduces = hd_op_has(op, HD_ATTR_REDUCE), scales = hd_op_has(op, HD_ATTR_SCALE_D);
  bool finished = hd_op_has(op, HD_ATTR_FINISHED);
  bool statistic = hd_op_has(op, HD_ATTR_STATISTIC) && !finished;
  int32_t at = hd_strip_factors_at(op);
  bool has_factors = at < op->n_operands;
  if (finished && !reduces)
    hd_verify_fail(v, op, "ir.reduce", "finished without reduce; legal: both, or neither");
  if (statistic && !has_factors)
    hd_verify_fail(v, op, "ir.statistic",
                   "statistic without factors; legal: factors of scale.columns and their slot");
  else if (!statistic && has_factors != (scales && finished))
    hd_verify_fail(v, op, "ir.reduce", "%s; legal: factors of scale.tile beside scale_d, finished",
                   has_factors ? "factors without scale_d, finished" : "scale_d without factors");
  else if (has_factors &&
           (at + 1 >= op->n_operands || op->operands[at + 1]->type.kind != HD_TYPE_I32))
    hd_verify_fail(v, op, "ir.reduce", "factors without their slot; legal: an i32 behind them");
}

static void check_finish(hd_verifier *v, const hd_op *op) {
  hd_type type = op->results[0]->type;
  int32_t n = 0, at = hd_strip_factors_at(op);
  bool has_factors = at < op->n_operands;
  if (has_factors != hd_op_has(op, HD_ATTR_STATISTIC) ||
      (has_factors && (at + 1 >= op->n_operands || op->operands[at + 1]->type.kind != HD_TYPE_I32)))
    hd_verify_fail(v, op, "ir.statistic",
                   "got only one of statistic and the factors of scale.columns with their slot; "
                   "legal: both, or neither");
  for (int32_t i = hd_first_acc(op); i < op->n_operands; i++)
    n += op->operands[i]->type.n;
  if (type.elem != HEDDLE_F32 || type.n != n)
    hd_verify_fail(v, op, "ir.type", "the result has %d elements of %s; legal: %d of f32",
                   (int)type.n, heddle_elem_get(type.elem)->name, (int)n);
}

static void check_columns(hd_verifier *v, const hd_op *op, const hd_op *buffer, int64_t columns) {
  int64_t bytes = hd_op_int(buffer, HD_ATTR_BYTES, 0);
  if (columns * FLOAT_BYTES > bytes)
    hd_verify_fail(v, op, "ir.slot",
                   "%lld columns in slots of %lld bytes of \"%s\"; legal: up to "
                   "%lld",
                   (long long)columns, (long long)bytes, hd_op_str(buffer, HD_ATTR_NAME),
                   (long long)(bytes / FLOAT_BYTES));
}

static void check_reduce(hd_verifier *v, const hd_op *op) {
  if (op->n_operands <= HD_AT_reduce_tile_strips) {
    hd_verify_fail(v, op, "ir.count", "there is no fragment; legal: 1 or more");
    return;
  }
  hd_type first = op->operands[HD_AT_reduce_tile_strips]->type;
  for (int32_t i = HD_AT_reduce_tile_strips; i < op->n_operands; i++)
    if (!hd_type_equal(op->operands[i]->type, first) || first.elem != HEDDLE_F32 || first.n % ELEMS)
      hd_verify_fail(v, op, "ir.type",
                     "operand %d is another fragment; legal: f32, one length, 4 elements an "
                     "8-column block",
                     (int)i);
  check_columns(v, op, hd_reduce_tile_buffer(op)->op, first.n / ELEMS * BLOCK);
}

static void check_scale(hd_verifier *v, const hd_op *op) {
  const hd_op *buffer = hd_scale_tile_buffer(op)->op;
  int64_t each = hd_op_int(op, HD_ATTR_ROWS, 1) + hd_op_has(op, HD_ATTR_SCALE_D);
  int64_t slots = hd_op_int(buffer, HD_ATTR_STAGES, 0), across = hd_op_int(op, HD_ATTR_ACROSS, 1);
  if (slots % each)
    hd_verify_fail(v, op, "ir.slot",
                   "\"%s\" has %lld slots; legal: multiples of %lld, those of 128 "
                   "rows of D",
                   hd_op_str(buffer, HD_ATTR_NAME), (long long)slots, (long long)each);
  else if (slots / each % across)
    hd_verify_fail(v, op, "ir.slot", "%lld cells with across = %lld; legal: divisors of %lld",
                   (long long)(slots / each), (long long)across, (long long)(slots / each));
  check_columns(v, op, buffer, hd_op_int(op, HD_ATTR_TILE_COLUMNS, 0));
}

/* Each set of warps has `across` slots of its own. How many sets there are depends on the role. */
static void check_scale_columns(hd_verifier *v, const hd_op *op) {
  const hd_op *buffer = hd_scale_columns_buffer(op)->op;
  int64_t slots = hd_op_int(buffer, HD_ATTR_STAGES, 0), across = hd_op_int(op, HD_ATTR_ACROSS, 1);
  if (slots % across)
    hd_verify_fail(v, op, "ir.slot", "\"%s\" has %lld slots; legal: multiples of across = %lld",
                   hd_op_str(buffer, HD_ATTR_NAME), (long long)slots, (long long)across);
  check_columns(v, op, buffer, hd_op_int(op, HD_ATTR_TILE_COLUMNS, 0));
}

void hd_verify_reduce(hd_verifier *v, const hd_op *op) {
  switch (op->kind) {
  case HD_OP_VECTOR:
    check_statistic(v, op);
    break;
  case HD_OP_STORE:
  case HD_OP_PRODUCT:
    check_scaled(v, op);
    check_statistic(v, op);
    break;
  case HD_OP_STORE_TILE:
  case HD_OP_STAGE_TILE:
    check_scaled(v, op);
    check_statistic(v, op);
    check_finished(v, op);
    break;
  case HD_OP_SCALE_COLUMNS:
    check_scale_columns(v, op);
    break;
  case HD_OP_FINISH_TILE:
    check_scaled(v, op);
    check_statistic(v, op);
    check_finish(v, op);
    break;
  case HD_OP_REDUCE_TILE:
    check_reduce(v, op);
    break;
  case HD_OP_SCALE_TILE:
    check_scaled(v, op);
    check_scale(v, op);
    break;
  default:
    break;
  }
}
