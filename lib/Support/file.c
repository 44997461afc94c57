#include "Support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "Support/arena.h"
#include "Support/diag.h"

enum { READ_STEP = 64 * 1024, MAX_OPEN_DIRS = 16 };

static heddle_status io_error(heddle_context *ctx, const char *path, const char *what) {
  int code = errno;
  heddle_status status = code == ENOENT ? HEDDLE_NOT_FOUND : HEDDLE_ENVIRONMENT;
  hd_loc loc = {.file = path};
  if (code == ENOMEM)
    return hd_error(ctx, HEDDLE_NO_MEMORY, loc, "memory.size", "no memory to %s it", what);
  return hd_error(ctx, status, loc, "file.io", "cannot %s: %s", what, strerror(code));
}

/* A file that is being read. One of the cap bytes is reserved for the NUL. */
typedef struct reading {
  int fd;
  char *data; /* owned */
  size_t cap, len;
} reading;

/* The initial buffer size, from stat; pipes and devices have no size. */
static size_t expected_bytes(int fd, size_t most) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
    return READ_STEP;
  return (size_t)st.st_size < most ? (size_t)st.st_size : most;
}

static bool reserve(reading *r, size_t cap) {
  char *larger = realloc(r->data, cap);
  if (!larger)
    return false;
  r->data = larger;
  r->cap = cap;
  return true;
}

/* Continues to read to the end of the file, or to one byte past `most`. */
static bool read_on(reading *r, size_t most) {
  size_t expected = expected_bytes(r->fd, most) + 2;
  if (expected > r->cap && !reserve(r, expected))
    return false;
  while (r->len <= most) {
    if (r->cap - r->len < 2 && !reserve(r, 2 * r->cap))
      return false;
    size_t space = r->cap - r->len - 1, left = most - r->len + 1;
    ssize_t n = read(r->fd, r->data + r->len, space < left ? space : left);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    if (n == 0)
      break;
    r->len += (size_t)n;
  }
  r->data[r->len] = 0;
  return true;
}

/* The kind of limit, for the message about a file that is too long: a text, any bytes, a size from
 * the header, an exact size. */
typedef enum limit { TEXT, BYTES, HEADER, EXACT } limit;

static heddle_status refuse_more(heddle_context *ctx, const char *path, limit of, size_t most) {
  hd_loc loc = {.file = path};
  if (of == TEXT)
    return hd_error(ctx, HEDDLE_INVALID, loc, "text.size",
                    "the text is too long; legal: up to %zu bytes", most);
  if (of == HEADER)
    return hd_error(ctx, HEDDLE_INVALID, loc, "file.tail",
                    "the file has more bytes than its header says; legal: %zu", most);
  return hd_error(ctx, HEDDLE_INVALID, loc, "file.bytes",
                  "the file is too long; legal: %s%zu bytes",
                  of == BYTES ? "up to " : "", most);
}

/* The sizer, if any, gets the first bytes before anything else is read, and sets the whole size. */
static heddle_status read_sized(heddle_context *ctx, const char *path, limit of,
                                 hd_file_sizer *sizer, size_t most, reading *r) {
  if (sizer) {
    if (!read_on(r, HD_FILE_HEAD_BYTES))
      return io_error(ctx, path, "read");
    HD_TRY(sizer(ctx, path, r->data, r->len, &most));
  }
  bool ended = sizer && r->len <= HD_FILE_HEAD_BYTES;
  if (!ended && !read_on(r, most))
    return io_error(ctx, path, "read");
  return r->len > most ? refuse_more(ctx, path, of, most) : HEDDLE_OK;
}

static heddle_status read_path(heddle_context *ctx, const char *path, limit of,
                               hd_file_sizer *sizer, size_t most, char **data, size_t *n_bytes) {
  bool standard = strcmp(path, "-") == 0;
  reading r = {.fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)};
  if (r.fd < 0)
    return io_error(ctx, path, "open for reading");
  heddle_status status = read_sized(ctx, path, of, sizer, most, &r);
  if (!standard)
    close(r.fd);
  if (status != HEDDLE_OK) {
    hd_free(r.data);
    return status;
  }
  *data = r.data;
  *n_bytes = r.len;
  return HEDDLE_OK;
}

heddle_status hd_file_read(heddle_context *ctx, const char *path, char **data, size_t *n_bytes) {
  return hd_file_read_most(ctx, path, SIZE_MAX - 2, data, n_bytes);
}

heddle_status hd_file_read_most(heddle_context *ctx, const char *path, size_t most, char **data,
                                size_t *n_bytes) {
  return read_path(ctx, path, BYTES, NULL, most, data, n_bytes);
}

/* A mark is invisible: an error about the word after it would seem to quote a legal word. */
static heddle_status refuse_mark(heddle_context *ctx, const char *path, const char *text) {
  static const struct {
    const char *bytes, *name;
  } marks[] = {{"\xef\xbb\xbf", "EF BB BF"}, {"\xff\xfe", "FF FE"}, {"\xfe\xff", "FE FF"}};
  for (size_t i = 0; i < HD_COUNT(marks); i++)
    if (strncmp(text, marks[i].bytes, strlen(marks[i].bytes)) == 0)
      return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "text.mark",
                      "the file begins with a byte order mark, %s; legal: UTF-8 without one",
                      marks[i].name);
  return HEDDLE_OK;
}

heddle_status hd_file_read_text(heddle_context *ctx, const char *path, char **data,
                                size_t *n_bytes) {
  char *text = NULL;
  size_t len = 0;
  HD_TRY(read_path(ctx, path, TEXT, NULL, HD_MAX_TEXT_BYTES, &text, &len));
  heddle_status status = refuse_mark(ctx, path, text);
  if (status != HEDDLE_OK) {
    hd_free(text);
    return status;
  }
  *data = text;
  *n_bytes = len;
  return HEDDLE_OK;
}

heddle_status hd_file_read_sized(heddle_context *ctx, const char *path, hd_file_sizer *sizer,
                                  char **data, size_t *n_bytes) {
  return read_path(ctx, path, HEADER, sizer, 0, data, n_bytes);
}

heddle_status hd_file_read_bytes(heddle_context *ctx, const char *path, void *data,
                                 size_t n_bytes) {
  char *got = NULL;
  size_t n_got = 0;
  heddle_status status = read_path(ctx, path, EXACT, NULL, n_bytes, &got, &n_got);
  if (status == HEDDLE_OK && n_got < n_bytes)
    status = hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "file.bytes",
                      "got %zu bytes; legal: %zu", n_got, n_bytes);
  if (status == HEDDLE_OK)
    memcpy(data, got, n_bytes);
  hd_free(got);
  return status;
}

static bool is_own(const struct stat *st) {
  return (st->st_uid == geteuid() || st->st_uid == 0) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

bool hd_file_is_own_folder(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && is_own(&st);
}

heddle_status hd_file_read_own(const char *path, size_t most, char **data, size_t *n_bytes) {
  struct stat st;
  reading r = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (r.fd < 0)
    return HEDDLE_NOT_FOUND;
  bool good = fstat(r.fd, &st) == 0 && S_ISREG(st.st_mode) && is_own(&st) &&
              st.st_size >= 0 && (size_t)st.st_size <= most && read_on(&r, most) && r.len <= most;
  close(r.fd);
  if (!good) {
    hd_free(r.data);
    return HEDDLE_NOT_FOUND;
  }
  *data = r.data;
  *n_bytes = r.len;
  return HEDDLE_OK;
}

size_t hd_file_read_head(const char *path, void *head, size_t n_bytes) {
  struct stat st;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
    return 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, head, n_bytes);
  if (fd >= 0)
    close(fd);
  return n < 0 ? 0 : (size_t)n;
}

static bool make_one(const char *path, mode_t mode) {
  struct stat st;
  if (mkdir(path, mode) == 0)
    return true;
  if (errno != EEXIST)
    return false;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    return true;
  errno = ENOTDIR;
  return false;
}

static heddle_status make_folders(heddle_context *ctx, const char *path, mode_t mode) {
  char *copy = hd_xstrdup(path);
  bool ok = true;
  for (char *slash = strchr(copy + (copy[0] == '/'), '/'); ok && slash;
       slash = strchr(slash + 1, '/')) {
    *slash = 0;
    ok = make_one(copy, mode);
    *slash = '/';
  }
  ok = ok && make_one(copy, mode);
  hd_free(copy);
  return ok ? HEDDLE_OK : io_error(ctx, path, "make the folder");
}

heddle_status hd_file_mkdirs(heddle_context *ctx, const char *path) {
  return make_folders(ctx, path, 0777);
}

heddle_status hd_file_mkdirs_own(heddle_context *ctx, const char *path) {
  return make_folders(ctx, path, 0755);
}

heddle_status hd_file_tempdir(heddle_context *ctx, const char *base, char **path) {
  hd_strbuf name = {0};
  const char *in = base && *base ? base : "/tmp";
  hd_strbuf_printf(&name, "%s/heddle-XXXXXX", in);
  if (!mkdtemp(name.text)) {
    hd_strbuf_free(&name);
    return io_error(ctx, in, "make a temporary folder in it");
  }
  *path = hd_strbuf_take(&name);
  return HEDDLE_OK;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk) {
  (void)st, (void)type, (void)walk;
  return remove(path);
}

heddle_status hd_file_remove(heddle_context *ctx, const char *path) {
  struct stat st;
  if (lstat(path, &st) != 0)
    return errno == ENOENT ? HEDDLE_OK : io_error(ctx, path, "look at it");
  if (nftw(path, remove_entry, MAX_OPEN_DIRS, FTW_DEPTH | FTW_PHYS) != 0)
    return io_error(ctx, path, "remove");
  return HEDDLE_OK;
}

double hd_clock_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double hd_clock_thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int64_t hd_file_age(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0)
    return -1;
  time_t now = time(NULL);
  return now > st.st_mtime ? (int64_t)(now - st.st_mtime) : 0;
}

void hd_file_stamp(const char *path, uint64_t stamp[2]) {
  struct stat st;
  bool there = stat(path, &st) == 0;
  stamp[0] = there ? (uint64_t)st.st_size : 0;
  stamp[1] = there ? (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec : 0;
}
