/* heddle-gpu-suite: runs every case exact and random, on the device or in the simulator, and prints
 * one table. */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "heddle/cli.h"

typedef struct arguments {
  suite_options suite;
  const char *file, *backend, *only, *ptxas, *epilogue;
  cli_texts cases;
  int64_t threads, sample, list_sample;
  const char *shard; /* "2/4" */
  bool list, scale, inject;
} arguments;

static const char about[] =
    "Runs each case of CASES twice: with exact operands, compared bit for bit, and with random\n"
    "operands, compared within the bound. Outputs are poisoned, and every buffer has guards. A\n"
    "line of CASES is words of KEY=VALUE; a list of values makes one case for each. The last line\n"
    "of the output is `N passed, N failed, N skipped`.";
static const char examples[] =
    "heddle-gpu-suite test/gpu/cases.list --backend gpu\n"
    "heddle-gpu-suite test/gpu/cases.list --backend sim --scale\n"
    "heddle-gpu-suite --case 'm=129 n=65 k=100 type=f16' --seed 3\n"
    "compute-sanitizer --tool memcheck heddle-gpu-suite test/gpu/cases.list --sample 20 --bare\n";

/* ---- which cases ---- */

static heddle_status read_cases(heddle_context *ctx, const arguments *a, suite_list *list) {
  for (int i = 0; i < a->cases.n; i++)
    HD_TRY(suite_list_read(ctx, "--case", a->cases.text[i], list));
  if (!a->file)
    return list->n ? HEDDLE_OK
                   : hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "suite.cases",
                              "give a file of cases, or --case");
  char *text;
  size_t n_bytes;
  HD_TRY(hd_file_read_text(ctx, a->file, &text, &n_bytes));
  heddle_status status = suite_list_read(ctx, a->file, text, list);
  free(text);
  return status;
}

/* Keeps every N-th case from the I-th on, of "I/N". */
static heddle_status select_shard(heddle_context *ctx, const char *words, suite_list *list) {
  unsigned shard, n_shards;
  char end;
  size_t kept = 0;
  if (sscanf(words, "%u/%u%c", &shard, &n_shards, &end) != 2 || shard < 1 || shard > n_shards)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "suite.shard",
                    "got --shard %s; legal: I/N, I from 1 to N; nearest: 1/4", words);
  for (size_t i = shard - 1; i < list->n; i += n_shards)
    list->cases[kept++] = list->cases[i];
  list->n = kept;
  return HEDDLE_OK;
}

/* Keeps the cases whose words contain `only`, then `sample` of them at equal distances. */
static void select_cases(const arguments *a, int64_t sample, suite_list *list) {
  size_t kept = 0;
  for (size_t i = 0; i < list->n; i++) {
    hd_strbuf text = {0};
    suite_case_print(&list->cases[i], &text);
    if (!a->only || strstr(hd_strbuf_text(&text), a->only))
      list->cases[kept++] = list->cases[i];
    hd_strbuf_free(&text);
  }
  list->n = kept;
  if (sample <= 0 || (size_t)sample >= kept)
    return;
  for (size_t i = 0; i < (size_t)sample; i++)
    list->cases[i] = list->cases[i * kept / (size_t)sample];
  list->n = (size_t)sample;
}

static void print_cases(const suite_list *list) {
  for (size_t i = 0; i < list->n; i++) {
    hd_strbuf text = {0};
    suite_case_print(&list->cases[i], &text);
    printf("%s\n", hd_strbuf_text(&text));
    hd_strbuf_free(&text);
  }
}

/* ---- the table ---- */

static void print_row(const arguments *a, const suite_case *c, const suite_outcome *o) {
  static const char *const words[] = {"pass", "FAIL", "skip"};
  hd_strbuf text = {0};
  suite_case_print(c, &text);
  printf("%s  %-10s %8.2f %8.2f  %-9.2e %-9.2e %s\n", words[o->word], o->path,
         o->exact_seconds * 1e3, o->random_seconds * 1e3, o->random_error, o->random_bound,
         hd_strbuf_text(&text));
  if (o->word == SUITE_SKIPPED)
    printf("      %s\n", o->why);
  if (o->word == SUITE_FAILED)
    printf("      %s\n      heddle-gpu-suite --backend %s --seed %lld --case '%s'\n", o->why,
           a->backend, (long long)a->suite.seed, hd_strbuf_text(&text));
  hd_strbuf_free(&text);
}

static heddle_status print_table(const arguments *a, const suite_list *list,
                                 const suite_outcome *outcomes) {
  size_t count[3] = {0};
  printf("word  path       exact_ms rand_ms   error     bound     case\n");
  for (size_t i = 0; i < list->n; i++) {
    print_row(a, &list->cases[i], &outcomes[i]);
    count[outcomes[i].word]++;
  }
  printf("%zu passed, %zu failed, %zu skipped\n", count[SUITE_PASSED], count[SUITE_FAILED],
         count[SUITE_SKIPPED]);
  return count[SUITE_FAILED] || !count[SUITE_PASSED] ? HEDDLE_MISMATCH : HEDDLE_OK;
}

/* ---- running ---- */

static heddle_status run_cases(const arguments *a, const suite_list *list, trial_device *device) {
  suite_outcome *outcomes = calloc(list->n ? list->n : 1, sizeof *outcomes);
  if (!outcomes)
    return HEDDLE_NO_MEMORY;
  suite_run_all(&a->suite, list->cases, list->n, device, outcomes);
  heddle_status status = print_table(a, list, outcomes);
  free(outcomes);
  return status;
}

static heddle_status run_faults(const arguments *a, const suite_list *list,
                                trial_device *device) {
  suite_faults *faults = calloc(list->n ? list->n : 1, sizeof *faults);
  int seen = 0, missed = 0, skipped = 0;
  if (!faults)
    return HEDDLE_NO_MEMORY;
  suite_inject_all(&a->suite, list->cases, list->n, device, faults);
  for (size_t i = 0; i < list->n; i++) {
    fputs(hd_strbuf_text(&faults[i].lines), stdout);
    hd_strbuf_free(&faults[i].lines);
    seen += faults[i].seen;
    missed += faults[i].missed;
    skipped += faults[i].skipped;
  }
  free(faults);
  printf("%d injected faults detected, %d missed, %d skipped\n", seen, missed, skipped);
  return missed || !seen ? HEDDLE_MISMATCH : HEDDLE_OK;
}

/* *device stays NULL for the simulator. */
static heddle_status open_backend(heddle_context *ctx, const char *backend,
                                  trial_device **device) {
  if (!strcmp(backend, "sim"))
    return HEDDLE_OK;
  if (!strcmp(backend, "gpu"))
    return trial_device_open(ctx, device);
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "suite.backend", "got '%s'; legal: gpu, sim",
                  backend);
}

static heddle_status run_selected(heddle_context *ctx, arguments *a, suite_list *list) {
  HD_TRY(read_cases(ctx, a, list));
  if (a->shard)
    HD_TRY(select_shard(ctx, a->shard, list));
  select_cases(a, a->list_sample > 0 ? a->list_sample : a->sample, list);
  for (size_t i = 0; a->scale && i < list->n; i++)
    suite_case_shrink(list, &list->cases[i]);
  if (a->list || a->list_sample > 0) {
    print_cases(list);
    return HEDDLE_OK;
  }
  trial_device *device = NULL;
  HD_TRY(open_backend(ctx, a->backend, &device));
  heddle_status status = a->inject ? run_faults(a, list, device) : run_cases(a, list, device);
  trial_device_close(device);
  return status;
}

static heddle_status run_suite(heddle_context *ctx, arguments *a) {
  suite_list list = {0};
  char *epilogue = NULL;
  heddle_status status = HEDDLE_OK;
  if (a->epilogue)
    status = hd_file_read_text(ctx, a->epilogue, &epilogue,
                               &a->suite.compile.user_epilogue_bytes);
  a->suite.compile.user_epilogue = epilogue;
  a->suite.compile.ptxas = a->ptxas;
  if (status == HEDDLE_OK)
    status = run_selected(ctx, a, &list);
  free(epilogue);
  suite_list_free(&list);
  return status;
}

static int suite(int argc, char **argv) {
  arguments a = {.backend = "gpu", .suite = {.seed = 1}, .threads = sysconf(_SC_NPROCESSORS_ONLN)};
  const cli_option options[] = {
      {"backend", CLI_TEXT, &a.backend, "B", "gpu (default) or sim"},
      {"case", CLI_MORE, &a.cases, "WORDS", "run this case; may be repeated"},
      {"only", CLI_TEXT, &a.only, "TEXT", "only the cases that contain TEXT"},
      {"sample", CLI_INT, &a.sample, "N", "only N cases, evenly spaced"},
      {"shard", CLI_TEXT, &a.shard, "I/N", "only every N-th case, from the I-th on"},
      {"list", CLI_FLAG, &a.list, NULL, "only print the cases"},
      {"list-sample", CLI_INT, &a.list_sample, "N", "only print N cases, evenly spaced"},
      {"scale", CLI_FLAG, &a.scale, NULL, "use smaller sizes with the same tails"},
      {"inject", CLI_FLAG, &a.inject, NULL,
       "three injected faults a case (five with block scales): each must be seen"},
      {"bare", CLI_FLAG, &a.suite.bare, NULL, "without guards (for compute-sanitizer)"},
      {"alternate", CLI_FLAG, &a.suite.alternate, NULL,
       "exact operands for one case, random ones for the next"},
      {"threads", CLI_INT, &a.threads, "N", "number of threads that compile and verify"},
      {"seed", CLI_INT, &a.suite.seed, "S", "seed of the operands (1)"},
      {"epilogue", CLI_TEXT, &a.epilogue, "FILE", "examples/user_epilogue.ll, for act=user"},
      {"ptxas", CLI_TEXT, &a.ptxas, "PATH", "ptxas (default: the driver compiles)"},
      {"verbose", CLI_FLAG, &a.suite.verbose, NULL, "print a line when each case begins"},
      {0}};
  const cli_command command = {
      "heddle-gpu-suite [CASES] [OPTIONS]", about, examples, options, 0, 1};
  int code = cli_parse(&command, argc, argv, &a.file, NULL);
  if (code != CLI_GO)
    return code;
  a.suite.backend = a.backend;
  a.suite.n_threads = a.threads < 1 ? 1 : a.threads > 64 ? 64 : (int)a.threads;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = run_suite(ctx, &a);
  return cli_finish(ctx, status);
}

int main(int argc, char **argv) { return cli_close(suite(argc, argv)); }
