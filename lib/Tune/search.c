#include "Tune/search.h"

#include <math.h>
#include <string.h>

#include "Support/hash.h"

/* The weight of the model's own word, against that of one measurement of the very same schedule; by how
 * much a measurement weighs less for each key in which it differs; and how far off (in logarithms) a
 * prediction may be that nothing like it confirms: what is unlike all that was measured gets the benefit
 * of that doubt, so that the variants of one tile do not use up the measurements. */
static const double MODEL_WEIGHT = 0.2, KEY_FACTOR = 0.5, DOUBT = 0.12;

int64_t hd_search_share(int64_t n) {
  enum { ONE_IN = 20, LEAST = 8 };
  int64_t share = n / ONE_IN;
  return share > LEAST ? share : n < LEAST ? n : LEAST;
}

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
  double weight = MODEL_WEIGHT, sum = 0, all = 0, nearest = 0;
  size_t n_measured = 0;
  for (size_t i = 0; i < n; i++) {
    if (list[i].measured <= 0)
      continue;
    double off = log(list[i].measured / list[i].predicted);
    double w = pow(KEY_FACTOR, differences(item, &list[i]));
    sum += w * off;
    weight += w;
    all += off;
    nearest = fmax(nearest, w);
    n_measured++;
  }
  /* The model's scale is no news: what it says is relative to its mean error. */
  double mean = n_measured ? all / (double)n_measured : 0;
  double doubt = DOUBT * (1 - nearest);
  return item->predicted * exp((sum + MODEL_WEIGHT * mean) / weight - doubt);
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
