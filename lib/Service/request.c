#include "Service/request.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "Support/memory.h"

/* ---- answers ---- */

void hd_answer_text(hd_request *r, int status, const char *type, char *text) {
  hd_free(r->text);
  r->status = status;
  r->type = type;
  r->text = text;
  r->n_text = text ? strlen(text) : 0;
}

void hd_answer_json(hd_request *r, int status, json_t *object) {
  char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(15));
  json_decref(object);
  hd_answer_text(r, status, "application/json", text);
}

void hd_answer_nothing(hd_request *r) {
  hd_answer_text(r, 204, NULL, NULL);
}

/* Sets a text as a JSON string. Text that is not UTF-8 is cut off before the first wrong byte. */
static void set_text(json_t *object, const char *name, const char *text) {
  size_t n = text ? strlen(text) : 0;
  json_t *value = NULL;
  for (; text && !value; n--)
    value = json_stringn(text, n);
  if (value)
    json_object_set_new(object, name, value);
}

bool hd_refuse(hd_request *r, hd_rule rule, const char *where, const char *value, const char *legal,
               const char *nearest) {
  const hd_rule_info *info = hd_rule_get(rule);
  json_t *problem = json_pack("{ss, ss, si, ss}", "type", "about:blank", "title", info->title,
                              "status", info->status, "rule", info->rule);
  set_text(problem, "where", where);
  set_text(problem, "value", value ? hd_arena_printf(&r->arena, "%.200s", value) : NULL);
  set_text(problem, "legal", legal ? hd_arena_printf(&r->arena, "%.1000s", legal) : NULL);
  set_text(problem, "nearest", nearest);
  json_object_set_new(problem, "request", json_string(r->id));
  hd_answer_json(r, info->status, problem);
  r->type = "application/problem+json";
  r->rule = info->rule;
  return false;
}

bool hd_refuse_problem(hd_request *r, const hd_problem *p) {
  return hd_refuse(r, p->rule, p->where, p->value, p->legal, p->nearest);
}

bool hd_refuse_id(hd_request *r, hd_rule rule, int64_t id) {
  return hd_refuse(r, rule, NULL, hd_arena_printf(&r->arena, "%lld", (long long)id), NULL, NULL);
}

void hd_answer_header(hd_request *r, const char *name, const char *format, ...) {
  char value[200];
  va_list args;
  va_start(args, format);
  vsnprintf(value, sizeof value, format, args);
  va_end(args);
  r->header_name = name;
  r->header_value = hd_arena_strdup(&r->arena, value);
}

void hd_request_reset(hd_request *r) {
  hd_answer_text(r, 0, NULL, NULL);
  r->rule = NULL;
  r->header_value = NULL;
  r->sql = HD_SQL_OK;
  r->begun_tx = r->rolls_back = r->wakes_jobs = r->wakes_choices = false;
}

void hd_request_free(hd_request *r) {
  if (!r)
    return;
  hd_free(r->text);
  hd_free(r->raw);
  hd_shared_text_unref(r->shared);
  json_decref(r->query);
  json_decref(r->body);
  hd_arena_free(&r->arena);
  hd_free(r);
}

bool hd_request_is_gone(const hd_request *r) {
  char byte;
  int fd = MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void hd_request_resume(hd_request *r) {
  MHD_resume_connection(r->connection);
}

/* ---- statements ---- */

bool hd_sql_ok(hd_request *r, hd_sql sql) {
  if (sql != HD_SQL_OK && r->sql == HD_SQL_OK)
    r->sql = sql;
  return sql == HD_SQL_OK;
}

bool hd_begin(hd_request *r) {
  r->begun_tx = hd_sql_ok(r, hd_store_begin(r->store));
  return r->begun_tx;
}

bool hd_event(hd_request *r, const char *kind, int64_t job, int64_t lease, const char *format,
              ...) {
  char text[1000];
  hd_rows rows;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return HD_RUN(r, event_add, &rows, "ttiit", kind, r->who.name, job, lease, text);
}
