/* The legal schedule nearest to one that was refused, in the words of its author: one word changed
 * as little as will do, else each in turn kept, changed, or left out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Passes/schedule_fit.h"
#include "Support/diag.h"

enum {
  MOST_WORDS = 64,    /* of two authors, each key once of each */
  MOST_CHANGES = 258, /* tiles, and none */
  VALUE_BYTES = 24
};

typedef struct word {
  const hd_schedule_key *key;
  char value[VALUE_BYTES]; /* "": left out */
} word;

/* Each key once: what the last author said. */
typedef struct words {
  const hd_op *kernel;
  hd_schedule usual; /* the default */
  word list[MOST_WORDS];
  int n;
} words;

/* Another value of a word, and how far it is from the one that was asked for. */
typedef struct change {
  char value[VALUE_BYTES];
  double distance;
} change;

typedef struct changes {
  change list[MOST_CHANGES];
  int n;
} changes;

/* ---- words ---- */

static const hd_schedule_key *find_key(const char *name, size_t len) {
  const hd_schedule_key *key;
  for (size_t i = 0; (key = hd_schedule_key_get(i)); i++)
    if (strlen(key->name) == len && strncmp(key->name, name, len) == 0)
      return key;
  return NULL;
}

static word *find_word(words *w, const hd_schedule_key *key) {
  for (int i = 0; i < w->n; i++)
    if (w->list[i].key == key)
      return &w->list[i];
  return NULL;
}

/* Text that was parsed before. In ORDER KEYS, so that the family comes first, and the tile. */
static void read_words(words *w, const char *text) {
  const hd_schedule_key *key;
  word asked[MOST_WORDS];
  int n = 0;
  for (; *(text += strspn(text, " ,\t\n")); text += strcspn(text, " ,\t\n")) {
    size_t len = strcspn(text, "="), end = strcspn(text, " ,\t\n");
    key = find_key(text, len);
    if (!key || len >= end || end - len > VALUE_BYTES || n == MOST_WORDS)
      continue;
    asked[n].key = key;
    snprintf(asked[n++].value, VALUE_BYTES, "%.*s", (int)(end - len - 1), text + len + 1);
  }
  for (size_t i = 0; (key = hd_schedule_key_get(i)); i++)
    for (int j = n; j-- > 0;)
      if (asked[j].key == key) {
        w->list[w->n++] = asked[j];
        break;
      }
}

static void print_words(const words *w, char out[HD_SCHEDULE_TEXT]) {
  size_t len = 0;
  out[0] = '\0';
  for (int i = 0; i < w->n; i++)
    if (w->list[i].value[0] && len < HD_SCHEDULE_TEXT)
      len += (size_t)snprintf(out + len, HD_SCHEDULE_TEXT - len, "%s%s=%s", len ? " " : "",
                              w->list[i].key->name, w->list[i].value);
}

static bool is_legal(const hd_op *kernel, const char *text, hd_schedule *s) {
  return hd_schedule_resolve(NULL, kernel, text, s) == HEDDLE_OK &&
         hd_schedule_check(NULL, kernel, s) == HEDDLE_OK;
}

static bool are_legal(const words *w) {
  char text[HD_SCHEDULE_TEXT];
  hd_schedule unused;
  print_words(w, text);
  return is_legal(w->kernel, text, &unused);
}

/* ---- what a word could be instead ---- */

static double apart(int x, int y) { return fabs(log2((x + 1.0) / (y + 1.0))); }

static char *add_change(changes *c, double distance) {
  c->list[c->n].distance = distance;
  return c->list[c->n++].value;
}

static void add_integers(changes *c, int asked) {
  enum { MOST_IN_ROW = 32, MOST = 1024 };
  for (int i = 0; i <= MOST; i = i < MOST_IN_ROW ? i + 1 : 2 * i)
    snprintf(add_change(c, apart(i, asked)), VALUE_BYTES, "%d", i);
}

/* Tiles of whole slabs and panels; or powers of two of warps. */
static void add_pairs(changes *c, bool tile, const int asked[2]) {
  int least_m = tile ? 64 : 1, most_m = tile ? 512 : 16;
  int least_n = tile ? 8 : 1, most_n = tile ? 256 : 16;
  for (int m = least_m; m <= most_m; m += tile ? least_m : m)
    for (int n = least_n; n <= most_n; n += tile ? least_n : n)
      snprintf(add_change(c, apart(m, asked[0]) + apart(n, asked[1])), VALUE_BYTES, "%dx%d", m, n);
}

/* The default's is the nearest. */
static void add_words(changes *c, const char *legal, const char *usual) {
  for (size_t len; *legal; legal += len + (legal[len] == ' ')) {
    len = strcspn(legal, " ");
    bool is_usual = strlen(usual) == len && strncmp(usual, legal, len) == 0;
    snprintf(add_change(c, is_usual ? 0.5 : 1), VALUE_BYTES, "%.*s", (int)len, legal);
  }
}

static int is_farther(const void *x, const void *y) {
  double a = ((const change *)x)->distance, b = ((const change *)y)->distance;
  return (a > b) - (a < b);
}

/* Nearest first; the last leaves the word out. */
static void list_changes(const word *w, const hd_schedule *usual, changes *c) {
  enum { FARTHEST = 64 };
  int asked[2] = {0};
  c->n = 0;
  sscanf(w->value, "%dx%d", &asked[0], &asked[1]);
  if (w->key->kind == HD_KEY_WORD)
    add_words(c, w->key->words, (const char *)usual + w->key->at);
  else if (w->key->kind == HD_KEY_INT)
    add_integers(c, asked[0]);
  else
    add_pairs(c, w->key->kind == HD_KEY_TILE, asked);
  *add_change(c, FARTHEST) = '\0';
  qsort(c->list, (size_t)c->n, sizeof *c->list, is_farther);
}

/* Changes one word as little as makes all legal: how far that is, INFINITY when nothing does. */
static double mend(words *w, word *which, changes *c, double most) {
  list_changes(which, &w->usual, c);
  for (int i = 0; i < c->n && c->list[i].distance < most; i++) {
    snprintf(which->value, VALUE_BYTES, "%s", c->list[i].value);
    if (are_legal(w))
      return c->list[i].distance;
  }
  return INFINITY;
}

/* ---- the nearest ---- */

static bool mend_one(words *w, changes *c) {
  words best = *w;
  double least = INFINITY;
  for (int i = 0; i < w->n; i++) {
    words tried = *w;
    double distance = mend(&tried, &tried.list[i], c, least);
    if (distance < least) {
      least = distance;
      best = tried;
    }
  }
  *w = best;
  return least < INFINITY;
}

static bool mend_all(words *w, changes *c) {
  words kept = {.kernel = w->kernel, .usual = w->usual};
  for (int i = 0; i < w->n; i++) {
    kept.list[kept.n++] = w->list[i];
    if (!are_legal(&kept) && mend(&kept, &kept.list[i], c, INFINITY) == INFINITY)
      return false;
  }
  *w = kept;
  return true;
}

/* The values of a record for the keys that were asked for: what is left out here would stand in
 * the kernel's own words. */
static void take_values(words *w, const hd_schedule *s) {
  char whole[HD_SCHEDULE_TEXT];
  words all = {0};
  hd_schedule_print(s, whole);
  read_words(&all, whole);
  for (int i = 0; i < w->n; i++)
    w->list[i] = *find_word(&all, w->list[i].key);
}

void hd_schedule_note_nearest(heddle_context *ctx, const hd_op *kernel, const char *text) {
  words w = {.kernel = kernel};
  changes c;
  char found[HD_SCHEDULE_TEXT];
  hd_schedule s;
  read_words(&w, text);
  if (!w.n || hd_schedule_default(NULL, kernel, &w.usual) != HEDDLE_OK ||
      (!mend_one(&w, &c) && !mend_all(&w, &c)))
    return;
  print_words(&w, found);
  if (!is_legal(kernel, found, &s))
    return;
  take_values(&w, &s);
  print_words(&w, found);
  hd_schedule same;
  if (!is_legal(kernel, found, &same))
    hd_schedule_print(&s, found);
  hd_note(ctx, kernel->loc, "schedule.nearest", "nearest: %s", found);
}
