/* The launch on a device: uploads every block with its guards, and downloads all of it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "trial/trial_parts.h"

struct trial_device {
  heddle_runtime *runtime;
  char target[16];
  pthread_mutex_t lock;
};

heddle_status trial_device_open(heddle_context *ctx, trial_device **device) {
  trial_device *d = hd_try_zalloc(ctx, sizeof *d, "the device");
  if (!d)
    return HEDDLE_NO_MEMORY;
  pthread_mutex_init(&d->lock, NULL);
  heddle_status status = heddle_runtime_create(ctx, NULL, &d->runtime);
  if (status == HEDDLE_OK)
    status = heddle_device_use(ctx, d->runtime, 0);
  if (status == HEDDLE_OK)
    status = heddle_device_target(ctx, d->runtime, d->target);
  if (status == HEDDLE_OK)
    *device = d;
  else
    trial_device_close(d);
  return status;
}

void trial_device_close(trial_device *device) {
  if (!device)
    return;
  heddle_runtime_free(device->runtime);
  pthread_mutex_destroy(&device->lock);
  hd_free(device);
}

const char *trial_device_target(const trial_device *device) { return device->target; }

heddle_runtime *trial_device_runtime(const trial_device *device) { return device->runtime; }

bool trial_device_runs(const trial_device *device, const char *target) {
  char *end;
  long wanted = strtol(target + 3, &end, 10), has = strtol(device->target + 3, NULL, 10);
  return *end ? !strcmp(target, device->target) : has >= wanted;
}

/* ---- one launch ---- */

typedef struct launch {
  heddle_context *ctx;
  const trial_device *device;
  heddle_kernel *kernel;
  trial_data *data;
  void *memory[TRIAL_MAX_BLOCKS], *workspace;
  heddle_arg args[HD_N_ARG_KINDS];
  size_t n_args;
} launch;

static heddle_status upload(launch *l) {
  for (int i = 0; i < l->data->n_blocks; i++) {
    trial_block *block = &l->data->block[i];
    HD_TRY(heddle_device_alloc(l->ctx, l->device->runtime, block->all_bytes, &l->memory[i]));
    HD_TRY(heddle_device_upload(l->ctx, l->device->runtime, l->memory[i], block->all,
                                block->all_bytes));
    l->data->values.v[block->kind] = (uint64_t)(uintptr_t)l->memory[i] + block->lead_bytes;
  }
  return HEDDLE_OK;
}

static heddle_status download(launch *l) {
  for (int i = 0; i < l->data->n_blocks; i++)
    HD_TRY(heddle_device_download(l->ctx, l->device->runtime, l->data->block[i].all, l->memory[i],
                                  l->data->block[i].all_bytes));
  return HEDDLE_OK;
}

static heddle_status fill_args(launch *l) {
  l->n_args = heddle_kernel_arg_count(l->kernel); /* at most one of each kind */
  for (size_t i = 0; i < l->n_args; i++) {
    hd_arg_kind kind;
    HD_TRY(hd_arg_parse(heddle_kernel_arg_name(l->kernel, i), &kind));
    uint64_t value = l->data->values.v[kind];
    uint32_t low = (uint32_t)value;
    switch (heddle_kernel_arg_class(l->kernel, i)) {
    case HEDDLE_CLASS_PTR:
      l->args[i].ptr = (const void *)(uintptr_t)value;
      break;
    case HEDDLE_CLASS_I32:
      l->args[i].i32 = (int32_t)low;
      break;
    case HEDDLE_CLASS_I64:
      l->args[i].i64 = (int64_t)value;
      break;
    case HEDDLE_CLASS_F32:
      memcpy(&l->args[i].f32, &low, sizeof low);
      break;
    }
  }
  return HEDDLE_OK;
}

/* The path of the variant that the launch uses, by the same plan. */
static const char *launched_path(launch *l, const hd_manifest *manifest) {
  hd_launch_plan plan;
  hd_values values = l->data->values;
  if (hd_manifest_plan(NULL, manifest, &values, NULL, &plan) != HEDDLE_OK || !plan.variant)
    return "none";
  return plan.variant->path;
}

/* Launches again with the same workspace: counters must be zero, and the results equal. */
static heddle_status launch_again(launch *l, trial_result *result) {
  void *first = trial_data_take_d(l->data);
  heddle_status status = HEDDLE_OK;
  for (int i = 0; status == HEDDLE_OK && i < l->data->n_blocks; i++)
    if (l->data->block[i].kind == HD_ARG_D || l->data->block[i].kind == HD_ARG_AUX)
      status = heddle_device_upload(l->ctx, l->device->runtime, l->memory[i],
                                    l->data->block[i].before, l->data->block[i].all_bytes);
  if (status == HEDDLE_OK)
    status = heddle_kernel_launch(l->ctx, l->kernel, l->args, l->n_args, NULL);
  if (status == HEDDLE_OK)
    status = download(l);
  trial_data_compare_d(l->data, first, result);
  return status;
}

static heddle_status launch_and_wait(launch *l, const hd_manifest *manifest,
                                     trial_result *result) {
  uint64_t workspace_bytes;
  HD_TRY(upload(l));
  HD_TRY(fill_args(l));
  HD_TRY(heddle_kernel_workspace(l->ctx, l->kernel, l->args, l->n_args, &workspace_bytes));
  if (workspace_bytes) {
    HD_TRY(heddle_device_alloc(l->ctx, l->device->runtime, workspace_bytes, &l->workspace));
    l->data->values.v[HD_ARG_WORKSPACE] = (uint64_t)(uintptr_t)l->workspace;
    HD_TRY(fill_args(l));
  }
  result->path = launched_path(l, manifest);
  double start = hd_clock_seconds();
  HD_TRY(heddle_kernel_launch(l->ctx, l->kernel, l->args, l->n_args, NULL));
  HD_TRY(download(l));
  result->launch_seconds = hd_clock_seconds() - start;
  return workspace_bytes ? launch_again(l, result) : HEDDLE_OK;
}

static heddle_status load(heddle_context *ctx, const trial_device *device, trial_kernel *kernel) {
  if (kernel->loaded)
    return HEDDLE_OK;
  char *json = NULL;
  HD_TRY(hd_manifest_write(ctx, &kernel->manifest, &json));
  heddle_status status = heddle_kernel_load(ctx, device->runtime, json, strlen(json),
                                            &kernel->code, &kernel->loaded);
  hd_free(json);
  return status;
}

/* Threads load concurrently, because the driver may have to compile; launches are serialised. */
heddle_status trial_launch_device(heddle_context *ctx, trial_device *device,
                                  trial_kernel *kernel, trial_data *data, trial_result *result) {
  HD_TRY(heddle_device_use(ctx, device->runtime, 0));
  HD_TRY(load(ctx, device, kernel));
  launch l = {.ctx = ctx, .device = device, .kernel = kernel->loaded, .data = data};
  pthread_mutex_lock(&device->lock);
  heddle_status status = launch_and_wait(&l, &kernel->manifest, result);
  for (int i = 0; i < TRIAL_MAX_BLOCKS; i++)
    heddle_device_free(device->runtime, l.memory[i]);
  heddle_device_free(device->runtime, l.workspace);
  pthread_mutex_unlock(&device->lock);
  return status;
}
