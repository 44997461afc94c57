/* The times that explain shows: measured, predicted with the bottleneck, and of a dense library. */
#include <string.h>

#include "Schedule/cost.h"
#include "Schedule/enumerate.h"
#include "Schedule/heuristic.h"
#include "Schedule/variants.h"
#include "Support/diag.h"
#include "Support/memory.h"
#include "explained.h"

const char EXPLAIN_PREDICTED[] = "predicted";

static void add_tuned(explained *e, const hd_product *product) {
  const hd_tuned_entry *entry = e->input->entry;
  hd_strbuf *t = explain_add(e, EXPLAIN_TIME, "tuned");
  char own[HD_PRODUCT_TEXT], name[HD_PRODUCT_TEXT];
  hd_product_print(product, own);
  hd_product_print(&entry->product, name);
  hd_strbuf_printf(t, "%.2f us measured on %s", entry->seconds * 1e6, entry->device);
  if (entry->default_seconds > 0)
    hd_strbuf_printf(t, " (the default %.2f us)", entry->default_seconds * 1e6);
  if (entry->sustained > 0)
    hd_strbuf_printf(t, ", sustained %.2f us", entry->sustained * 1e6);
  if (entry->default_sustained > 0)
    hd_strbuf_printf(t, " (the default %.2f us)", entry->default_sustained * 1e6);
  if (strcmp(own, name) != 0)
    hd_strbuf_printf(t, ", for\n%s", name);
}

static void sort_terms(explained *e) {
  for (int i = 0; i < HD_N_RESOURCES; i++) {
    int at = i;
    for (; at > 0 && e->cost.alone[e->by_time[at - 1]] < e->cost.alone[i]; at--)
      e->by_time[at] = e->by_time[at - 1];
    e->by_time[at] = (hd_resource)i;
  }
}

int32_t explain_n_terms(const explained *e) {
  int32_t n = 0;
  while (n < HD_N_RESOURCES && e->cost.alone[e->by_time[n]] >= e->cost.alone[e->cost.binds] / 20)
    n++;
  return n;
}

/* The dense time is an estimate: differences below its maximum error (test/cli/explain_dense.test)
 * are inconclusive. */
static void add_dense(explained *e) {
  const double doubt = 1.2, dense = e->dense_seconds, sparse = e->sparse_seconds;
  hd_strbuf *t = explain_add(e, EXPLAIN_TIME, "dense");
  hd_strbuf_printf(t, "about %.2f us with a dense library on the unpruned matrix: ", dense * 1e6);
  if (dense * doubt < sparse)
    hd_strbuf_printf(t, "dense is probably faster, sparse takes %.2fx as long", sparse / dense);
  else if (dense < sparse)
    hd_strbuf_printf(t,
                     "dense may be faster, sparse takes %.2fx as long; heddle bench measures both",
                     sparse / dense);
  else
    hd_strbuf_printf(t, "sparse is %.2fx as fast", dense / sparse);
}

/* For groups: the times for an even and for a Zipf routing. */
static void add_dealt(explained *e) {
  if (e->cost.dealt[0].seconds > 0)
    hd_strbuf_printf(explain_add(e, EXPLAIN_TIME, "routings"),
                     "%.2f us where tokens are dealt evenly, %.2f by Zipf: their geometric mean "
                     "counts; tiles have %.2f and %.2f times the columns",
                     e->cost.dealt[0].seconds * 1e6, e->cost.dealt[1].seconds * 1e6,
                     e->cost.dealt[0].padded, e->cost.dealt[1].padded);
}

static void add_copied(explained *e) {
  double seconds = e->cost.alone[HD_RESOURCE_COPY];
  if (seconds > 0)
    hd_strbuf_printf(explain_add(e, EXPLAIN_TIME, "copied"),
                     "a separate kernel copies B first: %.2f us", seconds * 1e6);
}

/* If TMA cannot take B's pitch, or rows straddle sectors: the default's time with longer rows. */
static void add_padded(explained *e) {
  const hd_problem *p = e->problem;
  int64_t pitch = hd_b_pitch_bytes(p), sectors = (pitch + HD_L2_SECTOR - 1) / HD_L2_SECTOR;
  if (hd_schedule_is_mma(e->schedule) || pitch % HD_L2_SECTOR == 0)
    return;
  hd_problem padded = *p;
  padded.b.ld = sectors * HD_L2_SECTOR * 8 / heddle_elem_get(p->b.elem)->container_bits;
  hd_schedule best = hd_schedule_default(e->ceilings, &padded);
  hd_strbuf_printf(explain_add(e, EXPLAIN_TIME, "padded"),
                   "%.2f us if the pitch of B were %lld elements, a multiple of %d bytes",
                   hd_schedule_cost(&padded, &best, e->mnk, e->ceilings).seconds * 1e6,
                   (long long)padded.b.ld, HD_L2_SECTOR);
}

/* Inserts a schedule into the sorted list, which has at most one schedule per tile. */
static void add_tile(explained *e, const explain_tile *x) {
  int32_t at = 0;
  while (at < e->n_tiles && (e->tile[at].schedule.tile_m != x->schedule.tile_m ||
                             e->tile[at].schedule.tile_n != x->schedule.tile_n))
    at++;
  if (at < e->n_tiles && e->tile[at].cost.seconds <= x->cost.seconds)
    return;
  if (at == EXPLAIN_MOST_TILES && e->tile[--at].cost.seconds <= x->cost.seconds)
    return;
  if (at == e->n_tiles)
    e->n_tiles++;
  for (; at > 0 && e->tile[at - 1].cost.seconds > x->cost.seconds; at--)
    e->tile[at] = e->tile[at - 1];
  e->tile[at] = *x;
}

/* Adds the best schedule if it is predicted at least 10 % faster: the model is not more
 * accurate. */
static void add_promising(explained *e) {
  char text[HD_SCHEDULE_TEXT];
  if (!e->n_tiles || e->tile[0].cost.seconds >= e->cost.seconds * 0.9)
    return;
  hd_schedule_print(&e->tile[0].schedule, text);
  hd_strbuf_printf(explain_add(e, EXPLAIN_TIME, "promises"),
                   "%.2f us of %zu legal schedules (heddle tune measures them):\n%s",
                   e->tile[0].cost.seconds * 1e6, e->n_legal, text);
}

void explain_cost(explained *e) {
  const hd_problem *p = e->problem;
  const hd_tuned_entry *entry = e->input->entry;
  hd_product product = hd_product_of(p, e->size_mnk);
  if (entry)
    add_tuned(e, &product);
  e->is_estimate = hd_cost_is_estimate(p);
  memcpy(e->mnk, (int64_t[]){product.m, product.n, product.k}, sizeof e->mnk);
  e->cost = hd_schedule_cost(p, e->schedule, e->mnk, e->ceilings);
  sort_terms(e);
  hd_strbuf *t = explain_add(e, EXPLAIN_TIME, EXPLAIN_PREDICTED);
  if (!e->is_estimate) {
    hd_strbuf_printf(t, "nothing: the ceilings of %s were not measured", p->target->name);
    return;
  }
  hd_strbuf_printf(t, "%.2f us for M=%lld N=%lld K=%lld on an %s: %lld units of work, %.2f waves",
                   e->cost.seconds * 1e6, (long long)product.m, (long long)product.n,
                   (long long)product.k, e->ceilings->device, (long long)e->cost.units,
                   e->cost.waves);
  bool exact = entry && entry->product.m == product.m && entry->product.n == product.n &&
               entry->product.k == product.k;
  e->dense_seconds = hd_dense_seconds(p, e->mnk, e->ceilings);
  add_dealt(e);
  add_copied(e);
  add_padded(e);
  e->sparse_seconds = exact ? entry->seconds : e->cost.seconds;
  add_dense(e);
  hd_schedule *list;
  hd_schedule_enumerate(e->ceilings, p, &list, &e->n_legal);
  for (size_t i = 0; i < e->n_legal; i++)
    add_tile(e, &(explain_tile){list[i], hd_schedule_cost(p, &list[i], e->mnk, e->ceilings)});
  hd_free(list);
  if (!entry) /* a measured choice is more reliable than the model */
    add_promising(e);
}
