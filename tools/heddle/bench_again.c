#include "bench_again.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/memory.h"
#include "cli.h"

heddle_status bench_again_log(heddle_context *ctx, bench_log *log, uint64_t seed,
                              const hd_bench_problem *problem, const char *contender, bool *again) {
  hd_bench_row row = {.broke = true};
  const hd_bench_result result = {.row = &row, .n_rows = 1};
  if (!log->path) {
    hd_note(ctx, HD_NOWHERE, "bench.broken", "with -o FILE, bench leaves that out and goes on");
    return HEDDLE_ENVIRONMENT;
  }
  snprintf(row.name, sizeof row.name, "%s", contender);
  HD_TRY(bench_log_add(ctx, log, seed, problem, &result));
  hd_note(ctx, HD_NOWHERE, "bench.broken",
          again ? "begins again without it" : "with --resume, bench goes on without it");
  if (again)
    *again = true;
  return HEDDLE_ENVIRONMENT;
}

int bench_again(int argc, char **argv, bool resumes) {
  char heddle[] = "heddle", resume[] = "--resume";
  char **words = hd_xmalloc(sizeof *words * ((size_t)argc + 3));
  int n = 0;
  words[n++] = heddle;
  for (int i = 0; i < argc; i++)
    words[n++] = argv[i];
  if (!resumes)
    words[n++] = resume;
  words[n] = NULL;
  fflush(NULL);
  execv("/proc/self/exe", words);
  fprintf(stderr, "error[bench.broken]: cannot begin again: %s; run the command with --resume\n",
          strerror(errno));
  hd_free(words);
  return heddle_status_exit_code(HEDDLE_ENVIRONMENT);
}
