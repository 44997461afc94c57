#include "IR/lexer.h"

#include <string.h>

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_word_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.';
}

bool hd_is_word(const char *text) {
  size_t n = 0;
  while (is_word_letter(text[n]))
    n++;
  return n > 0 && n <= HD_MAX_WORD && text[n] == '\0';
}

static bool at_end(const hd_lexer *lexer) {
  return lexer->at == lexer->end;
}

static void step(hd_lexer *lexer) {
  if (*lexer->at == '\n') {
    lexer->loc.line++;
    lexer->loc.col = 0;
    lexer->fresh_line = true;
  }
  lexer->loc.col++;
  lexer->at++;
}

static void skip_blanks(hd_lexer *lexer) {
  while (!at_end(lexer)) {
    if (*lexer->at == '#')
      while (!at_end(lexer) && *lexer->at != '\n')
        step(lexer);
    else if (*lexer->at == ' ' || *lexer->at == '\t' || *lexer->at == '\r' || *lexer->at == '\n')
      step(lexer);
    else
      return;
  }
}

/* Lexes the rest of a word that begins at start (at or before the lexer's position). */
static heddle_status lex_word(hd_lexer *lexer, hd_token *token, const char *start) {
  while (!at_end(lexer) && is_word_letter(*lexer->at))
    step(lexer);
  size_t n = (size_t)(lexer->at - start);
  if (n == 0 || n > HD_MAX_WORD)
    return hd_error(lexer->ctx, HEDDLE_INVALID, token->loc, "text.word",
                    "got a name of %zu characters; legal: 1 to %d", n, HD_MAX_WORD);
  token->text = hd_arena_strndup(lexer->arena, start, n);
  return HEDDLE_OK;
}

static int hex_digit(char c) {
  const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c) : NULL;
  return found ? (int)(found - digits) : -1;
}

/* The character of an escape, after its backslash; -1: an unknown escape. */
static int unescape(hd_lexer *lexer) {
  char c = *lexer->at;
  if (c == '"' || c == '\\')
    return c;
  if (c == 'n')
    return '\n';
  if (c == 't')
    return '\t';
  if (c != 'x' || lexer->end - lexer->at < 3)
    return -1;
  int hi = hex_digit(lexer->at[1]), lo = hex_digit(lexer->at[2]);
  if (hi < 0 || lo < 0 || hi + lo == 0)
    return -1;
  lexer->at += 2;
  lexer->loc.col += 2;
  return 16 * hi + lo;
}

static heddle_status string_error(hd_lexer *lexer, const char *text) {
  return hd_error(lexer->ctx, HEDDLE_INVALID, lexer->loc, "text.string", "%s", text);
}

static heddle_status lex_string(hd_lexer *lexer, hd_token *token) {
  const char *closing = lexer->at;
  while (closing < lexer->end && *closing != '\n' && *closing != '"')
    closing += 1 + (*closing == '\\' && lexer->end - closing > 1);
  char *out = hd_arena_alloc(lexer->arena, (size_t)(closing - lexer->at) + 2);
  token->text = out;
  for (; !at_end(lexer) && *lexer->at != '"'; step(lexer)) {
    int c = (unsigned char)*lexer->at;
    if (c == '\\') {
      step(lexer);
      c = at_end(lexer) ? -1 : unescape(lexer);
      if (c < 0)
        return string_error(lexer, "unknown escape; legal: \\\" \\\\ \\n \\t or \\xHH, not \\x00");
    } else if (c < ' ' || c == 0x7f) {
      return string_error(lexer, "a string must end on its line and have no control characters");
    }
    *out++ = (char)c;
  }
  if (at_end(lexer))
    return string_error(lexer, "the text ends inside a string");
  step(lexer);
  token->kind = HD_TOKEN_STRING;
  return HEDDLE_OK;
}

static heddle_status unexpected_byte(hd_lexer *lexer) {
  unsigned char c = (unsigned char)*lexer->at;
  if (c > ' ' && c < 0x7f)
    return hd_error(lexer->ctx, HEDDLE_INVALID, lexer->loc, "text.byte",
                    "unexpected character '%c'", c);
  return hd_error(lexer->ctx, HEDDLE_INVALID, lexer->loc, "text.byte",
                  "unexpected byte 0x%02x: this is not a Heddle text", c);
}

heddle_status hd_lex(hd_lexer *lexer, hd_token *token) {
  skip_blanks(lexer);
  *token = (hd_token){.kind = HD_TOKEN_END, .loc = lexer->loc, .starts_line = lexer->fresh_line};
  lexer->fresh_line = false;
  if (at_end(lexer))
    return HEDDLE_OK;
  char c = *lexer->at;
  const char *start = lexer->at;
  if (is_word_letter(c) || (c == '-' && lexer->end - start > 1 && is_digit(start[1]))) {
    step(lexer);
    token->kind = HD_TOKEN_WORD;
    return lex_word(lexer, token, start);
  }
  if (c == '\0' || !strchr("%\"{}[]()<>=,:", c))
    return unexpected_byte(lexer);
  step(lexer);
  if (c == '%') {
    token->kind = HD_TOKEN_VALUE;
    return lex_word(lexer, token, lexer->at);
  }
  if (c == '"')
    return lex_string(lexer, token);
  token->kind = HD_TOKEN_MARK;
  token->mark = c;
  return HEDDLE_OK;
}
