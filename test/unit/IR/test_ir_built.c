/* Modules that only a builder can create, because no text describes them. The verifier refuses them
 * too. */
#include "ir_fixture.h"

static fixture_kernel with_role(hd_builder *inside) {
  fixture_kernel f = fixture_make(HD_LEVEL_ROLE, false);
  hd_op *role = hd_build(&f.b, HD_OP_ROLE, NULL, 0, NULL, 0);
  hd_op_set_str(f.module, role, HD_ATTR_NAME, "r");
  hd_op_set_int(f.module, role, HD_ATTR_WARP_LO, 0);
  hd_op_set_int(f.module, role, HD_ATTR_N_WARPS, 4);
  *inside = hd_builder_at_end(f.module, role->regions[0]);
  return f;
}

static void expect(fixture_kernel *f, const char *rule, const char *part) {
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_verify(ctx, f->module, NULL), HEDDLE_INVALID);
  const heddle_diagnostic *d = heddle_context_get(ctx, 0);
  if (strcmp(d->rule, rule) != 0 || !strstr(d->text, part))
    fixture_fail(ctx, part);
  heddle_context_free(ctx);
  hd_module_free(f->module);
}

static void the_frame_itself_is_sound(void **state) {
  (void)state;
  hd_builder in;
  fixture_kernel f = with_role(&in);
  heddle_context *ctx = heddle_context_create();
  if (hd_verify(ctx, f.module, NULL) != HEDDLE_OK)
    fixture_fail(ctx, "the frame of the tests below");
  heddle_context_free(ctx);
  hd_module_free(f.module);
}

static void uses_follow_definitions(void **state) {
  (void)state;
  hd_builder in;
  fixture_kernel f = with_role(&in);
  hd_value *x = hd_build_i32(&in, 1);
  hd_value *sum = hd_build_value(&in, HD_OP_ADD, HD_I32, 2, x, x);
  hd_op_move_before(sum->op, x->op);
  expect(&f, "ir.dominance", "operand 0 (%?) is not defined before");
}

static void an_op_does_not_use_itself(void **state) {
  (void)state;
  hd_builder in;
  fixture_kernel f = with_role(&in);
  hd_value *x = hd_build_i32(&in, 1);
  hd_value *sum = hd_build_value(&in, HD_OP_ADD, HD_I32, 2, x, x);
  sum->op->operands[1] = sum;
  expect(&f, "ir.dominance", "operand 1 (%?) is not defined before");
}

static void values_stay_in_their_region(void **state) {
  (void)state;
  for (int args = 0; args < 2; args++) {
    hd_builder in;
    fixture_kernel f = with_role(&in);
    hd_value *one = hd_build_i32(&in, 1);
    hd_op *loop = hd_build_for(&in, one, one, one, NULL, 0);
    hd_builder body = hd_builder_at_end(f.module, loop->regions[0]);
    hd_value *inner = hd_build_i32(&body, 2);
    hd_build_yield(&body, NULL, 0);
    hd_value *leaked = args ? loop->regions[0]->args[0] : inner;
    leaked->name = "leaked";
    hd_build_value(&in, HD_OP_ADD, HD_I32, 2, one, leaked);
    expect(&f, "ir.dominance", "operand 1 (%leaked) is defined in a region that does not enclose");
  }
}

static void kernels_share_no_values(void **state) {
  (void)state;
  hd_builder in;
  fixture_kernel f = with_role(&in);
  hd_value *x = hd_build_i32(&in, 1);
  hd_builder b = hd_builder_at_end(f.module, f.module->body);
  hd_value_map map = {0};
  hd_op *other = hd_op_clone(&b, f.kernel, &map);
  hd_value_map_free(&map);
  hd_op_set_str(f.module, other, HD_ATTR_NAME, "other");
  hd_builder there =
      hd_builder_at_end(f.module, hd_find_op(other->regions[0], HD_OP_ROLE)->regions[0]);
  hd_build_value(&there, HD_OP_ADD, HD_I32, 2, x, x);
  expect(&f, "ir.dominance", "defined in a region that does not enclose");
}

static void erased_ops_define_nothing(void **state) {
  (void)state;
  hd_builder in;
  fixture_kernel f = with_role(&in);
  hd_value *x = hd_build_i32(&in, 1);
  hd_build_value(&in, HD_OP_ADD, HD_I32, 2, x, x);
  hd_op_erase(x->op);
  expect(&f, "ir.dominance", "operand 0 (%?) is not defined before");
}

static void only_loops_have_arguments(void **state) {
  (void)state;
  hd_builder in;
  fixture_kernel f = with_role(&in);
  hd_region_add_arg(f.module, in.region, HD_BUFFER, "s");
  expect(&f, "ir.region", "its region has 1 arguments; legal: 0");
}

static void attributes_hold_their_kind(void **state) {
  (void)state;
  static const struct {
    hd_attr_key key;
    const char *part;
  } cases[] = {{HD_ATTR_NAME, "name is an empty string"},
               {HD_ATTR_SCHEDULE, "schedule is an empty string"}};
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    hd_builder in;
    fixture_kernel f = with_role(&in);
    hd_op_set_str(f.module, f.kernel, cases[i].key, "");
    expect(&f, "ir.attribute", cases[i].part);
  }
  hd_builder in;
  fixture_kernel f = with_role(&in);
  hd_op *compare = hd_build_cmp(&in, "two words", hd_build_i32(&in, 1), hd_build_i32(&in, 2))->op;
  hd_op_set_str(f.module, compare, HD_ATTR_PRED, "two words");
  expect(&f, "ir.attribute", "pred is not a word");
}

static void lists_and_elements_are_filled(void **state) {
  (void)state;
  fixture_kernel f = fixture_make(HD_LEVEL_ROLE, false);
  hd_op *map = hd_build_op(&f.b, HD_OP_TMAP, HD_TMAP, 0);
  for (int key = 0; key < HD_N_ATTRS; key++)
    if (hd_attr_get_use(HD_OP_TMAP, (hd_attr_key)key) == HD_ATTR_REQUIRED)
      fixture_set(f.module, map, (hd_attr_key)key);
  int64_t none = 0;
  hd_op_set_ints(f.module, map, HD_ATTR_BOX, &none, 0);
  hd_op_set_elem(f.module, map, HD_ATTR_TYPE, HEDDLE_N_ELEMS);
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_verify(ctx, f.module, NULL), HEDDLE_INVALID);
  bool list = false, elem = false;
  for (size_t i = 0; i < heddle_context_count(ctx); i++) {
    list = list || strstr(heddle_context_get(ctx, i)->text, "box is an empty list");
    elem = elem || strstr(heddle_context_get(ctx, i)->text, "; legal: an element type");
  }
  assert_true(list && elem);
  heddle_context_free(ctx);
  hd_module_free(f.module);
}

static void deep_modules_are_refused(void **state) {
  (void)state;
  hd_builder in;
  fixture_kernel f = with_role(&in);
  hd_value *yes = hd_build_i1(&in, true);
  for (int i = 0; i < 80; i++) {
    hd_op *op = hd_build_if(&in, yes, NULL, 0);
    hd_builder no = hd_builder_at_end(f.module, op->regions[1]);
    hd_build_yield(&no, NULL, 0);
    hd_builder yields = hd_builder_at_end(f.module, op->regions[0]);
    hd_op *last = hd_build_yield(&yields, NULL, 0);
    in = hd_builder_before(f.module, last);
  }
  expect(&f, "ir.nesting", "regions nest too deep; legal: up to 64");
}

static void many_errors_are_counted(void **state) {
  (void)state;
  hd_builder in;
  fixture_kernel f = with_role(&in);
  for (int i = 0; i < 50; i++)
    hd_build_op(&in, HD_OP_CONST, HD_I32, 0);
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_verify(ctx, f.module, NULL), HEDDLE_INVALID);
  assert_int_equal(heddle_context_count(ctx), 21);
  assert_string_equal(heddle_context_get(ctx, 20)->text, "30 more errors");
  heddle_context_free(ctx);
  hd_module_free(f.module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_frame_itself_is_sound),
      cmocka_unit_test(uses_follow_definitions),
      cmocka_unit_test(an_op_does_not_use_itself),
      cmocka_unit_test(values_stay_in_their_region),
      cmocka_unit_test(kernels_share_no_values),
      cmocka_unit_test(erased_ops_define_nothing),
      cmocka_unit_test(only_loops_have_arguments),
      cmocka_unit_test(attributes_hold_their_kind),
      cmocka_unit_test(lists_and_elements_are_filled),
      cmocka_unit_test(deep_modules_are_refused),
      cmocka_unit_test(many_errors_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
