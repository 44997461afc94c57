/* Passes/partial_records.h: the workspace of tiles whose k is divided among several CTAs.
 *
 * The workspace is an array of slots. A slot has one record per warp of a tile: the warp's partial
 * sums, followed by a counter, which is used in the first slot of a tile only. A launch resets the
 * counters to zero. Kernels with equal records may share a workspace: no partial overlaps a counter
 * of another kernel. */
#ifndef HD_PARTIAL_RECORDS_H
#define HD_PARTIAL_RECORDS_H

#include "Passes/plan.h"

typedef struct hd_records {
  int64_t bytes; /* of one record; 0: no tile is shared through a workspace */
  int32_t n;     /* records in a slot */
} hd_records;

/* Bytes of a warp's partial: 32 bits per element. f16 partials would be rounded once per part and
 * might overflow although the whole sum does not. */
int64_t hd_record_partial_bytes(const hd_schedule *schedule);
/* Byte offset of the partial in a record. The partial ends where the counter begins. */
int64_t hd_record_partial(hd_records records, const hd_schedule *schedule);

/* The records that fit all kernels of a module, by their plans (already read) and attributes. */
hd_records hd_records_of(const hd_module *module);
/* Writes the records to a kernel's attributes. */
void hd_records_set(hd_module *module, hd_op *kernel, hd_records records);

#endif
