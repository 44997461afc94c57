#include "Passes/passes.h"

#include <string.h>

#include "Passes/pass_list.h"
#include "Passes/variants.h"
#include "Support/diag.h"
#include "Support/file.h"

/* Of hd_pass.unfit: "a kernel …". */
static const char *unfit_raw(hd_op *kernel) {
  bool legalized = hd_find_op(kernel->regions[0], HD_OP_EPILOGUE) != NULL;
  return legalized ? NULL : "that legalize gave no epilogue";
}

static const char *unfit_to_split(hd_op *kernel) {
  return hd_n_roles(kernel) == 1 ? NULL : "that has not one role";
}

static const char *unfit_unsplit(hd_op *kernel) {
  return hd_is_split(kernel) ? NULL : "that split_roles has not split";
}

static const char *unfit_to_unroll(hd_op *kernel) {
  return hd_is_unrolled(kernel) ? "that is unrolled" : unfit_unsplit(kernel);
}

static const char *unfit_to_sync(hd_op *kernel) {
  const char *why = unfit_unsplit(kernel);
  return why || hd_has_turns(kernel) ? why : "whose slots no loops fill and read in turns";
}

static const char *unfit_to_fence(hd_op *kernel) {
  return hd_has_fences(kernel) ? "that has its fences" : NULL;
}

/* The whole way, top to bottom. */
static const hd_pass pipeline[] = {
    {"legalize", hd_pass_legalize, "a problem that every later pass can take as it stands",
     HD_LEVEL_PROBLEM, false, HD_N_ATTRS, NULL},
    {"select_shape", hd_pass_select_shape, "the schedule and the instruction",
     HD_LEVEL_PROBLEM, false, HD_N_ATTRS, unfit_raw},
    {"tile", hd_pass_tile, "the work, one kernel for each way B can come",
     HD_LEVEL_PROBLEM, false, HD_ATTR_ROW, unfit_raw},
    {"assign_fragments", hd_pass_assign_fragments, "which warp computes what",
     HD_LEVEL_TILE, false, HD_ATTR_ROW, unfit_raw},
    {"select_operand_path", hd_pass_select_operand_path, "how A and B reach the instruction",
     HD_LEVEL_TILE, false, HD_ATTR_WARPS, unfit_raw},
    {"pipeline", hd_pass_pipeline, "loops, ring buffers and every access",
     HD_LEVEL_TILE, false, HD_ATTR_STAGES, unfit_raw},
    {"split_roles", hd_pass_split_roles, "who brings and who computes",
     HD_LEVEL_ROLE, false, HD_ATTR_SCHEDULE, unfit_to_split},
    {"unroll", hd_pass_unroll, "two stages a turn, where a batch may stay pending",
     HD_LEVEL_ROLE, false, HD_ATTR_SCHEDULE, unfit_to_unroll},
    {"lower_epilogue", hd_pass_lower_epilogue, "how D is written",
     HD_LEVEL_ROLE, false, HD_ATTR_SCHEDULE, unfit_unsplit},
    {"place_barriers", hd_pass_place_barriers, "who waits for whom",
     HD_LEVEL_ROLE, false, HD_N_ATTRS, unfit_to_sync},
    {"place_fences", hd_pass_place_fences, "what the hardware may not reorder",
     HD_LEVEL_ROLE, true, HD_N_ATTRS, unfit_to_fence},
    {"check", hd_pass_check, "the proof, independent of the two passes above",
     HD_LEVEL_ROLE, true, HD_N_ATTRS, NULL},
};

const hd_pass *hd_pipeline(size_t *n) {
  *n = HD_COUNT(pipeline);
  return pipeline;
}

const hd_pass *hd_pass_find(const char *name) {
  for (size_t i = 0; i < HD_COUNT(pipeline); i++)
    if (strcmp(pipeline[i].name, name) == 0)
      return &pipeline[i];
  return NULL;
}

static bool always_verify(void) {
#ifndef NDEBUG
  return true;
#else
  return false;
#endif
}

/* What it needs and a kernel lacks; HD_N_ATTRS: nothing. Passes leave the schedule first, then the
 * row, the variant, the rest of what matmul has. */
static hd_attr_key missing(const hd_pass *p, hd_op *kernel) {
  hd_op *matmul = hd_find_op(kernel->regions[0], HD_OP_MATMUL);
  if (p->needs == HD_N_ATTRS)
    return HD_N_ATTRS;
  if (!hd_op_has(kernel, HD_ATTR_SCHEDULE))
    return HD_ATTR_SCHEDULE;
  if (p->level != HD_LEVEL_PROBLEM && !hd_b_variant_find(hd_op_str(kernel, HD_ATTR_VARIANT)))
    return HD_ATTR_VARIANT;
  if (p->needs != HD_ATTR_SCHEDULE && !(matmul && hd_op_has(matmul, HD_ATTR_ROW)))
    return HD_ATTR_ROW;
  return p->needs == HD_ATTR_SCHEDULE || hd_op_has(matmul, p->needs) ? HD_N_ATTRS : p->needs;
}

/* The kernel that keeps the pass from taking a module of its level; NULL: there is none. */
static const char *find_unfit(const hd_pass *p, hd_module *module) {
  HD_FOR_OPS(kernel, module->body) {
    hd_attr_key key = missing(p, kernel);
    const char *why = p->unfit ? p->unfit(kernel) : NULL;
    if (key != HD_N_ATTRS)
      return hd_arena_printf(&module->arena, "without %s", hd_attr_name(key));
    if (why)
      return why;
  }
  return NULL;
}

static const char *sync_name(bool placed) { return placed ? "placed" : "none"; }

heddle_status hd_run_pass(hd_pass_context *pass, hd_module *module, const hd_pass *p) {
  bool level = module->level == p->level && module->sync_placed == p->sync_placed;
  const char *unfit = level ? find_unfit(p, module) : NULL;
  if (level && !unfit)
    return p->run(pass, module);
  return hd_error(pass->ctx, HEDDLE_INVALID, HD_NOWHERE, "pass.order",
                  "got level=%s sync=%s%s%s before %s; legal: level=%s sync=%s, as %s leaves it",
                  hd_level_name(module->level), sync_name(module->sync_placed),
                  unfit ? ", a kernel " : "", unfit ? unfit : "", p->name, hd_level_name(p->level),
                  sync_name(p->sync_placed), p == pipeline ? "its author" : p[-1].name);
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
