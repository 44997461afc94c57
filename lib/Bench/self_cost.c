#include "Bench/self_cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Emit/emit.h"
#include "Passes/passes.h"
#include "Runtime/loaded_kernel.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "Bench/bench.h"
#include "Tune/rotated_kernel.h"

static double least(double a, double b) { return a < b ? a : b; }

/* ---- compiling ---- */

/* Where the clock stood behind the last pass, and what the check took. */
typedef struct pass_clock {
  double last, check;
} pass_clock;

static void note_pass(void *user, const hd_pass *pass, const hd_module *module, double seconds) {
  (void)module, (void)seconds;
  pass_clock *clock = user;
  double now = hd_clock_thread_seconds();
  if (strcmp(pass->name, "check") == 0)
    clock->check = now - clock->last;
  clock->last = now;
}

static heddle_status compile_once(heddle_context *ctx, const char *text, const char *schedule,
                                  int32_t n_threads, hd_compile_cost *cost) {
  hd_module *module = NULL;
  hd_pass_context pass = {.ctx = ctx, .schedule_text = schedule, .n_threads = n_threads};
  hd_emit_options emit = {.n_threads = n_threads};
  hd_emit_result emitted = {0};
  double begin = hd_clock_seconds(), start = hd_clock_thread_seconds();
  pass_clock clock = {.last = start};
  HD_TRY(hd_parse(ctx, "cost", text, strlen(text), &module));
  hd_pipeline_options options = {.after = note_pass, .user = &clock};
  heddle_status status = hd_run_pipeline(&pass, module, &options);
  double middle = hd_clock_thread_seconds();
  if (status == HEDDLE_OK)
    status = hd_emit_ptx(ctx, module, &emit, &emitted);
  *cost = (hd_compile_cost){.passes = middle - start - clock.check,
                            .check = clock.check,
                            .emit = hd_clock_thread_seconds() - middle,
                            .clock = hd_clock_seconds() - begin,
                            .ptx_bytes = emitted.n_bytes};
  hd_emit_result_free(&emitted);
  hd_module_free(module);
  return status;
}

heddle_status hd_cost_compile(heddle_context *ctx, const char *text, const char *schedule,
                              int32_t n_threads, int32_t n_rounds, hd_compile_cost *cost) {
  hd_compile_cost best = {INFINITY, INFINITY, INFINITY, INFINITY, 0};
  for (int32_t i = 0; i < n_rounds; i++) {
    hd_compile_cost now;
    HD_TRY(compile_once(ctx, text, schedule, n_threads, &now));
    best = (hd_compile_cost){least(best.passes, now.passes), least(best.check, now.check),
                             least(best.emit, now.emit), least(best.clock, now.clock),
                             now.ptx_bytes};
  }
  *cost = best;
  return HEDDLE_OK;
}

/* ---- loading ---- */

/* Of a kernel that the cache holds. */
static heddle_status cached_once(heddle_context *ctx, const hd_device *device, const char *text,
                                 const heddle_compile_options *options, hd_cached_cost *cost) {
  heddle_compiled *compiled;
  heddle_kernel *kernel = NULL;
  double start = hd_clock_seconds();
  HD_TRY(heddle_compile(ctx, "cost", text, strlen(text), options, &compiled));
  double middle = hd_clock_seconds();
  heddle_status status = device ? hd_load_compiled(ctx, device->runtime, compiled, &kernel)
                                : HEDDLE_OK;
  *cost = (hd_cached_cost){.lookup = middle - start,
                           .load = device ? hd_clock_seconds() - middle : 0};
  heddle_compiled_cubin(compiled, &cost->cubin_bytes);
  heddle_kernel_free(kernel);
  heddle_compiled_free(compiled);
  return status;
}

heddle_status hd_cost_cached(heddle_context *ctx, const hd_device *device, const char *text,
                             const char *ptxas, const char *cache, int32_t n_rounds,
                             hd_cached_cost *cost) {
  hd_cached_cost best = {INFINITY, INFINITY, 0}, now;
  heddle_compile_options options = {.ptxas = ptxas, .cache = cache};
  heddle_status status = cached_once(ctx, NULL, text, &options, &now); /* fills it */
  for (int32_t i = 0; i < n_rounds && status == HEDDLE_OK; i++) {
    status = cached_once(ctx, device, text, &options, &now);
    best = (hd_cached_cost){least(best.lookup, now.lookup), least(best.load, now.load),
                            now.cubin_bytes};
  }
  if (status == HEDDLE_OK)
    *cost = best;
  return status;
}

/* ---- a process ---- */

static heddle_status time_process(heddle_context *ctx, const char *const *argv, int32_t n_rounds,
                                  double *seconds) {
  enum { MOST_SECONDS = 600 };
  *seconds = INFINITY;
  for (int32_t i = 0; i < n_rounds; i++) {
    hd_strbuf said = {0};
    int code = 0;
    double start = hd_clock_seconds();
    heddle_status status = hd_process_run(ctx, argv, MOST_SECONDS, &said, &code);
    *seconds = least(*seconds, hd_clock_seconds() - start);
    if (status == HEDDLE_OK && code)
      status = hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "cost.process",
                        "%s ended with %d: %.200s", argv[0], code, hd_strbuf_text(&said));
    hd_strbuf_free(&said);
    HD_TRY(status);
  }
  return HEDDLE_OK;
}

heddle_status hd_cost_process(heddle_context *ctx, const char *heddle, const char *text,
                              const char *schedule, const char *ptxas, const char *folder,
                              int32_t n_rounds, hd_process_cost *cost) {
  hd_strbuf file = {0};
  hd_process_cost took = {0};
  hd_strbuf_printf(&file, "%s/cost.heddle", folder);
  const char *const argv[] = {heddle, "gen", hd_strbuf_text(&file), "--schedule", schedule, "-o",
                              folder, "--cache", "", "--ptxas", "none", NULL};
  const char *const with_ptxas[] = {heddle, "gen", hd_strbuf_text(&file), "--schedule", schedule,
                                    "-o", folder, "--cache", "", "--ptxas", ptxas, NULL};
  heddle_status status = hd_file_write(ctx, hd_strbuf_text(&file), text, strlen(text));
  if (status == HEDDLE_OK)
    status = time_process(ctx, argv, n_rounds, &took.ptx);
  if (status == HEDDLE_OK && ptxas)
    status = time_process(ctx, with_ptxas, n_rounds, &took.cubin);
  hd_strbuf_free(&file);
  if (status == HEDDLE_OK)
    *cost = took;
  return status;
}

/* ---- launching ---- */

enum { LAUNCHES = 256 }; /* fewer than the driver queues */

typedef int typed(const void *a, const void *b, void *d, int64_t ldb, int64_t ldd, void *stream);
static const char typed_text[] =
    "(const void *a, const void *b, void *d, int64_t ldb, int64_t ldd, void *stream)";

typedef struct subject {
  const hd_device *device;
  const heddle_kernel *kernel;
  heddle_arg args[5];
  hd_values values;
  hd_prepared prepared;
  heddle_function function;
} subject;

static int by_driver(subject *s) {
  return s->device->runtime->cu.launch(&s->prepared.config, s->prepared.function,
                                       s->prepared.params, NULL);
}

static int by_launch(subject *s) {
  return heddle_kernel_launch(NULL, s->kernel, s->args, 5, s->device->stream);
}

static int by_function(subject *s) {
  return ((typed *)s->function)(s->args[0].ptr, s->args[1].ptr, (void *)(uintptr_t)s->args[2].ptr,
                                s->args[3].i64, s->args[4].i64, s->device->stream);
}

static heddle_status time_calls(heddle_context *ctx, subject *s, int call(subject *),
                                int32_t n_rounds, double *seconds) {
  *seconds = INFINITY;
  for (int32_t r = 0; r < n_rounds; r++) {
    int failed = 0;
    double start = hd_clock_seconds();
    for (int i = 0; i < LAUNCHES; i++)
      failed |= call(s);
    *seconds = least(*seconds, (hd_clock_seconds() - start) / LAUNCHES);
    HD_TRY(hd_device_sync(ctx, s->device));
    if (failed)
      return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "cost.launch", "a launch failed");
  }
  return HEDDLE_OK;
}

static heddle_status time_launches(heddle_context *ctx, subject *s, heddle_kernel *kernel,
                                   int32_t n_rounds, hd_launch_cost *cost) {
  s->kernel = kernel;
  if (!strstr(heddle_kernel_prototype(kernel), typed_text))
    return HD_BUG(ctx, "the arguments of a bench kernel");
  const hd_arg_kind kinds[] = {HD_ARG_A, HD_ARG_B, HD_ARG_D, HD_ARG_LDB, HD_ARG_LDD};
  for (int i = 0; i < 5; i++)
    s->values.v[kinds[i]] = hd_arg_bits(hd_arg_class_of(kinds[i]), s->args[i]);
  HD_TRY(heddle_kernel_function(ctx, kernel, &s->function));
  HD_TRY(hd_kernel_prepare(ctx, kernel, &s->values, s->device->stream, &s->prepared));
  HD_TRY(time_calls(ctx, s, by_driver, n_rounds, &cost->bare));
  HD_TRY(time_calls(ctx, s, by_launch, n_rounds, &cost->launch));
  return time_calls(ctx, s, by_function, n_rounds, &cost->function);
}

heddle_status hd_cost_launch(heddle_context *ctx, const hd_device *device, const char *ptxas,
                             int32_t n_rounds, hd_launch_cost *cost) {
  enum { M = 64, N = 8, K = 64, BYTES = 1 << 20 };
  hd_bench_problem p = {
      .elem = HEDDLE_BF16, .d_elem = HEDDLE_BF16, .m = M, .n = N, .k = K};
  heddle_compiled *compiled;
  heddle_kernel *kernel = NULL;
  hd_buffer memory = {0};
  char *text = hd_bench_text(&p, device->info.target, true, false);
  heddle_compile_options options = {.ptxas = ptxas};
  heddle_status status = heddle_compile(ctx, "cost", text, strlen(text), &options, &compiled);
  hd_free(text);
  HD_TRY(status);
  status = hd_load_compiled(ctx, device->runtime, compiled, &kernel);
  heddle_compiled_free(compiled);
  if (status == HEDDLE_OK)
    status = hd_buffer_create(ctx, device, BYTES, 0, &memory);
  if (status == HEDDLE_OK) {
    const void *at = (const void *)(uintptr_t)memory.address;
    subject s = {.device = device,
                 .args = {{.ptr = at}, {.ptr = at}, {.ptr = (const char *)at + BYTES / 2},
                          {.i64 = K}, {.i64 = N}}};
    status = time_launches(ctx, &s, kernel, n_rounds, cost);
    hd_buffer_free(device, &memory);
  }
  heddle_kernel_free(kernel);
  return status;
}

/* ---- tuned choices ---- */

double hd_cost_lookup(const hd_tuned *tuned, int32_t n_rounds) {
  enum { LOOKUPS = 4096 };
  double best = INFINITY;
  size_t n = hd_tuned_count(tuned), found = 0;
  for (int32_t r = 0; r < n_rounds && n; r++) {
    double start = hd_clock_seconds();
    for (size_t i = 0; i < LOOKUPS; i++)
      found += hd_tune_lookup(tuned, &hd_tuned_get(tuned, i % n)->product) != NULL;
    best = least(best, (hd_clock_seconds() - start) / LOOKUPS);
  }
  return found ? best : 0;
}

/* ---- memory ---- */

static bool read_kib(const char *text, const char *key, size_t *n_bytes) {
  unsigned long kib;
  const char *line = strstr(text, key);
  if (!line || sscanf(line + strlen(key), " %lu", &kib) != 1)
    return false;
  *n_bytes = (size_t)kib * 1024;
  return true;
}

heddle_status hd_cost_memory(heddle_context *ctx, const char *path, hd_memory_cost *cost) {
  char *text;
  size_t n;
  HD_TRY(hd_file_read_text(ctx, path, &text, &n));
  bool ok = read_kib(text, "RssAnon:", &cost->own_bytes) &&
            read_kib(text, "RssFile:", &cost->file_bytes);
  hd_free(text);
  return ok ? HEDDLE_OK
            : hd_error(ctx, HEDDLE_ENVIRONMENT, (hd_loc){.file = path}, "cost.memory",
                       "RssAnon and RssFile are missing in the status file; legal: Linux 4.5 or "
                       "later");
}
