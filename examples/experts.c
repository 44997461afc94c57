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
#include <string.h>
#include "heddle/compile.h"
#include "heddle/convert.h"
#include "heddle/manifest.h"
#include "heddle/memory.h"
#include "heddle/simulate.h"
#include "heddle/sparse.h"

enum { EXPERTS = 8, TOKENS = 48, CHOSEN = 2, COLUMNS = TOKENS * CHOSEN };
enum { MODEL = 512, HIDDEN = 256, GATE_AND_UP = 2 * HIDDEN }; /* as in the texts */

typedef struct operand {
  const char *name;
  void *data; /* NULL: a number */
  size_t bytes;
  int64_t number;
} operand;

static heddle_context *ctx;
static heddle_runtime *cuda; /* NULL: there is no GPU */

static void must(heddle_status status) {
  char line[1024];
  for (size_t i = 0; status && heddle_context_get(ctx, i); i++, puts(line))
    heddle_diagnostic_format(heddle_context_get(ctx, i), line, sizeof line);
  if (status)
    exit(heddle_status_exit_code(status));
}

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

/* ---- a product ---- */

static char *read_text(const char *path) {
  FILE *file = fopen(path, "r");
  char *text = calloc(1, 1 << 16);
  if (!file || fread(text, 1, (1 << 16) - 1, file) == 0) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(2);
  }
  fclose(file);
  return text;
}

/* The experts' weights, m x k each, pruned to 2:4 in place and packed for the kernel. */
static operand pack(const heddle_manifest *takes, uint16_t *w, size_t m, size_t k,
                    int64_t *stride) {
  heddle_family family;
  size_t each;
  must(heddle_family_parse(heddle_manifest_family(takes), &family));
  must(heddle_sparse_packed_bytes(ctx, HEDDLE_BF16, family, m, k, &each));
  char *packed = malloc(EXPERTS * each);
  uint16_t *pairs = malloc(m * k * sizeof *pairs);
  for (size_t e = 0; e < EXPERTS; e++) {
    uint16_t *rows = w + e * m * k;
    must(heddle_sparse_prune(ctx, HEDDLE_BF16, m, k, rows, 2 * k));
    if (heddle_manifest_takes_pairs(takes)) {
      must(heddle_sparse_pair_rows(ctx, m, 2 * k, rows, pairs));
      rows = pairs;
    }
    must(heddle_sparse_pack_dense(ctx, HEDDLE_BF16, family, m, k, rows, 2 * k, packed + e * each));
  }
  free(pairs);
  *stride = (int64_t)each;
  return (operand){"a", packed, EXPERTS * each, 0};
}

/* Sets the last argument, if a workspace is needed. */
static void set_workspace(const heddle_kernel *kernel, heddle_arg *args, size_t n) {
  uint64_t n_bytes;
  void *device;
  must(heddle_kernel_workspace(ctx, kernel, args, n, &n_bytes));
  if (!n_bytes)
    return;
  void *zeros = calloc(1, n_bytes);
  must(heddle_device_alloc(ctx, cuda, n_bytes, &device));
  must(heddle_device_upload(ctx, cuda, device, zeros, n_bytes));
  args[n - 1].ptr = device;
  free(zeros);
}

/* Launches with n arguments; bytes: sizes of host memory (0: a number). Copies argument d back. */
static void launch(heddle_compiled *code, heddle_arg *args, const size_t *bytes, size_t n,
                   size_t d) {
  size_t json_bytes, ptx_bytes;
  const char *json = heddle_compiled_manifest(code, &json_bytes);
  const char *ptx = heddle_compiled_ptx(code, &ptx_bytes);
  if (!cuda) {
    heddle_simulation run = {.manifest = json, .ptx = ptx, .manifest_bytes = json_bytes,
                             .ptx_bytes = ptx_bytes, .args = args, .arg_bytes = bytes, .n_args = n};
    must(heddle_simulate(ctx, &run));
    return;
  }
  heddle_image image = {.ptx = ptx, .ptx_bytes = ptx_bytes};
  heddle_kernel *kernel;
  void *host = (void *)args[d].ptr;
  must(heddle_kernel_load(ctx, cuda, json, json_bytes, &image, &kernel));
  for (size_t i = 0; i < n; i++)
    if (bytes[i]) {
      void *device;
      must(heddle_device_alloc(ctx, cuda, bytes[i], &device));
      must(heddle_device_upload(ctx, cuda, device, args[i].ptr, bytes[i]));
      args[i].ptr = device;
    }
  set_workspace(kernel, args, n);
  must(heddle_kernel_launch(ctx, kernel, args, n, NULL));
  must(heddle_device_download(ctx, cuda, host, args[d].ptr, bytes[d]));
  heddle_kernel_free(kernel);
}

/* Compiles the text, and launches it with the named operands. */
static void multiply(const char *path, uint16_t *w, size_t m, size_t k, const operand *named,
                     size_t n_named) {
  heddle_compiled *code;
  heddle_manifest *takes;
  heddle_arg args[32];
  size_t bytes[32], json_bytes, d = 0;
  char *text = read_text(path);
  must(heddle_compile(ctx, path, text, strlen(text), NULL, &code));
  const char *json = heddle_compiled_manifest(code, &json_bytes);
  must(heddle_manifest_read(ctx, json, json_bytes, &takes));
  operand own[2] = {{0}, {"stride_a", NULL, 0, 0}};
  own[0] = pack(takes, w, m, k, &own[1].number);
  size_t n = heddle_manifest_arg_count(takes);
  for (size_t i = 0; i < n; i++) {
    heddle_manifest_arg arg;
    const operand *found = NULL;
    must(heddle_manifest_get_arg(takes, i, &arg));
    for (size_t j = 0; j < n_named + 2; j++) {
      const operand *one = j < 2 ? &own[j] : &named[j - 2];
      found = strcmp(one->name, arg.name) ? found : one;
    }
    bytes[i] = found ? found->bytes : 0;
    d = strcmp(arg.name, "d") ? d : i;
    if (!found || arg.arg_class == HEDDLE_CLASS_PTR)
      args[i].ptr = found ? found->data : NULL;
    else if (arg.arg_class == HEDDLE_CLASS_I32)
      args[i].i32 = (int32_t)found->number;
    else
      args[i].i64 = found->number;
  }
  launch(code, args, bytes, n, d);
  free(own[0].data);
  free(text);
  heddle_manifest_free(takes);
  heddle_compiled_free(code);
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
  ctx = heddle_context_create();
  if (heddle_runtime_create(ctx, NULL, &cuda) || heddle_device_use(ctx, cuda, 0))
    cuda = NULL;
  heddle_context_clear(ctx);
  uint16_t *x = matrix(TOKENS * MODEL), *up = matrix(EXPERTS * GATE_AND_UP * MODEL);
  uint16_t *down = matrix(EXPERTS * MODEL * HIDDEN);
  uint16_t *h = calloc(COLUMNS, 2 * HIDDEN), *z = calloc(TOKENS, 2 * MODEL);
  routing r = route();
  const operand n = {"n", NULL, 0, COLUMNS};
  const operand offsets = {"offsets", r.offsets, sizeof r.offsets, 0};
  const operand of_up[] = {n, offsets,
                           {"b", x, 2 * TOKENS * MODEL, 0},
                           {"d", h, 2 * COLUMNS * HIDDEN, 0},
                           {"gather_b", r.gather, sizeof r.gather, 0},
                           {"t", NULL, 0, TOKENS},
                           {"ldb", NULL, 0, MODEL},
                           {"ldd", NULL, 0, HIDDEN}};
  const operand of_down[] = {n, offsets,
                             {"b", h, 2 * COLUMNS * HIDDEN, 0},
                             {"d", z, 2 * TOKENS * MODEL, 0},
                             {"combine_d", r.combine, sizeof r.combine, 0},
                             {"t", NULL, 0, TOKENS},
                             {"scale_b", r.weight, sizeof r.weight, 0},
                             {"ldb", NULL, 0, HIDDEN},
                             {"ldd", NULL, 0, MODEL}};
  multiply(argv[1], up, GATE_AND_UP, MODEL, of_up, sizeof of_up / sizeof *of_up);
  multiply(argv[2], down, MODEL, HIDDEN, of_down, sizeof of_down / sizeof *of_down);
  reference(&r, x, up, down, expected);
  for (size_t i = 0; i < TOKENS * MODEL; i++)
    squares += expected[i] * expected[i] / (TOKENS * MODEL);
  for (size_t i = 0; i < TOKENS * MODEL; i++)
    wrong += !(fabs(at(z, i) - expected[i]) <= bound * (sqrt(squares) + fabs(expected[i])));
  printf("%s: %d of %d wrong\n", cuda ? "GPU" : "simulated", wrong, TOKENS * MODEL);
  return wrong > 0;
}
