/* Emit/ptxas.h: PTX to cubin by ptxas, and the gate on what it reports. */
#ifndef HD_PTXAS_H
#define HD_PTXAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"

/* What ptxas says of one entry. */
typedef struct hd_ptxas_entry {
  char name[256];
  int32_t registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes, barriers;
  bool refused; /* by the gate */
} hd_ptxas_entry;

enum { HD_PTXAS_ENTRIES = 72, HD_PTXAS_REFUSAL = 512 };

typedef struct hd_ptxas_report {
  hd_ptxas_entry entry[HD_PTXAS_ENTRIES];
  int32_t n_entries;
  const char *rule;               /* of the gate, that the first refused entry breaks; NULL: none */
  char refusal[HD_PTXAS_REFUSAL]; /* why, with the line of ptxas */
  char *log; /* owned: all that ptxas printed */
} hd_ptxas_report;

/* Assembles PTX for a target ("sm_90a"), whatever the gate says of it. `ptxas` is the program's
 * path. A PTX that ptxas refuses is HEDDLE_INTERNAL; a ptxas that cannot run HEDDLE_ENVIRONMENT.
 * *cubin is owned (hd_free), and may be NULL when not wanted. The report's log is freed with
 * hd_ptxas_report_free, whatever comes out. */
heddle_status hd_ptxas_run(heddle_context *ctx, const char *ptxas, const char *ptx,
                           const char *target, void **cubin, size_t *cubin_bytes,
                           hd_ptxas_report *report);
/* The gate: any C75xx line (serialised or repaired wgmma, ignored setmaxnreg), any spill and any
 * stack frame is HEDDLE_UNSUPPORTED with the line quoted: the schedule asks more than the machine
 * has. */
heddle_status hd_ptxas_gate(heddle_context *ctx, const hd_ptxas_report *report);
/* Both. report may be NULL; a cubin comes out only where the gate lets it. */
heddle_status hd_ptxas_assemble(heddle_context *ctx, const char *ptxas, const char *ptx,
                                const char *target, void **cubin, size_t *cubin_bytes,
                                hd_ptxas_report *report);
void hd_ptxas_report_free(hd_ptxas_report *report);

#endif
