/* Boxes of B that would begin past N may load any data, because the products with these columns are
 * never stored. All other columns must be the right columns of B. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "check_harness.h"

/* For CLUSTER, where each CTA multicasts half of a tile's columns to both CTAs. Computes %nh, the
 * column at which the CTA's box begins, from %at, the column at which its half begins. */
#define BEGIN(made)                                                                                \
  {                                                                                                \
    "      %nh: i32 = add %n0, %half\n", "      %at: i32 = add %n0, %half\n" made                  \
  }
#define CHOOSE(pred, bound, yes, no)                                                               \
  BEGIN("      %there: i1 = cmp %at, " bound " {pred = " pred "}\n"                                \
        "      %nh: i32 = select %there, " yes ", " no "\n")
#define RIGHT CHOOSE("lt", "%n", "%at", "%c0")

/* SIZES: values that all roles can use. FIRST, SECOND: the copies of the first and second CTA. */
#define SIZES(made) {"%units: i32 = mul", made "\n  %units: i32 = mul"}
#define FIRST "%k0, %nh, %full {offset = 0, bytes = 4096"
#define SECOND "%k0, %nh, %full {offset = 4096, bytes = 4096"

/* For SUM: loads the tile's 16 columns in two boxes. `there`: whether the second box begins before
 * N. */
#define HALVES(there)                                                                              \
  {"box = [64, 16]", "box = [64, 8]"}, {                                                           \
    "        copy.tma %tb, %sb, %c, %k0, %n0, %full {bytes = 2048, offset = 0}\n",                 \
        "        copy.tma %tb, %sb, %c, %k0, %n0, %full {bytes = 1024, offset = 0}\n"              \
        "        %c8: i32 = const {value = 8}\n"                                                   \
        "        %n8: i32 = add %n0, %c8\n"                                                        \
        "        %there: i1 = cmp " there "\n"                                                     \
        "        %n1: i32 = select %there, %n8, %c0\n"                                             \
        "        copy.tma %tb, %sb, %c, %k0, %n1, %full {bytes = 1024, offset = 1024}\n"           \
  }

static const injected table[] = {
    /* columns before N */
    {"a bound one column short", CLUSTER, "data",
     {CHOOSE("lt", "%less", "%at", "%c0"), SIZES("%less: i32 = sub %n, %c1")}},
    {"a bound some columns short", CLUSTER, "data",
     {CHOOSE("lt", "%less", "%at", "%c0"), SIZES("%less: i32 = sub %n, %c4")}},
    {"the tile for a bound", CLUSTER, "data", {CHOOSE("lt", "%c64", "%at", "%c0")}},
    {"M for a bound", CLUSTER, "data", {CHOOSE("lt", "%m", "%at", "%c0")}},
    {"the other way round", CLUSTER, "data", {CHOOSE("lt", "%n", "%c0", "%at")}},
    {"nothing but what is past N", CLUSTER, "data", {CHOOSE("ge", "%n", "%at", "%c0")}},
    {"the first columns for all", CLUSTER, "data", {BEGIN("      %nh: i32 = add %c0, %c0\n")}},
    {"the first half for both", CLUSTER, "data", {CHOOSE("lt", "%n", "%n0", "%c0")}},
    {"another k-block", CLUSTER, "data",
     {RIGHT, {SECOND, "%c0, %nh, %full {offset = 4096, bytes = 4096"}}},
    {"other columns in one turn of several", CLUSTER, "data",
     {{"%k0: i32 = mul", "%begins: i1 = cmp %i, %c0 {pred = eq}\n"
                         "        %goes_on: i1 = cmp %nk, %c1 {pred = gt}\n"
                         "        %turn: i1 = and %begins, %goes_on\n"
                         "        %nt: i32 = select %turn, %c0, %nh\n"
                         "        %k0: i32 = mul"},
      {SECOND, "%k0, %nt, %full {offset = 4096, bytes = 4096"}}},
    {"other columns in one split of several", SUM, "data", {HALVES("%rank, %c0 {pred = eq}")}},
    /* the rest of the slot */
    {"boxes with a gap", CLUSTER, "R1",
     {RIGHT, {"box = [64, 32]", "box = [64, 16]"}, {"bytes = 12800", "bytes = 8704"},
      {SECOND, "%k0, %nh, %full {offset = 4096, bytes = 2048"},
      {FIRST, "%k0, %nh, %full {offset = 0, bytes = 2048"}}},
    {"boxes over each other", CLUSTER, "R1",
     {RIGHT, {SECOND, "%k0, %nh, %full {offset = 0, bytes = 4096"}}},
    {"bytes of a smaller box expected", CLUSTER, "tx-bytes",
     {RIGHT, {"bytes = 12800", "bytes = 10752"}}},
    {"columns past N stored", CLUSTER, "bounds",
     {RIGHT, SIZES("%more: i32 = add %n, %c16"), {"%cold, %m, %n,", "%cold, %m, %more,"}}},
};

static void find_injected(void **state) {
  (void)state;
  assert_int_equal(count_missed(table, HD_COUNT(table)), 0);
}

/* The box past N may load zeros, the first columns, or the tile's first columns again. */
static void accept_anything(void **state) {
  (void)state;
  static const struct {
    const char *file;
    edit edits[2];
  } sound[] = {{CLUSTER, {RIGHT}},
               {CLUSTER, {CHOOSE("le", "%n", "%at", "%c0")}},
               {CLUSTER, {CHOOSE("lt", "%n", "%at", "%n0")}},
               {SUM, {HALVES("%n8, %n {pred = lt}")}}};
  for (size_t i = 0; i < HD_COUNT(sound); i++) {
    char *text = kernel_text(sound[i].file);
    for (size_t e = 0; e < HD_COUNT(sound[i].edits) && sound[i].edits[e].from; e++)
      text = replace(text, &sound[i].edits[e]);
    hd_check_report report = {0};
    if (check_text(text, &report) != HEDDLE_OK)
      fail_msg("kernel %zu: %s", i, report.n_findings ? report.findings[0].text : "no finding");
    hd_check_report_free(&report);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(find_injected),
                                     cmocka_unit_test(accept_anything)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
