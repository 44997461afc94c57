#include "Emit/emit_llvm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>

static const char triple[] = "nvptx64-nvidia-cuda";
/* More passes would gain little: we unroll loops ourselves. Heavier passes move wgmma registers. */
static const char light[] = "always-inline,function(early-cse,instcombine<no-verify-fixpoint>,"
                            "simplifycfg,loop-mssa(licm)),globaldce";

/* Registering the backend is global in LLVM and must happen once. */
static pthread_once_t registered = PTHREAD_ONCE_INIT;

static void register_backend(void) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

/* Without a handler, LLVM exits the process on some errors; code generation may report success
 * after an error. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
  hd_emitter *e = user;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
    return;
  char *text = LLVMGetDiagInfoDescription(info);
  hd_error(e->ctx, HEDDLE_INTERNAL, HD_NOWHERE, "emit.llvm", "%s", text);
  LLVMDisposeMessage(text);
  e->failed = true;
}

/* LLVM ignores a PTX version that it does not know, and then emits an old version. */
unsigned hd_emit_next_ptx(unsigned version) {
  static const uint16_t known[] = {63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77,
                                   78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};
  for (size_t i = 0; i < HD_COUNT(known); i++)
    if (known[i] >= version)
      return known[i];
  return 0;
}

heddle_status hd_emit_pick_ptx(hd_emitter *e) {
  enum { OLDEST_PTX = 80 };
  int32_t asked = e->options->ptx_version;
  e->ptx_version = asked ? asked : e->target->llvm_ptx;
  if (e->ptx_version >= OLDEST_PTX && e->ptx_version >= e->target->min_ptx &&
      hd_emit_next_ptx((unsigned)e->ptx_version) == (unsigned)e->ptx_version)
    return HEDDLE_OK;
  return hd_error(e->ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "emit.ptx",
                  "PTX version %d.%d; legal: 8.0 to 8.8 or 9.0, at least %d.%d for %s",
                  e->ptx_version / 10, e->ptx_version % 10, e->target->min_ptx / 10,
                  e->target->min_ptx % 10, e->target->name);
}

/* Reports LLVM's message, or `otherwise` if there is none. */
static heddle_status failed(hd_emitter *e, const char *message, const char *otherwise) {
  e->failed = true;
  return hd_error(e->ctx, HEDDLE_INTERNAL, HD_NOWHERE, "emit.llvm", "%s",
                  message ? message : otherwise);
}

static heddle_status make_machine(hd_emitter *e) {
  LLVMTargetRef target;
  char *message = NULL, feature[16];
  if (LLVMGetTargetFromTriple(triple, &target, &message)) {
    heddle_status status = failed(e, message, "no NVPTX");
    LLVMDisposeMessage(message);
    return status;
  }
  snprintf(feature, sizeof feature, "+ptx%d", (int)e->ptx_version);
  e->machine = LLVMCreateTargetMachine(target, triple, e->target->name, feature,
                                       LLVMCodeGenLevelLess, LLVMRelocDefault,
                                       LLVMCodeModelDefault);
  return e->machine ? HEDDLE_OK : HD_BUG(e->ctx, "no target machine for NVPTX");
}

heddle_status hd_emit_open(hd_emitter *e) {
  pthread_once(&registered, register_backend);
  HD_TRY(make_machine(e));
  e->llvm = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(e->llvm, on_diagnostic, e);
  e->module = LLVMModuleCreateWithNameInContext("heddle", e->llvm);
  e->b = LLVMCreateBuilderInContext(e->llvm);
  e->none = LLVMVoidTypeInContext(e->llvm);
  e->i1 = LLVMInt1TypeInContext(e->llvm);
  e->i8 = LLVMInt8TypeInContext(e->llvm);
  e->i16 = LLVMInt16TypeInContext(e->llvm);
  e->i32 = LLVMInt32TypeInContext(e->llvm);
  e->i64 = LLVMInt64TypeInContext(e->llvm);
  e->f16 = LLVMHalfTypeInContext(e->llvm);
  e->f32 = LLVMFloatTypeInContext(e->llvm);
  e->generic_ptr = LLVMPointerTypeInContext(e->llvm, HD_AS_GENERIC);
  e->global_ptr = LLVMPointerTypeInContext(e->llvm, HD_AS_GLOBAL);
  e->shared_ptr = LLVMPointerTypeInContext(e->llvm, HD_AS_SHARED);
  e->cluster_ptr = LLVMPointerTypeInContext(e->llvm, HD_AS_CLUSTER);
  hd_emit_set_target(e, e->module);
  e->shared = LLVMAddGlobalInAddressSpace(e->module, LLVMArrayType2(e->i8, 0), "shared_memory",
                                          HD_AS_SHARED);
  LLVMSetAlignment(e->shared, HD_SHARED_ALIGN);
  return HEDDLE_OK;
}

void hd_emit_close(hd_emitter *e) {
  LLVMDisposeBuilder(e->b);
  LLVMDisposeModule(e->module);
  LLVMContextDispose(e->llvm);
  LLVMDisposeTargetMachine(e->machine);
}

void hd_emit_set_target(hd_emitter *e, LLVMModuleRef module) {
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(e->machine);
  LLVMSetModuleDataLayout(module, layout);
  LLVMSetTarget(module, triple);
  LLVMDisposeTargetData(layout);
}

heddle_status hd_emit_run_passes(hd_emitter *e, LLVMModuleRef module, const char *passes,
                                 LLVMTargetMachineRef machine) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module, passes, machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!error)
    return HEDDLE_OK;
  char *message = LLVMGetErrorMessage(error);
  heddle_status status = failed(e, message, NULL);
  LLVMDisposeErrorMessage(message);
  return status;
}

static heddle_status generate(hd_emitter *e, char **ptx, size_t *n_bytes) {
  LLVMMemoryBufferRef buffer = NULL;
  char *message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(e->machine, e->module, LLVMAssemblyFile, &message,
                                          &buffer)) {
    heddle_status status = failed(e, message, "no code");
    LLVMDisposeMessage(message);
    return status;
  }
  if (!e->failed) {
    *n_bytes = LLVMGetBufferSize(buffer);
    *ptx = hd_xmalloc(*n_bytes + 1);
    memcpy(*ptx, LLVMGetBufferStart(buffer), *n_bytes);
    (*ptx)[*n_bytes] = 0;
  }
  LLVMDisposeMemoryBuffer(buffer);
  return e->failed ? HEDDLE_INTERNAL : HEDDLE_OK;
}

heddle_status hd_emit_codegen(hd_emitter *e, char **ptx, size_t *n_bytes) {
  char *message = NULL;
  heddle_status status = HEDDLE_OK;
  if (LLVMVerifyModule(e->module, LLVMReturnStatusAction, &message))
    status = hd_error(e->ctx, HEDDLE_INTERNAL, HD_NOWHERE, "emit.verify", "%s", message);
  LLVMDisposeMessage(message);
  if (status == HEDDLE_OK)
    status = hd_emit_run_passes(e, e->module, light, e->machine);
  if (status == HEDDLE_OK && !e->failed)
    status = generate(e, ptx, n_bytes);
  return e->failed && status == HEDDLE_OK ? HEDDLE_INTERNAL : status;
}
