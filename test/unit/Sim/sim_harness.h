/* Runs a PTX text of test/unit/Sim/ptx, unchanged or with an injected fault, and checks the
 * report. */
#ifndef SIM_HARNESS_H
#define SIM_HARNESS_H

#include "Sim/sim.h"

/* The line that ends in `//#tag` is removed (text NULL) or replaced. */
typedef struct edit {
  const char *tag, *text;
} edit;

typedef struct harness {
  heddle_context *ctx;
  hd_arena arena;
  hd_launch_plan plan;
  hd_variant variant;
  hd_values values;
  hd_sim_buffer buffer[8];
  uint32_t n_buffers;
  hd_sim_options options;
  hd_sim_report report;
} harness;

void harness_start(harness *h, const char *entry, int n_threads, int shared_bytes, uint32_t grid);
void harness_stop(harness *h);
/* Adds the next parameter: an argument's value, or the next tensor map. */
void harness_param(harness *h, hd_arg_kind kind, uint64_t value);
hd_tmap *harness_tmap(harness *h);
/* Adds a buffer at an address of its own and returns the address. */
uint64_t harness_buffer(harness *h, const char *name, void *data, uint64_t n_bytes, bool writable);
/* Runs a text. */
heddle_status harness_run_text(harness *h, const char *text, size_t n_bytes);
/* Reads test/unit/Sim/ptx/NAME, applies the edits and runs it. */
heddle_status harness_run(harness *h, const char *name, const edit *edits, int n_edits);
/* Prints the findings, for a failing test. */
void harness_print(const harness *h);
/* Whether the report has a finding of one of the rules ("R1|tx|deadlock"). */
bool harness_found(const harness *h, const char *rules);

typedef void harness_setup(harness *h, hd_sim_mode mode, uint64_t seed);

/* A fault to inject, and the rules that may find it. After a bracket: only some schedules show the
 * fault, and at least one of the seeds must find it. */
typedef struct injected {
  const char *name, *rules;
  edit edit[2];
} injected;

/* Runs the unchanged text in every mode with several seeds. Each run must have no finding, a
 * correct result, and the same order of conflicts. Returns the number of runs that do not. */
int harness_unsound(harness_setup *set_up, int (*wrong)(void), const char *file);
/* Returns the number of faults missed in some mode, and prints the name of each to standard
 * error. */
int harness_missed(harness_setup *set_up, const char *file, const injected *errors, size_t n);

/* Reproducible small integers, and an integer as bf16. */
uint32_t next_random(uint64_t *state);
uint16_t bf16_of(float value);

#endif
