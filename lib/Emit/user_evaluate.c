/* Evaluates the user's epilogue on the host. Floating-point values are doubles; integers are
 * sign-extended to 64 bits. */
#include <math.h>
#include <string.h>

#include <llvm-c/Core.h>

#include "Emit/user_words.h"
#include "Support/convert.h"
#include "Support/diag.h"


typedef union value {
  double f;
  int64_t i;
} value;

/* An address encodes a memory (0: none, 1: the user's, 2 and up: a table) and an offset in it. */
enum { SPACE_SHIFT = 48, USER_SPACE = 1, FIRST_TABLE = 2 };
static int64_t address_in(int64_t space, int64_t offset) {
  return (space << SPACE_SHIFT) + offset;
}

typedef struct run {
  const hd_user_function *f;
  hd_user_memory *memory;
  value of[HD_USER_ARGUMENTS + HD_USER_INSTRUCTIONS];
} run;

static value read_value(const run *r, const hd_user_operand *o) {
  switch (o->kind) {
  case HD_USER_VALUE:
    return r->of[o->index];
  case HD_USER_INT:
    return (value){.i = o->i};
  case HD_USER_REAL:
    return (value){.f = o->f};
  case HD_USER_TABLE:
    return (value){.i = address_in(FIRST_TABLE + o->index, 0)};
  default:
    return (value){0};
  }
}

/* ---- integers ---- */

static int64_t wrap(int64_t x, unsigned width) {
  unsigned unused = 64 - width;
  return (int64_t)((uint64_t)x << unused) >> unused;
}

static uint64_t zero_extended(int64_t x, unsigned width) {
  return (uint64_t)x << (64 - width) >> (64 - width);
}

static int64_t divide(hd_user_op op, int64_t a, int64_t b, unsigned width) {
  uint64_t ua = zero_extended(a, width), ub = zero_extended(b, width);
  bool sign = op == HD_USER_LLVMSDiv || op == HD_USER_LLVMSRem;
  if (!b || (b == -1 && sign))
    return !b || op == HD_USER_LLVMSRem ? 0 : (int64_t)(0 - (uint64_t)a);
  switch (op) {
  case HD_USER_LLVMUDiv:
    return (int64_t)(ua / ub);
  case HD_USER_LLVMURem:
    return (int64_t)(ua % ub);
  case HD_USER_LLVMSDiv:
    return a / b;
  default:
    return a % b;
  }
}

static int64_t integer_op(hd_user_op op, int64_t a, int64_t b, unsigned width) {
  uint64_t ua = (uint64_t)a, ub = (uint64_t)b, shift = zero_extended(b, width) & 63;
  switch (op) {
  case HD_USER_LLVMAdd:
    return (int64_t)(ua + ub);
  case HD_USER_LLVMSub:
    return (int64_t)(ua - ub);
  case HD_USER_LLVMMul:
    return (int64_t)(ua * ub);
  case HD_USER_LLVMAnd:
    return a & b;
  case HD_USER_LLVMOr:
    return a | b;
  case HD_USER_LLVMXor:
    return a ^ b;
  case HD_USER_LLVMShl:
    return (int64_t)(ua << shift);
  case HD_USER_LLVMLShr:
    return (int64_t)(zero_extended(a, width) >> shift);
  case HD_USER_LLVMAShr:
    return a >> shift;
  default:
    return divide(op, a, b, width);
  }
}

static bool compare_integers(LLVMIntPredicate predicate, int64_t a, int64_t b, unsigned width) {
  uint64_t ua = zero_extended(a, width), ub = zero_extended(b, width);
  switch (predicate) {
  case LLVMIntEQ:
    return a == b;
  case LLVMIntNE:
    return a != b;
  case LLVMIntUGT:
    return ua > ub;
  case LLVMIntUGE:
    return ua >= ub;
  case LLVMIntULT:
    return ua < ub;
  case LLVMIntULE:
    return ua <= ub;
  case LLVMIntSGT:
    return a > b;
  case LLVMIntSGE:
    return a >= b;
  case LLVMIntSLT:
    return a < b;
  default:
    return a <= b;
  }
}

/* ---- floating point ---- */

static double float_op(hd_user_op op, double a, double b) {
  switch (op) {
  case HD_USER_LLVMFAdd:
    return a + b;
  case HD_USER_LLVMFSub:
    return a - b;
  case HD_USER_LLVMFMul:
    return a * b;
  default:
    return a / b;
  }
}

/* Predicates are bit sets: 1 equal, 2 greater, 4 less, 8 unordered. */
static bool compare_floats(unsigned predicate, double a, double b) {
  unsigned is = isnan(a) || isnan(b) ? 8 : a == b ? 1 : a > b ? 2 : 4;
  return (predicate & is) != 0;
}

/* minimum and maximum of IEEE 754-2019. They propagate NaN; fmin and fmax do not. */
static double minimum(double a, double b) {
  return isnan(a) || isnan(b) ? NAN : fmin(a, b);
}
static double maximum(double a, double b) {
  return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

static value call_op(const hd_user_call_info *call, value a, value b, value c) {
  unsigned width = hd_user_is_int(call->type) ? call->type : 64;
  bool less = a.i < b.i, below = zero_extended(a.i, width) < zero_extended(b.i, width);
  switch (call->math) {
  case HD_USER_MATH_FMA:
    return (value){.f = fma(a.f, b.f, c.f)};
  case HD_USER_MATH_FABS:
    return (value){.f = fabs(a.f)};
  case HD_USER_MATH_MINNUM:
    return (value){.f = fmin(a.f, b.f)};
  case HD_USER_MATH_MAXNUM:
    return (value){.f = fmax(a.f, b.f)};
  case HD_USER_MATH_MINIMUM:
    return (value){.f = minimum(a.f, b.f)};
  case HD_USER_MATH_MAXIMUM:
    return (value){.f = maximum(a.f, b.f)};
  case HD_USER_MATH_SQRT:
    return (value){.f = sqrt(a.f)};
  case HD_USER_MATH_FLOOR:
    return (value){.f = floor(a.f)};
  case HD_USER_MATH_CEIL:
    return (value){.f = ceil(a.f)};
  case HD_USER_MATH_TRUNC:
    return (value){.f = trunc(a.f)};
  case HD_USER_MATH_ROUND:
    return (value){.f = rint(a.f)};
  case HD_USER_MATH_COPYSIGN:
    return (value){.f = copysign(a.f, b.f)};
  case HD_USER_MATH_EXP2:
    return (value){.f = exp2(a.f)};
  case HD_USER_MATH_LOG2:
    return (value){.f = log2(a.f)};
  case HD_USER_MATH_TANH:
    return (value){.f = tanh(a.f)};
  case HD_USER_MATH_RCP:
    return (value){.f = 1 / a.f};
  case HD_USER_MATH_RSQRT:
    return (value){.f = 1 / sqrt(a.f)};
  case HD_USER_MATH_SIN:
    return (value){.f = sin(a.f)};
  case HD_USER_MATH_COS:
    return (value){.f = cos(a.f)};
  case HD_USER_MATH_SMIN:
    return less ? a : b;
  case HD_USER_MATH_SMAX:
    return less ? b : a;
  case HD_USER_MATH_UMIN:
    return below ? a : b;
  case HD_USER_MATH_UMAX:
    return below ? b : a;
  case HD_USER_MATH_ABS:
    return (value){.i = wrap(a.i < 0 ? (int64_t)(0 - (uint64_t)a.i) : a.i, width)};
  }
  return (value){.f = NAN};
}

/* ---- bits ---- */

static value from_bits(uint64_t bits, hd_user_type type) {
  uint32_t low = (uint32_t)bits;
  float single;
  value x = {.i = (int64_t)bits}; /* also the bits of a double */
  if (type == HD_USER_FLOAT) {
    memcpy(&single, &low, sizeof single);
    x.f = single;
  } else if (type == HD_USER_HALF || type == HD_USER_BFLOAT) {
    x.f = hd_elem_to_double(type == HD_USER_HALF ? HEDDLE_F16 : HEDDLE_BF16, low & 0xffff);
  } else if (hd_user_is_int(type)) {
    x.i = wrap((int64_t)bits, type);
  }
  return x;
}

static uint64_t to_bits(value x, hd_user_type type) {
  float single = (float)x.f;
  uint32_t low;
  memcpy(&low, &single, sizeof low);
  if (type == HD_USER_FLOAT)
    return low;
  if (type == HD_USER_HALF || type == HD_USER_BFLOAT)
    return hd_elem_from_double(type == HD_USER_HALF ? HEDDLE_F16 : HEDDLE_BF16, x.f);
  return (uint64_t)x.i; /* also the bits of a double */
}

/* ---- one instruction ---- */

static value cast_op(const hd_user_instruction *in, value x) {
  hd_user_type from = in->operand[0].type;
  switch (in->op) {
  case HD_USER_LLVMZExt:
    return (value){.i = (int64_t)zero_extended(x.i, from)};
  case HD_USER_LLVMTrunc:
    return (value){.i = wrap(x.i, in->type)};
  case HD_USER_LLVMSIToFP:
    return (value){.f = (double)x.i};
  case HD_USER_LLVMUIToFP:
    return (value){.f = (double)zero_extended(x.i, from)};
  case HD_USER_LLVMFPToSI:
    return (value){.i = fabs(x.f) < 0x1p63 ? wrap((int64_t)x.f, in->type) : 0};
  case HD_USER_LLVMFPToUI:
    return (value){.i = x.f >= 0 && x.f < 0x1p64 ? wrap((int64_t)(uint64_t)x.f, in->type) : 0};
  case HD_USER_LLVMBitCast:
    return from_bits(to_bits(x, from), in->type);
  default:
    return x; /* sext, fpext, fptrunc, freeze: the value is unchanged */
  }
}

/* An i1. Sign-extended, true is -1. */
static value truth(bool is) {
  return (value){.i = -(int64_t)is};
}

/* ---- memory ---- */

static int bytes_of(hd_user_type type) {
  return hd_user_is_ptr(type) ? 8 : hd_user_memory_bits(type) / 8;
}

static value load(const run *r, int64_t address, hd_user_type type) {
  int64_t space = (address + (INT64_C(1) << (SPACE_SHIFT - 1))) >> SPACE_SHIFT;
  int64_t at = address - address_in(space, 0), n = bytes_of(type);
  const uint8_t *data = NULL;
  int64_t n_bytes = 0;
  if (space == USER_SPACE && r->memory) {
    data = r->memory->data;
    n_bytes = (int64_t)r->memory->n_bytes;
  } else if (space >= FIRST_TABLE && space < FIRST_TABLE + r->f->n_tables) {
    const hd_user_table *table = &r->f->table[space - FIRST_TABLE];
    data = r->f->table_bytes + table->first_byte;
    n_bytes = table->n_bytes;
  }
  if (at < 0 || at + n > n_bytes) {
    if (r->memory && !r->memory->is_outside) {
      r->memory->is_outside = true;
      r->memory->outside = at;
    }
    return hd_user_is_int(type) ? (value){0} : (value){.f = NAN};
  }
  uint64_t bits = 0;
  for (int64_t i = 0; i < n; i++)
    bits |= (uint64_t)data[at + i] << 8 * i;
  return from_bits(bits, type);
}

static value evaluate(const run *r, const hd_user_instruction *in) {
  value a = read_value(r, &in->operand[0]), b = read_value(r, &in->operand[1]);
  switch (hd_user_ops[in->op].class) {
  case HD_USER_INTEGERS:
    return (value){.i = wrap(integer_op(in->op, a.i, b.i, in->type), in->type)};
  case HD_USER_FLOATS:
    return (value){.f = float_op(in->op, a.f, b.f)};
  case HD_USER_ONE_FLOAT:
    return (value){.f = -a.f};
  case HD_USER_SAME:
  case HD_USER_CAST:
    return cast_op(in, a);
  case HD_USER_OTHER:
    break;
  }
  switch (in->op) {
  case HD_USER_LLVMFCmp:
    return truth(compare_floats(in->predicate, a.f, b.f));
  case HD_USER_LLVMICmp:
    return truth(compare_integers((LLVMIntPredicate)in->predicate, a.i, b.i, in->operand[0].type));
  case HD_USER_LLVMSelect:
    return a.i & 1 ? b : read_value(r, &in->operand[2]);
  case HD_USER_LLVMGetElementPtr:
    return (value){.i = a.i + b.i * bytes_of(in->element)};
  case HD_USER_LLVMLoad:
    return load(r, a.i, in->type);
  case HD_USER_LLVMCall:
    return call_op(&hd_user_calls[in->call], a, b, read_value(r, &in->operand[2]));
  default:
    return (value){.f = NAN};
  }
}

/* ---- blocks ---- */

/* Phis read only values from earlier blocks, so no phi reads the new value of another. */
static value choose(const run *r, const hd_user_instruction *phi, int32_t from) {
  const hd_user_edge *edge = &r->f->edge[phi->first_edge];
  for (int32_t i = 0; i < phi->n_edges; i++)
    if (edge[i].block == from)
      return read_value(r, &edge[i].value);
  return (value){.f = NAN};
}

static int32_t next_block(const run *r, const hd_user_instruction *end) {
  value a = read_value(r, &end->operand[0]);
  if (end->op == HD_USER_LLVMBr)
    return end->block[1] < 0 || a.i & 1 ? end->block[0] : end->block[1];
  const hd_user_edge *edge = &r->f->edge[end->first_edge];
  for (int32_t i = 0; i < end->n_edges; i++)
    if (edge[i].value.i == a.i)
      return edge[i].block;
  return end->block[0];
}

double hd_user_call(const hd_user_function *f, hd_user_memory *memory, double acc, double up,
                    int32_t row, int32_t col) {
  run r = {.f = f, .memory = memory};
  r.of[HD_USER_ACC] = f->integer ? (value){.i = (int64_t)acc} : (value){.f = acc};
  r.of[HD_USER_UP] = f->integer ? (value){.i = (int64_t)up} : (value){.f = up};
  r.of[HD_USER_ROW].i = row;
  r.of[HD_USER_COL].i = col;
  r.of[HD_USER_POINTER].i = address_in(USER_SPACE, 0);
  for (int32_t block = 0, from = -1;;) {
    int32_t i = block ? f->block_end[block - 1] : 0, last = f->block_end[block] - 1;
    for (; i < last; i++) {
      const hd_user_instruction *in = &f->instruction[i];
      r.of[HD_USER_ARGUMENTS + i] =
          in->op == HD_USER_LLVMPHI ? choose(&r, in, from) : evaluate(&r, in);
    }
    if (f->instruction[last].op == HD_USER_LLVMRet)
      return read_value(&r, &f->instruction[last].operand[0]).f;
    from = block;
    block = next_block(&r, &f->instruction[last]); /* a later block, so the loop ends */
  }
}

heddle_status hd_user_check_evaluated(heddle_context *ctx, const hd_user_function *f) {
  for (int32_t i = 0; i < f->n_instructions; i++) {
    const hd_user_instruction *in = &f->instruction[i];
    if ((in->op == HD_USER_LLVMLoad && hd_user_is_ptr(in->type)) ||
        (in->op == HD_USER_LLVMICmp && hd_user_is_ptr(in->operand[0].type)))
      return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.evaluate",
                      "the user function has %s, which the host cannot evaluate for the "
                      "comparison; legal: arithmetic of numbers, loads of them",
                      hd_user_ops[in->op].name);
  }
  return HEDDLE_OK;
}
