/* Parses one instruction of the user's epilogue. Each class of user_ops.def has its syntax. */
#include <string.h>

#include "Emit/user_reader.h"
#include "Support/diag.h"

static void read_flags(hd_user_reader *r, hd_user_instruction *in) {
  for (int i = 0; i < hd_n_user_flags;) {
    const hd_user_flag *flag = &hd_user_flags[i++];
    if ((flag->flags & ~hd_user_ops[in->op].flags) == 0 && hd_user_accept_word(r, flag->word)) {
      in->flags |= flag->flags;
      i = 0;
    }
  }
}

static heddle_status read_arithmetic(hd_user_reader *r, hd_user_instruction *in) {
  hd_user_class class = hd_user_ops[in->op].class;
  HD_TRY(hd_user_read_type(r, &in->type));
  bool fits = class == HD_USER_INTEGERS ? hd_user_is_int(in->type)
              : class == HD_USER_SAME   ? !hd_user_is_ptr(in->type)
                                        : hd_user_is_float(in->type);
  if (!fits)
    return hd_user_refuse_here(r, "operands of its kind: integers or floating point");
  if (class == HD_USER_INTEGERS || class == HD_USER_FLOATS)
    return hd_user_read_pair(r, in->type, in);
  in->n_operands = 1;
  return hd_user_read_operand(r, in->type, &in->operand[0]);
}

static heddle_status read_cast(hd_user_reader *r, hd_user_instruction *in) {
  in->n_operands = 1;
  HD_TRY(hd_user_read_typed(r, &in->operand[0]));
  HD_TRY(hd_user_expect_word(r, "to"));
  HD_TRY(hd_user_read_type(r, &in->type));
  return hd_user_can_cast(in->op, in->operand[0].type, in->type)
             ? HEDDLE_OK
             : hd_user_refuse_here(r, "a type that the cast leads to");
}

static heddle_status read_predicate(hd_user_reader *r, const char *const *words, int n, int first,
                                    hd_user_instruction *in) {
  for (int i = 0; i < n; i++)
    if (hd_user_accept_word(r, words[i])) {
      in->predicate = (uint8_t)(first + i);
      return HEDDLE_OK;
    }
  return hd_user_refuse_here(
      r, "a predicate: eq, ult, slt, … of integers, oeq, olt, uno, … of floating point");
}

static heddle_status read_compare(hd_user_reader *r, hd_user_instruction *in) {
  bool floats = in->op == HD_USER_LLVMFCmp;
  hd_user_type type;
  HD_TRY(floats ? read_predicate(r, hd_user_fcmp, HD_N_USER_FCMP, HD_USER_FIRST_FCMP, in)
                : read_predicate(r, hd_user_icmp, HD_N_USER_ICMP, HD_USER_FIRST_ICMP, in));
  HD_TRY(hd_user_read_type(r, &type));
  in->type = 1;
  if (floats != hd_user_is_float(type))
    return hd_user_refuse_here(r, "operands of its kind");
  if (!hd_user_is_ptr(type))
    return hd_user_read_pair(r, type, in);
  in->n_operands = 2; /* pointers can only be compared with null */
  HD_TRY(hd_user_read_operand(r, type, &in->operand[0]));
  HD_TRY(hd_user_expect(r, ','));
  in->operand[1] = (hd_user_operand){.kind = HD_USER_NULL, .type = type};
  return hd_user_expect_word(r, "null");
}

static heddle_status read_select(hd_user_reader *r, hd_user_instruction *in) {
  in->n_operands = 3;
  HD_TRY(hd_user_read_typed(r, &in->operand[0]));
  if (in->operand[0].type != 1)
    return hd_user_refuse_here(r, "a condition of type i1");
  HD_TRY(hd_user_expect(r, ','));
  HD_TRY(hd_user_read_typed(r, &in->operand[1]));
  in->type = in->operand[1].type;
  HD_TRY(hd_user_expect(r, ','));
  HD_TRY(hd_user_read_typed(r, &in->operand[2]));
  return in->operand[2].type == in->type ? HEDDLE_OK
                                         : hd_user_refuse_here(r, "two values of one type");
}

static heddle_status add_edge(hd_user_reader *r, hd_user_instruction *in, hd_user_operand value,
                              int32_t block) {
  if (r->f->n_edges == HD_USER_EDGES)
    return hd_user_refuse_count(r, "values of phis and cases of switches", HD_USER_EDGES);
  r->f->edge[r->f->n_edges++] = (hd_user_edge){value, block};
  in->n_edges++;
  return HEDDLE_OK;
}

static heddle_status read_phi(hd_user_reader *r, hd_user_instruction *in) {
  HD_TRY(hd_user_read_type(r, &in->type));
  in->first_edge = r->f->n_edges;
  do {
    hd_user_operand value;
    hd_user_word word;
    int32_t label;
    HD_TRY(hd_user_expect(r, '['));
    HD_TRY(hd_user_read_operand(r, in->type, &value));
    HD_TRY(hd_user_expect(r, ','));
    HD_TRY(hd_user_read_name(r, '%', &word));
    HD_TRY(hd_user_find_label(r, word, &label));
    if (r->order[label] == HD_USER_NO_BLOCK || r->order[label] == r->f->n_blocks)
      return hd_user_refuse_here(r, "values from blocks further up");
    HD_TRY(add_edge(r, in, value, label));
    HD_TRY(hd_user_expect(r, ']'));
  } while (hd_user_accept_char(r, ','));
  return HEDDLE_OK;
}

static heddle_status read_load(hd_user_reader *r, hd_user_instruction *in) {
  in->n_operands = 1;
  HD_TRY(hd_user_read_type(r, &in->type));
  if (!hd_user_memory_bits(in->type))
    return hd_user_refuse_here(r, "a type of 8, 16, 32 or 64 bits");
  HD_TRY(hd_user_expect(r, ','));
  HD_TRY(hd_user_read_typed(r, &in->operand[0]));
  if (!hd_user_is_ptr(in->operand[0].type))
    return hd_user_refuse_here(r, "an address");
  return hd_user_read_align(r, &in->align);
}

static heddle_status read_address(hd_user_reader *r, hd_user_instruction *in) {
  in->n_operands = 2;
  HD_TRY(hd_user_read_type(r, &in->element));
  if (!hd_user_memory_bits(in->element))
    return hd_user_refuse_here(r, "elements of 8, 16, 32 or 64 bits");
  HD_TRY(hd_user_expect(r, ','));
  HD_TRY(hd_user_read_typed(r, &in->operand[0]));
  in->type = in->operand[0].type;
  HD_TRY(hd_user_expect(r, ','));
  HD_TRY(hd_user_read_typed(r, &in->operand[1]));
  return hd_user_is_ptr(in->type) && hd_user_is_int(in->operand[1].type)
             ? HEDDLE_OK
             : hd_user_refuse_here(r, "an address and one index");
}

static heddle_status read_call(hd_user_reader *r, hd_user_instruction *in) {
  hd_user_word word;
  HD_TRY(hd_user_read_type(r, &in->type));
  HD_TRY(hd_user_read_name(r, '@', &word));
  in->call = hd_user_find_call(word.at, word.n);
  if (in->call < 0)
    return hd_user_refuse_here(r, "llvm.fma.f32, llvm.exp2.f32, … (docs/embedding.md)");
  const hd_user_call_info *call = &hd_user_calls[in->call];
  HD_TRY(hd_user_expect(r, '('));
  in->n_operands = (int8_t)(call->n_operands + call->has_flag);
  for (int i = 0; i < in->n_operands; i++) {
    if (i)
      HD_TRY(hd_user_expect(r, ','));
    HD_TRY(hd_user_read_typed(r, &in->operand[i]));
    bool flag = i == call->n_operands;
    if (in->operand[i].type != (flag ? 1 : call->type) ||
        (flag && in->operand[i].kind != HD_USER_INT))
      return hd_user_refuse_here(r, "operands of the intrinsic's type");
  }
  HD_TRY(hd_user_expect(r, ')'));
  if (in->type != call->type)
    return hd_user_refuse_here(r, "the intrinsic's type");
  bool approximate = in->flags & 0x40; /* afn */
  return call->math != HD_USER_MATH_TANH || strncmp(call->name, "llvm.nvvm.", 10) == 0 ||
                 approximate
             ? HEDDLE_OK
             : hd_user_refuse_here(
                   r, "call afn float @llvm.tanh.f32: there is only the approximate one");
}

static heddle_status read_branch(hd_user_reader *r, hd_user_instruction *in) {
  if (hd_user_peek_word(r).n == 5)
    return hd_user_read_target(r, &in->block[0]);
  in->n_operands = 1;
  HD_TRY(hd_user_expect_word(r, "i1"));
  HD_TRY(hd_user_read_operand(r, 1, &in->operand[0]));
  HD_TRY(hd_user_expect(r, ','));
  HD_TRY(hd_user_read_target(r, &in->block[0]));
  HD_TRY(hd_user_expect(r, ','));
  return hd_user_read_target(r, &in->block[1]);
}

static heddle_status read_switch(hd_user_reader *r, hd_user_instruction *in) {
  in->n_operands = 1;
  HD_TRY(hd_user_read_typed(r, &in->operand[0]));
  if (!hd_user_is_int(in->operand[0].type))
    return hd_user_refuse_here(r, "an integer");
  HD_TRY(hd_user_expect(r, ','));
  HD_TRY(hd_user_read_target(r, &in->block[0]));
  HD_TRY(hd_user_expect(r, '['));
  in->first_edge = r->f->n_edges;
  while (!hd_user_accept_char(r, ']')) {
    hd_user_operand value;
    int32_t label;
    HD_TRY(hd_user_read_typed(r, &value));
    if (value.type != in->operand[0].type || value.kind != HD_USER_INT)
      return hd_user_refuse_here(r, "a constant of the switch's type");
    for (int32_t i = in->first_edge; i < r->f->n_edges; i++)
      if (r->f->edge[i].value.i == value.i)
        return hd_user_refuse_here(r, "each case once");
    HD_TRY(hd_user_expect(r, ','));
    HD_TRY(hd_user_read_target(r, &label));
    HD_TRY(add_edge(r, in, value, label));
  }
  return HEDDLE_OK;
}

static heddle_status read_return(hd_user_reader *r, hd_user_instruction *in) {
  in->n_operands = 1;
  HD_TRY(hd_user_expect_word(r, "float"));
  return hd_user_read_operand(r, HD_USER_FLOAT, &in->operand[0]);
}

static heddle_status read_body(hd_user_reader *r, hd_user_instruction *in) {
  switch (hd_user_ops[in->op].class) {
  case HD_USER_INTEGERS:
  case HD_USER_FLOATS:
  case HD_USER_ONE_FLOAT:
  case HD_USER_SAME:
    return read_arithmetic(r, in);
  case HD_USER_CAST:
    return read_cast(r, in);
  case HD_USER_OTHER:
    break;
  }
  switch (in->op) {
  case HD_USER_LLVMICmp:
  case HD_USER_LLVMFCmp:
    return read_compare(r, in);
  case HD_USER_LLVMSelect:
    return read_select(r, in);
  case HD_USER_LLVMPHI:
    return read_phi(r, in);
  case HD_USER_LLVMLoad:
    return read_load(r, in);
  case HD_USER_LLVMGetElementPtr:
    return read_address(r, in);
  case HD_USER_LLVMCall:
    return read_call(r, in);
  case HD_USER_LLVMBr:
    return read_branch(r, in);
  case HD_USER_LLVMSwitch:
    return read_switch(r, in);
  default:
    return read_return(r, in);
  }
}

static heddle_status find_op(hd_user_reader *r, hd_user_op *op) {
  hd_user_word word = hd_user_peek_word(r);
  for (int i = 0; i < HD_N_USER_OPS; i++)
    if (hd_user_word_is(word, hd_user_ops[i].name)) {
      r->at += word.n;
      *op = (hd_user_op)i;
      return HEDDLE_OK;
    }
  return hd_user_refuse_here(
      r, "arithmetic, comparisons, conversions, select, phi, load, getelementptr, calls "
         "of intrinsics, br, switch, ret");
}

heddle_status hd_user_read_instruction(hd_user_reader *r, bool *ended) {
  hd_user_function *f = r->f;
  hd_user_word result = {0};
  if (f->n_instructions == HD_USER_INSTRUCTIONS)
    return hd_user_refuse_count(r, "instructions", HD_USER_INSTRUCTIONS);
  hd_user_instruction *in = &f->instruction[f->n_instructions];
  *in = (hd_user_instruction){.block = {HD_USER_NO_BLOCK, HD_USER_NO_BLOCK}};
  hd_user_skip_spaces(r);
  if (r->at < r->end && *r->at == '%') {
    HD_TRY(hd_user_read_name(r, '%', &result));
    HD_TRY(hd_user_expect(r, '='));
  }
  (void)hd_user_accept_word(r, "tail");
  HD_TRY(find_op(r, &in->op));
  *ended = in->op == HD_USER_LLVMBr || in->op == HD_USER_LLVMSwitch || in->op == HD_USER_LLVMRet;
  if (*ended == (result.n > 0))
    return hd_user_refuse_here(r, "a result of what has one, and of nothing else");
  bool first = f->n_blocks == 0 ? f->n_instructions == 0
                                : f->n_instructions == f->block_end[f->n_blocks - 1];
  bool behind_phi = !first && f->instruction[f->n_instructions - 1].op == HD_USER_LLVMPHI;
  if (in->op == HD_USER_LLVMPHI && (f->n_blocks == 0 || !(first || behind_phi)))
    return hd_user_refuse_here(r, "phis at the beginning of a block that has one before it");
  read_flags(r, in);
  HD_TRY(read_body(r, in));
  f->n_instructions++;
  return result.n
             ? hd_user_define_value(r, result, in->type, HD_USER_ARGUMENTS + f->n_instructions - 1)
             : HEDDLE_OK;
}
