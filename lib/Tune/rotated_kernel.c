#include "Tune/rotated_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"

heddle_status hd_load_compiled(heddle_context *ctx, heddle_runtime *runtime,
                               const heddle_compiled *compiled, heddle_kernel **kernel) {
  heddle_image image = {0};
  size_t json_bytes;
  const char *json = heddle_compiled_manifest(compiled, &json_bytes);
  image.cubin = heddle_compiled_cubin(compiled, &image.cubin_bytes);
  image.ptx = heddle_compiled_ptx(compiled, &image.ptx_bytes);
  return heddle_kernel_load(ctx, runtime, json, json_bytes, &image, kernel);
}

static const void *pointer_to(const hd_buffer *buffer) {
  return (const void *)(uintptr_t)buffer->address;
}

static heddle_arg argument(const hd_rotated_operands *o, const char *name, size_t set) {
  heddle_arg arg = {0};
  if (strcmp(name, "a") == 0)
    arg.ptr = pointer_to(&o->a->set[set]);
  else if (strcmp(name, "b") == 0)
    arg.ptr = pointer_to(&o->b->set[set]);
  else if (strcmp(name, "d") == 0)
    arg.ptr = pointer_to(&o->d->set[set]);
  else if (strcmp(name, "n") == 0)
    arg.i32 = (int32_t)o->n;
  else if (strcmp(name, "ldb") == 0)
    arg.i64 = o->ldb;
  else if (strcmp(name, "ldd") == 0)
    arg.i64 = o->ldd;
  return arg;
}

/* Zeroed for each kernel: another's partial sums are no counters. */
static heddle_status give_workspace(heddle_context *ctx, const hd_device *device,
                                    hd_rotated_kernel *k) {
  uint64_t n_bytes;
  HD_TRY(heddle_kernel_workspace(ctx, k->kernel, k->args, k->n_args, &n_bytes));
  if (n_bytes == 0)
    return HEDDLE_OK;
  HD_TRY(hd_buffer_create(ctx, device, (size_t)n_bytes, 0, &k->workspace));
  for (size_t i = 0; i < k->n_sets * k->n_args; i++)
    if (strcmp(heddle_kernel_arg_name(k->kernel, i % k->n_args), "workspace") == 0)
      k->args[i].ptr = pointer_to(&k->workspace);
  return hd_buffer_fill(ctx, device, &k->workspace, 0);
}

heddle_status hd_rotated_give(heddle_context *ctx, const hd_device *device,
                              const hd_rotated_operands *operands, hd_rotated_kernel *k) {
  k->n_sets = operands->d->n_sets;
  k->n_args = heddle_kernel_arg_count(k->kernel);
  k->args = hd_xmalloc(sizeof *k->args * k->n_args * k->n_sets);
  for (size_t i = 0; i < k->n_sets * k->n_args; i++) {
    const char *name = heddle_kernel_arg_name(k->kernel, i % k->n_args);
    k->args[i] = argument(operands, name, i / k->n_args);
  }
  return give_workspace(ctx, device, k);
}

heddle_status hd_rotated_launch(heddle_context *ctx, void *user, size_t index, void *stream) {
  const hd_rotated_kernel *k = user;
  return heddle_kernel_launch(ctx, k->kernel, k->args + index % k->n_sets * k->n_args, k->n_args,
                              stream);
}

void hd_rotated_free(const hd_device *device, hd_rotated_kernel *k) {
  hd_buffer_free(device, &k->workspace);
  heddle_kernel_free(k->kernel);
  hd_free(k->args);
  *k = (hd_rotated_kernel){0};
}
