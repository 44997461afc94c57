/* Statistics of D: finish.tile computes results in f32, reduce.tile writes a warp's part of each
 * column's statistic to shared memory, scale.tile combines the parts to statistics, scales and
 * factors. */
#include <math.h>
#include <string.h>

#include "Emit/emit_strip.h"
#include "Support/activations.h"

enum { BLOCK = 8, ELEMS = 4 /* per block and lane */, FLOAT_BYTES = 4, ROWS = 128 };

/* ---- finish.tile ---- */

/* Sets rows outside of D to zero; n results, ELEMS per block. */
static void clear_rows(hd_emitter *e, const hd_strip *s, LLVMValueRef *x, int32_t n) {
  LLVMValueRef *cleared = HD_NEW_ARRAY(&e->arena, LLVMValueRef, n);
  LLVMValueRef zero = LLVMConstReal(e->f32, 0);
  LLVMBasicBlockRef whole = LLVMGetInsertBlock(e->b);
  /* Warp-uniform: all rows of the strip are rows of D. */
  LLVMValueRef all = hd_emit_lt(e, hd_emit_addi(e, s->row0, s->halves * BLOCK - 1), s->m);
  LLVMValueRef part = LLVMBuildNot(e->b, all, "");
  LLVMBasicBlockRef join = hd_emit_if(e, part, "rows");
  for (int32_t i = 0; i < n; i++)
    cleared[i] = hd_emit_select(e, s->row_ok[i % ELEMS / 2], x[i], zero);
  LLVMBasicBlockRef edge = LLVMGetInsertBlock(e->b);
  hd_emit_endif(e, join);
  for (int32_t i = 0; i < n; i++) {
    LLVMValueRef either = LLVMBuildPhi(e->b, e->f32, "");
    LLVMAddIncoming(either, (LLVMValueRef[]){x[i], cleared[i]}, (LLVMBasicBlockRef[]){whole, edge},
                    2);
    x[i] = either;
  }
}

/* With a gated activation the second half of each block is zero. */
heddle_status hd_emit_op_finish_tile(hd_emitter *e, const hd_op *op) {
  hd_strip s = {.op = op, .run = 2};
  HD_TRY(hd_emit_strip_open(e, &s));
  int32_t n = ELEMS * s.n_blocks;
  hd_pair *pair = HD_NEW_ARRAY(&e->arena, hd_pair, 2 * s.n_blocks);
  LLVMValueRef *x = HD_NEW_ARRAY(&e->arena, LLVMValueRef, n);
  s.d.elem = HEDDLE_F32;
  if (s.user)
    hd_emit_finish_user(e, &s, s.n_blocks, pair);
  else
    hd_emit_finish_all(e, &s, 0, s.n_blocks, true, pair);
  for (int32_t i = 0; i < n; i++) {
    int32_t b = i / ELEMS, h = i % ELEMS / 2;
    x[i] = h < s.halves ? hd_emit_bitcast(e, pair[2 * b + h].v[i % 2], e->f32)
                        : LLVMConstReal(e->f32, 0);
  }
  clear_rows(e, &s, x, n);
  hd_emit_set(e, op->results[0], x, n);
  return HEDDLE_OK;
}

/* ---- statistics ---- */

static bool is_sum(const hd_op *op) {
  return hd_op_is(op, HD_ATTR_REDUCE, "sumsq");
}

/* Combines two statistics. A NaN and a number give a NaN. */
static LLVMValueRef join(hd_emitter *e, bool sum, LLVMValueRef x, LLVMValueRef y) {
  if (sum)
    return LLVMBuildFAdd(e->b, x, y, "");
  return hd_emit_intrinsic(e, "llvm.nvvm.fmax.nan.f", (LLVMValueRef[]){x, y}, 2);
}

/* Adds x to the statistic; so_far NULL: the statistic of x alone. */
static LLVMValueRef add_element(hd_emitter *e, bool sum, LLVMValueRef so_far, LLVMValueRef x) {
  if (sum)
    return so_far ? hd_emit_fma(e, x, x, so_far) : LLVMBuildFMul(e->b, x, x, "");
  LLVMValueRef size = hd_emit_intrinsic_of(e, "llvm.fabs", e->f32, &x, 1);
  return so_far ? join(e, sum, so_far, size) : size;
}

/* ---- reduce.tile ---- */

/* A lane's part of the columns' statistics: two columns of each of its blocks. At each step of the
 * reduction the lanes that hold the same columns divide the blocks among themselves. */
typedef struct part {
  const hd_op *op;
  LLVMValueRef *v;
  int32_t n_blocks, apart; /* number of blocks; distance from one to the next, in blocks */
  LLVMValueRef first,
      writes; /* i32: the first block; i1: this lane writes them; NULL: all lanes write */
} part;

static void add_rows(hd_emitter *e, part *p) {
  int32_t halves = hd_act_is_pair(hd_op_str(p->op, HD_ATTR_ACT)) ? 1 : 2;
  for (int32_t s = 0; s < hd_reduce_tile_n_strips(p->op); s++) {
    const LLVMValueRef *x = hd_emit_get(e, hd_reduce_tile_strips(p->op)[s], NULL);
    for (int32_t i = 0; i < p->n_blocks * ELEMS; i++) {
      LLVMValueRef *to = &p->v[i / ELEMS * 2 + i % 2];
      if (i % ELEMS / 2 < halves)
        *to = add_element(e, is_sum(p->op), s || i % ELEMS / 2 ? *to : NULL, x[i]);
    }
  }
}

/* i1: the lane index has the bit; computed at the role's entry. */
static LLVMValueRef has_bit(hd_emitter *e, int32_t mask) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef bit = hd_emit_and(e, e->lane, hd_emit_i32(e, mask));
  LLVMValueRef set = hd_emit_eqi(e, bit, mask);
  hd_emit_return_from_entry(e, here);
  return set;
}

static LLVMValueRef from_other(hd_emitter *e, LLVMValueRef x, int32_t mask) {
  return hd_emit_bitcast(e, hd_emit_shfl_xor(e, hd_emit_bitcast(e, x, e->i32), mask), e->f32);
}

/* Lanes that differ in `mask` divide the blocks: the lane with the bit gets the odd ones. */
static void share(hd_emitter *e, part *p, int32_t mask) {
  LLVMValueRef set = has_bit(e, mask);
  for (int32_t i = 0; i < p->n_blocks; i++) { /* i = 2 * block of the half + column */
    LLVMValueRef even = p->v[i / 2 * 4 + i % 2], odd = p->v[i / 2 * 4 + 2 + i % 2];
    LLVMValueRef given = hd_emit_select(e, set, even, odd),
                 kept = hd_emit_select(e, set, odd, even);
    p->v[i] = join(e, is_sum(p->op), kept, from_other(e, given, mask));
  }
  LLVMValueRef next = hd_emit_addi(e, p->first, p->apart);
  p->first = hd_emit_select(e, set, next, p->first);
  p->n_blocks /= 2;
  p->apart *= 2;
}

/* Both lanes combine all blocks, and the lane without the bit writes. */
static void repeat(hd_emitter *e, part *p, int32_t mask) {
  LLVMValueRef clear = LLVMBuildNot(e->b, has_bit(e, mask), "");
  for (int32_t i = 0; i < 2 * p->n_blocks; i++)
    p->v[i] = join(e, is_sum(p->op), p->v[i], from_other(e, p->v[i], mask));
  p->writes = p->writes ? hd_emit_and(e, p->writes, clear) : clear;
}

static void put_part(hd_emitter *e, const part *p) {
  LLVMValueRef slot = hd_emit_get1(e, hd_reduce_tile_slot(p->op));
  LLVMValueRef at = hd_emit_slot_at(e, hd_reduce_tile_buffer(p->op), slot);
  LLVMValueRef column = hd_emit_muli(e, hd_emit_remi(e, e->lane, ELEMS), 2);
  column = hd_emit_add(e, column, hd_emit_muli(e, p->first, BLOCK));
  LLVMValueRef args[] = {hd_emit_add(e, at, hd_emit_muli(e, column, FLOAT_BYTES)), NULL, NULL,
                         p->writes};
  for (int32_t b = 0; b < p->n_blocks; b++) {
    args[1] = p->v[2 * b];
    args[2] = p->v[2 * b + 1];
    const char *text =
        hd_arena_printf(&e->arena, "%sst.shared.v2.f32 [$0+%d], {$1, $2};", p->writes ? "@$3 " : "",
                        (int)(b * p->apart * BLOCK * FLOAT_BYTES));
    hd_emit_asm(e, e->none, text, p->writes ? "r,f,f,b" : "r,f,f", args, p->writes ? 4 : 3,
                HD_ASM_MEMORY);
  }
}

/* The rows of a column are in eight lanes, which are 4, 8 and 16 apart. */
heddle_status hd_emit_op_reduce_tile(hd_emitter *e, const hd_op *op) {
  int32_t n = hd_reduce_tile_strips(op)[0]->type.n;
  part p = {.op = op, .n_blocks = n / ELEMS, .apart = 1, .first = hd_emit_i32(e, 0)};
  p.v = HD_NEW_ARRAY(&e->arena, LLVMValueRef, n / 2 + 1);
  add_rows(e, &p);
  for (int32_t mask = HD_LANES / 2; mask >= ELEMS; mask /= 2)
    if (p.n_blocks % 2 == 0)
      share(e, &p, mask);
    else
      repeat(e, &p, mask);
  put_part(e, &p);
  return HEDDLE_OK;
}

/* ---- scale.tile ---- */

typedef struct tile {
  const hd_op *op;
  LLVMValueRef base; /* i32: address of the buffer */
  int32_t columns, cells, across, rows, bytes; /* columns: of a cell; rows: its parts */
  int32_t rows_of_a;                           /* in a cell */
  LLVMValueRef cell, column;                   /* of this thread; column: in the cell */
} tile;

/* The address of this thread's word in a slot. */
static LLVMValueRef word_of(hd_emitter *e, const tile *t, LLVMValueRef slot) {
  LLVMValueRef at = hd_emit_add(e, t->base, hd_emit_muli(e, slot, t->bytes));
  return hd_emit_add(e, at, hd_emit_muli(e, t->column, FLOAT_BYTES));
}

static LLVMValueRef join_parts(hd_emitter *e, const tile *t) {
  LLVMValueRef all = NULL, at = word_of(e, t, hd_emit_muli(e, t->cell, t->rows));
  for (int32_t i = 0; i < t->rows; i++) {
    const char *text =
        hd_arena_printf(&e->arena, "ld.shared.f32 $0, [$1+%d];", (int)(i * t->bytes));
    LLVMValueRef x = hd_emit_asm(e, e->f32, text, "=f,r", &at, 1, HD_ASM_MEMORY);
    all = all ? join(e, is_sum(t->op), all, x) : x;
  }
  return all;
}

/* Computes the scale that divides the cell's column, and writes its inverse for the stores. */
static LLVMValueRef make_scale(hd_emitter *e, const tile *t, LLVMValueRef absmax) {
  LLVMValueRef least = LLVMConstReal(e->f32, ldexp(1, -126)), one = LLVMConstReal(e->f32, 1);
  heddle_elem elem = hd_op_elem(t->op, HD_ATTR_TYPE);
  double largest = elem == HEDDLE_E4M3 ? 448 : elem == HEDDLE_E5M2 ? 57344 : 127;
  LLVMValueRef most = LLVMConstReal(e->f32, largest);
  LLVMValueRef scale = LLVMBuildFDiv(e->b, absmax, most, "");
  LLVMValueRef small = LLVMBuildFCmp(e->b, LLVMRealOLT, scale, least, "");
  scale = hd_emit_select(e, small, least, scale);
  LLVMValueRef slot = hd_emit_addi(e, t->cell, t->cells * t->rows);
  LLVMValueRef args[] = {word_of(e, t, slot), LLVMBuildFDiv(e->b, one, scale, "")};
  hd_emit_asm(e, e->none, "st.shared.f32 [$0], $1;", "r,f", args, 2, HD_ASM_MEMORY);
  return scale;
}

/* Stores the statistic if the cell's first row and the column are inside D. */
static void store_statistic(hd_emitter *e, const tile *t, LLVMValueRef x) {
  const hd_op *op = t->op;
  LLVMValueRef block = t->cell, column = t->column;
  if (t->across > 1) {
    LLVMValueRef before = hd_emit_muli(e, hd_emit_remi(e, t->cell, t->across), t->columns);
    block = hd_emit_divi(e, t->cell, t->across);
    column = hd_emit_add(e, before, column);
  }
  LLVMValueRef row = hd_emit_add(e, hd_emit_get1(e, hd_scale_tile_row(op)),
                                 hd_emit_muli(e, block, t->rows_of_a));
  column = hd_emit_add(e, hd_emit_get1(e, hd_scale_tile_column(op)), column);
  LLVMValueRef inside = hd_emit_and(e, hd_emit_lt(e, row, hd_emit_get1(e, hd_scale_tile_m(op))),
                                    hd_emit_lt(e, column, hd_emit_get1(e, hd_scale_tile_n(op))));
  LLVMValueRef above = hd_emit_widen(e, hd_emit_divi(e, row, t->rows_of_a));
  above = hd_emit_mul(e, above, hd_emit_get1(e, hd_scale_tile_pitch(op)));
  LLVMValueRef at = hd_emit_add(e, above, hd_emit_widen(e, column));
  at = hd_emit_muli(e, at, FLOAT_BYTES);
  LLVMValueRef args[] = {hd_emit_global_at(e, hd_emit_get1(e, hd_scale_tile_scales(op)), at), x,
                         inside};
  hd_emit_asm(e, e->none, "@$2 st.global.f32 [$0], $1;", "l,f,b", args, 3, HD_ASM_MEMORY);
}

/* Each thread handles one column of a cell per iteration; each set of `among` warps its cells. */
heddle_status hd_emit_op_scale_tile(hd_emitter *e, const hd_op *op) {
  const hd_op *buffer = hd_emit_def(hd_scale_tile_buffer(op));
  bool scales = hd_op_has(op, HD_ATTR_SCALE_D);
  tile t = {.op = op,
            .base = hd_emit_get1(e, hd_scale_tile_buffer(op)),
            .columns = (int32_t)hd_op_int(op, HD_ATTR_TILE_COLUMNS, 0),
            .across = (int32_t)hd_op_int(op, HD_ATTR_ACROSS, 1),
            .rows = (int32_t)hd_op_int(op, HD_ATTR_ROWS, 1),
            .bytes = (int32_t)hd_op_int(buffer, HD_ATTR_BYTES, 0),
            .rows_of_a = hd_act_is_pair(hd_op_str(op, HD_ATTR_ACT)) ? 2 * ROWS : ROWS};
  t.cells = (int32_t)hd_op_int(buffer, HD_ATTR_STAGES, 0) / (t.rows + scales);
  int32_t threads = hd_emit_among(e, op), shares = e->role.n_warps * HD_LANES / threads;
  int32_t each = t.cells / shares, n = each * t.columns;
  LLVMValueRef first = hd_emit_i32(e, 0), thread = e->role.thread;
  if (shares > 1) {
    first = hd_emit_muli(e, hd_emit_share(e, threads), each);
    thread = hd_emit_remi(e, thread, threads);
  }
  for (int32_t from = 0; from < n; from += threads) {
    LLVMValueRef i = hd_emit_addi(e, thread, from);
    LLVMBasicBlockRef all = from + threads <= n
                                ? NULL
                                : hd_emit_if(e, hd_emit_lt(e, i, hd_emit_i32(e, n)), "statistic");
    t.cell = each > 1 ? hd_emit_add(e, first, hd_emit_divi(e, i, t.columns)) : first;
    t.column = each > 1 ? hd_emit_remi(e, i, t.columns) : i;
    LLVMValueRef x = join_parts(e, &t);
    store_statistic(e, &t, scales ? make_scale(e, &t, x) : x);
    if (all)
      hd_emit_endif(e, all);
  }
  return HEDDLE_OK;
}
