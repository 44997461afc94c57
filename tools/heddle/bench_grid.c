#include "bench_grid.h"

#include <stdio.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/lines.h"

void bench_grid_add(bench_grid *grid, const hd_bench_problem *problem, const char *only) {
  if (!only || strcmp(only, heddle_elem_get(problem->elem)->name) == 0)
    HD_PUSH(grid->list, grid->n, grid->cap, *problem);
}

static heddle_status read_line(heddle_context *ctx, hd_loc loc, const char *text,
                               hd_bench_problem *p) {
  char type[16] = "", d[16] = "", rest[2];
  long long m, k, n;
  int got = sscanf(text, "%15s %lld %lld %lld %15s %1s", type, &m, &k, &n, d, rest);
  const long long most = HD_PRODUCT_MOST_SIZE;
  if (got < 4 || got > 5 || m < 1 || n < 1 || k < 1 || m > most || n > most || k > most)
    return hd_error(ctx, HEDDLE_INVALID, loc, "bench.grid",
                    "got \"%.60s\"; legal: TYPE M K N [DTYPE], sizes 1 to %lld", text, most);
  *p = (hd_bench_problem){.m = m, .n = n, .k = k};
  if (heddle_elem_parse(type, &p->elem) != HEDDLE_OK)
    return hd_error(ctx, HEDDLE_INVALID, loc, "bench.type",
                    "got type \"%s\"; legal: as bf16, e4m3", type);
  p->d_elem = heddle_elem_get(p->elem)->d;
  if (got == 5 && heddle_elem_parse(d, &p->d_elem) != HEDDLE_OK)
    return hd_error(ctx, HEDDLE_INVALID, loc, "bench.type",
                    "got type \"%s\"; legal: as bf16, f32", d);
  return HEDDLE_OK;
}

heddle_status bench_grid_read(heddle_context *ctx, const char *path, const char *only,
                              bench_grid *grid) {
  char *text;
  size_t n_bytes;
  HD_TRY(hd_file_read_text(ctx, path, &text, &n_bytes));
  heddle_status status = HEDDLE_OK;
  hd_lines lines = hd_lines_of(path, text);
  for (char *line; status == HEDDLE_OK && (line = hd_lines_next_entry(&lines));) {
    hd_bench_problem p;
    status = read_line(ctx, lines.loc, line, &p);
    if (status == HEDDLE_OK)
      bench_grid_add(grid, &p, only);
  }
  hd_free(text);
  return status;
}
