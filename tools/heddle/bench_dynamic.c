#include "bench_dynamic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Choice/bucket_plan.h"
#include "Schedule/cost.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/statistics.h"

/* Sizes for which choices were measured, and sizes between them. */
static const int64_t sizes[] = {1,   8,   16,  32,  48,   64,   96,   128,
                                192, 256, 333, 512, 1024, 2048, 4096, 8192};

enum { N_PAIRS = 4 /* with and without weights_ready, both orders of D */ };

void bench_dynamic_sizes(bench_grid *grid) {
  bench_grid all = {0};
  for (int32_t i = 0; i < grid->n; i++) {
    int32_t first = 0;
    while (!hd_bench_same_but_n(&grid->list[first], &grid->list[i]))
      first++;
    for (size_t j = 0; first == i && j < HD_COUNT(sizes); j++) {
      hd_bench_problem p = grid->list[i];
      p.n = sizes[j];
      bench_grid_add(&all, &p, NULL);
    }
  }
  hd_free(grid->list);
  *grid = all;
}

void bench_dynamic_head(void) {
  printf("%-5s %6s %6s %6s %-5s %10s %10s %7s\n", "type", "M", "K", "N", "D", "fixed us",
         "dynamic us", "ratio");
}

static void count(bench_dynamic *sum, const hd_bench_problem *p, double ratio) {
  if (sum->n == 0 || ratio < sum->worst) {
    sum->worst = ratio;
    sum->worst_case = *p;
  }
  sum->log_sum += log(ratio);
  sum->n++;
}

static const hd_bench_row *find(const hd_bench_result *result, bool dynamic, bool ready,
                                bool row_major) {
  for (int32_t i = 0; i < result->n_rows; i++) {
    const hd_bench_row *r = &result->row[i];
    if (r->ok && r->n_rounds > 1 && r->dynamic == dynamic && r->weights_ready == ready &&
        r->row_major == row_major && strncmp(r->name, "heddle", 6) == 0)
      return r;
  }
  return NULL;
}

double bench_ratio_in_rounds(const hd_bench_row *numerator, const hd_bench_row *denominator) {
  double ratio[HD_MOST_ROUNDS];
  int n = 0;
  for (int32_t i = 0; i < numerator->n_rounds; i++)
    if (numerator->round[i] > 0 && denominator->round[i] > 0)
      ratio[n++] = numerator->round[i] / denominator->round[i];
  return hd_median(ratio, n);
}

/* The rows of a case whose weights_ready and order of D are `i`, if both were measured. */
static bool find_both(const hd_bench_result *result, int i, const hd_bench_row **fixed,
                      const hd_bench_row **dynamic) {
  *fixed = find(result, false, i / 2, i % 2);
  *dynamic = find(result, true, i / 2, i % 2);
  return *fixed && *dynamic;
}

bool bench_dynamic_is_far(const hd_bench_result *result) {
  const double far = 0.02;
  const hd_bench_row *fixed, *dynamic;
  for (int i = 0; i < N_PAIRS; i++)
    if (find_both(result, i, &fixed, &dynamic) &&
        fabs(bench_ratio_in_rounds(fixed, dynamic) - 1) > far)
      return true;
  return false;
}

void bench_dynamic_add(bench_dynamic *sum, const hd_bench_problem *p, const hd_bench_result *result,
                       int32_t n_results) {
  for (int i = 0; i < N_PAIRS; i++) {
    double ratio[BENCH_DYNAMIC_TIMES], fixed_us[BENCH_DYNAMIC_TIMES], us[BENCH_DYNAMIC_TIMES];
    int n = 0;
    const hd_bench_row *fixed, *dynamic;
    for (int32_t k = 0; k < n_results; k++)
      if (find_both(&result[k], i, &fixed, &dynamic)) {
        ratio[n] = bench_ratio_in_rounds(fixed, dynamic);
        fixed_us[n] = fixed->timing.median * 1e6;
        us[n++] = dynamic->timing.median * 1e6;
      }
    if (n == 0 || n < n_results)
      continue;
    double middle = hd_median(ratio, n);
    printf("%-5s %6lld %6lld %6lld %-5s %10.2f %10.2f %7.3f%s\n",
           heddle_elem_get(p->elem)->name, (long long)p->m, (long long)p->k, (long long)p->n,
           i % 2 ? "row" : "col", hd_median(fixed_us, n), hd_median(us, n), middle,
           i / 2 ? "  weights_ready" : "");
    count(sum, p, middle);
  }
}

/* ---- without a device ---- */

void bench_dynamic_predict_head(void) {
  printf("%-5s %6s %6s %6s %-5s %7s  %s\n", "type", "M", "K", "N", "D", "ratio",
         "schedule of the dynamic kernel, if it differs");
}

/* Time in seconds of a schedule, predicted by the model for the case's size. n is the kernel's N;
 * 0: known only at launch. */
static heddle_status predict(heddle_context *ctx, const hd_bench_problem *p, int64_t n,
                             const hd_bench_options *options, const char *target, bool row_major,
                             bool ready, const hd_schedule *s, double *seconds) {
  hd_bench_problem kernel = *p;
  kernel.n = n;
  char *text = hd_bench_text(&kernel, target, row_major, ready);
  hd_pass_context pass = {.ctx = ctx, .target = target};
  hd_front front = {0};
  heddle_status status = hd_front_made(&pass, HD_NOWHERE, text, &front);
  hd_free(text);
  if (status == HEDDLE_OK) {
    const hd_device_model *device = options->tuned ? hd_tuned_ceilings(options->tuned)
                                                   : hd_device_model_of(front.problem.target);
    *seconds = hd_schedule_cost(&front.problem, s, (int64_t[]){p->m, p->n, p->k}, device).seconds;
  }
  hd_front_free(&front);
  return status;
}

static heddle_status compare(heddle_context *ctx, const hd_bench_problem *p,
                             const hd_bench_options *options, const char *target,
                             const hd_bench_way *fixed_way, const hd_bench_way *way,
                             bool row_major, bench_dynamic *sum) {
  hd_schedule_words fixed = {0};
  hd_bucket_plan plan;
  double seconds[2];
  HD_TRY(hd_schedule_parse(ctx, HD_NOWHERE, hd_bench_way_schedule(fixed_way, row_major), &fixed));
  HD_TRY(hd_bucket_plan_parse(ctx, HD_NOWHERE, hd_bench_way_schedule(way, row_major), &plan));
  const hd_schedule *dynamic = &hd_bucket_plan_find(&plan, p->n)->words.value;
  bool ready = way->weights_ready, same = hd_schedule_equals(&fixed.value, dynamic);
  HD_TRY(predict(ctx, p, p->n, options, target, row_major, ready, &fixed.value, &seconds[0]));
  HD_TRY(predict(ctx, p, 0, options, target, row_major, ready, dynamic, &seconds[1]));
  printf("%-5s %6lld %6lld %6lld %-5s %7.3f ", heddle_elem_get(p->elem)->name, (long long)p->m,
         (long long)p->k, (long long)p->n, row_major ? "row" : "col", seconds[0] / seconds[1]);
  if (same)
    printf(" the same");
  for (hd_key key = 0; !same && key < HD_N_KEYS; key++) {
    char x[HD_KEY_VALUE_TEXT], y[HD_KEY_VALUE_TEXT];
    hd_schedule_print_key(&fixed.value, key, x);
    hd_schedule_print_key(dynamic, key, y);
    if (strcmp(x, y) != 0) /* "tile=128x64x64 (128x128x64)": dynamic, then fixed */
      printf(" %s=%s (%s)", hd_schedule_keys[key].name, y, x);
  }
  puts(ready ? "  weights_ready" : "");
  sum->n_same += same;
  count(sum, p, seconds[0] / seconds[1]);
  return HEDDLE_OK;
}

heddle_status bench_dynamic_predict(heddle_context *ctx, const hd_bench_problem *p,
                                    const hd_bench_options *options, const char *target,
                                    bench_dynamic *sum) {
  hd_bench_way *way;
  int32_t n;
  heddle_status status = HEDDLE_OK;
  HD_TRY(hd_bench_ways(ctx, p, options, target, &way, &n));
  for (int32_t i = 1; i < n; i++) /* the fixed way precedes the dynamic one */
    for (int row = 0; row < 2 && way[i].dynamic && status == HEDDLE_OK; row++)
      if (row ? options->order != HD_BENCH_COL : options->order != HD_BENCH_ROW)
        status = compare(ctx, p, options, target, &way[i - 1], &way[i], row, sum);
  hd_bench_ways_free(way, n);
  return status;
}

void bench_dynamic_tail(const bench_dynamic *sum) {
  const hd_bench_problem *p = &sum->worst_case;
  if (sum->n == 0)
    return;
  if (sum->n_same)
    printf("\n"
           "%d of %d cases have the schedule of the fixed kernel", sum->n_same, sum->n);
  printf("\ndynamic: %d cases, geometric mean %.4f, worst %.3f at %s %lld x %lld, N = %lld\n",
         sum->n, exp(sum->log_sum / sum->n), sum->worst, heddle_elem_get(p->elem)->name,
         (long long)p->m, (long long)p->k, (long long)p->n);
}
