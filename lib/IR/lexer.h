/* IR/lexer.h: tokens of the IR's text. */
#ifndef HD_LEXER_H
#define HD_LEXER_H

#include "IR/ir.h"

typedef enum hd_token_kind {
  HD_TOKEN_END,
  HD_TOKEN_WORD,   /* letters, digits, _ and . ; or - and digits */
  HD_TOKEN_VALUE,  /* %word */
  HD_TOKEN_STRING, /* "…" */
  HD_TOKEN_MARK    /* one of { } [ ] ( ) < > = , : */
} hd_token_kind;

typedef struct hd_token {
  hd_token_kind kind;
  char mark;
  bool starts_line; /* only blanks precede the token on its line */
  const char *text; /* of WORD, VALUE (without %) and STRING (unescaped); in the arena */
  hd_loc loc;
} hd_token;

/* ctx, arena and the text are borrowed. Set ctx, arena, at, end and loc {file, 1, 1}; fresh_line
 * true. */
typedef struct hd_lexer {
  heddle_context *ctx;
  hd_arena *arena;
  const char *at, *end;
  hd_loc loc;
  bool fresh_line;
} hd_lexer;

enum { HD_MAX_WORD = 4096 }; /* characters */
/* Whether the whole text is one WORD and not a negative number. */
bool hd_is_word(const char *text);

heddle_status hd_lex(hd_lexer *lexer, hd_token *token);

#endif
