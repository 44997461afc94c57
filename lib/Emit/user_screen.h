/* Emit/user_screen.h: converts LLVM IR to the text of user_ir.h. Only heddle-epilogue's process
 * uses it, because malicious input can make LLVM abort, exit, hang or take all memory. */
#ifndef HD_USER_SCREEN_H
#define HD_USER_SCREEN_H

#include <llvm-c/Core.h>

#include "Support/strbuf.h"
#include "heddle/context.h"

enum { HD_USER_IR_BYTES = 4 << 20 };

/* Parses LLVM IR, text or bitcode, and refuses by name what an epilogue may not contain. Inlines,
 * unrolls and prints the function `name`. */
heddle_status hd_user_screen(heddle_context *ctx, const char *ir, size_t n_bytes, const char *name,
                             hd_strbuf *text);

/* user_math.c: links definitions of the functions of <math.h> that the module calls. */
heddle_status hd_user_link_math(heddle_context *ctx, LLVMModuleRef module);
/* user_allow.c: checks every function and global of the module against the allowed constructs. */
heddle_status hd_user_allow(heddle_context *ctx, LLVMModuleRef module);
/* user_print.c: prints the function as that text. Renames its values and blocks. order: its blocks,
 * each after its predecessors. */
heddle_status hd_user_print(heddle_context *ctx, LLVMModuleRef module, LLVMValueRef function,
                            const char *name, const LLVMBasicBlockRef *order, size_t n_blocks,
                            hd_strbuf *text);

/* Adds a diagnostic that refuses `got`. Returns HEDDLE_UNSUPPORTED. */
heddle_status hd_user_refuse(heddle_context *ctx, const char *rule, const char *got,
                             const char *legal);

#endif
