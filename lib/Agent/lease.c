/* One lease: its child process, renewals, measurements, and its end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "Agent/agent_state.h"
#include "Support/arena.h"
#include "Support/child.h"
#include "Support/diag.h"
#include "Support/file.h"

typedef enum how {
  RUNNING,
  FINISH,  /* `finish` has the end of the job */
  RELEASE, /* with why and text */
  LOST     /* the lease has ended on the server */
} how;

typedef struct work {
  hd_agent *agent;
  const json_t *lease;
  int64_t id, seq;
  double asked_at, deadline, renew_at, renew_s;
  bool is_done; /* the tuner has done its part, and waits for another lease */
  double said_at;       /* of the last measurement */
  json_t *finish;       /* owned: the end of the job, as far as it is known */
  json_t *race;         /* owned; NULL: not run yet */
  uint64_t throttle;    /* OR of all measurements */
  const char *stop_why; /* why the child was told to stop; NULL: it was not */
  double stop_until;
  how end;
  const char *why;
  hd_strbuf text;
} work;

static void end_with(work *w, how end, const char *why, const char *text) {
  if (w->end != RUNNING)
    return;
  w->end = end;
  w->why = why;
  hd_strbuf_add(&w->text, text);
}

static void tell_to_stop(work *w, const char *why) {
  static const double PATIENCE_S = 60; /* a candidate may take long */
  if (w->stop_why || !w->agent->tuner.pid)
    return;
  w->stop_why = why;
  w->stop_until = hd_clock_seconds() + PATIENCE_S;
  (void)hd_child_say(&w->agent->tuner, "stop");
}

/* ---- output of the child ---- */

static double ms_since_claim(const work *w, double at) {
  return floor((at - w->asked_at) * 1e6) * 1e-3;
}

/* What is heard too late may have been measured after the lease, beside its next holder. */
static heddle_status take_measurement(heddle_context *ctx, work *w, json_t *event) {
  double now = hd_clock_seconds();
  if (now >= w->deadline) {
    end_with(w, LOST, "time", "a measurement came after the lease");
    return HEDDLE_OK;
  }
  json_t *throttle = json_object_get(event, "throttle");
  w->throttle |= (uint64_t)json_integer_value(throttle);
  json_object_set_new(event, "seq", json_integer(w->seq));
  json_object_set_new(event, "begin_ms", json_real(ms_since_claim(w, w->said_at)));
  json_object_set_new(event, "end_ms", json_real(ms_since_claim(w, now)));
  w->said_at = now;
  HD_TRY(hd_spool_add(ctx, w->agent->spool, w->id, HD_SPOOL_MEASUREMENT, event));
  w->seq++;
  return HEDDLE_OK;
}

/* The first canary is from before the measurements, the second one from after the race. */
static void take_canary(work *w, json_t *event) {
  w->throttle |= (uint64_t)json_integer_value(json_object_get(event, "throttle"));
  json_object_del(event, "throttle");
  json_object_set(w->finish, w->race ? "end" : "begin", event);
}

static void take_race(work *w, const json_t *event) {
  w->race = json_incref(json_object_get(event, "race"));
  json_object_set(w->finish, "race", w->race);
  json_object_set(w->finish, "n_legal", json_object_get(event, "n_legal"));
  json_object_set(w->finish, "n_measured", json_object_get(event, "n_measured"));
  json_object_set_new(w->finish, "outcome", json_string("done"));
}

static void take_note(work *w, const char *text) {
  char note[1000];
  const char *before = hd_agent_string(w->finish, "note");
  snprintf(note, sizeof note, "%s%s%s", before, *before ? "; " : "", text);
  json_t *string = json_string(note); /* NULL: cut within a character */
  if (string)
    json_object_set_new(w->finish, "note", string);
}

/* Handles a line of the child, which may be corrupt: it need not be JSON. */
static heddle_status take_line(heddle_context *ctx, work *w, const char *line) {
  json_t *event = json_loads(line, 0, NULL);
  char kind[32];
  heddle_status status = HEDDLE_OK;
  snprintf(kind, sizeof kind, "%s", hd_agent_string(event, "event"));
  json_object_del(event, "event");
  if (strcmp(kind, "measurement") == 0)
    status = take_measurement(ctx, w, event);
  else if (strcmp(kind, "canary") == 0)
    take_canary(w, event);
  else if (strcmp(kind, "race") == 0 && !w->race)
    take_race(w, event);
  else if (strcmp(kind, "note") == 0)
    take_note(w, hd_agent_string(event, "text"));
  else if (strcmp(kind, "carried") == 0) {
    json_object_set_new(w->finish, "outcome", json_string("carried"));
    json_object_set(w->finish, "cubin", json_object_get(event, "cubin"));
  } else if (strcmp(kind, "failed") == 0 && !w->race) {
    json_object_set_new(w->finish, "outcome", json_string("failed"));
    json_object_set(w->finish, "why", json_object_get(event, "why"));
  } else if (strcmp(kind, "done") == 0) {
    w->is_done = !w->stop_why;
    if (json_object_get(w->finish, "outcome"))
      end_with(w, FINISH, "", "");
    else
      end_with(w, RELEASE, w->stop_why ? w->stop_why : "fault", "the tuner ended without a result");
  }
  json_decref(event);
  return status;
}

static heddle_status hear(heddle_context *ctx, work *w, double timeout_s) {
  hd_child *child = &w->agent->tuner;
  hd_strbuf line = {0};
  heddle_status status = HEDDLE_OK;
  hd_children_wait(&child, 1, timeout_s);
  while (status == HEDDLE_OK && w->end == RUNNING && hd_child_take(child, &line))
    status = take_line(ctx, w, hd_strbuf_text(&line));
  hd_strbuf_free(&line);
  if (status == HEDDLE_OK && child->ended && w->end == RUNNING)
    end_with(w, RELEASE, w->stop_why ? w->stop_why : "fault", "the tuner ended in the middle");
  return status;
}

/* ---- the lease ---- */

static double answer_time(const work *w) {
  double left = w->deadline - hd_clock_seconds();
  return left < 0.05 ? 0.05 : left < HD_ANSWER_S ? left : HD_ANSWER_S;
}

/* The agent's deadline is earlier than the server's: by a tenth, at most two seconds. */
static void set_deadline(work *w, double asked_at, const json_t *granted) {
  double lease_s = (double)json_integer_value(json_object_get(granted, "lease_ms")) * 1e-3;
  double margin = lease_s / 10 < 2 ? lease_s / 10 : 2;
  w->deadline = asked_at + lease_s - margin;
  w->renew_at = asked_at + (w->renew_s < lease_s / 2 ? w->renew_s : lease_s / 2);
}

static void renew(work *w) {
  static const double AGAIN_S = 0.5;
  hd_http_answer a = {0};
  char path[64];
  double asked_at = hd_clock_seconds();
  snprintf(path, sizeof path, "/v1/leases/%lld/renew", (long long)w->id);
  (void)hd_http_ask(NULL, w->agent->http, path, "", NULL, answer_time(w), &a);
  json_t *granted =
      a.status == 200 ? json_loadb(hd_strbuf_text(&a.body), a.body.len, 0, NULL) : NULL;
  if (granted) {
    set_deadline(w, asked_at, granted);
    if (json_is_true(json_object_get(granted, "preempt")))
      tell_to_stop(w, "preempted");
  } else if (hd_http_is_temporary(&a) || a.status == 200) {
    w->renew_at = hd_clock_seconds() + AGAIN_S;
  } else {
    end_with(w, LOST, a.rule, "the server ended the lease");
  }
  json_decref(granted);
  hd_http_answer_free(&a);
}

static void look_at_the_clock(work *w) {
  double now = hd_clock_seconds();
  if (now >= w->deadline)
    end_with(w, LOST, "time", "the lease could not be renewed in time");
  else if (now >= w->renew_at)
    renew(w);
  if (w->stop_why && now >= w->stop_until)
    end_with(w, RELEASE, w->stop_why, "the tuner did not stop in time");
}

static double next_thing(const work *w) {
  double next = w->deadline < w->renew_at ? w->deadline : w->renew_at, now = hd_clock_seconds();
  if (hd_journal_count(w->agent->spool) && w->agent->send_at < next)
    next = w->agent->send_at;
  if (next > now + 0.5)
    next = now + 0.5;
  return next > now ? next - now : 0;
}

static heddle_status measure(heddle_context *ctx, work *w) {
  while (w->end == RUNNING) {
    HD_TRY(hear(ctx, w, next_thing(w)));
    look_at_the_clock(w);
    if (hd_agent_is_stopped(w->agent))
      tell_to_stop(w, "shutdown");
    if (w->end == RUNNING && hd_clock_seconds() >= w->agent->send_at)
      HD_TRY(hd_agent_send(ctx, w->agent, hd_clock_seconds() + answer_time(w), 0, NULL));
  }
  return HEDDLE_OK;
}

/* Sends the end of the job through the spool, after the measurements. */
static heddle_status finish(heddle_context *ctx, work *w) {
  bool finished = false;
  const char *outcome = hd_agent_string(w->finish, "outcome");
  if (strcmp(outcome, "carried") != 0) {
    json_object_set_new(w->finish, "measurements", json_integer(w->seq));
    json_object_set_new(w->finish, "throttle", json_integer((json_int_t)w->throttle));
  }
  w->end = RUNNING; /* the lease may still be lost */
  HD_TRY(hd_spool_add(ctx, w->agent->spool, w->id, HD_SPOOL_FINISH, w->finish));
  while (!finished && w->end == RUNNING) {
    double wait_s = w->agent->send_at - hd_clock_seconds();
    hd_children_wait(NULL, 0, wait_s < 0.2 ? wait_s : 0.2);
    if (hd_clock_seconds() >= w->agent->send_at)
      HD_TRY(hd_agent_send(ctx, w->agent, hd_clock_seconds() + answer_time(w), w->id, &finished));
    if (!finished) {
      hd_tuner_stop(w->agent); /* does not use the GPU while the server is away */
      look_at_the_clock(w);
    }
  }
  return HEDDLE_OK;
}

void hd_lease_release(hd_agent *agent, int64_t lease, const char *why, const char *text,
                      double until) {
  hd_http_answer a = {0};
  char path[64], cut[900];
  snprintf(path, sizeof path, "/v1/leases/%lld/release", (long long)lease);
  snprintf(cut, sizeof cut, "%s", text);
  json_t *string = json_string(cut);
  json_t *o = json_pack("{s:s, s:o}", "why", why, "text", string ? string : json_string(""));
  char *body = json_dumps(o, JSON_COMPACT);
  do {
    double left = until - hd_clock_seconds();
    if (a.status || agent->wait_s > 0) /* a retry */
      hd_children_wait(NULL, 0, 0.2);
    (void)hd_http_ask(NULL, agent->http, path, body, NULL,
                      left < 0.05          ? 0.05
                      : left < HD_ANSWER_S ? left
                                           : HD_ANSWER_S,
                      &a);
  } while (hd_http_is_temporary(&a) && hd_clock_seconds() < until);
  hd_agent_log(agent, "released",
               json_pack("{s:I, s:s, s:s, s:i}", "lease", (json_int_t)lease, "why", why, "text",
                         cut, "status", a.status));
  hd_http_answer_free(&a);
  json_decref(o);
  hd_free(body);
}

static heddle_status begin(heddle_context *ctx, work *w) {
  char busy[160];
  if (!hd_tuner_knows(hd_agent_string(w->lease, "policy"))) {
    json_object_set_new(w->finish, "outcome", json_string("failed"));
    json_object_set_new(w->finish, "why",
                        json_string("this agent does not know the policy; legal: default, quick, "
                                    "thorough"));
    end_with(w, FINISH, "", "");
    return HEDDLE_OK;
  }
  HD_TRY(hd_agent_device_take(ctx, &w->agent->device, w->agent->tuner.pid, busy));
  if (*busy) {
    end_with(w, RELEASE, "busy", busy);
    return HEDDLE_OK;
  }
  return hd_tuner_begin(ctx, w->agent, w->lease);
}

heddle_status hd_lease_work(heddle_context *ctx, hd_agent *agent, const json_t *lease,
                            double asked_at) {
  work w = {.agent = agent,
            .lease = lease,
            .id = json_integer_value(json_object_get(lease, "lease")),
            .renew_s = (double)json_integer_value(json_object_get(lease, "renew_ms")) * 1e-3,
            .asked_at = asked_at,
            .said_at = hd_clock_seconds(),
            .finish = json_object()};
  set_deadline(&w, asked_at, lease);
  hd_agent_log(agent, "leased",
               json_pack("{s:I, s:O, s:O}", "lease", (json_int_t)w.id, "job",
                         json_object_get(lease, "job"), "product",
                         json_object_get(lease, "product")));
  heddle_status status = begin(ctx, &w);
  if (status == HEDDLE_OK)
    status = measure(ctx, &w);
  if (!w.is_done || w.end != FINISH)
    hd_tuner_stop(agent);
  if (status == HEDDLE_OK && w.end == FINISH)
    status = finish(ctx, &w);
  if (status != HEDDLE_OK) { /* the spool does not work here; another agent can do the job */
    w.end = RUNNING;
    end_with(&w, RELEASE, "fault", hd_first_error_text(ctx, heddle_status_text(status)));
  }
  if (w.end == RELEASE)
    hd_lease_release(agent, w.id, w.why, hd_strbuf_text(&w.text), w.deadline);
  else if (w.end == LOST)
    hd_agent_log(agent, "lost",
                 json_pack("{s:I, s:s, s:s}", "lease", (json_int_t)w.id, "why", w.why, "text",
                           hd_strbuf_text(&w.text)));
  hd_strbuf_free(&w.text);
  json_decref(w.race);
  json_decref(w.finish);
  return status;
}
