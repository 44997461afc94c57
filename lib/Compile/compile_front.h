/* Compile/compile_front.h: compiling what the front end has read, with what was chosen for it. */
#ifndef HD_COMPILE_FRONT_H
#define HD_COMPILE_FRONT_H

#include "Choice/bucket_plan.h"
#include "Passes/front.h"
#include "heddle/compile.h"

/* As heddle_compile. The front is consumed, whatever comes out; it was read for the target of the
 * options. chosen: the schedules, in place of the one of the options; of n 1, one for all sizes;
 * NULL: none was chosen. */
heddle_status hd_compile_front(heddle_context *ctx, hd_front *front, const hd_bucket_plan *chosen,
                               const heddle_compile_options *options, heddle_compiled **compiled);

#endif
