/* heddle/schedule.h: the model's prediction for a schedule, and which schedules are legal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "Passes/front.h"
#include "Support/diag.h"
#include "heddle/ir.h"
#include "heddle/schedule.h"

static const char text_8192[] =
    "module version=1 level=problem sync=none\n"
    "kernel {name = \"k\", target = \"sm_90a\"} {\n"
    "  %m: i32 = size {dim = m, value = 4096}\n"
    "  %n: i32 = size {dim = n, max = 8192}\n"
    "  %k: i32 = size {dim = k, value = 4096}\n"
    "  %a: matrix<bf16> = sparse %m, %k {type = bf16}\n"
    "  %b: matrix<bf16> = dense %k, %n {type = bf16, operand = b, order = k_major}\n"
    "  %x: matrix<f32> = matmul %a, %b {acc = f32}\n"
    "  store %x {type = bf16, order = row_major}\n"
    "}\n";

typedef struct fixture {
  heddle_context *ctx;
  heddle_module *module;
} fixture;

static int setup(void **state) {
  static fixture f;
  f.ctx = heddle_context_create();
  *state = &f;
  return heddle_module_parse(f.ctx, NULL, text_8192, strlen(text_8192), &f.module) != HEDDLE_OK;
}

static int teardown(void **state) {
  const fixture *f = *state;
  heddle_module_free(f->module);
  heddle_context_free(f->ctx);
  return 0;
}

static heddle_prediction predict(const fixture *f, const char *schedule, int64_t n) {
  heddle_prediction p = {0};
  const int64_t size[3] = {0, n, 0};
  assert_int_equal(heddle_schedule_predict(f->ctx, f->module, NULL, schedule, size, &p), HEDDLE_OK);
  assert_true(p.seconds > 1e-6 && p.seconds < 1e-2);
  assert_true(p.dense_seconds > 1e-6 && p.dense_seconds < 1e-2);
  assert_true(p.units > 0 && p.waves > 0 && *p.binds);
  assert_string_equal(p.device, "NVIDIA H200");
  return p;
}

/* More columns take longer. Many columns are faster than dense. A plan is predicted as the bucket
 * of the launch. */
static void a_schedule_is_predicted(void **state) {
  const fixture *f = *state;
  heddle_prediction small = predict(f, NULL, 64), large = predict(f, NULL, 8192);
  assert_true(small.seconds < large.seconds && large.seconds < large.dense_seconds);
  static const char *const plan = "n<=64: tile=64x64; tile=128x256";
  assert_true(predict(f, plan, 64).seconds == predict(f, "tile=64x64", 64).seconds);
  assert_true(predict(f, plan, 65).seconds == predict(f, "tile=128x256", 65).seconds);
  assert_true(predict(f, plan, 64).seconds != predict(f, "tile=128x256", 64).seconds);
}

static void expect(const fixture *f, heddle_status status, heddle_status want, const char *rule) {
  assert_int_equal(status, want);
  assert_string_equal(hd_first_error(f->ctx)->rule, rule);
  heddle_context_clear(f->ctx);
}

static void what_cannot_be_predicted_is_refused(void **state) {
  const fixture *f = *state;
  heddle_prediction p = {.seconds = 7};
  expect(f, heddle_schedule_predict(f->ctx, f->module, "sm_80", NULL, NULL, &p),
         HEDDLE_UNSUPPORTED, "schedule.predict");
  expect(f, heddle_schedule_predict(f->ctx, f->module, NULL, "tiel=64x64", NULL, &p),
         HEDDLE_INVALID, "schedule.key");
  const int64_t negative[3] = {0, -1, 0}, beyond[3] = {0, 8193, 0}, other[3] = {4095, 0, 0};
  const int64_t *const sizes[] = {negative, beyond, other};
  for (size_t i = 0; i < HD_COUNT(sizes); i++)
    expect(f, heddle_schedule_predict(f->ctx, f->module, NULL, NULL, sizes[i], &p), HEDDLE_INVALID,
           "choice.size");
  assert_true(p.seconds == 7);
}

/* The default of a size without a value is 4096, or its maximum if that is smaller. */
static void open_sizes_are_within_their_max(void **state) {
  const fixture *f = *state;
  fixture narrow = *f;
  char less[sizeof text_8192];
  heddle_prediction p;
  assert_int_equal(heddle_schedule_predict(f->ctx, f->module, NULL, NULL, NULL, &p), HEDDLE_OK);
  assert_true(p.seconds == predict(f, NULL, 4096).seconds);
  memcpy(less, text_8192, sizeof less);
  memcpy(strstr(less, "8192"), "0128", 4);
  assert_int_equal(heddle_module_parse(f->ctx, NULL, less, strlen(less), &narrow.module),
                   HEDDLE_OK);
  assert_true(predict(&narrow, NULL, 0).seconds == predict(&narrow, NULL, 128).seconds);
  assert_true(predict(&narrow, NULL, 0).seconds < p.seconds);
  heddle_module_free(narrow.module);
}

/* Units of work of groups: the mean of equal groups and of a Zipf distribution, in which most
 * groups have a part of a tile. */
static int64_t units_of_groups(int64_t n, int64_t g, int64_t width, int64_t rows) {
  double sum = 0;
  int64_t even = 0, zipf = 0, left = n;
  for (int64_t i = 1; i <= g; i++)
    sum += 1 / (double)i;
  for (int64_t i = g; i > 0; i--) {
    int64_t size = i > 1 ? (int64_t)((double)n / sum / (double)i) : left;
    left -= size;
    even += (n * i / g - n * (i - 1) / g + width - 1) / width;
    zipf += (size + width - 1) / width;
  }
  return (even * rows + zipf * rows) / 2;
}

/* The time of groups follows from the number of tiles for typical routings. Adding up their columns
 * takes time too. */
static void groups_are_predicted_by_routings(void **state) {
  static const char text[] =
      "module version=1 level=problem sync=none\n"
      "kernel {name = \"k\", target = \"sm_90a\"} {\n"
      "  %g: i32 = size {dim = g, value = 64}\n"
      "  %m: i32 = size {dim = m, value = 4096}\n"
      "  %n: i32 = size {dim = n, max = 8192}\n"
      "  %k: i32 = size {dim = k, value = 2048}\n"
      "  %t: i32 = size {dim = t, max = 8192}\n"
      "  %a: matrix<bf16> = sparse %m, %k {type = bf16}\n"
      "  %b: matrix<bf16> = dense %k, %n {type = bf16, operand = b, order = k_major}\n"
      "  %o: matrix<s32> = vector {type = s32, operand = offsets}\n"
      "  %c: matrix<s32> = vector %t {type = s32, operand = combine_d, slots = 2}\n"
      "  %x: matrix<f32> = matmul %a, %b {acc = f32}\n"
      "  store %x {type = bf16, order = col_major}\n"
      "}\n";
  fixture combined = *(const fixture *)*state, alone = combined;
  char less[sizeof text];
  memcpy(less, text, sizeof less);
  memset(strstr(less, "  %t: "), ' ', strcspn(strstr(less, "  %t: "), "\n"));
  memset(strstr(less, "  %c: "), ' ', strcspn(strstr(less, "  %c: "), "\n"));
  assert_int_equal(heddle_module_parse(alone.ctx, NULL, text, strlen(text), &combined.module),
                   HEDDLE_OK);
  assert_int_equal(heddle_module_parse(alone.ctx, NULL, less, strlen(less), &alone.module),
                   HEDDLE_OK);
  static const char *const schedules[] = {"tile=128x64 cluster=1", "tile=128x128 cluster=1",
                                          "tile=128x256 cluster=1"};
  for (int i = 0; i < 3; i++) {
    heddle_prediction p = predict(&alone, schedules[i], 4096);
    assert_int_equal(p.units, units_of_groups(4096, 64, 64 << i, 32));
    assert_true(predict(&combined, schedules[i], 4096).seconds > p.seconds + 1e-6);
  }
  assert_true(predict(&alone, schedules[0], 4096).seconds <
              predict(&alone, schedules[2], 4096).seconds);
  heddle_module_free(combined.module);
  heddle_module_free(alone.module);
}

/* A tile-level kernel has a fixed schedule, which can be predicted. It has no other. */
static void a_planned_kernel_has_one_schedule(void **state) {
  const fixture *f = *state;
  static const hd_pipeline_options to_tile = {.stop_after = "tile"};
  hd_pass_context pass = {.ctx = f->ctx, .schedule_text = "tile=128x256"};
  hd_module *ir;
  hd_strbuf planned = {0};
  fixture tile = *f;
  heddle_schedule_list *list = NULL;
  assert_int_equal(hd_parse(f->ctx, NULL, text_8192, strlen(text_8192), &ir), HEDDLE_OK);
  assert_int_equal(hd_run_pipeline(&pass, ir, &to_tile), HEDDLE_OK);
  hd_print(ir, &planned);
  hd_module_free(ir);
  assert_int_equal(heddle_module_parse(f->ctx, NULL, planned.text, planned.len, &tile.module),
                   HEDDLE_OK);
  assert_true(predict(&tile, NULL, 512).seconds == predict(f, "tile=128x256", 512).seconds);
  expect(f, heddle_schedule_enumerate(f->ctx, tile.module, NULL, NULL, &list), HEDDLE_INVALID,
         "schedule.planned");
  assert_null(list);
  heddle_module_free(tile.module);
  hd_strbuf_free(&planned);
}

static bool is_listed(const heddle_schedule_list *list, const char *schedule) {
  for (size_t i = 0; i < heddle_schedule_list_count(list); i++)
    if (strcmp(heddle_schedule_list_get(list, i), schedule) == 0)
      return true;
  return false;
}

/* With keys, the list has exactly the schedules with these keys. Each of them can be predicted. */
static void legal_schedules_are_listed(void **state) {
  const fixture *f = *state;
  heddle_schedule_list *all, *some;
  assert_int_equal(heddle_schedule_enumerate(f->ctx, f->module, NULL, NULL, &all), HEDDLE_OK);
  assert_int_equal(heddle_schedule_enumerate(f->ctx, f->module, NULL, "tile=128x128x64 stages=4",
                                             &some), HEDDLE_OK);
  size_t n_have = 0;
  for (size_t i = 0; i < heddle_schedule_list_count(all); i++) {
    const char *s = heddle_schedule_list_get(all, i);
    bool has = strstr(s, "tile=128x128x64 ") && strstr(s, " stages=4 ");
    n_have += has;
    assert_true(is_listed(some, s) == has);
  }
  assert_true(n_have > 0 && n_have < heddle_schedule_list_count(all));
  assert_int_equal(heddle_schedule_list_count(some), n_have);
  assert_null(heddle_schedule_list_get(some, n_have));
  predict(f, heddle_schedule_list_get(some, 0), 512);
  heddle_schedule_list_free(all);
  heddle_schedule_list_free(some);
  expect(f, heddle_schedule_enumerate(f->ctx, f->module, NULL, "tile=none", &all), HEDDLE_INVALID,
         "schedule.value");
  heddle_schedule_list_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_schedule_is_predicted, setup, teardown),
      cmocka_unit_test_setup_teardown(what_cannot_be_predicted_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(groups_are_predicted_by_routings, setup, teardown),
      cmocka_unit_test_setup_teardown(open_sizes_are_within_their_max, setup, teardown),
      cmocka_unit_test_setup_teardown(a_planned_kernel_has_one_schedule, setup, teardown),
      cmocka_unit_test_setup_teardown(legal_schedules_are_listed, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
