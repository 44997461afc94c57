#include "Sparse/npy.h"
#include "Support/convert.h"
#include "Support/diag.h"
#include "trial/trial_parts.h"

static heddle_status run(heddle_context *ctx, trial_kernel *kernel, const trial_request *request,
                         trial_device *device, trial_data *data, trial_result *result) {
  const hd_manifest *manifest = &kernel->manifest;
  HD_TRY(trial_data_make(ctx, manifest, request, data));
  result->m = data->shape.m;
  result->g = data->shape.g;
  result->n_combined = data->combine ? data->shape.t : 0;
  result->n = data->shape.n;
  result->k = data->shape.k;
  if (device)
    HD_TRY(trial_launch_device(ctx, device, kernel, data, result));
  else
    HD_TRY(trial_launch_sim(ctx, kernel, request->sim_mode, request->seed, data, result));
  if (request->d_file) {
    const trial_block *d = trial_data_block(data, HD_ARG_D);
    trial_stored s = trial_stored_d(manifest, &data->shape);
    HD_TRY(hd_npy_write(ctx, request->d_file, d->elem, (uint64_t)s.rows, (uint64_t)s.cols, d->data,
                        hd_elem_bytes(d->elem, (size_t)s.pitch)));
  }
  return trial_verify(ctx, manifest, request, data, result);
}

heddle_status trial_run(heddle_context *ctx, trial_kernel *kernel, const trial_request *request,
                        trial_device *device, trial_result *result) {
  *result = (trial_result){.path = "none"};
  trial_data data = {0};
  heddle_status status = run(ctx, kernel, request, device, &data, result);
  trial_data_free(&data);
  return status;
}
