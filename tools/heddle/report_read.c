#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Support/arena.h"
#include "heddle/sparse.h"
#include "report.h"

static const char *const names[] = {"heddle", "cublas", "cusparselt", "cutlass", "stream read",
                                    "stream all"};

const char report_broke[] = "BROKE";

/* ---- cells ---- */

/* r->n if there is none. */
static int32_t index_of(const report *r, heddle_elem elem, int64_t m, int64_t k, int64_t n) {
  int32_t i = 0;
  while (i < r->n && !(r->cell[i].elem == elem && r->cell[i].m == m && r->cell[i].k == k &&
                       r->cell[i].n == n))
    i++;
  return i;
}

const report_cell *report_find(const report *r, heddle_elem elem, int64_t m, int64_t k,
                               int64_t n) {
  int32_t i = index_of(r, elem, m, k, n);
  return i < r->n ? &r->cell[i] : NULL;
}

/* The case of a row. A new one is added if `make`; otherwise *cell is NULL. */
static heddle_status find_cell(heddle_context *ctx, const csv_row *row, bool make,
                               report *r, report_cell **cell) {
  report_cell made = {0};
  const char *type = csv_get(row, "type");
  HD_TRY(csv_size(ctx, row, "m", &made.m));
  HD_TRY(csv_size(ctx, row, "k", &made.k));
  HD_TRY(csv_size(ctx, row, "n", &made.n));
  if (!type || heddle_elem_parse(type, &made.elem) != HEDDLE_OK)
    return hd_error(ctx, HEDDLE_INVALID, csv_loc(row), "report.type",
                    "got type \"%.20s\"; legal: as bf16, e4m3", type ? type : "");
  int32_t i = index_of(r, made.elem, made.m, made.k, made.n);
  if (i == r->n && make)
    HD_PUSH(r->cell, r->n, r->cap, made);
  *cell = i < r->n ? &r->cell[i] : NULL;
  return HEDDLE_OK;
}

static heddle_status find_who(heddle_context *ctx, const csv_row *row, int *who) {
  const char *contender = csv_get(row, "contender");
  for (int i = 0; contender && i < REPORT_N; i++) {
    size_t n = strlen(names[i]);
    if (strncmp(contender, names[i], n) == 0 && (contender[n] == ' ' || contender[n] == '\0')) {
      *who = i;
      return HEDDLE_OK;
    }
  }
  return hd_error(ctx, HEDDLE_INVALID, csv_loc(row), "report.contender",
                  "got contender \"%.40s\"; legal: heddle, cublas, cusparselt, cutlass, stream",
                  contender ? contender : "");
}

static bool is_less(double a, double b) { return a > 0 && (b == 0 || a < b); }

static void take_less(report_figure *f, double us, double sustained_us) {
  f->us = is_less(us, f->us) ? us : f->us;
  f->sustained_us = is_less(sustained_us, f->sustained_us) ? sustained_us : f->sustained_us;
}

heddle_status report_add_row(heddle_context *ctx, const csv_row *row, report *r) {
  const char *verdict = csv_get(row, "verdict"), *rounds = csv_get(row, "rounds");
  int who = 0;
  double us, sustained;
  report_cell *cell;
  const char *predecessor = csv_get(row, "predecessor");
  if (predecessor && *predecessor) /* its time includes the predecessor's */
    return HEDDLE_OK;
  HD_TRY(find_cell(ctx, row, true, r, &cell));
  HD_TRY(find_who(ctx, row, &who));
  HD_TRY(csv_number(ctx, row, "us", &us));
  HD_TRY(csv_optional(ctx, row, "sustained_tflops", &sustained));
  bool broke = verdict && strcmp(verdict, report_broke) == 0;
  bool wrong = verdict && !broke && strcmp(verdict, "ok") != 0;
  r->n_wrong += wrong;
  r->n_broke += broke;
  if (wrong || broke || (rounds && strcmp(rounds, "1") == 0))
    return HEDDLE_OK;
  report_figure *f = &cell->of[who];
  double work = 2e-6 * (double)cell->m * (double)cell->n * (double)cell->k;
  double sustained_us = sustained > 0 ? work / sustained : 0;
  const char *promise = csv_get(row, "promise");
  bool plain = !promise || !*promise;
  if (who == REPORT_HEDDLE && is_less(us, f->us)) {
    snprintf(cell->schedule, sizeof cell->schedule, "%s", csv_get(row, "contender"));
    snprintf(cell->promise, sizeof cell->promise, "%s", plain ? "" : promise);
  }
  take_less(f, us, sustained_us);
  if (who == REPORT_HEDDLE && plain)
    take_less(&cell->plain, us, sustained_us);
  return HEDDLE_OK;
}

static heddle_status add_row(heddle_context *ctx, const csv_row *row, void *user) {
  return report_add_row(ctx, row, user);
}

heddle_status report_read(heddle_context *ctx, const char *path, report *r) {
  return csv_each(ctx, path, add_row, r);
}

/* ---- CUTLASS ---- */

/* The geometric mean of time here / in the file, over the peers with both times; 0: none. */
static double drift(double cublas, double cublas_there, double lt, double lt_there) {
  double sum = 0;
  int n = 0;
  if (cublas > 0 && cublas_there > 0)
    sum += log(cublas / cublas_there), n++;
  if (lt > 0 && lt_there > 0)
    sum += log(lt / lt_there), n++;
  return n ? exp(sum / n) : 0;
}

static heddle_status add_cutlass(heddle_context *ctx, const csv_row *row, void *user) {
  report *r = user;
  report_figure cublas, lt, cutlass;
  report_cell *cell;
  HD_TRY(csv_number(ctx, row, "cublas", &cublas.us));
  HD_TRY(csv_optional(ctx, row, "cusparselt", &lt.us));
  HD_TRY(csv_number(ctx, row, "cutlass", &cutlass.us));
  HD_TRY(csv_optional(ctx, row, "cublas_sustained", &cublas.sustained_us));
  HD_TRY(csv_optional(ctx, row, "cusparselt_sustained", &lt.sustained_us));
  HD_TRY(csv_optional(ctx, row, "cutlass_sustained", &cutlass.sustained_us));
  HD_TRY(find_cell(ctx, row, false, r, &cell));
  if (!cell)
    return HEDDLE_OK;
  const report_figure *c = &cell->of[REPORT_CUBLAS], *s = &cell->of[REPORT_CUSPARSELT];
  report_figure *now = &cell->of[REPORT_CUTLASS];
  now->us = cutlass.us * drift(c->us, cublas.us, s->us, lt.us);
  if (cutlass.sustained_us > 0)
    now->sustained_us = cutlass.sustained_us * drift(c->sustained_us, cublas.sustained_us,
                                                     s->sustained_us, lt.sustained_us);
  else if (s->us > 0)
    now->sustained_us = now->us * s->sustained_us / s->us;
  return HEDDLE_OK;
}

heddle_status report_add_cutlass(heddle_context *ctx, const char *path, report *r) {
  return csv_each(ctx, path, add_cutlass, r);
}

void report_free(report *r) {
  hd_free(r->cell);
  *r = (report){0};
}

/* ---- figures ---- */

static double figure(const report_figure *f, bool sustained) {
  return sustained ? f->sustained_us : f->us;
}

void report_peer_names(const report *r, char *text, size_t size) {
  static const char *const written[] = {"cuBLAS", "cuSPARSELt", "CUTLASS"};
  const char *had[HD_COUNT(written)];
  int n = 0;
  for (int who = REPORT_CUBLAS; who <= REPORT_CUTLASS; who++) {
    bool has_figures = false;
    for (int32_t i = 0; i < r->n; i++)
      has_figures |= r->cell[i].of[who].us > 0;
    if (has_figures)
      had[n++] = written[who - REPORT_CUBLAS];
  }
  snprintf(text, size, "no peer");
  for (int i = 0, at = 0; i < n; i++)
    at += snprintf(text + at, size - (size_t)at, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ",
                   had[i]);
}

double report_peer(const report_cell *c, bool sustained) {
  double best = 0;
  for (int i = REPORT_CUBLAS; i <= REPORT_CUTLASS; i++)
    if (is_less(figure(&c->of[i], sustained), best))
      best = figure(&c->of[i], sustained);
  return best;
}

bool report_is_sustained(const report_cell *c) {
  return c->n >= 1024 && c->of[REPORT_HEDDLE].sustained_us > 0 && report_peer(c, true) > 0;
}

static double gain_of(const report_cell *c, const report_figure *ours) {
  bool sustained = report_is_sustained(c);
  double time = figure(ours, sustained);
  return time > 0 ? report_peer(c, sustained) / time : 0;
}

double report_gain(const report_cell *c) { return gain_of(c, &c->of[REPORT_HEDDLE]); }
double report_plain_gain(const report_cell *c) { return gain_of(c, &c->plain); }

double report_dense_gain(const report_cell *c) {
  bool sustained = report_is_sustained(c) && c->of[REPORT_CUBLAS].sustained_us > 0;
  double ours = figure(&c->of[REPORT_HEDDLE], sustained);
  return ours > 0 ? figure(&c->of[REPORT_CUBLAS], sustained) / ours : 0;
}

double report_tflops(const report_cell *c, double us) {
  return us > 0 ? 2e-6 * (double)c->m * (double)c->n * (double)c->k / us : 0;
}

/* The size of packed A is the same in every family, and mma supports every type. */
double report_a_bytes(const report_cell *c) {
  size_t n_bytes = 0;
  heddle_sparse_packed_bytes(NULL, c->elem, HEDDLE_FAMILY_MMA, (uint64_t)c->m, (uint64_t)c->k,
                             &n_bytes);
  return (double)n_bytes;
}

double report_all_bytes(const report_cell *c) {
  double elem = heddle_elem_get(c->elem)->container_bits / 8.0, d = elem < 2 ? 2 : elem;
  return report_a_bytes(c) + (double)c->n * ((double)c->k * elem + (double)c->m * d);
}
