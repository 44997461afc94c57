#include "promise.h"

#include <string.h>

#include "cli.h"

int promise_read(const char *word, hd_bench_promise *promise) {
  static const char *const words[] = {"no", "yes", "both"}; /* ORDER hd_bench_promise */
  for (int i = 0; i < 3; i++)
    if (strcmp(word, words[i]) == 0) {
      *promise = (hd_bench_promise)i;
      return CLI_GO;
    }
  return cli_usage_error("promise.word", "got --weights-ready %s; legal: no, yes, both", word);
}
