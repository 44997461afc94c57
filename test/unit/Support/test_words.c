/* Memory, string buffers, hashes, names and diagnostics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/convert.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/hash.h"
#include "Support/lines.h"
#include "Support/nearest.h"
#include "Support/strbuf.h"
#include "heddle/version.h"

/* ---- memory ---- */

static bool is_zero(const unsigned char *p, size_t n) {
  while (n && !*p)
    n--, p++;
  return n == 0;
}

/* Small allocations and those that need a block of their own: aligned, zeroed, not overlapping. */
static void an_arena_gives_zeroed_memory(void **state) {
  (void)state;
  enum { N = 300 };
  hd_arena arena = {0};
  unsigned char *at[N];
  for (size_t i = 0; i < N; i++) {
    size_t n = i % 50 ? i : 60000 + i;
    at[i] = hd_arena_alloc(&arena, n);
    assert_int_equal((uintptr_t)at[i] % 16, 0);
    assert_true(is_zero(at[i], n));
    memset(at[i], (int)(i % 255) + 1, n);
  }
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < (i % 50 ? i : 60000 + i); j++)
      assert_int_equal(at[i][j], i % 255 + 1);
  assert_string_equal(hd_arena_strdup(&arena, "one"), "one");
  assert_string_equal(hd_arena_strndup(&arena, "other", 2), "ot");
  assert_string_equal(hd_arena_printf(&arena, "%d of %s", 3, "four"), "3 of four");
  assert_memory_equal(hd_arena_copy(&arena, "abc", 3), "abc", 3);
  hd_arena_free(&arena);
  assert_null(arena.head);
}

static void memory_of_nothing_is_memory(void **state) {
  (void)state;
  unsigned char *p = hd_xzalloc(5000);
  assert_true(is_zero(p, 5000));
  free(p);
  free(hd_xzalloc(0));
  free(hd_xrealloc(hd_xmalloc(0), 0, 0));
}

static void what_is_not_given_is_told_of(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  void *some = hd_try_malloc(ctx, 0, "nothing");
  assert_non_null(some);
  free(some);
  assert_null(hd_try_malloc(ctx, SIZE_MAX / 2, "a whole"));
  assert_string_equal(hd_first_error(ctx)->rule, "memory.size");
  assert_non_null(strstr(hd_first_error(ctx)->text, "a whole needs 9223372036854775807 bytes"));
  heddle_context_free(ctx);
}

static void a_list_grows(void **state) {
  (void)state;
  int *list = NULL, n = 0, cap = 0;
  for (int i = 0; i < 1000; i++)
    HD_PUSH(list, n, cap, i * i);
  assert_int_equal(n, 1000);
  for (int i = 0; i < n; i++)
    assert_int_equal(list[i], i * i);
  free(list);
}

static void a_string_grows(void **state) {
  (void)state;
  hd_strbuf s = {0};
  assert_string_equal(hd_strbuf_text(&s), "");
  for (size_t i = 0; i < 2000; i++) {
    if (i % 2)
      hd_strbuf_printf(&s, "%c", 'a' + (int)(i % 26));
    else
      hd_strbuf_addn(&s, "xyz", 1);
    assert_int_equal(s.len, i + 1);
    assert_int_equal(strlen(s.text), i + 1);
    assert_true(s.cap > s.len);
  }
  assert_int_equal(s.text[1999], 'a' + 1999 % 26);
  char *text = hd_strbuf_take(&s);
  assert_null(s.text);
  free(text);
  text = hd_strbuf_take(&s);
  assert_string_equal(text, "");
  free(text);
}

/* ---- hashes ---- */

/* The published sequence of splitmix64 from 1234567. */
static void the_random_words_are_splitmix64(void **state) {
  (void)state;
  const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                               4593380528125082431u, 16408922859458223821u};
  uint64_t seed = 1234567;
  for (size_t i = 0; i < HD_COUNT(expected); i++)
    assert_true(hd_hash_next(&seed) == expected[i]);
  assert_int_equal(hd_hash_mix(0), 0);
}

static void hashes_fold_in_order(void **state) {
  (void)state;
  char text[33];
  hd_hash a = hd_hash_bytes("a", 1), b = hd_hash_bytes("b", 1);
  hd_hash ab = hd_hash_combine(a, b), ba = hd_hash_combine(b, a);
  assert_true(ab.lo != ba.lo && ab.hi != ba.hi && ab.lo != a.lo && ab.lo != b.lo);
  hd_hash_format(hd_hash_bytes("", 0), text); /* from the tests of XXH3 */
  assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
}

/* ---- names ---- */

typedef struct names {
  const char *const *next;
} names;

static const char *next_name(void *user) {
  names *n = user;
  return *n->next ? *n->next++ : NULL;
}

static const char *nearest(const char *wrong, const char *const *list) {
  return hd_nearest_name(wrong, next_name, &(names){list});
}

static void a_name_s_neighbour(void **state) {
  (void)state;
  const char *const list[] = {"bf16", "e4m3", "e5m2", "tf32", "f16", NULL};
  assert_string_equal(nearest("bf61", list), "bf16");
  assert_string_equal(nearest("E5M2", list), "e5m2");
  assert_string_equal(nearest("float16", list), "f16");
  assert_string_equal(nearest("e4m2", list), "e4m3"); /* the first of equals */
  assert_string_equal(nearest("f6", list), "f16");
  assert_null(nearest("6", list));
  assert_null(nearest("half_precision", list));
  assert_int_equal(hd_edit_distance("kitten", "sitting"), 3);
  assert_int_equal(hd_edit_distance("", "abc"), 3);
  assert_int_equal(hd_edit_distance("abc", ""), 3);
  assert_int_equal(hd_edit_distance("ABC", "abc"), 0);
  char x[200], y[200];
  memset(x, 'x', sizeof x);
  memset(y, 'x', sizeof y);
  x[199] = y[199] = '\0';
  y[100] = 'y'; /* beyond the compared length */
  assert_int_equal(hd_edit_distance(x, y), 0);
}

/* ---- diagnostics ---- */

static const char *formatted(const heddle_context *ctx, size_t i, char out[128]) {
  heddle_diagnostic_format(heddle_context_get(ctx, i), out, 128);
  return out;
}

/* Lines with any line ending. The last line needs none, and after the last line ending there is no
 * further line. */
static void lines_have_their_places(void **state) {
  (void)state;
  static const char *const expected[] = {"a b\tc", "", "  # all of it", "last # but this", "\r"};
  char text[] = "a b\tc\r\n\n  # all of it\nlast # but this\n\r\r\n", entries[sizeof text];
  memcpy(entries, text, sizeof text);
  hd_lines lines = hd_lines_of("f", text);
  for (uint32_t i = 0; i < 5; i++) {
    assert_string_equal(hd_lines_next(&lines), expected[i]);
    assert_int_equal(lines.loc.line, i + 1);
  }
  assert_null(hd_lines_next(&lines));
  assert_null(hd_lines_next(&lines));
  lines = hd_lines_of("f", entries);
  assert_string_equal(hd_lines_next_entry(&lines), "a b\tc");
  assert_string_equal(hd_lines_next_entry(&lines), "last ");
  assert_int_equal(lines.loc.line, 4);
  assert_string_equal(lines.loc.file, "f");
  assert_null(hd_lines_next_entry(&lines));
  char nothing[] = "", open[] = "x";
  lines = hd_lines_of("f", nothing);
  assert_null(hd_lines_next(&lines));
  lines = hd_lines_of("f", open);
  assert_string_equal(hd_lines_next(&lines), "x");
  assert_null(hd_lines_next(&lines));
}

static void what_is_wrong_is_one_line(void **state) {
  (void)state;
  char out[128];
  heddle_context *ctx = heddle_context_create();
  hd_loc at = {"x.heddle", 3, 14}, whole = {.file = "x.heddle"};
  assert_int_equal(hd_error(ctx, HEDDLE_UNSUPPORTED, at, "tile.n", "got %d", 7),
                   HEDDLE_UNSUPPORTED);
  hd_warning(ctx, whole, "file", "is old");
  hd_note(ctx, HD_NOWHERE, "size", "%s", "none");
  assert_int_equal(heddle_context_count(ctx), 3);
  assert_null(heddle_context_get(ctx, 3));
  assert_string_equal(formatted(ctx, 0, out), "x.heddle:3:14: error[tile.n]: got 7");
  assert_string_equal(formatted(ctx, 1, out), "x.heddle:1:1: warning[file]: is old");
  assert_string_equal(formatted(ctx, 2, out), "note[size]: none");
  char few[8];
  assert_int_equal(heddle_diagnostic_format(heddle_context_get(ctx, 0), few, sizeof few), 35);
  assert_string_equal(few, "x.heddl");
  heddle_context_clear(ctx);
  assert_int_equal(heddle_context_count(ctx), 0);
  assert_int_equal(hd_error(NULL, HEDDLE_INVALID, at, "r", "nobody listens"), HEDDLE_INVALID);
  heddle_context_free(ctx);
  heddle_context_free(NULL);
}

static void notes_are_no_errors(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  assert_null(hd_first_error(ctx));
  hd_note(ctx, HD_NOWHERE, "n", "a note");
  assert_string_equal(hd_first_error_text(ctx, "none"), "none");
  hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "e", "first");
  hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "f", "second");
  assert_string_equal(hd_first_error(ctx)->rule, "e");
  assert_string_equal(hd_first_error_text(ctx, "none"), "first");
  heddle_context_free(ctx);
}

/* A NULL context, as after a failed allocation. */
static void no_context_holds_nothing(void **state) {
  (void)state;
  heddle_context_clear(NULL);
  assert_int_equal(heddle_context_count(NULL), 0);
  assert_null(heddle_context_get(NULL, 0));
  assert_null(hd_first_error(NULL));
  assert_string_equal(hd_first_error_text(NULL, "none"), "none");
}

static void the_version_s_text_and_number_agree(void **state) {
  (void)state;
  int major, minor, patch;
  assert_int_equal(sscanf(HEDDLE_VERSION, "%d.%d.%d", &major, &minor, &patch), 3);
  assert_int_equal(major * 10000 + minor * 100 + patch, HEDDLE_VERSION_NUMBER);
  assert_int_equal(heddle_version_number(), HEDDLE_VERSION_NUMBER);
}

/* Quoted input may contain any bytes. A diagnostic is plain text without control sequences for a
 * terminal. */
static void diagnostics_are_text(void **state) {
  (void)state;
  static const struct {
    const char *got, *said;
  } cases[] = {{"ab\n\tc", "ab\n\tc"},          {"\xc3\xa9\xe2\x80\xa6\xf0\x9f\xa7\xb5", NULL},
               {"\xff\xfe", "\\xff\\xfe"},     {"\x1b[2J\x7f", "\\x1b[2J\\x7f"},
               {"\xc3", "\\xc3"},             {"\xe2\x80", "\\xe2\\x80"},
               {"\xc0\xaf", "\\xc0\\xaf"},     {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
               {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
               {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
               {"\xe2\x80z", "\\xe2\\x80z"},
               {"\xc2\x9b", "\\xc2\\x9b"}, /* CSI */
               {"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},
               {"\xe2\x80\xae", "\\xe2\\x80\\xae"}, /* right-to-left override */
               {"\xc2\xa0\xef\xbf\xbd\xf3\xa0\x84\x80", NULL}};
  heddle_context *ctx = heddle_context_create();
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "text.quoted", "%s", cases[i].got);
    assert_string_equal(heddle_context_get(ctx, i)->text,
                        cases[i].said ? cases[i].said : cases[i].got);
  }
  heddle_context_free(ctx);
}

static void a_diagnostic_is_measured_first(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  char text[64];
  hd_error(ctx, HEDDLE_INVALID, (hd_loc){"a\x1b", 1, 2}, "rule", "text");
  const heddle_diagnostic *d = heddle_context_get(ctx, 0);
  size_t n = heddle_diagnostic_format(d, NULL, 0);
  assert_int_equal(heddle_diagnostic_format(d, text, sizeof text), n);
  assert_string_equal(text, "a\\x1b:1:2: error[rule]: text"); /* also in the file's name */
  assert_int_equal(heddle_diagnostic_format(NULL, NULL, 0), 0);
  assert_int_equal(heddle_diagnostic_format(NULL, text, sizeof text), 0);
  assert_string_equal(text, "");
  heddle_context_free(ctx);
}

/* The locale of the host program may have another decimal point. */
static void numbers_have_a_point(void **state) {
  (void)state;
  char *end;
  const char *before = setlocale(LC_NUMERIC, "de_DE.UTF-8"); /* if installed */
  assert_true(hd_strtod("1.5e1x", &end) == 15 && *end == 'x');
  if (before)
    setlocale(LC_NUMERIC, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_diagnostic_is_measured_first),
      cmocka_unit_test(numbers_have_a_point),
      cmocka_unit_test(an_arena_gives_zeroed_memory),
      cmocka_unit_test(memory_of_nothing_is_memory),
      cmocka_unit_test(what_is_not_given_is_told_of),
      cmocka_unit_test(a_list_grows),
      cmocka_unit_test(diagnostics_are_text),
      cmocka_unit_test(a_string_grows),
      cmocka_unit_test(the_random_words_are_splitmix64),
      cmocka_unit_test(hashes_fold_in_order),
      cmocka_unit_test(a_name_s_neighbour),
      cmocka_unit_test(lines_have_their_places),
      cmocka_unit_test(what_is_wrong_is_one_line),
      cmocka_unit_test(notes_are_no_errors),
      cmocka_unit_test(no_context_holds_nothing),
      cmocka_unit_test(the_version_s_text_and_number_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
