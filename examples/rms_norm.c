/* RMSNorm between two products, with two launches and no kernel between them.
 *
 *   residual   H = W_o X + R                rms_norm_residual.heddle: also the sums of squares of H
 *   norm       Y = W diag(g) RMSNorm(H)     rms_norm.heddle: reads H and the sums directly
 *
 * `rms_norm RESIDUAL.heddle NORM.heddle` runs it on the GPU, or without a GPU in the simulator, and
 * compares it with double precision. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "heddle/convert.h"
#include "product.h"

enum { TOKENS = 16, INPUT = 128, MODEL = 256, OUTPUT = 128 };
enum { ROWS = 128, SUMS = MODEL / ROWS /* per token */ };
static const float EPS = 1e-5f, SMALL = 1.0f / 1024; /* tokens so small that eps matters */

/* ---- matrices of bf16, row-major ---- */

typedef struct matrix {
  size_t rows, columns;
  uint16_t *bf16;
} matrix;

static size_t bytes_of(const matrix *q) { return q->rows * q->columns * sizeof *q->bf16; }

static weights weights_of(const matrix *q) {
  return (weights){HEDDLE_BF16, 1, q->rows, q->columns, q->bf16};
}

static double at(const matrix *q, size_t row, size_t column) {
  float x;
  must(heddle_elem_to_f32(HEDDLE_BF16, 1, q->bf16 + row * q->columns + column, &x));
  return (double)x;
}

/* Random elements of up to `size`, times the factor of their column. */
static matrix make(size_t rows, size_t columns, float size, const float *factors) {
  size_t n = rows * columns;
  matrix q = {rows, columns, malloc(n * sizeof *q.bf16)};
  float *x = malloc(n * sizeof *x);
  for (size_t i = 0; i < n; i++)
    x[i] = size * (float)(rand() % 2001 - 1000) / 1000 * (factors ? factors[i % columns] : 1);
  must(heddle_elem_from_f32(HEDDLE_BF16, n, x, q.bf16));
  free(x);
  return q;
}

/* ---- the reference ---- */

/* A token of H before it is rounded. Returns the number of wrong sums of squares. */
static int residual_of(const matrix *w, const matrix *x, const matrix *r, const float *sums,
                       size_t token, double h[MODEL]) {
  double expected[SUMS] = {0};
  int wrong = 0;
  for (size_t i = 0; i < MODEL; i++) {
    h[i] = at(r, token, i);
    for (size_t k = 0; k < INPUT; k++)
      h[i] += at(w, i, k) * at(x, token, k);
    expected[i / ROWS] += h[i] * h[i];
  }
  for (size_t i = 0; i < SUMS; i++)
    wrong += !(fabs((double)sums[i * TOKENS + token] - expected[i]) <= 1e-5 * expected[i]);
  return wrong;
}

/* The root mean square of the errors of Y, relative to that of its results. */
static double error_of(const matrix *w, const double h[TOKENS][MODEL], const matrix *y) {
  double errors = 0, squares = 0;
  for (size_t j = 0; j < TOKENS; j++) {
    double mean = 0;
    for (size_t k = 0; k < MODEL; k++)
      mean += h[j][k] * h[j][k] / MODEL;
    for (size_t i = 0; i < OUTPUT; i++) {
      double sum = 0;
      for (size_t k = 0; k < MODEL; k++)
        sum += at(w, i, k) * h[j][k] / sqrt(mean + (double)EPS);
      errors += pow(at(y, j, i) - sum, 2);
      squares += sum * sum;
    }
  }
  return sqrt(errors / squares);
}

int main(int argc, char **argv) {
  static double expected[TOKENS][MODEL];
  static float sums[SUMS * TOKENS], gamma[MODEL];
  const double bound = 0.01; /* bf16 rounds H and Y by at most 1/256 each */
  if (argc != 3)
    return fprintf(stderr, "usage: rms_norm RESIDUAL.heddle NORM.heddle\n"), 2;
  product_open();
  for (size_t i = 0; i < MODEL; i++)
    gamma[i] = 0.5f + (float)(rand() % 1000) / 1000;
  matrix w_o = make(MODEL, INPUT, 1, NULL), w = make(OUTPUT, MODEL, 1, gamma);
  matrix x = make(TOKENS, INPUT, SMALL, NULL), r = make(TOKENS, MODEL, SMALL, NULL);
  matrix h = make(TOKENS, MODEL, 0, NULL), y = make(TOKENS, OUTPUT, 0, NULL);
  const operand of_residual[] = {number("n", TOKENS),
                                 memory("b", x.bf16, bytes_of(&x)),
                                 memory("c", r.bf16, bytes_of(&r)),
                                 memory("d", h.bf16, bytes_of(&h)),
                                 memory("scale_d", sums, sizeof sums),
                                 number("ldb", INPUT),
                                 number("ldc", MODEL),
                                 number("ldd", MODEL),
                                 number("ldsd", TOKENS)};
  const operand of_norm[] = {number("n", TOKENS), real("eps", EPS),
                             memory("b", h.bf16, bytes_of(&h)),
                             memory("d", y.bf16, bytes_of(&y)),
                             memory("scale_b", sums, sizeof sums),
                             number("ldb", MODEL),
                             number("ldd", OUTPUT),
                             number("ldsb", TOKENS)};
  const weights first = weights_of(&w_o), second = weights_of(&w);
  product_run(argv[1], &first, of_residual, sizeof of_residual / sizeof *of_residual);
  product_run(argv[2], &second, of_norm, sizeof of_norm / sizeof *of_norm);
  int wrong = 0;
  for (size_t j = 0; j < TOKENS; j++)
    wrong += residual_of(&w_o, &x, &r, sums, j, expected[j]);
  double error = error_of(&w, expected, &y);
  printf("%s: %d of %d sums wrong, error of the norm and its product %.4f of at most %.2f\n",
         cuda ? "GPU" : "simulated", wrong, SUMS * TOKENS, error, bound);
  return wrong > 0 || !(error <= bound);
}
