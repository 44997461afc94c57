/* Passes/front.h: the front end: a text, or a module, to its one kernel, legalized and read. */
#ifndef HD_FRONT_H
#define HD_FRONT_H

#include "Passes/passes.h"
#include "Schedule/problem.h"
#include "Schedule/schedule.h"

/* A problem that is legal, before any choice of how; then with the schedule. Or a kernel that came
 * at tile level, with its plan. */
typedef struct hd_front {
  hd_module *module;     /* owned */
  hd_problem problem;    /* borrows from it */
  hd_schedule schedule;  /* once chosen; of a tile level at once */
  const char *last_pass; /* behind which it stands: "legalize"; NULL: before it */
} hd_front;

/* The statuses of hd_parse, hd_verify, legalize and hd_problem_read, in this order; and
 * HEDDLE_UNSUPPORTED where there is not one kernel. The module is consumed, whatever comes out. */
heddle_status hd_front_parse(hd_pass_context *pass, const char *file, const char *text,
                             size_t n_bytes, hd_front *front);
/* The same of a text that Heddle wrote itself (hd_parse_made). */
heddle_status hd_front_made(hd_pass_context *pass, hd_loc place, const char *text, hd_front *front);
heddle_status hd_front_read(hd_pass_context *pass, hd_module *module, hd_front *front);
/* Goes on behind select_shape: the kernel has its whole schedule, and matmul its row. A tile level
 * has them: HEDDLE_INVALID where the pass context would have another target or schedule. */
heddle_status hd_front_choose(hd_pass_context *pass, hd_front *front);
void hd_front_free(hd_front *front);

#endif
