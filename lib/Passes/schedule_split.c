#include "Passes/schedule_split.h"

#include <string.h>

#include "Passes/schedule_cost.h"
#include "Passes/schedule_fit.h"

enum { SMS = 132, LEAST_SHARED_N = 128 /* a narrower B is too little to share in a cluster */ };

double hd_schedule_seconds(const hd_problem *p, const hd_schedule *s) {
  static const int64_t open_sizes[3] = {0};
  return hd_schedule_cost(p, s, open_sizes, &hd_ceilings_h200).seconds;
}

static int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

static int64_t count_ctas(const hd_problem *p, const hd_schedule *s) {
  return ceil_div(p->m.value, (int64_t)s->tile_m * s->cluster) * s->cluster *
         ceil_div(p->n.value, s->tile_n) * s->split_k;
}

/* The `most` fastest stay, in order; of equals the one that came first. */
typedef struct front {
  hd_schedule *list;
  int32_t n, most;
} front;

static void enter(const hd_problem *p, hd_schedule s, front *f) {
  hd_schedule_spread_warps(&s);
  s.stages = hd_schedule_most_stages(p, &s, hd_schedule_wanted_stages(&s));
  s.pending = hd_schedule_most_pending(p, &s);
  double seconds = hd_schedule_seconds(p, &s);
  int32_t at = f->n;
  while (at > 0 && seconds < hd_schedule_seconds(p, &f->list[at - 1]))
    at--;
  if (at == f->most)
    return;
  f->n += f->n < f->most;
  memmove(f->list + at + 1, f->list + at, sizeof *f->list * (size_t)(f->n - 1 - at));
  f->list[at] = s;
}

static void enter_tile(const hd_problem *p, hd_schedule s, front *f) {
  static const int32_t splits[] = {2, 3, 4, 6, 8, 12, 16};
  int64_t granules = p->k.value ? ceil_div(p->k.value, hd_granule_k(p->a_elem)) : 64;
  bool pairs = s.tile_n >= LEAST_SHARED_N && s.tile_n % (p->b.transposed ? 128 : 16) == 0;
  for (s.cluster = 1; s.cluster <= (pairs ? 2 : 1); s.cluster++)
    for (size_t i = 0; i < HD_COUNT(splits); i++) {
      s.split_k = splits[i];
      if (s.split_k <= granules && count_ctas(p, &s) <= SMS)
        enter(p, s, f);
    }
}

int32_t hd_schedule_splits(const hd_problem *p, const hd_schedule *base, int32_t widest,
                           int32_t unit, hd_schedule *list, int32_t most) {
  static const int32_t heights[] = {128, 64}, widths[] = {256, 192, 128, 96, 64, 48, 32, 16, 8};
  front f = {list, 0, most};
  hd_schedule s = *base;
  if (!p->m.value || !p->n.value)
    return 0;
  for (size_t h = 0; h < HD_COUNT(heights); h++) {
    int32_t last = 0;
    for (size_t w = 0; w < HD_COUNT(widths); w++) {
      s.tile_m = heights[h];
      s.tile_n = widths[w] < widest ? widths[w] : widest;
      s.tile_n -= s.tile_n % unit;
      if (s.tile_n && s.tile_n != last)
        enter_tile(p, s, &f);
      last = s.tile_n;
    }
  }
  return f.n;
}
