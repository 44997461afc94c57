/* store.tile: the epilogue and the stores of a 16-row strip of D. There are two paths: a fast one
 * with wide stores for blocks inside D at aligned addresses, and a slow one that checks every
 * element. A strip takes the fast path as a whole, or the slow path; if it may cross the right edge
 * of D, the path is chosen for each few blocks. */
#include <string.h>

#include "Emit/emit_strip.h"
#include "Support/activations.h"

enum {
  HALF_ROWS = 8,
  BLOCK = 8,
  WIDE = 16,
  AHEAD = 4 /* blocks whose inputs are read together */,
  GROUP = 8
};

/* ---- elements ---- */

static hd_pair finish_pair(hd_emitter *e, const hd_strip *s, const hd_inputs *in, int32_t b,
                           int h) {
  LLVMValueRef x[2];
  hd_emit_finish(e, s, in, b, h, x);
  return hd_emit_pack(e, s->d.elem, x[0], x[1]);
}

/* How many blocks ahead inputs are loaded. A load takes hundreds of clocks. If only vectors are
 * read, registers suffice for many blocks besides the accumulators of 256, or up to 128, columns;
 * with 160 columns, or several CTAs per SM, a warp would spill. C in words takes two registers for
 * a block. A store of the second matrix leaves all accumulators live. */
static int32_t read_ahead(const hd_emitter *e, const hd_strip *s) {
  enum { WHOLE = 32, HALF = 16, VECTOR = 16 };
  bool one = s->has_bias_n != (s->scale_b.at != NULL);
  bool room = (s->n_blocks == WHOLE || s->n_blocks <= HALF) &&
              hd_op_int(e->kernel, HD_ATTR_MIN_CTAS, 1) == 1;
  if (hd_op_has(s->op, HD_ATTR_AUX))
    return AHEAD / 2;
  if (s->c_words)
    return GROUP;
  return !hd_emit_reads_vectors(s) || !room ? AHEAD : one ? VECTOR : VECTOR / 2;
}

/* The inputs of blocks before `read` were loaded; those from `limit` on are never loaded. */
typedef struct inputs_ahead {
  hd_inputs *in;
  int32_t read, limit;
} inputs_ahead;

/* Blocks whose inputs are loaded together. */
static int32_t read_step(const hd_emitter *e, const hd_strip *s) {
  return hd_emit_reads_at_once(e, s) ? read_ahead(e, s) / 2 : s->run / 2;
}

/* Loads the inputs of the next blocks before it finishes each block. */
static void finish_blocks(hd_emitter *e, const hd_strip *s, int32_t first, int32_t end,
                          bool checked, inputs_ahead *a, hd_pair *pair) {
  int32_t step = read_step(e, s), ahead = read_ahead(e, s);
  for (int32_t b = first; b < end; b++) {
    while (a->read < a->limit && (a->read <= b || a->read + step <= b + 1 + ahead)) {
      int32_t left = a->limit - a->read, n = step < left ? step : left;
      if (checked && hd_emit_reads_at_once(e, s))
        hd_emit_read_vectors(e, s, a->read, n, &a->in[a->read]);
      else
        hd_emit_read_inputs(e, s, a->read, checked, &a->in[a->read]);
      a->read += n;
    }
    for (int h = 0; h < s->halves; h++)
      pair[2 * b + h] = finish_pair(e, s, &a->in[b], b, h);
  }
}

void hd_emit_finish_all(hd_emitter *e, const hd_strip *s, int32_t first, int32_t end, bool checked,
                        hd_pair *pair) {
  inputs_ahead a = {HD_NEW_ARRAY(&e->arena, hd_inputs, end), first, end};
  finish_blocks(e, s, first, end, checked, &a, pair);
}

void hd_emit_finish_read(hd_emitter *e, const hd_strip *s, const hd_inputs *in, int32_t n_blocks,
                         hd_pair *pair) {
  for (int32_t b = 0; b < n_blocks; b++)
    for (int h = 0; h < s->halves; h++)
      pair[2 * b + h] = finish_pair(e, s, &in[b], b, h);
}

/* A user's function may load, so it is called only for elements that exist. */
static void store_user_element(hd_emitter *e, const hd_strip *s, const hd_inputs *in, int32_t b,
                               int h, int j) {
  hd_place at = {0};
  if (s->to) /* all lanes must take part in the shuffle of indices */
    at = hd_emit_place(e, s, &s->d, b, h, j);
  LLVMBasicBlockRef join = hd_emit_if(e, hd_emit_inside(e, s, b, h, j), "element");
  LLVMValueRef x = hd_emit_finish_by_user(e, s, in, b, h, j);
  LLVMValueRef bits = hd_emit_unpack(e, s->d.elem, hd_emit_pack(e, s->d.elem, x, x), 0);
  hd_emit_put_words(e, s->to ? at : hd_emit_place(e, s, &s->d, b, h, j), &bits, 1);
  hd_emit_endif(e, join);
}

/* ---- the fast path ---- */

/* How many blocks are stored together, and how. */
typedef struct store_form {
  int32_t n_blocks;
  int64_t align; /* of addresses and pitch, bytes */
  void (*store)(hd_emitter *e, const hd_strip *s, int32_t b, const hd_pair *pair); /* of b */
} store_form;

static void rows_direct(hd_emitter *e, const hd_strip *s, int32_t b, const hd_pair *pair) {
  for (int h = 0; h < s->halves; h++)
    hd_emit_put_words(e, hd_emit_place(e, s, &s->d, b, h, 0), pair[h].v, pair[h].n);
}

/* A group of blocks, of which each lane holds 16 consecutive bytes. */
static void rows_wide(hd_emitter *e, const hd_strip *s, int32_t b, const hd_pair *pair) {
  for (int h = 0; h < s->halves; h++) {
    LLVMValueRef w[4];
    hd_emit_row_words(e, s, h, pair, w);
    hd_emit_put_words(e, hd_emit_place_of_words(e, s, b, h), w, 4);
  }
}

/* Column-major, 16-bit types. movmatrix gives lane (g, q), for half h, rows 8h + 2q and 8h + 2q + 1
 * of column g. This is the address of byte `along` of this lane's column, which is `across` columns
 * to the right of column g of block b. */
static hd_place column_of_lane(hd_emitter *e, const hd_strip *s, int32_t b, LLVMValueRef across,
                               LLVMValueRef along) {
  LLVMValueRef column = hd_emit_add(e, hd_emit_divi(e, e->lane, 4), across);
  if (s->to)
    return hd_emit_in_column(e, s, hd_emit_global_at(e, s->d.origin, hd_emit_widen(e, along)),
                             hd_emit_scattered(e, s, b, column));
  LLVMValueRef bytes = hd_emit_mul(e, hd_emit_widen(e, column), s->d.ld_bytes);
  LLVMValueRef first =
      hd_emit_global_at(e, s->d.origin, hd_emit_add(e, bytes, hd_emit_widen(e, along)));
  LLVMValueRef before = hd_emit_muli(e, s->d.ld_bytes, BLOCK * b);
  return (hd_place){hd_emit_global_at(e, first, before), 0, NULL};
}

static void cols_direct_16(hd_emitter *e, const hd_strip *s, int32_t b, const hd_pair *pair) {
  LLVMValueRef along = hd_emit_muli(e, hd_emit_remi(e, e->lane, 4), 4);
  hd_place at = column_of_lane(e, s, b, hd_emit_i32(e, 0), along);
  for (int h = 0; h < s->halves; h++) {
    LLVMValueRef w = hd_emit_movmatrix(e, pair[h].v[0]);
    hd_emit_put_words(e, (hd_place){at.ptr, h * WIDE, at.where}, &w, 1);
  }
}

/* 2 blocks: after the transpose lane q holds the 8 rows of half q & 1 of block b + q / 2. */
static void cols_quad_16(hd_emitter *e, const hd_strip *s, int32_t b, const hd_pair *pair) {
  LLVMValueRef w[4];
  for (int i = 0; i < 4; i++)
    w[i] = hd_emit_movmatrix(e, pair[i].v[0]);
  hd_emit_transpose_quad(e, w);
  LLVMValueRef q = hd_emit_remi(e, e->lane, 4);
  LLVMValueRef across = hd_emit_muli(e, hd_emit_divi(e, q, 2), BLOCK);
  LLVMValueRef along = hd_emit_muli(e, hd_emit_remi(e, q, 2), WIDE);
  hd_emit_put_words(e, column_of_lane(e, s, b, across, along), w, 4);
}

/* Gated, 4 blocks: after the transpose lane q holds the 8 rows of block b + q. */
static void pair_cols_quad_16(hd_emitter *e, const hd_strip *s, int32_t b, const hd_pair *pair) {
  LLVMValueRef w[4];
  for (int i = 0; i < 4; i++)
    w[i] = hd_emit_movmatrix(e, pair[2 * i].v[0]);
  hd_emit_transpose_quad(e, w);
  LLVMValueRef across = hd_emit_muli(e, hd_emit_remi(e, e->lane, 4), BLOCK);
  hd_emit_put_words(e, column_of_lane(e, s, b, across, hd_emit_i32(e, 0)), w, 4);
}

/* Column-major, 8-bit types, 4 blocks: movmatrix moves rows r and r + 8 of a column together as 16
 * bits, so that a lane gets rows 2q, 2q + 1, 2q + 8 and 2q + 9 of its column. After the transpose
 * lane q has all 16 rows of block b + q. */
static void cols_quad_8(hd_emitter *e, const hd_strip *s, int32_t b, const hd_pair *pair) {
  LLVMValueRef w[4], sorted[4], q = hd_emit_remi(e, e->lane, 4);
  for (int i = 0; i < 4; i++) {
    LLVMValueRef upper = LLVMBuildZExt(e->b, pair[2 * i].v[0], e->i32, "");
    LLVMValueRef lower = LLVMBuildZExt(e->b, pair[2 * i + 1].v[0], e->i32, "");
    LLVMValueRef columns = hd_emit_movmatrix(e, hd_emit_permute(e, upper, lower, 0x5140));
    w[i] = hd_emit_permute(e, columns, columns, 0x3120);
  }
  hd_emit_transpose_quad(e, w);
  hd_emit_sort_halves(e, w, sorted);
  hd_place at = column_of_lane(e, s, b, hd_emit_muli(e, q, BLOCK), hd_emit_i32(e, 0));
  hd_emit_put_words(e, at, sorted, 4);
}

/* 8- and 32-bit types: the 8 lanes of a column already store consecutive elements. */
static void cols_direct(hd_emitter *e, const hd_strip *s, int32_t b, const hd_pair *pair) {
  for (int h = 0; h < s->halves; h++)
    for (int j = 0; j < 2; j++) {
      LLVMValueRef bits = hd_emit_unpack(e, s->d.elem, pair[h], j);
      hd_emit_put_words(e, hd_emit_place(e, s, &s->d, b, h, j), &bits, 1);
    }
}

/* By order, path, bytes of an element and halves of a strip. Blocks that remain after the groups of
 * a wider form are stored by the direct form. */
static const struct form_row {
  bool col_major;
  const char *path;
  int64_t bytes;
  store_form form;
  int32_t halves; /* 0: any */
} forms[] = {
    {false, "direct", 1, {1, 2, rows_direct}, 0},
    {false, "direct", 2, {1, 4, rows_direct}, 0},
    {false, "direct", 4, {1, 8, rows_direct}, 0},
    {false, "quad", 1, {8, WIDE, rows_wide}, 0},
    {false, "quad", 2, {4, WIDE, rows_wide}, 0},
    {false, "quad", 4, {2, WIDE, rows_wide}, 0},
    {false, "permuted", 1, {8, WIDE, rows_wide}, 0},
    {false, "permuted", 2, {4, WIDE, rows_wide}, 0},
    {false, "permuted", 4, {2, WIDE, rows_wide}, 0},
    {true, "direct", 1, {1, 1, cols_direct}, 0},
    {true, "direct", 2, {1, 4, cols_direct_16}, 0},
    {true, "direct", 4, {1, 4, cols_direct}, 0},
    {true, "quad", 1, {4, WIDE, cols_quad_8}, 2},
    {true, "quad", 2, {2, WIDE, cols_quad_16}, 2},
    {true, "quad", 2, {4, WIDE, pair_cols_quad_16}, 1},
};

static const store_form *find_form(const hd_strip *s, const char *path) {
  for (size_t i = 0; i < HD_COUNT(forms); i++)
    if (forms[i].col_major == s->d.col_major && strcmp(forms[i].path, path) == 0 &&
        forms[i].bytes == s->d.bytes && (!forms[i].halves || forms[i].halves == s->halves))
      return &forms[i].form;
  return strcmp(path, "direct") ? find_form(s, "direct") : NULL;
}

/* ---- both paths ---- */

static void store_fast(hd_emitter *e, const hd_strip *s, const store_form *form, int32_t first,
                       int32_t end, hd_pair *pair) {
  const store_form *rest = find_form(s, "direct");
  if (s->user)
    hd_emit_finish_all(e, s, first, end, false, pair);
  for (int32_t b = first; b < end;) {
    const store_form *f = b + form->n_blocks <= end ? form : rest;
    f->store(e, s, b, pair + 2 * b);
    b += f->n_blocks;
  }
}

static void store_slow(hd_emitter *e, const hd_strip *s, int32_t first, int32_t end,
                       const hd_pair *pair) {
  if (s->user) {
    hd_inputs in[HD_MOST_RUN / 2];
    for (int32_t b = first; b < end; b += s->run / 2) {
      hd_emit_read_inputs(e, s, b, true, in);
      for (int32_t i = 0, each = 2 * s->halves; i < s->run * s->halves; i++)
        store_user_element(e, s, &in[i / each], b + i / each, i / 2 % s->halves, i % 2);
    }
    return;
  }
  for (int32_t b = first; b < end; b += HD_PUT_BLOCKS)
    for (int h = 0; h < s->halves; h++)
      hd_emit_put_checked(e, s, b, end - b < HD_PUT_BLOCKS ? end - b : HD_PUT_BLOCKS, h,
                          pair + 2 * b);
}

/* i1: origin and pitch of D are multiples of `align`, and the strip's rows are inside m.
 * Warp-uniform. */
static LLVMValueRef rows_go_fast(hd_emitter *e, const hd_strip *s, int64_t align) {
  LLVMValueRef address = LLVMBuildPtrToInt(e->b, s->d.origin, e->i64, "");
  LLVMValueRef low = LLVMBuildOr(e->b, address, s->d.ld_bytes, "");
  low = hd_emit_and(e, low, hd_emit_i64(e, align - 1));
  LLVMValueRef rows = hd_emit_lt(e, hd_emit_addi(e, s->row0, s->halves * HALF_ROWS - 1), s->m);
  return hd_emit_and(e, hd_emit_eqi(e, low, 0), rows);
}

/* i1: all columns of the blocks before `end` are inside n. Warp-uniform. */
static LLVMValueRef has_columns(hd_emitter *e, const hd_strip *s, int32_t end) {
  return hd_emit_lt(e, hd_emit_addi(e, s->col0, BLOCK * end - 1), s->n);
}

/* Two paths that join again. */
typedef struct fork {
  LLVMBasicBlockRef edge, join;
} fork;

static fork begin_inside(hd_emitter *e, LLVMValueRef is_inside) {
  fork f;
  f.join = hd_emit_block(e, "stored");
  f.edge = hd_emit_block(e, "edge");
  LLVMBasicBlockRef inside = hd_emit_block(e, "inside");
  LLVMBuildCondBr(e->b, is_inside, inside, f.edge);
  hd_emit_at(e, inside);
  return f;
}

static void go_on_at(hd_emitter *e, const fork *f, LLVMBasicBlockRef next) {
  hd_emit_jump(e, f->join);
  LLVMMoveBasicBlockAfter(next, LLVMGetInsertBlock(e->b));
  hd_emit_at(e, next);
}

static void begin_edge(hd_emitter *e, const fork *f) { go_on_at(e, f, f->edge); }
static void end_edge(hd_emitter *e, const fork *f) { go_on_at(e, f, f->join); }

static heddle_status read_operands(hd_emitter *e, hd_strip *s) {
  const hd_op *op = s->op;
  int32_t n = 0;
  int32_t first = hd_first_acc(op);
  for (int32_t i = first; i < op->n_operands; i++)
    n += op->operands[i]->type.n;
  s->acc_elem = op->n_operands > first ? op->operands[first]->type.elem : HEDDLE_N_ELEMS;
  bool known = s->acc_elem == HEDDLE_F32 || s->acc_elem == HEDDLE_F16 || s->acc_elem == HEDDLE_S32;
  if (!known || n % 4)
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.store",
                    "got %d accumulators; legal: f32, f16 or s32, 4 for each block of 8 columns",
                    n);
  s->n_blocks = n / 4;
  s->acc = HD_NEW_ARRAY(&e->arena, LLVMValueRef, n + 1);
  int32_t at = 0;
  for (int32_t i = first; i < op->n_operands; i++) {
    int32_t regs;
    LLVMValueRef *v = hd_emit_get(e, op->operands[i], &regs);
    hd_emit_accumulators(e, s->acc_elem, v, regs, s->acc + at);
    at += op->operands[i]->type.n;
  }
  return HEDDLE_OK;
}

/* Converts rows of A to rows of D. Gated: two rows of A give one; their number is even. */
static LLVMValueRef rows_of_d(hd_emitter *e, const hd_strip *s, LLVMValueRef rows) {
  return s->pair ? hd_emit_divi(e, rows, 2) : rows;
}

/* Whether the epilogue of the strip is there twice: of a slice of a tile in tensor memory whose
 * statistics are computed, or for aux and D. Values of a column that both shared would hold
 * registers. */
static bool is_twice(const hd_op *op) {
  const hd_op *from = op->operands[hd_first_acc(op)]->op;
  bool slice = op->kind == HD_OP_FINISH_TILE && from && from->kind == HD_OP_TCGEN05_WAIT_LD;
  return slice || hd_op_has(op, HD_ATTR_AUX);
}

heddle_status hd_emit_strip_open(hd_emitter *e, hd_strip *s) {
  s->pair = hd_act_is_pair(hd_op_str(s->op, HD_ATTR_ACT));
  s->halves = s->pair ? 1 : 2;
  HD_TRY(read_operands(e, s));
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef g = hd_emit_divi(e, e->lane, 4);
  LLVMValueRef before = hd_emit_muli(e, hd_emit_remi(e, e->lane, 4), s->run);
  hd_emit_return_from_entry(e, here);
  hd_value *const *place = s->op->operands + hd_strip_row_at(s->op); /* row, column, m, n */
  s->row0 = rows_of_d(e, s, hd_emit_get1(e, place[0]));
  s->col0 = hd_emit_get1(e, place[1]);
  if (is_twice(s->op))
    s->col0 = hd_emit_asm(e, e->i32, "mov.b32 $0, $1;", "=r,r", &s->col0, 1,
                          HD_ASM_VOLATILE);
  s->m = rows_of_d(e, s, hd_emit_get1(e, place[2]));
  s->n = hd_emit_get1(e, place[3]);
  s->row = hd_emit_add(e, s->row0, g);
  s->col = hd_emit_add(e, s->col0, before);
  for (int h = 0; h < 2; h++) {
    s->row_ok[h] = hd_emit_lt(e, hd_emit_addi(e, s->row, s->pair ? 0 : 8 * h), s->m);
    s->cols_left[h] =
        hd_emit_select(e, s->row_ok[h], hd_emit_sub(e, s->n, s->col), hd_emit_i32(e, 0));
  }
  return hd_emit_epilogue_open(e, s);
}

/* Whether the slow path need not store every element by itself. A single group is not enough: its
 * first and last stores would be as many. For 4-byte elements there are too few registers; and for
 * wide strips with an activation, because ptxas interleaves the activations of all blocks: it needs
 * nearly all registers for them, and spills what is live until the stores. */
static bool can_shift(const hd_strip *s, int32_t n_blocks) {
  enum { NARROW = 12 };
  bool is_short = strcmp(s->act, "none") == 0 || strcmp(s->act, "relu") == 0;
  bool room = is_short || s->n_blocks <= NARROW;
  return !s->d.col_major && s->d.bytes < 4 && !s->to && !s->user && room &&
         n_blocks > hd_quad_blocks(s);
}

/* A strip with rows or columns outside of D, or unaligned addresses. If columns may be outside, the
 * path is chosen for each group of a form's blocks. */
static void store_edge(hd_emitter *e, const hd_strip *s, const store_form *form,
                       LLVMValueRef fast_rows, int32_t first, int32_t end, hd_pair *pair) {
  /* Strips begin at multiples of their width. If n is such a multiple, none crosses D's edge. */
  bool whole =
      LLVMIsAConstantInt(s->n) && LLVMConstIntGetSExtValue(s->n) % (BLOCK * s->n_blocks) == 0;
  int32_t n_each = whole ? end - first : form->n_blocks;
  for (int32_t b = first, next; b < end; b = next) {
    next = b + n_each < end ? b + n_each : end;
    /* Warp-uniform: the first column of block b is inside n. */
    LLVMValueRef reaches = hd_emit_lt(e, hd_emit_addi(e, s->col0, BLOCK * b), s->n);
    LLVMBasicBlockRef some = hd_emit_if(e, reaches, "some");
    if (whole) {
      store_slow(e, s, b, next, pair);
    } else {
      fork f = begin_inside(e, hd_emit_and(e, fast_rows, has_columns(e, s, next)));
      store_fast(e, s, form, b, next, pair);
      begin_edge(e, &f);
      store_slow(e, s, b, next, pair);
      end_edge(e, &f);
    }
    hd_emit_endif(e, some);
  }
}

/* The elements are finished and packed once, for all paths (with a user's function: in each). */
static void store_group(hd_emitter *e, const hd_strip *s, const store_form *form,
                        LLVMValueRef fast_rows, int32_t first, int32_t end, inputs_ahead *ahead,
                        hd_pair *pair) {
  if (!hd_emit_reads_vectors(s)) /* too few registers to load inputs of the next group early */
    *ahead = (inputs_ahead){ahead->in, first, end};
  if (!s->user)
    finish_blocks(e, s, first, end, true, ahead, pair);
  fork f = begin_inside(e, hd_emit_and(e, fast_rows, has_columns(e, s, s->n_blocks)));
  store_fast(e, s, form, first, end, pair);
  begin_edge(e, &f);
  if (can_shift(s, end - first))
    hd_emit_store_shifted(e, s, first, end, pair + 2 * first);
  else
    store_edge(e, s, form, fast_rows, first, end, pair);
  end_edge(e, &f);
}

/* Blocks that are finished together. All blocks if that frees registers: 16-bit results take half
 * of the accumulators' registers, and no inputs per column are loaded. Otherwise ptxas, which moves
 * loads and arithmetic up as far as it can, would need registers for inputs and results at once. A
 * store of the second matrix frees none, since D is made of the same accumulators. */
static int32_t group_blocks(const hd_strip *s) {
  bool reads = s->has_c || s->has_bias_n || s->scale_b.at || hd_op_has(s->op, HD_ATTR_AUX);
  return s->halves * s->d.bytes <= 4 && !reads ? s->n_blocks : GROUP;
}

heddle_status hd_emit_op_store_tile(hd_emitter *e, const hd_op *op) {
  int32_t bytes = heddle_elem_get(hd_op_elem(op, HD_ATTR_TYPE))->container_bits / 8;
  bool permuted = hd_op_is(op, HD_ATTR_PATH, "permuted") && bytes;
  hd_strip s = {.op = op, .run = permuted ? WIDE / bytes : 2};
  HD_TRY(hd_emit_strip_open(e, &s));
  const store_form *form = find_form(&s, hd_op_str(op, HD_ATTR_PATH));
  hd_pair *pair = HD_NEW_ARRAY(&e->arena, hd_pair, 2 * s.n_blocks);
  LLVMValueRef fast_rows = rows_go_fast(e, &s, form->align);
  int32_t group = group_blocks(&s);
  inputs_ahead ahead = {HD_NEW_ARRAY(&e->arena, hd_inputs, s.n_blocks), 0, s.n_blocks};
  for (int32_t b = 0; b < s.n_blocks; b += group)
    store_group(e, &s, form, fast_rows, b, b + group < s.n_blocks ? b + group : s.n_blocks, &ahead,
                pair);
  return HEDDLE_OK;
}
