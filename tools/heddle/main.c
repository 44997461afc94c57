/* heddle: the command line. Each subcommand is a file cmd_NAME.c. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "commands.h"

typedef struct command {
  const char *name, *about;
  int (*run)(int argc, char **argv);
} command;

#define ENTRY(name, about) {#name, about, cmd_##name},
static const command commands[] = {HD_COMMANDS(ENTRY)};
#undef ENTRY
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void) {
  printf("heddle: 2:4 sparse matrix multiply for tensor cores, as PTX\n\n"
         "usage: heddle COMMAND [ARGUMENTS]\n\nCommands:\n");
  for (int i = 0; i < N_COMMANDS; i++)
    printf("  %-11s %s\n", commands[i].name, commands[i].about);
  printf("\n`heddle COMMAND --help` shows its options and examples.\n\n"
         "Exit codes: 0 done, 1 wrong result or fault found, 2 wrong use or malformed input,\n"
         "3 well-formed but not supported, 4 environment, 5 a bug in heddle.\n");
}

static int unknown_command(const char *word) {
  const char *names[N_COMMANDS];
  for (int i = 0; i < N_COMMANDS; i++)
    names[i] = commands[i].name;
  const char *nearest = cli_nearest(word, names, N_COMMANDS);
  return cli_usage_error("cli.command", "unknown command '%s'; nearest: %s", word,
                         nearest ? nearest : "--help");
}

/* Output that could not be written is a failure, whatever the command thought. */
static int close_output(int code) {
  if (fflush(stdout) == 0 && !ferror(stdout))
    return code;
  fprintf(stderr, "error[io.write]: standard output could not be written\n");
  return code ? code : 4;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    print_help();
    return close_output(2);
  }
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
    print_help();
    return close_output(0);
  }
  if (!strcmp(argv[1], "--version")) {
    printf("heddle %s\n", HEDDLE_VERSION);
    return close_output(0);
  }
  for (int i = 0; i < N_COMMANDS; i++)
    if (!strcmp(argv[1], commands[i].name))
      return close_output(commands[i].run(argc - 1, argv + 1));
  return unknown_command(argv[1]);
}
