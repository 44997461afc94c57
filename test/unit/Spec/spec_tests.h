/* Tests of lib/Spec, one list per file. */
#ifndef SPEC_TESTS_H
#define SPEC_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "Spec/spec.h"

void every_row_is_found_by_name_and_text(void **state);
void rows_have_source_and_effects(void **state);
void targets_are_found(void **state);
void families_reach_their_members(void **state);
void selectors_are_checked(void **state);
void queries_find_each_wgmma(void **state);
void queries_find_all_rows_of_a_family(void **state);
void queries_find_each_row(void **state);
void only_verified_rows_are_generated(void **state);

void fragments_are_injective_and_onto(void **state);
void fragments_follow_the_isa_text(void **state);
void equal_fragments_are_equal(void **state);
void fragments_do_not_depend_on_the_variant(void **state);
void matrix_moves_meet_the_fragments_of_mma(void **state);
void run_order_gives_a_lane_its_run(void **state);
void block_scales_follow_the_isa_table(void **state);

void canonical_layouts_match_the_isa_examples(void **state);
void canonical_forms_are_recognised(void **state);
void descriptors_hold_their_fields(void **state);
void ldmatrix_feeds_a_from_core_matrices(void **state);

void sim_agrees_in_every_lane_and_bit(void **state);
void sim_finds_the_same_block_scales(void **state);
void sim_moves_matrices_the_same_way(void **state);
void sim_reads_the_same_canonical_layouts(void **state);
void sim_agrees_on_tensor_memory(void **state);
void sim_moves_tensor_memory_the_same_way(void **state);
void sim_copies_block_scales_the_same_way(void **state);
void sim_reads_the_same_instruction_descriptors(void **state);
void sim_reads_the_same_shared_descriptors(void **state);
void sim_reads_the_descriptors_of_rows(void **state);

/* Returns the address of an element of a matrix at CANONICAL_START, by one kind of descriptor. */
enum { CANONICAL_START = 0x4000 };
typedef uint32_t canonical_address(const hd_canonical *form, uint32_t mn, uint32_t k,
                                   uint32_t bytes);
void assert_canonical_layouts(canonical_address *address);

#endif
