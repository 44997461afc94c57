/* All legal schedules of a problem. */
#include <stdio.h>
#include <string.h>

#include "Passes/schedule_fit.h"

enum {
  NARROW_TILE = 64, WIDE_TILE = 128, /* columns; ORDER NARROW: schedule_room */
  USUAL_GROUP = 8
};

static const struct shape {
  int32_t m, n, warps_m, warps_n; /* wgmma: warps_n 1 */
} wgmma_shapes[] = {{64, 0, 4, 1}, {128, 0, 8, 1}, {128, 0, 4, 1}, {256, 0, 8, 1}},
  tcgen05_shapes[] = {{128, 0, 4, 1}},
  mma_shapes[] = {{64, 0, 1, 4},  {64, 0, 2, 2},  {128, 0, 2, 2},
                  {128, 0, 2, 4}, {128, 0, 4, 2}, {256, 0, 4, 2}};

/* Many columns make an exchange, or stores of 16 bytes, worth leaving out. */
static void each_store(const hd_problem *p, hd_schedule s, hd_schedule **list, size_t *n,
                       size_t *cap) {
  static const char *const stores[] = {"quad", "permuted", "staged"};
  s.spread = hd_schedule_wanted_spread(p, &s);
  for (size_t i = 0; i < (s.tile_n >= WIDE_TILE ? HD_COUNT(stores) : 1); i++) {
    snprintf(s.store, sizeof s.store, "%s", stores[i]);
    if (hd_schedule_fits(p, &s))
      HD_PUSH(*list, *n, *cap, s);
  }
}

/* Tiles of an extent, those that share an operand as one; many of one known at launch. */
static int64_t count(const hd_size *size, int32_t tile, bool shared, const hd_schedule *s) {
  int64_t step = (int64_t)tile * (shared ? s->cluster : 1);
  return size->value ? (size->value + step - 1) / step : INT32_MAX;
}

/* Bands order a single column of tiles alike, and so do all that are as high as A: the usual group
 * stands for them. H200: 32 and 64 are no faster than 16 (docs/bench/attempts.csv). */
static bool orders_anew(const hd_problem *p, const hd_schedule *s) {
  bool shares_a = strcmp(s->share, "a") == 0;
  int64_t rows = count(&p->m, s->tile_m, !shares_a, s);
  int32_t least = s->group < USUAL_GROUP ? s->group : USUAL_GROUP;
  return s->group == USUAL_GROUP || (rows > least && count(&p->n, s->tile_n, shares_a, s) > 1);
}

/* Wide tiles are bound by traffic, which the order of k changes. */
static void each_order(const hd_problem *p, hd_schedule s, hd_schedule **list, size_t *n,
                       size_t *cap) {
  static const char *const orders[] = {"forward", "zigzag"}, *const shares[] = {"b", "a"};
  for (size_t i = 0; i < (s.tile_n >= WIDE_TILE ? HD_COUNT(orders) : 1); i++)
    for (size_t j = 0; j < (s.cluster > 1 ? HD_COUNT(shares) : 1); j++) {
      snprintf(s.k_order, sizeof s.k_order, "%s", orders[i]);
      snprintf(s.share, sizeof s.share, "%s", shares[j]);
      if (orders_anew(p, &s))
        each_store(p, s, list, n, cap);
    }
}

static void each_group(const hd_problem *p, hd_schedule s, hd_schedule **list, size_t *n,
                       size_t *cap) {
  for (s.group = 4; s.group <= 16; s.group *= 2)
    for (s.pending = 0; s.pending <= 1; s.pending++)
      each_order(p, s, list, n, cap);
}

/* The deepest rings; of narrow tiles, which A's stream binds, the one that just covers it. */
static void each_depth(const hd_problem *p, hd_schedule s, hd_schedule **list, size_t *n,
                       size_t *cap) {
  bool narrow = s.tile_n <= NARROW_TILE;
  int32_t most = hd_schedule_most_stages(p, &s, narrow ? HD_USUAL_STAGES : 10);
  int32_t covering = hd_schedule_covering_stages(p, &s);
  for (s.stages = most; s.stages >= 2 && s.stages >= most - 2; s.stages--)
    each_group(p, s, list, n, cap);
  if (narrow && covering < most - 2) {
    s.stages = covering;
    each_group(p, s, list, n, cap);
  }
}

static void each_shape(const hd_problem *p, const hd_schedule *first, const struct shape *shape,
                       const char *family, hd_schedule **list, size_t *n, size_t *cap) {
  static const int32_t widths[] = {8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256};
  hd_schedule s = *first;
  bool mma = strcmp(family, "mma") == 0;
  snprintf(s.family, sizeof s.family, "%s", family);
  snprintf(s.b_path, sizeof s.b_path, "auto");
  s.tile_m = shape->m;
  s.warps_m = shape->warps_m;
  s.warps_n = shape->warps_n;
  s.persistent = !mma;
  s.split_k = 1;
  s.stream_k = 0;
  snprintf(s.reduce, sizeof s.reduce, "workspace");
  for (size_t w = 0; w < HD_COUNT(widths); w++)
    for (int reg = mma; reg < 2; reg++)
      for (s.cluster = 1; s.cluster <= (mma ? 1 : 2); s.cluster++)
        for (s.ctas = 1; s.ctas <= (widths[w] <= 32 ? 4 : 3); s.ctas++) {
          s.tile_n = widths[w];
          snprintf(s.a_path, sizeof s.a_path, reg ? "reg" : "desc");
          each_depth(p, s, list, n, cap);
        }
}

void hd_schedule_each(const hd_problem *p, const hd_schedule *first, hd_schedule **list, size_t *n,
                      size_t *cap) {
  if (hd_problem_row(p, "wgmma", 0, false))
    for (size_t i = 0; i < HD_COUNT(wgmma_shapes); i++)
      each_shape(p, first, &wgmma_shapes[i], "wgmma", list, n, cap);
  if (hd_problem_row(p, "tcgen05", 0, false))
    for (size_t i = 0; i < HD_COUNT(tcgen05_shapes); i++)
      each_shape(p, first, &tcgen05_shapes[i], "tcgen05", list, n, cap);
  if (hd_problem_row(p, "mma", 0, true))
    for (size_t i = 0; i < HD_COUNT(mma_shapes); i++)
      each_shape(p, first, &mma_shapes[i], "mma", list, n, cap);
}
