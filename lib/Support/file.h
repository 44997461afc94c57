/* Support/file.h: files, running programs to completion, and clocks. */
#ifndef HD_FILE_H
#define HD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "Support/memory_file.h"
#include "Support/strbuf.h"

/* Reads a whole file ("-" = standard input). *data is owned (hd_free); a NUL follows the n_bytes.
 * HEDDLE_NOT_FOUND, HEDDLE_ENVIRONMENT or HEDDLE_NO_MEMORY with a diagnostic. */
heddle_status hd_file_read(heddle_context *ctx, const char *path, char **data, size_t *n_bytes);

/* Reads a file of at most `most` bytes. HEDDLE_INVALID if there are more, for example in an endless
 * device. */
heddle_status hd_file_read_most(heddle_context *ctx, const char *path, size_t most, char **data,
                                size_t *n_bytes);
/* Reads a text of at most HD_MAX_TEXT_BYTES. Refuses a byte order mark, which would be an invisible
 * part of the first word. */
enum { HD_MAX_TEXT_BYTES = 64 << 20 };
heddle_status hd_file_read_text(heddle_context *ctx, const char *path, char **data,
                                size_t *n_bytes);

/* Reads a file whose header determines its size. The sizer gets the first bytes (more than
 * HD_FILE_HEAD_BYTES, or all) before anything else is read. It refuses them, or returns the size of
 * the whole file. HEDDLE_INVALID if the file is longer; the caller must check if it is shorter. */
enum { HD_FILE_HEAD_BYTES = 2 << 20 };
typedef heddle_status hd_file_sizer(heddle_context *ctx, const char *path, const void *head,
                                    size_t n_bytes, size_t *whole_bytes);
heddle_status hd_file_read_sized(heddle_context *ctx, const char *path, hd_file_sizer *sizer,
                                  char **data, size_t *n_bytes);

/* Reads exactly n_bytes into `data`. HEDDLE_INVALID if the file has more or fewer bytes. */
heddle_status hd_file_read_bytes(heddle_context *ctx, const char *path, void *data, size_t n_bytes);
/* Reads a file that no other user can have written: a regular file of at most `most` bytes that is
 * owned by this user (or root) and not writable by group or others. Otherwise HEDDLE_NOT_FOUND. No
 * diagnostic. */
heddle_status hd_file_read_own(const char *path, size_t most, char **data, size_t *n_bytes);
/* True for a folder that is owned by this user (or root) and not writable by group or others. */
bool hd_file_is_own_folder(const char *path);
/* Reads the first bytes of a regular file, at most n_bytes. Returns their number, 0 on failure. */
size_t hd_file_read_head(const char *path, void *head, size_t n_bytes);

/* Writes atomically: a new file, fsync, rename ("-" = standard output). A writer that is killed
 * leaves at worst PATH.N.tmp, which the next writer removes. */
heddle_status hd_file_write(heddle_context *ctx, const char *path, const void *data,
                            size_t n_bytes);

/* Writes several files as one set, in this order: all are on disk before the first is renamed. If
 * the last file contains a hash of the others, a reader can detect a mix of two sets. */
enum { HD_MAX_FILE_PARTS = 16 };
typedef struct hd_file_part {
  const char *path;
  const void *data; /* NULL: the file is removed if it exists */
  size_t n_bytes;
  bool own; /* not writable by other users, regardless of the umask */
} hd_file_part;
heddle_status hd_file_write_set(heddle_context *ctx, const hd_file_part *part, size_t n);

/* Size and modification time (ns) of a file, to detect a changed program. Zeros if stat fails. */
void hd_file_stamp(const char *path, uint64_t stamp[2]);

/* Whole seconds since a file was modified; -1: no such file. */
int64_t hd_file_age(const char *path);

/* Makes a folder and its parents, if needed. own: new folders are not writable by other users,
 * regardless of the umask. */
heddle_status hd_file_mkdirs(heddle_context *ctx, const char *path);
heddle_status hd_file_mkdirs_own(heddle_context *ctx, const char *path);

/* Makes a new folder under `base` (NULL or "": /tmp); path owned. scratch.h has a folder that is
 * removed when this process ends. */
heddle_status hd_file_tempdir(heddle_context *ctx, const char *base, char **path);
/* Removes a file, or a folder and its contents. Succeeds if there is none. */
heddle_status hd_file_remove(heddle_context *ctx, const char *path);

/* Runs argv[0] (found on PATH) without a shell. Appends its output and errors to *output (may be
 * NULL). *exit_code is 128 + signal if a signal ended it. timeout_s 0: no timeout.
 * HEDDLE_ENVIRONMENT if it cannot be started, timed out, or its exit code is lost. */
heddle_status hd_process_run(heddle_context *ctx, const char *const *argv, double timeout_s,
                             hd_strbuf *output, int *exit_code);
/* The same. The program can open the memory files by the same paths. */
heddle_status hd_process_run_with(heddle_context *ctx, const char *const *argv,
                                  const hd_memory_file *files, int n_files, double timeout_s,
                                  hd_strbuf *output, int *exit_code);

/* Resident memory of a process in bytes; 0 if it has ended. */
uint64_t hd_process_memory(int pid);
/* Whether a process is `ancestor` or one of its descendants. */
bool hd_process_is_below(int pid, int ancestor);

/* Limits this process: CPU time (SIGPROF ends it), memory (not under AddressSanitizer), files of 4
 * MiB, no core dump, no new privileges. It is killed when its parent ends. */
heddle_status hd_process_limit(heddle_context *ctx, double cpu_seconds, size_t memory_bytes);

/* Monotonic time, and CPU time of this thread, in seconds. */
double hd_clock_seconds(void);
double hd_clock_thread_seconds(void);

#endif
