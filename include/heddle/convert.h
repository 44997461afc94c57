/* heddle/convert.h: element types to and from f32, for weights and activations on the host. */
#ifndef HEDDLE_CONVERT_H
#define HEDDLE_CONVERT_H

#include <stddef.h>

#include "heddle/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Converts n contiguous elements to f32. The conversion is exact, except for s32, which rounds to
 * nearest even. Two 4-bit elements share a byte, low nibble first. HEDDLE_INVALID when elem is not
 * a type. Thread-safe. */
HEDDLE_API heddle_status heddle_elem_to_f32(heddle_elem elem, size_t n, const void *elements,
                                            float *values);

/* The same from f32. Each value rounds once, to nearest even (ue8m0: up), as the PTX cvt
 * instruction does (PTX ISA, "cvt"): e4m3, e5m2 and narrower floats saturate to their largest value
 * and keep NaN where they have one; integers saturate, and NaN becomes 0. HEDDLE_INVALID as
 * above. */
HEDDLE_API heddle_status heddle_elem_from_f32(heddle_elem elem, size_t n, const float *values,
                                              void *elements);

#ifdef __cplusplus
}
#endif
#endif
