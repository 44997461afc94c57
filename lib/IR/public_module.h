/* IR/public_module.h: the definition of heddle_module. */
#ifndef HD_PUBLIC_MODULE_H
#define HD_PUBLIC_MODULE_H

#include "IR/ir.h"
#include "heddle/ir.h"

struct heddle_module {
  hd_module *ir; /* owned */
};

/* Verifies and wraps a module. ir is consumed, also on failure. */
heddle_status hd_public_module(heddle_context *ctx, hd_module *ir, heddle_module **module);

#endif
