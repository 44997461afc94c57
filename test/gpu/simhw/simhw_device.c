#include "simhw_device.h"

#include <stdio.h>
#include <string.h>

#include "Sim/sim.h"

enum { POISON = 0xA5, N_PARAMS = 7 };

/* The kernel's parameters in order, in arguments that are at least as wide. */
static const hd_param params[N_PARAMS] = {{HD_ARG_A, 0},   {HD_ARG_D, 0},   {HD_ARG_M, 0},
                                          {HD_ARG_N, 0},   {HD_ARG_K, 0},   {HD_ARG_LDB, 0},
                                          {HD_ARG_LDC, 0}};

static hd_variant variant_of(const gpu_job *job) {
  hd_variant v = {.entry = "onehot",
                  .n_threads = (int32_t)job->n_threads,
                  .cluster = 1,
                  .shared_bytes = (int32_t)job->shared_bytes,
                  .n_params = N_PARAMS};
  memcpy(v.param, params, sizeof params);
  return v;
}

static void explain(const char *name, const heddle_context *ctx, const hd_sim_report *report) {
  char text[512];
  for (uint32_t i = 0; i < report->n_findings; i++)
    fprintf(stderr, "%s: sim: line %u: %s: %s\n", name, report->finding[i].line,
            report->finding[i].rule, report->finding[i].text);
  for (size_t i = 0; i < heddle_context_count(ctx); i++) {
    heddle_diagnostic_format(heddle_context_get(ctx, i), text, sizeof text);
    fprintf(stderr, "%s\n", text);
  }
}

static heddle_status launch(heddle_context *ctx, const char *name, const char *ptx,
                            const gpu_job *job, hd_arena *arena, hd_sim_report *report) {
  hd_sim_buffer buffers[] = {{.name = "in", .address = 1ull << 32, .n_bytes = job->in_bytes,
                              .data = (void *)(uintptr_t)job->in},
                             {.name = "out", .address = 2ull << 32, .n_bytes = job->out_bytes,
                              .data = job->out, .writable = true, .undefined = true}};
  hd_variant variant = variant_of(job);
  hd_launch_plan plan = {.variant = &variant, .grid_x = job->n_cases, .n_tiles = job->n_cases};
  hd_values values = {{0}};
  hd_sim_options options = {.seed = 1, .mode = HD_SIM_LATE};
  const uint64_t passed[N_PARAMS] = {buffers[0].address, buffers[1].address, job->in_stride,
                                     job->out_stride,    job->image_bytes,   job->a_descriptor,
                                     job->b_descriptor};
  for (int i = 0; i < N_PARAMS; i++)
    values.v[params[i].arg] = passed[i];
  const hd_sim_launch launch = {.file = name,
                                .ptx = ptx,
                                .ptx_bytes = strlen(ptx),
                                .plan = &plan,
                                .values = &values,
                                .buffers = buffers,
                                .n_buffers = HD_COUNT(buffers)};
  return hd_sim_run(ctx, &launch, &options, arena, report);
}

bool sim_device_run(const char *name, const char *ptx, const gpu_job *job) {
  heddle_context *ctx = heddle_context_create();
  hd_arena arena = {0};
  hd_sim_report report = {0};
  memset(job->out, POISON, job->out_bytes);
  heddle_status status = launch(ctx, name, ptx, job, &arena, &report);
  if (status != HEDDLE_OK)
    explain(name, ctx, &report);
  hd_arena_free(&arena);
  heddle_context_free(ctx);
  return status == HEDDLE_OK;
}
