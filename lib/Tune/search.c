#include "Tune/search.h"

#include <math.h>
#include <string.h>

#include "Schedule/schedule.h"
#include "Support/arena.h"
#include "Support/hash.h"

/* DOUBT: the model's error for an unmeasured kind, and the effect of an unmeasured "key=value", in
 * logarithms (the spread observed on an H200). PRIOR: the weight of the prior "no effect" relative
 * to one measurement. */
static const double KIND_DOUBT = 0.12, WORD_DOUBT = 0.01, KIND_PRIOR = 0.15, WORD_PRIOR = 3;
enum {
  PASSES = 6,          /* of the fit; each pass fits one effect after the other */
  MAX_LEARNED = 256 /* later measurements are ignored: they hardly change the order */
};

int64_t hd_search_share(int64_t n) {
  enum { ONE_IN = 20, MIN_ITEMS = 8, MAX_ITEMS = 64 };
  int64_t share = n / ONE_IN;
  return share > MAX_ITEMS ? MAX_ITEMS : share > MIN_ITEMS ? share : n < MIN_ITEMS ? n : MIN_ITEMS;
}

/* ---- schedules ---- */

static int32_t effect_of(hd_search *s, uint32_t hash, bool is_kind) {
  for (int32_t i = 0; i < s->n_effects; i++)
    if (s->effect[i].hash == hash && s->effect[i].is_kind == is_kind)
      return i;
  hd_search_effect e = {.hash = hash, .is_kind = is_kind};
  HD_PUSH(s->effect, s->n_effects, s->effects_cap, e);
  return s->n_effects - 1;
}

void hd_search_add(hd_search *s, const char *schedule, double predicted) {
  hd_search_item item = {.predicted = predicted, .n_effects = 1};
  uint32_t kind = 0;
  size_t n;
  for (const char *word = schedule; *word; word += n + (word[n] == ' ')) {
    n = strcspn(word, " ");
    uint32_t hash = (uint32_t)hd_hash_bytes(word, n).lo;
    hd_key key = hd_schedule_key_find(word, strcspn(word, "="), NULL);
    if (key < HD_N_KEYS && hd_schedule_keys[key].structural)
      kind = kind * 31 + hash;
    else if (item.n_effects < HD_SEARCH_WORDS)
      item.effect[item.n_effects++] = effect_of(s, hash, false);
  }
  item.effect[0] = effect_of(s, kind, true);
  HD_PUSH(s->list, s->n, s->cap, item);
}

void hd_search_free(hd_search *s) {
  hd_free(s->list);
  hd_free(s->effect);
  hd_free(s->measured);
  *s = (hd_search){0};
}

/* ---- learning ---- */

static double effects(const hd_search *s, const hd_search_item *item) {
  double sum = 0;
  for (int32_t i = 0; i < item->n_effects; i++)
    sum += s->effect[item->effect[i]].effect;
  return sum;
}

/* Sets an effect to the shrunken mean residual of its measurements, given all other effects. */
static void fit_effect(hd_search *s, int32_t which) {
  hd_search_effect *e = &s->effect[which];
  double sum = 0;
  for (size_t m = 0; m < s->n_measured && e->n; m++) {
    const hd_search_item *item = &s->list[s->measured[m]];
    for (int32_t i = 0; i < item->n_effects; i++)
      if (item->effect[i] == which)
        sum += log(item->measured / item->predicted) - s->mean - effects(s, item) + e->effect;
  }
  e->effect = sum / (e->n + (e->is_kind ? KIND_PRIOR : WORD_PRIOR));
}

void hd_search_learn(hd_search *s, size_t index, double seconds) {
  hd_search_item *item = &s->list[index];
  item->measured = seconds;
  if (s->n_measured == MAX_LEARNED)
    return;
  s->mean = (s->mean * (double)s->n_measured + log(seconds / item->predicted)) /
            (double)(s->n_measured + 1);
  HD_PUSH(s->measured, s->n_measured, s->measured_cap, index);
  for (int32_t i = 0; i < item->n_effects; i++)
    s->effect[item->effect[i]].n++;
  for (int pass = 0; pass < PASSES; pass++)
    for (int32_t e = 0; e < s->n_effects; e++)
      if (s->effect[e].n)
        fit_effect(s, e);
}

/* ---- choosing ---- */

double hd_search_promise(const hd_search *s, size_t index) {
  const hd_search_item *item = &s->list[index];
  double doubt = 0;
  for (int32_t i = 0; i < item->n_effects; i++) {
    const hd_search_effect *e = &s->effect[item->effect[i]];
    doubt += e->is_kind ? KIND_DOUBT * sqrt(KIND_PRIOR / (e->n + KIND_PRIOR))
                        : WORD_DOUBT / (1 + e->n);
  }
  return item->predicted * exp(s->mean + effects(s, item) - doubt);
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
  for (int32_t i = 0; i < s->n_effects; i++) {
    hd_search_effect e = {.hash = s->effect[i].hash, .is_kind = s->effect[i].is_kind};
    HD_PUSH(fresh.effect, fresh.n_effects, fresh.effects_cap, e);
  }
  for (size_t i = 0; i < s->n; i++) {
    hd_search_item item = s->list[i];
    item.measured = 0;
    item.taken = false;
    HD_PUSH(fresh.list, fresh.n, fresh.cap, item);
  }
  return fresh;
}
