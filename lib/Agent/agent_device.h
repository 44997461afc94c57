/* Agent/agent_device.h: the GPU of an agent: its identity, its lock, and its current users. */
#ifndef HD_AGENT_DEVICE_H
#define HD_AGENT_DEVICE_H

#include <jansson.h>

#include "Agent/agent.h"
#include "Runtime/nvml.h"
#include "Support/lock.h"

typedef struct hd_agent_device {
  hd_nvml *nvml; /* NULL: scripted */
  hd_nvml_identity is;
  char device_class[64];
  hd_lock lock;
  const char *locks; /* borrowed */
} hd_agent_device;

/* HEDDLE_ENVIRONMENT without NVML or without this GPU. */
heddle_status hd_agent_device_open(heddle_context *ctx, const hd_agent_options *options,
                                   hd_agent_device *device);
void hd_agent_device_close(hd_agent_device *device);
/* Takes the GPU's lock, unless it is already held, and looks for processes that use the GPU, other
 * than those below the process `own` (0: none). *busy: a reason, or "" if the GPU is free. */
heddle_status hd_agent_device_take(heddle_context *ctx, hd_agent_device *device, int own,
                                   char busy[160]);
/* The field `device` of a claim (owned). */
json_t *hd_agent_device_json(const hd_agent_device *device);

#endif
