/* heddle/fetch.h: tuned choices from a heddled service (docs/service.md), for programs that compile
 * at run time. In a library of its own, libheddle-fetch: libheddle has no network. */
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
  const char *device_class; /* of this class alone, as "NVIDIA H200 700W"; NULL: of all */
  double timeout_s;         /* 0: 10 */
} heddle_fetch_options;

/* What came of it. */
typedef struct heddle_fetched {
  bool changed;  /* the copy was written; else it was the server's newest already */
  bool away;     /* the server could not be asked: the copy is what it was */
  int64_t age_s; /* of the copy: seconds since the server last confirmed it */
} heddle_fetched;

/* Brings the local copy, a file that heddle_tuned_read takes, up to the server's choices. When the
 * server does not answer and there is a copy from earlier, that is HEDDLE_OK, with a note (rule
 * "fetch.away") and `away`. HEDDLE_ENVIRONMENT: no answer, and no copy; HEDDLE_INVALID: a wrong
 * address, or refused by the server. fetched may be NULL. Programs may fetch the same copy at the
 * same time. Not to be called first by two threads at once (libcurl's global initialisation). */
HEDDLE_API heddle_status heddle_tuned_fetch(heddle_context *ctx,
                                            const heddle_fetch_options *options, const char *copy,
                                            heddle_fetched *fetched);

/* A product that was looked up: its key (docs/service.md), how often, and whether there was no
 * choice of exactly it. */
typedef struct heddle_use {
  const char *product; /* borrowed for the call */
  int64_t count;
  bool missed;
} heddle_use;

/* Tells the server what was looked up since the last report: what is missed most is tuned first.
 * options->device_class is required. HEDDLE_ENVIRONMENT: no answer; report it again another time.
 * HEDDLE_INVALID: refused by the server, or no class. */
HEDDLE_API heddle_status heddle_tuned_report(heddle_context *ctx,
                                             const heddle_fetch_options *options,
                                             const heddle_use *uses, size_t n);

#ifdef __cplusplus
}
#endif
#endif
