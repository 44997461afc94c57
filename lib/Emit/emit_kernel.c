/* A kernel: its parameters, its directives, thread and warp indices, and its roles. */
#include <stdio.h>
#include <string.h>

#include "Emit/emit_pinned.h"

enum { NVPTX_KERNEL = 71 /* calling convention */, TMAP_BYTES = 128, TMAP_ALIGN = 64 };

/* ---- parameters ---- */

const hd_op **hd_emit_params(const hd_op *kernel, hd_arena *arena, int32_t *n) {
  *n = 0;
  HD_FOR_OPS(op, kernel->regions[0])
    *n += op->kind == HD_OP_ARG || op->kind == HD_OP_TMAP;
  const hd_op **params = HD_NEW_ARRAY(arena, const hd_op *, *n + 1);
  int32_t at = 0;
  HD_FOR_OPS(op, kernel->regions[0])
    if (op->kind == HD_OP_ARG || op->kind == HD_OP_TMAP)
      params[at++] = op;
  return params;
}

heddle_status hd_emit_op_declared(hd_emitter *e, const hd_op *op) {
  (void)e; /* bound to the function's parameters before the region */
  (void)op;
  return HEDDLE_OK;
}

heddle_status hd_emit_op_buffer(hd_emitter *e, const hd_op *op) {
  const hd_shared_item *item = hd_shared_layout_find(&e->layout, op);
  if (!item) { /* in tensor memory: a column, relative to the result of tcgen05.address */
    hd_emit_set1(e, op->results[0], hd_emit_i32(e, hd_tensor_column(e->kernel, op)));
    return HEDDLE_OK;
  }
  LLVMValueRef base = LLVMConstPtrToInt(e->shared, e->i32);
  hd_emit_set1(e, op->results[0], hd_emit_addi(e, base, item->offset));
  return HEDDLE_OK;
}

/* A tensor map is passed by value and must stay in the parameter space: without grid_constant LLVM
 * copies it to local memory, where TMA cannot read it. */
static void mark_tensor_map(hd_emitter *e, unsigned index) {
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
  unsigned align = LLVMGetEnumAttributeKindForName("align", 5);
  LLVMTypeRef bytes = LLVMArrayType2(e->i8, TMAP_BYTES);
  LLVMAttributeRef attributes[] = {
      LLVMCreateTypeAttribute(e->llvm, byval, bytes),
      LLVMCreateEnumAttribute(e->llvm, align, TMAP_ALIGN),
      LLVMCreateStringAttribute(e->llvm, "nvvm.grid_constant", 18, "", 0),
  };
  for (size_t i = 0; i < HD_COUNT(attributes); i++)
    LLVMAddAttributeAtIndex(e->function, index + 1, attributes[i]);
}

static void make_function(hd_emitter *e, const char *name) {
  int32_t n;
  const hd_op **params = hd_emit_params(e->kernel, &e->arena, &n);
  LLVMTypeRef *types = HD_NEW_ARRAY(&e->arena, LLVMTypeRef, n + 1);
  for (int32_t i = 0; i < n; i++)
    types[i] = hd_emit_type_of(e, params[i]->results[0]->type);
  e->function = LLVMAddFunction(e->module, name, LLVMFunctionType(e->none, types, (unsigned)n, 0));
  LLVMSetFunctionCallConv(e->function, NVPTX_KERNEL);
  for (int32_t i = 0; i < n; i++) {
    LLVMValueRef param = LLVMGetParam(e->function, (unsigned)i);
    const char *arg = hd_op_str(params[i], HD_ATTR_ARG);
    LLVMSetValueName2(param, arg, strlen(arg));
    hd_emit_set1(e, params[i]->results[0], param);
    if (params[i]->kind == HD_OP_TMAP)
      mark_tensor_map(e, (unsigned)i);
  }
}

/* ---- directives ---- */

static void directive(hd_emitter *e, const char *name, int64_t value, const char *more) {
  char text[40];
  int n = snprintf(text, sizeof text, "%lld%s", (long long)value, more);
  LLVMAddAttributeAtIndex(e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateStringAttribute(e->llvm, name, (unsigned)strlen(name), text,
                                                    (unsigned)n));
}

static void make_directives(hd_emitter *e, int64_t n_threads) {
  int64_t registers = hd_op_int(e->kernel, HD_ATTR_MAX_REGISTERS, 0);
  int64_t ctas = hd_op_int(e->kernel, HD_ATTR_MIN_CTAS, 1);
  int64_t cluster = hd_op_int(e->kernel, HD_ATTR_CLUSTER, 1);
  directive(e, "nvvm.maxntid", n_threads, "");
  if (registers)
    directive(e, "nvvm.maxnreg", registers, "");
  else /* ptxas accepts one of the two; without both it spills to make room for a second CTA */
    directive(e, "nvvm.minctasm", ctas, "");
  if (cluster > 1)
    directive(e, "nvvm.cluster_dim", cluster, ",1,1");
}

/* ---- the CTA and its roles ---- */

static void enter_block(hd_emitter *e, const char *name) {
  LLVMBasicBlockRef body = hd_emit_block(e, name);
  e->role.entry_end = LLVMBuildBr(e->b, body);
  hd_emit_at(e, body);
}

static heddle_status set_registers(hd_emitter *e, const hd_op *op) {
  int64_t wanted = hd_op_int(op, HD_ATTR_REGISTERS, 0);
  int64_t base = hd_op_int(e->kernel, HD_ATTR_MAX_REGISTERS, 0);
  if (wanted == 0)
    return HEDDLE_OK;
  if (base == 0 || e->target->sm < 90 || e->target->suffix == 0)
    return hd_error(e->ctx, HEDDLE_UNSUPPORTED, op->loc, "emit.registers",
                    "registers = %lld; legal: beside the kernel's max_registers, on a target like "
                    "sm_90a (setmaxnreg)",
                    (long long)wanted);
  if (wanted < 24 || wanted > 256 || wanted % 8)
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "emit.registers",
                    "registers = %lld; legal: 24 to 256 in steps of 8 (setmaxnreg)",
                    (long long)wanted);
  LLVMValueRef count = hd_emit_i32(e, wanted);
  hd_emit_intrinsic(e, wanted > base ? "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32"
                                     : "llvm.nvvm.setmaxnreg.dec.sync.aligned.u32", &count, 1);
  return HEDDLE_OK;
}

/* Ops after the roles are executed by whole warps again. */
static void rejoin(hd_emitter *e, const hd_op *op, LLVMBasicBlockRef join) {
  hd_emit_endif(e, join);
  const hd_op *after = op->next;
  while (after && after->kind == HD_OP_ROLE)
    after = after->next;
  if (after) {
    LLVMValueRef all = hd_emit_i32(e, -1);
    hd_emit_intrinsic(e, "llvm.nvvm.bar.warp.sync", &all, 1);
  }
}

LLVMValueRef hd_emit_elect(hd_emitter *e) {
  LLVMValueRef all = hd_emit_i32(e, -1);
  LLVMValueRef both = hd_emit_intrinsic(e, "llvm.nvvm.elect.sync", &all, 1);
  return LLVMBuildExtractValue(e->b, both, 1, "");
}

/* Whether this is the role's single thread; *join ends its warp's branch. Only for a thread elected
 * by elect.sync ptxas knows that it is alone; else it loops over the lanes at each copy. */
static LLVMValueRef elect(hd_emitter *e, LLVMBasicBlockRef *join) {
  *join = NULL;
  if (e->target->sm < 90)
    return e->role.elected;
  if (e->role.n_warps > 1)
    *join = hd_emit_if(e, hd_emit_eqi(e, e->role.warp, 0), "first_warp");
  return hd_emit_elect(e);
}

heddle_status hd_emit_op_role(hd_emitter *e, const hd_op *op) {
  hd_emit_role cta = e->role;
  int64_t lo = hd_op_int(op, HD_ATTR_WARP_LO, 0), n = hd_op_int(op, HD_ATTR_N_WARPS, 1);
  const char *name = hd_op_str(op, HD_ATTR_NAME);
  LLVMBasicBlockRef after = NULL, warp_join = NULL, one = NULL;
  if (n < cta.n_warps) {
    LLVMValueRef warp = hd_emit_addi(e, e->warp, -lo);
    after = hd_emit_if(e, LLVMBuildICmp(e->b, LLVMIntULT, warp, hd_emit_i32(e, n), ""), name);
  }
  HD_TRY(set_registers(e, op));
  e->role = (hd_emit_role){.op = op, .n_warps = (int32_t)n};
  e->role.warp = n == 1 ? hd_emit_i32(e, 0) : hd_emit_addi(e, e->warp, -lo);
  e->role.thread = hd_emit_addi(e, e->thread, -lo * HD_LANES);
  e->role.elected = hd_emit_eqi(e, e->thread, lo * HD_LANES);
  e->role.one_thread = hd_op_has(op, HD_ATTR_SINGLE);
  if (e->role.one_thread) {
    LLVMValueRef elected = elect(e, &warp_join);
    one = hd_emit_if(e, elected, "elected");
  }
  enter_block(e, name);
  HD_TRY(hd_emit_region(e, op->regions[0]));
  if (one)
    rejoin(e, op, one);
  if (warp_join)
    hd_emit_endif(e, warp_join);
  if (after)
    hd_emit_endif(e, after);
  e->role = cta;
  return HEDDLE_OK;
}

heddle_status hd_emit_one_kernel(hd_emitter *e, const hd_op *kernel) {
  const char *name = hd_op_str(kernel, HD_ATTR_NAME);
  int64_t n_threads = hd_op_int(kernel, HD_ATTR_THREADS, 0);
  e->kernel = kernel;
  size_t n =
      name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
  if (n == 0 || name[n] || (name[0] >= '0' && name[0] <= '9') || n > 200)
    return hd_error(e->ctx, HEDDLE_INVALID, kernel->loc, "kernel.name",
                    "\"%s\" cannot name an entry; legal: a C identifier of at most 200 characters",
                    name ? name : "");
  if (n_threads < HD_LANES || n_threads > 1024 || n_threads % HD_LANES)
    return hd_error(e->ctx, HEDDLE_INVALID, kernel->loc, "kernel.threads",
                    "threads = %lld; legal: a multiple of 32 from 32 to 1024",
                    (long long)n_threads);
  e->tensor = NULL;
  e->n_pinned = 0;
  HD_TRY(hd_shared_layout_make(e->ctx, kernel, &e->arena, &e->layout));
  make_function(e, name);
  make_directives(e, n_threads);
  hd_emit_at(e, LLVMAppendBasicBlockInContext(e->llvm, e->function, "entry"));
  /* The warp index goes through a shuffle, so that ptxas knows that it is warp-uniform. */
  e->thread = hd_emit_intrinsic(e, "llvm.nvvm.read.ptx.sreg.tid.x", NULL, 0);
  e->warp = hd_emit_shfl_idx(e, hd_emit_divi(e, e->thread, HD_LANES), 0);
  e->lane = hd_emit_remi(e, e->thread, HD_LANES);
  e->role = (hd_emit_role){.n_warps = (int32_t)(n_threads / HD_LANES),
                           .warp = e->warp,
                           .thread = e->thread,
                           .elected = hd_emit_eqi(e, e->thread, 0)};
  enter_block(e, "all");
  HD_TRY(hd_emit_region(e, kernel->regions[0]));
  LLVMBuildRetVoid(e->b);
  hd_emit_pinned_declare(e);
  return HEDDLE_OK;
}
