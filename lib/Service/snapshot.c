#include "Service/snapshot.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Interface/product_key.h"
#include "Service/decide.h"
#include "Support/hash.h"
#include "Support/memory.h"
#include "Support/strbuf.h"

typedef struct entry {
  char *product, *class, *policy, *choice; /* owned; choice: as JSON */
  hd_product_key key;                      /* borrows from product */
  uint64_t name_hash;
  int64_t serial;
  hd_shared_text *answer; /* owned */
} entry;

/* Measured losses of neighbours' schedules, from the races of a class. Least squares: loss ≈ slope
 * × distance. */
typedef struct class_loss {
  char class[65];
  double distance_loss, distance_2; /* sums of d × loss and of d² */
} class_loss;

struct hd_snapshot {
  pthread_rwlock_t lock;
  entry **list;        /* owned, with each entry; n of cap */
  uint64_t *schedules; /* owned: the hash of each entry's schedule */
  size_t n, cap;
  uint32_t *slot; /* hash table with open addressing: index + 1; 0: free */
  size_t n_slots;
  _Atomic int64_t serial;
  int64_t last_race;
  atomic_bool is_read;
  class_loss *losses; /* owned */
  size_t n_losses, cap_losses;
};

static uint64_t hash_text(const char *text) {
  return hd_hash_bytes(text, strlen(text)).lo;
}

static uint64_t hash_name(const char *product, const char *class, const char *policy) {
  return hash_text(product) ^ hd_hash_mix(hash_text(class) + 1) ^
         hd_hash_mix(hash_text(policy) + 2);
}

hd_snapshot *hd_snapshot_create(void) {
  hd_snapshot *s = hd_xzalloc(sizeof *s);
  pthread_rwlock_init(&s->lock, NULL);
  s->n_slots = 64;
  s->slot = hd_xzalloc(sizeof *s->slot * s->n_slots);
  s->last_race = -1;
  return s;
}

static void free_entry(entry *e) {
  hd_shared_text_unref(e->answer);
  hd_free(e->product);
  hd_free(e->class);
  hd_free(e->policy);
  hd_free(e->choice);
  hd_free(e);
}

void hd_snapshot_free(hd_snapshot *s) {
  if (!s)
    return;
  for (size_t i = 0; i < s->n; i++)
    free_entry(s->list[i]);
  pthread_rwlock_destroy(&s->lock);
  hd_free(s->list);
  hd_free(s->schedules);
  hd_free(s->slot);
  hd_free(s->losses);
  hd_free(s);
}

/* ---- the table ---- */

static bool is_named(const entry *e, uint64_t hash, const char *product, const char *class,
                     const char *policy) {
  return e->name_hash == hash && strcmp(e->product, product) == 0 && strcmp(e->class, class) == 0 &&
         strcmp(e->policy, policy) == 0;
}

/* The slot of an entry, or the free slot where it belongs. */
static uint32_t *slot_of(hd_snapshot *s, uint64_t hash, const char *product, const char *class,
                         const char *policy) {
  for (size_t at = hash;; at++) {
    uint32_t *slot = &s->slot[at & (s->n_slots - 1)];
    if (*slot == 0 || is_named(s->list[*slot - 1], hash, product, class, policy))
      return slot;
  }
}

static void grow(hd_snapshot *s) {
  hd_free(s->slot);
  s->n_slots *= 2;
  s->slot = hd_xzalloc(sizeof *s->slot * s->n_slots);
  for (size_t i = 0; i < s->n; i++) {
    const entry *e = s->list[i];
    *slot_of(s, e->name_hash, e->product, e->class, e->policy) = (uint32_t)i + 1;
  }
}

static void put(hd_snapshot *s, entry *e, uint64_t schedule) {
  uint32_t *slot = slot_of(s, e->name_hash, e->product, e->class, e->policy);
  if (*slot) {
    free_entry(s->list[*slot - 1]);
    s->list[*slot - 1] = e;
    s->schedules[*slot - 1] = schedule;
    return;
  }
  size_t n = s->n, cap = s->cap;
  HD_PUSH(s->list, s->n, s->cap, e);
  HD_PUSH(s->schedules, n, cap, schedule);
  *slot = (uint32_t)n;
  if (2 * n >= s->n_slots)
    grow(s);
}

/* ---- reading ---- */

static char *lookup_text(const char *match, double distance, double loss, const char *choice) {
  hd_strbuf out = {0};
  hd_strbuf_printf(&out, "{\"match\":\"%s\",\"distance\":%.6g,", match, distance);
  if (!isnan(loss))
    hd_strbuf_printf(&out, "\"predicted_loss\":%.4g,", loss);
  hd_strbuf_printf(&out, "\"choice\":%s}", choice);
  return hd_strbuf_take(&out);
}

static char *choice_text(const hd_rows *rows, int i) {
  json_t *object = hd_row_json(rows, i);
  char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(object);
  return text;
}

/* Makes an entry from a row of {choice}; NULL: its product is not a key (perhaps an extension of an
 * earlier version). */
static entry *read_entry(const hd_rows *rows, int i) {
  hd_key_problem problem;
  char etag[40];
  entry *e = hd_xzalloc(sizeof *e);
  e->product = hd_xstrdup(hd_cell_text(rows, i, 0));
  e->class = hd_xstrdup(hd_cell_text(rows, i, 1));
  e->policy = hd_xstrdup(hd_cell_text(rows, i, 2));
  e->serial = hd_cell_int(rows, i, HD_CHOICE_SERIAL);
  e->name_hash = hash_name(e->product, e->class, e->policy);
  e->choice = choice_text(rows, i);
  if (!hd_key_parse(e->product, &e->key, &problem)) {
    free_entry(e);
    return NULL;
  }
  snprintf(etag, sizeof etag, "\"s%lld\"", (long long)e->serial);
  e->answer = hd_shared_text_make("application/json", etag,
                                  lookup_text("exact", 0, (double)NAN, e->choice));
  return e;
}

static class_loss *loss_of(hd_snapshot *s, const char *class) {
  for (size_t i = 0; i < s->n_losses; i++)
    if (strcmp(s->losses[i].class, class) == 0)
      return &s->losses[i];
  class_loss fresh = {0};
  snprintf(fresh.class, sizeof fresh.class, "%s", class);
  HD_PUSH(s->losses, s->n_losses, s->cap_losses, fresh);
  return &s->losses[s->n_losses - 1];
}

/* Adds the loss of each contender that is the choice of neighbours (of the latest ones, if they are
 * many), relative to the best of this race. */
static void learn(hd_snapshot *s, const char *product, const char *class, const json_t *race) {
  enum { NEIGHBOURS = 64 };
  hd_race_figures f;
  hd_product_key key;
  hd_key_problem problem;
  double best = INFINITY;
  if (!hd_key_parse(product, &key, &problem))
    return;
  hd_race_read(race, &f);
  for (int i = 0; i < f.n; i++)
    best = fmin(best, f.list[i].median);
  for (int i = 0; i < f.n; i++) {
    uint64_t hash = hash_text(f.list[i].schedule);
    double loss = f.list[i].median / best - 1;
    for (size_t k = s->n, n = 0; k-- > 0 && n < NEIGHBOURS && isfinite(loss);) {
      const entry *e = s->list[k];
      if (s->schedules[k] != hash || strcmp(e->class, class) != 0)
        continue;
      n++;
      double d = hd_key_distance(&e->key, &key);
      if (d > 0 && isfinite(d)) {
        class_loss *sums = loss_of(s, class);
        sums->distance_loss += d * loss;
        sums->distance_2 += d * d;
      }
    }
  }
}

static hd_sql read_races(hd_snapshot *s, hd_store *store, hd_arena *arena) {
  hd_rows rows;
  hd_sql done = HD_SQL_OK;
  if (s->last_race < 0) { /* only reads the latest races */
    done = hd_store_run(store, HD_Q_races_begin, arena, &rows, "");
    s->last_race = done == HD_SQL_OK ? hd_cell_int(&rows, 0, 0) : -1;
  }
  if (done == HD_SQL_OK)
    done = hd_store_run(store, HD_Q_races_since, arena, &rows, "i", s->last_race);
  for (int i = 0; done == HD_SQL_OK && i < rows.n; i++) {
    json_t *race = json_loads(hd_cell_text(&rows, i, 3), 0, NULL);
    pthread_rwlock_wrlock(&s->lock);
    learn(s, hd_cell_text(&rows, i, 1), hd_cell_text(&rows, i, 2), race);
    pthread_rwlock_unlock(&s->lock);
    json_decref(race);
    s->last_race = hd_cell_int(&rows, i, 0);
  }
  return done;
}

hd_sql hd_snapshot_refresh(hd_snapshot *s, hd_store *store, bool *changed) {
  hd_arena arena = {0};
  hd_rows rows;
  hd_sql done = hd_store_run(store, HD_Q_heads_since, &arena, &rows, "i", s->serial);
  *changed = done == HD_SQL_OK && rows.n > 0;
  for (int i = 0; done == HD_SQL_OK && i < rows.n; i++) {
    entry *e = read_entry(&rows, i);
    pthread_rwlock_wrlock(&s->lock);
    s->serial = hd_cell_int(&rows, i, 4);
    if (e)
      put(s, e, hash_text(hd_cell_text(&rows, i, HD_CHOICE_SCHEDULE)));
    pthread_rwlock_unlock(&s->lock);
  }
  if (done == HD_SQL_OK)
    s->is_read = true;
  if (done == HD_SQL_OK)
    done = read_races(s, store, &arena);
  hd_arena_free(&arena);
  return done;
}

/* ---- looking up ---- */

bool hd_snapshot_is_read(const hd_snapshot *s) {
  return s->is_read;
}

int64_t hd_snapshot_serial(hd_snapshot *s) {
  return s->serial;
}

size_t hd_snapshot_count(hd_snapshot *s) {
  pthread_rwlock_rdlock(&s->lock);
  size_t n = s->n;
  pthread_rwlock_unlock(&s->lock);
  return n;
}

/* The average loss by distance that races measured; NaN before any did. */
static double loss_by_distance(const hd_snapshot *s, const char *class) {
  for (size_t i = 0; i < s->n_losses; i++)
    if (strcmp(s->losses[i].class, class) == 0)
      return s->losses[i].distance_loss / s->losses[i].distance_2;
  return (double)NAN;
}

static char *find_nearest(const hd_snapshot *s, const char *product, const char *class,
                          const char *policy) {
  hd_product_key key;
  hd_key_problem problem;
  const entry *best = NULL;
  double least = INFINITY;
  if (!hd_key_parse(product, &key, &problem))
    return NULL;
  for (size_t i = 0; i < s->n; i++) {
    const entry *e = s->list[i];
    if (strcmp(e->class, class) != 0 || strcmp(e->policy, policy) != 0)
      continue;
    double d = hd_key_distance(&e->key, &key);
    if (d < least) {
      least = d;
      best = e;
    }
  }
  return best ? lookup_text("nearest", least, loss_by_distance(s, class) * least, best->choice)
              : NULL;
}

hd_found hd_snapshot_find(hd_snapshot *s, const char *product, const char *class,
                          const char *policy, bool exact_only) {
  hd_found found = {0};
  pthread_rwlock_rdlock(&s->lock);
  uint32_t slot = *slot_of(s, hash_name(product, class, policy), product, class, policy);
  found.exact = slot ? hd_shared_text_ref(s->list[slot - 1]->answer) : NULL;
  if (!found.exact && !exact_only)
    found.nearest = find_nearest(s, product, class, policy);
  pthread_rwlock_unlock(&s->lock);
  return found;
}

/* ---- all choices ---- */

static int by_name(const void *x, const void *y) {
  const entry *a = *(entry *const *)x, *b = *(entry *const *)y;
  int product = strcmp(a->product, b->product), class = strcmp(a->class, b->class);
  return product ? product : class ? class : strcmp(a->policy, b->policy);
}

/* Writes the format of `heddle tune export --choices`: the begin, a choice, and the end. */
static void begin_choices(hd_strbuf *out, int64_t serial) {
  hd_strbuf_printf(out, "{\"version\": 1, \"serial\": %lld,\n\"choices\": [", (long long)serial);
}

static void add_choice(hd_strbuf *out, bool first, const char *choice) {
  hd_strbuf_printf(out, "%s\n%s", first ? "" : ",", choice);
}

static char *end_choices(hd_strbuf *out) {
  hd_strbuf_add(out, "]}\n");
  return hd_strbuf_take(out);
}

char *hd_snapshot_choices(hd_snapshot *s, const char *class, int64_t since) {
  hd_strbuf out = {0};
  size_t n = 0;
  pthread_rwlock_rdlock(&s->lock);
  entry **list = hd_xmalloc(sizeof *list * (s->n + 1));
  for (size_t i = 0; i < s->n; i++)
    if (s->list[i]->serial > since && (!*class || strcmp(s->list[i]->class, class) == 0))
      list[n++] = s->list[i];
  qsort(list, n, sizeof *list, by_name);
  begin_choices(&out, s->serial);
  for (size_t i = 0; i < n; i++)
    add_choice(&out, i == 0, list[i]->choice);
  pthread_rwlock_unlock(&s->lock);
  hd_free(list);
  return end_choices(&out);
}

char *hd_choices_text(const hd_rows *rows, int64_t serial) {
  hd_strbuf out = {0};
  begin_choices(&out, serial);
  for (int i = 0; i < rows->n; i++) {
    char *text = choice_text(rows, i);
    add_choice(&out, i == 0, text);
    hd_free(text);
  }
  return end_choices(&out);
}
