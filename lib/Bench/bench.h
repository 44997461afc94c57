/* Bench/bench.h: a case of the benchmark: Heddle and its peers on the same values, checked. */
#ifndef HD_BENCH_H
#define HD_BENCH_H

#include "Bench/peers.h"
#include "Bench/predecessor.h"
#include "Choice/tuned.h"
#include "Tune/bench_operands.h"
#include "heddle/compile.h"

enum { HD_BENCH_PEERS = 3 };

/* D[m,n] = A[m,k] x B with A 2:4 (1:2), B stored n x k; d_elem is D's type. g: of a batch of so
 * many; 0: it is one. The peers compute the product without its epilogue. */
typedef struct hd_bench_problem {
  heddle_elem elem, d_elem;
  int64_t m, n, k, g;
  hd_product_epilogue epilogue;
  bool dependent; /* its kernels have the attribute dependent */
} hd_bench_problem;

/* Of both, the faster one alone comes into the final; each: both do. */
typedef enum hd_bench_order {
  HD_BENCH_BOTH,
  HD_BENCH_COL,
  HD_BENCH_ROW,
  HD_BENCH_EACH
} hd_bench_order;

/* weights_ready: launches overlap, and A may be read before the predecessor has ended. */
typedef enum hd_bench_promise {
  HD_BENCH_NO_PROMISE,
  HD_BENCH_READY,
  HD_BENCH_EITHER /* both, as contenders */
} hd_bench_promise;

/* Zero-initialise. Strings, lists and peers are borrowed. */
typedef struct hd_bench_options {
  const char *target; /* NULL: the device's */
  const char *ptxas;  /* NULL: the driver's compiler */
  const char *cache;  /* folder of compiled kernels; NULL: none */
  const char *const *schedule; /* over the default, each a contender; none: the default alone */
  int32_t n_schedules;
  const hd_tuned
      *tuned;        /* when no schedule is said: its choice instead of the default; may be NULL */
  const char *sweep; /* every legal schedule that has these keys ("" = all) instead; NULL: none */
  int32_t sample;      /* so many schedules instead (bench_random.h), by brief rounds; 0: none */
  int32_t n_finalists; /* of a sweep or sample, in the interleaved final; 0: 8 */
  bool dynamic; /* one kernel for all n, its buckets chosen, against that of this n alone */
  int32_t n_jobs;           /* threads that compile and make operands; 0: 1 */
  hd_bench_order order;     /* of D */
  hd_bench_promise promise; /* of Heddle's launches; the peers have none */
  uint32_t triggers; /* bits of hd_trigger: each of Heddle's kernels behind each of these
                      * predecessors instead of behind itself; 0: so it is */
  hd_peer *peer[HD_BENCH_PEERS];
  int32_t n_peers;
  const char *const *left_out; /* hd_bench_case */
  int32_t n_left_out;
  bool alone; /* burst and sustained too, from n = 1024 on: of Heddle's and the best of each peer */
  double enough; /* of the final's rounds (measure.h) */
  double sustained_seconds; /* of each of those; 0: 1 */
  uint64_t seed;
  const hd_nvml *nvml; /* may be NULL */
} hd_bench_options;

/* What came out for one contender. */
typedef struct hd_bench_row {
  char name[352]; /* "heddle row family=wgmma …", "cublas col #3" */
  bool weights_ready, dynamic, row_major;
  hd_trigger trigger; /* of the predecessor, whose time the figures include; NONE: none */
  hd_timing timing;
  int32_t n_rounds; /* of the final; 1: a quick look alone; 0: not timed, because wrong */
  double round[HD_MOST_ROUNDS]; /* seconds in each of the final; 0: it was not needed */
  hd_alone alone;   /* zeros when not asked */
  double error, bound; /* ||D - R|| / ||R|| over what was checked; 0: it stores no D */
  bool whole; /* all of D was checked afterwards (whole_check.h), not only sampled rows */
  bool ok;
  bool broke; /* it broke the device: not measured (hd_bench_result) */
} hd_bench_row;

/* The final's rows: Heddle's, then of each peer its best and its default; then the quick looks. */
typedef struct hd_bench_result {
  hd_bench_row *row; /* owned: free() */
  int32_t n_rows;
  size_t n_sets;
  /* After HEDDLE_ENVIRONMENT: name of the peer's way that broke the device (or what it was about to
   * prepare), so that the driver refuses all further calls of this process; else "". */
  char broke[64];
} hd_bench_result;

/* A peer that has no way for the case, and a schedule that cannot be compiled, become a note.
 * host: where the values are made; what it has of the case before is used again. */
heddle_status hd_bench_run(heddle_context *ctx, const hd_device *device,
                           const hd_bench_problem *problem, const hd_bench_options *options,
                           hd_bench_host *host, hd_bench_result *result);

/* What is tuned for it, without a target. */
hd_product hd_bench_product(const hd_bench_problem *problem);
/* Whether two cases of a grid are one product at two sizes. */
bool hd_bench_same_but_n(const hd_bench_problem *x, const hd_bench_problem *y);
/* The problem as Heddle reads it; owned: free(). */
char *hd_bench_text(const hd_bench_problem *problem, const char *target, bool row_major,
                    bool weights_ready);

/* One way of Heddle's: a schedule's full text, under a promise. */
typedef struct hd_bench_way {
  char *schedule; /* owned; of a dynamic way a plan of buckets */
  char *col_schedule; /* owned; for D of order col_major, where another is chosen; or NULL */
  bool weights_ready;
  bool dynamic; /* n is known at launch */
  bool is_choice; /* what its user would get: where it spills, the next best; else it was named */
} hd_bench_way;

/* The ways that options ask for and the problem takes; *list is owned: hd_bench_ways_free. What is
 * left out is noted; HEDDLE_INVALID or HEDDLE_UNSUPPORTED when none is left. Needs no device. */
heddle_status hd_bench_ways(heddle_context *ctx, const hd_bench_problem *problem,
                            const hd_bench_options *options, const char *target,
                            hd_bench_way **list, int32_t *n);
/* The schedule, or plan, that a way has for an order of D; borrowed. */
const char *hd_bench_way_schedule(const hd_bench_way *way, bool row_major);
void hd_bench_ways_free(hd_bench_way *list, int32_t n);

#endif
