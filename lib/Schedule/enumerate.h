/* Schedule/enumerate.h: all legal schedules of a problem. */
#ifndef HD_ENUMERATE_H
#define HD_ENUMERATE_H

#include "Schedule/device_model.h"
#include "Schedule/problem.h"
#include "Schedule/schedule.h"

/* The default comes first. *list is owned (hd_free). */
void hd_schedule_enumerate(const hd_device_model *device, const hd_problem *problem,
                           hd_schedule **list, size_t *n);

#endif
