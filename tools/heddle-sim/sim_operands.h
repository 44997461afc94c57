/* heddle-sim/sim_operands.h: the operands of a launch: from raw files, or seeded values. */
#ifndef HD_SIM_OPERANDS_H
#define HD_SIM_OPERANDS_H

#include "Kernel/manifest.h"
#include "Sim/sim.h"
#include "cli.h"

enum { SIM_MAX_OPERANDS = 12 };

typedef struct sim_operands {
  hd_sim_buffer buffer[SIM_MAX_OPERANDS]; /* data owned */
  hd_arg_kind kind[SIM_MAX_OPERANDS];
  uint32_t n;
} sim_operands;

/* NAME=VALUE of --arg; sizes without a value get 2 tiles' worth, strides the shortest legal row. */
heddle_status sim_values_fill(heddle_context *ctx, const hd_manifest *manifest,
                              const cli_texts *args, hd_values *values);

/* Places every pointer argument: NAME=FILE of --data (raw bytes), else values from the seed (A
 * packed and legal). The D operand starts unwritten. Sets the pointers in values. */
heddle_status sim_operands_make(heddle_context *ctx, const hd_manifest *manifest,
                                const cli_texts *files, uint64_t seed, uint64_t workspace_bytes,
                                hd_values *values, sim_operands *operands);
void sim_operands_free(sim_operands *operands);

#endif
