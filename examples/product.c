/* Compiling a product, and running it once. */
#include "product.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "heddle/simulate.h"

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

product product_compile(const char *path) {
  product p;
  size_t bytes;
  char *text = calloc(1, MAX_TEXT);
  FILE *file = fopen(path, "r");
  if (!file || fread(text, 1, MAX_TEXT - 1, file) == 0) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(2);
  }
  fclose(file);
  must(heddle_compile(ctx, path, text, strlen(text), NULL, &p.code));
  const char *json = heddle_compiled_manifest(p.code, &bytes);
  must(heddle_manifest_read(ctx, json, bytes, &p.takes));
  free(text);
  return p;
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

/* The operands in the order of the kernel's arguments. */
static call order(const heddle_manifest *takes, const operand *operands, size_t n) {
  call c = {.n = heddle_manifest_arg_count(takes)};
  for (size_t i = 0; i < c.n; i++) {
    heddle_manifest_arg arg;
    must(heddle_manifest_get_arg(takes, i, &arg));
    for (const operand *x = operands; x < operands + n; x++)
      if (strcmp(x->name, arg.name) == 0) {
        c.args[i] = value_of(x, arg.arg_class);
        c.bytes[i] = x->bytes;
      }
  }
  return c;
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

void product_run(product p, const operand *operands, size_t n) {
  call c = order(p.takes, operands, n);
  size_t json_bytes, ptx_bytes;
  const char *json = heddle_compiled_manifest(p.code, &json_bytes);
  const char *ptx = heddle_compiled_ptx(p.code, &ptx_bytes);
  if (cuda) {
    run_on_gpu(json, json_bytes, &(heddle_image){.ptx = ptx, .ptx_bytes = ptx_bytes}, &c);
  } else {
    heddle_simulation run = {.manifest = json,
                             .ptx = ptx,
                             .manifest_bytes = json_bytes,
                             .ptx_bytes = ptx_bytes,
                             .args = c.args,
                             .arg_bytes = c.bytes,
                             .n_args = c.n};
    must(heddle_simulate(ctx, &run));
  }
  heddle_manifest_free(p.takes);
  heddle_compiled_free(p.code);
}
