/* Support/convert.h: converts every element type to and from double.
 *
 * The conversion to double is exact for every type. The conversion from double rounds once, to
 * nearest even, like the PTX cvt instruction if it has that conversion (PTX ISA "Data Movement and
 * Conversion Instructions: cvt"):
 *
 *   type                     too large                  NaN              below the smallest
 *   f16 bf16 f32             Inf                        quiet NaN        subnormal, then 0
 *   tf32                     Inf                        quiet NaN        subnormal, then 0
 *   e4m3 e5m2 (.satfinite)   largest finite, Inf too    NaN (0x7f)       subnormal, then 0
 *   e3m2 e2m3 e2m1 e2m1p     largest finite, Inf too    +largest finite  subnormal, then 0
 *   ue4m3 (.satfinite)       largest finite, Inf too    NaN (0x7f)       negative: 0
 *   ue8m0 (.rp.satfinite)    2^127                      NaN (0xff)       0 and negative: 2^-127
 *   s4 u4 s8 u8 s32 (.sat)   nearest bound              0                nearest integer
 *
 * ue8m0 rounds up, because PTX has only .rz and .rp for it. A value is in the low bits of its
 * container, except that e2m1 is in bits 2 to 5 of its byte (as kind::f8f6f4 reads it), and tf32 in
 * the high 19 bits of its word. No function can fail; all are thread-safe. */
#ifndef HD_CONVERT_H
#define HD_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/types.h"

/* The value of one element, given its container's bits (4-bit types: the low four). */
double hd_elem_to_double(heddle_elem elem, uint32_t bits);
/* The container's bits of the nearest element. */
uint32_t hd_elem_from_double(heddle_elem elem, double value);

/* The container bits that carry the value: 0xffffe000 for tf32, 0x3c for e2m1. */
uint32_t hd_elem_value_mask(heddle_elem elem);

/* True if the type has negative values. */
bool hd_elem_has_sign(heddle_elem elem);

/* strtod with a decimal point, independent of the locale of the host program. */
double hd_strtod(const char *text, char **end);

/* Bytes of n contiguous elements; 4-bit types round up to a byte. The result must not overflow. */
size_t hd_elem_bytes(heddle_elem elem, size_t n_elems);

/* Container bits of the element at an index of an array. 4-bit types: two per byte, low first. */
uint32_t hd_elem_get_bits(heddle_elem elem, const void *array, size_t index);
void hd_elem_set_bits(heddle_elem elem, void *array, size_t index, uint32_t bits);

/* The same for values. */
double hd_elem_load(heddle_elem elem, const void *array, size_t index);
void hd_elem_store(heddle_elem elem, void *array, size_t index, double value);

/* Converts n elements at index, index + stride, …. The type is looked up once. */
void hd_elem_load_many(heddle_elem elem, const void *array, size_t index, size_t stride, size_t n,
                       double *values);
void hd_elem_store_many(heddle_elem elem, void *array, size_t index, size_t stride, size_t n,
                        const double *values);

/* The largest n such that every integer 0..n is exact in the type. */
double hd_elem_exact_integers(heddle_elem elem);

#endif
