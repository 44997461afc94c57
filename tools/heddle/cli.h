/* heddle/cli.h: options, help, diagnostics and exit codes, shared by all subcommands. */
#ifndef HD_CLI_H
#define HD_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/types.h"

typedef enum cli_kind {
  CLI_FLAG, /* bool *: set to true if given */
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
  const char *name; /* without dashes; one letter: -o, otherwise --size; NULL ends the list */
  cli_kind kind;
  void *value;        /* as the kind says; untouched if the option is absent */
  const char *metavar; /* "FILE"; NULL for a flag */
  const char *about;
} cli_option;

typedef struct cli_command {
  const char *usage; /* "prune IN [--type T] [-o OUT]"; for a separate tool: "heddle-opt …" */
  const char *about;          /* sentences of the help */
  const char *examples;       /* lines, each "heddle …\n" */
  const cli_option *options;  /* ends with name = NULL; may be NULL */
  int min_args, max_args;     /* number of arguments without dashes, at most CLI_MAX_ARGS */
} cli_command;

/* Returned by cli_parse if the command should continue. */
enum { CLI_GO = -1 };

/* Parses argv: options (--name VALUE, --name=VALUE, -o VALUE) into their values, other words into
 * args (borrowed, room for command->max_args). Returns CLI_GO, or the exit code to return at once:
 * 0 after --help and --version, 2 for a wrong use, which is reported with the nearest legal
 * name. */
int cli_parse(const cli_command *command, int argc, char **argv, const char **args, int *n_args);

/* printf for untrusted text (Support/readable.h). */
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports `error[rule]: …` on standard error and returns 2, the exit code of a wrong use. */
int cli_usage_error(const char *rule, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

typedef struct cli_number {
  const char *option; /* "--jobs" */
  int64_t value, least, most;
} cli_number;

/* CLI_GO, or the result of cli_usage_error for the first number that is out of range. */
int cli_check_numbers(const char *rule, const cli_number *numbers, size_t n);

/* Prints the context's diagnostics on standard error (the text of the status if it failed without a
 * diagnostic), frees the context, and returns the exit code of the status. */
int cli_finish(heddle_context *ctx, heddle_status status);
/* The first half of cli_finish: prints and clears the diagnostics. */
void cli_print_diagnostics(heddle_context *ctx);

/* Called last in every main: returns code, or 4 and an error if standard output could not be
 * written (unless the command failed anyway). */
int cli_close(int code);

/* The name among n that is nearest to a misspelt word: one that begins with the word, else by edit
 * distance; NULL if n is 0. */
const char *cli_nearest(const char *word, const char *const *names, size_t n);

/* Whether the word is probably a misspelt name. */
bool cli_is_near(const char *word, const char *name);

/* Parses a decimal or 0x… integer; false if the text is not one. */
bool cli_parse_int(const char *text, int64_t *value);

#endif
