#include "Passes/passes.h"

#include <string.h>

#include "Passes/pass_list.h"
#include "Support/diag.h"
#include "Support/file.h"

/* Values of hd_pass.unfit; the texts follow "a kernel". */
static const char *unfit_raw(hd_op *kernel) {
  bool legalized = hd_find_op(kernel->regions[0], HD_OP_EPILOGUE) != NULL;
  return legalized ? NULL : "without an epilogue from legalize";
}

static const char *unfit_to_split(hd_op *kernel) {
  return hd_n_roles(kernel) == 1 ? NULL : "that does not have exactly one role";
}

static const char *unfit_unsplit(hd_op *kernel) {
  return hd_is_split(kernel) ? NULL : "that split_roles has not split";
}

static const char *unfit_to_sync(hd_op *kernel) {
  const char *why = unfit_unsplit(kernel);
  return why || hd_is_pipelined(kernel)
             ? why
             : "without a pipelined loop (a producer fills a ring buffer, a consumer reads it)";
}

static const char *unfit_to_fence(hd_op *kernel) {
  return hd_has_fences(kernel) ? "that already has fences" : NULL;
}

/* All passes, in order. */
static const hd_pass pipeline[] = {
    {"legalize", hd_pass_legalize, "makes implicit parts of the problem explicit",
     HD_LEVEL_PROBLEM, false, HD_N_ATTRS, NULL},
    {"select_shape", hd_pass_select_shape, "chooses the schedule and the instruction",
     HD_LEVEL_PROBLEM, false, HD_N_ATTRS, unfit_raw},
    {"tile", hd_pass_tile, "plans the tiles of D: order, split and persistence",
     HD_LEVEL_PROBLEM, false, HD_ATTR_ROW, unfit_raw},
    {"assign_fragments", hd_pass_assign_fragments, "chooses the register fragments of each operand",
     HD_LEVEL_TILE, false, HD_ATTR_ROW, unfit_raw},
    {"select_operand_path", hd_pass_select_operand_path,
     "chooses how A, B and D are moved, one kernel for each variant",
     HD_LEVEL_TILE, false, HD_ATTR_FRAGMENTS, unfit_raw},
    {"build_mainloop", hd_pass_build_mainloop, "makes loops, ring buffers and every memory access",
     HD_LEVEL_TILE, false, HD_ATTR_SWIZZLE, unfit_raw},
    {"split_roles", hd_pass_split_roles,
     "splits the kernel into producer, consumer and other warp roles",
     HD_LEVEL_ROLE, false, HD_N_ATTRS, unfit_to_split},
    {"unroll", hd_pass_unroll, "unrolls by two stages if wgmma stay in flight",
     HD_LEVEL_ROLE, false, HD_N_ATTRS, unfit_unsplit},
    {"insert_barriers", hd_pass_insert_barriers, "adds mbarriers, arrivals and waits",
     HD_LEVEL_ROLE, false, HD_N_ATTRS, unfit_to_sync},
    {"insert_fences", hd_pass_insert_fences, "adds the fences",
     HD_LEVEL_ROLE, true, HD_N_ATTRS, unfit_to_fence},
    {"unswitch", hd_pass_unswitch, "takes the choice between boxes of B out of the producer's loop",
     HD_LEVEL_ROLE, true, HD_N_ATTRS, NULL},
    {"narrow", hd_pass_narrow, "adds a narrower instruction for tiles with few columns",
     HD_LEVEL_ROLE, true, HD_N_ATTRS, NULL},
    {"check", hd_pass_check, "checks the synchronisation independently of the passes before it",
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

/* Why the pass refuses a kernel of a module at its level; NULL: all kernels are accepted. A row
 * implies a schedule: the kernel's `schedule` at problem level, the plan's attributes below. */
static const char *find_unfit(const hd_pass *p, hd_module *module) {
  HD_FOR_OPS(kernel, module->body) {
    const hd_op *matmul = hd_find_op(kernel->regions[0], HD_OP_MATMUL);
    bool needs = p->needs != HD_N_ATTRS;
    if (needs && p->level == HD_LEVEL_PROBLEM && !hd_op_has(kernel, HD_ATTR_SCHEDULE))
      return hd_arena_printf(&module->arena, "without %s", hd_attr_name(HD_ATTR_SCHEDULE));
    if (needs && !(matmul && hd_op_has(matmul, p->needs)))
      return hd_arena_printf(&module->arena, "without %s", hd_attr_name(p->needs));
    const char *why = p->unfit ? p->unfit(kernel) : NULL;
    if (why)
      return why;
  }
  return NULL;
}

static const char *sync_name(bool placed) { return placed ? "placed" : "none"; }

heddle_status hd_run_pass(hd_pass_context *pass, hd_module *module, const hd_pass *p) {
  uint64_t before = hd_memory_shortages();
  bool level = module->level == p->level && module->sync_placed == p->sync_placed;
  const char *unfit = level ? find_unfit(p, module) : NULL;
  if (level && !unfit)
    return hd_memory_status(pass->ctx, before, p->run(pass, module));
  return hd_error(pass->ctx, HEDDLE_INVALID, HD_NOWHERE, "pass.order",
                  "got level=%s sync=%s%s%s before %s; legal: level=%s sync=%s, as %s leaves it",
                  hd_level_name(module->level), sync_name(module->sync_placed),
                  unfit ? ", a kernel " : "", unfit ? unfit : "", p->name, hd_level_name(p->level),
                  sync_name(p->sync_placed), p == pipeline ? "its author" : p[-1].name);
}

heddle_status hd_run_pipeline(hd_pass_context *pass, hd_module *module,
                              const hd_pipeline_options *options) {
  static const hd_pipeline_options defaults = {0};
  if (!options)
    options = &defaults;
  size_t first = 0;
  if (options->start_after)
    first = (size_t)(hd_pass_find(options->start_after) - pipeline) + 1;
  else
    HD_TRY(hd_verify(pass->ctx, module, NULL));
  for (size_t i = first; i < HD_COUNT(pipeline); i++) {
    const hd_pass *p = &pipeline[i];
    double start = hd_clock_seconds();
    HD_TRY(hd_run_pass(pass, module, p));
    double seconds = hd_clock_seconds() - start;
    if (options->verify_each || always_verify())
      HD_TRY(hd_verify(pass->ctx, module, p->name));
    if (options->after)
      options->after(options->user, p, module, seconds);
    if (options->stop_after && strcmp(options->stop_after, p->name) == 0)
      break;
  }
  return HEDDLE_OK;
}
