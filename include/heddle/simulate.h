/* heddle/simulate.h: runs a compiled kernel without a GPU: the PTX itself, with every access
 * checked for bounds, initialisation and order, under a schedule that is as bad as the hardware's
 * rules allow. Some hundred million products a second; needs no driver. */
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
  /* In the order of heddle_kernel_launch. Pointers are to host memory, of arg_bytes (of numbers:
   * 0), which the kernel sees at an address that is a multiple of 256. The workspace is NULL, then
   * one is made, or the caller's, zeroed once, for launch after launch (heddle_kernel_workspace).
   * An address that stands in memory (behind `user`) leads nowhere: what an epilogue of one's own
   * reads, stands there itself. */
  const heddle_arg *args;
  const size_t *arg_bytes;
  size_t n_args;
  heddle_sim_order order;
  uint64_t seed;
} heddle_simulation;

/* Runs it; D holds the result, and is with a workspace all that it may write. HEDDLE_MISMATCH with
 * a diagnostic for each thing that is wrong, which names the line of the PTX; then D is
 * unspecified. HEDDLE_INVALID for a bad manifest, PTX that is malformed or not that of the
 * manifest, or values that heddle_kernel_launch would refuse; HEDDLE_UNSUPPORTED names an
 * instruction that is not simulated. Thread-safe with a ctx, a D and a workspace a thread. */
HEDDLE_API heddle_status heddle_simulate(heddle_context *ctx, const heddle_simulation *simulation);

#ifdef __cplusplus
}
#endif
#endif
