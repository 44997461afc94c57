/* heddle/fetch.h: tuned choices from a heddled service (docs/service.md), for programs that compile
 * at run time. They are in a separate library, libheddle-fetch: libheddle does not use the
 * network. */
#ifndef HEDDLE_FETCH_H
#define HEDDLE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise. Strings are borrowed for the call. */
typedef struct heddle_fetch_options {
  const char *server;       /* "http://HOST[:PORT]", "https://…", "unix:/PATH" */
  const char *token;        /* NULL: none */
  const char *ca;           /* file of certificates for https; NULL: the system's */
  const char *device_class; /* only choices of this class, as "NVIDIA H200 700W"; NULL: all */
  double timeout_s;         /* 0: 10 */
} heddle_fetch_options;

/* The result of a fetch. */
typedef struct heddle_fetched {
  bool changed;  /* the copy was written; false: it was already the newest */
  bool away;     /* the server did not answer: the copy is unchanged */
  int64_t age_s; /* seconds since the server last confirmed the copy */
} heddle_fetched;

/* Updates the local copy, a file for heddle_tuned_read, with the server's choices. If the server
 * does not answer but there is an earlier copy, the result is HEDDLE_OK, with a note (rule
 * "fetch.away") and `away`. HEDDLE_ENVIRONMENT: no answer, and no copy; HEDDLE_INVALID: a wrong
 * address, or a refusal of the server. fetched may be NULL. Programs may fetch the same copy at the
 * same time. Two threads must not make the first call at the same time (libcurl's global
 * initialisation). */
HEDDLE_API heddle_status heddle_tuned_fetch(heddle_context *ctx,
                                            const heddle_fetch_options *options, const char *copy,
                                            heddle_fetched *fetched);

/* A product that was looked up: its key (docs/service.md), the number of lookups, and whether there
 * was no exact choice. */
typedef struct heddle_use {
  const char *product; /* borrowed for the call */
  int64_t count;
  bool missed;
} heddle_use;

/* Reports to the server what was looked up since the last report; products that are missed most are
 * tuned first. options->device_class is required. HEDDLE_ENVIRONMENT: no answer; report it again
 * later. HEDDLE_INVALID: refused by the server, or no class. */
HEDDLE_API heddle_status heddle_tuned_report(heddle_context *ctx,
                                             const heddle_fetch_options *options,
                                             const heddle_use *uses, size_t n);

#ifdef __cplusplus
}
#endif
#endif
