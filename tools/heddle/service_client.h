/* heddle/service_client.h: shared by submit, sync, fleet and --server: a heddled and its token.
 * Without HEDDLE_NETWORK all are refused (service_none.c). */
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
/* The two options of a command that looks up choices, in addition to --db. */
#define SERVICE_LOOKUP_OPTIONS(a)                                                                  \
  {"server", CLI_TEXT, &(a).server, "URL",                                                         \
   "tuned choices of a heddled, or its last local copy if it does not answer ($HEDDLE_TOKEN)"},    \
  {                                                                                                \
    "class", CLI_TEXT, &(a).device_class, "NAME", "with --server: " SERVICE_CLASS_ABOUT            \
  }

/* The choices of the service, through a local copy in $XDG_CACHE_HOME/heddle. If the service does
 * not answer, returns the last copy, with a note. *tuned is owned. */
heddle_status service_tuned(heddle_context *ctx, const service_args *args, hd_tuned **tuned);

/* Reports a lookup to the service, and whether it was missed, in at most two seconds. Does nothing
 * without a class or if there is no answer. */
void service_report(const service_args *args, const char *product, bool missed);

/* From a file, the options or HEDDLE_TOKEN in the environment; *token is owned, NULL: none. */
heddle_status service_token(heddle_context *ctx, const service_args *args, char **token);
/* CLI_GO, or the exit code: --server is required. */
int service_check(const service_args *args);

#endif
