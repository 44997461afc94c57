/* Tune/measure.h: the measuring protocol. Launches are captured in a graph, and a spin kernel hides
 * the launch latency. Launches rotate over buffer sets, so that operands are cold. Contenders are
 * interleaved, or each runs alone (burst, sustained) while power and clocks are read. */
#ifndef HD_MEASURE_H
#define HD_MEASURE_H

#include "Runtime/device.h"
#include "Runtime/nvml.h"

/* The layout of D after a launch. */
typedef enum hd_stored { HD_STORED_NOTHING, HD_STORED_COL_MAJOR, HD_STORED_ROW_MAJOR } hd_stored;

/* One implementation of the product. launch(index) uses buffer set index % n_sets. */
typedef struct hd_contender {
  char name[64];
  hd_launch_fn launch;
  void *user;
  hd_stored stored;
  /* Called after a launch on buffer set 0 whose result is checked: copies D to the buffer that the
   * check reads. NULL: the launch wrote it there. */
  heddle_status (*finish)(heddle_context *ctx, void *user);
} hd_contender;

/* Seconds per launch. */
typedef struct hd_timing {
  double median, min, max;
} hd_timing;

enum { HD_MOST_ROUNDS = 40 };

typedef struct hd_rounds {
  int32_t n_rounds;    /* up to HD_MOST_ROUNDS */
  double seconds;      /* timed launches of one contender in one round */
  double warm_seconds; /* untimed launches before them */
  /* Stops after more than half the rounds, of which each contender began as many, if max - min of
   * each contender is at most this fraction of its median; 0: runs all rounds. */
  double enough;
} hd_rounds;

/* Number of buffer sets (A, B and D together) that the protocol rotates over: 256 MiB in total, and
 * at least two sets. */
size_t hd_measure_sets(size_t bytes_a_set);

/* For n >= 1024 the power cap limits the device, so that interleaved contenders influence each
 * other. Such products are compared by the sustained rate of each contender alone. */
bool hd_measure_is_large(int64_t n);

/* The rounds of the protocol: 9 of 3 ms; for large products 5 of 12 ms after 12 ms untimed. */
hd_rounds hd_rounds_for(int64_t n);
/* For ratios within a percent: 40 of 1 ms (many short rounds vary less than few long ones, see
 * docs/bench/dynamic.md); for large products 12 of 40 ms after 40 ms untimed, in which the power
 * cap takes effect.
 * The clock falls during the rounds, so their number is a multiple of two and of four: each of so
 * many contenders begins as many. */
hd_rounds hd_rounds_long(int64_t n);
/* For one of many candidates: 3 of 1 ms; for large products 3 of 4 ms after 4 ms untimed. */
hd_rounds hd_rounds_quick(int64_t n);

/* For samples of many products: 3 of 1 ms; for large products 2 of 40 ms after 40 ms untimed, in
 * which the power cap takes effect. */
hd_rounds hd_rounds_brief(int64_t n);

/* The contender at a place of a round, all from 0. Each round begins with the next contender and
 * goes on in other steps than the round before, so that a contender does not always run behind the
 * same one: behind a read, which draws little power, the clock is higher. */
int32_t hd_measure_contender(int32_t round, int32_t place, int32_t n);

/* Interleaved: every contender runs once per round (hd_measure_contender). samples (may be NULL)
 * receives n x n_rounds times, contender by contender, in the order of the rounds; 0 for rounds
 * that were skipped. */
heddle_status hd_measure_rounds(heddle_context *ctx, const hd_device *device,
                                const hd_contender *list, int32_t n, size_t n_sets,
                                const hd_rounds *rounds, hd_timing *timings, double *samples);

/* A quick measurement, to pick finalists: `seconds` of launches after untimed ones of each set. */
heddle_status hd_measure_quick(heddle_context *ctx, const hd_device *device,
                               const hd_contender *contender, size_t n_sets, double seconds,
                               double *seconds_a_launch);

enum { HD_ALONE_WINDOWS = 8 };

/* Alone: burst (4 ms of launches after 200 ms idle) and sustained. nvml NULL: power and clock 0. */
typedef struct hd_alone {
  double burst, sustained; /* seconds per launch */
  double power_w;          /* at the end of the sustained time */
  unsigned sm_mhz;
  double window[HD_ALONE_WINDOWS]; /* seconds per launch in each part of the sustained time */
} hd_alone;
heddle_status hd_measure_alone(heddle_context *ctx, const hd_device *device,
                               const hd_contender *contender, size_t n_sets, double seconds,
                               const hd_nvml *nvml, hd_alone *alone);
/* Only the sustained figures (burst: 0): `seconds` of launches, after `settle` seconds that are not
 * counted, in which power and clock stabilise. */
heddle_status hd_measure_sustained(heddle_context *ctx, const hd_device *device,
                                   const hd_contender *contender, size_t n_sets, double settle,
                                   double seconds, const hd_nvml *nvml, hd_alone *alone);

#endif
