#include "Interface/product_key.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Support/nearest.h"

/* Iterates over the words of a key, which are separated by exactly one space. */
typedef struct words {
  const char *at;
  char word[64];
  bool ok; /* found a word of fewer than 64 bytes */
} words;

static void next_word(words *w) {
  size_t n = strcspn(w->at, " ");
  w->ok = n > 0 && n < sizeof w->word;
  snprintf(w->word, sizeof w->word, "%.*s", (int)n, w->at);
  w->at += n;
  if (*w->at == ' ' && w->at[1] != '\0') /* a trailing space is kept, as an empty word */
    w->at++;
}

static bool wrong(hd_key_problem *p, const char *word, const char *legal, const char *nearest) {
  snprintf(p->word, sizeof p->word, "%s", word);
  p->legal = legal;
  snprintf(p->nearest, sizeof p->nearest, "%s", nearest ? nearest : "");
  return false;
}

/* Reads "sm_" and two or three digits, then nothing, "a" or "f". */
static bool read_target(words *w, hd_product_key *key, hd_key_problem *p) {
  next_word(w);
  size_t n = strncmp(w->word, "sm_", 3) == 0 ? strspn(w->word + 3, "0123456789") : 0;
  const char *rest = w->word + 3 + n;
  if (!w->ok || n < 2 || n > 3 || w->word[3] == '0' ||
      (*rest && strcmp(rest, "a") != 0 && strcmp(rest, "f") != 0))
    return wrong(p, w->word, "sm_NNN, sm_NNNa, sm_NNNf", "sm_90a");
  snprintf(key->target, sizeof key->target, "%.11s", w->word);
  return true;
}

static const char *next_elem(void *user) {
  int *i = user;
  return *i < HEDDLE_N_ELEMS ? heddle_elem_get((heddle_elem)(*i)++)->name : NULL;
}

static bool read_type(words *w, const char *name, heddle_elem *elem, hd_key_problem *p) {
  size_t n = strlen(name);
  next_word(w);
  bool named = w->ok && strncmp(w->word, name, n) == 0;
  if (named && heddle_elem_parse(w->word + n, elem) == HEDDLE_OK)
    return true;
  int first = 0;
  char nearest[64];
  const char *elem_name = named ? hd_nearest_name(w->word + n, next_elem, &first) : NULL;
  snprintf(nearest, sizeof nearest, "%s%s", name, elem_name ? elem_name : "bf16");
  return wrong(p, w->word, "a=TYPE b=TYPE acc=TYPE d=TYPE, types of heddle/types.def", nearest);
}

static bool read_size(words *w, const char *name, int32_t *size, hd_key_problem *p) {
  char nearest[64], *end = NULL;
  size_t n = strlen(name);
  next_word(w);
  bool named = w->ok && strncmp(w->word, name, n) == 0 && isdigit((unsigned char)w->word[n]);
  long long x = named ? strtoll(w->word + n, &end, 10) : 0;
  if (named && !*end && w->word[n] != '0' && x <= HD_KEY_MAX_SIZE) {
    *size = (int32_t)x;
    return true;
  }
  snprintf(nearest, sizeof nearest, "%s%lld", name,
           x < 1                 ? 1LL
           : x > HD_KEY_MAX_SIZE ? (long long)HD_KEY_MAX_SIZE
                                 : x);
  return wrong(p, w->word, "m=SIZE n=SIZE k=SIZE, 1 to 1048576, without leading zeros", nearest);
}

static bool read_order(words *w, const char *no, const char *yes, bool *is, hd_key_problem *p) {
  next_word(w);
  *is = w->ok && strcmp(w->word, yes) == 0;
  if (*is || (w->ok && strcmp(w->word, no) == 0))
    return true;
  return wrong(p, w->word,
               strcmp(no, "k_major") == 0 ? "k_major, mn_major" : "row_major, col_major", no);
}

/* Whether the word has the form NAME or NAME=VALUE. */
static bool is_extension(const char *word) {
  static const char lower[] = "abcdefghijklmnopqrstuvwxyz";
  size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_");
  if (!*word || !strchr(lower, *word))
    return false;
  if (word[n] == '\0')
    return true;
  const char *value = word + n + 1;
  return word[n] == '=' && *value && strchr("abcdefghijklmnopqrstuvwxyz0123456789", *value) &&
         value[strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_.:x-")] == '\0';
}

/* Whether `word` may follow `before`: names are in ascending order, each once. */
static bool comes_after(const char *before, const char *word) {
  size_t n = strcspn(before, "="), m = strcspn(word, "=");
  int order = strncmp(before, word, n < m ? n : m);
  return order < 0 || (order == 0 && n < m);
}

static bool read_extensions(words *w, hd_product_key *key, hd_key_problem *p) {
  char before[64] = "";
  key->extensions = w->at;
  while (*w->at) {
    const char *begin = w->at;
    next_word(w);
    if (!w->ok || !is_extension(w->word))
      return wrong(p, w->word, "NAME or NAME=VALUE, one space between words", NULL);
    if (!comes_after(before, w->word))
      return wrong(p, w->word, "extensions in ascending order of their names, each once", NULL);
    snprintf(before, sizeof before, "%s", w->word);
    key->weights_ready |= strcmp(w->word, "weights_ready") == 0;
    if (strcmp(w->word, "weights_ready") == 0 && !*w->at) /* the last of the current names */
      key->n_extensions = (size_t)(begin - key->extensions);
    else
      key->n_extensions = (size_t)(w->at - key->extensions);
  }
  return true;
}

bool hd_key_parse(const char *text, hd_product_key *out, hd_key_problem *problem) {
  words w = {.at = text};
  hd_product_key key = {0};
  if (strlen(text) > HD_KEY_BYTES)
    return wrong(problem, "more", "at most 400 bytes", NULL);
  if (!read_target(&w, &key, problem) || !read_type(&w, "a=", &key.a, problem) ||
      !read_type(&w, "b=", &key.b, problem) || !read_type(&w, "acc=", &key.acc, problem) ||
      !read_type(&w, "d=", &key.d, problem) || !read_size(&w, "m=", &key.m, problem) ||
      !read_size(&w, "n=", &key.n, problem) || !read_size(&w, "k=", &key.k, problem) ||
      !read_order(&w, "k_major", "mn_major", &key.b_mn_major, problem) ||
      !read_order(&w, "row_major", "col_major", &key.d_col_major, problem) ||
      !read_extensions(&w, &key, problem))
    return false;
  *out = key;
  return true;
}

/* ---- distance ---- */

static double apart(int32_t x, int32_t y) {
  return fabs(log2((double)x / (double)y));
}

static bool as_wide(heddle_elem x, heddle_elem y) {
  return heddle_elem_get(x)->container_bits == heddle_elem_get(y)->container_bits;
}

static bool same_extensions(const hd_product_key *x, const hd_product_key *y) {
  return x->n_extensions == y->n_extensions &&
         memcmp(x->extensions, y->extensions, x->n_extensions) == 0;
}

/* Uses the same terms as the lookup of the tools (docs/tuning.md). */
double hd_key_distance(const hd_product_key *x, const hd_product_key *y) {
  if (!as_wide(x->a, y->a) || !as_wide(x->b, y->b) || x->b_mn_major != y->b_mn_major ||
      strcmp(x->target, y->target) != 0 || !same_extensions(x, y))
    return INFINITY;
  double m = apart(x->m, y->m), n = apart(x->n, y->n), k = apart(x->k, y->k);
  if (m > 1 || n > 1 || k > 1)
    return INFINITY;
  bool other = x->a != y->a || x->b != y->b || x->acc != y->acc;
  bool other_kind = heddle_elem_get(x->acc)->kind != heddle_elem_get(y->acc)->kind;
  return m + n + k + 0.01 * (x->d_col_major != y->d_col_major) +
         0.02 * (x->weights_ready != y->weights_ready) + 0.1 * (x->d != y->d) + 0.2 * other +
         0.2 * other_kind;
}
