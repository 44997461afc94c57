#include "bench_ready.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench_dynamic.h"

static const double GOAL = 0.995;

void bench_ready_head(void) {
  printf("%-5s %6s %6s %6s %-5s %-8s %10s %10s %7s\n", "type", "M", "K", "N", "D", "behind",
         "plain us", "ready us", "ratio");
}

static const hd_bench_row *find(const hd_bench_result *result, hd_trigger trigger, bool ready,
                                bool row_major) {
  for (int32_t i = 0; i < result->n_rows; i++) {
    const hd_bench_row *r = &result->row[i];
    if (r->ok && r->n_rounds > 1 && r->trigger == trigger && r->weights_ready == ready &&
        r->row_major == row_major && strncmp(r->name, "heddle", 6) == 0)
      return r;
  }
  return NULL;
}

void bench_ready_add(bench_ready *sum, const hd_bench_problem *p, const hd_bench_result *result) {
  for (hd_trigger t = HD_TRIGGER_EARLY; t < HD_N_TRIGGERS; t++)
    for (int row_major = 0; row_major < 2; row_major++) {
      const hd_bench_row *plain = find(result, t, false, row_major);
      const hd_bench_row *ready = find(result, t, true, row_major);
      if (!plain || !ready)
        continue;
      double ratio = bench_ratio_in_rounds(plain, ready);
      printf("%-5s %6lld %6lld %6lld %-5s %-8s %10.2f %10.2f %7.3f\n",
             heddle_elem_get(p->elem)->name, (long long)p->m, (long long)p->k, (long long)p->n,
             row_major ? "row" : "col", hd_trigger_name(t), plain->timing.median * 1e6,
             ready->timing.median * 1e6, ratio);
      if (sum->n[t] == 0 || ratio < sum->worst[t]) {
        sum->worst[t] = ratio;
        sum->worst_case[t] = *p;
      }
      sum->log_sum[t] += log(ratio);
      sum->n[t]++;
      sum->n_behind[t] += ratio < GOAL;
    }
}

void bench_ready_tail(const bench_ready *sum) {
  for (hd_trigger t = HD_TRIGGER_EARLY; t < HD_N_TRIGGERS; t++) {
    const hd_bench_problem *p = &sum->worst_case[t];
    if (sum->n[t])
      printf("\nbehind %s: %d cases, geometric mean %.4f, %d under %.3f, worst %.3f at %s %lld x "
             "%lld, N = %lld",
             hd_trigger_name(t), sum->n[t], exp(sum->log_sum[t] / sum->n[t]), sum->n_behind[t],
             GOAL, sum->worst[t], heddle_elem_get(p->elem)->name, (long long)p->m,
             (long long)p->k, (long long)p->n);
  }
  printf("\n");
}
