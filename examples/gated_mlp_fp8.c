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
#include <string.h>
#include "heddle/block_scale.h"
#include "heddle/compile.h"
#include "heddle/convert.h"
#include "heddle/manifest.h"
#include "heddle/memory.h"
#include "heddle/simulate.h"
#include "heddle/sparse.h"

enum { TOKENS = 16, MODEL = 128, HIDDEN = 256, GATE_AND_UP = 2 * HIDDEN };
enum { BLOCK = 128, BLOCKS = HIDDEN / BLOCK }; /* as in the texts */
static const float E4M3_MAX = 448; /* largest finite value of e4m3 */

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

/* rows x columns of e4m3. Each block of height x width shares one scale: its maximum / 448. */
typedef struct matrix {
  size_t rows, columns, height, width; /* of a block */
  uint8_t *e4m3;
  float *scales; /* row-major */
} matrix;

static size_t blocks_of(const matrix *q, size_t row, size_t column) {
  return row / q->height * (q->columns / q->width) + column / q->width;
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
  uint8_t *pairs = malloc(w->rows * w->columns);
  const uint8_t *rows = w->e4m3;
  must(heddle_family_parse(heddle_manifest_family(takes), &family));
  must(heddle_sparse_packed_bytes(ctx, HEDDLE_E4M3, family, w->rows, w->columns, &a.bytes));
  must(heddle_sparse_prune(ctx, HEDDLE_E4M3, w->rows, w->columns, w->e4m3, w->columns));
  if (heddle_manifest_takes_pairs(takes)) {
    must(heddle_sparse_pair_rows(ctx, w->rows, w->columns, w->e4m3, pairs));
    rows = pairs;
  }
  a.data = malloc(a.bytes);
  must(heddle_sparse_pack_dense(ctx, HEDDLE_E4M3, family, w->rows, w->columns, rows, w->columns,
                                a.data));
  free(pairs);
  return a;
}

/* The block scales of the weights, packed for the kernel, and their pitch in scales. */
static operand pack_scales(const matrix *w, int64_t *pitch) {
  heddle_block_scale_shape shape = {HEDDLE_SCALES_K_BLOCKS, HEDDLE_E4M3, BLOCK,
                                    w->rows / w->height,    w->columns,  sizeof(float)};
  operand scales = {"block_scale_a", NULL, 0, 0};
  size_t bytes;
  must(heddle_block_scale_plan(ctx, &shape, &bytes, &scales.bytes));
  scales.data = calloc(1, scales.bytes);
  must(heddle_block_scale_pack(ctx, &shape, w->scales, w->columns / w->width * sizeof(float),
                               scales.data, bytes));
  *pitch = (int64_t)(bytes / sizeof(float));
  return scales;
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
    if (!found || arg.arg_class == HEDDLE_CLASS_PTR)
      args[i].ptr = found ? found->data : NULL;
    else if (arg.arg_class == HEDDLE_CLASS_I32)
      args[i].i32 = (int32_t)found->number;
    else
      args[i].i64 = found->number;
  }
  launch(code, args, bytes, n);
  free(a.data);
  free(text);
  heddle_manifest_free(takes);
  heddle_compiled_free(code);
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
    double product = fabs(at(w, row, i) * x[i]);
    greatest = fmax(greatest, product);
    n += product > 0;
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
  ctx = heddle_context_create();
  if (heddle_runtime_create(ctx, NULL, &cuda) || heddle_device_use(ctx, cuda, 0))
    cuda = NULL;
  heddle_context_clear(ctx);
  matrix x = quantise(TOKENS, MODEL, 1, MODEL);
  matrix up = quantise(GATE_AND_UP, MODEL, GATE_AND_UP, MODEL);
  matrix down = quantise(MODEL, HIDDEN, BLOCK, BLOCK);
  uint16_t *out = calloc(TOKENS * MODEL, sizeof *out);
  uint8_t *h = calloc(TOKENS, HIDDEN);
  float *scales = calloc(BLOCKS * TOKENS, sizeof *scales);
  const size_t scale_bytes = BLOCKS * TOKENS * sizeof *scales;
  int64_t pitch;
  const operand n = {"n", NULL, 0, TOKENS}, scale_a = pack_scales(&down, &pitch);
  const operand of_up[] = {n,
                           {"b", x.e4m3, TOKENS * MODEL, 0},
                           {"d", h, TOKENS * HIDDEN, 0},
                           {"scale_a", up.scales, sizeof(float), 0},
                           {"scale_b", x.scales, TOKENS * sizeof(float), 0},
                           {"scale_d", scales, scale_bytes, 0},
                           {"ldb", NULL, 0, MODEL},
                           {"ldd", NULL, 0, HIDDEN},
                           {"ldsd", NULL, 0, TOKENS}};
  const operand of_down[] = {n, scale_a,
                             {"b", h, TOKENS * HIDDEN, 0},
                             {"d", out, TOKENS * MODEL * sizeof *out, 0},
                             {"block_scale_b", scales, scale_bytes, 0},
                             {"ldb", NULL, 0, HIDDEN},
                             {"ldd", NULL, 0, MODEL},
                             {"ldsa", NULL, 0, pitch},
                             {"ldsb", NULL, 0, TOKENS}};
  multiply(argv[1], &up, of_up, sizeof of_up / sizeof *of_up);
  multiply(argv[2], &down, of_down, sizeof of_down / sizeof *of_down);
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
