/* Files, and the store of blobs. */
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
#include "Support/blob.h"
#include "Support/file.h"
#include "own_folder.h"

static void write_then_read(void **state) {
  (void)state;
  char *path = in_folder("f"), *data;
  size_t n;
  for (size_t size = 0; size < 300000; size = size * 3 + 1) {
    char *bytes = calloc(size + 1, 1);
    memset(bytes, 'x', size);
    assert_int_equal(hd_file_write(NULL, path, bytes, size), HEDDLE_OK);
    assert_int_equal(hd_file_read(NULL, path, &data, &n), HEDDLE_OK);
    assert_int_equal(n, size);
    assert_memory_equal(data, bytes, size + 1);
    free(data);
    free(bytes);
  }
  struct stat st;
  assert_int_equal(stat(path, &st), 0);
  mode_t mask = umask(0);
  umask(mask);
  assert_int_equal(st.st_mode & 0777, 0666 & ~mask);
  free(path);
}

/* The first byte is the size of the file in units of 3 MiB. 0 is refused. */
static heddle_status size_of_head(heddle_context *ctx, const char *path, const void *head,
                                  size_t n_bytes, size_t *whole_bytes) {
  (void)ctx, (void)path;
  assert_true(n_bytes > 0 && n_bytes <= HD_FILE_HEAD_BYTES + 1);
  *whole_bytes = (size_t)((const uint8_t *)head)[0] * (3 << 20);
  return *whole_bytes ? HEDDLE_OK : HEDDLE_INVALID;
}

static void a_sized_file_is_read_as_far_as_it_should(void **state) {
  (void)state;
  char *path = in_folder("sized"), *data, *bytes = calloc(7 << 20, 1);
  const struct {
    size_t size;
    char first;
    heddle_status expected;
  } cases[] = {{1, 1, HEDDLE_OK},
               {HD_FILE_HEAD_BYTES, 1, HEDDLE_OK},
               {3 << 20, 1, HEDDLE_OK},
               {(3 << 20) + 1, 1, HEDDLE_INVALID},
               {7 << 20, 2, HEDDLE_INVALID},
               {5 << 20, 0, HEDDLE_INVALID}};
  for (size_t i = 0; i < HD_COUNT(cases); i++) {
    size_t n = 0;
    bytes[0] = cases[i].first;
    assert_int_equal(hd_file_write(NULL, path, bytes, cases[i].size), HEDDLE_OK);
    assert_int_equal(hd_file_read_sized(NULL, path, size_of_head, &data, &n), cases[i].expected);
    if (cases[i].expected != HEDDLE_OK)
      continue;
    assert_int_equal(n, cases[i].size);
    assert_memory_equal(data, bytes, n);
    assert_int_equal(data[n], 0);
    free(data);
  }
  assert_int_equal(hd_file_read_sized(NULL, "/dev/zero", size_of_head, &data, &(size_t){0}),
                   HEDDLE_INVALID);
  free(bytes);
  free(path);
}

static void exact_bytes_and_heads(void **state) {
  (void)state;
  char *path = in_folder("five"), *none = in_folder("nothing"), got[8] = "........";
  assert_int_equal(hd_file_write(NULL, path, "12345", 5), HEDDLE_OK);
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_file_read_bytes(ctx, path, got, 5), HEDDLE_OK);
  assert_memory_equal(got, "12345...", 8);
  assert_int_equal(hd_file_read_bytes(ctx, path, got, 6), HEDDLE_INVALID);
  assert_int_equal(hd_file_read_bytes(ctx, path, got, 4), HEDDLE_INVALID);
  assert_int_equal(hd_file_read_bytes(ctx, "/dev/zero", got, 8), HEDDLE_INVALID);
  for (size_t i = 0; i < 3; i++)
    assert_string_equal(heddle_context_get(ctx, i)->rule, "file.bytes");
  assert_memory_equal(got, "12345...", 8);
  assert_int_equal(hd_file_read_head(path, got, 3), 3);
  assert_int_equal(hd_file_read_head(path, got, 8), 5);
  assert_int_equal(hd_file_read_head("/dev/zero", got, 8), 0);
  assert_int_equal(hd_file_read_head(none, got, 8), 0);
  heddle_context_free(ctx);
  free(none);
  free(path);
}

static void errors_name_the_file(void **state) {
  (void)state;
  char *missing = in_folder("none/f"), *data;
  size_t n;
  heddle_context *ctx = heddle_context_create();
  assert_int_equal(hd_file_read(ctx, missing, &data, &n), HEDDLE_NOT_FOUND);
  assert_string_equal(heddle_context_get(ctx, 0)->file, missing);
  assert_int_equal(hd_file_write(ctx, missing, "x", 1), HEDDLE_NOT_FOUND);
  assert_int_equal(hd_file_read(ctx, folder, &data, &n), HEDDLE_ENVIRONMENT);
  heddle_context_free(ctx);
  free(missing);
}

static void folders_are_made_with_parents(void **state) {
  (void)state;
  char *deep = in_folder("a/b/c"), *file = in_folder("f"), *under = in_folder("f/g");
  assert_int_equal(hd_file_mkdirs(NULL, deep), HEDDLE_OK);
  assert_int_equal(hd_file_mkdirs(NULL, deep), HEDDLE_OK);
  assert_int_equal(access(deep, W_OK), 0);
  assert_int_equal(hd_file_write(NULL, file, "x", 1), HEDDLE_OK);
  assert_int_equal(hd_file_mkdirs(NULL, under), HEDDLE_ENVIRONMENT);
  assert_int_equal(hd_file_mkdirs(NULL, file), HEDDLE_ENVIRONMENT);
  assert_int_equal(hd_file_remove(NULL, deep), HEDDLE_OK);
  assert_int_equal(hd_file_remove(NULL, deep), HEDDLE_OK);
  free(under);
  free(file);
  free(deep);
}

/* A path that cannot be replaced by a rename is written directly. Its reader gets all of the
 * data. */
static void a_pipe_stays_a_pipe(void **state) {
  (void)state;
  enum { N = 300000 }; /* more than a pipe buffer, and more than one read */
  char *path = in_folder("pipe"), *sent = malloc(N), *data = NULL;
  size_t n = 0;
  int code;
  struct stat st;
  for (int i = 0; i < N; i++)
    sent[i] = (char)(i % 251);
  assert_int_equal(mkfifo(path, 0600), 0);
  pid_t writer = fork();
  if (writer == 0)
    _exit(hd_file_write(NULL, path, sent, N) != HEDDLE_OK);
  assert_int_equal(hd_file_read(NULL, path, &data, &n), HEDDLE_OK);
  assert_int_equal(waitpid(writer, &code, 0), writer);
  assert_int_equal(code, 0);
  assert_int_equal(n, N);
  assert_memory_equal(data, sent, N);
  assert_int_equal(stat(path, &st), 0);
  assert_true(S_ISFIFO(st.st_mode));
  free(data);
  free(sent);
  free(path);
}

static int n_entries(const char *path) {
  DIR *dir = opendir(path);
  int n = 0;
  while (readdir(dir))
    n++;
  closedir(dir);
  return n - 2; /* without . and .. */
}

/* A full disk: the file does not change, and no temporary file remains. */
static void a_failed_write_leaves_nothing(void **state) {
  (void)state;
  char *path = in_folder("f"), *data;
  char zeros[100] = {0};
  size_t n;
  struct rlimit was, least;
  assert_int_equal(hd_file_write(NULL, path, "old", 3), HEDDLE_OK);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
  least = (struct rlimit){50, was.rlim_max};
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
  heddle_status status = hd_file_write(NULL, path, zeros, sizeof zeros);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
  signal(SIGXFSZ, handler);
  assert_int_equal(status, HEDDLE_ENVIRONMENT);
  assert_int_equal(n_entries(folder), 1);
  assert_int_equal(hd_file_read(NULL, path, &data, &n), HEDDLE_OK);
  assert_string_equal(data, "old");
  free(data);
  free(path);
}

static int count_files(void) {
  DIR *dir = opendir(folder);
  int n = 0;
  for (struct dirent *entry; (entry = readdir(dir));)
    n += entry->d_name[0] != '.';
  closedir(dir);
  return n;
}

enum { SET_BYTES = 60000 };

/* Writes two files that consist of the same letter. */
static void write_letters(const char *first, const char *last, int letter) {
  static char bytes[SET_BYTES];
  memset(bytes, letter, sizeof bytes);
  const hd_file_part set[] = {{first, bytes, sizeof bytes, false},
                              {last, bytes, sizeof bytes, false}};
  assert_int_equal(hd_file_write_set(NULL, set, 2), HEDDLE_OK);
}

/* Returns the letter of which the whole file consists; 0: the file is missing. */
static int letter_of(const char *path) {
  char *data;
  size_t n;
  if (hd_file_read(NULL, path, &data, &n) != HEDDLE_OK)
    return 0;
  int letter = data[0];
  assert_int_equal(n, SET_BYTES);
  for (size_t i = 0; i < n; i++)
    assert_int_equal(data[i], letter);
  free(data);
  return letter;
}

/* The writer may be killed at any time: each file is complete, the last one is never newer than the
 * first, and after the next write no other files remain. */
static void a_killed_writer_leaves_whole_files(void **state) {
  (void)state;
  char *first = in_folder("first"), *last = in_folder("last");
  for (int i = 0; i < 100; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      for (int letter = 'a'; letter <= 'z'; letter++)
        write_letters(first, last, letter);
      _exit(0);
    }
    usleep((useconds_t)(i * 37));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(letter_of(first) >= letter_of(last));
    write_letters(first, last, 'A');
    assert_int_equal(count_files(), 2);
    unlink(first);
    unlink(last);
  }
  free(first);
  free(last);
}

/* Temporary files of a killed writer are removed. Those that a running writer has locked remain. */
static void temporaries_of_the_dead_are_collected(void **state) {
  (void)state;
  char *path = in_folder("f"), *dead = in_folder("f.0.tmp"), *living = in_folder("f.1.tmp");
  assert_int_equal(hd_file_write(NULL, dead, "x", 1), HEDDLE_OK);
  assert_int_equal(hd_file_write(NULL, living, "x", 1), HEDDLE_OK);
  int fd = open(living, O_RDONLY);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  assert_int_equal(hd_file_write(NULL, path, "y", 1), HEDDLE_OK);
  assert_int_equal(access(dead, F_OK), -1);
  assert_int_equal(access(living, F_OK), 0);
  close(fd);
  assert_int_equal(hd_file_write(NULL, path, "y", 1), HEDDLE_OK);
  assert_int_equal(count_files(), 1);
  free(path), free(dead), free(living);
}

/* If one part cannot be written, no file of the set changes. A part without data removes its
 * file. */
static void a_set_is_written_whole_or_not(void **state) {
  (void)state;
  char *first = in_folder("f"), *nowhere = in_folder("none/g"), *gone = in_folder("h"), *data;
  size_t n;
  assert_int_equal(hd_file_write(NULL, first, "old", 3), HEDDLE_OK);
  assert_int_equal(hd_file_write(NULL, gone, "old", 3), HEDDLE_OK);
  const hd_file_part bad[] = {{first, "new", 3, false},
                              {gone, NULL, 0, false},
                              {nowhere, "new", 3, false}};
  assert_int_equal(hd_file_write_set(NULL, bad, 3), HEDDLE_NOT_FOUND);
  assert_int_equal(count_files(), 2);
  assert_int_equal(hd_file_read(NULL, first, &data, &n), HEDDLE_OK);
  assert_string_equal(data, "old");
  free(data);
  assert_int_equal(hd_file_write_set(NULL, bad, 2), HEDDLE_OK);
  assert_int_equal(count_files(), 1);
  free(first), free(nowhere), free(gone);
}

static void removing_follows_no_link(void **state) {
  (void)state;
  char *kept = in_folder("kept"), *file = in_folder("kept/f"), *gone = in_folder("gone");
  char *link = in_folder("gone/link");
  assert_int_equal(hd_file_mkdirs(NULL, kept), HEDDLE_OK);
  assert_int_equal(hd_file_mkdirs(NULL, gone), HEDDLE_OK);
  assert_int_equal(hd_file_write(NULL, file, "x", 1), HEDDLE_OK);
  assert_int_equal(symlink(kept, link), 0);
  assert_int_equal(hd_file_remove(NULL, gone), HEDDLE_OK);
  assert_int_not_equal(access(gone, F_OK), 0);
  assert_int_equal(access(file, F_OK), 0);
  free(link);
  free(gone);
  free(file);
  free(kept);
}

/* ---- blobs ---- */

static char *find_entry(hd_hash key) {
  char digits[33];
  hd_hash_format(key, digits);
  hd_strbuf path = {0};
  hd_strbuf_printf(&path, "%s/store/%.2s/%s", folder, digits, digits + 2);
  return hd_strbuf_take(&path);
}

static heddle_status fetch(hd_hash key, size_t *n) {
  char *store = in_folder("store");
  void *data = NULL;
  heddle_status status = hd_blob_get(store, key, &data, n);
  free(data);
  free(store);
  return status;
}

static void keep(hd_hash key, const void *data, size_t n) {
  char *store = in_folder("store");
  assert_int_equal(hd_blob_put(NULL, store, key, data, n), HEDDLE_OK);
  free(store);
}

static void blobs_come_back(void **state) {
  (void)state;
  hd_hash key = hd_hash_bytes("key", 3);
  size_t n = 99;
  assert_int_equal(fetch(key, &n), HEDDLE_NOT_FOUND);
  keep(key, "hello", 5);
  assert_int_equal(fetch(key, &n), HEDDLE_OK);
  assert_int_equal(n, 5);
  keep(key, "", 0);
  assert_int_equal(fetch(key, &n), HEDDLE_OK);
  assert_int_equal(n, 0);
}

/* Every byte flipped and every length truncated: always a miss, and the entry is removed. */
static void a_bad_entry_is_a_miss(void **state) {
  (void)state;
  hd_hash key = hd_hash_bytes("key", 3);
  char *path = find_entry(key), *good;
  size_t n_bytes, n;
  keep(key, "hello", 5);
  assert_int_equal(hd_file_read(NULL, path, &good, &n_bytes), HEDDLE_OK);
  for (size_t i = 0; i < 2 * n_bytes; i++) {
    bool flip = i < n_bytes;
    if (flip)
      good[i] ^= 0x10;
    assert_int_equal(hd_file_write(NULL, path, good, flip ? n_bytes : i - n_bytes), HEDDLE_OK);
    assert_int_equal(fetch(key, &n), HEDDLE_NOT_FOUND);
    assert_int_not_equal(access(path, F_OK), 0);
    if (flip)
      good[i] ^= 0x10;
  }
  free(good);
  free(path);
}

/* An entry becomes code that is executed, so an entry that another user may have written is not
 * used. */
static void what_others_may_write_is_no_entry(void **state) {
  (void)state;
  hd_hash key = hd_hash_bytes("key", 3);
  char *path = find_entry(key), *store = in_folder("store"), *real = in_folder("real");
  heddle_context *ctx = heddle_context_create();
  size_t n;
  mode_t mask = umask(0);
  keep(key, "hello", 5);
  umask(mask);
  assert_int_equal(fetch(key, &n), HEDDLE_OK); /* with any umask */
  assert_int_equal(chmod(path, 0664), 0);
  assert_int_equal(fetch(key, &n), HEDDLE_NOT_FOUND);
  assert_int_equal(chmod(path, 0644), 0);
  assert_int_equal(chmod(store, 0777), 0);
  assert_int_equal(fetch(key, &n), HEDDLE_NOT_FOUND);
  assert_int_equal(hd_blob_put(ctx, store, key, "x", 1), HEDDLE_ENVIRONMENT);
  assert_string_equal(heddle_context_get(ctx, 0)->rule, "blob.folder");
  assert_int_equal(chmod(store, 0755), 0);
  assert_int_equal(fetch(key, &n), HEDDLE_OK);
  if (geteuid() == 0) { /* owned by another user */
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_int_equal(fetch(key, &n), HEDDLE_NOT_FOUND);
    assert_int_equal(chown(path, 0, 0), 0);
  }
  assert_int_equal(rename(path, real), 0);
  assert_int_equal(symlink(real, path), 0);
  assert_int_equal(fetch(key, &n), HEDDLE_NOT_FOUND);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkfifo(path, 0644), 0); /* does not block */
  assert_int_equal(fetch(key, &n), HEDDLE_NOT_FOUND);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rename(real, path), 0);
  assert_int_equal(truncate(path, (off_t)1 << 40), 0);
  assert_int_equal(fetch(key, &n), HEDDLE_NOT_FOUND);
  heddle_context_free(ctx);
  free(path), free(store), free(real);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(write_then_read),
      IN_FOLDER(a_sized_file_is_read_as_far_as_it_should),
      IN_FOLDER(exact_bytes_and_heads),
      IN_FOLDER(errors_name_the_file),
      IN_FOLDER(folders_are_made_with_parents),
      IN_FOLDER(a_pipe_stays_a_pipe),
      IN_FOLDER(a_failed_write_leaves_nothing),
      IN_FOLDER(a_killed_writer_leaves_whole_files),
      IN_FOLDER(temporaries_of_the_dead_are_collected),
      IN_FOLDER(a_set_is_written_whole_or_not),
      IN_FOLDER(removing_follows_no_link),
      IN_FOLDER(blobs_come_back),
      IN_FOLDER(a_bad_entry_is_a_miss),
      IN_FOLDER(what_others_may_write_is_no_entry),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
