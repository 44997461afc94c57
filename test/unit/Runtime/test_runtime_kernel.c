/* Loading and launching on the fake driver: modules, parameters, tensor maps, attributes,
 * refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "Runtime/loaded_kernel.h"
#include "fake_cuda.h"
#include "sample_manifest.h"

typedef struct fixture {
  fake_cuda *fake;
  heddle_context *ctx;
  heddle_runtime *runtime;
  hd_manifest manifest;
} fixture;

static const heddle_image both = {"\x7f" "ELF!", 5, ".version 8.6 and more", 12};

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->fake = fake_reset(FAKE_CUDA);
  f->fake->n_params = 14;
  f->ctx = heddle_context_create();
  f->manifest = sample_manifest();
  *state = f;
  heddle_status status =
      heddle_runtime_create(f->ctx, &(heddle_runtime_config){FAKE_CUDA}, &f->runtime);
  return status == HEDDLE_OK ? (int)heddle_device_use(f->ctx, f->runtime, 0) : -1;
}

static int teardown(void **state) {
  fixture *f = *state;
  int left = f->fake->n_live_modules;
  heddle_context_free(f->ctx);
  heddle_runtime_free(f->runtime);
  free(f);
  return left;
}

static heddle_kernel *loaded(fixture *f) {
  heddle_kernel *kernel = NULL;
  assert_int_equal(hd_kernel_load(f->ctx, f->runtime, &f->manifest, &both, true, &kernel),
                   HEDDLE_OK);
  return kernel;
}

/* Expects the last diagnostic to have that rule and to contain `text`. */
static void said(const fixture *f, const char *rule, const char *text) {
  size_t n = heddle_context_count(f->ctx);
  assert_true(n > 0);
  const heddle_diagnostic *d = heddle_context_get(f->ctx, n - 1);
  assert_string_equal(d->rule, rule);
  if (!strstr(d->text, text))
    fail_msg("expected \"%s\" in \"%s\"", text, d->text);
}

static void refused(fixture *f, const heddle_image *image, heddle_status status, const char *rule,
                    const char *text) {
  heddle_kernel *kernel = NULL;
  assert_int_equal(hd_kernel_load(f->ctx, f->runtime, &f->manifest, image, true, &kernel), status);
  assert_null(kernel);
  assert_int_equal(f->fake->n_live_modules, 0);
  said(f, rule, text);
}

static void sample_args(heddle_arg args[14], const heddle_kernel *kernel) {
  hd_values v = sample_values();
  assert_int_equal(kernel->n_passed, 14);
  for (int i = 0; i < 14; i++) {
    args[i].i64 = (int64_t)v.v[kernel->passed[i]];
    if (hd_arg_class_of(kernel->passed[i]) == HEDDLE_CLASS_F32)
      args[i].f32 = 0.25f * (float)i;
  }
}

static void json_and_cubin_become_a_kernel(void **state) {
  fixture *f = *state;
  heddle_kernel *kernel = NULL;
  heddle_kernel_info info;
  char *json = NULL;
  hd_manifest_name_code(&f->manifest, &both);
  assert_int_equal(hd_manifest_write(NULL, &f->manifest, &json), HEDDLE_OK);
  assert_int_equal(heddle_kernel_load(f->ctx, f->runtime, json, strlen(json), &both, &kernel),
                   HEDDLE_OK);
  free(json);
  assert_string_equal(heddle_kernel_name(kernel), "sample");
  assert_string_equal(heddle_kernel_family(kernel), "wgmma");
  assert_false(heddle_kernel_takes_pairs(kernel));
  assert_int_equal(f->fake->n_loads, 1);
  assert_memory_equal(f->fake->last_image, "\x7f" "ELF!", 5);
  assert_int_equal(f->fake->max_shared, 200 * 1024);
  assert_int_equal(heddle_kernel_variant_count(kernel), 2);
  assert_int_equal(heddle_kernel_get_info(kernel, 0, &info), HEDDLE_OK);
  assert_string_equal(info.entry, "sample_tma");
  assert_int_equal(info.n_registers, 168);
  assert_int_equal(info.shared_bytes, 200 * 1024 + 1024);
  assert_int_equal(info.n_resident, 10);
  assert_int_equal(heddle_kernel_get_info(kernel, 2, &info), HEDDLE_INVALID);
  assert_int_equal(heddle_kernel_arg_count(kernel), 14);
  assert_string_equal(heddle_kernel_arg_name(kernel, 8), "ldb");
  assert_int_equal(heddle_kernel_arg_class(kernel, 8), HEDDLE_CLASS_I64);
  assert_null(heddle_kernel_arg_name(kernel, 14));
  heddle_kernel_free(kernel);
  heddle_kernel_free(NULL);
}

/* Each part is compared. A part that is not in the manifest also belongs to another kernel. */
static void code_of_another_kernel_is_refused(void **state) {
  fixture *f = *state;
  const heddle_image others[] = {{"\x7f" "ELF?", 5, both.ptx, both.ptx_bytes},
                                 {both.cubin, both.cubin_bytes, ".version 8.6 and less", 21}};
  heddle_kernel *kernel = NULL;
  char *json = NULL;
  for (size_t i = 0; i < 3; i++) {
    heddle_image known = both;
    known.cubin_bytes = i < 2 ? both.cubin_bytes : 0;
    hd_manifest_name_code(&f->manifest, &known);
    assert_int_equal(hd_manifest_write(NULL, &f->manifest, &json), HEDDLE_OK);
    assert_int_equal(heddle_kernel_load(f->ctx, f->runtime, json, strlen(json),
                                        i < 2 ? &others[i] : &both, &kernel),
                     HEDDLE_INVALID);
    said(f, "manifest.code", i == 1 ? "the PTX given" : "the cubin given");
    free(json);
  }
  assert_null(kernel);
  assert_int_equal(f->fake->n_loads, 0);
}

static void a_cubin_that_does_not_fit_falls_to_ptx(void **state) {
  fixture *f = *state;
  f->fake->cubin_result = 209;
  heddle_kernel *kernel = loaded(f);
  assert_int_equal(f->fake->n_loads, 2);
  assert_string_equal(f->fake->last_image, ".version 8.6");
  heddle_kernel_free(kernel);
}

/* Other failures are not caused by the image, so a second try must not hide them. */
static void a_cubin_that_fails_otherwise_is_not_replaced(void **state) {
  fixture *f = *state;
  f->fake->cubin_result = 700;
  refused(f, &both, HEDDLE_ENVIRONMENT, "driver.call", "cuModuleLoadDataEx failed");
  assert_int_equal(f->fake->n_loads, 1);
}

static void bad_code_is_refused_with_the_drivers_words(void **state) {
  fixture *f = *state;
  heddle_image cubin = both, none = {0};
  cubin.ptx = NULL;
  f->fake->cubin_result = 209;
  refused(f, &cubin, HEDDLE_UNSUPPORTED, "driver.call", "cuModuleLoadDataEx failed");
  f->fake->ptx_result = 218;
  f->fake->error_log = "ptxas error: line 3";
  refused(f, &both, HEDDLE_ENVIRONMENT, "driver.log", "line 3");
  refused(f, &none, HEDDLE_INVALID, "kernel.image", "neither cubin nor PTX");
  f->fake->cubin_result = 0;
  f->manifest.variant[1].entry = "missing";
  refused(f, &both, HEDDLE_ENVIRONMENT, "driver.call", "cuModuleGetFunction");
  f->manifest.variant[1].entry = "sample_gather";
  f->fake->resident = 0;
  refused(f, &both, HEDDLE_UNSUPPORTED, "kernel.resident", "no CTA of sample_tma");
  f->manifest.n_variants = 0;
  refused(f, &both, HEDDLE_INVALID, "manifest.variant", "no variant");
}

static void the_gate_refuses_spills_and_serialised_wgmma(void **state) {
  fixture *f = *state;
  heddle_kernel *kernel = NULL;
  f->fake->local_bytes = 16;
  refused(f, &both, HEDDLE_UNSUPPORTED, "kernel.gate", "16 bytes of local memory");
  f->fake->local_bytes = 0;
  f->fake->info_log = "ptxas info : (C7519) Potential Performance Loss: wgmma\nmore";
  refused(f, &both, HEDDLE_UNSUPPORTED, "kernel.gate", "(C7519) Potential Performance Loss");
  assert_int_equal(hd_kernel_load(f->ctx, f->runtime, &f->manifest, &both, false, &kernel),
                   HEDDLE_OK);
  heddle_kernel_free(kernel);
}

/* The verbose log contains kernel names, and a kernel may have any name. */
static void the_gate_reads_remarks_and_no_names(void **state) {
  fixture *f = *state;
  f->fake->info_log = "ptxas info : Function properties for C75_tma";
  heddle_kernel_free(loaded(f));
}

/* One driver call fails in each iteration of loading: an error, and everything is freed. */
static void every_failure_of_loading_is_clean(void **state) {
  fixture *f = *state;
  static const char *const calls[] = {"cuCtxGetCurrent",     "cuModuleLoadDataEx",
                                      "cuModuleGetFunction", "cuFuncSetAttribute",
                                      "cuOccupancyMaxActiveClusters", "cuFuncGetAttribute",
                                      "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                                      "cuCtxGetDevice",      "cuDeviceGetAttribute"};
  for (size_t i = 0; i < HD_COUNT(calls); i++) {
    f->fake->fail = calls[i];
    f->fake->fail_result = 999;
    refused(f, &both, HEDDLE_ENVIRONMENT, "driver.call", calls[i]);
  }
  f->fake->fail = NULL;
}

static void a_launch_hands_over_everything(void **state) {
  fixture *f = *state;
  heddle_kernel *kernel = loaded(f);
  heddle_arg args[14];
  int stream;
  sample_args(args, kernel);
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, &stream), HEDDLE_OK);
  const fake_launch *l = &f->fake->launch[0];
  float alpha;
  assert_string_equal(l->function, "sample_tma");
  assert_int_equal(l->config.grid_x, 4);
  assert_int_equal(l->config.block_x, 384);
  assert_int_equal(l->config.shared_bytes, 200 * 1024);
  assert_ptr_equal(l->config.stream, &stream);
  assert_int_equal(l->config.n_attributes, 2);
  assert_int_equal(l->attribute[0].id, HD_CU_CLUSTER_DIMENSION);
  assert_int_equal(l->attribute[0].value.cluster.x, 2);
  assert_int_equal(l->attribute[0].value.cluster.y * l->attribute[0].value.cluster.z, 1);
  assert_int_equal(l->attribute[1].id, HD_CU_PROGRAMMATIC_SERIALIZATION);
  assert_int_equal(l->attribute[1].value.number, 1);
  assert_int_equal(l->params[0], 0x10000);
  assert_int_equal(l->params[1], UINT64_C(0xabababababababab)); /* the tensor map */
  assert_int_equal((uint32_t)l->params[5], 256);
  assert_int_equal(l->params[8], 64);
  memcpy(&alpha, &l->params[11], sizeof alpha);
  assert_true(alpha == args[11].f32);
  assert_int_equal(f->fake->tmap_type, 9);
  assert_int_equal(f->fake->tmap_rank, 2);
  assert_int_equal(f->fake->tmap_swizzle, 3);
  assert_int_equal(f->fake->tmap_base, 0x20000);
  assert_int_equal(f->fake->tmap_dim[0], 64);
  assert_int_equal(f->fake->tmap_dim[1], 128);
  assert_int_equal(f->fake->tmap_stride[1], 128);
  assert_int_equal(f->fake->tmap_box[0] * f->fake->tmap_box[1], 64 * 64);
  heddle_kernel_free(kernel);
}

static void variants_and_attributes_follow_the_values(void **state) {
  fixture *f = *state;
  heddle_kernel *kernel = loaded(f);
  heddle_arg args[14];
  sample_args(args, kernel);
  args[8].i64 = 66;
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_OK);
  assert_string_equal(f->fake->launch[0].function, "sample_gather");
  assert_int_equal(f->fake->launch[0].config.n_attributes, 0);
  assert_int_equal(f->fake->launch[0].config.grid_x, 12);
  assert_int_equal(f->fake->launch[0].params[1], 0x20000);
  args[8].i64 = 64;
  args[5].i32 = 128 * 50; /* 100 tiles, 10 resident */
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_OK);
  assert_int_equal(f->fake->launch[1].config.grid_x, 10);
  args[5].i32 = 0;
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_OK);
  assert_int_equal(f->fake->n_launches, 2);
  heddle_kernel_free(kernel);
}

static void what_runs_ahead_is_launched_first(void **state) {
  fixture *f = *state;
  f->manifest = sample_copied();
  heddle_kernel *kernel = loaded(f);
  heddle_arg args[14];
  uint64_t n_bytes;
  int stream;
  sample_args(args, kernel);
  args[8].i64 = 66;
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, &stream), HEDDLE_OK);
  assert_int_equal(f->fake->n_launches, 2);
  const fake_launch *l = f->fake->launch;
  assert_string_equal(l[0].function, "sample_copy_b");
  assert_string_equal(l[1].function, "sample_gather");
  assert_ptr_equal(l[0].config.stream, &stream);
  assert_int_equal(l[0].config.n_attributes, 0);
  assert_int_equal(l[0].config.grid_x, 10); /* 10 of 16 tiles are resident */
  assert_int_equal(l[0].params[1], 0x20000);
  assert_int_equal(heddle_kernel_workspace(f->ctx, kernel, args, 14, &n_bytes), HEDDLE_OK);
  assert_int_equal(n_bytes, 16 * 8 * 1024);
  args[5].i32 = 0;
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_OK);
  assert_int_equal(f->fake->n_launches, 2);
  heddle_kernel_free(kernel);
}

static void what_runs_behind_is_launched_last(void **state) {
  fixture *f = *state;
  f->manifest = sample_combined();
  heddle_kernel *kernel = loaded(f);
  heddle_named_arg args[32];
  size_t n = 0;
  int stream;
  for (const char *name; (name = heddle_kernel_arg_name(kernel, n)); n++) {
    static const struct {
      const char *name;
      int64_t value;
    } numbers[] = {{"m", 256}, {"n", 100},  {"k", 64},   {"g", 4},
                   {"t", 9},   {"ldb", 64}, {"ldd", 256}};
    args[n] = (heddle_named_arg){.name = name, .value = {.ptr = (void *)0x10000}};
    for (size_t i = 0; i < HD_COUNT(numbers); i++)
      if (!strcmp(numbers[i].name, name))
        args[n].value = name[1] == 'd' ? (heddle_arg){.i64 = numbers[i].value}
                                       : (heddle_arg){.i32 = (int32_t)numbers[i].value};
    if (!strcmp(name, "stride_a"))
      args[n].value.i64 = 4096;
    if (!strcmp(name, "alpha"))
      args[n].value.f32 = 1;
  }
  assert_int_equal(heddle_kernel_launch_named(f->ctx, kernel, args, n, &stream), HEDDLE_OK);
  assert_int_equal(f->fake->n_launches, 2);
  const fake_launch *l = f->fake->launch;
  assert_string_equal(l[0].function, "sample_tma");
  assert_string_equal(l[1].function, "sample_combine");
  assert_ptr_equal(l[1].config.stream, &stream);
  assert_int_equal(l[1].config.n_attributes, 1); /* programmatic dependent launch */
  assert_int_equal(l[1].config.grid_x, 5);       /* 9 columns, 2 per CTA */
  heddle_kernel_free(kernel);
}

static void the_launch_path_allocates_syncs_and_loads_nothing(void **state) {
  fixture *f = *state;
  heddle_kernel *kernel = loaded(f);
  heddle_arg args[14];
  heddle_function function;
  sample_args(args, kernel);
  assert_int_equal(heddle_kernel_function(f->ctx, kernel, &function), HEDDLE_OK);
  int before = fake_n_allocations, syncs = f->fake->n_syncs, loads = f->fake->n_loads;
  f->fake->capturing = true;
  for (int i = 0; i < 10; i++)
    assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_OK);
  assert_int_equal(fake_n_allocations, before);
  assert_int_equal(f->fake->n_syncs, syncs);
  assert_int_equal(f->fake->n_loads, loads);
  assert_true(f->fake->launch[9].captured);
  heddle_kernel_launch(f->ctx, kernel, args, 13, NULL); /* a refusal allocates its message */
  assert_true(fake_n_allocations > before);
  heddle_kernel_free(kernel);
}

typedef int (*sample_fn)(const void *a, const void *b, const void *c, void *d, const void *user,
                         int32_t m, int32_t n, int32_t k, int64_t ldb, int64_t ldc, int64_t ldd,
                         float alpha, float beta, void *workspace, void *stream);

static void typed_functions_launch(void **state) {
  fixture *f = *state;
  heddle_kernel *kernel = loaded(f);
  heddle_function function, again;
  float beta;
  int here;
  assert_string_equal(heddle_kernel_prototype(kernel),
                      "int sample(const void *a, const void *b, const void *c, void *d, "
                      "const void *user, int32_t m, int32_t n, int32_t k, int64_t ldb, "
                      "int64_t ldc, int64_t ldd, float alpha, float beta, void *workspace, "
                      "void *stream)");
  assert_int_equal(heddle_kernel_function(f->ctx, kernel, &function), HEDDLE_OK);
  assert_int_equal(heddle_kernel_function(f->ctx, kernel, &again), HEDDLE_OK);
  assert_true(function == again);
  sample_fn sample = (sample_fn)function;
#define P(n) ((void *)(uintptr_t)(UINT64_C(0x700000010000) * (n)))
  assert_int_equal(sample(P(1), P(2), P(3), P(4), NULL, 256, 128, 64, 64, (INT64_C(1) << 35) + 1,
                          131, 1.5f, -2.5f, P(5), &here),
                   HEDDLE_OK);
  assert_int_equal(sample(P(1), P(2), P(3), P(4), NULL, -1, 128, 64, 64, (INT64_C(1) << 35) + 1,
                          131, 1.5f, -2.5f, P(5), &here),
                   HEDDLE_INVALID);
#undef P
  const fake_launch *l = &f->fake->launch[0];
  assert_int_equal(f->fake->n_launches, 1);
  assert_ptr_equal(l->config.stream, &here);
  assert_int_equal(l->params[3], UINT64_C(0x1c00000040000));
  assert_int_equal(l->params[4], 0);
  assert_int_equal((uint32_t)l->params[6], 128);
  assert_int_equal(l->params[9], (INT64_C(1) << 35) + 1);
  assert_int_equal(l->params[10], 131);
  memcpy(&beta, &l->params[12], sizeof beta);
  assert_true(beta == -2.5f);
  heddle_kernel_free(kernel);
}

static void fixed_sizes_leave_the_prototype(void **state) {
  fixture *f = *state;
  for (int i = 5; i <= 10; i++)
    f->manifest.arg[i].fixed = 256;
  heddle_kernel *kernel = loaded(f);
  assert_string_equal(heddle_kernel_prototype(kernel),
                      "int sample(const void *a, const void *b, const void *c, void *d, "
                      "const void *user, float alpha, float beta, void *workspace, void *stream)");
  assert_int_equal(heddle_kernel_arg_count(kernel), 8);
  heddle_kernel_free(kernel);
}

static void workspace_is_asked_without_pointers(void **state) {
  fixture *f = *state;
  heddle_kernel *kernel = loaded(f);
  heddle_arg args[14];
  uint64_t n_bytes = 0;
  sample_args(args, kernel);
  for (int i = 0; i < 5; i++)
    args[i].ptr = NULL;
  assert_int_equal(heddle_kernel_workspace(f->ctx, kernel, args, 14, &n_bytes), HEDDLE_OK);
  assert_int_equal(n_bytes, 12 * 4100);
  heddle_kernel_free(kernel);
}

static void arguments_come_by_name(void **state) {
  fixture *f = *state;
  heddle_kernel *kernel = loaded(f);
  heddle_arg args[14], arranged[14];
  heddle_named_arg named[15];
  memset(arranged, 0, sizeof arranged);
  sample_args(args, kernel);
  for (size_t i = 0; i < 14; i++) /* in reverse order */
    named[13 - i] = (heddle_named_arg){heddle_kernel_arg_name(kernel, i), args[i]};
  assert_int_equal(heddle_kernel_args_by_name(f->ctx, kernel, named, 14, arranged), HEDDLE_OK);
  assert_memory_equal(arranged, args, sizeof args);
  assert_int_equal(heddle_kernel_launch_named(f->ctx, kernel, named, 14, NULL), HEDDLE_OK);
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_OK);
  assert_memory_equal(f->fake->launch[0].params, f->fake->launch[1].params,
                      sizeof f->fake->launch[0].params);
  assert_int_equal(heddle_kernel_launch_named(f->ctx, kernel, named, 13, NULL), HEDDLE_INVALID);
  said(f, "launch.name", "argument a of kernel sample is missing; legal: all of int sample(");
  named[14] = named[3];
  assert_int_equal(heddle_kernel_launch_named(f->ctx, kernel, named, 15, NULL), HEDDLE_INVALID);
  said(f, "launch.name", "is given twice; legal: once");
  named[0].name = "alfa";
  assert_int_equal(heddle_kernel_launch_named(f->ctx, kernel, named, 14, NULL), HEDDLE_INVALID);
  said(f, "launch.name", "nearest: alpha");
  named[0].name = NULL;
  assert_int_equal(heddle_kernel_launch_named(f->ctx, kernel, named, 14, NULL), HEDDLE_INVALID);
  said(f, "launch.name", "got an argument \"\" for kernel sample");
  assert_int_equal(f->fake->n_launches, 2);
  heddle_kernel_free(kernel);
}

static void launches_are_refused_in_words(void **state) {
  fixture *f = *state;
  heddle_kernel *kernel = loaded(f);
  heddle_arg args[14];
  sample_args(args, kernel);
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 13, NULL), HEDDLE_INVALID);
  said(f, "launch.args", "got 13 arguments for kernel sample; legal: 14");
  args[7].i32 = 62;
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_INVALID);
  said(f, "launch.divisible", "argument k: got 62");
  args[7].i32 = 64;
  args[5].i32 = -1;
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_INVALID);
  said(f, "launch.size", "argument m: got -1");
  args[5].i32 = 256;
  f->fake->fail = "cuLaunchKernelEx";
  f->fake->fail_result = 719;
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_ENVIRONMENT);
  said(f, "driver.call", "cuLaunchKernelEx failed: CUDA_ERROR_LAUNCH_FAILED (719)");
  f->fake->fail = "cuTensorMapEncodeTiled";
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_ENVIRONMENT);
  said(f, "driver.call", "cuTensorMapEncodeTiled");
  f->fake->fail = NULL;
  heddle_kernel_free(kernel);
}

static void contexts_need_the_kernel_attached(void **state) {
  fixture *f = *state;
  heddle_kernel *kernel = loaded(f);
  heddle_arg args[14];
  sample_args(args, kernel);
  assert_int_equal(heddle_device_use(f->ctx, f->runtime, 1), HEDDLE_OK);
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_INVALID);
  said(f, "launch.context", "heddle_kernel_attach");
  assert_int_equal(heddle_kernel_attach(f->ctx, kernel), HEDDLE_OK);
  assert_int_equal(heddle_kernel_attach(f->ctx, kernel), HEDDLE_OK);
  assert_int_equal(f->fake->n_live_modules, 2);
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, args, 14, NULL), HEDDLE_OK);
  assert_int_equal(heddle_device_use(f->ctx, f->runtime, 0), HEDDLE_OK);
  void *current = f->fake->current;
  heddle_kernel_free(kernel);
  assert_ptr_equal(f->fake->current, current);
}

/* The fake driver accepts any address as a context. */
static void a_kernel_is_in_so_many_contexts(void **state) {
  fixture *f = *state;
  static int more[HD_MAX_LOADED];
  heddle_kernel *kernel = loaded(f);
  void *current = f->fake->current;
  for (int i = 1; i < HD_MAX_LOADED; i++) {
    f->fake->current = &more[i];
    assert_int_equal(heddle_kernel_attach(f->ctx, kernel), HEDDLE_OK);
  }
  f->fake->current = &more[0];
  assert_int_equal(heddle_kernel_attach(f->ctx, kernel), HEDDLE_UNSUPPORTED);
  said(f, "kernel.context", "kernel sample is in 16 contexts; legal: up to 16");
  assert_int_equal(f->fake->n_live_modules, HD_MAX_LOADED);
  f->fake->current = current;
  heddle_kernel_free(kernel);
}

/* The maximum over the devices, which hold different numbers of CTAs. */
static void a_workspace_serves_every_device(void **state) {
  fixture *f = *state;
  heddle_arg args[14];
  uint64_t small, large, both_of_them;
  f->manifest.variant[1].split_k = 1;
  f->manifest.variant[1].persistent = true;
  f->manifest.variant[1].stream_granule = 4;
  heddle_kernel *kernel = loaded(f);
  sample_args(args, kernel);
  assert_int_equal(heddle_kernel_workspace(f->ctx, kernel, args, 14, &large), HEDDLE_OK);
  f->fake->n_sms = 5;
  assert_int_equal(heddle_device_use(f->ctx, f->runtime, 1), HEDDLE_OK);
  assert_int_equal(heddle_kernel_attach(f->ctx, kernel), HEDDLE_OK);
  assert_int_equal(heddle_kernel_workspace(f->ctx, kernel, args, 14, &both_of_them), HEDDLE_OK);
  heddle_kernel_free(kernel);
  kernel = loaded(f);
  assert_int_equal(heddle_kernel_workspace(f->ctx, kernel, args, 14, &small), HEDDLE_OK);
  assert_true(0 < small && small < large);
  assert_int_equal(both_of_them, large);
  heddle_kernel_free(kernel);
}

/* Allocations of the kernel, of the driver's log, of a typed function, and of libffi's closure for
 * it. */
static void memory_that_is_not_given_is_told_of(void **state) {
  fixture *f = *state;
  fake_refuse_in = 1;
  refused(f, &both, HEDDLE_NO_MEMORY, "memory.size", "a kernel needs ");
  fake_refuse_in = 4; /* the 2nd is for the arena, the 3rd for the prototype's text */
  refused(f, &both, HEDDLE_NO_MEMORY, "memory.size", "the driver's log needs ");
  heddle_kernel *kernel = loaded(f);
  heddle_function function;
  fake_refuse_in = 1;
  assert_int_equal(heddle_kernel_function(f->ctx, kernel, &function), HEDDLE_NO_MEMORY);
  said(f, "memory.size", "a typed function");
  fake_refuse_in = 2;
  assert_int_equal(heddle_kernel_function(f->ctx, kernel, &function), HEDDLE_ENVIRONMENT);
  said(f, "kernel.function", "libffi");
  assert_int_equal(heddle_kernel_function(f->ctx, kernel, &function), HEDDLE_OK);
  heddle_kernel_free(kernel);
}

static void loading_needs_a_context(void **state) {
  fixture *f = *state;
  f->fake->current = NULL;
  refused(f, &both, HEDDLE_INVALID, "kernel.context", "heddle_device_use");
}

static void large_clusters_are_allowed_explicitly(void **state) {
  fixture *f = *state;
  f->manifest.variant[0].cluster = f->manifest.variant[0].tile_cluster = 16;
  f->fake->n_sms = 64;
  heddle_kernel *kernel = loaded(f);
  assert_int_equal(f->fake->non_portable, 1);
  heddle_kernel_free(kernel);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      CASE(json_and_cubin_become_a_kernel),
      CASE(code_of_another_kernel_is_refused),
      CASE(a_cubin_that_does_not_fit_falls_to_ptx),
      CASE(a_cubin_that_fails_otherwise_is_not_replaced),
      CASE(bad_code_is_refused_with_the_drivers_words),
      CASE(the_gate_refuses_spills_and_serialised_wgmma),
      CASE(the_gate_reads_remarks_and_no_names),
      CASE(every_failure_of_loading_is_clean),
      CASE(a_launch_hands_over_everything),
      CASE(variants_and_attributes_follow_the_values),
      CASE(what_runs_ahead_is_launched_first),
      CASE(what_runs_behind_is_launched_last),
      CASE(the_launch_path_allocates_syncs_and_loads_nothing),
      CASE(typed_functions_launch),
      CASE(fixed_sizes_leave_the_prototype),
      CASE(workspace_is_asked_without_pointers),
      CASE(arguments_come_by_name),
      CASE(launches_are_refused_in_words),
      CASE(contexts_need_the_kernel_attached),
      CASE(a_kernel_is_in_so_many_contexts),
      CASE(a_workspace_serves_every_device),
      CASE(memory_that_is_not_given_is_told_of),
      CASE(loading_needs_a_context),
      CASE(large_clusters_are_allowed_explicitly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
