#include "Tune/evaluate.h"

#include <math.h>
#include <stdlib.h>

#include "Schedule/cost.h"
#include "Schedule/resolve.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Tune/search.h"

enum { MEASURED, PREDICTED };

/* The seconds of a schedule, measured and predicted, and its rank in each. */
typedef struct ranked {
  int64_t index;
  double seconds[2], rank[2];
} ranked;

/* Ties keep the order of the list. */
static int in_order(const ranked *x, const ranked *y, int of) {
  int order = (x->seconds[of] > y->seconds[of]) - (x->seconds[of] < y->seconds[of]);
  return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int by_measured(const void *x, const void *y) { return in_order(x, y, MEASURED); }

static int by_predicted(const void *x, const void *y) { return in_order(x, y, PREDICTED); }

/* Sorts the list and assigns ranks from 0. Ties get the mean of their ranks. */
static void rank_all(ranked *list, int64_t n, int of) {
  qsort(list, (size_t)n, sizeof *list, of == MEASURED ? by_measured : by_predicted);
  for (int64_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && list[end].seconds[of] == list[i].seconds[of];)
      end++;
    for (int64_t j = i; j < end; j++)
      list[j].rank[of] = (double)(i + end - 1) / 2;
  }
}

static double correlation(const ranked *list, int64_t n) {
  double mean = (double)(n - 1) / 2, xy = 0, xx = 0, yy = 0;
  for (int64_t i = 0; i < n; i++) {
    double x = list[i].rank[PREDICTED] - mean, y = list[i].rank[MEASURED] - mean;
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static double least_of(const ranked *list, int64_t n) {
  double least = INFINITY;
  for (int64_t i = 0; i < n; i++)
    least = fmin(least, list[i].seconds[MEASURED]);
  return least;
}

static double best_found(hd_search *search, const hd_timed *list, int64_t n_search) {
  double best = INFINITY;
  for (int64_t i = 0; i < n_search; i++) {
    size_t at = hd_search_next(search);
    search->list[at].taken = true;
    hd_search_learn(search, at, list[at].seconds);
    best = fmin(best, list[at].seconds);
  }
  return best;
}

static void evaluate(const hd_timed *list, int64_t n, int64_t n_search, hd_search *search,
                  hd_evaluation *result) {
  ranked *all = hd_xmalloc((size_t)n * sizeof *all);
  for (int64_t i = 0; i < n; i++)
    all[i] = (ranked){.index = i, .seconds = {list[i].seconds, search->list[i].predicted}};
  rank_all(all, n, MEASURED);
  rank_all(all, n, PREDICTED); /* last, so that the list stays in the model's order */
  double best = least_of(all, n);
  *result = (hd_evaluation){.rank_correlation = correlation(all, n),
                            .first = least_of(all, 1) / best,
                            .five = least_of(all, n < 5 ? n : 5) / best,
                            .found = best_found(search, list, n_search) / best,
                            .n = n,
                            .n_searched = n_search};
  hd_free(all);
}

heddle_status hd_evaluate(heddle_context *ctx, const hd_product *product, const hd_timed *list,
                          int64_t n, int64_t n_search, const hd_device_model *ceilings,
                          hd_evaluation *result) {
  if (n < 2)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.evaluate",
                    "got %lld measurements of a product; legal: 2 or more", (long long)n);
  hd_front front = {0};
  hd_search search = {0};
  static const int64_t fixed[3] = {0};
  heddle_status status = hd_product_build(ctx, HD_NOWHERE, product, &front);
  for (int64_t i = 0; i < n && status == HEDDLE_OK; i++) {
    char text[HD_SCHEDULE_TEXT];
    hd_schedule s;
    status = hd_schedule_read(ctx, ceilings, &front.problem, list[i].schedule, &s);
    if (status != HEDDLE_OK)
      break;
    hd_schedule_print(&s, text);
    hd_search_add(&search, text, hd_schedule_cost(&front.problem, &s, fixed, ceilings).seconds);
  }
  if (status == HEDDLE_OK) {
    int64_t most = n_search ? n_search : hd_search_share(n);
    evaluate(list, n, most < n ? most : n, &search, result);
  }
  hd_search_free(&search);
  hd_front_free(&front);
  return status;
}
