/* The configuration: config.def as a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Service/service.h"
#include "Support/diag.h"
#include "Support/nearest.h"

typedef struct key {
  const char *name;
  bool is_int;
  size_t offset;
  const char *otherwise;
  int64_t otherwise_int, least, most;
} key;

static const key keys[] = {
#define CONFIG_TEXT(name, otherwise, doc)                                                          \
  {#name, false, offsetof(hd_config, name), otherwise, 0, 0, 0},
#define CONFIG_INT(name, otherwise, least, most, doc)                                              \
  {#name, true, offsetof(hd_config, name), NULL, otherwise, least, most},
#include "Service/config.def"
};

static void *field_of(hd_config *c, const key *k) {
  return (char *)c + k->offset;
}

void hd_config_init(hd_config *c) {
  *c = (hd_config){0};
  for (size_t i = 0; i < HD_COUNT(keys); i++)
    if (keys[i].is_int)
      *(int64_t *)field_of(c, &keys[i]) = keys[i].otherwise_int;
    else
      *(const char **)field_of(c, &keys[i]) = keys[i].otherwise;
}

static const char *next_key(void *user) {
  size_t *i = user;
  return *i < HD_COUNT(keys) ? keys[(*i)++].name : NULL;
}

heddle_status hd_config_set(heddle_context *ctx, hd_config *c, const char *file, int line,
                            const char *name, const char *value) {
  hd_loc loc = {file, (uint32_t)line, 1};
  size_t i = 0, first = 0;
  char *end;
  while (i < HD_COUNT(keys) && strcmp(keys[i].name, name) != 0)
    i++;
  if (i == HD_COUNT(keys)) {
    const char *nearest = hd_nearest_name(name, next_key, &first);
    return hd_error(ctx, HEDDLE_INVALID, loc, "config.key",
                    "got \"%.40s\"; legal: the keys of heddled --help; nearest: %s", name,
                    nearest ? nearest : keys[0].name);
  }
  if (!keys[i].is_int) {
    *(const char **)field_of(c, &keys[i]) = value;
    return HEDDLE_OK;
  }
  long long x = strtoll(value, &end, 10);
  if (!*value || *end || x < keys[i].least || x > keys[i].most)
    return hd_error(ctx, HEDDLE_INVALID, loc, "config.value",
                    "got %s = %.40s; legal: %lld to %lld; nearest: %lld", name, value,
                    (long long)keys[i].least, (long long)keys[i].most,
                    (long long)(x < keys[i].least || !*value ? keys[i].least
                                : x > keys[i].most           ? keys[i].most
                                                             : x));
  *(int64_t *)field_of(c, &keys[i]) = x;
  return HEDDLE_OK;
}

bool hd_config_is_local(const char *listen) {
  static const char *const local[] = {"unix:", "127.", "localhost:", "[::1]:"};
  for (size_t i = 0; i < HD_COUNT(local); i++)
    if (strncmp(listen, local[i], strlen(local[i])) == 0)
      return true;
  return false;
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
    if (!hd_config_is_local(one) && !has_tokens && !c->require_tokens)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "config.listen",
                      "got %s without a token: whoever reaches it could write; legal: 127.0.0.1, "
                      "[::1], unix:PATH, or tokens (heddled token add), or require_tokens = 1; "
                      "nearest: 127.0.0.1:7433",
                      one);
    at += n + (at[n] == ',');
  }
  return HEDDLE_OK;
}
