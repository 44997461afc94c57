/* heddle_simulate: a problem built in C, compiled and run without a GPU, gives the correct result.
 * Errors of a launch or of a kernel are reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "Kernel/manifest.h"
#include "heddle/compile.h"
#include "heddle/simulate.h"
#include "heddle/sparse.h"

enum { M = 100, N = 40, K = 256, LDD = 48 }; /* f16, small integers: exact in any order */

typedef struct fixture {
  heddle_context *ctx;
  heddle_compiled *compiled;
  uint16_t a[M][K], b[N][K];
  float d[M][LDD];
  void *packed;
  heddle_arg args[8];
  size_t arg_bytes[8], n_args;
} fixture;

static const uint16_t bits[] = {0xbc00, 0, 0x3c00}; /* -1, 0, 1 */

static float value(uint16_t x) { return x == bits[0] ? -1 : x == bits[2]; }

static void compile(fixture *f, const char *target, const char *schedule) {
  heddle_problem *p = heddle_problem_create("twice", target);
  heddle_module *module = NULL;
  heddle_problem_set_size(p, HEDDLE_DIM_M, M);
  heddle_problem_set_dynamic(p, HEDDLE_DIM_N, 1024, 1);
  heddle_problem_set_size(p, HEDDLE_DIM_K, K);
  heddle_problem_set_a(p, HEDDLE_F16);
  heddle_problem_set_b(p, HEDDLE_F16, HEDDLE_K_MAJOR, K, 0);
  heddle_problem_set_d(p, HEDDLE_F32, HEDDLE_ROW_MAJOR, 0, 0);
  heddle_problem_set_scalars(p, true, false);
  heddle_problem_set_schedule(p, schedule);
  assert_int_equal(heddle_problem_build(f->ctx, p, &module), HEDDLE_OK);
  assert_int_equal(heddle_compile_module(f->ctx, module, NULL, &f->compiled), HEDDLE_OK);
  heddle_module_free(module);
  heddle_problem_free(p);
}

static void make_operands(fixture *f, heddle_family family) {
  size_t n_bytes;
  srand(1);
  for (int i = 0; i < M * K; i++)
    f->a[i / K][i % K] = bits[rand() % 3];
  for (int i = 0; i < N * K; i++)
    f->b[i / K][i % K] = bits[rand() % 3];
  assert_int_equal(heddle_sparse_prune(f->ctx, HEDDLE_F16, M, K, f->a, sizeof f->a[0]), HEDDLE_OK);
  assert_int_equal(heddle_sparse_packed_bytes(f->ctx, HEDDLE_F16, family, M, K, &n_bytes),
                   HEDDLE_OK);
  f->packed = malloc(n_bytes);
  assert_int_equal(heddle_sparse_pack_dense(f->ctx, HEDDLE_F16, family, M, K, f->a,
                                            sizeof f->a[0], f->packed), HEDDLE_OK);
  const heddle_arg args[] = {{f->packed}, {f->b}, {f->d}, {.i32 = N}, {.i64 = LDD}, {.f32 = 2}};
  const size_t arg_bytes[] = {n_bytes, sizeof f->b, sizeof f->d, 0, 0, 0};
  f->n_args = sizeof args / sizeof *args;
  memcpy(f->args, args, sizeof args);
  memcpy(f->arg_bytes, arg_bytes, sizeof arg_bytes);
}

static fixture *make(const char *target, const char *schedule, heddle_family family) {
  fixture *f = calloc(1, sizeof *f);
  f->ctx = heddle_context_create();
  compile(f, target, schedule);
  make_operands(f, family);
  return f;
}

static void drop(fixture *f) {
  heddle_compiled_free(f->compiled);
  heddle_context_free(f->ctx);
  free(f->packed);
  free(f);
}

static heddle_simulation simulation_of(const fixture *f) {
  heddle_simulation s = {.args = f->args, .arg_bytes = f->arg_bytes, .n_args = f->n_args};
  s.manifest = heddle_compiled_manifest(f->compiled, &s.manifest_bytes);
  s.ptx = heddle_compiled_ptx(f->compiled, &s.ptx_bytes);
  return s;
}

static int count_wrong(const fixture *f) {
  int wrong = 0, n = f->args[3].i32;
  for (int i = 0; i < M * LDD; i++) {
    int row = i / LDD, col = i % LDD;
    float sum = 0;
    for (int k = 0; col < n && k < K; k++)
      sum += value(f->a[row][k]) * value(f->b[col][k]);
    wrong += f->d[row][col] != (col < n ? 2 * sum : -7);
  }
  return wrong;
}

static void simulates(fixture *f) {
  for (int order = HEDDLE_SIM_LATE; order <= HEDDLE_SIM_RANDOM; order++) {
    heddle_simulation s = simulation_of(f);
    s.order = (heddle_sim_order)order;
    for (int i = 0; i < M * LDD; i++)
      f->d[i / LDD][i % LDD] = -7;
    assert_int_equal(heddle_simulate(f->ctx, &s), HEDDLE_OK);
    assert_int_equal(count_wrong(f), 0);
  }
}

static void a_kernel_runs_right_in_every_order(void **state) {
  (void)state;
  fixture *f = make("sm_80", "", HEDDLE_FAMILY_MMA);
  simulates(f);
  drop(f);
}

/* With split-k, heddle_simulate allocates the workspace. */
static void so_does_one_with_a_workspace(void **state) {
  (void)state;
  fixture *f = make("sm_90a", "tile=64x40 split_k=2 reduce=workspace", HEDDLE_FAMILY_WGMMA);
  f->args[f->n_args++] = (heddle_arg){NULL};
  simulates(f);
  heddle_simulation s = simulation_of(f);
  f->args[f->n_args - 1].ptr = f->d;
  f->arg_bytes[f->n_args - 1] = sizeof f->d[0];
  assert_int_equal(heddle_simulate(f->ctx, &s), HEDDLE_INVALID);
  assert_string_equal(heddle_context_get(f->ctx, 0)->rule, "simulate.workspace");
  drop(f);
}

/* Launches all buckets, one after the other, with one workspace that is zeroed once. */
static void buckets_share_a_workspace(void **state) {
  (void)state;
  static const char *const plans[] = {
      "n<=16: tile=64x16 split_k=2 reduce=workspace; tile=64x40 split_k=2 reduce=workspace",
      "n<=16: tile=128x16 stream_k=1; n<=32: tile=64x32 split_k=3 reduce=workspace; "
      "tile=64x64 split_k=2 reduce=workspace cluster=2"};
  static const int32_t columns[] = {40, 16, 40, 24, 1, 33};
  enum { WORKSPACE_BYTES = 8 << 20 };
  for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
    fixture *f = make("sm_90a", plans[p], HEDDLE_FAMILY_WGMMA);
    void *workspace = calloc(1, WORKSPACE_BYTES);
    f->arg_bytes[f->n_args] = WORKSPACE_BYTES;
    f->args[f->n_args++] = (heddle_arg){workspace};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
      f->args[3].i32 = columns[i];
      simulates(f);
    }
    free(workspace);
    drop(f);
  }
}

static void refused(fixture *f, const heddle_simulation *s, heddle_status status,
                    const char *rule) {
  heddle_context_clear(f->ctx);
  assert_int_equal(heddle_simulate(f->ctx, s), status);
  assert_string_equal(heddle_context_get(f->ctx, 0)->rule, rule);
}

static void a_wrong_launch_is_told(void **state) {
  (void)state;
  fixture *f = make("sm_80", "", HEDDLE_FAMILY_MMA);
  heddle_simulation s = simulation_of(f);
  s.n_args--;
  refused(f, &s, HEDDLE_INVALID, "launch.args");
  assert_non_null(strstr(heddle_context_get(f->ctx, 0)->text, "a, b, d, n, ldd, alpha"));
  s = simulation_of(f);
  s.arg_bytes = NULL;
  refused(f, &s, HEDDLE_INVALID, "simulate.args");
  s = simulation_of(f);
  s.order = (heddle_sim_order)3;
  refused(f, &s, HEDDLE_INVALID, "simulate.order");
  s = simulation_of(f);
  s.manifest_bytes /= 2;
  refused(f, &s, HEDDLE_INVALID, "manifest.json");
  s = simulation_of(f);
  f->args[1].ptr = NULL;
  refused(f, &s, HEDDLE_INVALID, "launch.null");
  f->args[1].ptr = f->b;
  f->arg_bytes[1] -= 2; /* removes the last element of B */
  refused(f, &s, HEDDLE_MISMATCH, "bounds");
  assert_true(heddle_context_get(f->ctx, 0)->line > 1);
  drop(f);
}

static void a_missing_wait_is_found(void **state) {
  (void)state;
  fixture *f = make("sm_80", "", HEDDLE_FAMILY_MMA);
  heddle_simulation s = simulation_of(f);
  char *ptx = malloc(s.ptx_bytes + 1), *wait = ptx;
  memcpy(ptx, s.ptx, s.ptx_bytes);
  ptx[s.ptx_bytes] = '\0';
  while ((wait = strstr(wait, "cp.async.wait_group")))
    memcpy(wait, "//", 2);
  s.ptx = ptx;
  refused(f, &s, HEDDLE_INVALID, "manifest.code"); /* not the code of the manifest any more */
  hd_arena arena = {0};
  hd_manifest manifest;
  char *json = NULL;
  assert_int_equal(hd_manifest_read(NULL, s.manifest, s.manifest_bytes, &arena, &manifest),
                   HEDDLE_OK);
  hd_manifest_name_code(&manifest, &(heddle_image){.ptx = ptx, .ptx_bytes = s.ptx_bytes});
  assert_int_equal(hd_manifest_write(NULL, &manifest, &json), HEDDLE_OK);
  s.manifest = json;
  s.manifest_bytes = strlen(json);
  assert_int_equal(heddle_simulate(f->ctx, &s), HEDDLE_MISMATCH);
  hd_arena_free(&arena);
  free(json);
  free(ptx);
  drop(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kernel_runs_right_in_every_order),
      cmocka_unit_test(so_does_one_with_a_workspace),
      cmocka_unit_test(buckets_share_a_workspace),
      cmocka_unit_test(a_wrong_launch_is_told),
      cmocka_unit_test(a_missing_wait_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
