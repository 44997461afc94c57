/* heddle/gen_role.h: `heddle gen` for kernels that are written or edited at role level. */
#ifndef HD_GEN_ROLE_H
#define HD_GEN_ROLE_H

#include "IR/ir.h"
#include "compile_input.h"

/* The code of a module of role level, after verification and check. Its problem is not known, so
 * there is no manifest and no launcher. */
typedef struct gen_role_code {
  const char *name; /* of the first kernel; borrowed from the module */
  char *ptx;        /* owned */
  size_t ptx_bytes;
  void *cubin; /* owned; NULL without ptxas */
  size_t cubin_bytes;
} gen_role_code;

/* HEDDLE_MISMATCH: the check refuses it. HEDDLE_INVALID: an option (sizes: --size, or NULL) applies
 * only to problems. */
heddle_status gen_role_compile(heddle_context *ctx, const compile_input *in, const char *sizes,
                               const hd_module *module, gen_role_code *code);
void gen_role_code_free(gen_role_code *code);

#endif
