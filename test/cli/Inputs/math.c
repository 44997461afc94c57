#include <math.h>

/* Mish in odd columns, exact GELU in even ones, and other functions that an epilogue may call. */
float hard_swish(float x, int row, int column, const void *user) {
  (void)row, (void)user;
  float mish = x * tanhf(log1pf(expf(fminf(x, 20.0f))));
  float gelu = 0.5f * x * (1.0f + erff(x * 0.70710678f));
  float other = sqrtf(fabsf(x)) + logf(1.0f + x * x) + exp2f(-fabsf(x)) + fmaxf(cosf(x), 0.0f);
  return column % 2 ? mish + other : gelu - other;
}
