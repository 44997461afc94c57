/* Support/file.h: files, programs that run to their end, and the clock. */
#ifndef HD_FILE_H
#define HD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "Support/memory_file.h"
#include "Support/strbuf.h"

/* Reads a whole file ("-" = standard input). *data is owned (hd_free), one NUL follows its n_bytes.
 * HEDDLE_NOT_FOUND, HEDDLE_ENVIRONMENT or HEDDLE_NO_MEMORY with a diagnostic. */
heddle_status hd_file_read(heddle_context *ctx, const char *path, char **data, size_t *n_bytes);

/* The same of at most `most` bytes: HEDDLE_INVALID when there are more, as in a device without an
 * end. */
heddle_status hd_file_read_most(heddle_context *ctx, const char *path, size_t most, char **data,
                                size_t *n_bytes);
/* The same of a text: of at most HD_MAX_TEXT_BYTES, and without a byte order mark, which would
 * stand unseen before its first word. */
enum { HD_MAX_TEXT_BYTES = 64 << 20 };
heddle_status hd_file_read_text(heddle_context *ctx, const char *path, char **data,
                                size_t *n_bytes);

/* The same of a file whose head tells its size: the sizer sees its first bytes (more than
 * HD_FILE_HEAD_BYTES, or all) before anything else is read, and refuses, or says how many bytes the
 * whole file has. HEDDLE_INVALID when it has more; its caller sees when it has fewer. */
enum { HD_FILE_HEAD_BYTES = 2 << 20 };
typedef heddle_status hd_file_sizer(heddle_context *ctx, const char *path, const void *head,
                                    size_t n_bytes, size_t *whole_bytes);
heddle_status hd_file_read_sized(heddle_context *ctx, const char *path, hd_file_sizer *sizer,
                                  char **data, size_t *n_bytes);

/* Fills all of `data`. HEDDLE_INVALID when the file has more or fewer bytes. */
heddle_status hd_file_read_bytes(heddle_context *ctx, const char *path, void *data, size_t n_bytes);
/* The same of a file that another user could have written only by this user's leave: a regular file
 * of at most `most` bytes, this user's own (or root's), which nobody else may write. Else
 * HEDDLE_NOT_FOUND. */
heddle_status hd_file_read_own(const char *path, size_t most, char **data, size_t *n_bytes);
/* A folder that is this user's own (or root's), which nobody else may write. */
bool hd_file_is_own_folder(const char *path);
/* The first bytes of a regular file, at most n_bytes; how many. 0 of anything else. */
size_t hd_file_read_head(const char *path, void *head, size_t n_bytes);

/* Writes atomically: a new file, fsync, rename ("-" = standard output). A writer that is killed
 * leaves nothing behind, or at worst PATH.N.tmp, which the next one removes. */
heddle_status hd_file_write(heddle_context *ctx, const char *path, const void *data,
                            size_t n_bytes);

/* Writes several files as one set, in this order: all are on the disk before the first is renamed.
 * When the last one holds a hash of the others, a reader can tell two sets apart. */
enum { HD_MAX_FILE_PARTS = 16 };
typedef struct hd_file_part {
  const char *path;
  const void *data; /* NULL: the file is removed, if it is there */
  size_t n_bytes;
  bool own; /* nobody else may write it, whatever the umask */
} hd_file_part;
heddle_status hd_file_write_set(heddle_context *ctx, const hd_file_part *part, size_t n);

/* Size and time of change of a file, to tell two versions of a program apart; zeros when it cannot
 * be read. */
void hd_file_stamp(const char *path, uint64_t stamp[2]);

/* Whole seconds since a file was written; -1: there is none. */
int64_t hd_file_age(const char *path);

/* Makes a folder and its parents; fine when it exists. own: nobody else may write what is made,
 * whatever the umask. */
heddle_status hd_file_mkdirs(heddle_context *ctx, const char *path);
heddle_status hd_file_mkdirs_own(heddle_context *ctx, const char *path);

/* A fresh folder under `base` (NULL or "": /tmp); path owned. One that goes with its owner, however
 * that ends: scratch.h. */
heddle_status hd_file_tempdir(heddle_context *ctx, const char *base, char **path);
/* Removes a file, or a folder with all in it; absent is fine. */
heddle_status hd_file_remove(heddle_context *ctx, const char *path);

/* Runs argv[0] (found on PATH), standard output and error captured together in *output (may be
 * NULL). *exit_code is 128 + signal when one ended it; timeout_s 0 = none; HEDDLE_ENVIRONMENT when
 * it cannot be started or timed out. No shell. */
heddle_status hd_process_run(heddle_context *ctx, const char *const *argv, double timeout_s,
                             hd_strbuf *output, int *exit_code);
/* The same, given files in memory under the paths that they have here. */
heddle_status hd_process_run_with(heddle_context *ctx, const char *const *argv,
                                  const hd_memory_file *files, int n_files, double timeout_s,
                                  hd_strbuf *output, int *exit_code);

/* Resident bytes of a process; 0 when it is gone. */
uint64_t hd_process_memory(int pid);

/* Limits this process: processor time (then SIGPROF ends it), memory (not under AddressSanitizer),
 * files of 4 MiB, no core dump; and lets it end with the process that started it. */
heddle_status hd_process_limit(heddle_context *ctx, double cpu_seconds, size_t memory_bytes);

/* Monotonic seconds; and seconds that this thread was on a processor. */
double hd_clock_seconds(void);
double hd_clock_thread_seconds(void);

#endif
