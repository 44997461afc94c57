/* Samples sizes, and chooses for each sample the schedule of a kernel of that fixed size. The plan
 * covers the samples with the schedules that lose least against these. A bucket must gain 2 %. */
#include "Choice/bucket_choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Choice/size_choice.h"
#include "Schedule/cost.h"
#include "Support/arena.h"
#include "Support/diag.h"

enum { MAX_SAMPLES = 96, MAX_CANDIDATES = MAX_SAMPLES };
#define TOLERANCE 0.02 /* a bucket that gains less is omitted */

/* Multiples of 8 or 16 (the units of tile widths), up to sixteen sizes per octave; eight from 512,
 * and four from 1024. Sizes above the last one get the same schedule. */
static const int64_t sizes[] = {
    1,    8,    16,   24,   32,   40,   48,   56,   64,   80,   96,   112,   128,   144,   160,
    176,  192,  208,  224,  240,  256,  272,  288,  304,  320,  336,  352,   368,   384,   400,
    416,  432,  448,  464,  480,  496,  512,  576,  640,  704,  768,  832,   896,   960,   1024,
    1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192,  10240, 12288, 14336,
    16384};

typedef struct sample {
  int64_t size;
  int32_t wish; /* the candidate for a kernel of this size */
  const hd_tuned_entry *entry; /* the measurement of exactly this size; NULL: none */
  double least; /* the shortest predicted time of all candidates */
  bool near_power_cap, reads; /* of a kernel for this size; reads: DRAM is its bottleneck */
  double weight; /* the weight given by the user; 0: none */
} sample;

typedef struct chooser {
  const hd_front *front;
  const hd_bucket_options *options;
  const hd_device_model *ceilings;
  char dim;
  int32_t at; /* index of the dimension in size_mnk */
  bool estimates;
  sample sample[MAX_SAMPLES];
  hd_schedule candidate[MAX_CANDIDATES];
  double seconds[MAX_CANDIDATES][MAX_SAMPLES], loss[MAX_CANDIDATES][MAX_SAMPLES];
  int32_t n_samples, n_candidates;
} chooser;

char hd_bucket_dim(const hd_problem *p) { return !p->n.value ? 'n' : !p->m.value ? 'm' : 0; }

/* ---- candidates ---- */

static int32_t enter(chooser *c, const hd_schedule *s) {
  for (int32_t i = 0; i < c->n_candidates; i++)
    if (hd_schedule_equals(&c->candidate[i], s))
      return i;
  c->candidate[c->n_candidates] = *s;
  return c->n_candidates++;
}

static void sizes_at(const chooser *c, int64_t size, int64_t mnk[3]) {
  memcpy(mnk, c->options->hint_mnk, sizeof c->options->hint_mnk);
  mnk[c->at] = size;
}

/* The next size above `last` from the table, or from the user's sizes with its weight; 0: none.
 * Weights are relative to their mean. */
static int64_t next_size(const chooser *c, int64_t last, double *weight) {
  const hd_bucket_options *o = c->options;
  int64_t next = 0;
  double sum = 0;
  *weight = 0;
  for (size_t i = 0; i < HD_COUNT(sizes) && !next; i++)
    next = sizes[i] > last ? sizes[i] : 0;
  for (int32_t i = 0; i < o->n_typical; i++)
    sum += o->typical[i].weight;
  for (int32_t i = 0; i < o->n_typical; i++) {
    const hd_typical_size *t = &o->typical[i];
    if (t->size <= last || (next && t->size > next))
      continue;
    next = t->size;
    *weight = t->weight / sum * o->n_typical;
    break;
  }
  return next;
}

static heddle_status take_samples(heddle_context *ctx, chooser *c) {
  const hd_problem *p = &c->front->problem;
  const hd_size *range = c->dim == 'n' ? &p->n : &p->m;
  int64_t largest = hd_largest_size(p, c->dim);
  int64_t unit = range->divisible_by > 1 ? range->divisible_by : 1;
  double weight;
  for (int64_t size = 0; (size = next_size(c, size, &weight)) && c->n_samples < MAX_SAMPLES;) {
    sample *x = &c->sample[c->n_samples];
    int64_t mnk[3];
    hd_schedule s;
    x->size = (size + unit - 1) / unit * unit;
    bool again = c->n_samples && x->size <= x[-1].size;
    if (again || (largest && x->size > largest))
      continue;
    sizes_at(c, x->size, mnk);
    HD_TRY(hd_choose_for_sizes(ctx, c->front, c->options->tuned, mnk, NULL, &x->entry, &s));
    x->wish = enter(c, &s);
    x->weight = weight;
    hd_product exact = hd_product_of(p, mnk);
    if (x->entry && !hd_product_same_sizes(&x->entry->product, &exact))
      x->entry = NULL;
    c->n_samples++;
  }
  return HEDDLE_OK;
}

static void predict(chooser *c) {
  for (int32_t j = 0; j < c->n_samples; j++) {
    sample *x = &c->sample[j];
    int64_t mnk[3];
    sizes_at(c, x->size, mnk);
    for (int32_t i = 0; i < c->n_candidates; i++) {
      hd_cost cost = hd_schedule_cost(&c->front->problem, &c->candidate[i], mnk, c->ceilings);
      c->seconds[i][j] = cost.seconds;
      x->least = i == 0 || cost.seconds < x->least ? cost.seconds : x->least;
      x->near_power_cap |= i == x->wish && cost.near_power_cap;
      x->reads |= i == x->wish && cost.binds == HD_RESOURCE_DRAM;
    }
  }
}

/* ---- the cover ---- */

/* Powers of two, and three quarters of them, are much more common as batches than other sizes. If
 * the user gives sizes, these have the user's weights and all others a small weight. */
static double weight_of(const chooser *c, const sample *x) {
  enum { OTHERS = 100 };
  if (c->options->n_typical)
    return x->weight > 0 ? x->weight : 1.0 / OTHERS;
  int64_t odd = x->size;
  while (odd % 2 == 0)
    odd /= 2;
  return x->entry || odd == 1 ? 1 : odd == 3 ? 0.7 : 0.15;
}

/* What another tile costs beyond the prediction. The model is accurate where DRAM decides: each
 * tile reads A once. Elsewhere it is off by a few percent, most where the number of rows differs:
 * on an H200, for 8-bit 28672 x 4096 at N = 333, 256x128 takes 6 to 9 % longer than 128x192, where
 * the model predicts 1 %, and 256x184 3 % longer than 128x168, where it predicts 3 % less. Near the
 * power cap 256x192 and 128x256 sustain the same rate at N = 8192, but at the clock that other
 * launches leave, 256x192 takes 5 to 10 % longer. */
static double other_tile(const sample *x, bool common, bool same_rows) {
  if (common && x->near_power_cap)
    return 0.04;
  return x->reads ? 0 : same_rows ? 0.02 : 0.04;
}

/* The loss of a sample with another schedule than its own. The model is off by a few percent, so
 * that sizes which are common, measured, or not estimated by the model lose at least more than the
 * cost of a bucket. Another cluster size adds 6 %, another tile what other_tile says. Losses above
 * the tolerance have the highest weight, because users notice the worst size. */
static double loss_at(const chooser *c, int32_t candidate, int32_t j) {
  enum { STEEP = 24 };
  const double other_cluster = 0.06;
  const sample *x = &c->sample[j];
  if (candidate == x->wish)
    return 0;
  double off = c->seconds[candidate][j] / c->seconds[x->wish][j] - 1, weight = weight_of(c, x);
  bool common = weight == 1 || x->weight > 0;
  double least = x->entry        ? 80 * TOLERANCE
                 : !c->estimates ? 1.5 * TOLERANCE
                 : common        ? 15 * TOLERANCE
                 : weight > 0.5  ? 4 * TOLERANCE
                                 : 0;
  const hd_schedule *s = &c->candidate[candidate], *wish = &c->candidate[x->wish];
  bool same_tile = s->tile_m == wish->tile_m && s->tile_n == wish->tile_n;
  double tile = same_tile ? 0 : other_tile(x, common, s->tile_m == wish->tile_m);
  if (s->cluster != wish->cluster)
    off = fmax(off, 0) + other_cluster;
  if (tile > 0)
    off = fmax(off, 0) + tile;
  double steep = off > TOLERANCE ? STEEP : 1;
  return weight * fmax(steep * off, least);
}

static void find_losses(chooser *c) {
  for (int32_t i = 0; i < c->n_candidates; i++)
    for (int32_t j = 0; j < c->n_samples; j++)
      c->loss[i][j] = loss_at(c, i, j);
}

static double loss_of(const chooser *c, int32_t candidate, int32_t from, int32_t n) {
  double loss = 0;
  for (int32_t j = from; j < from + n; j++)
    loss += c->loss[candidate][j];
  return loss;
}

static int32_t best_for(const chooser *c, int32_t from, int32_t n) {
  int32_t best = c->sample[from].wish;
  for (int32_t i = 0; i < c->n_candidates; i++)
    if (loss_of(c, i, from, n) < loss_of(c, best, from, n))
      best = i;
  return best;
}

static void say_why(const chooser *c, int32_t candidate, int32_t from, int32_t n, hd_bucket *b) {
  double worst = 1;
  for (int32_t j = from; j < from + n; j++) {
    const sample *x = &c->sample[j];
    double off = c->seconds[candidate][j] / x->least;
    if (x->entry && candidate == x->wish) {
      snprintf(b->why, sizeof b->why, "measured at %c = %lld on %s", c->dim, (long long)x->size,
               x->entry->device);
      return;
    }
    worst = off > worst ? off : worst;
  }
  if (c->estimates)
    snprintf(b->why, sizeof b->why, "model, within %.1f %% of the best", 100 * (worst - 1));
  else
    snprintf(b->why, sizeof b->why, "default of these sizes");
}

static void push(const chooser *c, int32_t candidate, int32_t from, int32_t n,
                 hd_bucket_plan *plan) {
  hd_bucket *b = &plan->list[plan->n++];
  int32_t last = from + n - 1;
  *b = (hd_bucket){.to = last + 1 < c->n_samples ? c->sample[last].size : 0};
  b->words = hd_schedule_all_words(&c->candidate[candidate]);
  say_why(c, candidate, from, n, b);
}

/* Dynamic programming: the minimum loss of the first j samples in n buckets, where each bucket
 * costs TOLERANCE. */
typedef struct step {
  double loss;
  int32_t from; /* first sample of the last bucket */
} step;

static void cover(const chooser *c, int32_t most, hd_bucket_plan *plan) {
  static const step unset = {INFINITY, 0};
  step best[HD_MOST_BUCKETS + 1][MAX_SAMPLES + 1];
  int32_t n_buckets = 1, length[HD_MOST_BUCKETS];
  for (int32_t n = 0; n <= most; n++)
    for (int32_t j = 0; j <= c->n_samples; j++)
      best[n][j] = n + j == 0 ? (step){0} : unset;
  for (int32_t from = 0; from < c->n_samples; from++)
    for (int32_t j = from + 1; j <= c->n_samples; j++) {
      double loss = TOLERANCE + loss_of(c, best_for(c, from, j - from), from, j - from);
      for (int32_t n = 1; n <= most; n++)
        if (best[n - 1][from].loss + loss < best[n][j].loss)
          best[n][j] = (step){best[n - 1][from].loss + loss, from};
    }
  for (int32_t n = 2; n <= most; n++)
    if (best[n][c->n_samples].loss < best[n_buckets][c->n_samples].loss)
      n_buckets = n;
  for (int32_t n = n_buckets, j = c->n_samples; n > 0; j = best[n--][j].from)
    length[n - 1] = j - best[n][j].from;
  for (int32_t n = 0, from = 0; n < n_buckets; from += length[n++])
    push(c, best_for(c, from, length[n]), from, length[n], plan);
}

/* Uses the user's limits. A range without a sample gets the schedule of the first sample above. */
static void cover_borders(const chooser *c, hd_bucket_plan *plan) {
  const int64_t *border = c->options->border;
  for (int32_t i = 0, from = 0; i <= c->options->n_borders; i++) {
    bool is_last = i == c->options->n_borders;
    int32_t n = 0, first = from < c->n_samples ? from : c->n_samples - 1;
    while (from + n < c->n_samples && (is_last || c->sample[from + n].size <= border[i]))
      n++;
    push(c, best_for(c, first, n ? n : 1), first, n ? n : 1, plan);
    plan->list[plan->n - 1].to = is_last ? 0 : border[i];
    from += n;
  }
}

heddle_status hd_bucket_choose(heddle_context *ctx, const hd_front *front,
                               const hd_bucket_options *options, hd_bucket_plan *plan) {
  static const hd_bucket_options defaults = {0};
  chooser *c = hd_try_zalloc(ctx, sizeof *c, "buckets");
  if (!c)
    return HEDDLE_NO_MEMORY;
  c->front = front;
  c->options = options ? options : &defaults;
  c->ceilings = c->options->tuned ? hd_tuned_ceilings(c->options->tuned)
                                  : hd_device_model_of(front->problem.target);
  c->dim = hd_bucket_dim(&front->problem);
  c->at = c->dim == 'n';
  c->estimates = hd_cost_is_estimate(&front->problem);
  int32_t most = c->options->most ? c->options->most : HD_MOST_BUCKETS;
  hd_bucket_plan made = {.dim = {c->dim, 0}};
  heddle_status status = c->dim ? take_samples(ctx, c)
                                : hd_error(ctx, HEDDLE_INVALID, front->problem.kernel->loc,
                                           "schedule.buckets",
                                           "got only fixed sizes; legal: n or m known only at "
                                           "launch");
  if (status == HEDDLE_OK) {
    predict(c);
    find_losses(c);
  }
  if (status == HEDDLE_OK && c->options->border)
    cover_borders(c, &made);
  else if (status == HEDDLE_OK)
    cover(c, most, &made);
  hd_free(c);
  if (status == HEDDLE_OK)
    *plan = made;
  return status;
}
