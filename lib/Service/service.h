/* Service/service.h: the tuning service. The caller opens sockets and reads files; this answers. */
#ifndef HD_SERVICE_H
#define HD_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "Store/store.h"

/* What config.def names, and what the caller adds. Strings are borrowed while the service runs. */
typedef struct hd_config {
#define CONFIG_TEXT(name, otherwise, doc)             const char *name;
#define CONFIG_INT(name, otherwise, least, most, doc) int64_t name;
#include "Service/config.def"
  unsigned char key[64];                     /* Ed25519 secret: the seed and the public key */
  const char *tls_key_pem, *tls_cert_pem;    /* NULL: plain HTTP */
  void (*log)(void *user, const char *line); /* a JSON object, without the end of the line */
  void *user;
} hd_config;

/* What no single key can say: an address that is not this machine's needs tokens, … */
heddle_status hd_config_check(heddle_context *ctx, const hd_config *config, bool has_tokens);

typedef struct hd_service hd_service;

/* Connects, brings the schema up to this version, reads the choices, and starts its threads. */
heddle_status hd_service_start(heddle_context *ctx, const hd_config *config, hd_service **service);
/* Answers on a listening socket (owned from now on). */
heddle_status hd_service_listen(heddle_context *ctx, hd_service *service, int fd);
/* Ends: no new connections, what is under way is finished. Accepts NULL. */
void hd_service_stop(hd_service *service);

/* Tokens, on the server's command line. token: where its text goes, "hdl_" and 64 digits. */
enum { HD_TOKEN_TEXT = 69 };
heddle_status hd_token_add(heddle_context *ctx, hd_store *store, const char *name,
                           const char *tenant, const char *scopes, char token[HD_TOKEN_TEXT]);
heddle_status hd_token_revoke(heddle_context *ctx, hd_store *store, const char *name);
/* Names, tenants, scopes; owned. */
heddle_status hd_token_list(heddle_context *ctx, hd_store *store, json_t **list);
/* A new signing key. */
void hd_key_make(unsigned char key[64]);

/* Decides every race again: HEDDLE_MISMATCH names the first that comes out another way. */
heddle_status hd_races_replay(heddle_context *ctx, hd_store *store, int64_t *n_races);

#endif
