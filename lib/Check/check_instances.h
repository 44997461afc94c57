/* Check/check_instances.h: the sizes and grids that a kernel is run on, and its resource limits. */
#ifndef HD_CHECK_INSTANCES_H
#define HD_CHECK_INSTANCES_H

#include "Check/check_machine.h"

/* One kernel being checked. */
typedef struct hd_ck_kernel {
  hd_ck_program program;
  const hd_check_options *options;
  hd_check_report *report;
  uint64_t steps_left;
  uint64_t shortages; /* failed allocations before the check */
  int64_t n_k_blocks; /* k-blocks of k in the last run that stored D */
  hd_ck_access *accesses; /* storage that the instances reuse one after the other; owned */
  uint32_t cap_accesses;
} hd_ck_kernel;

/* Runs the instances until one has a finding. check_instances.c says why they suffice. */
void hd_ck_run_instances(hd_ck_kernel *k);

/* Refuses conditions on a loop's index past its first `most` iterations (or the last ones). */
void hd_ck_far_conditions(hd_ck_kernel *k, int64_t most);
/* Compares registers, shared memory, barriers and threads with the target's limits. */
void hd_ck_check_budgets(hd_ck_kernel *k);
/* Compares the kernel with the problem that its `product` states, as far as no run is needed. */
void hd_ck_check_product(hd_ck_kernel *k);
/* Reports statistics of D that a whole grid has not written. */
void hd_ck_statistics_finish(hd_ck_kernel *k, const hd_ck_extents *extents);
/* The same for the codes of a packed twin. */
void hd_ck_twin_finish(hd_ck_kernel *k, const hd_ck_extents *extents);
/* Compares pointers and tensor maps with their uses. */
void hd_ck_check_arguments(hd_ck_kernel *k);
/* Adds a finding (or "undecided") that no run is needed for. */
void hd_ck_static_find(hd_ck_kernel *k, const char *rule, const hd_op *op, const char *remedy,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Limits of a target in bytes and registers; false for an unknown target. Read from lib/Spec. */
typedef struct hd_ck_limits {
  int64_t shared_bytes, shared_sm, registers_sm, registers_thread, tensor_columns;
  bool has_tma, has_cluster;
} hd_ck_limits;
bool hd_ck_limits_of(const char *target, hd_ck_limits *limits);

#endif
