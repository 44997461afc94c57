/* heddle/bench_again.h: goes on in another process after a peer broke the device. */
#ifndef HD_BENCH_AGAIN_H
#define HD_BENCH_AGAIN_H

#include <stdbool.h>

#include "bench_log.h"

/* Notes in the log that a contender broke the device at this case: *again is true. Only says what
 * would help without a file, or if again is NULL (standard output is one document, which another
 * process cannot continue). Returns HEDDLE_ENVIRONMENT, or the error of the file. */
heddle_status bench_again_log(heddle_context *ctx, bench_log *log, uint64_t seed,
                              const hd_bench_problem *problem, const char *contender, bool *again);
/* Replaces this process by `heddle` with the same arguments (of the subcommand, argv[0] its name),
 * and --resume unless it is there. Returns an exit code only if that fails. */
int bench_again(int argc, char **argv, bool resumes);

#endif
