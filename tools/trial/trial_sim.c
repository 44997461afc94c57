/* The launch in the simulator. It does not use the guards: an access past an end is a finding. */
#include <stdio.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "trial/trial_parts.h"

enum {
  ADDRESS_STEP_LOG2 = 32, /* 4 GiB per buffer, so that an overrun does not reach another */
  RESIDENT = 4            /* CTAs of a persistent grid: few, so that each runs several tiles */
};

static uint64_t address_of(int i) { return (uint64_t)(i + 1) << ADDRESS_STEP_LOG2; }

static hd_sim_buffer buffer_of(trial_data *data, int i) {
  trial_block *block = &data->block[i];
  data->values.v[block->kind] = address_of(i) + block->offset;
  bool is_d = hd_arg_is_result(block->kind);
  return (hd_sim_buffer){.name = hd_arg_name(block->kind),
                         .address = address_of(i),
                         .n_bytes = block->offset + block->n_bytes,
                         .data = block->data - block->offset,
                         .writable = is_d,
                         .undefined = is_d,
                         .weights = hd_arg_is_weights(block->kind)};
}

typedef struct workspace {
  uint8_t *data; /* owned; zero before the first launch, then unchanged between launches */
  uint64_t n_bytes;
} workspace;

static heddle_status plan_launch(heddle_context *ctx, const hd_manifest *manifest, int n_buffers,
                                 trial_data *data, workspace *w, hd_launch_plan *plan) {
  uint32_t resident[HD_MAX_VARIANTS];
  for (int i = 0; i < manifest->n_variants; i++)
    resident[i] = RESIDENT;
  HD_TRY(hd_manifest_workspace(ctx, manifest, &data->values, resident, &w->n_bytes));
  if (w->n_bytes && !w->data) {
    w->data = hd_try_zalloc(ctx, w->n_bytes, "the workspace");
    if (!w->data)
      return HEDDLE_NO_MEMORY;
  }
  if (w->n_bytes)
    data->values.v[HD_ARG_WORKSPACE] = address_of(n_buffers);
  return hd_manifest_plan(ctx, manifest, &data->values, resident, plan);
}

/* A correct kernel stays far below this limit; deadlocks are found earlier. Narrow products need as
 * many instructions as wide ones: tiles are whole, and each step of k is waited for. */
uint64_t trial_most_steps(int64_t m, int64_t n, int64_t k) {
  enum { MINIMUM = 20000000, PRODUCTS_A_STEP = 100, ROWS = 64, COLUMNS = 64 };
  double rows = (double)((m + ROWS - 1) / ROWS * ROWS);
  double columns = (double)((n + COLUMNS - 1) / COLUMNS * COLUMNS);
  return MINIMUM + (uint64_t)(rows * columns * (double)k / 2 / PRODUCTS_A_STEP);
}

static heddle_status simulate(heddle_context *ctx, const trial_kernel *kernel, hd_sim_mode mode,
                              uint64_t seed, trial_data *data, workspace *w,
                              trial_result *result) {
  hd_sim_buffer buffers[TRIAL_MAX_BLOCKS + 1];
  uint32_t n = 0;
  for (; n < (uint32_t)data->n_blocks; n++)
    buffers[n] = buffer_of(data, (int)n);
  hd_launch_plan plan;
  HD_TRY(plan_launch(ctx, &kernel->manifest, (int)n, data, w, &plan));
  result->path = plan.variant ? plan.variant->path : "none";
  if (!plan.grid_x)
    return HEDDLE_OK;
  if (w->n_bytes) {
    buffers[n] = (hd_sim_buffer){.name = "workspace",
                                 .address = address_of((int)n),
                                 .n_bytes = w->n_bytes,
                                 .data = w->data,
                                 .writable = true};
    n++;
  }
  hd_sim_launch launch = {.file = kernel->manifest.name,
                          .plan = &plan,
                          .values = &data->values,
                          .buffers = buffers,
                          .n_buffers = n};
  launch.ptx = kernel->code.ptx;
  launch.ptx_bytes = kernel->code.ptx_bytes;
  const trial_shape *s = &data->shape;
  hd_sim_options options = {
      .seed = seed, .mode = mode, .max_steps = (uint64_t)s->g * trial_most_steps(s->m, s->n, s->k)};
  hd_arena arena = {0};
  hd_sim_report report = {0};
  heddle_status status = hd_sim_run(ctx, &launch, &options, &arena, &report);
  result->n_instructions = report.n_instructions;
  if (status == HEDDLE_MISMATCH && report.n_findings) {
    const hd_sim_finding *f = &report.finding[0];
    snprintf(result->why, sizeof result->why, "simulator: %s at PTX line %u: %s", f->rule, f->line,
             f->text);
    status = HEDDLE_OK;
  }
  hd_arena_free(&arena);
  return status;
}

heddle_status trial_launch_sim(heddle_context *ctx, const trial_kernel *kernel, hd_sim_mode mode,
                               uint64_t seed, trial_data *data, trial_result *result) {
  workspace w = {0};
  double start = hd_clock_seconds();
  heddle_status status = simulate(ctx, kernel, mode, seed, data, &w, result);
  result->launch_seconds = hd_clock_seconds() - start;
  if (status == HEDDLE_OK && !result->why[0] && w.n_bytes) {
    void *first = trial_data_take_d(data);
    status = simulate(ctx, kernel, HD_SIM_RANDOM, seed + 1, data, &w, result);
    trial_data_compare_d(data, first, result);
  }
  hd_free(w.data);
  return status;
}
