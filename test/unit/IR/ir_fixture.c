#include "ir_fixture.h"

#include <stdio.h>

#include "Support/file.h"

char *fixture_print(const hd_module *module) {
  hd_strbuf out = {0};
  hd_print(module, &out);
  return hd_strbuf_take(&out);
}

void fixture_fail(const heddle_context *ctx, const char *what) {
  for (size_t i = 0; i < heddle_context_count(ctx); i++) {
    char line[1024];
    heddle_diagnostic_format(heddle_context_get(ctx, i), line, sizeof line);
    print_error("%s\n", line);
  }
  fail_msg("%s", what);
}

hd_module *fixture_parse(const char *text) {
  heddle_context *ctx = heddle_context_create();
  hd_module *module = NULL;
  if (hd_parse(ctx, "fixture", text, strlen(text), &module) != HEDDLE_OK)
    fixture_fail(ctx, text);
  heddle_context_free(ctx);
  return module;
}

bool fixture_has_error(const heddle_context *ctx, const char *rule, uint32_t line) {
  for (size_t i = 0; i < heddle_context_count(ctx); i++) {
    const heddle_diagnostic *d = heddle_context_get(ctx, i);
    if (strcmp(d->rule, rule) == 0 && (line == 0 || d->line == line))
      return true;
  }
  return false;
}

char *fixture_read(const char *path, size_t *n_bytes) {
  char full[1024], *text = NULL;
  snprintf(full, sizeof full, "%s/%s", HD_SOURCE_DIR, path);
  assert_int_equal(hd_file_read(NULL, full, &text, n_bytes), HEDDLE_OK);
  return text;
}

fixture_kernel fixture_make(hd_level level, bool sync_placed) {
  fixture_kernel f = {.module = hd_module_create(level)};
  f.module->sync_placed = sync_placed;
  hd_builder b = hd_builder_at_end(f.module, f.module->body);
  f.kernel = hd_build(&b, HD_OP_KERNEL, NULL, 0, NULL, 0);
  hd_op_set_str(f.module, f.kernel, HD_ATTR_NAME, "kernel");
  hd_op_set_str(f.module, f.kernel, HD_ATTR_TARGET, "sm_90a");
  f.b = hd_builder_at_end(f.module, f.kernel->regions[0]);
  return f;
}

hd_value *fixture_value(hd_builder *b, hd_type type) {
  return hd_build_value(b, HD_OP_FRAG_UNDEF, type, 0);
}

hd_type fixture_type(char letter) {
  switch (letter) {
  case 'l':
    return HD_I64;
  case 'b':
    return HD_I1;
  case 'f':
    return HD_F32;
  case 'p':
    return hd_type_ptr(HEDDLE_BF16);
  case 't':
    return HD_TMAP;
  case 'm':
    return hd_type_matrix(HEDDLE_E4M3);
  case 's':
    return HD_BUFFER;
  case 'r':
    return HD_BARRIER;
  case 'c':
    return HD_CURSOR;
  case 'g':
    return hd_type_frag(HEDDLE_F32, 4);
  default:
    return HD_I32;
  }
}

void fixture_set(hd_module *module, hd_op *op, hd_attr_key key) {
  static const int64_t ints[] = {1, -2, INT64_MAX};
  static const hd_expr exprs[] = {{HD_ARG_LDB, 2, 0, 1}, {0}, {HD_ARG_NONE, 64, 3, 7}};
  switch (hd_attr_get_kind(key)) {
  case HD_ATTR_KIND_INT:
    hd_op_set_int(module, op, key, INT64_MIN + key);
    break;
  case HD_ATTR_KIND_STRING:
    hd_op_set_str(module, op, key, "a \"b\"\\\n\t\x01");
    break;
  case HD_ATTR_KIND_SYMBOL:
    hd_op_set_str(module, op, key, "32x32b.x4_word");
    break;
  case HD_ATTR_KIND_ELEM:
    hd_op_set_elem(module, op, key, HEDDLE_UE4M3);
    break;
  case HD_ATTR_KIND_INTS:
    hd_op_set_ints(module, op, key, ints, 3);
    break;
  case HD_ATTR_KIND_ARG:
    hd_op_set_arg(module, op, HD_ARG_LDB);
    break;
  case HD_ATTR_KIND_EXPRS:
    hd_op_set_exprs(module, op, key, exprs, 3);
    break;
  case HD_ATTR_KIND_FLAG:
    hd_op_set_flag(module, op, key);
    break;
  }
}

/* Values that correspond to each other in the two modules. */
typedef struct pairs {
  hd_value_map map;
} pairs;

static void same_value(pairs *p, const hd_value *x, hd_value *y) {
  assert_ptr_equal(hd_value_map_get(&p->map, x), y);
}

static void same_definition(pairs *p, const hd_value *x, hd_value *y) {
  assert_true(hd_type_equal(x->type, y->type));
  assert_int_equal(x->index, y->index);
  hd_value_map_set(&p->map, x, y);
}

static void same_attr(const hd_attr *x, const hd_attr *y) {
  assert_int_equal(x->key, y->key);
  assert_int_equal(x->i, y->i);
  assert_int_equal(x->n, y->n);
  assert_int_equal(x->s != NULL, y->s != NULL);
  if (x->s)
    assert_string_equal(x->s, y->s);
  for (int32_t i = 0; i < x->n; i++) {
    if (x->ints)
      assert_int_equal(x->ints[i], y->ints[i]);
    else
      assert_memory_equal(&x->exprs[i], &y->exprs[i], sizeof(hd_expr));
  }
}

static void same_region(pairs *p, const hd_region *x, const hd_region *y);

static void same_op(pairs *p, const hd_op *x, hd_op *y) {
  assert_int_equal(x->kind, y->kind);
  assert_int_equal(x->n_operands, y->n_operands);
  assert_int_equal(x->n_results, y->n_results);
  assert_int_equal(x->n_attrs, y->n_attrs);
  assert_int_equal(x->n_regions, y->n_regions);
  for (int32_t i = 0; i < x->n_operands; i++)
    same_value(p, x->operands[i], y->operands[i]);
  for (int32_t i = 0; i < x->n_attrs; i++)
    same_attr(&x->attrs[i], &y->attrs[i]);
  for (int32_t i = 0; i < x->n_regions; i++)
    same_region(p, x->regions[i], y->regions[i]);
  for (int32_t i = 0; i < x->n_results; i++) {
    assert_ptr_equal(y->results[i]->op, y);
    same_definition(p, x->results[i], y->results[i]);
  }
}

static void same_region(pairs *p, const hd_region *x, const hd_region *y) {
  assert_int_equal(x->n_args, y->n_args);
  for (int32_t i = 0; i < x->n_args; i++)
    same_definition(p, x->args[i], y->args[i]);
  hd_op *other = y->first;
  for (const hd_op *op = x->first; op; op = op->next, other = other->next) {
    assert_non_null(other);
    assert_ptr_equal(other->region, y);
    same_op(p, op, other);
  }
  assert_null(other);
}

void fixture_assert_same(const hd_module *x, const hd_module *y) {
  pairs p = {.map = {{0}}};
  assert_int_equal(x->level, y->level);
  assert_int_equal(x->sync_placed, y->sync_placed);
  same_region(&p, x->body, y->body);
  hd_value_map_free(&p.map);
}
