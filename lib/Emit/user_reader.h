/* Emit/user_reader.h: the parser of the user's epilogue, in three files: words and names
 * (user_reader.c), instructions (user_instruction.c), functions and constants (user_parse.c). */
#ifndef HD_USER_READER_H
#define HD_USER_READER_H

#include "Emit/user_words.h"

enum { HD_USER_NAMES = 4096 /* a power of two */, HD_USER_NO_BLOCK = -1 };

typedef struct hd_user_word {
  const char *at;
  size_t n;
} hd_user_word;

/* A local name, of a value or of a block. */
typedef struct hd_user_name {
  hd_user_word word;
  bool is_block;
  hd_user_type type; /* of a value */
  int32_t index;     /* the value's index, or the label's number (hd_user_find_label) */
} hd_user_name;

typedef struct hd_user_reader {
  heddle_context *ctx;
  const char *at, *end, *line_begin;
  uint32_t line;
  hd_user_function *f;
  hd_user_name *names; /* hash table of HD_USER_NAMES, open addressing; empty: word.at is NULL */
  int32_t n_unnamed;
  int32_t n_labels;              /* labels seen so far, of a block or in a branch */
  int32_t order[HD_USER_BLOCKS]; /* label -> block; HD_USER_NO_BLOCK: not begun yet */
} hd_user_reader;

/* Refuse the text at the current position; more than `most` of something. */
heddle_status hd_user_refuse_here(hd_user_reader *r, const char *legal);
heddle_status hd_user_refuse_count(hd_user_reader *r, const char *what, int most);

/* Words. All skip spaces and comments first. accept: consumes the word if it matches. */
void hd_user_skip_spaces(hd_user_reader *r);
hd_user_word hd_user_peek_word(hd_user_reader *r);
bool hd_user_word_is(hd_user_word word, const char *other);
bool hd_user_accept_word(hd_user_reader *r, const char *word);
bool hd_user_accept_char(hd_user_reader *r, char c);
heddle_status hd_user_expect(hd_user_reader *r, char c);
heddle_status hd_user_expect_word(hd_user_reader *r, const char *word);
/* %NAME or @NAME without its first character. */
heddle_status hd_user_read_name(hd_user_reader *r, char first, hd_user_word *word);
heddle_status hd_user_read_integer(hd_user_reader *r, int64_t least, int64_t most, int64_t *value);
heddle_status hd_user_read_type(hd_user_reader *r, hd_user_type *type);

/* Define a value; find a label's number, in the order of first use; read a branch's target. */
heddle_status hd_user_define_value(hd_user_reader *r, hd_user_word word, hd_user_type type,
                                   int32_t index);
heddle_status hd_user_find_label(hd_user_reader *r, hd_user_word word, int32_t *label);
heddle_status hd_user_read_target(hd_user_reader *r, int32_t *label);

/* Read an operand of a given type; TYPE a; two operands of a given type. */
heddle_status hd_user_read_operand(hd_user_reader *r, hd_user_type type, hd_user_operand *operand);
heddle_status hd_user_read_typed(hd_user_reader *r, hd_user_operand *operand);
heddle_status hd_user_read_pair(hd_user_reader *r, hd_user_type type, hd_user_instruction *in);
/* Reads ", align N". Sets 0 if it is missing. */
heddle_status hd_user_read_align(hd_user_reader *r, int32_t *align);

/* user_instruction.c: reads one instruction. ended: set if it ends the block. */
heddle_status hd_user_read_instruction(hd_user_reader *r, bool *ended);

#endif
