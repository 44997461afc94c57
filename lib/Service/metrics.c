#include "Service/metrics.h"

#include "Service/service_state.h"
#include "Support/memory.h"

static const double bounds[HD_N_LATENCIES] = {0.0001, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10};

void hd_metrics_count(hd_metrics *m, const hd_request *r, int status) {
  if (!r->route)
    return;
  double seconds = hd_clock_seconds() - r->begun;
  int i = 0;
  while (i < HD_N_LATENCIES - 1 && seconds > bounds[i])
    i++;
  if (seconds <= bounds[i])
    m->route[r->route->id].below[i]++;
  m->route[r->route->id].answers[status / 100 % 6]++;
  m->route[r->route->id].microseconds += (unsigned long long)(seconds * 1e6);
}

void hd_metrics_states(hd_metrics *m, const hd_rows *rows) {
  hd_strbuf out = {0};
  for (int i = 0; i < rows->n; i++)
    hd_strbuf_printf(&out, "heddle_jobs{class=\"%s\",state=\"%s\"} %s\n", hd_cell_text(rows, i, 0),
                     hd_cell_text(rows, i, 1), hd_cell_text(rows, i, 2));
  pthread_mutex_lock(&m->lock);
  hd_free(m->states);
  m->states = hd_strbuf_take(&out);
  pthread_mutex_unlock(&m->lock);
}

static void head(hd_strbuf *out, const char *name, const char *type, const char *help) {
  hd_strbuf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_routes(hd_strbuf *out, hd_metrics *m) {
  head(out, "heddle_requests_total", "counter", "Requests by route and class of status.");
  for (int i = 0; i < HD_N_ROUTES; i++)
    for (int k = 1; k < 6; k++) {
      unsigned long long n = m->route[i].answers[k];
      if (n)
        hd_strbuf_printf(out, "heddle_requests_total{route=\"%s\",status=\"%dxx\"} %llu\n",
                         hd_route_get((hd_route_id)i)->name, k, n);
    }
  head(out, "heddle_request_seconds", "histogram", "From the request's arrival to its answer.");
  for (int i = 0; i < HD_N_ROUTES; i++) {
    unsigned long long n = 0, all = 0;
    const char *name = hd_route_get((hd_route_id)i)->name;
    for (int k = 0; k < 6; k++)
      all += m->route[i].answers[k];
    for (int k = 0; all && k < HD_N_LATENCIES; k++) {
      n += m->route[i].below[k];
      hd_strbuf_printf(out, "heddle_request_seconds_bucket{route=\"%s\",le=\"%g\"} %llu\n", name,
                       bounds[k], n);
    }
    if (all)
      hd_strbuf_printf(out,
                       "heddle_request_seconds_bucket{route=\"%s\",le=\"+Inf\"} %llu\n"
                       "heddle_request_seconds_sum{route=\"%s\"} %.6f\n"
                       "heddle_request_seconds_count{route=\"%s\"} %llu\n",
                       name, all, name, (double)m->route[i].microseconds * 1e-6, name, all);
  }
}

char *hd_metrics_text(hd_service *s) {
  hd_metrics *m = &s->metrics;
  hd_strbuf out = {0};
  add_routes(&out, m);
  const struct {
    const char *name, *label, *type, *help; /* help NULL: another label of the previous metric */
    unsigned long long value;
  } all[] = {{"heddle_lookups_total", "{found=\"exact\"}", "counter", "Lookups by what was found.",
              m->exact},
             {"heddle_lookups_total", "{found=\"nearest\"}", NULL, NULL, m->nearest},
             {"heddle_lookups_total", "{found=\"none\"}", NULL, NULL, m->missed},
             {"heddle_not_modified_total", "", "counter", "Answers 304.", m->not_modified},
             {"heddle_leases_expired_total", "", "counter", "Leases that this daemon found ended.",
              m->expired_leases},
             {"heddle_store_failures_total", "", "counter",
              "Requests that the database did not answer.", m->store_failures},
             {"heddle_refreshes_total", "", "counter", "Reads of all new choices.", m->reads},
             {"heddle_connections", "", "gauge", "Open connections.", (unsigned)m->connections},
             {"heddle_agents_waiting", "", "gauge", "Claims that wait for a job here.",
              (unsigned)s->n_waiting},
             {"heddle_choices", "", "gauge", "Current choices.", hd_snapshot_count(s->snapshot)},
             {"heddle_choices_serial", "", "gauge", "The newest serial that lookups know.",
              (unsigned long long)hd_snapshot_serial(s->snapshot)},
             {"heddle_store_up", "", "gauge", "1 while the database answers.", s->store_is_up}};
  for (size_t i = 0; i < HD_COUNT(all); i++) {
    if (all[i].help)
      head(&out, all[i].name, all[i].type, all[i].help);
    hd_strbuf_printf(&out, "%s%s %llu\n", all[i].name, all[i].label, all[i].value);
  }
  head(&out, "heddle_jobs", "gauge", "Jobs by class and state.");
  pthread_mutex_lock(&m->lock);
  hd_strbuf_add(&out, m->states ? m->states : "");
  pthread_mutex_unlock(&m->lock);
  return hd_strbuf_take(&out);
}
