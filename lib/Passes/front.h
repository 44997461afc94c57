/* Passes/front.h: the front end: reads and legalizes a text or module that has one kernel. */
#ifndef HD_FRONT_H
#define HD_FRONT_H

#include "Passes/passes.h"
#include "Schedule/problem.h"
#include "Schedule/schedule.h"

/* A legal problem, and its schedule once it has been chosen; or a kernel that was given at tile
 * level, with its plan. */
typedef struct hd_front {
  hd_module *module;     /* owned */
  hd_problem problem;    /* borrows from it */
  hd_schedule schedule;  /* set by hd_front_choose; at tile level set at once */
  const char *last_pass; /* the last pass that has run, e.g. "legalize"; NULL: none */
} hd_front;

/* Status: of hd_parse, hd_verify, legalize and hd_problem_read, in this order; HEDDLE_UNSUPPORTED
 * unless there is exactly one kernel. The module is consumed, also on failure. */
heddle_status hd_front_parse(hd_pass_context *pass, const char *file, const char *text,
                             size_t n_bytes, hd_front *front);
/* The same for a text that Heddle generated (hd_parse_made). */
heddle_status hd_front_made(hd_pass_context *pass, hd_loc place, const char *text, hd_front *front);
heddle_status hd_front_read(hd_pass_context *pass, hd_module *module, hd_front *front);
/* Runs select_shape, which sets the kernel's schedule and the row of its matmul. A kernel at tile
 * level has both: HEDDLE_INVALID if the pass context has a target or a schedule. */
heddle_status hd_front_choose(hd_pass_context *pass, hd_front *front);
void hd_front_free(hd_front *front);

#endif
