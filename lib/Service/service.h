/* Service/service.h: the tuning service. The caller opens sockets and reads files. */
#ifndef HD_SERVICE_H
#define HD_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "Store/store.h"

/* The keys of config.def, and data from the caller. Strings are borrowed while the service runs. */
typedef struct hd_config {
#define CONFIG_TEXT(name, otherwise, doc)             const char *name;
#define CONFIG_INT(name, otherwise, least, most, doc) int64_t name;
#include "Service/config.def"
  unsigned char key[64];                     /* Ed25519 secret key: seed and public key */
  const char *tls_key_pem, *tls_cert_pem;    /* NULL: plain HTTP */
  void (*log)(void *user, const char *line); /* a JSON object, without a newline */
  void *user;
} hd_config;

/* Checks that involve several keys, for example that a non-local address needs tokens. */
heddle_status hd_config_check(heddle_context *ctx, const hd_config *config, bool has_tokens);

typedef struct hd_service hd_service;

/* Connects, migrates the schema to this version, reads the choices, and starts the threads. */
heddle_status hd_service_start(heddle_context *ctx, const hd_config *config, hd_service **service);
/* Serves a listening socket, which becomes owned. */
heddle_status hd_service_listen(heddle_context *ctx, hd_service *service, int fd);
/* Stops: accepts no new connections, and finishes running requests. Accepts NULL. */
void hd_service_stop(hd_service *service);

/* Tokens, for the server's command line. token: buffer for its text, "hdl_" and 64 digits. */
enum { HD_TOKEN_TEXT = 69 };
heddle_status hd_token_add(heddle_context *ctx, hd_store *store, const char *name,
                           const char *tenant, const char *scopes, char token[HD_TOKEN_TEXT]);
heddle_status hd_token_revoke(heddle_context *ctx, hd_store *store, const char *name);
/* Names, tenants and scopes of all tokens; owned. */
heddle_status hd_token_list(heddle_context *ctx, hd_store *store, json_t **list);
/* Makes a new signing key. */
void hd_key_make(unsigned char key[64]);

/* Decides every race again. HEDDLE_MISMATCH names the first whose choice differs. */
heddle_status hd_races_replay(heddle_context *ctx, hd_store *store, int64_t *n_races);

#endif
