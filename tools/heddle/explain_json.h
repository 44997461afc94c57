/* heddle/explain_json.h: what explain says, as one JSON object. */
#ifndef HD_EXPLAIN_JSON_H
#define HD_EXPLAIN_JSON_H

#include "compile_input.h"

/* What there is to tell. All borrowed. */
typedef struct explained {
  const hd_problem *problem;
  const hd_schedule *schedule;
  const int64_t *size_mnk; /* of sizes known at launch, 0: as hd_product_of has it */
  const hd_device_model *ceilings;
  compile_input *input;
  const hd_manifest *manifest;
  size_t packed_bytes; /* of A; 0: its size is known at launch */
} explained;

/* Prints it, and a newline. HEDDLE_NO_MEMORY when it cannot be made. */
heddle_status explain_print_json(const explained *what);

#endif
