/* heddle/explain_cost.h: what a schedule is predicted to cost, what was measured, what dense
 * would. */
#ifndef HD_EXPLAIN_COST_H
#define HD_EXPLAIN_COST_H

#include "Choice/tuned.h"

/* size_mnk: of sizes known at launch, 0: as hd_product_of has it. entry may be NULL. */
void explain_print_cost(const hd_problem *problem, const hd_schedule *schedule,
                        const int64_t size_mnk[3], const hd_device_model *ceilings,
                        const hd_tuned_entry *entry);

/* The legal schedule that is predicted fastest, when it promises a tenth less than this one: the
 * model is no better than that. */
void explain_print_promising(const hd_problem *problem, const hd_schedule *schedule,
                             const int64_t size_mnk[3], const hd_device_model *ceilings);

#endif
