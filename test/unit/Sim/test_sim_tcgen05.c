/* Every kind of tcgen05.mma and mma.sp: A by descriptor and in tensor memory, B in every canonical
 * layout, one CTA and a pair, block scales. Results are compared exactly. The texts are legal PTX:
 * if ptxas is installed, it assembles one text of each form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tcgen05_case.h"

static const tc_kind kinds[] = {
    {"f16", "f16", "f16", "f32", NULL, 0, 0, 0, 1},
    {"f16", "f16", "f16", "f16", NULL, 0, 0, 0, 0},
    {"f16", "bf16", "bf16", "f32", NULL, 0, 1, 1, 1},
    {"tf32", "tf32", "tf32", "f32", NULL, 0, 2, 2, 1},
    {"i8", "s8", "u8", "s32", NULL, 0, 1, 0, 2},
    {"i8", "u8", "s8", "s32", NULL, 0, 0, 1, 2},
    {"f8f6f4", "e4m3", "e5m2", "f32", NULL, 0, 0, 1, 1},
    {"f8f6f4", "e5m2", "e4m3", "f16", NULL, 0, 1, 0, 0},
    {"f8f6f4", "e2m3", "e3m2", "f32", NULL, 0, 3, 4, 1},
    {"f8f6f4", "e2m1", "e4m3", "f32", NULL, 0, 5, 0, 1},
    {"f8f6f4", "e3m2", "e2m1", "f32", NULL, 0, 4, 5, 1},
    {"mxf8f6f4", "e4m3", "e4m3", "f32", "ue8m0", 1, 0, 0, 1},
    {"mxf8f6f4", "e2m1", "e3m2", "f32", "ue8m0", 1, 5, 4, 1},
    {"mxf4", "e2m1", "e2m1", "f32", "ue8m0", 2, 1, 1, 1},
    {"mxf4nvf4", "e2m1", "e2m1", "f32", "ue8m0", 2, 1, 1, 1},
    {"mxf4nvf4", "e2m1", "e2m1", "f32", "ue4m3", 4, 1, 1, 1},
};

static tc_run shared_run;

#ifdef HEDDLE_PTXAS
/* Assembles one sparse text per form: kind, memory of A, CTA group, mask. */
static int assemble(const tc_case *c, const hd_strbuf *text) {
  static char done[64][64];
  static int n_done;
  char form[64], path[] = "/tmp/heddle-tcgen05-XXXXXX", command[256];
  snprintf(form, sizeof form, "%s %u %d %u %d %d", c->kind->kind, c->kind->n_scales,
           c->a_in_tensor, c->group, c->disabled != 0, c->scale_d != 0);
  if (!c->sparse || (c->group == 2 && c->a_in_tensor))
    return 0;
  for (int i = 0; i < n_done; i++)
    if (strcmp(done[i], form) == 0)
      return 0;
  strcpy(done[n_done++], form);
  int file = mkstemp(path);
  FILE *out = fdopen(file, "w");
  fwrite(text->text, 1, text->len, out);
  fclose(out);
  snprintf(command, sizeof command, HEDDLE_PTXAS " -arch=sm_100a -o /dev/null %s", path);
  int bad = system(command) != 0;
  if (bad)
    fprintf(stderr, "ptxas refuses %s: %s\n", form, path);
  else
    unlink(path);
  return bad;
}
#else
static int assemble(const tc_case *c, const hd_strbuf *text) {
  (void)c;
  (void)text;
  return 0;
}
#endif

static int run_case(const tc_case *c, uint64_t seed) {
  tc_run *t = &shared_run;
  hd_strbuf text = {0};
  harness h;
  tc_make(t, c, seed);
  tc_write_text(t, &text);
  harness_start(&h, "k", 128, TC_IMAGE + 16, c->group);
  h.variant.cluster = (int)c->group;
  h.options = (hd_sim_options){.mode = (hd_sim_mode)(seed % 3), .seed = seed};
  harness_param(&h, HD_ARG_A, harness_buffer(&h, "image", t->image, sizeof t->image, false));
  harness_param(&h, HD_ARG_B, harness_buffer(&h, "tensor", t->tensor, sizeof t->tensor, false));
  harness_param(&h, HD_ARG_D, harness_buffer(&h, "out", t->out, sizeof t->out, true));
  heddle_status status = harness_run_text(&h, text.text, text.len);
  int bad = status == HEDDLE_OK ? tc_compare(t) : (int)(c->m * c->n);
  if (bad) {
    fprintf(stderr,
            "%s%s %s.%s.%s scales %u, m%u n%u, group %u, A %s %d, B %d, selector %u, ids %u "
            "%u: status %d, %d of %u wrong\n",
            c->kind->kind, c->sparse ? " sparse" : "", c->kind->d, c->kind->a, c->kind->b,
            c->kind->n_scales, c->m, c->n, c->group, c->a_in_tensor ? "tensor" : "shared",
            (int)c->a_layout, (int)c->b_layout, c->selector, c->scale_a_id, c->scale_b_id, status,
            bad, c->m * c->n);
    harness_print(&h);
  }
  bad += assemble(c, &text);
  hd_strbuf_free(&text);
  harness_stop(&h);
  return bad;
}

/* Whether the kind supports the shape: 64 rows per CTA, sparse, pairs. */
static bool is_legal(const tc_case *c) {
  bool scaled = c->kind->n_scales != 0;
  if (c->m == 64 * c->group)
    return !scaled || (c->group == 2 && !c->sparse);
  return c->m == 128 * c->group;
}

static int run_forms(const tc_kind *kind, uint32_t group) {
  int bad = 0;
  for (int form = 0; form < 8; form++) {
    tc_case c = {.kind = kind, .sparse = form & 1, .a_in_tensor = form & 2,
                 .m = (form & 4 ? 64 : 128) * group, .n = 64, .group = group,
                 .a_layout = TC_NONE, .b_layout = TC_SW64};
    if (!is_legal(&c))
      continue;
    c.accumulate = form == 0 || form == 3 || form == 4;
    c.selector = c.sparse && (kind->kind[0] == 't' || strcmp(kind->kind, "f16") == 0) &&
                 c.a_in_tensor;
    c.shift_lanes = c.m == 64 * group && (group == 1 || c.sparse) && c.a_in_tensor;
    c.scale_a_id = kind->n_scales == 1 ? 3 : kind->n_scales == 2 ? 2 : 0;
    c.scale_b_id = kind->n_scales == 1 ? 1 : 0;
    bad += run_case(&c, (uint64_t)form + 1);
  }
  return bad;
}

static void each_kind(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < HD_COUNT(kinds); i++)
    bad += run_forms(&kinds[i], 1);
  assert_int_equal(bad, 0);
}

static void each_kind_in_a_pair(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < HD_COUNT(kinds); i++)
    bad += run_forms(&kinds[i], 2);
  assert_int_equal(bad, 0);
}

static bool layout_fits(const tc_kind *kind, tc_layout layout, uint32_t row_bytes) {
  uint32_t bits = hd_sim_type(hd_sim_type_find(kind->a))->bits;
  if (layout == TC_MN_WIDE)
    return bits == 32;
  if (layout >= TC_MN_NONE)
    return bits == 16 || kind->kind[0] == 'i';
  return layout == TC_NONE || row_bytes <= 16u << layout;
}

static void each_canonical_layout(void **state) {
  (void)state;
  static const size_t some[] = {0, 3, 4, 9, 13};
  int bad = 0;
  for (size_t i = 0; i < HD_COUNT(some); i++) {
    const tc_kind *kind = &kinds[some[i]];
    for (int l = TC_NONE; l <= TC_MN_WIDE; l++) {
      tc_case c = {.kind = kind, .sparse = l % 2, .m = 128, .n = 48, .group = 1,
                   .a_layout = TC_SW32, .b_layout = (tc_layout)l};
      if (layout_fits(kind, (tc_layout)l, c.sparse ? 64 : 32))
        bad += run_case(&c, 7);
      c.a_layout = (tc_layout)l;
      c.b_layout = TC_SW64;
      if (layout_fits(kind, (tc_layout)l, 32))
        bad += run_case(&c, 8);
    }
  }
  assert_int_equal(bad, 0);
}

static void options_of_the_instruction(void **state) {
  (void)state;
  tc_case plain = {.kind = &kinds[0], .sparse = true, .m = 128, .n = 64, .group = 1,
                   .a_layout = TC_SW32, .b_layout = TC_SW64, .accumulate = true};
  tc_case negated = plain, masked = plain, scaled = plain, narrow = plain, pair = plain;
  negated.negate_a = true;
  masked.disabled = 0x80f0000f;
  scaled.scale_d = 3;
  narrow.n = 8;
  pair.group = 2;
  pair.m = 256;
  pair.n = 16;
  pair.disabled = 0x11;
  assert_int_equal(run_case(&negated, 1) + run_case(&masked, 2) + run_case(&scaled, 3) +
                       run_case(&narrow, 4) + run_case(&pair, 5), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_kind), cmocka_unit_test(each_kind_in_a_pair),
      cmocka_unit_test(each_canonical_layout), cmocka_unit_test(options_of_the_instruction)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
