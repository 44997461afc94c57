#include "bench_groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/batch.h"
#include "Support/diag.h"

/* One run: a line per case, and the mean ratios (the other kernel's time over that of groups). */
typedef struct run {
  const hd_device *device;
  hd_groups_options options;
  bench_format format;
  bool lists_ways; /* prints each way of a case below it */
  double log_plain, log_index;
  int32_t n, n_index;
} run;

/* The i-th word of a list "8,32"; false if the list has fewer words. */
static bool word_at(const char *list, int i, char out[32]) {
  for (; i > 0 && list; i--)
    list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
  if (!list || !*list)
    return false;
  size_t n = strcspn(list, ",");
  snprintf(out, 32, "%.*s", (int)(n < 31 ? n : 31), list);
  return true;
}

/* ---- lines ---- */

static const hd_groups_row *fastest(const hd_groups_result *result, hd_groups_kind kind) {
  const hd_groups_row *best = NULL;
  for (int32_t i = 0; i < result->n_rows; i++) {
    const hd_groups_row *row = &result->row[i];
    if (row->kind == kind && (!best || hd_groups_seconds(row) < hd_groups_seconds(best)))
      best = row;
  }
  return best;
}

/* Uses the sustained time where it was measured. A read is compared with the interleaved time. */
static void print_line(run *r, const hd_groups_problem *p, const hd_groups_result *result) {
  const hd_groups_row *best[HD_N_GROUPS_KINDS];
  double us[HD_N_GROUPS_KINDS];
  for (hd_groups_kind kind = 0; kind < HD_N_GROUPS_KINDS; kind++) {
    best[kind] = fastest(result, kind);
    us[kind] = best[kind] ? hd_groups_seconds(best[kind]) * 1e6 : NAN; /* block scales: no index */
  }
  double plain = us[HD_GROUPS_PLAIN] / us[0], index = us[HD_GROUPS_BY_INDEX] / us[0];
  printf("%-5s %5lld %9s %6lld %6lld %6lld %10.2f %10.2f %10.2f %10.2f %7.3f %7.3f %7.3f\n",
         heddle_elem_get(p->elem)->name, (long long)p->g, hd_routing_name((int)p->routing),
         (long long)p->m, (long long)p->k, (long long)p->n, us[HD_GROUPS_BY_OFFSETS],
         us[HD_GROUPS_BY_INDEX], us[HD_GROUPS_PLAIN], us[HD_GROUPS_READ], plain,
         us[HD_GROUPS_READ] / us[HD_GROUPS_BY_OFFSETS], index);
  for (int32_t i = 0; r->lists_ways && i < result->n_rows; i++) {
    const hd_groups_row *row = &result->row[i];
    printf("  %-8s %10.2f %10.2f %6.0f W  %s\n", hd_groups_kind_name(row->kind),
           row->timing.median * 1e6, row->alone.sustained * 1e6, row->alone.power_w, row->schedule);
  }
  r->log_plain += log(plain);
  r->log_index += isnan(index) ? 0 : log(index);
  r->n_index += !isnan(index);
  r->n++;
}

static void print_csv(const hd_groups_problem *p, const hd_groups_result *result) {
  for (int32_t i = 0; i < result->n_rows; i++) {
    const hd_groups_row *x = &result->row[i];
    printf("%s,%lld,%s,%lld,%lld,%lld,%s,%.3f,%.3f,%.3f,%.3f,%.0f,%u,%.0f,\"%s\"\n",
           heddle_elem_get(p->elem)->name, (long long)p->g, hd_routing_name((int)p->routing),
           (long long)p->m, (long long)p->k, (long long)p->n, hd_groups_kind_name(x->kind),
           x->timing.median * 1e6, x->timing.min * 1e6, x->timing.max * 1e6,
           x->alone.sustained * 1e6, x->alone.power_w, x->alone.sm_mhz, result->read_bytes,
           x->schedule);
  }
}

static void print_schedules(const hd_groups_problem *p, const hd_groups_result *result) {
  for (int32_t i = 0; i < result->n_rows; i++)
    printf("%s %s g=%lld m=%lld k=%lld n=%lld: %s\n", hd_groups_kind_name(result->row[i].kind),
           heddle_elem_get(p->elem)->name, (long long)p->g, (long long)p->m, (long long)p->k,
           (long long)p->n, result->row[i].schedule);
}

/* ---- cases ---- */

static heddle_status run_case(heddle_context *ctx, run *r, const hd_groups_problem *p) {
  hd_groups_result result;
  HD_TRY(hd_groups_bench(ctx, r->device, p, &r->options, &result));
  if (!r->device)
    print_schedules(p, &result);
  else if (r->format == BENCH_CSV)
    print_csv(p, &result);
  else
    print_line(r, p, &result);
  fflush(stdout);
  cli_print_diagnostics(ctx);
  return HEDDLE_OK;
}

/* The cases of one line of a grid. */
static heddle_status run_line(heddle_context *ctx, run *r, const hd_bench_problem *line,
                              const char *groups, const char *routings) {
  char number[32], word[32];
  for (int g = 0; word_at(groups, g, number); g++)
    for (int i = 0; word_at(routings, i, word); i++) {
      hd_groups_problem p = {.elem = line->elem, .d_elem = line->d_elem, .m = line->m, .n = line->n,
                             .k = line->k, .blocks = line->epilogue.blocks};
      if (!cli_parse_int(number, &p.g) || p.g < 1 || p.g > HD_GROUPS_MOST)
        return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "bench.groups",
                        "got --groups %s; legal: 1 to %d, as in 8,64", number, HD_GROUPS_MOST);
      if (hd_routing_parse(word, &p.routing) != HEDDLE_OK || p.routing == HD_ROUTING_WILD)
        return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "bench.groups",
                        "got --routing %s; legal: balanced, zipf, random, one", word);
      HD_TRY(run_case(ctx, r, &p));
    }
  return HEDDLE_OK;
}

heddle_status bench_groups_run(heddle_context *ctx, const hd_device *device, const bench_grid *grid,
                               const char *groups, const char *routings,
                               const cli_texts *const schedules[3], const hd_bench_options *options,
                               bench_format format) {
  run r = {.device = device, .format = format};
  r.options = (hd_groups_options){.target = options->target, .ptxas = options->ptxas,
                                  .cache = options->cache, .seed = options->seed,
                                  .alone = options->alone, .nvml = options->nvml,
                                  .n_jobs = options->n_jobs,
                                  .sustained_seconds = options->sustained_seconds};
  if (format == BENCH_JSON)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "bench.format",
                    "got --format json with --groups; legal: table, csv");
  for (int i = 0; i < 3; i++) {
    r.options.schedule[i] = schedules[i]->text;
    r.options.n_schedules[i] = schedules[i]->n;
    r.lists_ways |= schedules[i]->n > 1;
  }
  if (format == BENCH_CSV)
    puts("type,groups,routing,m,k,n,kind,us,min_us,max_us,sustained_us,watts,mhz,read_bytes,"
         "schedule");
  else if (device)
    printf("%-5s %5s %9s %6s %6s %6s %10s %10s %10s %10s %7s %7s %7s\n", "type", "G", "routing",
           "M", "K", "N", "groups us", "index us", "plain us", "read us", "plain", "read", "index");
  for (int32_t i = 0; i < grid->n; i++)
    HD_TRY(run_line(ctx, &r, &grid->list[i], groups, routings ? routings : "balanced,zipf"));
  if (format != BENCH_TABLE || !device || !r.n)
    return HEDDLE_OK;
  printf("\n%d cases; geometric mean of plain over groups %.3f", r.n, exp(r.log_plain / r.n));
  if (r.n_index)
    printf(", of by index over groups %.3f", exp(r.log_index / r.n_index));
  putchar('\n');
  return HEDDLE_OK;
}
