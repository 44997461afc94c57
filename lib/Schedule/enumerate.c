#include "Schedule/enumerate.h"

#include <string.h>

#include "Schedule/cost.h"
#include "Schedule/heuristic.h"
#include "Schedule/legality.h"
#include "Schedule/variants.h"
#include "Support/arena.h"

enum {
  NARROW_TILE = 64, WIDE_TILE = 128, /* columns; ORDER NARROW: resources */
  USUAL_GROUP = 8,
  MAX_PICKED = 8 /* split-K schedules, and stream-K schedules */
};

typedef struct schedules {
  const hd_device_model *device;
  hd_schedule *list; /* owned */
  size_t n, cap;
} schedules;

static const struct shape {
  int32_t m, n, warps_m, warps_n; /* wgmma: warps_n 1 */
} wgmma_shapes[] = {{64, 0, 4, 1}, {128, 0, 8, 1}, {128, 0, 4, 1}, {256, 0, 8, 1}},
  tcgen05_shapes[] = {{128, 0, 4, 1}},
  mma_shapes[] = {{64, 0, 1, 4},  {64, 0, 2, 2},  {128, 0, 2, 2},
                  {128, 0, 2, 4}, {128, 0, 4, 2}, {256, 0, 4, 2}};

/* In wide tiles, avoiding the exchange between lanes, or the stores of 16 bytes, can pay off. */
static const hd_store stores[] = {HD_STORE_QUAD, HD_STORE_PERMUTED, HD_STORE_STAGED};

static size_t count_stores(const hd_schedule *s) {
  return s->tile_n >= WIDE_TILE ? HD_COUNT(stores) : 1;
}

static void each_store(const hd_problem *p, hd_schedule s, schedules *out) {
  s.cluster_launch = hd_schedule_wanted_cluster_launch(out->device, p, &s);
  for (size_t i = 0; i < count_stores(&s); i++) {
    s.store = stores[i];
    if (hd_schedule_fits(p, &s))
      HD_PUSH(out->list, out->n, out->cap, s);
  }
}

/* Tiles along an extent. A cluster that shares an operand counts as one tile, and an extent that is
 * known only at launch counts as INT32_MAX tiles. */
static int64_t count(const hd_size *size, int32_t tile, bool shared, const hd_schedule *s) {
  int64_t step = (int64_t)tile * (shared ? s->cluster : 1);
  return size->value ? (size->value + step - 1) / step : INT32_MAX;
}

/* Whether this raster group yields a new order. All groups order a single column of tiles alike, as
 * do groups of at least the height of A: USUAL_GROUP represents them. On an H200, groups of 32 and
 * 64 are no faster than 16 (docs/bench/attempts.csv). */
static bool orders_anew(const hd_problem *p, const hd_schedule *s) {
  bool shares_a = s->multicast == HD_MULTICAST_A;
  int64_t rows = count(&p->m, s->tile_m, !shares_a, s);
  int32_t least = s->raster_group < USUAL_GROUP ? s->raster_group : USUAL_GROUP;
  return s->raster_group == USUAL_GROUP ||
         (rows > least && count(&p->n, s->tile_n, shares_a, s) > 1);
}

/* Memory traffic limits wide tiles, and the order of k changes it. */
static void each_order(const hd_problem *p, hd_schedule s, schedules *out) {
  static const hd_k_order orders[] = {HD_K_FORWARD, HD_K_ZIGZAG};
  static const hd_multicast shares[] = {HD_MULTICAST_B, HD_MULTICAST_A};
  for (size_t i = 0; i < (s.tile_n >= WIDE_TILE ? HD_COUNT(orders) : 1); i++)
    for (size_t j = 0; j < (s.cluster > 1 ? HD_COUNT(shares) : 1); j++) {
      s.k_order = orders[i];
      s.multicast = shares[j];
      if (orders_anew(p, &s))
        each_store(p, s, out);
    }
}

static void each_group(const hd_problem *p, hd_schedule s, schedules *out) {
  for (s.raster_group = 4; s.raster_group <= 16; s.raster_group *= 2)
    for (s.wgmma_in_flight = 0; s.wgmma_in_flight <= 1; s.wgmma_in_flight++)
      each_order(p, s, out);
}

/* The three deepest rings. For narrow tiles, where the loads of A are the bottleneck, also the
 * rings that just cover the latency, of A and of A and B together. */
static void each_depth(const hd_problem *p, hd_schedule s, schedules *out) {
  bool narrow = s.tile_n <= NARROW_TILE;
  int32_t most = hd_schedule_most_stages(p, &s, narrow ? HD_USUAL_STAGES : 10);
  int32_t covering = hd_schedule_covering_stages(p, &s);
  int32_t shallow = hd_schedule_shallow_stages(p, &s);
  for (s.stages = most; s.stages >= 2 && s.stages >= most - 2; s.stages--)
    each_group(p, s, out);
  if (narrow && covering < most - 2) {
    s.stages = covering;
    each_group(p, s, out);
  }
  if (narrow && shallow < most - 2 && shallow < covering) {
    s.stages = shallow;
    each_group(p, s, out);
  }
}

static const int32_t usual_widths[] = {8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256};
enum {
  MOST_WIDTHS = HD_COUNT(usual_widths) + HD_MOST_EVEN_WIDTHS,
  WIDEST = 256
};

/* The usual ones, and those that divide N evenly. */
static size_t list_widths(const hd_problem *p, const struct shape *shape, hd_family family,
                          int32_t widths[MOST_WIDTHS]) {
  size_t n = HD_COUNT(usual_widths);
  memcpy(widths, usual_widths, sizeof usual_widths);
  if (family == HD_FAMILY_WGMMA_SP && shape->m >= HD_EVEN_HEIGHT)
    n += (size_t)hd_schedule_even_widths(p, WIDEST, widths + n);
  for (size_t i = HD_COUNT(usual_widths); i < n; i++)
    if (widths[i] % 32 == 0) /* that is a usual one */
      widths[i--] = widths[--n];
  return n;
}

static void each_shape(const hd_problem *p, const hd_schedule *first, const struct shape *shape,
                       hd_family family, schedules *out) {
  int32_t widths[MOST_WIDTHS];
  size_t n_widths = list_widths(p, shape, family, widths);
  hd_schedule s = *first;
  bool mma = family == HD_FAMILY_MMA_SP;
  s.family = family;
  s.tile_m = shape->m;
  s.warps_m = shape->warps_m;
  s.warps_n = shape->warps_n;
  s.persistent = !mma;
  s.split_k = 1;
  s.stream_k = 0;
  s.reduce = HD_REDUCE_WORKSPACE;
  for (size_t w = 0; w < n_widths; w++)
    for (int reg = mma; reg < 2; reg++)
      for (s.cluster = 1; s.cluster <= (mma ? 1 : 2); s.cluster++)
        for (s.ctas_per_sm = 1; s.ctas_per_sm <= (widths[w] <= 32 ? 4 : 3); s.ctas_per_sm++) {
          s.tile_n = widths[w];
          s.a_path = reg ? HD_A_REG : HD_A_DESC;
          each_depth(p, s, out);
        }
}

static void each_family(const hd_problem *p, const hd_schedule *first, schedules *out) {
  if (hd_problem_has(p, HD_FAMILY_WGMMA_SP))
    for (size_t i = 0; i < HD_COUNT(wgmma_shapes); i++)
      each_shape(p, first, &wgmma_shapes[i], HD_FAMILY_WGMMA_SP, out);
  if (hd_problem_has(p, HD_FAMILY_TCGEN05_SP))
    for (size_t i = 0; i < HD_COUNT(tcgen05_shapes); i++)
      each_shape(p, first, &tcgen05_shapes[i], HD_FAMILY_TCGEN05_SP, out);
  if (hd_problem_has(p, HD_FAMILY_MMA_SP))
    for (size_t i = 0; i < HD_COUNT(mma_shapes); i++)
      each_shape(p, first, &mma_shapes[i], HD_FAMILY_MMA_SP, out);
}

/* A split in a cluster can occur twice: picked directly, and derived from a workspace split. */
static void push_once(hd_schedule s, schedules *out) {
  for (size_t i = out->n; i-- > 0 && hd_schedule_shares_tiles(&out->list[i]);)
    if (hd_schedule_equals(&out->list[i], &s))
      return;
  HD_PUSH(out->list, out->n, out->cap, s);
}

/* The given and the maximum depth, as many small stages are needed to cover the memory latency. If
 * the maximum exceeds HD_USUAL_STAGES, also halfway (H200, e4m3 4096 x 14336, N = 1,
 * `weights_ready`: 28 stages gain 4 %, docs/bench/attempts.csv, run 17). For wide tiles also stores
 * without lane exchange (e4m3 4096 x 4096, N = 256, in a cluster: 1.5 %, run 11). */
static void push_ways(const hd_problem *p, hd_schedule s, schedules *out) {
  int32_t most = hd_schedule_most_stages(p, &s, HD_MOST_STAGES);
  int32_t depth[] = {s.stages, most, (s.stages + most) / 2};
  for (size_t i = 0; i < count_stores(&s); i++)
    for (size_t j = 0; j < (most > HD_USUAL_STAGES ? 3 : 2); j++) {
      s.store = stores[i];
      s.stages = depth[j];
      if (hd_schedule_fits(p, &s))
        push_once(s, out);
    }
}

/* The stream-K schedules with the shortest predicted time: CTAs share the last waves over k. */
static void each_stream(const hd_problem *p, schedules *out) {
  hd_ranked_schedule found[MAX_PICKED];
  hd_pick pick = {.device = out->device, .least_splits = 1, .streams = true};
  int32_t n_found = hd_schedule_pick(p, &pick, found, MAX_PICKED);
  for (int32_t i = 0; i < n_found; i++)
    push_ways(p, found[i].schedule, out);
}

/* Schedules that split k, if the tiles do not fill the SMs; each also in a cluster. */
static void each_split(const hd_problem *p, schedules *out) {
  hd_ranked_schedule found[MAX_PICKED];
  hd_pick pick = {.device = out->device, .least_splits = 2};
  int32_t n_found = hd_schedule_pick(p, &pick, found, MAX_PICKED);
  for (int32_t i = 0; i < n_found; i++) {
    hd_schedule in[2], split = found[i].schedule;
    push_ways(p, split, out);
    int32_t n_in = hd_schedule_along_k(&split) > 1 ? 0 : hd_schedule_in_cluster(p, &split, in);
    for (int32_t j = 0; j < n_in; j++)
      push_ways(p, in[j], out);
  }
}

/* Where a copy of B may save time, the schedules with and without it. */
static void each_path(const hd_problem *p, hd_schedule s, schedules *out) {
  static const hd_b_path paths[] = {HD_B_AUTO, HD_B_COPIED};
  for (size_t i = 0; i < (hd_copy_serves(p) ? HD_COUNT(paths) : 1); i++) {
    s.b_path = paths[i];
    each_family(p, &s, out);
  }
}

void hd_schedule_enumerate(const hd_device_model *device, const hd_problem *p, hd_schedule **list,
                           size_t *n) {
  hd_schedule first = hd_schedule_default(device, p);
  schedules out = {.device = device};
  HD_PUSH(out.list, out.n, out.cap, first);
  each_path(p, first, &out);
  each_split(p, &out);
  each_stream(p, &out);
  *list = out.list;
  *n = out.n;
}
