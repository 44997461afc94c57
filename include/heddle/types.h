/* heddle/types.h: element types. */
#ifndef HEDDLE_TYPES_H
#define HEDDLE_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element types; the table is types.def. e2m1 has 4 value bits in 8 (kind::f8f6f4), e2m1p has two
 * values per byte, low nibble first (kind::mxf4). tf32 is an f32 whose low 13 bits are ignored. */
typedef enum heddle_elem {
#define HEDDLE_ELEM(name, ...) HEDDLE_##name,
#include "heddle/types.def"
#undef HEDDLE_ELEM
  HEDDLE_N_ELEMS
} heddle_elem;

typedef enum heddle_elem_kind { HEDDLE_FLOAT, HEDDLE_SIGNED, HEDDLE_UNSIGNED } heddle_elem_kind;

typedef struct heddle_elem_info {
  const char *name;
  uint8_t value_bits, container_bits;
  heddle_elem_kind kind;
  uint8_t group, kept; /* elements in a sparse group, and how many of them are kept; 0, 0: dense
                          only */
  heddle_elem acc, d;  /* the usual accumulators and D of a product whose A is of the type */
} heddle_elem_info;

/* The table row of an element type; NULL when elem is not one. Thread-safe. */
HEDDLE_API const heddle_elem_info *heddle_elem_get(heddle_elem elem);

/* Finds an element type by its name ("bf16"). HEDDLE_NOT_FOUND if there is none. Thread-safe. */
HEDDLE_API heddle_status heddle_elem_parse(const char *name, heddle_elem *elem);

#ifdef __cplusplus
}
#endif
#endif
