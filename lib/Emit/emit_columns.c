/* scale.columns: scale_b of a tile's columns from their sums of squares.
 *
 * A column's rows of partial sums belong to eight chains: chain c adds rows c, c + 8, c + 16, … in
 * this order. The chains are then added in pairs whose numbers differ by 4, by 2 and by 1. If there
 * are more threads than columns, P threads of a warp share a column, and thread p has the chains p,
 * p + P, …; the order of addition is the same for all P. With P = 4 and 8 columns in a warp:
 *
 *   lane     0 … 7     8 … 15    16 … 23   24 … 31
 *   columns  0 … 7     0 … 7     0 … 7     0 … 7
 *   chains   0, 4      1, 5      2, 6      3, 7
 */
#include "Emit/emit_strip.h"

enum {
  CHAINS = 8,
  STEP = 32, /* rows that are loaded at once: a load takes hundreds of clocks */
  ROWS = 128 /* elements of k per row */,
  FLOAT_BYTES = 4
};

typedef struct columns {
  const hd_op *op;
  int32_t width, n, threads; /* width: columns of a slot; n: of all slots of a set */
  int32_t parts;             /* threads per column */
  LLVMValueRef slot;         /* i32: address of the set's first slot */
  LLVMValueRef part, column; /* i32: of this thread; column: in the tile */
  LLVMValueRef rows;         /* i32: of partial sums */
  LLVMValueRef at, pitch;    /* the column's first sum; i64: bytes between rows */
  LLVMValueRef of_tile;      /* i1: the column is one of the set's; */
  LLVMValueRef exists;       /* and inside n */
} columns;

static int32_t chains_of(const columns *c) { return CHAINS / c->parts; }

/* Threads per column: as many as there are, up to one per chain. */
static int32_t parts_of(const columns *c) {
  int32_t parts = 1;
  while (parts < CHAINS && 2 * parts * c->n <= c->threads)
    parts *= 2;
  return parts;
}

/* The sum in row `row` of this thread's column; 0 if there is none. */
static LLVMValueRef load_sum(hd_emitter *e, const columns *c, LLVMValueRef row) {
  LLVMValueRef inside = hd_emit_and(e, hd_emit_lt(e, row, c->rows), c->exists);
  LLVMValueRef offset = hd_emit_mul(e, hd_emit_widen(e, row), c->pitch);
  LLVMValueRef args[] = {hd_emit_global_at(e, c->at, offset), inside};
  return hd_emit_asm(e, e->f32, "mov.b32 $0, 0;\n\t@$2 ld.global.f32 $0, [$1];", "=&f,l,b", args, 2,
                     HD_ASM_MEMORY);
}

/* Adds STEP rows from `first` on to the thread's chains. */
static void add_rows(hd_emitter *e, const columns *c, LLVMValueRef first, LLVMValueRef *chain) {
  int32_t n = STEP / c->parts;
  LLVMValueRef x[STEP], row = hd_emit_add(e, first, c->part);
  for (int32_t i = 0; i < n; i++)
    x[i] = load_sum(e, c, hd_emit_addi(e, row, i * c->parts));
  for (int32_t i = 0; i < n; i++)
    chain[i % chains_of(c)] = LLVMBuildFAdd(e->b, chain[i % chains_of(c)], x[i], "");
}

/* Adds all rows to the chains, which begin with zero. */
static void add_all(hd_emitter *e, const columns *c, LLVMValueRef *chain) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), body = hd_emit_block(e, "sums");
  LLVMBasicBlockRef exit = hd_emit_block(e, "summed");
  LLVMValueRef zero = hd_emit_i32(e, 0), none = LLVMConstReal(e->f32, 0), phi[CHAINS];
  hd_emit_jump(e, body);
  hd_emit_at(e, body);
  LLVMValueRef row = LLVMBuildPhi(e->b, e->i32, "row");
  for (int32_t i = 0; i < chains_of(c); i++)
    chain[i] = phi[i] = LLVMBuildPhi(e->b, e->f32, "");
  add_rows(e, c, row, chain);
  LLVMValueRef next = hd_emit_addi(e, row, STEP);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b), from[] = {before, latch};
  LLVMBuildCondBr(e->b, hd_emit_lt(e, next, c->rows), body, exit);
  LLVMAddIncoming(row, (LLVMValueRef[]){zero, next}, from, 2);
  for (int32_t i = 0; i < chains_of(c); i++)
    LLVMAddIncoming(phi[i], (LLVMValueRef[]){none, chain[i]}, from, 2);
  LLVMMoveBasicBlockAfter(exit, latch);
  hd_emit_at(e, exit);
}

/* Adds the chains: those of a thread, then those of the threads of a column. */
static LLVMValueRef add_chains(hd_emitter *e, const columns *c, LLVMValueRef *chain) {
  for (int32_t half = chains_of(c) / 2; half; half /= 2)
    for (int32_t i = 0; i < half; i++)
      chain[i] = LLVMBuildFAdd(e->b, chain[i], chain[i + half], "");
  for (int32_t mask = HD_LANES / 2; mask >= HD_LANES / c->parts; mask /= 2) {
    LLVMValueRef other = hd_emit_shfl_xor(e, hd_emit_bitcast(e, chain[0], e->i32), mask);
    chain[0] = LLVMBuildFAdd(e->b, chain[0], hd_emit_bitcast(e, other, e->f32), "");
  }
  return chain[0];
}

/* 1 / sqrt(sum / k + eps), each step rounded to nearest. */
static LLVMValueRef scale_of(hd_emitter *e, const columns *c, LLVMValueRef sum) {
  LLVMValueRef k = LLVMBuildSIToFP(e->b, hd_emit_get1(e, hd_scale_columns_k(c->op)), e->f32, "");
  LLVMValueRef mean = LLVMBuildFDiv(e->b, sum, k, "");
  mean = LLVMBuildFAdd(e->b, mean, hd_emit_get1(e, hd_scale_columns_eps(c->op)), "");
  LLVMValueRef root = hd_emit_intrinsic_of(e, "llvm.sqrt", e->f32, &mean, 1);
  return LLVMBuildFDiv(e->b, LLVMConstReal(e->f32, 1), root, "");
}

static void put_scale(hd_emitter *e, const columns *c, LLVMValueRef scale) {
  int64_t bytes = hd_op_int(hd_emit_def(hd_scale_columns_buffer(c->op)), HD_ATTR_BYTES, 0);
  LLVMValueRef column = c->column, at = c->slot;
  if (c->width < c->n) {
    at = hd_emit_add(e, at, hd_emit_muli(e, hd_emit_divi(e, column, c->width), bytes));
    column = hd_emit_remi(e, column, c->width);
  }
  LLVMValueRef writes = hd_emit_eqi(e, c->part, 0);
  if (c->of_tile)
    writes = hd_emit_and(e, writes, c->of_tile);
  LLVMValueRef args[] = {hd_emit_add(e, at, hd_emit_muli(e, column, FLOAT_BYTES)), scale, writes};
  hd_emit_asm(e, e->none, "@$2 st.shared.f32 [$0], $1;", "r,f,b", args, 3, HD_ASM_MEMORY);
}

/* The scale of column `index` of the set's columns, if it has so many. All lanes take part, because
 * they exchange chains. */
static void make_scale(hd_emitter *e, columns *c, LLVMValueRef index, bool all_exist) {
  LLVMValueRef chain[CHAINS];
  c->column = index;
  c->of_tile = all_exist ? NULL : hd_emit_lt(e, index, hd_emit_i32(e, c->n));
  LLVMValueRef column = hd_emit_add(e, hd_emit_get1(e, hd_scale_columns_column(c->op)), index);
  c->exists = hd_emit_lt(e, column, hd_emit_get1(e, hd_scale_columns_n(c->op)));
  if (c->of_tile)
    c->exists = hd_emit_and(e, c->exists, c->of_tile);
  c->at = hd_emit_global_at(e, hd_emit_get1(e, hd_scale_columns_sums(c->op)),
                            hd_emit_muli(e, hd_emit_widen(e, column), FLOAT_BYTES));
  add_all(e, c, chain);
  put_scale(e, c, scale_of(e, c, add_chains(e, c, chain)));
}

/* Warps of a set handle consecutive columns, lanes of a warp one column of each part. */
heddle_status hd_emit_op_scale_columns(hd_emitter *e, const hd_op *op) {
  int32_t across = (int32_t)hd_op_int(op, HD_ATTR_ACROSS, 1);
  columns c = {.op = op,
               .width = (int32_t)hd_op_int(op, HD_ATTR_TILE_COLUMNS, 0),
               .threads = hd_emit_among(e, op)};
  LLVMValueRef thread = e->role.thread, first = hd_emit_i32(e, 0);
  c.n = c.width * across;
  c.parts = parts_of(&c);
  if (c.threads < e->role.n_warps * HD_LANES) {
    first = hd_emit_muli(e, hd_emit_share(e, c.threads), across);
    thread = hd_emit_remi(e, thread, c.threads);
  }
  int32_t a_warp = HD_LANES / c.parts; /* columns of a warp */
  LLVMValueRef warp = hd_emit_divi(e, thread, HD_LANES);
  LLVMValueRef index = hd_emit_add(e, hd_emit_muli(e, warp, a_warp),
                                   hd_emit_remi(e, e->lane, a_warp));
  c.part = hd_emit_divi(e, e->lane, a_warp);
  c.slot = hd_emit_slot_at(e, hd_scale_columns_buffer(op), first);
  LLVMValueRef k = hd_emit_get1(e, hd_scale_columns_k(op));
  c.rows = hd_emit_divi(e, hd_emit_addi(e, k, ROWS - 1), ROWS);
  c.pitch = hd_emit_muli(e, hd_emit_get1(e, hd_scale_columns_pitch(op)), FLOAT_BYTES);
  int32_t each = c.threads / c.parts; /* columns of all threads */
  for (int32_t from = 0; from < c.n; from += each)
    make_scale(e, &c, hd_emit_addi(e, index, from), from + each <= c.n);
  return HEDDLE_OK;
}
