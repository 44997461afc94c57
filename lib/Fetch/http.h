/* Fetch/http.h: one connection to heddled: JSON requests, answers with a status. */
#ifndef HD_HTTP_H
#define HD_HTTP_H

#include <stdbool.h>

#include "Support/strbuf.h"
#include "heddle/context.h"

typedef struct hd_http hd_http;

/* Zero-initialise. Strings are copied. */
typedef struct hd_http_options {
  const char *server;       /* "http://HOST[:PORT]", "https://…", "unix:/PATH" */
  const char *token;        /* NULL: none */
  const char *ca;           /* file of certificates for https; NULL: the system's */
  bool (*stop)(void *user); /* polled several times a second; true: abort. May be NULL */
  void *user;
} hd_http_options;

heddle_status hd_http_open(heddle_context *ctx, const hd_http_options *options, hd_http **http);
void hd_http_close(hd_http *http); /* accepts NULL */

typedef struct hd_http_answer {
  int status;           /* of HTTP; 0: no answer */
  hd_strbuf body;       /* owned: hd_http_answer_free */
  char rule[64];        /* of a refusal (docs/service.md); else "" */
  char etag[128];       /* "" if absent */
  char signature[129];  /* Heddle-Signature; "" if absent */
  double retry_after_s; /* 0 if absent */
} hd_http_answer;

void hd_http_answer_free(hd_http_answer *answer);

/* Sends one request. body: JSON for POST; NULL: GET. etag: sent as If-None-Match (NULL or "":
 * none). HEDDLE_OK for any answer of the server; HEDDLE_ENVIRONMENT, with status 0, if no complete
 * answer arrived within timeout_s. The answer is cleared first. */
heddle_status hd_http_ask(heddle_context *ctx, hd_http *http, const char *path, const char *body,
                          const char *etag, double timeout_s, hd_http_answer *answer);

/* Whether the same request should be sent again later; also true if there was no answer. */
bool hd_http_is_temporary(const hd_http_answer *answer);
/* Adds the refusal as an error, "TITLE: WHERE is VALUE; legal: SET; nearest: VALUE", and returns
 * the corresponding status. */
heddle_status hd_http_refused(heddle_context *ctx, const hd_http_answer *answer);

/* Appends "?NAME=VALUE" or "&NAME=VALUE", URL-encoded. */
void hd_http_add_query(hd_strbuf *path, const char *name, const char *value);

#endif
