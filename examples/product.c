/* Compiling a product, packing its weights, and running it once. */
#include "product.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "heddle/compile.h"
#include "heddle/manifest.h"
#include "heddle/simulate.h"
#include "heddle/sparse.h"

enum { MAX_ARGS = 32, MAX_TEXT = 1 << 16 };

heddle_context *ctx;
heddle_runtime *cuda;

void must(heddle_status status) {
  char line[1024];
  for (size_t i = 0; status && heddle_context_get(ctx, i); i++, puts(line))
    heddle_diagnostic_format(heddle_context_get(ctx, i), line, sizeof line);
  if (status)
    exit(heddle_status_exit_code(status));
}

void product_open(void) {
  ctx = heddle_context_create();
  if (heddle_runtime_create(ctx, NULL, &cuda) || heddle_device_use(ctx, cuda, 0))
    cuda = NULL;
  heddle_context_clear(ctx);
}

operand memory(const char *name, void *data, size_t bytes) {
  return (operand){.name = name, .data = data, .bytes = bytes};
}

operand number(const char *name, int64_t value) {
  return (operand){.name = name, .number = value};
}

operand real(const char *name, float value) {
  return (operand){.name = name, .real = value};
}

/* ---- text and weights ---- */

static heddle_compiled *compile(const char *path) {
  heddle_compiled *code;
  char *text = calloc(1, MAX_TEXT);
  FILE *file = fopen(path, "r");
  if (!file || fread(text, 1, MAX_TEXT - 1, file) == 0) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(2);
  }
  fclose(file);
  must(heddle_compile(ctx, path, text, strlen(text), NULL, &code));
  free(text);
  return code;
}

/* The weights, pruned in place and packed for the kernel (owned). */
static operand pack(const heddle_manifest *takes, const weights *w) {
  heddle_family family;
  size_t row, each;
  must(heddle_family_parse(heddle_manifest_family(takes), &family));
  must(heddle_sparse_dense_row_bytes(ctx, w->type, w->k, &row));
  must(heddle_sparse_packed_bytes(ctx, w->type, family, w->m, w->k, &each));
  char *packed = malloc(w->count * each), *pairs = malloc(w->m * row);
  for (size_t i = 0; i < w->count; i++) {
    char *rows = (char *)w->dense + i * w->m * row;
    must(heddle_sparse_prune(ctx, w->type, w->m, w->k, rows, row));
    if (heddle_manifest_takes_pairs(takes)) {
      must(heddle_sparse_pair_rows(ctx, w->m, row, rows, pairs));
      rows = pairs;
    }
    must(heddle_sparse_pack_dense(ctx, w->type, family, w->m, w->k, rows, row, packed + i * each));
  }
  free(pairs);
  return memory("a", packed, w->count * each);
}

/* ---- running it ---- */

/* The arguments of a launch; bytes: sizes of their memory (0: a number). */
typedef struct call {
  heddle_arg args[MAX_ARGS];
  size_t bytes[MAX_ARGS], n;
} call;

static heddle_arg value_of(const operand *x, heddle_arg_class kind) {
  switch (kind) {
  case HEDDLE_CLASS_PTR:
    return (heddle_arg){.ptr = x->data};
  case HEDDLE_CLASS_I32:
    return (heddle_arg){.i32 = (int32_t)x->number};
  case HEDDLE_CLASS_F32:
    return (heddle_arg){.f32 = x->real};
  default:
    return (heddle_arg){.i64 = x->number};
  }
}

/* Sets the arguments that have the names of operands. */
static void set(call *c, const heddle_manifest *takes, const operand *operands, size_t n) {
  for (size_t i = 0; i < c->n; i++) {
    heddle_manifest_arg arg;
    must(heddle_manifest_get_arg(takes, i, &arg));
    for (const operand *x = operands; x < operands + n; x++)
      if (strcmp(x->name, arg.name) == 0) {
        c->args[i] = value_of(x, arg.arg_class);
        c->bytes[i] = x->bytes;
      }
  }
}

static void *upload(const void *from, size_t bytes) {
  void *device;
  must(heddle_device_alloc(ctx, cuda, bytes, &device));
  must(heddle_device_upload(ctx, cuda, device, from, bytes));
  return device;
}

/* Sets the last argument, if a workspace is needed. Returns it (owned), or NULL. */
static void *set_workspace(const heddle_kernel *kernel, call *c) {
  uint64_t bytes;
  void *workspace = NULL;
  must(heddle_kernel_workspace(ctx, kernel, c->args, c->n, &bytes));
  if (bytes) {
    must(heddle_device_alloc(ctx, cuda, bytes, &workspace));
    c->args[c->n - 1].ptr = workspace;
  }
  return workspace;
}

static void run_on_gpu(const char *json, size_t json_bytes, const heddle_image *image, call *c) {
  heddle_kernel *kernel;
  void *host[MAX_ARGS];
  must(heddle_kernel_load(ctx, cuda, json, json_bytes, image, &kernel));
  for (size_t i = 0; i < c->n; i++)
    if (c->bytes[i]) {
      host[i] = (void *)c->args[i].ptr;
      c->args[i].ptr = upload(host[i], c->bytes[i]);
    }
  void *workspace = set_workspace(kernel, c);
  must(heddle_kernel_launch(ctx, kernel, c->args, c->n, NULL));
  for (size_t i = 0; i < c->n; i++)
    if (c->bytes[i]) {
      void *device = (void *)c->args[i].ptr;
      must(heddle_device_download(ctx, cuda, host[i], device, c->bytes[i]));
      heddle_device_free(cuda, device);
    }
  heddle_device_free(cuda, workspace);
  heddle_kernel_free(kernel);
}

void product_run(const char *path, const weights *w, const operand *operands, size_t n) {
  heddle_compiled *code = compile(path);
  heddle_manifest *takes;
  size_t json_bytes, ptx_bytes;
  const char *json = heddle_compiled_manifest(code, &json_bytes);
  const char *ptx = heddle_compiled_ptx(code, &ptx_bytes);
  must(heddle_manifest_read(ctx, json, json_bytes, &takes));
  operand a = pack(takes, w), stride = number("stride_a", (int64_t)(a.bytes / w->count));
  call c = {.n = heddle_manifest_arg_count(takes)};
  set(&c, takes, &a, 1);
  set(&c, takes, &stride, 1);
  set(&c, takes, operands, n);
  if (cuda) {
    run_on_gpu(json, json_bytes, &(heddle_image){.ptx = ptx, .ptx_bytes = ptx_bytes}, &c);
  } else {
    heddle_simulation run = {.manifest = json, .ptx = ptx, .manifest_bytes = json_bytes,
                             .ptx_bytes = ptx_bytes, .args = c.args, .arg_bytes = c.bytes,
                             .n_args = c.n};
    must(heddle_simulate(ctx, &run));
  }
  free(a.data);
  heddle_manifest_free(takes);
  heddle_compiled_free(code);
}
