#include "Schedule/legality.h"

#include <string.h>

#include "Schedule/variants.h"

enum {
  TENSOR_ROWS = 128,
  WARP_ACCUMULATORS = 128
};

#define REFUSE(status, rule, ...) return hd_error(ctx, status, p->matmul->loc, rule, __VA_ARGS__)

/* The diagnostic assumes that the problem has an instruction of at least one family. */
static heddle_status no_instruction(heddle_context *ctx, const hd_problem *p, const char *name) {
  const char *legal = hd_problem_has(p, HD_FAMILY_WGMMA_SP)     ? "wgmma"
                      : hd_problem_has(p, HD_FAMILY_TCGEN05_SP) ? "tcgen05"
                                                               : "mma";
  REFUSE(HEDDLE_UNSUPPORTED, "schedule.instruction",
         "no %s for %s x %s -> %s on %s; nearest: family=%s", name,
         heddle_elem_get(p->a_elem)->name, heddle_elem_get(p->b.elem)->name,
         heddle_elem_get(p->acc_elem)->name, p->target->name, legal);
}

/* Refuses epilogues whose values, in addition to the accumulators, make ptxas spill (ptxas 13.0,
 * every epilogue with every large tile: test/emit/epilogue_registers.test). */
static heddle_status check_epilogue(heddle_context *ctx, const hd_problem *p, const hd_schedule *s,
                                    int32_t acc) {
  enum { MEDIUM = 96, LARGE = 128, FULL = 160 };
  static const char narrower[] = "tile n 128", plainer[] = "store=quad stream_k=0";
  bool large = acc >= LARGE, full = acc >= FULL, over = acc > FULL;
  bool staged = s->store == HD_STORE_STAGED;
  bool vectors = (p->scale_a.op && !p->scale_a.one) || (p->scale_b.op && !p->scale_b.one) ||
                 (p->bias.op && p->bias_along_n);
  bool computes = strcmp(p->act, "none") != 0 || p->alpha;
  bool open = !p->n.value && (p->g.op || (!p->m.value && p->d.transposed));
  const struct {
    bool spills;
    const char *what, *nearest;
  } held[] = {
      {full && p->c.op, "C", narrower},
      {full && p->aux_of, "a second matrix", narrower},
      {large && p->aux_of && s->tile_m > s->warps_m * HD_STRIP_ROWS,
       "a second matrix of two strips per warp", "tile m 128"},
      {acc >= MEDIUM && p->aux_of && staged, "a second matrix with staged tiles", plainer},
      {acc > MEDIUM && !large && p->aux_of && vectors,
       "a second matrix with scale vectors or a bias along n", "tile n 192"},
      {acc >= MEDIUM && p->aux_of && hd_is_batch(p) && !hd_is_grouped(p),
       "a second matrix of a batch", "tile n 176"},
      {large && p->aux_of && s->stream_k, "a second matrix with shared tiles", plainer},
      {over && p->user, "a user function", narrower},
      {over && vectors, "scale vectors or a bias along n", narrower},
      {over && p->scatter, "the indices of D's columns", narrower},
      {over && p->d.elem == HEDDLE_F32 && (computes || open),
       "an f32 D with an activation, alpha, or these sizes known only at launch", narrower},
      {full && vectors && (staged || !p->n.value),
       "scale vectors or a bias along n, together with staged tiles or a size known only at launch",
       narrower},
      {large && s->stream_k && p->c.op, "C with shared tiles", plainer},
      {large && staged && !strcmp(p->act, "gelu"), "gelu with staged tiles",
       over ? narrower : plainer},
  };
  for (size_t i = 0; i < HD_COUNT(held); i++)
    if (held[i].spills)
      REFUSE(HEDDLE_UNSUPPORTED, "schedule.epilogue-registers",
             "tile %dx%d has %d accumulators per thread, which leave no registers for %s; nearest: "
             "%s",
             s->tile_m, s->tile_n, acc, held[i].what, held[i].nearest);
  return HEDDLE_OK;
}

/* The sums of a k-block are added to the second set of accumulators before the next batch. */
static heddle_status check_promoted(heddle_context *ctx, const hd_problem *p,
                                    const hd_schedule *s) {
  enum { BLOCK = 8 };
  int32_t acc = hd_schedule_accumulators(p, s), limit = hd_schedule_most_accumulators(p, s);
  if (!hd_scales_promoted(p))
    return HEDDLE_OK;
  if (s->wgmma_in_flight)
    REFUSE(HEDDLE_INVALID, "schedule.promoted-in-flight",
           "got wgmma_in_flight=1 with block scales of f32, which are applied when a k-block's "
           "batch is over; legal: 0; nearest: wgmma_in_flight=0");
  if (acc > limit)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.promoted-registers",
           "tile %dx%d with %d warps has %d accumulators per thread in each of two sets (block "
           "scales of f32); legal: %d (a=%s split_k=%d stream_k=%d); nearest: tile n %d",
           s->tile_m, s->tile_n, s->warps_m, acc, limit, hd_key_word(HD_KEY_A_PATH, s->a_path),
           s->split_k, s->stream_k, s->tile_n * limit / acc / BLOCK * BLOCK);
  return HEDDLE_OK;
}

static heddle_status check_wgmma(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  bool in_registers = s->a_path == HD_A_REG;
  bool has_row = hd_problem_row(p, HD_FAMILY_WGMMA_SP, s->tile_n, in_registers);
  if (!has_row && !hd_problem_row(p, HD_FAMILY_WGMMA_SP, 0, in_registers))
    return no_instruction(ctx, p, "wgmma.mma_async.sp");
  if (!has_row)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.instruction",
           "no wgmma.mma_async.sp of n %d for %s x %s -> %s on %s; nearest: n %d", s->tile_n,
           heddle_elem_get(p->a_elem)->name, heddle_elem_get(p->b.elem)->name,
           heddle_elem_get(p->acc_elem)->name, p->target->name, (s->tile_n + 15) / 16 * 16);
  if (s->warps_n != 1 || s->warps_m % 4 || s->warps_m < 4 || s->warps_m > 8 ||
      s->tile_m % (s->warps_m * 16))
    REFUSE(HEDDLE_INVALID, "schedule.warps",
           "got warps %dx%d with family=wgmma; legal: 4x1 or 8x1, with tile m a multiple of 16 "
           "rows per warp",
           s->warps_m, s->warps_n);
  if (s->cluster == 2 && s->b_path == HD_B_GATHER)
    REFUSE(HEDDLE_INVALID, "schedule.cluster-gather",
           "got cluster 2 with b=gather; gathered rows cannot be multicast; nearest: 1");
  bool shares_a = s->multicast == HD_MULTICAST_A;
  if (shares_a && (s->cluster == 1 || !s->persistent || hd_schedule_shares_tiles(s)))
    REFUSE(HEDDLE_INVALID, "schedule.multicast",
           "got multicast=a with cluster=%d persistent=%d split_k=%d "
           "stream_k=%d; legal: cluster=2 persistent=1 split_k=1 stream_k=0",
           s->cluster, s->persistent, s->split_k, s->stream_k);
  if (s->cluster == 2 && !shares_a && s->tile_n % (p->b.transposed ? 128 : 16))
    REFUSE(HEDDLE_INVALID, "schedule.cluster-half",
           "got tile n %d with cluster 2; legal: multiples of %d (each CTA brings half of B)",
           s->tile_n, p->b.transposed ? 128 : 16);
  HD_TRY(check_promoted(ctx, p, s));
  int32_t acc = hd_schedule_accumulators(p, s);
  int32_t limit = hd_schedule_most_accumulators(p, s);
  if (acc > limit)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.registers",
           "tile %dx%d with %d warps needs %d accumulator registers per thread; legal: %d (a=%s, "
           "split_k=%d, stream_k=%d)",
           s->tile_m, s->tile_n, s->warps_m, acc, limit,
           hd_key_word(HD_KEY_A_PATH, s->a_path), s->split_k, s->stream_k);
  HD_TRY(check_epilogue(ctx, p, s, acc));
  if (s->wgmma_in_flight && s->a_path == HD_A_REG)
    REFUSE(HEDDLE_INVALID, "schedule.in-flight-registers",
           "got wgmma_in_flight=1 with a=reg: a wgmma in flight would still read the fragments of "
           "A; nearest: wgmma_in_flight=0 or a=desc");
  if (s->wgmma_in_flight && !hd_schedule_may_overlap(p, s))
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.in-flight-metadata",
           "tile %dx%d with wgmma_in_flight=1 has %d accumulators and %d words of metadata per "
           "thread; legal: %d in total; nearest: wgmma_in_flight=0",
           s->tile_m, s->tile_n, acc, hd_schedule_held_metadata(p, s), HD_IN_FLIGHT_REGISTERS);
  if (s->b_path == HD_B_CP_ASYNC || s->b_path == HD_B_LD_ST)
    REFUSE(HEDDLE_INVALID, "schedule.b-path",
           "got b=%s with family=wgmma; legal: auto, tma, gather, copied",
           hd_key_word(HD_KEY_B_PATH, s->b_path));
  return HEDDLE_OK;
}

/* Scales of B are loaded for bands of 128 columns; a tile may begin in the middle of a band. */
static heddle_status check_scale_tile(heddle_context *ctx, const hd_problem *p,
                                      const hd_schedule *s) {
  if (p->block && s->stream_k)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.stream-scales",
           "got stream_k=1 with block scales in tensor memory, whose wide tiles leave too few "
           "registers; nearest: stream_k=0, or split_k=2");
  if (p->block && s->tile_n % HD_SCALED_UNIT)
    REFUSE(HEDDLE_INVALID, "schedule.tile-scales",
           "got tile n %d with block scales in tensor memory; legal: multiples of %d; nearest: %d",
           s->tile_n, HD_SCALED_UNIT,
           (s->tile_n + HD_SCALED_UNIT - 1) / HD_SCALED_UNIT * HD_SCALED_UNIT);
  return HEDDLE_OK;
}

static heddle_status check_pair(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (s->cluster < 1 || s->cluster > 2 || s->multicast != HD_MULTICAST_B)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.cluster",
           "got cluster %d multicast=%s with family=tcgen05; legal: 1 or 2, multicast=b; "
           "nearest: cluster=%d multicast=b",
           s->cluster, hd_key_word(HD_KEY_MULTICAST, s->multicast), s->cluster < 2 ? 1 : 2);
  return HEDDLE_OK;
}

static heddle_status check_tensor(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (!hd_problem_has(p, HD_FAMILY_TCGEN05_SP))
    return no_instruction(ctx, p, "tcgen05.mma.sp");
  int32_t unit = hd_schedule_tensor_unit(p, s);
  if (s->tile_m != TENSOR_ROWS || s->tile_n % unit)
    REFUSE(HEDDLE_INVALID, "schedule.tile-tensor",
           "got tile %dx%d with family=tcgen05%s; legal: %d rows, a multiple of %d columns; "
           "nearest: %dx%d",
           s->tile_m, s->tile_n, hd_schedule_is_pair(s) ? " with cluster 2, half of B in each CTA"
           : "",
           TENSOR_ROWS, unit, TENSOR_ROWS, (s->tile_n + unit - 1) / unit * unit);
  HD_TRY(check_scale_tile(ctx, p, s));
  if (s->warps_m != 4 || s->warps_n != 1)
    REFUSE(HEDDLE_INVALID, "schedule.warps",
           "got warps %dx%d with family=tcgen05; legal: 4x1, one warp for 32 lanes of tensor "
           "memory",
           s->warps_m, s->warps_n);
  HD_TRY(check_pair(ctx, p, s));
  int32_t acc = hd_schedule_accumulators(p, s), most = hd_schedule_most_accumulators(p, s);
  if (acc > most)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.registers",
           "tile %dx%d with split_k=%d stream_k=%d has %d accumulator registers per thread and "
           "other partial sums; legal: %d; nearest: tile n %d%s",
           s->tile_m, s->tile_n, s->split_k, s->stream_k, acc, most,
           most < unit ? most : most / unit * unit, most < unit ? " with cluster=1" : "");
  if (s->wgmma_in_flight != 0)
    REFUSE(HEDDLE_INVALID, "schedule.in-flight",
           "got wgmma_in_flight=%d with family=tcgen05; legal: 0; nearest: wgmma_in_flight=0",
           s->wgmma_in_flight);
  if (s->a_path != HD_A_DESC)
    REFUSE(HEDDLE_INVALID, "schedule.a-path", "got a=%s with family=tcgen05; legal: desc",
           hd_key_word(HD_KEY_A_PATH, s->a_path));
  if (s->b_path == HD_B_CP_ASYNC || s->b_path == HD_B_LD_ST)
    REFUSE(HEDDLE_INVALID, "schedule.b-path",
           "got b=%s with family=tcgen05; legal: auto, tma, gather, copied",
           hd_key_word(HD_KEY_B_PATH, s->b_path));
  int32_t columns = hd_schedule_least_columns(p, s), limit = hd_schedule_most_columns(p, s);
  if (columns > limit)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.tensor-memory",
           "tile n %d with %d stages needs %d columns of tensor memory, a CTA of %d has %d; legal: "
           "a narrower tile",
           s->tile_n, s->stages, columns, s->ctas_per_sm, limit);
  return HEDDLE_OK;
}

static heddle_status check_mma(heddle_context *ctx, const hd_problem *p, const hd_schedule *s) {
  if (!hd_problem_has(p, HD_FAMILY_MMA_SP))
    return no_instruction(ctx, p, "mma.sp");
  int32_t warps = s->warps_m * s->warps_n;
  if (s->warps_m < 1 || s->warps_n < 1 || warps > HD_MOST_WARPS || (warps & (warps - 1)) ||
      s->tile_m % (16 * s->warps_m) || s->tile_n % (8 * s->warps_n))
    REFUSE(HEDDLE_INVALID, "schedule.warps",
           "got warps %dx%d for tile %dx%d; legal: 1, 2, 4, 8 or 16 in total, each with a multiple "
           "of 16 rows and 8 columns",
           s->warps_m, s->warps_n, s->tile_m, s->tile_n);
  if (s->cluster != 1)
    REFUSE(HEDDLE_INVALID, "schedule.cluster", "got cluster %d with family=mma; legal: 1",
           s->cluster);
  if (s->multicast != HD_MULTICAST_B)
    REFUSE(HEDDLE_INVALID, "schedule.multicast",
           "got multicast=a with family=mma; legal: b; nearest: multicast=b");
  if (s->wgmma_in_flight != 0)
    REFUSE(HEDDLE_INVALID, "schedule.in-flight",
           "got wgmma_in_flight=%d with family=mma; legal: 0; nearest: wgmma_in_flight=0",
           s->wgmma_in_flight);
  int32_t acc = hd_schedule_accumulators(p, s);
  if (acc > WARP_ACCUMULATORS)
    REFUSE(HEDDLE_UNSUPPORTED, "schedule.registers",
           "tile %dx%d with %d warps needs %d accumulator registers per thread; legal: %d",
           s->tile_m,
           s->tile_n, warps, acc, WARP_ACCUMULATORS);
  if (s->a_path != HD_A_REG)
    REFUSE(HEDDLE_INVALID, "schedule.a-path", "got a=%s with family=mma; legal: reg",
           hd_key_word(HD_KEY_A_PATH, s->a_path));
  if (hd_b_path_has_map(s->b_path) || s->b_path == HD_B_GATHER)
    REFUSE(HEDDLE_INVALID, "schedule.b-path",
           "got b=%s with family=mma; legal: auto, cp_async, ld_st",
           hd_key_word(HD_KEY_B_PATH, s->b_path));
  return HEDDLE_OK;
}

static heddle_status check_cluster_launch(heddle_context *ctx, const hd_problem *p,
                                          const hd_schedule *s) {
  int32_t n = s->cluster_launch;
  if (n & (n - 1))
    REFUSE(HEDDLE_INVALID, "schedule.cluster-launch",
           "got cluster_launch=%d; legal: 1, 2, 4, 8; nearest: cluster_launch=%d", n,
           n < 6 ? 4 : 8);
  if (n > 1 && !hd_schedule_may_cluster_launch(s))
    REFUSE(HEDDLE_INVALID, "schedule.cluster-launch-whole",
           "got cluster_launch=%d with family=%s cluster=%d persistent=%d split_k=%d stream_k=%d; "
           "legal: family=wgmma cluster=1 persistent=1 split_k=1 stream_k=0; nearest: "
           "cluster_launch=1",
           n, hd_key_word(HD_KEY_FAMILY, s->family), s->cluster, s->persistent, s->split_k,
           s->stream_k);
  return HEDDLE_OK;
}

heddle_status hd_schedule_check_family(heddle_context *ctx, const hd_problem *p,
                                       const hd_schedule *s) {
  HD_TRY(check_cluster_launch(ctx, p, s));
  return hd_schedule_is_wgmma(s)    ? check_wgmma(ctx, p, s)
         : hd_schedule_is_tensor(s) ? check_tensor(ctx, p, s)
                                    : check_mma(ctx, p, s);
}
