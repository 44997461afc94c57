/* Choice/size_choice.h: the schedule that a kernel takes for sizes: the one order of the choice. */
#ifndef HD_SIZE_CHOICE_H
#define HD_SIZE_CHOICE_H

#include "Choice/tuned.h"
#include "Passes/front.h"

/* The largest size that a launch may have: its max, or a fixed pitch of rows of this length; 0: any
 * size. dim: 'm', 'n' or 'k'. */
int64_t hd_largest_size(const hd_problem *problem, char dim);

/* What a kernel takes whose sizes known at launch are fixed at these (0: stay open): the tuned
 * choice, else the default, else the next best by the model, else a smaller tile; always legal for
 * the kernel as it is, and none of `spilled` (NULL: nothing did), as long as there is one.
 * *entry: what it was taken from, or NULL. */
heddle_status hd_choose_for_sizes(heddle_context *ctx, const hd_front *front,
                                  const hd_tuned *tuned, const int64_t size_mnk[3],
                                  const hd_spilled *spilled, const hd_tuned_entry **entry,
                                  hd_schedule *schedule);

/* The legal one of the smallest of the tiles that are taken where nothing else serves: few
 * registers, and slow. False: there is none. */
bool hd_choose_modest(const hd_problem *problem, hd_schedule *schedule);

#endif
