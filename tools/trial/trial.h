/* trial/trial.h: one verified run of a kernel: operands, guards, launch, comparison. Used by
 * `heddle run` and the GPU test suite. */
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

/* A kernel and its parsed manifest. Its first trial on a device loads it; the device must outlive
 * it. Used by one thread at a time. Zero-initialise. */
typedef struct trial_kernel {
  heddle_compiled *compiled; /* NULL: read from files */
  heddle_image code;         /* borrowed from compiled or `file` */
  char *file[2];             /* owned; NULL: none */
  void *decompressed[2];     /* owned; NULL: none */
  hd_arena arena;
  hd_manifest manifest;
  heddle_kernel *loaded; /* NULL: not loaded yet */
} trial_kernel;

heddle_status trial_kernel_compile(heddle_context *ctx, const char *file, const char *text,
                                   size_t text_bytes, const heddle_compile_options *options,
                                   trial_kernel *kernel);
/* Reads the manifest and the code of kernel->compiled. */
heddle_status trial_kernel_open(heddle_context *ctx, trial_kernel *kernel);
/* Reads NAME.json of `heddle gen`, and its code: NAME.ptx and NAME.cubin next to it, or in a bundle
 * the part for `target` (NULL: the first that `runs` accepts, else the first). HEDDLE_INVALID for
 * files of different gens, HEDDLE_NOT_FOUND for missing files. */
typedef bool trial_runs(const void *user, const char *target);
heddle_status trial_kernel_read(heddle_context *ctx, const char *path, const char *json,
                                size_t json_bytes, const char *target, trial_runs *runs,
                                const void *user, trial_kernel *kernel);
void trial_kernel_free(trial_kernel *kernel);

/* The family of packed A that the kernel reads. */
heddle_family trial_kernel_family(const hd_manifest *manifest);

/* ---- the request ---- */

/* An error injected into the kernel's input, to check that the comparison fails. */
typedef enum trial_fault {
  TRIAL_FAULT_NONE,
  /* In A: */
  TRIAL_FAULT_METADATA,  /* one code of one group */
  TRIAL_FAULT_K_STEP,    /* one k-step of one slab is skipped */
  TRIAL_FAULT_ROWS,      /* two adjacent rows are swapped */
  TRIAL_FAULT_PAIRS,     /* pairs: rows of gate and up are packed without interleaving */
  /* Elsewhere: */
  TRIAL_FAULT_SCALE,     /* one block scale of A, */
  TRIAL_FAULT_SCALE_B,   /* or of B */
  TRIAL_FAULT_OFFSETS,   /* groups: one starts a column late */
  TRIAL_FAULT_GATHER,    /* groups: skips a column of B, */
  TRIAL_FAULT_SCATTER,   /* or one of D, */
  TRIAL_FAULT_COMBINE,   /* or one of a sum */
  TRIAL_FAULT_STATISTIC, /* statistics of D: the pitch is one too large */
  TRIAL_FAULT_COLUMNS,   /* statistics of B: likewise */
  TRIAL_FAULT_AUX,       /* the second matrix: likewise */
  TRIAL_N_FAULTS
} trial_fault;

/* The user's epilogue function, for the reference; up is 0 unless the act is a pair. */
typedef double trial_user(void *user, double acc, double up, int64_t row, int64_t col);

enum { TRIAL_SHARED = -1 };

/* Zero-initialise; every field may stay 0. */
typedef struct trial_request {
  /* m n k ldb ldc ldd ldsa ldsb ldsd ldaux, of a batch g and strides, in elements (stride_a:
   * bytes); 0: fixed or the default; TRIAL_SHARED: a stride of 0 */
  int64_t size[HD_N_ARG_KINDS];
  uint64_t seed;
  bool exact;                   /* operands are small integers, compared bit for bit */
  float alpha, beta;            /* 0: 1 (0.5 and 2 if exact, so that a missing factor is
                                   detected) */
  float eps;                    /* 0: a value that is detected if it is missing */
  /* Offsets of the pointers from a multiple of 256, in bytes; vectors: bias and scales. */
  uint32_t offset_b, offset_d, offset_aux, offset_vectors;
  trial_fault fault;
  bool bare;                    /* no guards: for a checker that detects overruns itself */
  /* .npy (A: also canonical or packed); NULL: generated */
  const char *a_file, *b_file, *c_file, *bias_file, *scale_a_file, *scale_b_file;
  const char *block_scale_file[2]; /* .npy, row-major: of A, of B */
  const char *d_file;           /* written as .npy unless NULL */
  const char *routing; /* groups: a word of Reference/routing.h (NULL: random), or "0,3,17" */
  trial_user *user;             /* for act = user, user_pair; its first argument is user_data */
  void *user_data;
  const void *user_bytes; /* contents of the kernel's argument `user`; NULL: the argument is NULL */
  size_t n_user_bytes;
  hd_sim_mode sim_mode;
} trial_request;

/* Checks sizes and pitches (by HD_ARG_M etc.; 0: not given). HEDDLE_INVALID with the nearest legal
 * value if one contradicts the problem, is illegal for a launch, or is not an argument of the
 * kernel. Only reads the manifest's arguments. */
heddle_status trial_check_sizes(heddle_context *ctx, const hd_manifest *manifest,
                                const int64_t size[HD_N_ARG_KINDS]);

/* ---- the result ---- */

typedef struct trial_result {
  bool ok;
  const char *path; /* of B: "tma", "gather", …; borrowed from the manifest */
  int64_t m, n, k, g;
  int64_t n_routed; /* columns of all groups */
  int64_t n_combined; /* columns of D if it is combined; else 0 */
  hd_comparison comparison;
  double bound;
  uint64_t n_statistics, n_statistics_wrong; /* compared; each is of 128 rows and a column of D */
  uint64_t n_instructions; /* simulator */
  double launch_seconds;   /* wall clock of launch and wait, or of the simulation */
  char why[400];           /* if not ok: the first error */
} trial_result;

/* An opened device, shared by all threads; launches are serialised. */
typedef struct trial_device trial_device;
/* HEDDLE_ENVIRONMENT with a diagnostic if there is no device. */
heddle_status trial_device_open(heddle_context *ctx, trial_device **device);
void trial_device_close(trial_device *device); /* accepts NULL */
const char *trial_device_target(const trial_device *device); /* "sm_90a" */
heddle_runtime *trial_device_runtime(const trial_device *device); /* borrowed */
/* Whether it runs code of that target: its own, or an older one that is portable. */
bool trial_device_runs(const trial_device *device, const char *target);

/* Runs one trial on the device, or in the simulator if device is NULL. A wrong result is HEDDLE_OK
 * with result->ok false; any other status means that the trial could not be run. Thread-safe with
 * one ctx per thread. */
heddle_status trial_run(heddle_context *ctx, trial_kernel *kernel, const trial_request *request,
                        trial_device *device, trial_result *result);

/* Limit of warp instructions, after which the simulator assumes that a launch does not end. */
uint64_t trial_most_steps(int64_t m, int64_t n, int64_t k);

#endif
