#include "Runtime/nvml.h"

#include <dlfcn.h>
#include <stddef.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"

enum {
  CLOCK_SM = 1,
  CLOCK_MEMORY = 2,
  SENSOR_GPU = 0
}; /* nvmlClockType_t, nvmlTemperatureSensors_t */

struct hd_nvml {
  void *library, *device;
#define HD_NVML(member, symbol, params) int(*member) params;
#include "Runtime/nvml.def"
#undef HD_NVML
};

static const struct {
  const char *symbol;
  size_t offset;
} entries[] = {
#define HD_NVML(member, symbol, params) {symbol, offsetof(hd_nvml, member)},
#include "Runtime/nvml.def"
#undef HD_NVML
};

static heddle_status check(heddle_context *ctx, int result, const char *what) {
  if (result == 0)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "nvml.call", "NVML: %s failed with %d", what,
                  result);
}

static heddle_status find_entries(heddle_context *ctx, hd_nvml *nvml) {
  for (size_t i = 0; i < HD_COUNT(entries); i++) {
    void *symbol = dlsym(nvml->library, entries[i].symbol);
    if (!symbol)
      return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "nvml.symbol", "NVML has no %s",
                      entries[i].symbol);
    *(void **)((char *)nvml + entries[i].offset) = symbol;
  }
  return HEDDLE_OK;
}

/* Finds the device by PCI id or, if that is NULL, by NVML's index. */
static heddle_status start(heddle_context *ctx, hd_nvml *nvml, const char *pci_id, unsigned index) {
  HD_TRY(find_entries(ctx, nvml));
  HD_TRY(check(ctx, nvml->init(), "nvmlInit"));
  int result = pci_id ? nvml->by_pci(pci_id, &nvml->device) : nvml->by_index(index, &nvml->device);
  heddle_status status = check(ctx, result, "finding the device");
  if (status != HEDDLE_OK)
    nvml->shutdown();
  return status;
}

static heddle_status open_any(heddle_context *ctx, const char *path, const char *pci_id,
                              unsigned index, hd_nvml **nvml) {
  hd_nvml *made = hd_try_zalloc(ctx, sizeof *made, "NVML");
  if (!made)
    return HEDDLE_NO_MEMORY;
  made->library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  heddle_status status = made->library ? start(ctx, made, pci_id, index)
                                       : hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "nvml.open",
                                                  "no NVML: %s", dlerror());
  if (status != HEDDLE_OK) {
    if (made->library)
      dlclose(made->library);
    hd_free(made);
    return status;
  }
  *nvml = made;
  return HEDDLE_OK;
}

heddle_status hd_nvml_open(heddle_context *ctx, const char *path, const char *pci_id,
                           hd_nvml **nvml) {
  return open_any(ctx, path, pci_id, 0, nvml);
}

heddle_status hd_nvml_open_index(heddle_context *ctx, const char *path, unsigned index,
                                 hd_nvml **nvml) {
  return open_any(ctx, path, NULL, index, nvml);
}

heddle_status hd_nvml_identify(heddle_context *ctx, const hd_nvml *n, hd_nvml_identity *identity) {
  hd_nvml_identity found = {0};
  unsigned limit = 0, mig = 0, next_mig;
  int ecc = 0, next_ecc;
  HD_TRY(check(ctx, n->uuid(n->device, found.uuid, sizeof found.uuid), "reading the UUID"));
  HD_TRY(check(ctx, n->name(n->device, found.name, sizeof found.name), "reading the name"));
  HD_TRY(check(ctx, n->driver(found.driver, sizeof found.driver), "reading the driver's version"));
  HD_TRY(check(ctx, n->power_limit(n->device, &limit), "reading the power limit"));
  found.power_limit_w = limit * 1e-3;
  found.ecc = n->ecc(n->device, &ecc, &next_ecc) == 0 && ecc;
  found.mig = n->mig(n->device, &mig, &next_mig) == 0 && mig;
  *identity = found;
  return HEDDLE_OK;
}

heddle_status hd_nvml_processes(heddle_context *ctx, const hd_nvml *nvml, int own, unsigned *n,
                                unsigned *pid) {
  enum { MAX_LISTED = 64, TOO_SMALL = 7 }; /* NVML_ERROR_INSUFFICIENT_SIZE: there are more */
  hd_nvml_process list[MAX_LISTED] = {0};
  unsigned count = MAX_LISTED;
  int result = nvml->processes(nvml->device, &count, list);
  if (result != TOO_SMALL)
    HD_TRY(check(ctx, result, "listing the processes"));
  *n = *pid = 0;
  for (unsigned i = 0; i < count && i < MAX_LISTED; i++)
    if (!own || !hd_process_is_below((int)list[i].pid, own)) {
      ++*n;
      *pid = list[i].pid;
    }
  *n += count > MAX_LISTED ? count - MAX_LISTED : 0; /* these are not listed */
  return HEDDLE_OK;
}

heddle_status hd_nvml_read(heddle_context *ctx, const hd_nvml *nvml, hd_nvml_sample *sample) {
  unsigned power, limit;
  hd_nvml_sample read;
  HD_TRY(check(ctx, nvml->power(nvml->device, &power), "reading the power"));
  HD_TRY(check(ctx, nvml->power_limit(nvml->device, &limit), "reading the power limit"));
  HD_TRY(check(ctx, nvml->clock(nvml->device, CLOCK_SM, &read.sm_mhz), "reading a clock"));
  HD_TRY(check(ctx, nvml->clock(nvml->device, CLOCK_MEMORY, &read.memory_mhz), "reading a clock"));
  HD_TRY(check(ctx, nvml->temperature(nvml->device, SENSOR_GPU, &read.temperature_c),
               "reading the temperature"));
  HD_TRY(check(ctx, nvml->throttle(nvml->device, &read.throttle), "reading the throttle reasons"));
  read.power_w = power * 1e-3;
  read.power_limit_w = limit * 1e-3;
  *sample = read;
  return HEDDLE_OK;
}

void hd_nvml_close(hd_nvml *nvml) {
  if (!nvml)
    return;
  nvml->shutdown();
  dlclose(nvml->library);
  hd_free(nvml);
}
