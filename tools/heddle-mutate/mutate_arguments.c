#include "mutate_arguments.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char about[] =
    "Mutates kernels with every operator, and counts which verifiers detect each mutant: Check,\n"
    "Sim, ptxas, the device. The exit code is 1 if Check or Sim miss a mutant that is not\n"
    "equivalent or reject a correct kernel; with --agree, if they disagree.";

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

enum { MAX_THREADS = 64 };
static const int64_t NOT_GIVEN = INT64_MIN;

static int parse(int argc, char **argv, mutate_arguments *a) {
  mutate_options *o = &a->options;
  const cli_option options[] = {
      {"all", CLI_FLAG, &a->all, NULL, "every kernel of every example"},
      {"examples", CLI_TEXT, &a->examples, "DIR", "folder of the examples (examples)"},
      {"schedule", CLI_TEXT, &o->schedule, "S",
       "schedule (default: the default schedule with a small tile)"},
      {"operator", CLI_TEXT, &o->operator_name, "NAME", "only this operator"},
      {"form", CLI_TEXT, &o->form_name, "NAME", "only this kernel: FILE/VARIANT"},
      {"no-sim", CLI_FLAG, &o->no_sim, NULL,
       "run only Check; equivalent mutants count as missed"},
      {"no-ptx", CLI_FLAG, &o->no_ptx, NULL, "without the operators on PTX lines"},
      {"ptxas", CLI_TEXT, &o->ptxas, "PATH",
       "count what ptxas detects (default with --all, if it is found), or none"},
      {"generic", CLI_INT, &a->generic, "N",
       "N random mutants of each kernel by --seed, by operators that use no rule"},
      {"gpu", CLI_FLAG, &o->gpu, NULL, "also launch the mutants on the device"},
      {"sample", CLI_INT, &a->sample, "N",
       "with --gpu: N mutants of each operator and kernel, by --seed (all)"},
      {"seconds", CLI_INT, &a->seconds, "S", "with --gpu: time limit of all launches (none)"},
      {"sanitizer", CLI_TEXT, &o->sanitizer, "PATH",
       "with --gpu: the path of compute-sanitizer; also launches under each of its tools"},
      {"tools", CLI_TEXT, &a->tools, "LIST",
       "tools of the sanitizer (memcheck,synccheck,racecheck,initcheck)"},
      {"tool-sample", CLI_INT, &a->tool_sample, "N",
       "run a tool on N mutants of each operator, from kernels that it accepts (3)"},
      {"tool-seconds", CLI_INT, &a->tool_seconds, "S", "time limit of each tool (none)"},
      {"out", CLI_TEXT, &o->out, "FILE",
       "write a CSV line for each kernel and mutant, after every step"},
      {"resume", CLI_FLAG, &a->resume, NULL,
       "continue with the results in --out"},
      {"launch", CLI_TEXT, &o->launch, "LIST",
       "only launch OPERATOR:SITE,… of --form on the device"},
      {"limit", CLI_INT, &a->limit, "S", "seconds after which a launch counts as hung (2)"},
      {"worker", CLI_TEXT, &o->worker, "PATH", "the program that launches (this one)"},
      {"agree", CLI_INT, &a->agree, "N", "compare Check and Sim on N random kernels"},
      {"mutants", CLI_INT, &a->mutants, "N",
       "with --agree: N mutants of each kernel (default: one of six kernels in ten)"},
      {"seed", CLI_INT, &a->seed, "S", "seed of the first kernel, and of --sample (1)"},
      {"threads", CLI_INT, &a->threads, "N",
       "number of mutants verified in parallel (default: number of processors)"},
      {"blind", CLI_TEXT, &o->blind, "DETECTOR",
       "check or sim: it accepts everything, to test the count"},
      {"verbose", CLI_FLAG, &o->verbose, NULL,
       "print a line for every mutant, not only for missed ones"},
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
  o->n_threads = a->threads > MAX_THREADS ? MAX_THREADS : (int)a->threads;
  o->seed = (uint64_t)a->seed;
  o->generic = (size_t)a->generic;
  o->sample = (size_t)a->sample;
  o->limit_seconds = (double)a->limit;
  o->gpu_seconds = (double)a->seconds;
  o->tool_seconds = (double)a->tool_seconds;
  o->tool_sample = (size_t)a->tool_sample;
}

/* Sets the tools of a list. CLI_GO, or the exit code. */
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

/* Refuses a name that is in neither list of operators. CLI_GO, or the exit code. */
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

/* Refuses illegal values of options. CLI_GO, or the exit code. */
static int check_words(const mutate_options *o) {
  if (o->blind && strcmp(o->blind, "check") && strcmp(o->blind, "sim"))
    return cli_usage_error("mutate.blind", "got '%s'; legal: check, sim", o->blind);
  if (o->ptxas && strcmp(o->ptxas, "none") && access(o->ptxas, X_OK) != 0)
    return cli_usage_error("mutate.ptxas", "'%s' cannot be run; legal: a path of ptxas, or none",
                           o->ptxas);
  return check_operator(o->operator_name);
}

/* Refuses options that need another option. */
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
