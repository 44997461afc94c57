/* heddle/tune_worker_words.h: the command line of the measuring process: --worker's words, or this
 * program. */
#ifndef HD_TUNE_WORKER_WORDS_H
#define HD_TUNE_WORKER_WORDS_H

#include <stdint.h>

#include "Support/scratch.h"

enum { WORKER_MAX_WORDS = 32 };

typedef struct worker_words {
  const char *argv[WORKER_MAX_WORDS]; /* ends with NULL */
  char self[4096], device[32];
  char *text;     /* owned */
  hd_scratch own; /* temporary folder of compiled kernels, if none was given */
} worker_words;

/* worker, cache and ptxas may be NULL; they are borrowed. The processes share compiled kernels in a
 * folder: cache, or a temporary one until worker_words_free. */
heddle_status worker_words_make(heddle_context *ctx, const char *worker, int64_t device,
                                const char *cache, const char *ptxas, worker_words *words);
void worker_words_free(worker_words *words);

#endif
