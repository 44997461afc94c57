/* The main loop of an agent: it waits for its GPU, claims jobs, and sends what the spool
 * contains. */
#include "Agent/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Agent/agent_state.h"
#include "Support/arena.h"
#include "Support/child.h"
#include "Support/diag.h"
#include "Support/file.h"

static const double CLAIM_WAIT_S = 30, BUSY_S = 5;

/* Sleeps, but returns early if the agent is told to stop. */
static void rest(const hd_agent *a, double seconds) {
  double until = hd_clock_seconds() + seconds;
  for (double left; (left = until - hd_clock_seconds()) > 0 && !hd_agent_is_stopped(a);)
    hd_children_wait(NULL, 0, left < 0.2 ? left : 0.2);
}

/* ---- the spool ---- */

static heddle_status empty_spool(heddle_context *ctx, hd_agent *a) {
  while (hd_journal_count(a->spool) && !hd_agent_is_stopped(a)) {
    hd_tuner_stop(a); /* the server is away */
    rest(a, a->send_at - hd_clock_seconds());
    HD_TRY(hd_agent_send(ctx, a, hd_clock_seconds() + HD_ANSWER_S, 0, NULL));
  }
  return HEDDLE_OK;
}

/* ---- claims ---- */

enum { REQUEST_BYTES = 33 };

static void make_request_id(char id[REQUEST_BYTES]) {
  unsigned char random[16];
  if (getentropy(random, sizeof random) != 0)
    memset(random, 0, sizeof random); /* then uses only the time; current kernels never fail here */
  uint64_t clock = (uint64_t)(hd_clock_seconds() * 1e9);
  for (size_t i = 0; i < sizeof random; i++)
    snprintf(id + 2 * i, 3, "%02x", random[i] ^ (unsigned char)(clock >> 8 * (i % 8)));
}

/* Records the claim before it is sent, and again before its job begins, for recovery if the agent
 * is killed. */
static heddle_status note_claim(heddle_context *ctx, const hd_agent *a, const char *id,
                                const char *state) {
  char text[64];
  int n = snprintf(text, sizeof text, "%s %s\n", id, state);
  return hd_file_write(ctx, a->claim_path, text, (size_t)n);
}

static bool gives_up(void *user) {
  const hd_agent *a = user;
  return a->polling && hd_agent_is_stopped(a);
}

static void send_claim(hd_agent *a, const char *id, double wait_s, hd_http_answer *answer) {
  json_t *o = json_pack("{s:s, s:s, s:o, s:O, s:i}", "request", id, "agent", a->o->name, "device",
                        hd_agent_device_json(&a->device), "build", a->build, "wait_s", (int)wait_s);
  char *body = json_dumps(o, JSON_COMPACT);
  a->polling = wait_s > 0;
  (void)hd_http_ask(NULL, a->http, "/v1/leases", body, NULL, wait_s + HD_ANSWER_S, answer);
  a->polling = false;
  hd_free(body);
  json_decref(o);
}

/* If an answer was lost, its lease began at the first request. Renews the lease, and counts from
 * there; false: it has ended. */
static bool count_anew(hd_agent *a, json_t *lease, double *asked_at) {
  hd_http_answer answer = {0};
  char path[64];
  snprintf(path, sizeof path, "/v1/leases/%lld/renew",
           (long long)json_integer_value(json_object_get(lease, "lease")));
  *asked_at = hd_clock_seconds();
  (void)hd_http_ask(NULL, a->http, path, "", NULL, HD_ANSWER_S, &answer);
  json_t *renewed = json_loadb(hd_strbuf_text(&answer.body), answer.body.len, 0, NULL);
  json_t *lease_ms = answer.status == 200 ? json_object_get(renewed, "lease_ms") : NULL;
  if (lease_ms)
    json_object_set(lease, "lease_ms", lease_ms);
  json_decref(renewed);
  hd_http_answer_free(&answer);
  return lease_ms != NULL;
}

/* Claims a lease (owned); NULL: there is no work now. Repeats the same request until it is
 * answered. */
static heddle_status claim(heddle_context *ctx, hd_agent *a, const char *id, double wait_s,
                           json_t **lease, double *asked_at) {
  hd_http_answer answer = {0};
  int n_tries = 0;
  *lease = NULL;
  do {
    if (n_tries++) {
      hd_tuner_stop(a); /* does not use the GPU while it waits */
      rest(a, hd_agent_back_off(a, &answer));
    }
    if (hd_agent_is_stopped(a))
      break;
    *asked_at = hd_clock_seconds();
    send_claim(a, id, wait_s, &answer);
  } while (hd_http_is_temporary(&answer));
  heddle_status status = HEDDLE_OK;
  if (!hd_http_is_temporary(&answer))
    a->wait_s = 0;
  if (answer.status == 201)
    *lease = json_loadb(hd_strbuf_text(&answer.body), answer.body.len, 0, NULL);
  else if (answer.status >= 400 && !hd_http_is_temporary(&answer) &&
           strcmp(answer.rule, "lease.request") != 0)
    status = hd_http_refused(ctx, &answer);
  if (*lease && n_tries > 1 && !count_anew(a, *lease, asked_at)) {
    json_decref(*lease);
    *lease = NULL;
  }
  hd_http_answer_free(&answer);
  return status;
}

/* Releases a lease that a killed agent may have left, so that its job does not wait for the
 * expiry. */
static heddle_status recover(heddle_context *ctx, hd_agent *a) {
  char *text, id[REQUEST_BYTES] = "", state[16] = "";
  size_t n_bytes;
  double asked_at;
  json_t *lease;
  if (hd_file_read(NULL, a->claim_path, &text, &n_bytes) != HEDDLE_OK)
    return HEDDLE_OK;
  int n = sscanf(text, "%32s %15s", id, state);
  hd_free(text);
  if (n == 2) {
    HD_TRY(claim(ctx, a, id, 0, &lease, &asked_at));
    if (lease)
      hd_lease_release(a, json_integer_value(json_object_get(lease, "lease")),
                       strcmp(state, "begun") == 0 ? "fault" : "shutdown",
                       "the agent ended without a message", asked_at + HD_ANSWER_S);
    json_decref(lease);
  }
  return hd_file_remove(ctx, a->claim_path);
}

/* ---- the agent ---- */

/* Waits until the GPU is free. *go is false if the agent was told to stop. */
static heddle_status wait_for_device(heddle_context *ctx, hd_agent *a, bool *go) {
  enum { BRIEF_TRIES = 15 }; /* a process that has just ended stays listed for a moment */
  char busy[160], before[160] = "";
  for (int n_tries = 0;; n_tries++) {
    *go = !hd_agent_is_stopped(a);
    if (!*go)
      return HEDDLE_OK;
    HD_TRY(hd_agent_device_take(ctx, &a->device, a->tuner.pid, busy));
    if (!*busy)
      return HEDDLE_OK;
    hd_tuner_stop(a);
    if (n_tries < BRIEF_TRIES) {
      rest(a, 0.2);
      continue;
    }
    if (strcmp(busy, before) != 0)
      hd_agent_log(a, "busy", json_pack("{s:s}", "text", busy));
    memcpy(before, busy, sizeof before);
    rest(a, BUSY_S);
  }
}

/* Works on one lease, if there is a job; waits for one only without a tuner, which uses the GPU. If
 * the disk is full, no job is begun, and the caller retries. */
static heddle_status work_once(heddle_context *ctx, hd_agent *a, bool *worked) {
  char id[REQUEST_BYTES];
  json_t *lease = NULL;
  double asked_at;
  *worked = false;
  make_request_id(id);
  HD_TRY(note_claim(ctx, a, id, "asked"));
  double wait_s = a->o->no_wait || a->tuner.pid ? 0 : CLAIM_WAIT_S;
  heddle_status status = claim(ctx, a, id, wait_s, &lease, &asked_at);
  if (!lease)
    hd_tuner_stop(a);
  if (status != HEDDLE_OK || hd_agent_is_stopped(a) || !lease) {
    if (lease)
      hd_lease_release(a, json_integer_value(json_object_get(lease, "lease")), "shutdown",
                       "the agent was told to stop", asked_at + HD_ANSWER_S);
    bool known = status == HEDDLE_OK && (lease || !hd_agent_is_stopped(a));
    json_decref(lease);
    return known ? hd_file_remove(ctx, a->claim_path) : status;
  }
  *worked = true;
  status = note_claim(ctx, a, id, "begun");
  if (status == HEDDLE_OK)
    status = hd_lease_work(ctx, a, lease, asked_at);
  else
    hd_lease_release(a, json_integer_value(json_object_get(lease, "lease")), "shutdown",
                     hd_first_error_text(ctx, ""), asked_at + HD_ANSWER_S);
  json_decref(lease);
  return status == HEDDLE_OK ? hd_file_remove(ctx, a->claim_path) : status;
}

/* Whether writing files may succeed later; all other errors end the agent. */
static bool is_passing(const heddle_context *ctx) {
  const heddle_diagnostic *d = hd_first_error(ctx);
  return d && (strcmp(d->rule, "journal.io") == 0 || strcmp(d->rule, "file.io") == 0);
}

static heddle_status work(heddle_context *ctx, hd_agent *a) {
  bool go = true, worked;
  for (int64_t n = 0; go && (!a->o->most_leases || n < a->o->most_leases); n += worked) {
    worked = false;
    heddle_status status = wait_for_device(ctx, a, &go);
    if (status == HEDDLE_OK && go)
      status = empty_spool(ctx, a);
    if (status == HEDDLE_OK && (go = go && !hd_agent_is_stopped(a)))
      status = work_once(ctx, a, &worked);
    if (status == HEDDLE_OK && !worked && a->o->no_wait)
      break;
    if (status != HEDDLE_OK && !is_passing(ctx))
      return status;
    if (status != HEDDLE_OK) {
      hd_agent_log(a, "trouble", json_pack("{s:s}", "text", hd_first_error_text(ctx, "")));
      heddle_context_clear(ctx);
      rest(a, BUSY_S);
    }
  }
  return hd_agent_is_stopped(a) ? HEDDLE_OK : empty_spool(ctx, a);
}

/* Asks the tool that compiles for its build: {"version", "commit", "sources"}. */
static heddle_status ask_build(heddle_context *ctx, hd_agent *a) {
  const char *const argv[] = {a->o->heddle, "--build", NULL};
  hd_strbuf output = {0};
  int code = 0;
  heddle_status status = hd_process_run(ctx, argv, 30, &output, &code);
  if (status == HEDDLE_OK)
    a->build = code == 0 ? json_loadb(hd_strbuf_text(&output), output.len, 0, NULL) : NULL;
  if (status == HEDDLE_OK && !json_is_string(json_object_get(a->build, "sources")))
    status = hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "agent.heddle",
                      "'%s --build' did not print its build, exit code %d; legal: the heddle of "
                      "the same build as this agent",
                      a->o->heddle, code);
  hd_strbuf_free(&output);
  return status;
}

static heddle_status open_all(heddle_context *ctx, hd_agent *a) {
  hd_http_options http = {
      .server = a->o->server, .token = a->o->token, .ca = a->o->ca, .stop = gives_up, .user = a};
  hd_strbuf path = {0};
  HD_TRY(hd_http_open(ctx, &http, &a->http));
  HD_TRY(ask_build(ctx, a));
  HD_TRY(hd_agent_device_open(ctx, a->o, &a->device));
  HD_TRY(hd_file_mkdirs(ctx, a->o->state));
  hd_strbuf_printf(&path, "%s/claim", a->o->state);
  a->claim_path = hd_strbuf_take(&path);
  hd_strbuf_printf(&path, "%s/spool", a->o->state);
  heddle_status status = hd_journal_open(ctx, hd_strbuf_text(&path), &a->spool);
  hd_strbuf_free(&path);
  return status;
}

heddle_status hd_agent_run(heddle_context *ctx, const hd_agent_options *options) {
  hd_agent a = {.o = options, .device = {.lock = {-1}}};
  bool go;
  heddle_status status = open_all(ctx, &a);
  if (status == HEDDLE_OK)
    hd_agent_log(&a, "up",
                 json_pack("{s:s, s:s, s:O}", "server", options->server, "class",
                           a.device.device_class, "build", a.build));
  if (status == HEDDLE_OK)
    status = wait_for_device(ctx, &a, &go);
  if (status == HEDDLE_OK && go)
    status = recover(ctx, &a);
  if (status == HEDDLE_OK && go)
    status = work(ctx, &a);
  if (a.claim_path)
    hd_agent_log(&a, "down", NULL);
  hd_tuner_stop(&a);
  hd_agent_device_close(&a.device);
  hd_journal_close(a.spool);
  hd_http_close(a.http);
  json_decref(a.build);
  hd_free(a.claim_path);
  return status;
}
