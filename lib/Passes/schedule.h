/* Passes/schedule.h: how a problem is to be computed: a small printable record. */
#ifndef HD_SCHEDULE_H
#define HD_SCHEDULE_H

#include <string.h>

#include "IR/ir.h"

enum {
  HD_SCHEDULE_TEXT = 256, /* bytes of a schedule's text */
  HD_MOST_STAGES = 40,    /* of a ring */
  HD_USUAL_STAGES = 20    /* of one that a default, or the search for tiles, makes deep */
};

/* Text form: "family=wgmma tile=128x256x64 stages=4 cluster=2 ctas=1 a=desc b=tma group=8
 * persistent=1 store=quad"; any order, absent keys take the default of the problem and target. */
typedef struct hd_schedule {
  char family[8];       /* "mma", "wgmma", "tcgen05" */
  int32_t tile_m;       /* rows of the CTA tile, a multiple of 64 */
  int32_t tile_n;       /* columns, a multiple of 8 */
  int32_t tile_k;       /* logical k of a stage, a whole number of granules */
  int32_t warps_m, warps_n; /* mma: warps over the tile; wgmma: warps_m / 4 consumer warpgroups;
                               tcgen05: 4 that write D */
  int32_t stages;
  int32_t cluster;      /* CTAs that share an operand by multicast; 1 = none */
  char share[4];        /* "b": they lie along M and share B; "a": along N, and share A */
  int32_t spread;       /* CTAs launched as a cluster though they share nothing; 1 = none */
  int32_t ctas;         /* CTAs that share an SM's memory and registers; 1 = one may take all */
  char a_path[8];       /* "desc" (wgmma, tcgen05), "reg" (ldmatrix: mma, wgmma) */
  char b_path[12]; /* "tma", "gather" (wgmma, tcgen05) · "cp_async", "ld_st" (mma) · "auto" */
  int32_t group;        /* tile order: bands of that many tile rows */
  int32_t persistent;   /* 0 or 1 */
  int32_t split_k;      /* 1 = none */
  char reduce[12]; /* "workspace"; the splits of a tile are CTAs of one cluster: "cluster"; "ring":
                      with its partial sums over the drained ring */
  int32_t stream_k;     /* 0 or 1: what full waves leave over is divided evenly over k */
  int32_t pending;      /* wgmma batches that run while the next is issued: 0 or 1 */
  char k_order[8];      /* "forward"; "zigzag": backwards on every other tile of a persistent CTA */
  char store[12]; /* "direct", "quad"; "permuted", "staged": as quad where N, D's pitch do not suit
                   */
} hd_schedule;

/* CTAs of a cluster along k. */
static inline int32_t hd_schedule_along_k(const hd_schedule *s) {
  return strcmp(s->reduce, "workspace") == 0 ? 1 : s->split_k;
}

static inline bool hd_schedule_over_ring(const hd_schedule *s) {
  return strcmp(s->reduce, "ring") == 0;
}

/* The default for a kernel at problem level; never fails for a legal problem. */
heddle_status hd_schedule_default(heddle_context *ctx, const hd_op *kernel, hd_schedule *schedule);
/* Parses text over the given schedule (only the keys that it names change). HEDDLE_INVALID names
 * the key, the value and the nearest legal one. */
heddle_status hd_schedule_parse(heddle_context *ctx, const char *text, hd_schedule *schedule);
/* What select_shape wrote on the kernel: all keys. */
heddle_status hd_schedule_chosen(heddle_context *ctx, const hd_op *kernel, hd_schedule *schedule);
/* The words of one author (NULL: none): HEDDLE_INVALID when a key is not legal or comes twice. */
heddle_status hd_schedule_check_text(heddle_context *ctx, const hd_op *kernel, const char *text);
/* The canonical text. */
void hd_schedule_print(const hd_schedule *schedule, char out[HD_SCHEDULE_TEXT]);
/* HEDDLE_UNSUPPORTED or HEDDLE_INVALID when the schedule cannot serve the kernel: rule, value,
 * nearest legal value (tile too large for shared memory or registers, n not a legal one of the
 * instruction…). */
heddle_status hd_schedule_check(heddle_context *ctx, const hd_op *kernel,
                                const hd_schedule *schedule);
/* All legal schedules of a kernel, best guess first; *list is owned (free()). */
heddle_status hd_schedule_enumerate(heddle_context *ctx, const hd_op *kernel, hd_schedule **list,
                                    size_t *n);

#endif
