/* Checks of the configuration that involve several keys. */
#include <stdio.h>
#include <string.h>

#include "Service/service.h"
#include "Support/diag.h"

/* "127.example.org:80" is not: what begins with 127. has to be an address. */
static bool is_local(const char *listen) {
  static const char *const local[] = {"unix:", "localhost:", "[::1]:"};
  for (size_t i = 0; i < HD_COUNT(local); i++)
    if (strncmp(listen, local[i], strlen(local[i])) == 0)
      return true;
  return strncmp(listen, "127.", 4) == 0 && listen[strspn(listen, "0123456789.")] == ':';
}

heddle_status hd_config_check(heddle_context *ctx, const hd_config *c, bool has_tokens) {
  if (!*c->tls_key != !*c->tls_cert)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "config.tls",
                    "got %s alone; legal: tls_key and tls_cert, or neither",
                    *c->tls_key ? "tls_key" : "tls_cert");
  for (const char *at = c->listen; *at;) {
    char one[256];
    size_t n = strcspn(at, ",");
    snprintf(one, sizeof one, "%.*s", (int)n, at);
    if (!is_local(one) && !has_tokens && !c->require_tokens)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "config.listen",
                      "got %s without a token: whoever reaches it could write; legal: 127.0.0.1, "
                      "[::1], unix:PATH, or tokens (heddled token add), or require_tokens = 1; "
                      "nearest: 127.0.0.1:7433",
                      one);
    at += n + (at[n] == ',');
  }
  return HEDDLE_OK;
}
