#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "heddle/sparse.h"
#include "report.h"

static const char *const names[] = {"heddle", "cublas", "cusparselt", "cutlass", "stream"};

/* ---- CSV ---- */

enum { MOST_FIELDS = 24 };

typedef struct line {
  const char *file;
  unsigned number;
  char *field[MOST_FIELDS]; /* borrowed from the text */
  int n;
} line;

/* Cuts a line into fields, in place; inside quotes a quote is two. False when a quote is not
 * closed. */
static bool cut(char *text, line *l) {
  bool quoted = false;
  l->n = 0;
  while (text && l->n < MOST_FIELDS) {
    char *to = text, *from = text;
    quoted = *from == '"';
    l->field[l->n++] = to;
    from += quoted;
    for (; *from && (quoted || *from != ','); from++) {
      if (quoted && *from == '"' && *++from != '"') {
        quoted = false;
        if (*from == ',' || !*from)
          break;
      }
      *to++ = *from;
    }
    text = *from == ',' ? from + 1 : NULL;
    *to = '\0';
  }
  return !quoted;
}

static int find(const line *head, const char *name) {
  for (int i = 0; i < head->n; i++)
    if (strcmp(head->field[i], name) == 0)
      return i;
  return -1;
}

/* The field under a column's name; NULL where there is none. */
static const char *get(const line *head, const line *l, const char *name) {
  int at = find(head, name);
  return at >= 0 && at < l->n ? l->field[at] : NULL;
}

static heddle_status get_number(heddle_context *ctx, const line *head, const line *l,
                                const char *name, double *value) {
  const char *text = get(head, l, name);
  char *end = NULL;
  *value = text ? strtod(text, &end) : 0;
  if (text && end != text && !*end && *value >= 0 && isfinite(*value))
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, (hd_loc){l->file, l->number, 1}, "report.column",
                  "got %s%.40s%s in column %s; a number, 0 or more", text ? "\"" : "",
                  text ? text : "nothing", text ? "\"" : "", name);
}

static heddle_status get_size(heddle_context *ctx, const line *head, const line *l,
                              const char *name, int64_t *size) {
  double value;
  HD_TRY(get_number(ctx, head, l, name, &value));
  if (value < 1 || value > INT32_MAX || value != floor(value))
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){l->file, l->number, 1}, "report.column",
                    "got \"%.40s\" in column %s; a size, 1 to %d", get(head, l, name), name,
                    INT32_MAX);
  *size = (int64_t)value;
  return HEDDLE_OK;
}

/* A number whose column may be absent or empty: 0. */
static heddle_status get_optional(heddle_context *ctx, const line *head, const line *l,
                                  const char *name, double *value) {
  const char *text = get(head, l, name);
  *value = 0;
  return text && *text ? get_number(ctx, head, l, name, value) : HEDDLE_OK;
}

typedef heddle_status row_fn(heddle_context *ctx, const line *head, const line *l, report *r);

static heddle_status each_row(heddle_context *ctx, const char *path, row_fn *row, report *r) {
  char *text;
  size_t n_bytes;
  HD_TRY(hd_file_read(ctx, path, &text, &n_bytes));
  line head = {.file = path}, l = {.file = path};
  heddle_status status = HEDDLE_OK;
  char *next = text;
  for (unsigned number = 1; next && status == HEDDLE_OK; number++) {
    char *at = next;
    next = strchr(at, '\n');
    if (next)
      *next++ = '\0';
    at[strcspn(at, "\r")] = '\0';
    l.number = number;
    if (*at && !cut(at, number == 1 ? &head : &l))
      status = hd_error(ctx, HEDDLE_INVALID, (hd_loc){path, number, 1}, "report.quote",
                        "a quote is not closed on its line");
    else if (*at && number > 1)
      status = row(ctx, &head, &l, r);
  }
  free(text);
  return status;
}

/* ---- cells ---- */

/* The case that a row names; made when it is new, unless r has no business with it. */
static heddle_status find_cell(heddle_context *ctx, const line *head, const line *l, bool make,
                               report *r, report_cell **cell) {
  report_cell made = {0};
  const char *type = get(head, l, "type");
  HD_TRY(get_size(ctx, head, l, "m", &made.m));
  HD_TRY(get_size(ctx, head, l, "k", &made.k));
  HD_TRY(get_size(ctx, head, l, "n", &made.n));
  if (!type || heddle_elem_parse(type, &made.elem) != HEDDLE_OK)
    return hd_error(ctx, HEDDLE_INVALID, (hd_loc){l->file, l->number, 1}, "report.type",
                    "got type \"%.20s\"", type ? type : "");
  for (int32_t i = 0; i < r->n; i++) {
    report_cell *c = &r->cell[i];
    if (c->elem == made.elem && c->m == made.m && c->k == made.k && c->n == made.n) {
      *cell = c;
      return HEDDLE_OK;
    }
  }
  if (make)
    HD_PUSH(r->cell, r->n, r->cap, made);
  *cell = make ? &r->cell[r->n - 1] : NULL;
  return HEDDLE_OK;
}

static heddle_status find_who(heddle_context *ctx, const line *head, const line *l, int *who) {
  const char *contender = get(head, l, "contender");
  for (int i = 0; contender && i < REPORT_N; i++) {
    size_t n = strlen(names[i]);
    if (strncmp(contender, names[i], n) == 0 && contender[n] == ' ') {
      *who = i;
      return HEDDLE_OK;
    }
  }
  return hd_error(ctx, HEDDLE_INVALID, (hd_loc){l->file, l->number, 1}, "report.contender",
                  "got contender \"%.40s\"; one of heddle, cublas, cusparselt, cutlass, stream",
                  contender ? contender : "");
}

static bool is_less(double a, double b) { return a > 0 && (b == 0 || a < b); }

static void take_less(report_figure *f, double us, double sustained_us) {
  f->us = is_less(us, f->us) ? us : f->us;
  f->sustained_us = is_less(sustained_us, f->sustained_us) ? sustained_us : f->sustained_us;
}

static heddle_status add_row(heddle_context *ctx, const line *head, const line *l, report *r) {
  const char *verdict = get(head, l, "verdict"), *rounds = get(head, l, "rounds");
  int who = 0;
  double us, sustained;
  report_cell *cell;
  HD_TRY(find_cell(ctx, head, l, true, r, &cell));
  HD_TRY(find_who(ctx, head, l, &who));
  HD_TRY(get_number(ctx, head, l, "us", &us));
  HD_TRY(get_optional(ctx, head, l, "sustained_tflops", &sustained));
  bool wrong = verdict && strcmp(verdict, "ok") != 0;
  r->n_wrong += wrong;
  if (wrong || (rounds && strcmp(rounds, "1") == 0))
    return HEDDLE_OK;
  report_figure *f = &cell->of[who];
  double work = 2e-6 * (double)cell->m * (double)cell->n * (double)cell->k;
  double sustained_us = sustained > 0 ? work / sustained : 0;
  const char *promise = get(head, l, "promise");
  bool plain = !promise || !*promise;
  if (who == REPORT_HEDDLE && is_less(us, f->us)) {
    snprintf(cell->schedule, sizeof cell->schedule, "%s", get(head, l, "contender"));
    snprintf(cell->promise, sizeof cell->promise, "%s", plain ? "" : promise);
  }
  take_less(f, us, sustained_us);
  if (who == REPORT_HEDDLE && plain)
    take_less(&cell->plain, us, sustained_us);
  return HEDDLE_OK;
}

heddle_status report_read(heddle_context *ctx, const char *path, report *r) {
  return each_row(ctx, path, add_row, r);
}

/* ---- CUTLASS ---- */

/* The geometric mean of now / there, over what is known of both; 0: of none. */
static double drift(double cublas, double cublas_there, double lt, double lt_there) {
  double sum = 0;
  int n = 0;
  if (cublas > 0 && cublas_there > 0)
    sum += log(cublas / cublas_there), n++;
  if (lt > 0 && lt_there > 0)
    sum += log(lt / lt_there), n++;
  return n ? exp(sum / n) : 0;
}

static heddle_status add_cutlass(heddle_context *ctx, const line *head, const line *l, report *r) {
  report_figure cublas, lt, cutlass;
  report_cell *cell;
  HD_TRY(get_number(ctx, head, l, "cublas", &cublas.us));
  HD_TRY(get_number(ctx, head, l, "cusparselt", &lt.us));
  HD_TRY(get_number(ctx, head, l, "cutlass", &cutlass.us));
  HD_TRY(get_optional(ctx, head, l, "cublas_sustained", &cublas.sustained_us));
  HD_TRY(get_optional(ctx, head, l, "cusparselt_sustained", &lt.sustained_us));
  HD_TRY(get_optional(ctx, head, l, "cutlass_sustained", &cutlass.sustained_us));
  HD_TRY(find_cell(ctx, head, l, false, r, &cell));
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
  return each_row(ctx, path, add_cutlass, r);
}

void report_free(report *r) {
  free(r->cell);
  *r = (report){0};
}

/* ---- figures ---- */

static double figure(const report_figure *f, bool sustained) {
  return sustained ? f->sustained_us : f->us;
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

/* Packed A has as many bytes in every family, and mma takes every type. */
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
