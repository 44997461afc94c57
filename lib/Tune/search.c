#include "Tune/search.h"

#include <math.h>
#include <string.h>

#include "Support/hash.h"

/* The weight of the model's own word, against that of one measurement of the very same schedule; and by
 * how much a measurement weighs less for each key in which it differs. */
static const double MODEL_WEIGHT = 0.2, KEY_FACTOR = 0.5;

hd_search_item hd_search_item_of(const char *schedule, double predicted) {
  hd_search_item item = {.predicted = predicted};
  for (const char *word = schedule; *word && item.n_keys < HD_SEARCH_KEYS;) {
    size_t n = strcspn(word, " ");
    item.key[item.n_keys++] = (uint32_t)hd_hash_bytes(word, n).lo;
    word += n + (word[n] == ' ');
  }
  return item;
}

static int differences(const hd_search_item *a, const hd_search_item *b) {
  int n = 0;
  for (int32_t i = 0; i < HD_SEARCH_KEYS; i++)
    n += a->key[i] != b->key[i];
  return n;
}

double hd_search_promise(const hd_search_item *list, size_t n, size_t index) {
  const hd_search_item *item = &list[index];
  double weight = MODEL_WEIGHT, sum = 0, all = 0;
  size_t n_measured = 0;
  for (size_t i = 0; i < n; i++) {
    if (list[i].measured <= 0)
      continue;
    double off = log(list[i].measured / list[i].predicted);
    double w = pow(KEY_FACTOR, differences(item, &list[i]));
    sum += w * off;
    weight += w;
    all += off;
    n_measured++;
  }
  /* The model's scale is no news: what it says is relative to its mean error. */
  double mean = n_measured ? all / (double)n_measured : 0;
  return item->predicted * exp((sum + MODEL_WEIGHT * mean) / weight);
}

size_t hd_search_next(const hd_search_item *list, size_t n) {
  size_t best = n;
  double least = INFINITY;
  for (size_t i = 0; i < n; i++) {
    if (list[i].taken)
      continue;
    double promise = hd_search_promise(list, n, i);
    if (best == n || promise < least) {
      least = promise;
      best = i;
    }
  }
  return best;
}
