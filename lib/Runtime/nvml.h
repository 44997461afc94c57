/* Runtime/nvml.h: power, clocks and temperature of a device, through libnvidia-ml.so.1, which is
 * opened at run time. Some machines lack it; callers then continue without these figures. */
#ifndef HD_NVML_H
#define HD_NVML_H

#include <stdbool.h>

#include "heddle/context.h"

typedef struct hd_nvml hd_nvml;

typedef struct hd_nvml_sample {
  double power_w, power_limit_w;
  unsigned sm_mhz, memory_mhz, temperature_c;
  unsigned long long throttle; /* nvmlClocksThrottleReasons: 0x20, 0x40 thermal, 0x4 power cap */
} hd_nvml_sample;

typedef struct hd_nvml_identity {
  char uuid[96], name[96], driver[80];
  double power_limit_w;
  bool ecc, mig; /* enabled; false if the device does not support it */
} hd_nvml_identity;

/* nvmlProcessInfo_t of the _v3 entry point. */
typedef struct hd_nvml_process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
} hd_nvml_process;

/* Opens NVML for the device with a PCI id (hd_device_info.pci_id). path NULL: "libnvidia-ml.so.1".
 * HEDDLE_ENVIRONMENT if NVML or the device is not found. */
heddle_status hd_nvml_open(heddle_context *ctx, const char *path, const char *pci_id,
                           hd_nvml **nvml);
/* Opens NVML for a device by NVML's index, which may differ from CUDA's. */
heddle_status hd_nvml_open_index(heddle_context *ctx, const char *path, unsigned index,
                                 hd_nvml **nvml);
heddle_status hd_nvml_identify(heddle_context *ctx, const hd_nvml *nvml,
                               hd_nvml_identity *identity);
/* The number of processes that run compute work on the device, and the id of one (0: none). The
 * process `own` (0: none) and its descendants do not count. In a container, whose ids differ from
 * NVML's, they do. */
heddle_status hd_nvml_processes(heddle_context *ctx, const hd_nvml *nvml, int own, unsigned *n,
                                unsigned *pid);
heddle_status hd_nvml_read(heddle_context *ctx, const hd_nvml *nvml, hd_nvml_sample *sample);
void hd_nvml_close(hd_nvml *nvml);

#endif
