/* Leases: claiming, renewing, releasing and expiry. The statement that writes also checks that the
 * lease is alive, by the database's clock. */
#include <string.h>

#include "Service/service_state.h"

/* Columns of lease_of_request. */
enum { ASKED_LEASE = 0, ASKED_JOB = 1, ASKED_PRODUCT = 2, ASKED_LIVES = 6, ASKED_TOKEN = 7 };
/* Columns of job_next. */
enum { NEXT_JOB = 0, NEXT_PRODUCT = 1 };

/* Columns from `col` on: product, class, policy, attempt. */
static json_t *lease_json(hd_request *r, int64_t lease, int64_t job, const hd_rows *rows, int col) {
  const hd_config *c = r->service->config;
  r->job = job;
  r->lease = lease;
  return json_pack("{sI, sI, ss, ss, ss, sI, sI, sI, sI}", "lease", (json_int_t)lease, "job",
                   (json_int_t)job, "product", hd_cell_text(rows, 0, col), "class",
                   hd_cell_text(rows, 0, col + 1), "policy", hd_cell_text(rows, 0, col + 2),
                   "attempt", (json_int_t)hd_cell_int(rows, 0, col + 3), "lease_ms",
                   (json_int_t)c->lease_ms, "renew_ms", (json_int_t)(c->lease_ms / 3), "seed",
                   (json_int_t)job);
}

static void answer_lease(hd_request *r, json_t *lease) {
  hd_rows rows;
  if (!HD_RUN(r, head_get, &rows, "ttt", hd_text_of(lease, "product", ""),
              hd_text_of(lease, "class", ""), hd_text_of(lease, "policy", ""))) {
    json_decref(lease);
    return;
  }
  if (rows.n)
    json_object_set_new(lease, "incumbent", hd_row_json(&rows, 0));
  hd_answer_json(r, 201, lease);
}

/* ---- leases that end before the job does ---- */

/* Puts the job back to the queue after its lease has ended. why: for people; *state: its new
 * state. */
static bool put_back(hd_request *r, int64_t job, int64_t lease, int attempt, int64_t delay_ms,
                     const char *why, const char **state) {
  hd_rows rows;
  if (!HD_RUN(r, job_back, &rows, "iiiit", job, lease, (int64_t)attempt, delay_ms, why))
    return false;
  *state = rows.n ? hd_cell_text(&rows, 0, 0) : "cancelled";
  r->wakes_jobs = true;
  return hd_event(r, "lease-ended", job, lease, "the job is %s again: %s", *state, why);
}

bool hd_lease_put_back(hd_request *r, int64_t job, int64_t lease, const char *why,
                       const char **state) {
  return put_back(r, job, lease, 1, 0, why, state);
}

static bool expire(hd_request *r, int64_t lease) {
  hd_rows rows;
  const char *state;
  if (!HD_RUN(r, lease_expire, &rows, "i", lease))
    return false;
  return !rows.n || put_back(r, hd_cell_int(&rows, 0, 0), lease, 1, 0,
                             "the agent did not renew its lease", &state);
}

bool hd_leases_expire(hd_request *r, int *n) {
  hd_rows rows;
  if (!hd_begin(r) || !HD_RUN(r, expired, &rows, ""))
    return false;
  for (int i = 0; i < rows.n; i++)
    if (!expire(r, hd_cell_int(&rows, i, 0)))
      return false;
  *n = rows.n;
  return true;
}

/* Adds up the cost of ended leases, by tenant. Requests that end a lease do not do this, because
 * they would all wait for the tenant's row. */
bool hd_leases_charge(hd_request *r) {
  hd_rows rows, done;
  if (!hd_begin(r) || !HD_RUN(r, uncharged, &rows, ""))
    return false;
  json_t *leases = json_array();
  int64_t spent_ms = 0;
  bool ok = true;
  for (int i = 0; i < rows.n && ok; i++) {
    const char *tenant = hd_cell_text(&rows, i, 1);
    bool last = i + 1 == rows.n || strcmp(hd_cell_text(&rows, i + 1, 1), tenant) != 0;
    json_array_append_new(leases, json_string(hd_cell_text(&rows, i, 0)));
    spent_ms += hd_cell_int(&rows, i, 2);
    ok = !last || HD_RUN(r, charge, &done, "ti", tenant, spent_ms);
    spent_ms = last ? 0 : spent_ms;
  }
  ok = ok &&
       (!rows.n || (HD_RUN(r, charged, &done, "j", leases) && HD_RUN(r, move_broke, &done, "")));
  json_decref(leases);
  return ok;
}

/* ---- claiming ---- */

/* Repeats the answer to a claim with the same request id. */
static void answer_repeated(hd_request *r, const hd_rows *rows) {
  if (!hd_cell_int(rows, 0, ASKED_LIVES))
    hd_refuse(r, HD_RULE_LEASE_REQUEST, "request", hd_text_of(r->body, "request", ""),
              "one that was not used before", NULL);
  else if (strcmp(hd_cell_text(rows, 0, ASKED_TOKEN), r->who.name) != 0)
    hd_refuse(r, HD_RULE_LEASE_TOKEN, "request", NULL, NULL, NULL);
  else
    answer_lease(r, lease_json(r, hd_cell_int(rows, 0, ASKED_LEASE),
                               hd_cell_int(rows, 0, ASKED_JOB), rows, ASKED_PRODUCT));
}

/* Expires an overdue lease of the GPU. False: the request was answered, or failed. */
static bool device_is_free(hd_request *r, const char *device) {
  hd_rows rows;
  if (!HD_RUN(r, lease_of_device, &rows, "t", device))
    return false;
  if (!rows.n)
    return true;
  int64_t left_ms = hd_cell_int(&rows, 0, 1);
  if (left_ms <= 0)
    return expire(r, hd_cell_int(&rows, 0, 0));
  hd_answer_header(r, "Retry-After", "%lld", (long long)(left_ms / 1000 + 1));
  return hd_refuse(r, HD_RULE_LEASE_DEVICE, "device.uuid", device,
                   hd_arena_printf(&r->arena, "its lease %s ends in %lld ms",
                                   hd_cell_text(&rows, 0, 0), (long long)left_ms),
                   NULL);
}

static bool scripted_class_fits(hd_request *r, const json_t *device) {
  static const char prefix[] = "scripted:";
  const char *class = hd_text_of(device, "class", "");
  bool named = strncmp(class, prefix, strlen(prefix)) == 0;
  bool scripted = hd_int_of(device, "scripted", 0) != 0;
  return named == scripted ||
         hd_refuse(r, HD_RULE_CLASS_SCRIPTED, "device.class", class,
                   "scripted:… exactly when device.scripted is true",
                   scripted ? hd_arena_printf(&r->arena, "scripted:%s", class) : NULL);
}

static void grant(hd_request *r, const hd_rows *job, const json_t *device, const char *build) {
  const char *uuid = hd_text_of(device, "uuid", "");
  hd_rows rows;
  int64_t id = hd_cell_int(job, 0, NEXT_JOB);
  json_t *environment =
      json_pack("{sO, sO}", "device", device, "build", json_object_get(r->body, "build"));
  bool ok = HD_RUN(r, lease_add, &rows, "itttttji", id, hd_text_of(r->body, "request", ""),
                   r->who.name, uuid, hd_text_of(r->body, "agent", ""), build, environment,
                   (int64_t)r->service->config->lease_ms);
  json_decref(environment);
  if (!ok)
    return;
  int64_t lease = hd_cell_int(&rows, 0, 0);
  if (HD_RUN(r, job_lease, &rows, "ii", id, lease))
    answer_lease(r, lease_json(r, lease, id, job, NEXT_PRODUCT));
}

void hd_route_claim(hd_request *r) {
  const json_t *device = json_object_get(r->body, "device");
  const char *uuid = hd_text_of(device, "uuid", ""), *class = hd_text_of(device, "class", "");
  const char *build = hd_text_of(json_object_get(r->body, "build"), "sources", "");
  hd_rows rows;
  if (!scripted_class_fits(r, device))
    return;
  if (!hd_begin(r) || !HD_RUN(r, lease_of_request, &rows, "t", hd_text_of(r->body, "request", "")))
    return;
  if (rows.n) {
    answer_repeated(r, &rows);
    return;
  }
  if (!HD_RUN(r, device_seen, &rows, "ttttttt", uuid, hd_text_of(device, "name", ""), class,
              hd_text_of(device, "driver", NULL), hd_text_of(r->body, "agent", ""), build,
              hd_int_of(device, "scripted", 0) ? "1" : "0"))
    return;
  if (!device_is_free(r, uuid) || !HD_RUN(r, job_next, &rows, "t", class))
    return;
  double until = r->begun + (double)hd_int_of(r->body, "wait_s", 0);
  if (rows.n)
    grant(r, &rows, device, build);
  else if (hd_clock_seconds() < until)
    r->wait_until = until;
  else
    hd_answer_nothing(r);
}

/* ---- holding ---- */

/* Gets the lease of the path, with columns of lease_get; refuses the lease of another token. */
bool hd_lease_get(hd_request *r, hd_rows *rows) {
  r->lease = r->path[0];
  if (!HD_RUN(r, lease_get, rows, "i", r->path[0]))
    return false;
  if (!rows->n)
    return hd_refuse_id(r, HD_RULE_LEASE_NONE, r->path[0]);
  r->job = hd_cell_int(rows, 0, HD_LEASE_JOB);
  return strcmp(hd_cell_text(rows, 0, HD_LEASE_TOKEN), r->who.name) == 0 ||
         hd_refuse(r, HD_RULE_LEASE_TOKEN, NULL, NULL, NULL, NULL);
}

bool hd_lease_refuse_ended(hd_request *r, const hd_rows *lease) {
  const char *how = hd_cell_text(lease, 0, HD_LEASE_HOW);
  return hd_refuse(r, HD_RULE_LEASE_ENDED, NULL, *how ? how : "expired", "a lease that lives",
                   NULL);
}

void hd_route_renew(hd_request *r) {
  hd_rows lease, rows;
  int64_t lease_ms = r->service->config->lease_ms;
  if (!hd_lease_get(r, &lease) || !HD_RUN(r, lease_renew, &rows, "ii", r->path[0], lease_ms))
    return;
  if (!rows.changed) {
    hd_lease_refuse_ended(r, &lease);
    return;
  }
  if (HD_RUN(r, lease_preempt, &rows, "i", r->path[0]))
    hd_answer_json(r, 200,
                   json_pack("{sI, sb}", "lease_ms", (json_int_t)lease_ms, "preempt",
                             (int)hd_cell_int(&rows, 0, 0)));
}

void hd_route_release(hd_request *r) {
  enum { BUSY_MS = 60000 };
  const char *why = hd_text_of(r->body, "why", ""), *state;
  const char *text = hd_text_of(r->body, "text", NULL);
  bool fault = strcmp(why, "fault") == 0;
  hd_rows lease, rows;
  if (!hd_begin(r) || !hd_lease_get(r, &lease))
    return;
  state = hd_cell_text(&lease, 0, HD_LEASE_STATE);
  if (!HD_RUN(r, lease_end, &rows, "it", r->path[0], why))
    return;
  if (!rows.n && strcmp(hd_cell_text(&lease, 0, HD_LEASE_HOW), why) != 0) {
    hd_lease_refuse_ended(r, &lease);
    return;
  }
  if (rows.n && !put_back(r, r->job, r->lease, fault, strcmp(why, "busy") == 0 ? BUSY_MS : 0,
                          text ? hd_arena_printf(&r->arena, "%s: %s", why, text) : why, &state))
    return;
  hd_answer_json(r, 200, json_pack("{sI, ss}", "job", (json_int_t)r->job, "state", state));
}

/* ---- measurements ---- */

/* The list is between the first and the last bracket: alone, or as an object's only field. */
static const char *list_text(hd_request *r) {
  char *end = strrchr(r->raw, ']');
  end[1] = '\0';
  return strchr(r->raw, '[');
}

/* A single statement: the measurements are durable when it returns. */
void hd_route_measure(hd_request *r) {
  const char *text = list_text(r);
  hd_rows lease, rows;
  if (!hd_lease_get(r, &lease) || !HD_RUN(r, measurement_add, &rows, "ti", text, r->path[0]))
    return;
  if (rows.changed < (int64_t)r->n_rows) { /* some existed already: are they equal? */
    if (!HD_RUN(r, measurement_differs, &rows, "ti", text, r->path[0]))
      return;
    if (rows.n) {
      hd_refuse(r, HD_RULE_MEASUREMENT_DIFFERS, "measurements", hd_cell_text(&rows, 0, 0), NULL,
                NULL);
      return;
    }
  }
  hd_answer_nothing(r);
}
