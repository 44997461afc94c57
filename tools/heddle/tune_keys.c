/* heddle tune evaluate --keys: what each key of a schedule gains, over many measurements. */
#include "tune_keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Schedule/schedule.h"

/* The gain of a key: the best time of schedules with its initial value over the best of all
 * schedules. It is 1 if the key gains nothing. */
typedef struct gain {
  double log_sum, most;
  int64_t n; /* products with schedules of both kinds */
  const hd_product *where;
} gain;

/* False for keys that every schedule must have, and for the depth, which has no initial value. */
static bool has_initial(hd_key key) {
  return key != HD_KEY_FAMILY && key != HD_KEY_TILE && key != HD_KEY_WARPS && key != HD_KEY_STAGES;
}

static bool is_initial(const hd_schedule *s, hd_key key) {
  int32_t v[3] = {0}, w[3] = {0};
  hd_schedule_get(s, key, v);
  hd_schedule_get(&hd_schedule_initial, key, w);
  return memcmp(v, w, sizeof v) == 0;
}

static heddle_status add_product(heddle_context *ctx, const product_times *t,
                                 gain gains[HD_N_KEYS][TUNE_N_BANDS]) {
  double best = INFINITY, without[HD_N_KEYS];
  bool differs[HD_N_KEYS] = {false};
  for (hd_key key = 0; key < HD_N_KEYS; key++)
    without[key] = INFINITY;
  for (int64_t i = 0; i < t->n; i++) {
    hd_schedule_words words = {.value = hd_schedule_initial};
    HD_TRY(hd_schedule_parse(ctx, HD_NOWHERE, t->list[i].schedule, &words));
    best = fmin(best, t->list[i].seconds);
    for (hd_key key = 0; key < HD_N_KEYS; key++)
      if (is_initial(&words.value, key))
        without[key] = fmin(without[key], t->list[i].seconds);
      else
        differs[key] = true;
  }
  size_t band = tune_band_of(&t->product);
  for (hd_key key = 0; key < HD_N_KEYS; key++) {
    if (!has_initial(key) || !differs[key] || !isfinite(without[key]))
      continue;
    gain *g = &gains[key][band];
    double ratio = without[key] / best;
    g->log_sum += log(ratio);
    g->n++;
    if (ratio > g->most) {
      g->most = ratio;
      g->where = &t->product;
    }
  }
  return HEDDLE_OK;
}

/* Prints the product with the largest gain of a key. */
static void print_where(const gain *of) {
  const gain *most = of;
  for (size_t b = 1; b < TUNE_N_BANDS; b++)
    if (of[b].most > most->most)
      most = &of[b];
  const hd_product *p = most->where;
  if (p)
    printf(" %s %lld x %lld x %lld%s |\n", heddle_elem_get(p->a)->name, (long long)p->m,
           (long long)p->k, (long long)p->n, p->weights_ready ? " weights_ready" : "");
  else
    printf(" – |\n");
}

heddle_status tune_print_keys(heddle_context *ctx, const all_times *all) {
  gain gains[HD_N_KEYS][TUNE_N_BANDS] = {{{0}}};
  for (int64_t i = 0; i < all->n; i++)
    HD_TRY(add_product(ctx, &all->list[i], gains));
  printf("| key | initial value |");
  for (size_t b = 0; b < TUNE_N_BANDS; b++)
    printf(" %s |", tune_band_names[b]);
  printf(" maximum at |\n| --- | --- | --- | --- | --- | --- |\n");
  for (hd_key key = 0; key < HD_N_KEYS; key++) {
    char initial[HD_KEY_VALUE_TEXT];
    if (!has_initial(key))
      continue;
    hd_schedule_print_key(&hd_schedule_initial, key, initial);
    printf("| `%s` | `%s` |", hd_schedule_keys[key].name, initial);
    for (size_t b = 0; b < TUNE_N_BANDS; b++) {
      const gain *g = &gains[key][b];
      if (g->n)
        printf(" %.3f; %.2f (%lld) |", exp(g->log_sum / (double)g->n), g->most, (long long)g->n);
      else
        printf(" – |");
    }
    print_where(gains[key]);
  }
  return HEDDLE_OK;
}
