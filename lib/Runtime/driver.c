/* Opens the CUDA driver and reports its errors. */
#include "Runtime/driver.h"

#include <dlfcn.h>
#include <string.h>

#include "Runtime/overlap.h"
#include "Support/arena.h"
#include "Support/diag.h"

static const struct {
  const char *symbol;
  size_t offset;
} entries[] = {
#define HD_CU(member, symbol, params) {symbol, offsetof(hd_driver, member)},
#include "Runtime/driver.def"
#undef HD_CU
};

/* The driver's symbol for a member of hd_driver, for messages. */
static const char *symbol_of(const char *member) {
  static const struct {
    const char *member, *symbol;
  } names[] = {
#define HD_CU(member, symbol, params) {#member, symbol},
#include "Runtime/driver.def"
#undef HD_CU
  };
  for (size_t i = 0; i < HD_COUNT(names); i++) {
    if (strcmp(names[i].member, member) == 0)
      return names[i].symbol;
  }
  return member;
}

heddle_status hd_driver_check(heddle_context *ctx, const hd_driver *cu, int result,
                              const char *call) {
  if (result == HD_CU_SUCCESS)
    return HEDDLE_OK;
  const char *name = NULL, *text = NULL;
  cu->error_name(result, &name);
  cu->error_string(result, &text);
  heddle_status status = result == 2 ? HEDDLE_NO_MEMORY : HEDDLE_ENVIRONMENT;
  return hd_error(ctx, status, HD_NOWHERE, "driver.call", "%s failed: %s (%d): %s",
                  symbol_of(call), name ? name : "unknown error", result, text ? text : "");
}

static heddle_status find_entries(heddle_context *ctx, const char *path, void *library,
                                  hd_driver *cu) {
  for (size_t i = 0; i < HD_COUNT(entries); i++) {
    void *symbol = dlsym(library, entries[i].symbol);
    if (!symbol)
      return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "driver.symbol",
                      "%s has no %s; legal: the driver of CUDA 12.0 or later", path,
                      entries[i].symbol);
    *(void **)((char *)cu + entries[i].offset) = symbol;
  }
  return HEDDLE_OK;
}

static heddle_status start(heddle_context *ctx, heddle_runtime *runtime) {
  int count = 0;
  int result = runtime->cu.init(0);
  if (result == HD_CU_NO_DEVICE)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "driver.device",
                    "the CUDA driver finds no device");
  HD_TRY(hd_driver_check(ctx, &runtime->cu, result, "init"));
  HD_CU_TRY(ctx, runtime, driver_version, &runtime->version);
  HD_CU_TRY(ctx, runtime, device_count, &count);
  if (count < 1)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "driver.device",
                    "the CUDA driver finds no device");
  return HEDDLE_OK;
}

heddle_status heddle_runtime_create(heddle_context *ctx, const heddle_runtime_config *config,
                                    heddle_runtime **runtime) {
  const char *path = config && config->driver_path ? config->driver_path : "libcuda.so.1";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "driver.open",
                    "no CUDA driver: %s", dlerror());
  heddle_runtime *made = hd_try_zalloc(ctx, sizeof *made, "the runtime");
  heddle_status status = made ? HEDDLE_OK : HEDDLE_NO_MEMORY;
  if (made)
    made->library = library;
  if (status == HEDDLE_OK)
    status = find_entries(ctx, path, library, &made->cu);
  if (status == HEDDLE_OK)
    status = start(ctx, made);
  if (status == HEDDLE_OK)
    status = hd_early_create(ctx, &made->early);
  if (status != HEDDLE_OK) {
    hd_free(made);
    dlclose(library);
    return status;
  }
  *runtime = made;
  return HEDDLE_OK;
}

void heddle_runtime_free(heddle_runtime *runtime) {
  if (!runtime)
    return;
  for (int i = 0; i < HD_MAX_DEVICES; i++) {
    int device;
    if (runtime->used[i] && runtime->cu.device_get(&device, i) == HD_CU_SUCCESS)
      runtime->cu.primary_release(device);
  }
  hd_early_free(runtime->early);
  /* The library is not closed, because the driver has its own threads and exit handlers. */
  hd_free(runtime);
}
