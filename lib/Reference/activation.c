#include <math.h>
#include <string.h>

#include "Reference/reference.h"

heddle_status hd_act_parse(const char *name, hd_act *act) {
  for (int i = 0; i < HD_N_ACTS; i++) {
    if (strcmp(name, hd_act_name(i)) == 0) {
      *act = (hd_act)i;
      return HEDDLE_OK;
    }
  }
  return HEDDLE_NOT_FOUND;
}

/* 2u, u = sqrt(2 / pi) (x + 0.044715 x^3). */
static double twice_u(double x) {
  return 1.59576912160573071176 * (x + 0.044715 * x * x * x);
}

double hd_act_apply(hd_act act, double x) {
  switch (act) {
  case HD_ACT_NONE:
    return x;
  case HD_ACT_RELU:
    return x > 0 || isnan(x) ? x : 0.0;
  case HD_ACT_GELU:
    return 0.5 * x * erfc(-x * 0.70710678118654752440);
  case HD_ACT_GELU_TANH:
    return x / (1 + exp(-twice_u(x))); /* accurate also where 1 + tanh(u) is small */
  case HD_ACT_SILU:
    return x / (1 + exp(-x));
  case HD_N_ACTS:
    break;
  }
  return x;
}

/* The magnitude of exp's argument in the activation of x, at least 1 and at most `most`. */
static double exponent(hd_act act, double x, double most) {
  double of = act == HD_ACT_SILU ? -x : act == HD_ACT_GELU ? 0.5 * x * x : -twice_u(x);
  return fmin(fmax(of, 1), most);
}

/* The relative error bound if no exponential underflows, as derived in emit_activation.c. */
static double relative_error(hd_act act, bool coarse, double x) {
  const double half_unit = 0x1p-24, argument = exponent(act, x, 87);
  const double more = coarse ? 2 + 3 * argument : 0;
  switch (act) {
  case HD_ACT_NONE:
  case HD_ACT_RELU:
    return 0;
  case HD_ACT_GELU:
    return (24 + (coarse ? 214 : 0) + more) * half_unit;
  case HD_ACT_GELU_TANH:
    return (10 + 4 * argument + more) * half_unit;
  case HD_ACT_SILU:
    return (10 + more) * half_unit;
  case HD_N_ACTS:
    break;
  }
  return 0;
}

static bool is_smooth(hd_act act) {
  return act != HD_ACT_NONE && act != HD_ACT_RELU;
}

/* The error bound of a correct kernel for act(x) with an exact x, before rounding to D's type. */
static double error_of(hd_act act, bool coarse, double x) {
  /* The least factor of x, exp(-87) or 2^-62. Below it factors are not accurate. */
  const double least = coarse && act != HD_ACT_GELU ? 0x1p-61 : 0x1p-125;
  if (!is_smooth(act))
    return 0;
  return relative_error(act, coarse, x) * fabs(hd_act_apply(act, x)) + least * (fabs(x) + 1);
}

/* The root mean square of the finite values. */
static double size_of(size_t n, const double *values) {
  double squares = 0, n_finite = 0;
  for (size_t i = 0; i < n; i++)
    if (isfinite(values[i])) {
      squares += values[i] * values[i];
      n_finite++;
    }
  return n_finite ? sqrt(squares / n_finite) : 0;
}

void hd_act_apply_pairs(hd_act act, heddle_elem d, double bound, size_t n, double *gate,
                        const double *up, double *slack) {
  const double rounding = 0x1p-24, tiny = is_smooth(act) ? 0x1p-149 : 0; /* accepts +0 and -0 */
  double gate_size = size_of(n, gate), up_size = size_of(n, up);
  for (size_t i = 0; i < n; i++) {
    double x = gate[i], y = hd_act_apply(act, x);
    double off_x = bound * (fabs(x) + gate_size), off_up = bound * (fabs(up[i]) + up_size);
    double above = hd_act_apply(act, x + off_x), below = hd_act_apply(act, x - off_x);
    double off_y = error_of(act, hd_act_is_coarse(d), x) + fmax(fabs(above - y), fabs(below - y));
    gate[i] = y * up[i];
    slack[i] = off_y * (fabs(up[i]) + off_up) + fabs(y) * off_up + rounding * fabs(gate[i]) + tiny;
  }
}

void hd_act_apply_all(hd_act act, heddle_elem d, double bound, size_t n, double *values,
                      double *slack) {
  double size = size_of(n, values);
  for (size_t i = 0; i < n; i++) {
    double x = values[i], off = bound * (fabs(x) + size), y = hd_act_apply(act, x);
    values[i] = y;
    slack[i] = 0;
    if (!is_smooth(act))
      continue;
    double above = hd_act_apply(act, x + off), below = hd_act_apply(act, x - off);
    slack[i] = error_of(act, hd_act_is_coarse(d), x) + fmax(fabs(above - y), fabs(below - y));
  }
}
