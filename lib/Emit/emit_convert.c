/* Conversion of elements in registers: to D's type (nearest even; 8-bit floats and integers
 * saturate), and from the types of C, bias and scales. */
#include "Emit/emit_strip.h"

/* Types of which one instruction packs two elements into a register; the high half comes first. */
static const struct packing {
  heddle_elem elem;
  const char *intrinsic;
  uint16_t sm;
} packings[] = {
    {HEDDLE_F16, "llvm.nvvm.ff2f16x2.rn", 80},
    {HEDDLE_BF16, "llvm.nvvm.ff2bf16x2.rn", 80},
    {HEDDLE_E4M3, "llvm.nvvm.ff.to.e4m3x2.rn", 89},
    {HEDDLE_E5M2, "llvm.nvvm.ff.to.e5m2x2.rn", 89},
};

static const struct packing *find_packing(heddle_elem elem) {
  for (size_t i = 0; i < HD_COUNT(packings); i++)
    if (packings[i].elem == elem)
      return &packings[i];
  return NULL;
}

bool hd_emit_can_store(const hd_emitter *e, heddle_elem elem) {
  const struct packing *row = find_packing(elem);
  if (row)
    return e->target->sm >= row->sm;
  return elem == HEDDLE_F32 || elem == HEDDLE_S32 || elem == HEDDLE_S8 || elem == HEDDLE_U8;
}

bool hd_emit_can_load(heddle_elem elem) {
  return elem == HEDDLE_F16 || elem == HEDDLE_BF16 || elem == HEDDLE_F32 || elem == HEDDLE_S32 ||
         elem == HEDDLE_S8 || elem == HEDDLE_U8;
}

static LLVMValueRef to_float(hd_emitter *e, LLVMValueRef x) {
  return LLVMTypeOf(x) == e->f32 ? x : LLVMBuildSIToFP(e->b, x, e->f32, "");
}

/* cvt.rni.s32.f32 saturates, and gives 0 for NaN. */
static LLVMValueRef to_integer(hd_emitter *e, LLVMValueRef x) {
  return LLVMTypeOf(x) == e->i32 ? x : hd_emit_intrinsic(e, "llvm.nvvm.f2i.rn", &x, 1);
}

static LLVMValueRef to_byte(hd_emitter *e, heddle_elem elem, LLVMValueRef x) {
  int64_t low = elem == HEDDLE_S8 ? -128 : 0, high = elem == HEDDLE_S8 ? 127 : 255;
  LLVMValueRef v = to_integer(e, x);
  v = hd_emit_max(e, hd_emit_min(e, v, hd_emit_i32(e, high)), hd_emit_i32(e, low));
  return hd_emit_and(e, v, hd_emit_i32(e, 255));
}

static hd_pair pack_bytes(hd_emitter *e, heddle_elem elem, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef high = LLVMBuildShl(e->b, to_byte(e, elem, y), hd_emit_i32(e, 8), "");
  LLVMValueRef both = LLVMBuildOr(e->b, to_byte(e, elem, x), high, "");
  return (hd_pair){{LLVMBuildTrunc(e->b, both, e->i16, "")}, 1};
}

hd_pair hd_emit_pack(hd_emitter *e, heddle_elem elem, LLVMValueRef x, LLVMValueRef y) {
  const struct packing *row = find_packing(elem);
  if (row) {
    LLVMValueRef args[] = {to_float(e, y), to_float(e, x)};
    LLVMValueRef both = hd_emit_intrinsic(e, row->intrinsic, args, 2);
    bool bytes = elem == HEDDLE_E4M3 || elem == HEDDLE_E5M2;
    return (hd_pair){{hd_emit_bitcast(e, both, bytes ? e->i16 : e->i32)}, 1};
  }
  if (elem == HEDDLE_S8 || elem == HEDDLE_U8)
    return pack_bytes(e, elem, x, y);
  if (elem == HEDDLE_S32)
    return (hd_pair){{to_integer(e, x), to_integer(e, y)}, 2};
  return (hd_pair){{hd_emit_bitcast(e, to_float(e, x), e->i32),
                    hd_emit_bitcast(e, to_float(e, y), e->i32)}, 2};
}

LLVMValueRef hd_emit_unpack(hd_emitter *e, heddle_elem elem, hd_pair pair, int j) {
  if (pair.n == 2)
    return pair.v[j];
  unsigned bits = heddle_elem_get(elem)->container_bits;
  LLVMTypeRef word = LLVMTypeOf(pair.v[0]);
  LLVMValueRef shift = LLVMConstInt(word, j * bits, false);
  LLVMValueRef low = j ? LLVMBuildLShr(e->b, pair.v[0], shift, "") : pair.v[0];
  return LLVMBuildTrunc(e->b, low, bits == 16 ? e->i16 : e->i8, "");
}

LLVMValueRef hd_emit_from_bits(hd_emitter *e, heddle_elem elem, LLVMValueRef bits, bool integer) {
  LLVMValueRef v;
  switch (elem) {
  case HEDDLE_F32:
    return hd_emit_bitcast(e, bits, e->f32);
  case HEDDLE_F16:
    return LLVMBuildFPExt(e->b, hd_emit_bitcast(e, bits, e->f16), e->f32, "");
  case HEDDLE_BF16: /* the high half of an f32 */
    v = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, bits, e->i32, ""), hd_emit_i32(e, 16), "");
    return hd_emit_bitcast(e, v, e->f32);
  case HEDDLE_U8:
    v = LLVMBuildZExt(e->b, bits, e->i32, "");
    break;
  default:
    v = LLVMTypeOf(bits) == e->i32 ? bits : LLVMBuildSExt(e->b, bits, e->i32, "");
  }
  return integer ? v : to_float(e, v);
}

/* One instruction converts two 8-bit floats to two 16-bit floats. */
static void widen_pair(hd_emitter *e, heddle_elem elem, LLVMValueRef bits, LLVMValueRef out[2]) {
  const char *name = elem == HEDDLE_E4M3 ? "llvm.nvvm.e4m3x2.to.f16x2.rn"
                                         : "llvm.nvvm.e5m2x2.to.f16x2.rn";
  LLVMValueRef both = hd_emit_bitcast(e, hd_emit_intrinsic(e, name, &bits, 1), e->i32);
  for (int j = 0; j < 2; j++) {
    LLVMValueRef one = hd_emit_unpack(e, HEDDLE_F16, (hd_pair){{both}, 1}, j);
    out[j] = hd_emit_from_bits(e, HEDDLE_F16, one, false);
  }
}

void hd_emit_word_elements(hd_emitter *e, heddle_elem elem, LLVMValueRef word, bool integer,
                           LLVMValueRef *out) {
  unsigned bits = heddle_elem_get(elem)->container_bits;
  bool narrow = elem == HEDDLE_E4M3 || elem == HEDDLE_E5M2;
  for (unsigned i = 0; i < 32 / bits; i++) {
    LLVMValueRef shift = hd_emit_i32(e, i * bits);
    LLVMValueRef low = i ? LLVMBuildLShr(e->b, word, shift, "") : word;
    LLVMTypeRef type = bits == 32 ? e->i32 : bits == 16 || narrow ? e->i16 : e->i8;
    LLVMValueRef own = bits == 32 ? low : LLVMBuildTrunc(e->b, low, type, "");
    if (!narrow)
      out[i] = hd_emit_from_bits(e, elem, own, integer);
    else if (i % 2 == 0)
      widen_pair(e, elem, own, &out[i]);
  }
}

void hd_emit_accumulators(hd_emitter *e, heddle_elem elem, LLVMValueRef const *regs, int32_t n_regs,
                          LLVMValueRef *out) {
  for (int32_t i = 0; i < n_regs; i++) {
    if (elem != HEDDLE_F16) {
      out[i] = regs[i];
      continue;
    }
    for (int j = 0; j < 2; j++) {
      LLVMValueRef bits = hd_emit_unpack(e, elem, (hd_pair){{regs[i]}, 1}, j);
      out[2 * i + j] = hd_emit_from_bits(e, elem, bits, false);
    }
  }
}
