#include "Service/tokens.h"

#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Service/service.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/memory.h"

enum { SECRET_BYTES = 32, HASH_HEX = 65 };

typedef struct token {
  char hash[HASH_HEX];
  hd_who who;
  double allowance, at; /* rate limit: remaining requests, and the time of that count */
} token;

struct hd_tokens {
  pthread_mutex_t lock;
  token *list; /* owned; sorted by hash */
  int n;
  double rate, burst;
  atomic_bool required;
};

static const struct {
  const char *name;
  unsigned bits;
} scopes[] = {{"lookup", HD_SCOPE_LOOKUP},
              {"submit", HD_SCOPE_SUBMIT | HD_SCOPE_LOOKUP},
              {"work", HD_SCOPE_WORK},
              {"admin", HD_SCOPE_ADMIN | HD_SCOPE_WORK | HD_SCOPE_SUBMIT | HD_SCOPE_LOOKUP}};

/* Parses words separated by spaces or commas; 0: a word is not a scope. */
static unsigned read_scopes(const char *text) {
  unsigned bits = 0;
  while (*text) {
    size_t n = strcspn(text, " ,"), i = 0;
    while (i < HD_COUNT(scopes) &&
           (strlen(scopes[i].name) != n || strncmp(scopes[i].name, text, n) != 0))
      i++;
    if (i == HD_COUNT(scopes))
      return 0;
    bits |= scopes[i].bits;
    text += n + (text[n] != '\0');
  }
  return bits;
}

/* Hashes "hdl_" and 64 digits, as stored in the database. */
static bool hash_of(const char *text, size_t n, char hash[HASH_HEX]) {
  unsigned char secret[SECRET_BYTES], digest[32];
  size_t n_bytes;
  if (n != HD_TOKEN_TEXT - 1 || strncmp(text, "hdl_", 4) != 0 ||
      sodium_hex2bin(secret, sizeof secret, text + 4, n - 4, NULL, &n_bytes, NULL) != 0 ||
      n_bytes != SECRET_BYTES)
    return false;
  crypto_generichash(digest, sizeof digest, secret, sizeof secret, NULL, 0);
  sodium_bin2hex(hash, HASH_HEX, digest, sizeof digest);
  return true;
}

hd_tokens *hd_tokens_create(int64_t rate, int64_t burst, bool required) {
  hd_tokens *t = hd_xzalloc(sizeof *t);
  pthread_mutex_init(&t->lock, NULL);
  t->rate = (double)rate;
  t->burst = (double)burst;
  t->required = required;
  return t;
}

void hd_tokens_free(hd_tokens *t) {
  if (!t)
    return;
  pthread_mutex_destroy(&t->lock);
  hd_free(t->list);
  hd_free(t);
}

static int by_hash(const void *x, const void *y) {
  return strcmp(((const token *)x)->hash, ((const token *)y)->hash);
}

/* Call it with the lock held; NULL: none. */
static token *token_of_hash(hd_tokens *t, const char *hash) {
  token wanted;
  snprintf(wanted.hash, sizeof wanted.hash, "%s", hash);
  return t->n ? bsearch(&wanted, t->list, (size_t)t->n, sizeof wanted, by_hash) : NULL;
}

hd_sql hd_tokens_refresh(hd_tokens *t, hd_store *store) {
  hd_arena arena = {0};
  hd_rows rows;
  hd_sql done = hd_store_run(store, HD_Q_token_all, &arena, &rows, "");
  token *list = done == HD_SQL_OK ? hd_xzalloc(sizeof *list * (size_t)(rows.n + 1)) : NULL;
  int n = 0;
  for (int i = 0; done == HD_SQL_OK && i < rows.n; i++) {
    if (hd_cell(&rows, i, 4))
      continue;
    token *to = &list[n++];
    snprintf(to->hash, sizeof to->hash, "%s", hd_cell_text(&rows, i, 0));
    snprintf(to->who.name, sizeof to->who.name, "%s", hd_cell_text(&rows, i, 1));
    snprintf(to->who.tenant, sizeof to->who.tenant, "%s", hd_cell_text(&rows, i, 2));
    to->who.scopes = read_scopes(hd_cell_text(&rows, i, 3));
    to->allowance = t->burst;
  }
  if (done == HD_SQL_OK) {
    qsort(list, (size_t)n, sizeof *list, by_hash);
    pthread_mutex_lock(&t->lock);
    t->required = t->required || rows.n > 0; /* still required after the last one is revoked */
    for (int i = 0; i < n; i++) {
      const token *old = token_of_hash(t, list[i].hash);
      if (old) {
        list[i].allowance = old->allowance;
        list[i].at = old->at;
      }
    }
    token *before = t->list;
    t->list = list;
    t->n = n;
    pthread_mutex_unlock(&t->lock);
    hd_free(before);
  }
  hd_arena_free(&arena);
  return done;
}

bool hd_tokens_are_required(hd_tokens *t) {
  return t->required;
}

/* ---- identification ---- */

static bool find(hd_tokens *t, const char *text, size_t n, hd_who *who) {
  char hash[HASH_HEX];
  if (!hash_of(text, n, hash))
    return false;
  pthread_mutex_lock(&t->lock);
  const token *found = token_of_hash(t, hash);
  if (found)
    *who = found->who;
  pthread_mutex_unlock(&t->lock);
  return found != NULL;
}

/* Finds the token that is the password in a base64 "USER:PASSWORD". */
static bool find_basic(hd_tokens *t, const char *text, hd_who *who) {
  char plain[256];
  size_t n;
  if (sodium_base642bin((unsigned char *)plain, sizeof plain - 1, text, strlen(text), NULL, &n,
                        NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
    return false;
  plain[n] = '\0';
  const char *colon = strchr(plain, ':');
  return colon && find(t, colon + 1, strlen(colon + 1), who);
}

bool hd_tokens_identify(hd_tokens *t, hd_request *r, const char *authorization) {
  static const char bearer[] = "Bearer ", basic[] = "Basic ";
  if (r->route->scope == HD_SCOPE_NONE)
    return true;
  if (!hd_tokens_are_required(t)) {
    snprintf(r->who.tenant, sizeof r->who.tenant, "default");
    r->who.scopes = ~0u;
    return true;
  }
  const char *legal = "Authorization: Bearer hdl_…, made by heddled token add";
  if (!authorization)
    return hd_refuse(r, HD_RULE_TOKEN_MISSING, "Authorization", NULL, legal, NULL);
  bool known = false;
  if (strncmp(authorization, bearer, strlen(bearer)) == 0)
    known =
        find(t, authorization + strlen(bearer), strlen(authorization + strlen(bearer)), &r->who);
  else if (strncmp(authorization, basic, strlen(basic)) == 0)
    known = find_basic(t, authorization + strlen(basic), &r->who);
  if (!known)
    return hd_refuse(r, HD_RULE_TOKEN_UNKNOWN, "Authorization", NULL, legal, NULL);
  return (r->who.scopes & r->route->scope) ||
         hd_refuse(r, HD_RULE_TOKEN_SCOPE, "Authorization", r->who.name,
                   hd_arena_printf(&r->arena, "a token of scope %s", r->route->scope_name), NULL);
}

bool hd_tokens_spend(hd_tokens *t, hd_request *r) {
  bool allowed = true;
  double wait = 0;
  if (t->rate <= 0 || !*r->who.name || r->route->scope == HD_SCOPE_LOOKUP)
    return true;
  pthread_mutex_lock(&t->lock);
  for (int i = 0; i < t->n; i++) {
    token *k = &t->list[i];
    if (strcmp(k->who.name, r->who.name) != 0)
      continue;
    k->allowance = fmin(t->burst, k->allowance + (r->begun - k->at) * t->rate);
    k->at = r->begun;
    allowed = k->allowance >= 1;
    wait = (1 - k->allowance) / t->rate;
    k->allowance -= allowed;
  }
  pthread_mutex_unlock(&t->lock);
  if (allowed)
    return true;
  hd_answer_header(r, "Retry-After", "%.0f", ceil(wait));
  return hd_refuse(r, HD_RULE_RATE, NULL, r->who.name,
                   hd_arena_printf(&r->arena, "%.0f requests a second", t->rate), NULL);
}

/* ---- the server's command line ---- */

static bool is_word(const char *text) {
  return *text && strlen(text) <= 64 &&
         text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-")] ==
             '\0';
}

heddle_status hd_token_add(heddle_context *ctx, hd_store *store, const char *name,
                           const char *tenant, const char *scope_words, char text[HD_TOKEN_TEXT]) {
  unsigned char secret[SECRET_BYTES];
  char hash[HASH_HEX];
  hd_arena arena = {0};
  hd_rows rows;
  if (!is_word(name) || !is_word(tenant))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "token.name",
                    "got \"%.64s\"; legal: 1 to 64 of A-Z a-z 0-9 _ . : -",
                    is_word(name) ? tenant : name);
  if (!read_scopes(scope_words))
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "token.scopes",
                    "got \"%.60s\"; legal: lookup, submit, work, admin; nearest: lookup",
                    scope_words);
  if (sodium_init() < 0)
    return HD_BUG(ctx, "libsodium does not start");
  randombytes_buf(secret, sizeof secret);
  memcpy(text, "hdl_", 4);
  sodium_bin2hex(text + 4, HD_TOKEN_TEXT - 4, secret, sizeof secret);
  hash_of(text, HD_TOKEN_TEXT - 1, hash);
  hd_sql done =
      hd_store_run(store, HD_Q_token_add, &arena, &rows, "tttt", hash, name, tenant, scope_words);
  hd_arena_free(&arena);
  if (done == HD_SQL_CONFLICT)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "token.name",
                    "got \"%.64s\", which another token has; legal: a new name", name);
  return done == HD_SQL_OK ? HEDDLE_OK : hd_store_failed(ctx, store);
}

heddle_status hd_token_revoke(heddle_context *ctx, hd_store *store, const char *name) {
  hd_arena arena = {0};
  hd_rows rows;
  hd_sql done = hd_store_run(store, HD_Q_token_revoke, &arena, &rows, "t", name);
  hd_arena_free(&arena);
  if (done != HD_SQL_OK)
    return hd_store_failed(ctx, store);
  return rows.changed
             ? HEDDLE_OK
             : hd_error(ctx, HEDDLE_NOT_FOUND, HD_NOWHERE, "token.none",
                        "no token \"%.64s\" is in use; legal: a name of heddled token list", name);
}

heddle_status hd_token_list(heddle_context *ctx, hd_store *store, json_t **list) {
  hd_arena arena = {0};
  hd_rows rows;
  hd_sql done = hd_store_run(store, HD_Q_token_list, &arena, &rows, "");
  if (done == HD_SQL_OK)
    *list = hd_rows_json(&rows);
  hd_arena_free(&arena);
  return done == HD_SQL_OK ? HEDDLE_OK : hd_store_failed(ctx, store);
}

void hd_key_make(unsigned char key[64]) {
  unsigned char public_key[32];
  if (sodium_init() >= 0)
    crypto_sign_keypair(public_key, key);
}
