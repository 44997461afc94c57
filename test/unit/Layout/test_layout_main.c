#include "layout_tests.h"

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equality_sees_through_factoring),
      cmocka_unit_test(equality_reads_every_number),
      cmocka_unit_test(injectivity_is_exact),
      cmocka_unit_test(wrong_dimensions_are_refused),
      cmocka_unit_test(cute_text_is_right),
      cmocka_unit_test(conflicts_of_known_accesses),
      cmocka_unit_test(swizzle_is_derived),
      cmocka_unit_test(swizzle_refuses_carries),
      cmocka_unit_test(bank_count_matches_brute_force),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
