/* Routes that return rows of the database unchanged, one line per route. */
#include "Service/service_state.h"

/* Answers with rows as the list `name` of an object. name NULL: with the only row, or a refusal if
 * there is none. */
static void answer(hd_request *r, const hd_rows *rows, const char *name, hd_rule none) {
  if (name)
    hd_answer_json(r, 200, json_pack("{so}", name, hd_rows_json(rows)));
  else if (rows->n)
    hd_answer_json(r, 200, hd_row_json(rows, 0));
  else
    hd_refuse_id(r, none, r->path[0]);
}

#define VIEW(route, name, none, statement, ...)                                                    \
  void hd_route_##route(hd_request *r) {                                                           \
    hd_rows rows;                                                                                  \
    if (HD_RUN(r, statement, &rows, __VA_ARGS__))                                                  \
      answer(r, &rows, name, none);                                                                \
  }
#define LIST(route, name, ...) VIEW(route, name, HD_N_RULES, __VA_ARGS__)
#define ONE(route, none, ...)  VIEW(route, NULL, HD_RULE_##none, __VA_ARGS__)
#define TEXT(name)             hd_text_of(r->query, name, "")
#define NUMBER(name, else_)    hd_int_of(r->query, name, else_)

LIST(jobs, "jobs", jobs, "ttiii", TEXT("state"), TEXT("class"), NUMBER("campaign", 0),
     NUMBER("before", INT64_MAX), NUMBER("limit", 100))
ONE(job, JOB_NONE, job_get, "i", r->path[0])
LIST(campaigns, "campaigns", campaigns, "i", (int64_t)0)
ONE(campaign, CAMPAIGN_NONE, campaigns, "i", r->path[0])
LIST(fleet, "gpus", gpus, "")
LIST(events, "events", events, "ii", NUMBER("since", 0), NUMBER("limit", 100))
LIST(tenants, "tenants", tenants, "")
LIST(bundles, "bundles", bundles, "i", (int64_t)0)
