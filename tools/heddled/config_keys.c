/* The keys of the configuration: config.def as a table. */
#include <stdlib.h>
#include <string.h>

#include "Support/diag.h"
#include "Support/nearest.h"
#include "heddled.h"

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

void config_init(hd_config *c) {
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

heddle_status config_set(heddle_context *ctx, hd_config *c, const char *file, int line,
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
