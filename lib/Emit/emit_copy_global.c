/* copy.global: copies a warp's part of a row of B to the workspace. Consecutive lanes access
 * consecutive addresses. Their width is limited by the alignment of B's address, pitch and row
 * length; the first two are known only at launch, so there is code for each width. */
#include "Emit/emit_copy_rows.h"
#include "Emit/emit_strip.h"

enum {
  WIDEST = 16,   /* bytes per load */
  MAX_WORDS = 4, /* per load */
  IN_FLIGHT = 16 /* loads of a lane before its first store */
};

/* A warp's part; all values are warp-uniform. */
typedef struct part {
  LLVMValueRef from, to;       /* pointers to its first byte */
  LLVMValueRef left;           /* i32: bytes of the row from there on */
  LLVMValueRef exists;         /* i1: B has the row; else zeros are written */
  int64_t bytes;               /* of the longest part */
} part;

typedef struct piece {
  LLVMValueRef is_there, v[MAX_WORDS];
} piece;

/* The pieces of a lane are a fixed distance apart. One pointer for all of them takes so few
 * registers that four CTAs fit on an SM. */
static void copy_part(hd_emitter *e, const part *p, int64_t width) {
  enum { WORD = 4 };
  int64_t step = width * HD_LANES, n = (p->bytes + step - 1) / step;
  int32_t n_words = width > WORD ? (int32_t)(width / WORD) : 1;
  LLVMValueRef first_byte = hd_emit_muli(e, e->lane, width);
  LLVMValueRef from = hd_emit_global_at(e, p->from, hd_emit_widen(e, first_byte));
  LLVMValueRef to = hd_emit_global_at(e, p->to, hd_emit_widen(e, first_byte));
  LLVMValueRef left = hd_emit_sub(e, p->left, first_byte);
  piece pieces[IN_FLIGHT];
  for (int64_t first = 0; first < n; first += IN_FLIGHT) {
    for (int64_t i = first; i < n && i < first + IN_FLIGHT; i++) {
      piece *x = &pieces[i - first];
      x->is_there = hd_emit_lt(e, hd_emit_i32(e, i * step), left);
      hd_emit_load_vec(e, width, hd_emit_global_at(e, from, hd_emit_i64(e, i * step)),
                       hd_emit_and(e, x->is_there, p->exists), x->v);
    }
    for (int64_t i = first; i < n && i < first + IN_FLIGHT; i++) {
      piece *x = &pieces[i - first];
      if (width == 1)
        x->v[0] = LLVMBuildTrunc(e->b, x->v[0], e->i8, "");
      hd_emit_put_words(e, (hd_place){to, i * step, x->is_there}, x->v, n_words);
    }
  }
}

/* The row of B to copy, by index if there is one, and whether it exists. */
static heddle_status find_row(hd_emitter *e, const hd_op *op, LLVMValueRef *row,
                              LLVMValueRef *exists) {
  LLVMValueRef at, n_rows, zero = hd_emit_i32(e, 0);
  *exists = LLVMConstInt(LLVMInt1TypeInContext(e->llvm), 1, false);
  if (!hd_op_has(op, HD_ATTR_GATHER_B))
    return HEDDLE_OK;
  HD_TRY(hd_emit_arg(e, op, HD_ARG_GATHER_B, &at));
  HD_TRY(hd_emit_size(e, op, HD_ARG_T, HD_ATTR_T, &n_rows));
  LLVMValueRef left = hd_emit_sub(e, hd_emit_get1(e, hd_copy_global_n(op)), *row);
  at = hd_emit_global_at(e, at, hd_emit_muli(e, hd_emit_widen(e, *row), 4));
  LLVMValueRef index = hd_emit_index(e, at, left, 0);
  *exists = LLVMBuildICmp(e->b, LLVMIntULT, index, n_rows, "");
  *row = hd_emit_select(e, *exists, index, zero);
  return HEDDLE_OK;
}

/* The lowest set bit of the result is the alignment of all rows. */
static LLVMValueRef find_alignment(hd_emitter *e, LLVMValueRef source, LLVMValueRef pitch_bytes) {
  LLVMValueRef address = LLVMBuildPtrToInt(e->b, source, e->i64, "");
  LLVMValueRef bits = LLVMBuildOr(e->b, address, pitch_bytes, "");
  return LLVMBuildTrunc(e->b, bits, e->i32, "");
}

static heddle_status check(hd_emitter *e, const hd_op *op, int64_t elem_bytes) {
  int64_t row = hd_op_int(op, HD_ATTR_ROW_BYTES, 0), pitch = hd_op_int(op, HD_ATTR_BYTES, 0);
  int64_t panel = hd_op_int(op, HD_ATTR_PANEL, 0);
  if (elem_bytes > 0 && row > 0 && row % elem_bytes == 0 && pitch >= row && pitch % WIDEST == 0 &&
      panel % (WIDEST * HD_LANES) == 0)
    return HEDDLE_OK;
  return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.copy-global",
                  "got rows of %lld bytes of %s at a pitch of %lld by parts of %lld; legal: whole "
                  "elements of whole bytes, a pitch of as many bytes or more, a multiple of %d, "
                  "and parts of a multiple of %d",
                  (long long)row, heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->name,
                  (long long)pitch, (long long)panel, WIDEST, WIDEST * HD_LANES);
}

heddle_status hd_emit_op_copy_global(hd_emitter *e, const hd_op *op) {
  int64_t elem_bytes = heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->container_bits / 8;
  HD_TRY(check(e, op, elem_bytes));
  int64_t row_bytes = hd_op_int(op, HD_ATTR_ROW_BYTES, 0), widest = row_bytes & -row_bytes;
  widest = widest < WIDEST ? widest : WIDEST;
  int64_t panel = hd_op_int(op, HD_ATTR_PANEL, 0);
  part p = {.bytes = panel < row_bytes ? panel : row_bytes};
  LLVMValueRef row = hd_emit_get1(e, hd_copy_global_row(op)), from = row;
  LLVMValueRef source = hd_emit_get1(e, hd_copy_global_source(op));
  LLVMValueRef pitch = hd_emit_muli(e, hd_emit_get1(e, hd_copy_global_pitch(op)), elem_bytes);
  LLVMValueRef first = hd_emit_muli(e, hd_emit_get1(e, hd_copy_global_part(op)), panel);
  LLVMBasicBlockRef join =
      hd_emit_if(e, hd_emit_lt(e, row, hd_emit_get1(e, hd_copy_global_n(op))), "in_n");
  HD_TRY(find_row(e, op, &from, &p.exists));
  LLVMValueRef column = hd_emit_widen(e, first);
  p.from = hd_emit_global_at(e, source,
                             hd_emit_add(e, hd_emit_mul(e, hd_emit_widen(e, from), pitch), column));
  p.to = hd_emit_global_at(
      e, hd_emit_get1(e, hd_copy_global_copy(op)),
      hd_emit_add(e, hd_emit_muli(e, hd_emit_widen(e, row), hd_op_int(op, HD_ATTR_BYTES, 0)),
                  column));
  p.left = hd_emit_sub(e, hd_emit_i32(e, row_bytes), first);
  LLVMValueRef alignment = find_alignment(e, source, pitch);
  /* Code for each width: the branch of the widest width that rows are aligned to is taken. */
  for (int64_t width = widest; width >= elem_bytes; width /= 2) {
    int64_t mask = (width == widest ? width : 2 * width) - 1;
    LLVMValueRef low = hd_emit_and(e, alignment, hd_emit_i32(e, mask));
    LLVMValueRef fits = hd_emit_eqi(e, low, width == widest ? 0 : width);
    LLVMBasicBlockRef end = hd_emit_if(e, fits, "width");
    copy_part(e, &p, width);
    hd_emit_endif(e, end);
  }
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}
