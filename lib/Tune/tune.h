/* Tune/tune.h: the tuner: legal schedules of each product, the promising ones measured in a child
 * process while others are compiled, every figure recorded, the best few raced with the default:
 * interleaved, or (large products: hd_measure_is_large) each alone and sustained. */
#ifndef HD_TUNE_H
#define HD_TUNE_H

#include "Schedule/cost.h"
#include "Choice/product.h"
#include "Tune/records.h"

enum { HD_TUNE_MOST_JOBS = 128, HD_TUNE_MOST_FINALISTS = 15 }; /* beside the default */

/* The search's choice against the best of all, timed interleaved. */
typedef struct hd_tune_contest {
  const char *chosen, *best;
  double chosen_seconds, best_seconds;
  double noise;       /* (max - min) / median of the best's rounds */
  int64_t n_searched; /* measurements that the search would have made */
} hd_tune_contest;

/* One that was in the last race and gave a right result. */
typedef struct hd_tune_contender {
  const char *schedule, *cubin; /* cubin "": unknown */
  bool is_default, is_incumbent;
  double predicted, error;      /* 0: unknown */
  const double *rounds;         /* seconds a launch, in order */
} hd_tune_contender;

/* The last race. Round i of all contenders ran together; alone: the i-th part of each one's. */
typedef struct hd_tune_race {
  bool alone;
  int32_t n, n_rounds;
  hd_tune_contender list[HD_TUNE_MOST_FINALISTS + 2];
} hd_tune_race;

/* Two fixed loads (canary.h), timed in seconds; throttle: NVML's reasons. */
typedef struct hd_tune_canary {
  double read_s, kernel_s;
  uint64_t throttle;
} hd_tune_canary;

/* What just happened, and how far it is. Borrowed for the call. */
typedef struct hd_tune_event {
  const hd_product *product;
  const hd_record *record; /* the measurement just made; NULL: none */
  const hd_choice *choice; /* the product is done; NULL: not yet */
  const hd_tune_race *race;  /* with choice: what made it */
  const hd_tune_contest *contest; /* with compare: its outcome; else NULL */
  const hd_tune_canary *canary;   /* NULL: none was just run */
  int32_t product_index, n_products;
  int64_t n_legal, n_wanted, n_measured, n_lost; /* of this product; lost: crash, hang, failed */
  int32_t n_alone, round, turn; /* the race alone and sustained: of so many; 0: not there yet */
  double best;         /* seconds a launch so far; 0: none */
  double left_seconds; /* an estimate for all products */
} hd_tune_event;

typedef struct hd_tune_options {
  const char *const *worker; /* argv of the child that compiles and measures; NULL ends it */
  struct hd_workers *workers; /* borrowed (workers.h): the children, which stay for the next call
                                with the same worker and n_jobs; NULL: they end */
  int32_t n_jobs;            /* children that compile ahead; 0: the measuring one compiles */
  double deadline_s;         /* a candidate may take so long; 0: 30 */
  double budget_s;           /* begin nothing after so long; 0: no limit */
  int64_t n_top;             /* measurements a product; 0: one in twenty, 8 to 64 */
  int32_t n_finalists;       /* beside the default; 0: 6, alone 8 */
  const char *only;          /* keys to have: "raster_group=8 a=desc"; NULL: any */
  bool exhaustive;           /* measure all */
  bool compare;              /* with exhaustive: the final is between what the search alone would
                                have brought into one and the fastest of all */
  bool no_sustained;         /* large products race interleaved, too, as with compare */
  const char *incumbent;     /* a schedule that comes into the race, if it is legal; NULL: none */
  uint64_t memory_bytes;     /* a child that takes more is ended; 0: no limit */
  bool resume;               /* what the records hold is not measured again */
  bool canaries;             /* run before a product's first measurement and after its choice */
  uint64_t seed;
  const hd_device_model *ceilings; /* borrowed; of the model */
  hd_records *records;         /* borrowed */
  bool (*tell)(void *user, const hd_tune_event *event); /* false: begin nothing more */
  void *user;
} hd_tune_options;

/* Tunes the products in turn. A candidate that crashes, hangs or fails costs itself alone; the
 * tuner gives up (HEDDLE_ENVIRONMENT) when no child can be brought up. *n_done counts the
 * products that have a choice, earlier ones too when resuming; fewer than n when the time was
 * up. */
heddle_status hd_tune(heddle_context *ctx, const hd_tune_options *options, const hd_product *list,
                      int32_t n, int32_t *n_done);

#endif
