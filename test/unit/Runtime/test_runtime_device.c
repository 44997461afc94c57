/* Devices, guarded buffers and timing on the fake driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "Runtime/device.h"
#include "Runtime/nvml.h"
#include "fake_cuda.h"

typedef struct fixture {
  fake_cuda *fake;
  heddle_runtime *runtime;
  hd_device *device;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->fake = fake_reset(FAKE_CUDA);
  heddle_runtime_create(NULL, &(heddle_runtime_config){FAKE_CUDA}, &f->runtime);
  *state = f;
  return hd_device_open(NULL, f->runtime, 1, &f->device) == HEDDLE_OK ? 0 : -1;
}

/* Every test must free all that it allocated. */
static int teardown(void **state) {
  fixture *f = *state;
  const fake_cuda *k = f->fake;
  hd_device_close(f->device);
  heddle_runtime_free(f->runtime);
  int left = k->n_live_allocations + k->n_live_modules + k->n_live_streams + k->n_live_events +
             k->n_live_graphs + k->n_retained;
  free(f);
  return left;
}

static void facts_come_from_the_driver(void **state) {
  const fixture *f = *state;
  const hd_device_info *info = &f->device->info;
  assert_string_equal(info->name, "Fake 1");
  assert_string_equal(info->target, "sm_90a");
  assert_string_equal(info->pci_id, "0000:01:00.0");
  assert_int_equal(info->n_sms, 10);
  assert_int_equal(info->l2_bytes, 50 << 20);
  assert_int_equal(info->driver_version, 13000);
}

static void buffers_are_poisoned_copied_and_aligned(void **state) {
  const fixture *f = *state;
  unsigned char in[1000], out[1000];
  hd_buffer b;
  memset(in, 3, sizeof in);
  assert_int_equal(hd_buffer_create(NULL, f->device, 1000, 6, &b), HEDDLE_OK);
  assert_int_equal(b.address % 256, 6);
  assert_int_equal(hd_buffer_download(NULL, f->device, &b, out), HEDDLE_OK);
  assert_int_equal(out[0] & out[999], HD_POISON_BYTE);
  assert_int_equal(hd_buffer_upload(NULL, f->device, &b, in), HEDDLE_OK);
  assert_int_equal(hd_buffer_download(NULL, f->device, &b, out), HEDDLE_OK);
  assert_memory_equal(in, out, sizeof in);
  assert_int_equal(hd_buffer_check(NULL, f->device, &b, "d"), HEDDLE_OK);
  assert_int_equal(hd_buffer_fill(NULL, f->device, &b, 0x11), HEDDLE_OK);
  assert_int_equal(hd_buffer_check(NULL, f->device, &b, "d"), HEDDLE_OK);
  hd_buffer_free(f->device, &b);
  assert_int_equal(hd_buffer_create(NULL, f->device, 10, 256, &b), HEDDLE_INVALID);
}

/* A write to any byte of either guard is detected, from the nearest byte to the farthest. */
static void writes_outside_are_found(void **state) {
  const fixture *f = *state;
  static const int64_t outside[] = {-1, 100, 101, -HD_GUARD_BYTES, 100 + HD_GUARD_BYTES - 1};
  hd_buffer b;
  assert_int_equal(hd_buffer_create(NULL, f->device, 100, 0, &b), HEDDLE_OK);
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
    unsigned char *at = (unsigned char *)(uintptr_t)b.address + outside[i];
    heddle_context *ctx = heddle_context_create();
    char text[32];
    *at = 0;
    snprintf(text, sizeof text, "byte %lld is 0x00", (long long)outside[i]);
    assert_int_equal(hd_buffer_check(ctx, f->device, &b, "d"), HEDDLE_MISMATCH);
    assert_string_equal(heddle_context_get(ctx, 0)->rule, "buffer.guard");
    assert_non_null(strstr(heddle_context_get(ctx, 0)->text, text));
    *at = HD_GUARD_BYTE;
    heddle_context_free(ctx);
  }
  assert_int_equal(hd_buffer_check(NULL, f->device, &b, "d"), HEDDLE_OK);
  hd_buffer_free(f->device, &b);
}

static heddle_status launch_nothing(heddle_context *ctx, void *user, size_t index, void *stream) {
  (void)ctx, (void)stream;
  size_t *seen = user;
  assert_int_equal(index, *seen);
  return ++*seen == 7 ? HEDDLE_INTERNAL : HEDDLE_OK;
}

static void times_are_per_launch(void **state) {
  const fixture *f = *state;
  size_t n = 0;
  double seconds = 0;
  hd_graph graph;
  assert_int_equal(hd_time_stream(NULL, f->device, launch_nothing, &n, 6, &seconds), HEDDLE_OK);
  assert_true(seconds > 0.00049 && seconds < 0.00051);
  n = 0;
  assert_int_equal(hd_graph_capture(NULL, f->device, launch_nothing, &n, 5, &graph), HEDDLE_OK);
  assert_int_equal(hd_graph_time(NULL, f->device, &graph, 3, &seconds), HEDDLE_OK);
  assert_true(seconds > 0.00019 && seconds < 0.00021);
  assert_int_equal(hd_graph_time(NULL, f->device, &graph, 0, &seconds), HEDDLE_INVALID);
  hd_graph_free(f->device, &graph);
}

static void a_failing_launch_ends_the_capture(void **state) {
  const fixture *f = *state;
  size_t n = 0;
  hd_graph graph;
  assert_int_equal(hd_graph_capture(NULL, f->device, launch_nothing, &n, 9, &graph),
                   HEDDLE_INTERNAL);
  assert_false(f->fake->capturing);
  double seconds;
  n = 0;
  assert_int_equal(hd_time_stream(NULL, f->device, launch_nothing, &n, 9, &seconds),
                   HEDDLE_INTERNAL);
}

static void rotations_reach_the_total(void **state) {
  const fixture *f = *state;
  hd_rotation r;
  char in[100], out[100];
  assert_int_equal(hd_rotation_count(100, 1000), 10);
  assert_int_equal(hd_rotation_count(100, 1001), 11);
  assert_int_equal(hd_rotation_count(2000, 1000), 1);
  assert_int_equal(hd_rotation_count(0, 1000), 1);
  memset(in, 9, sizeof in);
  assert_int_equal(hd_rotation_create(NULL, f->device, in, 100, 4, &r), HEDDLE_OK);
  assert_int_equal(hd_buffer_download(NULL, f->device, &r.set[3], out), HEDDLE_OK);
  assert_memory_equal(in, out, 100);
  hd_rotation_free(f->device, &r);
  f->fake->fail = "cuMemcpyHtoD_v2";
  f->fake->fail_result = 1;
  assert_int_equal(hd_rotation_create(NULL, f->device, in, 100, 4, &r), HEDDLE_ENVIRONMENT);
  f->fake->fail = NULL;
}

static void expect_rule(heddle_context *ctx, const char *rule) {
  assert_int_equal(heddle_context_count(ctx), 1);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, rule);
  heddle_context_clear(ctx);
}

static void nvml_tells_what_and_who(void **state) {
  const fixture *f = *state;
  hd_nvml *nvml;
  hd_nvml_identity id;
  unsigned n, pid;
  assert_int_equal(hd_nvml_open_index(NULL, FAKE_CUDA, 3, &nvml), HEDDLE_OK);
  assert_int_equal(hd_nvml_identify(NULL, nvml, &id), HEDDLE_OK);
  assert_string_equal(id.uuid, "GPU-fake");
  assert_string_equal(id.name, "Fake 0");
  assert_string_equal(id.driver, "580.1");
  assert_true(id.ecc && !id.mig && id.power_limit_w == 700);
  assert_int_equal(hd_nvml_processes(NULL, nvml, 0, &n, &pid), HEDDLE_OK);
  assert_true(n == 0 && pid == 0);
  f->fake->n_processes = 2;
  assert_int_equal(hd_nvml_processes(NULL, nvml, 0, &n, &pid), HEDDLE_OK);
  assert_true(n == 2 && pid == 4712);
  assert_int_equal(hd_nvml_processes(NULL, nvml, 4711, &n, &pid), HEDDLE_OK);
  assert_true(n == 1 && pid == 4712);
  f->fake->n_processes = 0;
  hd_nvml_close(nvml);
}

static void refusals_name_their_rule(void **state) {
  const fixture *f = *state;
  heddle_context *ctx = heddle_context_create();
  hd_device *device;
  hd_buffer b;
  hd_nvml *nvml;
  double seconds;
  assert_int_equal(hd_device_open(ctx, f->runtime, 99, &device), HEDDLE_ENVIRONMENT);
  expect_rule(ctx, "device.ordinal");
  assert_int_equal(hd_buffer_create(ctx, f->device, 8, 256, &b), HEDDLE_INVALID);
  expect_rule(ctx, "buffer.size");
  assert_int_equal(hd_time_stream(ctx, f->device, launch_nothing, NULL, 0, &seconds),
                   HEDDLE_INVALID);
  expect_rule(ctx, "time.count");
  assert_int_equal(hd_nvml_open(ctx, "/nowhere/nvml", "0", &nvml), HEDDLE_ENVIRONMENT);
  expect_rule(ctx, "nvml.open");
  assert_int_equal(hd_nvml_open(ctx, "libm.so.6", "0", &nvml), HEDDLE_ENVIRONMENT);
  expect_rule(ctx, "nvml.symbol");
  f->fake->fail = "nvmlDeviceGetHandleByPciBusId_v2";
  f->fake->fail_result = 6;
  assert_int_equal(hd_nvml_open(ctx, FAKE_CUDA, "0", &nvml), HEDDLE_ENVIRONMENT);
  expect_rule(ctx, "nvml.call");
  f->fake->fail = NULL;
  heddle_context_free(ctx);
}

static void memory_that_is_not_given_is_told_of(void **state) {
  const fixture *f = *state;
  heddle_context *ctx = heddle_context_create();
  hd_device *device;
  hd_rotation r;
  hd_nvml *nvml;
  fake_refuse_in = 1;
  assert_int_equal(hd_device_open(ctx, f->runtime, 0, &device), HEDDLE_NO_MEMORY);
  expect_rule(ctx, "memory.size");
  fake_refuse_in = 1;
  assert_int_equal(hd_rotation_create(ctx, f->device, NULL, 100, 4, &r), HEDDLE_NO_MEMORY);
  expect_rule(ctx, "memory.size");
  fake_refuse_in = 1;
  assert_int_equal(hd_nvml_open(ctx, FAKE_CUDA, "0", &nvml), HEDDLE_NO_MEMORY);
  expect_rule(ctx, "memory.size");
  heddle_context_free(ctx);
}

/* One driver call fails in each iteration. Opening must report it and free everything. */
static void every_failure_of_opening_is_clean(void **state) {
  const fixture *f = *state;
  static const char *const calls[] = {"cuDeviceGetName",     "cuDeviceGetPCIBusId",
                                      "cuDeviceGetAttribute", "cuStreamCreate",
                                      "cuModuleLoadDataEx",   "cuModuleGetFunction",
                                      "cuCtxSetCurrent"};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    hd_device *device = NULL;
    f->fake->fail = calls[i];
    f->fake->fail_result = 999;
    assert_int_equal(hd_device_open(NULL, f->runtime, 0, &device), HEDDLE_ENVIRONMENT);
    assert_null(device);
    f->fake->fail = NULL;
    assert_int_equal(f->fake->n_live_streams + f->fake->n_live_modules, 2);
  }
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      CASE(facts_come_from_the_driver),
      CASE(nvml_tells_what_and_who),
      CASE(refusals_name_their_rule),
      CASE(buffers_are_poisoned_copied_and_aligned),
      CASE(writes_outside_are_found),
      CASE(times_are_per_launch),
      CASE(a_failing_launch_ends_the_capture),
      CASE(rotations_reach_the_total),
      CASE(every_failure_of_opening_is_clean),
      CASE(memory_that_is_not_given_is_told_of),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
