#include "Fetch/http.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "Support/arena.h"
#include "Support/diag.h"

enum { MAX_ANSWER_BYTES = 64 << 20, CONNECT_S = 5 };

struct hd_http {
  CURL *curl;
  char *base;                 /* owned: the URL without the path */
  struct curl_slist *headers; /* owned */
  char error[CURL_ERROR_SIZE];
  bool (*stop)(void *user);
  void *user;
};

/* ---- open ---- */

static heddle_status set_server(heddle_context *ctx, hd_http *h, const char *server) {
  static const char local[] = "unix:";
  if (strncmp(server, local, strlen(local)) == 0 && server[strlen(local)] == '/') {
    curl_easy_setopt(h->curl, CURLOPT_UNIX_SOCKET_PATH, server + strlen(local));
    h->base = hd_xstrdup("http://localhost");
    return HEDDLE_OK;
  }
  const char *host = strstr(server, "://");
  bool known = strncmp(server, "http://", 7) == 0 || strncmp(server, "https://", 8) == 0;
  if (!known || host[3] == '\0')
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "http.server",
                    "got server \"%.100s\"; legal: http://HOST[:PORT], https://HOST[:PORT], "
                    "unix:/PATH; nearest: http://127.0.0.1:7433",
                    server);
  size_t n = strlen(server);
  h->base = hd_xstrdup(server);
  while (n && h->base[n - 1] == '/')
    h->base[--n] = '\0';
  return HEDDLE_OK;
}

static void set_headers(hd_http *h, const char *token) {
  h->headers = curl_slist_append(NULL, "Content-Type: application/json");
  h->headers = curl_slist_append(h->headers, "Expect:"); /* no extra round trip before a body */
  if (!token)
    return;
  hd_strbuf line = {0};
  hd_strbuf_printf(&line, "Authorization: Bearer %s", token);
  h->headers = curl_slist_append(h->headers, hd_strbuf_text(&line));
  hd_strbuf_free(&line);
}

static int go_on(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  const hd_http *h = user;
  (void)a, (void)b, (void)c, (void)d;
  return h->stop && h->stop(h->user);
}

static size_t take_body(char *data, size_t size, size_t n, void *user) {
  hd_strbuf *body = user;
  if (body->len + size * n > MAX_ANSWER_BYTES)
    return 0;
  uint64_t before = hd_memory_shortages();
  hd_strbuf_addn(body, data, size * n);
  return hd_memory_shortages() == before ? size * n : 0;
}

static void copy_value(char *out, size_t cap, const char *value, size_t n) {
  while (n && (*value == ' ' || *value == '\t'))
    value++, n--;
  while (n && (value[n - 1] == '\r' || value[n - 1] == '\n' || value[n - 1] == ' '))
    n--;
  snprintf(out, cap, "%.*s", (int)n, value);
}

static size_t take_header(char *line, size_t size, size_t n, void *user) {
  hd_http_answer *a = user;
  const char *colon = memchr(line, ':', size * n);
  if (!colon)
    return size * n;
  size_t name = (size_t)(colon - line), left = size * n - name - 1;
  char seconds[32];
  if (name == 4 && strncasecmp(line, "ETag", name) == 0)
    copy_value(a->etag, sizeof a->etag, colon + 1, left);
  else if (name == 16 && strncasecmp(line, "Heddle-Signature", name) == 0)
    copy_value(a->signature, sizeof a->signature, colon + 1, left);
  else if (name == 11 && strncasecmp(line, "Retry-After", name) == 0) {
    copy_value(seconds, sizeof seconds, colon + 1, left);
    a->retry_after_s = strtod(seconds, NULL);
  }
  return size * n;
}

heddle_status hd_http_open(heddle_context *ctx, const hd_http_options *o, hd_http **http) {
  hd_http *h = hd_try_zalloc(ctx, sizeof *h, "a connection");
  if (!h)
    return HEDDLE_NO_MEMORY;
  h->curl = curl_global_init(CURL_GLOBAL_DEFAULT) == 0 ? curl_easy_init() : NULL;
  heddle_status status = h->curl ? set_server(ctx, h, o->server) : HEDDLE_NO_MEMORY;
  if (status != HEDDLE_OK) {
    hd_http_close(h);
    return status;
  }
  h->stop = o->stop;
  h->user = o->user;
  set_headers(h, o->token);
  curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, h->error);
  curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, h->headers);
  curl_easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(h->curl, CURLOPT_PROXY, ""); /* ignore proxies of the environment */
  curl_easy_setopt(h->curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
  curl_easy_setopt(h->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(h->curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(h->curl, CURLOPT_XFERINFOFUNCTION, go_on);
  curl_easy_setopt(h->curl, CURLOPT_XFERINFODATA, h);
  curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(h->curl, CURLOPT_HEADERFUNCTION, take_header);
  if (o->ca)
    curl_easy_setopt(h->curl, CURLOPT_CAINFO, o->ca);
  *http = h;
  return HEDDLE_OK;
}

void hd_http_close(hd_http *h) {
  if (!h)
    return;
  if (h->curl)
    curl_easy_cleanup(h->curl);
  curl_slist_free_all(h->headers);
  hd_free(h->base);
  hd_free(h);
}

/* ---- one exchange ---- */

void hd_http_answer_free(hd_http_answer *a) {
  hd_strbuf_free(&a->body);
  *a = (hd_http_answer){0};
}

static CURLcode perform(hd_http *h, const char *url, const char *body, const char *etag,
                        double timeout_s, hd_http_answer *a) {
  struct curl_slist *headers = NULL;
  hd_strbuf line = {0};
  if (etag && *etag) {
    for (const struct curl_slist *s = h->headers; s; s = s->next)
      headers = curl_slist_append(headers, s->data);
    hd_strbuf_printf(&line, "If-None-Match: %s", etag);
    headers = curl_slist_append(headers, hd_strbuf_text(&line));
  }
  curl_easy_setopt(h->curl, CURLOPT_URL, url);
  curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, headers ? headers : h->headers);
  curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, (long)(timeout_s * 1e3) + 1);
  curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, &a->body);
  curl_easy_setopt(h->curl, CURLOPT_HEADERDATA, a);
  if (body) {
    curl_easy_setopt(h->curl, CURLOPT_POST, 1L);
    curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
    curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, body);
  } else {
    curl_easy_setopt(h->curl, CURLOPT_HTTPGET, 1L);
  }
  h->error[0] = '\0';
  CURLcode code = curl_easy_perform(h->curl);
  curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, h->headers);
  curl_slist_free_all(headers);
  hd_strbuf_free(&line);
  return code;
}

heddle_status hd_http_ask(heddle_context *ctx, hd_http *h, const char *path, const char *body,
                          const char *etag, double timeout_s, hd_http_answer *answer) {
  hd_strbuf url = {0};
  long status = 0;
  hd_http_answer_free(answer);
  hd_strbuf_printf(&url, "%s%s", h->base, path);
  CURLcode code = perform(h, hd_strbuf_text(&url), body, etag, timeout_s, answer);
  if (code == CURLE_OK)
    curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
  heddle_status result = HEDDLE_OK;
  answer->status = (int)status;
  if (code != CURLE_OK)
    result = hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "http.answer", "no answer from %s: %s",
                      h->base, *h->error ? h->error : curl_easy_strerror(code));
  else if (status >= 400) {
    json_t *problem = json_loadb(hd_strbuf_text(&answer->body), answer->body.len, 0, NULL);
    const char *rule = json_string_value(json_object_get(problem, "rule"));
    snprintf(answer->rule, sizeof answer->rule, "%s", rule ? rule : "");
    json_decref(problem);
  }
  hd_strbuf_free(&url);
  return result;
}

/* ---- answers ---- */

bool hd_http_is_temporary(const hd_http_answer *a) {
  return a->status == 0 || a->status >= 500 || a->status == 408 || a->status == 429 ||
         strcmp(a->rule, "lease.device") == 0;
}

static void add_part(hd_strbuf *text, const json_t *problem, const char *field,
                     const char *before) {
  const char *value = json_string_value(json_object_get(problem, field));
  if (value && *value)
    hd_strbuf_printf(text, "%s%s", before, value);
}

heddle_status hd_http_refused(heddle_context *ctx, const hd_http_answer *a) {
  heddle_status status = a->status >= 500 || a->status == 429 || a->status == 408
                             ? HEDDLE_ENVIRONMENT
                         : a->status == 404 ? HEDDLE_NOT_FOUND
                                            : HEDDLE_INVALID;
  json_t *problem = json_loadb(hd_strbuf_text(&a->body), a->body.len, 0, NULL);
  const char *title = json_string_value(json_object_get(problem, "title"));
  hd_strbuf text = {0};
  hd_strbuf_add(&text, title ? title : "The server refuses");
  add_part(&text, problem, "where", ": ");
  add_part(&text, problem, "value", " is ");
  add_part(&text, problem, "legal", "; legal: ");
  add_part(&text, problem, "nearest", "; nearest: ");
  if (!title)
    hd_strbuf_printf(&text, " with status %d", a->status);
  hd_error(ctx, status, HD_NOWHERE, *a->rule ? a->rule : "http.status", "%s",
           hd_strbuf_text(&text));
  hd_strbuf_free(&text);
  json_decref(problem);
  return status;
}

void hd_http_add_query(hd_strbuf *path, const char *name, const char *value) {
  char *encoded = curl_easy_escape(NULL, value, 0);
  hd_strbuf_printf(path, "%c%s=%s", strchr(hd_strbuf_text(path), '?') ? '&' : '?', name,
                   encoded ? encoded : "");
  curl_free(encoded);
}
