/* heddle/tune_worker_words.h: how the measuring process is started: --worker's words, or this
 * program itself. */
#ifndef HD_TUNE_WORKER_WORDS_H
#define HD_TUNE_WORKER_WORDS_H

#include <stdint.h>

#include "Support/scratch.h"

enum { WORKER_WORDS_MOST = 32 };

typedef struct worker_words {
  const char *argv[WORKER_WORDS_MOST]; /* NULL ends it */
  char self[4096], device[32], seed[32];
  char *text;     /* owned */
  hd_scratch own; /* its folder of compiled kernels, when none was named */
} worker_words;

/* worker, cache and ptxas may be NULL; they are borrowed. The processes share compiled kernels
 * through a folder: cache, or one that lasts until worker_words_free. */
heddle_status worker_words_make(heddle_context *ctx, const char *worker, int64_t device,
                                int64_t seed, const char *cache, const char *ptxas,
                                worker_words *words);
void worker_words_free(worker_words *words);

#endif
