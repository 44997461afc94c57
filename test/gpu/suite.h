/* suite.h: the suite's options and its parts. */
#ifndef SUITE_H
#define SUITE_H

#include "suite_case.h"

typedef enum suite_word { SUITE_PASSED, SUITE_FAILED, SUITE_SKIPPED } suite_word;

typedef struct suite_options {
  const char *backend; /* as given: for the reproducing line */
  int64_t seed;
  int n_threads;
  bool bare, verbose;
  bool alternate; /* of two cases the first runs with exact operands, the second with random ones */
  heddle_compile_options compile;
} suite_options;

/* What came of one case. */
typedef struct suite_outcome {
  suite_word word;
  char path[16];
  char why[640]; /* failed, skipped */
  double exact_seconds, random_seconds, random_error, random_bound;
} suite_outcome;

/* Case i: compiled once, run with exact and with random operands. Thread-safe. */
void suite_run_case(const suite_options *options, const suite_case *c, size_t i,
                    trial_device *device, suite_outcome *outcome);

/* All of them on n_threads threads; outcomes in order. Ends the process with a sentence when a
 * launch hangs. */
void suite_run_all(const suite_options *options, const suite_case *cases, size_t n,
                   trial_device *device, suite_outcome *outcomes);

/* Of injected faults; skipped: the device does not run the case, or A has no place for it. */
typedef struct suite_faults {
  int seen, missed, skipped;
} suite_faults;

/* Injects each fault in turn, which an exact run of the case must see; prints a line each and adds
 * to *count. */
void suite_run_injected(const suite_options *options, const suite_case *c, trial_device *device,
                       suite_faults *count);

#endif
