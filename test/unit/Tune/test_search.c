/* The search: order, correction by what was measured, variety. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>

#include "Tune/search.h"

static void first_is_what_the_model_says(void **state) {
  (void)state;
  hd_search_item list[] = {hd_search_item_of("tile=1 stages=1", 3), hd_search_item_of("tile=2 stages=1", 1),
                           hd_search_item_of("tile=3 stages=1", 2)};
  assert_int_equal(hd_search_next(list, 3), 1);
  list[1].taken = true;
  assert_int_equal(hd_search_next(list, 3), 2);
  list[0].taken = list[2].taken = true;
  assert_int_equal(hd_search_next(list, 3), 3);
}

static void like_what_was_slow_promises_less(void **state) {
  (void)state;
  hd_search_item list[] = {
      hd_search_item_of("tile=1 warps=1 stages=1", 10), hd_search_item_of("tile=1 warps=1 stages=2", 10),
      hd_search_item_of("tile=2 warps=2 stages=3", 10.5), hd_search_item_of("tile=3 warps=3 stages=4", 10.6)};
  list[0].taken = list[3].taken = true;
  list[0].measured = 20; /* twice what was predicted */
  list[3].measured = 10.6;
  assert_int_equal(hd_search_next(list, 4), 2);
  list[0].measured = 5;
  assert_int_equal(hd_search_next(list, 4), 1);
}

static void variants_of_one_tile_do_not_use_up_the_search(void **state) {
  (void)state;
  enum { N = 40 };
  hd_search_item list[N + 1];
  char text[64];
  for (int i = 0; i < N; i++) {
    snprintf(text, sizeof text, "tile=1 warps=1 group=%d", i);
    list[i] = hd_search_item_of(text, 10);
  }
  list[N] = hd_search_item_of("tile=2 warps=2 group=1", 10.4);
  for (int i = 0; i < 5; i++) {
    size_t next = hd_search_next(list, N + 1);
    list[next].taken = true;
    list[next].measured = list[next].predicted;
  }
  assert_true(list[N].taken);
}

static void a_scale_is_no_news(void **state) {
  (void)state;
  hd_search_item list[] = {hd_search_item_of("tile=1 warps=1", 1), hd_search_item_of("tile=2 warps=2", 2),
                           hd_search_item_of("tile=3 warps=3", 3)};
  list[0].taken = true;
  list[0].measured = 50; /* everything takes fifty times as long */
  assert_int_equal(hd_search_next(list, 3), 1);
}

static void the_share(void **state) {
  (void)state;
  assert_int_equal(hd_search_share(3), 3);
  assert_int_equal(hd_search_share(100), 8);
  assert_int_equal(hd_search_share(200), 10);
  assert_int_equal(hd_search_share(1819), 90); /* at most a twentieth */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_is_what_the_model_says),
      cmocka_unit_test(like_what_was_slow_promises_less),
      cmocka_unit_test(variants_of_one_tile_do_not_use_up_the_search),
      cmocka_unit_test(a_scale_is_no_news),
      cmocka_unit_test(the_share),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
