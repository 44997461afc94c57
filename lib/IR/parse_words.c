#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "IR/op_info.h"
#include "IR/parser.h"

heddle_status hd_parser_advance(hd_parser *p) {
  return hd_memory_status(p->ctx, p->shortages, hd_lex(&p->lexer, &p->token));
}

bool hd_parser_at_mark(const hd_parser *p, char mark) {
  return p->token.kind == HD_TOKEN_MARK && p->token.mark == mark;
}

heddle_status hd_parser_unexpected(hd_parser *p, const char *expected) {
  const hd_token *t = &p->token;
  hd_strbuf got = {0};
  if (t->kind == HD_TOKEN_END)
    hd_strbuf_add(&got, "the end of the text");
  else if (t->kind == HD_TOKEN_MARK)
    hd_strbuf_printf(&got, "'%c'", t->mark);
  else
    hd_strbuf_printf(&got, "%s%s%.60s", t->kind == HD_TOKEN_STRING ? "the string " : "",
                     t->kind == HD_TOKEN_VALUE ? "%" : "", t->text);
  heddle_status status = hd_error(p->ctx, HEDDLE_INVALID, t->loc, "text.syntax",
                                  "got %s; legal: %s", hd_strbuf_text(&got), expected);
  hd_strbuf_free(&got);
  return status;
}

heddle_status hd_parser_expect(hd_parser *p, char mark, const char *where) {
  if (hd_parser_at_mark(p, mark))
    return hd_parser_advance(p);
  char expected[80];
  snprintf(expected, sizeof expected, "'%c' %s", mark, where);
  return hd_parser_unexpected(p, expected);
}

heddle_status hd_parser_expect_word(hd_parser *p, const char *word) {
  if (p->token.kind == HD_TOKEN_WORD && strcmp(p->token.text, word) == 0)
    return hd_parser_advance(p);
  char expected[80];
  snprintf(expected, sizeof expected, "'%s'", word);
  return hd_parser_unexpected(p, expected);
}

heddle_status hd_parser_word(hd_parser *p, const char *what, const char **text) {
  if (p->token.kind != HD_TOKEN_WORD)
    return hd_parser_unexpected(p, what);
  *text = p->token.text;
  return hd_parser_advance(p);
}

heddle_status hd_parser_int(hd_parser *p, const char *what, int64_t *value) {
  const char *text = p->token.text;
  if (p->token.kind != HD_TOKEN_WORD)
    return hd_parser_unexpected(p, what);
  const char *digits = text + (*text == '-');
  if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
    return hd_parser_unexpected(p, what);
  errno = 0;
  long long parsed = strtoll(text, NULL, 10);
  if (errno)
    return hd_error(p->ctx, HEDDLE_INVALID, p->token.loc, "text.number",
                    "got %.60s; legal: a 64-bit integer", text);
  *value = parsed;
  return hd_parser_advance(p);
}

heddle_status hd_parser_elem(hd_parser *p, heddle_elem *elem) {
  const char *text = p->token.text;
  if (p->token.kind != HD_TOKEN_WORD)
    return hd_parser_unexpected(p, "an element type");
  if (heddle_elem_parse(text, elem) != HEDDLE_OK) {
    const char *near = hd_elem_nearest(text);
    return hd_error(p->ctx, HEDDLE_INVALID, p->token.loc, "text.element-type",
                    "unknown element type '%.60s'; nearest: %s", text, near ? near : "bf16");
  }
  return hd_parser_advance(p);
}

static heddle_status parse_elem_type(hd_parser *p, hd_type *type) {
  HD_TRY(hd_parser_expect(p, '<', "of an element type"));
  HD_TRY(hd_parser_elem(p, &type->elem));
  if (type->kind == HD_TYPE_FRAG) {
    int64_t n;
    hd_loc loc;
    HD_TRY(hd_parser_expect_word(p, "x"));
    loc = p->token.loc;
    HD_TRY(hd_parser_int(p, "a number of elements", &n));
    if (n < 1 || n > 4096)
      return hd_error(p->ctx, HEDDLE_INVALID, loc, "text.frag",
                      "a fragment of %lld elements; legal: 1 to 4096", (long long)n);
    type->n = (int32_t)n;
  }
  return hd_parser_expect(p, '>', "after the element type");
}

heddle_status hd_parser_type(hd_parser *p, hd_type *type) {
  *type = (hd_type){0};
  const hd_token word = p->token;
  for (hd_type_kind i = HD_TYPE_I1; word.kind == HD_TOKEN_WORD && hd_type_word(i); i++)
    if (strcmp(word.text, hd_type_word(i)) == 0)
      type->kind = i;
  if (type->kind == HD_TYPE_NONE)
    return hd_parser_unexpected(p, "a type: i1 i32 i64 f32 ptr<T> tmap matrix<T> buffer barrier "
                                   "cursor frag<T x N>");
  HD_TRY(hd_parser_advance(p));
  bool has_elem =
      type->kind == HD_TYPE_PTR || type->kind == HD_TYPE_MATRIX || type->kind == HD_TYPE_FRAG;
  return has_elem ? parse_elem_type(p, type) : HEDDLE_OK;
}
