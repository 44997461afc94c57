#include "Passes/schedule_model.h"

#include <string.h>

enum {
  SMS = 132,             /* of H100 and H200 SXM; where fewer are, waves are more for every tile alike */
  FILL_BYTES = 55,       /* a clock and SM */
  TILE_CLOCKS = 1500,    /* filling the ring, first and last stage */
  STORE_BYTES = 64,      /* a clock and SM */
  ARRIVE_CLOCKS = 2000,  /* the counter's release and acquire, between CTAs */
  PARTIAL_BYTES = 4,     /* of an element */
  MEMORY_BYTES = 2300,   /* a clock, of all SMs */
  L2_BYTES = 50 << 20
};

/* A whole kernel's stage over the port's bound (756 of 576 clocks at 128 x 256, 8192 cubed), and what a
 * multicast to two leaves of B's traffic. */
static const double REACHED = 1.3, MULTICAST = 0.66;

static int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

static double stage_clocks(const hd_problem *p, const hd_schedule *s) {
  int32_t slabs = s->tile_m / HD_SLAB_ROWS;
  double port = REACHED * 2 * slabs * (s->tile_n / 2 + 16);
  double b_bytes = (double)s->tile_n * HD_GRANULE_BYTES;
  double fill = ((double)slabs * hd_block_bytes(p->a_elem) +
                 (s->cluster > 1 ? MULTICAST * b_bytes : b_bytes)) / FILL_BYTES;
  return port > fill ? port : fill;
}

/* CTAs' worth of work. */
static int64_t count_units(const hd_problem *p, const hd_schedule *s) {
  return ceil_div(p->m.value, (int64_t)s->tile_m * s->cluster) * s->cluster *
         ceil_div(p->n.value, s->tile_n) * s->split_k;
}

/* The last arriver writes one partial and reads the others. */
static double reduce_clocks(const hd_schedule *s) {
  double partial = (double)s->tile_m * s->tile_n * PARTIAL_BYTES / STORE_BYTES;
  return s->split_k > 1 ? ARRIVE_CLOCKS + s->split_k * partial : 0;
}

double hd_schedule_clocks(const hd_problem *p, const hd_schedule *s) {
  int64_t k = p->k.value ? p->k.value : 4096;
  int64_t waves = ceil_div(count_units(p, s), SMS);
  double store = (double)s->tile_m * s->tile_n *
                 heddle_elem_get(p->d.elem)->container_bits / 8 / STORE_BYTES;
  double stages = (double)ceil_div(ceil_div(k, hd_granule_k(p->a_elem)), s->split_k);
  return (double)waves * (stages * stage_clocks(p, s) + TILE_CLOCKS + reduce_clocks(s) + store);
}

/* No sooner than memory gives A, which each tile column reads anew when L2 does not hold it: 32.3 us
 * measured at 4096 x 14336 x 16 in two columns, 20.7 us at 8192 x 8192 x 16 in one. What does not bind is
 * not hidden whole: of equals the one with less to do is the faster. */
static double bounded_clocks(const hd_problem *p, const hd_schedule *s) {
  int64_t k = p->k.value ? p->k.value : 4096, columns = ceil_div(p->n.value, s->tile_n);
  double bytes = (double)(ceil_div(p->m.value, HD_SLAB_ROWS) *
                          ceil_div(k, hd_granule_k(p->a_elem)) * hd_block_bytes(p->a_elem));
  double clocks = hd_schedule_clocks(p, s);
  double memory = bytes * (bytes > L2_BYTES ? (double)columns : 1) / MEMORY_BYTES;
  return clocks > memory ? clocks + memory / 10 : memory + clocks / 10;
}

static bool can_pair(const hd_problem *p, const hd_schedule *s) {
  return s->tile_n % (p->b.transposed ? 128 : 16) == 0;
}

/* Two CTAs share B where it can be halved, and where there are four waves of tiles: below, waiting for
 * each other costs what the traffic saves (measured at 4096 x 4096). */
static int32_t most_cluster(const hd_problem *p, const hd_schedule *s) {
  int64_t tiles = ceil_div(p->m.value, s->tile_m) * ceil_div(p->n.value, s->tile_n);
  return tiles >= 4 * SMS && can_pair(p, s) ? 2 : 1;
}

/* Largest first: of equals the larger tile stays. */
static const int32_t heights[] = {128, 64}, widths[] = {256, 192, 128, 96, 64, 48, 32, 16, 8};

/* The i-th tile, no wider than `widest`; false past the last. */
static bool set_tile(hd_schedule *s, size_t i, int32_t widest, int32_t unit) {
  if (i >= HD_COUNT(heights) * HD_COUNT(widths))
    return false;
  int32_t width = widths[i % HD_COUNT(widths)];
  s->tile_m = heights[i / HD_COUNT(widths)];
  s->tile_n = width < widest ? width : widest;
  s->tile_n -= s->tile_n % unit;
  return true;
}

void hd_schedule_pick_tile(const hd_problem *p, int32_t widest, int32_t unit, hd_schedule *s) {
  if (!p->m.value || !p->n.value)
    return;
  hd_schedule best = *s, t = *s, split;
  double least = hd_schedule_clocks(p, s);
  for (size_t i = 0; set_tile(&t, i, widest, unit); i++)
    for (t.cluster = 1; t.tile_n && t.cluster <= most_cluster(p, &t); t.cluster++) {
      double clocks = hd_schedule_clocks(p, &t);
      if (clocks < least * 0.97) {
        least = clocks;
        best = t;
      }
    }
  if (hd_schedule_splits(p, widest, unit, s, &split, 1) &&
      bounded_clocks(p, &split) < bounded_clocks(p, &best) * 0.9)
    best = split;
  *s = best;
}

/* Keeps the `most` fastest, in order. */
static void insert(const hd_problem *p, hd_schedule s, hd_schedule *list, int32_t most, int32_t *n) {
  double clocks = bounded_clocks(p, &s);
  int32_t at = *n;
  while (at > 0 && clocks < bounded_clocks(p, &list[at - 1]))
    at--;
  if (at == most)
    return;
  *n += *n < most;
  memmove(list + at + 1, list + at, sizeof *list * (size_t)(*n - 1 - at));
  list[at] = s;
}

int32_t hd_schedule_splits(const hd_problem *p, int32_t widest, int32_t unit, const hd_schedule *s,
                           hd_schedule *list, int32_t most) {
  static const int32_t splits[] = {2, 3, 4, 6, 8, 12, 16};
  int64_t granules = ceil_div(p->k.value ? p->k.value : 4096, hd_granule_k(p->a_elem));
  int32_t n = 0, last_n = 0;
  hd_schedule t = *s;
  if (!p->m.value || !p->n.value)
    return 0;
  for (size_t i = 0; set_tile(&t, i, widest, unit); i++) {
    if (!t.tile_n || t.tile_n == last_n)
      continue;
    last_n = t.tile_n;
    int32_t most_ctas = can_pair(p, &t) && t.tile_n >= 128 ? 2 : 1; /* B narrower is little to share */
    for (t.cluster = 1; t.cluster <= most_ctas; t.cluster++)
      for (size_t k = 0; k < HD_COUNT(splits); k++) {
        t.split_k = splits[k];
        if (t.split_k <= granules && count_units(p, &t) <= SMS)
          insert(p, t, list, most, &n);
      }
  }
  return n;
}
