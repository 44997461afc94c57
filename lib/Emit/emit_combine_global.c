/* combine.global: a warp's part of a column of D, the sum of columns of the products. Each lane has
 * a run of 16 bytes. Columns of the products are aligned to 16 bytes; columns of D may begin at any
 * element and have any length. */
#include "Emit/emit_copy_rows.h"
#include "Emit/emit_strip.h"
#include "Support/batch.h"

enum {
  RUN = 16, /* bytes per lane */
  WORDS = RUN / 4,
  MAX_ELEMS = RUN, /* of a run */
  IN_FLIGHT = 8    /* loads of a lane before their values are added */
};

typedef struct column {
  const hd_op *op;
  heddle_elem elem;
  int64_t elem_bytes, elems; /* bytes of an element; elements of a run */
  LLVMValueRef byte;         /* i32: where the lane's run begins in the column */
  LLVMValueRef left;         /* i32: elements of the column from there on; 0 or less: none */
  LLVMValueRef n, column;    /* i32 */
} column;

/* Loads the lane's run of the products' column `index`; zeros if that column does not exist. */
static void load_slot(hd_emitter *e, const column *c, LLVMValueRef index, LLVMValueRef v[WORDS]) {
  LLVMValueRef is_there = LLVMBuildICmp(e->b, LLVMIntULT, index, c->n, "");
  LLVMValueRef in_column = hd_emit_lt(e, hd_emit_i32(e, 0), c->left);
  LLVMValueRef before =
      hd_emit_muli(e, hd_emit_widen(e, index), hd_op_int(c->op, HD_ATTR_BYTES, 0));
  LLVMValueRef at = hd_emit_add(e, before, hd_emit_widen(e, c->byte));
  hd_emit_load_vec(e, RUN,
                   hd_emit_global_at(e, hd_emit_get1(e, hd_combine_global_products(c->op)), at),
                   hd_emit_and(e, is_there, in_column), v);
}

static void add_run(hd_emitter *e, const column *c, LLVMValueRef const v[WORDS],
                    LLVMValueRef sum[MAX_ELEMS]) {
  LLVMValueRef x[MAX_ELEMS];
  bool integer = c->elem == HEDDLE_S32;
  for (int32_t i = 0; i < WORDS; i++)
    hd_emit_word_elements(e, c->elem, v[i], integer, &x[i * c->elems / WORDS]);
  for (int64_t i = 0; i < c->elems; i++)
    sum[i] = integer ? hd_emit_add(e, sum[i], x[i]) : LLVMBuildFAdd(e->b, sum[i], x[i], "");
}

/* Adds in the order of the slots; the loads of several slots are in flight together. */
static void add_slots(hd_emitter *e, const column *c, LLVMValueRef sum[MAX_ELEMS]) {
  int64_t slots = hd_op_int(c->op, HD_ATTR_SLOTS, 1);
  LLVMValueRef row = hd_emit_muli(e, hd_emit_widen(e, c->column), 4 * slots);
  LLVMValueRef at = hd_emit_global_at(e, hd_emit_get1(e, hd_combine_global_index(c->op)), row);
  LLVMValueRef all = hd_emit_i32(e, slots), index[HD_COMBINE_MOST], v[IN_FLIGHT][WORDS];
  for (int64_t s = 0; s < slots; s++)
    index[s] = hd_emit_index(e, at, all, s);
  for (int64_t first = 0; first < slots; first += IN_FLIGHT) {
    for (int64_t s = first; s < slots && s < first + IN_FLIGHT; s++)
      load_slot(e, c, index[s], v[s - first]);
    for (int64_t s = first; s < slots && s < first + IN_FLIGHT; s++)
      add_run(e, c, v[s - first], sum);
  }
}

/* ---- D ---- */

/* Converts the run to D's type: as words, and as single elements. */
static void pack_run(hd_emitter *e, const column *c, LLVMValueRef const sum[MAX_ELEMS],
                     LLVMValueRef words[WORDS], LLVMValueRef bits[MAX_ELEMS]) {
  int64_t each = c->elems / WORDS; /* of a word */
  for (int64_t i = 0; i < c->elems; i += 2) {
    hd_pair pair = hd_emit_pack(e, c->elem, sum[i], sum[i + 1]);
    for (int j = 0; j < 2; j++)
      bits[i + j] = hd_emit_unpack(e, c->elem, pair, j);
    LLVMValueRef *word = &words[i / each];
    if (each == 1) {
      word[0] = pair.v[0];
      word[1] = pair.v[1];
    } else if (each == 2) {
      *word = pair.v[0];
    } else {
      LLVMValueRef half = LLVMBuildZExt(e->b, pair.v[0], e->i32, "");
      *word = i % each == 0 ? half
                            : LLVMBuildOr(e->b, *word,
                                          LLVMBuildShl(e->b, half, hd_emit_i32(e, 16), ""), "");
    }
  }
}

/* One store for a whole run if all columns of D are aligned to 16 bytes, else single elements. */
static void store_run(hd_emitter *e, const column *c, LLVMValueRef const sum[MAX_ELEMS]) {
  LLVMValueRef words[WORDS], bits[MAX_ELEMS], d = hd_emit_get1(e, hd_combine_global_d(c->op));
  LLVMValueRef pitch = hd_emit_muli(e, hd_emit_get1(e, hd_combine_global_ldd(c->op)),
                                    c->elem_bytes);
  LLVMValueRef starts = LLVMBuildOr(e->b, LLVMBuildPtrToInt(e->b, d, e->i64, ""), pitch, "");
  LLVMValueRef low = LLVMBuildTrunc(e->b, starts, e->i32, "");
  LLVMValueRef aligned = hd_emit_eqi(e, hd_emit_and(e, low, hd_emit_i32(e, RUN - 1)), 0);
  LLVMValueRef whole = hd_emit_and(e, aligned, hd_emit_lt(e, hd_emit_i32(e, c->elems - 1),
                                                          c->left));
  LLVMValueRef at = hd_emit_add(e, hd_emit_mul(e, hd_emit_widen(e, c->column), pitch),
                                hd_emit_widen(e, c->byte));
  hd_place to = {hd_emit_global_at(e, d, at), 0, whole};
  pack_run(e, c, sum, words, bits);
  hd_emit_put_words(e, to, words, WORDS);
  LLVMValueRef left = hd_emit_select(e, whole, hd_emit_i32(e, 0), c->left);
  for (int64_t i = 0; i < c->elems; i++) {
    hd_place one = {to.ptr, i * c->elem_bytes, hd_emit_lt(e, hd_emit_i32(e, i), left)};
    hd_emit_put_words(e, one, &bits[i], 1);
  }
}

/* ---- the op ---- */

static heddle_status check(hd_emitter *e, const column *c) {
  int64_t m = hd_op_int(c->op, HD_ATTR_M, 0), pitch = hd_op_int(c->op, HD_ATTR_BYTES, 0);
  int64_t panel = hd_op_int(c->op, HD_ATTR_PANEL, 0);
  if (hd_emit_can_store(e, c->elem) && m > 0 && pitch >= m * c->elem_bytes && pitch % RUN == 0 &&
      panel == RUN * HD_LANES)
    return HEDDLE_OK;
  return hd_error(e->ctx, HEDDLE_INVALID, c->op->loc, "emit.combine-global",
                  "got columns of %lld elements of %s, %lld bytes apart, by parts of %lld; legal: "
                  "a type of D, as many bytes apart or more, a multiple of %d, and parts of %d",
                  (long long)m, heddle_elem_get(c->elem)->name, (long long)pitch, (long long)panel,
                  RUN, RUN * HD_LANES);
}

heddle_status hd_emit_op_combine_global(hd_emitter *e, const hd_op *op) {
  column c = {.op = op, .elem = hd_op_elem(op, HD_ATTR_TYPE)};
  c.elem_bytes = heddle_elem_get(c.elem)->container_bits / 8;
  HD_TRY(check(e, &c));
  c.elems = RUN / c.elem_bytes;
  c.n = hd_emit_get1(e, hd_combine_global_n(op));
  c.column = hd_emit_get1(e, hd_combine_global_column(op));
  LLVMBasicBlockRef join = hd_emit_if(
      e, hd_emit_lt(e, c.column, hd_emit_get1(e, hd_combine_global_t(op))), "in_t");
  LLVMValueRef part = hd_emit_get1(e, hd_combine_global_part(op));
  LLVMValueRef run = hd_emit_add(e, hd_emit_muli(e, part, HD_LANES), e->lane);
  c.byte = hd_emit_muli(e, run, RUN);
  c.left = hd_emit_sub(e, hd_emit_i32(e, hd_op_int(op, HD_ATTR_M, 0)),
                       hd_emit_muli(e, run, c.elems));
  LLVMValueRef sum[MAX_ELEMS];
  for (int64_t i = 0; i < c.elems; i++)
    sum[i] = c.elem == HEDDLE_S32 ? hd_emit_i32(e, 0) : LLVMConstReal(e->f32, 0);
  add_slots(e, &c, sum);
  store_run(e, &c, sum);
  hd_emit_endif(e, join);
  return HEDDLE_OK;
}
