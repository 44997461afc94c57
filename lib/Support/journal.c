#include "Support/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/hash.h"

static const char magic[4] = "HDJ1";
enum { HEAD_BYTES = 16 };

typedef struct entry {
  char *data; /* owned */
  size_t n_bytes;
} entry;

struct hd_journal {
  char *path; /* owned */
  int fd;
  size_t end;           /* end of the file's last complete entry */
  entry *list;          /* owned */
  size_t n, cap, first; /* entries before `first` are dropped */
};

static heddle_status io_error(heddle_context *ctx, const hd_journal *j, const char *what) {
  return hd_error(ctx, HEDDLE_ENVIRONMENT, (hd_loc){.file = j->path}, "journal.io", "cannot %s: %s",
                  what, strerror(errno));
}

/* ---- entries ---- */

static void put_le(unsigned char *at, uint64_t value, int n_bytes) {
  for (int i = 0; i < n_bytes; i++)
    at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get_le(const unsigned char *at, int n_bytes) {
  uint64_t value = 0;
  for (int i = 0; i < n_bytes; i++)
    value |= (uint64_t)at[i] << 8 * i;
  return value;
}

static uint64_t checksum(const void *data, size_t n_bytes) {
  unsigned char size[8];
  put_le(size, n_bytes, 8);
  return hd_hash_combine(hd_hash_bytes(size, sizeof size), hd_hash_bytes(data, n_bytes)).lo;
}

/* The data size of the complete entry that begins here; SIZE_MAX: there is none. */
static size_t entry_at(const unsigned char *at, size_t left) {
  if (left < HEAD_BYTES || memcmp(at, magic, sizeof magic) != 0)
    return SIZE_MAX;
  size_t n_bytes = get_le(at + 4, 4);
  if (n_bytes > HD_JOURNAL_MOST_BYTES || n_bytes > left - HEAD_BYTES ||
      checksum(at + HEAD_BYTES, n_bytes) != get_le(at + 8, 8))
    return SIZE_MAX;
  return n_bytes;
}

static void keep(hd_journal *j, const void *data, size_t n_bytes) {
  entry e = {.data = hd_xmalloc(n_bytes + 1), .n_bytes = n_bytes};
  memcpy(e.data, data, n_bytes);
  e.data[n_bytes] = '\0';
  HD_PUSH(j->list, j->n, j->cap, e);
}

/* ---- open ---- */

/* Reads all complete entries. Bytes between them are damage; bytes after them are incomplete. */
static void scan(heddle_context *ctx, hd_journal *j, const char *text, size_t n_bytes) {
  const unsigned char *data = (const unsigned char *)text;
  size_t damaged = 0;
  for (size_t at = 0; at < n_bytes;) {
    size_t size = entry_at(data + at, n_bytes - at);
    if (size == SIZE_MAX) {
      at++;
      continue;
    }
    damaged += at - j->end;
    keep(j, data + at + HEAD_BYTES, size);
    at += HEAD_BYTES + size;
    j->end = at;
  }
  if (damaged)
    hd_warning(ctx, (hd_loc){.file = j->path}, "journal.damaged",
               "%zu bytes between the entries are damaged; %zu entries are intact", damaged, j->n);
}

/* Makes a new file's name durable. */
static void sync_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  char *folder = hd_xstrdup(slash ? path : ".");
  if (slash)
    folder[slash == path ? 1 : slash - path] = '\0';
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    (void)fsync(fd);
    close(fd);
  }
  hd_free(folder);
}

static heddle_status load(heddle_context *ctx, hd_journal *j) {
  char *text;
  size_t n_bytes;
  j->fd = open(j->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (j->fd < 0)
    return io_error(ctx, j, "open it");
  if (flock(j->fd, LOCK_EX | LOCK_NB) != 0)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, (hd_loc){.file = j->path}, "journal.lock",
                    "another process has it open; legal: one at a time");
  sync_folder(j->path);
  HD_TRY(hd_file_read(ctx, j->path, &text, &n_bytes));
  scan(ctx, j, text, n_bytes);
  hd_free(text);
  if (n_bytes > j->end && ftruncate(j->fd, (off_t)j->end) != 0)
    return io_error(ctx, j, "cut it");
  return HEDDLE_OK;
}

heddle_status hd_journal_open(heddle_context *ctx, const char *path, hd_journal **journal) {
  hd_journal *j = hd_try_zalloc(ctx, sizeof *j, "a journal");
  if (!j)
    return HEDDLE_NO_MEMORY;
  j->path = hd_xstrdup(path);
  heddle_status status = load(ctx, j);
  if (status != HEDDLE_OK) {
    hd_journal_close(j);
    return status;
  }
  *journal = j;
  return HEDDLE_OK;
}

void hd_journal_close(hd_journal *j) {
  if (!j)
    return;
  if (j->fd >= 0)
    close(j->fd);
  for (size_t i = j->first; i < j->n; i++)
    hd_free(j->list[i].data);
  hd_free(j->list);
  hd_free(j->path);
  hd_free(j);
}

/* ---- use ---- */

size_t hd_journal_count(const hd_journal *j) {
  return j->n - j->first;
}

const char *hd_journal_get(const hd_journal *j, size_t index, size_t *n_bytes) {
  const entry *e = &j->list[j->first + index];
  if (n_bytes)
    *n_bytes = e->n_bytes;
  return e->data;
}

static bool write_all(int fd, const unsigned char *data, size_t n_bytes, size_t at) {
  while (n_bytes) {
    ssize_t n = pwrite(fd, data, n_bytes, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    data += n;
    n_bytes -= (size_t)n;
    at += (size_t)n;
  }
  return true;
}

heddle_status hd_journal_add(heddle_context *ctx, hd_journal *j, const void *data, size_t n_bytes) {
  if (n_bytes > HD_JOURNAL_MOST_BYTES)
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = j->path}, "journal.bytes",
                    "got %zu bytes in one entry; legal: up to %d", n_bytes, HD_JOURNAL_MOST_BYTES);
  unsigned char *whole = hd_try_malloc(ctx, HEAD_BYTES + n_bytes, "an entry of a journal");
  if (!whole)
    return HEDDLE_NO_MEMORY;
  memcpy(whole, magic, sizeof magic);
  put_le(whole + 4, n_bytes, 4);
  put_le(whole + 8, checksum(data, n_bytes), 8);
  memcpy(whole + HEAD_BYTES, data, n_bytes);
  bool ok = write_all(j->fd, whole, HEAD_BYTES + n_bytes, j->end) && fsync(j->fd) == 0;
  hd_free(whole);
  if (!ok) {
    heddle_status status = io_error(ctx, j, "write to it");
    if (ftruncate(j->fd, (off_t)j->end) != 0)
      return io_error(ctx, j, "cut it"); /* the next open cuts the incomplete entry */
    return status;
  }
  j->end += HEAD_BYTES + n_bytes;
  keep(j, data, n_bytes);
  return HEDDLE_OK;
}

heddle_status hd_journal_drop(heddle_context *ctx, hd_journal *j, size_t n) {
  for (; n && j->first < j->n; n--)
    hd_free(j->list[j->first++].data);
  if (j->first < j->n)
    return HEDDLE_OK;
  j->first = j->n = j->end = 0;
  return ftruncate(j->fd, 0) == 0 ? HEDDLE_OK : io_error(ctx, j, "empty it");
}
