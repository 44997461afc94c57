#include "pack_device.h"

#include <math.h>
#include <stdio.h>

#include "Runtime/device.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "heddle/pack.h"
#include "heddle/simulate.h"

/* A matrix on a device, and the kernel that packs it. */
typedef struct work {
  heddle_context *ctx;
  const sparse_job *job;
  heddle_runtime *runtime;
  hd_device *device;
  heddle_kernel *kernel;
  hd_buffer dense, packed, twin, mask; /* of 0 bytes if not wanted */
} work;

static void close_work(work *w) {
  heddle_kernel_free(w->kernel);
  if (w->device) {
    hd_buffer_free(w->device, &w->dense);
    hd_buffer_free(w->device, &w->packed);
    hd_buffer_free(w->device, &w->twin);
    hd_buffer_free(w->device, &w->mask);
    hd_device_close(w->device);
  }
  heddle_runtime_free(w->runtime);
}

static heddle_status compile(const sparse_job *job, const pack_result *result, const char *target,
                             heddle_compiled **compiled) {
  if (result->two_way)
    return heddle_pack_compile_two_way(job->ctx, job->elem, target, NULL, compiled);
  return (result->twin ? heddle_pack_compile_twin : heddle_pack_compile)(job->ctx, job->elem,
                                                                         target, NULL, compiled);
}

/* Bytes of the mask. */
static size_t mask_bytes(const sparse_job *job, const pack_result *result) {
  return result->two_way ? (size_t)job->m * (size_t)job->k : 0;
}

static heddle_status load(work *w, const pack_result *result) {
  heddle_compiled *compiled;
  heddle_image image = {0};
  size_t n;
  HD_TRY(compile(w->job, result, w->device->info.target, &compiled));
  image.ptx = heddle_compiled_ptx(compiled, &image.ptx_bytes);
  const char *manifest = heddle_compiled_manifest(compiled, &n);
  heddle_status status =
      heddle_kernel_load(w->ctx, w->runtime, manifest, n, &image, &w->kernel);
  heddle_compiled_free(compiled);
  return status;
}

/* Uploads the matrix and poisons the payloads. Call close_work even on failure. */
static heddle_status open_work(work *w, int ordinal, const pack_result *result) {
  heddle_context *ctx = w->ctx;
  HD_TRY(heddle_runtime_create(ctx, NULL, &w->runtime));
  HD_TRY(hd_device_open(ctx, w->runtime, ordinal, &w->device));
  HD_TRY(load(w, result));
  HD_TRY(hd_buffer_create(ctx, w->device, (size_t)w->job->m * w->job->row_bytes, 0, &w->dense));
  HD_TRY(hd_buffer_create(ctx, w->device, result->n_bytes, 0, &w->packed));
  if (result->twin)
    HD_TRY(hd_buffer_create(ctx, w->device, result->n_twin, 0, &w->twin));
  if (result->two_way)
    HD_TRY(hd_buffer_create(ctx, w->device, mask_bytes(w->job, result), 0, &w->mask));
  return hd_buffer_upload(ctx, w->device, &w->dense, w->job->dense);
}

static heddle_status launch(heddle_context *ctx, void *user, size_t index, void *stream) {
  const work *w = user;
  const sparse_job *job = w->job;
  const void *dense = (const void *)(uintptr_t)w->dense.address;
  void *packed = (void *)(uintptr_t)w->packed.address, *twin = (void *)(uintptr_t)w->twin.address;
  void *mask = (void *)(uintptr_t)w->mask.address;
  (void)index;
  if (mask)
    return heddle_pack_device_two_way(ctx, w->kernel, job->m, job->k, dense, job->row_bytes, packed,
                                      twin, mask, stream);
  if (twin)
    return heddle_pack_device_twin(ctx, w->kernel, job->m, job->k, dense, job->row_bytes, packed,
                                   twin, stream);
  return heddle_pack_device(ctx, w->kernel, job->m, job->k, dense, job->row_bytes, packed, stream);
}

static heddle_status fetch(work *w, hd_buffer *buffer, const char *what, void *to) {
  HD_TRY(hd_buffer_check(w->ctx, w->device, buffer, what));
  return hd_buffer_download(w->ctx, w->device, buffer, to);
}

heddle_status pack_on_device(const sparse_job *job, int ordinal, const pack_result *result) {
  work w = {.ctx = job->ctx, .job = job};
  heddle_status status = open_work(&w, ordinal, result);
  if (status == HEDDLE_OK)
    status = launch(w.ctx, &w, 0, w.device->stream);
  if (status == HEDDLE_OK)
    status = hd_device_sync(w.ctx, w.device);
  if (status == HEDDLE_OK)
    status = fetch(&w, &w.packed, "the payload", result->payload);
  if (status == HEDDLE_OK && result->twin)
    status = fetch(&w, &w.twin, "the twin", result->twin);
  if (status == HEDDLE_OK && result->two_way)
    status = hd_buffer_check(w.ctx, w.device, &w.mask, "the mask");
  close_work(&w);
  return status;
}

static heddle_status simulate(const sparse_job *job, const pack_result *result, void *mask) {
  enum { MOST_ARGS = 7 };
  heddle_compiled *compiled;
  size_t bytes = heddle_elem_get(job->elem)->container_bits / 8u;
  HD_TRY(compile(job, result, "sm_90a", &compiled));
  heddle_arg args[MOST_ARGS] = {{.ptr = job->dense}, {.ptr = result->payload}};
  size_t arg_bytes[MOST_ARGS] = {(size_t)job->m * job->row_bytes, result->n_bytes}, n = 2;
  if (result->twin) {
    args[n].ptr = result->twin;
    arg_bytes[n++] = result->n_twin;
  }
  if (mask) {
    args[n].ptr = mask;
    arg_bytes[n++] = mask_bytes(job, result);
  }
  args[n++].i32 = (int32_t)job->m;
  args[n++].i32 = (int32_t)job->k;
  args[n++].i64 = (int64_t)(job->row_bytes / bytes);
  heddle_simulation s = {.args = args, .arg_bytes = arg_bytes, .n_args = n};
  s.manifest = heddle_compiled_manifest(compiled, &s.manifest_bytes);
  s.ptx = heddle_compiled_ptx(compiled, &s.ptx_bytes);
  heddle_status status = heddle_simulate(job->ctx, &s);
  heddle_compiled_free(compiled);
  return status;
}

heddle_status pack_in_simulator(const sparse_job *job, const pack_result *result) {
  size_t n_mask = mask_bytes(job, result);
  void *mask = n_mask ? hd_try_malloc(job->ctx, n_mask, "the mask") : NULL;
  if (n_mask && !mask)
    return HEDDLE_NO_MEMORY;
  heddle_status status = simulate(job, result, mask);
  hd_free(mask);
  return status;
}

/* ---- time ---- */

/* A copy that moves as many bytes as the pack: half of them read, half written. */
typedef struct copy {
  const hd_driver *cu;
  hd_buffer from, to;
} copy;

static heddle_status launch_copy(heddle_context *ctx, void *user, size_t index, void *stream) {
  const copy *c = user;
  (void)index;
  return hd_driver_check(ctx, c->cu,
                         c->cu->copy_async(c->to.address, c->from.address, c->to.n_bytes, stream),
                         "copy_async");
}

static heddle_status best_of(const work *w, hd_launch_fn fn, void *user, double *seconds) {
  enum { ROUNDS = 7, LAUNCHES = 20 };
  *seconds = HUGE_VAL;
  for (int i = 0; i < ROUNDS; i++) {
    double each;
    HD_TRY(hd_time_stream(w->ctx, w->device, fn, user, LAUNCHES, &each));
    *seconds = fmin(*seconds, each);
  }
  return HEDDLE_OK;
}

static heddle_status time_copy(const work *w, double *seconds) {
  size_t half =
      (w->dense.n_bytes + w->packed.n_bytes + w->twin.n_bytes + w->mask.n_bytes) / 2;
  copy c = {.cu = &w->runtime->cu};
  HD_TRY(hd_buffer_create(w->ctx, w->device, half, 0, &c.from));
  heddle_status status = hd_buffer_create(w->ctx, w->device, half, 0, &c.to);
  if (status == HEDDLE_OK)
    status = best_of(w, launch_copy, &c, seconds);
  hd_buffer_free(w->device, &c.to);
  hd_buffer_free(w->device, &c.from);
  return status;
}

heddle_status pack_time_on_device(const sparse_job *job, int ordinal, const pack_result *result,
                                  pack_speed *speed) {
  work w = {.ctx = job->ctx, .job = job};
  heddle_status status = open_work(&w, ordinal, result);
  if (status == HEDDLE_OK)
    status = best_of(&w, launch, &w, &speed->seconds);
  if (status == HEDDLE_OK)
    status = time_copy(&w, &speed->copy_seconds);
  if (status == HEDDLE_OK)
    snprintf(speed->device, sizeof speed->device, "%s", w.device->info.name);
  close_work(&w);
  return status;
}
