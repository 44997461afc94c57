/* heddle/simulate.h over sim.h: memory of the caller becomes buffers, findings diagnostics. */
#include "heddle/simulate.h"

#include <inttypes.h>

#include "Sim/sim.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/strbuf.h"

enum {
  ADDRESS_STEP_LOG2 = 32, /* 4 GiB per buffer: no access reaches the next one */
  RESIDENT = 4            /* CTAs of a persistent grid, so that each runs several tiles */
};

/* ORDER: heddle_sim_order */
static const hd_sim_mode modes[] = {HD_SIM_LATE, HD_SIM_EARLY, HD_SIM_RANDOM};

/* A launch that is being prepared. */
typedef struct launch {
  const heddle_simulation *from;
  hd_arena arena; /* the manifest's strings, then the findings */
  hd_manifest manifest;
  hd_arg_kind kind[HD_N_ARG_KINDS]; /* of the passed arguments */
  size_t n_passed;
  hd_values values;
  hd_sim_buffer buffer[HD_N_ARG_KINDS];
  uint32_t n_buffers;
  void *workspace; /* owned */
  uint64_t workspace_bytes;
  uint32_t resident[HD_MAX_VARIANTS];
} launch;

static heddle_status wrong_count(heddle_context *ctx, const launch *l) {
  hd_strbuf names = {0};
  for (size_t i = 0; i < l->n_passed; i++)
    hd_strbuf_printf(&names, "%s%s", i ? ", " : "", hd_arg_name(l->kind[i]));
  heddle_status status =
      hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "launch.args",
               "got %zu arguments for kernel %s; legal: %zu, %s", l->from->n_args, l->manifest.name,
               l->n_passed, hd_strbuf_text(&names));
  hd_strbuf_free(&names);
  return status;
}

static uint64_t add_buffer(launch *l, hd_arg_kind kind, const void *data, uint64_t n_bytes) {
  uint64_t address = (uint64_t)(l->n_buffers + 1) << ADDRESS_STEP_LOG2;
  l->buffer[l->n_buffers++] =
      (hd_sim_buffer){.name = hd_arg_name(kind), .address = address, .n_bytes = n_bytes,
                      .data = (void *)(uintptr_t)data,
                      .writable = hd_arg_is_written(kind),
                      .undefined = hd_arg_is_result(kind), .weights = hd_arg_is_weights(kind)};
  return address;
}

static heddle_status take_args(heddle_context *ctx, launch *l) {
  for (int i = 0; i < l->manifest.n_args; i++)
    if (hd_arg_is_passed(&l->manifest.arg[i]))
      l->kind[l->n_passed++] = l->manifest.arg[i].kind;
  if (l->from->n_args != l->n_passed)
    return wrong_count(ctx, l);
  if (l->n_passed && (!l->from->args || !l->from->arg_bytes))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "simulate.args",
                    "got no %s; legal: an array of %zu, one for each argument",
                    l->from->args ? "arg_bytes" : "args", l->n_passed);
  for (size_t i = 0; i < l->n_passed; i++) {
    heddle_arg arg = l->from->args[i];
    hd_arg_kind kind = l->kind[i];
    heddle_arg_class of = hd_arg_class_of(kind);
    l->values.v[kind] = of == HEDDLE_CLASS_PTR && arg.ptr
                            ? add_buffer(l, kind, arg.ptr, l->from->arg_bytes[i])
                            : hd_arg_bits(of, arg);
  }
  return HEDDLE_OK;
}

/* Checks the caller's workspace: accesses past its last byte are out of bounds. */
static heddle_status check_workspace(heddle_context *ctx, const launch *l) {
  const hd_sim_buffer *last = &l->buffer[l->n_buffers - 1];
  while (last->address != l->values.v[HD_ARG_WORKSPACE])
    last--;
  if (last->n_bytes >= l->workspace_bytes)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "simulate.workspace",
                  "got a workspace of %" PRIu64 " bytes; legal: from %" PRIu64
                  " on, or NULL: it is made",
                  last->n_bytes, l->workspace_bytes);
}

static heddle_status make_workspace(heddle_context *ctx, launch *l) {
  HD_TRY(hd_manifest_workspace(ctx, &l->manifest, &l->values, l->resident, &l->workspace_bytes));
  if (!l->workspace_bytes)
    return HEDDLE_OK;
  if (l->values.v[HD_ARG_WORKSPACE])
    return check_workspace(ctx, l);
  l->workspace = hd_try_zalloc(ctx, l->workspace_bytes, "the workspace");
  if (!l->workspace)
    return HEDDLE_NO_MEMORY;
  l->values.v[HD_ARG_WORKSPACE] =
      add_buffer(l, HD_ARG_WORKSPACE, l->workspace, l->workspace_bytes);
  return HEDDLE_OK;
}

/* Limit of warp instructions: sound kernels stay well below; waits in a cycle are found earlier. */
static uint64_t most_steps(const hd_values *v) {
  enum { MINIMUM = 20000000, PRODUCTS_A_STEP = 100 };
  return MINIMUM + (uint64_t)((double)v->v[HD_ARG_M] * (double)v->v[HD_ARG_N] *
                              (double)v->v[HD_ARG_K] / 2 / PRODUCTS_A_STEP);
}

static heddle_status simulate(heddle_context *ctx, launch *l) {
  const heddle_simulation *s = l->from;
  hd_launch_plan plan;
  if ((size_t)s->order >= HD_COUNT(modes))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "simulate.order",
                    "got order %d; legal: 0 to %zu", (int)s->order, HD_COUNT(modes) - 1);
  for (int i = 0; i < HD_MAX_VARIANTS; i++)
    l->resident[i] = RESIDENT;
  HD_TRY(hd_manifest_read(ctx, s->manifest, s->manifest_bytes, &l->arena, &l->manifest));
  HD_TRY(hd_manifest_check_code(ctx, &l->manifest,
                                &(heddle_image){.ptx = s->ptx, .ptx_bytes = s->ptx_bytes}));
  HD_TRY(take_args(ctx, l));
  HD_TRY(make_workspace(ctx, l));
  HD_TRY(hd_manifest_plan(ctx, &l->manifest, &l->values, l->resident, &plan));
  if (plan.grid_x == 0)
    return HEDDLE_OK;
  hd_sim_launch sim = {.file = l->manifest.name,
                       .ptx = s->ptx,
                       .ptx_bytes = s->ptx_bytes,
                       .plan = &plan,
                       .values = &l->values,
                       .buffers = l->buffer,
                       .n_buffers = l->n_buffers};
  hd_sim_options options = {
      .seed = s->seed, .mode = modes[s->order], .max_steps = most_steps(&l->values)};
  hd_sim_report report = {0};
  heddle_status status = hd_sim_run(ctx, &sim, &options, &l->arena, &report);
  for (uint32_t i = 0; i < report.n_findings; i++)
    hd_error(ctx, status, (hd_loc){l->manifest.name, report.finding[i].line, 1},
             report.finding[i].rule, "%s", report.finding[i].text);
  return status;
}

heddle_status heddle_simulate(heddle_context *ctx, const heddle_simulation *simulation) {
  launch l = {.from = simulation};
  uint64_t before = hd_memory_shortages();
  heddle_status status = hd_memory_status(ctx, before, simulate(ctx, &l));
  hd_free(l.workspace);
  hd_arena_free(&l.arena);
  return status;
}
