/* Scalars, which all threads compute in the same way. */
#include "Emit/emit_state.h"

static void result(hd_emitter *e, const hd_op *op, LLVMValueRef v) {
  hd_emit_set1(e, op->results[0], v);
}

heddle_status hd_emit_op_const(hd_emitter *e, const hd_op *op) {
  LLVMTypeRef type = hd_emit_type_of(e, op->results[0]->type);
  result(e, op, LLVMConstInt(type, (uint64_t)hd_op_int(op, HD_ATTR_VALUE, 0), true));
  return HEDDLE_OK;
}

/* Operands of division are non-negative by contract, so the cheaper unsigned form is used. */
static const struct binary {
  hd_op_kind kind;
  LLVMOpcode opcode;
  const char *intrinsic;
} binaries[] = {
    {HD_OP_ADD, LLVMAdd, NULL},  {HD_OP_SUB, LLVMSub, NULL},  {HD_OP_MUL, LLVMMul, NULL},
    {HD_OP_DIV, LLVMUDiv, NULL}, {HD_OP_REM, LLVMURem, NULL}, {HD_OP_AND, LLVMAnd, NULL},
    {HD_OP_MIN, LLVMAdd, "llvm.smin"}, {HD_OP_MAX, LLVMAdd, "llvm.smax"},
};

heddle_status hd_emit_op_binary(hd_emitter *e, const hd_op *op) {
  LLVMValueRef v[] = {hd_emit_get1(e, hd_binary_x(op)), hd_emit_get1(e, hd_binary_y(op))};
  for (size_t i = 0; i < HD_COUNT(binaries); i++) {
    const struct binary *row = &binaries[i];
    if (row->kind == op->kind)
      result(e, op, row->intrinsic
                        ? hd_emit_intrinsic_of(e, row->intrinsic, LLVMTypeOf(v[0]), v, 2)
                        : LLVMBuildBinOp(e->b, row->opcode, v[0], v[1], ""));
  }
  return HEDDLE_OK;
}

heddle_status hd_emit_op_cmp(hd_emitter *e, const hd_op *op) {
  static const struct predicate {
    const char *name;
    LLVMIntPredicate predicate;
  } predicates[] = {{"eq", LLVMIntEQ},  {"ne", LLVMIntNE},  {"lt", LLVMIntSLT},
                    {"le", LLVMIntSLE}, {"gt", LLVMIntSGT}, {"ge", LLVMIntSGE}};
  for (size_t i = 0; i < HD_COUNT(predicates); i++)
    if (hd_op_is(op, HD_ATTR_PRED, predicates[i].name)) {
      result(e, op, LLVMBuildICmp(e->b, predicates[i].predicate, hd_emit_get1(e, hd_binary_x(op)),
                                  hd_emit_get1(e, hd_binary_y(op)), ""));
      return HEDDLE_OK;
    }
  return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.cmp",
                  "unknown predicate; legal: eq, ne, lt, le, gt or ge");
}

heddle_status hd_emit_op_select(hd_emitter *e, const hd_op *op) {
  int32_t n;
  LLVMValueRef condition = hd_emit_get1(e, hd_select_condition(op));
  LLVMValueRef *x = hd_emit_get(e, hd_select_yes(op), &n),
               *y = hd_emit_get(e, hd_select_no(op), NULL);
  LLVMValueRef *v = HD_NEW_ARRAY(&e->arena, LLVMValueRef, n);
  for (int32_t i = 0; i < n; i++)
    v[i] = hd_emit_select(e, condition, x[i], y[i]);
  hd_emit_set(e, op->results[0], v, n);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_extend(hd_emitter *e, const hd_op *op) {
  result(e, op, hd_emit_widen(e, hd_emit_get1(e, hd_extend_x(op))));
  return HEDDLE_OK;
}

/* Special registers. */
heddle_status hd_emit_op_register(hd_emitter *e, const hd_op *op) {
  const char *name = op->kind == HD_OP_BLOCK_INDEX ? "llvm.nvvm.read.ptx.sreg.ctaid.x"
                     : op->kind == HD_OP_GRID_SIZE ? "llvm.nvvm.read.ptx.sreg.nctaid.x"
                                                   : "llvm.nvvm.read.ptx.sreg.cluster.ctarank";
  result(e, op, hd_emit_intrinsic(e, name, NULL, 0));
  return HEDDLE_OK;
}

heddle_status hd_emit_op_warp_index(hd_emitter *e, const hd_op *op) {
  result(e, op, e->role.warp);
  return HEDDLE_OK;
}

/* Whether constants may replace the divisions that find a tile. Their quotients would be computed
 * early, and some kernels would spill: those of a single role, which has fragments of A and B in
 * registers, and those with stream-K, where the index is selected. */
static bool has_registers(const hd_emitter *e, const hd_op *op) {
  enum { WARP = 32 };
  const hd_op *index = hd_tile_coord_index(op)->op;
  bool alone = e->role.n_warps * WARP == hd_op_int(e->kernel, HD_ATTR_THREADS, 0);
  return !alone && !(index && index->kind == HD_OP_SELECT);
}

static bool is_multiple(LLVMValueRef v, int64_t of) {
  return LLVMIsAConstantInt(v) && LLVMConstIntGetSExtValue(v) % of == 0;
}

/* Bands of `group` tile rows; column by column within a band, so that adjacent CTAs share rows of B
 * in L2. The last band may have fewer rows. The first copy waits for these divisions, which take
 * some 100 clocks each if the divisor is not constant. */
heddle_status hd_emit_op_tile_coord(hd_emitter *e, const hd_op *op) {
  if (!hd_op_is(op, HD_ATTR_ORDER, "grouped"))
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.tile_coord",
                    "order %s has no lowering; legal: grouped", hd_op_str(op, HD_ATTR_ORDER));
  LLVMValueRef index = hd_emit_get1(e, hd_tile_coord_index(op));
  LLVMValueRef tiles_m = hd_emit_get1(e, hd_tile_coord_tiles_m(op));
  LLVMValueRef tiles_n = hd_emit_get1(e, hd_tile_coord_tiles_n(op));
  int64_t group = hd_op_int(op, HD_ATTR_GROUP, 1);
  if (hd_tile_coord_matrices(op)) {
    LLVMValueRef tiles = hd_emit_mul(e, tiles_m, tiles_n);
    LLVMValueRef g = LLVMBuildUDiv(e->b, index, tiles, "");
    index = hd_emit_sub(e, index, hd_emit_mul(e, g, tiles));
    hd_emit_set1(e, op->results[2], g);
  }
  bool constants = has_registers(e, op);
  if (constants && tiles_n == hd_emit_i32(e, 1)) {
    hd_emit_set1(e, op->results[0], index);
    hd_emit_set1(e, op->results[1], hd_emit_i32(e, 0));
    return HEDDLE_OK;
  }
  LLVMValueRef band_tiles = hd_emit_muli(e, tiles_n, group);
  LLVMValueRef band = LLVMBuildUDiv(e->b, index, band_tiles, "");
  LLVMValueRef first = hd_emit_muli(e, band, group);
  LLVMValueRef inside = hd_emit_sub(e, index, hd_emit_mul(e, band, band_tiles));
  LLVMValueRef rows = hd_emit_i32(e, group);
  if (!constants || !is_multiple(tiles_m, group))
    rows = hd_emit_min(e, hd_emit_sub(e, tiles_m, first), rows);
  LLVMValueRef column = LLVMBuildUDiv(e->b, inside, rows, "");
  LLVMValueRef row = hd_emit_sub(e, inside, hd_emit_mul(e, column, rows));
  hd_emit_set1(e, op->results[0], hd_emit_add(e, first, row));
  hd_emit_set1(e, op->results[1], column);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_cursor(hd_emitter *e, const hd_op *op) {
  LLVMValueRef zero = hd_emit_i32(e, 0);
  hd_emit_set(e, op->results[0], (LLVMValueRef[]){zero, zero}, 2);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_cursor_next(hd_emitter *e, const hd_op *op) {
  LLVMValueRef *at = hd_emit_get(e, hd_cursor_next_cursor(op), NULL), next[2];
  LLVMValueRef slot = hd_emit_addi(e, at[0], 1);
  LLVMValueRef wraps = hd_emit_eqi(e, slot, hd_op_int(op, HD_ATTR_STAGES, 1));
  next[0] = hd_emit_select(e, wraps, hd_emit_i32(e, 0), slot);
  next[1] = hd_emit_xor(e, at[1], LLVMBuildZExt(e->b, wraps, e->i32, ""));
  hd_emit_set(e, op->results[0], next, 2);
  return HEDDLE_OK;
}
