/* Check/check.h: decides whether a role-level kernel, including its synchronisation, is sound.
 * Independent of lib/Passes. The rules are R1-R8 of the design and R9 of docs/ir.md only. */
#ifndef HD_CHECK_H
#define HD_CHECK_H

#include "IR/ir.h"

/* One end of a finding. op NULL: none. Borrowed from the module and the report's arena. */
typedef struct hd_check_access {
  const hd_op *op;
  const char *text;  /* the op and its position: `copy.bulk (4:7)` */
  const char *role;  /* name of the role; "kernel" outside of roles */
  int32_t cta, warp; /* rank in the cluster, warp of the CTA */
  int32_t slot;      /* slot of the buffer or ring; -1 = none */
  int64_t iteration; /* value of the innermost loop's index; -1 = outside loops */
} hd_check_access;

/* A launch that shows a finding. grid in CTAs; 0: the finding holds for every launch. */
typedef struct hd_check_launch {
  int64_t m, n, k; /* -1: fixed by the kernel */
  int32_t grid;
} hd_check_launch;

typedef struct hd_check_finding {
  const char *rule; /* "R1".."R9", deadlock, tx-bytes, arrivals, phase, bounds, ... (README.md) */
  const char *text; /* the message, including both accesses and the launch */
  const char *remedy; /* what is missing and where to insert it */
  hd_check_access first, second; /* the second access is not allowed after the first */
  hd_check_launch launch;
} hd_check_finding;

/* Zero-initialise: 0 selects the default. Sizes that the kernel leaves to the launch are covered
 * by instances that the checker chooses. */
typedef struct hd_check_options {
  uint64_t max_steps; /* warp operations per kernel; 0 = 40 million; above: undecided */
  int32_t max_findings; /* per kernel; 0 = 8 */
  int32_t n_threads;    /* threads that check kernels in parallel; 0: the calling thread only */
  bool quiet;           /* adds nothing to the context's diagnostics: the report is complete */
} hd_check_options;

/* Zero-initialise. hd_check fills it, hd_check_report_free frees it. Counts cover all kernels. */
typedef struct hd_check_report {
  hd_arena arena;
  hd_check_finding *findings; /* including those of rule "undecided" */
  int32_t n_findings, n_undecided, n_kernels;
  uint64_t n_instances, n_steps, n_accesses, n_pairs;
  uint64_t n_assumed_r3; /* remote arrivals that rely on the assumption of R3 */
} hd_check_report;

/* HEDDLE_OK: every kernel is sound. HEDDLE_MISMATCH: there are findings. HEDDLE_UNSUPPORTED:
 * something could not be decided and is therefore refused. HEDDLE_INVALID: not a verified
 * role-level module with synchronisation. Findings also become diagnostics of ctx, unless
 * options->quiet. options and report may be NULL. */
heddle_status hd_check(heddle_context *ctx, const hd_module *module,
                       const hd_check_options *options, hd_check_report *report);
void hd_check_report_free(hd_check_report *report);
/* Prints the findings, and the counts as the last line. */
void hd_check_report_print(const hd_check_report *report, hd_strbuf *out);

#endif
