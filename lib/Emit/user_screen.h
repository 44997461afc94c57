/* Emit/user_screen.h: any LLVM IR to the text of user_ir.h. Of heddle-epilogue's process alone:
 * LLVM aborts, exits, or takes for ever and all memory on input that is made for it. */
#ifndef HD_USER_SCREEN_H
#define HD_USER_SCREEN_H

#include <llvm-c/Core.h>

#include "Support/strbuf.h"
#include "heddle/context.h"

enum { HD_USER_IR_BYTES = 4 << 20 };

/* Parses LLVM IR, text or bitcode, refuses by name what an epilogue may not do, inlines, unrolls
 * and prints the function `name`. */
heddle_status hd_user_screen(heddle_context *ctx, const char *ir, size_t n_bytes, const char *name,
                             hd_strbuf *text);

/* user_math.c: what is called of <math.h> gets its definition. */
heddle_status hd_user_link_math(heddle_context *ctx, LLVMModuleRef module);
/* user_allow.c: the lists. Every function and global of the module. */
heddle_status hd_user_allow(heddle_context *ctx, LLVMModuleRef module);
/* user_print.c: the function as that text; its blocks are renamed. order: its blocks, each behind
 * those that lead to it. */
heddle_status hd_user_print(heddle_context *ctx, LLVMModuleRef module, LLVMValueRef function,
                            const char *name, const LLVMBasicBlockRef *order, size_t n_blocks,
                            hd_strbuf *text);

/* Adds a refusal of what was found. */
heddle_status hd_user_refuse(heddle_context *ctx, const char *rule, const char *got,
                             const char *legal);

#endif
