/* Emit/emit_llvm.h: LLVM context, target machine, passes and code generation of a module. */
#ifndef HD_EMIT_LLVM_H
#define HD_EMIT_LLVM_H

#include "Emit/emit_state.h"

/* Creates target machine, context, module and builder; LLVM's errors become diagnostics of e->ctx.
 * After a failure nothing needs to be closed. */
heddle_status hd_emit_open(hd_emitter *e);
void hd_emit_close(hd_emitter *e);
/* The lowest PTX version that LLVM 22 supports and that is at least `version` and 6.3 (the first
 * with sm_75); 0: none. */
unsigned hd_emit_next_ptx(unsigned version);
/* Sets e->ptx_version to the requested version, or the target's, and checks it. */
heddle_status hd_emit_pick_ptx(hd_emitter *e);
/* The data layout and triple of NVPTX for a module. */
void hd_emit_set_target(hd_emitter *e, LLVMModuleRef module);
/* Runs passes, given by LLVM's names. machine may be NULL if no pass needs a target machine. */
heddle_status hd_emit_run_passes(hd_emitter *e, LLVMModuleRef module, const char *passes,
                                 LLVMTargetMachineRef machine);
/* Verifies, runs a few passes, generates code; *ptx is owned (hd_free). */
heddle_status hd_emit_codegen(hd_emitter *e, char **ptx, size_t *n_bytes);
/* The user's function `name` (user_build.c); checks its type: float (acc, i32, i32, ptr), or with
 * `pair` float (acc, acc, i32, i32, ptr). */
heddle_status hd_emit_find_user(hd_emitter *e, const hd_op *op, const char *name, LLVMTypeRef acc,
                                bool pair, LLVMValueRef *function);
/* Frees the users' functions that were read. */
void hd_emit_free_users(hd_user_functions *users);

#endif
