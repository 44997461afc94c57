/* heddle/jit.h on the fake driver: which kernels are compiled, when and by which thread, and the
 * state after an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Runtime/loaded_kernel.h"
#include "fake_cuda.h"
#include "heddle/jit.h"

static const char problem[] =
    "module version=1 level=problem sync=none\n"
    "kernel {name = \"jit\", target = \"sm_90a\"} {\n"
    "  %m: i32 = size {dim = m, value = 128}\n  %n: i32 = size {dim = n, max = 65536}\n"
    "  %k: i32 = size {dim = k, value = 256}\n  %a: matrix<bf16> = sparse %m, %k {type = bf16}\n"
    "  %b: matrix<bf16> = dense %k, %n {type = bf16, operand = b, order = k_major}\n"
    "  %x: matrix<f32> = matmul %a, %b {acc = f32}\n"
    "  store %x {type = f32, order = row_major}\n}\n";
/* Three kernels: the third range has the first one's schedule. */
static const char plan[] = "n<=16: tile=64x16; n<=64: tile=64x64; n<=256: tile=64x16; tile=128x64";
enum { KERNELS = 3, RANGES = 4 };

typedef struct fixture {
  fake_cuda *fake;
  heddle_context *ctx;
  heddle_runtime *runtime;
  heddle_module *module;
  heddle_jit_options options;
} fixture;

static fixture *open_fake(void) {
  static int context;
  fixture *f = calloc(1, sizeof *f);
  f->fake = fake_reset(FAKE_CUDA);
  f->fake->current = &context;
  f->ctx = heddle_context_create();
  heddle_runtime_config config = {.driver_path = FAKE_CUDA};
  assert_int_equal(heddle_runtime_create(f->ctx, &config, &f->runtime), HEDDLE_OK);
  assert_int_equal(heddle_module_parse(f->ctx, "x", problem, strlen(problem), &f->module),
                   HEDDLE_OK);
  f->options.compile = (heddle_compile_options){.schedule = plan, .schedule_is_choice = true};
  return f;
}

static void close_fake(fixture *f) {
  assert_int_equal(f->fake->n_live_modules, 0);
  heddle_module_free(f->module);
  heddle_runtime_free(f->runtime);
  heddle_context_free(f->ctx);
  free(f);
}

static heddle_jit *create(fixture *f) {
  heddle_jit *jit = NULL;
  assert_int_equal(heddle_jit_create(f->ctx, f->runtime, f->module, &f->options, &jit), HEDDLE_OK);
  return jit;
}

static void assert_said(const fixture *f, const char *rule) {
  for (size_t i = 0; heddle_context_get(f->ctx, i); i++)
    if (strcmp(heddle_context_get(f->ctx, i)->rule, rule) == 0)
      return;
  fail_msg("no diagnostic of rule %s", rule);
}

/* Passes arguments by name, for n columns. */
static heddle_status launch(fixture *f, heddle_jit *jit, int32_t n) {
  heddle_arg args[32] = {0};
  for (size_t i = 0; i < heddle_jit_arg_count(jit); i++) {
    const char *name = heddle_jit_arg_name(jit, i);
    if (strcmp(name, "n") == 0)
      args[i].i32 = n;
    else if (strcmp(name, "ldb") == 0)
      args[i].i64 = 16384;
    else if (strcmp(name, "ldd") == 0)
      args[i].i64 = 65536;
    else
      args[i].ptr = (const void *)(uintptr_t)(4096 * (i + 1));
  }
  return heddle_jit_launch(f->ctx, jit, args, heddle_jit_arg_count(jit), NULL);
}

static size_t count_ready(const heddle_jit *jit) {
  size_t n = 0;
  for (size_t i = 0; i < heddle_jit_range_count(jit); i++) {
    heddle_jit_range range;
    assert_int_equal(heddle_jit_get_range(jit, i, &range), HEDDLE_OK);
    assert_int_equal(range.is_ready, range.schedule != NULL);
    n += range.is_ready;
  }
  return n;
}

static void lazy_ranges_are_made_when_they_are_asked_for(void **state) {
  (void)state;
  fixture *f = open_fake();
  f->options.lazy = true;
  heddle_jit *jit = create(f);
  assert_int_equal(heddle_jit_range_count(jit), RANGES);
  assert_string_equal(heddle_jit_family(jit), "wgmma");
  assert_int_equal(f->fake->n_loads, 0);
  assert_int_equal(launch(f, jit, 16), HEDDLE_OK);
  assert_int_equal(f->fake->n_loads, 1);
  assert_non_null(strstr(f->fake->launch[0].function, "jit"));
  assert_int_equal(f->fake->launch[0].config.grid_x, 2); /* tiles of 64 x 16 */
  assert_int_equal(launch(f, jit, 9), HEDDLE_OK);
  assert_int_equal(count_ready(jit), 2); /* and the range with the same schedule */
  assert_int_equal(launch(f, jit, 200), HEDDLE_OK);
  assert_int_equal(f->fake->n_loads, 1);
  assert_int_equal(heddle_jit_prepare(f->ctx, jit, (const int64_t[]){0, 65000, 0}), HEDDLE_OK);
  assert_int_equal(f->fake->n_loads, 2);
  assert_int_equal(f->fake->n_launches, 3);
  heddle_jit_range range;
  assert_int_equal(heddle_jit_get_range(jit, RANGES, &range), HEDDLE_INVALID);
  assert_int_equal(heddle_jit_get_range(jit, 3, &range), HEDDLE_OK);
  assert_int_equal(range.to, 0);
  assert_non_null(strstr(range.schedule, "tile=128x64"));
  heddle_jit_free(jit);
  close_fake(f);
}

static void a_captured_launch_compiles_nothing(void **state) {
  (void)state;
  fixture *f = open_fake();
  f->options.lazy = true;
  heddle_jit *jit = create(f);
  f->fake->capturing = true;
  assert_int_equal(launch(f, jit, 16), HEDDLE_INVALID);
  assert_said(f, "jit.capture");
  assert_int_equal(f->fake->n_loads, 0);
  f->fake->capturing = false;
  assert_int_equal(heddle_jit_prepare(f->ctx, jit, (const int64_t[]){0, 16, 0}), HEDDLE_OK);
  f->fake->capturing = true;
  int before = fake_n_allocations;
  assert_int_equal(launch(f, jit, 16), HEDDLE_OK);
  assert_int_equal(fake_n_allocations, before);
  assert_true(f->fake->launch[0].captured);
  heddle_jit_free(jit);
  close_fake(f);
}

static void replace(char text[2048], const char *from, const char *to) {
  char *at = strstr(text, from), rest[2048];
  assert_non_null(at);
  snprintf(rest, sizeof rest, "%s", at + strlen(from));
  snprintf(at, (size_t)(text + 2048 - at), "%s%s", to, rest);
}

/* Replaces the fixture's problem by one of m x k with weights_ready. */
static void promise(fixture *f, const char *m, const char *k) {
  char text[2048];
  snprintf(text, sizeof text, "%s", problem);
  replace(text, "sm_90a\"", "sm_90a\", dependent, weights_ready");
  replace(text, "value = 128", m);
  replace(text, "value = 256", k);
  heddle_module_free(f->module);
  assert_int_equal(heddle_module_parse(f->ctx, "x", text, strlen(text), &f->module), HEDDLE_OK);
  f->fake->n_nodes = 1;
}

static bool is_programmatic(const fixture *f) {
  const fake_launch *l = &f->fake->launch[f->fake->n_launches - 1];
  for (unsigned i = 0; i < l->config.n_attributes; i++)
    if (l->attribute[i].id == HD_CU_PROGRAMMATIC_SERIALIZATION)
      return true;
  return false;
}

static void launches_overlap_where_they_can(void **state) {
  (void)state;
  for (int is_choice = 0; is_choice < 2; is_choice++) {
    fixture *f = open_fake();
    promise(f, "value = 128", "value = 256");
    f->options.lazy = true;
    f->options.compile.schedule_is_choice = is_choice;
    if (!is_choice)
      f->options.compile.schedule = "tile=64x16 stages=4";
    heddle_jit *jit = create(f);
    assert_int_equal(launch(f, jit, 16), HEDDLE_OK);
    assert_int_equal(f->fake->n_loads, 2);
    assert_false(is_programmatic(f)); /* it is not captured */
    f->fake->capturing = true;
    f->fake->n_nodes = 0;
    assert_int_equal(launch(f, jit, 16), HEDDLE_OK);
    assert_false(is_programmatic(f)); /* the first of the graph */
    f->fake->n_nodes = 1;
    assert_int_equal(launch(f, jit, 16), HEDDLE_OK);
    assert_true(is_programmatic(f));
    /* With the same schedule, only a kernel with weights_ready claims its SM. */
    const fake_launch *l = f->fake->launch;
    assert_true(is_choice || l[1].config.shared_bytes < l[2].config.shared_bytes);
    heddle_jit_free(jit);
    close_fake(f);
  }
}

/* Its partial sums would lie where the other kernel has its own. */
static void what_needs_a_workspace_does_not_overlap(void **state) {
  (void)state;
  fixture *f = open_fake();
  promise(f, "value = 4096", "value = 14336");
  f->options.lazy = true;
  for (int32_t named = 0; named < 2; named++) {
    f->options.compile = (heddle_compile_options){
        .schedule = named ? "tile=64x16 split_k=2 reduce=workspace" : NULL};
    heddle_jit *jit = create(f);
    assert_int_equal(heddle_jit_prepare(f->ctx, jit, (const int64_t[]){0, 48, 0}), HEDDLE_OK);
    /* The model's choice is taken without its splits. */
    assert_int_equal(f->fake->n_live_modules, named ? 1 : 2);
    f->fake->capturing = true;
    assert_int_equal(launch(f, jit, 48), HEDDLE_OK);
    assert_int_equal(launch(f, jit, 48), HEDDLE_OK);
    assert_int_equal(is_programmatic(f), !named);
    f->fake->capturing = false;
    heddle_jit_free(jit);
  }
  close_fake(f);
}

static void eager_ranges_are_made_at_once(void **state) {
  (void)state;
  fixture *f = open_fake();
  f->options.n_threads = 4;
  heddle_jit *jit = create(f);
  assert_int_equal(f->fake->n_loads, KERNELS);
  assert_int_equal(count_ready(jit), RANGES);
  assert_int_equal(launch(f, jit, 3000), HEDDLE_OK);
  assert_int_equal(f->fake->n_loads, KERNELS);
  heddle_jit_free(jit);
  close_fake(f);
}

typedef struct asker {
  heddle_jit *jit;
  int32_t index;
  heddle_status status;
} asker;

static void *ask(void *user) {
  asker *a = user;
  const int64_t sizes[] = {16, 64, 200, 5000};
  heddle_context *ctx = heddle_context_create();
  for (int i = 0; i < RANGES && a->status == HEDDLE_OK; i++)
    a->status = heddle_jit_prepare(
        ctx, a->jit, (const int64_t[]){0, sizes[(i + a->index) % RANGES], 0});
  heddle_context_free(ctx);
  return NULL;
}

static void threads_that_ask_at_once_make_one_kernel(void **state) {
  enum { THREADS = 8 };
  (void)state;
  fixture *f = open_fake();
  f->options.lazy = true;
  heddle_jit *jit = create(f);
  pthread_t thread[THREADS];
  asker asked[THREADS];
  for (int i = 0; i < THREADS; i++) {
    asked[i] = (asker){jit, i / 2, HEDDLE_OK};
    assert_int_equal(pthread_create(&thread[i], NULL, ask, &asked[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    assert_int_equal(asked[i].status, HEDDLE_OK);
  }
  assert_int_equal(f->fake->n_loads, KERNELS);
  heddle_jit_free(jit);
  close_fake(f);
}

/* An error of the machine can pass, so the next launch tries again. A spill reported by the
 * driver's compiler is final, after the next best schedules were tried. */
static void errors_of_the_machine_are_tried_again(void **state) {
  (void)state;
  fixture *f = open_fake();
  f->options.lazy = true;
  heddle_jit *jit = create(f);
  f->fake->ptx_result = 719;
  assert_int_equal(launch(f, jit, 16), HEDDLE_ENVIRONMENT);
  f->fake->ptx_result = 0;
  assert_int_equal(launch(f, jit, 16), HEDDLE_OK);
  f->fake->local_bytes = 8;
  int before = f->fake->n_loads;
  assert_int_equal(launch(f, jit, 5000), HEDDLE_UNSUPPORTED);
  assert_said(f, "kernel.gate");
  assert_int_equal(f->fake->n_loads - before, 6); /* the first, 4 next, 1 small schedule */
  f->fake->local_bytes = 0;
  heddle_context_clear(f->ctx);
  assert_int_equal(launch(f, jit, 5000), HEDDLE_UNSUPPORTED);
  assert_said(f, "kernel.gate");
  assert_int_equal(f->fake->n_loads - before, 6);
  heddle_jit_free(jit);
  close_fake(f);
}

static void what_the_driver_spills_gives_way(void **state) {
  (void)state;
  fixture *f = open_fake();
  f->options.lazy = true;
  heddle_jit *jit = create(f);
  heddle_jit_range range;
  f->fake->n_spilling = 2;
  assert_int_equal(launch(f, jit, 5000), HEDDLE_OK);
  assert_said(f, "schedule.spilled");
  assert_int_equal(f->fake->n_loads, 3);
  assert_int_equal(f->fake->n_live_modules, 1);
  assert_int_equal(heddle_jit_get_range(jit, 3, &range), HEDDLE_OK);
  assert_null(strstr(range.schedule, "tile=128x64x"));
  heddle_jit_free(jit);
  /* A schedule that the user has set has no replacement: a spill is an error. */
  f->options.compile.schedule_is_choice = false;
  f->fake->n_loads = 0;
  heddle_context_clear(f->ctx);
  jit = create(f);
  assert_int_equal(launch(f, jit, 5000), HEDDLE_UNSUPPORTED);
  assert_said(f, "kernel.gate");
  assert_int_equal(f->fake->n_loads, 1);
  heddle_jit_free(jit);
  close_fake(f);
}

static void a_failing_range_fails_an_eager_call(void **state) {
  (void)state;
  fixture *f = open_fake();
  heddle_jit *jit = NULL;
  f->options.n_threads = 3;
  f->fake->local_bytes = 8;
  f->options.compile.schedule_is_choice = false;
  assert_int_equal(heddle_jit_create(f->ctx, f->runtime, f->module, &f->options, &jit),
                   HEDDLE_UNSUPPORTED);
  assert_said(f, "kernel.gate");
  assert_null(jit);
  f->fake->current = NULL;
  assert_int_equal(heddle_jit_create(f->ctx, f->runtime, f->module, &f->options, &jit),
                   HEDDLE_INVALID);
  assert_said(f, "jit.context");
  close_fake(f);
}

static void another_context_is_refused(void **state) {
  (void)state;
  static int other;
  fixture *f = open_fake();
  f->options.lazy = true;
  heddle_jit *jit = create(f);
  void *own = f->fake->current;
  f->fake->current = &other;
  assert_int_equal(launch(f, jit, 16), HEDDLE_INVALID);
  assert_said(f, "jit.context");
  f->fake->current = own;
  assert_int_equal(launch(f, jit, 16), HEDDLE_OK);
  heddle_jit_free(jit);
  close_fake(f);
}

static uint64_t workspace(fixture *f, heddle_jit *jit, int32_t columns) {
  heddle_arg args[32] = {0};
  uint64_t n_bytes = 0;
  size_t n = heddle_jit_arg_count(jit);
  for (size_t i = 0; i < n; i++) {
    const char *name = heddle_jit_arg_name(jit, i);
    if (strcmp(name, "n") == 0)
      args[i].i32 = columns;
    else if (strncmp(name, "ld", 2) == 0)
      args[i].i64 = 65536;
  }
  assert_int_equal(heddle_jit_workspace(f->ctx, jit, args, n, &n_bytes), HEDDLE_OK);
  return n_bytes;
}

/* The workspace has slots of the largest range, whichever range is compiled first, so that the
 * counters lie at the same bytes. */
static void ranges_share_a_workspace(void **state) {
  (void)state;
  enum { TILES = 2, SPLITS = 2, SLOT = 128 * 64 * 4 + 8 * 128 };
  fixture *f = open_fake();
  f->options.lazy = true;
  f->options.compile.schedule = "n<=16: tile=64x16 split_k=2; tile=128x64 warps=8x1 split_k=2";
  heddle_jit *jit = create(f);
  assert_int_equal(workspace(f, jit, 16), TILES * SPLITS * SLOT);
  assert_int_equal(workspace(f, jit, 128), TILES * SPLITS * SLOT);
  heddle_jit_free(jit);
  f->options.compile.schedule = "n<=16: tile=64x16 split_k=2; tile=128x64 b=copied";
  assert_int_equal(heddle_jit_create(f->ctx, f->runtime, f->module, &f->options, &jit),
                   HEDDLE_INVALID);
  assert_said(f, "schedule.copied-split");
  close_fake(f);
}

/* The products of a mixture of experts lie in the workspace, which has no counters then. */
static void ranges_may_combine(void **state) {
  (void)state;
  static const char experts[] =
      "module version=1 level=problem sync=none\n"
      "kernel {name = \"experts\", target = \"sm_90a\"} {\n"
      "  %m: i32 = size {dim = m, value = 128}\n  %n: i32 = size {dim = n, max = 4096}\n"
      "  %k: i32 = size {dim = k, value = 256}\n  %g: i32 = size {dim = g, value = 4}\n"
      "  %t: i32 = size {dim = t, max = 2048}\n"
      "  %a: matrix<bf16> = sparse %m, %k {type = bf16}\n"
      "  %b: matrix<bf16> = dense %k, %n {type = bf16, operand = b, order = k_major}\n"
      "  %begin: matrix<s32> = vector {type = s32, operand = offsets}\n"
      "  %sum: matrix<s32> = vector %t {type = s32, operand = combine_d, slots = 2}\n"
      "  %x: matrix<f32> = matmul %a, %b {acc = f32}\n"
      "  store %x {type = bf16, order = col_major}\n}\n";
  fixture *f = open_fake();
  heddle_module_free(f->module);
  assert_int_equal(heddle_module_parse(f->ctx, "x", experts, strlen(experts), &f->module),
                   HEDDLE_OK);
  f->options.compile.schedule = "n<=64: tile=64x16; tile=64x64";
  heddle_jit *jit = create(f);
  heddle_jit_free(jit);
  close_fake(f);
}

/* Ranges with chosen schedules. A smaller size may need a workspace that a larger one does not. */
static void choices_have_ranges_and_workspaces(void **state) {
  (void)state;
  fixture *f = open_fake();
  f->options.lazy = true;
  f->options.compile.schedule = "n<=16: tile=64x16 split_k=2; tile=128x64";
  heddle_jit *jit = create(f);
  heddle_arg args[32] = {0};
  uint64_t n_bytes;
  assert_true(workspace(f, jit, 16) > 0);
  assert_int_equal(workspace(f, jit, 4096), 0);
  assert_int_equal(heddle_jit_workspace(f->ctx, jit, args, 1, &n_bytes), HEDDLE_INVALID);
  heddle_jit_free(jit);
  f->options.compile.schedule = NULL;
  jit = create(f);
  assert_true(heddle_jit_range_count(jit) > 1);
  heddle_jit_free(jit);
  close_fake(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lazy_ranges_are_made_when_they_are_asked_for),
      cmocka_unit_test(a_captured_launch_compiles_nothing),
      cmocka_unit_test(launches_overlap_where_they_can),
      cmocka_unit_test(what_needs_a_workspace_does_not_overlap),
      cmocka_unit_test(eager_ranges_are_made_at_once),
      cmocka_unit_test(threads_that_ask_at_once_make_one_kernel),
      cmocka_unit_test(errors_of_the_machine_are_tried_again),
      cmocka_unit_test(what_the_driver_spills_gives_way),
      cmocka_unit_test(a_failing_range_fails_an_eager_call),
      cmocka_unit_test(another_context_is_refused),
      cmocka_unit_test(choices_have_ranges_and_workspaces),
      cmocka_unit_test(ranges_share_a_workspace),
      cmocka_unit_test(ranges_may_combine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
