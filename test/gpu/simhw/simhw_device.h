/* simhw_device.h: runs a launch of gpu.h in the simulator. */
#ifndef SIMHW_DEVICE_H
#define SIMHW_DEVICE_H

#include "gpu.h"

/* Runs the PTX text with the parameters of the job; poisons the output first. False after printing
 * the findings or diagnostics of lib/Sim, each with `name`. */
bool sim_device_run(const char *name, const char *ptx, const gpu_job *job);

#endif
