/* heddle: the command line tool. Each subcommand has a file cmd_NAME.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Compile/build.h"
#include "Spec/spec.h"
#include "Support/arena.h"
#include "cli.h"
#include "commands.h"
#include "find_program.h"
#include "heddle/version.h"

typedef struct command {
  const char *name, *about;
  int (*run)(int argc, char **argv);
} command;

#define ENTRY(name, about) {#name, about, cmd_##name},
static const command commands[] = {HD_COMMANDS(ENTRY)};
#undef ENTRY
enum { N_COMMANDS = HD_COUNT(commands) };

static void print_help(void) {
  printf("heddle: generates GPU kernels that multiply a 2:4 sparse by a dense matrix\n"
         "\n"
         "usage: heddle COMMAND [ARGUMENTS] | help COMMAND | --version | --build\n"
         "\n"
         "Commands:\n");
  for (int i = 0; i < N_COMMANDS; i++)
    printf("  %-11s %s\n", commands[i].name, commands[i].about);
  printf("\n"
         "`heddle COMMAND --help` shows options and examples.\n"
         "\n"
         "Exit codes: 0 success, 1 wrong result or fault found, 2 wrong usage or malformed input,\n"
         "3 well-formed but not supported, 4 environment, 5 a bug in heddle.\n");
}

static const command *find_command(const char *name) {
  for (int i = 0; i < N_COMMANDS; i++)
    if (!strcmp(name, commands[i].name))
      return &commands[i];
  return NULL;
}

static int unknown_command(const char *word) {
  const char *names[N_COMMANDS + 2] = {"help", "--version"};
  for (int i = 0; i < N_COMMANDS; i++)
    names[i + 2] = commands[i].name;
  const char *nearest = cli_nearest(word, names, N_COMMANDS + 2);
  return cli_is_near(word, nearest)
             ? cli_usage_error("cli.command", "unknown command '%s'; nearest: %s", word, nearest)
             : cli_usage_error("cli.command",
                               "unknown command '%s'; legal: the commands of heddle --help",
                               word);
}

static void print_beginning(const char *name, const char *begin) {
  if (strncmp(name, begin, strlen(begin)) == 0)
    puts(name);
}

/* `heddle --complete WORDS… LAST`, called by shells: prints completions of LAST, one per line; none
 * if it is a file or free text. */
static int complete(int argc, char **argv) {
  const char *last = argv[argc - 1], *before = argv[argc - 2];
  char *words[CLI_MAX_ARGS + 4];
  int n = 0;
  if (argc == 3) {
    for (int i = 0; i < N_COMMANDS; i++)
      print_beginning(commands[i].name, last);
    print_beginning("help", last);
    return 0;
  }
  const command *found = find_command(strcmp(argv[2], "help") ? argv[2] : last);
  if (strcmp(argv[2], "help") == 0) {
    for (int i = 0; argc == 4 && i < N_COMMANDS; i++)
      print_beginning(commands[i].name, last);
    return 0;
  }
  for (size_t i = 0; strncmp(before, "--target", 8) == 0 && i < hd_target_count(); i++)
    print_beginning(hd_target_get(i)->name, last);
  if (!found || argc > CLI_MAX_ARGS)
    return 0;
  words[n++] = argv[2];
  int from = 3;
  if (strcmp(argv[2], "tune") == 0 && argc > 4 && *argv[3] != '-') /* a verb */
    words[n++] = argv[from++];
  words[n++] = "--complete";
  for (int i = from; i < argc; i++)
    words[n++] = argv[i];
  words[n] = NULL;
  return found->run(n, words);
}

static int dispatch(int argc, char **argv) {
  const char *word = argc > 1 ? argv[1] : "";
  if (argc > 2 && !strcmp(word, "--complete"))
    return complete(argc, argv);
  if (argc > 2 && !strcmp(word, "help")) { /* `heddle help gen` prints `heddle gen --help` */
    const command *topic = find_command(argv[2]);
    char *words[] = {argv[2], "--help", NULL};
    return topic ? topic->run(2, words) : unknown_command(argv[2]);
  }
  if (argc < 2 || !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
    print_help();
    return argc < 2 ? 2 : 0;
  }
  if (!strcmp(word, "--version")) {
    char *ptxas = compile_find_ptxas();
    printf("heddle %s\ncommit %s, LLVM %s\nptxas %s\n", HEDDLE_VERSION, hd_build_commit(),
           hd_build_llvm(), ptxas ? ptxas :
           "none: gen writes only PTX, and the driver compiles it");
    free(ptxas);
    return 0;
  }
  if (!strcmp(word, "--build")) { /* read by heddle-agent */
    char sources[33];
    hd_build_sources(sources);
    printf("{\"version\": \"%s\", \"commit\": \"%s\", \"sources\": \"%s\"}\n",
           HEDDLE_VERSION, hd_build_commit(), sources);
    return 0;
  }
  const command *found = find_command(word);
  return found ? found->run(argc - 1, argv + 1) : unknown_command(word);
}

int main(int argc, char **argv) { return cli_close(dispatch(argc, argv)); }
