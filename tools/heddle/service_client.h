/* heddle/service_client.h: what submit, sync, fleet and --server share: a heddled and its token.
 * Without HEDDLE_NETWORK each is refused (service_none.c). */
#ifndef HD_SERVICE_CLIENT_H
#define HD_SERVICE_CLIENT_H

#include "Choice/tuned.h"
#include "cli.h"

/* Options of every command that talks to a service. */
typedef struct service_args {
  const char *server, *token_file, *ca, *device_class;
} service_args;

#define SERVICE_CLASS_ABOUT "class of the GPUs: \"NVIDIA H200 700W\""
#define SERVICE_OPTIONS(a)                                                                         \
  {"server", CLI_TEXT, &(a).server, "URL", "heddled: http://HOST:PORT, https://…, unix:/PATH"},    \
      {"token-file", CLI_TEXT, &(a).token_file, "FILE", "the token (or $HEDDLE_TOKEN)"}, {         \
    "ca", CLI_TEXT, &(a).ca, "FILE", "certificates for https (default: those of the system)"       \
  }
/* The two of a command that looks choices up, beside --db. */
#define SERVICE_LOOKUP_OPTIONS(a)                                                                  \
  {"server", CLI_TEXT, &(a).server, "URL",                                                         \
   "tuned choices of a heddled, or its last local copy if it does not answer ($HEDDLE_TOKEN)"},    \
  {                                                                                                \
    "class", CLI_TEXT, &(a).device_class, "NAME", "with --server: " SERVICE_CLASS_ABOUT            \
  }

/* The choices of the service, by way of a local copy (in $XDG_CACHE_HOME/heddle): when the service
 * does not answer, the last copy, and a note. *tuned is owned. */
heddle_status service_tuned(heddle_context *ctx, const service_args *args, hd_tuned **tuned);

/* Tells the service that a product was looked up, and whether it was missed, in at most two
 * seconds; without an answer, or without a class, nothing happens. */
void service_report(const service_args *args, const char *product, bool missed);

/* From the files, options and the environment's HEDDLE_TOKEN; *token is owned, NULL: none. */
heddle_status service_token(heddle_context *ctx, const service_args *args, char **token);
/* CLI_GO, or the exit code: --server is required. */
int service_check(const service_args *args);

#endif
