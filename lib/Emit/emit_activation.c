/* Activations of two elements, in f32. NaN stays NaN. lib/Reference checks kernels against these
 * relative errors, in half units (2^-24). Each operation adds one, rcp.approx two (1 ulp, PTX
 * ISA rcp), ex2.approx five (2 ulp from the rounded result, PTX ISA ex2):
 *   silu       10   exp 6 (ex2, and the fma that corrects its argument), 1 +, rcp 2, the product
 *   gelu_tanh  10   plus 4 per unit of exp's argument, which is rounded four times
 *   gelu       24   maximum over all floats in [-12.9, 12.9], with rcp off by 1 and ex2 by 2 ulp in
 *                   either direction: 18, from exp, the fit (5), the polynomial's terms and t
 * Measured over [-10, 10]: silu 6; gelu_tanh 6 plus 1 per unit. In gelu an exp that underflows is
 * 0; the others clamp the argument of exp to [-87, 87].
 *
 * If D has 16 bits or less (`coarse`), less is computed. The argument of exp is not corrected,
 * which adds 3 per unit (its product with log2(e), which is rounded too). It is at most 62 ln 2.
 * Two elements share a reciprocal, which adds 2 (two products more). The polynomial of gelu is
 * shorter, which adds 214. */
#include <string.h>

#include "Emit/emit_strip.h"

static const double log2e = 1.4426950408889634;

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

static LLVMValueRef power_of_2(hd_emitter *e, LLVMValueRef x) {
  return hd_emit_intrinsic_of(e, "llvm.nvvm.ex2.approx.ftz", e->f32, &x, 1);
}

/* 1 / x of both. coarse: by one rcp, so their product must be finite, and its reciprocal normal. */
static void reciprocals(hd_emitter *e, bool coarse, LLVMValueRef x[2]) {
  LLVMValueRef first = x[0];
  if (coarse) {
    LLVMValueRef of_both = reciprocal(e, fmul(e, x[0], x[1]));
    x[0] = fmul(e, x[1], of_both);
    x[1] = fmul(e, first, of_both);
  } else {
    x[0] = reciprocal(e, x[0]);
    x[1] = reciprocal(e, x[1]);
  }
}

/* exp(x): log2(e) in two parts, so that large arguments stay accurate. */
static LLVMValueRef exponential(hd_emitter *e, LLVMValueRef x) {
  const double high = 1.44269502162933349609375, ln2 = 0.6931471805599453;
  LLVMValueRef y = fmul(e, x, real(e, high));
  LLVMValueRef low = hd_emit_fma(e, x, real(e, high), LLVMBuildFNeg(e->b, y, ""));
  low = hd_emit_fma(e, x, real(e, log2e - high), low);
  LLVMValueRef power = power_of_2(e, y);
  return hd_emit_fma(e, power, fmul(e, low, real(e, ln2)), power);
}

/* exp(-a^2 / 2): the square and -log2(e) / 2 in two parts each, so that large a stay accurate. */
static LLVMValueRef gaussian(hd_emitter *e, bool coarse, LLVMValueRef a) {
  const double high = -0.721347510814666748046875, ln2 = 0.6931471805599453;
  if (coarse)
    return power_of_2(e, fmul(e, a, fmul(e, a, real(e, -0.5 * log2e))));
  LLVMValueRef square = fmul(e, a, a);
  LLVMValueRef rest = hd_emit_fma(e, a, a, LLVMBuildFNeg(e->b, square, ""));
  LLVMValueRef y = fmul(e, square, real(e, high));
  LLVMValueRef low = hd_emit_fma(e, square, real(e, high), LLVMBuildFNeg(e->b, y, ""));
  low = hd_emit_fma(e, square, real(e, -0.5 * log2e - high), low);
  low = hd_emit_fma(e, rest, real(e, high), low);
  LLVMValueRef power = power_of_2(e, y);
  return hd_emit_fma(e, power, fmul(e, low, real(e, ln2)), power);
}

/* What sigmoid's argument is multiplied by. */
static double unit(bool coarse) { return coarse ? -log2e : 1; }

/* exp(-v / unit) */
static LLVMValueRef falling(hd_emitter *e, bool coarse, LLVMValueRef v) {
  if (coarse)
    return power_of_2(e, two(e, "llvm.minnum", v, real(e, 62)));
  v = two(e, "llvm.maxnum", two(e, "llvm.minnum", v, real(e, 87)), real(e, -87));
  return exponential(e, LLVMBuildFNeg(e->b, v, ""));
}

/* x = x / (1 + exp(-v / unit)) */
static void times_sigmoid(hd_emitter *e, bool coarse, LLVMValueRef x[2], const LLVMValueRef v[2]) {
  LLVMValueRef part[2];
  for (int i = 0; i < 2; i++)
    part[i] = LLVMBuildFAdd(e->b, falling(e, coarse, v[i]), real(e, 1), "");
  reciprocals(e, coarse, part);
  for (int i = 0; i < 2; i++)
    x[i] = fmul(e, x[i], part[i]);
}

static void none(hd_emitter *e, bool coarse, LLVMValueRef x[2]) {
  (void)e, (void)coarse, (void)x;
}

static void relu(hd_emitter *e, bool coarse, LLVMValueRef x[2]) {
  (void)coarse;
  for (int i = 0; i < 2; i++)
    x[i] = two(e, "llvm.maximum", x[i], real(e, 0));
}

static void silu(hd_emitter *e, bool coarse, LLVMValueRef x[2]) {
  LLVMValueRef v[2] = {x[0], x[1]};
  for (int i = 0; coarse && i < 2; i++)
    v[i] = fmul(e, x[i], real(e, unit(coarse)));
  times_sigmoid(e, coarse, x, v);
}

/* (1 + tanh u) / 2 = 1 / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3) */
static void gelu_tanh(hd_emitter *e, bool coarse, LLVMValueRef x[2]) {
  const double scale = 1.5957691216057308 * unit(coarse);
  LLVMValueRef v[2];
  for (int i = 0; i < 2; i++) {
    LLVMValueRef square = fmul(e, x[i], x[i]);
    v[i] = fmul(e, x[i], hd_emit_fma(e, square, real(e, scale * 0.044715), real(e, scale)));
  }
  times_sigmoid(e, coarse, x, v);
}

/* P(t), t = 1 / (1 + slope a), fits Phi(-a) exp(a^2 / 2) over 0 <= a <= 14 (minimax). */
typedef struct tail_fit {
  double slope;
  int degree;
  double p[8]; /* p[i] t^i */
} tail_fit;

static const tail_fit fine_tail = /* relative error 3.1e-7 */
    {0.35,
     7,
     {-2.7315491621332597e-05, 0.14027034275865835, 0.13335510151374938, 0.1559614702903791,
      -0.017023404724241242, 0.24064078559416158, -0.20211926793446713, 0.048942441806740906}};
static const tail_fit coarse_tail = /* relative error 1.28e-5 */
    {0.36,
     5,
     {0.00019129167577926844, 0.14012392990311928, 0.16869710331813106, 0.03511218337863283,
      0.2543928302801834, -0.09851801792778139}};

/* x Phi(x) = max(x, 0) - a Phi(-a), a = |x|. */
static void gelu(hd_emitter *e, bool coarse, LLVMValueRef x[2]) {
  const tail_fit *fit = coarse ? &coarse_tail : &fine_tail;
  LLVMValueRef a[2], t[2];
  for (int i = 0; i < 2; i++) {
    a[i] = hd_emit_intrinsic_of(e, "llvm.fabs", e->f32, &x[i], 1);
    a[i] = two(e, "llvm.minnum", a[i], real(e, 14));
    t[i] = hd_emit_fma(e, a[i], real(e, fit->slope), real(e, 1));
  }
  reciprocals(e, coarse, t);
  relu(e, coarse, x);
  for (int i = 0; i < 2; i++) {
    LLVMValueRef tail = real(e, fit->p[fit->degree]);
    for (int d = fit->degree; d-- > 0;)
      tail = hd_emit_fma(e, tail, t[i], real(e, fit->p[d]));
    tail = fmul(e, tail, gaussian(e, coarse, a[i]));
    x[i] = hd_emit_fma(e, LLVMBuildFNeg(e->b, a[i], ""), tail, x[i]);
  }
}

static const struct activation {
  const char *name;
  void (*apply)(hd_emitter *e, bool coarse, LLVMValueRef x[2]);
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

void hd_emit_activation(hd_emitter *e, const char *act, bool coarse, LLVMValueRef x[2]) {
  for (size_t i = 0; i < HD_COUNT(activations); i++)
    if (strcmp(activations[i].name, act) == 0)
      activations[i].apply(e, coarse, x);
}
