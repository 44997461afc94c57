/* Opens a device and queries its properties. */
#include "Runtime/device.h"
#include "Support/arena.h"
#include "Support/diag.h"

/* Spins until the global timer has advanced by `ns`. */
static const char spin_ptx[] = ".version 7.0\n"
                               ".target sm_70\n"
                               ".address_size 64\n"
                               ".visible .entry hd_spin(.param .u64 ns)\n"
                               "{\n"
                               "  .reg .pred %more;\n"
                               "  .reg .u64 %ns, %start, %now;\n"
                               "  ld.param.u64 %ns, [ns];\n"
                               "  mov.u64 %start, %globaltimer;\n"
                               "again:\n"
                               "  mov.u64 %now, %globaltimer;\n"
                               "  sub.u64 %now, %now, %start;\n"
                               "  setp.lt.u64 %more, %now, %ns;\n"
                               "  @%more bra again;\n"
                               "  ret;\n"
                               "}\n";

static heddle_status ask_info(heddle_context *ctx, const heddle_runtime *runtime,
                              hd_device_info *info) {
  int device, l2;
  HD_CU_TRY(ctx, runtime, context_device, &device);
  HD_CU_TRY(ctx, runtime, device_name, info->name, (int)sizeof info->name, device);
  HD_CU_TRY(ctx, runtime, device_pci, info->pci_id, (int)sizeof info->pci_id, device);
  HD_CU_TRY(ctx, runtime, device_attribute, &info->n_sms, HD_CU_DEV_SMS, device);
  HD_CU_TRY(ctx, runtime, device_attribute, &l2, HD_CU_DEV_L2_BYTES, device);
  info->l2_bytes = l2;
  info->driver_version = runtime->version;
  return heddle_device_target(ctx, runtime, info->target);
}

static heddle_status load_spin(heddle_context *ctx, hd_device *device) {
  HD_CU_TRY(ctx, device->runtime, module_load, &device->spin_module, spin_ptx, 0, NULL, NULL);
  HD_CU_TRY(ctx, device->runtime, module_function, &device->spin, device->spin_module, "hd_spin");
  return HEDDLE_OK;
}

heddle_status hd_device_open(heddle_context *ctx, heddle_runtime *runtime, int ordinal,
                             hd_device **device) {
  HD_TRY(heddle_device_use(ctx, runtime, ordinal));
  hd_device *made = hd_try_zalloc(ctx, sizeof *made, "a device");
  if (!made)
    return HEDDLE_NO_MEMORY;
  made->runtime = runtime;
  heddle_status status = ask_info(ctx, runtime, &made->info);
  if (status == HEDDLE_OK)
    status = hd_driver_check(ctx, &runtime->cu,
                             runtime->cu.stream_create(&made->stream, HD_CU_STREAM_NON_BLOCKING),
                             "stream_create");
  if (status == HEDDLE_OK)
    status = load_spin(ctx, made);
  if (status != HEDDLE_OK) {
    hd_device_close(made);
    return status;
  }
  *device = made;
  return HEDDLE_OK;
}

void hd_device_close(hd_device *device) {
  if (!device)
    return;
  if (device->spin_module)
    device->runtime->cu.module_unload(device->spin_module);
  if (device->stream)
    device->runtime->cu.stream_destroy(device->stream);
  hd_free(device);
}

heddle_status hd_device_sync(heddle_context *ctx, const hd_device *device) {
  HD_CU_TRY(ctx, device->runtime, stream_sync, device->stream);
  return HEDDLE_OK;
}

heddle_status hd_device_launch(heddle_context *ctx, const hd_device *device, void *function,
                               uint32_t n_ctas, uint32_t n_threads, void **params, void *stream) {
  hd_cu_config config = {n_ctas, 1, 1, n_threads, 1, 1, 0, stream, NULL, 0};
  HD_CU_TRY(ctx, device->runtime, launch, &config, function, params, NULL);
  return HEDDLE_OK;
}

heddle_status hd_device_spin(heddle_context *ctx, const hd_device *device, uint64_t nanoseconds) {
  void *params[] = {&nanoseconds};
  return hd_device_launch(ctx, device, device->spin, 1, 1, params, device->stream);
}
