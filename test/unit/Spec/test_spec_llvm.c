/* The LLVM intrinsic of each row: known to LLVM, selected on each of the row's targets, printed as the
 * row's own text, accepted by ptxas. One module a target holds every row that is legal there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Spec/spec.h"
#include "Support/file.h"

enum { MAX_PARAMS = 32 };

static bool covered(const hd_spec_row *row) {
  return row->llvm_intrinsic && (row->family == HD_FAMILY_MMA_SP ||
                                 row->family == HD_FAMILY_LDMATRIX ||
                                 row->family == HD_FAMILY_STMATRIX);
}

/* ldmatrix and stmatrix are overloaded on the pointer: shared memory. */
static LLVMValueRef declare(LLVMModuleRef module, const char *name) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMTypeRef pointer = LLVMPointerTypeInContext(LLVMGetModuleContext(module), 3);
  if (id == 0)
    print_error("LLVM does not know %s\n", name);
  assert_int_not_equal(id, 0);
  return LLVMGetIntrinsicDeclaration(module, id, &pointer, LLVMIntrinsicIsOverloaded(id) ? 1 : 0);
}

static bool is_immediate(LLVMValueRef function, unsigned i) {
  unsigned kind = LLVMGetEnumAttributeKindForName("immarg", 6);
  return LLVMGetEnumAttributeAtIndex(function, i + 1, kind) != NULL;
}

/* A device function of the same signature that calls it; immediates are 0. */
static void add_caller(LLVMModuleRef module, const hd_spec_row *row) {
  LLVMValueRef callee = declare(module, row->llvm_intrinsic), args[MAX_PARAMS];
  LLVMTypeRef type = LLVMGlobalGetValueType(callee), params[MAX_PARAMS];
  LLVMContextRef context = LLVMGetModuleContext(module);
  unsigned n = LLVMCountParamTypes(type);
  assert_true(n <= MAX_PARAMS);
  LLVMGetParamTypes(type, params);
  LLVMTypeRef result = LLVMGetReturnType(type);
  LLVMValueRef caller = LLVMAddFunction(module, row->name, LLVMFunctionType(result, params, n, 0));
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, caller, ""));
  for (unsigned i = 0; i < n; i++)
    args[i] = is_immediate(callee, i) ? LLVMConstNull(params[i]) : LLVMGetParam(caller, i);
  LLVMValueRef call = LLVMBuildCall2(builder, type, callee, args, n, "");
  if (LLVMGetTypeKind(result) == LLVMVoidTypeKind)
    LLVMBuildRetVoid(builder);
  else
    LLVMBuildRet(builder, call);
  LLVMDisposeBuilder(builder);
}

static bool legal_here(const hd_spec_row *row, const hd_target *target) {
  hd_legal_query query = {.target = target, .ptx = target->llvm_ptx, .selector = -1};
  return covered(row) && hd_spec_legal(row, &query, NULL, 0) == HD_LEGAL;
}

static LLVMTargetMachineRef machine_for(const hd_target *target) {
  LLVMTargetRef nvptx;
  char *error = NULL;
  assert_false(LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &nvptx, &error));
  return LLVMCreateTargetMachine(nvptx, "nvptx64-nvidia-cuda", target->name, target->llvm_feature,
                                 LLVMCodeGenLevelDefault, LLVMRelocDefault, LLVMCodeModelDefault);
}

/* The text without state space spelled LLVM's way must be in the PTX. */
static void assert_printed(const hd_spec_row *row, const char *ptx) {
  if (!strstr(ptx, row->ptx))
    print_error("%s: LLVM does not print '%s'\n", row->name, row->ptx);
  assert_non_null(strstr(ptx, row->ptx));
}

static void assert_assembles(const hd_target *target, const char *ptx, size_t n_bytes) {
  char arch[32], *folder = NULL, path[512];
  int code = -1;
  hd_strbuf log = {0};
  assert_int_equal(hd_file_tempdir(NULL, NULL, &folder), HEDDLE_OK);
  snprintf(path, sizeof path, "%s/rows.ptx", folder);
  snprintf(arch, sizeof arch, "compute_%s", target->name + 3); /* parses, generates nothing */
  assert_int_equal(hd_file_write(NULL, path, ptx, n_bytes), HEDDLE_OK);
  const char *argv[] = {HEDDLE_PTXAS, "-arch", arch, path, "-o", "/dev/null", NULL};
  assert_int_equal(hd_process_run(NULL, argv, 120, &log, &code), HEDDLE_OK);
  if (code)
    print_error("%s: %s\n", target->name, hd_strbuf_text(&log));
  assert_int_equal(code, 0);
  hd_file_remove(NULL, folder);
  hd_strbuf_free(&log);
  free(folder);
}

static unsigned check_target(const hd_target *target) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("rows", context);
  LLVMMemoryBufferRef out = NULL;
  char *error = NULL;
  unsigned n = 0;
  for (size_t i = 0; i < hd_spec_count(); i++)
    if (legal_here(hd_spec_get(i), target)) {
      add_caller(module, hd_spec_get(i));
      n++;
    }
  LLVMSetTarget(module, "nvptx64-nvidia-cuda");
  LLVMTargetMachineRef machine = machine_for(target);
  assert_false(LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMAssemblyFile, &error, &out));
  char *ptx = strndup(LLVMGetBufferStart(out), LLVMGetBufferSize(out));
  for (size_t i = 0; i < hd_spec_count(); i++)
    if (legal_here(hd_spec_get(i), target))
      assert_printed(hd_spec_get(i), ptx);
  assert_assembles(target, ptx, strlen(ptx));
  free(ptx);
  LLVMDisposeMemoryBuffer(out);
  LLVMDisposeTargetMachine(machine);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return n;
}

static void every_intrinsic_is_selected_and_assembled(void **state) {
  (void)state;
  unsigned n = 0;
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  for (size_t i = 0; i < hd_target_count(); i++)
    n += check_target(hd_target_get(i));
  print_message("row x target cells through LLVM and ptxas: %u\n", n);
  assert_true(n > 1500);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_intrinsic_is_selected_and_assembled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
