/* The last race of a product: it makes the choice. Interleaved: the fastest of the search against
 * the default, 9 rounds. Of a large product alone: the power cap makes the choice there, so the
 * fastest run beside those that may only save energy, each by itself after power and clock have
 * come to rest; those near the best once more, in the opposite order. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Tune/tune_session.h"

enum { TURN_ROUNDS = 9, TURN_FINALISTS = 6, ALONE_ROUNDS = 2 };
static const double TURNS_S = 120;      /* deadline of the interleaved race */
static const double SAVING = 0.97;      /* of the promise, for each way to save energy */
static const double NEAR = 1.02;        /* over the best: a second turn alone is worth having */

/* ---- who comes into it ---- */

static bool has_come(const hd_product_session *c, size_t entry) {
  for (int32_t i = 0; i < c->n_finalists; i++)
    if (c->finalist[i].entry == entry)
      return true;
  return false;
}

/* At most `most`, the default not counted. */
static void add_finalist(hd_product_session *c, size_t entry, int32_t most) {
  bool always = entry == c->usual || entry == c->incumbent;
  int32_t n = c->n_finalists - has_come(c, c->usual) -
              (c->incumbent != c->usual && has_come(c, c->incumbent));
  if (!has_come(c, entry) && (always || n < most) && c->n_finalists < HD_MOST_FINALISTS)
    c->finalist[c->n_finalists++] = (hd_finalist){.entry = entry};
}

/* The default, which the search need not have looked at, unless it cannot be; then the `fastest`
 * others of those that were measured. */
static void add_fastest(hd_product_session *c, const hd_search *search, int32_t fastest,
                        int32_t most) {
  const hd_search_item *list = search->list;
  double above = 0;
  if (c->usual < c->n && (list[c->usual].measured > 0 ||
                          c->entries[c->usual].state == HD_STATE_WAITING))
    add_finalist(c, c->usual, most);
  if (c->incumbent < c->n && (list[c->incumbent].measured > 0 ||
                              c->entries[c->incumbent].state == HD_STATE_WAITING))
    add_finalist(c, c->incumbent, most);
  for (int32_t i = 0; i < fastest; i++) {
    size_t best = c->n;
    for (size_t j = 0; j < c->n; j++)
      if (j != c->usual && list[j].measured > above &&
          (best == c->n || list[j].measured < list[best].measured))
        best = j;
    if (best == c->n)
      return;
    above = list[best].measured;
    add_finalist(c, best, most);
  }
}

/* The same work in another order, with another partner, other waits or other stores, which may cost
 * stages: hardly another time, but other energy. */
static bool is_twin(const hd_schedule *x, const hd_schedule *y) {
  hd_schedule s = *x;
  s.k_order = y->k_order;
  s.multicast = y->multicast;
  s.store = y->store;
  s.cluster = y->cluster;
  s.raster_group = y->raster_group;
  s.stages = y->stages;
  s.wgmma_in_flight = y->wgmma_in_flight;
  return hd_schedule_equals(&s, y);
}

/* The ways of moving fewer bytes, or of moving them beside the products, that it takes: the model
 * is of time and knows none. H200, 8192³ alone: multicast 2 %, staged stores 1 %, the two orders
 * 0.6 %. */
static int32_t savings(const hd_schedule *s) {
  return (s->k_order == HD_K_ZIGZAG) + (s->store == HD_STORE_STAGED) + (s->raster_group >= 16) +
         (s->cluster > 1 && s->multicast == HD_MULTICAST_B);
}

/* Of those that are so to x, at most `more`: what promises most first. */
static void add_such(hd_product_session *c, bool (*is)(const hd_schedule *x, const hd_schedule *y),
                     const hd_schedule *x, int32_t more, int32_t most) {
  for (size_t best = 0; more-- > 0 && best < c->n;) {
    double least = INFINITY;
    best = c->n;
    for (size_t i = 0; i < c->n; i++) {
      double promise =
          hd_search_promise(&c->search, i) * pow(SAVING, savings(&c->entries[i].schedule));
      if (promise < least && !has_come(c, i) && is(x, &c->entries[i].schedule)) {
        least = promise;
        best = i;
      }
    }
    if (best < c->n)
      add_finalist(c, best, most);
  }
}

/* The fastest that was measured; of a tile, if one is given, and if none of it was measured, what
 * promises most of it. */
static size_t likeliest(const hd_product_session *c, const int32_t tile[2]) {
  double least = INFINITY;
  bool known = false;
  size_t best = c->n;
  for (size_t i = 0; i < c->n; i++) {
    const hd_schedule *s = &c->entries[i].schedule;
    double measured = c->search.list[i].measured;
    double seconds = measured > 0 ? measured : hd_search_promise(&c->search, i);
    if ((tile && (s->tile_m != tile[0] || s->tile_n != tile[1])) || (known && !(measured > 0)))
      continue;
    if (seconds < least || (!known && measured > 0)) {
      least = seconds;
      best = i;
    }
    known |= measured > 0;
  }
  return best;
}

/* The first two; the thriftiest twins of the fastest, and of the two tiles that move least for
 * their size; as many more as there is room for. */
static void pick_alone(hd_product_session *c) {
  static const int32_t wide[][2] = {{128, 256}, {256, 192}};
  int32_t most = c->o->n_finalists ? c->o->n_finalists : HD_ALONE_FINALISTS;
  size_t first = likeliest(c, NULL);
  if (first == c->n || !(c->search.list[first].measured > 0))
    return;
  add_fastest(c, &c->search, 2, most);
  for (size_t i = 0; i < HD_COUNT(wide); i++) {
    size_t at = likeliest(c, wide[i]);
    if (at < c->n)
      add_such(c, is_twin, &c->entries[at].schedule, most / 4, most);
  }
  add_such(c, is_twin, &c->entries[first].schedule, most / 4, most);
  add_fastest(c, &c->search, most, most);
}

/* What the search would have measured, with what the records hold. */
static void replay_search(hd_product_session *c, int32_t most) {
  hd_search replay = hd_search_fresh(&c->search);
  c->n_searched = hd_search_share((int64_t)c->n);
  for (int64_t k = 0; k < c->n_searched; k++) {
    size_t i = k == 0 && c->usual < c->n ? c->usual : hd_search_next(&replay);
    replay.list[i].taken = true;
    if (c->search.list[i].measured > 0)
      hd_search_learn(&replay, i, c->search.list[i].measured);
  }
  add_fastest(c, &replay, most, most);
  c->n_replayed = c->n_finalists;
  hd_search_free(&replay);
}

static void pick_turns(hd_product_session *c) {
  int32_t most = c->o->n_finalists ? c->o->n_finalists : TURN_FINALISTS;
  if (c->o->compare)
    replay_search(c, most);
  add_fastest(c, &c->search, most, 2 * most);
}

bool hd_final_begin(hd_product_session *c) {
  bool alone = hd_product_session_is_alone(c->o, c->product);
  c->n_finalists = c->round = c->turn = 0;
  if (alone)
    pick_alone(c);
  else
    pick_turns(c);
  c->phase = alone ? HD_PHASE_ALONE : HD_PHASE_TURNS;
  bool in_time = !alone || hd_clock_seconds() + c->n_finalists * HD_ALONE_S < c->session->until;
  return c->n_finalists > 0 && in_time;
}

/* ---- choosing ---- */

/* Those with right results and as many rounds as the others: what a choice is made of. */
static hd_tune_race race_of(const hd_product_session *c) {
  hd_tune_race race = {.alone = c->phase == HD_PHASE_ALONE, .n_rounds = HD_MOST_ROUNDS};
  for (int32_t i = 0; i < c->n_finalists; i++) {
    const hd_finalist *f = &c->finalist[i];
    const hd_entry *e = &c->entries[f->entry];
    if (f->record.verdict != HD_VERDICT_OK || f->n_rounds == 0)
      continue;
    race.n_rounds = f->n_rounds < race.n_rounds ? f->n_rounds : race.n_rounds;
    race.list[race.n++] =
        (hd_tune_contender){.schedule = e->text,
                            .cubin = *f->record.cubin ? f->record.cubin : e->cubin,
                            .is_default = f->entry == c->usual,
                            .is_incumbent = f->entry == c->incumbent,
                            .predicted = f->record.predicted,
                            .error = f->record.error > 0 ? f->record.error : e->error,
                            .rounds = f->rounds};
  }
  return race;
}

/* The figure that the race was for. */
static double figure(const hd_product_session *c, const hd_finalist *f) {
  return c->phase == HD_PHASE_ALONE ? f->record.sustained : f->record.median;
}

static hd_tune_contest contest_of(const hd_product_session *c, const hd_finalist *best) {
  const hd_finalist *own = c->finalist;
  for (int32_t i = 1; i < c->n_replayed; i++)
    if (c->finalist[i].record.median < own->record.median)
      own = &c->finalist[i];
  const hd_record *b = &best->record;
  return (hd_tune_contest){.chosen = own->record.schedule,
                           .best = b->schedule,
                           .chosen_seconds = own->record.median,
                           .best_seconds = b->median,
                           .noise = (b->max - b->min) / b->median,
                           .n_searched = c->n_searched};
}

static heddle_status record_all(heddle_context *ctx, hd_product_session *c) {
  for (int32_t i = 0; i < c->n_finalists; i++) {
    hd_record *r = &c->finalist[i].record;
    r->final = true;
    if (r->verdict == HD_VERDICT_OK) /* a fault is recorded when it comes */
      HD_TRY(hd_records_add(ctx, c->o->records, r));
  }
  return HEDDLE_OK;
}

static heddle_status choose(heddle_context *ctx, hd_product_session *c, const hd_finalist *best) {
  const hd_finalist *first = &c->finalist[0];
  bool has_default = first->entry == c->usual && first->record.verdict == HD_VERDICT_OK;
  HD_TRY(record_all(ctx, c));
  hd_choice choice = {.product = c->name,
                      .schedule = best->record.schedule,
                      .default_schedule = c->entries[c->usual < c->n ? c->usual : 0].text,
                      .device = "",
                      .seconds = best->record.median,
                      .default_seconds = has_default ? first->record.median : 0,
                      .sustained = best->record.sustained,
                      .default_sustained = has_default ? first->record.sustained : 0,
                      .n_legal = (int64_t)c->n,
                      .n_measured = c->n_measured};
  HD_TRY(hd_records_choose(ctx, c->o->records, &choice));
  hd_tune_contest contest = contest_of(c, best);
  hd_tune_race race = race_of(c);
  c->chosen = true;
  c->event.contest = c->o->compare ? &contest : NULL;
  c->phase = HD_PHASE_OVER;
  c->event.race = &race;
  hd_product_session_tell(c, NULL, &choice);
  c->event.race = NULL;
  c->event.contest = NULL;
  return HEDDLE_OK;
}

/* The least figure among those with as many turns as any; none: no choice, and the next run tries
 * again. */
static heddle_status conclude(heddle_context *ctx, hd_product_session *c) {
  const hd_finalist *best = NULL;
  for (int32_t i = 0; i < c->n_finalists; i++) {
    const hd_finalist *f = &c->finalist[i];
    if (!f->out && (!best || figure(c, f) < figure(c, best)))
      best = f;
  }
  if (best)
    return choose(ctx, c, best);
  c->phase = HD_PHASE_OVER;
  hd_warning(ctx, HD_NOWHERE, "tune.final", "%s: all of %d finalists failed", c->name,
             c->n_finalists);
  return record_all(ctx, c);
}

/* ---- interleaved ---- */

/* The words after the figures: " rounds=" those of the first, then of the next, " cubins="
 * likewise. A worker that does not say them had one round. */
static void read_rounds(hd_product_session *c, const char *line) {
  double all[HD_MOST_FINALISTS * HD_MOST_ROUNDS];
  char cubins[HD_MOST_FINALISTS * 33] = "";
  int32_t n = hd_answer_figures(line, "rounds", all, (int32_t)HD_COUNT(all));
  int32_t each = n / c->n_finalists <= HD_MOST_ROUNDS ? n / c->n_finalists : 0;
  hd_answer_word(line, "cubins", cubins, sizeof cubins);
  const char *cubin = cubins;
  for (int32_t i = 0; i < c->n_finalists; i++) {
    hd_finalist *f = &c->finalist[i];
    f->n_rounds = each ? each : 1;
    f->rounds[0] = f->record.median;
    if (each)
      memcpy(f->rounds, all + (size_t)i * (size_t)each, sizeof *all * (size_t)each);
    size_t len = strcspn(cubin, ",");
    snprintf(f->record.cubin, sizeof f->record.cubin, "%.*s", (int)len, cubin);
    cubin += len + (cubin[len] == ',');
  }
}

/* "final MEDIAN MIN MAX …" in the order asked for; false when it is anything else. */
static bool read_turns(hd_product_session *c, const char *line) {
  const char *whole = line;
  int at = 0;
  if (strncmp(line, "final", 5) != 0)
    return false;
  line += 5;
  for (int32_t i = 0; i < c->n_finalists; i++, line += at) {
    size_t entry = c->finalist[i].entry;
    hd_record r = {.product = c->name,
                   .schedule = c->entries[entry].text,
                   .predicted = hd_product_session_predicted(c, entry)};
    if (sscanf(line, "%lf %lf %lf%n", &r.median, &r.min, &r.max, &at) != 3 || !(r.median > 0))
      return false;
    c->finalist[i].record = r;
  }
  read_rounds(c, whole);
  return true;
}

/* A race that fails leaves the product without a choice: the next run tries again. */
static heddle_status heard_turns(heddle_context *ctx, hd_product_session *c,
                                 const hd_worker_event *event) {
  const char *line = hd_strbuf_text(&event->line);
  if (event->kind == HD_WORKER_LINE && read_turns(c, line))
    return conclude(ctx, c);
  c->phase = HD_PHASE_OVER;
  hd_workers_distrust(c->workers);
  hd_warning(ctx, HD_NOWHERE, "tune.final", "%s: the final race failed: %s", c->name, line);
  return HEDDLE_OK;
}

/* ---- alone ---- */

/* The second round goes backwards, so that a drift of the device falls on all alike. */
static hd_finalist *whose_turn(hd_product_session *c) {
  return &c->finalist[c->round ? c->n_finalists - 1 - c->turn : c->turn];
}

/* Who is far from the best has no second turn; nor has one alone. */
static void leave_the_near(hd_product_session *c) {
  double best = INFINITY;
  int32_t n_near = 0;
  for (int32_t i = 0; i < c->n_finalists; i++)
    if (!c->finalist[i].out)
      best = fmin(best, c->finalist[i].record.sustained);
  for (int32_t i = 0; i < c->n_finalists; i++) {
    hd_finalist *f = &c->finalist[i];
    f->out |= !(f->record.sustained <= best * NEAR);
    n_near += !f->out;
  }
  if (n_near < 2)
    c->round = ALONE_ROUNDS;
}

/* To the next that has a turn; ROUNDS when the race is over. */
static void advance(hd_product_session *c) {
  do {
    if (++c->turn < c->n_finalists)
      continue;
    c->turn = 0;
    if (++c->round == 1)
      leave_the_near(c);
  } while (c->round < ALONE_ROUNDS && whose_turn(c)->out);
}

/* A repeated turn leaves the mean. */
static void take_turn(hd_finalist *f, const hd_record *r, const char *line) {
  double n = f->n_turns++, window[HD_ALONE_WINDOWS] = {0};
  int32_t n_windows = hd_answer_figures(line, "windows", window, HD_ALONE_WINDOWS);
  window[0] = n_windows ? window[0] : r->sustained;
  f->n_rounds = n_windows ? n_windows : 1;
  for (int32_t i = 0; i < f->n_rounds; i++)
    f->rounds[i] = (f->rounds[i] * n + window[i]) / (n + 1);
  double sustained = (f->record.sustained * n + r->sustained) / (n + 1);
  f->record = *r;
  f->record.sustained = sustained;
  f->out = r->verdict != HD_VERDICT_OK || !(r->sustained > 0);
}

static heddle_status heard_alone(heddle_context *ctx, hd_product_session *c,
                                 const hd_worker_event *event) {
  hd_finalist *f = whose_turn(c);
  hd_record r = hd_product_session_heard(c, f->entry, event);
  r.final = true;
  c->n_lost += hd_verdict_is_loss(r.verdict);
  take_turn(f, &r, hd_strbuf_text(&event->line));
  if (r.verdict != HD_VERDICT_OK)
    HD_TRY(hd_records_add(ctx, c->o->records, &r));
  f->record.why = NULL; /* the event do not live as long */
  hd_product_session_tell(c, &r, NULL);
  advance(c);
  return c->round < ALONE_ROUNDS ? HEDDLE_OK : conclude(ctx, c);
}

/* ---- the race ---- */

void hd_final_ask(hd_product_session *c) {
  if (c->phase != HD_PHASE_TURNS) {
    hd_workers_measure(c->workers, HD_ENTRY_ALONE, c->entries[whose_turn(c)->entry].text,
                       c->session->deadline + HD_ALONE_S);
    return;
  }
  hd_strbuf request = {0};
  hd_strbuf_printf(&request, "%d", TURN_ROUNDS);
  for (int32_t i = 0; i < c->n_finalists; i++)
    hd_strbuf_printf(&request, "\t%s", c->entries[c->finalist[i].entry].text);
  hd_workers_measure(c->workers, HD_ENTRY_FINAL, hd_strbuf_text(&request), TURNS_S);
  hd_strbuf_free(&request);
}

heddle_status hd_final_heard(heddle_context *ctx, hd_product_session *c,
                             const hd_worker_event *event) {
  return event->entry == HD_ENTRY_FINAL ? heard_turns(ctx, c, event) : heard_alone(ctx, c, event);
}
