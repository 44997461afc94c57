/* heddled.h: shared by the commands of heddled. */
#ifndef HEDDLED_H
#define HEDDLED_H

#include "Interface/interface.h"
#include "Service/service.h"

/* The configuration, and the texts that it borrows. */
typedef struct setup {
  hd_config config;
  char *file_text, *tls_key, *tls_cert, *key_path; /* owned */
} setup;

/* Sets the defaults. */
void config_init(hd_config *config);
/* Sets one key; HEDDLE_INVALID names the legal values and the nearest key. value is borrowed. */
heddle_status config_set(heddle_context *ctx, hd_config *config, const char *file, int line,
                         const char *key, const char *value);

/* Opens listening sockets for a list of addresses: fds[0..*n). */
enum { MAX_LISTEN = 8 };
heddle_status listen_all(heddle_context *ctx, const char *addresses, int fds[MAX_LISTEN], int *n);

heddle_status command_serve(heddle_context *ctx, setup *s);
heddle_status command_check(heddle_context *ctx, setup *s);
heddle_status command_migrate(heddle_context *ctx, const setup *s, int n, char **args);
heddle_status command_token(heddle_context *ctx, const setup *s, int n, char **args);
heddle_status command_backup(heddle_context *ctx, const setup *s, int n, char **args);
heddle_status command_replay(heddle_context *ctx, const setup *s);

#endif
