/* Check/check.h: decides whether a kernel at role level with its sync placed is sound.
 * Independent of lib/Passes; the rules are R1-R8 of the design and R9 of docs/ir.md, only those. */
#ifndef HD_CHECK_H
#define HD_CHECK_H

#include "IR/ir.h"

/* One end of a finding. op NULL: there is none. Borrowed from the module and the report's arena. */
typedef struct hd_check_access {
  const hd_op *op;
  const char *text;  /* "copy.bulk" with its line: `copy.bulk (4:7)` */
  const char *role;  /* name of the role; "kernel" outside of roles */
  int32_t cta, warp; /* rank in the cluster, warp of the CTA */
  int32_t slot;      /* of the buffer or ring; -1 = none */
  int64_t iteration; /* value of the innermost loop's index; -1 = outside loops */
} hd_check_access;

/* A launch that shows a finding. grid in CTAs; 0: no launch is needed to see it. */
typedef struct hd_check_launch {
  int64_t m, n, k; /* -1: the kernel's own */
  int32_t grid;
} hd_check_launch;

typedef struct hd_check_finding {
  const char *rule; /* "R1".."R9", deadlock, tx-bytes, arrivals, phase, bounds, ... (README.md) */
  const char *text; /* the sentence, witness included */
  const char *remedy; /* what is missing and where it would go */
  hd_check_access first, second; /* the second one cannot be allowed after the first */
  hd_check_launch launch;
} hd_check_finding;

/* Zero-initialise. Sizes in elements: 0 = as the kernel says; what the kernel leaves to the
 * launch is covered by instances of the checker's choice. */
typedef struct hd_check_options {
  uint64_t max_steps; /* warp operations a kernel, 0 = 40 million; beyond it: undecided */
  int32_t max_findings; /* a kernel; 0 = 8 */
  int32_t n_threads;    /* that check kernels at once; 0: the caller's alone */
  bool quiet;           /* keep the context's diagnostics as they are: the report says it all */
} hd_check_options;

/* Zero-initialise; hd_check fills it, hd_check_report_free frees it. Counts: all kernels. */
typedef struct hd_check_report {
  hd_arena arena;
  hd_check_finding *findings; /* those of rule "undecided" included */
  int32_t n_findings, n_undecided, n_kernels;
  uint64_t n_instances, n_steps, n_accesses, n_pairs;
  uint64_t n_assumed_r3; /* remote arrivals that rest on R3's assumption */
} hd_check_report;

/* HEDDLE_OK: every kernel is sound. HEDDLE_MISMATCH: there are findings. HEDDLE_UNSUPPORTED:
 * something could not be decided, hence is refused. HEDDLE_INVALID: not a verified role-level
 * module with its sync placed. Findings also become diagnostics of ctx, unless options->quiet.
 * options and report may be NULL. */
heddle_status hd_check(heddle_context *ctx, const hd_module *module,
                       const hd_check_options *options, hd_check_report *report);
void hd_check_report_free(hd_check_report *report);
/* The findings and, as last line, the counts. */
void hd_check_report_print(const hd_check_report *report, hd_strbuf *out);

#endif
