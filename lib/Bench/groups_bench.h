/* Bench/groups_bench.h: a case of groups (experts of a mixture): the groups, the same by index, the
 * plain product of one expert with all tokens, and a read of as many bytes as the groups touch. */
#ifndef HD_GROUPS_BENCH_H
#define HD_GROUPS_BENCH_H

#include "Bench/bench.h"
#include "Reference/routing.h"

/* D [m, n] = A[i] [m, k] times the columns of B [k, n] that belong to expert i of g; D is
 * col_major. blocks: f32 block scales (hd_product_epilogue), each expert's A with its own; 0:
 * none. */
typedef struct hd_groups_problem {
  heddle_elem elem, d_elem;
  int64_t g, m, n, k;
  hd_routing routing;
  char blocks;
} hd_groups_problem;

/* BY_INDEX: groups whose columns of B and of D stand in orders of their own; not with block scales.
 * READ: packed A of each expert that has a token, B, and as many bytes as D has. */
typedef enum hd_groups_kind {
  HD_GROUPS_BY_OFFSETS,
  HD_GROUPS_BY_INDEX,
  HD_GROUPS_PLAIN,
  HD_GROUPS_READ,
  HD_N_GROUPS_KINDS
} hd_groups_kind;

const char *hd_groups_kind_name(hd_groups_kind kind); /* "groups", "by_index", "plain", "read" */

enum { HD_GROUPS_MOST_WAYS = 24 };

/* Zero-initialise. Strings and lists are borrowed. */
typedef struct hd_groups_options {
  const char *target, *ptxas, *cache; /* target NULL: sm_90a */
  /* Of each kind but READ: over the default, each a contender; none: the default alone. */
  const char *const *schedule[HD_N_GROUPS_KINDS];
  int32_t n_schedules[HD_N_GROUPS_KINDS];
  int32_t n_jobs; /* threads that compile and make experts; 0: 1 */
  uint64_t seed;
  bool alone;               /* from n = 1024 on: each alone and sustained, too */
  double sustained_seconds; /* of each */
  const hd_nvml *nvml;      /* may be NULL */
} hd_groups_options;

typedef struct hd_groups_row {
  hd_groups_kind kind;
  char schedule[320]; /* the whole one; READ: "" */
  hd_timing timing;   /* of interleaved rounds */
  hd_alone alone;     /* zeros when not asked */
} hd_groups_row;

typedef struct hd_groups_result {
  hd_groups_row row[HD_GROUPS_MOST_WAYS];
  int32_t n_rows;
  double read_bytes; /* what READ reads */
} hd_groups_result;

/* Seconds that count of a row: sustained where that was measured. */
double hd_groups_seconds(const hd_groups_row *row);

/* Measures the case. A schedule that cannot be had becomes a note while its kind has another. All
 * that is timed is checked before, in double precision at random places, a captured launch whose
 * offsets changed too: HEDDLE_MISMATCH at a wrong value. device NULL: rows get their schedules and
 * no times, and nothing is assembled. */
heddle_status hd_groups_bench(heddle_context *ctx, const hd_device *device,
                              const hd_groups_problem *problem, const hd_groups_options *options,
                              hd_groups_result *result);

#endif
