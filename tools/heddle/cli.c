#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/activations.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "Support/nearest.h"
#include "Support/readable.h"
#include "heddle/version.h"

/* ---- nearest name ---- */

const char *cli_nearest(const char *word, const char *const *names, size_t n) {
  const char *best = NULL;
  int best_distance = 0;
  for (size_t i = 0; i < n; i++) {
    bool begun = *word && !strncmp(names[i], word, strlen(word));
    int distance = begun ? 0 : hd_edit_distance(word, names[i]);
    if (!best || distance < best_distance) {
      best = names[i];
      best_distance = distance;
    }
  }
  return best;
}

bool cli_is_near(const char *word, const char *name) {
  int length = (int)strlen(word), most = length < 4 ? 2 : length / 2; /* 2: two swapped letters */
  return !strncmp(name, word, strlen(word)) || hd_edit_distance(word, name) <= most;
}

/* ---- diagnostics ---- */

static void print_readable(FILE *to, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  size_t n = (size_t)vsnprintf(NULL, 0, format, again) + 1;
  va_end(again);
  char *text = malloc(n), *safe = malloc(4 * n);
  if (text && safe) {
    vsnprintf(text, n, format, args);
    hd_readable(text, safe, 4 * n);
    fputs(safe, to);
  }
  hd_free(text);
  hd_free(safe);
}

void cli_print(const char *format, ...) {
  va_list args;
  va_start(args, format);
  print_readable(stdout, format, args);
  va_end(args);
}

int cli_usage_error(const char *rule, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "error[%s]: ", rule);
  print_readable(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return 2;
}

int cli_check_numbers(const char *rule, const cli_number *numbers, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const cli_number *x = &numbers[i];
    if (x->value < x->least || x->value > x->most)
      return cli_usage_error(rule, "got %s %lld; legal: %lld to %lld", x->option,
                             (long long)x->value, (long long)x->least, (long long)x->most);
  }
  return CLI_GO;
}

void cli_print_diagnostics(heddle_context *ctx) {
  for (size_t i = 0; i < heddle_context_count(ctx); i++) {
    const heddle_diagnostic *diagnostic = heddle_context_get(ctx, i);
    size_t n_bytes = heddle_diagnostic_format(diagnostic, NULL, 0) + 1;
    char *text = malloc(n_bytes);
    if (!text)
      continue;
    heddle_diagnostic_format(diagnostic, text, n_bytes);
    fprintf(stderr, "%s\n", text);
    hd_free(text);
  }
  heddle_context_clear(ctx);
}

int cli_finish(heddle_context *ctx, heddle_status status) {
  /* Flush results first, so that they precede the diagnostics on a terminal. */
  fflush(stdout);
  bool reported = hd_first_error(ctx) != NULL;
  cli_print_diagnostics(ctx);
  if (status != HEDDLE_OK && !reported)
    fprintf(stderr, "error[status]: %s\n", heddle_status_text(status));
  heddle_context_free(ctx);
  return heddle_status_exit_code(status);
}

int cli_close(int code) {
  if (hd_memory_shortages() && code == 0) {
    fprintf(stderr, "error[memory.short]: memory ran out\n");
    code = heddle_status_exit_code(HEDDLE_NO_MEMORY);
  }
  if (fflush(stdout) == 0 && !ferror(stdout))
    return code;
  fprintf(stderr, "error[io.write]: standard output could not be written\n");
  return code ? code : 4;
}

/* ---- options ---- */

bool cli_parse_int(const char *text, int64_t *value) {
  char *end;
  errno = 0;
  long long parsed = strtoll(text, &end, 0);
  if (errno || end == text || *end)
    return false;
  *value = parsed;
  return true;
}

static size_t count_options(const cli_option *options) {
  size_t n = 0;
  while (options && options[n].name)
    n++;
  return n;
}

static const char *dashes(const cli_option *option) { return option->name[1] ? "--" : "-"; }

/* The prefix of the usage line; empty if the usage names its own tool. */
static const char *program(const cli_command *command) {
  return strncmp(command->usage, "heddle-", 7) == 0 ? "" : "heddle ";
}

static void print_help(const cli_command *command) {
  printf("usage: %s%s\n\n%s\n", program(command), command->usage, command->about);
  size_t n = count_options(command->options);
  if (n)
    printf("\nOptions:\n");
  for (size_t i = 0; i < n; i++) {
    const cli_option *o = &command->options[i];
    char left[64];
    snprintf(left, sizeof left, "%s%s%s%s", dashes(o), o->name, o->metavar ? " " : "",
             o->metavar ? o->metavar : "");
    printf("  %-26s %s\n", left, o->about);
  }
  printf("\nExamples:\n");
  for (const char *line = command->examples; line && *line;) {
    size_t len = strcspn(line, "\n");
    printf("  %.*s\n", (int)len, line);
    line += len + (line[len] == '\n');
  }
}

/* The option with the name `word` (without dashes, up to '='); NULL if there is none. */
static const cli_option *find_option(const cli_command *command, const char *word, size_t len) {
  for (size_t i = 0; i < count_options(command->options); i++) {
    const char *name = command->options[i].name;
    if (strlen(name) == len && !memcmp(name, word, len))
      return &command->options[i];
  }
  return NULL;
}

static int unknown_option(const cli_command *command, const char *given, const char *word) {
  const char *names[64];
  size_t n = count_options(command->options);
  n = n < 63 ? n : 63;
  for (size_t i = 0; i < n; i++)
    names[i] = command->options[i].name;
  names[n] = "help";
  const char *nearest = cli_nearest(word, names, n + 1);
  bool near = nearest[1] ? cli_is_near(word, nearest) : nearest[0] == word[0];
  return near ? cli_usage_error("cli.option", "unknown option '%s'; nearest: %s%s", given,
                                nearest[1] ? "--" : "-", nearest)
              : cli_usage_error("cli.option", "unknown option '%s'; legal: the options of --help",
                                given);
}

static int set_elem(const cli_option *option, const char *text) {
  if (heddle_elem_parse(text, option->value) == HEDDLE_OK)
    return CLI_GO;
  const char *names[HEDDLE_N_ELEMS];
  for (int i = 0; i < HEDDLE_N_ELEMS; i++)
    names[i] = heddle_elem_get((heddle_elem)i)->name;
  return cli_usage_error("cli.type", "'%s' is not an element type; nearest: %s", text,
                         cli_nearest(text, names, HEDDLE_N_ELEMS));
}

static int set_value(const cli_option *option, const char *text) {
  cli_texts *texts = option->value; /* of CLI_MORE */
  switch (option->kind) {
  case CLI_FLAG:
    *(bool *)option->value = true;
    return CLI_GO;
  case CLI_TEXT:
    if (!*text && !option->name[1]) /* for example -o "$OUT" where OUT is not set */
      return cli_usage_error("cli.value", "-%s is empty; legal: %s", option->name,
                             option->metavar);
    *(const char **)option->value = text;
    return CLI_GO;
  case CLI_INT:
    if (cli_parse_int(text, option->value))
      return CLI_GO;
    return cli_usage_error("cli.integer", "got %s%s %s; legal: an integer", dashes(option),
                           option->name, text);
  case CLI_ELEM:
    return set_elem(option, text);
  case CLI_MORE:
    if (texts->n == CLI_MAX_TEXTS)
      return cli_usage_error("cli.repeated", "%s%s is given too often; legal: up to %d times",
                             dashes(option), option->name, CLI_MAX_TEXTS);
    texts->text[texts->n++] = text;
    return CLI_GO;
  }
  return 5;
}

/* Parses one word that starts with a dash. *i advances if its value is the next word. */
static int take_option(const cli_command *command, int argc, char **argv, int *i,
                       uint64_t *seen) {
  const char *given = argv[*i];
  const char *word = given + (given[1] == '-' ? 2 : 1);
  const char *equals = strchr(word, '=');
  const cli_option *option =
      find_option(command, word, equals ? (size_t)(equals - word) : strlen(word));
  if (!option || (given[1] != '-' && option->name[1]))
    return unknown_option(command, given, word);
  uint64_t bit = UINT64_C(1) << ((size_t)(option - command->options) % 64);
  if (option->kind != CLI_MORE && (*seen & bit))
    return cli_usage_error("cli.repeated", "%s%s is given twice; legal: once", dashes(option),
                           option->name);
  *seen |= bit;
  if (option->kind == CLI_FLAG)
    return equals ? cli_usage_error("cli.flag", "--%s takes no value", option->name)
                  : set_value(option, NULL);
  if (equals)
    return set_value(option, equals + 1);
  if (*i + 1 == argc)
    return cli_usage_error("cli.value", "%s needs a value: %s", given, option->metavar);
  return set_value(option, argv[++*i]);
}

static bool is_help(const char *word) { return !strcmp(word, "--help") || !strcmp(word, "-h"); }

static void print_version(const cli_command *command) {
  const char *name = *program(command) ? "heddle" : command->usage;
  printf("%.*s %s\n", (int)strcspn(name, " "), name, HEDDLE_VERSION);
}

static int take_all(const cli_command *command, int argc, char **argv, const char **args,
                    int *n_args) {
  uint64_t seen = 0; /* bits of the options given */
  bool options_end = false;
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    if (!options_end && !strcmp(word, "--")) {
      options_end = true;
    } else if (!options_end && word[0] == '-' && word[1]) {
      int code = take_option(command, argc, argv, &i, &seen);
      if (code != CLI_GO)
        return code;
    } else if (*n_args == command->max_args) {
      return cli_usage_error("cli.arguments", "unexpected argument '%s'; usage: %s%s", word,
                             program(command), command->usage);
    } else {
      args[(*n_args)++] = word;
    }
  }
  return CLI_GO;
}

/* ---- completion ---- */

/* Completions for options with a fixed set of values. Others take numbers or files. */
static const struct {
  const char *option, *words;
} option_words[] = {{"act", hd_act_words},
                    {"b-order", "k_major mn_major"},
                    {"backend", "auto gpu sim"},
                    {"bias", "m n"},
                    {"buckets", "auto none"},
                    {"d-order", "row_major col_major"},
                    {"format", "table csv json"},
                    {"order", "both col row each"},
                    {"peers", "all cublas cusparselt stream none"},
                    {"scale-a", "one vector"},
                    {"scale-b", "one vector"},
                    {"weights-ready", "no yes both"}};

static void print_words(const char *words, const char *begin) {
  for (const char *at = words; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
    int n = (int)strcspn(at, " ");
    if (strncmp(at, begin, strlen(begin)) == 0)
      printf("%.*s\n", n, at);
  }
}

static bool takes_elem(const cli_option *option) {
  static const char *const names[] = {"type", "b-type", "d-type", "acc", "c"};
  bool found = option->kind == CLI_ELEM;
  for (size_t i = 0; i < HD_COUNT(names); i++)
    found |= option->kind == CLI_TEXT && strcmp(option->name, names[i]) == 0;
  return found;
}

static void print_values(const cli_option *option, const char *begin) {
  for (int i = 0; takes_elem(option) && i < HEDDLE_N_ELEMS; i++)
    print_words(heddle_elem_get((heddle_elem)i)->name, begin);
  for (size_t i = 0; i < HD_COUNT(option_words); i++)
    if (strcmp(option->name, option_words[i].option) == 0)
      print_words(option_words[i].words, begin);
}

/* Prints completions of the last word, one per line: values of the preceding option, or options. */
static int complete(const cli_command *command, int argc, char **argv) {
  const char *last = argv[argc - 1], *before = argc > 3 ? argv[argc - 2] : "";
  const char *word = before + strspn(before, "-");
  const cli_option *option = *before == '-' ? find_option(command, word, strlen(word)) : NULL;
  if (option && option->kind != CLI_FLAG) {
    print_values(option, last);
    return 0;
  }
  for (const cli_option *o = command->options; o && o->name && *last == '-'; o++) {
    char text[64];
    snprintf(text, sizeof text, "%s%s", dashes(o), o->name);
    print_words(text, last);
  }
  if (*last == '-')
    print_words("--help", last);
  return 0;
}

int cli_parse(const cli_command *command, int argc, char **argv, const char **args, int *n_args) {
  if (argc > 2 && strcmp(argv[1], "--complete") == 0)
    return complete(command, argc, argv);
  for (int i = 1; i < argc; i++) {
    if (is_help(argv[i])) {
      print_help(command);
      return 0;
    }
    if (!strcmp(argv[i], "--version")) {
      print_version(command);
      return 0;
    }
  }
  int n = 0;
  int code = take_all(command, argc, argv, args, &n);
  if (code != CLI_GO)
    return code;
  const char *slash = strrchr(argv[0], '/');
  if (n < command->min_args)
    return cli_usage_error("cli.arguments", "%s needs %d argument%s, got %d; usage: %s%s",
                           slash ? slash + 1 : argv[0], command->min_args,
                           command->min_args == 1 ? "" : "s", n, program(command), command->usage);
  if (n_args)
    *n_args = n;
  return CLI_GO;
}
