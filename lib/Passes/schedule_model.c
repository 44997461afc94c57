#include "Passes/schedule_model.h"

enum {
  SMS = 132,             /* of H100 and H200 SXM; where fewer are, waves are more for every tile alike */
  FILL_BYTES = 55,       /* a clock and SM */
  TILE_CLOCKS = 1500,    /* filling the ring, first and last stage */
  STORE_BYTES = 64       /* a clock and SM */
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

double hd_schedule_clocks(const hd_problem *p, const hd_schedule *s) {
  int64_t k = p->k.value ? p->k.value : 4096;
  int64_t units = ceil_div(p->m.value, (int64_t)s->tile_m * s->cluster) *
                  ceil_div(p->n.value, s->tile_n);
  int64_t waves = ceil_div(units * s->cluster, SMS);
  double store = (double)s->tile_m * s->tile_n *
                 heddle_elem_get(p->d.elem)->container_bits / 8 / STORE_BYTES;
  double stages = (double)ceil_div(k, hd_granule_k(p->a_elem));
  return (double)waves * (stages * stage_clocks(p, s) + TILE_CLOCKS + store);
}

/* Two CTAs share B where it can be halved, and where there are four waves of tiles: below, waiting for
 * each other costs what the traffic saves (measured at 4096 x 4096). */
static int32_t most_cluster(const hd_problem *p, const hd_schedule *s) {
  int64_t tiles = ceil_div(p->m.value, s->tile_m) * ceil_div(p->n.value, s->tile_n);
  return tiles >= 4 * SMS && s->tile_n % (p->b.transposed ? 128 : 16) == 0 ? 2 : 1;
}

void hd_schedule_pick_tile(const hd_problem *p, int32_t widest, int32_t unit, hd_schedule *s) {
  /* Largest first: of equals the larger tile stays. */
  static const int32_t heights[] = {128, 64}, widths[] = {256, 192, 128, 96, 64, 48, 32, 16, 8};
  if (!p->m.value || !p->n.value)
    return;
  hd_schedule best = *s;
  double least = hd_schedule_clocks(p, s);
  for (size_t h = 0; h < HD_COUNT(heights); h++)
    for (size_t w = 0; w < HD_COUNT(widths); w++) {
      hd_schedule t = *s;
      t.tile_m = heights[h];
      t.tile_n = widths[w] < widest ? widths[w] : widest;
      t.tile_n -= t.tile_n % unit;
      for (t.cluster = 1; t.tile_n && t.cluster <= most_cluster(p, &t); t.cluster++) {
        double clocks = hd_schedule_clocks(p, &t);
        if (clocks < least * 0.97) {
          least = clocks;
          best = t;
        }
      }
    }
  *s = best;
}
