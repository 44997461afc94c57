/* trial/trial.h: one verified run of a kernel: operands, guards, launch, comparison. `heddle run`
 * and the GPU suite are made of these. */
#ifndef TRIAL_H
#define TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Kernel/manifest.h"
#include "Reference/reference_compare.h"
#include "Sim/sim.h"
#include "Support/arena.h"
#include "heddle/compile.h"
#include "heddle/memory.h"
#include "heddle/sparse.h"

/* ---- the kernel ---- */

/* A kernel and its manifest, parsed; loaded by its first trial on a device, which must outlive it.
 * Used by one thread at a time. Zero-initialise. */
typedef struct trial_kernel {
  heddle_compiled *compiled; /* NULL: read from files */
  heddle_image code;         /* borrowed from it, or from `file` */
  char *file[2];             /* owned; NULL: none */
  hd_arena arena;
  hd_manifest manifest;
  heddle_kernel *loaded; /* NULL: not yet */
} trial_kernel;

heddle_status trial_kernel_compile(heddle_context *ctx, const char *file, const char *text,
                                   size_t text_bytes, const heddle_compile_options *options,
                                   trial_kernel *kernel);
/* The manifest and the code of kernel->compiled. */
heddle_status trial_kernel_open(heddle_context *ctx, trial_kernel *kernel);
/* The kernel of NAME.json, of `heddle gen`, with its code: NAME.ptx and NAME.cubin beside it, or of
 * a bundle its part for `target` (NULL: the first that `runs` takes, else the first).
 * HEDDLE_INVALID, HEDDLE_NOT_FOUND for files that are not of one gen, or not there. */
typedef bool trial_runs(const void *user, const char *target);
heddle_status trial_kernel_read(heddle_context *ctx, const char *path, const char *json,
                                size_t json_bytes, const char *target, trial_runs *runs,
                                const void *user, trial_kernel *kernel);
void trial_kernel_free(trial_kernel *kernel);

/* The family of packed A that the kernel reads. */
heddle_family trial_kernel_family(const hd_manifest *manifest);

/* ---- what is asked ---- */

/* An error injected in what the kernel gets, to see the comparison fail. */
typedef enum trial_fault {
  TRIAL_FAULT_NONE,
  TRIAL_FAULT_METADATA, /* one code of one group */
  TRIAL_FAULT_K_STEP,   /* one k-step of one slab is left out */
  TRIAL_FAULT_ROWS,     /* two neighbouring rows swapped */
  TRIAL_FAULT_SCALE,    /* one block scale of A, */
  TRIAL_FAULT_SCALE_B,  /* or of B */
  TRIAL_FAULT_OFFSETS,  /* of groups: one begins a column late */
  TRIAL_FAULT_GATHER,   /* of groups: a column of B is left out, */
  TRIAL_FAULT_SCATTER,  /* or one of D, */
  TRIAL_FAULT_COMBINE,  /* or one of a sum */
  TRIAL_FAULT_STATISTIC, /* of statistics of D: rows of them an element too far apart */
  TRIAL_FAULT_PAIRS     /* of pairs: rows of gate and up packed as they are, not interleaved */
} trial_fault;

/* The epilogue function of the user, for the reference; up is 0 but of pairs. */
typedef double trial_user(void *user, double acc, double up, int64_t row, int64_t col);

enum { TRIAL_SHARED = -1 };

/* Zero-initialise; every field may stay 0. */
typedef struct trial_request {
  /* m n k ldb ldc ldd ldsa ldsb ldsd, of a batch g and strides, in elements (stride_a: bytes); 0:
   * fixed or the default; TRIAL_SHARED: a stride of 0 */
  int64_t size[HD_N_ARG_KINDS];
  uint64_t seed;
  bool exact;                   /* small integers, compared bit for bit */
  float alpha, beta;            /* 0: 1 (0.5 and 2 when exact, so that a wrong one is seen) */
  /* Bytes by which pointers miss a multiple of 256; vectors: bias and scales. */
  uint32_t offset_b, offset_d, offset_vectors;
  trial_fault fault;
  bool bare;                    /* no guards: for a checker that knows each allocation's end */
  /* .npy (A: also canonical or packed); NULL: made */
  const char *a_file, *b_file, *c_file, *bias_file, *scale_a_file, *scale_b_file;
  const char *block_scale_file[2]; /* .npy, row-major: of A, of B */
  const char *d_file;           /* written as .npy when not NULL */
  const char *routing; /* of groups: a word of Reference/routing.h (NULL: random), or "0,3,17" */
  trial_user *user;             /* of act = user, user_pair; its first argument is user_data */
  void *user_data;
  const void *user_bytes; /* what the kernel's argument `user` points to; NULL: it is NULL */
  size_t n_user_bytes;
  hd_sim_mode sim_mode;
} trial_request;

/* Sizes and pitches (by HD_ARG_M and its like; 0: not given) that contradict the problem, that no
 * launch takes, or that the kernel has not: HEDDLE_INVALID with the nearest legal one. Of the
 * manifest only the arguments count. */
heddle_status trial_check_sizes(heddle_context *ctx, const hd_manifest *manifest,
                                const int64_t size[HD_N_ARG_KINDS]);

/* ---- what comes out ---- */

typedef struct trial_result {
  bool ok;
  const char *path; /* of B: "tma", "gather", …; borrowed from the kernel's manifest */
  int64_t m, n, k, g;
  int64_t n_routed; /* columns of all groups */
  int64_t n_combined; /* columns of D, where they are sums of those; else 0 */
  hd_comparison comparison;
  double bound;
  uint64_t n_statistics, n_statistics_wrong; /* of 128 rows of D and a column, that were compared */
  uint64_t n_instructions; /* simulator */
  double launch_seconds;   /* wall clock of launch and wait, or of the simulation */
  char why[400];           /* when not ok: the first thing that is wrong */
} trial_result;

/* The device, opened: shared by all threads (launches take turns). */
typedef struct trial_device trial_device;
/* HEDDLE_ENVIRONMENT with a sentence when there is none. */
heddle_status trial_device_open(heddle_context *ctx, trial_device **device);
void trial_device_close(trial_device *device); /* accepts NULL */
const char *trial_device_target(const trial_device *device); /* "sm_90a" */
heddle_runtime *trial_device_runtime(const trial_device *device); /* borrowed */
/* Whether it runs code of that target: its own, or a plain older one. */
bool trial_device_runs(const trial_device *device, const char *target);

/* One trial on the device, or in the simulator when device is NULL. A wrong result is HEDDLE_OK
 * with result->ok false; any other status is a failure to try. Thread-safe with one ctx per
 * thread. */
heddle_status trial_run(heddle_context *ctx, trial_kernel *kernel, const trial_request *request,
                        trial_device *device, trial_result *result);

/* Warp instructions after which the simulator takes a launch for one that does not end. */
uint64_t trial_most_steps(int64_t m, int64_t n, int64_t k);

#endif
