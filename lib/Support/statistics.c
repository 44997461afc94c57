#include "Support/statistics.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

void hd_sort(double *values, int n) {
  qsort(values, (size_t)n, sizeof *values, ascending);
}

double hd_median(double *values, int n) {
  if (n == 0)
    return NAN;
  hd_sort(values, n);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double hd_sign_test(const double *x, const double *y, int n) {
  int wins = 0, decided = 0;
  for (int i = 0; i < n; i++) {
    wins += x[i] < y[i];
    decided += x[i] != y[i];
  }
  double chance = 0, term = pow(0.5, decided); /* for k = 0 wins; the next term is times (n - k) /
                                                  (k + 1) */
  for (int k = 0; k <= decided; k++) {
    if (k >= wins)
      chance += term;
    term *= (double)(decided - k) / (k + 1);
  }
  return chance;
}
