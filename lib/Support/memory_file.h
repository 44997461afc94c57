/* Support/memory_file.h: a file in memory, for a program that wants a path. It goes with the last
 * process that holds it, however that ends: nothing is left to remove. */
#ifndef HD_MEMORY_FILE_H
#define HD_MEMORY_FILE_H

#include "heddle/context.h"

typedef struct hd_memory_file {
  int fd;
  char path[32]; /* ours, and of a child that is given the file (hd_process_run_with) */
} hd_memory_file;

/* Holds n bytes of data; 0: empty, to be written by a child. `name` is for those who look. */
heddle_status hd_memory_file_create(heddle_context *ctx, const char *name, const void *data,
                                    size_t n_bytes, hd_memory_file *file);
void hd_memory_file_close(hd_memory_file *file);

#endif
