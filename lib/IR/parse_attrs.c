#include <stdio.h>

#include "IR/grow.h"
#include "IR/op_info.h"
#include "IR/parser.h"

/* Moves past a comma (*on: another item follows) or past the closing bracket of a list. */
static heddle_status list_goes_on(hd_parser *p, bool *on) {
  *on = hd_parser_at_mark(p, ',');
  return *on ? hd_parser_advance(p) : hd_parser_expect(p, ']', "or ',' in a list");
}

static heddle_status parse_ints(hd_parser *p, hd_op *op, hd_attr_key key) {
  int64_t *list = NULL;
  int32_t n = 0;
  HD_TRY(hd_parser_expect(p, '[', "of a list of integers"));
  for (bool on = true; on; n++) {
    list = hd_grow(&p->module->arena, list, n, sizeof *list);
    HD_TRY(hd_parser_int(p, "an integer", &list[n]));
    HD_TRY(list_goes_on(p, &on));
  }
  hd_op_set_ints(p->module, op, key, list, n);
  return HEDDLE_OK;
}

static heddle_status parse_exprs(hd_parser *p, hd_op *op, hd_attr_key key) {
  hd_expr *list = NULL;
  int32_t n = 0;
  HD_TRY(hd_parser_expect(p, '[', "of a list of expressions"));
  for (bool on = true; on; n++) {
    if (p->token.kind != HD_TOKEN_STRING)
      return hd_parser_unexpected(p, "a quoted expression");
    list = hd_grow(&p->module->arena, list, n, sizeof *list);
    if (hd_expr_parse(p->token.text, &list[n]) != HEDDLE_OK)
      return hd_error(p->ctx, HEDDLE_INVALID, p->token.loc, "text.expression",
                      "%s[%d] = \"%.60s\"; legal: ARG*MUL+ADD/DIV, e.g. \"ldb*2\"",
                      hd_attr_name(key), (int)n, p->token.text);
    HD_TRY(hd_parser_advance(p));
    HD_TRY(list_goes_on(p, &on));
  }
  hd_op_set_exprs(p->module, op, key, list, n);
  return HEDDLE_OK;
}

static heddle_status parse_text(hd_parser *p, hd_op *op, hd_attr_key key, hd_token_kind kind) {
  if (p->token.kind != kind)
    return hd_parser_unexpected(p, hd_attr_kind_text(hd_attr_get_kind(key)));
  hd_op_set_str(p->module, op, key, p->token.text);
  return hd_parser_advance(p);
}

static heddle_status parse_value(hd_parser *p, hd_op *op, hd_attr_key key) {
  int64_t value;
  heddle_elem elem;
  switch (hd_attr_get_kind(key)) {
  case HD_ATTR_KIND_INT:
    HD_TRY(hd_parser_int(p, "an integer", &value));
    hd_op_set_int(p->module, op, key, value);
    return HEDDLE_OK;
  case HD_ATTR_KIND_STRING:
    return parse_text(p, op, key, HD_TOKEN_STRING);
  case HD_ATTR_KIND_SYMBOL:
  case HD_ATTR_KIND_ARG:
    return parse_text(p, op, key, HD_TOKEN_WORD);
  case HD_ATTR_KIND_ELEM:
    HD_TRY(hd_parser_elem(p, &elem));
    hd_op_set_elem(p->module, op, key, elem);
    return HEDDLE_OK;
  case HD_ATTR_KIND_INTS:
    return parse_ints(p, op, key);
  case HD_ATTR_KIND_EXPRS:
    return parse_exprs(p, op, key);
  case HD_ATTR_KIND_FLAG:
    break;
  }
  return HD_BUG(p->ctx, "the value of a flag");
}

static heddle_status parse_attr(hd_parser *p, hd_op *op) {
  hd_loc loc = p->token.loc;
  const char *text;
  HD_TRY(hd_parser_word(p, "the name of an attribute", &text));
  hd_attr_key key = hd_attr_find_key(text);
  if (key == HD_N_ATTRS) {
    const char *near = hd_attr_nearest(op->kind, text);
    return hd_error(p->ctx, HEDDLE_INVALID, loc, "text.attribute",
                    "'%.60s' is not an attribute of %s; legal: %s%s%s", text,
                    hd_op_get_info(op->kind)->text, hd_op_get_info(op->kind)->attributes,
                    near ? "; nearest: " : "", near ? near : "");
  }
  if (hd_op_has(op, key))
    return hd_error(p->ctx, HEDDLE_INVALID, loc, "text.attribute-twice",
                    "attribute '%s' is given twice; legal: once", text);
  if (hd_attr_get_kind(key) == HD_ATTR_KIND_FLAG) {
    hd_op_set_flag(p->module, op, key);
    return HEDDLE_OK;
  }
  char where[100];
  snprintf(where, sizeof where, "and %s after '%s'", hd_attr_kind_text(hd_attr_get_kind(key)),
           text);
  HD_TRY(hd_parser_expect(p, '=', where));
  return parse_value(p, op, key);
}

heddle_status hd_parser_attrs(hd_parser *p, hd_op *op) {
  HD_TRY(hd_parser_advance(p));
  while (!hd_parser_at_mark(p, '}')) {
    HD_TRY(parse_attr(p, op));
    if (!hd_parser_at_mark(p, ','))
      break;
    HD_TRY(hd_parser_advance(p));
  }
  return hd_parser_expect(p, '}', "or ',' after an attribute");
}
