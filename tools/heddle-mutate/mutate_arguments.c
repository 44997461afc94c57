#include "mutate_arguments.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char about[] =
    "Breaks kernels in every way that the operators know and counts who notices: the\n"
    "static checker, the simulator, ptxas, the device. Exit code 1 when check or sim miss\n"
    "a mutant that is not equivalent, or do not find a sound kernel sound; with --agree,\n"
    "when they differ.";

static const char examples[] =
    "heddle-mutate --all\n"
    "heddle-mutate --all --out mutants.csv\n"
    "heddle-mutate --all --out mutants.csv --resume --gpu --sample 1 --seconds 60\n"
    "heddle-mutate --all --out mutants.csv --resume --gpu --sample 1 \\\n"
    "    --sanitizer compute-sanitizer --tool-seconds 30\n"
    "heddle-mutate --all --generic 50 --seed 7\n"
    "heddle-mutate --agree 1000\n"
    "heddle-mutate --agree 100 --mutants 6 --seed 5000\n"
    "heddle-mutate examples/linear_bf16.heddle --operator parity --verbose\n";

enum { MOST_THREADS = 64 };
static const int64_t NOT_GIVEN = INT64_MIN;

static int parse(int argc, char **argv, mutate_arguments *a) {
  mutate_options *o = &a->options;
  const cli_option options[] = {
      {"all", CLI_FLAG, &a->all, NULL, "every kernel of every example"},
      {"examples", CLI_TEXT, &a->examples, "DIR", "where they are (default: examples)"},
      {"schedule", CLI_TEXT, &o->schedule, "S", "instead of a small tile of the default"},
      {"operator", CLI_TEXT, &o->operator_name, "NAME", "this one only"},
      {"form", CLI_TEXT, &o->form_name, "NAME", "this kernel only: FILE/VARIANT"},
      {"no-sim", CLI_FLAG, &o->no_sim, NULL,
       "ask the checker only; equivalent ones count as missed"},
      {"no-ptx", CLI_FLAG, &o->no_ptx, NULL, "leave the operators on PTX lines out"},
      {"ptxas", CLI_TEXT, &o->ptxas, "PATH",
       "count what ptxas notices (with --all where it is found; none: do without)"},
      {"generic", CLI_INT, &a->generic, "N",
       "instead: N mutants of each kernel, by --seed, by operators that know no rule"},
      {"gpu", CLI_FLAG, &o->gpu, NULL, "launch the mutants on the device, too"},
      {"sample", CLI_INT, &a->sample, "N",
       "with --gpu: N mutants of each operator and kernel, by --seed (default: all)"},
      {"seconds", CLI_INT, &a->seconds, "S", "with --gpu: for all launches (default: no end)"},
      {"sanitizer", CLI_TEXT, &o->sanitizer, "PATH",
       "with --gpu: compute-sanitizer; launches once more under each of its tools"},
      {"tools", CLI_TEXT, &a->tools, "LIST",
       "these of them (default: memcheck,synccheck,racecheck,initcheck)"},
      {"tool-sample", CLI_INT, &a->tool_sample, "N",
       "a tool is given N mutants of each operator, over the kernels it accepts (default 3)"},
      {"tool-seconds", CLI_INT, &a->tool_seconds, "S", "for each tool (default: no end)"},
      {"out", CLI_TEXT, &o->out, "FILE",
       "a line with commas for each kernel and mutant, written anew after every step"},
      {"resume", CLI_FLAG, &a->resume, NULL,
       "go on from what --out has of these kernels and options"},
      {"launch", CLI_TEXT, &o->launch, "LIST",
       "launch OPERATOR:SITE,… of --form on the device, no more"},
      {"limit", CLI_INT, &a->limit, "S", "seconds until a launch counts as hung (default 2)"},
      {"worker", CLI_TEXT, &o->worker, "PATH", "the program that launches (default: this one)"},
      {"agree", CLI_INT, &a->agree, "N", "N kernels drawn at random: do check and sim agree?"},
      {"mutants", CLI_INT, &a->mutants, "N",
       "with --agree: N mutants of each kernel (default: of six kernels in ten one, no more)"},
      {"seed", CLI_INT, &a->seed, "S", "of the first of them, and of --sample (default 1)"},
      {"threads", CLI_INT, &a->threads, "N",
       "how many mutants are verified at once (default: the machine's)"},
      {"blind", CLI_TEXT, &o->blind, "DETECTOR",
       "check or sim: says yes to all, to test the count"},
      {"verbose", CLI_FLAG, &o->verbose, NULL, "a line for every mutant, not only the missed"},
      {0}};
  const cli_command command = {
      "heddle-mutate [FILE…] [--all]", about, examples, options, 0, CLI_MAX_ARGS};
  return cli_parse(&command, argc, argv, a->files, &a->n_files);
}

static int check_numbers(const mutate_arguments *a) {
  const cli_number numbers[] = {{"--agree", a->agree == NOT_GIVEN ? 1 : a->agree, 1, INT32_MAX},
                                {"--mutants", a->mutants, 0, INT32_MAX},
                                {"--generic", a->generic, 0, INT32_MAX},
                                {"--threads", a->threads, 1, INT32_MAX},
                                {"--limit", a->limit, 1, INT32_MAX},
                                {"--sample", a->sample, 0, INT32_MAX},
                                {"--seconds", a->seconds, 0, INT32_MAX},
                                {"--tool-sample", a->tool_sample, 1, INT32_MAX},
                                {"--tool-seconds", a->tool_seconds, 0, INT32_MAX}};
  return cli_check_numbers("mutate.number", numbers, HD_COUNT(numbers));
}

static void take_numbers(mutate_arguments *a) {
  mutate_options *o = &a->options;
  a->agrees = a->agree != NOT_GIVEN;
  o->n_threads = a->threads > MOST_THREADS ? MOST_THREADS : (int)a->threads;
  o->seed = (uint64_t)a->seed;
  o->generic = (size_t)a->generic;
  o->sample = (size_t)a->sample;
  o->limit_seconds = (double)a->limit;
  o->gpu_seconds = (double)a->seconds;
  o->tool_seconds = (double)a->tool_seconds;
  o->tool_sample = (size_t)a->tool_sample;
}

/* CLI_GO, or the exit code. */
static int choose_tools(const char *list, bool tool[MUTATE_N_TOOLS]) {
  const char *names[MUTATE_N_TOOLS];
  for (int i = 0; i < MUTATE_N_TOOLS; i++)
    names[i] = mutate_tool_name(i);
  for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
    char word[32];
    int i = 0;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
    while (i < MUTATE_N_TOOLS && strcmp(word, names[i]))
      i++;
    if (i == MUTATE_N_TOOLS)
      return cli_usage_error("mutate.tools", "got '%s'; nearest: %s", word,
                             cli_nearest(word, names, MUTATE_N_TOOLS));
    tool[i] = true;
  }
  return CLI_GO;
}

/* A word that is in none of the two lists: CLI_GO, or the exit code. */
static int check_operator(const char *name) {
  const char *names[64];
  size_t n_roles, n_lines, n = 0;
  const mutate_operator *roles = mutate_role_operators(&n_roles);
  const mutate_line_operator *lines = mutate_line_operators(&n_lines);
  for (size_t i = 0; i < n_roles; i++)
    names[n++] = roles[i].name;
  for (size_t i = 0; i < n_lines; i++)
    names[n++] = lines[i].name;
  for (size_t i = 0; name && i < n; i++)
    if (!strcmp(name, names[i]))
      return CLI_GO;
  return name ? cli_usage_error("mutate.operator", "got '%s'; nearest: %s", name,
                                cli_nearest(name, names, n))
              : CLI_GO;
}

/* What would be taken for something else, or for nothing: CLI_GO, or the exit code. */
static int check_words(const mutate_options *o) {
  if (o->blind && strcmp(o->blind, "check") && strcmp(o->blind, "sim"))
    return cli_usage_error("mutate.blind", "got '%s'; legal: check, sim", o->blind);
  if (o->ptxas && strcmp(o->ptxas, "none") && access(o->ptxas, X_OK) != 0)
    return cli_usage_error("mutate.ptxas", "'%s' cannot be run; legal: a path of ptxas, or none",
                           o->ptxas);
  return check_operator(o->operator_name);
}

/* Options that need another one. */
static int check_company(const mutate_arguments *a) {
  if (a->mutants)
    return cli_usage_error("mutate.mutants", "--mutants goes with --agree");
  if (!a->all && !a->n_files)
    return cli_usage_error("mutate.files", "got no file; nearest: --all");
  if (a->options.sanitizer && !a->options.gpu)
    return cli_usage_error("mutate.sanitizer", "--sanitizer goes with --gpu");
  if (a->resume && !a->options.out)
    return cli_usage_error("mutate.resume", "--resume goes with --out");
  return CLI_GO;
}

int mutate_arguments_read(int argc, char **argv, mutate_arguments *a) {
  *a = (mutate_arguments){.agree = NOT_GIVEN,
                          .seed = 1,
                          .threads = sysconf(_SC_NPROCESSORS_ONLN),
                          .limit = 2,
                          .tool_sample = 3,
                          .examples = "examples",
                          .tools = "memcheck,synccheck,racecheck,initcheck"};
  int code = parse(argc, argv, a);
  if (code == CLI_GO)
    code = check_numbers(a);
  if (code == CLI_GO)
    code = check_words(&a->options);
  if (code != CLI_GO)
    return code;
  take_numbers(a);
  if (a->agrees)
    return CLI_GO;
  code = check_company(a);
  return code == CLI_GO ? choose_tools(a->tools, a->tool) : code;
}
