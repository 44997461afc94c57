/* Child processes that communicate by lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Support/child.h"
#include "Support/file.h"

static const char *const echo[] = {"cat", NULL};

/* Waits for a line, with a generous limit. */
static bool next_line(hd_child *child, hd_strbuf *line) {
  for (int i = 0; i < 100; i++) {
    if (hd_child_take(child, line))
      return true;
    if (child->ended)
      return false;
    hd_children_wait(&child, 1, 0.1);
  }
  return false;
}

static void lines_come_back(void **state) {
  (void)state;
  hd_child child;
  hd_strbuf line = {0};
  int how;
  assert_int_equal(hd_child_start(NULL, echo, &child), HEDDLE_OK);
  assert_false(hd_child_take(&child, &line));
  assert_true(hd_child_say(&child, "first"));
  assert_true(hd_child_say(&child, ""));
  assert_true(hd_child_say(&child, "third of three"));
  const char *const expected[] = {"first", "", "third of three"};
  for (int i = 0; i < 3; i++) {
    assert_true(next_line(&child, &line));
    assert_string_equal(hd_strbuf_text(&line), expected[i]);
  }
  hd_child_stop(&child, &how);
  assert_int_equal(how, 128 + 9);
  assert_int_equal(child.pid, 0);
  hd_child_stop(&child, NULL); /* a second call is allowed */
  hd_strbuf_free(&line);
}

static void its_end_is_an_answer(void **state) {
  (void)state;
  static const char *const ends[] = {"sh", "-c", "echo last words; exit 7", NULL};
  hd_child child;
  hd_strbuf line = {0};
  int how;
  assert_int_equal(hd_child_start(NULL, ends, &child), HEDDLE_OK);
  assert_true(next_line(&child, &line));
  assert_string_equal(hd_strbuf_text(&line), "last words");
  assert_false(next_line(&child, &line));
  assert_true(child.ended);
  assert_false(hd_child_say(&child, "is anyone there")); /* SIGPIPE does not end the process */
  hd_child_stop(&child, &how);
  assert_int_equal(how, 7);
  hd_strbuf_free(&line);
}

static void many_are_waited_for(void **state) {
  (void)state;
  hd_child a, b = {0}; /* b is not running */
  hd_child *all[] = {&a, NULL, &b};
  hd_strbuf line = {0};
  assert_int_equal(hd_child_start(NULL, echo, &a), HEDDLE_OK);
  double before = hd_clock_seconds();
  hd_children_wait(all, 3, 0.02);
  assert_true(hd_clock_seconds() - before > 0.015);
  assert_true(hd_child_say(&a, "x"));
  for (int i = 0; i < 100 && !hd_child_take(&a, &line); i++)
    hd_children_wait(all, 3, 0.1);
  assert_string_equal(hd_strbuf_text(&line), "x");
  hd_child_stop(&a, NULL);
  hd_strbuf_free(&line);
}

/* A child that has ended sends nothing more, so it must not wake the wait. */
static void the_ended_are_not_waited_for(void **state) {
  (void)state;
  static const char *const ends[] = {"true", NULL};
  hd_child ended, silent;
  hd_child *all[] = {&ended, &silent};
  hd_strbuf line = {0};
  assert_int_equal(hd_child_start(NULL, ends, &ended), HEDDLE_OK);
  assert_int_equal(hd_child_start(NULL, echo, &silent), HEDDLE_OK);
  assert_false(next_line(&ended, &line));
  double before = hd_clock_seconds();
  hd_children_wait(all, 2, 0.05);
  assert_true(hd_clock_seconds() - before > 0.045);
  hd_child_stop(&ended, NULL);
  hd_child_stop(&silent, NULL);
}

static void what_is_not_read_was_not_said(void **state) {
  (void)state;
  static const char *const deaf[] = {"sleep", "30", NULL};
  enum { MUCH = 1 << 24 };
  char *line = malloc(MUCH);
  hd_child child;
  memset(line, 'x', MUCH);
  line[MUCH - 1] = '\0';
  assert_int_equal(hd_child_start(NULL, deaf, &child), HEDDLE_OK);
  assert_false(hd_child_say(&child, line));
  hd_child_stop(&child, NULL);
  free(line);
}

/* A line may contain bytes of value 0. */
static void a_line_may_hold_any_byte(void **state) {
  (void)state;
  static const char *const nul[] = {"sh", "-c", "printf 'a\\0b\\nnext\\n'; sleep 30", NULL};
  hd_child child;
  hd_strbuf line = {0};
  assert_int_equal(hd_child_start(NULL, nul, &child), HEDDLE_OK);
  assert_true(next_line(&child, &line));
  assert_int_equal(line.len, 3);
  assert_memory_equal(line.text, "a\0b", 4);
  assert_true(next_line(&child, &line));
  assert_string_equal(line.text, "next");
  hd_child_stop(&child, NULL);
  hd_strbuf_free(&line);
}

/* A child that writes faster than it is read neither blocks the caller nor fills its memory. */
static void an_endless_line_ends(void **state) {
  (void)state;
  static const char *const talks[] = {"cat", "/dev/zero", NULL};
  hd_child child, *all[] = {&child};
  hd_strbuf line = {0};
  int how = 0;
  assert_int_equal(hd_child_start(NULL, talks, &child), HEDDLE_OK);
  for (int i = 0; i < 1000 && !child.ended; i++)
    hd_children_wait(all, 1, 0.1);
  assert_true(child.ended);
  assert_true(child.heard.len < 2 << 20);
  assert_false(hd_child_take(&child, &line));
  hd_child_stop(&child, &how);
  assert_int_equal(how, 128 + 9);
}

/* Stopping the child also ends the processes that it started. */
static void stopping_ends_the_whole_group(void **state) {
  (void)state;
  char *folder = NULL;
  hd_strbuf script = {0}, mark = {0}, line = {0};
  hd_child child;
  assert_int_equal(hd_file_tempdir(NULL, NULL, &folder), HEDDLE_OK);
  hd_strbuf_printf(&mark, "%s/mark", folder);
  hd_strbuf_printf(&script, "(sleep 0.4; touch %s) & echo on; wait", mark.text);
  const char *const argv[] = {"sh", "-c", script.text, NULL};
  assert_int_equal(hd_child_start(NULL, argv, &child), HEDDLE_OK);
  assert_true(next_line(&child, &line));
  hd_child_stop(&child, NULL);
  usleep(700 * 1000);
  assert_int_not_equal(access(mark.text, F_OK), 0);
  hd_strbuf_free(&line);
  hd_strbuf_free(&mark);
  hd_strbuf_free(&script);
  hd_file_remove(NULL, folder);
  free(folder);
}

static void what_cannot_be_started(void **state) {
  (void)state;
  static const char *const nothing[] = {"/nowhere/at/all", NULL};
  hd_child child = {0};
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_child_start(ctx, nothing, &child), HEDDLE_ENVIRONMENT);
  assert_non_null(strstr(heddle_context_get(ctx, 0)->text, "/nowhere/at/all"));
  assert_int_equal(child.pid, 0);
  heddle_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_come_back),
      cmocka_unit_test(its_end_is_an_answer),
      cmocka_unit_test(many_are_waited_for),
      cmocka_unit_test(the_ended_are_not_waited_for),
      cmocka_unit_test(what_is_not_read_was_not_said),
      cmocka_unit_test(a_line_may_hold_any_byte),
      cmocka_unit_test(an_endless_line_ends),
      cmocka_unit_test(stopping_ends_the_whole_group),
      cmocka_unit_test(what_cannot_be_started),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
