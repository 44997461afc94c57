/* heddle cost: time and memory that Heddle itself takes, with the goals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/scratch.h"
#include "Bench/bench.h"
#include "Bench/self_cost.h"
#include "cli.h"
#include "commands.h"
#include "compile_input.h"
#include "tuned_file.h"

static const char about[] =
    "Measures Heddle's own overhead:\n"
    "\n"
    "- text to PTX (passes, check, LLVM), and the same as a process, without and with ptxas\n"
    "- loading a cached kernel from disk\n"
    "- picking the kernel for a size, and a launch, compared with the driver's own call\n"
    "- memory\n"
    "\n"
    "Each figure is the minimum of the rounds; for the pick, a median of many turns. Compilation\n"
    "is measured in processor time, a process in wall-clock time. Without a device, parts that\n"
    "need one are left out. The kernels are bf16, 8192 x 8192 x 8192, always with tile=128x256\n"
    "cluster=2: `tma` has one variant, `auto` has the variants for any pitch of B.";

static const char examples[] = "heddle cost\n"
                               "heddle cost --rounds 20 --schedule \"tile=256x192 cluster=2\"\n";

typedef struct cost_args {
  const char *schedule, *ptxas;
  int64_t device, rounds;
} cost_args;

/* goal 0: no goal. */
static void print_line(const char *what, double value, const char *unit, double goal) {
  printf("%-44s %10.3f %-3s", what, value, unit);
  if (goal > 0)
    printf("  goal <= %g: %s", goal, value <= goal ? "reached" : "missed");
  printf("\n");
}

static char *large_problem(void) {
  hd_bench_problem p = {
      .elem = HEDDLE_BF16, .d_elem = HEDDLE_BF16, .m = 8192, .n = 8192, .k = 8192};
  return hd_bench_text(&p, "sm_90a", true, false);
}

static heddle_status print_compile(heddle_context *ctx, const cost_args *a, const char *path,
                                   double goal) {
  enum { THREADS = 4 };
  char schedule[256], what[64];
  hd_compile_cost c, threaded;
  char *text = large_problem();
  snprintf(schedule, sizeof schedule, "%s b=%s", a->schedule, path);
  heddle_status status = hd_cost_compile(ctx, text, schedule, 1, (int32_t)a->rounds, &c);
  if (status == HEDDLE_OK)
    status = hd_cost_compile(ctx, text, schedule, THREADS, (int32_t)a->rounds, &threaded);
  hd_free(text);
  HD_TRY(status);
  const struct {
    const char *name;
    double seconds, goal;
  } lines[] = {{"passes", c.passes, 0}, {"check", c.check, 0}, {"LLVM", c.emit, 0},
               {"all", c.passes + c.check + c.emit, goal}};
  for (size_t i = 0; i < HD_COUNT(lines); i++) {
    snprintf(what, sizeof what, "text to PTX, b=%s: %s", path, lines[i].name);
    print_line(what, lines[i].seconds * 1e3, "ms", lines[i].goal);
  }
  snprintf(what, sizeof what, "the same by the clock: 1 thread, b=%s", path);
  print_line(what, c.clock * 1e3, "ms", 0);
  snprintf(what, sizeof what, "the same by the clock: %d threads, b=%s", THREADS, path);
  print_line(what, threaded.clock * 1e3, "ms", 0);
  return HEDDLE_OK;
}

/* Cost of a kernel in a build: includes process start and reading the tuned choices. */
static heddle_status print_process(heddle_context *ctx, const cost_args *a) {
  hd_process_cost c;
  hd_scratch folder;
  HD_TRY(hd_scratch_open(ctx, getenv("TMPDIR"), &folder));
  char *heddle = find_beside("heddle"), *text = large_problem();
  heddle_status status = hd_cost_process(ctx, heddle, text, a->schedule,
                                         a->ptxas, folder.path, (int32_t)a->rounds, &c);
  hd_scratch_close(&folder);
  hd_free(heddle);
  hd_free(text);
  HD_TRY(status);
  print_line("a process: heddle gen, b=auto, PTX", c.ptx * 1e3, "ms", 0);
  if (a->ptxas)
    print_line("a process: the same, with ptxas", c.cubin * 1e3, "ms", 0);
  return HEDDLE_OK;
}

static heddle_status print_lookup(heddle_context *ctx, const cost_args *a) {
  hd_tuned *tuned = NULL;
  HD_TRY(tuned_open(ctx, NULL, &tuned));
  if (tuned)
    print_line("tuned choice: lookup", hd_cost_lookup(tuned, (int32_t)a->rounds) * 1e6, "us", 2);
  heddle_tuned_free(tuned);
  return HEDDLE_OK;
}

static heddle_status print_plan(heddle_context *ctx, const cost_args *a) {
  char what[64];
  hd_plan_cost c;
  HD_TRY(hd_cost_plan(ctx, (int32_t)a->rounds, &c));
  print_line("a launch: its plan, of one kernel", c.one * 1e9, "ns", 0);
  snprintf(what, sizeof what, "a plan: one of %d buckets, in addition", c.n_buckets);
  print_line(what, c.again * 1e9, "ns", 20);
  snprintf(what, sizeof what, "a plan: any of %d buckets, in addition", c.n_buckets);
  print_line(what, c.any * 1e9, "ns", 20);
  return HEDDLE_OK;
}

static heddle_status print_host(heddle_context *ctx, const cost_args *a) {
  hd_memory_cost m;
  HD_TRY(print_compile(ctx, a, "tma", 40));
  HD_TRY(print_compile(ctx, a, "auto", 0));
  HD_TRY(hd_cost_memory(ctx, "/proc/self/status", &m));
  print_line("memory after compiling: private", (double)m.own_bytes / 1e6, "MB", 0);
  print_line("memory after compiling: with code pages",
             (double)(m.own_bytes + m.file_bytes) / 1e6, "MB", 60);
  HD_TRY(print_process(ctx, a));
  HD_TRY(print_plan(ctx, a));
  return print_lookup(ctx, a);
}

static heddle_status print_cached(heddle_context *ctx, const cost_args *a,
                                  const hd_device *device) {
  hd_cached_cost c;
  hd_scratch cache;
  HD_TRY(hd_scratch_open(ctx, getenv("TMPDIR"), &cache));
  char *text = large_problem();
  heddle_status status =
      hd_cost_cached(ctx, device, text, a->ptxas, cache.path, (int32_t)a->rounds, &c);
  hd_free(text);
  hd_scratch_close(&cache);
  HD_TRY(status);
  print_line("cached kernel: text to bytes", c.lookup * 1e3, "ms", device ? 0 : 5);
  if (device)
    print_line("cached kernel: bytes to launchable", c.load * 1e3, "ms", 0);
  if (device)
    print_line("cached kernel: text to launchable", (c.lookup + c.load) * 1e3, "ms", 5);
  return HEDDLE_OK;
}

static heddle_status print_launch(heddle_context *ctx, const cost_args *a,
                                  const hd_device *device) {
  hd_launch_cost c;
  HD_TRY(hd_cost_launch(ctx, device, a->ptxas, (int32_t)a->rounds, &c));
  print_line("a launch: cuLaunchKernelEx alone", c.bare * 1e6, "us", 0);
  print_line("a launch: heddle_kernel_launch, in addition", (c.launch - c.bare) * 1e6, "us", 1);
  print_line("a launch: the typed function, in addition", (c.function - c.bare) * 1e6, "us", 1);
  return HEDDLE_OK;
}

static heddle_status print_device(heddle_context *ctx, const cost_args *a) {
  heddle_runtime *runtime;
  hd_device *device;
  heddle_context *quiet = heddle_context_create();
  heddle_status status = heddle_runtime_create(quiet, NULL, &runtime);
  if (status == HEDDLE_ENVIRONMENT) {
    hd_note(ctx, HD_NOWHERE, "cost.device", "no device: %s",
            hd_first_error_text(quiet, "no driver"));
    status = print_cached(ctx, a, NULL);
  } else if (status == HEDDLE_OK) {
    status = hd_device_open(ctx, runtime, (int)a->device, &device);
    if (status == HEDDLE_OK) {
      status = print_cached(ctx, a, device);
      if (status == HEDDLE_OK)
        status = print_launch(ctx, a, device);
      hd_device_close(device);
    }
    heddle_runtime_free(runtime);
  }
  heddle_context_free(quiet);
  return status;
}

int cmd_cost(int argc, char **argv) {
  cost_args a = {.rounds = 9, .schedule = "tile=128x256 cluster=2 store=quad"};
  const cli_option options[] = {
      {"schedule", CLI_TEXT, &a.schedule, "S",
       "schedule of the compiled kernels"},
      {"rounds", CLI_INT, &a.rounds, "N", "rounds of each measurement (9)"},
      {"device", CLI_INT, &a.device, "I", "device number (0)"},
      {"ptxas", CLI_TEXT, &a.ptxas, "PATH", "ptxas (found on PATH); none: cached kernels are PTX"},
      {NULL, CLI_FLAG, NULL, NULL, NULL}};
  const cli_command command = {"cost [--rounds N] [--schedule S]", about, examples, options, 0, 0};
  int n_args, go = cli_parse(&command, argc, argv, NULL, &n_args);
  if (go != CLI_GO)
    return go;
  const cli_number numbers[] = {{"--rounds", a.rounds, 1, 1000},
                                {"--device", a.device, 0, INT32_MAX}};
  go = cli_check_numbers("cost.number", numbers, HD_COUNT(numbers));
  if (go != CLI_GO)
    return go;
  char *found = a.ptxas ? NULL : compile_find_ptxas();
  if (found || (a.ptxas && !strcmp(a.ptxas, "none")))
    a.ptxas = found;
  heddle_context *ctx = heddle_context_create();
  heddle_status status = print_host(ctx, &a);
  if (status == HEDDLE_OK)
    status = print_device(ctx, &a);
  hd_free(found);
  return cli_finish(ctx, status);
}
