#include "Tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
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

void hd_search_add(hd_search *s, const char *schedule, double predicted) {
  hd_search_item item = {.predicted = predicted};
  const char *word = schedule;
  for (int i = 0; *word && i < HD_SEARCH_KEYS; i++) {
    size_t n = strcspn(word, " ");
    item.key[i] = (uint32_t)hd_hash_bytes(word, n).lo;
    word += n + (word[n] == ' ');
  }
  HD_PUSH(s->list, s->n, s->cap, item);
}

void hd_search_free(hd_search *s) {
  free(s->list);
  *s = (hd_search){0};
}

static double likeness(const hd_search_item *a, const hd_search_item *b) {
  double w = 1;
  for (int i = 0; i < HD_SEARCH_KEYS; i++)
    w *= a->key[i] != b->key[i] ? KEY_FACTOR : 1;
  return w;
}

/* Every item keeps the sum of how far off the measurements were, weighted by their likeness to it, the sum
 * of those weights, and the largest. */
void hd_search_learn(hd_search *s, size_t index, double seconds) {
  hd_search_item *measured = &s->list[index];
  double off = log(seconds / measured->predicted);
  measured->measured = seconds;
  s->off += off;
  s->n_measured++;
  for (size_t i = 0; i < s->n; i++) {
    hd_search_item *item = &s->list[i];
    double w = likeness(item, measured);
    item->off += w * off;
    item->weight += w;
    item->nearest = fmax(item->nearest, w);
  }
}

/* The model's scale is no news: what it says itself is relative to its mean error. */
double hd_search_promise(const hd_search *s, size_t index) {
  const hd_search_item *item = &s->list[index];
  double mean = s->n_measured ? s->off / (double)s->n_measured : 0;
  double off = (item->off + MODEL_WEIGHT * mean) / (item->weight + MODEL_WEIGHT);
  return item->predicted * exp(off - DOUBT * (1 - item->nearest));
}

size_t hd_search_next(const hd_search *s) {
  size_t best = s->n;
  double least = INFINITY;
  for (size_t i = 0; i < s->n; i++) {
    double promise = s->list[i].taken ? INFINITY : hd_search_promise(s, i);
    if (promise < least) {
      least = promise;
      best = i;
    }
  }
  return best;
}

hd_search hd_search_fresh(const hd_search *s) {
  hd_search fresh = {0};
  for (size_t i = 0; i < s->n; i++) {
    hd_search_item item = {.predicted = s->list[i].predicted};
    memcpy(item.key, s->list[i].key, sizeof item.key);
    HD_PUSH(fresh.list, fresh.n, fresh.cap, item);
  }
  return fresh;
}
