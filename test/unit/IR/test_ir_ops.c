/* Every line of ops.def: a built op prints, parses, and prints the same again. Each rule that the
 * verifier derives from the line refuses an op that breaks it. */
#include "ir_fixture.h"

/* Adds a type for each value of the letters and returns their number. `more`: with optional values,
 * and two for a repeated one. */
static int32_t add_types(const char *letters, bool more, hd_type types[32]) {
  hd_slot slot;
  int32_t n = 0;
  while (hd_slot_next(&letters, &slot)) {
    bool wanted = more || (!slot.optional && !slot.repeated);
    for (int i = 0; wanted && i < 1 + slot.repeated; i++)
      types[n++] = fixture_type(slot.letter);
  }
  return n;
}

static hd_level level_of(hd_op_kind kind) {
  char letter = hd_op_get_info(kind)->levels[0];
  return letter == 'P' ? HD_LEVEL_PROBLEM : letter == 'T' ? HD_LEVEL_TILE : HD_LEVEL_ROLE;
}

static void fill_region(hd_module *module, hd_region *region, bool args) {
  if (args) {
    hd_region_add_arg(module, region, HD_I32, "i");
    hd_region_add_arg(module, region, HD_CURSOR, NULL);
  }
  hd_builder b = hd_builder_at_end(module, region);
  hd_value *value = fixture_value(&b, hd_type_frag(HEDDLE_BF16, 8));
  hd_build_yield(&b, &value, 1);
}

/* A value of types[i]: with `shared` that of an earlier operand, if one has this type. */
static hd_value *operand(fixture_kernel *f, const hd_type *types, hd_value *const *operands,
                         int32_t i, bool shared) {
  for (int32_t j = 0; shared && j < i; j++)
    if (hd_type_equal(types[j], types[i]))
      return operands[j];
  return fixture_value(&f->b, types[i]);
}

/* Builds the op with everything that it may have (`more`), or with the minimum, in which operands
 * share values: each may have errors of its own, of which only HD_MAX_ERRORS are reported. */
static hd_op *build(fixture_kernel *f, hd_op_kind kind, bool more) {
  hd_type types[32], results[32];
  hd_value *operands[32];
  int32_t n = add_types(hd_op_get_info(kind)->operands, more, types);
  for (int32_t i = 0; i < n; i++)
    operands[i] = operand(f, types, operands, i, !more);
  int32_t n_results = add_types(hd_op_get_info(kind)->results, more, results);
  hd_op *op = hd_build(&f->b, kind, operands, n, results, n_results);
  for (int key = 0; key < HD_N_ATTRS; key++) {
    hd_attr_use use = hd_attr_get_use(kind, (hd_attr_key)key);
    if (use == HD_ATTR_REQUIRED || (more && use == HD_ATTR_OPTIONAL))
      fixture_set(f->module, op, (hd_attr_key)key);
  }
  for (int32_t i = 0; i < op->n_regions && more; i++)
    fill_region(f->module, op->regions[i], kind == HD_OP_FOR);
  return op;
}

static void check_round_trip(const hd_module *module) {
  char *text = fixture_print(module);
  hd_module *back = fixture_parse(text);
  fixture_assert_same(module, back);
  char *again = fixture_print(back);
  assert_string_equal(text, again);
  hd_hash x = hd_module_hash(module), y = hd_module_hash(back);
  assert_memory_equal(&x, &y, sizeof x);
  free(text);
  free(again);
  hd_module_free(back);
}

static void every_op_survives_text(void **state) {
  (void)state;
  for (int kind = 0; kind < HD_N_OPS; kind++)
    for (int more = 0; more < 2; more++) {
      fixture_kernel f = fixture_make(level_of((hd_op_kind)kind), false);
      build(&f, (hd_op_kind)kind, more);
      check_round_trip(f.module);
      hd_module *copy = hd_module_clone(f.module);
      fixture_assert_same(f.module, copy);
      hd_module_free(copy);
      hd_module_free(f.module);
    }
}

static void every_attribute_survives_text(void **state) {
  (void)state;
  fixture_kernel f = fixture_make(HD_LEVEL_ROLE, true);
  for (int key = 0; key < HD_N_ATTRS; key++)
    fixture_set(f.module, f.kernel, (hd_attr_key)key);
  assert_int_equal(f.kernel->n_attrs, HD_N_ATTRS);
  check_round_trip(f.module);
  hd_module_free(f.module);
}

/* Verifies, and expects an error with that rule whose text starts with the name of the op. */
static void expect_error(const hd_module *module, hd_op_kind kind, const char *rule,
                         const char *part) {
  heddle_context *ctx = heddle_context_create();
  assert_int_not_equal(hd_verify(ctx, module, NULL), HEDDLE_OK);
  const char *name = hd_op_get_info(kind)->text;
  for (size_t i = 0; i < heddle_context_count(ctx); i++) {
    const heddle_diagnostic *d = heddle_context_get(ctx, i);
    if (strcmp(d->rule, rule) == 0 && strncmp(d->text, name, strlen(name)) == 0 &&
        strstr(d->text, part)) {
      heddle_context_free(ctx);
      return;
    }
  }
  print_error("%s: no error[%s] with '%s'; got:\n", name, rule, part);
  fixture_fail(ctx, name);
}

static void required_attributes_are_required(void **state) {
  (void)state;
  for (int kind = 0; kind < HD_N_OPS; kind++)
    for (int key = 0; key < HD_N_ATTRS; key++) {
      if (hd_attr_get_use((hd_op_kind)kind, (hd_attr_key)key) != HD_ATTR_REQUIRED)
        continue;
      fixture_kernel f = fixture_make(level_of((hd_op_kind)kind), false);
      hd_op *op = build(&f, (hd_op_kind)kind, false);
      char part[64] = "the attribute ";
      strncat(part, hd_attr_name((hd_attr_key)key), 40);
      strcat(part, " is missing");
      hd_op_remove_attr(op, (hd_attr_key)key);
      expect_error(f.module, (hd_op_kind)kind, "ir.attribute", part);
      hd_module_free(f.module);
    }
}

static void other_attributes_are_refused(void **state) {
  (void)state;
  for (int kind = 0; kind < HD_N_OPS; kind++)
    for (int key = 0; key < HD_N_ATTRS; key++) {
      if (hd_attr_get_use((hd_op_kind)kind, (hd_attr_key)key) != HD_ATTR_REFUSED)
        continue;
      fixture_kernel f = fixture_make(level_of((hd_op_kind)kind), false);
      fixture_set(f.module, build(&f, (hd_op_kind)kind, false), (hd_attr_key)key);
      expect_error(f.module, (hd_op_kind)kind, "ir.attribute", "does not take");
      hd_module_free(f.module);
    }
}

static void operands_are_counted(void **state) {
  (void)state;
  for (int kind = 0; kind < HD_N_OPS; kind++) {
    const char *letters = hd_op_get_info((hd_op_kind)kind)->operands;
    fixture_kernel f = fixture_make(level_of((hd_op_kind)kind), false);
    hd_op *op = build(&f, (hd_op_kind)kind, false);
    if (op->n_operands) {
      op->n_operands--;
      expect_error(f.module, (hd_op_kind)kind, "ir.count", "; legal: ");
      op->n_operands++;
    }
    for (int i = 0; i < 5 && !strchr(letters, '*'); i++)
      hd_op_add_operand(f.module, op, fixture_value(&f.b, HD_I32));
    if (!strchr(letters, '*'))
      expect_error(f.module, (hd_op_kind)kind, "ir.count", "operands; legal: ");
    hd_module_free(f.module);
  }
}

/* Replaces each operand and result with a value of every other kind. */
static void operands_and_results_are_typed(void **state) {
  (void)state;
  static const char letters[] = "ilbfptmsrcg";
  for (int kind = 0; kind < HD_N_OPS; kind++) {
    fixture_kernel f = fixture_make(level_of((hd_op_kind)kind), false);
    hd_op *op = build(&f, (hd_op_kind)kind, true);
    const char *list = hd_op_get_info((hd_op_kind)kind)->operands;
    hd_slot slot;
    for (int32_t i = 0; hd_slot_next(&list, &slot) && i < op->n_operands; i++)
      for (const char *other = letters; *other && slot.letter != '.'; other++) {
        hd_type old = op->operands[i]->type;
        op->operands[i]->type = fixture_type(*other);
        /* The other type is that of a repeated slot after an optional one: the verifier takes the
         * optional value as absent. */
        bool is_missing = slot.optional && *list == *other && list[1] == '*';
        if (*other != slot.letter && !is_missing)
          expect_error(f.module, (hd_op_kind)kind, "ir.type", "operand ");
        op->operands[i]->type = old;
      }
    hd_module_free(f.module);
  }
}

static void levels_are_kept(void **state) {
  (void)state;
  static const char letters[] = "PTR";
  for (int kind = 0; kind < HD_N_OPS; kind++)
    for (int level = 0; level < 3; level++) {
      const char *levels = hd_op_get_info((hd_op_kind)kind)->levels;
      bool is_sync = *levels == 'S';
      if (is_sync ? level == HD_LEVEL_ROLE : strchr(levels, letters[level]) != NULL)
        continue;
      fixture_kernel f = fixture_make((hd_level)level, false);
      build(&f, (hd_op_kind)kind, false);
      expect_error(f.module, (hd_op_kind)kind, "ir.level", "does not exist at");
      hd_module_free(f.module);
    }
}

static void sync_ops_wait_for_their_pass(void **state) {
  (void)state;
  for (int kind = 0; kind < HD_N_OPS; kind++) {
    if (*hd_op_get_info((hd_op_kind)kind)->levels != 'S')
      continue;
    fixture_kernel f = fixture_make(HD_LEVEL_ROLE, false);
    build(&f, (hd_op_kind)kind, false);
    expect_error(f.module, (hd_op_kind)kind, "ir.sync", "sync=none");
    hd_module_free(f.module);
  }
}

/* The table of ops.def: names, letters, effects and attributes exist. */
static void the_table_is_well_formed(void **state) {
  (void)state;
  for (int kind = 0; kind < HD_N_OPS; kind++) {
    const hd_op_info *info = hd_op_get_info((hd_op_kind)kind);
    assert_int_equal(hd_op_find_kind(info->text), kind);
    assert_true(info->doc[strlen(info->doc) - 1] == '.' || kind == HD_OP_YIELD);
    const char *p = info->attributes;
    for (; *p; p += strcspn(p, " "), p += *p == ' ') {
      char name[64] = {0};
      memcpy(name, p, strcspn(p, "! "));
      if (hd_attr_find_key(name) == HD_N_ATTRS)
        fail_msg("%s: no attribute %s", info->text, name);
    }
    for (p = info->operands; *p; p++)
      assert_non_null(strchr("ilbfptmsrcg.?*", *p));
    size_t n_words = *info->effects_text != '\0';
    for (p = info->effects_text; *p; p++)
      n_words += *p == ' ';
    assert_int_equal(__builtin_popcount(hd_op_effects((hd_op_kind)kind)), n_words);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_table_is_well_formed),
      cmocka_unit_test(every_op_survives_text),
      cmocka_unit_test(every_attribute_survives_text),
      cmocka_unit_test(required_attributes_are_required),
      cmocka_unit_test(other_attributes_are_refused),
      cmocka_unit_test(operands_are_counted),
      cmocka_unit_test(operands_and_results_are_typed),
      cmocka_unit_test(levels_are_kept),
      cmocka_unit_test(sync_ops_wait_for_their_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
