/* heddle/fetch.h: the choices of a service in a local file, COPY. COPY.etag next to it has the ETag
 * of its bytes; its modification time is when the server last confirmed them. */
#include <jansson.h>
#include <string.h>

#include "Fetch/http.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"
#include "heddle/fetch.h"

static const double TIMEOUT_S = 10;

/* Reads the ETag of the existing copy; "" unless both files exist. */
static void read_etag(const char *copy, const char *etag_path, char etag[128]) {
  char head[1];
  size_t n =
      hd_file_read_head(copy, head, sizeof head) ? hd_file_read_head(etag_path, etag, 127) : 0;
  etag[n] = '\0';
  etag[strcspn(etag, "\r\n")] = '\0';
}

/* Stores only what heddle_tuned_read accepts. */
static heddle_status check_choices(heddle_context *ctx, const hd_http_answer *a) {
  uint64_t before = hd_memory_shortages();
  json_t *root = json_loadb(hd_strbuf_text(&a->body), a->body.len, 0, NULL);
  bool ok = json_integer_value(json_object_get(root, "version")) == 1 &&
            json_is_array(json_object_get(root, "choices"));
  json_decref(root);
  HD_TRY(hd_memory_status(ctx, before, HEDDLE_OK));
  return ok ? HEDDLE_OK
            : hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "fetch.choices",
                       "the answer of the server has no choices of version 1; legal: the answer of "
                       "heddled to GET /v1/choices");
}

/* Removes the ETag first and writes it last, so that it never belongs to another copy. */
static heddle_status keep(heddle_context *ctx, const hd_http_answer *a, const char *copy,
                          const char *etag_path) {
  HD_TRY(check_choices(ctx, a));
  HD_TRY(hd_file_remove(ctx, etag_path));
  HD_TRY(hd_file_write(ctx, copy, hd_strbuf_text(&a->body), a->body.len));
  return hd_file_write(ctx, etag_path, a->etag, strlen(a->etag));
}

/* No answer, or one that asks to retry: keeps the older copy. */
static heddle_status stay(heddle_context *ctx, const heddle_fetch_options *o, const char *copy,
                          const hd_http_answer *a, heddle_context *said, heddle_fetched *fetched) {
  if (hd_file_age(copy) < 0) {
    if (a->status)
      return hd_http_refused(ctx, a);
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "fetch.away",
                    "%s, and there is no local copy; nearest: heddle sync --server %s",
                    hd_first_error_text(said, "no answer"), o->server);
  }
  fetched->away = true;
  hd_note(ctx, (hd_loc){.file = copy}, "fetch.away",
          "%s; the local copy is used, confirmed %lld s ago",
          a->status ? "the server is busy" : hd_first_error_text(said, "no answer"),
          (long long)fetched->age_s);
  return HEDDLE_OK;
}

static heddle_status fetch(heddle_context *ctx, hd_http *http, const heddle_fetch_options *o,
                           const char *copy, const char *etag_path, heddle_fetched *fetched) {
  hd_http_answer a = {0};
  hd_strbuf path = {0};
  char etag[128];
  hd_strbuf_add(&path, "/v1/choices");
  if (o->device_class)
    hd_http_add_query(&path, "class", o->device_class);
  read_etag(copy, etag_path, etag);
  fetched->age_s = hd_file_age(*etag ? etag_path : copy);
  heddle_context *said = heddle_context_create();
  (void)hd_http_ask(said, http, hd_strbuf_text(&path), NULL, etag,
                    o->timeout_s > 0 ? o->timeout_s : TIMEOUT_S, &a);
  heddle_status status = HEDDLE_OK;
  if (a.status == 200) {
    status = keep(ctx, &a, copy, etag_path);
    fetched->changed = status == HEDDLE_OK;
  } else if (a.status == 304) {
    status = hd_file_write(ctx, etag_path, etag, strlen(etag));
  } else if (hd_http_is_temporary(&a)) {
    status = stay(ctx, o, copy, &a, said, fetched);
  } else {
    status = hd_http_refused(ctx, &a);
  }
  if (status == HEDDLE_OK && !fetched->away)
    fetched->age_s = 0;
  heddle_context_free(said);
  hd_http_answer_free(&a);
  hd_strbuf_free(&path);
  return status;
}

heddle_status heddle_tuned_fetch(heddle_context *ctx, const heddle_fetch_options *options,
                                 const char *copy, heddle_fetched *fetched) {
  hd_http_options o = {.server = options->server, .token = options->token, .ca = options->ca};
  heddle_fetched result = {0};
  hd_http *http;
  hd_strbuf etag_path = {0};
  uint64_t before = hd_memory_shortages();
  HD_TRY(hd_http_open(ctx, &o, &http));
  hd_strbuf_printf(&etag_path, "%s.etag", copy);
  heddle_status status = fetch(ctx, http, options, copy, hd_strbuf_text(&etag_path), &result);
  hd_strbuf_free(&etag_path);
  hd_http_close(http);
  status = hd_memory_status(ctx, before, status);
  if (status == HEDDLE_OK && fetched)
    *fetched = result;
  return status;
}
