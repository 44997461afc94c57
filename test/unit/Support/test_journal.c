/* Journals and locks. Acknowledged entries survive the end of the process at any system call and
 * after any byte. A full disk does not change the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/journal.h"
#include "Support/lock.h"

/* The context of a call. expect_rule requires its first error to have that rule, and clears it. */
static heddle_context *ctx;

static void expect_rule(const char *rule) {
  assert_true(heddle_context_get(ctx, 0) != NULL);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, rule);
  heddle_context_clear(ctx);
}

/* ---- system calls ---- */

static struct {
  int until;   /* calls before the fault; -1: no fault */
  size_t torn; /* bytes written by the interrupted write */
  bool full;   /* instead of ending, the disk is full */
} fault = {.until = -1};

static bool comes(void) {
  return fault.until >= 0 && fault.until-- == 0;
}

ssize_t __real_pwrite(int fd, const void *data, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at) {
  if (!comes())
    return __real_pwrite(fd, data, n, at);
  ssize_t written = __real_pwrite(fd, data, fault.torn < n ? fault.torn : n, at);
  if (!fault.full)
    _exit(0);
  fault.until = 0;
  errno = ENOSPC;
  return written > 0 && fault.torn < n ? written : -1;
}

/* The disk itself is not tested. */
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
  (void)fd;
  if (comes())
    _exit(0);
  return 0;
}

int __real_ftruncate(int fd, off_t n);
int __wrap_ftruncate(int fd, off_t n);
int __wrap_ftruncate(int fd, off_t n) {
  if (!fault.full && comes())
    _exit(0);
  return __real_ftruncate(fd, n);
}

/* ---- one process ---- */

enum { ENTRIES = 60, DROP_EVERY = 7 };
static char *folder, path[256];

/* Entry i: its number, then i bytes. */
static size_t make_entry(int i, char out[ENTRIES + 16]) {
  int n = sprintf(out, "%d ", i);
  memset(out + n, 'a' + i % 26, (size_t)i);
  return (size_t)n + (size_t)i;
}

/* Reports to the pipe. +I: entry I was acknowledged; -N: the first N entries are about to be
 * dropped. */
static void live(int tell) {
  hd_journal *j;
  char data[ENTRIES + 16];
  if (hd_journal_open(NULL, path, &j) != HEDDLE_OK)
    _exit(2);
  for (int i = 0; i < ENTRIES; i++) {
    if (hd_journal_add(NULL, j, data, make_entry(i, data)) != HEDDLE_OK)
      _exit(3);
    dprintf(tell, "+%d\n", i);
    if (i % DROP_EVERY == DROP_EVERY - 1) {
      size_t n = i % 2 ? hd_journal_count(j) : hd_journal_count(j) / 2;
      dprintf(tell, "-%zu\n", n);
      if (hd_journal_drop(NULL, j, n) != HEDDLE_OK)
        _exit(4);
    }
  }
  hd_journal_close(j);
  _exit(1); /* no fault occurred */
}

/* Reads the report: the last acknowledged entry, and the first entry that was not dropped. */
static void read_told(int fd, int *last, int *first) {
  char text[4096];
  size_t len = 0;
  for (ssize_t n; (n = read(fd, text + len, sizeof text - 1 - len)) > 0;)
    len += (size_t)n;
  text[len] = '\0';
  *last = -1;
  *first = 0;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    if (*line == '+')
      *last = atoi(line + 1);
    else
      *first += atoi(line + 1);
}

static void check_survivors(int last, int first) {
  hd_journal *j;
  char expected[ENTRIES + 16];
  assert_int_equal(hd_journal_open(NULL, path, &j), HEDDLE_OK);
  int n = (int)hd_journal_count(j), begin = n ? atoi(hd_journal_get(j, 0, NULL)) : last + 1;
  assert_true(begin <= first); /* dropped entries may reappear; no others may be missing */
  assert_true(begin + n >= last + 1 &&
              begin + n <= last + 2); /* one may be stored but not acknowledged */
  for (int i = 0; i < n; i++) {
    size_t n_bytes, n_expected = make_entry(begin + i, expected);
    const char *data = hd_journal_get(j, (size_t)i, &n_bytes);
    assert_int_equal(n_bytes, n_expected);
    assert_memory_equal(data, expected, n_expected);
  }
  assert_int_equal(hd_journal_add(NULL, j, "more", 4), HEDDLE_OK); /* the journal still works */
  hd_journal_close(j);
  assert_int_equal(hd_journal_open(NULL, path, &j), HEDDLE_OK);
  assert_int_equal(hd_journal_count(j), n + 1);
  hd_journal_close(j);
}

/* Returns true if the process ended before the fault. */
static bool die_at(int call, size_t torn) {
  int tell[2], status, last, first;
  unlink(path);
  assert_int_equal(pipe(tell), 0);
  pid_t pid = fork();
  if (pid == 0) {
    fault.until = call;
    fault.torn = torn;
    live(tell[1]);
  }
  close(tell[1]);
  read_told(tell[0], &last, &first);
  close(tell[0]);
  waitpid(pid, &status, 0);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
  check_survivors(last, first);
  return WEXITSTATUS(status) == 1;
}

static size_t torn_step = 11; /* `unit-journal all`: 1 */

static void it_may_end_at_any_call(void **state) {
  (void)state;
  int n_points = 0;
  for (size_t torn = 0; torn < 80; torn += torn_step)
    for (int call = 0; !die_at(call, torn); call++)
      n_points++;
  print_message("ended at %d points\n", n_points);
  assert_true(n_points >= 120 * 80 / (int)torn_step);
}

/* ---- faults of the disk ---- */

static size_t file_bytes(void) {
  struct stat st;
  return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

static void a_full_disk_changes_nothing(void **state) {
  (void)state;
  for (size_t torn = 0; torn < 40; torn++) {
    hd_journal *j;
    unlink(path);
    assert_int_equal(hd_journal_open(NULL, path, &j), HEDDLE_OK);
    assert_int_equal(hd_journal_add(NULL, j, "first", 5), HEDDLE_OK);
    size_t before = file_bytes();
    fault.until = 0;
    fault.torn = torn;
    fault.full = true;
    assert_int_equal(hd_journal_add(ctx, j, "a second entry, longer", 22), HEDDLE_ENVIRONMENT);
    expect_rule("journal.io");
    fault.until = -1;
    fault.full = false;
    assert_int_equal(file_bytes(), before);
    assert_int_equal(hd_journal_count(j), 1);
    assert_int_equal(hd_journal_add(NULL, j, "third", 5), HEDDLE_OK);
    hd_journal_close(j);
    assert_int_equal(hd_journal_open(NULL, path, &j), HEDDLE_OK);
    assert_int_equal(hd_journal_count(j), 2);
    assert_string_equal(hd_journal_get(j, 1, NULL), "third");
    hd_journal_close(j);
  }
}

/* Changes each byte of a file with three entries: the two other entries are still read. */
static void damage_costs_the_damaged(void **state) {
  (void)state;
  static const char *const text[] = {"the first", "the second one", "the third"};
  for (size_t at = 0, end = 1; at < end; at++) {
    hd_journal *j;
    unlink(path);
    assert_int_equal(hd_journal_open(NULL, path, &j), HEDDLE_OK);
    for (int i = 0; i < 3; i++)
      assert_int_equal(hd_journal_add(NULL, j, text[i], strlen(text[i])), HEDDLE_OK);
    hd_journal_close(j);
    end = file_bytes();
    char *data;
    size_t n_bytes;
    assert_int_equal(hd_file_read(NULL, path, &data, &n_bytes), HEDDLE_OK);
    data[at] ^= 0x10;
    assert_int_equal(hd_file_write(NULL, path, data, n_bytes), HEDDLE_OK);
    free(data);
    assert_int_equal(hd_journal_open(ctx, path, &j), HEDDLE_OK);
    if (heddle_context_get(ctx, 0)) /* damage in the last entry looks like a torn write */
      expect_rule("journal.damaged");
    assert_int_equal(hd_journal_count(j), 2);
    for (size_t i = 0, k = 0; i < 2; i++, k++) {
      const char *got = hd_journal_get(j, i, NULL);
      k += strcmp(got, text[k]) != 0;
      assert_string_equal(got, text[k]);
    }
    hd_journal_close(j);
  }
}

static void one_process_at_a_time(void **state) {
  (void)state;
  hd_journal *j, *other;
  unlink(path);
  assert_int_equal(hd_journal_open(NULL, path, &j), HEDDLE_OK);
  assert_int_equal(hd_journal_open(ctx, path, &other), HEDDLE_ENVIRONMENT);
  expect_rule("journal.lock");
  hd_journal_close(j);
  assert_int_equal(hd_journal_open(NULL, path, &other), HEDDLE_OK);
  static char big[HD_JOURNAL_MOST_BYTES + 1];
  assert_int_equal(hd_journal_add(ctx, other, big, sizeof big), HEDDLE_INVALID);
  expect_rule("journal.bytes");
  assert_int_equal(hd_journal_add(NULL, other, big, sizeof big - 1), HEDDLE_OK);
  hd_journal_close(other);
}

/* ---- locks ---- */

static void children_hold_a_lock_too(void **state) {
  (void)state;
  hd_lock lock = {-1}, again = {-1};
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  assert_int_equal(hd_lock_take(NULL, path, &lock), HEDDLE_OK);
  assert_int_equal(hd_lock_take(NULL, path, &again), HEDDLE_NOT_FOUND);
  pid_t pid = fork();
  if (pid == 0) {
    char byte;
    close(ready[1]);
    (void)!read(ready[0], &byte, 1);
    _exit(0);
  }
  close(ready[0]);
  hd_lock_free(&lock);
  assert_int_equal(hd_lock_take(NULL, path, &again), HEDDLE_NOT_FOUND);
  close(ready[1]);
  waitpid(pid, NULL, 0);
  assert_int_equal(hd_lock_take(NULL, path, &again), HEDDLE_OK);
  hd_lock_free(&again);
  assert_int_equal(hd_lock_take(ctx, "/nowhere/lock", &again), HEDDLE_ENVIRONMENT);
  expect_rule("lock.file");
}

static int make_folder(void **state) {
  (void)state;
  ctx = heddle_context_create();
  if (hd_file_tempdir(NULL, getenv("TMPDIR"), &folder) != HEDDLE_OK)
    return -1;
  snprintf(path, sizeof path, "%s/journal", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  hd_file_remove(NULL, folder);
  heddle_context_free(ctx);
  free(folder);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "all") == 0)
    torn_step = 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_may_end_at_any_call),   cmocka_unit_test(a_full_disk_changes_nothing),
      cmocka_unit_test(damage_costs_the_damaged), cmocka_unit_test(one_process_at_a_time),
      cmocka_unit_test(children_hold_a_lock_too),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
