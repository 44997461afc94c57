/* IR/parser.h: shared declarations of the parser's files. */
#ifndef HD_PARSER_H
#define HD_PARSER_H

#include "IR/lexer.h"
#include "IR/scope.h"

typedef struct hd_parser {
  heddle_context *ctx;
  hd_lexer lexer;
  hd_token token; /* the next one */
  hd_module *module;
  hd_scope scope;
  int32_t depth; /* regions around the next token */
  uint64_t shortages; /* hd_memory_shortages at the start */
} hd_parser;

heddle_status hd_parser_advance(hd_parser *p);
bool hd_parser_at_mark(const hd_parser *p, char mark);
/* Moves past a mark or a given word; refuses anything else, naming `where` ("after the operands").
 */
heddle_status hd_parser_expect(hd_parser *p, char mark, const char *where);
heddle_status hd_parser_expect_word(hd_parser *p, const char *word);
/* Reports "got X; legal: Y", where X is the next token. */
heddle_status hd_parser_unexpected(hd_parser *p, const char *expected);
/* Moves past a word, an integer, an element type. */
heddle_status hd_parser_word(hd_parser *p, const char *what, const char **text);
heddle_status hd_parser_int(hd_parser *p, const char *what, int64_t *value);
heddle_status hd_parser_elem(hd_parser *p, heddle_elem *elem);
heddle_status hd_parser_type(hd_parser *p, hd_type *type);
/* `{key = value, flag, …}` of an op; the next token is the opening brace. */
heddle_status hd_parser_attrs(hd_parser *p, hd_op *op);

#endif
