/* heddled migrate, token, backup and replay: commands on the database, without serving. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "heddled.h"

static const char *option(int n, char **args, const char *name, const char *otherwise) {
  for (int i = 0; i + 1 < n; i++)
    if (strcmp(args[i], name) == 0)
      return args[i + 1];
  return otherwise;
}

heddle_status command_migrate(heddle_context *ctx, const setup *s, int n, char **args) {
  hd_store *store;
  int to = atoi(option(n, args, "--to", "0"));
  if (to < 0 || to > hd_schema_version())
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "migrate.to", "got %d; legal: 1 to %d", to,
                    hd_schema_version());
  HD_TRY(hd_store_open(ctx, s->config.store, &store));
  heddle_status status = hd_store_migrate(ctx, store, to);
  hd_store_close(store);
  if (status == HEDDLE_OK)
    printf("schema %d or later: %s\n", to ? to : hd_schema_version(), s->config.store);
  return status;
}

static heddle_status add_token(heddle_context *ctx, hd_store *store, int n, char **args) {
  char token[HD_TOKEN_TEXT];
  if (n < 1 || args[0][0] == '-')
    return hd_error(
        ctx, HEDDLE_INVALID, HD_NOWHERE, "token.name",
        "got none; legal: heddled token add NAME [--scopes lookup,submit] [--tenant T]");
  HD_TRY(hd_token_add(ctx, store, args[0], option(n, args, "--tenant", "default"),
                      option(n, args, "--scopes", "lookup"), token));
  printf("%s\n", token);
  return HEDDLE_OK;
}

static heddle_status list_tokens(heddle_context *ctx, hd_store *store) {
  json_t *list, *token;
  size_t i;
  HD_TRY(hd_token_list(ctx, store, &list));
  printf("%-24s %-16s %-28s %-24s %s\n", "name", "tenant", "scopes", "created", "revoked");
  json_array_foreach(list, i, token) {
    static const char *const columns[] = {"name", "tenant", "scopes", "created", "revoked"};
    const char *cell[5];
    for (int k = 0; k < 5; k++) {
      cell[k] = json_string_value(json_object_get(token, columns[k]));
      cell[k] = cell[k] ? cell[k] : "";
    }
    printf("%-24s %-16s %-28s %-24s %s\n", cell[0], cell[1], cell[2], cell[3], cell[4]);
  }
  json_decref(list);
  return HEDDLE_OK;
}

heddle_status command_token(heddle_context *ctx, const setup *s, int n, char **args) {
  hd_store *store;
  const char *what = n ? args[0] : "";
  HD_TRY(hd_store_open(ctx, s->config.store, &store));
  heddle_status status = hd_store_migrate(ctx, store, 0);
  if (status == HEDDLE_OK && strcmp(what, "add") == 0)
    status = add_token(ctx, store, n - 1, args + 1);
  else if (status == HEDDLE_OK && strcmp(what, "list") == 0)
    status = list_tokens(ctx, store);
  else if (status == HEDDLE_OK && strcmp(what, "revoke") == 0 && n == 2)
    status = hd_token_revoke(ctx, store, args[1]);
  else if (status == HEDDLE_OK)
    status = hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "token.command",
                      "got \"%.20s\"; legal: add NAME, list, revoke NAME", what);
  hd_store_close(store);
  return status;
}

heddle_status command_backup(heddle_context *ctx, const setup *s, int n, char **args) {
  hd_store *store;
  if (n != 1)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "backup.file",
                    "got %d names; legal: heddled backup FILE", n);
  HD_TRY(hd_store_open(ctx, s->config.store, &store));
  heddle_status status = hd_store_backup(ctx, store, args[0]);
  hd_store_close(store);
  if (status == HEDDLE_OK)
    printf("%s\n", args[0]);
  return status;
}

heddle_status command_replay(heddle_context *ctx, const setup *s) {
  hd_store *store;
  int64_t n = 0;
  HD_TRY(hd_store_open(ctx, s->config.store, &store));
  heddle_status status = hd_races_replay(ctx, store, &n);
  hd_store_close(store);
  if (status == HEDDLE_OK)
    printf("%" PRId64 " races decided again: the same choices\n", n);
  return status;
}
