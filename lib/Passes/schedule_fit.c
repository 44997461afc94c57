#include "Passes/schedule_fit.h"

#include "Passes/store_slot.h"
#include "Passes/variants.h"

enum { MOST_CTAS = 8, MOST_SPLITS = 16 };

#define REFUSE(status, rule, ...) return hd_error(ctx, status, p->matmul->loc, rule, __VA_ARGS__)

/* One side of a tile: a multiple of unit, from unit to most. */
static heddle_status check_side(heddle_context *ctx, const hd_problem *p, const char *rule,
                                char side, int32_t got, int32_t unit, int32_t most,
                                const char *why) {
  if (got >= unit && got <= most && got % unit == 0)
    return HEDDLE_OK;
  int32_t nearest = got < unit ? unit : got > most ? most : (got + unit / 2) / unit * unit;
  REFUSE(HEDDLE_INVALID, rule, "got tile %c %d; legal: multiples of %d to %d%s; nearest: %d", side,
         got, unit, most, why, nearest);
}

static heddle_status check_tile(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  int32_t granule = hd_granule_k(p->a_elem);
  HD_TRY(check_side(ctx, p, "schedule.tile-m", 'm', s->tile_m, 64, 512, ""));
  HD_TRY(check_side(ctx, p, "schedule.tile-n", 'n', s->tile_n, 8, 256, ""));
  if (p->b.transposed)
    HD_TRY(check_side(ctx, p, "schedule.tile-n-panel", 'n', s->tile_n, 64, 256,
                      " (128-byte panels of an mn_major B)"));
  if (s->tile_k != granule)
    REFUSE(HEDDLE_INVALID, "schedule.tile-k", "got tile k %d; legal: %d, one granule of %s",
           s->tile_k, granule, heddle_elem_get(p->a_elem)->name);
  if (s->ctas < 1 || s->ctas > MOST_CTAS)
    REFUSE(HEDDLE_INVALID, "schedule.ctas", "got %d CTAs an SM; legal: 1 to %d; nearest: %d",
           s->ctas, MOST_CTAS, s->ctas < 1 ? 1 : MOST_CTAS);
  return HEDDLE_OK;
}

heddle_status hd_schedule_check_extents(heddle_context *ctx, const hd_problem *p,
                                        const hd_schedule *s) {
  int32_t granule = hd_granule_k(p->a_elem);
  HD_TRY(check_tile(ctx, p, s));
  if (s->warps_m > HD_MOST_WARPS || s->warps_n > HD_MOST_WARPS)
    REFUSE(HEDDLE_INVALID, "schedule.warps",
           "got warps %dx%d; legal: up to %d in all; nearest: %dx1", s->warps_m, s->warps_n,
           HD_MOST_WARPS, s->warps_m < 8 ? 4 : 8);
  int64_t granules = p->k.value ? (p->k.value + granule - 1) / granule : MOST_SPLITS;
  int32_t splits = granules < MOST_SPLITS ? (int32_t)granules : MOST_SPLITS;
  if (s->split_k < 1 || s->split_k > splits)
    REFUSE(HEDDLE_INVALID, "schedule.split-k", "got split_k %d; legal: 1 to %d%s; nearest: %d",
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
    REFUSE(
        HEDDLE_INVALID, "schedule.k-order",
        "got k_order=zigzag with persistent=0, where a CTA has one tile; nearest: k_order=forward");
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
           "got %lld tiles of %dx%d; legal: up to %d, by larger tiles", (long long)tiles, s->tile_m,
           s->tile_n, MOST_TILES);
  return HEDDLE_OK;
}

static heddle_status check_shared(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  int32_t bytes = hd_schedule_shared_bytes(p, s), limit = hd_schedule_shared_limit(p, s);
  if (bytes > limit) {
    int32_t fit = hd_schedule_fitting_stages(p, s);
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.shared-memory",
           "tile %dx%dx%d with %d stages%s takes %d bytes of shared memory, %s has %d with "
           "ctas=%d; nearest: %s%d stages",
           s->tile_m, s->tile_n, s->tile_k, s->stages,
           hd_schedule_along_k(s) > 1 && !hd_schedule_over_ring(s) ? " beside the partial sums"
                                                                   : "",
           bytes, p->target->name, limit, s->ctas, fit < 2 ? "a smaller tile, " : "",
           fit < 2 ? 2 : fit);
  }
  return HEDDLE_OK;
}

/* Kernel, checker and launch count a cluster along k so: of 2 or 4 CTAs with one tile. */
static heddle_status check_reduce(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (strcmp(s->reduce, "workspace") == 0)
    return HEDDLE_OK;
  if (!hd_schedule_is_wgmma(s) || s->cluster != 1 || s->persistent ||
      (s->split_k != 2 && s->split_k != 4))
    REFUSE(HEDDLE_INVALID, "schedule.reduce",
           "got reduce=%s with family=%s cluster=%d persistent=%d "
           "split_k=%d; legal: family=wgmma cluster=1 persistent=0 split_k=2 or 4; nearest: %s",
           s->reduce, s->family, s->cluster, s->persistent, s->split_k,
           !hd_schedule_is_wgmma(s)           ? "reduce=workspace"
           : s->split_k > 2 && s->split_k < 6 ? "split_k=4"
                                              : "split_k=2");
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
  if (!hd_schedule_is_wgmma(s) || !strcmp(s->b_path, "gather") || p->b.transposed || b_bytes % 16)
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
           "got store=permuted with n %lld; legal: multiples of %d (four lanes of 16 bytes); "
           "nearest: %lld, or store=quad",
           (long long)p->n.value, lanes, (long long)((p->n.value + lanes - 1) / lanes * lanes));
  int32_t unit = lanes * sharers * hd_schedule_owners(p, s);
  if (s->tile_n % unit)
    REFUSE(HEDDLE_INVALID, "schedule.store-tile",
           "got store=permuted with tile n %d; legal: multiples of %d (four lanes of 16 bytes%s); "
           "nearest: %d",
           s->tile_n, unit, unit > lanes ? " a CTA of the cluster" : "",
           (s->tile_n + unit - 1) / unit * unit);
  return HEDDLE_OK;
}

static heddle_status check_ctas(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  int32_t fit = p->target->max_threads_per_sm / hd_schedule_threads(s);
  if (s->ctas > fit)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.ctas-threads",
           "got %d CTAs an SM of %d threads, %s holds %d; nearest: ctas=%d", s->ctas,
           hd_schedule_threads(s), p->target->name, p->target->max_threads_per_sm, fit);
  int32_t acc = hd_schedule_accumulators(p, s);
  int32_t limit = hd_schedule_shared_accumulators(p, s);
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
  HD_TRY(hd_schedule_check_family(ctx, p, s));
  HD_TRY(hd_b_variant_check(ctx, p, s));
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

heddle_status hd_schedule_has(heddle_context *ctx, const hd_schedule *schedule, const char *words,
                              bool *yes) {
  char is[HD_SCHEDULE_TEXT], would_be[HD_SCHEDULE_TEXT];
  hd_schedule set = *schedule;
  HD_TRY(hd_schedule_parse(ctx, words, &set));
  hd_schedule_print(schedule, is);
  hd_schedule_print(&set, would_be);
  *yes = strcmp(is, would_be) == 0;
  return HEDDLE_OK;
}
