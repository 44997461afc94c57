#include "bench_dynamic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "Support/arena.h"

/* Sizes that choices were measured at, and between them. */
static const int64_t sizes[] = {1,   8,   16,  32,  48,   64,   96,   128,
                                192, 256, 333, 512, 1024, 2048, 4096, 8192};

static bool same_but_n(const hd_bench_problem *x, const hd_bench_problem *y) {
  return x->elem == y->elem && x->d_elem == y->d_elem && x->m == y->m && x->k == y->k;
}

void bench_dynamic_sizes(bench_grid *grid) {
  bench_grid all = {0};
  for (int32_t i = 0; i < grid->n; i++) {
    int32_t first = 0;
    while (!same_but_n(&grid->list[first], &grid->list[i]))
      first++;
    for (size_t j = 0; first == i && j < HD_COUNT(sizes); j++) {
      hd_bench_problem p = grid->list[i];
      p.n = sizes[j];
      bench_grid_add(&all, &p, NULL);
    }
  }
  hd_free(grid->list);
  *grid = all;
}

void bench_dynamic_head(void) {
  printf("%-5s %6s %6s %6s %10s %10s %7s\n", "type", "M", "K", "N", "fixed us", "dynamic us",
         "ratio");
}

static const hd_bench_row *find(const hd_bench_result *result, bool dynamic, bool ready) {
  for (int32_t i = 0; i < result->n_rows; i++) {
    const hd_bench_row *r = &result->row[i];
    if (r->ok && r->n_rounds > 1 && r->dynamic == dynamic && r->weights_ready == ready)
      return r;
  }
  return NULL;
}

void bench_dynamic_add(bench_dynamic *sum, const hd_bench_problem *p,
                       const hd_bench_result *result) {
  for (int ready = 0; ready < 2; ready++) {
    const hd_bench_row *fixed = find(result, false, ready), *dynamic = find(result, true, ready);
    if (!fixed || !dynamic)
      continue;
    double ratio = fixed->timing.median / dynamic->timing.median;
    printf("%-5s %6lld %6lld %6lld %10.2f %10.2f %7.3f%s\n", heddle_elem_get(p->elem)->name,
           (long long)p->m, (long long)p->k, (long long)p->n, fixed->timing.median * 1e6,
           dynamic->timing.median * 1e6, ratio, ready ? "  weights_ready" : "");
    if (sum->n == 0 || ratio < sum->worst) {
      sum->worst = ratio;
      sum->worst_case = *p;
    }
    sum->log_sum += log(ratio);
    sum->n++;
  }
}

void bench_dynamic_tail(const bench_dynamic *sum) {
  const hd_bench_problem *p = &sum->worst_case;
  if (sum->n == 0)
    return;
  printf("\ndynamic: %d cases, geometric mean %.4f, worst %.3f at %s %lld x %lld, N = %lld\n",
         sum->n, exp(sum->log_sum / sum->n), sum->worst, heddle_elem_get(p->elem)->name,
         (long long)p->m, (long long)p->k, (long long)p->n);
}
