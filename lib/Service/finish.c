/* Finishing a job. The race and the choice that follows from it are stored in one transaction. */
#include <math.h>
#include <string.h>

#include "Service/decide.h"
#include "Service/service_state.h"

/* The state of a finish request. */
typedef struct ending {
  hd_request *r;
  hd_rows lease; /* lease_get */
  hd_subject of;
  const char *device, *build, *outcome;
  const json_t *race; /* of outcome "done" */
  json_t *head;       /* owned: the current choice; NULL: none */
} ending;

/* ---- the body ---- */

static bool race_is_whole(hd_request *r, const json_t *race) {
  const json_t *list = json_object_get(race, "contenders");
  size_t n_rounds = 0, n_defaults = 0;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *c = json_array_get(list, i);
    size_t n = json_array_size(json_object_get(c, "rounds_us"));
    n_defaults += strcmp(hd_text_of(c, "role", ""), "default") == 0;
    if (i > 0 && n != n_rounds)
      return hd_refuse(r, HD_RULE_RACE_ROUNDS,
                       hd_arena_printf(&r->arena, "race.contenders[%zu].rounds_us", i),
                       hd_arena_printf(&r->arena, "%zu rounds", n),
                       hd_arena_printf(&r->arena, "%zu, as the first one has", n_rounds), NULL);
    n_rounds = n;
  }
  return n_defaults == 1 ||
         hd_refuse(r, HD_RULE_RACE_DEFAULT, "race.contenders",
                   hd_arena_printf(&r->arena, "%zu defaults", n_defaults), "one", NULL);
}

static bool body_is_whole(hd_request *r) {
  static const char *const needs[][2] = {{"done", "race"}, {"carried", "cubin"}, {"failed", "why"}};
  const char *outcome = hd_text_of(r->body, "outcome", "");
  for (size_t i = 0; i < HD_COUNT(needs); i++)
    if (strcmp(needs[i][0], outcome) == 0 && !json_object_get(r->body, needs[i][1]))
      return hd_refuse(r, HD_RULE_RACE_MISSING, needs[i][1], NULL,
                       hd_arena_printf(&r->arena, "outcome %s with %s", outcome, needs[i][1]),
                       NULL);
  const json_t *race = json_object_get(r->body, "race");
  return !race || race_is_whole(r, race);
}

/* ---- answers ---- */

static bool read_head(ending *e) {
  hd_rows rows;
  json_decref(e->head);
  e->head = NULL;
  if (!hd_head_get(e->r, &e->of, &rows))
    return false;
  e->head = rows.n ? hd_row_json(&rows, 0) : NULL;
  return true;
}

static void answer(ending *e, const char *state, const char *decision, const char *suspect) {
  if (!read_head(e))
    return;
  json_t *out = json_pack("{sI, ss}", "job", (json_int_t)e->r->job, "state", state);
  if (decision)
    json_object_set_new(out, "decision", json_string(decision));
  if (suspect)
    json_object_set_new(out, "suspect", json_string(suspect));
  if (e->head)
    json_object_set(out, "choice", e->head);
  hd_answer_json(e->r, 200, out);
}

/* The lease has already finished the job: repeats the answer. */
static void answer_again(ending *e) {
  hd_rows race;
  if (HD_RUN(e->r, race_get, &race, "i", e->r->lease))
    answer(e, hd_cell_text(&e->lease, 0, HD_LEASE_STATE), race.n ? hd_cell_text(&race, 0, 1) : NULL,
           race.n ? hd_cell(&race, 0, 0) : NULL);
}

/* ---- canaries ---- */

static hd_canary_figures canaries_of(const json_t *body) {
  const json_t *begin = json_object_get(body, "begin"), *end = json_object_get(body, "end");
  return (hd_canary_figures){{hd_num_of(begin, "read_us"), hd_num_of(begin, "kernel_us"),
                              hd_num_of(end, "read_us"), hd_num_of(end, "kernel_us")}};
}

/* Checks whether the race is suspect. *why: the reason, or NULL. */
static bool examine(ending *e, const char **why) {
  hd_request *r = e->r;
  hd_canary_figures now = canaries_of(r->body), *history;
  char text[200];
  hd_rows rows;
  if (!HD_RUN(r, canaries, &rows, "t", e->device))
    return false;
  history = HD_NEW_ARRAY(&r->arena, hd_canary_figures, rows.n + 1);
  for (int i = 0; i < rows.n; i++)
    for (int k = 0; k < 4; k++)
      history[i].us[k] = hd_cell(&rows, i, k) ? hd_cell_num(&rows, i, k) : (double)NAN;
  bool suspect = hd_race_is_suspect(&now, history, rows.n, hd_int_of(r->body, "throttle", 0), text,
                                    sizeof text);
  *why = suspect ? hd_arena_strdup(&r->arena, text) : NULL;
  return true;
}

static bool keep_canaries(ending *e) {
  hd_canary_figures c = canaries_of(e->r->body);
  hd_rows rows;
  return !json_object_get(e->r->body, "begin") ||
         HD_RUN(e->r, canary_add, &rows, "itdddd", e->r->lease, e->device, c.us[0], c.us[1],
                c.us[2], c.us[3]);
}

/* ---- the choice ---- */

static bool next_version(ending *e, int64_t *version, int64_t *serial) {
  return hd_serial_take(e->r, serial) && hd_version_next(e->r, &e->of, version);
}

static bool keep_race(ending *e, const char *suspect, const char *decision, int64_t version,
                      int64_t serial) {
  const json_t *b = e->r->body;
  hd_rows rows;
  return HD_RUN(e->r, race_add, &rows, "itttttttiiiiiij", e->r->lease, e->of.product, e->of.class,
                e->of.policy, e->device, e->build, suspect, decision,
                hd_int_of(e->head, "version", 0), version, serial, hd_int_of(b, "n_legal", 0),
                hd_int_of(b, "n_measured", 0), hd_int_of(b, "throttle", 0), e->race);
}

static bool add_choice(ending *e, const hd_race_figures *f, int chosen, int64_t version) {
  const hd_contender_figures *c = &f->list[chosen], *first = &f->list[f->first];
  hd_rows rows;
  json_t *environment = json_loads(hd_cell_text(&e->lease, 0, HD_LEASE_ENVIRONMENT), 0, NULL);
  const json_t *device = json_object_get(environment, "device");
  bool ok = HD_RUN(e->r, choice_add, &rows, "tttittddtttttit", e->of.product, e->of.class,
                   e->of.policy, version, c->schedule, first->schedule, c->median, first->median,
                   hd_text_of(e->race, "mode", ""), hd_text_of(device, "name", ""),
                   hd_text_of(device, "driver", NULL), e->build, c->cubin, e->r->lease, "race");
  json_decref(environment);
  return ok;
}

static bool decide(ending *e, const char **decision) {
  hd_race_figures f;
  int64_t version, serial;
  hd_rows rejected; /* schedules, before the serial */
  if (!next_version(e, &version, &serial) || !read_head(e) ||
      !HD_RUN(e->r, rejections, &rejected, "ttti", e->of.product, e->of.class, e->of.policy,
              serial))
    return false;
  hd_race_read(e->race, &f);
  int chosen = hd_race_decide(&f, hd_text_of(e->head, "schedule", NULL), rejected.cell, rejected.n);
  bool same = e->head &&
              strcmp(hd_text_of(e->head, "schedule", ""), f.list[chosen].schedule) == 0 &&
              strcmp(hd_text_of(e->head, "build", ""), e->build) == 0;
  *decision = hd_int_of(e->head, "pinned", 0) ? "pinned" : same ? "kept" : "new";
  bool is_new = strcmp(*decision, "new") == 0;
  if (!keep_race(e, NULL, *decision, is_new ? version : 0, serial))
    return false;
  if (!is_new)
    return true;
  return add_choice(e, &f, chosen, version) && hd_head_set(e->r, &e->of, version, serial, false) &&
         hd_event(e->r, "chosen", e->r->job, e->r->lease,
                  "%s on %s: version %lld, %.4g us, default %.4g us", e->of.product, e->of.class,
                  (long long)version, f.list[chosen].median, f.list[f.first].median);
}

/* ---- the three outcomes ---- */

static bool end_job(ending *e, const char *state, const char *why) {
  hd_rows rows;
  return HD_RUN(e->r, job_end, &rows, "itt", e->r->job, state, why);
}

static void finish_suspect(ending *e, const char *why) {
  const char *state;
  hd_rows rows;
  if (!read_head(e) || !HD_RUN(e->r, serial_get, &rows, "") ||
      !keep_race(e, why, "suspect", 0, hd_cell_int(&rows, 0, 0)) || !keep_canaries(e) ||
      !hd_lease_put_back(e->r, e->r->job, e->r->lease,
                         hd_arena_printf(&e->r->arena, "the race is suspect: %s", why), &state))
    return;
  answer(e, state, "suspect", why);
}

static void finish_done(ending *e) {
  const char *decision;
  if (end_job(e, "done", NULL) && keep_canaries(e) && decide(e, &decision))
    answer(e, "done", decision, NULL);
}

static void finish_carried(ending *e) {
  hd_request *r = e->r;
  int64_t version, serial;
  const char *cubin = hd_text_of(r->body, "cubin", "");
  if (!end_job(e, "done", NULL) || !next_version(e, &version, &serial) || !read_head(e))
    return;
  if (!e->head || !*cubin || strcmp(hd_text_of(e->head, "cubin", ""), cubin) != 0) {
    hd_refuse(r, HD_RULE_RACE_MISSING, "cubin", cubin, "that of the current choice",
              hd_text_of(e->head, "cubin", NULL));
    return;
  }
  if (strcmp(hd_text_of(e->head, "build", ""), e->build) != 0 &&
      (!hd_version_copy(r, &e->of, hd_int_of(e->head, "version", 0), version, "carried",
                        e->build) ||
       !hd_head_set(r, &e->of, version, serial, hd_int_of(e->head, "pinned", 0)) ||
       !hd_event(r, "carried", r->job, r->lease, "%s on %s: version %lld for build %s",
                 e->of.product, e->of.class, (long long)version, e->build)))
    return;
  r->wakes_choices = true;
  answer(e, "done", "carried", NULL);
}

static void finish_failed(ending *e) {
  const char *why = hd_text_of(e->r->body, "why", "");
  if (end_job(e, "failed", why) && hd_event(e->r, "failed", e->r->job, e->r->lease, "%s on %s: %s",
                                            e->of.product, e->of.class, why))
    answer(e, "failed", NULL, NULL);
}

/* ---- finish ---- */

static bool ended_by_finish(const char *how) {
  static const char *const ends[] = {"done", "carried", "failed", "suspect"};
  for (size_t i = 0; i < HD_COUNT(ends); i++)
    if (strcmp(ends[i], how) == 0)
      return true;
  return false;
}

static bool measurements_are_there(hd_request *r) {
  int64_t wanted = hd_int_of(r->body, "measurements", 0);
  hd_rows rows;
  if (!wanted)
    return true;
  if (!HD_RUN(r, measurement_count, &rows, "i", r->path[0]))
    return false;
  return hd_cell_int(&rows, 0, 0) >= wanted ||
         hd_refuse(r, HD_RULE_FINISH_EARLY, "measurements",
                   hd_arena_printf(&r->arena, "%s stored", hd_cell_text(&rows, 0, 0)),
                   hd_arena_printf(&r->arena, "%lld", (long long)wanted), NULL);
}

static void finish(ending *e) {
  hd_request *r = e->r;
  hd_rows rows;
  const char *suspect = NULL, *note = hd_text_of(r->body, "note", NULL);
  bool done = strcmp(e->outcome, "done") == 0;
  if (ended_by_finish(hd_cell_text(&e->lease, 0, HD_LEASE_HOW))) {
    answer_again(e);
    return;
  }
  if (!measurements_are_there(r) || (done && !examine(e, &suspect)) ||
      !HD_RUN(r, lease_end, &rows, "it", r->lease, suspect ? "suspect" : e->outcome))
    return;
  if (!rows.n) {
    hd_lease_refuse_ended(r, &e->lease);
    return;
  }
  if (note && !hd_event(r, "note", r->job, r->lease, "%s", note))
    return;
  if (suspect)
    finish_suspect(e, suspect);
  else if (done)
    finish_done(e);
  else if (strcmp(e->outcome, "carried") == 0)
    finish_carried(e);
  else
    finish_failed(e);
}

void hd_route_finish(hd_request *r) {
  ending e = {.r = r};
  if (!body_is_whole(r) || !hd_begin(r) || !hd_lease_get(r, &e.lease))
    return;
  e.of = (hd_subject){hd_cell_text(&e.lease, 0, HD_LEASE_PRODUCT),
                      hd_cell_text(&e.lease, 0, HD_LEASE_CLASS),
                      hd_cell_text(&e.lease, 0, HD_LEASE_POLICY)};
  e.device = hd_cell_text(&e.lease, 0, HD_LEASE_DEVICE);
  e.build = hd_cell_text(&e.lease, 0, HD_LEASE_BUILD);
  e.outcome = hd_text_of(r->body, "outcome", "");
  e.race = json_object_get(r->body, "race");
  finish(&e);
  json_decref(e.head);
}

/* ---- replay ---- */

/* Columns of races_to_decide; the last two are the incumbent's and the chosen schedule. */
enum { RACE_LEASE, RACE_PRODUCT, RACE_CLASS, RACE_POLICY, RACE_DECISION };
enum { RACE_SERIAL = 7, RACE_BODY, RACE_INCUMBENT, RACE_CHOSEN };

static heddle_status check_again(heddle_context *ctx, hd_store *s, hd_arena *arena,
                                 const hd_rows *races, int i) {
  hd_race_figures f;
  hd_rows rejected = {0};
  json_t *race = json_loads(hd_cell_text(races, i, RACE_BODY), 0, NULL);
  if (hd_store_run(s, HD_Q_rejections, arena, &rejected, "ttti",
                   hd_cell_text(races, i, RACE_PRODUCT), hd_cell_text(races, i, RACE_CLASS),
                   hd_cell_text(races, i, RACE_POLICY),
                   hd_cell_int(races, i, RACE_SERIAL)) != HD_SQL_OK) {
    json_decref(race);
    return hd_store_failed(ctx, s);
  }
  hd_race_read(race, &f);
  int chosen = hd_race_decide(&f, hd_cell(races, i, RACE_INCUMBENT), rejected.cell, rejected.n);
  const char *stored = hd_cell(races, i, RACE_CHOSEN), *again = f.list[chosen].schedule;
  heddle_status status = HEDDLE_OK;
  if (stored && strcmp(stored, again) != 0)
    status = hd_error(ctx, HEDDLE_MISMATCH, HD_NOWHERE, "replay",
                      "lease %s chose \"%s\", its race gives \"%s\"",
                      hd_cell_text(races, i, RACE_LEASE), stored, again);
  json_decref(race);
  return status;
}

heddle_status hd_races_replay(heddle_context *ctx, hd_store *s, int64_t *n_races) {
  heddle_status status = HEDDLE_OK;
  int64_t last = 0;
  int n = 1;
  *n_races = 0;
  while (n && status == HEDDLE_OK) {
    hd_arena arena = {0};
    hd_rows races;
    if (hd_store_run(s, HD_Q_races_to_decide, &arena, &races, "i", last) != HD_SQL_OK)
      status = hd_store_failed(ctx, s);
    n = races.n;
    for (int i = 0; i < n && status == HEDDLE_OK; i++) {
      last = hd_cell_int(&races, i, RACE_LEASE);
      if (strcmp(hd_cell_text(&races, i, RACE_DECISION), "suspect") != 0) {
        status = check_again(ctx, s, &arena, &races, i);
        ++*n_races;
      }
    }
    hd_arena_free(&arena);
  }
  return status;
}
