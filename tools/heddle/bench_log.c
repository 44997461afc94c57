#include "bench_log.h"

#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "bench_print.h"

char *bench_log_cutlass(const char *asked, const char *grid) {
  const char *slash = grid ? strrchr(grid, '/') : NULL;
  hd_strbuf path = {0};
  uint64_t stamp[2];
  if (asked)
    return strcmp(asked, "none") ? hd_xstrdup(asked) : NULL;
  if (!grid)
    return NULL;
  hd_strbuf_printf(&path, "%.*scutlass.csv", slash ? (int)(slash + 1 - grid) : 0, grid);
  hd_file_stamp(hd_strbuf_text(&path), stamp);
  if (stamp[0] || stamp[1])
    return hd_strbuf_take(&path);
  hd_strbuf_free(&path);
  return NULL;
}

static heddle_status read_before(heddle_context *ctx, bench_log *log) {
  uint64_t stamp[2];
  char *text;
  size_t n_bytes, n_head = strlen(bench_csv_head);
  hd_file_stamp(log->path, stamp);
  if (!stamp[0] && !stamp[1])
    return HEDDLE_OK;
  HD_TRY(hd_file_read_text(ctx, log->path, &text, &n_bytes));
  bool same = strncmp(text, bench_csv_head, n_head) == 0 && strlen(text) == n_bytes;
  size_t whole = same ? n_bytes : 0;
  while (whole > n_head && text[whole - 1] != '\n')
    whole--;
  if (same)
    hd_strbuf_addn(&log->text, text + n_head, whole - n_head);
  if (same && whole < n_bytes)
    hd_warning(ctx, (hd_loc){.file = log->path}, "bench.torn",
               "the last line is incomplete and is removed: %zu bytes", n_bytes - whole);
  if (!same)
    hd_error(ctx, HEDDLE_INVALID, (hd_loc){log->path, 1, 1}, "bench.resume",
             "the columns are not %.*s; legal: a file that -o wrote", (int)n_head - 1,
             bench_csv_head);
  hd_free(text);
  return same ? HEDDLE_OK : HEDDLE_INVALID;
}

static heddle_status write_all(heddle_context *ctx, const bench_log *log) {
  return log->path ? hd_file_write(ctx, log->path, log->text.text, log->text.len) : HEDDLE_OK;
}

/* Reads and writes the files before anything is measured, so that errors appear early. */
heddle_status bench_log_open(heddle_context *ctx, bool resume, bench_log *log) {
  hd_strbuf_add(&log->text, bench_csv_head);
  if (log->cutlass)
    HD_TRY(report_add_cutlass(ctx, log->cutlass, &log->report));
  if (resume)
    HD_TRY(read_before(ctx, log));
  return write_all(ctx, log);
}

typedef struct finder {
  const hd_bench_problem *p;
  report *report;      /* where rows are added; NULL: only checks whether there are any */
  bench_names *broken; /* where names of ways that broke the device are added; may be NULL */
  bool found;          /* a row of a way that did not */
} finder;

static bool is_elem(const csv_row *row, const char *column, heddle_elem elem) {
  const char *name = csv_get(row, column);
  return name && strcmp(name, heddle_elem_get(elem)->name) == 0;
}

static heddle_status gather(heddle_context *ctx, const csv_row *row, void *user) {
  finder *f = user;
  int64_t m, k, n;
  HD_TRY(csv_size(ctx, row, "m", &m));
  HD_TRY(csv_size(ctx, row, "k", &k));
  HD_TRY(csv_size(ctx, row, "n", &n));
  if (m != f->p->m || k != f->p->k || n != f->p->n || !is_elem(row, "type", f->p->elem) ||
      !is_elem(row, "d_type", f->p->d_elem))
    return HEDDLE_OK;
  const char *verdict = csv_get(row, "verdict"), *name = csv_get(row, "contender");
  bool broke = verdict && strcmp(verdict, report_broke) == 0;
  f->found |= !broke;
  if (broke && name && f->broken) {
    char *copy = hd_xstrdup(name);
    HD_PUSH(f->broken->name, f->broken->n, f->broken->cap, copy);
  }
  return f->report ? report_add_row(ctx, row, f->report) : HEDDLE_OK;
}

static heddle_status look(heddle_context *ctx, const bench_log *log, finder *f) {
  char *text = hd_xstrdup(hd_strbuf_text(&log->text));
  heddle_status status = csv_each_of(ctx, log->path, text, gather, f);
  hd_free(text);
  return status;
}

bool bench_log_has(const bench_log *log, const hd_bench_problem *p) {
  finder f = {.p = p};
  return look(NULL, log, &f) == HEDDLE_OK && f.found;
}

heddle_status bench_log_find(heddle_context *ctx, bench_log *log, const hd_bench_problem *p,
                             const report_cell **cell) {
  finder f = {.p = p, .report = &log->report};
  heddle_status status = look(ctx, log, &f);
  if (status == HEDDLE_OK && log->cutlass)
    status = report_add_cutlass(ctx, log->cutlass, &log->report);
  *cell = f.found ? report_find(&log->report, p->elem, p->m, p->k, p->n) : NULL;
  return status;
}

bench_names bench_log_broken(const bench_log *log, const hd_bench_problem *p) {
  bench_names names = {0};
  finder f = {.p = p, .broken = &names};
  (void)look(NULL, log, &f);
  return names;
}

void bench_names_free(bench_names *names) {
  for (int32_t i = 0; i < names->n; i++)
    hd_free(names->name[i]);
  hd_free(names->name);
  *names = (bench_names){0};
}

heddle_status bench_log_add(heddle_context *ctx, bench_log *log, uint64_t seed,
                            const hd_bench_problem *p, const hd_bench_result *result) {
  bench_csv_case(&log->text, seed, p, result);
  return write_all(ctx, log);
}

void bench_log_close(bench_log *log) {
  hd_strbuf_free(&log->text);
  report_free(&log->report);
}
