/* Runtime/nvml.h: power, clocks and temperature of a device, through libnvidia-ml.so.1 opened at
 * run time. Absent on some machines: callers go on without the figures. */
#ifndef HD_NVML_H
#define HD_NVML_H

#include "heddle/context.h"

typedef struct hd_nvml hd_nvml;

typedef struct hd_nvml_sample {
  double power_w, power_limit_w;
  unsigned sm_mhz, memory_mhz, temperature_c;
} hd_nvml_sample;

/* Opens NVML for the device of that PCI id (hd_device_info.pci_id). path NULL: "libnvidia-ml.so.1".
 * HEDDLE_ENVIRONMENT when there is none. */
heddle_status hd_nvml_open(heddle_context *ctx, const char *path, const char *pci_id,
                           hd_nvml **nvml);
heddle_status hd_nvml_read(heddle_context *ctx, const hd_nvml *nvml, hd_nvml_sample *sample);
void hd_nvml_close(hd_nvml *nvml);

#endif
