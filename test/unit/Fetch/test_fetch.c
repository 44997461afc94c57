/* The client of heddled, with a server in this process that returns the answer a test has set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "Fetch/http.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "heddle/fetch.h"

/* ---- a server with one answer ---- */

static struct {
  int listener, port;
  pthread_t thread;
  const char *answer; /* the bytes; "": closes the connection without an answer */
  char request[8192]; /* the last request */
} server;

static void *serve(void *unused) {
  (void)unused;
  for (;;) {
    int fd = accept(server.listener, NULL, NULL);
    if (fd < 0)
      return NULL;
    ssize_t n = read(fd, server.request, sizeof server.request - 1);
    server.request[n > 0 ? n : 0] = '\0';
    (void)!write(fd, server.answer, strlen(server.answer));
    close(fd);
  }
}

static int start(void **state) {
  (void)state;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t len = sizeof at;
  server.listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(server.listener, (struct sockaddr *)&at, sizeof at) != 0 ||
      listen(server.listener, 8) != 0)
    return -1;
  getsockname(server.listener, (struct sockaddr *)&at, &len);
  server.port = ntohs(at.sin_port);
  return pthread_create(&server.thread, NULL, serve, NULL);
}

static int end(void **state) {
  (void)state;
  shutdown(server.listener, SHUT_RDWR);
  close(server.listener);
  return pthread_join(server.thread, NULL);
}

/* ---- helpers ---- */

static heddle_context *ctx;

static void expect_rule(const char *rule, const char *words) {
  const heddle_diagnostic *d = heddle_context_get(ctx, 0);
  assert_non_null(d);
  assert_string_equal(d->rule, rule);
  assert_non_null(strstr(d->text, words));
  heddle_context_clear(ctx);
}

static const char *address(void) {
  static char text[64];
  snprintf(text, sizeof text, "http://127.0.0.1:%d/", server.port);
  return text;
}

static hd_http *connected(void) {
  hd_http *http = NULL;
  hd_http_options o = {.server = address(), .token = "hdl_secret"};
  assert_int_equal(hd_http_open(ctx, &o, &http), HEDDLE_OK);
  return http;
}

/* ---- one exchange ---- */

static void requests_are_what_was_asked_for(void **state) {
  (void)state;
  hd_http *http = connected();
  hd_http_answer a = {0};
  hd_strbuf path = {0};
  server.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\netag:  \"e1\" \r\nRetry-After: 7\r\n"
                  "Heddle-Signature: abcd\r\n\r\n{}";
  hd_strbuf_add(&path, "/v1/choice");
  hd_http_add_query(&path, "product", "sm_90a a=bf16 m=1");
  hd_http_add_query(&path, "class", "NVIDIA H200");
  assert_int_equal(hd_http_ask(ctx, http, hd_strbuf_text(&path), NULL, "\"e0\"", 5, &a), HEDDLE_OK);
  assert_int_equal(a.status, 200);
  assert_string_equal(hd_strbuf_text(&a.body), "{}");
  assert_string_equal(a.etag, "\"e1\"");
  assert_string_equal(a.signature, "abcd");
  assert_true(a.retry_after_s == 7);
  assert_non_null(
      strstr(server.request,
             "GET /v1/choice?product=sm_90a%20a%3Dbf16%20m%3D1&class=NVIDIA%20H200 HTTP/1.1\r\n"));
  assert_non_null(strstr(server.request, "Authorization: Bearer hdl_secret\r\n"));
  assert_non_null(strstr(server.request, "If-None-Match: \"e0\"\r\n"));
  assert_int_equal(hd_http_ask(ctx, http, "/v1/jobs", "{\"x\": 1}", NULL, 5, &a), HEDDLE_OK);
  assert_non_null(strstr(server.request, "POST /v1/jobs HTTP/1.1\r\n"));
  assert_non_null(strstr(server.request, "Content-Type: application/json\r\n"));
  assert_null(strstr(server.request, "If-None-Match"));
  assert_non_null(strstr(server.request, "\r\n\r\n{\"x\": 1}"));
  hd_strbuf_free(&path);
  hd_http_answer_free(&a);
  hd_http_close(http);
}

static void a_refusal_is_told_whole(void **state) {
  (void)state;
  hd_http *http = connected();
  hd_http_answer a = {0};
  server.answer =
      "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n{\"rule\": \"field.value\", \"title\": "
      "\"A field's value is not legal\", \"where\": \"priority\", \"value\": \"12\", \"legal\": "
      "\"0 to 9\", \"nearest\": \"9\"}";
  assert_int_equal(hd_http_ask(ctx, http, "/", "{}", NULL, 5, &a), HEDDLE_OK);
  assert_string_equal(a.rule, "field.value");
  assert_false(hd_http_is_temporary(&a));
  assert_int_equal(hd_http_refused(ctx, &a), HEDDLE_INVALID);
  expect_rule("field.value",
              "A field's value is not legal: priority is 12; legal: 0 to 9; nearest: 9");
  server.answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nproxy";
  assert_int_equal(hd_http_ask(ctx, http, "/", NULL, NULL, 5, &a), HEDDLE_OK);
  assert_int_equal(hd_http_refused(ctx, &a), HEDDLE_INVALID);
  expect_rule("http.status", "status 403");
  hd_http_answer_free(&a);
  hd_http_close(http);
}

static void what_is_temporary_is_known(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *rule;
    bool temporary;
  } known[] = {{0, "", true},
               {503, "store.down", true},
               {500, "internal", true},
               {429, "rate", true},
               {408, "body.slow", true},
               {409, "lease.device", true},
               {409, "lease.ended", false},
               {404, "job.none", false}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    hd_http_answer a = {.status = known[i].status};
    snprintf(a.rule, sizeof a.rule, "%s", known[i].rule);
    assert_true(hd_http_is_temporary(&a) == known[i].temporary);
  }
}

static bool at_once(void *user) {
  (void)user;
  return true;
}

static void no_answer_is_an_answer(void **state) {
  (void)state;
  hd_http *http = connected();
  hd_http_answer a = {0};
  static const char *const broken[] = {"", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
                                       "nonsense"};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    server.answer = broken[i];
    assert_int_equal(hd_http_ask(ctx, http, "/", NULL, NULL, 5, &a), HEDDLE_ENVIRONMENT);
    assert_int_equal(a.status, 0);
    expect_rule("http.answer", "no answer from http://127.0.0.1");
  }
  hd_http_close(http);
  hd_http_options o = {.server = "unix:/nowhere/heddled.sock", .stop = at_once};
  assert_int_equal(hd_http_open(ctx, &o, &http), HEDDLE_OK);
  double begin = hd_clock_seconds();
  assert_int_equal(hd_http_ask(ctx, http, "/", NULL, NULL, 5, &a), HEDDLE_ENVIRONMENT);
  assert_true(hd_clock_seconds() - begin < 2);
  heddle_context_clear(ctx);
  hd_http_close(http);
  static const char *const wrong[] = {"ftp://x", "127.0.0.1:80", "http://", "unix:relative", ""};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    hd_http_options w = {.server = wrong[i]};
    assert_int_equal(hd_http_open(ctx, &w, &http), HEDDLE_INVALID);
    expect_rule("http.server", "legal: http://HOST[:PORT]");
  }
  hd_http_answer_free(&a);
}

/* ---- the local copy ---- */

static const char choices[] = "HTTP/1.1 200 OK\r\nETag: \"7\"\r\nConnection: close\r\n\r\n"
                              "{\"version\": 1, \"serial\": 7, \"choices\": []}";

static void a_copy_outlives_its_server(void **state) {
  (void)state;
  char *folder, copy[256];
  assert_int_equal(hd_file_tempdir(ctx, getenv("TMPDIR"), &folder), HEDDLE_OK);
  snprintf(copy, sizeof copy, "%s/choices.json", folder);
  heddle_fetch_options o = {
      .server = address(), .device_class = "NVIDIA H200 700W", .timeout_s = 5};
  heddle_fetched f;
  server.answer = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
  assert_int_equal(heddle_tuned_fetch(ctx, &o, copy, &f), HEDDLE_ENVIRONMENT); /* and no copy */
  expect_rule("http.status", "503");
  server.answer = choices;
  assert_int_equal(heddle_tuned_fetch(ctx, &o, copy, &f), HEDDLE_OK);
  assert_true(f.changed && !f.away);
  assert_non_null(strstr(server.request, "/v1/choices?class=NVIDIA%20H200%20700W"));
  server.answer = "HTTP/1.1 304 Not Modified\r\n\r\n";
  assert_int_equal(heddle_tuned_fetch(ctx, &o, copy, &f), HEDDLE_OK);
  assert_true(!f.changed && !f.away && f.age_s == 0);
  assert_non_null(strstr(server.request, "If-None-Match: \"7\"\r\n"));
  static const char *const away[] = {"", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"};
  for (int i = 0; i < 2; i++) {
    server.answer = away[i];
    assert_int_equal(heddle_tuned_fetch(ctx, &o, copy, &f), HEDDLE_OK);
    assert_true(f.away && !f.changed);
    expect_rule("fetch.away", "the local copy is used");
  }
  static const char *const hostile[] = {
      "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<html>",
      "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"version\": 2, \"choices\": []}",
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"};
  for (int i = 0; i < 3; i++) {
    server.answer = hostile[i];
    assert_int_equal(heddle_tuned_fetch(ctx, &o, copy, &f), HEDDLE_INVALID);
    expect_rule(i < 2 ? "fetch.choices" : "http.status", i < 2 ? "no choices of version 1" : "302");
  }
  char *text;
  size_t n_bytes;
  assert_int_equal(hd_file_read(ctx, copy, &text, &n_bytes), HEDDLE_OK);
  assert_non_null(strstr(text, "\"serial\": 7")); /* unchanged */
  free(text);
  snprintf(copy, sizeof copy, "%s/other.json", folder);
  server.answer = "";
  assert_int_equal(heddle_tuned_fetch(ctx, &o, copy, NULL), HEDDLE_ENVIRONMENT);
  expect_rule("fetch.away", "there is no local copy");
  hd_file_remove(ctx, folder);
  free(folder);
}

/* ---- reports ---- */

static void uses_are_reported_in_batches(void **state) {
  (void)state;
  enum { N = 1001 };
  heddle_use *uses = calloc(N, sizeof *uses);
  for (int i = 0; i < N; i++)
    uses[i] = (heddle_use){i < N - 1 ? "first" : "last", i + 1, i == N - 1};
  heddle_fetch_options o = {.server = address(), .device_class = "H200", .timeout_s = 5};
  server.answer = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
  assert_int_equal(heddle_tuned_report(ctx, &o, uses, N), HEDDLE_OK);
  assert_non_null(strstr(server.request, "POST /v1/uses HTTP/1.1\r\n"));
  assert_non_null(strstr(server.request, "{\"uses\":[{\"product\":\"last\",\"class\":\"H200\","
                                         "\"count\":1001,\"missed\":true}]}"));
  server.answer = "";
  assert_int_equal(heddle_tuned_report(ctx, &o, uses, 1), HEDDLE_ENVIRONMENT);
  heddle_context_clear(ctx);
  server.answer = "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n";
  assert_int_equal(heddle_tuned_report(ctx, &o, uses, 1), HEDDLE_INVALID);
  heddle_context_clear(ctx);
  o.device_class = NULL;
  assert_int_equal(heddle_tuned_report(ctx, &o, uses, 1), HEDDLE_INVALID);
  expect_rule("report.class", "device class is missing");
  free(uses);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(requests_are_what_was_asked_for), cmocka_unit_test(a_refusal_is_told_whole),
      cmocka_unit_test(what_is_temporary_is_known),      cmocka_unit_test(no_answer_is_an_answer),
      cmocka_unit_test(a_copy_outlives_its_server),
      cmocka_unit_test(uses_are_reported_in_batches),
  };
  ctx = heddle_context_create();
  int code = cmocka_run_group_tests(tests, start, end);
  heddle_context_free(ctx);
  return code;
}
