/* heddle/cli.h: what every subcommand shares: options, help, diagnostics, exit codes. */
#ifndef HD_CLI_H
#define HD_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/types.h"

typedef enum cli_kind {
  CLI_FLAG, /* bool *: true when given */
  CLI_TEXT, /* const char **: borrowed from argv */
  CLI_INT,  /* int64_t *: decimal or 0x… */
  CLI_ELEM, /* heddle_elem *: the name of an element type */
  CLI_MORE  /* cli_texts *: may be given several times */
} cli_kind;

enum { CLI_MAX_TEXTS = 64, CLI_MAX_ARGS = 64 };

typedef struct cli_texts {
  const char *text[CLI_MAX_TEXTS];
  int n;
} cli_texts;

typedef struct cli_option {
  const char *name; /* without dashes; one letter: -o, more: --size; NULL ends the list */
  cli_kind kind;
  void *value;        /* what the kind says; untouched when the option is absent */
  const char *metavar; /* "FILE"; NULL for a flag */
  const char *about;
} cli_option;

typedef struct cli_command {
  const char *usage; /* "prune IN [--type T] [-o OUT]"; of a tool of its own: "heddle-opt …" */
  const char *about;          /* sentences of the help */
  const char *examples;       /* lines, each "heddle …\n" */
  const cli_option *options;  /* ended by name = NULL; may be NULL */
  int min_args, max_args;     /* how many arguments without dashes, at most CLI_MAX_ARGS */
} cli_command;

/* cli_parse's answer when the command is to go on. */
enum { CLI_GO = -1 };

/* Reads argv: options (--name VALUE, --name=VALUE, -o VALUE) into their values, the others into
 * args (borrowed, room for command->max_args). Returns CLI_GO; or the exit code to return at once:
 * 0 after --help and --version, 2 after a wrong use, which it has reported with the nearest legal
 * name. */
int cli_parse(const cli_command *command, int argc, char **argv, const char **args, int *n_args);

/* printf, for text that others wrote (Support/readable.h). */
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports `error[rule]: …` on standard error and returns 2, the exit code of a wrong use. */
int cli_usage_error(const char *rule, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

typedef struct cli_number {
  const char *option; /* "--jobs" */
  int64_t value, least, most;
} cli_number;

/* CLI_GO, or what cli_usage_error returns for the first number out of its range. */
int cli_check_numbers(const char *rule, const cli_number *numbers, size_t n);

/* Prints the context's diagnostics on standard error (the status' sentence when a failure left
 * none), frees it, and returns the exit code of the status. */
int cli_finish(heddle_context *ctx, heddle_status status);
/* The first half of cli_finish: prints and clears the diagnostics. */
void cli_print_diagnostics(heddle_context *ctx);

/* The end of every main: the exit code, or 4 and an error where standard output could not be
 * written, whatever the command thought. */
int cli_close(int code);

/* The nearest of n names to a misspelt word: one that begins so, else by edit distance; NULL when
 * n is 0. */
const char *cli_nearest(const char *word, const char *const *names, size_t n);

/* Is it likely that the name was meant? */
bool cli_is_near(const char *word, const char *name);

/* A whole decimal (or 0x…) integer; false when it is not one. */
bool cli_parse_int(const char *text, int64_t *value);

#endif
