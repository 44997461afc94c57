/* Passes/partial_records.h: the workspace of tiles that CTAs share over k.
 *
 * It is slots of records, one for each warp of a tile: the warp's partial, and in the last bytes a
 * counter, which counts in the first slot of a tile. A launch leaves counters at zero. Kernels
 * whose records are alike never have a partial where another counts: they may share a workspace. */
#ifndef HD_PARTIAL_RECORDS_H
#define HD_PARTIAL_RECORDS_H

#include "Passes/plan.h"

typedef struct hd_records {
  int64_t bytes; /* of one; 0: nothing is shared through a workspace */
  int32_t n;     /* of a slot */
} hd_records;

/* Bytes of a warp's partial: 32 bits an element. Sums of f16 would round once more a part, and
 * overflow where the whole sum does not. */
int64_t hd_record_partial_bytes(const hd_schedule *schedule);
/* The byte of a record at which the partial begins: it ends where the counter does. */
int64_t hd_record_partial(hd_records records, const hd_schedule *schedule);

/* Records for the kernels of a module, all of whose plans are read, and at least what the kernels'
 * attributes say. */
hd_records hd_records_of(const hd_module *module);
/* A kernel's attributes say so from now on. */
void hd_records_set(hd_module *module, hd_op *kernel, hd_records records);

#endif
