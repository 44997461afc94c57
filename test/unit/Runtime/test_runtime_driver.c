/* Opening the driver: found, missing, too old, without a device, failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "Runtime/nvml.h"
#include "fake_cuda.h"

static heddle_status create(heddle_context *ctx, const char *path, heddle_runtime **runtime) {
  return heddle_runtime_create(ctx, &(heddle_runtime_config){path}, runtime);
}

static void refused(const char *path, const char *rule, const char *text) {
  heddle_context *ctx = heddle_context_create();
  heddle_runtime *runtime = NULL;
  assert_int_equal(create(ctx, path, &runtime), HEDDLE_ENVIRONMENT);
  assert_null(runtime);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, rule);
  if (!strstr(heddle_context_get(ctx, 0)->text, text))
    fail_msg("expected \"%s\" in \"%s\"", text, heddle_context_get(ctx, 0)->text);
  heddle_context_free(ctx);
}

static void a_driver_is_opened_by_path(void **state) {
  (void)state;
  fake_reset(FAKE_CUDA);
  heddle_runtime *runtime = NULL;
  assert_int_equal(create(NULL, FAKE_CUDA, &runtime), HEDDLE_OK);
  assert_int_equal(runtime->version, 13000);
  heddle_runtime_free(runtime);
  heddle_runtime_free(NULL);
}

static void no_driver_is_a_sentence(void **state) {
  (void)state;
  refused("/nowhere/libcuda.so.1", "driver.open", "no CUDA driver: /nowhere/libcuda.so.1");
}

static void an_old_driver_is_named_by_what_it_lacks(void **state) {
  (void)state;
  fake_reset(FAKE_CUDA_OLD);
  refused(FAKE_CUDA_OLD, "driver.symbol", "cuTensorMapEncodeTiled; legal: the driver of CUDA 12");
}

static void no_device_is_a_sentence(void **state) {
  (void)state;
  fake_reset(FAKE_CUDA)->init_result = 100;
  refused(FAKE_CUDA, "driver.device", "finds no device");
  fake_reset(FAKE_CUDA)->n_devices = 0;
  refused(FAKE_CUDA, "driver.device", "finds no device");
}

static void a_failing_call_is_named(void **state) {
  (void)state;
  fake_reset(FAKE_CUDA)->init_result = 719;
  refused(FAKE_CUDA, "driver.call", "cuInit failed: CUDA_ERROR_LAUNCH_FAILED (719): as asked");
}

static void primary_contexts_are_held_once_and_released(void **state) {
  (void)state;
  fake_cuda *fake = fake_reset(FAKE_CUDA);
  heddle_runtime *runtime;
  char target[16];
  assert_int_equal(create(NULL, FAKE_CUDA, &runtime), HEDDLE_OK);
  assert_int_equal(heddle_device_use(NULL, runtime, 1), HEDDLE_OK);
  assert_int_equal(heddle_device_use(NULL, runtime, 1), HEDDLE_OK);
  assert_int_equal(fake->n_retained, 1);
  assert_int_equal(heddle_device_use(NULL, runtime, 2), HEDDLE_ENVIRONMENT);
  assert_int_equal(heddle_device_use(NULL, runtime, -1), HEDDLE_ENVIRONMENT);
  assert_int_equal(heddle_device_target(NULL, runtime, target), HEDDLE_OK);
  assert_string_equal(target, "sm_90a");
  heddle_runtime_free(runtime);
  assert_int_equal(fake->n_retained, 0);
}

static void memory_is_zeroed_copied_and_freed(void **state) {
  (void)state;
  fake_cuda *fake = fake_reset(FAKE_CUDA);
  heddle_runtime *runtime;
  void *p = NULL;
  char in[100], out[100];
  memset(in, 7, sizeof in);
  assert_int_equal(create(NULL, FAKE_CUDA, &runtime), HEDDLE_OK);
  assert_int_equal(heddle_device_alloc(NULL, runtime, 100, &p), HEDDLE_OK);
  assert_int_equal(heddle_device_download(NULL, runtime, out, p, 100), HEDDLE_OK);
  for (int i = 0; i < 100; i++)
    assert_int_equal(out[i], 0);
  assert_int_equal(heddle_device_upload(NULL, runtime, p, in, 100), HEDDLE_OK);
  assert_int_equal(heddle_device_download(NULL, runtime, out, p, 100), HEDDLE_OK);
  assert_memory_equal(in, out, 100);
  heddle_device_free(runtime, p);
  heddle_device_free(runtime, NULL);
  fake->fail = "cuMemAlloc_v2";
  fake->fail_result = 2;
  assert_int_equal(heddle_device_alloc(NULL, runtime, 100, &p), HEDDLE_NO_MEMORY);
  assert_int_equal(fake->n_live_allocations, 0);
  heddle_runtime_free(runtime);
}

static void nvml_reads_power_and_clocks(void **state) {
  (void)state;
  fake_cuda *fake = fake_reset(FAKE_CUDA);
  hd_nvml *nvml = NULL;
  hd_nvml_sample sample;
  assert_int_equal(hd_nvml_open(NULL, "/nowhere.so", "0000:01:00.0", &nvml), HEDDLE_ENVIRONMENT);
  assert_int_equal(hd_nvml_open(NULL, FAKE_CUDA, "0000:01:00.0", &nvml), HEDDLE_OK);
  assert_int_equal(hd_nvml_read(NULL, nvml, &sample), HEDDLE_OK);
  assert_true(sample.power_w > 650.4 && sample.power_w < 650.6);
  assert_true(sample.power_limit_w > 699.9 && sample.power_limit_w < 700.1);
  assert_int_equal(sample.sm_mhz, 1410);
  assert_int_equal(sample.memory_mhz, 3201);
  assert_int_equal(sample.temperature_c, 61);
  fake->fail = "nvmlDeviceGetClockInfo";
  fake->fail_result = 3;
  assert_int_equal(hd_nvml_read(NULL, nvml, &sample), HEDDLE_ENVIRONMENT);
  hd_nvml_close(nvml);
  hd_nvml_close(NULL);
}

/* Compares the driver's ABI with its own header, where the header is installed. */
#if __has_include(<cuda.h>)
#include <cuda.h>
#define SAME(a, b) _Static_assert((int)(a) == (int)(b), #a " is not " #b)
#define SAME_PLACE(ours, a, theirs, b) SAME(offsetof(ours, a), offsetof(theirs, b))
SAME(sizeof(hd_cu_attribute), sizeof(CUlaunchAttribute));
SAME_PLACE(hd_cu_attribute, value, CUlaunchAttribute, value);
SAME_PLACE(hd_cu_attribute, value.cluster.z, CUlaunchAttribute, value.clusterDim.z);
SAME_PLACE(hd_cu_attribute, value.number, CUlaunchAttribute,
           value.programmaticStreamSerializationAllowed);
SAME(sizeof(hd_cu_config), sizeof(CUlaunchConfig));
SAME_PLACE(hd_cu_config, block_x, CUlaunchConfig, blockDimX);
SAME_PLACE(hd_cu_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME_PLACE(hd_cu_config, stream, CUlaunchConfig, hStream);
SAME_PLACE(hd_cu_config, attributes, CUlaunchConfig, attrs);
SAME_PLACE(hd_cu_config, n_attributes, CUlaunchConfig, numAttrs);
SAME(sizeof(hd_cu_kernel_node), sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
SAME_PLACE(hd_cu_kernel_node, shape[6], CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes);
SAME_PLACE(hd_cu_kernel_node, rest[3], CUDA_KERNEL_NODE_PARAMS_v2, ctx);
SAME(HD_CU_CAPTURE_ACTIVE, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(HD_CU_KERNEL_NODE, CU_GRAPH_NODE_TYPE_KERNEL);
SAME(sizeof(hd_cu_tmap), sizeof(CUtensorMap));
SAME(_Alignof(hd_cu_tmap), _Alignof(CUtensorMap));
SAME(sizeof(int), sizeof(CUresult));
SAME(sizeof(uint64_t), sizeof(CUdeviceptr));
SAME(HD_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(HD_CU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
SAME(HD_CU_NO_BINARY, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(HD_CU_UNSUPPORTED_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(HD_CU_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(HD_CU_PROGRAMMATIC_SERIALIZATION, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME(HD_CU_FUNC_SHARED_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(HD_CU_FUNC_LOCAL_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(HD_CU_FUNC_REGISTERS, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(HD_CU_FUNC_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(HD_CU_FUNC_NON_PORTABLE_CLUSTER, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME(HD_CU_JIT_INFO_LOG, CU_JIT_INFO_LOG_BUFFER);
SAME(HD_CU_JIT_INFO_LOG_BYTES, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME(HD_CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER);
SAME(HD_CU_JIT_ERROR_LOG_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(HD_CU_JIT_LOG_VERBOSE, CU_JIT_LOG_VERBOSE);
SAME(HD_CU_DEV_SMS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(HD_CU_DEV_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(HD_CU_DEV_CC_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(HD_CU_DEV_CC_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(HD_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(HD_CU_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(HD_CU_TMAP_PROMOTION, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_driver_is_opened_by_path),
      cmocka_unit_test(no_driver_is_a_sentence),
      cmocka_unit_test(an_old_driver_is_named_by_what_it_lacks),
      cmocka_unit_test(no_device_is_a_sentence),
      cmocka_unit_test(a_failing_call_is_named),
      cmocka_unit_test(primary_contexts_are_held_once_and_released),
      cmocka_unit_test(memory_is_zeroed_copied_and_freed),
      cmocka_unit_test(nvml_reads_power_and_clocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
