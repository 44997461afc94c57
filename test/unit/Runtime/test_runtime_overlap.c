/* Which of two kernels a launch takes, on the fake driver: heddle_kernel_set_overlapping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "Runtime/loaded_kernel.h"
#include "Support/arena.h"
#include "fake_cuda.h"
#include "sample_manifest.h"

typedef struct fixture {
  fake_cuda *fake;
  heddle_context *ctx;
  heddle_runtime *runtime;
  heddle_kernel *kernel, *overlapping; /* of one product; not a pair yet */
  heddle_arg args[14];
} fixture;

static const heddle_image image = {NULL, 0, ".version 8.6 and more", 12};

/* The sample without its workspace. */
static hd_manifest early_manifest(void) {
  hd_manifest m = sample_manifest();
  m.name = "early";
  m.variant[0].entry = "early_tma";
  m.variant[0].n_params--;
  m.n_variants = 1;
  m.n_args--;
  return m;
}

static heddle_kernel *loaded(fixture *f, const hd_manifest *manifest) {
  heddle_kernel *kernel = NULL;
  assert_int_equal(hd_kernel_load(f->ctx, f->runtime, manifest, &image, true, &kernel), HEDDLE_OK);
  return kernel;
}

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->fake = fake_reset(FAKE_CUDA);
  f->fake->n_params = 13;
  f->fake->n_nodes = 1;
  f->ctx = heddle_context_create();
  *state = f;
  if (heddle_runtime_create(f->ctx, &(heddle_runtime_config){FAKE_CUDA}, &f->runtime) ||
      heddle_device_use(f->ctx, f->runtime, 0))
    return -1;
  hd_manifest sample = sample_manifest(), early = early_manifest();
  hd_values v = sample_values();
  f->kernel = loaded(f, &sample);
  f->overlapping = loaded(f, &early);
  for (int i = 0; i < 14; i++) {
    f->args[i].i64 = (int64_t)v.v[f->kernel->passed[i]];
    if (hd_arg_class_of(f->kernel->passed[i]) == HEDDLE_CLASS_F32)
      f->args[i].f32 = 0.25f;
  }
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  heddle_kernel_free(f->kernel);
  heddle_kernel_free(f->overlapping);
  int left = f->fake->n_live_modules;
  heddle_context_free(f->ctx);
  heddle_runtime_free(f->runtime);
  free(f);
  return left;
}

static void join(fixture *f) {
  assert_int_equal(heddle_kernel_set_overlapping(f->ctx, f->kernel, f->overlapping), HEDDLE_OK);
  f->overlapping = NULL;
}

/* The entry that a launch takes, and whether it is programmatic. */
static const char *launches(fixture *f, bool *programmatic) {
  assert_int_equal(heddle_kernel_launch(f->ctx, f->kernel, f->args, 14, NULL), HEDDLE_OK);
  const fake_launch *l = &f->fake->launch[f->fake->n_launches - 1];
  *programmatic = false;
  for (unsigned i = 0; i < l->config.n_attributes; i++)
    *programmatic |= l->attribute[i].id == HD_CU_PROGRAMMATIC_SERIALIZATION;
  return l->function;
}

static void is_ordinary(fixture *f) {
  bool programmatic;
  assert_string_equal(launches(f, &programmatic), "sample_tma");
  assert_false(programmatic);
}

static void overlaps(fixture *f) {
  bool programmatic;
  assert_string_equal(launches(f, &programmatic), "early_tma");
  assert_true(programmatic);
}

static void alone_a_kernel_is_as_it_was(void **state) {
  fixture *f = *state;
  bool programmatic;
  f->fake->capturing = true;
  for (int i = 0; i < 2; i++) {
    assert_string_equal(launches(f, &programmatic), "sample_tma");
    assert_true(programmatic);
  }
}

static void without_another_all_launches_are_ordinary(void **state) {
  fixture *f = *state;
  assert_int_equal(heddle_kernel_set_overlapping(f->ctx, f->kernel, NULL), HEDDLE_OK);
  f->fake->capturing = true;
  is_ordinary(f);
  is_ordinary(f);
}

static void it_overlaps_behind_a_kernel_of_heddles(void **state) {
  fixture *f = *state;
  join(f);
  f->fake->capturing = true;
  is_ordinary(f); /* the first of the graph */
  overlaps(f);    /* behind the ordinary one, which triggers early as well */
  overlaps(f);
  f->fake->capturing = false;
  is_ordinary(f); /* the last kernel of a stream that is not captured is unknown */
}

/* What hd_follows_early cannot be sure of. */
static void elsewhere_it_does_not(void **state) {
  fixture *f = *state;
  join(f);
  f->fake->capturing = true;
  is_ordinary(f);
  f->fake->n_nodes = 2;
  is_ordinary(f);
  f->fake->n_nodes = 1;
  f->fake->node_type = 2; /* a memset */
  is_ordinary(f);
  f->fake->node_type = HD_CU_KERNEL_NODE;
  static const char *const queries[] = {"cuStreamGetCaptureInfo_v2", "cuGraphNodeGetType",
                                        "cuGraphKernelNodeGetParams_v2"};
  for (size_t i = 0; i < HD_COUNT(queries); i++) {
    f->fake->fail = queries[i];
    f->fake->fail_result = 901;
    is_ordinary(f);
  }
  f->fake->fail = NULL;
  overlaps(f);
}

static void a_foreign_kernel_has_to_be_named(void **state) {
  fixture *f = *state;
  static const char foreign[] = "foreign";
  join(f);
  f->fake->capturing = true;
  is_ordinary(f);
  f->fake->launch[0].function = foreign;
  is_ordinary(f);
  f->fake->launch[1].function = foreign;
  void *function = (void *)(uintptr_t)foreign;
  for (int i = 0; i < 2; i++) /* twice is once */
    assert_int_equal(heddle_runtime_add_early(f->ctx, f->runtime, function), HEDDLE_OK);
  overlaps(f);
  assert_int_equal(heddle_runtime_add_early(f->ctx, f->runtime, NULL), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(f->ctx, 0)->rule, "runtime.early");
}

/* A size that only the other kernel takes. */
static void what_it_refuses_is_launched_ordinarily(void **state) {
  fixture *f = *state;
  hd_manifest narrow = early_manifest();
  narrow.arg[6].max = 64; /* n is 128 */
  heddle_kernel_free(f->overlapping);
  f->overlapping = loaded(f, &narrow);
  join(f);
  f->fake->capturing = true;
  is_ordinary(f);
  is_ordinary(f);
  assert_int_equal(heddle_context_count(f->ctx), 0);
  f->args[6].i32 = 64;
  overlaps(f);
}

/* The driver may give the handle of a freed function to another one. */
static void freed_functions_are_forgotten(void **state) {
  fixture *f = *state;
  hd_manifest before = early_manifest();
  before.variant[0].entry = "before_tma";
  heddle_kernel *kernel = loaded(f, &before);
  join(f);
  f->fake->capturing = true;
  assert_int_equal(heddle_kernel_launch(f->ctx, kernel, f->args, 13, NULL), HEDDLE_OK);
  overlaps(f);
  f->fake->n_launches--;
  heddle_kernel_free(kernel);
  is_ordinary(f);
}

static void the_launch_allocates_nothing(void **state) {
  fixture *f = *state;
  join(f);
  f->fake->capturing = true;
  int before = fake_n_allocations;
  for (int i = 0; i < 5; i++)
    assert_int_equal(heddle_kernel_launch(f->ctx, f->kernel, f->args, 14, NULL), HEDDLE_OK);
  assert_int_equal(fake_n_allocations, before);
}

static void both_are_attached_to_another_device(void **state) {
  fixture *f = *state;
  join(f);
  assert_int_equal(heddle_device_use(f->ctx, f->runtime, 1), HEDDLE_OK);
  assert_int_equal(heddle_kernel_attach(f->ctx, f->kernel), HEDDLE_OK);
  assert_int_equal(f->fake->n_live_modules, 4);
  f->fake->capturing = true;
  is_ordinary(f);
  overlaps(f);
}

static void refused(fixture *f, heddle_kernel *overlapping, const char *text) {
  assert_int_equal(heddle_kernel_set_overlapping(f->ctx, f->kernel, overlapping), HEDDLE_INVALID);
  const heddle_diagnostic *d = heddle_context_get(f->ctx, heddle_context_count(f->ctx) - 1);
  assert_string_equal(d->rule, "kernel.overlapping");
  if (!strstr(d->text, text))
    fail_msg("expected \"%s\" in \"%s\"", text, d->text);
}

static void refused_manifest(fixture *f, const hd_manifest *manifest, const char *text) {
  heddle_kernel *kernel = loaded(f, manifest);
  refused(f, kernel, text);
  heddle_kernel_free(kernel);
}

static void what_is_no_pair_is_refused(void **state) {
  fixture *f = *state;
  hd_manifest m = early_manifest();
  refused(f, f->kernel, "got the same kernel");
  m.variant[0].dependent_launch = m.variant[0].weights_ready = false;
  refused_manifest(f, &m, "compiled with dependent");
  m = sample_manifest();
  refused_manifest(f, &m, "needs a workspace");
  m = early_manifest();
  m.act = "relu";
  m.user_function = NULL;
  refused_manifest(f, &m, "is not the product of kernel sample");
  m = early_manifest();
  m.d_elem = HEDDLE_F16;
  refused_manifest(f, &m, "is not the product of kernel sample");
  m = early_manifest();
  m.d_col_major = true;
  refused_manifest(f, &m, "is not the product of kernel sample");
  m = early_manifest();
  m.arg[6].fixed = 128; /* n */
  refused_manifest(f, &m, "is not the product of kernel sample");
  assert_int_equal(heddle_device_use(f->ctx, f->runtime, 1), HEDDLE_OK);
  assert_int_equal(heddle_kernel_attach(f->ctx, f->kernel), HEDDLE_OK);
  refused(f, f->overlapping, "heddle_kernel_attach");
  assert_int_equal(heddle_kernel_attach(f->ctx, f->overlapping), HEDDLE_OK);
  join(f);
  m = early_manifest();
  refused_manifest(f, &m, "got a second one");
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      CASE(alone_a_kernel_is_as_it_was),
      CASE(without_another_all_launches_are_ordinary),
      CASE(it_overlaps_behind_a_kernel_of_heddles),
      CASE(elsewhere_it_does_not),
      CASE(a_foreign_kernel_has_to_be_named),
      CASE(what_it_refuses_is_launched_ordinarily),
      CASE(freed_functions_are_forgotten),
      CASE(the_launch_allocates_nothing),
      CASE(both_are_attached_to_another_device),
      CASE(what_is_no_pair_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
