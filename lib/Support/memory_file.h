/* Support/memory_file.h: a file in memory, for a program that needs a path. The system frees it
 * when the last process that has it open ends, so there is nothing to remove. */
#ifndef HD_MEMORY_FILE_H
#define HD_MEMORY_FILE_H

#include "heddle/context.h"

typedef struct hd_memory_file {
  int fd;
  char path[32]; /* here, and in a child with the file (hd_process_run_with) */
} hd_memory_file;

/* Makes a file of n_bytes of data (0: empty, for a child to write). `name` is for debugging. */
heddle_status hd_memory_file_create(heddle_context *ctx, const char *name, const void *data,
                                    size_t n_bytes, hd_memory_file *file);
void hd_memory_file_close(hd_memory_file *file);

#endif
