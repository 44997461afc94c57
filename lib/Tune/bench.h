/* Tune/bench.h: one case of the benchmark: Heddle and its peers on the same values, checked. */
#ifndef HD_BENCH_H
#define HD_BENCH_H

#include "Tune/peers.h"
#include "heddle/compile.h"

enum { HD_BENCH_SCHEDULES = 16, HD_BENCH_PEERS = 2 };

/* Zero-initialise. Strings and peers are borrowed. */
typedef struct hd_bench_options {
  const char *target;    /* NULL: the device's */
  const char *ptxas;     /* NULL: the driver's compiler */
  const char *cache;     /* folder of compiled kernels; NULL: none */
  const char *schedule[HD_BENCH_SCHEDULES]; /* over the default; none: the default alone */
  int32_t n_schedules;
  hd_peer *peer[HD_BENCH_PEERS];
  int32_t n_peers;
  bool alone;            /* burst and sustained too, for the best of each */
  uint64_t seed;
  const hd_nvml *nvml;   /* may be NULL */
} hd_bench_options;

/* What came out for one contender of the final. */
typedef struct hd_bench_row {
  char name[160];  /* "heddle row family=wgmma …", "cublas col #3" */
  hd_timing timing;
  hd_alone alone;  /* zeros when not asked */
  double error, bound; /* heddle: ||D - R|| / ||R|| over the checked rows; peers: 0 */
  bool ok;
} hd_bench_row;

typedef struct hd_bench_result {
  hd_bench_row row[1 + 2 * HD_BENCH_PEERS]; /* best Heddle, then of each peer its best and its default */
  int32_t n_rows;
  size_t n_sets;
  char why[200]; /* when a peer has no way: its sentence */
} hd_bench_result;

/* D[m,n] = A x B with A 2:4 (1:2), B stored n x k, D in the faster order; d_elem is D's type. */
typedef struct hd_bench_problem {
  heddle_elem elem, d_elem;
  int64_t m, n, k;
} hd_bench_problem;

heddle_status hd_bench_run(heddle_context *ctx, const hd_device *device,
                           const hd_bench_problem *problem, const hd_bench_options *options,
                           hd_bench_result *result);

/* The type that accumulates products of elem. */
heddle_elem hd_bench_accumulator(heddle_elem elem);

#endif
