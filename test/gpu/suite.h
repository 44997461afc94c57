/* suite.h: the options and the parts of the suite. */
#ifndef SUITE_H
#define SUITE_H

#include "suite_case.h"

typedef enum suite_word { SUITE_PASSED, SUITE_FAILED, SUITE_SKIPPED } suite_word;

typedef struct suite_options {
  const char *backend; /* as given, for the line that reproduces a failure */
  int64_t seed;
  int n_threads;
  bool bare, verbose;
  bool alternate; /* even cases run with exact operands only, odd ones with random operands only */
  heddle_compile_options compile;
} suite_options;

/* The result of one case. */
typedef struct suite_outcome {
  suite_word word;
  char path[16];
  char why[640]; /* of a failed or skipped case */
  double exact_seconds, random_seconds, random_error, random_bound;
} suite_outcome;

/* Case i: compiles it once, runs it with exact and with random operands. Thread-safe. */
void suite_run_case(const suite_options *options, const suite_case *c, size_t i,
                    trial_device *device, suite_outcome *outcome);

/* Runs all cases on n_threads threads; outcomes are in order. Ends the process with a message if a
 * launch hangs. */
void suite_run_all(const suite_options *options, const suite_case *cases, size_t n,
                   trial_device *device, suite_outcome *outcomes);

/* Injected faults of a case. skipped: the device does not support the case, or A has no position
 * for one. */
typedef struct suite_faults {
  int seen, missed, skipped;
  hd_strbuf lines; /* one for each fault */
} suite_faults;

/* Injects each fault separately; an exact run of the case must detect it. Adds to *faults, which is
 * zero-initialised and whose lines the caller frees. Thread-safe. */
void suite_run_injected(const suite_options *options, const suite_case *c, trial_device *device,
                        suite_faults *faults);

/* suite_run_injected of all cases; faults are in order. Else as suite_run_all. */
void suite_inject_all(const suite_options *options, const suite_case *cases, size_t n,
                      trial_device *device, suite_faults *faults);

#endif
