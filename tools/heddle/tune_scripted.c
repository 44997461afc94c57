/* heddle tune scripted: a measuring process without a GPU, for tests. It speaks the protocol of
 * heddle tune worker (lib/Tune/README.md). Its times are the cost model's, varied a little by the
 * schedule's hash, with noise; faults are injected on request. Its times are not measured, so the
 * service keeps them in separate classes ("scripted:…"). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "Choice/product.h"
#include "Schedule/resolve.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/hash.h"
#include "Support/statistics.h"
#include "Support/strbuf.h"
#include "Tune/measure.h"
#include "cli.h"
#include "commands.h"
#include "tune_commands.h"

enum { LINE_BYTES = 8192 };

typedef struct scripted {
  heddle_context *ctx;
  hd_product product;
  hd_front front;
  bool has_product;
  uint64_t random; /* state of the noise */
  const char *faults, *build, *name;
  int64_t pace_ms, noise_permille, slow_permille, throttle, seed;
} scripted;

/* ---- faults ---- */

static void exits(void) {
  exit(7);
}

static void crashes(void) {
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
}

static void is_killed(void) {
  raise(SIGKILL);
}

static void hangs(void) {
  for (;;)
    pause();
}

static void spins(void) {
  for (volatile unsigned i = 0;; i++)
    ;
}

static void is_stopped(void) {
  raise(SIGSTOP);
}

static void babbles(void) {
  printf("\x01\xff nonsense \x7f\n");
}

static void floods(void) {
  for (;;)
    fputs("ok 1e-5 and no end of the line ", stdout);
}

static void repeats(void) {
  for (;;)
    puts("once more");
}

static void eats_memory(void) {
  enum { PIECE = 16 << 20 };
  for (char *piece; (piece = malloc(PIECE));) {
    memset(piece, 1, PIECE);
    usleep(1000);
  }
}

/* Overwrites its memory until it crashes. */
static void scribbles(void) {
  char *at = malloc(64);
  for (size_t i = 0;; i += 64)
    memset(at + i, 0xA5, 64);
}

static void goes_mute(void) {
  close(STDOUT_FILENO);
  close(STDIN_FILENO);
  hangs();
}

/* Exits while a child keeps its output open. */
static void leaves_an_orphan(void) {
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, 0);
    sleep(2);
    _exit(0);
  }
  exit(0);
}

static void says_nothing_finite(void) {
  printf("ok nan inf -1 nan 0 0\n");
}

static void says_less_than_nothing(void) {
  printf("ok -1e-5 -1e-5 -1e-5 0 0 0\n");
}

static void is_wrong(void) {
  printf("wrong D[0, 0] is 1, the reference's 2\n");
}

static void fails(void) {
  printf("failed an illegal memory access was encountered\n");
}

static void refuses(void) {
  printf("refused by ptxas\n");
}

/* Faults that replace a measurement. */
static const struct fault {
  const char *name;
  void (*commit)(void);
} faults[] = {{"exit", exits},
              {"crash", crashes},
              {"kill", is_killed},
              {"hang", hangs},
              {"spin", spins},
              {"stop", is_stopped},
              {"babble", babbles},
              {"flood", floods},
              {"repeat", repeats},
              {"memory", eats_memory},
              {"scribble", scribbles},
              {"mute", goes_mute},
              {"orphan", leaves_an_orphan},
              {"nan", says_nothing_finite},
              {"negative", says_less_than_nothing},
              {"wrong", is_wrong},
              {"failed", fails},
              {"refused", refuses}};

static const struct fault *fault_named(const char *name, size_t len) {
  for (size_t i = 0; i < HD_COUNT(faults); i++)
    if (strlen(faults[i].name) == len && strncmp(faults[i].name, name, len) == 0)
      return &faults[i];
  return NULL;
}

/* Checks "NAME=PERCENT,…". */
static heddle_status check_faults(heddle_context *ctx, const char *text) {
  for (const char *at = text; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
    size_t len = strcspn(at, "=,");
    int64_t percent;
    char number[16];
    snprintf(number, sizeof number, "%.*s", (int)strcspn(at + len + (at[len] == '='), ","),
             at + len + (at[len] == '='));
    if (!fault_named(at, len) || at[len] != '=' || !cli_parse_int(number, &percent) ||
        percent < 0 || percent > 100) {
      hd_strbuf names = {0};
      for (size_t i = 0; i < HD_COUNT(faults); i++)
        hd_strbuf_printf(&names, " %s", faults[i].name);
      hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "scripted.fault",
               "got \"%.40s\"; legal: NAME=PERCENT,… of%s", at, hd_strbuf_text(&names));
      hd_strbuf_free(&names);
      return HEDDLE_INVALID;
    }
  }
  return HEDDLE_OK;
}

static uint64_t hash_of(const scripted *s, const char *schedule, const char *salt) {
  char product[HD_PRODUCT_TEXT];
  hd_product_print(&s->product, product);
  hd_hash h = hd_hash_combine(hd_hash_bytes(schedule, strlen(schedule)),
                              hd_hash_bytes(product, strlen(product)));
  return hd_hash_mix(hd_hash_combine(h, hd_hash_bytes(salt, strlen(salt))).lo + (uint64_t)s->seed);
}

/* The fault for this schedule, always the same one; NULL: none. */
static const struct fault *fault_of(const scripted *s, const char *schedule) {
  uint64_t at = hash_of(s, schedule, "fault") % 100, until = 0;
  const char *text = s->faults ? s->faults : "";
  for (; *text; text += strcspn(text, ",") + (text[strcspn(text, ",")] == ',')) {
    size_t len = strcspn(text, "=");
    until += strtoull(text + len + 1, NULL, 10);
    if (at < until)
      return fault_named(text, len);
  }
  return NULL;
}

/* ---- times ---- */

static double unit(uint64_t x) {
  return (double)(x >> 11) * 0x1p-53;
}

/* Seconds per launch without noise; 0: an illegal schedule. */
static double seconds_of(scripted *s, const char *text) {
  static const int64_t fixed[3] = {0};
  hd_schedule schedule;
  const hd_problem *p = &s->front.problem;
  const hd_device_model *device = hd_device_model_of(p->target);
  if (hd_schedule_read(s->ctx, device, p, text, &schedule) != HEDDLE_OK ||
      hd_schedule_check(s->ctx, p, &schedule) != HEDDLE_OK)
    return 0;
  double seconds = hd_schedule_cost(p, &schedule, fixed, device).seconds;
  return seconds * (0.95 + 0.1 * unit(hash_of(s, text, "time"))) *
         (1 + (double)s->slow_permille * 1e-3);
}

static double noisy(scripted *s, double seconds) {
  double noise = (double)s->noise_permille * 1e-3;
  return seconds * (1 + noise * (2 * unit(hd_hash_next(&s->random)) - 1));
}

static void pause_for(const scripted *s) {
  usleep((useconds_t)(s->pace_ms * 1000));
}

/* A hash in place of the cubin's: equal schedules of one build have equal hashes. */
static void cubin_of(const scripted *s, const char *schedule, char out[33]) {
  hd_hash_format((hd_hash){hash_of(s, schedule, s->build), hash_of(s, schedule, "code")}, out);
}

/* ---- requests ---- */

static void answer_refused(scripted *s, const char *otherwise) {
  printf("refused %s\n", hd_first_error_text(s->ctx, otherwise));
}

static void do_product(scripted *s, const char *text) {
  hd_front_free(&s->front);
  s->front = (hd_front){0};
  s->has_product = hd_product_parse(s->ctx, text, &s->product) == HEDDLE_OK &&
                   hd_product_build(s->ctx, HD_NOWHERE, &s->product, &s->front) == HEDDLE_OK;
  if (s->has_product)
    printf("product\n");
  else
    answer_refused(s, "the product");
}

static void print_state(const scripted *s) {
  printf(" celsius=40 throttle=0x%llx", (unsigned long long)s->throttle);
}

static void do_compile(scripted *s, const char *schedule) {
  char cubin[33];
  if (seconds_of(s, schedule) <= 0) {
    answer_refused(s, "the schedule");
    return;
  }
  cubin_of(s, schedule, cubin);
  printf("compiled cubin=%s\n", cubin);
}

static void do_measure(scripted *s, const char *schedule, bool alone) {
  enum { WINDOWS = 8 };
  char cubin[33];
  double seconds = seconds_of(s, schedule);
  const struct fault *fault = fault_of(s, schedule);
  pause_for(s);
  if (seconds <= 0) {
    answer_refused(s, "the schedule");
    return;
  }
  if (fault) {
    fault->commit();
    return;
  }
  double median = noisy(s, seconds);
  cubin_of(s, schedule, cubin);
  printf("ok %.9g %.9g %.9g 0.001 400 1700", median, median * 0.999, median * 1.001);
  if (alone) {
    double window[WINDOWS], sum = 0;
    for (int i = 0; i < WINDOWS; i++)
      sum += window[i] = noisy(s, seconds);
    printf(" %.9g windows=", sum / WINDOWS);
    for (int i = 0; i < WINDOWS; i++)
      printf("%s%.9g", i ? "," : "", window[i]);
  }
  printf(" cubin=%s", cubin);
  print_state(s);
  printf("\n");
}

/* "ROUNDS<tab>SCHEDULE<tab>SCHEDULE…" */
static void do_final(scripted *s, char *text) {
  char *rest = NULL, *word = strtok_r(text, "\t", &rest), cubin[33];
  int n_rounds = word ? atoi(word) : 0;
  hd_strbuf figures = {0}, rounds = {0}, cubins = {0};
  n_rounds = n_rounds < 1 || n_rounds > HD_MOST_ROUNDS ? 9 : n_rounds;
  pause_for(s);
  while ((word = strtok_r(NULL, "\t", &rest))) {
    double sample[HD_MOST_ROUNDS], seconds = seconds_of(s, word);
    const struct fault *fault = fault_of(s, word);
    if (fault)
      fault->commit();
    for (int i = 0; i < n_rounds; i++) {
      sample[i] = noisy(s, seconds);
      hd_strbuf_printf(&rounds, "%s%.9g", rounds.len ? "," : "", sample[i]);
    }
    hd_sort(sample, n_rounds);
    hd_strbuf_printf(&figures, " %.9g %.9g %.9g", sample[n_rounds / 2], sample[0],
                     sample[n_rounds - 1]);
    cubin_of(s, word, cubin);
    hd_strbuf_printf(&cubins, "%s%s", cubins.len ? "," : "", cubin);
  }
  printf("final%s rounds=%s cubins=%s\n", hd_strbuf_text(&figures), hd_strbuf_text(&rounds),
         hd_strbuf_text(&cubins));
  hd_strbuf_free(&figures);
  hd_strbuf_free(&rounds);
  hd_strbuf_free(&cubins);
}

static void do_canary(scripted *s) {
  double slow = 1 + (double)s->slow_permille * 1e-3;
  pause_for(s);
  printf("canary %.9g %.9g", noisy(s, 64e-6 * slow), noisy(s, 300e-6 * slow));
  print_state(s);
  printf("\n");
}

static void obey(scripted *s, char *line) {
  char *text = strchr(line, ' ');
  if (text)
    *text++ = '\0';
  if (text && strcmp(line, "product") == 0)
    do_product(s, text);
  else if (strcmp(line, "canary") == 0)
    do_canary(s);
  else if (!s->has_product)
    printf("failed %s comes after product\n", line);
  else if (text && strcmp(line, "open") == 0)
    printf("ready 700 scripted %s\n", s->name);
  else if (text && strcmp(line, "compile") == 0)
    do_compile(s, text);
  else if (text && (strcmp(line, "measure") == 0 || strcmp(line, "alone") == 0))
    do_measure(s, text, *line == 'a');
  else if (text && strcmp(line, "final") == 0)
    do_final(s, text);
  else
    printf("refused got \"%.40s\"\n", line);
}

/* ---- the command ---- */

static const char about[] =
    "A measuring process without a GPU, for tests and demonstrations. The cost model computes its\n"
    "times. --faults hang=2,crash=5 makes these percentages of the schedules fail, always the "
    "same\n"
    "ones.";
static const char examples[] =
    "heddle tune --grid few.grid --db scripted.db --worker \"heddle tune scripted\"\n"
    "heddle-agent --server http://127.0.0.1:7433 --scripted h200\n";

int tune_scripted(int argc, char **argv) {
  scripted s = {.build = "", .name = "Scripted H200", .noise_permille = 2, .pace_ms = 1};
  const cli_option options[] = {
      {"faults", CLI_TEXT, &s.faults, "LIST", "faults and their percentages: NAME=PERCENT,…"},
      {"pace", CLI_INT, &s.pace_ms, "MS", "duration of a measurement (1)"},
      {"noise", CLI_INT, &s.noise_permille, "PERMILLE", "noise of the times (2)"},
      {"slow", CLI_INT, &s.slow_permille, "PERMILLE",
       "slowdown of all times against the model (0)"},
      {"throttle", CLI_INT, &s.throttle, "BITS", "throttle reasons of NVML (0)"},
      {"seed", CLI_INT, &s.seed, "S", "seed of times and faults (0)"},
      {"build", CLI_TEXT, &s.build, "WORD", "a word that changes the code (none)"},
      {"name", CLI_TEXT, &s.name, "TEXT", "name of the device (Scripted H200)"},
      {0}};
  const cli_command command = {"tune scripted [OPTIONS]", about, examples, options, 0, 0};
  int code = cli_parse(&command, argc, argv, NULL, NULL);
  if (code != CLI_GO)
    return code;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  s.ctx = heddle_context_create();
  s.random = (uint64_t)getpid() * 0x9E3779B97F4A7C15u;
  heddle_status status = s.faults ? check_faults(s.ctx, s.faults) : HEDDLE_OK;
  char *line = hd_xmalloc(LINE_BYTES);
  while (status == HEDDLE_OK && fgets(line, LINE_BYTES, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    obey(&s, line);
    fflush(stdout);
    heddle_context_clear(s.ctx);
  }
  hd_free(line);
  hd_front_free(&s.front);
  return cli_finish(s.ctx, status);
}
