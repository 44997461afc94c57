/* Synchronisation ops, lowered where they were placed: none are added. */
#include "Emit/emit_state.h"

enum { NONE = -2, ALL_LANES = -1 };

/* Ops without operands: one intrinsic each. */
static const struct plain {
  hd_op_kind kind;
  const char *intrinsic;
  int64_t argument;
} plains[] = {
    {HD_OP_WARP_SYNC, "llvm.nvvm.bar.warp.sync", ALL_LANES},
    {HD_OP_BULK_COMMIT, "llvm.nvvm.cp.async.bulk.commit.group", NONE},
    {HD_OP_FENCE_BARRIER_INIT, "llvm.nvvm.fence.mbarrier_init.release.cluster", NONE},
    {HD_OP_CTA_SYNC, "llvm.nvvm.barrier.cta.sync.aligned.all", 0},
    {HD_OP_FENCE_PROXY, "llvm.nvvm.fence.proxy.async.shared_cta", NONE},
    {HD_OP_CP_ASYNC_COMMIT, "llvm.nvvm.cp.async.commit.group", NONE},
    {HD_OP_WGMMA_COMMIT, "llvm.nvvm.wgmma.commit_group.sync.aligned", NONE},
    {HD_OP_GRID_WAIT, "llvm.nvvm.griddepcontrol.wait", NONE},
    {HD_OP_GRID_LAUNCH, "llvm.nvvm.griddepcontrol.launch.dependents", NONE},
};

heddle_status hd_emit_op_plain_sync(hd_emitter *e, const hd_op *op) {
  for (size_t i = 0; i < HD_COUNT(plains); i++)
    if (plains[i].kind == op->kind) {
      int64_t value = plains[i].argument;
      LLVMValueRef argument = hd_emit_i32(e, value);
      hd_emit_intrinsic(e, plains[i].intrinsic, &argument, value != NONE);
      return HEDDLE_OK;
    }
  return HD_BUG(e->ctx, "a sync op without a row in plains[]");
}

int32_t hd_emit_among(const hd_emitter *e, const hd_op *op) {
  return (int32_t)hd_op_int(op, HD_ATTR_AMONG, e->role.n_warps) * HD_LANES;
}

LLVMValueRef hd_emit_share(hd_emitter *e, int32_t threads) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef share = hd_emit_divi(e, e->role.warp, threads / HD_LANES);
  hd_emit_return_from_entry(e, here);
  return share;
}

heddle_status hd_emit_op_role_sync(hd_emitter *e, const hd_op *op) {
  int32_t threads = hd_emit_among(e, op);
  LLVMValueRef args[] = {hd_emit_i32(e, hd_op_int(op, HD_ATTR_ID, 1)), hd_emit_i32(e, threads)};
  if (threads < e->role.n_warps * HD_LANES)
    args[0] = hd_emit_add(e, args[0], hd_emit_share(e, threads));
  hd_emit_intrinsic(e, "llvm.nvvm.barrier.cta.sync.aligned.count", args, 2);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_cluster_sync(hd_emitter *e, const hd_op *op) {
  hd_emit_intrinsic(e, hd_op_has(op, HD_ATTR_RELAXED)
                           ? "llvm.nvvm.barrier.cluster.arrive.relaxed.aligned"
                           : "llvm.nvvm.barrier.cluster.arrive.aligned", NULL, 0);
  hd_emit_intrinsic(e, "llvm.nvvm.barrier.cluster.wait.aligned", NULL, 0);
  return HEDDLE_OK;
}

/* ---- mbarriers ---- */

heddle_status hd_emit_op_barrier_init(hd_emitter *e, const hd_op *op) {
  const hd_op *barrier = hd_emit_def(hd_barrier_barrier(op));
  LLVMValueRef base = hd_emit_get1(e, hd_barrier_barrier(op));
  LLVMValueRef count = hd_emit_i32(e, hd_op_int(barrier, HD_ATTR_COUNT, 1));
  for (int64_t i = 0; i < hd_op_int(barrier, HD_ATTR_STAGES, 1); i++) {
    LLVMValueRef at = hd_emit_addi(e, base, i * HD_BARRIER_BYTES);
    LLVMValueRef args[] = {hd_emit_shared_ptr(e, at, HD_AS_SHARED), count};
    hd_emit_intrinsic(e, "llvm.nvvm.mbarrier.init.shared", args, 2);
  }
  return HEDDLE_OK;
}

static LLVMValueRef barrier_at(hd_emitter *e, const hd_op *op) {
  return hd_emit_slot(e, hd_barrier_barrier(op), hd_barrier_cursor(op), HD_BARRIER_BYTES);
}

heddle_status hd_emit_op_barrier_expect(hd_emitter *e, const hd_op *op) {
  LLVMValueRef args[] = {barrier_at(e, op), hd_emit_i32(e, hd_op_int(op, HD_ATTR_BYTES, 0))};
  hd_emit_asm(e, e->none, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r", args, 2,
              HD_ASM_MEMORY);
  return HEDDLE_OK;
}

/* Lane r arrives at CTA r of the cluster if the mask has bit r. The default scope is narrower than
 * specified for a remote barrier; rule R3 allows it, since this arrival publishes no data. */
static void arrive_remote(hd_emitter *e, LLVMValueRef at, int64_t mask, bool releases) {
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef bit = LLVMBuildLShr(e->b, hd_emit_i32(e, mask), e->lane, "");
  LLVMValueRef mine = LLVMBuildTrunc(e->b, bit, e->i1, "arrives");
  hd_emit_return_from_entry(e, here);
  LLVMValueRef args[] = {at, e->lane, mine};
  hd_emit_asm(e, e->none,
              releases ? "{ .reg .b32 remote; @$2 mapa.shared::cluster.u32 remote, $0, $1;\n\t"
                         "@$2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }"
                       : "{ .reg .b32 remote; @$2 mapa.shared::cluster.u32 remote, $0, $1;\n\t"
                         "@$2 mbarrier.arrive.shared::cluster.b64 _, [remote]; }",
              "r,r,b", args, 3, HD_ASM_MEMORY);
}

static void arrive_own(hd_emitter *e, LLVMValueRef at, bool each_thread) {
  if (each_thread) {
    hd_emit_asm(e, e->none, "mbarrier.arrive.shared::cta.b64 _, [$0];", "r", &at, 1,
                HD_ASM_MEMORY);
    return;
  }
  LLVMBasicBlockRef here = hd_emit_go_to_entry(e);
  LLVMValueRef first = hd_emit_eqi(e, e->lane, 0);
  hd_emit_return_from_entry(e, here);
  hd_emit_asm(e, e->none, "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b",
              (LLVMValueRef[]){at, first}, 2, HD_ASM_MEMORY);
}

heddle_status hd_emit_op_barrier_arrive(hd_emitter *e, const hd_op *op) {
  bool each_thread = hd_op_is(op, HD_ATTR_SCOPE, "thread");
  int64_t mask = hd_op_int(op, HD_ATTR_RANK, 0);
  LLVMValueRef at = barrier_at(e, op);
  if (mask == 0)
    arrive_own(e, at, each_thread);
  else if (mask > 0 && mask < 1 << 16 && !each_thread)
    arrive_remote(e, at, mask, hd_op_is(op, HD_ATTR_SCOPE, "cluster"));
  else
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.arrive",
                    "rank = %lld; legal: a mask of at most 16 CTAs with scope = warp",
                    (long long)mask);
  return HEDDLE_OK;
}

/* A loop around try_wait, which may return before the phase completes. */
heddle_status hd_emit_op_barrier_wait(hd_emitter *e, const hd_op *op) {
  LLVMValueRef phase = hd_emit_get(e, hd_barrier_cursor(op), NULL)[1];
  LLVMValueRef parity = hd_emit_xor(e, phase, hd_emit_i32(e, hd_op_int(op, HD_ATTR_PARITY, 0)));
  LLVMValueRef args[] = {hd_emit_shared_ptr(e, barrier_at(e, op), HD_AS_SHARED), parity};
  LLVMBasicBlockRef ready = hd_emit_block(e, "ready"), again = hd_emit_block(e, "wait");
  hd_emit_jump(e, again);
  hd_emit_at(e, again);
  LLVMValueRef done = hd_emit_intrinsic(
      e, hd_op_is(op, HD_ATTR_SCOPE, "cluster")
             ? "llvm.nvvm.mbarrier.try.wait.parity.scope.cluster.space.cta"
             : "llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta", args, 2);
  LLVMBuildCondBr(e->b, done, ready, again);
  hd_emit_at(e, ready);
  return HEDDLE_OK;
}

/* ---- groups ---- */

heddle_status hd_emit_op_cp_async_wait(hd_emitter *e, const hd_op *op) {
  LLVMValueRef pending = hd_emit_i32(e, hd_op_int(op, HD_ATTR_PENDING, 0));
  hd_emit_intrinsic(e, "llvm.nvvm.cp.async.wait.group", &pending, 1);
  return HEDDLE_OK;
}

heddle_status hd_emit_op_bulk_wait(hd_emitter *e, const hd_op *op) {
  LLVMValueRef pending = hd_emit_i32(e, hd_op_int(op, HD_ATTR_PENDING, 0));
  hd_emit_intrinsic(e, "llvm.nvvm.cp.async.bulk.wait.group.read", &pending, 1);
  return HEDDLE_OK;
}
