/* heddle tune worker: the child process that compiles or measures for `heddle tune`. It reads
 * requests from standard input and answers each on standard output, one line each
 * (lib/Tune/README.md). It runs kernels that may crash or hang, in isolation from the tuner. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/hash.h"
#include "Tune/canary.h"
#include "Tune/tune.h"
#include "Tune/workload.h"
#include "commands.h"
#include "compile_input.h"
#include "tune_commands.h"

enum { LINE_BYTES = 8192, MAX_FINALISTS = HD_TUNE_MOST_FINALISTS + 2 };

typedef struct worker {
  heddle_context *ctx;
  hd_product product;
  heddle_compile_options compile;
  int64_t device_index;
  heddle_runtime *runtime; /* NULL: not opened yet */
  hd_device *device;
  hd_nvml *nvml; /* NULL if unavailable */
  hd_bench_host *host; /* operand values; A is kept while only N changes */
  hd_workload *workload;
} worker;

/* ---- answers ---- */

static void answer_failure(worker *w, heddle_status status) {
  const char *word = status == HEDDLE_MISMATCH                                   ? "wrong"
                     : status == HEDDLE_UNSUPPORTED || status == HEDDLE_INVALID ? "refused"
                                                                                : "failed";
  printf("%s ", word);
  for (const char *c = hd_first_error_text(w->ctx, heddle_status_text(status)); *c; c++)
    putchar(*c == '\n' ? ' ' : *c); /* the answer is one line */
  putchar('\n');
  fflush(stdout);
  heddle_context_clear(w->ctx);
}

/* ---- the device ---- */

static heddle_status open_device(worker *w) {
  HD_TRY(heddle_runtime_create(w->ctx, NULL, &w->runtime));
  HD_TRY(hd_device_open(w->ctx, w->runtime, (int)w->device_index, &w->device));
  if (hd_nvml_open(NULL, NULL, w->device->info.pci_id, &w->nvml) != HEDDLE_OK)
    w->nvml = NULL;
  return HEDDLE_OK;
}

static heddle_status do_open(worker *w, const char *seed) {
  if (!w->device)
    HD_TRY(open_device(w));
  hd_workload_close(w->workload);
  w->workload = NULL;
  HD_TRY(hd_bench_host_make(w->ctx, &w->product, strtoull(seed, NULL, 10),
                            (int32_t)sysconf(_SC_NPROCESSORS_ONLN), w->host));
  HD_TRY(hd_workload_open(w->ctx, w->device, &w->product, w->host, &w->workload));
  hd_nvml_sample s = {0};
  if (w->nvml && hd_nvml_read(NULL, w->nvml, &s) != HEDDLE_OK)
    s.power_limit_w = 0;
  printf("ready %.0f %d.%d %s\n", s.power_limit_w, w->device->info.driver_version / 1000,
         w->device->info.driver_version % 1000 / 10, w->device->info.name);
  return HEDDLE_OK;
}

/* ---- requests ---- */

static heddle_status do_product(worker *w, const char *text) {
  HD_TRY(hd_product_parse(w->ctx, text, &w->product));
  w->compile.target = w->product.target;
  printf("product\n");
  return HEDDLE_OK;
}

/* The hash of the cubin; false without ptxas, because the driver then compiles. */
static bool cubin_hash(const heddle_compiled *compiled, char out[33]) {
  size_t n_bytes;
  const void *cubin = heddle_compiled_cubin(compiled, &n_bytes);
  if (cubin)
    hd_hash_format(hd_hash_bytes(cubin, n_bytes), out);
  return cubin != NULL;
}

static void print_cubin(const heddle_compiled *compiled) {
  char hash[33];
  if (cubin_hash(compiled, hash))
    printf(" cubin=%s", hash);
}

static heddle_status do_compile(worker *w, const char *schedule) {
  heddle_compiled *compiled;
  char *text = hd_product_problem(&w->product);
  w->compile.schedule = schedule;
  heddle_status status =
      heddle_compile(w->ctx, "product", text, strlen(text), &w->compile, &compiled);
  hd_free(text);
  HD_TRY(status);
  printf("compiled");
  print_cubin(compiled);
  printf("\n");
  heddle_compiled_free(compiled);
  return HEDDLE_OK;
}

/* Sensor values at the end of the measurement. */
static hd_nvml_sample read_sensors(const worker *w) {
  hd_nvml_sample s;
  return w->nvml && hd_nvml_read(NULL, w->nvml, &s) == HEDDLE_OK ? s : (hd_nvml_sample){0};
}

/* Measures one round. If sustained, also measures alone; power and clock are then of that run. */
static heddle_status time_candidate(worker *w, const hd_candidate *c, bool sustained) {
  static const double SETTLE_S = 0.3, SUSTAINED_S = 0.5;
  size_t n_sets = hd_workload_n_sets(w->workload);
  double error;
  hd_timing t;
  hd_nvml_sample s;
  hd_alone alone;
  hd_rounds rounds = hd_rounds_quick(w->product.n);
  hd_contender contender = hd_candidate_contender(c);
  HD_TRY(hd_candidate_verify(w->ctx, c, &error));
  HD_TRY(hd_measure_rounds(w->ctx, w->device, &contender, 1, n_sets, &rounds, &t, NULL));
  if (sustained) {
    HD_TRY(hd_measure_sustained(w->ctx, w->device, &contender, n_sets, SETTLE_S, SUSTAINED_S,
                                w->nvml, &alone));
    printf("ok %.9g %.9g %.9g %.4g %.0f %u %.9g windows=", t.median, t.min, t.max, error,
           alone.power_w, alone.sm_mhz, alone.sustained);
    for (int i = 0; i < HD_ALONE_WINDOWS; i++)
      printf("%s%.9g", i ? "," : "", alone.window[i]);
    s = read_sensors(w);
  } else {
    s = read_sensors(w);
    printf("ok %.9g %.9g %.9g %.4g %.0f %u", t.median, t.min, t.max, error, s.power_w, s.sm_mhz);
  }
  print_cubin(c->compiled);
  if (w->nvml)
    printf(" celsius=%u throttle=0x%llx", s.temperature_c, s.throttle);
  printf("\n");
  return HEDDLE_OK;
}

static heddle_status need_workload(worker *w) {
  return w->workload ? HEDDLE_OK
                     : hd_error(w->ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "tune.worker",
                                "measure comes after open");
}

static heddle_status do_measure(worker *w, const char *schedule, bool sustained) {
  hd_candidate c = {0};
  HD_TRY(need_workload(w));
  w->compile.schedule = schedule;
  HD_TRY(hd_candidate_load(w->ctx, w->workload, &w->compile, &c));
  heddle_status status = time_candidate(w, &c, sustained);
  hd_candidate_free(&c);
  return status;
}

static heddle_status play_final(worker *w, const hd_candidate *list, int32_t n, int32_t n_rounds) {
  hd_contender contender[MAX_FINALISTS];
  hd_timing t[MAX_FINALISTS];
  double samples[MAX_FINALISTS * HD_MOST_ROUNDS];
  hd_rounds rounds = hd_rounds_for(w->product.n);
  double error;
  if (n_rounds > 0 && n_rounds <= HD_MOST_ROUNDS)
    rounds.n_rounds = n_rounds;
  for (int32_t i = 0; i < n; i++) {
    contender[i] = hd_candidate_contender(&list[i]);
    HD_TRY(hd_candidate_verify(w->ctx, &list[i], &error));
  }
  HD_TRY(hd_measure_rounds(w->ctx, w->device, contender, n, hd_workload_n_sets(w->workload),
                           &rounds, t, samples));
  printf("final");
  for (int32_t i = 0; i < n; i++)
    printf(" %.9g %.9g %.9g", t[i].median, t[i].min, t[i].max);
  for (int32_t i = 0; i < n * rounds.n_rounds; i++)
    printf("%s%.9g", i ? "," : " rounds=", samples[i]);
  for (int32_t i = 0; i < n; i++) {
    char hash[33] = "";
    cubin_hash(list[i].compiled, hash);
    printf("%s%s", i ? "," : " cubins=", hash);
  }
  printf("\n");
  return HEDDLE_OK;
}

/* "ROUNDS<tab>SCHEDULE<tab>SCHEDULE…" */
static heddle_status do_final(worker *w, char *text) {
  hd_candidate list[MAX_FINALISTS] = {0};
  int32_t n = 0;
  char *rest = NULL, *word = strtok_r(text, "\t", &rest);
  int32_t n_rounds = word ? (int32_t)strtol(word, NULL, 10) : 0;
  heddle_status status = need_workload(w);
  while (status == HEDDLE_OK && n < MAX_FINALISTS && (word = strtok_r(NULL, "\t", &rest))) {
    w->compile.schedule = word;
    status = hd_candidate_load(w->ctx, w->workload, &w->compile, &list[n]);
    n += status == HEDDLE_OK;
  }
  if (status == HEDDLE_OK)
    status = play_final(w, list, n, n_rounds);
  for (int32_t i = 0; i < n; i++)
    hd_candidate_free(&list[i]);
  return status;
}

/* Measures the state of the device with fixed kernels, without a product. */
static heddle_status do_canary(worker *w) {
  hd_canary canary;
  if (!w->device)
    HD_TRY(open_device(w));
  HD_TRY(hd_canary_run(w->ctx, w->device, &canary));
  hd_nvml_sample s = read_sensors(w);
  printf("canary %.9g %.9g celsius=%u throttle=0x%llx\n", canary.read_s, canary.kernel_s,
         s.temperature_c, s.throttle);
  return HEDDLE_OK;
}

static heddle_status obey(worker *w, char *line) {
  char *text = strchr(line, ' ');
  if (text)
    *text++ = '\0';
  if (strcmp(line, "canary") == 0)
    return do_canary(w);
  if (text && strcmp(line, "open") == 0)
    return do_open(w, text);
  if (text && strcmp(line, "product") == 0)
    return do_product(w, text);
  if (text && strcmp(line, "compile") == 0)
    return do_compile(w, text);
  if (text && strcmp(line, "measure") == 0)
    return do_measure(w, text, false);
  if (text && strcmp(line, "alone") == 0)
    return do_measure(w, text, true);
  if (text && strcmp(line, "final") == 0)
    return do_final(w, text);
  return hd_error(w->ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.worker",
                  "got \"%.40s\"; legal: product, open, canary, compile, measure, alone, final",
                  line);
}

static void serve(worker *w) {
  char *line = hd_xmalloc(LINE_BYTES);
  while (fgets(line, LINE_BYTES, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    heddle_status status = obey(w, line);
    if (status != HEDDLE_OK)
      answer_failure(w, status);
    fflush(stdout);
    heddle_context_clear(w->ctx);
  }
  hd_free(line);
}

/* ---- the command ---- */

static const char about[] =
    "The child process of `heddle tune`: answers requests, one on each line. Not for interactive "
    "use.";
static const char examples[] = "heddle tune worker --cache DIR < requests\n";

int tune_worker(int argc, char **argv) {
  worker w = {0};
  const char *ptxas = NULL;
  const cli_option options[] = {
      {"cache", CLI_TEXT, &w.compile.cache, "DIR", "folder of compiled kernels"},
      {"ptxas", CLI_TEXT, &ptxas, "PATH", "ptxas; none: the driver compiles"},
      {"device", CLI_INT, &w.device_index, "I", "device number (0)"},
      {0}};
  const cli_command command = {"tune worker [OPTIONS]", about, examples, options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code != CLI_GO)
    return code;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* do not outlive a killed tuner */
  char *found = ptxas ? NULL : compile_find_ptxas();
  w.compile.ptxas = !ptxas ? found : strcmp(ptxas, "none") ? ptxas : NULL;
  w.ctx = heddle_context_create();
  w.host = hd_bench_host_create();
  serve(&w);
  hd_workload_close(w.workload);
  hd_bench_host_free(w.host);
  if (w.nvml)
    hd_nvml_close(w.nvml);
  hd_device_close(w.device);
  heddle_runtime_free(w.runtime);
  hd_free(found);
  return cli_finish(w.ctx, HEDDLE_OK);
}
