/* Tune/measure.h: the measuring protocol. Launches are captured in a graph and hidden behind a spin
 * kernel; buffer sets rotate so that operands are cold; contenders are interleaved, or run
 * alone (burst, sustained) with power and clocks read meanwhile. */
#ifndef HD_MEASURE_H
#define HD_MEASURE_H

#include "Runtime/device.h"
#include "Runtime/nvml.h"

/* What a launch leaves in D. */
typedef enum hd_stored { HD_STORED_NOTHING, HD_STORED_COL_MAJOR, HD_STORED_ROW_MAJOR } hd_stored;

/* One way to compute the case. launch(index) works on buffer set index % n_sets. */
typedef struct hd_contender {
  char name[64];
  hd_launch_fn launch;
  void *user;
  hd_stored stored;
  /* After a launch on buffer set 0 that is checked: brings D to where the case has it. NULL: it is
   * there. */
  heddle_status (*finish)(heddle_context *ctx, void *user);
} hd_contender;

/* Seconds a launch. */
typedef struct hd_timing {
  double median, min, max;
} hd_timing;

enum { HD_MOST_ROUNDS = 16 };

typedef struct hd_rounds {
  int32_t n_rounds;    /* up to HD_MOST_ROUNDS */
  double seconds;      /* of launches in a turn */
  double warm_seconds; /* untimed launches before each turn */
  /* After more than half the rounds, enough when each contender's figures lie within this share of
   * their median; 0: all rounds. */
  double enough;
} hd_rounds;

/* How many buffer sets of so many bytes (A, B and D together) the protocol rotates over: 256 MiB of
 * them, and at least two. */
size_t hd_measure_sets(size_t bytes_a_set);

/* From n = 1024 on a product keeps the device busy enough to meet its power cap, which couples
 * interleaved contenders: the figure that counts is each alone and sustained. */
bool hd_measure_is_large(int64_t n);

/* The protocol's rounds: 9 of 3 ms; of large products 5 of 12 ms after 12 ms untimed. */
hd_rounds hd_rounds_for(int64_t n);
/* For ratios within a percent: of large products 6 of 40 ms after 40 ms untimed, in which the power
 * cap takes effect. The first contender of a round still runs up to 7 % faster, so of two
 * contenders each begins half of the rounds. */
hd_rounds hd_rounds_long(int64_t n);
/* A look at one of many candidates: 3 of 1 ms; of large products 3 of 4 ms after 4 ms untimed. */
hd_rounds hd_rounds_quick(int64_t n);

/* For a sample of many: 3 of 1 ms; of large products 2 of 40 ms after 40 ms untimed. */
hd_rounds hd_rounds_brief(int64_t n);

/* Interleaved: every contender once a round; each round begins with the next contender, so that
 * none always follows the same one. samples (may be NULL) takes n times n_rounds figures, those of
 * a contender together, in the order of the rounds; 0 for rounds that were not needed. */
heddle_status hd_measure_rounds(heddle_context *ctx, const hd_device *device,
                                const hd_contender *list, int32_t n, size_t n_sets,
                                const hd_rounds *rounds, hd_timing *timings, double *samples);

/* A quick look, to pick finalists: one turn of `seconds` after one untimed launch of each set. */
heddle_status hd_measure_quick(heddle_context *ctx, const hd_device *device,
                               const hd_contender *contender, size_t n_sets, double seconds,
                               double *seconds_a_launch);

enum { HD_ALONE_WINDOWS = 8 };

/* Alone: burst (4 ms of launches after 200 ms idle) and sustained. nvml may be NULL: zeros. */
typedef struct hd_alone {
  double burst, sustained; /* seconds a launch */
  double power_w;          /* at the end of the sustained time */
  unsigned sm_mhz;
  double window[HD_ALONE_WINDOWS]; /* seconds a launch in each part of the sustained time */
} hd_alone;
heddle_status hd_measure_alone(heddle_context *ctx, const hd_device *device,
                               const hd_contender *contender, size_t n_sets, double seconds,
                               const hd_nvml *nvml, hd_alone *alone);
/* The sustained figures alone (burst: 0), shorter: `seconds` after `settle` untimed seconds, in
 * which power and clock come to rest. */
heddle_status hd_measure_sustained(heddle_context *ctx, const hd_device *device,
                                   const hd_contender *contender, size_t n_sets, double settle,
                                   double seconds, const hd_nvml *nvml, hd_alone *alone);

#endif
