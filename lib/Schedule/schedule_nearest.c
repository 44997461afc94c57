/* Finds the legal schedule nearest to a refused one, in terms of the given words: changes one word
 * as little as possible; if that fails, keeps, changes or omits the words one by one. */
#include <math.h>
#include <stdlib.h>

#include "Schedule/resolve.h"

enum { MAX_CHANGES = 258 /* all tiles, and omitting the word */ };

/* The device and problem for which the words were given. */
typedef struct asker {
  const hd_device_model *device;
  const hd_problem *p;
  hd_schedule usual; /* the default */
} asker;

/* Another value of a word, and its distance from the given one. */
typedef struct change {
  int32_t v[3];
  bool leaves_out;
  double distance;
} change;

typedef struct changes {
  change list[MAX_CHANGES];
  int n;
} changes;

static bool are_legal(const asker *a, const hd_schedule_words *words, hd_schedule *s) {
  return hd_schedule_resolve(NULL, a->device, a->p, words, s) == HEDDLE_OK &&
         hd_schedule_fits(a->p, s);
}

/* ---- other values of a word ---- */

static double apart(int x, int y) { return fabs(log2((x + 1.0) / (y + 1.0))); }

static void add(changes *c, int x, int y, double distance) {
  c->list[c->n++] = (change){{x, y}, false, distance};
}

static void add_integers(changes *c, int asked) {
  enum { MAX_CONSECUTIVE = 32, MAX_VALUE = 1024 };
  for (int i = 0; i <= MAX_VALUE; i = i < MAX_CONSECUTIVE ? i + 1 : 2 * i)
    add(c, i, 0, apart(i, asked));
}

/* Tiles of complete slabs and 8-column blocks; or numbers of warps that are powers of two. */
static void add_pairs(changes *c, bool tile, const int32_t asked[3]) {
  int least_m = tile ? 64 : 1, most_m = tile ? 512 : 16;
  int least_n = tile ? 8 : 1, most_n = tile ? 256 : 16;
  for (int m = least_m; m <= most_m; m += tile ? least_m : m)
    for (int n = least_n; n <= most_n; n += tile ? least_n : n)
      add(c, m, n, apart(m, asked[0]) + apart(n, asked[1]));
}

/* The default's word is the nearest. */
static void add_words(changes *c, const char *const *words, int32_t usual) {
  for (int i = 0; words[i]; i++)
    add(c, i, 0, i == usual ? 0.5 : 1);
}

static int is_farther(const void *x, const void *y) {
  double a = ((const change *)x)->distance, b = ((const change *)y)->distance;
  return (a > b) - (a < b);
}

/* Lists the nearest change first. The last one omits the word. */
static void list_changes(const asker *a, const hd_schedule *asked, hd_key key, changes *c) {
  enum { FARTHEST = 64 };
  const hd_schedule_key *of = &hd_schedule_keys[key];
  int32_t was[3], usual[3];
  c->n = 0;
  hd_schedule_get(asked, key, was);
  hd_schedule_get(&a->usual, key, usual);
  if (of->kind == HD_KEY_WORD)
    add_words(c, of->words, usual[0]);
  else if (of->kind == HD_KEY_INT)
    add_integers(c, was[0]);
  else
    add_pairs(c, of->kind == HD_KEY_TRIPLE, was);
  c->list[c->n++] = (change){.leaves_out = true, .distance = FARTHEST};
  qsort(c->list, (size_t)c->n, sizeof *c->list, is_farther);
}

/* Makes the words legal by the smallest change of one word. Returns its distance, or INFINITY. */
static double mend(const asker *a, hd_schedule_words *words, hd_key key, double most) {
  changes c;
  hd_schedule unused;
  list_changes(a, &words->value, key, &c);
  for (int i = 0; i < c.n && c.list[i].distance < most; i++) {
    words->given &= ~(1u << key);
    if (!c.list[i].leaves_out) {
      hd_schedule_set(&words->value, key, c.list[i].v);
      words->given |= 1u << key;
    }
    if (are_legal(a, words, &unused))
      return c.list[i].distance;
  }
  return INFINITY;
}

/* ---- the nearest ---- */

static bool mend_one(const asker *a, hd_schedule_words *words) {
  hd_schedule_words best = *words;
  double least = INFINITY;
  for (hd_key key = 0; key < HD_N_KEYS; key++) {
    hd_schedule_words tried = *words;
    double distance = hd_words_have(words, key) ? mend(a, &tried, key, least) : INFINITY;
    if (distance < least) {
      least = distance;
      best = tried;
    }
  }
  *words = best;
  return least < INFINITY;
}

static bool mend_all(const asker *a, hd_schedule_words *words) {
  hd_schedule_words kept = {.value = words->value};
  hd_schedule unused;
  for (hd_key key = 0; key < HD_N_KEYS; key++) {
    if (!hd_words_have(words, key))
      continue;
    kept.given |= 1u << key;
    if (!are_legal(a, &kept, &unused) && mend(a, &kept, key, INFINITY) == INFINITY)
      return false;
  }
  *words = kept;
  return true;
}

void hd_schedule_note_nearest(heddle_context *ctx, const hd_device_model *device,
                              const hd_problem *p, const hd_schedule_words *asked) {
  asker a = {device, p, hd_schedule_default(device, p)};
  hd_schedule_words words = *asked, all;
  hd_schedule s, same;
  char text[HD_SCHEDULE_TEXT];
  if (!words.given || (!mend_one(&a, &words) && !mend_all(&a, &words)) ||
      !are_legal(&a, &words, &s))
    return;
  /* Prints the values of all keys that were given: a key that is omitted here would still be
   * in the kernel's own words. */
  all = (hd_schedule_words){.value = s, .given = asked->given};
  if (!are_legal(&a, &all, &same))
    all.given = (1u << HD_N_KEYS) - 1;
  hd_schedule_print_words(&all, text);
  hd_note(ctx, p->kernel->loc, "schedule.nearest", "nearest: %s", text);
}
