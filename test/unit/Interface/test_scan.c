/* hd_scan accepts what agents send, and leaves everything else to jansson and hd_validate. The
 * fuzzer (test/service/fuzz_requests.c) shows that it accepts nothing that they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "Interface/interface.h"

static bool scan(const char *text, size_t *n) {
  return hd_scan("measurements", text, strlen(text), n);
}

/* Whether a body with one measurement that has this further text is accepted. */
static bool scan_with(const char *more) {
  char text[400];
  size_t n;
  snprintf(text, sizeof text,
           "{\"measurements\":[{\"seq\":7,\"schedule\":\"tile=128x64\",\"verdict\":\"ok\"%s}]}",
           more);
  return scan(text, &n);
}

static void usual_bodies_are_accepted_and_counted(void **state) {
  (void)state;
  size_t n;
  assert_true(
      scan("{\"measurements\": [{\"seq\": 0, \"schedule\": \"a=1\", \"verdict\": \"ok\", "
           "\"us\": 9.300000000000001, \"why\": null, \"throttle\": 9000000000000000},\n"
           "\t{\"verdict\":\"crash\",\"why\":\"a < b\",\"seq\":1,\"schedule\":\"a=1\"} ] }\r\n",
           &n));
  assert_int_equal(n, 2);
  static const char *const usual[] = {"",
                                      ",\"us\":0",
                                      ",\"us\":1e+2",
                                      ",\"us\":1.5E-7",
                                      ",\"us\":-0.0",
                                      ",\"us\":0e5",
                                      ",\"us\":2.5e-320",
                                      ",\"cubin\":\"\"",
                                      ",\"temperature_c\":-273"};
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (!scan_with(usual[i]))
      fail_msg("not accepted: %s", usual[i]);
}

static void everything_else_is_left(void **state) {
  (void)state;
  size_t n;
  static const char *const bodies[] = {"",
                                       "[]",
                                       "{}",
                                       "{\"measurements\":[]}",
                                       "{\"measurements\":[{}]}",
                                       "{\"measurements\":null}",
                                       "{\"measurements\":["};
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
    if (scan(bodies[i], &n))
      fail_msg("accepted: %s", bodies[i]);
  static const char *const rest[] = {",\"seq\":7",
                                     ",\"us\":1e-400",
                                     ",\"us\":01",
                                     ",\"us\":1e10",
                                     ",\"us\":.5",
                                     ",\"us\":1.",
                                     ",\"us\":1e",
                                     ",\"us\":+1",
                                     ",\"us\":-1",
                                     ",\"us\":0x10",
                                     ",\"us\":true",
                                     ",\"us\":\"1\"",
                                     ",\"us\":1e999",
                                     ",\"sm_mhz\":1.0",
                                     ",\"sm_mhz\":1e3",
                                     ",\"throttle\":1000000000000000000",
                                     ",\"cubin\":\"X\"",
                                     ",\"why\":\"\\u0041\"",
                                     ",\"why\":\"\xc3\xa9\"",
                                     ",\"why\":\"\x01\"",
                                     ",\"other\":1",
                                     ",\"u\":1",
                                     ",\"verdict\":null",
                                     ",",
                                     "]}",
                                     "}]} x",
                                     ",\"why\":\"a"};
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
    if (scan_with(rest[i]))
      fail_msg("accepted: %s", rest[i]);
  const char cut[] = "{\"measurements\":[{\"seq\":7,\"schedule\":\"a\",\"verdict\":\"ok\"}]}\0 ";
  assert_true(hd_scan("measurements", cut, strlen(cut), &n));
  assert_false(hd_scan("measurements", cut, sizeof cut - 1, &n));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(usual_bodies_are_accepted_and_counted),
                                     cmocka_unit_test(everything_else_is_left)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
