#include "Schedule/legality.h"
#include "Support/activations.h"
#include "Support/batch.h"

#include "Schedule/variants.h"


#define REFUSE(status, rule, ...) return hd_error(ctx, status, p->matmul->loc, rule, __VA_ARGS__)

/* One dimension of a tile: a multiple of unit, from unit to most. */
static heddle_status check_side(heddle_context *ctx, const hd_problem *p, const char *rule,
                                char side, int32_t got, int32_t unit, int32_t most,
                                const char *why) {
  if (got >= unit && got <= most && got % unit == 0)
    return HEDDLE_OK;
  int32_t nearest = got < unit ? unit : got > most ? most : (got + unit / 2) / unit * unit;
  REFUSE(HEDDLE_INVALID, rule, "got tile %c %d; legal: multiples of %d to %d%s; nearest: %d", side,
         got, unit, most, why, nearest);
}

/* Integer keys must be within the ranges of schedule_keys.def. */
static heddle_status check_ranges(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  for (hd_key i = 0; i < HD_N_KEYS; i++) {
    const hd_schedule_key *key = &hd_schedule_keys[i];
    int32_t v[3];
    hd_schedule_get(s, i, v);
    if (key->kind == HD_KEY_INT && (*v < key->least || *v > key->most))
      REFUSE(HEDDLE_INVALID, "schedule.range", "got %s=%d; legal: %d to %d; nearest: %s=%d",
             key->name, *v, key->least, key->most, key->name,
             *v < key->least ? key->least : key->most);
  }
  return HEDDLE_OK;
}

heddle_status hd_schedule_check_extents(heddle_context *ctx, const hd_problem *p,
                                        const hd_schedule *s) {
  int32_t k_block = hd_k_block_size(p->a_elem);
  const int32_t most_splits = hd_schedule_keys[HD_KEY_SPLIT_K].most;
  HD_TRY(check_side(ctx, p, "schedule.tile-m", 'm', s->tile_m, 64, 512, ""));
  HD_TRY(check_side(ctx, p, "schedule.tile-n", 'n', s->tile_n, 8, 256, ""));
  if (p->b.transposed)
    HD_TRY(check_side(ctx, p, "schedule.tile-n-panel", 'n', s->tile_n, 64, 256,
                      " (128-byte panels of an mn_major B)"));
  if (s->tile_k != k_block)
    REFUSE(HEDDLE_INVALID, "schedule.tile-k", "got tile k %d; legal: %d, one k-block of %s",
           s->tile_k, k_block, heddle_elem_get(p->a_elem)->name);
  HD_TRY(check_ranges(ctx, p, s));
  if (s->warps_m > HD_MOST_WARPS || s->warps_n > HD_MOST_WARPS)
    REFUSE(HEDDLE_INVALID, "schedule.warps",
           "got warps %dx%d; legal: up to %d in total; nearest: %dx1", s->warps_m, s->warps_n,
           HD_MOST_WARPS, s->warps_m < 8 ? 4 : 8);
  int64_t k_blocks = p->k.value ? (p->k.value + k_block - 1) / k_block : most_splits;
  int32_t splits = k_blocks < most_splits ? (int32_t)k_blocks : most_splits;
  if (s->split_k > splits)
    REFUSE(HEDDLE_INVALID, "schedule.split-k",
           "got split_k=%d; legal: 1 to %d (at least one k-block for each split); nearest: "
           "split_k=%d", s->split_k,
           splits, splits);
  return HEDDLE_OK;
}

static heddle_status check_persistent(heddle_context *ctx, const hd_problem *p,
                                      const hd_schedule *s) {
  if (s->stream_k && (s->split_k > 1 || !s->persistent))
    REFUSE(HEDDLE_INVALID, "schedule.stream-k",
           "got stream_k=1 with split_k=%d persistent=%d; legal: split_k=1 persistent=1",
           s->split_k, s->persistent);
  if (!s->persistent && s->k_order == HD_K_ZIGZAG)
    REFUSE(
        HEDDLE_INVALID, "schedule.k-order",
        "got k_order=zigzag with persistent=0, where a CTA has one tile; nearest: k_order=forward");
  return HEDDLE_OK;
}

/* Groups: the launch plan does not know the number of tiles, and tiles begin at any column. */
static heddle_status check_groups(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (!hd_is_grouped(p))
    return HEDDLE_OK;
  if (!s->persistent || s->split_k > 1)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.groups",
           "got persistent=%d split_k=%d with groups; legal: persistent=1 split_k=1",
           s->persistent, s->split_k);
  if (s->stream_k && p->combine)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.groups",
           "got stream_k=1 with combine_d, which stores the products in the workspace; nearest: "
           "stream_k=0");
  if (s->store == HD_STORE_PERMUTED)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.groups",
           "got store=permuted with groups, which begin and end anywhere in a run; legal: direct, "
           "quad, staged; nearest: store=quad");
  if (s->store == HD_STORE_STAGED &&
      (!p->d.transposed || p->scatter || p->combine || p->n.value > HD_RAGGED_MOST))
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.groups",
           "got store=staged with groups and %s; legal: a col_major D of up to 2^30 columns "
           "without scatter_d and combine_d, whose tensor map ends where a group does; nearest: "
           "store=quad",
           p->scatter      ? "scatter_d"
           : p->combine    ? "combine_d"
           : p->n.value > HD_RAGGED_MOST ? "more than 2^30 columns"
                           : "a row_major D");
  if (hd_schedule_gathers(p, s) &&
      (s->cluster > 1 || s->stages < HD_GATHER_STAGES))
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.groups",
           "got cluster=%d stages=%d with gather_b, which signals a slot while the next one fills; "
           "legal: cluster=1 and at least %d stages", s->cluster, s->stages,
           HD_GATHER_STAGES);
  return HEDDLE_OK;
}

/* Each launch expects the counters of shared tiles in the workspace to be zero, so that a copy of B
 * cannot use the same workspace. */
static heddle_status check_copied(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  enum { MAX_ROW_BYTES = 1 << 20 };
  int64_t row = p->k.value * heddle_elem_get(p->b.elem)->container_bits / 8;
  if (s->b_path != HD_B_COPIED)
    return HEDDLE_OK;
  if (p->b.transposed || heddle_elem_get(p->b.elem)->container_bits < 8 || !row ||
      row > MAX_ROW_BYTES || (hd_is_batch(p) && !hd_is_grouped(p)))
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.copied",
           "got b=copied with a B of %s, %s%s, k %lld; legal: k_major, whole bytes, one product or "
           "groups, k fixed and rows up to %d bytes; nearest: b=auto",
           heddle_elem_get(p->b.elem)->name, p->b.transposed ? "mn_major" : "k_major",
           hd_is_batch(p) && !hd_is_grouped(p) ? " of a batch" : "", (long long)p->k.value,
           MAX_ROW_BYTES);
  if (s->stream_k || s->split_k > hd_schedule_along_k(s))
    REFUSE(HEDDLE_INVALID, "schedule.copied-split",
           "got b=copied with split_k=%d reduce=%s stream_k=%d, whose partial sums also use the "
           "workspace; legal: split_k=1, or reduce=cluster or ring; nearest: split_k=1 stream_k=0",
           s->split_k, hd_key_word(HD_KEY_REDUCE, s->reduce), s->stream_k);
  if (p->combine)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.copied",
           "got b=copied with combine_d, which stores the products in the workspace; nearest: "
           "b=auto");
  return HEDDLE_OK;
}

static int64_t tiles_along(const hd_size *size, int32_t tile) {
  return size->value ? (size->value + tile - 1) / tile : 1;
}

/* The kernel and the grid count tiles in 32 bits, and the counter may exceed the last tile. */
static heddle_status check_tiles(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  enum { MAX_TILES = 1 << 30 };
  int64_t tiles = tiles_along(&p->m, s->tile_m) * tiles_along(&p->n, s->tile_n) * s->split_k *
                  tiles_along(&p->g, 1);
  if (tiles > MAX_TILES)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.tiles",
           "got %lld tiles of %dx%d; legal: up to %d, with larger tiles", (long long)tiles,
           s->tile_m,
           s->tile_n, MAX_TILES);
  return HEDDLE_OK;
}

static heddle_status check_shared(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  int32_t bytes = hd_schedule_shared_bytes(p, s), limit = hd_schedule_shared_limit(p, s);
  if (bytes > limit) {
    int32_t fit = hd_schedule_fitting_stages(p, s);
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.shared-memory",
           "tile %dx%dx%d with %d stages%s needs %d bytes of shared memory, %s has %d with "
           "ctas_per_sm=%d; nearest: %s%d stages",
           s->tile_m, s->tile_n, s->tile_k, s->stages,
           hd_schedule_along_k(s) > 1 && !hd_schedule_over_ring(s) ? " and the partial sums"
                                                                   : "",
           bytes, p->target->name, limit, s->ctas_per_sm, fit < 2 ? "a smaller tile, " : "",
           fit < 2 ? 2 : fit);
  }
  return HEDDLE_OK;
}

/* The kernel, the checker and the launch assume that a cluster along k has 2 or 4 CTAs and one
 * tile. */
static heddle_status check_reduce(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (s->reduce == HD_REDUCE_WORKSPACE)
    return HEDDLE_OK;
  if (!hd_schedule_is_wgmma(s) || s->cluster != 1 || s->persistent ||
      (s->split_k != 2 && s->split_k != 4))
    REFUSE(HEDDLE_INVALID, "schedule.reduce",
           "got reduce=%s with family=%s cluster=%d persistent=%d "
           "split_k=%d; legal: family=wgmma cluster=1 persistent=0 split_k=2 or 4; nearest: %s",
           hd_key_word(HD_KEY_REDUCE, s->reduce), hd_key_word(HD_KEY_FAMILY, s->family), s->cluster,
           s->persistent, s->split_k,
           !hd_schedule_is_wgmma(s)           ? "reduce=workspace"
           : s->split_k > 2 && s->split_k < 6 ? "split_k=4"
                                              : "split_k=2");
  if (p->acc_elem == HEDDLE_F16)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.reduce",
           "got reduce=%s with accumulators of f16; legal: f32, "
           "s32; nearest: reduce=workspace",
           hd_key_word(HD_KEY_REDUCE, s->reduce));
  if (hd_schedule_over_ring(s) && !p->k.value)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.reduce",
           "got reduce=ring with a k known only at launch, which may leave CTAs of a cluster "
           "without a k-block; nearest: reduce=cluster");
  return HEDDLE_OK;
}

/* A statistic covers 128 rows of D. One CTA must compute all of them, over the whole k. */
static heddle_status check_statistic(heddle_context *ctx, const hd_problem *p,
                                     const hd_schedule *s) {
  enum {
    MAX_HELD = 128,    /* results per thread, which replace the accumulators */
    MAX_HELD_MMA = 96, /* the same beside the addresses of more strips */
    MAX_HELD_AUX = 64, /* and beside C and a second matrix */
    MAX_ROWS = 256,    /* of a warp of mma.sp */
    MAX_SLOTS = 64,    /* of a buffer */
    SLICE = 32         /* columns of a cell in tensor memory, if they divide the tile's */
  };
  int32_t unit = hd_reduce_rows(p);
  if (!p->reduce)
    return HEDDLE_OK;
  bool tensor = hd_schedule_is_tensor(s);
  if (tensor && p->pair)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.statistic",
           "got family=tcgen05 with reduce = %s of pairs, whose %d rows of A take two CTAs; legal: "
           "wgmma, mma; nearest: family=mma",
           p->reduce, unit);
  if (s->tile_m % unit)
    REFUSE(HEDDLE_INVALID, "schedule.statistic-tile",
           "got tile m %d with reduce = %s; legal: multiples of %d (128 rows of D); nearest: %d",
           s->tile_m, p->reduce, unit, (s->tile_m + unit - 1) / unit * unit);
  hd_warp_rows own = hd_schedule_warp_rows(s);
  if (own.rows && own.rows % unit && unit % own.rows)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.statistic-warps",
           "got tile m %d with warps %dx%d and reduce = %s, where %s has %d rows; legal: a "
           "multiple or a divisor of %d; nearest: tile m %d",
           s->tile_m, s->warps_m, s->warps_n, p->reduce, own.warps > 1 ? "a warpgroup" : "a warp",
           own.rows, unit, unit);
  if (own.warps == 1 && own.rows > MAX_ROWS)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.statistic-warps",
           "got tile m %d with warps %dx%d and reduce = %s, where a warp has %d rows, whose "
           "addresses leave too few registers; legal: %d; nearest: tile m %d",
           s->tile_m, s->warps_m, s->warps_n, p->reduce, own.rows, MAX_ROWS, MAX_ROWS * s->warps_m);
  if (s->split_k > hd_schedule_along_k(s) || s->stream_k)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.statistic-split",
           "got split_k=%d reduce=%s stream_k=%d with reduce = %s, where the last arriver is one "
           "warp; legal: split_k=1, or reduce=cluster or ring; nearest: split_k=1 stream_k=0",
           s->split_k, hd_key_word(HD_KEY_REDUCE, s->reduce), s->stream_k, p->reduce);
  if (s->store == HD_STORE_PERMUTED)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.statistic-store",
           "got store=permuted with reduce = %s; legal: direct, quad, staged; nearest: store=quad",
           p->reduce);
  int32_t threads = 32 * s->warps_m * s->warps_n;
  int32_t held = threads && !tensor ? s->tile_m * s->tile_n / threads : 0;
  int32_t most = !hd_schedule_is_mma(s) ? MAX_HELD
                 : p->aux_of && p->c.op ? MAX_HELD_AUX
                                        : MAX_HELD_MMA;
  if (held > most)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.statistic-registers",
           "tile %dx%d with reduce = %s holds %d results a thread; legal: %d; nearest: tile n %d",
           s->tile_m, s->tile_n, p->reduce, held, most, s->tile_n * most / held / 8 * 8);
  if (tensor && p->c.op && s->tile_n > HD_STATISTIC_C)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.statistic-registers",
           "tile %dx%d in tensor memory with reduce = %s leaves no registers for C; legal: tile n "
           "up to %d; nearest: tile n %d",
           s->tile_m, s->tile_n, p->reduce, HD_STATISTIC_C, HD_STATISTIC_C);
  int32_t slots = hd_schedule_reduce_slots(p, s).n;
  if (slots > MAX_SLOTS)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.statistic-slots",
           "got tile %dx%d with warps %dx%d and reduce = %s, whose statistics take %d slots; "
           "legal: %d; nearest: tile n %d",
           s->tile_m, s->tile_n, s->warps_m, s->warps_n, p->reduce, slots, MAX_SLOTS,
           s->tile_n / SLICE * SLICE);
  return HEDDLE_OK;
}

/* store=permuted loads B through one tensor map with N in complete runs, and stores rows of D in
 * pieces of 16 bytes. */
static heddle_status check_permuted(heddle_context *ctx, const hd_problem *p,
                                    const hd_schedule *s) {
  if (hd_is_batch(p))
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.store-batch",
           "got store=permuted with a batch: the tensor map of B would need six dimensions; legal: "
           "up to five; nearest: store=quad");
  int32_t run = hd_d_run(p), lanes = 4 * run;
  int32_t sharers = s->cluster == 2 && s->multicast == HD_MULTICAST_B ? 2 : 1;
  int64_t b_bytes = p->b.ld * heddle_elem_get(p->b.elem)->container_bits / 8;
  if (!hd_schedule_is_wgmma(s) || s->b_path == HD_B_GATHER || p->b.transposed || b_bytes % 16)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.store-b",
           "got store=permuted with family=%s b=%s, B %s%s; legal: family=wgmma b=auto or tma, B "
           "k_major at a "
           "pitch of 16 bytes; nearest: store=quad",
           hd_key_word(HD_KEY_FAMILY, s->family), hd_key_word(HD_KEY_B_PATH, s->b_path),
           p->b.transposed ? "mn_major" : "k_major",
           b_bytes % 16 ? " at another pitch" : "");
  if (p->d.transposed || p->d.ld % run)
    REFUSE(
        HEDDLE_UNSUPPORTED, "schedule.store-d",
        "got store=permuted with D %s at pitch %lld; legal: row_major, a multiple of %d; nearest: "
        "store=quad",
        p->d.transposed ? "col_major" : "row_major", (long long)p->d.ld, run);
  if (p->aux_of && heddle_elem_get(p->aux.elem)->container_bits !=
                       heddle_elem_get(p->d.elem)->container_bits)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.store-aux",
           "got store=permuted with an aux of %s beside a D of %s, of which a lane would store "
           "other columns; legal: types of one width; nearest: store=quad",
           heddle_elem_get(p->aux.elem)->name, heddle_elem_get(p->d.elem)->name);
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

/* store=staged stores D through a tensor map. The rows of a tile consist of complete slots. */
static heddle_status check_staged(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (!hd_schedule_is_wgmma(s) || s->b_path == HD_B_GATHER)
    REFUSE(HEDDLE_INVALID, "schedule.store",
           "got store=staged with family=%s b=%s; legal: family=wgmma, b=auto or b=tma; nearest: "
           "store=quad",
           hd_key_word(HD_KEY_FAMILY, s->family), hd_key_word(HD_KEY_B_PATH, s->b_path));
  int32_t elem_bytes = heddle_elem_get(p->d.elem)->container_bits / 8;
  int32_t owners = hd_schedule_owners(p, s), row = s->tile_n / owners * elem_bytes,
          pitch = (int32_t)(p->d.ld * elem_bytes % HD_STAGED_ALIGN);
  if (row % HD_NARROWEST_SLOT)
    REFUSE(HEDDLE_INVALID, "schedule.store-tile",
           "got store=staged with tile n %d, rows of %d bytes of %s; legal: multiples of %d bytes; "
           "nearest: tile n %d",
           s->tile_n, row, heddle_elem_get(p->d.elem)->name, HD_NARROWEST_SLOT,
           (row + HD_NARROWEST_SLOT - 1) / HD_NARROWEST_SLOT * HD_NARROWEST_SLOT / elem_bytes *
               owners);
  if (p->pair && p->d.transposed && elem_bytes == 1)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.store-pair",
           "got store=staged with a col_major D of %s of pairs, whose boxes have lines of %d "
           "bytes, not of %d; nearest: store=quad",
           heddle_elem_get(p->d.elem)->name, HD_PAIR_ROWS, HD_STAGED_ALIGN);
  if (pitch)
    REFUSE(
        HEDDLE_UNSUPPORTED, "schedule.store-pitch",
        "got store=staged with a row pitch of D of %lld elements, %d bytes past a multiple of %d; "
        "nearest: store=quad",
        (long long)p->d.ld, pitch, HD_STAGED_ALIGN);
  return HEDDLE_OK;
}

static heddle_status check_ctas(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  int32_t fit = p->target->max_threads_per_sm / hd_schedule_threads(s);
  if (s->ctas_per_sm > fit)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.ctas-threads",
           "got %d CTAs per SM of %d threads; %s has room for %d; nearest: ctas_per_sm=%d",
           s->ctas_per_sm,
           hd_schedule_threads(s), p->target->name, p->target->max_threads_per_sm, fit);
  int32_t acc = hd_schedule_accumulators(p, s) * hd_schedule_sets(p);
  int32_t limit = hd_schedule_shared_accumulators(p, s);
  if (s->ctas_per_sm > 1 && acc > limit)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.ctas-registers",
           "tile %dx%d with %d CTAs per SM needs %d accumulator registers per thread; legal: %d",
           s->tile_m, s->tile_n, s->ctas_per_sm, acc, limit < 0 ? 0 : limit);
  return HEDDLE_OK;
}

heddle_status hd_schedule_check(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  HD_TRY(hd_schedule_check_extents(ctx, p, s));
  HD_TRY(check_persistent(ctx, p, s));
  HD_TRY(check_groups(ctx, p, s));
  HD_TRY(check_tiles(ctx, p, s));
  HD_TRY(check_copied(ctx, p, s));
  HD_TRY(check_reduce(ctx, p, s));
  HD_TRY(check_statistic(ctx, p, s));
  HD_TRY(hd_schedule_check_family(ctx, p, s));
  HD_TRY(hd_b_variant_check(ctx, p, s));
  if (s->store == HD_STORE_PERMUTED)
    HD_TRY(check_permuted(ctx, p, s));
  HD_TRY(check_ctas(ctx, p, s));
  if (s->store == HD_STORE_STAGED)
    HD_TRY(check_staged(ctx, p, s));
  return check_shared(ctx, p, s);
}

bool hd_schedule_fits(const hd_problem *p, const hd_schedule *s) {
  return hd_schedule_check(NULL, p, s) == HEDDLE_OK;
}
