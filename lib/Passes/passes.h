/* Passes/passes.h: the pipeline, problem level to a checked role level. */
#ifndef HD_PASSES_H
#define HD_PASSES_H

#include "IR/ir.h"
#include "Schedule/device_model.h"

/* Options of all passes. ctx is borrowed. */
typedef struct hd_pass_context {
  heddle_context *ctx;
  const char *target;        /* overrides the kernel's; NULL: the kernel's own */
  const char *schedule_text; /* over the default schedule; NULL or "" = the default */
  const hd_device_model *device; /* for the default schedule; NULL: the target's own model */
  int32_t n_threads;             /* threads that check kernels; 0: only the caller's */
} hd_pass_context;

typedef heddle_status hd_pass_fn(hd_pass_context *pass, hd_module *module);

typedef struct hd_pass {
  const char *name; /* "legalize", … */
  hd_pass_fn *run;  /* called only by hd_run_pass */
  const char *doc;  /* one line */
  /* The accepted input: a level, whether sync ops exist, and an attribute that earlier passes have
   * set on each matmul (HD_N_ATTRS: none). `unfit` checks what these cannot express: it returns why
   * a kernel is refused, "that is …", or NULL. A NULL `unfit` accepts all kernels. */
  hd_level level;
  bool sync_placed;
  hd_attr_key needs;
  const char *(*unfit)(hd_op *kernel);
} hd_pass;

/* The pipeline in order: legalize, select_shape, tile, assign_fragments, select_operand_path,
 * build_mainloop, split_roles, unroll, insert_barriers, insert_fences, unswitch, narrow, check. */
const hd_pass *hd_pipeline(size_t *n);
const hd_pass *hd_pass_find(const char *name); /* NULL: no pass of this name */

/* `after` observes the module after each pass (printing, timing). */
typedef struct hd_pipeline_options {
  bool verify_each;       /* always on in debug builds */
  const char *start_after; /* NULL: starts with the first pass */
  const char *stop_after;  /* NULL: ends with the last pass */
  void (*after)(void *user, const hd_pass *pass, const hd_module *module, double seconds);
  void *user;
} hd_pipeline_options;

/* Runs one pass on a verified module; HEDDLE_INVALID if the pass does not accept the module. */
heddle_status hd_run_pass(hd_pass_context *pass, hd_module *module, const hd_pass *p);

heddle_status hd_run_pipeline(hd_pass_context *pass, hd_module *module,
                              const hd_pipeline_options *options);

#endif
