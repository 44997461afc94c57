#include "Passes/schedule_pick.h"

#include <stdio.h>
#include <string.h>

#include "Passes/schedule_cost.h"
#include "Passes/schedule_fit.h"

enum {
  SPLIT_CTAS = 264,     /* splits beyond two for each SM of a large device only add partials */
  LEAST_SHARED_N = 128, /* a narrower B is too little to share in a cluster */
  PAIR_TILES = 528,     /* four waves: from there a pair saves power, below it costs waiting */
  MOST_ELEMENTS = 128 * 256, /* of a tile: larger ones hold too few stages (measured, 256 x 192) */
  USUAL_GRANULES = 64   /* of a k that is known at launch */
};

static double seconds_of(const hd_problem *p, const hd_schedule *s) {
  static const int64_t open_sizes[3] = {0};
  return hd_schedule_cost(p, s, open_sizes, &hd_ceilings_h200).seconds;
}

static int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

static int64_t count_tiles(const hd_problem *p, const hd_schedule *s) {
  return ceil_div(p->m.value, (int64_t)s->tile_m * s->cluster) * s->cluster *
         ceil_div(p->n.value, s->tile_n);
}

/* The `most` fastest stay, in order; of equals the one that came first. */
typedef struct front {
  hd_schedule *list;
  double *seconds;
  int32_t n, most;
} front;

static void enter_one(const hd_problem *p, hd_schedule s, front *f) {
  double seconds = seconds_of(p, &s);
  int32_t at = f->n;
  while (at > 0 && seconds < f->seconds[at - 1])
    at--;
  if (at == f->most)
    return;
  f->n += f->n < f->most;
  size_t behind = (size_t)(f->n - 1 - at);
  memmove(f->list + at + 1, f->list + at, sizeof *f->list * behind);
  memmove(f->seconds + at + 1, f->seconds + at, sizeof *f->seconds * behind);
  f->list[at] = s;
  f->seconds[at] = seconds;
}

static void enter(const hd_problem *p, hd_schedule s, front *f) {
  hd_schedule_spread_warps(&s);
  s.stages = hd_schedule_most_stages(p, &s, hd_schedule_wanted_stages(p, &s));
  s.pending = hd_schedule_most_pending(p, &s);
  s.spread = hd_schedule_wanted_spread(p, &s);
  if (hd_schedule_fits(p, &s))
    enter_one(p, s, f);
  hd_schedule in[2];
  for (int32_t i = 0, n = hd_schedule_in_cluster(p, &s, in); i < n; i++)
    enter_one(p, in[i], f);
}

static bool put_in_cluster(const hd_problem *p, const char *reduce, hd_schedule *s) {
  snprintf(s->reduce, sizeof s->reduce, "%s", reduce);
  s->persistent = 0;
  s->spread = 1;
  s->stages = hd_schedule_most_stages(p, s, s->stages);
  return s->split_k > 1 && hd_schedule_fits(p, s);
}

int32_t hd_schedule_in_cluster(const hd_problem *p, const hd_schedule *s, hd_schedule out[2]) {
  hd_schedule beside = *s, over = *s;
  int32_t n = 0;
  if (put_in_cluster(p, "cluster", &beside))
    out[n++] = beside;
  if (put_in_cluster(p, "ring", &over) && (n == 0 || over.stages > beside.stages))
    out[n++] = over;
  return n;
}

static void enter_streams(const hd_problem *p, hd_schedule s, bool shares, front *f) {
  s.stream_k = 1;
  for (s.cluster = 1; s.cluster <= (shares ? 2 : 1); s.cluster++)
    if (count_tiles(p, &s) % (hd_ceilings_h200.n_sms * s.ctas))
      enter(p, s, f);
}

static void enter_tile(const hd_problem *p, const hd_pick *pick, hd_schedule s, front *f) {
  static const int32_t splits[] = {1, 2, 3, 4, 6, 8, 12, 16};
  int64_t granules = p->k.value ? ceil_div(p->k.value, hd_granule_k(p->a_elem)) : USUAL_GRANULES;
  bool shares = s.tile_n >= LEAST_SHARED_N && s.tile_n % (p->b.transposed ? 128 : 16) == 0;
  if (pick->streams)
    return enter_streams(p, s, shares, f);
  for (s.cluster = 1; s.cluster <= (shares ? 2 : 1); s.cluster++)
    for (size_t i = 0; i < HD_COUNT(splits); i++) {
      int64_t tiles = count_tiles(p, &s);
      s.split_k = splits[i];
      bool pairs = shares && tiles >= PAIR_TILES;
      if (s.split_k >= pick->least_splits && s.split_k <= granules &&
          (s.split_k > 1 ? tiles * s.split_k <= SPLIT_CTAS : pairs == (s.cluster > 1)))
        enter(p, s, f);
    }
}

int32_t hd_schedule_pick(const hd_problem *p, const hd_pick *pick, hd_schedule *list,
                         int32_t most) {
  /* Large first: of equals the larger tile stays. */
  static const int32_t heights[] = {128, 64, 256};
  static const int32_t widths[] = {256, 192, 128, 96, 64, 48, 32, 16, 8};
  enum { MOST = 8 };
  double seconds[MOST];
  front f = {list, seconds, 0, most < MOST ? most : MOST};
  hd_schedule s = *pick->base;
  if (!p->m.value || !p->n.value)
    return 0;
  for (size_t h = 0; h < HD_COUNT(heights); h++) {
    int32_t last = 0;
    for (size_t w = 0; w < HD_COUNT(widths); w++) {
      s.tile_m = heights[h];
      s.tile_n = widths[w] < pick->widest ? widths[w] : pick->widest;
      s.tile_n -= s.tile_n % pick->unit;
      if (s.tile_n && s.tile_n != last && s.tile_m * s.tile_n <= MOST_ELEMENTS)
        enter_tile(p, pick, s, &f);
      last = s.tile_n;
    }
  }
  return f.n;
}
