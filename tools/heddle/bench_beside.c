#include "bench_beside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/memory.h"
#include "cli.h"

/* The product to compare with. For a second matrix, statistics of D, or a D that is divided by
 * them, it keeps the rest of the epilogue; for a scale_b from statistics of B it has a scale_b of
 * vectors. */
static hd_bench_problem plain_of(const hd_bench_problem *p) {
  hd_bench_problem plain = *p;
  if (p->epilogue.aux) {
    plain.epilogue.aux = 0;
    plain.epilogue.aux_type = 0;
  } else if (p->epilogue.scale_b == 's') {
    plain.epilogue.scale_b = 'v';
  } else if (p->epilogue.reduce) {
    plain.epilogue.reduce = 0;
  } else {
    plain.epilogue = (hd_product_epilogue){0};
  }
  if (p->g)
    plain.m *= p->g;
  plain.g = 0;
  return plain;
}

void bench_beside_head(void) {
  printf("%-5s %6s %6s %6s  %10s %10s %7s %10s  %s\n", "type", "M", "K", "N", "this us", "plain us",
         "ratio", "peer us", "what");
}

/* The time used in ratios: the sustained time where it was measured (large N), else the median. */
static double seconds_of(const hd_bench_row *r) {
  return r->alone.sustained > 0 ? r->alone.sustained : r->timing.median;
}

/* The fastest Heddle kernel, or the fastest peer; NULL if there is none. */
static const hd_bench_row *fastest(const hd_bench_result *result, bool ours) {
  const hd_bench_row *best = NULL;
  for (int32_t i = 0; i < result->n_rows; i++) {
    const hd_bench_row *r = &result->row[i];
    bool is_ours = strncmp(r->name, "heddle", 6) == 0;
    bool ceiling = strncmp(r->name, "stream", 6) == 0;
    if (r->ok && r->n_rounds > 1 && is_ours == ours && !ceiling &&
        (!best || seconds_of(r) < seconds_of(best)))
      best = r;
  }
  return best;
}

static heddle_status measure(heddle_context *ctx, const hd_device *device,
                             const hd_bench_problem *p, const hd_bench_options *options,
                             hd_bench_host *host, hd_bench_result *result, double *seconds,
                             int *n_wrong) {
  HD_TRY(hd_bench_run(ctx, device, p, options, host, result));
  for (int32_t i = 0; i < result->n_rows; i++)
    *n_wrong += !result->row[i].ok;
  const hd_bench_row *best = fastest(result, true);
  *seconds = best ? seconds_of(best) : 0;
  return HEDDLE_OK;
}

heddle_status bench_beside_case(heddle_context *ctx, const hd_device *device,
                                const hd_bench_problem *p, const hd_bench_options *options,
                                hd_bench_host *host, bench_beside *sum, int *n_wrong) {
  hd_bench_problem plain = plain_of(p);
  hd_bench_options alone = *options;
  hd_bench_result results[3] = {{0}};
  double seconds[3] = {0};
  alone.n_peers = 0;
  heddle_status status =
      measure(ctx, device, &plain, &alone, host, &results[0], &seconds[0], n_wrong);
  if (status == HEDDLE_OK)
    status = measure(ctx, device, p, options, host, &results[1], &seconds[1], n_wrong);
  if (status == HEDDLE_OK)
    status = measure(ctx, device, &plain, &alone, host, &results[2], &seconds[2], n_wrong);
  if (status == HEDDLE_OK && seconds[0] > 0 && seconds[1] > 0 && seconds[2] > 0) {
    double beside = (seconds[0] + seconds[2]) / 2, ratio = beside / seconds[1];
    printf("%-5s %6lld %6lld %6lld  %10.2f %10.2f %7.3f", heddle_elem_get(p->elem)->name,
           (long long)p->m, (long long)p->k, (long long)p->n, seconds[1] * 1e6, beside * 1e6,
           ratio);
    char text[HD_PRODUCT_TEXT];
    hd_product product = hd_bench_product(p);
    const hd_bench_row *peer = fastest(&results[1], false);
    hd_product_print(&product, text);
    const char *words = strstr(text, "row_major"); /* the epilogue and the batch follow it */
    printf(" %10.2f %s", peer ? seconds_of(peer) * 1e6 : 0,
           words ? words + strlen("row_major") : "");
    cli_print("%s%s\n", peer ? "; peer " : "", peer ? peer->name : "");
    sum->worst = sum->n == 0 || ratio < sum->worst ? ratio : sum->worst;
    sum->log_sum += log(ratio);
    sum->n++;
  }
  for (int i = 0; i < 3; i++)
    hd_free(results[i].row);
  return status;
}

void bench_beside_tail(const bench_beside *sum) {
  if (sum->n)
    printf("\n"
           "ratio to the plain product: %d cases, geometric mean %.4f, worst %.3f\n", sum->n,
           exp(sum->log_sum / sum->n), sum->worst);
}
