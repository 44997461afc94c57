#include "Passes/passes.h"

#include <string.h>

#include "Passes/pass_list.h"
#include "Passes/variants.h"
#include "Support/diag.h"
#include "Support/file.h"

/* The whole way, top to bottom. */
static const hd_pass pipeline[] = {
    {"legalize", hd_pass_legalize, "a problem that every later pass can take as it stands",
     HD_LEVEL_PROBLEM, false, HD_N_ATTRS},
    {"select_shape", hd_pass_select_shape, "the schedule and the instruction",
     HD_LEVEL_PROBLEM, false, HD_N_ATTRS},
    {"tile", hd_pass_tile, "the work, one kernel for each way B can come",
     HD_LEVEL_PROBLEM, false, HD_ATTR_ROW},
    {"assign_fragments", hd_pass_assign_fragments, "which warp computes what",
     HD_LEVEL_TILE, false, HD_ATTR_ROW},
    {"select_operand_path", hd_pass_select_operand_path, "how A and B reach the instruction",
     HD_LEVEL_TILE, false, HD_ATTR_WARPS},
    {"pipeline", hd_pass_pipeline, "loops, ring buffers and every access",
     HD_LEVEL_TILE, false, HD_ATTR_STAGES},
    {"split_roles", hd_pass_split_roles, "who brings and who computes",
     HD_LEVEL_ROLE, false, HD_ATTR_SCHEDULE},
    {"unroll", hd_pass_unroll, "two stages a turn, where a batch may stay pending",
     HD_LEVEL_ROLE, false, HD_ATTR_SCHEDULE},
    {"lower_epilogue", hd_pass_lower_epilogue, "how D is written",
     HD_LEVEL_ROLE, false, HD_ATTR_SCHEDULE},
    {"place_barriers", hd_pass_place_barriers, "who waits for whom",
     HD_LEVEL_ROLE, false, HD_N_ATTRS},
    {"place_fences", hd_pass_place_fences, "what the hardware may not reorder",
     HD_LEVEL_ROLE, true, HD_N_ATTRS},
    {"check", hd_pass_check, "the proof, independent of the two passes above",
     HD_LEVEL_ROLE, true, HD_N_ATTRS},
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

/* Passes leave the schedule first, then the row, the variant, the rest of what matmul has. */
static bool has_what_it_needs(const hd_pass *p, hd_op *kernel) {
  hd_op *matmul = hd_find_op(kernel->regions[0], HD_OP_MATMUL);
  if (p->needs == HD_N_ATTRS)
    return true;
  if (!hd_op_has(kernel, HD_ATTR_SCHEDULE) ||
      (p->level != HD_LEVEL_PROBLEM && !hd_b_variant_find(hd_op_str(kernel, HD_ATTR_VARIANT))))
    return false;
  return p->needs == HD_ATTR_SCHEDULE ||
         (matmul && hd_op_has(matmul, HD_ATTR_ROW) && hd_op_has(matmul, p->needs));
}

static const char *sync_name(bool placed) { return placed ? "placed" : "none"; }

heddle_status hd_run_pass(hd_pass_context *pass, hd_module *module, const hd_pass *p) {
  bool taken = module->level == p->level && module->sync_placed == p->sync_placed;
  HD_FOR_OPS(kernel, module->body)
    taken = taken && has_what_it_needs(p, kernel);
  if (taken)
    return p->run(pass, module);
  return hd_error(pass->ctx, HEDDLE_INVALID, HD_NOWHERE, "pass.order",
                  "got level=%s sync=%s; %s takes level=%s sync=%s, as %s leaves it",
                  hd_level_name(module->level), sync_name(module->sync_placed), p->name,
                  hd_level_name(p->level), sync_name(p->sync_placed),
                  p == pipeline ? "its author" : p[-1].name);
}

static heddle_status run_one(hd_pass_context *pass, hd_module *module, const hd_pass *p,
                             const hd_pipeline_options *options) {
  double start = hd_clock_seconds();
  HD_TRY(hd_run_pass(pass, module, p));
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
