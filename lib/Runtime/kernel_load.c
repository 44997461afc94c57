/* Loading a kernel into the current context: module, functions, attributes, the gate. */
#include <string.h>

#include "Runtime/loaded_kernel.h"
#include "Runtime/overlap.h"
#include "Support/arena.h"
#include "Support/diag.h"

enum { LOG_BYTES = 16 * 1024 };

typedef struct jit_log {
  char info[LOG_BYTES], error[LOG_BYTES];
} jit_log;

/* Loads a module with the driver, which expects numeric options as pointer values. */
static int load_module(const hd_driver *cu, const void *image, jit_log *log, void **module) {
  int options[] = {HD_CU_JIT_INFO_LOG, HD_CU_JIT_INFO_LOG_BYTES, HD_CU_JIT_ERROR_LOG,
                   HD_CU_JIT_ERROR_LOG_BYTES, HD_CU_JIT_LOG_VERBOSE};
  void *values[] = {log->info, (void *)(uintptr_t)LOG_BYTES, log->error,
                    (void *)(uintptr_t)LOG_BYTES, (void *)(uintptr_t)1};
  memset(log, 0, sizeof *log);
  int result = cu->module_load(module, image, HD_COUNT(options), options, values);
  log->info[LOG_BYTES - 1] = log->error[LOG_BYTES - 1] = '\0';
  return result;
}

static bool does_not_fit(int result) {
  return result == HD_CU_NO_BINARY || result == HD_CU_INVALID_IMAGE ||
         result == HD_CU_UNSUPPORTED_PTX;
}

/* ptxas and the driver repair broken wgmma code and only print a remark (C7510 to C7519). The
 * search includes the parenthesis, because the log also contains kernel names. */
static heddle_status check_log(heddle_context *ctx, const heddle_kernel *kernel,
                               const jit_log *log) {
  const char *line = strstr(log->info, "(C75");
  if (!line || !kernel->gate)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "kernel.gate",
                  "the driver's compiler changed kernel %s: %.*s", kernel->manifest.name,
                  (int)strcspn(line, "\n"), line);
}

static heddle_status load_image(heddle_context *ctx, const heddle_kernel *kernel, void **module) {
  const hd_driver *cu = &kernel->runtime->cu;
  const heddle_image *image = &kernel->image;
  jit_log *log = hd_try_malloc(ctx, sizeof *log, "the driver's log");
  if (!log)
    return HEDDLE_NO_MEMORY;
  int result = HD_CU_NO_BINARY;
  if (image->cubin)
    result = load_module(cu, image->cubin, log, module);
  if (image->ptx && does_not_fit(result))
    result = load_module(cu, image->ptx, log, module);
  heddle_status status = HEDDLE_OK;
  if (result != HD_CU_SUCCESS) {
    hd_driver_check(ctx, cu, result, "module_load");
    if (log->error[0])
      hd_note(ctx, HD_NOWHERE, "driver.log", "%s", log->error);
    status = does_not_fit(result) ? HEDDLE_UNSUPPORTED : HEDDLE_ENVIRONMENT;
  }
  if (status == HEDDLE_OK && (status = check_log(ctx, kernel, log)) != HEDDLE_OK)
    cu->module_unload(*module);
  hd_free(log);
  return status;
}

static heddle_status count_resident(heddle_context *ctx, const heddle_runtime *runtime,
                                    const hd_variant *variant, void *function, uint32_t *resident) {
  int n = 0, device, n_sms = 1;
  if (variant->cluster > 1) {
    unsigned cluster = (unsigned)variant->cluster;
    hd_cu_attribute attribute = {.id = HD_CU_CLUSTER_DIMENSION, .value.cluster = {cluster, 1, 1}};
    hd_cu_config config = {.grid_x = cluster, .grid_y = 1, .grid_z = 1,
                           .block_x = (unsigned)variant->n_threads, .block_y = 1, .block_z = 1,
                           .shared_bytes = (unsigned)variant->shared_bytes,
                           .attributes = &attribute, .n_attributes = 1};
    HD_CU_TRY(ctx, runtime, active_clusters, &n, function, &config);
    n *= variant->cluster;
  } else {
    HD_CU_TRY(ctx, runtime, blocks_per_sm, &n, function, variant->n_threads,
              (size_t)variant->shared_bytes);
    HD_CU_TRY(ctx, runtime, context_device, &device);
    HD_CU_TRY(ctx, runtime, device_attribute, &n_sms, HD_CU_DEV_SMS, device);
    n *= n_sms;
  }
  if (n < 1)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "kernel.resident",
                    "no CTA of %s fits this device: %d threads, %d bytes of shared memory",
                    variant->entry, variant->n_threads, variant->shared_bytes);
  *resident = (uint32_t)n;
  return HEDDLE_OK;
}

static heddle_status ask_info(heddle_context *ctx, const heddle_runtime *runtime,
                              const hd_variant *variant, void *function,
                              heddle_kernel_info *info) {
  *info = (heddle_kernel_info){.entry = variant->entry, .path = variant->path,
                               .n_threads = variant->n_threads, .cluster = variant->cluster};
  HD_CU_TRY(ctx, runtime, function_get, &info->n_registers, HD_CU_FUNC_REGISTERS, function);
  HD_CU_TRY(ctx, runtime, function_get, &info->local_bytes, HD_CU_FUNC_LOCAL_BYTES, function);
  HD_CU_TRY(ctx, runtime, function_get, &info->shared_bytes, HD_CU_FUNC_SHARED_BYTES, function);
  info->shared_bytes += variant->shared_bytes;
  return HEDDLE_OK;
}

static heddle_status load_variant(heddle_context *ctx, const heddle_kernel *kernel, int index,
                                  hd_loaded *loaded) {
  const heddle_runtime *runtime = kernel->runtime;
  const hd_variant *variant = &kernel->manifest.variant[index];
  void **function = &loaded->function[index];
  heddle_kernel_info *info = &loaded->info[index];
  HD_CU_TRY(ctx, runtime, module_function, function, loaded->module, variant->entry);
  if (variant->shared_bytes > 0)
    HD_CU_TRY(ctx, runtime, function_set, *function, HD_CU_FUNC_MAX_DYNAMIC_SHARED,
              variant->shared_bytes);
  if (variant->cluster > 8)
    HD_CU_TRY(ctx, runtime, function_set, *function, HD_CU_FUNC_NON_PORTABLE_CLUSTER, 1);
  HD_TRY(count_resident(ctx, runtime, variant, *function, &loaded->resident[index]));
  HD_TRY(ask_info(ctx, runtime, variant, *function, info));
  info->n_resident = loaded->resident[index];
  if (kernel->gate && info->local_bytes > 0)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "kernel.gate",
                    "%s uses %d bytes of local memory per thread (spills or a stack); legal: 0",
                    variant->entry, info->local_bytes);
  return HEDDLE_OK;
}

/* Forgets the functions of a module that is about to be unloaded. */
static void forget_early(const heddle_kernel *kernel, const hd_loaded *loaded) {
  for (int i = 0; i < kernel->manifest.n_variants; i++)
    hd_early_remove(kernel->runtime->early, loaded->function[i]);
}

static heddle_status remember_early(heddle_context *ctx, const heddle_kernel *kernel,
                                    const hd_loaded *loaded) {
  for (int i = 0; i < kernel->manifest.n_variants; i++)
    if (kernel->manifest.variant[i].dependent_launch)
      HD_TRY(hd_early_add(ctx, kernel->runtime->early, loaded->function[i]));
  return HEDDLE_OK;
}

static heddle_status load_variants(heddle_context *ctx, const heddle_kernel *kernel,
                                   hd_loaded *loaded) {
  for (int i = 0; i < kernel->manifest.n_variants; i++)
    HD_TRY(load_variant(ctx, kernel, i, loaded));
  return remember_early(ctx, kernel, loaded);
}

static heddle_status attach(heddle_context *ctx, heddle_kernel *kernel) {
  hd_loaded loaded = {0};
  HD_CU_TRY(ctx, kernel->runtime, context_get, &loaded.context);
  if (!loaded.context)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "kernel.context",
                    "no CUDA context is current on this thread; make one current first "
                    "(cudaSetDevice, cuCtxSetCurrent or heddle_device_use)");
  for (int i = 0; i < kernel->n_loaded; i++) {
    if (kernel->loaded[i].context == loaded.context)
      return HEDDLE_OK;
  }
  if (kernel->n_loaded == HD_MAX_LOADED)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "kernel.context",
                    "kernel %s is in %d contexts; legal: up to %d", kernel->manifest.name,
                    kernel->n_loaded, HD_MAX_LOADED);
  HD_TRY(load_image(ctx, kernel, &loaded.module));
  heddle_status status = load_variants(ctx, kernel, &loaded);
  if (status != HEDDLE_OK) {
    forget_early(kernel, &loaded);
    kernel->runtime->cu.module_unload(loaded.module);
    return status;
  }
  kernel->loaded[kernel->n_loaded++] = loaded;
  return HEDDLE_OK;
}

heddle_status heddle_kernel_attach(heddle_context *ctx, heddle_kernel *kernel) {
  HD_TRY(attach(ctx, kernel));
  return kernel->overlapping ? attach(ctx, kernel->overlapping) : HEDDLE_OK;
}

static void copy_image(heddle_kernel *kernel, const heddle_image *image) {
  if (image->cubin && image->cubin_bytes > 0) {
    kernel->image.cubin = hd_arena_copy(&kernel->arena, image->cubin, image->cubin_bytes);
    kernel->image.cubin_bytes = image->cubin_bytes;
  }
  if (image->ptx && image->ptx_bytes > 0) {
    kernel->image.ptx = hd_arena_strndup(&kernel->arena, image->ptx, image->ptx_bytes);
    kernel->image.ptx_bytes = image->ptx_bytes;
  }
}

heddle_status hd_kernel_load(heddle_context *ctx, const heddle_runtime *runtime,
                             const hd_manifest *manifest, const heddle_image *image, bool gate,
                             heddle_kernel **kernel) {
  uint64_t before = hd_memory_shortages();
  HD_TRY(hd_manifest_check(ctx, manifest));
  heddle_kernel *made = hd_try_zalloc(ctx, sizeof *made, "a kernel");
  if (!made)
    return HEDDLE_NO_MEMORY;
  made->runtime = runtime;
  made->gate = gate;
  hd_manifest_copy(&made->arena, manifest, &made->manifest);
  copy_image(made, image);
  for (int i = 0; i < manifest->n_args; i++) {
    if (hd_arg_is_passed(&manifest->arg[i]))
      made->passed[made->n_passed++] = manifest->arg[i].kind;
  }
  made->prototype = hd_manifest_prototype(&made->arena, &made->manifest);
  heddle_status status = made->image.cubin || made->image.ptx
                             ? heddle_kernel_attach(ctx, made)
                             : hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "kernel.image",
                                        "kernel %s: neither cubin nor PTX", manifest->name);
  status = hd_memory_status(ctx, before, status);
  if (status != HEDDLE_OK) {
    heddle_kernel_free(made);
    return status;
  }
  *kernel = made;
  return HEDDLE_OK;
}

heddle_status heddle_kernel_load(heddle_context *ctx, const heddle_runtime *runtime,
                                 const char *manifest_json, size_t json_bytes,
                                 const heddle_image *image, heddle_kernel **kernel) {
  hd_arena arena = {0};
  uint64_t before = hd_memory_shortages();
  hd_manifest *manifest = HD_NEW(&arena, hd_manifest);
  heddle_status status = hd_manifest_read(ctx, manifest_json, json_bytes, &arena, manifest);
  if (status == HEDDLE_OK)
    status = hd_memory_status(ctx, before, hd_manifest_check_code(ctx, manifest, image));
  if (status == HEDDLE_OK)
    status = hd_kernel_load(ctx, runtime, manifest, image, true, kernel);
  hd_arena_free(&arena);
  return status;
}

/* Unloads each module with its own context current, then restores the caller's context. */
void heddle_kernel_free(heddle_kernel *kernel) {
  void *before = NULL;
  if (!kernel)
    return;
  heddle_kernel_free(kernel->overlapping);
  const hd_driver *cu = &kernel->runtime->cu;
  if (kernel->n_loaded > 0)
    cu->context_get(&before);
  for (int i = 0; i < kernel->n_loaded; i++) {
    forget_early(kernel, &kernel->loaded[i]);
    if (cu->context_set(kernel->loaded[i].context) == HD_CU_SUCCESS)
      cu->module_unload(kernel->loaded[i].module);
  }
  if (kernel->n_loaded > 0)
    cu->context_set(before);
  hd_closure_free(kernel->closure);
  hd_arena_free(&kernel->arena);
  hd_free(kernel);
}
