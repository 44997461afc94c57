/* Regions: loops, branches, one-thread ops. The table of lowerings. */
#include <llvm-c/DebugInfo.h>

#include "Emit/emit_pinned.h"

/* ---- runs of one-thread ops ---- */

/* Consecutive one-thread ops share a branch. A pure op between them is emitted before the branch,
 * so that ops after the run can use its results. */

static void close_run(hd_emitter *e) {
  if (e->elected_branch)
    hd_emit_endif(e, e->elected_join);
  e->elected_branch = NULL;
}

/* The thread of the role's warp that issues copies is elected by elect.sync: for any other, ptxas
 * loops over the lanes at each copy. */
static void open_copies(hd_emitter *e, int64_t warp, LLVMBasicBlockRef join) {
  LLVMBasicBlockRef own = hd_emit_block(e, "warp"), then = hd_emit_block(e, "elected");
  LLVMValueRef is_own = hd_emit_eqi(e, e->role.warp, warp);
  e->elected_branch = LLVMBuildCondBr(e->b, is_own, own, join);
  hd_emit_at(e, own);
  LLVMBuildCondBr(e->b, hd_emit_elect(e), then, join);
  hd_emit_at(e, then);
}

static bool is_copy(const hd_op *op) {
  return op->kind == HD_OP_BARRIER_EXPECT || op->kind == HD_OP_COPY_BULK ||
         op->kind == HD_OP_COPY_TMA;
}

static void open_run(hd_emitter *e, const hd_op *op) {
  int64_t warp = hd_op_int(op, HD_ATTR_WARP, 0);
  if (e->role.one_thread || (e->elected_branch && e->elected_warp == warp))
    return;
  close_run(e);
  LLVMBasicBlockRef join = hd_emit_block(e, "everyone");
  e->elected_join = join;
  e->elected_warp = warp;
  if (is_copy(op) && e->role.op && e->target->sm >= 90) {
    open_copies(e, warp, join);
    return;
  }
  LLVMBasicBlockRef then = hd_emit_block(e, "elected");
  e->elected_branch = LLVMBuildCondBr(e->b, e->role.elected, then, join);
  hd_emit_at(e, then);
}

static bool is_pure(const hd_op *op) {
  return op->n_regions == 0 && op->kind != HD_OP_YIELD &&
         hd_op_effects(op->kind) == HD_EFFECT_PURE &&
         hd_op_get_info(op->kind)->issuer == HD_BY_NONE;
}

/* ---- the table: one line per op that has a lowering ---- */

static const struct lowering {
  hd_emit_fn *fn;
  uint16_t sm; /* the first sm that supports the lowering: LLVM aborts on earlier ones */
} lowerings[HD_N_OPS] = {
    [HD_OP_ROLE] = {hd_emit_op_role, 0},
    [HD_OP_FOR] = {hd_emit_op_for, 0},
    [HD_OP_IF] = {hd_emit_op_if, 0},
    [HD_OP_PRODUCT] = {hd_emit_op_declared, 0},
    [HD_OP_ARG] = {hd_emit_op_declared, 0},
    [HD_OP_TMAP] = {hd_emit_op_declared, 90},
    [HD_OP_BUFFER] = {hd_emit_op_buffer, 0},
    [HD_OP_BARRIER] = {hd_emit_op_buffer, 80},
    [HD_OP_CONST] = {hd_emit_op_const, 0},
    [HD_OP_ADD] = {hd_emit_op_binary, 0},
    [HD_OP_SUB] = {hd_emit_op_binary, 0},
    [HD_OP_MUL] = {hd_emit_op_binary, 0},
    [HD_OP_DIV] = {hd_emit_op_binary, 0},
    [HD_OP_REM] = {hd_emit_op_binary, 0},
    [HD_OP_MIN] = {hd_emit_op_binary, 0},
    [HD_OP_MAX] = {hd_emit_op_binary, 0},
    [HD_OP_AND] = {hd_emit_op_binary, 0},
    [HD_OP_CMP] = {hd_emit_op_cmp, 0},
    [HD_OP_SELECT] = {hd_emit_op_select, 0},
    [HD_OP_EXTEND] = {hd_emit_op_extend, 0},
    [HD_OP_WARP_INDEX] = {hd_emit_op_warp_index, 0},
    [HD_OP_BLOCK_INDEX] = {hd_emit_op_register, 0},
    [HD_OP_GRID_SIZE] = {hd_emit_op_register, 0},
    [HD_OP_CTA_RANK] = {hd_emit_op_register, 90},
    [HD_OP_TILE_COORD] = {hd_emit_op_tile_coord, 0},
    [HD_OP_GROUP_TABLE] = {hd_emit_op_group_table, 0},
    [HD_OP_GROUP_COUNT] = {hd_emit_op_group_count, 0},
    [HD_OP_GROUP_FIND] = {hd_emit_op_group_find, 0},
    [HD_OP_CURSOR] = {hd_emit_op_cursor, 0},
    [HD_OP_CURSOR_NEXT] = {hd_emit_op_cursor_next, 0},
    [HD_OP_COPY_BULK] = {hd_emit_op_copy_bulk, 90},
    [HD_OP_COPY_TMA] = {hd_emit_op_copy_tma, 90},
    [HD_OP_COPY_CP_ASYNC] = {hd_emit_op_copy_cp_async, 80},
    [HD_OP_COPY_LD_ST] = {hd_emit_op_copy_ld_st, 0},
    [HD_OP_LOAD_META] = {hd_emit_op_load_meta, 0},
    [HD_OP_LOAD_A] = {hd_emit_op_load_a, 75},
    [HD_OP_LOAD_B] = {hd_emit_op_load_b, 75},
    [HD_OP_LOAD_SCALE] = {hd_emit_op_load_scale, 0},
    [HD_OP_FRAG_ZERO] = {hd_emit_op_frag_zero, 0},
    [HD_OP_FRAG_COLUMNS] = {hd_emit_op_frag_columns, 0},
    [HD_OP_FRAG_UNDEF] = {hd_emit_op_frag_undef, 0},
    [HD_OP_MMA_SP] = {hd_emit_op_mma_sp, 80},
    [HD_OP_MMA_SP_SCALED] = {hd_emit_op_mma_sp_scaled, 120},
    [HD_OP_WGMMA_SS] = {hd_emit_op_wgmma, 90},
    [HD_OP_WGMMA_RS] = {hd_emit_op_wgmma, 90},
    [HD_OP_PROMOTE] = {hd_emit_op_promote, 0},
    [HD_OP_TCGEN05_MMA_SP] = {hd_emit_op_tcgen05_mma, 100},
    [HD_OP_TCGEN05_ST] = {hd_emit_op_tcgen05_st, 100},
    [HD_OP_TCGEN05_LD] = {hd_emit_op_tcgen05_ld, 100},
    [HD_OP_TCGEN05_CP] = {hd_emit_op_tcgen05_cp, 100},
    [HD_OP_STORE_TILE] = {hd_emit_op_store_tile, 80},
    [HD_OP_STAGE_TILE] = {hd_emit_op_stage_tile, 90},
    [HD_OP_COPY_OUT] = {hd_emit_op_copy_out, 90},
    [HD_OP_FINISH_TILE] = {hd_emit_op_finish_tile, 80},
    [HD_OP_REDUCE_TILE] = {hd_emit_op_reduce_tile, 80},
    [HD_OP_SCALE_TILE] = {hd_emit_op_scale_tile, 80},
    [HD_OP_SCALE_COLUMNS] = {hd_emit_op_scale_columns, 80},
    [HD_OP_PARTIAL_STORE] = {hd_emit_op_partial_store, 70},
    [HD_OP_PARTIAL_SUM] = {hd_emit_op_partial_sum, 70},
    [HD_OP_PARTIAL_SEND] = {hd_emit_op_partial_send, 90},
    [HD_OP_PARTIAL_ADD] = {hd_emit_op_partial_add, 90},
    [HD_OP_LAST_ARRIVER] = {hd_emit_op_last_arriver, 70},
    [HD_OP_PRUNE_PACK] = {hd_emit_op_prune_pack, 0},
    [HD_OP_MASK_PACK] = {hd_emit_op_mask_pack, 0},
    [HD_OP_QUANTIZE_PACK] = {hd_emit_op_quantize_pack, 0},
    [HD_OP_TWIN_CODES] = {hd_emit_op_twin_codes, 0},
    [HD_OP_COPY_GLOBAL] = {hd_emit_op_copy_global, 0},
    [HD_OP_COMBINE_GLOBAL] = {hd_emit_op_combine_global, 0},
    [HD_OP_BARRIER_INIT] = {hd_emit_op_barrier_init, 90},
    [HD_OP_FENCE_BARRIER_INIT] = {hd_emit_op_plain_sync, 90},
    [HD_OP_BARRIER_EXPECT] = {hd_emit_op_barrier_expect, 90},
    [HD_OP_BARRIER_ARRIVE] = {hd_emit_op_barrier_arrive, 90},
    [HD_OP_BARRIER_WAIT] = {hd_emit_op_barrier_wait, 90},
    [HD_OP_CTA_SYNC] = {hd_emit_op_plain_sync, 0},
    [HD_OP_ROLE_SYNC] = {hd_emit_op_role_sync, 0},
    [HD_OP_CLUSTER_SYNC] = {hd_emit_op_cluster_sync, 90},
    [HD_OP_WARP_SYNC] = {hd_emit_op_plain_sync, 0},
    [HD_OP_BULK_COMMIT] = {hd_emit_op_plain_sync, 90},
    [HD_OP_BULK_WAIT] = {hd_emit_op_bulk_wait, 90},
    [HD_OP_FENCE_PROXY] = {hd_emit_op_plain_sync, 90},
    [HD_OP_CP_ASYNC_COMMIT] = {hd_emit_op_plain_sync, 80},
    [HD_OP_CP_ASYNC_WAIT] = {hd_emit_op_cp_async_wait, 80},
    [HD_OP_WGMMA_FENCE] = {hd_emit_op_wgmma_fence, 90},
    [HD_OP_WGMMA_COMMIT] = {hd_emit_op_plain_sync, 90},
    [HD_OP_WGMMA_WAIT] = {hd_emit_op_wgmma_wait, 90},
    [HD_OP_TCGEN05_ALLOC] = {hd_emit_op_tcgen05_alloc, 100},
    [HD_OP_TCGEN05_ADDRESS] = {hd_emit_op_tcgen05_address, 100},
    [HD_OP_TCGEN05_DEALLOC] = {hd_emit_op_tcgen05_dealloc, 100},
    [HD_OP_TCGEN05_COMMIT] = {hd_emit_op_tcgen05_commit, 100},
    [HD_OP_TCGEN05_WAIT_LD] = {hd_emit_op_tcgen05_wait_ld, 100},
    [HD_OP_TCGEN05_WAIT_ST] = {hd_emit_op_tcgen05_wait_st, 100},
    [HD_OP_TCGEN05_FENCE_BEFORE] = {hd_emit_op_tcgen05_fence, 100},
    [HD_OP_TCGEN05_FENCE_AFTER] = {hd_emit_op_tcgen05_fence, 100},
    [HD_OP_GRID_WAIT] = {hd_emit_op_plain_sync, 90},
    [HD_OP_GRID_LAUNCH] = {hd_emit_op_plain_sync, 90},
};

static heddle_status find_lowering(hd_emitter *e, const hd_op *op, hd_emit_fn **fn) {
  const struct lowering *row = &lowerings[op->kind];
  const char *text = hd_op_get_info(op->kind)->text;
  if (!row->fn)
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.op",
                    "%s has no lowering; legal: ops of role level", text);
  if (e->target->sm < row->sm)
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.target",
                    "%s on %s; legal: sm_%d and later", text, e->target->name, row->sm);
  *fn = row->fn;
  return HEDDLE_OK;
}

static heddle_status emit_op(hd_emitter *e, const hd_op *op) {
  hd_emit_fn *fn = NULL;
  HD_TRY(find_lowering(e, op, &fn));
  if (e->elected_branch && is_pure(op)) { /* goes before the run */
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    LLVMPositionBuilderBefore(e->b, e->elected_branch);
    heddle_status status = fn(e, op);
    hd_emit_at(e, here);
    return status;
  }
  if (hd_op_get_info(op->kind)->issuer == HD_BY_THREAD)
    open_run(e, op);
  else
    close_run(e);
  return fn(e, op);
}

heddle_status hd_emit_region(hd_emitter *e, const hd_region *region) {
  HD_FOR_OPS(op, region)
    if (op->kind != HD_OP_YIELD)
      HD_TRY(emit_op(e, op));
  close_run(e);
  return HEDDLE_OK;
}

/* ---- values across blocks ---- */

/* A list of IR values as one flat list of LLVM values. */
typedef struct flat {
  LLVMValueRef *v;
  int32_t n;
} flat;

static flat flatten(hd_emitter *e, hd_value *const *values, int32_t n) {
  flat all = {NULL, 0};
  int32_t most = 0, count;
  for (int32_t i = 0; i < n; i++)
    most += hd_emit_type_count(values[i]->type);
  all.v = HD_NEW_ARRAY(&e->arena, LLVMValueRef, most + 1);
  for (int32_t i = 0; i < n; i++) {
    LLVMValueRef *v = hd_emit_get(e, values[i], &count);
    for (int32_t j = 0; j < count && all.n < most; j++)
      all.v[all.n++] = v[j];
  }
  return all;
}

static flat make_phis(hd_emitter *e, flat like, const char *name) {
  flat phis = {HD_NEW_ARRAY(&e->arena, LLVMValueRef, like.n + 1), like.n};
  for (int32_t i = 0; i < like.n; i++)
    phis.v[i] = LLVMBuildPhi(e->b, LLVMTypeOf(like.v[i]), name);
  return phis;
}

static void add_incoming(flat phis, flat values, LLVMBasicBlockRef from) {
  for (int32_t i = 0; i < phis.n; i++)
    LLVMAddIncoming(phis.v[i], &values.v[i], &from, 1);
}

/* Defines values that are passed from others. Pinned ones stay in their registers, or are read. */
static void define(hd_emitter *e, hd_value *const *values, hd_value *const *from, int32_t n,
                   flat all) {
  LLVMValueRef *v = all.v;
  for (int32_t i = 0; i < n; i++) {
    bool is_pinned = hd_emit_pinned_of(e, from[i]) != HD_NOT_PINNED;
    int32_t count = is_pinned ? 0 : hd_emit_type_count(values[i]->type);
    if (!is_pinned)
      hd_emit_set(e, values[i], v, count);
    else if (hd_emit_pinned_of(e, values[i]) == HD_NOT_PINNED)
      hd_emit_pinned_read(e, from[i], values[i]);
    v += count;
  }
}

/* ---- for, if ---- */

/* A producer that gathers has few registers. If k is short and constant, ptxas would unroll the
 * loop over k-blocks, and the addresses of several k-blocks would not fit. */
static bool keeps_loop(const hd_emitter *e, const hd_region *region) {
  if (!e->role.op || !hd_op_has(e->role.op, HD_ATTR_REGISTERS))
    return false;
  HD_FOR_OPS(op, region)
    if (op->kind == HD_OP_COPY_LD_ST || op->kind == HD_OP_COPY_CP_ASYNC)
      return true;
  return false;
}

/* Becomes `.pragma "nounroll"` at the loop's head. The first operand of a loop's metadata is the
 * metadata itself. */
static void keep_loop(hd_emitter *e, LLVMValueRef branch) {
  LLVMMetadataRef self = LLVMTemporaryMDNode(e->llvm, NULL, 0);
  LLVMMetadataRef word = LLVMMDStringInContext2(e->llvm, "llvm.loop.unroll.disable", 24);
  LLVMMetadataRef parts[] = {self, LLVMMDNodeInContext2(e->llvm, &word, 1)};
  LLVMMetadataRef loop = LLVMMDNodeInContext2(e->llvm, parts, 2);
  LLVMMetadataReplaceAllUsesWith(self, loop);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->llvm, "llvm.loop", 9),
                  LLVMMetadataAsValue(e->llvm, loop));
}

/* The loop is rotated: a guard before it, the test at the end, so that the body is contiguous. */
heddle_status hd_emit_op_for(hd_emitter *e, const hd_op *op) {
  const hd_region *region = op->regions[0];
  int32_t n = op->n_operands - 3;
  LLVMValueRef lo = hd_emit_get1(e, hd_for_lo(op)), hi = hd_emit_get1(e, hd_for_hi(op));
  LLVMValueRef step = hd_emit_get1(e, hd_for_step(op));
  flat init = flatten(e, hd_for_carried(op), n);
  LLVMBasicBlockRef exit = hd_emit_block(e, "done"), body = hd_emit_block(e, "loop");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
  LLVMBuildCondBr(e->b, hd_emit_lt(e, lo, hi), body, exit);

  hd_emit_at(e, body);
  LLVMValueRef i = LLVMBuildPhi(e->b, e->i32, "i");
  flat phis = make_phis(e, init, "");
  hd_emit_set1(e, region->args[0], i);
  define(e, region->args + 1, hd_for_carried(op), n, phis);
  HD_TRY(hd_emit_region(e, region));
  flat last = flatten(e, region->last->operands, n);
  LLVMValueRef next = hd_emit_add(e, i, step);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b);
  LLVMValueRef back = LLVMBuildCondBr(e->b, hd_emit_lt(e, next, hi), body, exit);
  if (keeps_loop(e, region))
    keep_loop(e, back);
  LLVMAddIncoming(i, (LLVMValueRef[]){lo, next}, (LLVMBasicBlockRef[]){before, latch}, 2);
  add_incoming(phis, init, before);
  add_incoming(phis, last, latch);

  LLVMMoveBasicBlockAfter(exit, latch);
  hd_emit_at(e, exit);
  flat results = make_phis(e, init, "");
  add_incoming(results, init, before);
  add_incoming(results, last, latch);
  define(e, op->results, hd_for_carried(op), n, results);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_if(hd_emitter *e, const hd_op *op) {
  LLVMBasicBlockRef join = hd_emit_block(e, "endif"), block[2];
  block[1] = hd_emit_block(e, "else");
  block[0] = hd_emit_block(e, "then");
  LLVMBuildCondBr(e->b, hd_emit_get1(e, hd_if_condition(op)), block[0], block[1]);
  flat values[2];
  hd_value *const *yielded = NULL;
  for (int i = 0; i < 2; i++) {
    const hd_op *yield = op->regions[i]->last;
    hd_emit_at(e, block[i]);
    HD_TRY(hd_emit_region(e, op->regions[i]));
    yielded = yield ? yield->operands : NULL;
    values[i] = flatten(e, yielded, op->n_results);
    block[i] = LLVMGetInsertBlock(e->b);
    hd_emit_jump(e, join);
  }
  LLVMMoveBasicBlockAfter(join, block[1]);
  hd_emit_at(e, join);
  flat results = make_phis(e, values[0], "");
  add_incoming(results, values[0], block[0]);
  add_incoming(results, values[1], block[1]);
  define(e, op->results, yielded, op->n_results, results);
  return HEDDLE_OK;
}
