/* Fetch/http.h: one connection to heddled: requests with JSON, answers with a status. */
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
  bool (*stop)(void *user); /* asked several times a second; true: give up. May be NULL */
  void *user;
} hd_http_options;

heddle_status hd_http_open(heddle_context *ctx, const hd_http_options *options, hd_http **http);
void hd_http_close(hd_http *http); /* accepts NULL */

typedef struct hd_http_answer {
  int status;           /* of HTTP; 0: there was no answer */
  hd_strbuf body;       /* owned: hd_http_answer_free */
  char rule[64];        /* of a refusal (docs/service.md); "" else */
  char etag[128];       /* "" when it had none */
  char signature[129];  /* Heddle-Signature; "" when it had none */
  double retry_after_s; /* 0 when it did not say */
} hd_http_answer;

void hd_http_answer_free(hd_http_answer *answer);

/* Sends one request: body (NULL: GET, else POST with this JSON), etag (NULL or "": none) as
 * If-None-Match. HEDDLE_OK with whatever the server answered; HEDDLE_ENVIRONMENT, and status 0,
 * when no whole answer came within timeout_s. The answer is emptied first. */
heddle_status hd_http_ask(heddle_context *ctx, hd_http *http, const char *path, const char *body,
                          const char *etag, double timeout_s, hd_http_answer *answer);

/* Is the same request to be sent again later? True of no answer, too. */
bool hd_http_is_temporary(const hd_http_answer *answer);
/* Adds the refusal as an error, "TITLE: WHERE is VALUE; legal: SET; nearest: VALUE", and returns
 * the status that fits. */
heddle_status hd_http_refused(heddle_context *ctx, const hd_http_answer *answer);

/* Adds "?NAME=VALUE" or "&NAME=VALUE", encoded. */
void hd_http_add_query(hd_strbuf *path, const char *name, const char *value);

#endif
