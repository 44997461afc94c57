/* Activations in f32. NaN stays NaN. lib/Reference checks kernels against these relative errors, in
 * half units (2^-24). Each operation adds one, rcp.approx two (1 ulp, PTX ISA rcp), ex2.approx five
 * (2 ulp from the rounded result, PTX ISA ex2):
 *   silu       10   exp 6 (ex2, and the fma that corrects its argument), 1 +, rcp 2, the product
 *   gelu_tanh  10   plus 4 per unit of exp's argument, which is rounded four times
 *   gelu       24   maximum over all floats in [-12.9, 12.9], with rcp off by 1 and ex2 by 2 ulp in
 *                   either direction: 18, from exp, the fit (5), the polynomial's terms and t
 * Measured over [-10, 10]: silu 6; gelu_tanh 6 plus 1 per unit. In gelu an exp that underflows is
 * 0; the others clamp the argument of exp to [-87, 87]. */
#include <string.h>

#include "Emit/emit_strip.h"

static LLVMValueRef real(hd_emitter *e, double value) { return LLVMConstReal(e->f32, value); }

static LLVMValueRef fmul(hd_emitter *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(e->b, a, b, "");
}

static LLVMValueRef two(hd_emitter *e, const char *name, LLVMValueRef a, LLVMValueRef b) {
  return hd_emit_intrinsic_of(e, name, e->f32, (LLVMValueRef[]){a, b}, 2);
}

static LLVMValueRef reciprocal(hd_emitter *e, LLVMValueRef x) {
  return hd_emit_intrinsic(e, "llvm.nvvm.rcp.approx.ftz.f", &x, 1);
}

/* exp(x): log2(e) in two parts, so that large arguments stay accurate. */
static LLVMValueRef exponential(hd_emitter *e, LLVMValueRef x) {
  const double log2e = 1.4426950408889634, high = 1.44269502162933349609375,
               ln2 = 0.6931471805599453;
  LLVMValueRef y = fmul(e, x, real(e, high));
  LLVMValueRef low = hd_emit_fma(e, x, real(e, high), LLVMBuildFNeg(e->b, y, ""));
  low = hd_emit_fma(e, x, real(e, log2e - high), low);
  LLVMValueRef power = hd_emit_intrinsic_of(e, "llvm.nvvm.ex2.approx.ftz", e->f32, &y, 1);
  return hd_emit_fma(e, power, fmul(e, low, real(e, ln2)), power);
}

/* exp(-a^2 / 2): the square and -log2(e) / 2 in two parts each, so that large a stay accurate. */
static LLVMValueRef gaussian(hd_emitter *e, LLVMValueRef a) {
  const double log2e = 1.4426950408889634, high = -0.721347510814666748046875,
               ln2 = 0.6931471805599453;
  LLVMValueRef square = fmul(e, a, a);
  LLVMValueRef rest = hd_emit_fma(e, a, a, LLVMBuildFNeg(e->b, square, ""));
  LLVMValueRef y = fmul(e, square, real(e, high));
  LLVMValueRef low = hd_emit_fma(e, square, real(e, high), LLVMBuildFNeg(e->b, y, ""));
  low = hd_emit_fma(e, square, real(e, -0.5 * log2e - high), low);
  low = hd_emit_fma(e, rest, real(e, high), low);
  LLVMValueRef power = hd_emit_intrinsic_of(e, "llvm.nvvm.ex2.approx.ftz", e->f32, &y, 1);
  return hd_emit_fma(e, power, fmul(e, low, real(e, ln2)), power);
}

/* x / (1 + exp(-v)) */
static LLVMValueRef times_sigmoid(hd_emitter *e, LLVMValueRef x, LLVMValueRef v) {
  v = two(e, "llvm.maxnum", two(e, "llvm.minnum", v, real(e, 87)), real(e, -87));
  LLVMValueRef power = exponential(e, LLVMBuildFNeg(e->b, v, ""));
  return fmul(e, x, reciprocal(e, LLVMBuildFAdd(e->b, power, real(e, 1), "")));
}

static LLVMValueRef relu(hd_emitter *e, LLVMValueRef x) {
  return two(e, "llvm.maximum", x, real(e, 0));
}

static LLVMValueRef silu(hd_emitter *e, LLVMValueRef x) { return times_sigmoid(e, x, x); }

/* (1 + tanh u) / 2 = 1 / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3) */
static LLVMValueRef gelu_tanh(hd_emitter *e, LLVMValueRef x) {
  const double scale = 1.5957691216057308;
  LLVMValueRef inner = hd_emit_fma(e, fmul(e, x, x), real(e, scale * 0.044715), real(e, scale));
  return times_sigmoid(e, x, fmul(e, x, inner));
}

/* x Phi(x) = max(x, 0) - a Phi(-a), a = |x|. Phi(-a) = exp(-a^2/2) P(t), t = 1 / (1 + 0.35 a); P
 * fits the quotient over 0 <= a <= 14 with a relative error of 3.1e-7 (minimax, degree 7). */
static LLVMValueRef gelu(hd_emitter *e, LLVMValueRef x) {
  static const double p[] = {-2.7315491621332597e-05, 0.14027034275865835,  0.13335510151374938,
                             0.1559614702903791,      -0.017023404724241242, 0.24064078559416158,
                             -0.20211926793446713,    0.048942441806740906};
  LLVMValueRef a = hd_emit_intrinsic_of(e, "llvm.fabs", e->f32, &x, 1);
  a = two(e, "llvm.minnum", a, real(e, 14));
  LLVMValueRef t = reciprocal(e, hd_emit_fma(e, a, real(e, 0.35), real(e, 1)));
  LLVMValueRef tail = real(e, p[HD_COUNT(p) - 1]);
  for (size_t i = HD_COUNT(p) - 1; i-- > 0;)
    tail = hd_emit_fma(e, tail, t, real(e, p[i]));
  return hd_emit_fma(e, LLVMBuildFNeg(e->b, a, ""), fmul(e, tail, gaussian(e, a)), relu(e, x));
}

static LLVMValueRef none(hd_emitter *e, LLVMValueRef x) {
  (void)e;
  return x;
}

static const struct activation {
  const char *name;
  LLVMValueRef (*make)(hd_emitter *e, LLVMValueRef x);
} activations[] = {
#define HD_ACTIVATION(kind, name) {#name, name},
#include "Support/activations.def"
#undef HD_ACTIVATION
};

bool hd_emit_is_activation(const char *act) {
  for (size_t i = 0; act && i < HD_COUNT(activations); i++)
    if (strcmp(activations[i].name, act) == 0)
      return true;
  return false;
}

LLVMValueRef hd_emit_activation(hd_emitter *e, const char *act, LLVMValueRef x) {
  for (size_t i = 0; i < HD_COUNT(activations); i++)
    if (strcmp(activations[i].name, act) == 0)
      return activations[i].make(e, x);
  return x;
}
