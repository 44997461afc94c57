#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

static const char *elem_name(heddle_elem elem) { return heddle_elem_get(elem)->name; }

/* ---- cases ---- */

static void print_us(double us) {
  if (us > 0)
    printf(" %.1f |", us);
  else
    printf(" – |");
}

static void print_ratio(double ratio) {
  if (ratio > 0)
    printf(" %.2f |", ratio);
  else
    printf(" – |");
}

static void print_rate(double rate) {
  if (rate > 0)
    printf(" %.0f |", rate);
  else
    printf(" – |");
}

/* "tile=128x256x64" of the schedule's text, and what else is not usual. */
static void print_tile(const report_cell *c) {
  const char *schedule = c->schedule;
  static const char *const keys[] = {"tile=",   "cluster=2", "split_k=",  "stream_k=1",
                                     "stages=", "a=reg",     "family=mma"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const char *at = strstr(schedule, keys[i]);
    if (at && strncmp(at, "split_k=1 ", 10) != 0)
      printf(" %.*s", (int)strcspn(at, " "), at);
  }
  if (*c->promise)
    printf(" %s", c->promise);
  if (*c->promise && c->plain.us > 0)
    printf(" (%.1f without)", c->plain.us);
  printf(" |\n");
}

void report_print_cases(const report *r) {
  printf("| type | M | K | N | Heddle, µs | cuBLAS | cuSPARSELt | CUTLASS ~ | over dense | over "
         "the best | "
         "of a read | sustained, TFLOP/s | best peer | schedule |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    const report_figure *ours = &c->of[REPORT_HEDDLE];
    printf("| %s | %lld | %lld | %lld |", elem_name(c->elem), (long long)c->m, (long long)c->k,
           (long long)c->n);
    for (int who = REPORT_HEDDLE; who <= REPORT_CUTLASS; who++)
      print_us(c->of[who].us);
    print_ratio(ours->us > 0 ? c->of[REPORT_CUBLAS].us / ours->us : 0);
    print_ratio(ours->us > 0 ? report_peer(c, false) / ours->us : 0);
    print_ratio(ours->us > 0 ? c->of[REPORT_STREAM].us / ours->us : 0);
    print_rate(report_tflops(c, ours->sustained_us));
    print_rate(report_tflops(c, report_peer(c, true)));
    print_tile(c);
  }
}

/* ---- goals ---- */

typedef struct band {
  const char *name;
  int64_t least_n, most_n;
  double mean, mean_narrow, worst; /* narrow: 8-bit types */
} band;

static const band bands[] = {
    {"N ≤ 64", 1, 64, 1.10, 1.10, 1.00},
    {"N = 128 … 512", 65, 1023, 1.20, 1.20, 1.05},
    {"N ≥ 1024, sustained", 1024, INT64_MAX, 1.05, 1.08, 1.00},
};

typedef struct tally {
  int32_t n;
  double logs, worst;
  const report_cell *worst_cell;
} tally;

static tally tally_of(const report *r, heddle_elem elem, const band *b,
                      double (*gain_of)(const report_cell *cell)) {
  tally t = {.worst = INFINITY};
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    double gain = gain_of(c);
    if (c->elem != elem || c->n < b->least_n || c->n > b->most_n || gain <= 0)
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

static void print_band(const report *r, heddle_elem elem, const band *b) {
  tally t = tally_of(r, elem, b, report_gain), plain = tally_of(r, elem, b, report_plain_gain);
  if (!t.n)
    return;
  double mean = exp(t.logs / t.n);
  double goal = heddle_elem_get(elem)->container_bits <= 8 ? b->mean_narrow : b->mean;
  printf("| %s | %s | %d | %.3f | ≥ %.2f: %s | %.3f at %lld × %lld, N = %lld | ≥ %.2f: %s |",
         b->name, elem_name(elem), t.n, mean, goal, verdict(mean, goal), t.worst,
         (long long)t.worst_cell->m, (long long)t.worst_cell->k, (long long)t.worst_cell->n,
         b->worst, verdict(t.worst, b->worst));
  if (plain.n)
    printf(" %.3f, %.3f |\n", exp(plain.logs / plain.n), plain.worst);
  else
    printf(" – |\n");
}

/* Of a read-only kernel over the same bytes: 0.92 from 64 MB of A on, 0.75 at 4096 x 4096 of 16
 * bits. */
static double read_goal(const report_cell *c) {
  if (c->n > 64)
    return 0;
  if (report_a_bytes(c) >= 64e6)
    return 0.92;
  return c->m == 4096 && c->k == 4096 && c->elem == HEDDLE_BF16 ? 0.75 : 0;
}

static void print_reads(const report *r) {
  bool any = false;
  for (int32_t i = 0; i < r->n; i++) {
    const report_cell *c = &r->cell[i];
    double ours = c->of[REPORT_HEDDLE].us, read = c->of[REPORT_STREAM].us, goal = read_goal(c);
    if (goal <= 0 || ours <= 0 || read <= 0)
      continue;
    if (!any)
      printf(
          "\n| type | M × K | N | of a read of the same bytes | goal |\n|---|---|---|---|---|\n");
    any = true;
    printf("| %s | %lld × %lld | %lld | %.3f | ≥ %.2f: %s |\n", elem_name(c->elem), (long long)c->m,
           (long long)c->k, (long long)c->n, read / ours, goal, verdict(read / ours, goal));
  }
}

/* The peers cannot be promised anything: so it is said. */
static void print_promised(const report *r) {
  int32_t n = 0;
  for (int32_t i = 0; i < r->n; i++)
    n += r->cell[i].promise[0] != '\0';
  if (n)
    printf("\nIn %d of %d cases Heddle's figure is with weights_ready, which no peer can be "
           "promised.\n", n, r->n);
}

void report_print_goals(const report *r) {
  printf("\nAgainst the best of cuBLAS, cuSPARSELt and CUTLASS in each case:\n\n"
         "| band | type | cases | geometric mean | goal | worst case | goal | without "
         "weights_ready: mean, worst |\n"
         "|---|---|---|---|---|---|---|---|\n");
  for (size_t b = 0; b < sizeof bands / sizeof *bands; b++)
    for (int elem = 0; elem < HEDDLE_N_ELEMS; elem++)
      print_band(r, (heddle_elem)elem, &bands[b]);
  print_reads(r);
  print_promised(r);
  if (r->n_wrong)
    printf("\n%d rows are left out: their results were wrong.\n", r->n_wrong);
}
