/* heddle bench: Heddle and its peers on the device, by the measuring protocol. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Tune/bench.h"
#include "cli.h"
#include "commands.h"
#include "compile_input.h"

static const char about[] =
    "Times D[M,N] = A[M,K] (2:4 sparse) x B[K,N], B stored N x K, D in the faster order, against\n"
    "cuBLASLt (dense, best of its heuristics) and cuSPARSELt (every algorithm id, and its default),\n"
    "both opened at run time. Launches are graph-captured behind a spin kernel, operands rotate over\n"
    "256 MB, contenders take turns; medians of rounds, random values, D checked before and after.\n"
    "--alone adds burst (4 ms after 200 ms idle) and sustained (1 s) rates with power and clock.\n"
    "A line of a --grid file is TYPE M K N [DTYPE]; # starts a comment.";

static const char examples[] =
    "heddle bench --type bf16 -m 8192 -n 8192 -k 8192 --alone\n"
    "heddle bench --grid docs/bench/llama.grid --peers all --format csv\n"
    "heddle bench -m 4096 -k 4096 -n 256 --schedule \"tile=128x64x64\" --schedule \"tile=64x128x64\"\n";

typedef struct bench_args {
  hd_bench_problem problem;
  const char *grid, *peers, *format, *ptxas, *cache, *cublas, *cusparselt;
  cli_texts schedules;
  bool alone;
  int64_t device, seed;
} bench_args;

typedef struct bench_tool {
  const bench_args *args;
  hd_bench_options options;
  hd_device *device;
  int n_wrong;
} bench_tool;

static double tflops(const hd_bench_problem *p, double seconds) {
  return seconds > 0 ? 2e-12 * (double)p->m * (double)p->n * (double)p->k / seconds : 0;
}

static void print_head(const bench_tool *t) {
  const hd_device_info *d = &t->device->info;
  if (strcmp(t->args->format, "table") != 0)
    return;
  printf("# %s, %d SMs, driver API %d.%d", d->name, d->n_sms, d->driver_version / 1000,
         d->driver_version % 1000 / 10);
  hd_nvml_sample s;
  if (t->options.nvml && hd_nvml_read(NULL, t->options.nvml, &s) == HEDDLE_OK)
    printf(", %.0f W of %.0f W, SM %u MHz, memory %u MHz, %u C", s.power_w, s.power_limit_w,
           s.sm_mhz, s.memory_mhz, s.temperature_c);
  printf("\n%-5s %6s %6s %6s  %9s %9s %9s %8s", "type", "m", "k", "n", "us", "min", "max", "TFLOP/s");
  if (t->args->alone)
    printf(" %8s %8s %6s %5s", "burst", "sustain", "W", "MHz");
  printf(" %9s  %s\n", "error", "contender");
}

static void print_row(const bench_tool *t, const hd_bench_problem *p, const hd_bench_row *r) {
  bool csv = strcmp(t->args->format, "csv") == 0;
  const char *type = heddle_elem_get(p->elem)->name;
  double us = 1e6;
  if (csv) {
    printf("%s,%lld,%lld,%lld,%.3f,%.3f,%.3f,%.1f,%.1f,%.1f,%.0f,%u,%.3g,%s,\"%s\"\n", type,
           (long long)p->m, (long long)p->k, (long long)p->n, r->timing.median * us,
           r->timing.min * us, r->timing.max * us, tflops(p, r->timing.median),
           tflops(p, r->alone.burst), tflops(p, r->alone.sustained), r->alone.power_w,
           r->alone.sm_mhz, r->error, r->ok ? "ok" : "WRONG", r->name);
    return;
  }
  printf("%-5s %6lld %6lld %6lld  %9.2f %9.2f %9.2f %8.1f", type, (long long)p->m, (long long)p->k,
         (long long)p->n, r->timing.median * us, r->timing.min * us, r->timing.max * us,
         tflops(p, r->timing.median));
  if (t->args->alone)
    printf(" %8.1f %8.1f %6.0f %5u", tflops(p, r->alone.burst), tflops(p, r->alone.sustained),
           r->alone.power_w, r->alone.sm_mhz);
  printf(" %9.2g  %s%s\n", r->error, r->name, r->ok ? "" : "  WRONG RESULT");
}

static heddle_status run_case(heddle_context *ctx, bench_tool *t, const hd_bench_problem *p) {
  hd_bench_result result;
  HD_TRY(hd_bench_run(ctx, t->device, p, &t->options, &result));
  for (int32_t i = 0; i < result.n_rows; i++) {
    print_row(t, p, &result.row[i]);
    t->n_wrong += !result.row[i].ok;
  }
  if (result.why[0])
    hd_note(ctx, HD_NOWHERE, "bench.peer", "%s", result.why);
  fflush(stdout);
  return HEDDLE_OK;
}

static heddle_elem default_output(heddle_elem elem) {
  return elem == HEDDLE_TF32 ? HEDDLE_F32 : elem == HEDDLE_F16 ? HEDDLE_F16 : HEDDLE_BF16;
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
    return hd_error(ctx, HEDDLE_INVALID, loc, "bench.type", "got type \"%s\"", type);
  p->d_elem = default_output(p->elem);
  if (got == 5 && heddle_elem_parse(d, &p->d_elem) != HEDDLE_OK)
    return hd_error(ctx, HEDDLE_INVALID, loc, "bench.type", "got type \"%s\"", d);
  return HEDDLE_OK;
}

static heddle_status run_grid(heddle_context *ctx, bench_tool *t) {
  char *text, *save = NULL;
  size_t n_bytes;
  HD_TRY(hd_file_read(ctx, t->args->grid, &text, &n_bytes));
  heddle_status status = HEDDLE_OK;
  unsigned number = 0;
  for (char *line = text; line && status == HEDDLE_OK; line = save) {
    save = strchr(line, '\n');
    if (save)
      *save++ = '\0';
    number++;
    line[strcspn(line, "#")] = '\0';
    if (line[strspn(line, " \t\r")] == '\0')
      continue;
    hd_bench_problem p;
    status = read_line(ctx, t->args->grid, number, line, &p);
    if (status == HEDDLE_OK)
      status = run_case(ctx, t, &p);
  }
  free(text);
  return status;
}

static heddle_status open_peers(heddle_context *ctx, bench_tool *t) {
  static const char *const names[] = {"cublas", "cusparselt"};
  const char *paths[] = {t->args->cublas, t->args->cusparselt};
  for (int i = 0; i < 2; i++) {
    if (strcmp(t->args->peers, "all") != 0 && strstr(t->args->peers, names[i]) == NULL)
      continue;
    hd_peer *peer;
    heddle_status status = hd_peer_open(ctx, names[i], paths[i], t->device, &peer);
    if (status == HEDDLE_OK)
      t->options.peer[t->options.n_peers++] = peer;
    else if (status != HEDDLE_ENVIRONMENT)
      return status;
  }
  return HEDDLE_OK;
}

static heddle_status run_tool(heddle_context *ctx, bench_tool *t) {
  HD_TRY(open_peers(ctx, t));
  print_head(t);
  return t->args->grid ? run_grid(ctx, t) : run_case(ctx, t, &t->args->problem);
}

static heddle_status bench_on_device(heddle_context *ctx, const bench_args *args) {
  heddle_runtime *runtime;
  bench_tool t = {.args = args};
  hd_nvml *nvml = NULL;
  HD_TRY(heddle_runtime_create(ctx, NULL, &runtime));
  heddle_status status = hd_device_open(ctx, runtime, (int)args->device, &t.device);
  if (status == HEDDLE_OK) {
    if (hd_nvml_open(NULL, NULL, t.device->info.pci_id, &nvml) != HEDDLE_OK)
      nvml = NULL;
    t.options = (hd_bench_options){.ptxas = args->ptxas,
                                   .cache = args->cache,
                                   .n_schedules = args->schedules.n,
                                   .alone = args->alone,
                                   .seed = (uint64_t)args->seed,
                                   .nvml = nvml};
    memcpy(t.options.schedule, args->schedules.text, sizeof args->schedules.text);
    status = run_tool(ctx, &t);
    for (int32_t i = 0; i < t.options.n_peers; i++)
      hd_peer_close(t.options.peer[i]);
    if (nvml)
      hd_nvml_close(nvml);
    hd_device_close(t.device);
  }
  heddle_runtime_free(runtime);
  if (status == HEDDLE_OK && t.n_wrong)
    status = hd_error(ctx, HEDDLE_MISMATCH, HD_NOWHERE, "bench.verify", "%d wrong results",
                      t.n_wrong);
  return status;
}

/* Judged before a device is looked for: a wrong use is one on every machine. */
static int check_args(const bench_args *a) {
  const struct {
    const char *name;
    int64_t value, least;
  } numbers[] = {{"-m", a->problem.m, 1}, {"-n", a->problem.n, 1}, {"-k", a->problem.k, 1},
                 {"--device", a->device, 0}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (numbers[i].value < numbers[i].least || numbers[i].value > INT32_MAX)
      return cli_usage_error("bench.number", "got %s %lld; legal: %lld to %d", numbers[i].name,
                             (long long)numbers[i].value, (long long)numbers[i].least, INT32_MAX);
  if (strcmp(a->format, "table") != 0 && strcmp(a->format, "csv") != 0)
    return cli_usage_error("bench.format", "got \"%s\"; legal: table, csv", a->format);
  return CLI_GO;
}

int cmd_bench(int argc, char **argv) {
  bench_args a = {.problem = {HEDDLE_BF16, HEDDLE_N_ELEMS, 4096, 512, 4096},
                  .peers = "all",
                  .format = "table",
                  .seed = 1};
  const cli_option options[] = {
      {"type", CLI_ELEM, &a.problem.elem, "T", "element type of A and B (bf16)"},
      {"d-type", CLI_ELEM, &a.problem.d_elem, "T", "element type of D (bf16; f16 for f16, f32 for tf32)"},
      {"m", CLI_INT, &a.problem.m, "M", "rows of A (4096)"},
      {"n", CLI_INT, &a.problem.n, "N", "columns of B (512)"},
      {"k", CLI_INT, &a.problem.k, "K", "inner size (4096)"},
      {"grid", CLI_TEXT, &a.grid, "FILE", "cases from a file instead"},
      {"peers", CLI_TEXT, &a.peers, "LIST", "all, none, cublas, cusparselt (all that are found)"},
      {"schedule", CLI_MORE, &a.schedules, "S", "over the default; several: the fastest counts"},
      {"alone", CLI_FLAG, &a.alone, NULL, "burst and sustained rates too"},
      {"format", CLI_TEXT, &a.format, "F", "table or csv"},
      {"device", CLI_INT, &a.device, "I", "device number (0)"},
      {"seed", CLI_INT, &a.seed, "S", "of the operands (1)"},
      {"ptxas", CLI_TEXT, &a.ptxas, "PATH", "ptxas (found on PATH; else the driver compiles)"},
      {"cache", CLI_TEXT, &a.cache, "DIR", "folder of compiled kernels"},
      {"cublas", CLI_TEXT, &a.cublas, "PATH", "libcublasLt"},
      {"cusparselt", CLI_TEXT, &a.cusparselt, "PATH", "libcusparseLt"},
      {NULL, CLI_FLAG, NULL, NULL, NULL}};
  const cli_command command = {"bench [-m M -n N -k K --type T | --grid FILE] [--peers LIST]", about,
                               examples, options, 0, 0};
  int n_args, go = cli_parse(&command, argc, argv, NULL, &n_args);
  if (go != CLI_GO)
    return go;
  go = check_args(&a);
  if (go != CLI_GO)
    return go;
  if (a.problem.d_elem == HEDDLE_N_ELEMS)
    a.problem.d_elem = default_output(a.problem.elem);
  char *found = a.ptxas ? NULL : compile_find_ptxas();
  if (found)
    a.ptxas = found;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = bench_on_device(ctx, &a);
  free(found);
  return cli_finish(ctx, status);
}
