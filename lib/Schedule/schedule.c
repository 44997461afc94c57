#include "Schedule/schedule.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/nearest.h"
#include "Support/strbuf.h"

/* ---- the table ---- */

#define WORD(enumerator, word) [enumerator] = word,
#define HD_WORD_KEY(KEY, field, word, initial, kind, type, words, says) \
  static const char *const words_of_##field[] = {words(WORD) NULL};
#define HD_TILE_KEY(...)
#define HD_WARPS_KEY(...)
#define HD_INT_KEY(...)
#include "Schedule/schedule_keys.def"

enum { TUNING, STRUCTURAL };
_Static_assert(HD_N_KEYS < 32, "the bits of hd_schedule_words.given");

const hd_schedule_key hd_schedule_keys[HD_N_KEYS] = {
#define HD_WORD_KEY(KEY, field, word, initial, kind, type, words, says) \
  {word, HD_KEY_WORD, kind, offsetof(hd_schedule, field), 0, 0, words_of_##field, says},
#define HD_TILE_KEY(KEY, field, word, kind, says) \
  {word, HD_KEY_TRIPLE, kind, offsetof(hd_schedule, field##_m), 0, 0, NULL, says},
#define HD_WARPS_KEY(KEY, field, word, kind, says) \
  {word, HD_KEY_PAIR, kind, offsetof(hd_schedule, field##_m), 0, 0, NULL, says},
#define HD_INT_KEY(KEY, field, word, initial, kind, least, most, says) \
  {word, HD_KEY_INT, kind, offsetof(hd_schedule, field), least, most, NULL, says},
#include "Schedule/schedule_keys.def"
};

const hd_schedule hd_schedule_initial = {
#define HD_WORD_KEY(KEY, field, word, initial, kind, type, words, says) .field = initial,
#define HD_TILE_KEY(...)
#define HD_WARPS_KEY(...)
#define HD_INT_KEY(KEY, field, word, initial, kind, least, most, says) .field = initial,
#include "Schedule/schedule_keys.def"
};

/* The names of keys in version 0.1. Version 0.2 still reads them, since texts, choices and
 * databases of users contain them. */
static const struct old_name {
  const char *name;
  hd_key key;
} old_names[] = {{"share", HD_KEY_MULTICAST},
                 {"spread", HD_KEY_CLUSTER_LAUNCH},
                 {"ctas", HD_KEY_CTAS_PER_SM},
                 {"group", HD_KEY_RASTER_GROUP},
                 {"pending", HD_KEY_WGMMA_IN_FLIGHT}};

static bool is_name(const char *name, const char *text, size_t len) {
  return strlen(name) == len && strncmp(name, text, len) == 0;
}

hd_key hd_schedule_key_find(const char *name, size_t len, bool *old) {
  for (hd_key key = 0; key < HD_N_KEYS; key++)
    if (is_name(hd_schedule_keys[key].name, name, len)) {
      if (old)
        *old = false;
      return key;
    }
  for (size_t i = 0; i < HD_COUNT(old_names); i++)
    if (is_name(old_names[i].name, name, len)) {
      if (old)
        *old = true;
      return old_names[i].key;
    }
  return HD_N_KEYS;
}

/* ---- values ---- */

static int n_values(hd_key key) {
  hd_key_kind kind = hd_schedule_keys[key].kind;
  return kind == HD_KEY_TRIPLE ? 3 : kind == HD_KEY_PAIR ? 2 : 1;
}

int32_t hd_schedule_get(const hd_schedule *s, hd_key key, int32_t v[3]) {
  int32_t n = n_values(key);
  memcpy(v, (const char *)s + hd_schedule_keys[key].at, sizeof *v * (size_t)n);
  return n;
}

void hd_schedule_set(hd_schedule *s, hd_key key, const int32_t v[3]) {
  memcpy((char *)s + hd_schedule_keys[key].at, v, sizeof *v * (size_t)n_values(key));
}

void hd_schedule_apply(const hd_schedule_words *words, hd_schedule *s) {
  int32_t v[3], tile_k = s->tile_k;
  for (hd_key key = 0; key < HD_N_KEYS; key++)
    if (hd_words_have(words, key)) {
      hd_schedule_get(&words->value, key, v);
      hd_schedule_set(s, key, v);
    }
  if (!s->tile_k)
    s->tile_k = tile_k;
}

bool hd_schedule_equals(const hd_schedule *x, const hd_schedule *y) {
  int32_t v[3] = {0}, w[3] = {0};
  for (hd_key key = 0; key < HD_N_KEYS; key++) {
    hd_schedule_get(x, key, v);
    hd_schedule_get(y, key, w);
    if (memcmp(v, w, sizeof v) != 0)
      return false;
  }
  return true;
}

bool hd_schedule_matches(const hd_schedule *schedule, const hd_schedule_words *words) {
  hd_schedule set_all = *schedule;
  hd_schedule_apply(words, &set_all);
  return hd_schedule_equals(schedule, &set_all);
}

/* ---- printing ---- */

void hd_schedule_print_key(const hd_schedule *s, hd_key key, char out[HD_KEY_VALUE_TEXT]) {
  int32_t v[3];
  hd_schedule_get(s, key, v);
  switch (hd_schedule_keys[key].kind) {
  case HD_KEY_WORD:
    snprintf(out, HD_KEY_VALUE_TEXT, "%s", hd_schedule_keys[key].words[v[0]]);
    return;
  case HD_KEY_INT:
    snprintf(out, HD_KEY_VALUE_TEXT, "%d", v[0]);
    return;
  case HD_KEY_PAIR:
    snprintf(out, HD_KEY_VALUE_TEXT, "%dx%d", v[0], v[1]);
    return;
  case HD_KEY_TRIPLE:
    snprintf(out, HD_KEY_VALUE_TEXT, v[2] ? "%dx%dx%d" : "%dx%d", v[0], v[1], v[2]);
    return;
  }
}

void hd_schedule_print_words(const hd_schedule_words *words, char out[HD_SCHEDULE_TEXT]) {
  size_t len = 0;
  out[0] = '\0';
  for (hd_key key = 0; key < HD_N_KEYS; key++) {
    char value[HD_KEY_VALUE_TEXT];
    if (!hd_words_have(words, key) || len >= HD_SCHEDULE_TEXT)
      continue;
    hd_schedule_print_key(&words->value, key, value);
    len += (size_t)snprintf(out + len, HD_SCHEDULE_TEXT - len, "%s%s=%s", len ? " " : "",
                            hd_schedule_keys[key].name, value);
  }
}

hd_schedule_words hd_schedule_all_words(const hd_schedule *schedule) {
  return (hd_schedule_words){.value = *schedule, .given = (1u << HD_N_KEYS) - 1};
}

void hd_schedule_print(const hd_schedule *schedule, char out[HD_SCHEDULE_TEXT]) {
  hd_schedule_words all = hd_schedule_all_words(schedule);
  hd_schedule_print_words(&all, out);
}

/* ---- parsing ---- */

/* Reads n non-negative numbers separated by x. */
static bool read_ints(const char *text, int32_t *out, int n) {
  enum { MAX_VALUE = 1 << 20 };
  for (int i = 0; i < n; i++) {
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || errno || v < 0 || v > MAX_VALUE)
      return false;
    out[i] = (int32_t)v;
    if (i + 1 < n && *end != 'x')
      return false;
    text = end + (i + 1 < n);
  }
  return *text == '\0';
}

static bool read_value(const hd_schedule_key *key, const char *text, int32_t v[3]) {
  switch (key->kind) {
  case HD_KEY_WORD:
    for (v[0] = 0; key->words[v[0]]; v[0]++)
      if (strcmp(key->words[v[0]], text) == 0)
        return true;
    return false;
  case HD_KEY_INT:
    return read_ints(text, v, 1);
  case HD_KEY_PAIR:
    return read_ints(text, v, 2);
  case HD_KEY_TRIPLE: /* without k: 0, one k-block of the type */
    v[2] = 0;
    return read_ints(text, v, 3) || read_ints(text, v, 2);
  }
  return false;
}

static heddle_status refuse_value(heddle_context *ctx, hd_loc loc, const hd_schedule_key *key,
                                  const char *value) {
  hd_strbuf legal = {0};
  if (key->kind == HD_KEY_WORD)
    for (int i = 0; key->words[i]; i++)
      hd_strbuf_printf(&legal, "%s%s", i ? " " : "", key->words[i]);
  else
    hd_strbuf_add(&legal, key->kind == HD_KEY_INT    ? "an integer up to 1048576"
                          : key->kind == HD_KEY_PAIR ? "MxN, for example 2x4"
                                                     : "MxN or MxNxK, for example 128x256x64");
  heddle_status status =
      hd_error(ctx, HEDDLE_INVALID, loc, "schedule.value", "got %s=%s; legal: %s", key->name,
               value, hd_strbuf_text(&legal));
  hd_strbuf_free(&legal);
  return status;
}

static const char *next_name(void *user) {
  int *i = user;
  return *i < HD_N_KEYS ? hd_schedule_keys[(*i)++].name : NULL;
}

static heddle_status refuse_key(heddle_context *ctx, hd_loc loc, const char *name) {
  int first = 0;
  const char *nearest = hd_nearest_name(name, next_name, &first);
  hd_strbuf names = {0};
  for (hd_key key = 0; key < HD_N_KEYS; key++)
    hd_strbuf_printf(&names, "%s%s", key ? ", " : "", hd_schedule_keys[key].name);
  heddle_status status =
      hd_error(ctx, HEDDLE_INVALID, loc, "schedule.key", "got key \"%.60s\"; legal: %s%s%s", name,
               hd_strbuf_text(&names), nearest ? "; nearest: " : "", nearest ? nearest : "");
  hd_strbuf_free(&names);
  return status;
}

/* given: the keys found so far in this text. */
static heddle_status parse_pair(heddle_context *ctx, hd_loc loc, char *pair, uint32_t *given,
                                hd_schedule_words *words) {
  char *eq = strchr(pair, '=');
  bool old;
  int32_t v[3];
  if (!eq)
    return hd_error(ctx, HEDDLE_INVALID, loc, "schedule.syntax",
                    "got \"%.60s\"; legal: KEY=VALUE pairs, as in stages=4", pair);
  *eq = '\0';
  hd_key key = hd_schedule_key_find(pair, (size_t)(eq - pair), &old);
  if (key == HD_N_KEYS)
    return refuse_key(ctx, loc, pair);
  if (old)
    words->renamed |= 1u << key;
  if (*given >> key & 1)
    return hd_error(ctx, HEDDLE_INVALID, loc, "schedule.repeated",
                    "got %s=%.60s after %s was given; legal: each key once", pair, eq + 1, pair);
  if (!read_value(&hd_schedule_keys[key], eq + 1, v))
    return refuse_value(ctx, loc, &hd_schedule_keys[key], eq + 1);
  *given |= 1u << key;
  hd_schedule_set(&words->value, key, v);
  return HEDDLE_OK;
}

heddle_status hd_schedule_parse(heddle_context *ctx, hd_loc loc, const char *text,
                                hd_schedule_words *words) {
  if (!text)
    return HEDDLE_OK;
  hd_schedule_words out = *words;
  uint32_t given = 0;
  char *copy = hd_xstrdup(text), *save = NULL;
  heddle_status status = HEDDLE_OK;
  for (char *pair = strtok_r(copy, " ,\t\n", &save); pair && status == HEDDLE_OK;
       pair = strtok_r(NULL, " ,\t\n", &save))
    status = parse_pair(ctx, loc, pair, &given, &out);
  hd_free(copy);
  out.given |= given;
  if (status == HEDDLE_OK)
    *words = out;
  return status;
}

void hd_schedule_add_words(const hd_schedule_words *over, hd_schedule_words *words) {
  int32_t v[3];
  for (hd_key key = 0; key < HD_N_KEYS; key++)
    if (hd_words_have(over, key)) {
      hd_schedule_get(&over->value, key, v);
      hd_schedule_set(&words->value, key, v);
    }
  words->given |= over->given;
  words->renamed |= over->renamed;
}

void hd_schedule_note_renamed(heddle_context *ctx, hd_loc loc, const hd_schedule_words *words) {
  hd_strbuf names = {0};
  for (size_t i = 0; i < HD_COUNT(old_names); i++)
    if (words->renamed >> old_names[i].key & 1)
      hd_strbuf_printf(&names, "%s%s is %s", names.len ? ", " : "", old_names[i].name,
                       hd_schedule_keys[old_names[i].key].name);
  if (names.len)
    hd_note(ctx, loc, "schedule.renamed", "%s now; only this version reads the old names",
            hd_strbuf_text(&names));
  hd_strbuf_free(&names);
}
