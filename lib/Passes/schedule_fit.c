#include "Passes/schedule_fit.h"

#include <stdio.h>
#include <string.h>

#include "Passes/store_slot.h"
#include "Passes/variants.h"

enum {
  BARRIER_BYTES = 16, /* full and empty of a stage */
  TENSOR_BYTES = 8,   /* and of tcgen05 its metadata's, */
  SUMS_BYTES = 40,    /* full and empty of the accumulators, and tensor memory's address */
  PARTIAL_BYTES = 4,
  STREAM_BYTES = 80 << 10, /* of A on the way to an SM: fewer do not cover the latency; more lie in
                            * each other's way (H200: docs/bench/attempts.csv, run 9) */
  ALIGN_SLACK = 1024,     /* the dynamic part starts at any 1024-byte boundary: B's swizzle atom */
  CTA_BYTES = 1024,       /* of an SM's shared memory, the system's for each CTA */
  SHARED_UNIT = 128,      /* in which shared memory is given out */
  PRODUCER_THREADS = 128, /* ORDER WARPS: split_roles */
  TENSOR_THREADS = 416,   /* of the four roles of tcgen05 */
  TENSOR_ROWS = 128,
  TENSOR_UNIT = 16,   /* of its columns */
  SCALED_UNIT = 64,   /* the same with block scales */
  TENSOR_SHARED = 48, /* columns, all of a warp's in registers, where tiles are shared over k */
  LEAST_COLUMNS = 32,
  MOST_CTAS = 8,
  MOST_WARPS = 16,
  OTHER_REGISTERS = 40,          /* addresses, metadata, scalars beside the accumulators */
  MMA_REGISTERS = 112,           /* fragments of A and B, and the addresses of copies, as well */
  WARPGROUP_ACCUMULATORS = 192,  /* 255 registers less addresses, metadata, scalars */
  REGISTER_A_ACCUMULATORS = 128, /* beside fragments of A */
  SPLIT_ACCUMULATORS = 96, /* beside the partials of other splits: with 128 some kernels spill */
  STREAM_ACCUMULATORS = 128,
  EXCHANGE_ACCUMULATORS = 160, /* of 208 registers, of which the producer's plan leaves so many */
  PENDING_REGISTERS = 196,     /* accumulators, and metadata that two batches hold */
  PLANE_BYTES = 512,           /* a word of metadata of each thread of a warpgroup */
  WARP_ACCUMULATORS = 128,
  MOST_SPLITS = 16,
  NARROW_TILE = 64 /* columns; ORDER NARROW: schedule_each */
};

static bool is_wgmma(const hd_schedule *s) { return strcmp(s->family, "wgmma") == 0; }
static bool is_tensor(const hd_schedule *s) {
  return strcmp(s->family, "tcgen05") == 0;
}

/* CTAs share tiles over k, through partial sums. */
static bool shares_tiles(const hd_schedule *s) { return s->split_k > 1 || s->stream_k; }

int32_t hd_schedule_scale_bytes(const hd_problem *p, const hd_schedule *s, int32_t rows) {
  if (!is_tensor(s))
    return rows * hd_scales_a_row(p);
  return hd_scale_bands(rows) * hd_scale_tiles(p) * HD_SCALE_TILE_BYTES;
}

int32_t hd_schedule_stage_bytes(const hd_problem *p, const hd_schedule *s) {
  int32_t granules = s->tile_k / hd_granule_k(p->a_elem);
  return granules * (s->tile_m / HD_SLAB_ROWS * hd_block_bytes(p->a_elem) +
                     s->tile_n * HD_GRANULE_BYTES + hd_schedule_scale_bytes(p, s, s->tile_m) +
                     hd_schedule_scale_bytes(p, s, s->tile_n));
}

/* An owner has as many columns as four lanes store together, or more. A k that is known at launch
 * may leave CTAs without a granule, and without accumulators. */
int32_t hd_schedule_owners(const hd_problem *p, const hd_schedule *s) {
  enum { BLOCK = 8, LANES = 4 };
  int32_t n = hd_schedule_along_k(s), least = LANES * hd_d_run(p);
  return p->k.value && s->tile_n % (n * BLOCK) == 0 && s->tile_n / n >= least ? n : 1;
}

/* Partial sums that an owner receives; and their barriers, and one that tells of drained rings. */
static int32_t received_bytes(const hd_problem *p, const hd_schedule *s) {
  int32_t each = s->tile_m * s->tile_n / hd_schedule_owners(p, s) * PARTIAL_BYTES;
  return (hd_schedule_along_k(s) - 1) * each;
}

static int32_t barrier_bytes(const hd_schedule *s) {
  int32_t tensor = is_tensor(s) ? s->stages * TENSOR_BYTES + SUMS_BYTES : 0;
  return (s->stages + hd_schedule_along_k(s) - 1) * BARRIER_BYTES + tensor;
}

int32_t hd_schedule_ring_bytes(const hd_problem *p, const hd_schedule *s) {
  int32_t ring = s->stages * hd_schedule_stage_bytes(p, s), sums = received_bytes(p, s);
  bool over = hd_schedule_over_ring(s);
  return (!over ? ring + sums : ring > sums ? ring : sums) + barrier_bytes(s) + ALIGN_SLACK;
}

int32_t hd_schedule_shared_bytes(const hd_problem *p, const hd_schedule *s) {
  hd_store_slot slot = hd_store_slot_of(p, s);
  return hd_schedule_ring_bytes(p, s) + slot.bytes * slot.each * s->warps_m;
}

int32_t hd_schedule_shared_limit(const hd_problem *p, const hd_schedule *s) {
  return s->ctas <= 1 ? (int32_t)p->target->shared_per_block
                      : (int32_t)p->target->shared_per_sm / s->ctas - CTA_BYTES;
}

int32_t hd_schedule_shared_claim(const hd_problem *p, const hd_schedule *s) {
  int32_t one_more = (int32_t)p->target->shared_per_sm / (s->ctas + 1) - CTA_BYTES;
  return one_more / SHARED_UNIT * SHARED_UNIT + SHARED_UNIT;
}

static int32_t threads_of(const hd_schedule *s) {
  if (is_tensor(s))
    return TENSOR_THREADS;
  return 32 * s->warps_m * s->warps_n + (is_wgmma(s) ? PRODUCER_THREADS : 0);
}

/* Registers of a thread when its CTA shares the SM. */
static int32_t register_limit(const hd_problem *p, const hd_schedule *s) {
  return (int32_t)p->target->registers_per_sm / (s->ctas * threads_of(s)) / 8 * 8;
}

int32_t hd_schedule_covering_stages(const hd_problem *p, const hd_schedule *s) {
  int32_t granules = s->tile_k / hd_granule_k(p->a_elem);
  int32_t each = s->ctas * granules * (s->tile_m / HD_SLAB_ROWS) * hd_block_bytes(p->a_elem);
  int32_t stages = (STREAM_BYTES + each - 1) / each;
  return stages < 2 ? 2 : stages > HD_MOST_STAGES ? HD_MOST_STAGES : stages;
}

int32_t hd_schedule_wanted_stages(const hd_problem *p, const hd_schedule *s) {
  if (!is_wgmma(s) && !is_tensor(s))
    return 4;
  if (s->tile_n > NARROW_TILE)
    return 8;
  if (is_tensor(s))
    return 12;
  bool ahead = hd_op_has(p->kernel, HD_ATTR_WEIGHTS_READY);
  return ahead ? HD_MOST_STAGES : hd_schedule_covering_stages(p, s);
}

static int32_t fitting_stages(const hd_problem *p, const hd_schedule *s) {
  int32_t slots = hd_store_slot_of(p, s).bytes * s->warps_m; /* one a warp */
  int32_t sums = hd_schedule_over_ring(s) ? 0 : received_bytes(p, s);
  int32_t barriers = (hd_schedule_along_k(s) - 1) * BARRIER_BYTES + (is_tensor(s) ? SUMS_BYTES : 0);
  int32_t room = hd_schedule_shared_limit(p, s) - slots - sums - barriers - ALIGN_SLACK;
  int32_t each = BARRIER_BYTES + (is_tensor(s) ? TENSOR_BYTES : 0);
  return room / (hd_schedule_stage_bytes(p, s) + each);
}

int32_t hd_schedule_most_stages(const hd_problem *p, const hd_schedule *s, int32_t most) {
  int32_t stages = fitting_stages(p, s);
  return stages < 2 ? 2 : stages > most ? most : stages;
}

/* The largest power of two up to `most` that divides x. */
static int32_t power_in(int32_t x, int32_t most) {
  int32_t p = 1;
  while (p * 2 <= most && x % (p * 2) == 0)
    p *= 2;
  return p;
}

/* wgmma: two warpgroups where there are two slabs. mma: four or eight warps of 32 x 32 and more,
 * their number a power of two, so that rows of B divide among them. */
void hd_schedule_spread_warps(hd_schedule *s) {
  if (is_wgmma(s)) {
    s->warps_m = s->tile_m >= 128 ? 8 : 4;
    s->warps_n = 1;
    return;
  }
  if (is_tensor(s)) {
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

/* A stage's metadata, and tiles of block scales. */
static int32_t stage_columns(const hd_problem *p, const hd_schedule *s) {
  int32_t scales = hd_schedule_scale_bytes(p, s, s->tile_m) +
                   hd_schedule_scale_bytes(p, s, s->tile_n);
  return 2 * hd_block_meta_words(p->a_elem) +
         scales / HD_SCALE_TILE_BYTES * HD_SCALE_TILE_COLUMNS;
}

/* A power of two. */
static int32_t columns_of(const hd_problem *p, const hd_schedule *s, int32_t slots) {
  int32_t used = slots * s->tile_n + s->stages * stage_columns(p, s);
  int32_t columns = LEAST_COLUMNS;
  while (columns < used)
    columns *= 2;
  return columns;
}

static int32_t most_columns(const hd_problem *p, const hd_schedule *s) {
  return (int32_t)p->target->tensor_columns / (s->ctas < 1 ? 1 : s->ctas);
}

int32_t hd_schedule_sum_slots(const hd_problem *p, const hd_schedule *s) {
  return s->persistent && columns_of(p, s, 2) <= most_columns(p, s) ? 2 : 1;
}

int32_t hd_schedule_columns(const hd_problem *p, const hd_schedule *s) {
  return columns_of(p, s, hd_schedule_sum_slots(p, s));
}

int32_t hd_schedule_accumulators(const hd_problem *p, const hd_schedule *s) {
  enum {
    MOST_AT_ONCE = 128
  }; /* columns of a strip, half of them a lane; the rest is not in registers */
  if (is_tensor(s) && shares_tiles(s))
    return s->tile_n;
  if (is_tensor(s))
    return (s->tile_n < MOST_AT_ONCE ? s->tile_n : MOST_AT_ONCE) / 2;
  int32_t threads = s->warps_m * s->warps_n * 32;
  /* Partial sums are 32 bits wide, whatever the accumulators are. */
  int32_t bits = shares_tiles(s) ? 32 : heddle_elem_get(p->acc_elem)->container_bits;
  return threads ? s->tile_m * s->tile_n / threads * bits / 32 : 0;
}

/* Metadata registers of the two batches of a turn. */
static int32_t held_metadata(const hd_problem *p, const hd_schedule *s) {
  int32_t words = hd_block_meta_bytes(p->a_elem) / PLANE_BYTES;
  return 2 * words * (s->tile_m / HD_SLAB_ROWS) / (s->warps_m / 4);
}

static bool may_pend(const hd_problem *p, const hd_schedule *s) {
  return hd_schedule_accumulators(p, s) + held_metadata(p, s) <= PENDING_REGISTERS;
}

int32_t hd_schedule_most_pending(const hd_problem *p, const hd_schedule *s) {
  return is_wgmma(s) && s->warps_m >= 4 && strcmp(s->a_path, "desc") == 0 && may_pend(p, s);
}

#define REFUSE(status, rule, ...) return hd_error(ctx, status, p->matmul->loc, rule, __VA_ARGS__)

static heddle_status check_tile(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  int32_t granule = hd_granule_k(p->a_elem);
  if (s->tile_m < 64 || s->tile_m > 512 || s->tile_m % 64)
    REFUSE(HEDDLE_INVALID, "schedule.tile-m", "got tile m %d; legal: multiples of 64 to 512, "
           "nearest %d", s->tile_m, s->tile_m < 64 ? 64 : s->tile_m > 512 ? 512
                                                   : (s->tile_m + 32) / 64 * 64);
  if (s->tile_n < 8 || s->tile_n > 256 || s->tile_n % 8)
    REFUSE(HEDDLE_INVALID, "schedule.tile-n", "got tile n %d; legal: multiples of 8 to 256, "
           "nearest %d", s->tile_n, s->tile_n < 8 ? 8 : s->tile_n > 256 ? 256
                                                  : (s->tile_n + 4) / 8 * 8);
  if (p->b.transposed && s->tile_n % 64)
    REFUSE(HEDDLE_INVALID, "schedule.tile-n-panel", "got tile n %d with an mn_major B; legal: "
           "multiples of 64 (a 128-byte panel), nearest %d", s->tile_n,
           s->tile_n < 64 ? 64 : (s->tile_n + 32) / 64 * 64);
  if (s->tile_k != granule)
    REFUSE(HEDDLE_INVALID, "schedule.tile-k", "got tile k %d; legal: %d, one granule of %s",
           s->tile_k, granule, heddle_elem_get(p->a_elem)->name);
  if (s->ctas < 1 || s->ctas > MOST_CTAS)
    REFUSE(HEDDLE_INVALID, "schedule.ctas", "got %d CTAs an SM; legal: 1 to %d, nearest %d",
           s->ctas, MOST_CTAS, s->ctas < 1 ? 1 : MOST_CTAS);
  return HEDDLE_OK;
}

heddle_status hd_schedule_check_extents(heddle_context *ctx, const hd_problem *p,
                                        const hd_schedule *s) {
  int32_t granule = hd_granule_k(p->a_elem);
  HD_TRY(check_tile(ctx, p, s));
  if (s->warps_m > MOST_WARPS || s->warps_n > MOST_WARPS)
    REFUSE(HEDDLE_INVALID, "schedule.warps", "got warps %dx%d; legal: up to %d in all, nearest "
           "%dx1", s->warps_m, s->warps_n, MOST_WARPS, s->warps_m < 8 ? 4 : 8);
  int64_t granules = p->k.value ? (p->k.value + granule - 1) / granule : MOST_SPLITS;
  int32_t splits = granules < MOST_SPLITS ? (int32_t)granules : MOST_SPLITS;
  if (s->split_k < 1 || s->split_k > splits)
    REFUSE(HEDDLE_INVALID, "schedule.split-k", "got split_k %d; legal: 1 to %d%s, nearest %d",
           s->split_k, splits, splits < MOST_SPLITS ? " (a granule of k each)" : "",
           s->split_k < 1 ? 1 : splits);
  return HEDDLE_OK;
}

static heddle_status check_depth(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (s->stages < 2 || s->stages > HD_MOST_STAGES)
    REFUSE(HEDDLE_INVALID, "schedule.stages", "got %d stages; legal: 2 to %d", s->stages,
           HD_MOST_STAGES);
  if (s->stream_k != 0 && s->stream_k != 1)
    REFUSE(HEDDLE_INVALID, "schedule.stream-k", "got stream_k %d; legal: 0, 1", s->stream_k);
  if (s->stream_k && (s->split_k > 1 || !s->persistent))
    REFUSE(HEDDLE_INVALID, "schedule.stream-k",
           "got stream_k=1 with split_k=%d persistent=%d; legal: "
           "split_k=1 persistent=1",
           s->split_k, s->persistent);
  if (s->group < 1 || s->group > 1024)
    REFUSE(HEDDLE_INVALID, "schedule.group", "got group %d; legal: 1 to 1024", s->group);
  if (s->persistent != 0 && s->persistent != 1)
    REFUSE(HEDDLE_INVALID, "schedule.persistent", "got persistent %d; legal: 0, 1", s->persistent);
  if (!s->persistent && strcmp(s->k_order, "zigzag") == 0)
    REFUSE(HEDDLE_INVALID, "schedule.k-order",
           "got k_order=zigzag with persistent=0, where a CTA has "
           "one tile; nearest legal: k_order=forward");
  return HEDDLE_OK;
}

static int64_t tiles_along(const hd_size *size, int32_t tile) {
  return size->value ? (size->value + tile - 1) / tile : 1;
}

/* Kernel and grid count tiles in 32 bits, and step past the last one. */
static heddle_status check_tiles(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  enum { MOST_TILES = 1 << 30 };
  int64_t tiles = tiles_along(&p->m, s->tile_m) * tiles_along(&p->n, s->tile_n) * s->split_k;
  if (tiles > MOST_TILES)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.tiles",
           "got %lld tiles of %dx%d; legal: up to %d, nearest "
           "with larger tiles",
           (long long)tiles, s->tile_m, s->tile_n, MOST_TILES);
  return HEDDLE_OK;
}

static heddle_status check_shared(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  int32_t bytes = hd_schedule_shared_bytes(p, s), limit = hd_schedule_shared_limit(p, s);
  if (bytes > limit) {
    int32_t fit = fitting_stages(p, s);
    REFUSE(
        HEDDLE_UNSUPPORTED, "schedule.shared-memory",
        "tile %dx%dx%d with %d stages%s takes %d bytes of shared memory, %s has %d with ctas=%d; "
        "nearest legal: %s%d stages",
        s->tile_m, s->tile_n, s->tile_k, s->stages,
        hd_schedule_along_k(s) > 1 && !hd_schedule_over_ring(s) ? " beside the partial sums" : "",
        bytes, p->target->name, limit, s->ctas, fit < 2 ? "a smaller tile, " : "",
        fit < 2 ? 2 : fit);
  }
  return HEDDLE_OK;
}

static int32_t most_accumulators(const hd_schedule *s) {
  return is_tensor(s) && shares_tiles(s)       ? TENSOR_SHARED
         : s->split_k > hd_schedule_along_k(s) ? SPLIT_ACCUMULATORS
         : s->stream_k                         ? STREAM_ACCUMULATORS
         : strcmp(s->a_path, "reg") == 0       ? REGISTER_A_ACCUMULATORS
         : hd_schedule_along_k(s) > 1          ? EXCHANGE_ACCUMULATORS
                                               : WARPGROUP_ACCUMULATORS;
}

void hd_schedule_narrow(const hd_problem *p, hd_schedule *s) {
  while ((is_wgmma(s) || is_tensor(s)) && hd_schedule_accumulators(p, s) > most_accumulators(s) &&
         s->tile_n % 32 == 0)
    s->tile_n /= 2;
}

/* Kernel, checker and launch count a cluster along k so: of 2 or 4 CTAs with one tile. */
static heddle_status check_reduce(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (strcmp(s->reduce, "workspace") == 0)
    return HEDDLE_OK;
  if (!is_wgmma(s) || s->cluster != 1 || s->persistent || (s->split_k != 2 && s->split_k != 4))
    REFUSE(HEDDLE_INVALID, "schedule.reduce",
           "got reduce=%s with family=%s cluster=%d persistent=%d "
           "split_k=%d; legal: family=wgmma cluster=1 persistent=0 split_k=2 or 4; nearest: %s",
           s->reduce, s->family, s->cluster, s->persistent, s->split_k,
           s->split_k > 2 && s->split_k < 6 ? "split_k=4" : "split_k=2");
  if (p->acc_elem == HEDDLE_F16)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.reduce",
           "got reduce=%s with accumulators of f16; legal: f32, "
           "s32; nearest: reduce=workspace",
           s->reduce);
  if (hd_schedule_over_ring(s) && !p->k.value)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.reduce",
           "got reduce=ring with a k known at launch, which may leave CTAs of a cluster without a "
           "granule; nearest: reduce=cluster");
  return HEDDLE_OK;
}

/* A B that comes by one tensor map with N in whole runs, and rows of D that take 16 bytes at a
 * time. */
static heddle_status check_permuted(heddle_context *ctx, const hd_problem *p,
                                    const hd_schedule *s) {
  int32_t run = hd_d_run(p), lanes = 4 * run, sharers = s->cluster == 2 && *s->share == 'b' ? 2 : 1;
  int64_t b_bytes = p->b.ld * heddle_elem_get(p->b.elem)->container_bits / 8;
  if (!is_wgmma(s) || !strcmp(s->b_path, "gather") || p->b.transposed || b_bytes % 16)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.store-b",
           "got store=permuted with family=%s b=%s, B %s%s; legal: family=wgmma b=auto or tma, B "
           "k_major at a "
           "pitch of 16 bytes; nearest: store=quad",
           s->family, s->b_path, p->b.transposed ? "mn_major" : "k_major",
           b_bytes % 16 ? " at another pitch" : "");
  if (p->d.transposed || p->d.ld % run)
    REFUSE(
        HEDDLE_UNSUPPORTED, "schedule.store-d",
        "got store=permuted with D %s at pitch %lld; legal: row_major, a multiple of %d; nearest: "
        "store=quad",
        p->d.transposed ? "col_major" : "row_major", (long long)p->d.ld, run);
  int64_t c_bytes =
      hd_reads_c_rows(p) ? p->c.ld * heddle_elem_get(p->c.elem)->container_bits / 8 : 0;
  if (c_bytes && c_bytes % hd_run_align(p, p->c.elem))
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.store-c",
           "got store=permuted with C at a pitch of %lld bytes; legal: multiples of %d; nearest: "
           "store=quad",
           (long long)c_bytes, hd_run_align(p, p->c.elem));
  if (p->n.value % lanes)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.store-n",
           "got store=permuted with n %lld; legal: multiples of %d (four lanes of 16 bytes), "
           "nearest %lld; or "
           "store=quad",
           (long long)p->n.value, lanes, (long long)((p->n.value + lanes - 1) / lanes * lanes));
  int32_t unit = lanes * sharers * hd_schedule_owners(p, s);
  if (s->tile_n % unit)
    REFUSE(HEDDLE_INVALID, "schedule.store-tile",
           "got store=permuted with tile n %d; legal: multiples of %d (four lanes of 16 bytes%s), "
           "nearest %d",
           s->tile_n, unit, unit > lanes ? " a CTA of the cluster" : "",
           (s->tile_n + unit - 1) / unit * unit);
  return HEDDLE_OK;
}

/* A problem that was read has an instruction of one family. */
static heddle_status no_instruction(heddle_context *ctx, const hd_problem *p, const char *name) {
  const char *legal = hd_problem_row(p, "wgmma", 0, false)     ? "wgmma"
                      : hd_problem_row(p, "tcgen05", 0, false) ? "tcgen05"
                                                               : "mma";
  REFUSE(HEDDLE_UNSUPPORTED, "schedule.instruction",
         "no %s for %s x %s -> %s on %s; nearest legal: family=%s", name,
         heddle_elem_get(p->a_elem)->name, heddle_elem_get(p->b.elem)->name,
         heddle_elem_get(p->acc_elem)->name, p->target->name, legal);
}

static heddle_status check_wgmma(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  bool in_registers = strcmp(s->a_path, "reg") == 0;
  if (!hd_problem_row(p, "wgmma", 0, in_registers))
    return no_instruction(ctx, p, "wgmma.mma_async.sp");
  if (!hd_problem_row(p, "wgmma", s->tile_n, in_registers))
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.instruction",
           "no wgmma.mma_async.sp of n %d for %s x %s -> %s on %s; nearest legal n: %d", s->tile_n,
           heddle_elem_get(p->a_elem)->name, heddle_elem_get(p->b.elem)->name,
           heddle_elem_get(p->acc_elem)->name, p->target->name, (s->tile_n + 15) / 16 * 16);
  if (s->warps_n != 1 || s->warps_m % 4 || s->warps_m < 4 || s->warps_m > 8 ||
      s->tile_m % (s->warps_m * 16))
    REFUSE(HEDDLE_INVALID, "schedule.warps", "got warps %dx%d; legal for wgmma: 4x1 or 8x1, with "
           "tile m a multiple of 16 rows a warp", s->warps_m, s->warps_n);
  if (s->cluster != 1 && s->cluster != 2)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.cluster", "got cluster %d; legal: 1, 2", s->cluster);
  if (s->cluster == 2 && strcmp(s->b_path, "gather") == 0)
    REFUSE(HEDDLE_INVALID, "schedule.cluster-gather",
           "got cluster 2 with b=gather; gathered rows cannot be multicast; nearest legal: 1");
  bool shares_a = strcmp(s->share, "a") == 0;
  if (shares_a && (s->cluster == 1 || !s->persistent || shares_tiles(s)))
    REFUSE(HEDDLE_INVALID, "schedule.share",
           "got share=a with cluster=%d persistent=%d split_k=%d "
           "stream_k=%d; legal: cluster=2 persistent=1 split_k=1 stream_k=0",
           s->cluster, s->persistent, s->split_k, s->stream_k);
  if (s->cluster == 2 && !shares_a && s->tile_n % (p->b.transposed ? 128 : 16))
    REFUSE(HEDDLE_INVALID, "schedule.cluster-half",
           "got tile n %d with cluster 2; legal: multiples of %d (each CTA brings half of B)",
           s->tile_n, p->b.transposed ? 128 : 16);
  int32_t acc = hd_schedule_accumulators(p, s);
  int32_t limit = most_accumulators(s);
  if (acc > limit)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.registers",
           "tile %dx%d with %d warps needs %d accumulator registers a thread; legal: %d (a=%s, "
           "split_k=%d, "
           "stream_k=%d)",
           s->tile_m, s->tile_n, s->warps_m, acc, limit, s->a_path, s->split_k, s->stream_k);
  if (s->pending != 0 && s->pending != 1)
    REFUSE(HEDDLE_INVALID, "schedule.pending", "got pending %d; legal: 0, 1", s->pending);
  if (s->pending && strcmp(s->a_path, "reg") == 0)
    REFUSE(HEDDLE_INVALID, "schedule.pending-registers",
           "got pending 1 with a=reg, whose fragments a pending batch would still read; nearest "
           "legal: "
           "pending=0 or a=desc");
  if (s->pending && !may_pend(p, s))
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.pending-metadata",
           "tile %dx%d with pending 1 holds %d accumulators and %d words of metadata a thread; "
           "legal: %d "
           "in all; nearest: pending=0",
           s->tile_m, s->tile_n, acc, held_metadata(p, s), PENDING_REGISTERS);
  if (!strcmp(s->b_path, "cp_async") || !strcmp(s->b_path, "ld_st"))
    REFUSE(HEDDLE_INVALID, "schedule.b-path", "got b=%s; legal for wgmma: auto, tma, gather",
           s->b_path);
  return HEDDLE_OK;
}

/* Scales of B come by 128 columns, of which a tile may begin in the middle. */
static heddle_status check_scale_tile(heddle_context *ctx, const hd_problem *p,
                                      const hd_schedule *s) {
  if (p->block && shares_tiles(s))
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.split-scales",
           "got split_k=%d stream_k=%d with block scales in tensor memory, whose tiles are too "
           "wide to be summed up in registers; nearest legal: split_k=1 stream_k=0",
           s->split_k, s->stream_k);
  if (p->block && s->tile_n % SCALED_UNIT)
    REFUSE(HEDDLE_INVALID, "schedule.tile-scales",
           "got tile n %d with block scales in tensor memory; legal: multiples of %d, nearest %d",
           s->tile_n, SCALED_UNIT, (s->tile_n + SCALED_UNIT - 1) / SCALED_UNIT * SCALED_UNIT);
  return HEDDLE_OK;
}

static heddle_status check_tensor(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (!hd_problem_row(p, "tcgen05", 0, false))
    return no_instruction(ctx, p, "tcgen05.mma.sp");
  if (s->tile_m != TENSOR_ROWS || s->tile_n % TENSOR_UNIT)
    REFUSE(HEDDLE_INVALID, "schedule.tile-tensor",
           "got tile %dx%d; legal for tcgen05: %d rows, a multiple of %d columns; nearest %dx%d",
           s->tile_m, s->tile_n, TENSOR_ROWS, TENSOR_UNIT, TENSOR_ROWS,
           (s->tile_n + TENSOR_UNIT - 1) / TENSOR_UNIT * TENSOR_UNIT);
  HD_TRY(check_scale_tile(ctx, p, s));
  if (s->warps_m != 4 || s->warps_n != 1)
    REFUSE(HEDDLE_INVALID, "schedule.warps",
           "got warps %dx%d; legal for tcgen05: 4x1, a warp to 32 "
           "lanes of tensor memory",
           s->warps_m, s->warps_n);
  if (s->cluster != 1 || strcmp(s->share, "b") != 0)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.cluster",
           "got cluster %d share=%s; legal for tcgen05: 1, b", s->cluster, s->share);
  if (hd_schedule_accumulators(p, s) > most_accumulators(s))
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.registers",
           "tile %dx%d with split_k=%d stream_k=%d holds %d accumulator registers a thread beside "
           "other partials; legal: %d, nearest tile n %d",
           s->tile_m, s->tile_n, s->split_k, s->stream_k, s->tile_n, TENSOR_SHARED, TENSOR_SHARED);
  if (s->pending != 0)
    REFUSE(HEDDLE_INVALID, "schedule.pending", "got pending %d; legal for tcgen05: 0", s->pending);
  if (strcmp(s->a_path, "desc") != 0)
    REFUSE(HEDDLE_INVALID, "schedule.a-path", "got a=%s; legal for tcgen05: desc", s->a_path);
  if (!strcmp(s->b_path, "cp_async") || !strcmp(s->b_path, "ld_st"))
    REFUSE(HEDDLE_INVALID, "schedule.b-path", "got b=%s; legal for tcgen05: auto, tma, gather",
           s->b_path);
  int32_t columns = columns_of(p, s, 1), limit = most_columns(p, s);
  if (columns > limit)
    REFUSE(
        HEDDLE_UNSUPPORTED, "schedule.tensor-memory",
        "tile n %d with %d stages takes %d columns of tensor memory, a CTA of %d has %d; nearest "
        "legal: a narrower tile",
        s->tile_n, s->stages, columns, s->ctas, limit);
  return HEDDLE_OK;
}

static heddle_status check_mma(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (!hd_problem_row(p, "mma", 0, true))
    return no_instruction(ctx, p, "mma.sp");
  int32_t warps = s->warps_m * s->warps_n;
  if (s->warps_m < 1 || s->warps_n < 1 || warps > MOST_WARPS || (warps & (warps - 1)) ||
      s->tile_m % (16 * s->warps_m) || s->tile_n % (8 * s->warps_n))
    REFUSE(HEDDLE_INVALID, "schedule.warps",
           "got warps %dx%d for tile %dx%d; legal: 1, 2, 4, 8 or 16 "
           "in all, each with a multiple of 16 rows and 8 columns",
           s->warps_m, s->warps_n, s->tile_m, s->tile_n);
  if (s->cluster != 1)
    REFUSE(HEDDLE_INVALID, "schedule.cluster", "got cluster %d; legal for mma: 1", s->cluster);
  if (s->pending != 0)
    REFUSE(HEDDLE_INVALID, "schedule.pending", "got pending %d; legal for mma: 0", s->pending);
  int32_t acc = hd_schedule_accumulators(p, s);
  if (acc > WARP_ACCUMULATORS)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.registers",
           "tile %dx%d with %d warps needs %d accumulator registers a thread; legal: %d", s->tile_m,
           s->tile_n, warps, acc, WARP_ACCUMULATORS);
  if (strcmp(s->a_path, "reg") != 0)
    REFUSE(HEDDLE_INVALID, "schedule.a-path", "got a=%s; legal for mma: reg", s->a_path);
  if (!strcmp(s->b_path, "tma") || !strcmp(s->b_path, "gather"))
    REFUSE(HEDDLE_INVALID, "schedule.b-path", "got b=%s; legal for mma: auto, cp_async, ld_st",
           s->b_path);
  return HEDDLE_OK;
}

static heddle_status check_ctas(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  int32_t fit = p->target->max_threads_per_sm / threads_of(s);
  if (s->ctas > fit)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.ctas-threads",
           "got %d CTAs an SM of %d threads, %s holds %d; nearest legal: ctas=%d", s->ctas,
           threads_of(s), p->target->name, p->target->max_threads_per_sm, fit);
  int32_t acc = hd_schedule_accumulators(p, s);
  bool mma = !is_wgmma(s) && !is_tensor(s);
  int32_t limit = register_limit(p, s) - (mma ? MMA_REGISTERS : OTHER_REGISTERS);
  if (s->ctas > 1 && acc > limit)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.ctas-registers",
           "tile %dx%d with %d CTAs an SM needs %d accumulator registers a thread; legal: %d",
           s->tile_m, s->tile_n, s->ctas, acc, limit < 0 ? 0 : limit);
  return HEDDLE_OK;
}

static heddle_status check_problem_schedule(heddle_context *ctx, const hd_problem *p,
                                            const hd_schedule *s) {
  HD_TRY(hd_schedule_check_extents(ctx, p, s));
  HD_TRY(check_depth(ctx, p, s));
  HD_TRY(check_tiles(ctx, p, s));
  HD_TRY(check_reduce(ctx, p, s));
  HD_TRY(is_wgmma(s)    ? check_wgmma(ctx, p, s)
         : is_tensor(s) ? check_tensor(ctx, p, s)
                        : check_mma(ctx, p, s));
  if (strcmp(s->store, "permuted") == 0)
    HD_TRY(check_permuted(ctx, p, s));
  HD_TRY(check_ctas(ctx, p, s));
  HD_TRY(hd_store_slot_check(ctx, p, s));
  return check_shared(ctx, p, s);
}

bool hd_schedule_fits(const hd_problem *p, const hd_schedule *s) {
  return check_problem_schedule(NULL, p, s) == HEDDLE_OK;
}

heddle_status hd_schedule_check(heddle_context *ctx, const hd_op *kernel,
                                const hd_schedule *schedule) {
  hd_problem p;
  HD_TRY(hd_problem_read(ctx, (hd_op *)kernel, &p));
  return check_problem_schedule(ctx, &p, schedule);
}
