/* Invalid PTX, PTX that is not simulated, and launches that no device accepts: each is refused by
 * its rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "Sim/sim_program.h"
#include "Support/strbuf.h"
#include "sim_harness.h"

static const char regs[] = ".reg .b32 %r<4>; .reg .b64 %d<2>; .reg .pred %p;";

/* The module, the entry's parameters or its body contain `times` copies of `text`. */
static const struct refusal {
  const char *rule, *module, *params, *body;
  int times;
} refusals[] = {
    {"ptx.address", "", "", "ld.global.u32 %r0, [%d0+%d1];", 1},
    {"ptx.address", "", "", "ld.global.u32 %r0, [%d0, 1];", 1},
    {"ptx.branch", "", "", "bra ;", 1},
    {"ptx.branch", "", "", "brx.idx %r0;", 1},
    {"ptx.branchtargets", "", "", "t: .branchtargets ;", 1},
    {"ptx.branchtargets", "", "", "brx.idx %r0, nowhere;", 1},
    {"ptx.directive", "", "", ".maxnreg 8;", 1},
    {"ptx.entry", ".entry {}", "", "", 1},
    {"ptx.initialiser", ".global .u32 x[1] = {1, 2};", "", "", 1},
    {"ptx.initialiser", ".global .u32 x[1] = 0d3ff0000000000000;", "", "", 1},
    {"ptx.instruction", "", "", "frobnicate;", 1},
    {"ptx.label", "", "", "bra nowhere;", 1},
    {"ptx.label", "", "", "twice: add.u32 %r0, %r0, 1;", 2},
    {"ptx.branchtargets", "", "", "{ e: t: .branchtargets e; }", 2},
    {"ptx.local", "", "", ".local .b8 x[65537];", 1},
    {"ptx.modifier", "", "", "add.foo.u32 %r0, %r0, %r0;", 1},
    {"ptx.modifier", "", "", "add.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x %r0;", 1},
    {"ptx.name", "", "", "@%q bra nowhere;", 1},
    {"ptx.name", "", "", "mov.u32 %r0, %q;", 1},
    {"ptx.number", "", "", "mov.u32 %r0, 64x;", 1},
    {"ptx.number", "", "", "mov.u32 %r0, 08;", 1},
    {"ptx.number", "", "", "mov.u32 %r0, 0b;", 1},
    {"ptx.number", "", "", "mov.f32 %r0, 0f3f8;", 1},
    {"ptx.number", "", "", "mov.f32 %r0, 1.5x;", 1},
    {"ptx.number", "", "", "mov.u64 %d0, 18446744073709551616;", 1},
    {"ptx.number", "", "", "ld.global.u32 %r0, [%d0+18446744073709551616];", 1},
    {"ptx.modifier", "", "", "discard.global.L2 [%d0], 128;", 1},
    {"ptx.operands", "", "", "add.u32 %r0;", 1},
    {"ptx.operands", "", "", "setmaxnreg.inc.sync.aligned.u32 100;", 1},
    {"ptx.param", "", ".reg .b32 x", "", 1},
    {"ptx.param", "", ".param x", "", 1},
    {"ptx.param", "", ".param .b8 x[4097]", "", 1},
    {"ptx.param", "", ".param .b8 x[4294967297]", "", 1},
    {"ptx.param", "", ".param .align 4294967297 .b8 x[1]", "", 1},
    {"ptx.reg", "", "", ".reg .b32 ;", 1},
    {"ptx.reg", "", "", ".reg .b32 %x<0>;", 1},
    {"ptx.reg", "", "", ".reg .b32 %x<65536>;", 1},
    {"ptx.reg", "", "", ".reg .b32 %x<4294967297>;", 1},
    {"ptx.scope", "", "", "{}", 65536},
    {"ptx.shared", "", "", ".shared .b8 x[262144]; .shared .b8 y[1];", 1},
    {"ptx.syntax", "", "", ".reg .b32 %x)", 1},
    {"ptx.syntax", "", "", "@%p;", 1},
    {"ptx.syntax", "", "", "+", 1},
    {"ptx.syntax", "", "", "mov.u32 %r0, +;", 1},
    {"ptx.syntax", "", "", "mov.b64 %d0, {{%r0, %r1}, %r2};", 1},
    {"ptx.syntax", "", "", "ld.global.u32 %r0, [[%d0]];", 1},
    {"ptx.syntax", "", "", "ld.global.u32 %r0, [%d0, {[%d0]}];", 1},
    {"ptx.syntax", "", "", "{", 1},
    {"ptx.syntax", "", "", "ret; } /*", 1},
    {"ptx.variable", "", "", ".shared .align 3 .b8 x[1];", 1},
    {"ptx.variable", ".global .b8 x[262145];", "", "", 1},
    {"ptx.variable", ".global .b8 x[1y];", "", "", 1},
    {"ptx.variable", ".global .b8 x[];", "", "", 1},
};

/* Returns 1 if the context's first rule is another one. */
static int other_rule(const heddle_context *ctx, const char *rule, const char *what) {
  const char *got = heddle_context_count(ctx) ? heddle_context_get(ctx, 0)->rule : "nothing";
  int other = strcmp(got, rule) != 0;
  if (other)
    print_error("%s: got %s, expected %s\n", what, got, rule);
  return other;
}

static heddle_status parse(heddle_context *ctx, const struct refusal *r) {
  hd_arena arena = {0};
  hd_strbuf text = {0};
  sim_program program;
  hd_strbuf_printf(&text, ".version 8.5\n.target sm_90a\n%s\n.entry k(%s) {\n%s\n", r->module,
                   r->params, regs);
  for (int i = 0; i < r->times; i++)
    hd_strbuf_add(&text, r->body);
  hd_strbuf_add(&text, "\nret; }\n");
  const hd_variant variant = {.entry = "k"};
  const hd_launch_plan plan = {.variant = &variant};
  const hd_sim_launch launch = {
      .file = "k.ptx", .ptx = hd_strbuf_text(&text), .ptx_bytes = text.len, .plan = &plan};
  heddle_status status = hd_sim_parse(ctx, &launch, &arena, &program);
  hd_strbuf_free(&text);
  hd_arena_free(&arena);
  return status;
}

static void a_sound_text_is_read(void **state) {
  (void)state;
  const struct refusal none = {"", ".global .u32 x[2] = {1, 2};", ".param .b64 a",
                               "add.u32 %r0, %r0, 1;", 3};
  assert_int_equal(parse(NULL, &none), HEDDLE_OK);
}

static void texts_are_refused_by_rule(void **state) {
  (void)state;
  int n_others = 0;
  for (size_t i = 0; i < HD_COUNT(refusals); i++) {
    heddle_context *ctx = heddle_context_create();
    n_others += parse(ctx, &refusals[i]) == HEDDLE_OK;
    n_others += other_rule(ctx, refusals[i].rule, refusals[i].body);
    heddle_context_free(ctx);
  }
  assert_int_equal(n_others, 0);
}

static void a_vector_has_an_end(void **state) {
  (void)state;
  hd_strbuf body = {0};
  hd_strbuf_add(&body, "mov.b32 %r0, {");
  for (int i = 0; i < 257; i++)
    hd_strbuf_add(&body, "%r1,");
  hd_strbuf_add(&body, "%r1};");
  heddle_context *ctx = heddle_context_create();
  const struct refusal r = {"ptx.vector", "", "", hd_strbuf_text(&body), 1};
  assert_int_equal(parse(ctx, &r), HEDDLE_INVALID);
  assert_int_equal(other_rule(ctx, r.rule, "258 elements"), 0);
  heddle_context_free(ctx);
  hd_strbuf_free(&body);
}

/* ---- launches ---- */

static void launch_of(harness *h, const char *param, const char *body, const char *rule) {
  hd_strbuf text = {0};
  hd_strbuf_printf(&text, ".entry k(.param %s) {\n%s\n%s ret; }\n", param, regs, body);
  harness_run_text(h, hd_strbuf_text(&text), text.len);
  assert_int_equal(other_rule(h->ctx, rule, body), 0);
  hd_strbuf_free(&text);
  harness_stop(h);
}

static void launch(harness *h, const char *body, const char *rule) {
  launch_of(h, ".b64 a", body, rule);
}

static void launches_are_refused_by_rule(void **state) {
  (void)state;
  uint32_t data;
  harness h;
  harness_start(&h, "k", 1025, 0, 1);
  launch(&h, "", "launch.shape");
  harness_start(&h, "k", 32, 1 << 20, 1);
  launch(&h, "", "launch.shared");
  harness_start(&h, "k", 32, 0, 1);
  launch(&h, "", "launch.params");
  harness_start(&h, "k", 32, 0, 1);
  harness_param(&h, HD_ARG_A, harness_buffer(&h, "a", &data, sizeof data, false));
  h.buffer[0].address += 128;
  launch(&h, "", "launch.buffer");
  harness_start(&h, "k", 32, 0, 1);
  harness_param(&h, HD_ARG_A, 0);
  launch_of(&h, ".align 8 .b8 a[16]", "", "launch.params");
  harness_start(&h, "k", 32, 0, 1);
  launch(&h, "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;", "launch.cta_group");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sound_text_is_read), cmocka_unit_test(texts_are_refused_by_rule),
      cmocka_unit_test(a_vector_has_an_end), cmocka_unit_test(launches_are_refused_by_rule)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
