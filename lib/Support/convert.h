/* Support/convert.h: every element type to and from double, exactly.
 *
 * To double is exact for every type. From double rounds once, to nearest even, as the PTX cvt
 * instruction does where it has that conversion (PTX ISA "Data Movement and Conversion
 * Instructions: cvt"):
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
 * ue8m0 rounds up, since PTX has only .rz and .rp for it. Bits of a value stand in the low bits of
 * its container, but e2m1 stands in bits 2 to 5 of its byte (as kind::f8f6f4 reads it), and tf32 in
 * the high 19 of its word. Nothing here fails; all of it is thread-safe. */
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

/* Whether the type has negative values. */
bool hd_elem_has_sign(heddle_elem elem);

/* strtod with a decimal point, whatever the locale of the host program. */
double hd_strtod(const char *text, char **end);

/* Bytes of n elements that lie together; 4-bit types round up to a byte. n must be small enough. */
size_t hd_elem_bytes(heddle_elem elem, size_t n_elems);

/* Container bits of the element at an index of an array; 4-bit types: two a byte, low first. */
uint32_t hd_elem_get_bits(heddle_elem elem, const void *array, size_t index);
void hd_elem_set_bits(heddle_elem elem, void *array, size_t index, uint32_t bits);

/* The same as values. */
double hd_elem_load(heddle_elem elem, const void *array, size_t index);
void hd_elem_store(heddle_elem elem, void *array, size_t index, double value);

/* Many at once, index, index + stride, …: the same values, the type looked up once. */
void hd_elem_load_many(heddle_elem elem, const void *array, size_t index, size_t stride, size_t n,
                       double *values);
void hd_elem_store_many(heddle_elem elem, void *array, size_t index, size_t stride, size_t n,
                        const double *values);

/* The largest n such that every integer 0..n is exact in the type. */
double hd_elem_exact_integers(heddle_elem elem);

#endif
