/* The order of contenders in interleaved rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "Tune/measure.h"

enum { MOST = 16, ROUNDS = 9 };

static void every_contender_runs_once_in_a_round(void **state) {
  (void)state;
  for (int32_t n = 1; n <= MOST; n++)
    for (int32_t round = 0; round < HD_MOST_ROUNDS; round++) {
      bool ran[MOST] = {false};
      assert_int_equal(hd_measure_contender(round, 0, n), round % n);
      for (int32_t place = 0; place < n; place++) {
        int32_t i = hd_measure_contender(round, place, n);
        assert_in_range(i, 0, n - 1);
        assert_false(ran[i]);
        ran[i] = true;
      }
    }
}

/* Of three and more contenders each runs behind two others at least, of five behind all of them. */
static void predecessors_vary(void **state) {
  (void)state;
  for (int32_t n = 3; n <= MOST; n++) {
    bool behind[MOST][MOST] = {{false}};
    for (int32_t round = 0; round < ROUNDS; round++)
      for (int32_t place = 1; place < n; place++)
        behind[hd_measure_contender(round, place, n)][hd_measure_contender(round, place - 1, n)] =
            true;
    for (int32_t i = 0; i < n; i++) {
      int32_t others = 0;
      for (int32_t j = 0; j < n; j++)
        others += behind[i][j];
      assert_false(behind[i][i]);
      assert_true(others >= (n == 5 ? 4 : 2));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_contender_runs_once_in_a_round),
                                     cmocka_unit_test(predecessors_vary)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
