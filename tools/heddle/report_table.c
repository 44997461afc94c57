#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "cli.h"
#include "report.h"

static const char *elem_name(heddle_elem elem) { return heddle_elem_get(elem)->name; }

/* ---- a table's cells ---- */

/* Head and width of a column; negative: left-aligned. */
typedef struct column {
  const char *name;
  int width;
} column;

/* "| text ", padded. A UTF-8 character has width 1. */
__attribute__((format(printf, 2, 3))) static void print_cell(int width, const char *format, ...) {
  char text[320];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  int pad = abs(width);
  for (const char *c = text; *c; c++)
    pad -= ((unsigned char)*c & 0xC0) != 0x80;
  pad = pad > 0 ? pad : 0;
  cli_print("| %*s%s%*s ", width < 0 ? 0 : pad, "", text, width < 0 ? pad : 0, "");
}

static void print_columns(const column *list, size_t n) {
  for (size_t i = 0; i < n; i++)
    print_cell(list[i].width, "%s", list[i].name);
  printf("|\n");
  for (size_t i = 0; i < n; i++) {
    int width = abs(list[i].width);
    printf("|%s", list[i].width < 0 ? ":" : "-");
    for (int j = 0; j < width; j++)
      putchar('-');
    printf("%s", list[i].width < 0 ? "-" : ":");
  }
  printf("|\n");
}

/* value 0: unknown. */
static void print_figure(int width, int decimals, double value) {
  if (value > 0)
    print_cell(width, "%.*f", decimals, value);
  else
    print_cell(width, "–");
}

/* ---- cases ---- */

static const column case_columns[] = {
    {"type", -4},   {"M", 5},       {"K", 5},       {"N", 5},     {"Heddle", 7}, {"cuBLAS", 7},
    {"cuSPARSELt", 10}, {"CUTLASS", 7}, {"× dense", 7}, {"× best", 6}, {"of read", 7},
    {"TB/s", 4},    {"TFLOP/s", 7}, {"alone", 5},   {"peer", 5},  {"schedule", -8}};

void report_print_head(void) {
  printf("Times are in µs; the times of CUTLASS are derived (--cutlass). × dense: time of cuBLAS "
         "over Heddle's.\n"
         "× best: time of the best of the three over Heddle's. of read: time of a kernel that only "
         "reads A and B over\n"
         "Heddle's. TB/s: bytes of A, B and D. alone, peer: sustained TFLOP/s of Heddle and of the "
         "best of the three.\n"
         "\n");
  print_columns(case_columns, HD_COUNT(case_columns));
}

static void add_word(char *text, size_t size, const char *word, int n) {
  size_t at = strlen(text);
  snprintf(text + at, size - at, "%s%.*s", at ? " " : "", n, word);
}

/* The tile of the schedule, and its unusual keys. */
static void print_schedule(int width, const report_cell *c) {
  static const char *const keys[] = {"tile=",   "cluster=2", "split_k=",  "stream_k=1",
                                     "stages=", "a=reg",     "family=mma"};
  char text[300] = "", plain[32];
  for (size_t i = 0; i < HD_COUNT(keys); i++) {
    const char *at = strstr(c->schedule, keys[i]);
    if (at && strncmp(at, "split_k=1 ", 10) != 0)
      add_word(text, sizeof text, at, (int)strcspn(at, " "));
  }
  if (*c->promise)
    add_word(text, sizeof text, c->promise, sizeof c->promise);
  snprintf(plain, sizeof plain, "(%.1f without)", c->plain.us);
  if (*c->promise && c->plain.us > 0)
    add_word(text, sizeof text, plain, sizeof plain);
  print_cell(width, "%s", text);
  printf("|\n");
}

void report_print_case(const report_cell *c) {
  const column *at = case_columns;
  const report_figure *ours = &c->of[REPORT_HEDDLE];
  double over = ours->us > 0 ? 1 / ours->us : 0;
  print_cell((at++)->width, "%s", elem_name(c->elem));
  print_cell((at++)->width, "%lld", (long long)c->m);
  print_cell((at++)->width, "%lld", (long long)c->k);
  print_cell((at++)->width, "%lld", (long long)c->n);
  for (int who = REPORT_HEDDLE; who <= REPORT_CUTLASS; who++)
    print_figure((at++)->width, 1, c->of[who].us);
  print_figure((at++)->width, 2, c->of[REPORT_CUBLAS].us * over);
  print_figure((at++)->width, 2, report_peer(c, false) * over);
  print_figure((at++)->width, 2, c->of[REPORT_READ].us * over);
  print_figure((at++)->width, 2, 1e-6 * report_all_bytes(c) * over);
  print_figure((at++)->width, 0, report_tflops(c, ours->us));
  print_figure((at++)->width, 0, report_tflops(c, ours->sustained_us));
  print_figure((at++)->width, 0, report_tflops(c, report_peer(c, true)));
  print_schedule(at->width, c);
}

/* ---- goals ---- */

typedef struct band {
  const char *name;
  int64_t least_n, most_n;
  double mean, mean_narrow, worst; /* mean_narrow: for 8-bit types */
} band;

enum { N_BANDS = 3 };
typedef struct goals {
  band band[N_BANDS];
} goals;

static const goals tuned_goals = {{
    {"N ≤ 64", 1, 64, 1.10, 1.10, 1.00},
    {"N = 128 … 512", 65, 1023, 1.20, 1.20, 1.05},
    {"N ≥ 1024, sustained", 1024, INT64_MAX, 1.05, 1.08, 1.00},
}};
static const goals untuned_goals = {{
    {"N ≤ 64", 1, 64, 1.12, 1.12, 0.98},
    {"N = 65 … 1023", 65, 1023, 1.15, 1.15, 0.98},
    {"N ≥ 1024, sustained", 1024, INT64_MAX, 1.055, 1.06, 0.98},
}};

typedef struct tally {
  int32_t n;
  double logs, worst;
  const report_cell *worst_cell;
} tally;

/* elem HEDDLE_N_ELEMS: all types. */
static tally tally_of(const report *r, int elem, const band *b,
                      double (*gain_of)(const report_cell *cell)) {
  tally t = {.worst = INFINITY};
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    double gain = gain_of(c);
    bool is_own = elem == HEDDLE_N_ELEMS || c->elem == (heddle_elem)elem;
    if (!is_own || c->n < b->least_n || c->n > b->most_n || gain <= 0)
      continue;
    t.n++;
    t.logs += log(gain);
    if (gain < t.worst) {
      t.worst = gain;
      t.worst_cell = c;
    }
  }
  return t;
}

static const char *verdict(double got, double goal) { return got >= goal ? "reached" : "missed"; }

/* Prints as many decimals as the goal has. */
static void print_goal(int width, double got, double goal) {
  bool third = fabs(goal * 100 - round(goal * 100)) > 1e-6;
  print_cell(width, "≥ %.*f: %s", third ? 3 : 2, goal, verdict(got, goal));
}

static const column band_columns[] = {
    {"band", -19}, {"type", -4},        {"cases", 5}, {"mean", 5},
    {"goal", -15}, {"worst case", -34}, {"goal", -15}, {"without weights_ready: mean, worst", -34}};

static void print_band(const report *r, int elem, const band *b) {
  tally t = tally_of(r, elem, b, report_gain), plain = tally_of(r, elem, b, report_plain_gain);
  if (!t.n)
    return;
  double mean = exp(t.logs / t.n);
  bool all = elem == HEDDLE_N_ELEMS;
  bool narrow = !all && heddle_elem_get((heddle_elem)elem)->container_bits <= 8;
  double goal = narrow ? b->mean_narrow : b->mean;
  const report_cell *worst = t.worst_cell;
  const column *at = band_columns;
  print_cell((at++)->width, "%s", b->name);
  print_cell((at++)->width, "%s", all ? "all" : elem_name((heddle_elem)elem));
  print_cell((at++)->width, "%d", t.n);
  print_cell((at++)->width, "%.3f", mean);
  print_goal((at++)->width, mean, goal);
  print_cell((at++)->width, "%.3f at %lld × %lld, N = %lld", t.worst, (long long)worst->m,
             (long long)worst->k, (long long)worst->n);
  print_goal((at++)->width, t.worst, b->worst);
  if (plain.n)
    print_cell(at->width, "%.3f, %.3f", exp(plain.logs / plain.n), plain.worst);
  else
    print_cell(at->width, "–");
  printf("|\n");
}

/* Goals relative to a kernel that only reads: 0.92 if A has 64 MB or more, 0.75 for 4096 x 4096 of
 * 16 bits. */
static double read_goal(const report_cell *c) {
  if (c->n > 64)
    return 0;
  if (report_a_bytes(c) >= 64e6)
    return 0.92;
  return c->m == 4096 && c->k == 4096 && c->elem == HEDDLE_BF16 ? 0.75 : 0;
}

static const column read_columns[] = {
    {"type", -4}, {"M × K", -13}, {"N", 3}, {"of a read of A and B", 20}, {"goal", -15},
    {"of A, B and D", 13}};

static void print_reads(const report *r) {
  bool any = false;
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    double ours = c->of[REPORT_HEDDLE].us, read = c->of[REPORT_READ].us, goal = read_goal(c);
    if (goal <= 0 || ours <= 0 || read <= 0)
      continue;
    if (!any) {
      printf("\n");
      print_columns(read_columns, HD_COUNT(read_columns));
    }
    any = true;
    const column *at = read_columns;
    print_cell((at++)->width, "%s", elem_name(c->elem));
    print_cell((at++)->width, "%lld × %lld", (long long)c->m, (long long)c->k);
    print_cell((at++)->width, "%lld", (long long)c->n);
    print_cell((at++)->width, "%.3f", read / ours);
    print_cell((at++)->width, "≥ %.2f: %s", goal, verdict(read / ours, goal));
    print_figure(at->width, 3, c->of[REPORT_ALL].us / ours);
    printf("|\n");
  }
}

/* Lists every case that misses its goal, or would without weights_ready. */
static void print_missed(const report *r, const goals *set) {
  int32_t n = 0;
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    double gain = report_gain(c), plain = report_plain_gain(c), goal = 0;
    for (int b = 0; b < N_BANDS; b++)
      if (c->n >= set->band[b].least_n && c->n <= set->band[b].most_n)
        goal = set->band[b].worst;
    if (gain <= 0 || (gain >= goal && (plain <= 0 || plain >= goal)))
      continue;
    cli_print("%s%s %lld × %lld, N = %lld: %.3f of the best peer, without weights_ready %.3f\n",
              n++ ? "" : "\n", elem_name(c->elem), (long long)c->m, (long long)c->k,
              (long long)c->n, gain, plain);
  }
}

/* Lists every case in which dense cuBLAS is faster. */
static void print_dense(const report *r) {
  int32_t n = 0, n_behind = 0;
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    double gain = report_dense_gain(c);
    n += gain > 0;
    if (gain <= 0 || gain >= 1)
      continue;
    cli_print("%s%s %lld × %lld, N = %lld: %.3f of dense cuBLAS\n", n_behind++ ? "" : "\n",
              elem_name(c->elem), (long long)c->m, (long long)c->k, (long long)c->n, gain);
  }
  printf("\n%d of %d cases are behind dense cuBLAS; goal: none: %s\n", n_behind, n,
         n_behind ? "missed" : "reached");
}

void report_print_goals(const report *r, bool untuned) {
  const goals *set = untuned ? &untuned_goals : &tuned_goals;
  char peers[48];
  report_peer_names(r, peers, sizeof peers);
  cli_print("\n"
            "Speedup over the best of %s in each case, geometric mean:\n"
            "\n", peers);
  print_columns(band_columns, HD_COUNT(band_columns));
  for (int b = 0; b < N_BANDS; b++) {
    for (int elem = 0; elem < HEDDLE_N_ELEMS; elem++)
      print_band(r, elem, &set->band[b]);
    if (untuned)
      print_band(r, HEDDLE_N_ELEMS, &set->band[b]);
  }
  if (untuned) {
    print_missed(r, set);
    print_dense(r);
  } else {
    print_reads(r);
  }
  int32_t n_promised = 0;
  for (int32_t i = 0; i < r->n; i++)
    n_promised += r->cell[i].promise[0] != '\0';
  if (n_promised)
    printf("\n"
           "In %d of %d cases Heddle's time is with weights_ready, which the peers do not have.\n",
           n_promised, r->n);
  if (r->n_wrong)
    printf("\n%d rows are left out: their results were wrong.\n", r->n_wrong);
  if (r->n_broke)
    printf("\nAlgorithms of peers that broke the device (%s), left out: %d.\n", report_broke,
           r->n_broke);
}
