/* Choice/spilled.h: schedules that turned out not to fit into registers, so that no choice takes
 * them again. */
#ifndef HD_SPILLED_H
#define HD_SPILLED_H

#include "Schedule/schedule.h"

enum { HD_MOST_SPILLED = 192 };

/* Zero-initialise. Of one problem and one assembler. */
typedef struct hd_spilled {
  hd_schedule list[HD_MOST_SPILLED];
  int32_t n;
} hd_spilled;

/* Beyond the most it forgets the new one: a choice may then be tried twice. */
void hd_spilled_add(hd_spilled *spilled, const hd_schedule *schedule);
/* One of them, or one whose threads hold as much: it differs from it in nothing that takes
 * registers. spilled NULL: none did. */
bool hd_spilled_has(const hd_spilled *spilled, const hd_schedule *schedule);

#endif
