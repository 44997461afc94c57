#include "tune_worker_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Support/arena.h"
#include "Support/diag.h"

static heddle_status split(heddle_context *ctx, worker_words *w) {
  int n = 0;
  for (char *rest = NULL, *word = strtok_r(w->text, " ", &rest); word;
       word = strtok_r(NULL, " ", &rest), n++)
    if (n + 1 < WORKER_MAX_WORDS)
      w->argv[n] = word;
  if (n == 0 || n + 1 > WORKER_MAX_WORDS)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.worker",
                    "got %d words in --worker; legal: 1 to %d; nearest: a script that contains "
                    "them", n,
                    WORKER_MAX_WORDS - 1);
  w->argv[n] = NULL;
  return HEDDLE_OK;
}

heddle_status worker_words_make(heddle_context *ctx, const char *worker, int64_t device,
                                const char *cache, const char *ptxas, worker_words *words) {
  memset(words, 0, sizeof *words);
  if (!cache)
    HD_TRY(hd_scratch_open(ctx, getenv("TMPDIR"), &words->own));
  if (worker) {
    words->text = hd_xstrdup(worker);
    return split(ctx, words);
  }
  ssize_t len = readlink("/proc/self/exe", words->self, sizeof words->self - 1);
  words->self[len > 0 ? len : 0] = '\0';
  snprintf(words->device, sizeof words->device, "%lld", (long long)device);
  const char *fixed[] = {words->self, "tune", "worker", "--device", words->device};
  int n = (int)HD_COUNT(fixed);
  memcpy(words->argv, fixed, sizeof fixed);
  words->argv[n++] = "--cache";
  words->argv[n++] = cache ? cache : words->own.path;
  if (ptxas) {
    words->argv[n++] = "--ptxas";
    words->argv[n++] = ptxas;
  }
  return HEDDLE_OK;
}

void worker_words_free(worker_words *words) {
  hd_free(words->text);
  hd_scratch_close(&words->own);
}
