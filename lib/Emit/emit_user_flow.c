/* The user's function ends: its loops are unrolled whole, and what still goes round in a circle is
 * refused. A warp that never leaves the epilogue would hang the device. */
#include <stdlib.h>

#include "Emit/emit_llvm.h"

/* Full unrolling only: the turns must be constant and few (LLVM's own thresholds). */
static const char unroll[] =
    "always-inline,function(sroa,early-cse,instcombine,simplifycfg,loop-simplify,lcssa,"
    "loop(loop-rotate,indvars,loop-unroll-full),early-cse,simplifycfg)";

typedef struct node {
  LLVMBasicBlockRef block;
  size_t n_before; /* edges from blocks that are not done */
} node;

static int by_address(const void *x, const void *y) {
  const node *a = x, *b = y;
  return (a->block > b->block) - (a->block < b->block);
}

static node *find(node *nodes, size_t n, LLVMBasicBlockRef block) {
  return bsearch(&(node){.block = block}, nodes, n, sizeof *nodes, by_address);
}

/* Topological order: blocks whose predecessors are all done, until none is left. */
static size_t count_ordered(node *nodes, size_t n, node **ready) {
  size_t n_ready = 0, done = 0;
  for (size_t i = 0; i < n; i++)
    if (nodes[i].n_before == 0)
      ready[n_ready++] = &nodes[i];
  for (; done < n_ready; done++) {
    LLVMValueRef last = LLVMGetBasicBlockTerminator(ready[done]->block);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(last); s++) {
      node *next = find(nodes, n, LLVMGetSuccessor(last, s));
      if (--next->n_before == 0)
        ready[n_ready++] = next;
    }
  }
  return done;
}

static bool has_cycle(LLVMValueRef function) {
  size_t n = LLVMCountBasicBlocks(function);
  node *nodes = hd_xmalloc(n * sizeof *nodes), **ready = hd_xmalloc(n * sizeof *ready);
  LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function);
  for (size_t i = 0; i < n; i++, block = LLVMGetNextBasicBlock(block))
    nodes[i] = (node){.block = block};
  qsort(nodes, n, sizeof *nodes, by_address);
  for (size_t i = 0; i < n; i++) {
    LLVMValueRef last = LLVMGetBasicBlockTerminator(nodes[i].block);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(last); s++)
      find(nodes, n, LLVMGetSuccessor(last, s))->n_before++;
  }
  bool cycle = count_ordered(nodes, n, ready) < n;
  free(nodes);
  free(ready);
  return cycle;
}

heddle_status hd_emit_user_ends(hd_emitter *e, LLVMModuleRef user) {
  HD_TRY(hd_emit_run_passes(e, user, unroll, NULL));
  for (LLVMValueRef f = LLVMGetFirstFunction(user); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f) && has_cycle(f))
      return hd_error(e->ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.loop",
                      "user function: a loop that does not unroll whole is not allowed; legal: a "
                      "constant number of few turns");
  return HEDDLE_OK;
}
