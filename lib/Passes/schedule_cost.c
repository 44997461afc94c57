/* A CTA's stage is one granule of k. Its time is what the slowest of four takes: the tensor
 * cores (with the port that feeds them), the warpgroup's own chain of waits, the fill from L2,
 * and the ring: bytes in flight over the latency. Resources overlap almost, so they add in a
 * high norm. A unit of work is its stages, a fill and drain, and its stores; units run in waves;
 * DRAM runs beside all of it. */
#include "Passes/schedule_cost.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "Passes/schedule_fit.h"

enum { K_STEPS = 2, USUAL_SIZE = 4096, PARTIAL_BYTES = 4 };
static const double OVERLAP = 2.4; /* of two resources: the norm in which their times add */
/* mma.sp: dense-equivalent elements of the product a clock and SM at granules of 128 bytes
 * (measured: f16 925, s8 1835, tf32 457 TFLOP/s); e4m3 and e5m2 are emulated on Hopper. */
static const double MMA_PRODUCTS = 31.3, MMA_EMULATED = 1.0 / 28;

/* `heddle tune calibrate` of 9223 schedules of 222 products: the front of each weighs most, so a
 * ceiling is what fits there, not what physics would say of it alone. */
const hd_ceilings hd_ceilings_h200 = {
    .device = "NVIDIA H200",
    .n_sms = 132,
    .n_sms_of_fours = 120,
    .clock_hz = 1.78e9,
    .port_factor = 1.01,
    .own_factor = 1,
    .batch_clocks = 120,
    .pending_share = 0.644,
    .pending_clocks = 39.3,
    .pair_clocks = 106,
    .fill_bytes = 16.5e12,
    .fill_sm_bytes = 128e9,
    .dram_bytes = 4.61e12,
    .l2_latency_s = 0.498e-6,
    .dram_latency_s = 0.69e-6,
    .multicast = 0.5,
    .launch_s = 1e-6,
    .tile_s = 1.78e-6,
    .store_sm_bytes = 95.5e9,
    .reduce_s = 0.814e-6,
    .exchange_s = 0.124e-6,
    .exchange_sm_bytes = 250e9,
    .drain_s = 0.05e-6,
    .dense_flops = 690e12};

/* least == most: calibrating leaves it alone. */
static const struct ceiling {
  const char *name;
  size_t at;
  double least, most;
} table[] = {
#define CEILING(name, least, most) {#name, offsetof(hd_ceilings, name), least, most}
    CEILING(clock_hz, 1e9, 2.1e9),           CEILING(port_factor, 1, 1.5),
    CEILING(own_factor, 1, 2),               CEILING(batch_clocks, 1, 200),
    CEILING(pending_share, 0.05, 1),         CEILING(pending_clocks, 1, 300),
    CEILING(pair_clocks, 1, 300),            CEILING(fill_bytes, 1e12, 17e12),
    CEILING(fill_sm_bytes, 20e9, 128e9),     CEILING(dram_bytes, 0.5e12, 4.8e12),
    CEILING(l2_latency_s, 0.2e-6, 2e-6),     CEILING(dram_latency_s, 0.4e-6, 4e-6),
    CEILING(multicast, 0.5, 1),              CEILING(launch_s, 1e-6, 8e-6),
    CEILING(tile_s, 0.05e-6, 2e-6),          CEILING(store_sm_bytes, 20e9, 1000e9),
    CEILING(reduce_s, 0.1e-6, 10e-6),        CEILING(exchange_s, 0.1e-6, 10e-6),
    CEILING(exchange_sm_bytes, 5e9, 250e9),  CEILING(drain_s, 0.05e-6, 2e-6),
    CEILING(dense_flops, 690e12, 690e12)
#undef CEILING
};

const char *hd_ceiling_name(size_t index) {
  return index < sizeof table / sizeof *table ? table[index].name : NULL;
}

double *hd_ceiling_at(hd_ceilings *c, size_t index) {
  return (double *)((char *)c + table[index].at);
}

void hd_ceiling_range(size_t index, double *least, double *most) {
  *least = table[index].least;
  *most = table[index].most;
}

static const char *const names[HD_N_RESOURCES] = {/* ORDER RESOURCES */
                                                  "tensor cores and shared-memory port",
                                                  "waits of a warpgroup for its own results",
                                                  "L2 to shared memory",
                                                  "memory latency against the ring's depth",
                                                  "DRAM",
                                                  "stores of D and partial sums",
                                                  "launch, first fill and drain"};

const char *hd_resource_name(hd_resource resource) { return names[resource]; }

/* What a unit of work moves and waits for. */
typedef struct unit {
  const hd_problem *p;
  const hd_schedule *s;
  const hd_ceilings *c;
  double stages, load_bytes, ring_bytes, store_bytes;
  double parts; /* of tiles, each with a fill and a drain */
  double tensor_s, chain_s; /* a stage */
  double latency_s, reduce_s;
} unit;

static double ceil_div(double x, double y) { return ceil(x / y); }

static bool is_wgmma(const hd_schedule *s) { return strcmp(s->family, "wgmma") == 0; }

static bool shares_a(const hd_schedule *s) { return strcmp(s->share, "a") == 0; }

static double size_of(const hd_size *size, int64_t hint) {
  return (double)(size->value ? size->value : hint > 0 ? hint : USUAL_SIZE);
}

static double bytes_of(heddle_elem elem) { return heddle_elem_get(elem)->container_bits / 8.0; }

/* A wgmma.sp of m64nN takes N/2 + 16 clocks of the port, and never fewer than 16 of its own. */
static void wgmma_clocks(unit *u) {
  const hd_schedule *s = u->s;
  const hd_ceilings *c = u->c;
  double slabs = s->tile_m / (double)HD_SLAB_ROWS, warpgroups = s->warps_m / 4.0;
  double port = K_STEPS * slabs * (s->tile_n / 2.0 + 16) * c->port_factor;
  double own = K_STEPS * slabs / warpgroups * fmax(s->tile_n / 2.0, 16) * c->own_factor;
  double pending = s->pending && slabs > warpgroups ? c->pending_clocks : 0;
  double batch = c->batch_clocks * (s->pending ? c->pending_share : 1);
  u->tensor_s = (port + pending + (s->cluster > 1 ? c->pair_clocks : 0)) / c->clock_hz;
  u->chain_s = (own + pending + batch) / c->clock_hz;
}

static void mma_clocks(unit *u) {
  const hd_schedule *s = u->s;
  heddle_elem a = u->p->a_elem;
  double products = MMA_PRODUCTS * (a == HEDDLE_E4M3 || a == HEDDLE_E5M2 ? MMA_EMULATED : 1);
  double shared = s->tile_m / (double)HD_SLAB_ROWS * hd_block_bytes(a) * s->warps_n +
                  (double)s->tile_n * HD_GRANULE_BYTES * s->warps_m;
  double clocks = fmax((double)s->tile_m * s->tile_n / products, shared / 128);
  u->tensor_s = clocks * u->c->port_factor / u->c->clock_hz;
  u->chain_s = (clocks * 8 / (s->warps_m * s->warps_n) / 4 + u->c->batch_clocks) / u->c->clock_hz;
}

static double norm(double x, double y) {
  return pow(pow(x, OVERLAP) + pow(y, OVERLAP), 1 / OVERLAP);
}

/* A stage's four times when n_ctas run, `together` of them on an SM. */
static void stage_times(const unit *u, double n_ctas, double together, double t[4]) {
  double sms = n_ctas / together;
  t[0] = u->tensor_s * together;
  t[1] = u->chain_s;
  t[2] = u->load_bytes * together / fmin(u->c->fill_sm_bytes, u->c->fill_bytes / sms);
  t[3] = u->load_bytes / u->ring_bytes * u->latency_s;
}

/* A wave of n_ctas units: its seconds, and each resource's added to alone. */
static double wave(const unit *u, double n_ctas, double together, double alone[HD_N_RESOURCES]) {
  double t[4];
  stage_times(u, n_ctas, together, t);
  double store = (u->store_bytes / u->c->store_sm_bytes + u->reduce_s) * together;
  double stage = norm(fmax(t[0], t[1]), fmax(t[2], t[3]));
  const hd_resource of[4] = {HD_RESOURCE_TENSOR, HD_RESOURCE_CHAIN, HD_RESOURCE_FILL,
                             HD_RESOURCE_RING};
  for (int i = 0; i < 4; i++)
    alone[of[i]] += u->stages * t[i];
  alone[HD_RESOURCE_STORE] += store;
  alone[HD_RESOURCE_LAUNCH] += u->parts * u->c->tile_s;
  return u->stages * stage + store + u->parts * u->c->tile_s;
}

static unit unit_of(const hd_problem *p, const hd_schedule *s, const hd_ceilings *c, double k) {
  unit u = {.p = p, .s = s, .c = c, .parts = 1};
  double slabs = s->tile_m / (double)HD_SLAB_ROWS;
  double a_bytes = slabs * hd_block_bytes(p->a_elem);
  double b_bytes = (double)s->tile_n * HD_GRANULE_BYTES;
  u.stages = ceil_div(ceil_div(k, hd_granule_k(p->a_elem)), s->split_k);
  double shared = s->cluster > 1 ? c->multicast : 1;
  u.load_bytes = shares_a(s) ? a_bytes * shared + b_bytes : a_bytes + b_bytes * shared;
  /* One stage is multiplied, one more where a batch is pending; the others are in flight. */
  u.ring_bytes = fmax(s->stages - 1 - s->pending, 0.5) * (a_bytes + b_bytes);
  u.store_bytes = (double)s->tile_m * s->tile_n * bytes_of(p->d.elem) / hd_schedule_owners(p, s);
  /* The last arriver of a tile writes its own partial and reads all others. */
  if (s->split_k > hd_schedule_along_k(s))
    u.reduce_s = (double)s->tile_m * s->tile_n * PARTIAL_BYTES * s->split_k / c->fill_sm_bytes;
  if (is_wgmma(s))
    wgmma_clocks(&u);
  else
    mma_clocks(&u);
  return u;
}

/* Stream-K: a worker's piece of the tiles that workers share. It writes each part of it, and as
 * many are read in all. */
static unit unit_of_piece(const unit *whole, double tiles, double workers) {
  const hd_schedule *s = whole->s;
  unit u = *whole;
  u.stages = ceil_div(tiles * whole->stages, workers);
  u.parts = 1 + tiles / workers;
  u.store_bytes = whole->store_bytes * tiles / workers;
  u.reduce_s = u.parts * s->tile_m * s->tile_n * PARTIAL_BYTES *
               (1 / whole->c->store_sm_bytes + 1 / whole->c->fill_sm_bytes);
  return u;
}

/* The last to arrive at a tile reads every partial sum of it, alone; those of a cluster that own
 * columns are sent all but their own, at once. */
static double reduce_seconds(const hd_problem *p, const hd_schedule *s, const hd_ceilings *c,
                             double parts) {
  double each = (double)s->tile_m * s->tile_n * PARTIAL_BYTES, bytes = parts * each;
  if (hd_schedule_along_k(s) > 1)
    return c->exchange_s + (hd_schedule_over_ring(s) ? c->drain_s : 0) +
           (bytes - each) / hd_schedule_owners(p, s) / c->exchange_sm_bytes;
  return parts > 1 ? c->reduce_s + bytes / c->store_sm_bytes : 0;
}

/* CTAs that are resident at once. */
static double slots_of(const hd_schedule *s, const hd_ceilings *c) {
  int32_t sms = hd_schedule_along_k(s) > 2 ? c->n_sms_of_fours : c->n_sms;
  return (double)sms * s->ctas;
}

hd_cost hd_schedule_cost(const hd_problem *p, const hd_schedule *s, const int64_t size_mnk[3],
                         const hd_ceilings *c) {
  double m = size_of(&p->m, size_mnk[0]), n = size_of(&p->n, size_mnk[1]);
  double k = size_of(&p->k, size_mnk[2]);
  hd_cost cost = {0};
  unit u = unit_of(p, s, c, k);
  double along_m = shares_a(s) ? 1 : s->cluster, along_n = shares_a(s) ? s->cluster : 1;
  double units = ceil_div(m, s->tile_m * along_m) * along_m * ceil_div(n, s->tile_n * along_n) *
                 along_n * s->split_k;
  double a_bytes = ceil_div(m, HD_SLAB_ROWS) * ceil_div(k, hd_granule_k(p->a_elem)) *
                   hd_block_bytes(p->a_elem);
  double read = a_bytes + n * k * bytes_of(p->b.elem);
  /* Bytes that come from DRAM wait longer than those that another CTA brought to L2 before. */
  double cold = fmin(1, read / (units * u.stages * u.load_bytes));
  u.latency_s = c->l2_latency_s + cold * (c->dram_latency_s - c->l2_latency_s);
  double slots = slots_of(s, c), full = floor(units / slots);
  double rest = units - full * slots, parts = s->split_k;
  unit last = u;
  if (s->stream_k && rest > 0) {
    full = fmax(full - 1, 0);
    double tiles = units - full * slots;
    rest = fmin(slots, tiles * u.stages);
    parts = 1 + rest / tiles;
    last = unit_of_piece(&u, tiles, rest);
  }
  double body = 0;
  for (int i = 0; i < 2; i++) {
    double n_ctas = i ? rest : slots, alone[HD_N_RESOURCES] = {0};
    double together = i ? fmin(s->ctas, ceil_div(rest, c->n_sms)) : s->ctas;
    double times = i ? rest > 0 : full;
    if (times == 0)
      continue;
    body += times * wave(i ? &last : &u, n_ctas, together, alone);
    for (int r = 0; r < HD_N_RESOURCES; r++)
      cost.alone[r] += times * alone[r];
  }
  double extra = c->launch_s + reduce_seconds(p, s, c, parts);
  cost.alone[HD_RESOURCE_DRAM] = (read + m * n * bytes_of(p->d.elem)) / c->dram_bytes;
  cost.alone[HD_RESOURCE_LAUNCH] += extra;
  cost.seconds = extra + norm(body, cost.alone[HD_RESOURCE_DRAM]);
  cost.units = (int64_t)units;
  cost.waves = units / slots;
  for (int r = 1; r < HD_N_RESOURCES; r++)
    if (cost.alone[r] > cost.alone[cost.binds])
      cost.binds = (hd_resource)r;
  return cost;
}

double hd_dense_seconds(const hd_problem *p, const int64_t size_mnk[3], const hd_ceilings *c) {
  double m = size_of(&p->m, size_mnk[0]), n = size_of(&p->n, size_mnk[1]);
  double k = size_of(&p->k, size_mnk[2]), bits = heddle_elem_get(p->b.elem)->container_bits;
  double compute = 2 * m * n * k / (c->dense_flops * 16 / bits);
  double bytes = m * k * bytes_of(p->a_elem) + n * k * bits / 8 + m * n * bytes_of(p->d.elem);
  return c->launch_s + norm(compute, bytes / c->dram_bytes);
}
