/* Parses the user's epilogue in the text of user_ir.h. Definitions precede uses and branches go
 * forward, so one pass over the text is enough, and loops cannot be expressed. */
#include <string.h>

#include "Emit/user_reader.h"
#include "Support/arena.h"
#include "Support/convert.h"
#include "Support/diag.h"

/* ---- functions ---- */

static heddle_status begin_block(hd_user_reader *r) {
  static const char numbers[] = "01234";
  hd_user_word word = hd_user_peek_word(r);
  hd_user_function *f = r->f;
  int32_t label;
  if (word.n && r->at + word.n < r->end && r->at[word.n] == ':')
    r->at += word.n + 1;
  else if (f->n_blocks == 0) /* LLVM gives an unlabelled entry block the next number */
    word = (hd_user_word){&numbers[r->n_unnamed], 1};
  else
    return hd_user_refuse_here(r, "a label in front of each block");
  int32_t known = r->n_labels;
  HD_TRY(hd_user_find_label(r, word, &label));
  if (r->order[label] != HD_USER_NO_BLOCK)
    return hd_user_refuse_here(r, "each label once");
  if (f->n_blocks > 0 && label == known)
    return hd_user_refuse_here(r, "blocks that a branch further up leads to");
  r->order[label] = f->n_blocks;
  return HEDDLE_OK;
}

/* Replaces the labels in branches and phis by block numbers. */
static heddle_status resolve_labels(hd_user_reader *r) {
  hd_user_function *f = r->f;
  for (int32_t i = 0; i < r->n_labels; i++)
    if (r->order[i] == HD_USER_NO_BLOCK)
      return hd_user_refuse_here(r, "a block for each label that a branch leads to");
  for (int32_t i = 0; i < f->n_instructions; i++)
    for (int b = 0; b < 2; b++)
      if (f->instruction[i].block[b] != HD_USER_NO_BLOCK)
        f->instruction[i].block[b] = r->order[f->instruction[i].block[b]];
  for (int32_t i = 0; i < f->n_edges; i++)
    f->edge[i].block = r->order[f->edge[i].block];
  return HEDDLE_OK;
}

/* (sum, row, col, user), or for pairs (gate, up, row, col, user). */
#define PARAMETERS "the parameters float or i32 (of pairs two of them), i32, i32, ptr"
static heddle_status read_parameters(hd_user_reader *r) {
  enum { N_OTHERS = 3 };
  hd_user_type type[HD_USER_ARGUMENTS];
  hd_user_word word[HD_USER_ARGUMENTS];
  int32_t n = 0;
  HD_TRY(hd_user_expect(r, '('));
  do {
    if (n == HD_USER_ARGUMENTS)
      return hd_user_refuse_here(r, PARAMETERS);
    HD_TRY(hd_user_read_type(r, &type[n]));
    HD_TRY(hd_user_read_name(r, '%', &word[n]));
    r->n_unnamed += word[n].at[0] >= '0' && word[n].at[0] <= '9';
  } while (type[n++] != HD_USER_PTR && hd_user_accept_char(r, ','));
  int32_t n_sums = n - N_OTHERS;
  if (n_sums < 1)
    return hd_user_refuse_here(r, PARAMETERS);
  const hd_user_type legal[] = {32, 32, HD_USER_PTR}, sum = type[0];
  bool right = (sum == 32 || sum == HD_USER_FLOAT) && type[n_sums - 1] == sum;
  for (int32_t i = 0; i < N_OTHERS; i++)
    right &= type[n_sums + i] == legal[i];
  if (!right)
    return hd_user_refuse_here(r, PARAMETERS);
  r->f->integer = sum == 32;
  r->f->pair = n_sums > 1;
  HD_TRY(hd_user_define_value(r, word[0], sum, HD_USER_ACC));
  if (r->f->pair)
    HD_TRY(hd_user_define_value(r, word[1], sum, HD_USER_UP));
  for (int32_t i = 0; i < N_OTHERS; i++)
    HD_TRY(hd_user_define_value(r, word[n_sums + i], legal[i], HD_USER_ROW + i));
  return hd_user_expect(r, ')');
}

static heddle_status read_function(hd_user_reader *r, const char *wanted, bool *found) {
  hd_user_word word;
  HD_TRY(hd_user_expect_word(r, "float"));
  HD_TRY(hd_user_read_name(r, '@', &word));
  if (!hd_user_word_is(word, wanted) || *found)
    return hd_user_refuse_here(r, "one function, which the kernel calls");
  *found = true;
  HD_TRY(read_parameters(r));
  HD_TRY(hd_user_expect(r, '{'));
  do {
    bool ended = false;
    HD_TRY(begin_block(r));
    while (!ended)
      HD_TRY(hd_user_read_instruction(r, &ended));
    r->f->block_end[r->f->n_blocks++] = r->f->n_instructions;
  } while (!hd_user_accept_char(r, '}'));
  return resolve_labels(r);
}

/* ---- tables ---- */

static heddle_status put_element(hd_user_reader *r, hd_user_table *table, hd_user_type type) {
  hd_user_operand value;
  hd_user_type given;
  int n = hd_user_memory_bits(type) / 8;
  HD_TRY(hd_user_read_type(r, &given));
  if (given != type)
    return hd_user_refuse_here(r, "elements of one type");
  HD_TRY(hd_user_read_operand(r, type, &value));
  if (value.kind != HD_USER_INT && value.kind != HD_USER_REAL)
    return hd_user_refuse_here(r, "numbers");
  uint64_t bits = (uint64_t)value.i; /* also the bits of a double */
  float single = (float)value.f;
  uint32_t single_bits;
  memcpy(&single_bits, &single, sizeof single_bits);
  if (type == HD_USER_FLOAT)
    bits = single_bits;
  else if (type == HD_USER_HALF || type == HD_USER_BFLOAT)
    bits = hd_elem_from_double(type == HD_USER_HALF ? HEDDLE_F16 : HEDDLE_BF16, value.f);
  if (r->f->n_table_bytes + n > HD_USER_TABLE_BYTES)
    return hd_user_refuse_count(r, "bytes of constants", HD_USER_TABLE_BYTES);
  for (int i = 0; i < n; i++) /* little-endian, as on the GPU */
    r->f->table_bytes[r->f->n_table_bytes++] = (uint8_t)(bits >> 8 * i);
  table->n_bytes += n;
  return HEDDLE_OK;
}

/* @NAME = constant [N x TYPE] [TYPE v, …] */
static heddle_status read_table(hd_user_reader *r) {
  hd_user_function *f = r->f;
  hd_user_word word;
  int64_t n;
  hd_user_type type;
  if (f->n_tables == HD_USER_TABLES)
    return hd_user_refuse_count(r, "constants", HD_USER_TABLES);
  HD_TRY(hd_user_read_name(r, '@', &word));
  HD_TRY(hd_user_expect(r, '='));
  HD_TRY(hd_user_expect_word(r, "constant"));
  HD_TRY(hd_user_expect(r, '['));
  HD_TRY(hd_user_read_integer(r, 1, HD_USER_TABLE_BYTES, &n));
  HD_TRY(hd_user_expect_word(r, "x"));
  HD_TRY(hd_user_read_type(r, &type));
  HD_TRY(hd_user_expect(r, ']'));
  if (hd_user_is_ptr(type) || !hd_user_memory_bits(type))
    return hd_user_refuse_here(r, "arrays of numbers of 8, 16, 32 or 64 bits");
  while (f->n_table_bytes % 16 && f->n_table_bytes < HD_USER_TABLE_BYTES)
    f->n_table_bytes++;
  hd_user_table *table = &f->table[f->n_tables];
  *table = (hd_user_table){word.at, word.n, f->n_table_bytes, 0, hd_user_memory_bits(type) / 8};
  HD_TRY(hd_user_expect(r, '['));
  for (int64_t i = 0; i < n; i++) {
    if (i)
      HD_TRY(hd_user_expect(r, ','));
    HD_TRY(put_element(r, table, type));
  }
  HD_TRY(hd_user_expect(r, ']'));
  int32_t align;
  HD_TRY(hd_user_read_align(r, &align));
  table->align = align ? align : table->align;
  f->n_tables++;
  return HEDDLE_OK;
}

/* Skips lines that are not needed. Callees are found by name, without their declarations. */
static bool accept_line(hd_user_reader *r) {
  if (!hd_user_accept_word(r, "declare") && !hd_user_accept_word(r, "source_filename") &&
      !hd_user_accept_word(r, "target"))
    return false;
  while (r->at < r->end && *r->at != '\n')
    r->at++;
  return true;
}

static heddle_status read_module(hd_user_reader *r, const char *wanted, bool *found) {
  for (hd_user_skip_spaces(r); r->at < r->end; hd_user_skip_spaces(r)) {
    if (accept_line(r))
      continue;
    if (*r->at == '@')
      HD_TRY(read_table(r));
    else if (hd_user_accept_word(r, "define"))
      HD_TRY(read_function(r, wanted, found));
    else
      return hd_user_refuse_here(r, "define, declare, constants");
  }
  return HEDDLE_OK;
}

heddle_status hd_user_parse(heddle_context *ctx, const char *from, size_t n_bytes,
                            const char *wanted, hd_user_function *function) {
  if (n_bytes > HD_USER_TEXT_BYTES)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "user.size",
                    "user function: got a text of %zu bytes; legal: up to %d", n_bytes,
                    HD_USER_TEXT_BYTES);
  hd_user_reader *r = hd_try_zalloc(ctx, sizeof *r, "a reader");
  hd_user_name *names = hd_try_zalloc(ctx, HD_USER_NAMES * sizeof *names, "names");
  heddle_status status = HEDDLE_NO_MEMORY;
  bool found = false;
  if (r && names) {
    *r = (hd_user_reader){.ctx = ctx,
                  .at = from,
                  .end = from + n_bytes,
                  .line_begin = from,
                  .line = 1,
                  .f = function,
                  .names = names};
    memset(function, 0, sizeof *function);
    status = read_module(r, wanted, &found);
  }
  if (status == HEDDLE_OK && !found)
    status = hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "user.function",
                      "the user IR does not define this function; nearest: define float @%s(float "
                      "%%acc, i32 %%row, i32 %%col, ptr %%user)",
                      wanted);
  hd_free(names);
  hd_free(r);
  return status;
}
