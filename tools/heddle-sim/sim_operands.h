/* heddle-sim/sim_operands.h: operands of a launch, from raw files or seeded values, and the
 * verification of D. */
#ifndef HD_SIM_OPERANDS_H
#define HD_SIM_OPERANDS_H

#include "cli.h"
#include "trial/trial_parts.h"

/* Zero-initialise; free it even after a failure. */
typedef struct sim_operands {
  trial_request request;
  trial_data data;
  hd_sim_buffer buffer[TRIAL_MAX_BLOCKS + 1]; /* borrow the data; the workspace is last */
  uint32_t n;
  uint8_t *workspace; /* owned; NULL: the kernel has none */
  const char *unknown; /* why there is no reference; NULL: there is a reference */
} sim_operands;

/* Makes sizes and scalars from --arg NAME=VALUE (default: sizes of 2 tiles, strides of the shortest
 * legal row), and every pointer argument from NAME=FILE of --data (raw bytes) or by seed. D starts
 * unwritten. operands->data.values has all values except the workspace. */
heddle_status sim_operands_make(heddle_context *ctx, const hd_manifest *manifest,
                                const cli_texts *args, const cli_texts *files, uint64_t seed,
                                sim_operands *operands);
/* Adds a zeroed workspace. */
heddle_status sim_operands_add_workspace(heddle_context *ctx, uint64_t n_bytes,
                                         sim_operands *operands);
hd_sim_buffer *sim_operands_d(sim_operands *operands);
/* Finds the first element of D that was not written. False: all were written. */
bool sim_operands_unwritten(const hd_manifest *manifest, const sim_operands *operands,
                            const uint8_t *written, int64_t *g, int64_t *row, int64_t *col);
/* Compares numbers with the double-precision reference; checks that other bytes are unchanged. */
heddle_status sim_operands_verify(heddle_context *ctx, const hd_manifest *manifest,
                                  const sim_operands *operands, trial_result *result);
void sim_operands_free(sim_operands *operands);

#endif
