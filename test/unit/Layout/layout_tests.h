/* Tests of lib/Layout, one list per file. */
#ifndef LAYOUT_TESTS_H
#define LAYOUT_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

void equality_sees_through_factoring(void **state);
void equality_reads_every_number(void **state);
void injectivity_is_exact(void **state);
void wrong_dimensions_are_refused(void **state);
void cute_text_is_right(void **state);

void conflicts_of_known_accesses(void **state);
void swizzle_is_derived(void **state);
void swizzle_refuses_carries(void **state);
void bank_count_matches_brute_force(void **state);

#endif
