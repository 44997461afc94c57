#include "Tune/tune_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Schedule/cost.h"
#include "Support/file.h"

bool hd_product_session_is_alone(const hd_tune_options *o, const hd_product *product) {
  return hd_measure_is_large(product->n) && !o->compare && !o->no_sustained;
}

bool hd_product_session_time_is_up(const hd_product_session *c) {
  return hd_clock_seconds() > c->session->until;
}

/* ---- telling ---- */

/* Of all products, at the pace so far: those to come count as this one, their races as they are. */
static double left_seconds(const hd_product_session *c) {
  const hd_session *s = c->session;
  double pace = (hd_clock_seconds() - s->begun_at) / (double)(s->n_fresh ? s->n_fresh : 1);
  int64_t left = c->n_wanted - c->n_measured + (s->n - 1 - c->event.product_index) * c->n_wanted;
  int32_t n_alone = c->o->n_finalists ? c->o->n_finalists : HD_ALONE_FINALISTS;
  double races = 0;
  for (int32_t i = c->event.product_index + (c->phase == HD_PHASE_OVER); i < s->n; i++)
    if (hd_product_session_is_alone(c->o, &s->list[i]))
      races += 1.5 * HD_ALONE_S * (1 + n_alone); /* half of them twice */
  return (left > 0 ? pace * (double)left : 0) + races;
}

void hd_product_session_tell(hd_product_session *c, const hd_record *record,
                             const hd_choice *choice) {
  hd_tune_event *e = &c->event;
  e->record = record;
  e->choice = choice;
  e->n_legal = (int64_t)c->n;
  e->n_wanted = c->n_wanted;
  e->n_measured = c->n_measured;
  e->n_lost = c->n_lost;
  e->best = 0;
  for (size_t i = 0; i < c->n; i++) {
    double measured = c->search.list[i].measured;
    if (measured > 0 && (e->best == 0 || measured < e->best))
      e->best = measured;
  }
  e->left_seconds = left_seconds(c);
  e->n_alone = c->phase == HD_PHASE_ALONE ? c->n_finalists : 0;
  e->round = c->round;
  e->turn = c->turn;
  if (c->o->tell && !c->o->tell(c->o->user, e))
    c->session->until = 0;
}

/* ---- answers ---- */

void hd_answer_word(const char *line, const char *word, char *out, size_t cap) {
  size_t len = strlen(word);
  out[0] = '\0';
  for (const char *at = line; (at = strchr(at, ' '));)
    if (strncmp(++at, word, len) == 0 && at[len] == '=') {
      snprintf(out, cap, "%.*s", (int)strcspn(at + len + 1, " "), at + len + 1);
      return;
    }
}

int32_t hd_answer_figures(const char *line, const char *word, double *out, int32_t most) {
  size_t len = strlen(word);
  for (const char *at = line; (at = strchr(at, ' '));)
    if (strncmp(++at, word, len) == 0 && at[len] == '=') {
      int32_t n = 0;
      at += len + 1;
      for (char *end; n < most && (out[n] = strtod(at, &end), end != at); n++)
        at = end + (*end == ',');
      return n;
    }
  return 0;
}

/* "VERDICT why", or "ok MEDIAN MIN MAX ERROR WATTS MHZ [SUSTAINED] [WORD=VALUE...]". */
static void read_answer(const char *line, hd_record *r) {
  char word[16] = "";
  sscanf(line, "%15s", word);
  r->why = line + strlen(word);
  r->why += *r->why == ' ';
  if (!hd_verdict_parse(word, &r->verdict)) {
    r->why = line;
    return;
  }
  if (r->verdict != HD_VERDICT_OK)
    return;
  int got = sscanf(r->why, "%lf %lf %lf %lf %lf %d %lf", &r->median, &r->min, &r->max, &r->error,
                   &r->power_w, &r->sm_mhz, &r->sustained);
  if (got < 1 || !(r->median > 0)) {
    r->verdict = HD_VERDICT_FAILED;
    r->why = line;
    return;
  }
  char throttle[24], celsius[16];
  hd_answer_word(line, "cubin", r->cubin, sizeof r->cubin);
  hd_answer_word(line, "throttle", throttle, sizeof throttle);
  hd_answer_word(line, "celsius", celsius, sizeof celsius);
  r->throttle = strtoull(throttle, NULL, 0);
  r->temperature_c = (int32_t)strtol(celsius, NULL, 10);
  r->why = "";
}

double hd_product_session_predicted(const hd_product_session *c, size_t entry) {
  return hd_cost_is_estimate(&c->front.problem) ? c->search.list[entry].predicted : 0;
}

hd_record hd_product_session_heard(hd_product_session *c, size_t entry,
                                   const hd_worker_event *event) {
  hd_record r = {.product = c->name,
                 .schedule = c->entries[entry].text,
                 .verdict = HD_VERDICT_FAILED,
                 .why = hd_strbuf_text(&event->line),
                 .predicted = hd_product_session_predicted(c, entry)};
  if (event->kind == HD_WORKER_LINE)
    read_answer(hd_strbuf_text(&event->line), &r);
  else
    r.verdict = event->kind == HD_WORKER_HANG ? HD_VERDICT_HANG : HD_VERDICT_CRASH;
  /* A CUDA error is sticky, and a wrong kernel may have written anywhere. */
  if (r.verdict == HD_VERDICT_FAILED || r.verdict == HD_VERDICT_WRONG)
    hd_workers_distrust(c->workers);
  return r;
}
