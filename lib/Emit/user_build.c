/* Builds the user's epilogue as an LLVM function in a module of its own, then links it into the
 * kernel's module. Its input was parsed by user_parse.c, so LLVM never sees the user's bytes. */
#include <stdio.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Linker.h>

#include "Emit/emit_llvm.h"
#include "Emit/user_words.h"
#include "Support/memory.h"

/* A prefix for user functions, which keeps their names apart from Heddle's. */
#define USER_PREFIX "user."

/* A light pipeline, like LLVM's own for functions that it is about to inline. */
static const char simplify[] = "function(sroa,early-cse,instcombine,simplifycfg)";

typedef struct building {
  hd_emitter *e;
  const hd_user_function *f;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMValueRef *value; /* the arguments, then the results of instructions */
  LLVMBasicBlockRef *block;
  LLVMValueRef table[HD_USER_TABLES];
} building;

static LLVMTypeRef type_of(building *u, hd_user_type type) {
  hd_emitter *e = u->e;
  switch (type) {
  case HD_USER_HALF:
    return e->f16;
  case HD_USER_BFLOAT:
    return LLVMBFloatTypeInContext(e->llvm);
  case HD_USER_FLOAT:
    return e->f32;
  case HD_USER_DOUBLE:
    return LLVMDoubleTypeInContext(e->llvm);
  case HD_USER_PTR:
    return e->generic_ptr;
  case HD_USER_GLOBAL_PTR:
    return e->global_ptr;
  default:
    return LLVMIntTypeInContext(e->llvm, type);
  }
}

static LLVMValueRef operand(building *u, const hd_user_operand *o) {
  switch (o->kind) {
  case HD_USER_VALUE:
    return u->value[o->index];
  case HD_USER_INT:
    return LLVMConstInt(type_of(u, o->type), (unsigned long long)o->i, true);
  case HD_USER_REAL:
    return LLVMConstReal(type_of(u, o->type), o->f);
  case HD_USER_NULL:
    return LLVMConstNull(type_of(u, o->type));
  case HD_USER_TABLE:
    return u->table[o->index];
  }
  return NULL;
}

static LLVMValueRef build_call(building *u, const hd_user_instruction *in) {
  const hd_user_call_info *call = &hd_user_calls[in->call];
  LLVMTypeRef type = type_of(u, call->type);
  unsigned id = LLVMLookupIntrinsicID(call->known, strlen(call->known));
  bool overloaded = LLVMIntrinsicIsOverloaded(id);
  LLVMValueRef callee = LLVMGetIntrinsicDeclaration(u->module, id, &type, overloaded ? 1 : 0);
  LLVMValueRef args[3];
  for (int i = 0; i < in->n_operands; i++)
    args[i] = operand(u, &in->operand[i]);
  return LLVMBuildCall2(u->b, LLVMGlobalGetValueType(callee), callee, args,
                        (unsigned)in->n_operands, "");
}

static LLVMValueRef build_load(building *u, const hd_user_instruction *in) {
  LLVMValueRef load = LLVMBuildLoad2(u->b, type_of(u, in->type), operand(u, &in->operand[0]), "");
  if (in->align)
    LLVMSetAlignment(load, (unsigned)in->align);
  return load;
}

static LLVMValueRef build_address(building *u, const hd_user_instruction *in) {
  LLVMValueRef index = operand(u, &in->operand[1]);
  unsigned flags = (in->flags & HD_USER_INBOUNDS ? LLVMGEPFlagInBounds : 0) |
                   (in->flags & HD_USER_NUSW ? LLVMGEPFlagNUSW : 0) |
                   (in->flags & HD_USER_NUW ? LLVMGEPFlagNUW : 0);
  return LLVMBuildGEPWithNoWrapFlags(u->b, type_of(u, in->element), operand(u, &in->operand[0]),
                                     &index, 1, "", flags);
}

static LLVMValueRef build_phi(building *u, const hd_user_instruction *in) {
  LLVMValueRef phi = LLVMBuildPhi(u->b, type_of(u, in->type), "");
  for (int32_t i = 0; i < in->n_edges; i++) {
    const hd_user_edge *edge = &u->f->edge[in->first_edge + i];
    LLVMValueRef value = operand(u, &edge->value);
    LLVMAddIncoming(phi, &value, &u->block[edge->block], 1);
  }
  return phi;
}

static void build_end(building *u, const hd_user_instruction *in) {
  LLVMBasicBlockRef to = in->block[0] < 0 ? NULL : u->block[in->block[0]];
  if (in->op == HD_USER_LLVMRet) {
    LLVMBuildRet(u->b, operand(u, &in->operand[0]));
  } else if (in->op == HD_USER_LLVMBr && in->block[1] < 0) {
    LLVMBuildBr(u->b, to);
  } else if (in->op == HD_USER_LLVMBr) {
    LLVMBuildCondBr(u->b, operand(u, &in->operand[0]), to, u->block[in->block[1]]);
  } else {
    LLVMValueRef choice =
        LLVMBuildSwitch(u->b, operand(u, &in->operand[0]), to, (unsigned)in->n_edges);
    for (int32_t i = 0; i < in->n_edges; i++) {
      const hd_user_edge *edge = &u->f->edge[in->first_edge + i];
      LLVMAddCase(choice, operand(u, &edge->value), u->block[edge->block]);
    }
  }
}

static LLVMValueRef build_value(building *u, const hd_user_instruction *in) {
  LLVMValueRef a = in->n_operands > 0 ? operand(u, &in->operand[0]) : NULL;
  LLVMValueRef b = in->n_operands > 1 ? operand(u, &in->operand[1]) : NULL;
  LLVMOpcode opcode = (LLVMOpcode)hd_user_ops[in->op].opcode;
  switch (in->op) {
  case HD_USER_LLVMFNeg:
    return LLVMBuildFNeg(u->b, a, "");
  case HD_USER_LLVMFreeze:
    return LLVMBuildFreeze(u->b, a, "");
  case HD_USER_LLVMICmp:
    return LLVMBuildICmp(u->b, (LLVMIntPredicate)in->predicate, a, b, "");
  case HD_USER_LLVMFCmp:
    return LLVMBuildFCmp(u->b, (LLVMRealPredicate)in->predicate, a, b, "");
  case HD_USER_LLVMSelect:
    return LLVMBuildSelect(u->b, a, b, operand(u, &in->operand[2]), "");
  case HD_USER_LLVMPHI:
    return build_phi(u, in);
  case HD_USER_LLVMLoad:
    return build_load(u, in);
  case HD_USER_LLVMGetElementPtr:
    return build_address(u, in);
  case HD_USER_LLVMCall:
    return build_call(u, in);
  default:
    break;
  }
  return hd_user_ops[in->op].class == HD_USER_CAST
             ? LLVMBuildCast(u->b, opcode, a, type_of(u, in->type), "")
             : LLVMBuildBinOp(u->b, opcode, a, b, "");
}

/* The builder may fold an instruction to a constant, which has no flags. */
static void set_flags(LLVMValueRef value, uint16_t flags) {
  if (!LLVMIsAInstruction(value) || LLVMIsAGetElementPtrInst(value))
    return;
  if (flags & HD_USER_FAST && LLVMCanValueUseFastMathFlags(value))
    LLVMSetFastMathFlags(value, flags & HD_USER_FAST);
  if (flags & HD_USER_NUW)
    LLVMSetNUW(value, true);
  if (flags & HD_USER_NSW)
    LLVMSetNSW(value, true);
  if (flags & HD_USER_EXACT)
    LLVMSetExact(value, true);
  if (flags & HD_USER_DISJOINT)
    LLVMSetIsDisjoint(value, true);
  if (flags & HD_USER_NNEG)
    LLVMSetNNeg(value, true);
  if (flags & HD_USER_SAMESIGN)
    LLVMSetICmpSameSign(value, true);
}

static void build_body(building *u, LLVMValueRef function) {
  static const hd_user_argument alone[] = {HD_USER_ACC, HD_USER_ROW, HD_USER_COL, HD_USER_POINTER},
                                paired[] = {HD_USER_ACC, HD_USER_UP, HD_USER_ROW, HD_USER_COL,
                                            HD_USER_POINTER};
  for (unsigned i = 0; i < LLVMCountParams(function); i++)
    u->value[(u->f->pair ? paired : alone)[i]] = LLVMGetParam(function, i);
  for (int32_t i = 0; i < u->f->n_blocks; i++)
    u->block[i] = LLVMAppendBasicBlockInContext(u->e->llvm, function, "");
  for (int32_t block = 0, i = 0; block < u->f->n_blocks; block++) {
    LLVMPositionBuilderAtEnd(u->b, u->block[block]);
    for (; i < u->f->block_end[block]; i++) {
      const hd_user_instruction *in = &u->f->instruction[i];
      if (i == u->f->block_end[block] - 1) {
        build_end(u, in);
        continue;
      }
      u->value[HD_USER_ARGUMENTS + i] = build_value(u, in);
      set_flags(u->value[HD_USER_ARGUMENTS + i], in->flags);
    }
  }
}

static void build_tables(building *u, const char *function) {
  for (int32_t i = 0; i < u->f->n_tables; i++) {
    const hd_user_table *t = &u->f->table[i];
    LLVMValueRef bytes = LLVMConstStringInContext2(
        u->e->llvm, (const char *)u->f->table_bytes + t->first_byte, (size_t)t->n_bytes, true);
    const char *name = hd_arena_printf(&u->e->arena, "%s_table%d", function, (int)i);
    u->table[i] = LLVMAddGlobal(u->module, LLVMTypeOf(bytes), name);
    LLVMSetInitializer(u->table[i], bytes);
    LLVMSetGlobalConstant(u->table[i], true);
    LLVMSetLinkage(u->table[i], LLVMInternalLinkage);
    LLVMSetAlignment(u->table[i], (unsigned)t->align);
  }
}

static LLVMValueRef declare(building *u, const char *name) {
  hd_emitter *e = u->e;
  LLVMTypeRef sum = u->f->integer ? e->i32 : e->f32;
  LLVMTypeRef params[] = {sum, sum, e->i32, e->i32, e->generic_ptr};
  LLVMTypeRef type = LLVMFunctionType(e->f32, u->f->pair ? params : params + 1,
                                      u->f->pair ? 5 : 4, false);
  LLVMValueRef function = LLVMAddFunction(u->module, name, type);
  unsigned always = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
  LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(e->llvm, always, 0));
  return function;
}

/* The parser excludes all errors but one: a use that its definition does not dominate. */
static heddle_status verify(hd_emitter *e, LLVMModuleRef module) {
  char *message = NULL;
  heddle_status status = HEDDLE_OK;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
    status =
        hd_error(e->ctx, HEDDLE_INVALID, HD_NOWHERE, "user.text",
                 "user function: %.*s; legal: values that are known on every path to their use",
                 (int)strcspn(message, "\n"), message);
  LLVMDisposeMessage(message);
  return status;
}

/* Builds, verifies and simplifies the function, and links it into the kernel's module. */
static heddle_status build(hd_emitter *e, const hd_user_function *f, const char *name) {
  building u = {.e = e, .f = f};
  size_t n_values = HD_USER_ARGUMENTS + HD_USER_INSTRUCTIONS;
  u.value = hd_try_zalloc(e->ctx, n_values * sizeof *u.value, "values");
  u.block = hd_try_zalloc(e->ctx, HD_USER_BLOCKS * sizeof *u.block, "blocks");
  heddle_status status = u.value && u.block ? HEDDLE_OK : HEDDLE_NO_MEMORY;
  if (status == HEDDLE_OK) {
    u.module = LLVMModuleCreateWithNameInContext("user", e->llvm);
    u.b = LLVMCreateBuilderInContext(e->llvm);
    hd_emit_set_target(e, u.module);
    build_tables(&u, name);
    build_body(&u, declare(&u, name));
    LLVMDisposeBuilder(u.b);
    status = verify(e, u.module);
    if (status == HEDDLE_OK)
      status = hd_emit_run_passes(e, u.module, simplify, NULL);
    if (status != HEDDLE_OK)
      LLVMDisposeModule(u.module);
    else if (LLVMLinkModules2(e->module, u.module)) /* consumes it */
      status = HD_BUG(e->ctx, "the user function cannot be linked");
  }
  hd_free(u.value);
  hd_free(u.block);
  return status;
}

/* Reads the function, unless another kernel has already read it, or got a refusal. */
static heddle_status read_once(hd_emitter *e, const char *name, const hd_user_function **f) {
  hd_user_read_once *read = e->users->first;
  while (read && strcmp(read->name, name) != 0)
    read = read->next;
  if (!read) {
    read = hd_xzalloc(sizeof *read);
    *read = (hd_user_read_once){.name = hd_xstrdup(name),
                                .said = heddle_context_create(),
                                .next = e->users->first};
    read->status = hd_user_read(read->said, &e->options->user, name, &read->function);
    e->users->first = read;
  }
  *f = read->function;
  if (read->status != HEDDLE_OK)
    hd_say_again(e->ctx, read->said);
  return read->status;
}

static heddle_status read_and_build(hd_emitter *e, const char *name, const char *full) {
  const hd_user_function *f = NULL;
  pthread_mutex_lock(&e->users->lock);
  heddle_status status = read_once(e, name, &f);
  pthread_mutex_unlock(&e->users->lock);
  return status == HEDDLE_OK ? build(e, f, full) : status;
}

void hd_emit_free_users(hd_user_functions *users) {
  while (users->first) {
    hd_user_read_once *next = users->first->next;
    hd_free(users->first->name);
    hd_free(users->first->function);
    heddle_context_free(users->first->said);
    hd_free(users->first);
    users->first = next;
  }
}

heddle_status hd_emit_find_user(hd_emitter *e, const hd_op *op, const char *name, LLVMTypeRef acc,
                                bool pair, LLVMValueRef *function) {
  const char *type = acc == e->f32 ? "float" : "i32";
  char *sums = pair ? hd_arena_printf(&e->arena, "%s %%gate, %s %%up", type, type)
                    : hd_arena_printf(&e->arena, "%s %%acc", type);
  char *full = hd_arena_printf(&e->arena, USER_PREFIX "%s", name);
  if (!e->options->user.ir)
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "user.function",
                    "the user IR is missing; nearest: define float @%s(%s, i32 %%row, i32 %%col, "
                    "ptr %%user)",
                    name, sums);
  if (!LLVMGetNamedFunction(e->module, full)) {
    HD_TRY(read_and_build(e, name, full));
    LLVMSetLinkage(LLVMGetNamedFunction(e->module, full), LLVMInternalLinkage);
  }
  LLVMValueRef found = LLVMGetNamedFunction(e->module, full);
  LLVMTypeRef params[] = {acc, acc, e->i32, e->i32, e->generic_ptr};
  LLVMTypeRef legal = LLVMFunctionType(e->f32, pair ? params : params + 1, pair ? 5 : 4, false);
  if (LLVMGlobalGetValueType(found) != legal)
    return hd_error(e->ctx, HEDDLE_INVALID, op->loc, "user.function",
                    "%s has another type; legal: float (%s, i32 %%row, i32 %%col, ptr %%user)",
                    name, sums);
  *function = found;
  return HEDDLE_OK;
}
