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
#include <string.h>
#include "heddle/compile.h"
#include "heddle/convert.h"
#include "heddle/manifest.h"
#include "heddle/memory.h"
#include "heddle/simulate.h"
#include "heddle/sparse.h"

enum { TOKENS = 16, INPUT = 128, MODEL = 256, OUTPUT = 128 };
enum { ROWS = 128, SUMS = MODEL / ROWS /* per token */ };
static const float EPS = 1e-5f, SMALL = 1.0f / 1024; /* tokens so small that eps matters */

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

/* ---- matrices of bf16, row-major ---- */

typedef struct matrix {
  size_t rows, columns;
  uint16_t *bf16;
} matrix;

static size_t bytes_of(const matrix *q) { return q->rows * q->columns * sizeof *q->bf16; }

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

/* The weights, pruned to 2:4 in place and packed for the kernel. */
static operand pack(const heddle_manifest *takes, matrix *w) {
  heddle_family family;
  operand a = {"a", NULL, 0, 0};
  size_t row = w->columns * sizeof *w->bf16;
  must(heddle_family_parse(heddle_manifest_family(takes), &family));
  must(heddle_sparse_packed_bytes(ctx, HEDDLE_BF16, family, w->rows, w->columns, &a.bytes));
  must(heddle_sparse_prune(ctx, HEDDLE_BF16, w->rows, w->columns, w->bf16, row));
  a.data = malloc(a.bytes);
  must(heddle_sparse_pack_dense(ctx, HEDDLE_BF16, family, w->rows, w->columns, w->bf16, row,
                                a.data));
  return a;
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

/* Launches with n arguments; bytes: sizes of host memory (0: a number), which is copied back. */
static void launch(heddle_compiled *code, heddle_arg *args, const size_t *bytes, size_t n) {
  size_t json_bytes, ptx_bytes;
  const char *json = heddle_compiled_manifest(code, &json_bytes);
  const char *ptx = heddle_compiled_ptx(code, &ptx_bytes);
  void *host[32];
  heddle_kernel *kernel;
  if (!cuda) {
    heddle_simulation run = {.manifest = json, .ptx = ptx, .manifest_bytes = json_bytes,
                             .ptx_bytes = ptx_bytes, .args = args, .arg_bytes = bytes, .n_args = n};
    must(heddle_simulate(ctx, &run));
    return;
  }
  heddle_image image = {.ptx = ptx, .ptx_bytes = ptx_bytes};
  must(heddle_kernel_load(ctx, cuda, json, json_bytes, &image, &kernel));
  for (size_t i = 0; i < n; i++)
    if (bytes[i]) {
      void *device;
      host[i] = (void *)args[i].ptr;
      must(heddle_device_alloc(ctx, cuda, bytes[i], &device));
      must(heddle_device_upload(ctx, cuda, device, host[i], bytes[i]));
      args[i].ptr = device;
    }
  set_workspace(kernel, args, n);
  must(heddle_kernel_launch(ctx, kernel, args, n, NULL));
  for (size_t i = 0; i < n; i++)
    if (bytes[i])
      must(heddle_device_download(ctx, cuda, host[i], args[i].ptr, bytes[i]));
  heddle_kernel_free(kernel);
}

/* The value of an argument; eps is the only float. */
static heddle_arg value_of(const heddle_manifest_arg *arg, const operand *found) {
  switch (arg->arg_class) {
  case HEDDLE_CLASS_PTR:
    return (heddle_arg){.ptr = found ? found->data : NULL};
  case HEDDLE_CLASS_I32:
    return (heddle_arg){.i32 = (int32_t)found->number};
  case HEDDLE_CLASS_F32:
    return (heddle_arg){.f32 = EPS};
  default:
    return (heddle_arg){.i64 = found->number};
  }
}

/* Compiles the text, and launches it with the weights and the named operands. */
static void multiply(const char *path, matrix *w, const operand *named, size_t n_named) {
  heddle_compiled *code;
  heddle_manifest *takes;
  heddle_arg args[32];
  size_t bytes[32], json_bytes;
  char *text = read_text(path);
  must(heddle_compile(ctx, path, text, strlen(text), NULL, &code));
  const char *json = heddle_compiled_manifest(code, &json_bytes);
  must(heddle_manifest_read(ctx, json, json_bytes, &takes));
  operand a = pack(takes, w);
  size_t n = heddle_manifest_arg_count(takes);
  for (size_t i = 0; i < n; i++) {
    heddle_manifest_arg arg;
    must(heddle_manifest_get_arg(takes, i, &arg));
    const operand *found = strcmp(a.name, arg.name) ? NULL : &a;
    for (size_t j = 0; j < n_named; j++)
      found = strcmp(named[j].name, arg.name) ? found : &named[j];
    bytes[i] = found ? found->bytes : 0;
    args[i] = value_of(&arg, found);
  }
  launch(code, args, bytes, n);
  free(a.data);
  free(text);
  heddle_manifest_free(takes);
  heddle_compiled_free(code);
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
  ctx = heddle_context_create();
  if (heddle_runtime_create(ctx, NULL, &cuda) || heddle_device_use(ctx, cuda, 0))
    cuda = NULL;
  heddle_context_clear(ctx);
  for (size_t i = 0; i < MODEL; i++)
    gamma[i] = 0.5f + (float)(rand() % 1000) / 1000;
  matrix w_o = make(MODEL, INPUT, 1, NULL), w = make(OUTPUT, MODEL, 1, gamma);
  matrix x = make(TOKENS, INPUT, SMALL, NULL), r = make(TOKENS, MODEL, SMALL, NULL);
  matrix h = make(TOKENS, MODEL, 0, NULL), y = make(TOKENS, OUTPUT, 0, NULL);
  const operand n = {"n", NULL, 0, TOKENS};
  const operand of_residual[] = {n,
                                 {"b", x.bf16, bytes_of(&x), 0},
                                 {"c", r.bf16, bytes_of(&r), 0},
                                 {"d", h.bf16, bytes_of(&h), 0},
                                 {"scale_d", sums, sizeof sums, 0},
                                 {"ldb", NULL, 0, INPUT},
                                 {"ldc", NULL, 0, MODEL},
                                 {"ldd", NULL, 0, MODEL},
                                 {"ldsd", NULL, 0, TOKENS}};
  const operand of_norm[] = {n,
                             {"b", h.bf16, bytes_of(&h), 0},
                             {"d", y.bf16, bytes_of(&y), 0},
                             {"scale_b", sums, sizeof sums, 0},
                             {"ldb", NULL, 0, MODEL},
                             {"ldd", NULL, 0, OUTPUT},
                             {"ldsb", NULL, 0, TOKENS}};
  multiply(argv[1], &w_o, of_residual, sizeof of_residual / sizeof *of_residual);
  multiply(argv[2], &w, of_norm, sizeof of_norm / sizeof *of_norm);
  int wrong = 0;
  for (size_t j = 0; j < TOKENS; j++)
    wrong += residual_of(&w_o, &x, &r, sums, j, expected[j]);
  double error = error_of(&w, expected, &y);
  printf("%s: %d of %d sums wrong, error of the norm and its product %.4f of at most %.2f\n",
         cuda ? "GPU" : "simulated", wrong, SUMS * TOKENS, error, bound);
  return wrong > 0 || !(error <= bound);
}
