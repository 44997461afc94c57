/* Building, changing, walking and copying modules; checks the links of the IR directly. */
#include "ir_fixture.h"

static void builders_stand_where_they_say(void **state) {
  (void)state;
  fixture_kernel f = fixture_make(HD_LEVEL_ROLE, false);
  hd_value *c = hd_build_i32(&f.b, 3), *a = NULL, *d = NULL;
  hd_builder before = hd_builder_before(f.module, c->op);
  a = hd_build_i32(&before, 1);
  hd_build_i32(&before, 2);
  hd_builder after = hd_builder_after(f.module, c->op);
  d = hd_build_i32(&after, 4);
  hd_build_i32(&f.b, 5);
  int64_t expected = 1;
  hd_op *last = NULL;
  HD_FOR_OPS(op, f.kernel->regions[0]) {
    assert_int_equal(hd_op_int(op, HD_ATTR_VALUE, -1), expected++);
    assert_ptr_equal(op->prev, last);
    last = op;
  }
  assert_int_equal(expected, 6);
  assert_ptr_equal(f.kernel->regions[0]->last, last);
  assert_ptr_equal(hd_op_kernel(a->op), f.kernel);
  hd_op_move_before(d->op, a->op);
  assert_ptr_equal(f.kernel->regions[0]->first, d->op);
  hd_op_move_to_end(d->op, f.kernel->regions[0]);
  assert_ptr_equal(f.kernel->regions[0]->last, d->op);
  hd_op_erase(d->op);
  assert_ptr_equal(f.kernel->regions[0]->last, last);
  hd_module_free(f.module);
}

static void attributes_are_sorted_and_replaced(void **state) {
  (void)state;
  fixture_kernel f = fixture_make(HD_LEVEL_ROLE, false);
  hd_op *op = hd_build_i32(&f.b, 7)->op;
  for (int key = HD_N_ATTRS - 1; key >= 0; key--)
    fixture_set(f.module, op, (hd_attr_key)key);
  assert_int_equal(op->n_attrs, HD_N_ATTRS);
  for (int key = 0; key < HD_N_ATTRS; key++)
    assert_int_equal(op->attrs[key].key, key);
  hd_op_set_int(f.module, op, HD_ATTR_VALUE, 9);
  assert_int_equal(op->n_attrs, HD_N_ATTRS);
  assert_int_equal(hd_op_int(op, HD_ATTR_VALUE, 0), 9);
  for (int key = 0; key < HD_N_ATTRS; key += 2)
    hd_op_remove_attr(op, (hd_attr_key)key);
  for (int key = 0; key < HD_N_ATTRS; key++)
    assert_int_equal(hd_op_has(op, (hd_attr_key)key), key % 2);
  hd_op_remove_attr(op, HD_ATTR_NAME); /* absent: no effect */
  assert_null(hd_op_str(op, HD_ATTR_NAME));
  assert_int_equal(hd_op_int(op, HD_ATTR_NAME, 42), 42);
  assert_false(hd_op_is(op, HD_ATTR_NAME, "x"));
  assert_int_equal(hd_op_elem(f.kernel, HD_ATTR_TYPE), HEDDLE_N_ELEMS);
  hd_module_free(f.module);
}

static void lists_grow_without_losing_any(void **state) {
  (void)state;
  fixture_kernel f = fixture_make(HD_LEVEL_ROLE, false);
  hd_value *values[70];
  for (int i = 0; i < 70; i++)
    values[i] = hd_build_i32(&f.b, i);
  for (int start = 0; start < 20; start++) { /* grows from every initial size */
    hd_op *op = hd_build(&f.b, HD_OP_YIELD, values, start, NULL, 0);
    for (int i = start; i < 70; i++)
      hd_op_add_operand(f.module, op, values[i]);
    assert_int_equal(op->n_operands, 70);
    assert_memory_equal(op->operands, values, sizeof values);
  }
  hd_module_free(f.module);
}

/* for (i) { yield(add(x, i)) }; add(x, x) */
typedef struct loop_kernel {
  fixture_kernel f;
  hd_value *x, *inside, *behind;
  hd_op *loop;
} loop_kernel;

static loop_kernel make_loop(void) {
  loop_kernel k = {.f = fixture_make(HD_LEVEL_ROLE, false)};
  k.x = hd_build_i32(&k.f.b, 1);
  k.loop = hd_build_for(&k.f.b, k.x, k.x, k.x, &k.x, 1);
  hd_builder in = hd_builder_at_end(k.f.module, k.loop->regions[0]);
  k.inside = hd_build_value(&in, HD_OP_ADD, HD_I32, 2, k.x, k.loop->regions[0]->args[0]);
  hd_build_yield(&in, &k.inside, 1);
  k.behind = hd_build_value(&k.f.b, HD_OP_ADD, HD_I32, 2, k.x, k.x);
  return k;
}

static void uses_are_replaced_in_program_order(void **state) {
  (void)state;
  loop_kernel k = make_loop();
  hd_builder b = hd_builder_before(k.f.module, k.loop);
  hd_value *y = hd_build_i32(&b, 2);
  hd_replace_uses(k.f.kernel->regions[0], k.x, y, k.loop);
  assert_ptr_equal(k.loop->operands[0], k.x);
  assert_ptr_equal(k.inside->op->operands[0], k.x);
  assert_ptr_equal(k.behind->op->operands[1], y);
  hd_replace_uses(k.f.kernel->regions[0], k.x, y, k.inside->op);
  assert_ptr_equal(k.inside->op->operands[0], k.x);
  hd_replace_uses(k.f.kernel->regions[0], k.x, y, NULL);
  assert_ptr_equal(k.loop->operands[3], y);
  assert_ptr_equal(k.inside->op->operands[0], y);
  hd_module_free(k.f.module);
}

static heddle_status collect(void *user, hd_op *op) {
  hd_op ***next = user;
  *(*next)++ = op;
  return op->kind == HD_OP_YIELD ? HEDDLE_MISMATCH : HEDDLE_OK;
}

static void walks_stop_at_the_first_failure(void **state) {
  (void)state;
  loop_kernel k = make_loop();
  hd_op *seen[16], **next = seen;
  assert_int_equal(hd_walk(k.f.module->body, collect, &next), HEDDLE_MISMATCH);
  assert_int_equal(next - seen, 5);
  assert_ptr_equal(seen[0], k.f.kernel);
  assert_ptr_equal(seen[2], k.loop);
  assert_ptr_equal(seen[3], k.inside->op);
  assert_ptr_equal(hd_find_op(k.f.module->body, HD_OP_ADD), k.inside->op);
  assert_null(hd_find_op(k.f.module->body, HD_OP_MATMUL));
  hd_module_free(k.f.module);
}

static heddle_status erase_adds(void *user, hd_op *op) {
  *(int *)user += 1;
  if (op->kind == HD_OP_ADD || op->kind == HD_OP_FOR)
    hd_op_erase(op);
  return HEDDLE_OK;
}

static void walks_survive_erasure(void **state) {
  (void)state;
  loop_kernel k = make_loop();
  int n = 0;
  assert_int_equal(hd_walk(k.f.module->body, erase_adds, &n), HEDDLE_OK);
  assert_int_equal(n, 4); /* kernel, const, for (not its body), add */
  assert_null(hd_find_op(k.f.module->body, HD_OP_YIELD));
  hd_module_free(k.f.module);
}

static void clones_are_deep_and_mapped(void **state) {
  (void)state;
  loop_kernel k = make_loop();
  hd_value_map map = {0};
  hd_op *copy = hd_op_clone(&k.f.b, k.loop, &map);
  assert_ptr_equal(copy->operands[0], k.x); /* not in the map: the same value */
  hd_op *inside = copy->regions[0]->first;
  assert_ptr_equal(hd_value_map_get(&map, k.inside), inside->results[0]);
  assert_ptr_equal(inside->operands[1], copy->regions[0]->args[0]);
  assert_ptr_equal(inside->next->operands[0], inside->results[0]);
  assert_ptr_equal(hd_value_map_get(&map, k.loop->results[0]), copy->results[0]);
  hd_value_map_free(&map);
  hd_module_free(k.f.module);
}

static void maps_hold_thousands(void **state) {
  (void)state;
  hd_value_map map = {0};
  static hd_value values[5000];
  for (int i = 0; i < 5000; i++)
    hd_value_map_set(&map, &values[i], &values[4999 - i]);
  hd_value_map_set(&map, &values[7], &values[7]);
  assert_int_equal(map.places.n, 5000);
  for (int i = 0; i < 5000; i++)
    assert_ptr_equal(hd_value_map_get(&map, &values[i]), i == 7 ? &values[7] : &values[4999 - i]);
  hd_value other;
  assert_null(hd_value_map_get(&map, &other));
  hd_value_map_free(&map);
}

static void registers_of_fragments(void **state) {
  (void)state;
  assert_int_equal(hd_type_registers(hd_type_frag(HEDDLE_F32, 128)), 128);
  assert_int_equal(hd_type_registers(hd_type_frag(HEDDLE_BF16, 8)), 4);
  assert_int_equal(hd_type_registers(hd_type_frag(HEDDLE_E2M1P, 32)), 4);
  assert_int_equal(hd_type_registers(hd_type_frag(HEDDLE_E4M3, 3)), 1);
  assert_int_equal(hd_type_registers(HD_I32), 0);
  assert_true(hd_type_equal(hd_type_ptr(HEDDLE_F16), hd_type_ptr(HEDDLE_F16)));
  assert_false(hd_type_equal(hd_type_ptr(HEDDLE_F16), hd_type_ptr(HEDDLE_BF16)));
  assert_false(hd_type_equal(hd_type_frag(HEDDLE_F32, 4), hd_type_frag(HEDDLE_F32, 8)));
}

/* A hash depends on the meaning of a module, not on its names and locations. */
static void hashes_are_of_the_meaning(void **state) {
  (void)state;
  loop_kernel k = make_loop(), other = make_loop();
  hd_hash h = hd_module_hash(k.f.module), same = hd_module_hash(other.f.module);
  assert_memory_equal(&h, &same, sizeof h);
  other.x->name = "renamed";
  other.loop->loc.line = 77;
  same = hd_module_hash(other.f.module);
  assert_memory_equal(&h, &same, sizeof h);
  hd_op_set_int(other.f.module, other.x->op, HD_ATTR_VALUE, 2);
  hd_hash changed = hd_module_hash(other.f.module);
  assert_memory_not_equal(&h, &changed, sizeof h);
  k.behind->op->operands[1] = k.loop->results[0];
  changed = hd_module_hash(k.f.module);
  assert_memory_not_equal(&h, &changed, sizeof h);
  hd_module_free(k.f.module);
  hd_module_free(other.f.module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(builders_stand_where_they_say),
      cmocka_unit_test(attributes_are_sorted_and_replaced),
      cmocka_unit_test(lists_grow_without_losing_any),
      cmocka_unit_test(uses_are_replaced_in_program_order),
      cmocka_unit_test(walks_stop_at_the_first_failure),
      cmocka_unit_test(walks_survive_erasure),
      cmocka_unit_test(clones_are_deep_and_mapped),
      cmocka_unit_test(maps_hold_thousands),
      cmocka_unit_test(registers_of_fragments),
      cmocka_unit_test(hashes_are_of_the_meaning),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
