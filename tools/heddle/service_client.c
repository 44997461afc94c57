#include "service_client.h"

#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/hash.h"
#include "Support/strbuf.h"
#include "heddle/fetch.h"

int service_check(const service_args *a) {
  return a->server ? CLI_GO
                   : cli_usage_error("service.server", "--server is missing; legal: its address; "
                                                       "nearest: --server http://127.0.0.1:7433");
}

heddle_status service_token(heddle_context *ctx, const service_args *a, char **token) {
  size_t n_bytes;
  const char *said = getenv("HEDDLE_TOKEN");
  *token = NULL;
  if (a->token_file)
    HD_TRY(hd_file_read_text(ctx, a->token_file, token, &n_bytes));
  else if (said && *said)
    *token = hd_xstrdup(said);
  if (*token)
    (*token)[strcspn(*token, "\r\n")] = '\0';
  return HEDDLE_OK;
}

/* One copy for each server and class. */
static heddle_status copy_path(heddle_context *ctx, const service_args *a, hd_strbuf *path) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  const char *name = a->device_class ? a->device_class : "";
  char hash[33];
  hd_hash_format(hd_hash_combine(hd_hash_bytes(a->server, strlen(a->server)),
                                 hd_hash_bytes(name, strlen(name))),
                 hash);
  if (cache && *cache)
    hd_strbuf_printf(path, "%s/heddle", cache);
  else
    hd_strbuf_printf(path, "%s/.cache/heddle", home ? home : "/tmp");
  HD_TRY(hd_file_mkdirs(ctx, hd_strbuf_text(path)));
  hd_strbuf_printf(path, "/choices-%s.json", hash);
  return HEDDLE_OK;
}

heddle_status service_tuned(heddle_context *ctx, const service_args *a, hd_tuned **tuned) {
  hd_strbuf path = {0};
  char *token;
  HD_TRY(service_token(ctx, a, &token));
  heddle_fetch_options o = {
      .server = a->server, .token = token, .ca = a->ca, .device_class = a->device_class};
  heddle_status status = copy_path(ctx, a, &path);
  if (status == HEDDLE_OK)
    status = heddle_tuned_fetch(ctx, &o, hd_strbuf_text(&path), NULL);
  if (status == HEDDLE_OK)
    status = heddle_tuned_read(ctx, hd_strbuf_text(&path), tuned);
  hd_strbuf_free(&path);
  hd_free(token);
  return status;
}

void service_report(const service_args *a, const char *product, bool missed) {
  char *token = NULL;
  heddle_context *ctx = heddle_context_create();
  heddle_use use = {product, 1, missed};
  if (a->device_class && service_token(ctx, a, &token) == HEDDLE_OK) {
    heddle_fetch_options o = {.server = a->server,
                              .token = token,
                              .ca = a->ca,
                              .device_class = a->device_class,
                              .timeout_s = 2};
    (void)heddle_tuned_report(ctx, &o, &use, 1);
  }
  hd_free(token);
  heddle_context_free(ctx);
}
