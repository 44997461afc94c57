#include "Reference/routing.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[HD_N_ROUTINGS] = {"random", "balanced", "zipf", "one", "wild"};
const char hd_routing_list[] = "random, balanced, zipf, one, wild"; /* ORDER ROUTINGS */

const char *hd_routing_name(int routing) {
  return routing >= 0 && routing < HD_N_ROUTINGS ? names[routing] : NULL;
}

heddle_status hd_routing_parse(const char *name, hd_routing *routing) {
  for (int i = 0; i < HD_N_ROUTINGS; i++)
    if (!strcmp(name, names[i])) {
      *routing = (hd_routing)i;
      return HEDDLE_OK;
    }
  return HEDDLE_NOT_FOUND;
}

static uint64_t draw(uint64_t *state) { /* splitmix64 */
  uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static int64_t below(uint64_t *state, int64_t n) { return (int64_t)(draw(state) % (uint64_t)n); }

static int by_value(const void *x, const void *y) {
  int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;
  return (a > b) - (a < b);
}

/* One offset in four repeats the previous one, which makes an empty group. */
static void fill_random(uint64_t *state, int64_t g, int64_t n, int32_t *offsets) {
  const bool whole = below(state, 2) == 0;
  for (int64_t i = 0; i <= g; i++)
    offsets[i] = i && below(state, 4) == 0 ? offsets[i - 1] : (int32_t)below(state, n + 1);
  qsort(offsets, (size_t)g + 1, sizeof *offsets, by_value);
  if (whole) {
    offsets[0] = 0;
    offsets[g] = (int32_t)n;
  }
}

/* Assigns the sizes to groups in a seeded order. The largest group also gets the remainder. */
static void fill_zipf(uint64_t *state, int64_t g, int64_t n, int32_t *offsets) {
  double sum = 0;
  int64_t left = n;
  for (int64_t i = 0; i < g; i++) {
    offsets[i + 1] = 0;
    sum += 1 / (double)(i + 1);
  }
  for (int64_t i = g; i-- > 0;) {
    int64_t size = i ? (int64_t)((double)n / sum / (double)(i + 1)) : left, at = below(state, g);
    while (offsets[at + 1])
      at = (at + 1) % g;
    offsets[at + 1] = (int32_t)size + 1; /* taken */
    left -= size;
  }
  offsets[0] = 0;
  for (int64_t i = 0; i < g; i++)
    offsets[i + 1] += offsets[i] - 1;
}

/* After an offset >= n all groups are empty, so large offsets are rare, except for the last. */
static void fill_wild(uint64_t *state, int64_t g, int64_t n, int32_t *offsets) {
  for (int64_t i = 0; i <= g; i++) {
    const int64_t low[] = {INT32_MIN, -1, 0, n / 2}, high[] = {n, n + 1, INT32_MAX};
    int64_t inside = below(state, n + 1), kind = below(state, 8);
    bool is_high = i == g ? kind < 4 : kind == 7 && below(state, 4) == 0;
    offsets[i] = (int32_t)(is_high    ? high[below(state, 3)]
                           : kind < 3 ? low[below(state, 4)]
                                      : inside);
  }
}

static uint64_t stream(hd_routing routing, uint64_t seed) {
  return seed * UINT64_C(0xd1342543de82ef95) + (uint64_t)routing;
}

void hd_routing_fill(hd_routing routing, uint64_t seed, int64_t g, int64_t n, int32_t *offsets) {
  uint64_t state = stream(routing, seed);
  if (routing == HD_ROUTING_RANDOM)
    fill_random(&state, g, n, offsets);
  else if (routing == HD_ROUTING_ZIPF)
    fill_zipf(&state, g, n, offsets);
  else if (routing == HD_ROUTING_WILD)
    fill_wild(&state, g, n, offsets);
  else
    for (int64_t i = 0, one = below(&state, g); i <= g; i++)
      offsets[i] = (int32_t)(routing == HD_ROUTING_ONE ? i > one ? n : 0 : n * i / g);
}

/* Makes one index in four out of range. */
static void lose_some(uint64_t *state, int64_t n, int64_t n_indices, int32_t *index) {
  const int64_t none[] = {INT32_MIN, -1, n, INT32_MAX};
  for (int64_t i = 0; i < n_indices; i++)
    if (below(state, 4) == 0)
      index[i] = (int32_t)none[below(state, 4)];
}

void hd_routing_gather(hd_routing routing, uint64_t seed, int64_t n, int64_t t, int32_t *index) {
  uint64_t state = stream(routing, seed) + 1;
  for (int64_t i = 0; i < n; i++)
    index[i] = (int32_t)below(&state, t);
  if (routing == HD_ROUTING_WILD)
    lose_some(&state, t, n, index);
}

/* A random permutation of 0 to n_indices - 1. Numbers >= n are replaced by -1. */
static void shuffle(uint64_t *state, int64_t n, int64_t n_indices, int32_t *index) {
  for (int64_t i = 0; i < n_indices; i++) {
    int64_t at = below(state, i + 1);
    index[i] = index[at];
    index[at] = i < n ? (int32_t)i : -1;
  }
}

void hd_routing_combine(hd_routing routing, uint64_t seed, int64_t n, int64_t n_indices,
                        int32_t *index) {
  uint64_t state = stream(routing, seed) + 3;
  shuffle(&state, n, n_indices, index);
  for (int64_t i = 0; routing == HD_ROUTING_WILD && n > 0 && i < n_indices; i++)
    index[i] = (int32_t)below(&state, n);
  if (routing == HD_ROUTING_WILD)
    lose_some(&state, n, n_indices, index);
}

void hd_routing_scatter(hd_routing routing, uint64_t seed, int64_t n, int32_t *index) {
  uint64_t state = stream(routing, seed) + 2;
  shuffle(&state, n, n, index);
  if (routing == HD_ROUTING_WILD)
    lose_some(&state, n, n, index);
}

void hd_routing_columns(const int32_t *offsets, int64_t i, int64_t n, int64_t *first,
                        int64_t *end) {
  int64_t at = 0;
  for (int64_t j = 0; j <= i + 1; j++) {
    *first = at;
    at = offsets[j] > at ? offsets[j] : at;
    at = at > n ? n : at;
  }
  *end = at;
}
