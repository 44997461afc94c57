/* Check/check_instances.h: which sizes and grids a kernel is run on, and its budgets. */
#ifndef HD_CHECK_INSTANCES_H
#define HD_CHECK_INSTANCES_H

#include "Check/check_machine.h"

/* One kernel being checked. */
typedef struct hd_ck_kernel {
  hd_ck_program program;
  const hd_check_options *options;
  hd_check_report *report;
  uint64_t steps_left;
  uint64_t shortages; /* of memory, when it began */
  int64_t n_k_blocks; /* of k, as the last run that stored D has shown */
  hd_ck_access *accesses; /* room that the instances take one after the other; owned */
  uint32_t cap_accesses;
} hd_ck_kernel;

/* Runs every instance until one has a finding. Why these suffice: check_instances.c. */
void hd_ck_run_instances(hd_ck_kernel *k);

/* Registers, shared memory, barriers and threads against the target. */
void hd_ck_check_budgets(hd_ck_kernel *k);
/* The kernel against the problem that its `product` says, as far as no run is needed. */
void hd_ck_check_product(hd_ck_kernel *k);
/* Statistics of D that a whole grid has left out. */
void hd_ck_statistics_finish(hd_ck_kernel *k, const hd_ck_extents *extents);
/* Pointers and tensor maps against what they are used for. */
void hd_ck_check_arguments(hd_ck_kernel *k);
/* A finding (or "undecided") that no run is needed for. */
void hd_ck_static_find(hd_ck_kernel *k, const char *rule, const hd_op *op, const char *remedy,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Limits of a target in bytes and registers; false when it is unknown. Its own file: lib/Spec. */
typedef struct hd_ck_limits {
  int64_t shared_bytes, shared_sm, registers_sm, registers_thread, tensor_columns;
  bool has_tma, has_cluster;
} hd_ck_limits;
bool hd_ck_limits_of(const char *target, hd_ck_limits *limits);

#endif
