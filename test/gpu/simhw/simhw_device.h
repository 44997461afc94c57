/* simhw_device.h: a launch of gpu.h in the simulator. */
#ifndef SIMHW_DEVICE_H
#define SIMHW_DEVICE_H

#include "gpu.h"

/* Runs the PTX text with the job's parameters; poisons the output first. False after the findings
 * or the diagnostics of lib/Sim, each with `name`. */
bool sim_device_run(const char *name, const char *ptx, const gpu_job *job);

#endif
