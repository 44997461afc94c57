/* Requests that are answered from memory: choices, and the state of the daemon. */
#include "Service/service_state.h"

/* Refuses lookups before the first read of the database, rather than answering "no choice". */
static bool snapshot_is_read(hd_request *r) {
  return hd_snapshot_is_read(r->service->snapshot) ||
         hd_refuse(r, HD_RULE_STORE_DOWN, NULL, NULL, NULL, NULL);
}

void hd_route_choice(hd_request *r) {
  hd_service *s = r->service;
  const char *product = hd_text_of(r->query, "product", "");
  const char *class = hd_text_of(r->query, "class", "");
  const char *policy = hd_text_of(r->query, "policy", "default");
  if (!snapshot_is_read(r))
    return;
  hd_found found = hd_snapshot_find(s->snapshot, product, class, policy,
                                    hd_int_of(r->query, "exact", 0) != 0);
  if (found.exact) {
    r->shared = found.exact;
    s->metrics.exact++;
    r->status = 200;
  } else if (found.nearest) {
    s->metrics.nearest++;
    hd_answer_text(r, 200, "application/json", found.nearest);
  } else {
    s->metrics.missed++;
    hd_refuse(r, HD_RULE_CHOICE_NONE, "product", product,
              "a product of GET /v1/choices, or one near it", NULL);
  }
}

void hd_route_choices(hd_request *r) {
  char etag[40];
  hd_service *s = r->service;
  if (!snapshot_is_read(r))
    return;
  int64_t serial = hd_snapshot_serial(s->snapshot); /* before the text, which may be newer */
  char *text = hd_snapshot_choices(s->snapshot, hd_text_of(r->query, "class", ""),
                                   hd_int_of(r->query, "since", 0));
  snprintf(etag, sizeof etag, "\"c%lld\"", (long long)serial);
  r->shared = hd_shared_text_make("application/json", etag, text);
  r->status = 200;
}

void hd_route_alive(hd_request *r) {
  hd_answer_text(r, 200, "text/plain", hd_xstrdup("alive\n"));
}

void hd_route_ready(hd_request *r) {
  if (r->service->store_is_up)
    hd_answer_text(r, 200, "text/plain", hd_xstrdup("ready\n"));
  else
    hd_refuse(r, HD_RULE_STORE_DOWN, NULL, NULL, NULL, NULL);
}

void hd_route_metrics(hd_request *r) {
  hd_answer_text(r, 200, "text/plain; version=0.0.4", hd_metrics_text(r->service));
}

void hd_route_openapi(hd_request *r) {
  hd_answer_text(r, 200, "application/json", hd_xstrdup(r->service->openapi));
}
