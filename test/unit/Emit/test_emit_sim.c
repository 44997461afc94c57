/* The simulator accepts every row of specs/, alone in a kernel, or refuses it with the rule of the
 * missing feature. */
#include "emit_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit_bare.h"
#include "Sim/sim_program.h"
#include "Support/strbuf.h"
#include "emit_fixture.h"

enum { BATCH = 256 };

/* Cuts out a module that has only the kernel named as the row. */
static void cut_out(const char *ptx, const hd_spec_row *row, hd_strbuf *out) {
  char head[256];
  snprintf(head, sizeof head, ".visible .entry %s(", row->name);
  const char *at = strstr(ptx, head), *body = strstr(ptx, ".visible"),
             *end = at ? strstr(at, "\n}") : NULL;
  assert_non_null(end);
  hd_strbuf_addn(out, ptx, (size_t)(body - ptx));
  hd_strbuf_addn(out, at, (size_t)(end + 2 - at));
  hd_strbuf_add(out, "\n");
}

/* Whether the simulator accepts the row's kernel. Any other failure than a refusal by rule fails
 * the test. */
static bool takes(const char *ptx, const hd_spec_row *row) {
  heddle_context *ctx = heddle_context_create();
  hd_arena arena = {0};
  hd_strbuf text = {0};
  sim_program program;
  cut_out(ptx, row, &text);
  const hd_variant variant = {.entry = row->name};
  const hd_launch_plan plan = {.variant = &variant};
  const hd_sim_launch launch = {
      .file = row->name, .ptx = hd_strbuf_text(&text), .ptx_bytes = text.len, .plan = &plan};
  heddle_status status = hd_sim_parse(ctx, &launch, &arena, &program);
  bool named = status == HEDDLE_UNSUPPORTED && !strncmp(first_rule(ctx), "ptx.", 4);
  if (status != HEDDLE_OK && !named)
    print_errors(ctx);
  assert_true(status == HEDDLE_OK || named);
  hd_strbuf_free(&text);
  hd_arena_free(&arena);
  heddle_context_free(ctx);
  return status == HEDDLE_OK;
}

static void count_batch(const hd_target *target, unsigned version, const hd_spec_row **rows,
                        size_t n, unsigned *taken) {
  heddle_context *ctx = heddle_context_create();
  char *ptx = NULL;
  size_t n_bytes = 0;
  assert_int_equal(hd_emit_bare_rows(ctx, target, version, rows, n, &ptx, &n_bytes), HEDDLE_OK);
  for (size_t i = 0; i < n; i++)
    taken[rows[i]->family] += takes(ptx, rows[i]);
  free(ptx);
  heddle_context_free(ctx);
}

/* Counts the rows that are new on a target: no earlier target has them. */
static void count_target(size_t t, unsigned version, unsigned *n_rows, unsigned *taken) {
  const hd_spec_row *rows[BATCH];
  size_t n = 0;
  for (size_t i = 0; i <= hd_spec_count(); i++) {
    const hd_spec_row *row = hd_spec_get(i); /* NULL at the end */
    bool here = row && hd_emit_bare_version(row, hd_target_get(t)) == version;
    for (size_t before = 0; here && before < t; before++)
      here = !hd_emit_bare_version(row, hd_target_get(before));
    if (here) {
      n_rows[row->family]++;
      rows[n++] = row;
    }
    if (n && (!row || n == BATCH)) {
      count_batch(hd_target_get(t), version, rows, n, taken);
      n = 0;
    }
  }
}

void test_the_simulator_takes_or_names_each_row(void **state) {
  (void)state;
  static const char *const names[] = {"mma.sp",   "wgmma.sp", "tcgen05.mma.sp", "ldmatrix",
                                      "stmatrix", "copy",     "sync",           "tcgen05"};
  unsigned n_rows[HD_N_FAMILIES] = {0}, taken[HD_N_FAMILIES] = {0};
  for (size_t t = 0; t < hd_target_count(); t++)
    for (unsigned version = 63; version <= 90; version++)
      count_target(t, version, n_rows, taken);
  for (int f = 0; f < HD_N_FAMILIES; f++) {
    print_message("%s: %u rows, %u taken by the simulator\n", names[f], n_rows[f], taken[f]);
    assert_true(n_rows[f] && (f > HD_FAMILY_STMATRIX || taken[f] == n_rows[f]));
  }
  assert_int_equal(n_rows[HD_FAMILY_TCGEN05] - taken[HD_FAMILY_TCGEN05], 2); /* tcgen05.shift */
}
