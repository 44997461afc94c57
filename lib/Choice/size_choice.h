/* Choice/size_choice.h: chooses the schedule of a kernel for given sizes. */
#ifndef HD_SIZE_CHOICE_H
#define HD_SIZE_CHOICE_H

#include "Choice/tuned.h"
#include "Passes/front.h"

/* The largest legal size of a launch: its max, or a fixed pitch of rows of this size. 0: no limit.
 * dim: 'm', 'n' or 'k'. */
int64_t hd_largest_size(const hd_problem *problem, char dim);

/* Chooses a schedule as if the sizes known only at launch were fixed to size_mnk (0: stay open):
 * the tuned choice, else the default, else the next best by the model, else a smaller tile. It is
 * always legal for the original kernel, and not in `spilled` (may be NULL) unless all candidates
 * are. *entry: the tuned entry of the schedule, or NULL. */
heddle_status hd_choose_for_sizes(heddle_context *ctx, const hd_front *front,
                                  const hd_tuned *tuned, const int64_t size_mnk[3],
                                  const hd_spilled *spilled, const hd_tuned_entry **entry,
                                  hd_schedule *schedule);

/* The smallest legal tile of those used as the last resort, which take few registers and are slow.
 * False: none is legal. */
bool hd_choose_modest(const hd_problem *problem, hd_schedule *schedule);

#endif
