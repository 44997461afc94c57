#include "Schedule/resources.h"

enum {
  BARRIER_BYTES = 16, /* full and empty barriers of a stage */
  TENSOR_BYTES = 8,   /* tcgen05: a stage's barrier for the metadata */
  SUMS_BYTES = 40,    /* tcgen05: barriers of the accumulators, and the address of tensor memory */
  PARTIAL_BYTES = 4,
  STREAM_BYTES = 80 << 10, /* bytes of A in flight to an SM: fewer do not cover the latency, more
                            * slow each other down (H200: docs/bench/attempts.csv, run 9) */
  SHALLOW_BYTES = 100 << 10, /* bytes of A and B in flight if several tiles share A: deeper rings
                              * take 6 % longer, the mean of 93 pairs (H200, sweep.md) */
  SHALLOW_STAGES = 8,        /* minimum number of stages for that */
  AHEAD_BYTES = 60 << 10,  /* bytes of A read before griddepcontrol.wait: B's copies queue behind
                            * them even after an early wait (H100, docs/bench/README.md) */
  AHEAD_STAGES = 8,        /* minimum number of stages for that */
  ALIGN_SLACK = 1024,      /* padding that aligns the ring to 1024 bytes: B's swizzle atom */
  CTA_BYTES = 1024,        /* shared memory that the system reserves per CTA */
  SHARED_UNIT = 128,       /* allocation unit of shared memory */
  PRODUCER_THREADS = 128,  /* ORDER WARPS: split_roles */
  TENSOR_THREADS = 416,    /* threads of the four roles of tcgen05 */
  TENSOR_SHARED = 48, /* maximum columns if tiles are shared over k: a warp holds all of them */
  MIN_TENSOR_COLUMNS = 32,
  OTHER_REGISTERS = 40,          /* addresses, metadata, scalars besides the accumulators */
  AUX_REGISTERS = 32,           /* more of them for a second matrix: two epilogues in turn */
  MMA_REGISTERS = 112,           /* the same, plus fragments of A and B and addresses of copies */
  WARPGROUP_ACCUMULATORS = 192,  /* 255 registers less addresses, metadata, scalars */
  REGISTER_A_ACCUMULATORS = 128, /* besides fragments of A */
  SPLIT_ACCUMULATORS = 96, /* besides the partials of other splits: with 128 some kernels spill */
  STREAM_ACCUMULATORS = 128,
  PROMOTED_ACCUMULATORS = 96, /* in each of two sets */
  PROMOTED_SHARED = 64, /* the same besides partials of other splits or fragments of A */
  EXCHANGE_ACCUMULATORS = 160, /* of the 208 registers that the producer's allocation leaves */
  NARROW_TILE = 64             /* columns; ORDER NARROW: enumerate */
};

int32_t hd_schedule_tensor_unit(const hd_problem *p, const hd_schedule *s) {
  enum { UNIT = 16, PAIR_UNIT = 32, PAIR_PANELS = 128 };
  return !hd_schedule_is_pair(s) ? UNIT : p->b.transposed ? PAIR_PANELS : PAIR_UNIT;
}

static int32_t along_n(const hd_schedule *s) {
  return s->multicast == HD_MULTICAST_A ? s->cluster : 1;
}

bool hd_schedule_is_whole_n(const hd_problem *p, const hd_schedule *s) {
  return !hd_is_grouped(p) && p->n.value && p->n.value % (s->tile_n * along_n(s)) == 0;
}

int32_t hd_schedule_b_share(const hd_problem *p, const hd_schedule *s, int32_t *unit) {
  enum { ATOM = 8 /* rows of a swizzle */, LANES = 4 };
  if (p->b.transposed)
    return *unit = HD_K_BLOCK_BYTES / hd_map_bytes(p->b.elem);
  *unit = s->store == HD_STORE_PERMUTED ? LANES * hd_d_run(p) : ATOM;
  return s->tile_n * along_n(s) / s->cluster;
}

/* Columns of a box past N are slow and slow down other CTAs, so that a tile in which N may end is
 * loaded by up to four boxes. Time on an H200 with one, two and four boxes: bf16 4096 x 4096 x 72
 * with tile=64x64 16.9, 12.8, 11.4 us; 5120 x 5120 x 333 with tile=128x128 25.1, 29.6, 22.7 us.
 * Complete tiles take up to 6 % longer with four boxes than with one. */
int32_t hd_schedule_b_box(const hd_problem *p, const hd_schedule *s) {
  enum { MIN_COLUMNS = 16, MAX_BOXES = 4, STEP = 8 };
  int32_t unit, share = hd_schedule_b_share(p, s, &unit);
  if (p->b.transposed || hd_schedule_is_whole_n(p, s))
    return share;
  for (int32_t box = MIN_COLUMNS; box < share; box += STEP)
    if (box * MAX_BOXES >= share && share % box == 0 && box % unit == 0)
      return box;
  return share;
}

/* ---- shared memory ---- */

/* Blocks of rows that share scales have those of one box. The tile of a group may begin at any
 * column, and so after the first scale of the box. */
int32_t hd_schedule_promoted_scales(const hd_problem *p, const hd_schedule *s, int which) {
  if (which)
    return s->tile_n + (hd_is_grouped(p) && !p->gather ? HD_SCALE_UNIT : 0);
  return p->block_rows > 1 ? HD_SCALE_BOX : s->tile_m;
}

int32_t hd_schedule_scale_bytes(const hd_problem *p, const hd_schedule *s, int which) {
  enum { LINE = 128 /* boxes of a tensor map are aligned to it */, BYTES = 4 };
  int32_t rows = which ? s->tile_n : s->tile_m;
  if (hd_scales_promoted(p))
    return (hd_schedule_promoted_scales(p, s, which) * BYTES + LINE - 1) / LINE * LINE;
  if (!hd_schedule_is_tensor(s))
    return rows * hd_scales_a_row(p);
  return hd_scale_bands(rows) * hd_scale_tiles(p) * HD_SCALE_TILE_BYTES;
}

int32_t hd_schedule_stage_bytes(const hd_problem *p, const hd_schedule *s) {
  int32_t k_blocks = s->tile_k / hd_k_block_size(p->a_elem);
  return k_blocks *
         (s->tile_m / HD_SLAB_ROWS * hd_block_bytes(p->a_elem) +
          hd_schedule_b_columns(s) * HD_K_BLOCK_BYTES + hd_schedule_scale_bytes(p, s, 0) +
          hd_schedule_scale_bytes(p, s, 1));
}

/* An owner has at least the columns that four lanes store together. If k is known only at launch,
 * some CTAs may have no k-block and hence no accumulators, so that only the first one owns. */
int32_t hd_schedule_owners(const hd_problem *p, const hd_schedule *s) {
  enum { BLOCK = 8, LANES = 4 };
  int32_t n = hd_schedule_along_k(s), least = LANES * hd_d_run(p);
  return p->k.value && s->tile_n % (n * BLOCK) == 0 && s->tile_n / n >= least ? n : 1;
}

/* Bytes of the partial sums that an owner receives. */
static int32_t received_bytes(const hd_problem *p, const hd_schedule *s) {
  int32_t each = s->tile_m * s->tile_n / hd_schedule_owners(p, s) * PARTIAL_BYTES;
  return (hd_schedule_along_k(s) - 1) * each;
}

static int32_t barrier_bytes(const hd_schedule *s) {
  int32_t tensor = hd_schedule_is_tensor(s) ? s->stages * TENSOR_BYTES + SUMS_BYTES : 0;
  return (s->stages + hd_schedule_along_k(s) - 1) * BARRIER_BYTES + tensor;
}

/* The table of groups (IR/shared_layout.h) and the total after the last one, in 128-byte cells. */
int32_t hd_schedule_group_bytes(const hd_problem *p) {
  enum { CELL = 128, EACH = 16 };
  return hd_is_grouped(p) ? ((int32_t)(hd_most_groups(p) + 1) * EACH + CELL - 1) / CELL * CELL : 0;
}

hd_warp_rows hd_schedule_warp_rows(const hd_schedule *s) {
  int32_t warps = hd_schedule_is_wgmma(s) ? HD_SLAB_STRIPS : 1;
  int32_t sets = s->warps_m / warps;
  return (hd_warp_rows){warps, sets ? s->tile_m / sets : 0};
}

/* Warps side by side have their own columns. The accumulators in tensor memory are loaded in slices
 * for which every warp has registers. */
static int32_t cells_across(const hd_schedule *s) {
  enum { WIDE = 32, NARROW = 16 };
  return !hd_schedule_is_tensor(s) ? s->warps_n : s->tile_n / (s->tile_n % WIDE ? NARROW : WIDE);
}

/* The rows of a set of warps are part of a block, or one or more complete blocks. */
hd_reduce_slots hd_schedule_reduce_slots(const hd_problem *p, const hd_schedule *s) {
  enum { LINE = 128 };
  hd_warp_rows own = hd_schedule_warp_rows(s);
  int32_t unit = hd_reduce_rows(p), each = own.rows < unit ? own.rows : unit;
  int32_t across = cells_across(s);
  if (!p->reduce || each < own.warps * HD_STRIP_ROWS || across < 1)
    return (hd_reduce_slots){0};
  hd_reduce_slots x = {.blocks = s->tile_m / unit,
                       .across = across,
                       .strips = each / HD_STRIP_ROWS / own.warps,
                       .rows = unit / each * own.warps};
  x.n = x.blocks * x.across * (x.rows + p->scale_d);
  int32_t columns = s->tile_n / hd_schedule_owners(p, s) / x.across;
  x.n_bytes = (columns * (int32_t)sizeof(float) + LINE - 1) / LINE * LINE;
  return x;
}

/* CTAs of a cluster along k store the columns of their own. All warps that load slices from tensor
 * memory store all columns. */
hd_column_slots hd_schedule_column_slots(const hd_problem *p, const hd_schedule *s) {
  enum { LINE = 128 };
  bool wgmma = hd_schedule_is_wgmma(s);
  if (!p->statistic)
    return (hd_column_slots){0};
  hd_column_slots x = {.sets = wgmma && s->warps_m > HD_SLAB_STRIPS ? s->warps_m / HD_SLAB_STRIPS
                                                                    : 1,
                       .across = wgmma                      ? hd_schedule_owners(p, s)
                                 : hd_schedule_is_tensor(s) ? 1
                                                            : s->warps_n};
  x.n = x.sets * x.across;
  x.n_bytes = (s->tile_n / x.across * (int32_t)sizeof(float) + LINE - 1) / LINE * LINE;
  return x;
}

static int32_t reduce_bytes(const hd_problem *p, const hd_schedule *s) {
  hd_reduce_slots x = hd_schedule_reduce_slots(p, s);
  hd_column_slots columns = hd_schedule_column_slots(p, s);
  return x.n * x.n_bytes + columns.n * columns.n_bytes;
}

static int32_t ring_bytes(const hd_problem *p, const hd_schedule *s) {
  int32_t ring = s->stages * hd_schedule_stage_bytes(p, s), sums = received_bytes(p, s);
  bool over = hd_schedule_over_ring(s);
  return (!over ? ring + sums : ring > sums ? ring : sums) + barrier_bytes(s) + ALIGN_SLACK +
         hd_schedule_group_bytes(p) + reduce_bytes(p, s);
}

int32_t hd_schedule_shared_limit(const hd_problem *p, const hd_schedule *s) {
  return s->ctas_per_sm <= 1 ? (int32_t)p->target->shared_per_block
                      : (int32_t)p->target->shared_per_sm / s->ctas_per_sm - CTA_BYTES;
}

/* Two slots per warp, so that one is filled while the other is read, if the stages leave room and a
 * tile takes an even number of fills. Slots then alternate across tiles as well. */
hd_store_slot hd_store_slot_of(const hd_problem *p, const hd_schedule *s) {
  enum { WIDEST = 128, NARROWEST = HD_NARROWEST_SLOT };
  int32_t elem = heddle_elem_get(p->d.elem)->container_bits / 8;
  int32_t row = s->tile_n / hd_schedule_owners(p, s) * elem, wide = WIDEST;
  int32_t strips = s->warps_m ? s->tile_m / (HD_STRIP_ROWS * s->warps_m) : 1;
  while (wide >= NARROWEST && row % wide)
    wide /= 2;
  if (s->store != HD_STORE_STAGED || wide < NARROWEST)
    return (hd_store_slot){0};
  hd_store_slot slot = {.rows = HD_STRIP_ROWS / hd_rows_of_d(p), .cols = wide / elem};
  slot.bytes = slot.rows * wide;
  slot.line_bytes = p->d.transposed ? slot.rows * elem : wide;
  slot.swizzle = slot.line_bytes < NARROWEST ? 0 : slot.line_bytes;
  int32_t room = hd_schedule_shared_limit(p, s) - ring_bytes(p, s);
  bool two = row / wide * strips % 2 == 0 && 2 * slot.bytes * s->warps_m <= room;
  slot.each = two ? 2 : 1;
  return slot;
}

int32_t hd_schedule_shared_bytes(const hd_problem *p, const hd_schedule *s) {
  hd_store_slot slot = hd_store_slot_of(p, s);
  return ring_bytes(p, s) + slot.bytes * slot.each * s->warps_m;
}

int32_t hd_schedule_shared_claim(const hd_problem *p, const hd_schedule *s) {
  int32_t one_more = (int32_t)p->target->shared_per_sm / (s->ctas_per_sm + 1) - CTA_BYTES;
  return one_more / SHARED_UNIT * SHARED_UNIT + SHARED_UNIT;
}

int32_t hd_schedule_threads(const hd_schedule *s) {
  if (hd_schedule_is_tensor(s))
    return TENSOR_THREADS;
  return 32 * s->warps_m * s->warps_n + (hd_schedule_is_wgmma(s) ? PRODUCER_THREADS : 0);
}

int32_t hd_schedule_shared_accumulators(const hd_problem *p, const hd_schedule *s) {
  bool mma = !hd_schedule_is_wgmma(s) && !hd_schedule_is_tensor(s);
  int32_t a_thread =
      (int32_t)p->target->registers_per_sm / (s->ctas_per_sm * hd_schedule_threads(s)) / 8 * 8;
  return a_thread - (mma ? MMA_REGISTERS : OTHER_REGISTERS) - (p->aux_of ? AUX_REGISTERS : 0);
}

/* Stages per CTA such that the CTAs of an SM hold `bytes` bytes of A, from 2 to HD_USUAL_STAGES. */
static int32_t stages_of(const hd_problem *p, const hd_schedule *s, int32_t bytes) {
  int32_t k_blocks = s->tile_k / hd_k_block_size(p->a_elem);
  int32_t each = s->ctas_per_sm * k_blocks * (s->tile_m / HD_SLAB_ROWS) * hd_block_bytes(p->a_elem);
  int32_t stages = (bytes + each - 1) / each;
  return stages < 2 ? 2 : stages > HD_USUAL_STAGES ? HD_USUAL_STAGES : stages;
}

int32_t hd_schedule_covering_stages(const hd_problem *p, const hd_schedule *s) {
  return stages_of(p, s, STREAM_BYTES);
}

int32_t hd_schedule_shallow_stages(const hd_problem *p, const hd_schedule *s) {
  int32_t stages = SHALLOW_BYTES / (s->ctas_per_sm * hd_schedule_stage_bytes(p, s));
  return stages < SHALLOW_STAGES ? SHALLOW_STAGES : stages;
}

int32_t hd_schedule_wanted_stages(const hd_problem *p, const hd_schedule *s) {
  if (!hd_schedule_is_wgmma(s) && !hd_schedule_is_tensor(s))
    return 4;
  if (s->tile_n > NARROW_TILE)
    return 8;
  if (hd_schedule_is_tensor(s))
    return 12;
  if (!hd_op_has(p->kernel, HD_ATTR_WEIGHTS_READY)) {
    int32_t covering = hd_schedule_covering_stages(p, s);
    int32_t shallow = hd_schedule_shallow_stages(p, s);
    bool shares_a = p->n.value > s->tile_n && !hd_is_grouped(p); /* a group may have one tile */
    return shares_a && shallow < covering ? shallow : covering;
  }
  int32_t ahead = stages_of(p, s, AHEAD_BYTES);
  return ahead < AHEAD_STAGES ? AHEAD_STAGES : ahead;
}

int32_t hd_schedule_fitting_stages(const hd_problem *p, const hd_schedule *s) {
  int32_t slots = hd_store_slot_of(p, s).bytes * s->warps_m; /* one per warp */
  int32_t sums = hd_schedule_over_ring(s) ? 0 : received_bytes(p, s);
  int32_t barriers =
      (hd_schedule_along_k(s) - 1) * BARRIER_BYTES + (hd_schedule_is_tensor(s) ? SUMS_BYTES : 0);
  int32_t room = hd_schedule_shared_limit(p, s) - slots - sums - barriers - ALIGN_SLACK -
                 hd_schedule_group_bytes(p) - reduce_bytes(p, s);
  int32_t each = BARRIER_BYTES + (hd_schedule_is_tensor(s) ? TENSOR_BYTES : 0);
  return room / (hd_schedule_stage_bytes(p, s) + each);
}

int32_t hd_schedule_most_stages(const hd_problem *p, const hd_schedule *s, int32_t most) {
  int32_t stages = hd_schedule_fitting_stages(p, s);
  return stages < 2 ? 2 : stages > most ? most : stages;
}

/* The largest power of two up to `most` that divides x. */
static int32_t power_in(int32_t x, int32_t most) {
  int32_t p = 1;
  while (p * 2 <= most && x % (p * 2) == 0)
    p *= 2;
  return p;
}

/* wgmma: two warpgroups if the tile has an even number of slabs. mma: up to eight warps, and more
 * than four only with at least 32 x 32 elements per warp. Their number is a power of two, so that
 * the rows of B divide evenly among them. */
void hd_schedule_default_warps(hd_schedule *s) {
  if (hd_schedule_is_wgmma(s)) {
    s->warps_m = s->tile_m % 128 == 0 ? 8 : 4;
    s->warps_n = 1;
    return;
  }
  if (hd_schedule_is_tensor(s)) {
    s->warps_m = 4;
    s->warps_n = 1;
    return;
  }
  s->warps_n = power_in(s->tile_n / 8, s->tile_n >= 128 ? 4 : s->tile_n >= 64 ? 2 : 1);
  s->warps_m = power_in(s->tile_m / 16, 16 / s->warps_n);
  while (s->warps_m > 1 && (s->warps_m * s->warps_n > 8 ||
                            (s->warps_m * s->warps_n > 4 &&
                             s->tile_m / s->warps_m * (s->tile_n / s->warps_n) < 32 * 32)))
    s->warps_m /= 2;
}

/* ---- tensor memory ---- */

/* Allocated columns, a power of two: sums, and per stage metadata and tiles of block scales. */
static int32_t columns_of(const hd_problem *p, const hd_schedule *s, int32_t slots) {
  int32_t scales = hd_schedule_scale_bytes(p, s, 0) + hd_schedule_scale_bytes(p, s, 1);
  int32_t stage = 2 * hd_block_meta_words(p->a_elem) +
                  scales / HD_SCALE_TILE_BYTES * HD_SCALE_TILE_COLUMNS;
  int32_t used = slots * s->tile_n + s->stages * stage;
  int32_t columns = MIN_TENSOR_COLUMNS;
  while (columns < used)
    columns *= 2;
  return columns;
}

int32_t hd_schedule_most_columns(const hd_problem *p, const hd_schedule *s) {
  return (int32_t)p->target->tensor_columns / (s->ctas_per_sm < 1 ? 1 : s->ctas_per_sm);
}

int32_t hd_schedule_sum_slots(const hd_problem *p, const hd_schedule *s) {
  return s->persistent && columns_of(p, s, 2) <= hd_schedule_most_columns(p, s) ? 2 : 1;
}

int32_t hd_schedule_least_columns(const hd_problem *p, const hd_schedule *s) {
  return columns_of(p, s, 1);
}

int32_t hd_schedule_columns(const hd_problem *p, const hd_schedule *s) {
  return columns_of(p, s, hd_schedule_sum_slots(p, s));
}

/* ---- registers ---- */

int32_t hd_schedule_accumulators(const hd_problem *p, const hd_schedule *s) {
  /* tcgen05: columns of a strip that are in registers at a time. A lane holds half of them. */
  enum { MAX_AT_ONCE = 128 };
  if (hd_schedule_is_tensor(s) && hd_schedule_shares_tiles(s))
    return s->tile_n;
  if (hd_schedule_is_tensor(s))
    return (s->tile_n < MAX_AT_ONCE ? s->tile_n : MAX_AT_ONCE) / 2;
  int32_t threads = s->warps_m * s->warps_n * 32;
  /* Partial sums are 32 bits wide for all types of accumulators. */
  int32_t bits = hd_schedule_shares_tiles(s) ? 32 : heddle_elem_get(p->acc_elem)->container_bits;
  return threads ? s->tile_m * s->tile_n / threads * bits / 32 : 0;
}

int32_t hd_schedule_sets(const hd_problem *p) { return hd_scales_promoted(p) ? 2 : 1; }

/* Whether the CTAs fit on an SM. Split-K and stream-K through the workspace also hold the partials
 * of other CTAs and the addresses of both. */
static bool has_room(const hd_problem *p, const hd_schedule *s) {
  bool adds = hd_schedule_shares_tiles(s) && hd_schedule_along_k(s) == 1;
  int32_t sets = adds ? 2 : hd_schedule_sets(p);
  int32_t held = hd_schedule_accumulators(p, s) * sets + (adds ? OTHER_REGISTERS : 0);
  return held <= hd_schedule_shared_accumulators(p, s) &&
         hd_schedule_shared_bytes(p, s) <= hd_schedule_shared_limit(p, s);
}

int32_t hd_schedule_residents(const hd_problem *p, const hd_schedule *s) {
  hd_schedule more = *s;
  bool moves_registers = s->ctas_per_sm == 1 && s->warps_m > 4;
  if (!hd_schedule_is_wgmma(s) || moves_registers || hd_op_has(p->kernel, HD_ATTR_WEIGHTS_READY))
    return s->ctas_per_sm;
  do
    more.ctas_per_sm++;
  while (has_room(p, &more));
  return more.ctas_per_sm - 1;
}

int32_t hd_schedule_held_metadata(const hd_problem *p, const hd_schedule *s) {
  int32_t words = hd_block_meta_words(p->a_elem);
  return 2 * words * (s->tile_m / HD_SLAB_ROWS) / (s->warps_m / 4);
}

int32_t hd_schedule_half_columns(const hd_problem *p, const hd_schedule *s) {
  enum { MIN_COLUMNS = 64 }; /* wgmma of 16 and 32 columns take the same time (cost.c) */
  bool halves = hd_is_grouped(p) && hd_schedule_is_wgmma(s) && s->tile_n >= MIN_COLUMNS &&
                hd_problem_row(p, HD_FAMILY_WGMMA_SP, s->tile_n / 2, s->a_path == HD_A_REG);
  return halves ? s->tile_n / 2 : 0;
}

/* One large stage covers the latency; a larger lag only delays the signal: on an H200 256 x 128
 * takes 45 us with two stages of 128 rows in flight, 58 us with three (measured when a stage took
 * its producer three times as many instructions). The ring must also hold the stages that are
 * read. */
int64_t hd_schedule_gather_lag(int64_t stages, int64_t rows) {
  enum { COVERING_ROWS = 256 };
  int64_t covering = rows < COVERING_ROWS ? (COVERING_ROWS + rows - 1) / rows : 1;
  int64_t room = stages > 2 ? stages - 2 : 0, most = room < stages / 2 ? room : stages / 2;
  return covering < most ? covering : most;
}

bool hd_schedule_may_overlap(const hd_problem *p, const hd_schedule *s) {
  return hd_schedule_accumulators(p, s) + hd_schedule_held_metadata(p, s) <= HD_IN_FLIGHT_REGISTERS;
}

int32_t hd_schedule_most_in_flight(const hd_problem *p, const hd_schedule *s) {
  return hd_schedule_is_wgmma(s) && s->warps_m >= 4 && s->a_path == HD_A_DESC &&
         !hd_scales_promoted(p) && hd_schedule_may_overlap(p, s);
}

int32_t hd_schedule_most_accumulators(const hd_problem *p, const hd_schedule *s) {
  if (hd_scales_promoted(p))
    return hd_schedule_shares_tiles(s) || s->a_path == HD_A_REG ? PROMOTED_SHARED
                                                                : PROMOTED_ACCUMULATORS;
  if (hd_schedule_is_tensor(s) && hd_schedule_shares_tiles(s))
    return p->block ? HD_SCALED_UNIT : TENSOR_SHARED;
  return s->split_k > hd_schedule_along_k(s) ? SPLIT_ACCUMULATORS
         : s->stream_k                       ? STREAM_ACCUMULATORS
         : s->a_path == HD_A_REG     ? REGISTER_A_ACCUMULATORS
         : hd_schedule_along_k(s) > 1        ? EXCHANGE_ACCUMULATORS
                                             : WARPGROUP_ACCUMULATORS;
}

void hd_schedule_narrow(const hd_problem *p, hd_schedule *s) {
  bool warpwise = !hd_schedule_is_wgmma(s) && !hd_schedule_is_tensor(s);
  int32_t unit = p->block && !hd_scales_promoted(p) ? HD_SCALED_UNIT : 16;
  while (!warpwise && s->tile_n % 32 == 0 &&
         hd_schedule_accumulators(p, s) > hd_schedule_most_accumulators(p, s))
    s->tile_n = s->tile_n / 2 % unit ? unit : s->tile_n / 2;
}
