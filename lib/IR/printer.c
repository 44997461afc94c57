#include <string.h>

#include "IR/lexer.h"
#include "IR/op_info.h"
#include "IR/scope.h"

/* Names of values are assigned in program order: the value's own name if it is a word, else a
 * descriptive name (of an argument, a buffer, a constant), else a number. A number is appended to a
 * name that is already used. */
struct printer {
  hd_strbuf *out;
  hd_facts names; /* const char * as a number */
  hd_scope visible;
  hd_arena arena;
  int64_t next_number, next_suffix;
  bool anonymous;
  int32_t indent;
};

/* Whether a text can be printed as a name: a word that is not a number. */
static bool is_name(const char *text) {
  return text && hd_is_word(text) && strlen(text) <= 1000 &&
         text[strspn(text, "0123456789")] != '\0';
}

/* A descriptive name for a value without a name; NULL: none. */
static const char *telling_name(struct printer *p, const hd_value *value) {
  const hd_op *op = value->op;
  const hd_attr *attr;
  if (!op)
    return NULL;
  if ((attr = hd_op_attr(op, HD_ATTR_ARG)) && attr->s)
    return op->kind == HD_OP_TMAP ? hd_arena_printf(&p->arena, "map_%s", attr->s) : attr->s;
  if ((attr = hd_op_attr(op, HD_ATTR_NAME)) && attr->s)
    return op->kind == HD_OP_BUFFER ? hd_arena_printf(&p->arena, "s%s", attr->s) : attr->s;
  if (op->kind == HD_OP_CONST && (attr = hd_op_attr(op, HD_ATTR_VALUE)) && attr->i >= 0)
    return hd_arena_printf(&p->arena, "c%lld", (long long)attr->i);
  return NULL;
}

static void name_value(struct printer *p, hd_value *value) {
  const char *own = p->anonymous           ? NULL
                    : is_name(value->name) ? value->name
                                           : telling_name(p, value);
  const char *name = own;
  if (!is_name(own))
    name = hd_arena_printf(&p->arena, "%lld", (long long)p->next_number++);
  else
    while (hd_scope_find(&p->visible, name))
      name = hd_arena_printf(&p->arena, "%s_%lld", own, (long long)++p->next_suffix);
  hd_scope_add(&p->visible, name, value);
  hd_facts_set(&p->names, value, (int64_t)(intptr_t)name);
}

static void name_region(struct printer *p, const hd_region *region);

/* Results are named last, as they become visible in the text: inner regions may use their names. */
static void name_op(struct printer *p, const hd_op *op) {
  for (int32_t i = 0; i < op->n_regions; i++)
    name_region(p, op->regions[i]);
  for (int32_t i = 0; i < op->n_results; i++)
    name_value(p, op->results[i]);
}

static void name_region(struct printer *p, const hd_region *region) {
  int32_t mark = hd_scope_enter(&p->visible);
  for (int32_t i = 0; i < region->n_args; i++)
    name_value(p, region->args[i]);
  for (const hd_op *op = region->first; op; op = op->next)
    name_op(p, op);
  hd_scope_leave(&p->visible, mark);
}

static void print_value(struct printer *p, const hd_value *value) {
  int64_t name = hd_facts_get(&p->names, value);
  hd_strbuf_add(p->out, "%");
  hd_strbuf_add(p->out, name == HD_NO_FACT ? "?" : (const char *)(intptr_t)name);
}

static void print_typed(struct printer *p, hd_value *const *values, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    hd_strbuf_add(p->out, i ? ", " : "");
    print_value(p, values[i]);
    hd_strbuf_add(p->out, ": ");
    hd_type_print(values[i]->type, p->out);
  }
}

static void print_string(hd_strbuf *out, const char *text) {
  hd_strbuf_add(out, "\"");
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\')
      hd_strbuf_printf(out, "\\%c", *c);
    else if ((unsigned char)*c < ' ' || *c == 0x7f)
      hd_strbuf_printf(out, "\\x%02x", (unsigned char)*c);
    else
      hd_strbuf_addn(out, c, 1);
  }
  hd_strbuf_add(out, "\"");
}

static void print_list(hd_strbuf *out, const hd_attr *attr) {
  hd_strbuf_add(out, "[");
  for (int32_t i = 0; i < attr->n; i++) {
    hd_strbuf_add(out, i ? ", " : "");
    if (attr->ints) {
      hd_strbuf_printf(out, "%lld", (long long)attr->ints[i]);
      continue;
    }
    hd_strbuf_add(out, "\"");
    hd_expr_print(&attr->exprs[i], out);
    hd_strbuf_add(out, "\"");
  }
  hd_strbuf_add(out, "]");
}

static void print_attr_value(hd_strbuf *out, const hd_attr *attr) {
  const heddle_elem_info *elem;
  switch (hd_attr_get_kind(attr->key)) {
  case HD_ATTR_KIND_INT:
    hd_strbuf_printf(out, "%lld", (long long)attr->i);
    break;
  case HD_ATTR_KIND_STRING:
    print_string(out, attr->s);
    break;
  case HD_ATTR_KIND_SYMBOL:
  case HD_ATTR_KIND_ARG:
    hd_strbuf_add(out, attr->s);
    break;
  case HD_ATTR_KIND_ELEM:
    elem = heddle_elem_get((heddle_elem)attr->i);
    hd_strbuf_add(out, elem ? elem->name : "?");
    break;
  default:
    print_list(out, attr);
  }
}

static void print_attrs(hd_strbuf *out, const hd_op *op) {
  hd_strbuf_add(out, " {");
  for (int32_t i = 0; i < op->n_attrs; i++) {
    const hd_attr *attr = &op->attrs[i];
    hd_strbuf_add(out, i ? ", " : "");
    hd_strbuf_add(out, hd_attr_name(attr->key));
    if (hd_attr_get_kind(attr->key) == HD_ATTR_KIND_FLAG)
      continue;
    hd_strbuf_add(out, " = ");
    print_attr_value(out, attr);
  }
  hd_strbuf_add(out, "}");
}

static void print_indent(struct printer *p) {
  for (int32_t i = 0; i < p->indent; i++)
    hd_strbuf_add(p->out, "  ");
}

static void print_one(struct printer *p, const hd_op *op);

static void print_region(struct printer *p, const hd_region *region) {
  if (region->n_args) {
    hd_strbuf_add(p->out, " (");
    print_typed(p, region->args, region->n_args);
    hd_strbuf_add(p->out, ")");
  }
  hd_strbuf_add(p->out, " {\n");
  p->indent++;
  for (const hd_op *op = region->first; op; op = op->next)
    print_one(p, op);
  p->indent--;
  print_indent(p);
  hd_strbuf_add(p->out, "}");
}

/* Whether a region is a bare `yield`; `else { yield }` is omitted. */
static bool is_bare_yield(const hd_region *region) {
  const hd_op *op = region->first;
  return op && op == region->last && op->kind == HD_OP_YIELD && region->n_args == 0 &&
         op->n_operands == 0 && op->n_attrs == 0 && op->n_results == 0;
}

static void print_one(struct printer *p, const hd_op *op) {
  const hd_op_info *info = hd_op_get_info(op->kind);
  print_indent(p);
  print_typed(p, op->results, op->n_results);
  hd_strbuf_add(p->out, op->n_results ? " = " : "");
  hd_strbuf_add(p->out, info->text);
  for (int32_t i = 0; i < op->n_operands; i++) {
    hd_strbuf_add(p->out, i ? ", " : " ");
    print_value(p, op->operands[i]);
  }
  /* Otherwise the parser would take the brace of a region for that of attributes. */
  bool is_open = op->n_regions && !op->regions[0]->n_args && *info->attributes;
  if (op->n_attrs || is_open)
    print_attrs(p->out, op);
  if (op->n_regions > 0)
    print_region(p, op->regions[0]);
  if (op->n_regions > 1 && !is_bare_yield(op->regions[1])) {
    hd_strbuf_add(p->out, " else");
    print_region(p, op->regions[1]);
  }
  hd_strbuf_add(p->out, "\n");
}

static void free_printer(struct printer *p) {
  hd_facts_free(&p->names);
  hd_scope_free(&p->visible);
  hd_arena_free(&p->arena);
}

const char *hd_level_name(hd_level level) {
  static const char *const names[] = {"problem", "tile", "role"};
  return names[level];
}

static void print_module(const hd_module *module, hd_strbuf *out, bool anonymous) {
  struct printer p = {.out = out, .anonymous = anonymous};
  name_region(&p, module->body);
  hd_strbuf_printf(out, "module version=1 level=%s sync=%s\n", hd_level_name(module->level),
                   module->sync_placed ? "placed" : "none");
  for (const hd_op *op = module->body->first; op; op = op->next) {
    hd_strbuf_add(out, "\n");
    print_one(&p, op);
  }
  free_printer(&p);
}

void hd_print(const hd_module *module, hd_strbuf *out) {
  print_module(module, out, false);
}

/* Names the values of the whole module, so that names are the same as in hd_print. */
void hd_print_op(const hd_op *op, hd_strbuf *out) {
  struct printer p = {.out = out};
  const hd_region *root = op->region;
  while (root && root->parent && root->parent->region)
    root = root->parent->region;
  if (root)
    name_region(&p, root);
  else
    name_op(&p, op);
  print_one(&p, op);
  free_printer(&p);
}

hd_hash hd_module_hash(const hd_module *module) {
  hd_strbuf text = {0};
  print_module(module, &text, true);
  hd_hash hash = hd_hash_bytes(text.text, text.len);
  hd_strbuf_free(&text);
  return hash;
}
