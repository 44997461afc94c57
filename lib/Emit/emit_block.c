/* LLVM basic blocks, and the branches between them. */
#include "Emit/emit_pinned.h"

LLVMBasicBlockRef hd_emit_block(hd_emitter *e, const char *name) {
  LLVMBasicBlockRef next = LLVMGetNextBasicBlock(LLVMGetInsertBlock(e->b));
  return next ? LLVMInsertBasicBlockInContext(e->llvm, next, name)
              : LLVMAppendBasicBlockInContext(e->llvm, e->function, name);
}

void hd_emit_at(hd_emitter *e, LLVMBasicBlockRef block) {
  LLVMPositionBuilderAtEnd(e->b, block);
}

void hd_emit_jump(hd_emitter *e, LLVMBasicBlockRef to) { LLVMBuildBr(e->b, to); }

LLVMBasicBlockRef hd_emit_if(hd_emitter *e, LLVMValueRef condition, const char *name) {
  LLVMBasicBlockRef join = hd_emit_block(e, "join"), then = hd_emit_block(e, name);
  LLVMBuildCondBr(e->b, condition, then, join);
  hd_emit_at(e, then);
  return join;
}

void hd_emit_endif(hd_emitter *e, LLVMBasicBlockRef join) {
  hd_emit_jump(e, join);
  hd_emit_at(e, join);
}

LLVMBasicBlockRef hd_emit_go_to_entry(hd_emitter *e) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
  LLVMPositionBuilderBefore(e->b, e->role.entry_end);
  return here;
}

void hd_emit_return_from_entry(hd_emitter *e, LLVMBasicBlockRef block) { hd_emit_at(e, block); }
