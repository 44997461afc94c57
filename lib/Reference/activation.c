#include <math.h>
#include <string.h>

#include "Reference/reference.h"

/* ORDER ACT: the order of hd_act. */
static const char *const names[] = {"none", "relu", "gelu", "gelu_tanh", "silu"};

heddle_status hd_act_parse(const char *name, hd_act *act) {
  for (int i = HD_ACT_NONE; i <= HD_ACT_SILU; i++) {
    if (strcmp(name, names[i]) == 0) {
      *act = (hd_act)i;
      return HEDDLE_OK;
    }
  }
  return HEDDLE_NOT_FOUND;
}

/* 1 + tanh(u) = 2 / (1 + exp(-2u)), which keeps its digits where it is small. */
static double gelu_tanh(double x) {
  const double sqrt_2_over_pi = 0.79788456080286535588;
  return x / (1 + exp(-2 * sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
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
    return gelu_tanh(x);
  case HD_ACT_SILU:
    return x / (1 + exp(-x));
  }
  return x;
}
