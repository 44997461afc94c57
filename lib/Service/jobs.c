/* Submitting and cancelling: which products are tuned, for whom, and which tenant pays. */
#include <math.h>

#include "Service/service_state.h"

/* ---- submitting ---- */

static void answer_submitted(hd_request *r, int64_t campaign, int64_t created, int64_t joined,
                             int64_t chosen) {
  json_t *answer = json_pack("{sI, sI, sI}", "created", (json_int_t)created, "joined",
                             (json_int_t)joined, "chosen", (json_int_t)chosen);
  if (created + joined)
    json_object_set_new(answer, "campaign", json_integer(campaign));
  else
    r->rolls_back = true; /* everything exists already: no campaign is needed */
  hd_answer_json(r, 200, answer);
}

/* Removes repeated keys, which would be counted twice. */
static json_t *without_repeats(const json_t *products) {
  json_t *seen = json_object(), *list = json_array();
  for (size_t i = 0; i < json_array_size(products); i++) {
    json_t *key = json_array_get(products, i);
    if (!json_object_get(seen, json_string_value(key))) {
      json_object_set_new(seen, json_string_value(key), json_true());
      json_array_append(list, key);
    }
  }
  json_decref(seen);
  return list;
}

static void submit(hd_request *r, const json_t *products) {
  const json_t *b = r->body;
  const char *class = hd_text_of(b, "class", ""), *policy = hd_text_of(b, "policy", "default");
  int64_t priority = hd_int_of(b, "priority", 4), n = (int64_t)json_array_size(products);
  hd_rows rows;
  if (!hd_begin(r) ||
      !HD_RUN(r, campaign_add, &rows, "ttt", r->who.tenant, class, hd_text_of(b, "note", NULL)))
    return;
  int64_t campaign = hd_cell_int(&rows, 0, 0);
  if (!HD_RUN(r, job_add, &rows, "jttiti", products, class, policy, priority, r->who.tenant,
              hd_int_of(b, "again", 0)))
    return;
  int64_t created = rows.changed;
  if (!HD_RUN(r, member_add, &rows, "jitt", products, campaign, class, policy))
    return;
  int64_t joined = rows.changed - created;
  if (joined && (!HD_RUN(r, job_raise, &rows, "ii", campaign, priority) ||
                 !HD_RUN(r, job_adopt, &rows, "it", campaign, r->who.tenant)))
    return;
  if (!hd_event(r, "submitted", 0, 0,
                "campaign %lld of %s for %s: %lld new, %lld joined, %lld have a choice",
                (long long)campaign, r->who.tenant, class, (long long)created, (long long)joined,
                (long long)(n - created - joined)))
    return;
  r->wakes_jobs = created > 0;
  answer_submitted(r, campaign, created, joined, n - created - joined);
}

void hd_route_submit(hd_request *r) {
  json_t *products = without_repeats(json_object_get(r->body, "products"));
  submit(r, products);
  json_decref(products);
}

/* Adds a campaign for one class. */
static bool roll_out(hd_request *r, const char *build, const char *class, int64_t *campaign,
                     int64_t *created, int64_t *joined) {
  hd_rows rows;
  if (!HD_RUN(r, campaign_add, &rows, "ttt", r->who.tenant, class,
              hd_arena_printf(&r->arena, "build %s", build)))
    return false;
  *campaign = hd_cell_int(&rows, 0, 0);
  if (!HD_RUN(r, rollout, &rows, "ttt", build, class, r->who.tenant))
    return false;
  *created += rows.changed;
  *joined -= rows.changed;
  if (!HD_RUN(r, rollout_member, &rows, "itt", *campaign, build, class))
    return false;
  *joined += rows.changed;
  return true;
}

void hd_route_build(hd_request *r) {
  const char *build = hd_text_of(r->body, "build", ""), *class = hd_text_of(r->body, "class", NULL);
  int64_t campaign = 0, created = 0, joined = 0;
  hd_rows classes = {0};
  if (!hd_begin(r) || (!class && !HD_RUN(r, classes, &classes, "")))
    return;
  for (int i = 0; i < (class ? 1 : classes.n); i++)
    if (!roll_out(r, build, class ? class : hd_cell_text(&classes, i, 0), &campaign, &created,
                  &joined))
      return;
  if (!hd_event(r, "build", 0, 0, "build %s: %lld choices to be checked again", build,
                (long long)(created + joined)))
    return;
  r->wakes_jobs = true;
  answer_submitted(r, campaign, created, joined, 0);
}

/* ---- cancelling ---- */

void hd_route_cancel(hd_request *r) {
  hd_rows rows, job;
  int64_t id = r->path[0];
  if (!hd_begin(r) || !HD_RUN(r, job_get, &job, "i", id))
    return;
  if (!job.n) {
    hd_refuse_id(r, HD_RULE_JOB_NONE, id);
    return;
  }
  if (!HD_RUN(r, lease_end_of_job, &rows, "it", id, "cancelled") ||
      !HD_RUN(r, job_cancel, &rows, "i", id))
    return;
  if (!rows.changed) {
    hd_refuse(r, HD_RULE_JOB_STATE, "job", hd_cell_text(&job, 0, 4), "queued, leased", NULL);
    return;
  }
  r->job = id;
  if (hd_event(r, "cancelled", id, 0, "cancelled by %s", *r->who.name ? r->who.name : "a user") &&
      HD_RUN(r, job_get, &job, "i", id))
    hd_answer_json(r, 200, hd_row_json(&job, 0));
}

/* ---- tenants ---- */

void hd_route_budget(hd_request *r) {
  const char *tenant = hd_text_of(r->body, "tenant", "");
  double budget_ms = hd_num_of(r->body, "budget_s") * 1000;
  const char *text = isnan(budget_ms) ? NULL : hd_arena_printf(&r->arena, "%.0f", budget_ms);
  hd_rows rows;
  if (!hd_begin(r) || !HD_RUN(r, tenant_set, &rows, "tt", tenant, text) ||
      !HD_RUN(r, move_broke, &rows, "") ||
      !hd_event(r, "budget", 0, 0, "the budget of %s is %s s", tenant,
                text ? hd_arena_printf(&r->arena, "%g", budget_ms / 1000) : "without limit,") ||
      !HD_RUN(r, tenant_get, &rows, "t", tenant))
    return;
  r->wakes_jobs = true;
  hd_answer_json(r, 200, hd_row_json(&rows, 0));
}
