/* Block scales of a problem: one per `block` elements of k in a row of A, or a column of B. */
#include "Schedule/problem.h"

static bool defines(const hd_value *value, const hd_op *op) {
  return value->op == op;
}

/* By index, B has other columns than the products. */
static const hd_size *columns_of_b(const hd_problem *p) { return p->gather ? &p->t : &p->n; }

static heddle_status check_flow(heddle_context *ctx, const hd_problem *p) {
  const hd_op *matmul = p->matmul, *a = p->block_a.op, *b = p->block_b.op;
  for (int i = 0; i < 2; i++) {
    const hd_op *op = i ? b : a;
    const char *name = i ? "b" : "a", *rows = !i ? "m" : p->gather ? "t" : "n";
    if (!op || !hd_matmul_scale_b(matmul) ||
        !defines(matmul->operands[HD_AT_matmul_scale_a + i], op))
      return hd_error(ctx, HEDDLE_INVALID, op ? op->loc : matmul->loc, "problem.block-scale",
                      "got %s %s; legal: block scales of A and B, operands 2 and 3 of the matmul, "
                      "or neither",
                      op ? "no matmul with the block scales of" : "no block scales of", name);
    if (!defines(hd_matrix_rows(op), i ? columns_of_b(p)->op : p->m.op) ||
        !defines(hd_matrix_columns(op), p->k.op))
      return hd_error(ctx, HEDDLE_INVALID, op->loc, "problem.shape",
                      "block_scale {operand = %s} has other sizes; legal: (%s, k)", name, rows);
  }
  return HEDDLE_OK;
}

const hd_spec_row *hd_problem_scaled_row(const hd_problem *p) {
  hd_mma_query query = HD_MMA_ANY;
  query.family = HD_FAMILY_MMA_SP;
  query.a = p->a_elem;
  query.b = p->b.elem;
  query.ordered = 1;
  const hd_spec_row *row, *best = NULL;
  int best_score = -1;
  for (size_t at = 0; (row = hd_spec_next_mma(&query, &at));) {
    int same_type = row->operand[HD_OPERAND_SCALE_A].elem == p->block_a.elem;
    int score = 2 * same_type + (hd_spec_block(row) == p->block);
    if (hd_spec_block(row) && row->syntax_verified_by != HD_VERIFIED_BY_NONE &&
        score > best_score) {
      best_score = score;
      best = row;
    }
  }
  return best;
}

/* f32 scales require 8-bit floats with f32 accumulators, and one k-block per scale. */
static heddle_status check_promoted(heddle_context *ctx, const hd_problem *p) {
  enum { BLOCK = 128 };
  const heddle_elem_info *a = heddle_elem_get(p->a_elem), *b = heddle_elem_get(p->b.elem);
  bool narrow = a->container_bits == 8 && a->kind == HEDDLE_FLOAT && b->container_bits == 8 &&
                b->kind == HEDDLE_FLOAT;
  if (!narrow || p->acc_elem != HEDDLE_F32)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->block_a.op->loc, "problem.block-scale",
                    "got block scales of f32 with %s x %s -> %s; legal: e4m3, e5m2 x e4m3, e5m2 -> "
                    "f32; nearest: scale_a, scale_b of the epilogue",
                    a->name, b->name, heddle_elem_get(p->acc_elem)->name);
  int64_t block_b = hd_op_int(p->block_b.op, HD_ATTR_BLOCK, 0);
  if (p->block_b.elem != HEDDLE_F32 || p->block_a.elem != HEDDLE_F32 || p->block != BLOCK ||
      block_b != BLOCK)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->block_a.op->loc, "problem.block-scale",
                    "got scales of %s for blocks of %d and of %s for %lld; nearest: f32 for blocks "
                    "of %d, both",
                    heddle_elem_get(p->block_a.elem)->name, p->block,
                    heddle_elem_get(p->block_b.elem)->name, (long long)block_b, BLOCK);
  if (p->block_rows != 1 && p->block_rows != HD_SCALE_TILE_ROWS)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->block_a.op->loc, "problem.block-rows",
                    "got a scale for %d rows of A; legal: 1, %d; nearest: rows = %d", p->block_rows,
                    HD_SCALE_TILE_ROWS, HD_SCALE_TILE_ROWS);
  if (p->pair && p->block_rows > 1) /* 128 packed rows are 64 rows of gate and 64 of up */
    return hd_error(ctx, HEDDLE_UNSUPPORTED, p->block_a.op->loc, "problem.block-rows",
                    "got a scale for %d rows of A with act = %s, whose rows of gate and up are "
                    "interleaved by 8; nearest: a scale for each row, without rows",
                    p->block_rows, p->act);
  return HEDDLE_OK;
}

/* Only rows of A with f32 scales can share a scale. */
static heddle_status check_rows(heddle_context *ctx, const hd_problem *p) {
  const hd_op *b = hd_op_has(p->block_b.op, HD_ATTR_ROWS) ? p->block_b.op : NULL;
  const hd_op *a = p->block_rows > 1 && p->block_a.elem != HEDDLE_F32 ? p->block_a.op : NULL;
  if (!a && !b)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_UNSUPPORTED, (b ? b : a)->loc, "problem.block-rows",
                  "got rows = %lld of the block scales of %s in %s; legal: of A, in f32; nearest: "
                  "without it",
                  (long long)hd_op_int(b ? b : a, HD_ATTR_ROWS, 1), b ? "B" : "A",
                  heddle_elem_get(b ? p->block_b.elem : p->block_a.elem)->name);
}

static heddle_status check_types(heddle_context *ctx, const hd_problem *p) {
  if (p->block_a.elem == HEDDLE_F32 || p->block_b.elem == HEDDLE_F32)
    return check_promoted(ctx, p);
  if (hd_scales_in_tiles(p) && hd_op_int(p->block_b.op, HD_ATTR_BLOCK, 0) == p->block)
    return HEDDLE_OK;
  const hd_spec_row *row = hd_problem_scaled_row(p);
  const char *a = heddle_elem_get(p->a_elem)->name, *b = heddle_elem_get(p->b.elem)->name;
  if (!row)
    return hd_error(
        ctx, HEDDLE_UNSUPPORTED, p->block_a.op->loc, "problem.block-scale",
        "no sparse instruction scales blocks of %s x %s; nearest: scale_a, scale_b of the epilogue",
        a, b);
  heddle_elem legal = row->operand[HD_OPERAND_SCALE_A].elem;
  int64_t block_b = hd_op_int(p->block_b.op, HD_ATTR_BLOCK, 0);
  if (p->block_a.elem == legal && p->block_b.elem == legal && p->block == hd_spec_block(row) &&
      block_b == p->block)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_UNSUPPORTED, p->block_a.op->loc, "problem.block-scale",
                  "got scales of %s for blocks of %d and of %s for blocks of %lld with %s x %s; "
                  "nearest: %s for blocks of %d, both",
                  heddle_elem_get(p->block_a.elem)->name, p->block,
                  heddle_elem_get(p->block_b.elem)->name, (long long)block_b, a, b,
                  heddle_elem_get(legal)->name, hd_spec_block(row));
}

static heddle_status check_pitch(heddle_context *ctx, const hd_problem *p, const hd_dense *x,
                                 const hd_size *rows) {
  int64_t unit = hd_scale_unit(p), each = x == &p->block_a ? p->block_rows : 1;
  int64_t n = (rows->value + each - 1) / each * hd_scales_a_row(p);
  int64_t least = (n + unit - 1) / unit * unit;
  if (x->ld && hd_scales_in_tiles(p))
    return hd_error(ctx, HEDDLE_INVALID, x->op->loc, "problem.stride",
                    "got ld = %lld for block scales that %s reads as contiguous tiles; nearest: "
                    "without ld",
                    (long long)x->ld, p->target->name);
  int64_t legal = x->ld < least ? least : (x->ld + unit - 1) / unit * unit;
  if (!x->ld || x->ld == legal)
    return HEDDLE_OK;
  return hd_error(
      ctx, HEDDLE_INVALID, x->op->loc, "problem.stride",
      "got ld = %lld of the block scales; legal: multiples of %lld of at least %lld (%d for "
      "each %s%s); nearest: %lld",
      (long long)x->ld, (long long)unit, (long long)least, hd_scales_a_row(p),
      each > 1 ? "128 " : "", hd_op_str(rows->op, HD_ATTR_DIM), (long long)legal);
}

heddle_status hd_problem_check_blocks(heddle_context *ctx, hd_problem *p) {
  if (!p->block_a.op && !p->block_b.op && p->matmul->n_operands == 2)
    return HEDDLE_OK;
  HD_TRY(check_flow(ctx, p));
  p->block = (int32_t)hd_op_int(p->block_a.op, HD_ATTR_BLOCK, 0);
  p->block_rows = (int32_t)hd_op_int(p->block_a.op, HD_ATTR_ROWS, 1);
  HD_TRY(check_rows(ctx, p));
  HD_TRY(check_types(ctx, p));
  HD_TRY(check_pitch(ctx, p, &p->block_a, &p->m));
  return check_pitch(ctx, p, &p->block_b, columns_of_b(p));
}

int32_t hd_scales_a_row(const hd_problem *p) {
  return p->block ? hd_k_block_size(p->a_elem) / p->block : 0;
}

int32_t hd_scale_unit(const hd_problem *p) {
  return HD_SCALE_ALIGN * 8 / heddle_elem_get(p->block_a.elem)->container_bits;
}

bool hd_scales_in_tiles(const hd_problem *p) {
  return p->block && hd_problem_has(p, HD_FAMILY_TCGEN05_SP);
}

int32_t hd_scale_tiles(const hd_problem *p) {
  return (hd_scales_a_row(p) + HD_SCALES_A_WORD - 1) / HD_SCALES_A_WORD;
}

int32_t hd_scale_bands(int32_t rows) {
  return (rows + HD_SCALE_TILE_ROWS - 1) / HD_SCALE_TILE_ROWS;
}
