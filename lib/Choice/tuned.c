#include "Choice/tuned.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Schedule/resolve.h"
#include "Support/arena.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "Support/hash.h"
#include "Support/nearest.h"

struct heddle_tuned {
  hd_arena arena;
  hd_tuned_entry *list; /* owned; n of cap */
  size_t n, cap;
  uint32_t *slot; /* owned: index + 1 of an entry, 0: free; open addressing, linear probing */
  size_t n_slots; /* a power of two, at least twice n */
  hd_device_model ceilings;
  bool has_ceilings; /* the file has its own */
  hd_schedule_words words; /* only `renamed`: the keys that a choice gives by their old names */
};

/* ---- lookup ---- */

static uint64_t hash_of(const hd_product *p) {
  int64_t flags = p->b_mn_major | p->d_col_major << 1 | p->weights_ready << 2 | p->g << 8 |
                  p->groups << 32;
  int64_t key[] = {p->a, p->b, p->acc, p->d, p->m, p->n, p->k, flags, 0, 0, 0};
  const hd_product_epilogue *e = &p->epilogue;
  memcpy(&key[8], p->target, 8); /* "sm_120a" and its terminating zero */
  memcpy(&key[9], e->act, 8);    /* the first bytes of a longer name */
  key[10] = e->bias | e->scale_a << 8 | e->scale_b << 16 | e->c << 24 | (int64_t)e->reduce << 32 |
            (int64_t)e->blocks << 40 | (int64_t)e->aux << 48 | (int64_t)e->aux_type << 56;
  return hd_hash_bytes(key, sizeof key).lo;
}

static bool same_epilogue(const hd_product_epilogue *x, const hd_product_epilogue *y) {
  return x->bias == y->bias && x->scale_a == y->scale_a && x->scale_b == y->scale_b &&
         x->c == y->c && x->reduce == y->reduce && x->blocks == y->blocks &&
         x->aux == y->aux && x->aux_type == y->aux_type &&
         strcmp(x->act, y->act) == 0;
}

static bool same(const hd_product *x, const hd_product *y) {
  return hd_product_same_sizes(x, y) && x->a == y->a && x->b == y->b && x->acc == y->acc &&
         x->d == y->d && x->b_mn_major == y->b_mn_major && x->d_col_major == y->d_col_major &&
         x->weights_ready == y->weights_ready && x->g == y->g && x->groups == y->groups &&
         strcmp(x->target, y->target) == 0 && same_epilogue(&x->epilogue, &y->epilogue);
}

const hd_tuned_entry *hd_tune_lookup(const hd_tuned *t, const hd_product *product) {
  for (size_t at = hash_of(product);; at++) {
    uint32_t slot = t->slot[at & (t->n_slots - 1)];
    if (slot == 0)
      return NULL;
    if (same(&t->list[slot - 1].product, product))
      return &t->list[slot - 1];
  }
}

static double apart(int64_t x, int64_t y) { return fabs(log2((double)x / (double)y)); }

static bool as_wide(heddle_elem x, heddle_elem y) {
  return heddle_elem_get(x)->container_bits == heddle_elem_get(y)->container_bits;
}

/* INFINITY: not comparable. Batches and groups are only comparable to those of the same number.
 * Another type or order of D is a small difference, as are other types of the same width, which
 * move the same bytes. Integer and float accumulators differ more: integers draw less power. */
static double distance(const hd_product *x, const hd_product *y) {
  if (!as_wide(x->a, y->a) || !as_wide(x->b, y->b) || x->b_mn_major != y->b_mn_major ||
      x->g != y->g || x->groups != y->groups || strcmp(x->target, y->target) != 0)
    return INFINITY;
  bool other = x->a != y->a || x->b != y->b || x->acc != y->acc;
  bool other_kind = heddle_elem_get(x->acc)->kind != heddle_elem_get(y->acc)->kind;
  double m = apart(x->m, y->m), n = apart(x->n, y->n), k = apart(x->k, y->k);
  if (m > 1 || n > 1 || k > 1)
    return INFINITY;
  return m + n + k + 0.01 * (x->d_col_major != y->d_col_major) +
         0.02 * (x->weights_ready != y->weights_ready) +
         0.03 * !same_epilogue(&x->epilogue, &y->epilogue) + 0.1 * (x->d != y->d) + 0.2 * other +
         0.2 * other_kind;
}

/* The nearest entry at a distance above `beyond`, or equal to it and later in the list than
 * `after`. */
static const hd_tuned_entry *next_nearest(const hd_tuned *t, const hd_product *product,
                                          double beyond, const hd_tuned_entry *after) {
  const hd_tuned_entry *best = NULL;
  double least = INFINITY;
  for (size_t i = 0; i < t->n; i++) {
    double d = distance(&t->list[i].product, product);
    bool passed = d < beyond || (d == beyond && (!after || &t->list[i] <= after));
    if (!passed && d < least) {
      least = d;
      best = &t->list[i];
    }
  }
  return best;
}

const hd_tuned_entry *hd_tune_nearest(const hd_tuned *t, const hd_product *product) {
  return next_nearest(t, product, -1, NULL);
}

/* ---- picking ---- */

static bool is_free(const hd_problem *p, const hd_spilled *spilled, const hd_schedule *s) {
  return hd_schedule_fits(p, s) && !hd_spilled_has(spilled, s);
}

/* Whether the words are legal, possibly with another store. The store depends on the order of D and
 * the epilogue. If the one of the choice is not legal, its tile is still good with a legal one. */
static bool is_legal(const hd_tuned *t, const hd_problem *p, hd_schedule_words words,
                     const hd_spilled *spilled, hd_schedule *schedule) {
  static const hd_store stores[] = {HD_STORE_STAGED, HD_STORE_QUAD, HD_STORE_DIRECT};
  if (hd_schedule_resolve(NULL, &t->ceilings, p, &words, schedule) != HEDDLE_OK)
    return false;
  words.given |= 1u << HD_KEY_STORE;
  for (size_t i = 0; i < HD_COUNT(stores) && !is_free(p, spilled, schedule); i++) {
    words.value.store = stores[i];
    if (hd_schedule_resolve(NULL, &t->ceilings, p, &words, schedule) != HEDDLE_OK)
      return false;
  }
  return is_free(p, spilled, schedule);
}

/* The entry of the product; else with the other order of D; else with the other weights_ready; else
 * of the product without its epilogue, which changes the stores, but rarely which tile is the
 * best. */
static const hd_tuned_entry *look_up_alike(const hd_tuned *t, const hd_product *product) {
  const hd_tuned_entry *found = NULL;
  for (int i = 0; i < 8 && !found; i++) {
    hd_product p = i & 4 ? hd_product_plain(product) : *product;
    p.d_col_major ^= i & 1;
    p.weights_ready ^= i >> 1 & 1;
    found = hd_tune_lookup(t, &p);
  }
  return found;
}

const hd_tuned_entry *hd_tune_pick(const hd_tuned *t, const hd_problem *p,
                                   const hd_product *product, const hd_spilled *spilled,
                                   hd_schedule *schedule) {
  hd_schedule first, s;
  const int64_t sizes[] = {product->m, product->n, product->k};
  if (p->block && !hd_scales_promoted(p)) /* a product has no field for these scales */
    return NULL;
  /* An entry that is not legal here (the epilogue also needs registers) is skipped for the next. */
  const hd_tuned_entry *found = look_up_alike(t, product);
  if (!found || !is_legal(t, p, found->words, spilled, &s)) {
    found = hd_tune_nearest(t, product);
    while (found && !is_legal(t, p, found->words, spilled, &s))
      found = next_nearest(t, product, distance(&found->product, product), found);
  }
  if (!found)
    return NULL;
  if (!hd_product_same_sizes(&found->product, product)) {
    if (!hd_cost_is_estimate(p))
      return NULL;
    first = hd_schedule_default(&t->ceilings, p);
    if (hd_schedule_cost(p, &s, sizes, &t->ceilings).seconds >=
        hd_schedule_cost(p, &first, sizes, &t->ceilings).seconds)
      return NULL;
  }
  *schedule = s;
  return found;
}

/* ---- reading ---- */

/* Times that are not measured or not given are 0. */
static heddle_status check_seconds(heddle_context *ctx, const hd_choice *c) {
  static const double most = 1e6;
  const struct {
    const char *name;
    double seconds;
  } times[] = {{"us", c->seconds},
               {"default_us", c->default_seconds},
               {"sustained_us", c->sustained},
               {"default_sustained_us", c->default_sustained}};
  for (size_t i = 0; i < HD_COUNT(times); i++)
    if (!(times[i].seconds >= 0 && times[i].seconds <= most))
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "tuned.seconds",
                      "got %s = %g; legal: 0 to %g", times[i].name, times[i].seconds * 1e6,
                      most * 1e6);
  return HEDDLE_OK;
}

static heddle_status add(heddle_context *ctx, const char *path, hd_tuned *t, const hd_choice *c) {
  hd_tuned_entry e = {.seconds = c->seconds,
                      .default_seconds = c->default_seconds,
                      .sustained = c->sustained,
                      .default_sustained = c->default_sustained};
  heddle_status status = hd_product_parse(ctx, c->product, &e.product);
  if (status == HEDDLE_OK)
    status = hd_schedule_parse(ctx, HD_NOWHERE, c->schedule, &e.words);
  if (status == HEDDLE_OK)
    status = check_seconds(ctx, c);
  if (status != HEDDLE_OK) {
    hd_note(ctx, (hd_loc){.file = path}, "tuned.choice", "this is in choice %zu of the file",
            t->n + 1);
    return status;
  }
  t->words.renamed |= e.words.renamed;
  e.device = hd_arena_strdup(&t->arena, c->device);
  HD_PUSH(t->list, t->n, t->cap, e);
  return HEDDLE_OK;
}

/* If a product has two entries, the lookup finds the first one. Refuses choices of two devices: the
 * fastest schedule may differ between devices. */
static heddle_status index_all(heddle_context *ctx, const char *path, hd_tuned *t) {
  for (t->n_slots = 2; t->n_slots < 2 * t->n + 2;)
    t->n_slots *= 2;
  t->slot = hd_xzalloc(sizeof *t->slot * t->n_slots);
  for (size_t i = 0; i < t->n; i++) {
    const hd_tuned_entry *e = &t->list[i];
    const hd_tuned_entry *twin = hd_tune_lookup(t, &e->product);
    if (twin && strcmp(twin->device, e->device) != 0) {
      char product[HD_PRODUCT_TEXT];
      hd_product_print(&twin->product, product);
      return hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "tuned.devices",
                      "got choices of %s on %s and on %s; legal: choices of one device, as `heddle "
                      "tune export --device \"%s\"` writes them",
                      product, twin->device, e->device, twin->device);
    }
    size_t at = hash_of(&e->product);
    while (t->slot[at & (t->n_slots - 1)])
      at++;
    t->slot[at & (t->n_slots - 1)] = (uint32_t)i + 1;
  }
  return HEDDLE_OK;
}

typedef struct reader {
  heddle_context *ctx;
  const char *path;
  hd_tuned *tuned;
  heddle_status status;
} reader;

static bool add_choice(void *user, const hd_choice *c) {
  reader *r = user;
  r->status = add(r->ctx, r->path, r->tuned, c);
  return r->status == HEDDLE_OK;
}

/* 0 if the key is absent or null; NAN, which check_seconds refuses, if it is not a number. */
static double seconds_of(const json_t *row, const char *key) {
  const json_t *us = json_object_get(row, key);
  return us && !json_is_null(us) && !json_is_number(us) ? NAN : json_number_value(us) * 1e-6;
}

static const char *string_of(const json_t *row, const char *key) {
  const char *text = json_string_value(json_object_get(row, key));
  return text ? text : "";
}

static const char *next_ceiling(void *user) { return hd_device_rate_name((*(size_t *)user)++); }

static heddle_status set_ceiling(heddle_context *ctx, hd_loc loc, const char *name, double value,
                                 hd_device_model *ceilings) {
  double least, most;
  size_t i = 0;
  while (hd_device_rate_name(i) && strcmp(hd_device_rate_name(i), name) != 0)
    i++;
  if (!hd_device_rate_name(i)) {
    size_t first = 0;
    const char *nearest = hd_nearest_name(name, next_ceiling, &first);
    return hd_error(ctx, HEDDLE_INVALID, loc, "tuned.ceiling", "got \"%.40s\"; nearest: %s", name,
                    nearest ? nearest : hd_device_rate_name(0));
  }
  hd_device_rate_range(i, &least, &most);
  if (!(value >= least && value <= most))
    return hd_error(ctx, HEDDLE_INVALID, loc, "tuned.ceiling", "got %s = %g; legal: %g to %g", name,
                    value, least, most);
  *hd_device_rate_at(ceilings, i) = value;
  return HEDDLE_OK;
}

/* The rates of a file override those of the device that it names, or else those of the H200. */
static heddle_status read_ceilings(heddle_context *ctx, hd_loc loc, json_t *object, hd_tuned *t) {
  const char *name;
  json_t *value;
  const hd_device_model *known =
      hd_device_model_named(json_string_value(json_object_get(object, "device")));
  t->has_ceilings = object != NULL;
  if (known)
    t->ceilings = *known;
  if (object && !json_is_object(object))
    return hd_error(ctx, HEDDLE_INVALID, loc, "tuned.ceiling",
                    "the ceilings are not an object; legal: {\"NAME\": NUMBER, ...}");
  json_object_foreach(object, name, value) {
    if (strcmp(name, "device") != 0)
      HD_TRY(set_ceiling(ctx, loc, name, json_number_value(value), &t->ceilings));
    else if (json_is_string(value))
      t->ceilings.device = hd_arena_strdup(&t->arena, json_string_value(value));
  }
  return HEDDLE_OK;
}

/* Refuses a file that is not JSON, has no choices, or has another version of the format. */
static heddle_status check_root(heddle_context *ctx, hd_loc loc, const json_t *root,
                                const json_error_t *error) {
  enum { VERSION = 1 };
  char got[JSON_ERROR_TEXT_LENGTH];
  long long version = json_integer_value(json_object_get(root, "version"));
  if (!root)
    snprintf(got, sizeof got, "%s", error->text);
  else if (!json_is_array(json_object_get(root, "choices")))
    snprintf(got, sizeof got, "no choices");
  else if (version != VERSION)
    snprintf(got, sizeof got, "version %lld", version);
  else
    return HEDDLE_OK;
  loc.line = root ? 1 : (uint32_t)error->line;
  return hd_error(ctx, HEDDLE_INVALID, loc, "tuned.file",
                  "got %s; legal: an export of `heddle tune export`, version %d", got, VERSION);
}

static heddle_status read_json(heddle_context *ctx, const char *path, const char *text,
                               size_t n_bytes, hd_tuned *t) {
  json_error_t error;
  hd_loc loc = {path, 1, 1};
  json_t *root = json_loadb(text, n_bytes, 0, &error);
  const json_t *choices = json_object_get(root, "choices");
  heddle_status status = check_root(ctx, loc, root, &error);
  for (size_t i = 0; i < json_array_size(choices) && status == HEDDLE_OK; i++) {
    const json_t *row = json_array_get(choices, i);
    hd_choice c = {.product = string_of(row, "product"),
                   .schedule = string_of(row, "schedule"),
                   .device = string_of(row, "device"),
                   .seconds = seconds_of(row, "us"),
                   .default_seconds = seconds_of(row, "default_us"),
                   .sustained = seconds_of(row, "sustained_us"),
                   .default_sustained = seconds_of(row, "default_sustained_us")};
    status = add(ctx, path, t, &c);
  }
  if (status == HEDDLE_OK)
    status = read_ceilings(ctx, loc, json_object_get(root, "ceilings"), t);
  json_decref(root);
  return status;
}

static hd_tuned *new_table(void) {
  hd_tuned *t = hd_xmalloc(sizeof *t);
  *t = (hd_tuned){.ceilings = *hd_device_model_of(NULL)};
  return t;
}

/* Indexes the table and returns it, if everything was read. t is consumed. */
static heddle_status finish(heddle_context *ctx, const char *path, uint64_t shortages,
                            heddle_status status, hd_tuned *t, hd_tuned **tuned) {
  if (status == HEDDLE_OK)
    status = index_all(ctx, path, t);
  hd_schedule_note_renamed(ctx, (hd_loc){.file = path}, &t->words);
  status = hd_memory_status(ctx, shortages, status);
  if (status == HEDDLE_OK)
    *tuned = t;
  else
    heddle_tuned_free(t);
  return status;
}

heddle_status hd_tuned_collect(heddle_context *ctx, const char *path, hd_choice_source source,
                               void *user, hd_tuned **tuned) {
  uint64_t before = hd_memory_shortages();
  hd_tuned *t = new_table();
  reader r = {ctx, path, t, HEDDLE_OK};
  heddle_status status = source(ctx, user, add_choice, &r);
  return finish(ctx, path, before, status == HEDDLE_OK ? r.status : status, t, tuned);
}

heddle_status hd_tuned_parse(heddle_context *ctx, const char *path, const char *json,
                             size_t n_bytes, hd_tuned **tuned) {
  uint64_t before = hd_memory_shortages();
  hd_tuned *t = new_table();
  return finish(ctx, path, before, read_json(ctx, path, json, n_bytes, t), t, tuned);
}

bool hd_tuned_is_database(const char *path) {
  static const char sqlite[] = "SQLite format 3";
  char head[sizeof sqlite];
  return hd_file_read_head(path, head, sizeof head) == sizeof head &&
         memcmp(head, sqlite, sizeof sqlite) == 0;
}

heddle_status heddle_tuned_read(heddle_context *ctx, const char *path, hd_tuned **tuned) {
  char *text = NULL;
  size_t n_bytes = 0;
  if (hd_tuned_is_database(path))
    return hd_error(ctx, HEDDLE_UNSUPPORTED, (hd_loc){.file = path}, "tuned.database",
                    "got a database of `heddle tune`; legal: its export; nearest: `heddle tune "
                    "export --db %s -o tuned.json`",
                    path);
  HD_TRY(hd_file_read_text(ctx, path, &text, &n_bytes));
  heddle_status status = hd_tuned_parse(ctx, path, text, n_bytes, tuned);
  hd_free(text);
  return status;
}

void heddle_tuned_free(hd_tuned *t) {
  if (!t)
    return;
  hd_arena_free(&t->arena);
  hd_free(t->list);
  hd_free(t->slot);
  hd_free(t);
}

heddle_status heddle_tuned_set_device(hd_tuned *t, const char *device) {
  const hd_device_model *known = hd_device_model_named(device);
  if (!known)
    return HEDDLE_NOT_FOUND;
  if (!t->has_ceilings)
    t->ceilings = *known;
  return HEDDLE_OK;
}

heddle_status hd_tuned_none(heddle_context *ctx, hd_tuned **tuned) {
  static const char none[] = "{\"version\": 1, \"choices\": []}";
  return hd_tuned_parse(ctx, "no choices", none, sizeof none - 1, tuned);
}

size_t hd_tuned_count(const hd_tuned *t) { return t->n; }

const hd_tuned_entry *hd_tuned_get(const hd_tuned *t, size_t index) { return &t->list[index]; }

const hd_device_model *hd_tuned_ceilings(const hd_tuned *t) { return &t->ceilings; }

bool hd_tuned_has_ceilings(const hd_tuned *t) { return t->has_ceilings; }
