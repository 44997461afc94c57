/* A gated MLP in e4m3, with two launches and no kernel between them: the first one quantises its D.
 *
 *   up     H = swiglu(W_up X)    gated_mlp_fp8_up.heddle: e4m3, an f32 scale per 128 rows
 *   down   Z = W_down H          gated_mlp_fp8_down.heddle: reads H and its scales directly
 *
 * `gated_mlp_fp8 UP.heddle DOWN.heddle` runs it on the GPU, or without a GPU in the simulator, and
 * compares it with double precision. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "heddle/block_scale.h"
#include "heddle/convert.h"
#include "product.h"

enum { TOKENS = 16, MODEL = 128, HIDDEN = 256, GATE_AND_UP = 2 * HIDDEN };
enum { BLOCK = 128, BLOCKS = HIDDEN / BLOCK }; /* as in the texts */
static const float E4M3_MAX = 448; /* largest finite value of e4m3 */

/* ---- the layer's data ---- */

/* rows x columns of e4m3. Each block of height x width shares one scale: its maximum / 448. */
typedef struct matrix {
  size_t rows, columns, height, width; /* of a block */
  uint8_t *e4m3;
  float *scales; /* row-major */
} matrix;

static size_t blocks_of(const matrix *q, size_t row, size_t column) {
  return row / q->height * (q->columns / q->width) + column / q->width;
}

static weights weights_of(const matrix *q) {
  return (weights){HEDDLE_E4M3, 1, q->rows, q->columns, q->e4m3};
}

static double at(const matrix *q, size_t row, size_t column) {
  float x;
  must(heddle_elem_to_f32(HEDDLE_E4M3, 1, q->e4m3 + row * q->columns + column, &x));
  return (double)x * (double)q->scales[blocks_of(q, row, column)];
}

static matrix quantise(size_t rows, size_t columns, size_t height, size_t width) {
  size_t n = rows * columns;
  matrix q = {rows, columns, height, width, malloc(n), calloc(n, sizeof(float))};
  float *x = malloc(n * sizeof *x);
  for (size_t i = 0; i < n; i++) {
    float *scale = q.scales + blocks_of(&q, i / columns, i % columns);
    x[i] = (float)(rand() % 2001 - 1000) / 1000;
    *scale = fmaxf(*scale, fabsf(x[i]) / E4M3_MAX);
  }
  for (size_t i = 0; i < n; i++)
    x[i] /= q.scales[blocks_of(&q, i / columns, i % columns)];
  must(heddle_elem_from_f32(HEDDLE_E4M3, n, x, q.e4m3));
  free(x);
  return q;
}

/* The block scales of the weights, packed for the kernel (owned), and their pitch in scales. */
static operand pack_scales(const matrix *w, int64_t *pitch) {
  heddle_block_scale_shape shape = {HEDDLE_SCALES_K_BLOCKS, HEDDLE_E4M3, BLOCK,
                                    w->rows / w->height,    w->columns,  sizeof(float)};
  size_t row_bytes, bytes;
  must(heddle_block_scale_plan(ctx, &shape, &row_bytes, &bytes));
  void *packed = calloc(1, bytes);
  must(heddle_block_scale_pack(ctx, &shape, w->scales, w->columns / w->width * sizeof(float),
                               packed, row_bytes));
  *pitch = (int64_t)(row_bytes / sizeof(float));
  return memory("block_scale_a", packed, bytes);
}

/* ---- the reference ---- */

static double dot(const matrix *w, size_t row, const double *x) {
  double sum = 0;
  for (size_t i = 0; i < w->columns; i++)
    sum += at(w, row, i) * x[i];
  return sum;
}

/* The most that dot is off on tensor cores: they cut each fp8 product at 2^-13 of the greatest. */
static double cut_of(const matrix *w, size_t row, const double *x) {
  double greatest = 0, n = 0;
  for (size_t i = 0; i < w->columns; i++) {
    double term = fabs(at(w, row, i) * x[i]);
    greatest = fmax(greatest, term);
    n += term > 0;
  }
  return n * greatest / 8192;
}

static double silu(double x) { return x / (1 + exp(-x)); }

/* Returns the number of elements of H with an error above that of the products and the rounding of
 * e4m3: 1/16 of the value, or half of the smallest step. z: the result of the layer, computed from
 * an unrounded H. */
static int reference(const matrix *x, const matrix *up, const matrix *down, const matrix *h,
                     double *z) {
  int wrong = 0;
  for (size_t j = 0; j < TOKENS; j++) {
    double token[MODEL], hidden[HIDDEN];
    for (size_t i = 0; i < MODEL; i++)
      token[i] = at(x, j, i);
    for (size_t i = 0; i < HIDDEN; i++) {
      double gate = dot(up, i, token), value = dot(up, HIDDEN + i, token);
      double cut = 1.1 * cut_of(up, i, token) * fabs(value) + /* silu has a slope of at most 1.1 */
                   cut_of(up, HIDDEN + i, token) * fabs(silu(gate));
      hidden[i] = silu(gate) * value;
      double scale = (double)h->scales[blocks_of(h, j, i)];
      double most = fmax(fabs(hidden[i]) / 16, scale / 1024) * 1.001;
      wrong += !(fabs(at(h, j, i) - hidden[i]) <= most + cut);
    }
    for (size_t i = 0; i < MODEL; i++)
      z[j * MODEL + i] = dot(down, i, hidden);
  }
  return wrong;
}

/* The root mean square of the errors, relative to that of the results. */
static double error_of(const float *z, const double *expected) {
  double errors = 0, squares = 0;
  for (size_t i = 0; i < TOKENS * MODEL; i++) {
    errors += pow((double)z[i] - expected[i], 2);
    squares += pow(expected[i], 2);
  }
  return sqrt(errors / squares);
}

int main(int argc, char **argv) {
  static double expected[TOKENS * MODEL];
  static float z[TOKENS * MODEL];
  const double bound = 0.05; /* e4m3 rounds each element of H by at most 1/16, on average 0.026 */
  if (argc != 3)
    return fprintf(stderr, "usage: gated_mlp_fp8 UP.heddle DOWN.heddle\n"), 2;
  product_open();
  matrix x = quantise(TOKENS, MODEL, 1, MODEL);
  matrix up = quantise(GATE_AND_UP, MODEL, GATE_AND_UP, MODEL);
  matrix down = quantise(MODEL, HIDDEN, BLOCK, BLOCK);
  uint16_t *out = calloc(TOKENS * MODEL, sizeof *out);
  uint8_t *h = calloc(TOKENS, HIDDEN);
  float *scales = calloc(BLOCKS * TOKENS, sizeof *scales);
  const size_t scale_bytes = BLOCKS * TOKENS * sizeof *scales;
  int64_t pitch;
  const operand scale_a = pack_scales(&down, &pitch);
  const operand of_up[] = {number("n", TOKENS),
                           memory("b", x.e4m3, TOKENS * MODEL),
                           memory("d", h, TOKENS * HIDDEN),
                           memory("scale_a", up.scales, sizeof(float)),
                           memory("scale_b", x.scales, TOKENS * sizeof(float)),
                           memory("scale_d", scales, scale_bytes),
                           number("ldb", MODEL),
                           number("ldd", HIDDEN),
                           number("ldsd", TOKENS)};
  const operand of_down[] = {number("n", TOKENS), scale_a,
                             memory("b", h, TOKENS * HIDDEN),
                             memory("d", out, TOKENS * MODEL * sizeof *out),
                             memory("block_scale_b", scales, scale_bytes),
                             number("ldb", HIDDEN),
                             number("ldd", MODEL),
                             number("ldsa", pitch),
                             number("ldsb", TOKENS)};
  const weights first = weights_of(&up), second = weights_of(&down);
  product_run(argv[1], &first, of_up, sizeof of_up / sizeof *of_up);
  product_run(argv[2], &second, of_down, sizeof of_down / sizeof *of_down);
  must(heddle_elem_to_f32(HEDDLE_BF16, TOKENS * MODEL, out, z));
  float by_token[TOKENS * BLOCKS];
  for (size_t i = 0; i < TOKENS * BLOCKS; i++)
    by_token[i] = scales[i % BLOCKS * TOKENS + i / BLOCKS];
  const matrix stored = {TOKENS, HIDDEN, 1, BLOCK, h, by_token};
  int wrong = reference(&x, &up, &down, &stored, expected);
  double error = error_of(z, expected);
  printf("%s: %d of %d of H wrong, error of the layer %.4f of at most %.2f\n",
         cuda ? "GPU" : "simulated", wrong, TOKENS * HIDDEN, error, bound);
  return wrong > 0 || !(error <= bound);
}
