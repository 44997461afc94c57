/* A stage is one k-block of a CTA. Five resources limit it: the tensor cores (with the port that
 * feeds them), the waits of a warpgroup for its own instructions, the thread that issues the
 * copies, the fill from L2, and the ring (bytes in flight over the latency). They overlap largely,
 * so their times are combined by a p-norm, whose exponent is fitted. A unit of work consists of its
 * stages, a fill, a drain and its stores. Units run in waves. DRAM traffic overlaps with all of it,
 * and so does the limit that the power cap sets: each by a norm with an exponent of its own. */
#include "Schedule/cost.h"

#include <math.h>

#include "Schedule/resources.h"
#include "Schedule/variants.h"

enum {
  USUAL_SIZE = 4096, PARTIAL_BYTES = 4, L2_LINE = 128,
  LARGE_N = 1024, /* columns from which the power cap limits a launch */
  N_STAGE_RESOURCES = HD_RESOURCE_RING + 1 /* ORDER RESOURCES: the first ones are per stage */
};
/* mma.sp: elements of a tile per clock and SM for one k-block of 128 bytes (measured in
 * dense-equivalent rates: f16 925, s8 1835, tf32 457 TFLOP/s). Hopper emulates e4m3 and e5m2. */
static const double MMA_PRODUCTS = 31.3, MMA_EMULATED = 1.0 / 28;
static const double DENSE_OVERLAP = 3; /* exponent, for a dense library */

static const char *const names[HD_N_RESOURCES] = {/* ORDER RESOURCES */
                                                  "tensor cores and shared-memory port",
                                                  "waits of a warpgroup for its own results",
                                                  "issue of copies by one thread",
                                                  "L2 to shared memory",
                                                  "memory latency, given the depth of the ring",
                                                  "DRAM",
                                                  "stores of D and partial sums",
                                                  "launch, first fill and drain",
                                                  "copying B first"};

const char *hd_resource_name(hd_resource resource) { return names[resource]; }

/* The traffic and the waits of a unit of work. */
typedef struct unit {
  const hd_problem *p;
  const hd_schedule *s;
  const hd_device_model *c;
  double stages, load_bytes, ring_bytes, store_bytes;
  double fill_bytes; /* bytes per stage that L2 delivers, after sharing with other CTAs */
  double alone_bytes; /* the same without sharing */
  double moved_bytes; /* bytes per stage that are read from L2; a multicast reads once */
  double void_bytes; /* bytes per stage past B's end, as the mean over a row of tiles */
  double parts; /* parts of tiles, each with a fill and a drain */
  double tensor_s, chain_s, issue_s; /* per stage */
  double latency_s, reduce_s;
  double shared_a; /* fraction of A's reads that another tile of the row makes, too */
  double residents; /* CTAs resident on an SM */
  double stage_factor; /* of a stage's time, for what the resources do not explain */
  double halves; /* fraction of the tiles of which half the columns are multiplied */
  double landing_s; /* per stage: latency of gathered rows over the stages in flight; 0: TMA */
} unit;

static double ceil_div(double x, double y) { return ceil(x / y); }

static bool shares_a(const hd_schedule *s) { return s->multicast == HD_MULTICAST_A; }

static double size_of(const hd_size *size, int64_t hint) {
  return (double)(size->value ? size->value : hint > 0 ? hint : USUAL_SIZE);
}

static double bytes_of(heddle_elem elem) { return heddle_elem_get(elem)->container_bits / 8.0; }

/* Copies per stage: one per slab of A and one per box of B. A tile before N loads B with one box.
 * The small boxes of a tile in which N ends take no longer together (hd_schedule_b_box). */
static double count_copies(const hd_problem *p, const hd_schedule *s) {
  double b = s->tile_n, slabs = s->tile_m / (double)HD_SLAB_ROWS;
  if (s->cluster > 1 && !shares_a(s))
    b /= s->cluster;
  return slabs + (p->b.transposed ? ceil_div(b, hd_schedule_b_box(p, s)) : 1);
}

/* Columns past N that a row of tiles loads: those of the last box that holds columns of B, and, if
 * N is less than a box, those of every box past N, which loads the first columns again. */
static double void_columns(const hd_problem *p, const hd_schedule *s, double n, double tiles_n) {
  double box = hd_schedule_b_box(p, s), used = ceil_div(n, box);
  double again = tiles_n * s->tile_n / box - used;
  return used * box - n + again * fmax(box - n, 0);
}

static bool is_copied(const hd_problem *p, const hd_schedule *s) {
  return s->b_path == HD_B_COPIED && hd_copy_serves(p);
}

/* Whether a warpgroup gathers B in small pieces: rows are selected by index, or the pitch is not
 * legal in a tensor map (a pitch that the launch gives counts as that of whole rows), and B is not
 * copied first; or the schedule asks for it. Gathering by index costs nothing for tiles of up to 32
 * columns, and with f32 block scales by index for up to 16 (docs/bench/layers_tried.md). */
static bool is_gathered(const hd_problem *p, const hd_schedule *s) {
  enum { NARROW = 32, NARROW_SCALED = 16 };
  int32_t narrow = hd_scales_by_index(p) ? NARROW_SCALED : NARROW;
  bool hides = hd_b_pitch_bytes(p) % HD_MAP_ALIGN == 0 && s->tile_n <= narrow;
  bool asked = s->b_path == HD_B_GATHER;
  return (asked || (hd_lacks_map(p) && s->b_path != HD_B_COPIED)) && !hides;
}

/* Time of the preceding copy of B: a fixed time, and each byte read and written once. By index it
 * takes over twice as long (docs/bench/layers_tried.md). */
static double copy_seconds(const hd_problem *p, const hd_schedule *s, double n,
                           const hd_device_model *c) {
  const double by_index = 2.25;
  if (!is_copied(p, s))
    return 0;
  double bytes = 2 * n * (double)hd_copied_pitch(p) * (p->gather ? by_index : 1);
  return c->copy_s + bytes / c->copy_bytes;
}

/* Time to gather one stage of B. cp.async takes almost the same time per column for pieces of 4 and
 * 8 bytes (docs/bench/copied.md). A pitch that is not a multiple of 4 takes loads and stores of as
 * many bytes as it aligns.
 * Columns that are selected by an index have aligned rows, in pieces of 16 bytes: a fifth of the
 * time if the addresses of the rows are kept for all k-blocks, else two thirds; with their scales
 * three times as long, which was measured when indices were loaded in each stage
 * (docs/bench/layers_tried.md). */
static double gather_seconds(const hd_problem *p, const hd_schedule *s, const hd_device_model *c) {
  enum { MIN_ASYNC_BYTES = 4, KEPT_ROWS = 128 };
  const double kept = 0.22, computed = 0.68, scaled = 3, least = 1.05;
  int64_t pitch = hd_b_pitch_bytes(p), aligned = pitch & -pitch;
  double column_s = aligned > MIN_ASYNC_BYTES    ? c->gather_column_s
                    : aligned == MIN_ASYNC_BYTES ? c->gather_column_s * least
                                                 : c->gather_byte_s / aligned;
  double by_index = s->tile_n <= KEPT_ROWS ? kept : computed;
  double times = hd_scales_by_index(p) ? scaled : p->gather ? by_index : 1;
  return c->gather_s + s->tile_n * column_s * times;
}

/* Rows by index: a stage lands while the next ones are issued. */
static double landing_seconds(const hd_problem *p, const hd_schedule *s, const hd_device_model *c) {
  bool by_index = is_gathered(p, s) && p->gather && !hd_scales_by_index(p);
  return by_index ? c->gather_latency_s / (hd_schedule_gather_lag(s->stages, s->tile_n) + 1) : 0;
}

/* Clocks of a warpgroup to promote the sums of a stage, while none of its batches runs. A lane
 * reads N/4 scales of B before the batches, and computes N/2 sums for each slab; if each row of A
 * has a scale of its own, products of scales take three times as long besides. All slabs but one
 * are promoted while the next one multiplies, unless registers are short. At 8192^3 with six tiles
 * on an H200: 0.93 to 1.05 of the time at full clock (docs/bench/layers.md). */
static double promote_clocks(const unit *u, double slabs) {
  enum { REGISTERS = 220, OWN_ROWS = 12, SHARED_ROWS = 2 /* besides sums, parts, scales of B */ };
  const hd_schedule *s = u->s;
  bool own_rows = u->p->block_rows == 1;
  double each = (own_rows ? 2.0 : 0.5) * s->tile_n, read = s->tile_n / 4.0;
  double held = hd_schedule_sets(u->p) * hd_schedule_accumulators(u->p, s) + read +
                slabs * (own_rows ? OWN_ROWS : SHARED_ROWS);
  return read + (held <= REGISTERS ? 1 : slabs) * each;
}

/* A wgmma.sp of m64nN occupies the port for N/2 + 16 clocks and its warpgroup for max(N/2, 16).
 * Scales of B occupy the port for a clock for the 32 lanes of a warp. */
static void wgmma_clocks(unit *u) {
  const hd_schedule *s = u->s;
  const hd_device_model *c = u->c;
  double slabs = s->tile_m / (double)HD_SLAB_ROWS, warpgroups = s->warps_m / 4.0;
  double half = s->tile_n / 2.0, mean_n = s->tile_n - u->halves * half;
  double port = HD_K_STEPS * slabs * (mean_n / 2 + 16);
  double own = HD_K_STEPS * slabs / warpgroups * fmax(mean_n / 2, 16);
  if (hd_scales_promoted(u->p)) {
    port += s->warps_m * (s->tile_n / 4.0);
    own += promote_clocks(u, slabs / warpgroups);
  }
  u->tensor_s = (port + (s->cluster > 1 ? c->pair_clocks : 0)) / c->clock_hz;
  u->chain_s = (own + (s->wgmma_in_flight ? 0 : c->batch_clocks)) / c->clock_hz;
  u->issue_s = count_copies(u->p, s) * c->issue_clocks / c->clock_hz;
  u->landing_s = landing_seconds(u->p, s, c);
  if (is_gathered(u->p, s))
    u->issue_s = gather_seconds(u->p, s, c);
  else if (s->b_path == HD_B_COPIED && hd_schedule_gathers(u->p, s)) /* the scales of B */
    u->issue_s += c->gather_s + s->tile_n * c->gather_column_s;
}

static void mma_clocks(unit *u) {
  const hd_schedule *s = u->s;
  heddle_elem a = u->p->a_elem;
  double products = MMA_PRODUCTS * (a == HEDDLE_E4M3 || a == HEDDLE_E5M2 ? MMA_EMULATED : 1);
  double shared = s->tile_m / (double)HD_SLAB_ROWS * hd_block_bytes(a) * s->warps_n +
                  (double)s->tile_n * HD_K_BLOCK_BYTES * s->warps_m;
  double clocks = fmax((double)s->tile_m * s->tile_n / products, shared / 128);
  u->tensor_s = clocks / u->c->clock_hz;
  u->chain_s = (clocks * 8 / (s->warps_m * s->warps_n) / 4 + u->c->batch_clocks) / u->c->clock_hz;
}

/* Combined time of resources that overlap: the sum for an exponent of 1, the maximum for a large
 * one. */
static double norm(const double *seconds, int n, double exponent) {
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += pow(seconds[i], exponent);
  return pow(sum, 1 / exponent);
}

static double both(double x, double y, double exponent) {
  return norm((double[]){x, y}, 2, exponent);
}

static bool is_ahead(const unit *u) { return hd_op_has(u->p->kernel, HD_ATTR_WEIGHTS_READY); }

/* The times of a stage if n_ctas CTAs run, `together` of them on each SM. More bytes in flight than
 * cover the latency slow the fill down (H200 and H100, 704 x 32576 x 336 with tile=64x96: 35.9 us
 * with 8 stages, 47.0 us with 13). */
static void stage_times(const unit *u, double n_ctas, double together,
                        double t[N_STAGE_RESOURCES]) {
  const hd_device_model *c = u->c;
  double more = fmax(together * u->ring_bytes / c->cover_bytes - 1, 0);
  double crowd = c->crowd_fill + c->crowd_shared * u->shared_a;
  double slowdown = is_ahead(u) ? 1 : 1 + crowd * more;
  t[HD_RESOURCE_TENSOR] = u->tensor_s * together;
  t[HD_RESOURCE_CHAIN] = u->chain_s;
  t[HD_RESOURCE_ISSUE] = u->issue_s;
  t[HD_RESOURCE_FILL] =
      n_ctas * slowdown * (u->fill_bytes / c->fill_bytes + u->void_bytes / c->void_bytes);
  t[HD_RESOURCE_RING] = fmax(u->load_bytes / u->ring_bytes * u->latency_s, u->landing_s);
}

/* How many of n_ctas CTAs run on one SM. */
static double together_of(const unit *u, double n_ctas) {
  return fmin(u->residents, ceil_div(n_ctas, u->c->n_sms));
}

/* Factor of the DRAM time. More stages in flight than cover the latency slow DRAM down, unless A is
 * read before griddepcontrol.wait. */
static double crowding(const unit *u, double units) {
  double covering = hd_schedule_covering_stages(u->p, u->s) * u->s->ctas_per_sm;
  double more = together_of(u, units) * u->s->stages / covering - 1;
  return hd_schedule_is_mma(u->s) || is_ahead(u) ? 1 : 1 + u->c->crowd * fmax(more, 0);
}

/* Adds waves of n_ctas units that follow `before` earlier waves. The seconds of each resource are
 * added to cost->alone. From its second tile, a persistent CTA fills the ring while it stores. */
static void add_waves(const unit *u, double before, double waves, double n_ctas, hd_cost *cost) {
  double t[N_STAGE_RESOURCES], together = together_of(u, n_ctas);
  if (waves <= 0 || n_ctas <= 0)
    return;
  stage_times(u, n_ctas, together, t);
  double store = (u->store_bytes / u->c->store_sm_bytes + u->reduce_s) * together;
  double first = before > 0 || waves <= 0 ? 0 : 1;
  double next = u->s->persistent ? u->c->next_tile_s : u->c->tile_s;
  double begin = is_ahead(u) ? u->c->ahead_tile_s : u->c->tile_s;
  double ends = u->parts * (first * begin + (waves - first) * next) / waves;
  for (int i = 0; i < N_STAGE_RESOURCES; i++)
    cost->alone[i] += waves * u->stages * t[i];
  cost->alone[HD_RESOURCE_STORE] += waves * store;
  cost->alone[HD_RESOURCE_LAUNCH] += waves * ends;
  double stage = u->stage_factor * norm(t, N_STAGE_RESOURCES, u->c->overlap_stage);
  cost->seconds += waves * (u->stages * stage + store + ends);
}

/* Fraction of an operand's traffic that remains if n_sharers tiles read the same lines. `alone` is
 * the fraction that remains for any number of tiles. */
static double shared_by(double alone, double n_sharers) {
  return alone + fmax(1 - alone, 0) / n_sharers;
}

/* Factor of B's traffic for tiles of many rows that straddle sectors. For many columns the MMAs
 * hide it, in clusters that split k less so (H200, docs/bench/sweep.md). */
static double sector_factor(const hd_problem *p, const hd_schedule *s, const hd_device_model *c,
                            double columns) {
  enum { FEW_ROWS = 32, MANY_COLUMNS = 513 };
  int32_t hidden = hd_schedule_along_k(s) > 1 ? LARGE_N : MANY_COLUMNS;
  bool loaded = hd_straddles_sectors(p) && !is_gathered(p, s) && !is_copied(p, s);
  bool slow = loaded && s->tile_n > FEW_ROWS && columns < hidden && !hd_schedule_is_mma(s);
  return slow ? c->beside_sectors : 1;
}

/* Fraction of B's bytes that L2 delivers. CTAs that read a line at the same time share its
 * delivery, with or without a multicast. Splits of k read different lines and share less. Rows that
 * straddle two lines are delivered to each CTA, or by a multicast to each cluster. */
static double b_traffic(const hd_problem *p, const hd_schedule *s, const hd_device_model *c,
                        double tiles_m, double columns) {
  bool splits = hd_schedule_along_k(s) > 1;
  double cluster = shares_a(s) || is_gathered(p, s) ? 1 : s->cluster;
  if (!is_copied(p, s) && hd_b_pitch_bytes(p) % L2_LINE != 0)
    return sector_factor(p, s, c, columns) / cluster;
  if (s->split_k == 1)
    return shared_by(c->beside, tiles_m);
  double alone = splits ? c->beside_in_cluster : c->beside_splits;
  return shared_by(alone, tiles_m / cluster) / cluster;
}

/* The same for A. The CTAs of a cluster of four along k share none of it with other clusters. */
static double a_traffic(const hd_schedule *s, const hd_device_model *c, double tiles_n) {
  int32_t along_k = hd_schedule_along_k(s);
  double alone = along_k > 2 ? 1 : along_k > 1 ? c->beside_a_in_cluster : c->beside_a;
  return shared_by(alone, tiles_n);
}

/* Bytes that are written for each element of D: of D and of the second matrix. */
static double written_of(const hd_problem *p) {
  return bytes_of(p->d.elem) + (p->aux_of ? bytes_of(p->aux.elem) : 0);
}

/* tiles: the number of tiles along M and along N. columns: of one product. */
static unit unit_of(const hd_problem *p, const hd_schedule *s, const hd_device_model *c, double k,
                    const double tiles[2], double columns, double halves) {
  unit u = {.p = p, .s = s, .c = c, .parts = 1, .residents = hd_schedule_residents(p, s)};
  u.halves = halves;
  double slabs = s->tile_m / (double)HD_SLAB_ROWS;
  double a_bytes = slabs * hd_block_bytes(p->a_elem);
  double b_bytes = (double)s->tile_n * HD_K_BLOCK_BYTES;
  u.stages = ceil_div(ceil_div(k, hd_k_block_size(p->a_elem)), s->split_k);
  u.load_bytes = a_bytes + b_bytes;
  u.alone_bytes = a_bytes + b_bytes * sector_factor(p, s, c, columns);
  u.shared_a = 1 - 1 / tiles[1];
  u.fill_bytes =
      a_bytes * a_traffic(s, c, tiles[1]) + b_bytes * b_traffic(p, s, c, tiles[0], columns);
  u.moved_bytes = shares_a(s) ? a_bytes / s->cluster + b_bytes : a_bytes + b_bytes / s->cluster;
  /* One stage is multiplied, plus one per wgmma batch in flight. Copies fill the others. */
  u.ring_bytes = fmax(s->stages - 1 - s->wgmma_in_flight, 0.5) * (a_bytes + b_bytes);
  u.store_bytes = (double)s->tile_m * s->tile_n * written_of(p) / hd_schedule_owners(p, s) /
                  hd_rows_of_d(p);
  if (p->reduce)
    u.store_bytes += (double)s->tile_m / hd_reduce_rows(p) * s->tile_n * bytes_of(HEDDLE_F32);
  /* The warps that store read a sum of squares per HD_REDUCE_ROWS of k before their main loop. */
  if (p->statistic)
    u.store_bytes += ceil_div(k, HD_REDUCE_ROWS) * s->tile_n * bytes_of(HEDDLE_F32);
  /* The last arriver of a tile writes its own partial and reads all others. */
  if (s->split_k > hd_schedule_along_k(s))
    u.reduce_s = (double)s->tile_m * s->tile_n * PARTIAL_BYTES * s->split_k / c->store_sm_bytes;
  if (hd_schedule_is_mma(s))
    mma_clocks(&u);
  else
    wgmma_clocks(&u);
  return u;
}

/* For many columns, a stage takes longer than its resources if CTAs of a cluster, or the pieces of
 * stream-K, are at different k: the longer, the wider its tile is for its height. */
static double split_factor(const hd_schedule *s, const hd_device_model *c, double columns) {
  bool splits = hd_schedule_along_k(s) > 1 || s->stream_k;
  double wide = (c->split_stage - 1) / 2 * s->tile_n / s->tile_m;
  return splits && columns >= LARGE_N ? c->split_stage + wide : 1;
}

/* Stream-K: one CTA's piece of the shared tiles. The CTA writes a partial sum for each part of its
 * piece, and as many are read. CTAs side by side are at different k: they share no traffic, and
 * their stages take longer. */
static unit unit_of_piece(const unit *whole, double tiles, double workers) {
  const hd_schedule *s = whole->s;
  unit u = *whole;
  u.stages = ceil_div(tiles * whole->stages, workers);
  u.fill_bytes = whole->alone_bytes;
  u.stage_factor *= u.c->stream_stage;
  u.parts = 1 + tiles / workers;
  u.store_bytes = whole->store_bytes * tiles / workers;
  u.reduce_s = 2 * u.parts * s->tile_m * s->tile_n * PARTIAL_BYTES / whole->c->store_sm_bytes;
  return u;
}

/* In the workspace, the CTA that arrives last at a tile reads all of its partial sums. In a
 * cluster, the CTAs that own columns receive the sums of the other CTAs in parallel. Among four
 * CTAs, those of a large tile take longer (H200, docs/bench/sweep.md). */
static double reduce_seconds(const hd_problem *p, const hd_schedule *s, const hd_device_model *c,
                             double parts) {
  enum { SMALL_SUMS = 32 << 10 };
  double each = (double)s->tile_m * s->tile_n * PARTIAL_BYTES, bytes = parts * each;
  int32_t along_k = hd_schedule_along_k(s);
  double more = along_k > 2 ? fmax(each - SMALL_SUMS, 0) / c->exchange_fours : 0;
  if (along_k > 1)
    return c->exchange_s + (hd_schedule_over_ring(s) ? c->drain_s : 0) +
           (bytes - each) / hd_schedule_owners(p, s) / c->exchange_sm_bytes + more;
  return parts > 1 ? c->reduce_s + bytes / c->store_sm_bytes : 0;
}

bool hd_cost_is_estimate(const hd_problem *p) {
  return p->target->sm == 90 && hd_problem_has(p, HD_FAMILY_WGMMA_SP);
}

static double products_of(const hd_problem *p) {
  int64_t g = hd_is_grouped(p) ? hd_most_groups(p) : p->g.value;
  return g ? (double)g : 1;
}

/* Time of a launch of many columns under the power cap. The MMAs, the copies to shared memory and
 * the DRAM traffic draw power, and the clock drops until their sum is within the cap. */
static double power_seconds(const unit *u, double units, double dram_bytes, double columns) {
  const hd_device_model *c = u->c;
  double stages = units * u->stages;
  return columns < LARGE_N ? 0
                           : stages * (u->tensor_s * c->power_tensor / c->n_sms +
                                       u->moved_bytes / c->power_fill) +
                                 dram_bytes / c->power_dram;
}

/* For many columns, tiles of 256x160 and 256x192 take longer than their resources and the power cap
 * explain, except for elements of four bytes (81 pairs on H200s, docs/bench/sweep.md). */
static double large_tile_factor(const hd_problem *p, const hd_schedule *s, double columns) {
  enum { USUAL = 128 * 256, WORD = 4 };
  bool large = s->tile_m * s->tile_n > USUAL && bytes_of(p->b.elem) < WORD;
  return large && columns >= LARGE_N && !hd_is_grouped(p) ? 1.03 : 1;
}

/* combine_d reads all columns of the products. Each column of D is the sum of `slots` of them. */
static double combine_seconds(const hd_problem *p, double m, double n, const hd_device_model *c) {
  if (!p->combine)
    return 0;
  double t = n / (double)hd_combine_slots(p), rows = m / hd_rows_of_d(p);
  return c->copy_s + rows * (n + t) * bytes_of(p->d.elem) / c->copy_bytes;
}

/* How columns are distributed over groups: as evenly as possible, or by Zipf's law, where group i
 * has 1 / i of the columns of the first group, which also gets the remainder of rounding. The
 * routing is not known in advance, so that a schedule must be good for both. */
typedef enum dealt { EVENLY, BY_ZIPF, N_DEALT } dealt; /* ORDER DEALT: cost.h */

/* The columns of all products, their tiles along n, and the products that have a column, for one
 * distribution over groups. In a batch, every product has n columns. */
typedef struct columns {
  double all, tiles, products;
  double halves; /* of the tiles: those that are at most half full */
} columns;

static columns deal(const hd_problem *p, double n, double width, dealt how) {
  double g = products_of(p), sum = 0, left = n;
  columns c = {.all = n};
  if (!hd_is_grouped(p))
    return (columns){g * n, g * ceil_div(n, width), g, 0};
  for (double i = 1; i <= g; i++)
    sum += 1 / i;
  for (double i = g; i > 0; i--) {
    double size = how == EVENLY ? floor(n * i / g) - floor(n * (i - 1) / g)
                  : i > 1       ? floor(n / sum / i)
                                : left;
    left -= size;
    c.tiles += ceil_div(size, width);
    c.halves += size > 0 && fmod(size - 1, width) < width / 2;
    c.products += size > 0;
  }
  return c;
}

/* Tiles are dealt to the SMs in a fixed order, so that the SM with the fewest half tiles takes
 * longest. Returns their fraction there: one standard deviation below the mean, as if an SM drew
 * its tiles. */
static double fewest_halves(columns of, double tiles_of_sm) {
  double mean = of.halves / of.tiles;
  return fmax(mean - sqrt(mean * (1 - mean) / fmax(tiles_of_sm, 1)), 0);
}

static hd_cost cost_of(const hd_problem *p, const hd_schedule *s, const int64_t size_mnk[3],
                       dealt how, const hd_device_model *c) {
  double m = size_of(&p->m, size_mnk[0]), n = size_of(&p->n, size_mnk[1]);
  double k = size_of(&p->k, size_mnk[2]);
  hd_cost cost = {0};
  double along_m = shares_a(s) ? 1 : s->cluster, along_n = shares_a(s) ? s->cluster : 1;
  columns of = deal(p, n, s->tile_n * along_n, how);
  double tiles_n = of.tiles * along_n, each = of.all / of.products;
  double tiles_m = ceil_div(m, s->tile_m * along_m) * along_m;
  double units = tiles_m * tiles_n * s->split_k;
  double halves = hd_schedule_half_columns(p, s) ? fewest_halves(of, units / c->n_sms) : 0;
  unit u = unit_of(p, s, c, k, (double[]){tiles_m, tiles_n / of.products}, n, halves);
  double a_bytes = ceil_div(m, HD_SLAB_ROWS) * ceil_div(k, hd_k_block_size(p->a_elem)) *
                   hd_block_bytes(p->a_elem);
  double of_b = p->b.shared && !hd_is_grouped(p) ? n : of.all;
  double read = a_bytes * (p->a_shared ? 1 : of.products) + of_b * k * bytes_of(p->b.elem);
  /* Bytes from DRAM have a longer latency than those that another CTA has brought to L2. */
  double cold = fmin(1, read / (units * u.stages * u.load_bytes));
  u.latency_s = c->l2_latency_s + cold * (c->dram_latency_s - c->l2_latency_s);
  if (!hd_schedule_is_mma(s) && !hd_is_grouped(p)) { /* past a group are the next one's columns */
    double tiles = tiles_n / of.products;
    u.void_bytes = void_columns(p, s, each, tiles) / tiles * HD_K_BLOCK_BYTES;
  }
  /* slots: CTAs that are resident at once. */
  int32_t sms = hd_schedule_along_k(u.s) > 2 ? u.c->n_sms_of_fours : u.c->n_sms;
  double slots = sms * u.residents, full = floor(units / slots);
  double rest = units - full * slots, parts = s->split_k;
  u.stage_factor = split_factor(s, c, n);
  unit last = u;
  if (s->stream_k && rest > 0) {
    full = fmax(full - 1, 0);
    double tiles = units - full * slots;
    rest = fmin(slots, tiles * u.stages);
    parts = 1 + rest / tiles;
    last = unit_of_piece(&u, tiles, rest);
  }
  add_waves(&u, 0, full, slots, &cost);
  add_waves(&last, full, 1, rest, &cost);
  cost.alone[HD_RESOURCE_COPY] = copy_seconds(p, s, n, c);
  double extra = c->launch_s + reduce_seconds(p, s, c, parts) + combine_seconds(p, m, n, c);
  double written = m / hd_rows_of_d(p) * of.all * written_of(p);
  cost.alone[HD_RESOURCE_DRAM] = (read + written) / c->dram_bytes * crowding(&u, units);
  cost.alone[HD_RESOURCE_LAUNCH] += extra;
  double power_s = power_seconds(&u, units, read + written, n);
  cost.near_power_cap = power_s > 0.75 * cost.seconds;
  cost.seconds = both(cost.seconds, power_s, c->overlap_power) * large_tile_factor(p, s, n);
  cost.seconds = extra + both(cost.seconds, cost.alone[HD_RESOURCE_DRAM], c->overlap_dram) +
                 cost.alone[HD_RESOURCE_COPY];
  cost.units = (int64_t)units;
  cost.waves = units / slots;
  if (hd_is_grouped(p)) {
    cost.dealt[how].seconds = cost.seconds;
    cost.dealt[how].padded = tiles_n * s->tile_n / of.all;
  }
  return cost;
}

hd_cost hd_schedule_cost(const hd_problem *p, const hd_schedule *s, const int64_t size_mnk[3],
                         const hd_device_model *c) {
  hd_cost cost = cost_of(p, s, size_mnk, EVENLY, c);
  if (hd_is_grouped(p)) {
    hd_cost skewed = cost_of(p, s, size_mnk, BY_ZIPF, c);
    for (int r = 0; r < HD_N_RESOURCES; r++)
      cost.alone[r] = sqrt(cost.alone[r] * skewed.alone[r]);
    cost.seconds = sqrt(cost.seconds * skewed.seconds);
    cost.dealt[BY_ZIPF] = skewed.dealt[BY_ZIPF];
    cost.units = (cost.units + skewed.units) / N_DEALT;
    cost.waves = (cost.waves + skewed.waves) / N_DEALT;
  }
  for (int r = 1; r < HD_N_RESOURCES; r++)
    if (cost.alone[r] > cost.alone[cost.binds])
      cost.binds = (hd_resource)r;
  return cost;
}

static double dense_of(const hd_problem *p, const int64_t size_mnk[3], dealt how,
                       const hd_device_model *c) {
  double m = size_of(&p->m, size_mnk[0]), n = size_of(&p->n, size_mnk[1]);
  double k = size_of(&p->k, size_mnk[2]), bits = heddle_elem_get(p->b.elem)->container_bits;
  columns of = deal(p, n, 1, how);
  double of_b = p->b.shared && !hd_is_grouped(p) ? n : of.all;
  double compute = 2 * m * of.all * k / (c->dense_flops * 16 / bits);
  double bytes = (p->a_shared ? 1 : of.products) * m * k * bytes_of(p->a_elem) +
                 of_b * k * bits / 8 + m / hd_rows_of_d(p) * of.all * bytes_of(p->d.elem);
  return c->dense_start_s + both(compute, bytes / c->dense_bytes, DENSE_OVERLAP);
}

double hd_dense_seconds(const hd_problem *p, const int64_t size_mnk[3], const hd_device_model *c) {
  double even = dense_of(p, size_mnk, EVENLY, c);
  return hd_is_grouped(p) ? sqrt(even * dense_of(p, size_mnk, BY_ZIPF, c)) : even;
}
