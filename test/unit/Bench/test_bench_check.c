/* A benchmark case on a test driver whose kernels return correct or almost correct results. Correct
 * results are timed and verified in full. A single wrong element is found wherever it is. */
#include <dlfcn.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "Reference/reference.h"
#include "Runtime/fake_cuda.h"
#include "Support/convert.h"
#include "Bench/bench.h"
#include "Bench/compile_ahead.h"
#include "Tune/bench_operands.h"
#include "Tune/measure.h"
#include "Bench/whole_check.h"
#include "Tune/workload.h"

enum { M = 512, N = 48, K = 512, SEED = 3, N_ELEMS = M * N };

typedef struct fixture {
  fake_cuda *fake;
  heddle_runtime *runtime;
  hd_device *device;
  hd_peer *cublas;
  hd_bench_host *host;
  uint16_t row_major[N_ELEMS], col_major[N_ELEMS]; /* what every kernel stores, in bf16 */
} fixture;

/* The parameters of the TMA variant are A, the tensor map of B, D, and the pitch of D. */
static void store_d(void *user) {
  fixture *f = user;
  const fake_launch *l = &f->fake->launch[(f->fake->n_launches - 1) % FAKE_MAX_LAUNCHES];
  bool row = strstr(l->function, "_row") != NULL;
  memcpy((void *)(uintptr_t)l->params[2], row ? f->row_major : f->col_major, sizeof f->row_major);
}

static void put(fixture *f, int64_t i, int64_t j, double x) {
  uint16_t bits = (uint16_t)hd_elem_from_double(HEDDLE_BF16, x);
  f->row_major[i * N + j] = f->col_major[j * M + i] = bits;
}

static const hd_bench_problem problem = {
    .elem = HEDDLE_BF16, .d_elem = HEDDLE_BF16, .m = M, .n = N, .k = K};

static void make_right(fixture *f) {
  double *expected = malloc(sizeof *expected * N_ELEMS);
  hd_reference r = {.m = M, .n = N, .k = K, .alpha = 1};
  hd_product product = hd_bench_product(&problem);
  assert_int_equal(hd_bench_host_make(NULL, &product, SEED, 1, f->host), HEDDLE_OK);
  r.a = (hd_matrix){f->host->a, HEDDLE_BF16, K, 1};
  r.b = (hd_matrix){f->host->b, HEDDLE_BF16, 1, K};
  assert_int_equal(hd_reference_rows(NULL, &r, NULL, M, expected), HEDDLE_OK);
  for (int64_t i = 0; i < N_ELEMS; i++)
    put(f, i / N, i % N, expected[i]);
  free(expected);
}

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->fake = fake_reset(FAKE_CUDA);
  f->fake->n_params = 3;
  f->fake->on_launch = store_d;
  f->fake->user = f;
  f->host = hd_bench_host_create();
  make_right(f);
  heddle_runtime_create(NULL, &(heddle_runtime_config){FAKE_CUDA}, &f->runtime);
  assert_int_equal(hd_device_open(NULL, f->runtime, 0, &f->device), HEDDLE_OK);
  assert_int_equal(hd_peer_open(NULL, "cublas", FAKE_CUBLASLT, f->device, &f->cublas), HEDDLE_OK);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  hd_peer_close(f->cublas);
  hd_device_close(f->device);
  heddle_runtime_free(f->runtime);
  hd_bench_host_free(f->host);
  int left = f->fake->n_live_allocations + f->fake->n_live_modules + f->fake->n_live_graphs;
  free(f);
  return left;
}

/* Returns Heddle's first row, measured with cuBLAS or without it. */
static hd_bench_row run(fixture *f, bool peer) {
  static const char *const schedules[] = {"tile=64x48 stages=2"};
  hd_bench_options o = {.schedule = schedules, .n_schedules = 1, .n_jobs = 1, .seed = SEED,
                        .peer = {f->cublas}, .n_peers = peer};
  hd_bench_result result;
  assert_int_equal(hd_bench_run(NULL, f->device, &problem, &o, f->host, &result), HEDDLE_OK);
  assert_int_equal(strncmp(result.row[0].name, "heddle ", 7), 0);
  hd_bench_row row = result.row[0];
  free(result.row);
  return row;
}

static void what_is_right_is_checked_whole(void **state) {
  fixture *f = *state;
  hd_bench_row row = run(f, true);
  assert_true(row.ok && row.whole);
  assert_int_equal(row.n_rounds, 9);
  assert_true(row.timing.median > 0 && row.error > 0 && row.error < row.bound);
  row = run(f, false);
  assert_true(row.ok && !row.whole);
}

static void a_peer_that_is_none_is_refused(void **state) {
  const fixture *f = *state;
  static const char *const cases[][3] = {{"cublas", FAKE_CUDA, "peer.symbol"},
                                         {"cublas", "/nowhere/lib", "peer.library"},
                                         {"curlas", NULL, "peer.name"}};
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    heddle_context *ctx = heddle_context_create();
    hd_peer *peer;
    assert_int_not_equal(hd_peer_open(ctx, cases[i][0], cases[i][1], f->device, &peer), HEDDLE_OK);
    assert_string_equal(heddle_context_get(ctx, 0)->rule, cases[i][2]);
    heddle_context_free(ctx);
  }
}

/* The test cuBLASLt stores nothing in bf16. Its time is kept, and a diagnostic reports the wrong
 * result. */
static void a_peer_that_is_off_is_told_of(void **state) {
  fixture *f = *state;
  static const char *const schedules[] = {"tile=64x48 stages=2"};
  hd_bench_options o = {.schedule = schedules, .n_schedules = 1, .n_jobs = 1, .seed = SEED,
                        .peer = {f->cublas}, .n_peers = 1};
  heddle_context *ctx = heddle_context_create();
  hd_bench_result result;
  assert_int_equal(hd_bench_run(ctx, f->device, &problem, &o, f->host, &result), HEDDLE_OK);
  assert_int_equal(strncmp(result.row[1].name, "cublas ", 7), 0);
  assert_true(result.row[1].ok && result.row[1].whole && result.row[1].timing.median > 0);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "bench.peer");
  heddle_context_free(ctx);
  free(result.row);
}

static void expect_rule(heddle_context *ctx, const char *rule) {
  const heddle_diagnostic *first = heddle_context_get(ctx, 0);
  assert_non_null(first);
  assert_string_equal(first->rule, rule);
  heddle_context_clear(ctx);
}

/* Every failure of a peer has its own rule. The benchmark continues without the peer and reports
 * the reason. */
static void a_peer_that_fails_says_where(void **state) {
  fixture *f = *state;
  const char **fails = dlsym(dlopen(FAKE_CUBLASLT, RTLD_NOW), "fake_cublaslt_fails");
  heddle_context *ctx = heddle_context_create();
  hd_peer *peer, *stream;
  hd_buffer set[] = {{0}};
  hd_rotation one = {.set = set, .n_sets = 1};
  hd_bench_case c = {.m = 64, .n = 8, .k = 64, .elem = HEDDLE_BF16, .d_elem = HEDDLE_BF16,
                     .a_dense = &one, .b = &one, .d = &one, .n_sets = 1};
  const hd_contender *list;
  int32_t n;
  bool row_major;
  *fails = "create";
  assert_int_equal(hd_peer_open(ctx, "cublas", FAKE_CUBLASLT, f->device, &peer),
                   HEDDLE_ENVIRONMENT);
  expect_rule(ctx, "peer.open");
  *fails = "desc";
  assert_int_equal(hd_peer_prepare(ctx, f->cublas, &c, &list, &n, NULL), HEDDLE_UNSUPPORTED);
  expect_rule(ctx, "peer.case");
  *fails = "matmul";
  assert_int_equal(hd_peer_product(ctx, f->cublas, &c, 0, &row_major), HEDDLE_UNSUPPORTED);
  expect_rule(ctx, "peer.product");
  assert_int_equal(hd_peer_prepare(ctx, f->cublas, &c, &list, &n, NULL), HEDDLE_OK);
  assert_int_equal(list[0].launch(ctx, list[0].user, 0, NULL), HEDDLE_ENVIRONMENT);
  expect_rule(ctx, "peer.launch");
  static const char *const schedules[] = {"tile=64x48 stages=2"};
  hd_bench_options o = {.schedule = schedules, .n_schedules = 1, .n_jobs = 1, .seed = SEED,
                        .peer = {f->cublas}, .n_peers = 1};
  hd_bench_result result;
  assert_int_equal(hd_bench_run(ctx, f->device, &problem, &o, f->host, &result), HEDDLE_OK);
  assert_string_equal(heddle_context_get(ctx, 0)->text, "cublasLtMatmul: status 13");
  expect_rule(ctx, "bench.peer");
  free(result.row);
  *fails = NULL;
  assert_int_equal(hd_peer_open(ctx, "stream", NULL, f->device, &stream), HEDDLE_OK);
  assert_int_equal(hd_peer_product(ctx, stream, &c, 0, &row_major), HEDDLE_UNSUPPORTED);
  expect_rule(ctx, "peer.product");
  hd_peer_close(stream);
  heddle_context_free(ctx);
}

/* A is allocated. Then one allocation fails in each iteration: that of B, of the expected rows, or
 * of the buffers used to compute them. */
static void operands_that_memory_lacks_are_told_of(void **state) {
  fixture *f = *state;
  heddle_context *ctx = heddle_context_create();
  hd_product product = hd_bench_product(&problem);
  static const char *const rules[] = {"memory.size", "memory.size", "memory.size",
                                      "bench.operands", "bench.operands"};
  for (int i = 0; i < 5; i++) {
    fake_refuse_in = i + 1;
    assert_int_equal(hd_bench_host_make(ctx, &product, SEED, 1, f->host), HEDDLE_NO_MEMORY);
    expect_rule(ctx, rules[i]);
  }
  heddle_context_free(ctx);
}

static int64_t unsampled_row(const fixture *f) {
  int64_t i = 0;
  for (size_t s = 0; s < f->host->n_checked; s++)
    i += (uint64_t)i == f->host->checked[s];
  return i;
}

static void one_wrong_element_is_found(void **state) {
  fixture *f = *state;
  int64_t i = unsampled_row(f);
  put(f, i, N - 1, 1e4);
  assert_true(run(f, false).ok); /* the sampled rows do not include it */
  hd_bench_row row = run(f, true);
  assert_true(!row.ok && row.whole && row.n_rounds == 9);
}

static void two_exchanged_rows_are_found(void **state) {
  fixture *f = *state;
  int64_t i = unsampled_row(f);
  for (int64_t j = 0; j < N; j++)
    put(f, i, j, hd_elem_to_double(HEDDLE_BF16, f->row_major[(M / 2 + 1) * N + j]));
  assert_false(run(f, true).ok);
}

static void a_type_without_a_way_is_said_to_be(void **state) {
  fixture *f = *state;
  hd_whole whole = {0};
  hd_rotation none = {0};
  hd_bench_case c = {.m = 64, .n = 8, .k = 64, .elem = HEDDLE_F16, .d_elem = HEDDLE_F16,
                     .a_dense = &none, .b = &none, .d = &none};
  assert_int_equal(hd_whole_make(NULL, f->device, f->cublas, &c, &whole), HEDDLE_UNSUPPORTED);
  assert_null(whole.data);
}

/* The steps of the tuner's measuring process for one candidate. */
static void the_tuner_times_what_is_right(void **state) {
  fixture *f = *state;
  hd_product p = hd_bench_product(&problem);
  strcpy(p.target, "sm_90a");
  heddle_compile_options o = {.schedule = "tile=64x48 stages=2"};
  hd_workload *w;
  hd_candidate c = {0};
  double error;
  hd_alone alone = {0};
  assert_int_equal(hd_workload_open(NULL, f->device, &p, f->host, &w), HEDDLE_OK);
  memcpy(f->col_major, f->row_major, sizeof f->col_major); /* the kernel's name has no order */
  assert_int_equal(hd_candidate_load(NULL, w, &o, &c), HEDDLE_OK);
  assert_int_equal(hd_candidate_verify(NULL, &c, &error), HEDDLE_OK);
  hd_contender contender = hd_candidate_contender(&c);
  assert_int_equal(hd_measure_sustained(NULL, f->device, &contender, hd_workload_n_sets(w), 0.01,
                                        0.02, NULL, &alone), HEDDLE_OK);
  assert_true(alone.sustained > 0 && alone.burst == 0);
  f->col_major[(size_t)f->host->checked[0] * N] = 0x7fc0; /* NaN */
  assert_int_equal(hd_candidate_verify(NULL, &c, &error), HEDDLE_MISMATCH);
  hd_candidate_free(&c);
  hd_workload_close(w);
}

/* On this driver's clock every launch takes the same time. */
static void rounds_that_agree_are_enough(void **state) {
  fixture *f = *state;
  static const char *const schedules[] = {"tile=64x48 stages=2"};
  hd_bench_options o = {.schedule = schedules, .n_schedules = 1, .n_jobs = 1, .seed = SEED,
                        .order = HD_BENCH_ROW};
  int n_launches[2];
  for (int i = 0; i < 2; i++) {
    hd_bench_result result;
    o.enough = i ? 0.005 : 0;
    f->fake->n_launches = 0;
    assert_int_equal(hd_bench_run(NULL, f->device, &problem, &o, f->host, &result), HEDDLE_OK);
    assert_true(result.row[0].timing.median > 0);
    n_launches[i] = f->fake->n_launches;
    free(result.row);
  }
  assert_true(n_launches[1] < n_launches[0]);
}

/* The clock of a device falls during the rounds: of two contenders each begins as many. */
static void each_contender_begins_as_many_rounds(void **state) {
  fixture *f = *state;
  static const char *const schedules[] = {"tile=64x48 stages=2", "tile=64x48 stages=3"};
  hd_bench_options o = {.schedule = schedules, .n_schedules = 2, .n_jobs = 1, .seed = SEED,
                        .order = HD_BENCH_ROW, .enough = 0.005};
  hd_bench_result result;
  int32_t n = 0;
  assert_int_equal(hd_bench_run(NULL, f->device, &problem, &o, f->host, &result), HEDDLE_OK);
  assert_int_equal(result.n_rows, 2);
  for (int32_t i = 0; i < result.row[0].n_rounds; i++)
    n += result.row[0].round[i] > 0;
  assert_int_equal(n, 6); /* five of nine would do if that were balanced */
  free(result.row);
  for (int64_t i = 1; i <= 8192; i *= 2)
    assert_int_equal(hd_rounds_long(i).n_rounds % 4, 0);
}

static int n_files;

static int count_file(const char *path, const struct stat *s, int type, struct FTW *at) {
  (void)s, (void)at;
  n_files += type == FTW_F;
  return remove(path);
}

/* Two sizes of one product: one kernel for each size, and one kernel for all sizes, cached once. */
static void kernels_of_cases_to_come_are_cached(void **state) {
  (void)state;
  char cache[] = "/tmp/heddle-ahead-XXXXXX";
  hd_bench_problem list[] = {problem, problem};
  hd_bench_options o = {.n_jobs = 2, .dynamic = true, .order = HD_BENCH_COL};
  hd_compile_ahead *ahead;
  list[1].n = 16;
  assert_int_equal(hd_compile_ahead_start(NULL, list, 2, &o, "sm_90a", &ahead), HEDDLE_OK);
  assert_null(ahead);
  o.cache = mkdtemp(cache);
  assert_int_equal(hd_compile_ahead_start(NULL, list, 2, &o, "sm_90a", &ahead), HEDDLE_OK);
  hd_compile_ahead_wait(ahead);
  hd_compile_ahead_stop(ahead);
  n_files = 0;
  nftw(cache, count_file, 8, FTW_DEPTH | FTW_PHYS);
  assert_int_equal(n_files, 3);
}

/* Compares the bands of a large D and of a narrow one. Integers must match exactly. */
static void every_band_is_compared(void **state) {
  (void)state;
  enum { ROWS = 3000, COLS = 70 };
  int32_t *right = malloc(sizeof *right * ROWS * COLS), *d = malloc(sizeof *d * ROWS * COLS);
  for (int64_t i = 0; i < ROWS * COLS; i++)
    right[i] = d[i / COLS + i % COLS * ROWS] =
        (int32_t)((uint32_t)(i * 2654435761u) >> 8) - (1 << 23);
  hd_whole whole = {.data = right, .integer = true, .row_major = true, .m = ROWS, .n = COLS};
  hd_matrix m = {d, HEDDLE_S32, 1, ROWS};
  hd_comparison c = hd_whole_compare(&whole, &m, 0, 3);
  assert_true(c.ok && c.n_compared == ROWS * COLS);
  static const int64_t at[] = {0, 1, ROWS - 1, ROWS * COLS - 1};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    d[at[i]]++;
    c = hd_whole_compare(&whole, &m, 0, 3);
    assert_true(!c.ok && c.n_wrong == 1);
    assert_int_equal(c.row, at[i] % ROWS);
    assert_int_equal(c.col, at[i] / ROWS);
    d[at[i]]--;
  }
  d[0]++;
  d[ROWS * COLS - 1]++;
  c = hd_whole_compare(&whole, &m, 0, 3);
  assert_true(!c.ok && c.n_wrong == 2);
  hd_whole_free(&whole);
  free(d);
}

/* Each kernel would fill in `cluster` for its own N: 1 for N = 48, 2 for an N known at launch. */
static void both_kernels_have_the_schedule(void **state) {
  (void)state;
  static const char *const schedules[] = {"tile=64x48x64 warps=4x1 stages=18"};
  hd_bench_problem wide = {
      .elem = HEDDLE_BF16, .d_elem = HEDDLE_BF16, .m = 5120, .n = N, .k = 5120};
  hd_bench_options o = {
      .schedule = schedules, .n_schedules = 1, .dynamic = true, .order = HD_BENCH_ROW};
  hd_bench_way *way;
  int32_t n;
  assert_int_equal(hd_bench_ways(NULL, &wide, &o, "sm_90a", &way, &n), HEDDLE_OK);
  assert_int_equal(n, 2);
  assert_true(!way[0].dynamic && way[1].dynamic);
  assert_non_null(strstr(way[0].schedule, "cluster=1"));
  assert_string_equal(way[1].schedule, way[0].schedule);
  hd_bench_ways_free(way, n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_is_right_is_checked_whole, setup, teardown),
      cmocka_unit_test_setup_teardown(a_peer_that_is_none_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(a_peer_that_is_off_is_told_of, setup, teardown),
      cmocka_unit_test_setup_teardown(a_peer_that_fails_says_where, setup, teardown),
      cmocka_unit_test_setup_teardown(operands_that_memory_lacks_are_told_of, setup, teardown),
      cmocka_unit_test_setup_teardown(one_wrong_element_is_found, setup, teardown),
      cmocka_unit_test_setup_teardown(two_exchanged_rows_are_found, setup, teardown),
      cmocka_unit_test_setup_teardown(a_type_without_a_way_is_said_to_be, setup, teardown),
      cmocka_unit_test_setup_teardown(the_tuner_times_what_is_right, setup, teardown),
      cmocka_unit_test_setup_teardown(rounds_that_agree_are_enough, setup, teardown),
      cmocka_unit_test_setup_teardown(each_contender_begins_as_many_rounds, setup, teardown),
      cmocka_unit_test(kernels_of_cases_to_come_are_cached),
      cmocka_unit_test(every_band_is_compared),
      cmocka_unit_test(both_kernels_have_the_schedule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
