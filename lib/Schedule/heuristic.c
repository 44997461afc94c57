#include "Schedule/heuristic.h"

#include <string.h>

#include "Schedule/cost.h"
#include "Schedule/legality.h"
#include "Schedule/variants.h"

enum {
  SPLIT_CTAS = 264,     /* with more than two CTAs per SM, splits only add partial sums */
  MIN_SHARED_N = 128,   /* multicast in a cluster does not pay off for a narrower B */
  MIN_STRADDLING_N = 32, /* the same if B's rows straddle sectors of L2 */
  MAX_ELEMENTS = 128 * 256, /* per tile: larger tiles leave too few stages if N is small */
  MMA_ELEMENTS = 128 * 128, /* per tile of mma.sp */
  LARGE_ELEMENTS = 256 * 192, /* the same under the power cap: this tile moves the fewest bytes */
  MAX_CTAS = 3,          /* per SM */
  FEW_COPIED = 32,       /* columns up to which B is not copied */
  NARROW_STORE = 64,     /* columns of a tile below which the stores of D are negligible */
  WIDE_STORE = 96,       /* columns of a tile from which a tensor map stores D faster */
  LARGE_N = 1024,        /* columns from which the power cap limits a launch */
  USUAL_K = 4096,
  USUAL_K_BLOCKS = 64   /* of a k that is known only at launch */
};

/* ---- the default without the cost model ---- */

/* Products of a batch or groups; 1 if the launch gives their number. */
static int64_t batch_of(const hd_problem *p) {
  return p->g.value ? p->g.value : hd_is_grouped(p) ? hd_most_groups(p) : 1;
}

int32_t hd_schedule_wanted_cluster_launch(const hd_device_model *device, const hd_problem *p,
                                          const hd_schedule *s) {
  enum { CTAS = 4 }; /* two CTAs do not help, eight help less */
  bool ahead = hd_op_has(p->kernel, HD_ATTR_WEIGHTS_READY);
  if (!ahead || !hd_schedule_may_cluster_launch(s) || s->ctas_per_sm > 1 || !p->m.value ||
      !p->n.value)
    return 1;
  int64_t rows = (p->m.value + s->tile_m - 1) / s->tile_m;
  int64_t ctas = rows * ((p->n.value + s->tile_n - 1) / s->tile_n) * batch_of(p);
  return ctas >= CTAS && ctas <= device->n_sms_of_fours ? CTAS : 1;
}

static int64_t extent(const hd_size *size) { return size->value ? size->value : size->max; }

static int32_t round_up(int64_t x, int32_t unit) { return (int32_t)((x + unit - 1) / unit * unit); }

/* The tile's n, no wider than a known N. For a transposed B, a width above 128 becomes a power of
 * two, so that a row divides evenly among the threads that gather it. */
static int32_t default_tile_n(const hd_problem *p, int32_t widest, int32_t unit) {
  int64_t n = extent(&p->n);
  int32_t tile = n && n < widest ? round_up(n, unit) : widest;
  return p->b.transposed && tile > 128 ? 256 < widest ? 256 : widest : tile;
}

/* The tile's n in wgmma is a multiple of this. */
static int32_t wgmma_unit(const hd_problem *p) {
  return p->b.transposed ? 64 : heddle_elem_get(p->a_elem)->kind == HEDDLE_FLOAT ? 8 : 16;
}

static void default_wgmma(const hd_problem *p, hd_schedule *s) {
  int32_t unit = wgmma_unit(p);
  int32_t height = p->reduce ? hd_reduce_rows(p) : 128;
  bool half = hd_scales_promoted(p) ||          /* two accumulators */
              (p->aux_of && height > HD_REDUCE_ROWS); /* two strips per warp */
  int32_t most = half ? MAX_ELEMENTS / 2 : MAX_ELEMENTS;
  s->tile_n = default_tile_n(p, most / height, unit);
  s->tile_m = p->m.value && p->m.value <= 64 && !p->reduce ? 64 : height;
  int64_t tiles = (extent(&p->m) + s->tile_m - 1) / s->tile_m *
                  ((extent(&p->n) + s->tile_n - 1) / s->tile_n) * batch_of(p);
  /* Multicast pays off with many tiles (from about four waves of 132 SMs). */
  s->cluster = s->tile_n == 256 && tiles >= 4 * 132 && !p->gather ? 2 : 1;
  s->persistent = 1;
  s->family = HD_FAMILY_WGMMA_SP;
}

static void default_tcgen05(const hd_problem *p, hd_schedule *s) {
  int32_t widest = p->reduce && p->c.op ? HD_STATISTIC_C : 256;
  s->tile_n = default_tile_n(p, widest, p->b.transposed || p->block ? 64 : p->reduce ? 32 : 16);
  s->tile_m = 128;
  s->persistent = 1;
  s->family = HD_FAMILY_TCGEN05_SP;
}

static void default_mma(const hd_problem *p, hd_schedule *s) {
  bool small = hd_problem_is_emulated(p);
  int32_t unit = p->b.transposed ? 64 : 32;
  int32_t height = p->reduce ? hd_reduce_rows(p) : 128;
  s->tile_n = default_tile_n(p, small ? unit : MMA_ELEMENTS / height, unit);
  s->tile_n = s->tile_n == 96 ? 128 : s->tile_n;
  s->tile_m = !p->reduce && (small || (p->m.value && p->m.value <= 64)) ? 64 : height;
  s->persistent = hd_is_grouped(p); /* a launch plan cannot count the tiles of groups */
  s->family = HD_FAMILY_MMA_SP;
  s->a_path = HD_A_REG;
}

hd_schedule hd_schedule_default_of(const hd_device_model *device, const hd_problem *p,
                                   hd_family family) {
  enum { EMULATED_WARPS = 8 };
  hd_schedule s = hd_schedule_initial;
  s.tile_k = hd_k_block_size(p->a_elem);
  if (family == HD_FAMILY_WGMMA_SP)
    default_wgmma(p, &s);
  else if (family == HD_FAMILY_TCGEN05_SP)
    default_tcgen05(p, &s);
  else
    default_mma(p, &s);
  hd_schedule_default_warps(&s);
  if (hd_schedule_is_mma(&s) && p->reduce && hd_problem_is_emulated(p))
    s.warps_m = EMULATED_WARPS; /* the default warps of these tiles spill */
  s.stages = hd_schedule_most_stages(p, &s, hd_schedule_wanted_stages(p, &s));
  s.wgmma_in_flight = hd_schedule_most_in_flight(p, &s);
  s.cluster_launch = hd_schedule_wanted_cluster_launch(device, p, &s);
  return s;
}

/* ---- the schedules with the shortest predicted time ---- */

static const double PAIR_PRODUCTS = 2e10;

static int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

static int64_t count_tiles(const hd_problem *p, const hd_schedule *s) {
  return ceil_div(p->m.value, (int64_t)s->tile_m * s->cluster) * s->cluster *
         ceil_div(p->n.value, s->tile_n) * batch_of(p);
}

/* Keeps the `most` fastest schedules, in order. Equal times keep the order of entry. */
typedef struct front {
  const hd_device_model *device;
  const hd_problem *launched; /* schedules must also be legal for this problem; may be NULL */
  const hd_problem *whole; /* the problem with the columns of all groups */
  hd_ranked_schedule *list;
  int32_t n, most;
  int32_t n_tried;
  double doubt; /* 1, or more if the model is less certain */
} front;

static void enter_one(hd_schedule s, front *f) {
  static const int64_t fixed_sizes[3] = {0};
  if (f->launched && !hd_schedule_fits(f->launched, &s))
    return;
  double seconds = hd_schedule_cost(f->whole, &s, fixed_sizes, f->device).seconds * f->doubt;
  int32_t at = f->n, order = f->n_tried++;
  while (at > 0 && seconds < f->list[at - 1].seconds)
    at--;
  if (at == f->most)
    return;
  f->n += f->n < f->most;
  memmove(f->list + at + 1, f->list + at, sizeof *f->list * (size_t)(f->n - 1 - at));
  f->list[at] = (hd_ranked_schedule){s, seconds, order};
}

static bool is_large(const hd_problem *p) { return p->n.value >= LARGE_N; }

/* For many columns the power cap is the limit. Moving fewer bytes, or overlapping the copies with
 * the MMAs, saves power: stores through a tensor map and, for a cluster of two, zigzag order of k
 * and a larger raster group (H200, docs/bench/sweep.md). */
static void save_power(const hd_problem *p, const hd_problem *whole, hd_schedule *s) {
  hd_schedule saving = *s;
  if (!is_large(whole) || s->tile_n < MIN_SHARED_N || s->split_k > 1 || s->stream_k)
    return;
  saving.store = HD_STORE_STAGED;
  if (s->cluster > 1 && !hd_is_grouped(p)) { /* with groups, the next tile may need another A */
    saving.k_order = HD_K_ZIGZAG;
    saving.raster_group = 16;
  }
  saving.stages = hd_schedule_most_stages(p, &saving, s->stages);
  if (saving.stages + 1 >= s->stages && hd_schedule_fits(p, &saving))
    *s = saving;
}

/* Stores through a tensor map write complete lines, also if the rows of D are no multiple of one,
 * and take few instructions: 2.8 % less time in the mean of 34 random problems with N from 100 to
 * 1000, at most 12 % less and 1.8 % more (H200, docs/bench/random.md). */
static void store_whole_lines(const hd_problem *p, hd_schedule *s) {
  enum { LINE = 128 };
  int64_t row = p->d.transposed ? p->m.value / hd_rows_of_d(p) : p->n.value;
  bool partial = row * heddle_elem_get(p->d.elem)->container_bits / 8 % LINE != 0;
  hd_schedule staged = *s;
  if (s->tile_n < (partial ? NARROW_STORE : WIDE_STORE) || s->store != HD_STORE_QUAD || s->stream_k)
    return;
  staged.store = HD_STORE_STAGED;
  staged.stages = hd_schedule_most_stages(p, &staged, s->stages);
  if (staged.stages + 1 >= s->stages && hd_schedule_fits(p, &staged))
    *s = staged;
}

/* If CTAs share an SM, a thread needs registers for addresses, fragments and the epilogue besides
 * its accumulators. With fewer, kernels of some types or operand paths of B spill. */
static bool leaves_registers(const hd_problem *p, const hd_schedule *s) {
  enum { BESIDE = 64 };
  int32_t each = (int32_t)p->target->registers_per_sm / (s->ctas_per_sm * hd_schedule_threads(s));
  return s->ctas_per_sm == 1 || hd_schedule_accumulators(p, s) + BESIDE <= each;
}

static void enter(const hd_problem *p, hd_schedule s, front *f) {
  hd_schedule_default_warps(&s);
  if (!leaves_registers(p, &s))
    return;
  s.stages = hd_schedule_most_stages(p, &s, hd_schedule_wanted_stages(p, &s));
  s.wgmma_in_flight = hd_schedule_most_in_flight(p, &s);
  s.cluster_launch = hd_schedule_wanted_cluster_launch(f->device, p, &s);
  save_power(p, f->whole, &s);
  store_whole_lines(p, &s);
  if (hd_schedule_fits(p, &s))
    enter_one(s, f);
  hd_schedule in[2];
  for (int32_t i = 0, n = hd_schedule_in_cluster(p, &s, in); i < n; i++) {
    store_whole_lines(p, &in[i]);
    enter_one(in[i], f);
  }
}

static bool put_in_cluster(const hd_problem *p, hd_reduce reduce, hd_schedule *s) {
  s->reduce = reduce;
  s->persistent = 0;
  s->cluster_launch = 1;
  s->stages = hd_schedule_most_stages(p, s, s->stages);
  return s->split_k > 1 && hd_schedule_fits(p, s);
}

int32_t hd_schedule_in_cluster(const hd_problem *p, const hd_schedule *s, hd_schedule out[2]) {
  hd_schedule beside = *s, over = *s;
  int32_t n = 0;
  if (put_in_cluster(p, HD_REDUCE_CLUSTER, &beside))
    out[n++] = beside;
  if (put_in_cluster(p, HD_REDUCE_RING, &over) && (n == 0 || over.stages > beside.stages))
    out[n++] = over;
  return n;
}

/* Whether clusters of two would compute over a tenth more rows than single CTAs. Elements of four
 * bytes take as long either way (H200, docs/bench/sweep.md). */
static bool pads_pairs(const hd_problem *p, const hd_schedule *s) {
  enum { WORD = 4, FEW = 10 };
  int64_t rows = ceil_div(p->m.value, s->tile_m);
  return rows % 2 && rows < FEW && heddle_elem_get(p->b.elem)->container_bits < 8 * WORD;
}

/* A cluster of two waits more and saves power. For many columns it pays off if the launch is long
 * enough to reach the power cap, which depends on its work and not on its waves. For fewer columns,
 * at most one tile per SM, or a few rows of tiles that are no multiple of two, the model decides
 * whether the reduced traffic of B outweighs the waits. */
static bool may_have(const hd_device_model *device, const hd_problem *p, const hd_schedule *s) {
  double products = (double)batch_of(p) * (double)p->m.value * (double)p->n.value *
                    (double)(p->k.value ? p->k.value : USUAL_K);
  return hd_is_grouped(p) || !is_large(p) || count_tiles(p, s) <= device->n_sms ||
         pads_pairs(p, s) || (s->cluster > 1) == (products >= PAIR_PRODUCTS);
}

static void enter_tile(const hd_problem *p, const hd_pick *pick, hd_schedule s, front *f) {
  static const int32_t splits[] = {1, 2, 3, 4, 6, 8, 12, 16};
  int64_t k_blocks = p->k.value ? ceil_div(p->k.value, hd_k_block_size(p->a_elem)) : USUAL_K_BLOCKS;
  int32_t least = hd_straddles_sectors(p) && !hd_is_grouped(p) ? MIN_STRADDLING_N : MIN_SHARED_N;
  bool shares = !hd_schedule_gathers(p, &s) && s.tile_n >= least &&
                s.tile_n % (p->b.transposed ? 128 : 16) == 0;
  if (pick->streams) {
    s.stream_k = 1;
    for (s.cluster = 1; s.cluster <= (shares ? 2 : 1); s.cluster++)
      if (count_tiles(p, &s) % (f->device->n_sms * s.ctas_per_sm))
        enter(p, s, f);
    return;
  }
  for (s.cluster = 1; s.cluster <= (shares ? 2 : 1); s.cluster++)
    for (size_t i = 0; i < HD_COUNT(splits); i++) {
      int64_t tiles = count_tiles(p, &s);
      s.split_k = splits[i];
      if (s.split_k >= pick->least_splits && s.split_k <= k_blocks &&
          (s.split_k > 1 ? tiles * s.split_k <= SPLIT_CTAS
                         : !shares || may_have(f->device, p, &s)))
        enter(p, s, f);
    }
}

/* Whether the model may choose a copy of B. For few columns gathers are faster than it expects; for
 * few and for many, so is TMA of rows that straddle sectors (docs/bench/copied.md, sweep.md). No
 * copy if N is known only at launch: in a kernel for many sizes, CTAs may share the tiles of some
 * bucket over k, and b=copied cannot be combined with that. */
static bool may_copy(const hd_problem *p, const hd_pick *pick) {
  enum { LEAST_STRADDLING = 65, MOST_STRADDLING = 512 };
  int64_t n = (pick->launched ? pick->launched : p)->n.value;
  bool slow = hd_straddles_sectors(p) && !hd_is_grouped(p) && n >= LEAST_STRADDLING &&
              n <= MOST_STRADDLING;
  bool lacks = hd_lacks_map(p) && (hd_is_grouped(p) || n > FEW_COPIED);
  return (slow || lacks) && !p->combine && !pick->streams;
}

static void enter_paths(const hd_problem *p, const hd_pick *pick, hd_schedule s, front *f) {
  enter_tile(p, pick, s, f);
  s.b_path = HD_B_COPIED;
  if (may_copy(p, pick))
    enter_tile(p, pick, s, f);
}

int32_t hd_schedule_even_widths(const hd_problem *p, int32_t widest,
                                int32_t out[HD_MOST_EVEN_WIDTHS]) {
  int32_t n = 0, unit = wgmma_unit(p);
  for (int32_t tiles = 2; tiles <= HD_MOST_EVEN_WIDTHS + 1 && !p->b.transposed; tiles++) {
    int32_t width = round_up(ceil_div(p->n.value, tiles), unit);
    if (width >= MIN_SHARED_N && width < widest)
      out[n++] = width;
  }
  return n;
}

/* Factor of the predicted time of a width that the model was not fitted to. From LARGE_N columns
 * those that no cluster can share take longer than predicted (H200, docs/bench/sweep.md). */
static double doubt_of(const hd_problem *whole, int32_t width) {
  enum { SHARED = 16 };
  return is_large(whole) && width % SHARED ? 1.08 : 1.03;
}

/* Widths of tiles to try, the largest first. Of equal times the first one wins. */
typedef struct tile_widths {
  int32_t list[24], n;
  int32_t n_usual;
} tile_widths;

static void add_width(tile_widths *w, int32_t width) {
  for (int32_t i = 0; i < w->n; i++)
    if (w->list[i] == width)
      return;
  if (width > 0 && w->n < (int32_t)HD_COUNT(w->list))
    w->list[w->n++] = width;
}

static tile_widths widths_of(const hd_problem *p, int32_t widest, int32_t unit) {
  enum { PROMOTED = 80 /* with 256 rows scales fit beside the sums of promoted products */ };
  static const int32_t usual[] = {256, 224, 192, 160, 128, 96, PROMOTED, 64, 48, 32, 24, 16, 8};
  tile_widths w = {0};
  for (size_t i = 0; i < HD_COUNT(usual); i++) {
    int32_t width = usual[i] < widest ? usual[i] : widest;
    if (usual[i] != PROMOTED || hd_scales_promoted(p))
      add_width(&w, width - width % unit);
  }
  w.n_usual = w.n;
  int32_t even[HD_MOST_EVEN_WIDTHS], n_even = hd_schedule_even_widths(p, widest, even);
  for (int32_t i = 0; i < n_even; i++)
    add_width(&w, even[i]);
  return w;
}

int32_t hd_schedule_pick(const hd_problem *whole, const hd_pick *pick, hd_ranked_schedule *list,
                         int32_t most) {
  /* Large tiles first: of equal times the larger tile comes first. */
  static const int32_t heights[] = {128, 64, 256, 192};
  hd_problem problem = *whole;
  if (hd_is_grouped(whole) && whole->n.value) /* one product with the columns of an even routing */
    problem.n.value = ceil_div(whole->n.value, hd_most_groups(whole));
  const hd_problem *p = &problem;
  /* Gate and up: 128x256 sustains as much as 256x192 (docs/bench/layers.md). */
  int32_t most_elements = is_large(whole) && !whole->pair ? LARGE_ELEMENTS : MAX_ELEMENTS;
  front f = {pick->device, pick->launched, whole, list, 0, most, 0, 1};
  if (!p->m.value || !p->n.value || !hd_problem_has(p, HD_FAMILY_WGMMA_SP))
    return 0;
  hd_schedule s = hd_schedule_default_of(pick->device, p, HD_FAMILY_WGMMA_SP);
  /* The widest tile follows from the columns of all groups, since the routing may be uneven. */
  int32_t unit = wgmma_unit(p);
  tile_widths widths = widths_of(p, default_tile_n(whole, 256, unit), unit);
  for (size_t h = 0; h < HD_COUNT(heights); h++)
    for (int32_t w = 0; w < widths.n; w++) {
      s.tile_m = heights[h];
      s.tile_n = widths.list[w];
      bool even = w >= widths.n_usual;
      bool fits = s.tile_m * s.tile_n <= most_elements && (!even || s.tile_m >= HD_EVEN_HEIGHT);
      f.doubt = even ? doubt_of(whole, s.tile_n) : 1;
      for (s.ctas_per_sm = 1; fits && s.ctas_per_sm <= MAX_CTAS; s.ctas_per_sm++)
        enter_paths(p, pick, s, &f);
    }
  return f.n;
}

hd_schedule hd_schedule_default(const hd_device_model *device, const hd_problem *p) {
  bool tensor = hd_problem_has(p, HD_FAMILY_TCGEN05_SP) && !(p->reduce && p->pair);
  hd_family family = hd_problem_has(p, HD_FAMILY_WGMMA_SP) ? HD_FAMILY_WGMMA_SP
                     : tensor                              ? HD_FAMILY_TCGEN05_SP
                                                           : HD_FAMILY_MMA_SP;
  enum { MAX_RANKED = 24 };
  hd_ranked_schedule list[MAX_RANKED];
  hd_pick pick = {.device = device, .least_splits = 1};
  int32_t n = hd_schedule_pick(p, &pick, list, MAX_RANKED);
  if (!n)
    return hd_schedule_default_of(device, p, family);
  /* Of the schedules that the model cannot distinguish, the first in search order. Similar sizes
   * then get the same schedule, and a kernel for many sizes needs few. */
  const double alike = 1.007;
  const hd_ranked_schedule *usual = list;
  for (int32_t i = 1; i < n && list[i].seconds <= alike * list[0].seconds; i++)
    if (list[i].order < usual->order)
      usual = &list[i];
  return usual->schedule;
}

static hd_size fixed(hd_size size, int64_t hint) {
  if (!size.value && hint > 0)
    size.value = hint;
  return size;
}

int32_t hd_schedule_heuristic(const hd_device_model *device, const hd_problem *p,
                              const int64_t size_mnk[3], hd_ranked_schedule *list, int32_t most) {
  hd_problem sized = *p;
  sized.m = fixed(p->m, size_mnk[0]);
  sized.n = fixed(p->n, size_mnk[1]);
  sized.k = fixed(p->k, size_mnk[2]);
  hd_pick pick = {.device = device, .launched = p, .least_splits = 1};
  int32_t n = hd_schedule_pick(&sized, &pick, list, most);
  if (n > 0 || most < 1)
    return n;
  hd_schedule s = hd_schedule_default(device, p);
  list[0] = (hd_ranked_schedule){s, hd_schedule_cost(p, &s, size_mnk, device).seconds, 0};
  return 1;
}
