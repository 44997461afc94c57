/* heddle bench: measures Heddle and its peers on the device, by the measuring protocol. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "Support/strbuf.h"
#include "Bench/compile_ahead.h"
#include "Bench/bench_random.h"
#include "bench_again.h"
#include "bench_ahead.h"
#include "bench_args.h"
#include "bench_beside.h"
#include "bench_dynamic.h"
#include "bench_grid.h"
#include "bench_groups.h"
#include "bench_log.h"
#include "bench_peers.h"
#include "bench_print.h"
#include "bench_ready.h"
#include "compile_input.h"
#include "commands.h"
#include "promise.h"

static const char about[] =
    "Times D[M,N] = A[M,K] (2:4 sparse) x B[K,N], with B stored N x K and D in the faster order,\n"
    "against cuBLASLt (dense, best of its heuristics) and cuSPARSELt (every algorithm id, and\n"
    "its default). Both libraries are opened at run time: from the dynamic linker's path\n"
    "(LD_LIBRARY_PATH), CUDA (CUDA_HOME, /usr/local/cuda) or Python's wheels (VIRTUAL_ENV,\n"
    "python3 on PATH). The peer `stream` only reads packed A and B, or also as many bytes as D\n"
    "has: these are the ceilings for small N.\n"
    "\n"
    "Launches are captured in a graph behind a spin kernel. Operands are random and rotate over\n"
    "256 MB. Contenders run interleaved, and times are medians of rounds. D is checked before\n"
    "and after: all of it against cuBLASLt's product in f32, or else sampled rows (column\n"
    "`checked`). For N >= 1024, burst (4 ms after 200 ms idle) and sustained rates follow\n"
    "(--sustained sets the time). Each contender then runs alone, with power and clock.\n"
    "\n"
    "For one case the output has one row for each contender. Lines of a --grid file are TYPE M\n"
    "K N [DTYPE]; # starts a comment. For a grid the output has one line for each case, then\n"
    "each range of N against its goal, as `heddle report` prints them. -o also writes every row\n"
    "to a file, after each case; --resume continues such a file.\n"
    "\n"
    "Every --schedule is a contender. --sweep takes every legal schedule with the given keys\n"
    "(\"\": all), measures each for 1 ms (rounds 1), and interleaves the best.\n"
    "\n"
    "--dynamic interleaves one kernel whose N is known only at launch with the kernel for a\n"
    "fixed N: for each type, M and K at 16 sizes of N, unless -n gives one. It prints the\n"
    "geometric mean and the worst ratio of fixed time over dynamic time. Fewer rounds\n"
    "suffice if all are within 0.5 %. A case that is over 2 % off 1, to either side, is\n"
    "measured three times, its operands and kernels placed anew; the medians count. With\n"
    "--cache the kernels of later cases are compiled meanwhile. With one --schedule both\n"
    "kernels have it: the cost of an unknown N alone.\n"
    "\n"
    "--predecessor runs a small kernel that writes B before each launch, in the same graph. It\n"
    "lets the product start at once (early), when B is written (late), or at its end (never).\n"
    "Times include both kernels. The table has the ratio of the plain product's time to the\n"
    "time with weights_ready, where a launch overlaps only behind the early one (of a pair,\n"
    "heddle_kernel_set_overlapping). Peers are not measured.\n"
    "\n"
    "Epilogues (--act, --bias, -c, --scale-a, --scale-b, --reduce, --aux), f32 block scales\n"
    "(--blocks) and batches (-g) are measured. Peers run without the epilogue, but with the\n"
    "batch; only cuBLASLt uses the block scales. --beside adds Heddle's product without all of\n"
    "these (with --reduce or --aux: without only the statistic, or the second matrix; for a\n"
    "batch: one product with as many rows), and the ratio of the times. For --scale-b sumsq it\n"
    "adds the product with --scale-b vector.\n"
    "\n"
    "--groups measures experts of M x K with N tokens in total: the groups, for each number\n"
    "and --routing; the same by index (B gathered, D scattered); one expert\n"
    "with all tokens; and a read of the bytes that the groups use. Every --schedule\n"
    "(--index-schedule, --plain-schedule) is a contender; the ratios use the fastest of each\n"
    "kind.\n"
    "\n"
    "An algorithm of a peer that breaks the device (by an illegal address, say) ends the process.\n"
    "With -o the run begins again by itself, as with --resume, and leaves that algorithm out\n"
    "(with --format csv or json it ends, and --resume goes on). Where cuSPARSELt breaks the\n"
    "device when it compresses A, that padding is left out.\n"
    "\n"
    "x dense, x peer: the time of cuBLASLt, and of the faster peer, over this time. The column\n"
    "command of CSV and JSON measures the row again.";

static const char examples[] =
    "heddle bench --type bf16 -m 8192 -n 8192 -k 8192\n"
    "heddle bench --grid docs/bench/llama.grid --peers all\n"
    "heddle bench --grid docs/bench/llama.grid -o h200.csv --resume\n"
    "heddle bench -m 4096 -k 4096 -n 256 --schedule tile=128x64 --schedule tile=64x128\n"
    "heddle bench -m 8192 -k 8192 -n 16 --weights-ready both\n"
    "heddle bench -m 8192 -k 8192 -n 256 --sweep \"cluster=2 a=desc\" --peers none --order row\n"
    "heddle bench --random 200 --seed 7 --peers all --no-tuned\n"
    "heddle bench --random 400 --sample 20 --peers none --seconds 400 -o sweep.csv\n"
    "heddle bench --random 200 --seed 7 --no-tuned --slice 1/2 -o one.csv --resume\n"
    "heddle bench -m 8192 -k 8192 -n 16 --predecessor all\n"
    "heddle bench --grid docs/bench/llama.grid --dynamic --order col --cache /tmp/kernels\n"
    "heddle bench --grid docs/bench/unseen.grid --dynamic --predict\n"
    "heddle bench -m 4096 -k 4096 -n 256 --act gelu --bias m --peers none\n"
    "heddle bench --grid docs/bench/pairs.grid --act swiglu --beside --peers none\n"
    "heddle bench -m 4096 -k 4096 -n 64 -g 8 --beside --peers cublas,cusparselt\n"
    "heddle bench --grid docs/bench/experts.grid --groups 8,64 --routing balanced,zipf\n"
    "heddle bench --grid docs/bench/llama.grid --only s8 --list\n";

typedef struct bench_tool {
  const bench_args *args;
  hd_bench_options options;
  bench_printer printer;
  bench_grid grid;
  hd_tuned *tuned;   /* owned; NULL: with --groups, or if none is shipped */
  bench_log log;     /* of a summary (a line per case, and the goals), or with -o */
  hd_device *device; /* NULL: the cases are listed, not measured */
  bench_dynamic dynamic;
  bench_ready ready;
  bench_beside beside;
  bench_ahead ahead;
  bool many; /* a grid, or random cases */
  bool tells_ready; /* prints a table of plain and weights_ready times, after predecessors */
  bool again;       /* a peer broke the device: another process goes on */
  int n_wrong;
  double began, work_done; /* start time, and the case_work measured since */
} bench_tool;

static heddle_status list_case(heddle_context *ctx, const bench_tool *t,
                               const hd_bench_problem *p) {
  hd_bench_way *way;
  int32_t n;
  HD_TRY(hd_bench_ways(ctx, p, &t->options, t->args->target, &way, &n));
  uint32_t triggers = t->options.triggers ? t->options.triggers : 1u << HD_TRIGGER_NONE;
  for (int32_t i = 0; i < n; i++) {
    char name[256];
    snprintf(name, sizeof name, "heddle %s %s", bench_orders[t->options.order],
             way[i].dynamic ? "dynamic" : way[i].schedule);
    for (hd_trigger trigger = HD_TRIGGER_NONE; trigger < HD_N_TRIGGERS; trigger++) {
      if (!(triggers >> trigger & 1))
        continue;
      char *command =
          bench_command(p, t->options.seed, name, way[i].weights_ready, trigger);
      printf("%s\n", command);
      hd_free(command);
    }
  }
  hd_bench_ways_free(way, n);
  return HEDDLE_OK;
}

/* ---- progress ---- */

/* Cost of a case, relative to a case of small N. Sustained rates take most of the time. */
static double case_work(const hd_bench_problem *p) { return hd_measure_is_large(p->n) ? 4 : 1; }

/* A line on standard error before each case of a grid; on a terminal the next one replaces it. */
static void tell_progress(const bench_tool *t, int32_t index) {
  const hd_bench_problem *p = &t->grid.list[index];
  double left = 0;
  for (int32_t i = index; i < t->grid.n; i++)
    left += case_work(&t->grid.list[i]);
  fprintf(stderr, "[%d/%d] %s %lld %lld %lld", index + 1, t->grid.n,
          heddle_elem_get(p->elem)->name, (long long)p->m, (long long)p->k, (long long)p->n);
  if (t->work_done > 0) {
    int seconds = (int)((hd_clock_seconds() - t->began) / t->work_done * left);
    fprintf(stderr, ", about %d:%02d left", seconds / 60, seconds % 60);
  }
  fputs(isatty(STDERR_FILENO) ? "\r" : "\n", stderr);
}

/* ---- cases ---- */

/* In a sample, the order of D alternates, and weights_ready is measured both ways for small N. */
static hd_bench_options case_options(const bench_tool *t, int32_t index) {
  enum { DECODE_N = 64 };
  hd_bench_options o = t->options;
  if (t->args->sample) {
    o.order = index % 2 ? HD_BENCH_COL : HD_BENCH_ROW;
    o.promise = t->grid.list[index].n <= DECODE_N ? HD_BENCH_EITHER : HD_BENCH_NO_PROMISE;
  }
  return o;
}

/* Measures a case as often as its ratios require (bench_dynamic_is_far). */
static heddle_status measure_again(heddle_context *ctx, bench_tool *t, const hd_bench_problem *p,
                                   const hd_bench_options *o, const hd_bench_prepared *prepared,
                                   hd_bench_result *result, int32_t *n_results) {
  *n_results = 1;
  if (!t->options.dynamic || !bench_dynamic_is_far(&result[0]))
    return HEDDLE_OK;
  while (*n_results < BENCH_DYNAMIC_TIMES) {
    HD_TRY(hd_bench_measure(ctx, t->device, p, o, prepared, &result[*n_results]));
    ++*n_results;
  }
  return HEDDLE_OK;
}

/* result: of BENCH_DYNAMIC_TIMES, which the caller frees if it succeeds. */
static heddle_status run_prepared(heddle_context *ctx, bench_tool *t, int32_t index,
                                  const bench_names *left_out, hd_bench_result *result,
                                  int32_t *n_results) {
  const hd_bench_problem *p = &t->grid.list[index];
  hd_bench_options options = case_options(t, index);
  hd_bench_prepared prepared;
  options.left_out = (const char *const *)left_out->name;
  options.n_left_out = left_out->n;
  HD_TRY(bench_ahead_take(ctx, &t->ahead, p, &options, &prepared));
  int32_t next = index + 1;
  while (next < t->grid.n && bench_log_has(&t->log, &t->grid.list[next]))
    next++;
  if (next < t->grid.n) { /* is prepared while this case is measured */
    hd_bench_options next_options = case_options(t, next);
    bench_ahead_begin(&t->ahead, &t->grid.list[next], &next_options);
  }
  heddle_status status = hd_bench_measure(ctx, t->device, p, &options, &prepared, result);
  if (status == HEDDLE_OK) {
    status = measure_again(ctx, t, p, &options, &prepared, result, n_results);
    for (int32_t i = 0; status != HEDDLE_OK && i < *n_results; i++)
      hd_free(result[i].row);
  }
  hd_bench_prepared_clear(t->device, &prepared);
  return status;
}

static void count_wrong(heddle_context *ctx, bench_tool *t, const hd_bench_problem *p,
                        const hd_bench_result *result) {
  for (int32_t i = 0; i < result->n_rows; i++) {
    const hd_bench_row *r = &result->row[i];
    t->n_wrong += !r->ok;
    if (r->ok || !t->printer.summary)
      continue;
    char *command = bench_command(p, t->options.seed, r->name, r->weights_ready, r->trigger);
    hd_note(ctx, HD_NOWHERE, "bench.verify", "wrong, error %.3g of %.3g: %s", r->error, r->bound,
            command);
    hd_free(command);
  }
}

static heddle_status measure_case(heddle_context *ctx, bench_tool *t, int32_t index) {
  const hd_bench_problem *p = &t->grid.list[index];
  hd_bench_result result[BENCH_DYNAMIC_TIMES] = {{0}};
  int32_t n_results;
  if (t->args->beside)
    return bench_beside_case(ctx, t->device, p, &t->options, bench_ahead_host(&t->ahead),
                             &t->beside, &t->n_wrong);
  bench_names left_out = bench_log_broken(&t->log, p);
  heddle_status status = run_prepared(ctx, t, index, &left_out, result, &n_results);
  bench_names_free(&left_out);
  if (result[0].broke[0])
    return bench_again_log(ctx, &t->log, t->options.seed, p, result[0].broke,
                           t->printer.format == BENCH_TABLE ? &t->again : NULL);
  HD_TRY(status);
  t->work_done += case_work(p);
  if (t->printer.summary || t->log.path)
    status = bench_log_add(ctx, &t->log, t->options.seed, p, result);
  if (t->options.dynamic)
    bench_dynamic_add(&t->dynamic, p, result, n_results);
  else if (t->tells_ready)
    bench_ready_add(&t->ready, p, result);
  else if (!t->printer.summary)
    bench_print_case(&t->printer, p, result);
  for (int32_t i = 0; i < n_results; i++) {
    count_wrong(ctx, t, p, &result[i]);
    hd_free(result[i].row);
  }
  return status;
}

/* Measures a case unless the log has it. The report has no cell for rows with a predecessor. */
static heddle_status run_case(heddle_context *ctx, bench_tool *t, int32_t index) {
  const hd_bench_problem *p = &t->grid.list[index];
  const report_cell *cell = NULL;
  bool has = bench_log_has(&t->log, p);
  if (has && !t->printer.summary)
    hd_note(ctx, HD_NOWHERE, "bench.resume", "%s already has this case", t->log.path);
  heddle_status status = has ? HEDDLE_OK : measure_case(ctx, t, index);
  if (isatty(STDERR_FILENO))
    fputs("\033[K", stderr); /* clears the progress */
  HD_TRY(status);
  HD_TRY(bench_log_find(ctx, &t->log, p, &cell));
  if (t->printer.summary && cell)
    report_print_case(cell);
  return HEDDLE_OK;
}

/* A case without a kernel is reported, skipped, and counted at the end. */
static heddle_status run_all(heddle_context *ctx, bench_tool *t) {
  const bench_args *a = t->args;
  int32_t i, n_left_out = 0;
  if (t->grid.n == 0)
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = a->grid}, "bench.grid",
                    "no case%s%s; legal: TYPE M K N [DTYPE]", a->only ? " of " : "",
                    a->only ? a->only : "");
  t->began = hd_clock_seconds();
  for (i = 0; i < t->grid.n; i++) {
    if (a->seconds && hd_clock_seconds() - t->began > (double)a->seconds) {
      hd_note(ctx, HD_NOWHERE, "bench.seconds", "%d of %d cases in %lld s", i, t->grid.n,
              (long long)a->seconds);
      break;
    }
    if (t->device && t->many)
      tell_progress(t, i);
    const hd_bench_problem *p = &t->grid.list[i];
    heddle_status status =
        t->device    ? run_case(ctx, t, i)
        : a->predict ? bench_dynamic_predict(ctx, p, &t->options, a->target, &t->dynamic)
                     : list_case(ctx, t, p);
    if (t->many && (status == HEDDLE_INVALID || status == HEDDLE_UNSUPPORTED)) {
      if (t->printer.format == BENCH_TABLE)
        printf("%s %lld %lld %lld: no kernel: %s\n", heddle_elem_get(p->elem)->name,
               (long long)p->m, (long long)p->k, (long long)p->n,
               hd_first_error_text(ctx, "no reason"));
      n_left_out++;
    } else if (status != HEDDLE_OK) {
      return status;
    }
    fflush(stdout);
    cli_print_diagnostics(ctx);
  }
  return n_left_out ? hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "bench.left-out",
                               "%d of %d cases have no kernel", n_left_out, i)
                    : HEDDLE_OK;
}

/* A dynamic grid has hundreds of kernels, seconds each: compiles them while cases are measured. */
static heddle_status run_compiling_ahead(heddle_context *ctx, bench_tool *t) {
  const char *target = t->options.target ? t->options.target : t->device->info.target;
  hd_compile_ahead *ahead = NULL;
  if (t->options.dynamic)
    HD_TRY(hd_compile_ahead_start(ctx, t->grid.list, t->grid.n, &t->options, target, &ahead));
  heddle_status status = run_all(ctx, t);
  hd_compile_ahead_stop(ahead);
  return status;
}

/* ---- the run ---- */

static heddle_status run_groups(heddle_context *ctx, const bench_tool *t) {
  const bench_args *a = t->args;
  const cli_texts *const schedules[] = {&a->schedules, &a->index_schedules, &a->plain_schedules};
  return bench_groups_run(ctx, t->device, &t->grid, a->groups, a->routing, schedules, &t->options,
                          t->printer.format);
}

static heddle_status run_tool(heddle_context *ctx, bench_tool *t) {
  const bench_args *a = t->args;
  const char *const paths[] = {a->cublas, a->cusparselt};
  HD_TRY(bench_log_open(ctx, a->resume, &t->log));
  if (!t->options.triggers)
    bench_peers_open(ctx, t->device, a->peers, paths, &t->options);
  cli_print_diagnostics(ctx);
  bench_print_head(&t->printer, &t->device->info, t->options.nvml);
  if (t->options.dynamic)
    bench_dynamic_head();
  if (t->tells_ready)
    bench_ready_head();
  if (a->beside)
    bench_beside_head();
  if (t->printer.summary)
    report_print_head();
  heddle_status status = run_compiling_ahead(ctx, t);
  if (t->again)
    return status;
  if (t->options.dynamic)
    bench_dynamic_tail(&t->dynamic);
  if (t->tells_ready)
    bench_ready_tail(&t->ready);
  if (a->beside)
    bench_beside_tail(&t->beside);
  bench_print_tail(&t->printer);
  if (t->printer.summary) {
    report_print_goals(&t->log.report, a->random != 0);
    t->n_wrong = t->log.report.n_wrong;
  }
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
    const char *target = t->options.target ? t->options.target : t->device->info.target;
    bench_ahead_open(&t->ahead, t->device, target);
    if (t->tuned && !t->args->model) /* if the device was not measured, the H200's rates stay */
      (void)heddle_tuned_set_device(t->tuned, t->device->info.name);
    if (t->printer.format == BENCH_TABLE && t->args->groups)
      bench_print_head(&t->printer, &t->device->info, t->options.nvml);
    status = t->args->groups ? run_groups(ctx, t) : run_tool(ctx, t);
    bench_ahead_close(&t->ahead);
    bench_log_close(&t->log);
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

/* A ratio of medians is then right within half a percent, and fewer rounds suffice. */
static const double MAX_RATIO_ERROR = 0.005;

static void set_options(const bench_args *a, bench_tool *t) {
  t->args = a;
  t->many = a->grid || a->random;
  t->options.target = a->list || a->predict ? NULL : a->target;
  t->options.ptxas = a->ptxas;
  t->options.cache = a->cache;
  t->options.schedule = a->schedules.text;
  t->options.n_schedules = a->schedules.n;
  t->options.sweep = a->sweep;
  t->options.sample = (int32_t)a->sample;
  t->options.n_finalists = (int32_t)a->finalists;
  t->options.n_jobs = (int32_t)a->jobs;
  t->options.alone = !a->no_alone;
  t->options.sustained_seconds = (double)a->sustained / 1e3;
  t->options.dynamic = a->dynamic;
  t->options.enough = a->dynamic ? MAX_RATIO_ERROR : 0;
  t->tells_ready = t->options.triggers && t->printer.format == BENCH_TABLE;
  t->printer.dynamic = a->dynamic || a->beside || t->tells_ready;
  t->options.alone &= !a->sample && !a->dynamic && !t->options.triggers;
  t->printer.alone = t->options.alone && (t->many || hd_measure_is_large(a->problem.n));
  t->log.path = a->csv;
  t->printer.summary = t->many && t->printer.format == BENCH_TABLE && !t->printer.dynamic;
  t->options.seed = t->printer.seed = (uint64_t)a->seed;
}

static heddle_status run(heddle_context *ctx, bench_tool *t) {
  const bench_args *a = t->args;
  if (a->grid)
    HD_TRY(bench_grid_read(ctx, a->grid, a->only, &t->grid));
  else if (!a->random)
    bench_grid_add(&t->grid, &a->problem, a->only);
  for (int64_t i = 0; i < a->random; i++) {
    hd_bench_problem p = hd_bench_random((uint64_t)a->seed, i);
    bench_grid_add(&t->grid, &p, a->only);
  }
  for (int32_t i = 0; i < t->grid.n && a->grid; i++) {
    t->grid.list[i].epilogue = a->problem.epilogue;
    t->grid.list[i].g = a->problem.g;
  }
  if (a->dynamic && (a->grid || a->random))
    bench_dynamic_sizes(&t->grid);
  bench_take_slice(a, &t->grid);
  if (a->groups && a->list)
    return run_groups(ctx, t);
  if (!a->groups)
    HD_TRY(a->no_tuned ? hd_tuned_none(ctx, &t->tuned)
                       : tuned_open_from(ctx, a->db, &a->service, &t->tuned));
  t->options.tuned = t->tuned;
  if (a->model && (!t->tuned || heddle_tuned_set_device(t->tuned, a->model) != HEDDLE_OK))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "bench.model",
                    "got --model %.60s; legal: a device that was measured, NVIDIA H100 or NVIDIA "
                    "H200; nearest: --model \"NVIDIA H100\"",
                    a->model);
  if (a->predict)
    bench_dynamic_predict_head();
  heddle_status status = a->list || a->predict ? run_all(ctx, t) : bench_on_device(ctx, t);
  if (a->predict)
    bench_dynamic_tail(&t->dynamic);
  heddle_tuned_free(t->tuned);
  return status;
}

int cmd_bench(int argc, char **argv) {
  bench_args a = {.problem = {.elem = HEDDLE_BF16, .d_elem = HEDDLE_N_ELEMS, .m = 4096, .n = 512,
                              .k = 4096},
                  .peers = "all",
                  .format = "table",
                  .order = "both",
                  .finalists = 8,
                  .sustained = 1000,
                  .jobs = sysconf(_SC_NPROCESSORS_ONLN),
                  .seed = 1};
  const cli_option options[] = {
      {"type", CLI_ELEM, &a.problem.elem, "T", "element type of A and B (bf16)"},
      {"d-type", CLI_ELEM, &a.problem.d_elem, "T",
       "element type of D (bf16; f16 for f16, f32 for tf32)"},
      {"m", CLI_INT, &a.problem.m, "M", "rows of A (4096)"},
      {"n", CLI_INT, &a.problem.n, "N", "columns of B (512)"},
      {"k", CLI_INT, &a.problem.k, "K", "columns of A (4096)"},
      {"g", CLI_INT, &a.problem.g, "G", "a batch of G products"},
      {"act", CLI_TEXT, &a.act, "F", hd_act_about},
      {"bias", CLI_TEXT, &a.bias, "D", "add an f32 bias for each row (m) or column (n) of D"},
      {"c", CLI_FLAG, &a.problem.epilogue.c, NULL, "add C, of D's type and order"},
      {"scale-a", CLI_TEXT, &a.scale_a, "S", "f32 scales of A: one, or vector (one for each row)"},
      {"scale-b", CLI_TEXT, &a.scale_b, "S",
       "f32 scales of B: one, vector (one for each column), or sumsq (from sums of squares)"},
      {"reduce", CLI_TEXT, &a.reduce, "S",
       "statistic of each 128 rows of a column of D: absmax, sumsq; scale divides D by it"},
      {"aux", CLI_TEXT, &a.aux, "V[:T]",
       "a second matrix of type T (bf16) beside D: result, before D's conversion; input, of act"},
      {"blocks", CLI_TEXT, &a.blocks, "S",
       "f32 scales for 128 of k of each column of B, and for 128x128 or 1x128 of A"},
      {"beside", CLI_FLAG, &a.beside, NULL,
       "also measure Heddle's product without epilogue and batch"},
      {"groups", CLI_TEXT, &a.groups, "G,G", "numbers of experts, with N tokens in total"},
      {"routing", CLI_TEXT, &a.routing, "R,R", BENCH_ROUTING_ABOUT},
      {"index-schedule", CLI_MORE, &a.index_schedules, "S", "schedules of groups by index"},
      {"plain-schedule", CLI_MORE, &a.plain_schedules, "S", "schedules of the plain product"},
      {"grid", CLI_TEXT, &a.grid, "FILE", "read the cases from a file"},
      {"random", CLI_INT, &a.random, "N", "N random problems, by --seed"},
      {"slice", CLI_TEXT, &a.slice, "I/N", "every N-th case, from the I-th: one process per GPU"},
      {"seconds", CLI_INT, &a.seconds, "S", "begin no case after S seconds"},
      {"only", CLI_TEXT, &a.only, "TYPE", "only the cases of one type"},
      {"peers", CLI_TEXT, &a.peers, "LIST",
       "cublas, cusparselt, stream; all (those that are found) or none"},
      {"schedule", CLI_MORE, &a.schedules, "S",
       "overrides the default schedule; each one is a contender"},
      {"sweep", CLI_TEXT, &a.sweep, "KEYS",
       "measure every legal schedule with these keys; \"\": all"},
      {"sample", CLI_INT, &a.sample, "N",
       "measure N random legal schedules for each case: data for `tune calibrate`"},
      {"db", CLI_TEXT, &a.db, "FILE",
       "tuned choices: records of `heddle tune` or an export (the shipped ones)"},
      SERVICE_LOOKUP_OPTIONS(a.service),
      {"no-tuned", CLI_FLAG, &a.no_tuned, NULL, "use the model's default; ignore tuned choices"},
      {"model", CLI_TEXT, &a.model, "DEVICE", "use the model of this device (the one in use)"},
      {"dynamic", CLI_FLAG, &a.dynamic, NULL,
       "compare one kernel for every N with kernels for one N"},
      {"predict", CLI_FLAG, &a.predict, NULL,
       "with --dynamic: only print the schedules and the predicted ratio; needs no device"},
      {"finalists", CLI_INT, &a.finalists, "N",
       "contenders of a sweep in the interleaved rounds (8)"},
      {"order", CLI_TEXT, &a.order, "O",
       "order of D: both (the faster one), row, col, each (shows both)"},
      {"weights-ready", CLI_TEXT, &a.promise, "W",
       "measure " PROMISE_ABOUT " (no; for a grid both)"},
      {"predecessor", CLI_TEXT, &a.predecessor, "LIST",
       "run a kernel that writes B before each launch: early, late, never, all (none)"},
      {"alone", CLI_FLAG, &a.alone, NULL,
       "measure burst and sustained rates for N >= 1024 (the default)"},
      {"sustained", CLI_INT, &a.sustained, "MS", "milliseconds of each sustained rate (1000)"},
      {"no-alone", CLI_FLAG, &a.no_alone, NULL, "only interleaved times"},
      {"cutlass", CLI_TEXT, &a.cutlass, "CSV",
       "for a grid: CUTLASS' times, as for report (cutlass.csv in its folder), or none"},
      {"format", CLI_TEXT, &a.format, "F", "table, csv or json"},
      {"o", CLI_TEXT, &a.csv, "FILE", "also write every row as CSV, after each case"},
      {"resume", CLI_FLAG, &a.resume, NULL,
       "skip the cases that -o's file has (for the same device and options)"},
      {"list", CLI_FLAG, &a.list, NULL, "only print the commands of the cases; needs no device"},
      {"target", CLI_TEXT, &a.target, "T", "the target (default: the device's; for --list sm_90a)"},
      {"jobs", CLI_INT, &a.jobs, "N",
       "number of compilations in parallel (default: number of cores)"},
      {"device", CLI_INT, &a.device, "I", "device number (0)"},
      {"seed", CLI_INT, &a.seed, "S", "seed of the operands (1)"},
      {"ptxas", CLI_TEXT, &a.ptxas, "PATH", "ptxas (found on PATH); none: the driver compiles"},
      {"cache", CLI_TEXT, &a.cache, "DIR", "folder of compiled kernels"},
      {"cublas", CLI_TEXT, &a.cublas, "PATH", "libcublasLt"},
      {"cusparselt", CLI_TEXT, &a.cusparselt, "PATH", "libcusparseLt"},
      {NULL, CLI_FLAG, NULL, NULL, NULL}};
  const cli_command command = {"bench [-m M -n N -k K --type T | --grid FILE | --random N] "
                               "[--peers LIST]",
                               about,
                               examples,
                               options,
                               0,
                               0};
  bench_tool t = {0};
  int n_args, go = cli_parse(&command, argc, argv, NULL, &n_args);
  if (go == CLI_GO)
    go = bench_read_epilogue(&a);
  if (go == CLI_GO)
    go = bench_check_args(&a, &t.options, &t.printer.format);
  if (go != CLI_GO)
    return go;
  if (a.problem.d_elem == HEDDLE_N_ELEMS)
    a.problem.d_elem = heddle_elem_get(a.problem.elem)->d;
  if ((a.list || a.predict) && !a.target)
    a.target = "sm_90a";
  char *found = a.ptxas ? NULL : compile_find_ptxas();
  char *cutlass = bench_log_cutlass(a.cutlass, a.grid);
  if (found || (a.ptxas && !strcmp(a.ptxas, "none")))
    a.ptxas = found;
  t.log.cutlass = cutlass;
  set_options(&a, &t);
  heddle_context *ctx = heddle_context_create();
  heddle_status status = run(ctx, &t);
  hd_free(t.grid.list);
  hd_free(found);
  hd_free(cutlass);
  int code = cli_finish(ctx, status);
  return t.again ? bench_again(argc, argv, a.resume) : code;
}
