/* heddle bench: Heddle and its peers on the device, by the measuring protocol. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "bench_print.h"
#include "cli.h"
#include "commands.h"
#include "compile_input.h"
#include "promise.h"
#include "tuned_file.h"

static const char about[] =
    "Times D[M,N] = A[M,K] (2:4 sparse) x B[K,N], B stored N x K, D in the faster order,\n"
    "against cuBLASLt (dense, best of its heuristics) and cuSPARSELt (every algorithm id, and\n"
    "its default), both opened at run time. The peer `stream` only reads packed A and B: the\n"
    "ceiling of small N.\n"
    "\n"
    "Launches are graph-captured behind a spin kernel, operands rotate over 256 MB,\n"
    "contenders take turns; medians of rounds, random values. D is checked before and after:\n"
    "all of it, against cuBLASLt's product in f32, or else sampled rows (`checked` says\n"
    "which). --alone adds burst (4 ms after 200 ms idle) and sustained (1 s) rates with power\n"
    "and clock, from N = 1024 on.\n"
    "\n"
    "Every --schedule is a contender; --sweep takes every legal schedule that has the keys\n"
    "(\"\": all), looks at each for 1 ms, and brings the best into the turns; a quick look has\n"
    "rounds 1.\n"
    "\n"
    "x dense, x peer: the time of cuBLASLt, of the faster peer, over this one. A row's\n"
    "command in CSV and JSON measures it again. A line of a --grid file is TYPE M K N\n"
    "[DTYPE]; # starts a comment.";

static const char examples[] =
    "heddle bench --type bf16 -m 8192 -n 8192 -k 8192 --alone\n"
    "heddle bench --grid docs/bench/llama.grid --peers all --format csv\n"
    "heddle bench -m 4096 -k 4096 -n 256 --schedule tile=128x64 --schedule tile=64x128\n"
    "heddle bench -m 8192 -k 8192 -n 16 --weights-ready both --peers all,stream\n"
    "heddle bench -m 8192 -k 8192 -n 256 --sweep \"cluster=2 a=desc\" --peers none --order row\n"
    "heddle bench --grid docs/bench/llama.grid --only s8 --list\n";

typedef struct bench_args {
  hd_bench_problem problem;
  const char *grid, *only, *peers, *format, *ptxas, *cache, *cublas, *cusparselt, *order, *sweep;
  const char *target, *db, *promise;
  cli_texts schedules;
  bool alone, list, no_tuned;
  int64_t device, seed, finalists, jobs;
} bench_args;

typedef struct bench_tool {
  const bench_args *args;
  hd_bench_options options;
  bench_printer printer;
  hd_device *device; /* NULL: the cases are listed, not measured */
  int n_cases, n_wrong;
} bench_tool;

static heddle_status list_case(heddle_context *ctx, const bench_tool *t,
                               const hd_bench_problem *p) {
  static const char *const orders[] = {"both", "col", "row"}; /* ORDER hd_bench_order */
  hd_bench_way *way;
  int32_t n;
  HD_TRY(hd_bench_ways(ctx, p, &t->options, t->args->target, &way, &n));
  for (int32_t i = 0; i < n; i++) {
    char name[256];
    snprintf(name, sizeof name, "heddle %s %s", orders[t->options.order], way[i].schedule);
    char *command = bench_command(p, t->options.seed, name, way[i].weights_ready);
    printf("%s\n", command);
    free(command);
  }
  hd_bench_ways_free(way, n);
  return HEDDLE_OK;
}

static heddle_status run_case(heddle_context *ctx, bench_tool *t, const hd_bench_problem *p) {
  if (t->args->only && strcmp(t->args->only, heddle_elem_get(p->elem)->name) != 0)
    return HEDDLE_OK;
  t->n_cases++;
  if (!t->device)
    return list_case(ctx, t, p);
  hd_bench_result result;
  HD_TRY(hd_bench_run(ctx, t->device, p, &t->options, &result));
  bench_print_case(&t->printer, p, &result);
  for (int32_t i = 0; i < result.n_rows; i++)
    t->n_wrong += !result.row[i].ok;
  free(result.row);
  cli_print_diagnostics(ctx);
  return HEDDLE_OK;
}

static heddle_status read_line(heddle_context *ctx, const char *file, unsigned line, char *text,
                               hd_bench_problem *p) {
  char type[16] = "", d[16] = "";
  long long m, k, n;
  hd_loc loc = {file, line, 1};
  int got = sscanf(text, "%15s %lld %lld %lld %15s", type, &m, &k, &n, d);
  if (got < 4 || m < 1 || n < 1 || k < 1 || m > 1 << 20 || n > 1 << 20 || k > 1 << 20)
    return hd_error(ctx, HEDDLE_INVALID, loc, "bench.grid",
                    "got \"%.60s\"; a line is TYPE M K N [DTYPE], sizes 1 to 1048576", text);
  *p = (hd_bench_problem){.m = m, .n = n, .k = k};
  if (heddle_elem_parse(type, &p->elem) != HEDDLE_OK)
    return hd_error(ctx, HEDDLE_INVALID, loc, "bench.type",
                    "got type \"%s\"; legal: as bf16, e4m3", type);
  p->d_elem = hd_bench_output(p->elem);
  if (got == 5 && heddle_elem_parse(d, &p->d_elem) != HEDDLE_OK)
    return hd_error(ctx, HEDDLE_INVALID, loc, "bench.type",
                    "got type \"%s\"; legal: as bf16, f32", d);
  return HEDDLE_OK;
}

/* A case that Heddle has no kernel for is told, and does not keep the others from being
 * measured. */
static heddle_status run_grid(heddle_context *ctx, bench_tool *t) {
  char *text, *save = NULL;
  size_t n_bytes;
  HD_TRY(hd_file_read_text(ctx, t->args->grid, &text, &n_bytes));
  heddle_status status = HEDDLE_OK, left_out = HEDDLE_OK;
  unsigned number = 0;
  for (char *line = text; line && status == HEDDLE_OK; line = save) {
    save = strchr(line, '\n');
    if (save)
      *save++ = '\0';
    number++;
    line[strcspn(line, "#")] = '\0';
    if (line[strspn(line, " \t\r")] == '\0')
      continue;
    hd_bench_problem p = t->args->problem;
    status = read_line(ctx, t->args->grid, number, line, &p);
    if (status == HEDDLE_OK)
      status = run_case(ctx, t, &p);
    if (status == HEDDLE_UNSUPPORTED) {
      cli_print_diagnostics(ctx);
      left_out = status;
      status = HEDDLE_OK;
    }
  }
  free(text);
  return status == HEDDLE_OK ? left_out : status;
}

static const char *const peer_names[] = {"cublas", "cusparselt", "stream"};
enum { N_LIBRARIES = 2 }; /* the first ones: rivals, and what "all" means */

/* Is the name a word of the list, as it stands or in "all"? */
static bool wants(const char *list, int peer) {
  size_t n;
  for (const char *word = list; *word; word += n + (word[n] == ',')) {
    n = strcspn(word, ",");
    if ((n == strlen(peer_names[peer]) && strncmp(word, peer_names[peer], n) == 0) ||
        (peer < N_LIBRARIES && n == 3 && strncmp(word, "all", n) == 0))
      return true;
  }
  return false;
}

static int check_peers(const char *list) {
  static const char *const others[] = {"all", "none"};
  size_t n;
  for (const char *word = list; *word; word += n + (word[n] == ',')) {
    n = strcspn(word, ",");
    bool known = false;
    for (int i = 0; i < 5; i++) {
      const char *name = i < 3 ? peer_names[i] : others[i - 3];
      known |= strlen(name) == n && strncmp(word, name, n) == 0;
    }
    if (!known)
      return cli_usage_error("bench.peers",
                             "got \"%.*s\"; legal: all, none, cublas, cusparselt, stream", (int)n,
                             word);
  }
  return CLI_GO;
}

/* A peer that cannot be opened is not missed, but told of. */
static void open_peers(heddle_context *ctx, bench_tool *t) {
  const char *paths[] = {t->args->cublas, t->args->cusparselt, NULL};
  for (int i = 0; i < HD_BENCH_PEERS; i++) {
    if (!wants(t->args->peers, i))
      continue;
    hd_peer *peer;
    heddle_context *quiet = heddle_context_create();
    if (hd_peer_open(quiet, peer_names[i], paths[i], t->device, &peer) == HEDDLE_OK)
      t->options.peer[t->options.n_peers++] = peer;
    else
      hd_note(ctx, HD_NOWHERE, "bench.peer", "without %s: %s", peer_names[i],
              hd_first_error_text(quiet, "no reason"));
    heddle_context_free(quiet);
  }
}

static heddle_status run_all(heddle_context *ctx, bench_tool *t) {
  HD_TRY(t->args->grid ? run_grid(ctx, t) : run_case(ctx, t, &t->args->problem));
  if (t->n_cases)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = t->args->grid}, "bench.grid",
                  "no case%s%s; a line is TYPE M K N [DTYPE]", t->args->only ? " of " : "",
                  t->args->only ? t->args->only : "");
}

static heddle_status run_tool(heddle_context *ctx, bench_tool *t) {
  open_peers(ctx, t);
  bench_print_head(&t->printer, &t->device->info, t->options.nvml);
  heddle_status status = run_all(ctx, t);
  bench_print_tail(&t->printer);
  return status;
}

static heddle_status bench_on_device(heddle_context *ctx, bench_tool *t) {
  heddle_runtime *runtime;
  hd_nvml *nvml = NULL;
  HD_TRY(heddle_runtime_create(ctx, NULL, &runtime));
  heddle_status status = hd_device_open(ctx, runtime, (int)t->args->device, &t->device);
  if (status == HEDDLE_OK) {
    if (hd_nvml_open(NULL, NULL, t->device->info.pci_id, &nvml) != HEDDLE_OK)
      nvml = NULL;
    t->options.nvml = nvml;
    t->options.host = hd_bench_host_create();
    status = run_tool(ctx, t);
    hd_bench_host_free(t->options.host);
    for (int32_t i = 0; i < t->options.n_peers; i++)
      hd_peer_close(t->options.peer[i]);
    if (nvml)
      hd_nvml_close(nvml);
    hd_device_close(t->device);
  }
  heddle_runtime_free(runtime);
  if (status == HEDDLE_OK && t->n_wrong)
    status = hd_error(ctx, HEDDLE_MISMATCH, HD_NOWHERE, "bench.verify", "%d wrong results",
                      t->n_wrong);
  return status;
}

/* Judged before a device is looked for: a wrong use is one on every machine. */
static int check_args(const bench_args *a, bench_tool *t) {
  const cli_number numbers[] = {
      {"-m", a->problem.m, 1, INT32_MAX},          {"-n", a->problem.n, 1, INT32_MAX},
      {"-k", a->problem.k, 1, INT32_MAX},          {"--device", a->device, 0, INT32_MAX},
      {"--finalists", a->finalists, 1, INT32_MAX}, {"--jobs", a->jobs, 1, INT32_MAX}};
  int code = cli_check_numbers("bench.number", numbers, HD_COUNT(numbers));
  if (code != CLI_GO)
    return code;
  heddle_elem only;
  if (a->only && heddle_elem_parse(a->only, &only) != HEDDLE_OK)
    return cli_usage_error("bench.only", "got \"%s\"; legal: a type, as bf16 or e4m3", a->only);
  if (!bench_format_parse(a->format, &t->printer.format))
    return cli_usage_error("bench.format", "got \"%s\"; legal: table, csv, json", a->format);
  if (check_peers(a->peers) != CLI_GO || promise_read(a->promise, &t->options.promise) != CLI_GO)
    return 2;
  static const char *const orders[] = {"both", "col", "row"}; /* ORDER hd_bench_order */
  for (int i = 0; i < 3; i++)
    if (strcmp(a->order, orders[i]) == 0) {
      t->options.order = (hd_bench_order)i;
      return CLI_GO;
    }
  return cli_usage_error("bench.order", "got \"%s\"; legal: both, col, row", a->order);
}

static void set_options(const bench_args *a, bench_tool *t) {
  t->args = a;
  t->options.target = a->list ? NULL : a->target;
  t->options.ptxas = a->ptxas;
  t->options.cache = a->cache;
  t->options.schedule = a->schedules.text;
  t->options.n_schedules = a->schedules.n;
  t->options.sweep = a->sweep;
  t->options.n_finalists = (int32_t)a->finalists;
  t->options.n_jobs = (int32_t)a->jobs;
  t->options.alone = t->printer.alone = a->alone;
  t->options.seed = t->printer.seed = (uint64_t)a->seed;
}

int cmd_bench(int argc, char **argv) {
  bench_args a = {.problem = {HEDDLE_BF16, HEDDLE_N_ELEMS, 4096, 512, 4096},
                  .promise = "no",
                  .peers = "all",
                  .format = "table",
                  .order = "both",
                  .finalists = 8,
                  .jobs = sysconf(_SC_NPROCESSORS_ONLN),
                  .seed = 1};
  const cli_option options[] = {
      {"type", CLI_ELEM, &a.problem.elem, "T", "element type of A and B (bf16)"},
      {"d-type", CLI_ELEM, &a.problem.d_elem, "T",
       "element type of D (bf16; f16 for f16, f32 for tf32)"},
      {"m", CLI_INT, &a.problem.m, "M", "rows of A (4096)"},
      {"n", CLI_INT, &a.problem.n, "N", "columns of B (512)"},
      {"k", CLI_INT, &a.problem.k, "K", "inner size (4096)"},
      {"grid", CLI_TEXT, &a.grid, "FILE", "cases from a file instead"},
      {"only", CLI_TEXT, &a.only, "TYPE", "of the grid the cases of one type"},
      {"peers", CLI_TEXT, &a.peers, "LIST",
       "all (cublas, cusparselt: what is found), stream, none"},
      {"schedule", CLI_MORE, &a.schedules, "S", "over the default; each is a contender"},
      {"sweep", CLI_TEXT, &a.sweep, "KEYS", "every legal schedule with these keys; \"\": all"},
      {"db", CLI_TEXT, &a.db, "FILE",
       "tuned choices: of `heddle tune`, or its export (the shipped)"},
      {"no-tuned", CLI_FLAG, &a.no_tuned, NULL, "the model's default, whatever was tuned"},
      {"finalists", CLI_INT, &a.finalists, "N", "of a sweep, in the turns (8)"},
      {"order", CLI_TEXT, &a.order, "O", "of D: both (the faster counts), row, col"},
      {"weights-ready", CLI_TEXT, &a.promise, "W", "Heddle's " PROMISE_ABOUT " (no)"},
      {"alone", CLI_FLAG, &a.alone, NULL, "burst and sustained rates too"},
      {"format", CLI_TEXT, &a.format, "F", "table, csv or json"},
      {"list", CLI_FLAG, &a.list, NULL, "print the commands of the cases; needs no device"},
      {"target", CLI_TEXT, &a.target, "T", "compile for it (the device's; of --list sm_90a)"},
      {"jobs", CLI_INT, &a.jobs, "N", "compiles at once (as many as there are cores)"},
      {"device", CLI_INT, &a.device, "I", "device number (0)"},
      {"seed", CLI_INT, &a.seed, "S", "of the operands (1)"},
      {"ptxas", CLI_TEXT, &a.ptxas, "PATH", "ptxas (found on PATH; else the driver compiles)"},
      {"cache", CLI_TEXT, &a.cache, "DIR", "folder of compiled kernels"},
      {"cublas", CLI_TEXT, &a.cublas, "PATH", "libcublasLt"},
      {"cusparselt", CLI_TEXT, &a.cusparselt, "PATH", "libcusparseLt"},
      {NULL, CLI_FLAG, NULL, NULL, NULL}};
  const cli_command command = {"bench [-m M -n N -k K --type T | --grid FILE] [--peers LIST]",
                               about,
                               examples,
                               options,
                               0,
                               0};
  bench_tool t = {0};
  int n_args, go = cli_parse(&command, argc, argv, NULL, &n_args);
  if (go == CLI_GO)
    go = check_args(&a, &t);
  if (go != CLI_GO)
    return go;
  if (a.problem.d_elem == HEDDLE_N_ELEMS)
    a.problem.d_elem = hd_bench_output(a.problem.elem);
  if (a.list && !a.target)
    a.target = "sm_90a";
  char *found = a.ptxas ? NULL : compile_find_ptxas();
  if (found)
    a.ptxas = found;
  set_options(&a, &t);
  heddle_context *ctx = heddle_context_create();
  hd_tuned *tuned = NULL;
  heddle_status status = a.no_tuned ? HEDDLE_OK : tuned_open(ctx, a.db, &tuned);
  t.options.tuned = tuned;
  if (status == HEDDLE_OK)
    status = a.list ? run_all(ctx, &t) : bench_on_device(ctx, &t);
  hd_tuned_free(tuned);
  free(found);
  return cli_finish(ctx, status);
}
