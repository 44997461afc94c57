/* heddle tune evaluate --pairs: two choices of a schedule, compared over many products. */
#include "tune_pairs.h"

#include <math.h>
#include <stdio.h>

#include "Support/arena.h"
#include "Support/diag.h"

/* Ratios of the first time of a product over its second one. */
typedef struct ratios {
  double log_sum, least, most;
  int64_t n;
} ratios;

static void add(ratios *r, double ratio) {
  r->log_sum += log(ratio);
  r->least = r->n ? fmin(r->least, ratio) : ratio;
  r->most = fmax(r->most, ratio);
  r->n++;
}

static void print(const ratios *r) {
  if (r->n)
    printf(" %.3f; %.2f; %.2f (%lld) |", exp(r->log_sum / (double)r->n), r->least, r->most,
           (long long)r->n);
  else
    printf(" – |");
}

static heddle_status check_two(heddle_context *ctx, const product_times *t) {
  char name[HD_PRODUCT_TEXT];
  if (t->n == 2)
    return HEDDLE_OK;
  hd_product_print(&t->product, name);
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.pairs", "got %lld times of %s; legal: 2",
                  (long long)t->n, name);
}

heddle_status tune_print_pairs(heddle_context *ctx, const all_times *all) {
  ratios of[TUNE_N_BANDS][2] = {{{0}}}; /* [band][weights_ready] */
  for (int64_t i = 0; i < all->n; i++) {
    const product_times *t = &all->list[i];
    HD_TRY(check_two(ctx, t));
    add(&of[tune_band_of(&t->product)][t->product.weights_ready],
        t->list[0].seconds / t->list[1].seconds);
  }
  printf("| columns | plain | `weights_ready` |\n| --- | --- | --- |\n");
  for (size_t b = 0; b < TUNE_N_BANDS; b++) {
    printf("| %s |", tune_band_names[b]);
    print(&of[b][0]);
    print(&of[b][1]);
    printf("\n");
  }
  return HEDDLE_OK;
}
