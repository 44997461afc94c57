/* Emit/ptxas.h: assembles PTX to a cubin with ptxas, and checks the report of ptxas (the gate). */
#ifndef HD_PTXAS_H
#define HD_PTXAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"

/* What ptxas reports for one entry point. */
typedef struct hd_ptxas_entry {
  char name[256];
  int32_t registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes, barriers;
  bool refused; /* by the gate */
} hd_ptxas_entry;

enum { HD_PTXAS_ENTRIES = 104, HD_PTXAS_REFUSAL = 512 };

typedef struct hd_ptxas_report {
  hd_ptxas_entry entry[HD_PTXAS_ENTRIES];
  int32_t n_entries;
  const char *rule;               /* rule of the gate that the first refusal breaks; NULL: none */
  char refusal[HD_PTXAS_REFUSAL]; /* the reason, with the line that ptxas printed */
  char *log; /* owned: the complete output of ptxas */
} hd_ptxas_report;

/* Assembles PTX for a target ("sm_90a") without applying the gate. `ptxas` is the path of the
 * program. Returns HEDDLE_INTERNAL if ptxas rejects the PTX, HEDDLE_ENVIRONMENT if ptxas cannot
 * run. *cubin is owned (hd_free); cubin may be NULL. Free the log of the report with
 * hd_ptxas_report_free, whatever the status. */
heddle_status hd_ptxas_run(heddle_context *ctx, const char *ptxas, const char *ptx,
                           const char *target, void **cubin, size_t *cubin_bytes,
                           hd_ptxas_report *report);
/* The gate. Any C75xx remark (serialised or repaired wgmma, ignored setmaxnreg), any spill and any
 * stack frame is HEDDLE_UNSUPPORTED, and the diagnostic quotes the line: the schedule needs more
 * resources than the GPU has. */
heddle_status hd_ptxas_gate(heddle_context *ctx, const hd_ptxas_report *report);
/* Runs ptxas, then the gate. report may be NULL. *cubin is set only if the gate passes. */
heddle_status hd_ptxas_assemble(heddle_context *ctx, const char *ptxas, const char *ptx,
                                const char *target, void **cubin, size_t *cubin_bytes,
                                hd_ptxas_report *report);
void hd_ptxas_report_free(hd_ptxas_report *report);

#endif
