/* Emit/emit_llvm.h: LLVM around a module: context, target machine, passes, code. */
#ifndef HD_EMIT_LLVM_H
#define HD_EMIT_LLVM_H

#include "Emit/emit_state.h"

/* Opens target machine, context, module and builder; errors that LLVM reports become diagnostics of
 * e->ctx. Nothing is open after a failure. */
heddle_status hd_emit_open(hd_emitter *e);
void hd_emit_close(hd_emitter *e);
/* The least PTX version that LLVM 22 knows, of those from `version` on and from 6.3, the first of
 * sm_75; 0: none. */
unsigned hd_emit_next_ptx(unsigned version);
/* Which PTX version: the one asked for, or the target's; checked. */
heddle_status hd_emit_pick_ptx(hd_emitter *e);
/* The data layout and triple of NVPTX for a module. */
void hd_emit_set_target(hd_emitter *e, LLVMModuleRef module);
/* Passes by LLVM's names for them, of which no target machine (NULL) needs to know. */
heddle_status hd_emit_run_passes(hd_emitter *e, LLVMModuleRef module, const char *passes,
                                 LLVMTargetMachineRef machine);
/* Verifies, optimises lightly, generates code: *ptx owned (hd_free). */
heddle_status hd_emit_codegen(hd_emitter *e, char **ptx, size_t *n_bytes);
/* The user's function `name` (user_build.c), checked to be float (acc, i32, i32, ptr); of a pair
 * float (acc, acc, i32, i32, ptr). */
heddle_status hd_emit_find_user(hd_emitter *e, const hd_op *op, const char *name, LLVMTypeRef acc,
                                bool pair, LLVMValueRef *function);
/* What kernels have read of them. */
void hd_emit_free_users(hd_user_functions *users);

#endif
