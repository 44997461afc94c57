#include "Tune/rotated_kernel.h"

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

void hd_rotated_strides(const hd_product *p, size_t packed_bytes, hd_rotated_operands *o) {
  o->ldsa = hd_product_scales(p, 0);
  o->ldsb = p->epilogue.scale_b == 's' ? p->n : hd_product_scales(p, 1);
  o->stride_a = (int64_t)packed_bytes;
  o->stride_b = p->n * p->k;
  o->stride_d = hd_product_d_rows(p) * p->n;
  o->columns = p->n;
}

/* Arguments that are not listed are 0: the strides of vectors, which a batch shares. */
static heddle_arg argument(const hd_rotated_operands *o, const char *name, size_t set) {
  const struct {
    const char *name;
    const hd_rotation *sets;
  } matrices[] = {{"a", o->a},
                  {"b", o->b},
                  {"d", o->d},
                  {"offsets", o->offsets},
                  {"c", o->epilogue ? &o->epilogue->c : NULL},
                  {"aux", o->epilogue ? &o->epilogue->aux : NULL}};
  const struct {
    const char *name;
    const hd_buffer *buffer;
  } vectors[] = {{"bias", o->epilogue ? &o->epilogue->bias : NULL},
                 {"scale_a", o->epilogue ? &o->epilogue->scale_a : NULL},
                 {"scale_b", o->epilogue ? &o->epilogue->scale_b : NULL},
                 {"scale_d", o->epilogue ? &o->epilogue->scale_d : NULL},
                 {"block_scale_a", o->epilogue ? &o->epilogue->blocks[0] : NULL},
                 {"block_scale_b", o->epilogue ? &o->epilogue->blocks[1] : NULL}};
  const struct {
    const char *name;
    int64_t value;
  } numbers[] = {{"ldsa", o->ldsa},         {"ldsb", o->ldsb},         {"ldsd", o->columns},
                 {"ldb", o->ldb},           {"ldd", o->ldd},           {"ldc", o->ldd},
                 {"stride_a", o->stride_a}, {"stride_b", o->stride_b}, {"stride_d", o->stride_d},
                 {"stride_c", o->stride_d}, {"ldaux", o->ldd},
                 {"stride_aux", o->stride_d}};
  if (strcmp(name, "n") == 0)
    return (heddle_arg){.i32 = (int32_t)o->n};
  if (strcmp(name, "eps") == 0)
    return (heddle_arg){.f32 = HD_EPILOGUE_EPS};
  for (size_t i = 0; i < HD_COUNT(matrices); i++)
    if (strcmp(name, matrices[i].name) == 0 && matrices[i].sets)
      return (heddle_arg){.ptr = pointer_to(&matrices[i].sets->set[set])};
  for (size_t i = 0; i < HD_COUNT(vectors); i++)
    if (strcmp(name, vectors[i].name) == 0 && vectors[i].buffer)
      return (heddle_arg){.ptr = pointer_to(vectors[i].buffer)};
  for (size_t i = 0; i < HD_COUNT(numbers); i++)
    if (strcmp(name, numbers[i].name) == 0)
      return (heddle_arg){.i64 = numbers[i].value};
  return (heddle_arg){0};
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
  /* Each kernel has its own zeroed workspace: another's partial sums are not valid counters. */
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
