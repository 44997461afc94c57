/* A complete mixture-of-experts layer, from the router to the tokens' results, in two launches.
 *
 *   up     H[j] = swiglu(W_up[e] X[gather[j]])            experts_up.heddle: columns j by expert
 *   down   Z[t] = the sum of weight[j] * W_down[e] H[j]   experts_down.heddle
 *          over j = combine[CHOSEN * t + i], i = 0 first (deterministic)
 *
 * `experts UP.heddle DOWN.heddle` runs it on the GPU, or without a GPU in the simulator, and
 * compares it with double precision. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "heddle/convert.h"
#include "product.h"

enum { EXPERTS = 8, TOKENS = 48, CHOSEN = 2, COLUMNS = TOKENS * CHOSEN };
enum { MODEL = 512, HIDDEN = 256, GATE_AND_UP = 2 * HIDDEN }; /* as in the texts */

/* ---- the layer's data ---- */

static float value(void) { return (float)(rand() % 2001 - 1000) / 1000; }

static uint16_t *matrix(size_t n) {
  float *x = malloc(n * sizeof *x);
  uint16_t *bf16 = malloc(n * sizeof *bf16);
  for (size_t i = 0; i < n; i++)
    x[i] = value();
  must(heddle_elem_from_f32(HEDDLE_BF16, n, x, bf16));
  free(x);
  return bf16;
}

static double at(const uint16_t *bf16, size_t i) {
  float x;
  must(heddle_elem_to_f32(HEDDLE_BF16, 1, bf16 + i, &x));
  return (double)x;
}

/* Two experts per token. Columns are sorted by expert; offsets delimit the experts. */
typedef struct routing {
  int32_t offsets[EXPERTS + 1], gather[COLUMNS], combine[COLUMNS];
  float weight[COLUMNS];
} routing;

static routing route(void) {
  int expert[CHOSEN][TOKENS];
  float share[TOKENS];
  routing r = {{0}, {0}, {0}, {0}};
  for (int t = 0; t < TOKENS; t++) {
    expert[0][t] = rand() % EXPERTS;
    expert[1][t] = (expert[0][t] + 1 + rand() % (EXPERTS - 1)) % EXPERTS;
    share[t] = (float)(rand() % 1000) / 1000;
  }
  for (int e = 0, n = 0; e < EXPERTS; r.offsets[++e] = n)
    for (int t = 0; t < TOKENS; t++)
      for (int i = 0; i < CHOSEN; i++)
        if (expert[i][t] == e) {
          r.gather[n] = t;
          r.combine[t * CHOSEN + i] = n;
          r.weight[n++] = i ? 1 - share[t] : share[t];
        }
  return r;
}

/* ---- the reference ---- */

static double dot(const uint16_t *w, const double *x, size_t k) {
  double sum = 0;
  for (size_t i = 0; i < k; i++)
    sum += at(w, i) * x[i];
  return sum;
}

static int expert_of(const routing *r, int column) {
  int e = 0;
  while (r->offsets[e + 1] <= column)
    e++;
  return e;
}

/* Computes column by column, in double precision, without intermediate rounding. */
static void reference(const routing *r, const uint16_t *x, const uint16_t *up,
                      const uint16_t *down, double *z) {
  for (int j = 0; j < COLUMNS; j++) {
    size_t e = (size_t)expert_of(r, j);
    double token[MODEL], h[HIDDEN], *out = z + (size_t)r->gather[j] * MODEL;
    for (size_t i = 0; i < MODEL; i++)
      token[i] = at(x, (size_t)r->gather[j] * MODEL + i);
    for (size_t i = 0; i < HIDDEN; i++) {
      const uint16_t *gate = up + (e * GATE_AND_UP + i) * MODEL;
      double g = dot(gate, token, MODEL);
      h[i] = g / (1 + exp(-g)) * dot(gate + (size_t)HIDDEN * MODEL, token, MODEL);
    }
    for (size_t i = 0; i < MODEL; i++)
      out[i] += (double)r->weight[j] * dot(down + (e * MODEL + i) * HIDDEN, h, HIDDEN);
  }
}

int main(int argc, char **argv) {
  static double expected[TOKENS * MODEL];
  const double bound = 0.03; /* relative to the root mean square: bf16 rounds three times */
  double squares = 0;
  int wrong = 0;
  if (argc != 3)
    return fprintf(stderr, "usage: experts experts_up.heddle experts_down.heddle\n"), 2;
  product_open();
  uint16_t *x = matrix(TOKENS * MODEL), *up = matrix(EXPERTS * GATE_AND_UP * MODEL);
  uint16_t *down = matrix(EXPERTS * MODEL * HIDDEN);
  uint16_t *h = calloc(COLUMNS, 2 * HIDDEN), *z = calloc(TOKENS, 2 * MODEL);
  routing r = route();
  const operand n = number("n", COLUMNS);
  const operand offsets = memory("offsets", r.offsets, sizeof r.offsets);
  const operand of_up[] = {n, offsets,
                           memory("b", x, 2 * TOKENS * MODEL),
                           memory("d", h, 2 * COLUMNS * HIDDEN),
                           memory("gather_b", r.gather, sizeof r.gather),
                           number("t", TOKENS),
                           number("ldb", MODEL),
                           number("ldd", HIDDEN)};
  const operand of_down[] = {n, offsets,
                             memory("b", h, 2 * COLUMNS * HIDDEN),
                             memory("d", z, 2 * TOKENS * MODEL),
                             memory("combine_d", r.combine, sizeof r.combine),
                             number("t", TOKENS),
                             memory("scale_b", r.weight, sizeof r.weight),
                             number("ldb", HIDDEN),
                             number("ldd", MODEL)};
  const weights first = {HEDDLE_BF16, EXPERTS, GATE_AND_UP, MODEL, up};
  const weights second = {HEDDLE_BF16, EXPERTS, MODEL, HIDDEN, down};
  product_run(argv[1], &first, of_up, sizeof of_up / sizeof *of_up);
  product_run(argv[2], &second, of_down, sizeof of_down / sizeof *of_down);
  reference(&r, x, up, down, expected);
  for (size_t i = 0; i < TOKENS * MODEL; i++)
    squares += expected[i] * expected[i] / (TOKENS * MODEL);
  for (size_t i = 0; i < TOKENS * MODEL; i++)
    wrong += !(fabs(at(z, i) - expected[i]) <= bound * (sqrt(squares) + fabs(expected[i])));
  printf("%s: %d of %d wrong\n", cuda ? "GPU" : "simulated", wrong, TOKENS * MODEL);
  return wrong > 0;
}
