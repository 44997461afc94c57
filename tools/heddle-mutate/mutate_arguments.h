/* heddle-mutate/mutate_arguments.h: the command line of heddle-mutate. */
#ifndef HD_MUTATE_ARGUMENTS_H
#define HD_MUTATE_ARGUMENTS_H

#include "cli.h"
#include "mutate.h"

typedef struct mutate_arguments {
  mutate_options options;
  bool all, resume, agrees;  /* agrees: --agree was given */
  bool tool[MUTATE_N_TOOLS]; /* tools of the sanitizer to use */
  const char *examples, *files[CLI_MAX_ARGS];
  int n_files;
  int64_t agree, mutants, generic, seed, threads, sample, limit, seconds, tool_sample, tool_seconds;
  const char *tools;
} mutate_arguments;

/* CLI_GO, or the exit code. Strings are borrowed from argv. */
int mutate_arguments_read(int argc, char **argv, mutate_arguments *arguments);

#endif
