/* heddle/gen_role.h: `heddle gen` of kernels that were written, or changed, at role level. */
#ifndef HD_GEN_ROLE_H
#define HD_GEN_ROLE_H

#include "IR/ir.h"
#include "compile_input.h"

/* What comes of a module of role level, once it is verified and checked. Its problem is not known:
 * there is no manifest, and no launcher. */
typedef struct gen_role_code {
  const char *name; /* the first kernel's; borrowed: the module's */
  char *ptx;        /* owned */
  size_t ptx_bytes;
  void *cubin; /* owned; NULL without ptxas */
  size_t cubin_bytes;
} gen_role_code;

/* HEDDLE_MISMATCH: the check refuses it. HEDDLE_INVALID: something was asked (sizes: --size, or
 * NULL) that only a problem leaves open. */
heddle_status gen_role_compile(heddle_context *ctx, const compile_input *in, const char *sizes,
                               const hd_module *module, gen_role_code *code);
void gen_role_code_free(gen_role_code *code);

#endif
