/* Choice/spilled.h: schedules that spilled registers when compiled, so that they are not chosen
 * again. */
#ifndef HD_SPILLED_H
#define HD_SPILLED_H

#include "Schedule/schedule.h"

enum { HD_MOST_SPILLED = 192 };

/* Zero-initialise. Valid for one problem and one assembler. */
typedef struct hd_spilled {
  hd_schedule list[HD_MOST_SPILLED];
  int32_t n;
} hd_spilled;

/* Ignores the schedule if the list is full: it may then be tried again. */
void hd_spilled_add(hd_spilled *spilled, const hd_schedule *schedule);
/* Whether the list (NULL: empty) has the schedule, or one that differs from it only in keys which
 * do not affect registers. */
bool hd_spilled_has(const hd_spilled *spilled, const hd_schedule *schedule);

#endif
