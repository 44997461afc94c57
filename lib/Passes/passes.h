/* Passes/passes.h: the pipeline, problem level to a checked role level. */
#ifndef HD_PASSES_H
#define HD_PASSES_H

#include "IR/ir.h"
#include "Schedule/device_model.h"

/* What passes share. ctx is borrowed; schedule NULL text = each kernel's default. */
typedef struct hd_pass_context {
  heddle_context *ctx;
  const char *target;        /* overrides the kernel's; NULL: the kernel's own */
  const char *schedule_text; /* over the default schedule; NULL or "" = the default */
  const hd_device_model *device; /* whom the default is for; NULL: the target's own model */
  int32_t n_threads;             /* that check kernels at once; 0: the caller's alone */
} hd_pass_context;

typedef heddle_status hd_pass_fn(hd_pass_context *pass, hd_module *module);

typedef struct hd_pass {
  const char *name; /* "legalize", … */
  hd_pass_fn *run;  /* called by hd_run_pass alone */
  const char *doc;  /* one line */
  /* What it takes: a level, whether sync is placed, an attribute that the passes ahead of it have
   * left on each matmul (HD_N_ATTRS: none), and of a kernel what these do not tell:
   * `unfit` says which kernel is not taken, "that is …", else NULL (NULL itself: any is). */
  hd_level level;
  bool sync_placed;
  hd_attr_key needs;
  const char *(*unfit)(hd_op *kernel);
} hd_pass;

/* The pipeline in order: legalize, select_shape, tile, assign_fragments, select_operand_path,
 * build_mainloop, split_roles, unroll, insert_barriers, insert_fences, check. */
const hd_pass *hd_pipeline(size_t *n);
const hd_pass *hd_pass_find(const char *name); /* NULL: there is none */

/* Observes the module after each pass (printing, timing). */
typedef struct hd_pipeline_options {
  bool verify_each;       /* always on in debug builds */
  const char *start_after; /* NULL: from the first */
  const char *stop_after;  /* NULL: to the last */
  void (*after)(void *user, const hd_pass *pass, const hd_module *module, double seconds);
  void *user;
} hd_pipeline_options;

/* Runs one pass on a verified module; HEDDLE_INVALID when that is not what the pass takes. */
heddle_status hd_run_pass(hd_pass_context *pass, hd_module *module, const hd_pass *p);

heddle_status hd_run_pipeline(hd_pass_context *pass, hd_module *module,
                              const hd_pipeline_options *options);

#endif
