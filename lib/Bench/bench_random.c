#include "Bench/bench_random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "Schedule/enumerate.h"
#include "Schedule/resolve.h"
#include "Support/arena.h"
#include "Support/hash.h"

/* ---- problems ---- */

static double uniform(uint64_t *state) {
  return (double)(hd_hash_next(state) >> 11) * 0x1p-53;
}

static double log_uniform(uint64_t *state, double least, double most) {
  return least * pow(most / least, uniform(state));
}

static int64_t round_to(double x, int64_t unit) {
  int64_t n = (int64_t)(x / (double)unit + 0.5) * unit;
  return n < unit ? unit : n;
}

/* Pitches of B are K: most are whole k-blocks or whole 16 bytes, one in eight only the group. */
static int64_t draw_k(uint64_t *state, heddle_elem elem) {
  int64_t group = heddle_elem_get(elem)->group;
  int64_t in_16_bytes = 128 / heddle_elem_get(elem)->container_bits;
  double k = log_uniform(state, 512, 32768), kind = uniform(state);
  return round_to(k, kind < 0.625 ? 128 : kind < 0.875 ? in_16_bytes : group);
}

hd_bench_problem hd_bench_random(uint64_t seed, int64_t index) {
  static const heddle_elem elems[] = {HEDDLE_BF16, HEDDLE_F16, HEDDLE_E4M3, HEDDLE_TF32,
                                      HEDDLE_S8};
  const double most_weights = 0x1p27, most_operands = 0x1p28, most_products = 0x1p40;
  uint64_t state = hd_hash_mix(seed) + hd_hash_mix((uint64_t)index + 1);
  for (;;) {
    hd_bench_problem p = {.elem = elems[(uint64_t)(uniform(&state) * HD_COUNT(elems))]};
    p.m = round_to(log_uniform(&state, 512, 32768), uniform(&state) < 0.75 ? 64 : 8);
    double n = log_uniform(&state, 1, 16384);
    p.n = round_to(n, n < 64 ? 1 : uniform(&state) < 0.75 ? 64 : 8);
    p.k = draw_k(&state, p.elem);
    p.d_elem = heddle_elem_get(p.elem)->d;
    double m = (double)p.m, k = (double)p.k, width = (double)p.n;
    if (m * k <= most_weights && width * (m + k) <= most_operands && m * k * width <= most_products)
      return p;
  }
}

/* ---- schedules ---- */

/* What the list of all legal schedules has not, or what is to be measured by all means. */
static const struct fixed {
  int64_t least_n, most_n;
  int32_t tile_m, tile_n; /* 0: the default's */
  const char *words;
} always[] = {
    {1, 64, 192, 0, "warps=4x1"},
    {1, 64, 320, 0, "warps=4x1"},
    {1, 64, 128, 0, "warps=4x1 ctas_per_sm=2"},
    {1, 64, 64, 0, "ctas_per_sm=2"},
    {1, 64, 64, 0, "stream_k=1"},
    {65, 1023, 128, 128, "cluster=2 k_order=zigzag store=permuted"},
    {65, 1023, 192, 128, "warps=4x1"},
    {65, 1023, 256, 128, "store=staged"},
    {65, 1023, 128, 256, "cluster=2 store=permuted"},
    {1024, INT64_MAX, 128, 256, "cluster=2 k_order=zigzag store=staged raster_group=16 stages=4"},
    {1024, INT64_MAX, 128, 256, "cluster=2 k_order=zigzag store=staged raster_group=16"},
    {1024, INT64_MAX, 128, 256, "cluster=2 k_order=zigzag store=permuted raster_group=8"},
    {1024, INT64_MAX, 128, 256, "cluster=2"},
    {1024, INT64_MAX, 128, 256, "cluster=1 k_order=zigzag store=staged raster_group=16"},
    {1024, INT64_MAX, 256, 128, "cluster=2 k_order=zigzag store=staged raster_group=16"},
    {1024, INT64_MAX, 256, 128, "cluster=2 multicast=a k_order=zigzag store=staged raster_group=8"},
    {1024, INT64_MAX, 256, 192, "cluster=2 k_order=zigzag store=staged raster_group=16"},
    {1024, INT64_MAX, 256, 192, "cluster=1 k_order=zigzag store=quad"},
    {1024, INT64_MAX, 256, 160, "cluster=2 k_order=zigzag store=staged raster_group=16"},
    {1024, INT64_MAX, 128, 256, "cluster=1 stream_k=1"},
};

static bool is_wanted(const hd_device_model *device, const hd_problem *p,
                      const hd_schedule *usual, const struct fixed *f, hd_schedule *s) {
  char words[HD_SCHEDULE_TEXT];
  snprintf(words, sizeof words, "tile=%dx%d %s", f->tile_m ? f->tile_m : usual->tile_m,
           f->tile_n ? f->tile_n : usual->tile_n, f->words);
  return p->n.value >= f->least_n && p->n.value <= f->most_n &&
         hd_schedule_read(NULL, device, p, words, s) == HEDDLE_OK && hd_schedule_fits(p, s);
}

typedef struct draw {
  size_t index;
  double key; /* the larger, the sooner it is taken */
} draw;

static int larger_key(const void *x, const void *y) {
  double a = ((const draw *)x)->key, b = ((const draw *)y)->key;
  return (a < b) - (a > b);
}

/* Without replacement, each with a weight that falls with its predicted time: keys u^(1 / w). */
static draw *draw_all(const hd_device_model *device, const hd_problem *p, const hd_schedule *list,
                      size_t n, uint64_t seed) {
  enum { STEEPNESS = 10 };
  static const int64_t fixed_sizes[3] = {0};
  draw *keys = hd_xmalloc(n * sizeof *keys);
  double least = INFINITY;
  for (size_t i = 0; i < n; i++) {
    keys[i].index = i;
    keys[i].key = hd_schedule_cost(p, &list[i], fixed_sizes, device).seconds;
    least = fmin(least, keys[i].key);
  }
  for (size_t i = 0; i < n; i++)
    keys[i].key = log(uniform(&seed) + 0x1p-60) * pow(keys[i].key / least, STEEPNESS);
  qsort(keys, n, sizeof *keys, larger_key);
  return keys;
}

static void add_once(const hd_schedule *s, hd_schedule *out, int32_t *n) {
  for (int32_t i = 0; i < *n; i++)
    if (hd_schedule_equals(s, &out[i]))
      return;
  out[(*n)++] = *s;
}

int32_t hd_bench_sample(const hd_device_model *device, const hd_problem *p, int32_t most,
                        uint64_t seed, hd_schedule *out) {
  hd_schedule *list;
  size_t n;
  hd_schedule_enumerate(device, p, &list, &n);
  int32_t taken = 0;
  out[taken++] = list[0];
  for (size_t i = 0; i < HD_COUNT(always) && taken < most; i++) {
    hd_schedule s;
    if (is_wanted(device, p, &out[0], &always[i], &s))
      add_once(&s, out, &taken);
  }
  draw *keys = draw_all(device, p, list, n, seed);
  for (size_t i = 0; i < n && taken < most; i++)
    add_once(&list[keys[i].index], out, &taken);
  hd_free(keys);
  hd_free(list);
  return taken;
}
