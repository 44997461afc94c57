/* Bench/self_cost.h: what Heddle itself costs: compiling, loading from the cache, launching. Every
 * figure is the least of its rounds: the cost without what else the machine did. */
#ifndef HD_SELF_COST_H
#define HD_SELF_COST_H

#include "Runtime/device.h"
#include "Choice/tuned.h"
#include "heddle/compile.h"

/* Seconds from a problem's text to PTX: of the calling thread its parts, and by the clock all of
 * it. n_threads check and emit kernels at once: with 1 the parts are the whole. */
typedef struct hd_compile_cost {
  double passes, check, emit; /* passes: with parsing and verifying */
  double clock;
  size_t ptx_bytes;
} hd_compile_cost;
heddle_status hd_cost_compile(heddle_context *ctx, const char *text, const char *schedule,
                              int32_t n_threads, int32_t n_rounds, hd_compile_cost *cost);

/* Seconds from a text to a launchable kernel that is in the cache on disk: `lookup` until the bytes
 * are there, `load` until the driver has them (0 without a device). `cache` is an empty folder;
 * ptxas NULL: the entry holds PTX alone. */
typedef struct hd_cached_cost {
  double lookup, load;
  size_t cubin_bytes;
} hd_cached_cost;
heddle_status hd_cost_cached(heddle_context *ctx, const hd_device *device, const char *text,
                             const char *ptxas, const char *cache, int32_t n_rounds,
                             hd_cached_cost *cost);

/* Seconds from the start of a process to its end: `heddle gen` of the text, with and without ptxas
 * (0: NULL was given), nothing cached. heddle: path of the program; folder: where its files go.
 * HEDDLE_ENVIRONMENT where it does not start, or fails. */
typedef struct hd_process_cost {
  double ptx, cubin;
} hd_process_cost;
heddle_status hd_cost_process(heddle_context *ctx, const char *heddle, const char *text,
                              const char *schedule, const char *ptxas, const char *folder,
                              int32_t n_rounds, hd_process_cost *cost);

/* Seconds of the calling thread a launch of a kernel of one CTA: the driver's call alone, with all
 * that it takes prepared before; heddle_kernel_launch; the typed function. */
typedef struct hd_launch_cost {
  double bare, launch, function;
} hd_launch_cost;
heddle_status hd_cost_launch(heddle_context *ctx, const hd_device *device, const char *ptxas,
                             int32_t n_rounds, hd_launch_cost *cost);

/* Seconds of the plan of a launch, which picks the kernel: of one kernel; and in addition to this
 * with the largest number of buckets, for sizes in no order, and for sizes of one bucket. Needs no
 * device. */
typedef struct hd_plan_cost {
  double one, any, again;
  int32_t n_buckets;
} hd_plan_cost;
heddle_status hd_cost_plan(heddle_context *ctx, int32_t n_rounds, hd_plan_cost *cost);

/* Seconds to look up a product among tuned choices: those that are there, in turn; 0: there are
 * none. */
double hd_cost_lookup(const hd_tuned *tuned, int32_t n_rounds);

/* Resident bytes of a process, now: its own, and pages of files (code, libLLVM where it is shared).
 * path: its status, as /proc/self/status. */
typedef struct hd_memory_cost {
  size_t own_bytes, file_bytes;
} hd_memory_cost;
heddle_status hd_cost_memory(heddle_context *ctx, const char *path, hd_memory_cost *cost);

#endif
