/* Emit/ptxas.h: PTX to cubin by ptxas, and the gate on what it reports. */
#ifndef HD_PTXAS_H
#define HD_PTXAS_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"

/* What ptxas says of one entry. */
typedef struct hd_ptxas_entry {
  char name[256];
  int32_t registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes, barriers;
} hd_ptxas_entry;

enum { HD_PTXAS_ENTRIES = 8 };

typedef struct hd_ptxas_report {
  hd_ptxas_entry entry[HD_PTXAS_ENTRIES];
  int32_t n_entries;
  char *log; /* owned: all that ptxas printed */
} hd_ptxas_report;

/* Assembles PTX for a target ("sm_90a"). `ptxas` is the program's path. The gate: any C75xx line
 * (serialised or repaired wgmma, ignored setmaxnreg), any spill and any stack frame fails with the
 * line quoted (HEDDLE_UNSUPPORTED: the schedule asks more than the machine has); a PTX that ptxas
 * refuses is HEDDLE_INTERNAL; a ptxas that cannot run HEDDLE_ENVIRONMENT. *cubin is owned (hd_free)
 * may be NULL when not wanted; report too, its log is freed with hd_ptxas_report_free. */
heddle_status hd_ptxas_assemble(heddle_context *ctx, const char *ptxas, const char *ptx,
                                const char *target, void **cubin, size_t *cubin_bytes,
                                hd_ptxas_report *report);
void hd_ptxas_report_free(hd_ptxas_report *report);

#endif
