#include "Passes/passes.h"

#include <string.h>

#include "Passes/pass_list.h"
#include "Support/file.h"

/* The whole way, top to bottom. */
static const hd_pass pipeline[] = {
    {"legalize", hd_pass_legalize, "a problem that every later pass can take as it stands"},
    {"select_shape", hd_pass_select_shape, "the schedule and the instruction"},
    {"tile", hd_pass_tile, "the work, one kernel for each way B can come"},
    {"assign_fragments", hd_pass_assign_fragments, "which warp computes what"},
    {"select_operand_path", hd_pass_select_operand_path, "how A and B reach the instruction"},
    {"pipeline", hd_pass_pipeline, "loops, ring buffers and every access"},
    {"split_roles", hd_pass_split_roles, "who brings and who computes"},
    {"unroll", hd_pass_unroll, "two stages a turn, where a batch may stay pending"},
    {"lower_epilogue", hd_pass_lower_epilogue, "how D is written"},
    {"place_barriers", hd_pass_place_barriers, "who waits for whom"},
    {"place_fences", hd_pass_place_fences, "what the hardware may not reorder"},
    {"check", hd_pass_check, "the proof, independent of the two passes above"},
};

const hd_pass *hd_pipeline(size_t *n) {
  *n = HD_COUNT(pipeline);
  return pipeline;
}

static bool always_verify(void) {
#ifndef NDEBUG
  return true;
#else
  return false;
#endif
}

static heddle_status run_one(hd_pass_context *pass, hd_module *module, const hd_pass *p,
                             const hd_pipeline_options *options) {
  double start = hd_clock_seconds();
  HD_TRY(p->run(pass, module));
  double seconds = hd_clock_seconds() - start;
  if (options->verify_each || always_verify())
    HD_TRY(hd_verify(pass->ctx, module, p->name));
  if (options->after)
    options->after(options->user, p, module, seconds);
  return HEDDLE_OK;
}

heddle_status hd_run_pipeline(hd_pass_context *pass, hd_module *module,
                              const hd_pipeline_options *options) {
  static const hd_pipeline_options defaults = {0};
  if (!options)
    options = &defaults;
  HD_TRY(hd_verify(pass->ctx, module, NULL));
  for (size_t i = 0; i < HD_COUNT(pipeline); i++) {
    HD_TRY(run_one(pass, module, &pipeline[i], options));
    if (options->stop_after && strcmp(options->stop_after, pipeline[i].name) == 0)
      break;
  }
  return HEDDLE_OK;
}
