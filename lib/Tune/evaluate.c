#include "Tune/evaluate.h"

#include <math.h>
#include <stdlib.h>

#include "Passes/schedule_cost.h"
#include "Passes/schedule_fit.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Tune/search.h"

/* Ranks, equal values sharing their mean: O(n * n), n in the thousands. */
static void rank_all(const double *value, int64_t n, double *rank) {
  for (int64_t i = 0; i < n; i++) {
    int64_t less = 0, equal = 0;
    for (int64_t j = 0; j < n; j++) {
      less += value[j] < value[i];
      equal += value[j] == value[i];
    }
    rank[i] = (double)less + (double)(equal - 1) / 2;
  }
}

static double correlation(const double *x, const double *y, int64_t n) {
  double mean = (double)(n - 1) / 2, xy = 0, xx = 0, yy = 0;
  for (int64_t i = 0; i < n; i++) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* The least time among the `most` schedules that are predicted fastest; of equals the earlier. */
static double best_of_first(const double *predicted, const double *seconds, int64_t n,
                            int64_t most) {
  double best = INFINITY;
  for (int64_t i = 0; i < n; i++) {
    int64_t before = 0;
    for (int64_t j = 0; j < n; j++)
      before += predicted[j] < predicted[i] || (predicted[j] == predicted[i] && j < i);
    if (before < most)
      best = fmin(best, seconds[i]);
  }
  return best;
}

static double best_found(hd_search *search, const double *seconds, int64_t n_search) {
  double best = INFINITY;
  for (int64_t i = 0; i < n_search; i++) {
    size_t at = hd_search_next(search);
    search->list[at].taken = true;
    hd_search_learn(search, at, seconds[at]);
    best = fmin(best, seconds[at]);
  }
  return best;
}

static heddle_status predict_all(heddle_context *ctx, const hd_product_ir *ir,
                                 const char *const *schedule, int64_t n,
                                 const hd_ceilings *ceilings, double *predicted,
                                 hd_search *search) {
  static const int64_t fixed[3] = {0};
  for (int64_t i = 0; i < n; i++) {
    char text[HD_SCHEDULE_TEXT];
    hd_schedule s;
    HD_TRY(hd_schedule_resolve(ctx, ir->kernel, schedule[i], &s));
    hd_schedule_print(&s, text);
    predicted[i] = hd_schedule_cost(&ir->problem, &s, fixed, ceilings).seconds;
    hd_search_add(search, text, predicted[i]);
  }
  return HEDDLE_OK;
}

heddle_status hd_evaluate(heddle_context *ctx, const hd_product *product,
                          const char *const *schedule, const double *seconds, int64_t n,
                          int64_t n_search, const hd_ceilings *ceilings, hd_evaluation *result) {
  if (n < 2)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.evaluate",
                    "got %lld measurements of a product; legal: 2 and more", (long long)n);
  hd_arena arena = {0};
  hd_product_ir ir = {0};
  double *predicted = HD_NEW_ARRAY(&arena, double, n), *p_rank = HD_NEW_ARRAY(&arena, double, n);
  double *rank = HD_NEW_ARRAY(&arena, double, n);
  hd_search search = {0};
  heddle_status status = hd_product_build(ctx, product, &ir);
  if (status == HEDDLE_OK)
    status = predict_all(ctx, &ir, schedule, n, ceilings, predicted, &search);
  if (status == HEDDLE_OK) {
    rank_all(seconds, n, rank);
    rank_all(predicted, n, p_rank);
    double best = best_of_first(predicted, seconds, n, n);
    int64_t searched = n_search ? n_search : hd_search_share(n);
    searched = searched < n ? searched : n;
    *result = (hd_evaluation){.rank_correlation = correlation(p_rank, rank, n),
                              .first = best_of_first(predicted, seconds, n, 1) / best,
                              .five = best_of_first(predicted, seconds, n, 5) / best,
                              .found = best_found(&search, seconds, searched) / best,
                              .n = n,
                              .n_searched = searched};
  }
  hd_search_free(&search);
  hd_product_ir_free(&ir);
  hd_arena_free(&arena);
  return status;
}
