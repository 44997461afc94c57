#include "spec_tests.h"

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_is_found_by_name_and_text),
      cmocka_unit_test(rows_have_source_and_effects),
      cmocka_unit_test(targets_are_found),
      cmocka_unit_test(families_reach_their_members),
      cmocka_unit_test(selectors_are_checked),
      cmocka_unit_test(queries_find_each_wgmma),
      cmocka_unit_test(queries_find_all_rows_of_a_family),
      cmocka_unit_test(queries_find_each_row),
      cmocka_unit_test(only_verified_rows_are_generated),
      cmocka_unit_test(fragments_are_injective_and_onto),
      cmocka_unit_test(fragments_follow_the_isa_text),
      cmocka_unit_test(equal_fragments_are_equal),
      cmocka_unit_test(fragments_do_not_depend_on_the_variant),
      cmocka_unit_test(matrix_moves_meet_the_fragments_of_mma),
      cmocka_unit_test(run_order_gives_a_lane_its_run),
      cmocka_unit_test(block_scales_follow_the_isa_table),
      cmocka_unit_test(canonical_layouts_match_the_isa_examples),
      cmocka_unit_test(canonical_forms_are_recognised),
      cmocka_unit_test(descriptors_hold_their_fields),
      cmocka_unit_test(ldmatrix_feeds_a_from_core_matrices),
      cmocka_unit_test(sim_agrees_in_every_lane_and_bit),
      cmocka_unit_test(sim_finds_the_same_block_scales),
      cmocka_unit_test(sim_moves_matrices_the_same_way),
      cmocka_unit_test(sim_reads_the_same_canonical_layouts),
      cmocka_unit_test(sim_agrees_on_tensor_memory),
      cmocka_unit_test(sim_moves_tensor_memory_the_same_way),
      cmocka_unit_test(sim_copies_block_scales_the_same_way),
      cmocka_unit_test(sim_reads_the_same_instruction_descriptors),
      cmocka_unit_test(sim_reads_the_same_shared_descriptors),
      cmocka_unit_test(sim_reads_the_descriptors_of_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
