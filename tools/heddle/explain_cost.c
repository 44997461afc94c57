#include "explain_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Schedule/cost.h"
#include "Schedule/enumerate.h"
#include "Schedule/heuristic.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "cli.h"

static void print_tuned(const hd_product *product, const hd_tuned_entry *e) {
  char own[HD_PRODUCT_TEXT], name[HD_PRODUCT_TEXT];
  hd_product_print(product, own);
  hd_product_print(&e->product, name);
  cli_print("tuned     %.2f us measured on %s", e->seconds * 1e6, e->device);
  if (e->default_seconds > 0)
    printf(" (the default %.2f us)", e->default_seconds * 1e6);
  if (e->sustained > 0)
    printf(", sustained alone %.2f us", e->sustained * 1e6);
  if (e->default_sustained > 0)
    printf(" (the default %.2f us)", e->default_sustained * 1e6);
  if (strcmp(own, name) != 0)
    cli_print(", for\n          %s", name);
  printf("\n");
}

/* Largest first, down to a twentieth of it. */
static void print_resources(const hd_cost *cost) {
  bool done[HD_N_RESOURCES] = {false};
  for (int round = 0; round < HD_N_RESOURCES; round++) {
    int most = -1;
    for (int r = 0; r < HD_N_RESOURCES; r++)
      if (!done[r] && (most < 0 || cost->alone[r] > cost->alone[most]))
        most = r;
    done[most] = true;
    if (cost->alone[most] < cost->alone[cost->binds] / 20)
      return;
    printf("          %8.2f us  %s%s\n", cost->alone[most] * 1e6, hd_resource_name(most),
           round ? "" : ": this binds");
  }
}

/* The dense time is an estimate: what it is off by at most (test/cli/explain_dense.test) decides
 * nothing. */
static void print_dense(double dense, double sparse) {
  const double doubt = 1.2;
  printf("dense     about %.2f us by a dense library on the unpruned matrix: ", dense * 1e6);
  if (dense * doubt < sparse)
    printf("dense would be faster, sparse takes %.2fx its time\n", sparse / dense);
  else if (dense < sparse)
    printf("dense may be faster, sparse takes %.2fx its time; heddle bench measures both\n",
           sparse / dense);
  else
    printf("sparse is %.2fx as fast\n", dense / sparse);
}

/* Of a B whose pitch no tensor map takes: the default with rows a little longer. */
static void print_padded(const hd_problem *p, const hd_schedule *s, const int64_t sizes[3],
                         const hd_device_model *ceilings) {
  enum { MAP_ALIGN = 16 };
  int64_t row = p->b.transposed ? p->n.value : p->k.value, pitch = p->b.ld ? p->b.ld : row;
  int32_t bits = heddle_elem_get(p->b.elem)->container_bits, unit = 8 * MAP_ALIGN / bits;
  if (hd_schedule_is_mma(s) || pitch % unit == 0)
    return;
  hd_problem padded = *p;
  padded.b.ld = (pitch + unit - 1) / unit * unit;
  hd_schedule best = hd_schedule_default(ceilings, &padded);
  printf("padded    %.2f us if B's rows lay %lld elements apart, a multiple of %d bytes\n",
         hd_schedule_cost(&padded, &best, sizes, ceilings).seconds * 1e6, (long long)padded.b.ld,
         MAP_ALIGN);
}

void explain_print_cost(const hd_problem *p, const hd_schedule *s, const int64_t size_mnk[3],
                        const hd_device_model *ceilings, const hd_tuned_entry *entry) {
  hd_product product = hd_product_of(p, size_mnk);
  if (entry)
    print_tuned(&product, entry);
  if (!hd_cost_is_estimate(p)) {
    printf("predicted nothing: the ceilings of %s are not measured\n", p->target->name);
    return;
  }
  const int64_t sizes[] = {product.m, product.n, product.k};
  hd_cost cost = hd_schedule_cost(p, s, sizes, ceilings);
  bool exact = entry && entry->product.m == product.m && entry->product.n == product.n &&
               entry->product.k == product.k;
  printf("predicted %.2f us for M=%lld N=%lld K=%lld on an %s: %lld units of work, %.2f waves; "
         "alone\n",
         cost.seconds * 1e6, (long long)product.m, (long long)product.n, (long long)product.k,
         ceilings->device, (long long)cost.units, cost.waves);
  print_resources(&cost);
  print_padded(p, s, sizes, ceilings);
  print_dense(hd_dense_seconds(p, sizes, ceilings), exact ? entry->seconds : cost.seconds);
}

void explain_print_promising(const hd_problem *p, const hd_schedule *s, const int64_t size_mnk[3],
                             const hd_device_model *ceilings) {
  hd_schedule *list;
  size_t n, best = 0;
  char text[HD_SCHEDULE_TEXT];
  if (!hd_cost_is_estimate(p))
    return;
  hd_product product = hd_product_of(p, size_mnk);
  const int64_t sizes[] = {product.m, product.n, product.k};
  hd_schedule_enumerate(ceilings, p, &list, &n);
  double chosen = hd_schedule_cost(p, s, sizes, ceilings).seconds, least = chosen * 0.9;
  for (size_t i = 0; i < n; i++) {
    double seconds = hd_schedule_cost(p, &list[i], sizes, ceilings).seconds;
    if (seconds < least) {
      least = seconds;
      best = i + 1;
    }
  }
  if (best) {
    hd_schedule_print(&list[best - 1], text);
    printf("promises  %.2f us of %zu legal schedules (heddle tune measures them):\n          %s\n",
           least * 1e6, n, text);
  }
  hd_free(list);
}
