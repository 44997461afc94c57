/* heddle tune lease: tunes products for heddle-agent, as `heddle tune` does. Each line of standard
 * input is one lease: {"product", "seed", "incumbent", "incumbent_cubin"}, the last two optional.
 * It prints each result at once, one JSON object per line. It validates all of this like a user's
 * input. The measuring process stays for the next lease, which then begins without the start of
 * CUDA. If anything arrives before "done", or standard input ends, it ends after the current
 * candidate.
 *
 *   {"event": "canary", "read_us", "kernel_us", "throttle"}   first, and again after the race
 *   {"event": "measurement", …}  of docs/service.md, without seq and times
 *   {"event": "race", "n_legal", "n_measured", "race": {…}}
 *   {"event": "carried", "cubin"}     the incumbent's code is the same as under the other build
 *   {"event": "note", "text"}
 *   {"event": "failed", "why"}        the product cannot be tuned, here or anywhere
 *   {"event": "stopped"}
 *   {"event": "done"}                 last */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "Support/arena.h"
#include "Support/child.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Tune/tune.h"
#include "Tune/workers.h"
#include "cli.h"
#include "commands.h"
#include "tune_commands.h"
#include "tune_worker_words.h"

/* One product of the service, and its incumbent (may be NULL). */
typedef struct request {
  const char *product, *incumbent, *incumbent_cubin;
  int64_t seed;
} request;

typedef struct lease_args {
  request once; /* product NULL: requests come from standard input */
  const char *worker, *ptxas, *cache, *gpu;
  int64_t device, jobs, top, finalists, deadline, memory_mib;
  bool no_sustained, no_canary;
} lease_args;

typedef struct tuner {
  const lease_args *a;
  const char *const *argv; /* of the measuring process; borrowed */
  hd_workers workers;      /* kept from one product to the next */
  bool stopped;
} tuner;

static const char about[] =
    "The child process of heddle-agent: tunes products of the service and prints each result\n"
    "immediately. Without --product, each line of standard input is a request in JSON. Not for\n"
    "interactive use.";
static const char examples[] =
    "heddle tune lease --product \"sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m=64 n=16 k=64 k_major "
    "row_major\"\n";

/* ---- output ---- */

/* Prints an event. object is consumed. */
static void tell_event(const char *event, json_t *object) {
  if (!object)
    object = json_object();
  json_object_set_new(object, "event", json_string(event));
  char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
  printf("%s\n", text ? text : "{\"event\":\"note\",\"text\":\"a text that is no UTF-8\"}");
  fflush(stdout);
  hd_free(text);
  json_decref(object);
}

static void tell_text(const char *event, const char *field, const char *text) {
  json_t *string = json_string(text);
  tell_event(event, json_pack("{s:o}", field, string ? string : json_string("not UTF-8")));
}

static void set_us(json_t *object, const char *field, double seconds) {
  if (seconds > 0)
    json_object_set_new(object, field, json_real(seconds * 1e6));
}

static void set_number(json_t *object, const char *field, double value) {
  if (value > 0)
    json_object_set_new(object, field, json_real(value));
}

static void set_text(json_t *object, const char *field, const char *text) {
  json_t *value = text && *text ? json_string(text) : NULL;
  if (value)
    json_object_set_new(object, field, value);
}

static void tell_measurement(const hd_record *r) {
  json_t *o =
      json_pack("{s:s, s:s}", "schedule", r->schedule, "verdict", hd_verdict_name(r->verdict));
  char why[512];
  snprintf(why, sizeof why, "%s", r->verdict == HD_VERDICT_OK || !r->why ? "" : r->why);
  set_text(o, "why", why);
  set_us(o, "us", r->median);
  set_us(o, "us_min", r->min);
  set_us(o, "us_max", r->max);
  set_us(o, "sustained_us", r->sustained);
  set_us(o, "predicted_us", r->predicted);
  set_number(o, "error", r->error);
  set_number(o, "power_w", r->power_w);
  set_number(o, "temperature_c", r->temperature_c);
  if (r->sm_mhz > 0)
    json_object_set_new(o, "sm_mhz", json_integer(r->sm_mhz));
  json_object_set_new(o, "throttle", json_integer((json_int_t)r->throttle));
  set_text(o, "cubin", r->cubin);
  tell_event("measurement", o);
}

static json_t *contender_json(const hd_tune_contender *c, int32_t n_rounds) {
  json_t *rounds = json_array();
  for (int32_t i = 0; i < n_rounds; i++)
    json_array_append_new(rounds, json_real(c->rounds[i] * 1e6));
  json_t *o = json_pack("{s:s, s:s, s:o}", "schedule", c->schedule, "role",
                        c->is_default     ? "default"
                        : c->is_incumbent ? "incumbent"
                                          : "candidate",
                        "rounds_us", rounds);
  set_text(o, "cubin", c->cubin);
  set_us(o, "predicted_us", c->predicted);
  set_number(o, "error", c->error);
  return o;
}

static void tell_race(const hd_tune_event *e) {
  json_t *contenders = json_array();
  bool has_default = false;
  for (int32_t i = 0; i < e->race->n; i++) {
    json_array_append_new(contenders, contender_json(&e->race->list[i], e->race->n_rounds));
    has_default |= e->race->list[i].is_default;
  }
  if (!has_default) { /* the service needs the default's time to make a choice */
    json_decref(contenders);
    tell_text("failed", "why", "the default gave a wrong result in the race");
    return;
  }
  tell_event("race", json_pack("{s:I, s:I, s:{s:s, s:o}}", "n_legal", (json_int_t)e->n_legal,
                               "n_measured", (json_int_t)e->n_measured, "race", "mode",
                               e->race->alone ? "alone" : "interleaved", "contenders", contenders));
}

/* True after "stop", or at the end of input, because the agent has ended. */
static bool is_told_to_stop(void) {
  char byte;
  ssize_t n = read(STDIN_FILENO, &byte, 1);
  return n >= 0; /* nothing else is ever sent; the read does not block */
}

static bool tell(void *user, const hd_tune_event *e) {
  tuner *t = user;
  const hd_tune_canary *c = e->canary;
  if (c)
    tell_event("canary", json_pack("{s:f, s:f, s:I}", "read_us", c->read_s * 1e6, "kernel_us",
                                   c->kernel_s * 1e6, "throttle", (json_int_t)c->throttle));
  if (e->record)
    tell_measurement(e->record);
  if (e->race)
    tell_race(e);
  t->stopped |= is_told_to_stop();
  return !t->stopped;
}

/* ---- unchanged code ---- */

/* Starts a separate worker, sends n requests, and returns its answer to the last one. */
static heddle_status ask_worker(heddle_context *ctx, const char *const *argv,
                                const char *const *requests, int n, double deadline_s,
                                hd_strbuf *answer) {
  hd_child child = {0}, *one = &child;
  bool came = true;
  HD_TRY(hd_child_start(ctx, argv, &child));
  double until = hd_clock_seconds() + deadline_s;
  for (int i = 0; i < n && came; i++) {
    (void)hd_child_say(&child, requests[i]);
    while (!(came = hd_child_take(&child, answer)) && !child.ended && hd_clock_seconds() < until)
      hd_children_wait(&one, 1, until - hd_clock_seconds());
  }
  hd_child_stop(&child, NULL);
  return came ? HEDDLE_OK
              : hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "tune.worker",
                         "the measuring process did not answer \"%.60s\"", requests[n - 1]);
}

/* Whether the incumbent's schedule still compiles to the code that was measured. */
static bool is_carried(const tuner *t, const request *r) {
  if (!r->incumbent || !r->incumbent_cubin)
    return false;
  hd_strbuf product = {0}, compile = {0}, answer = {0};
  hd_strbuf_printf(&product, "product %s", r->product);
  hd_strbuf_printf(&compile, "compile %s", r->incumbent);
  const char *const requests[] = {hd_strbuf_text(&product), hd_strbuf_text(&compile)};
  double deadline_s = (double)t->a->deadline;
  heddle_status status = ask_worker(NULL, t->argv, requests, 2, deadline_s, &answer);
  const char *cubin = strstr(hd_strbuf_text(&answer), "compiled cubin=");
  bool same = status == HEDDLE_OK && cubin && strcmp(cubin + 15, r->incumbent_cubin) == 0;
  if (same)
    tell_text("carried", "cubin", r->incumbent_cubin);
  hd_strbuf_free(&product);
  hd_strbuf_free(&compile);
  hd_strbuf_free(&answer);
  return same;
}

/* ---- the product ---- */

static heddle_status tune_product(heddle_context *ctx, tuner *t, const request *r,
                                  const hd_product *product) {
  const lease_args *a = t->a;
  hd_records *records; /* in memory, because the service has the database */
  int32_t n_done = 0;
  HD_TRY(hd_records_open(ctx, ":memory:", true, &records));
  hd_tune_options o = {.worker = t->argv,
                       .workers = &t->workers,
                       .n_jobs = (int32_t)a->jobs,
                       .deadline_s = (double)a->deadline,
                       .n_top = a->top,
                       .n_finalists = (int32_t)a->finalists,
                       .incumbent = r->incumbent,
                       .memory_bytes = (uint64_t)a->memory_mib << 20,
                       .no_sustained = a->no_sustained,
                       .canaries = !a->no_canary,
                       .seed = (uint64_t)r->seed,
                       .ceilings = hd_device_model_of(NULL),
                       .records = records,
                       .tell = tell,
                       .user = t};
  heddle_status status = hd_tune(ctx, &o, product, 1, &n_done);
  hd_records_close(records);
  const heddle_diagnostic *d;
  for (size_t i = 0; (d = heddle_context_get(ctx, i)); i++)
    if (d->severity != HEDDLE_ERROR)
      tell_text("note", "text", d->text);
  if (status == HEDDLE_OK && n_done == 0 && !t->stopped)
    tell_text("failed", "why", "the race made no choice");
  if (t->stopped && !n_done)
    tell_event("stopped", NULL);
  return status;
}

/* An unknown key or a product that no kernel supports is reported as failed. If the device does not
 * work, the process itself fails. */
static heddle_status lease(heddle_context *ctx, tuner *t, const request *r) {
  hd_product product;
  hd_front front = {0};
  heddle_status status = hd_product_parse(ctx, r->product, &product);
  if (status == HEDDLE_OK)
    status = hd_product_build(ctx, HD_NOWHERE, &product, &front);
  hd_front_free(&front);
  if (status == HEDDLE_INVALID || status == HEDDLE_UNSUPPORTED) {
    tell_text("failed", "why", hd_first_error_text(ctx, heddle_status_text(status)));
    heddle_context_clear(ctx);
    return HEDDLE_OK;
  }
  HD_TRY(status);
  if (is_carried(t, r))
    return HEDDLE_OK;
  return tune_product(ctx, t, r, &product);
}

static heddle_status do_lease(heddle_context *ctx, tuner *t, const request *r) {
  heddle_status status = lease(ctx, t, r);
  if (status == HEDDLE_OK)
    tell_event("done", NULL);
  return status;
}

/* ---- requests ---- */

/* Waits for a line. False at the end of input, and for a line that is too long. */
static bool read_line(char *line, size_t cap) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  for (size_t n = 0; n < cap;) {
    ssize_t got = read(STDIN_FILENO, line + n, 1);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
      return false;
    if (got < 0) {
      poll(&input, 1, -1);
    } else if (line[n++] == '\n') {
      line[n - 1] = '\0';
      return true;
    }
  }
  return false;
}

static heddle_status serve(heddle_context *ctx, tuner *t) {
  enum { LINE_BYTES = 4096 };
  char line[LINE_BYTES];
  heddle_status status = HEDDLE_OK;
  while (status == HEDDLE_OK && !t->stopped && read_line(line, sizeof line)) {
    request r = {0};
    json_int_t seed = 1;
    heddle_context_clear(ctx); /* the notes of the last lease */
    json_t *o = json_loads(line, 0, NULL);
    if (json_unpack(o, "{s:s, s?I, s?s, s?s}", "product", &r.product, "seed", &seed, "incumbent",
                    &r.incumbent, "incumbent_cubin", &r.incumbent_cubin) != 0)
      status = hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tune.request",
                        "got \"%.60s\"; legal: {\"product\": KEY, \"seed\": N, \"incumbent\": "
                        "SCHEDULE, \"incumbent_cubin\": HASH}",
                        line);
    r.seed = seed;
    if (status == HEDDLE_OK)
      status = do_lease(ctx, t, &r);
    json_decref(o);
  }
  return status;
}

int tune_lease(int argc, char **argv) {
  lease_args a = {.once = {.seed = 1}, .deadline = 30};
  const cli_option options[] = {
      {"product", CLI_TEXT, &a.once.product, "KEY", "the product key; then nothing else is tuned"},
      {"incumbent", CLI_TEXT, &a.once.incumbent, "SCHEDULE",
       "the schedule of the incumbent; it joins the race if it is legal"},
      {"incumbent-cubin", CLI_TEXT, &a.once.incumbent_cubin, "HASH",
       "hash of the incumbent's cubin under another build: if it is the same now, nothing is "
       "measured"},
      {"top", CLI_INT, &a.top, "N", "measurements (one in twenty, 8 to 64)"},
      {"finalists", CLI_INT, &a.finalists, "N",
       "contenders in the race besides the default (6; alone 8)"},
      {"no-sustained", CLI_FLAG, &a.no_sustained, NULL,
       "also use interleaved rounds for large products"},
      {"no-canary", CLI_FLAG, &a.no_canary, NULL, "do not measure the state of the device"},
      {"jobs", CLI_INT, &a.jobs, "N", "processes that compile candidates in advance (0)"},
      {"deadline", CLI_INT, &a.deadline, "SECONDS", "time limit of a candidate (30)"},
      {"memory", CLI_INT, &a.memory_mib, "MIB", "memory limit of a measuring process (none)"},
      {"gpu", CLI_TEXT, &a.gpu, "UUID", "the only device that CUDA sees (all)"},
      {"device", CLI_INT, &a.device, "I", "device number (0)"},
      {"seed", CLI_INT, &a.once.seed, "S", "seed of the operands (1)"},
      {"ptxas", CLI_TEXT, &a.ptxas, "PATH", "ptxas (found on PATH); none: the driver compiles"},
      {"cache", CLI_TEXT, &a.cache, "DIR", "folder of compiled kernels (a temporary one)"},
      {"worker", CLI_TEXT, &a.worker, "COMMAND",
       "use another measuring process (lib/Tune/README.md)"},
      {0}};
  const cli_command command = {
      "tune lease [--product KEY] [OPTIONS]", about, examples, options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  const cli_number numbers[] = {{"--top", a.top, 0, INT32_MAX},
                                {"--finalists", a.finalists, 0, HD_TUNE_MOST_FINALISTS},
                                {"--jobs", a.jobs, 0, HD_TUNE_MOST_JOBS},
                                {"--memory", a.memory_mib, 0, INT32_MAX},
                                {"--deadline", a.deadline, 1, 3600}};
  if (code == CLI_GO)
    code = cli_check_numbers("tune.number", numbers, HD_COUNT(numbers));
  if (code != CLI_GO)
    return code;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* do not outlive a killed agent */
  if (a.gpu)
    setenv("CUDA_VISIBLE_DEVICES", a.gpu, 1); /* before the measuring process starts */
  (void)fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  heddle_context *ctx = heddle_context_create();
  worker_words words;
  heddle_status status =
      worker_words_make(ctx, a.worker, a.device, a.cache, a.ptxas, &words);
  tuner t = {.a = &a, .argv = words.argv};
  if (status == HEDDLE_OK)
    status = a.once.product ? do_lease(ctx, &t, &a.once) : serve(ctx, &t);
  hd_workers_end(&t.workers);
  worker_words_free(&words);
  return cli_finish(ctx, status);
}
