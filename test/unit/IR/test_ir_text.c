/* Texts: every refusal of the parser, with its rule and location, and texts that it must accept. */
#include "ir_fixture.h"

#define HEAD   "module version=1 level=role sync=placed\n"
#define KERNEL HEAD "kernel {name = \"k\", target = \"sm_90a\"} {\n"

static const struct refusal {
  const char *text, *rule;
  uint32_t line, col;
  const char *part; /* of the message */
} refusals[] = {
    {"", "text.syntax", 1, 1, "the end of the text; legal: 'module'"},
    {"# only a comment\n", "text.syntax", 2, 1, "legal: 'module'"},
    {"modul version=1", "text.syntax", 1, 1, "got modul; legal: 'module'"},
    {"module version=1", "text.syntax", 1, 17, "legal: 'level'"},
    {"module version=2 level=role sync=none", "text.version", 1, 16, "version 2"},
    {"module version=99999999999999999999 level=role sync=none", "text.number", 1, 16, "64-bit"},
    {"module version=1 level=thread sync=none", "text.syntax", 1, 24, "problem, tile or role"},
    {"module version=1 level=role sync=some", "text.syntax", 1, 34, "legal: 'none'"},
    {"module version=1 level=role sync=none kernel", "text.syntax", 1, 39, "the end of the line"},
    {HEAD "\x7f"
          "ELF",
     "text.byte", 2, 1, "0x7f"},
    {HEAD "\x80", "text.byte", 2, 1, "0x80"},
    {HEAD "kernel ;", "text.byte", 2, 8, "';'"},
    {HEAD "kernle {}", "text.op", 2, 1, "nearest: kernel"},
    {HEAD "qqqqqqqqqqqq {}", "text.op", 2, 1, "unknown op"},
    {HEAD "}", "text.syntax", 2, 1, "got '}'; legal: an op"},
    {KERNEL, "text.syntax", 3, 1, "the end of the text; legal: '}'"},
    {KERNEL "  cta.sync cta.sync\n}", "text.syntax", 3, 12, "the end of the line after an op"},
    {KERNEL "  %a = const {value = 1}\n}", "text.syntax", 3, 6, "legal: ':' and a type"},
    {KERNEL "  %a: i33 = const {value = 1}\n}", "text.syntax", 3, 7, "legal: a type"},
    {KERNEL "  %a: ptr<bf17> = arg {arg = a}\n}", "text.element-type", 3, 11, "nearest: bf16"},
    {KERNEL "  %a: frag<f32 x 0> = frag.zero\n}", "text.frag", 3, 18, "1 to 4096"},
    {KERNEL "  %a: frag<f32 x 99999999> = frag.zero\n}", "text.frag", 3, 18, "1 to 4096"},
    {KERNEL "  %a: frag<f32, 4> = frag.zero\n}", "text.syntax", 3, 15, "legal: 'x'"},
    {KERNEL "  %a: i32 = const {value = 1}\n  %a: i32 = const {value = 2}\n}", "text.value-twice",
     4, 3, "%a is already defined"},
    {KERNEL "  %a: i32, %a: i32 = const {value = 1}\n}", "text.value-twice", 3, 12,
     "%a is already"},
    {KERNEL "  %full: barrier = barrier {count = 1}\n  barrier.init %ful\n}", "text.undefined", 4,
     16, "nearest: %full"},
    {KERNEL "  role {} {\n    %x: i32 = warp_index\n  }\n  %y: i32 = add %x, %x\n}",
     "text.undefined", 6, 17, "%x is not defined"},
    {KERNEL "  barrier.init %\n}", "text.word", 3, 16, "0 characters"},
    {KERNEL "  %a: i32 = const {valeu = 1}\n}", "text.attribute", 3, 20, "nearest: value"},
    {KERNEL "  %a: i32 = const {value = 1, value = 2}\n}", "text.attribute-twice", 3, 31,
     "'value'"},
    {KERNEL "  %a: i32 = const {value 1}\n}", "text.syntax", 3, 26, "legal: '=' and an integer"},
    {KERNEL "  %a: i32 = const {value = x}\n}", "text.syntax", 3, 28, "legal: an integer"},
    {KERNEL "  %a: i32 = const {value = 1x}\n}", "text.syntax", 3, 28, "legal: an integer"},
    {KERNEL "  %a: i32 = const {value = 9223372036854775808}\n}", "text.number", 3, 28, "64-bit"},
    {KERNEL "  %a: i32 = const {value = -9223372036854775809}\n}", "text.number", 3, 28, "64-bit"},
    {KERNEL "  %a: i32 = const {value = 1\n}", "text.syntax", 4, 2, "the end of the text"},
    {KERNEL "  %a: i1 = cmp {pred = \"lt\"}\n}", "text.syntax", 3, 24, "legal: a bare word"},
    {KERNEL "  %a: tmap = tmap {box = []}\n}", "text.syntax", 3, 27,
     "got ']'; legal: an integer"},
    {KERNEL "  %a: tmap = tmap {box = [1; 2]}\n}", "text.byte", 3, 28, "';'"},
    {KERNEL "  %a: tmap = tmap {dims = [k]}\n}", "text.syntax", 3, 28,
     "legal: a quoted expression"},
    {KERNEL "  %a: tmap = tmap {dims = [\"k\", \"ldq*2\"]}\n}", "text.expression", 3, 33,
     "dims[1] = \"ldq*2\"; legal: ARG*MUL+ADD/DIV"},
    {KERNEL "  %a: tmap = tmap {dims = [\"none\"]}\n}", "text.expression", 3, 28, "dims[0]"},
    {KERNEL "  %a: tmap = tmap {dims = [\"k/\"]}\n}", "text.expression", 3, 28, "dims[0]"},
    {KERNEL "  %a: tmap = tmap {dims = [\"k*1234567890123456\"]}\n}", "text.expression", 3, 28,
     "dims[0]"},
    {KERNEL "  %a: tmap = tmap {dims = [\"k]}\n}", "text.string", 3, 32, "must end on its line"},
    {KERNEL "  %a: tmap = tmap {dims = [\"k\\q\"]}\n}", "text.string", 3, 31, "unknown escape"},
    {KERNEL "  %a: tmap = tmap {dims = [\"\\x00\"]}\n}", "text.string", 3, 30, "not \\x00"},
    {KERNEL "  %a: tmap = tmap {dims = [\"\x01\"]}\n}", "text.string", 3, 29, "control characters"},
    {KERNEL "  if %q {\n  }\n}", "text.undefined", 3, 6, "%q"},
    {KERNEL "  %v: i32 = warp_index\n  for %v, %v, %v (%i i32) {\n  }\n}", "text.syntax", 4, 22,
     "legal: ':'"},
};

static void refusals_are_located(void **state) {
  (void)state;
  for (size_t i = 0; i < HD_COUNT(refusals); i++) {
    const struct refusal *r = &refusals[i];
    heddle_context *ctx = heddle_context_create();
    hd_module *module = (hd_module *)ctx; /* must not change */
    heddle_status status = hd_parse(ctx, "f.heddle", r->text, strlen(r->text), &module);
    const heddle_diagnostic *d = heddle_context_get(ctx, 0);
    if (status == HEDDLE_OK || module != (hd_module *)ctx || heddle_context_count(ctx) != 1 ||
        strcmp(d->rule, r->rule) || d->line != r->line || d->col != r->col ||
        strcmp(d->file, "f.heddle") || !strstr(d->text, r->part)) {
      print_error("legal: %u:%u %s: %s\n", r->line, r->col, r->rule, r->part);
      fixture_fail(ctx, r->text);
    }
    bool version = strcmp(r->rule, "text.version") == 0;
    assert_int_equal(status, version ? HEDDLE_UNSUPPORTED : HEDDLE_INVALID);
    heddle_context_free(ctx);
  }
}

/* Blanks, comments, line ends and the order of attributes have no meaning. */
static void spellings_of_one_module(void **state) {
  (void)state;
  static const char *const same[] = {
      KERNEL "  %a: i32 = const {value = 1}\n  %b: i32 = add %a, %a\n}\n",
      KERNEL "%x: i32 = const {\nvalue\n=\n1\n}\n%0: i32 = add %x,\n %x }",
      "# c\r\nmodule version=1 level=role sync=placed # c\r\nkernel {target = \"sm_90a\",\r\n name "
      "= "
      "\"k\"} {\r\n\t%a: i32 = const {value = 01}\r\n  %b: i32 = add %a , %a # c\r\n}\r\n",
      HEAD "kernel {name = \"\\x6b\", target = \"sm_90a\",} { %a: i32 = const {value = 1}\n"
           "%c: i32 = add %a, %a }",
  };
  hd_module *first = fixture_parse(same[0]);
  for (size_t i = 1; i < HD_COUNT(same); i++) {
    hd_module *other = fixture_parse(same[i]);
    fixture_assert_same(first, other);
    hd_module_free(other);
  }
  hd_module_free(first);
}

static void names_are_made_unique(void **state) {
  (void)state;
  fixture_kernel f = fixture_make(HD_LEVEL_ROLE, false);
  const char *names[] = {"x", "x", "x_1", "7", "a b", "", NULL, "x"};
  hd_value *values[8];
  for (int i = 0; i < 8; i++) {
    values[i] = hd_build_value(&f.b, HD_OP_BLOCK_INDEX, HD_I32, 0);
    values[i]->name = names[i];
  }
  for (int i = 0; i < 8; i++)
    hd_build_value(&f.b, HD_OP_ADD, HD_I32, 2, values[i], values[7 - i]);
  char *text = fixture_print(f.module);
  hd_module *back = fixture_parse(text);
  fixture_assert_same(f.module, back);
  char *again = fixture_print(back);
  assert_string_equal(text, again);
  free(text);
  free(again);
  hd_module_free(back);
  hd_module_free(f.module);
}

static char *nested(int depth) {
  hd_strbuf text = {0};
  hd_strbuf_add(&text, HEAD);
  for (int i = 0; i < depth; i++)
    hd_strbuf_add(&text, "kernel {} {\n");
  for (int i = 0; i < depth; i++)
    hd_strbuf_add(&text, "}\n");
  return hd_strbuf_take(&text);
}

static void nesting_has_an_end(void **state) {
  (void)state;
  char *deep = nested(64), *deeper = nested(65), *absurd = nested(200000);
  heddle_context *ctx = heddle_context_create();
  hd_module *module = fixture_parse(deep);
  hd_module_free(module);
  assert_int_equal(hd_parse(ctx, NULL, deeper, strlen(deeper), &module), HEDDLE_INVALID);
  assert_true(fixture_has_error(ctx, "text.nesting", 66));
  assert_int_equal(hd_parse(ctx, NULL, absurd, strlen(absurd), &module), HEDDLE_INVALID);
  heddle_context_free(ctx);
  free(deep);
  free(deeper);
  free(absurd);
}

/* A single op prints as in the whole module, with the names of the surrounding values. */
static void single_ops_print_in_context(void **state) {
  (void)state;
  hd_module *module = fixture_parse(
      KERNEL "  role {name = \"r\", warp_lo = 0, n_warps = 1} {\n    %1: i32 = block_index\n"
             "    %2: i32 = grid_size\n    %3: i32 = add %2, %1\n  }\n}\n");
  hd_strbuf out = {0};
  hd_print_op(hd_find_op(module->body, HD_OP_ADD), &out);
  assert_string_equal(hd_strbuf_text(&out), "%2: i32 = add %1, %0\n");
  hd_strbuf_free(&out);
  hd_module_free(module);
}

static void pass_names_are_blamed(void **state) {
  (void)state;
  hd_module *module = fixture_parse(KERNEL "  %1: i32 = block_index\n}\n");
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_verify(ctx, module, NULL), HEDDLE_INVALID);
  assert_true(fixture_has_error(ctx, "ir.roles", 2));
  heddle_context_clear(ctx);
  assert_int_equal(hd_verify(ctx, module, "split_roles"), HEDDLE_INTERNAL);
  assert_non_null(strstr(heddle_context_get(ctx, 0)->text, "after pass split_roles: kernel: "));
  heddle_context_free(ctx);
  hd_module_free(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refusals_are_located),        cmocka_unit_test(spellings_of_one_module),
      cmocka_unit_test(names_are_made_unique),       cmocka_unit_test(nesting_has_an_end),
      cmocka_unit_test(single_ops_print_in_context), cmocka_unit_test(pass_names_are_blamed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
