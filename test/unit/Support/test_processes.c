/* Processes: their output, their exit codes, and their time limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Support/arena.h"
#include "Support/file.h"
#include "Support/scratch.h"
#include "own_folder.h"

static heddle_status run(const char *script, double timeout_s, hd_strbuf *output, int *code) {
  const char *const argv[] = {"sh", "-c", script, NULL};
  return hd_process_run(NULL, argv, timeout_s, output, code);
}

static void output_and_exit_code(void **state) {
  (void)state;
  hd_strbuf output = {0};
  int code = -1;
  assert_int_equal(run("echo out; echo err >&2; exit 7", 10, &output, &code), HEDDLE_OK);
  assert_int_equal(code, 7);
  assert_string_equal(hd_strbuf_text(&output), "out\nerr\n");
  hd_strbuf_free(&output);
  assert_int_equal(run("cat", 10, NULL, &code), HEDDLE_OK); /* standard input is empty */
  assert_int_equal(code, 0);
}

static void long_output_arrives_whole(void **state) {
  (void)state;
  hd_strbuf output = {0};
  int code = -1;
  assert_int_equal(run("head -c 3000000 /dev/zero", 0, &output, &code), HEDDLE_OK);
  assert_int_equal(output.len, 3000000);
  assert_int_equal(code, 0);
  hd_strbuf_free(&output);
}

static void signals_are_codes_above_128(void **state) {
  (void)state;
  int code = -1;
  assert_int_equal(run("kill -9 $$", 10, NULL, &code), HEDDLE_OK);
  assert_int_equal(code, 128 + SIGKILL);
}

/* Signals blocked in the calling program are not blocked in its children, so these can be ended. */
static void no_signal_is_blocked_in_a_child(void **state) {
  (void)state;
  int code = -1;
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  heddle_status status = run("kill -TERM $$; echo alive", 10, NULL, &code);
  sigprocmask(SIG_SETMASK, &before, NULL);
  assert_int_equal(status, HEDDLE_OK);
  assert_int_equal(code, 128 + SIGTERM);
}

/* A child reads and writes files in memory by their paths. It does not inherit other files. */
static void files_in_memory(void **state) {
  (void)state;
  hd_memory_file file[3];
  hd_strbuf script = {0}, output = {0};
  char *data;
  size_t n = 0;
  int code = -1;
  assert_int_equal(hd_memory_file_create(NULL, "in", "seven\n", 6, &file[0]), HEDDLE_OK);
  assert_int_equal(hd_memory_file_create(NULL, "out", NULL, 0, &file[1]), HEDDLE_OK);
  assert_int_equal(hd_memory_file_create(NULL, "other", "x", 1, &file[2]), HEDDLE_OK);
  hd_strbuf_printf(&script, "cat %s %s > %s; test ! -e %s", file[0].path, file[0].path,
                   file[1].path, file[2].path);
  const char *const argv[] = {"sh", "-c", script.text, NULL};
  assert_int_equal(hd_process_run_with(NULL, argv, file, 2, 10, &output, &code), HEDDLE_OK);
  assert_int_equal(code, 0);
  assert_int_equal(hd_file_read(NULL, file[1].path, &data, &n), HEDDLE_OK);
  assert_string_equal(data, "seven\nseven\n");
  for (int i = 0; i < 3; i++)
    hd_memory_file_close(&file[i]);
  free(data);
  hd_strbuf_free(&script);
  hd_strbuf_free(&output);
}

static void a_scratch_folder_goes_when_closed(void **state) {
  (void)state;
  hd_scratch scratch;
  hd_strbuf inside = {0};
  assert_int_equal(hd_scratch_open(NULL, folder, &scratch), HEDDLE_OK);
  hd_strbuf_printf(&inside, "%s/a/b", scratch.path);
  assert_int_equal(hd_file_mkdirs(NULL, inside.text), HEDDLE_OK);
  char *path = strdup(scratch.path);
  hd_scratch_close(&scratch);
  assert_int_not_equal(access(path, F_OK), 0);
  hd_scratch_close(&scratch);
  assert_int_equal(hd_scratch_open(NULL, "/no/such/folder", &scratch), HEDDLE_NOT_FOUND);
  free(path);
  hd_strbuf_free(&inside);
}

static void time_runs_out(void **state) {
  (void)state;
  int code = 55;
  double start = hd_clock_seconds();
  const char *const argv[] = {"sleep", "30", NULL};
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_process_run(ctx, argv, 0.2, NULL, &code), HEDDLE_ENVIRONMENT);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "process.timeout");
  heddle_context_free(ctx);
  assert_int_equal(run("yes", 0.2, NULL, &code), HEDDLE_ENVIRONMENT);
  assert_int_equal(run("exec >&- 2>&-; sleep 30", 0.2, NULL, &code), HEDDLE_ENVIRONMENT);
  assert_int_equal(code, 55);
  assert_true(hd_clock_seconds() - start < 15);
}

static void a_host_that_ignores_its_children_is_told(void **state) {
  (void)state;
  const char *const argv[] = {"true", NULL};
  int code = 55;
  heddle_context *ctx = heddle_context_create();
  void (*before)(int) = signal(SIGCHLD, SIG_IGN);
  heddle_status status = hd_process_run(ctx, argv, 10, NULL, &code);
  signal(SIGCHLD, before);
  assert_int_equal(status, HEDDLE_ENVIRONMENT);
  assert_int_equal(code, 55);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "process.wait");
  heddle_context_free(ctx);
}

/* A time-out also ends the processes that the child started. */
static void a_time_out_ends_the_whole_group(void **state) {
  (void)state;
  char *mark = in_folder("mark");
  hd_strbuf script = {0};
  int code;
  hd_strbuf_printf(&script, "(sleep 0.5; touch %s) & sleep 30", mark);
  assert_int_equal(run(script.text, 0.1, NULL, &code), HEDDLE_ENVIRONMENT);
  usleep(900 * 1000);
  assert_int_not_equal(access(mark, F_OK), 0);
  hd_strbuf_free(&script);
  free(mark);
}

static void a_child_left_behind_does_not_hold_us(void **state) {
  (void)state;
  int code = -1;
  double start = hd_clock_seconds();
  assert_int_equal(run("sleep 20 & exit 3", 0, NULL, &code), HEDDLE_OK);
  assert_int_equal(code, 3);
  assert_true(hd_clock_seconds() - start < 10);
}

static void a_limited_process_ends(void **state) {
  (void)state;
  heddle_context *ctx = heddle_context_create();
  int how = 0;
  pid_t pid = fork();
  if (pid == 0) {
    alarm(60); /* the signal can be late on virtual machines, once by over a second */
    if (hd_process_limit(NULL, 0.05, (size_t)1 << 40) == HEDDLE_OK)
      for (volatile unsigned i = 0;; i++)
        ;
    _exit(1);
  }
  assert_int_equal(waitpid(pid, &how, 0), pid);
  assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGPROF);
  assert_int_equal(hd_process_limit(ctx, -1, 0), HEDDLE_ENVIRONMENT);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "process.limit");
  heddle_context_free(ctx);
}

static void a_process_is_below_its_ancestors(void **state) {
  (void)state;
  pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  assert_true(hd_process_is_below(child, child));
  assert_true(hd_process_is_below(child, getpid()));
  assert_true(hd_process_is_below(child, getppid()));
  assert_false(hd_process_is_below(getpid(), child));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  assert_false(hd_process_is_below(child, getpid())); /* it has ended */
}

static void what_cannot_start_is_an_error(void **state) {
  (void)state;
  const char *const argv[] = {"heddle-no-such-program", NULL};
  int code;
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_process_run(ctx, argv, 1, NULL, &code), HEDDLE_ENVIRONMENT);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "process.start");
  heddle_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(output_and_exit_code),
      cmocka_unit_test(long_output_arrives_whole),
      cmocka_unit_test(signals_are_codes_above_128),
      cmocka_unit_test(no_signal_is_blocked_in_a_child),
      cmocka_unit_test(files_in_memory),
      IN_FOLDER(a_scratch_folder_goes_when_closed),
      cmocka_unit_test(time_runs_out),
      cmocka_unit_test(a_host_that_ignores_its_children_is_told),
      IN_FOLDER(a_time_out_ends_the_whole_group),
      cmocka_unit_test(a_child_left_behind_does_not_hold_us),
      cmocka_unit_test(a_limited_process_ends),
      cmocka_unit_test(a_process_is_below_its_ancestors),
      cmocka_unit_test(what_cannot_start_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
