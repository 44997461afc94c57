/* heddle/simulate.h: executes the PTX of a compiled kernel without a GPU. It checks every access
 * for bounds, initialisation and order, with the worst execution order that the rules of the
 * hardware allow. It executes about a hundred million multiplications per second, and needs no
 * driver. */
#ifndef HEDDLE_SIMULATE_H
#define HEDDLE_SIMULATE_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When asynchronous work completes: at the last moment, at once, or at random (by seed). */
typedef enum heddle_sim_order {
  HEDDLE_SIM_LATE,
  HEDDLE_SIM_EARLY,
  HEDDLE_SIM_RANDOM
} heddle_sim_order;

/* One launch. All borrowed for the call; zero-initialise. */
typedef struct heddle_simulation {
  const char *manifest, *ptx; /* of heddle_compiled_manifest and _ptx, or files of `heddle gen` */
  size_t manifest_bytes, ptx_bytes;
  /* In the order of heddle_kernel_launch. Pointers point to host memory of arg_bytes bytes (0 for
   * numbers); the kernel sees it at an address that is a multiple of 256. The workspace is NULL
   * (one is made), or the caller's, zeroed once, for several launches (heddle_kernel_workspace).
   * Addresses stored in memory (behind `user`) are not valid: the data that a user epilogue reads
   * must be in the memory of `user` itself. */
  const heddle_arg *args;
  const size_t *arg_bytes;
  size_t n_args;
  heddle_sim_order order;
  uint64_t seed;
} heddle_simulation;

/* Runs the launch; D has the result. It writes only D and the workspace. HEDDLE_MISMATCH: a fault
 * was found; a diagnostic for each fault names its line of the PTX, and D is unspecified.
 * HEDDLE_INVALID for a bad manifest, for PTX that is malformed or does not belong to the manifest,
 * and for values that heddle_kernel_launch would refuse. HEDDLE_UNSUPPORTED names an instruction
 * that is not simulated. Thread-safe with one ctx, D and workspace per thread. */
HEDDLE_API heddle_status heddle_simulate(heddle_context *ctx, const heddle_simulation *simulation);

#ifdef __cplusplus
}
#endif
#endif
