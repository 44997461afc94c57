/* Log lines: one JSON object each, with the request, job and lease. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "Service/service_state.h"
#include "Support/memory.h"

static void write_line(const hd_service *s, json_t *line) {
  struct timespec now;
  char time[32];
  timespec_get(&now, TIME_UTC);
  hd_time_format((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, time);
  json_object_set_new(line, "time", json_string(time));
  char *text = json_dumps(line, JSON_COMPACT);
  if (s->config->log && text)
    s->config->log(s->config->user, text);
  hd_free(text);
  json_decref(line);
}

/* Successful lookups are counted, but not logged. */
void hd_log_request(const hd_request *r) {
  bool is_quiet = !r->route || hd_route_is_in_memory(r->route);
  if (!r->service->config->log || (is_quiet && r->status < 500))
    return;
  json_t *line = json_pack("{ss, ss, ss, si, sf, ss*, so*, so*, ss*}", "level",
                           r->status >= 500 ? "error" : "info", "request", r->id, "route",
                           r->route ? r->route->name : "", "status", r->status, "ms",
                           (hd_clock_seconds() - r->begun) * 1e3, "token",
                           *r->who.name ? r->who.name : NULL, "job",
                           r->job ? json_integer(r->job) : NULL, "lease",
                           r->lease ? json_integer(r->lease) : NULL, "rule", r->rule);
  write_line(r->service, line);
}

void hd_log_text(const hd_service *s, const char *level, const char *format, ...) {
  char text[600];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  json_t *sentence = json_string(text);
  write_line(s, json_pack("{ss, so}", "level", level, "text",
                          sentence ? sentence : json_string("(no UTF-8)")));
}
