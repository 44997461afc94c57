/* Schedules for ranges of a size: their text, and the choice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Choice/bucket_choose.h"
#include "Schedule/heuristic.h"
#include "Schedule/legality.h"
#include "Support/arena.h"

static void a_plan_is_printed_as_it_is_read(void **state) {
  (void)state;
  static const char text[] = "n<=16: tile=64x16; n<=128: tile=128x128 stages=4; tile=128x256";
  hd_bucket_plan plan;
  hd_strbuf out = {0};
  assert_int_equal(hd_bucket_plan_parse(NULL, HD_NOWHERE, text, &plan), HEDDLE_OK);
  hd_bucket_plan_print(&plan, &out);
  assert_string_equal(hd_strbuf_text(&out), text);
  assert_int_equal(hd_bucket_plan_find(&plan, 16) - plan.list, 0);
  assert_int_equal(hd_bucket_plan_find(&plan, 17) - plan.list, 1);
  assert_int_equal(hd_bucket_plan_find(&plan, 129) - plan.list, 2);
  hd_strbuf_free(&out);
}

static void a_broken_plan_is_refused(void **state) {
  (void)state;
  static const char *const broken[] = {"n<=16: tile=64x16", "n<=16: a=desc; n<=16: a=reg; b=tma",
                                       "n<=16: a=desc; m<=32: a=reg; b=tma",
                                       "q<=16: a=desc; b=tma", "n<=0: a=desc; b=tma",
                                       "n<=x: a=desc; b=tma", "a=desc; b=tma", "n<=16; b=tma"};
  for (size_t i = 0; i < HD_COUNT(broken); i++) {
    hd_bucket_plan plan;
    if (hd_bucket_plan_parse(NULL, HD_NOWHERE, broken[i], &plan) != HEDDLE_INVALID)
      fail_msg("accepted: %s", broken[i]);
  }
}

static hd_front front_of_type(const char *target, const char *type, const char *out, int64_t m,
                              int64_t k, int64_t max) {
  hd_strbuf text = {0};
  hd_pass_context pass = {0};
  hd_front front;
  hd_strbuf_printf(
      &text,
      "module version=1 level=problem sync=none\n"
      "kernel {name = \"k\", target = \"%s\"} {\n"
      "%%m: i32 = size {dim = m, value = %lld}\n%%n: i32 = size {dim = n, max = %lld}\n"
      "%%k: i32 = size {dim = k, value = %lld}\n"
      "%%a: matrix<%s> = sparse %%m, %%k {type = %s}\n"
      "%%b: matrix<%s> = dense %%k, %%n {type = %s, operand = b, order = k_major}\n"
      "%%x: matrix<f32> = matmul %%a, %%b {acc = f32}\n"
      "store %%x {type = %s, order = col_major}\n}\n",
      target, (long long)m, (long long)max, (long long)k, type, type, type, type, out);
  assert_int_equal(hd_front_parse(&pass, NULL, hd_strbuf_text(&text), text.len, &front),
                   HEDDLE_OK);
  hd_strbuf_free(&text);
  return front;
}

static hd_front front_of(const char *target, int64_t m, int64_t k, int64_t max) {
  return front_of_type(target, "bf16", "bf16", m, k, max);
}

/* Each bucket is legal. The borders rise and do not exceed the size's maximum. */
static void check_plan(const hd_front *front, const hd_bucket_plan *plan, int64_t max) {
  int64_t before = 0;
  assert_in_range(plan->n, 1, HD_MOST_BUCKETS);
  for (int32_t i = 0; i < plan->n; i++) {
    bool is_last = i + 1 == plan->n;
    assert_true(hd_schedule_fits(&front->problem, &plan->list[i].words.value));
    assert_true(is_last ? plan->list[i].to == 0 : plan->list[i].to > before);
    assert_true(plan->list[i].to < max);
    before = plan->list[i].to;
  }
}

static void few_columns_and_many_take_different_tiles(void **state) {
  (void)state;
  static const char *const targets[] = {"sm_80", "sm_90a", "sm_100a", "sm_120a"};
  hd_tuned *tuned;
  assert_int_equal(heddle_tuned_shipped(NULL, &tuned), HEDDLE_OK);
  for (size_t i = 0; i < HD_COUNT(targets); i++) {
    hd_front front = front_of(targets[i], 4096, 4096, 65536);
    hd_bucket_options options = {.tuned = tuned};
    hd_bucket_plan plan;
    assert_int_equal(hd_bucket_choose(NULL, &front, &options, &plan), HEDDLE_OK);
    check_plan(&front, &plan, 65536);
    assert_true(plan.list[0].words.value.tile_n <= 32);
    assert_true(plan.list[plan.n - 1].words.value.tile_n >= 128);
    hd_front_free(&front);
  }
  heddle_tuned_free(tuned);
}

/* By the model alone a pair of CTAs costs clocks. The default uses a pair where a launch is long
 * enough to reach the power cap, and so do the buckets of such sizes. */
static void long_launches_have_pairs(void **state) {
  (void)state;
  static const int64_t long_sizes[] = {2048, 4096, 8192};
  hd_front front = front_of("sm_90a", 13824, 5120, 8192);
  hd_bucket_plan plan;
  assert_int_equal(hd_bucket_choose(NULL, &front, NULL, &plan), HEDDLE_OK);
  for (size_t i = 0; i < HD_COUNT(long_sizes); i++)
    assert_int_equal(hd_bucket_plan_find(&plan, long_sizes[i])->words.value.cluster, 2);
  hd_front_free(&front);
}

/* Some defaults of fixed sizes are not legal where the sizes are known only at launch (256x192 with
 * a col_major f32 D). The bucket then has almost the fastest of the legal schedules. */
static void what_is_not_legal_at_launch_makes_way_for_the_next(void **state) {
  (void)state;
  const int64_t sizes[] = {3072, 2048, 8192};
  hd_front front = front_of_type("sm_90a", "tf32", "f32", sizes[0], sizes[2], 8192);
  front.problem.d.transposed = true;
  hd_front fixed = front;
  front.problem.m.value = 0;
  const hd_bucket_options options = {.hint_mnk = {sizes[0]}};
  const hd_device_model *device = hd_device_model_of(front.problem.target);
  hd_bucket_plan plan;
  hd_ranked_schedule best;
  fixed.problem.n.value = sizes[1];
  hd_schedule alone = hd_schedule_default(device, &fixed.problem);
  assert_false(hd_schedule_fits(&front.problem, &alone));
  assert_int_equal(hd_schedule_heuristic(device, &front.problem, sizes, &best, 1), 1);
  assert_int_equal(hd_bucket_choose(NULL, &front, &options, &plan), HEDDLE_OK);
  const hd_schedule *s = &hd_bucket_plan_find(&plan, sizes[1])->words.value;
  assert_true(hd_schedule_cost(&front.problem, s, sizes, device).seconds < 1.07 * best.seconds);
  hd_front_free(&front);
}

/* The choice measured at a size is the one that a launch of that size uses. */
static void measured_choices_are_kept(void **state) {
  (void)state;
  static const int64_t measured[] = {1, 64, 128, 256, 4096};
  hd_tuned *tuned;
  hd_front front = front_of("sm_90a", 4096, 4096, 65536);
  assert_int_equal(heddle_tuned_shipped(NULL, &tuned), HEDDLE_OK);
  hd_bucket_options options = {.tuned = tuned};
  hd_bucket_plan plan;
  assert_int_equal(hd_bucket_choose(NULL, &front, &options, &plan), HEDDLE_OK);
  for (size_t i = 0; i < HD_COUNT(measured); i++) {
    const int64_t mnk[] = {0, measured[i], 0};
    const hd_tuned_entry *entry;
    hd_schedule s;
    assert_int_equal(hd_choose_for_sizes(NULL, &front, tuned, mnk, NULL, &entry, &s), HEDDLE_OK);
    assert_true(hd_schedule_equals(&hd_bucket_plan_find(&plan, measured[i])->words.value, &s));
  }
  heddle_tuned_free(tuned);
  hd_front_free(&front);
}

/* The tile of a choice is used with both orders of D, each with a store that is legal for it. */
static void the_order_of_d_keeps_the_tile(void **state) {
  (void)state;
  hd_tuned *tuned;
  assert_int_equal(heddle_tuned_shipped(NULL, &tuned), HEDDLE_OK);
  for (size_t i = 0; i < hd_tuned_count(tuned); i++) {
    const hd_tuned_entry *choice = hd_tuned_get(tuned, i);
    hd_product product = choice->product;
    hd_front front;
    hd_schedule s;
    product.d_col_major = !product.d_col_major;
    if (hd_tune_lookup(tuned, &product))
      continue; /* the other order has its own */
    assert_int_equal(hd_product_build(NULL, HD_NOWHERE, &product, &front), HEDDLE_OK);
    assert_ptr_equal(hd_tune_pick(tuned, &front.problem, &product, NULL, &s), choice);
    assert_int_equal(s.tile_m, choice->words.value.tile_m);
    assert_int_equal(s.tile_n, choice->words.value.tile_n);
    assert_int_equal(s.stages, choice->words.value.stages);
    hd_front_free(&front);
  }
  heddle_tuned_free(tuned);
}

static void the_users_borders_stand(void **state) {
  (void)state;
  static const int64_t border[] = {16, 17, 500};
  hd_front front = front_of("sm_90a", 8192, 8192, 65536);
  hd_bucket_options options = {.border = border, .n_borders = 3};
  hd_bucket_plan plan;
  assert_int_equal(hd_bucket_choose(NULL, &front, &options, &plan), HEDDLE_OK);
  check_plan(&front, &plan, 65536);
  assert_int_equal(plan.n, 4);
  for (int i = 0; i < 3; i++)
    assert_int_equal(plan.list[i].to, border[i]);
  hd_front_free(&front);
}

static void fixed_sizes_have_no_buckets(void **state) {
  (void)state;
  hd_front front = front_of("sm_90a", 4096, 4096, 65536);
  hd_bucket_plan plan;
  front.problem.n.value = 64;
  assert_int_equal(hd_bucket_choose(NULL, &front, NULL, &plan), HEDDLE_INVALID);
  hd_front_free(&front);
}

static bool same_tile(const hd_schedule *x, const hd_schedule *y) {
  return x->tile_m == y->tile_m && x->tile_n == y->tile_n && x->store == y->store &&
         x->ctas_per_sm == y->ctas_per_sm && x->split_k == y->split_k;
}

/* The model finds 256x192 and 128x256 equal at 8192 columns, and 128x24 3 % slower than 128x16. */
static void common_sizes_keep_the_tile_of_their_own_kernel(void **state) {
  (void)state;
  static const int64_t sizes[] = {16, 32, 4096, 8192};
  static const hd_typical_size typical[] = {{8192, 1}, {12288, 3}};
  heddle_tuned *tuned;
  assert_int_equal(heddle_tuned_shipped(NULL, &tuned), HEDDLE_OK);
  const hd_bucket_options options[] = {
      {.tuned = tuned}, {.tuned = tuned, .typical = typical, .n_typical = HD_COUNT(typical)}};
  hd_front front = front_of("sm_90a", 5120, 13824, 65536);
  for (size_t i = 0; i < HD_COUNT(options); i++) {
    hd_bucket_plan plan;
    assert_int_equal(hd_bucket_choose(NULL, &front, &options[i], &plan), HEDDLE_OK);
    for (size_t j = i ? HD_COUNT(sizes) - 1 : 0; j < HD_COUNT(sizes); j++) {
      const int64_t mnk[3] = {5120, sizes[j], 13824};
      const hd_tuned_entry *entry;
      hd_schedule own;
      assert_int_equal(hd_choose_for_sizes(NULL, &front, tuned, mnk, NULL, &entry, &own),
                       HEDDLE_OK);
      const hd_schedule *s = &hd_bucket_plan_find(&plan, sizes[j])->words.value;
      if (s->tile_m != own.tile_m || s->tile_n != own.tile_n)
        fail_msg("another tile at n = %lld", (long long)sizes[j]);
    }
  }
  heddle_tuned_free(tuned);
  hd_front_free(&front);
}

/* A schedule that spilled is not chosen again, nor one that needs as many registers. Every choice
 * is legal, also where sizes are dynamic and where a family has no ranking. */
static void what_spilled_is_passed_over(void **state) {
  enum { TRIES = 5 };
  static const struct {
    const char *target;
    int64_t n;
  } cases[] = {{"sm_90a", 4096}, {"sm_90a", 0}, {"sm_90a", 16}, {"sm_80", 512}, {"sm_100a", 0}};
  heddle_tuned *tuned;
  (void)state;
  assert_int_equal(heddle_tuned_shipped(NULL, &tuned), HEDDLE_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hd_front front = front_of(cases[i].target, 4096, 4096, 65536);
    hd_spilled *spilled = calloc(1, sizeof *spilled);
    const int64_t mnk[] = {0, cases[i].n, 0};
    hd_schedule taken[TRIES];
    int n = strncmp(cases[i].target, "sm_90", 5) == 0 ? TRIES : 2;
    for (int t = 0; t < n; t++) {
      const hd_tuned_entry *entry;
      assert_int_equal(hd_choose_for_sizes(NULL, &front, tuned, mnk, spilled, &entry, &taken[t]),
                       HEDDLE_OK);
      assert_true(hd_schedule_fits(&front.problem, &taken[t]));
      assert_false(hd_spilled_has(spilled, &taken[t]));
      for (int u = 0; u < t; u++)
        assert_false(same_tile(&taken[t], &taken[u]));
      hd_spilled_add(spilled, &taken[t]);
    }
    free(spilled);
    hd_front_free(&front);
  }
  heddle_tuned_free(tuned);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_plan_is_printed_as_it_is_read),
      cmocka_unit_test(a_broken_plan_is_refused),
      cmocka_unit_test(few_columns_and_many_take_different_tiles),
      cmocka_unit_test(long_launches_have_pairs),
      cmocka_unit_test(what_is_not_legal_at_launch_makes_way_for_the_next),
      cmocka_unit_test(measured_choices_are_kept),
      cmocka_unit_test(the_order_of_d_keeps_the_tile),
      cmocka_unit_test(the_users_borders_stand),
      cmocka_unit_test(fixed_sizes_have_no_buckets),
      cmocka_unit_test(common_sizes_keep_the_tile_of_their_own_kernel),
      cmocka_unit_test(what_spilled_is_passed_over),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
