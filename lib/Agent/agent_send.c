/* Sending the contents of the spool, and log lines. */
#include "Agent/agent_state.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"

static const double FIRST_BACK_OFF_S = 0.25, MAX_BACK_OFF_S = 60;

const char *hd_agent_string(const json_t *object, const char *field) {
  const char *text = json_string_value(json_object_get(object, field));
  return text ? text : "";
}

bool hd_agent_is_stopped(const hd_agent *a) {
  return a->o->stop && a->o->stop(a->o->user);
}

void hd_agent_log(const hd_agent *a, const char *event, json_t *fields) {
  json_t *line = fields ? fields : json_object();
  json_object_set_new(line, "event", json_string(event));
  json_object_set_new(line, "device", json_string(a->device.is.uuid));
  char *text = json_dumps(line, JSON_COMPACT | JSON_SORT_KEYS);
  if (a->o->log && text)
    a->o->log(a->o->user, text);
  hd_free(text);
  json_decref(line);
}

double hd_agent_back_off(hd_agent *a, const hd_http_answer *answer) {
  a->wait_s = a->wait_s > 0 ? a->wait_s * 2 : FIRST_BACK_OFF_S;
  if (a->wait_s > MAX_BACK_OFF_S)
    a->wait_s = MAX_BACK_OFF_S;
  if (answer->retry_after_s > a->wait_s && answer->retry_after_s <= MAX_BACK_OFF_S)
    return answer->retry_after_s;
  return a->wait_s;
}

/* Logs the server's answer to the end of a job, or its refusal. */
static void log_answer(const hd_agent *a, hd_sent sent, int64_t lease, hd_spool_kind kind,
                       const hd_http_answer *answer) {
  if (sent == HD_SENT_TAKEN && kind == HD_SPOOL_MEASUREMENT)
    return;
  json_t *o = json_loadb(hd_strbuf_text(&answer->body), answer->body.len, 0, NULL);
  json_t *fields = json_pack("{s:I}", "lease", (json_int_t)lease);
  static const char *const told[] = {"job",   "state", "decision", "suspect",
                                     "title", "rule",  "where",    "value"};
  for (size_t i = 0; i < HD_COUNT(told); i++)
    if (json_object_get(o, told[i]))
      json_object_set(fields, told[i], json_object_get(o, told[i]));
  hd_agent_log(a, sent == HD_SENT_TAKEN ? "finished" : "refused", fields);
  json_decref(o);
}

heddle_status hd_agent_send(heddle_context *ctx, hd_agent *a, double until, int64_t lease,
                            bool *finished) {
  hd_http_answer answer = {0};
  hd_sent sent = HD_SENT_TAKEN;
  heddle_status status = HEDDLE_OK;
  while (status == HEDDLE_OK && (sent == HD_SENT_TAKEN || sent == HD_SENT_REFUSED)) {
    int64_t of;
    hd_spool_kind kind;
    double left = until - hd_clock_seconds();
    if (left <= 0)
      break;
    status = hd_spool_send(ctx, a->spool, a->http, left < HD_ANSWER_S ? left : HD_ANSWER_S, &answer,
                           &sent, &of, &kind);
    if (sent == HD_SENT_TAKEN || sent == HD_SENT_REFUSED) {
      log_answer(a, sent, of, kind, &answer);
      if (finished && of == lease && kind == HD_SPOOL_FINISH)
        *finished = true;
    }
  }
  if (sent == HD_SENT_LATER) {
    a->send_at = hd_clock_seconds() + hd_agent_back_off(a, &answer);
  } else {
    a->wait_s = 0;
    a->send_at = 0;
  }
  hd_http_answer_free(&answer);
  return status;
}
