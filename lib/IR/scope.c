#include "IR/scope.h"

#include <stdlib.h>
#include <string.h>

int32_t hd_scope_enter(const hd_scope *scope) {
  return scope->n;
}

static int32_t *bucket_of(const hd_scope *scope, uint64_t hash) {
  return &scope->buckets[hash & (uint64_t)(scope->n_buckets - 1)];
}

/* Newest first in each bucket, so that leaving a scope only moves heads. */
static void link_entry(hd_scope *scope, int32_t i) {
  int32_t *head = bucket_of(scope, scope->entries[i].hash);
  scope->entries[i].older = *head;
  *head = i;
}

void hd_scope_leave(hd_scope *scope, int32_t mark) {
  while (scope->n > mark) {
    hd_scope_entry *entry = &scope->entries[--scope->n];
    *bucket_of(scope, entry->hash) = entry->older;
  }
}

static void widen_buckets(hd_scope *scope) {
  scope->n_buckets = scope->n_buckets ? 2 * scope->n_buckets : 64;
  size_t n_bytes = sizeof *scope->buckets * (size_t)scope->n_buckets;
  scope->buckets = hd_xrealloc(scope->buckets, n_bytes);
  memset(scope->buckets, -1, n_bytes);
  for (int32_t i = 0; i < scope->n; i++)
    link_entry(scope, i);
}

static uint64_t hash_name(const char *name) {
  return hd_hash_bytes(name, strlen(name)).lo;
}

void hd_scope_add(hd_scope *scope, const char *name, hd_value *value) {
  if (scope->n >= scope->n_buckets)
    widen_buckets(scope);
  hd_scope_entry entry = {.name = name, .value = value, .hash = hash_name(name)};
  HD_PUSH(scope->entries, scope->n, scope->cap, entry);
  link_entry(scope, scope->n - 1);
}

const hd_scope_entry *hd_scope_find(const hd_scope *scope, const char *name) {
  uint64_t hash = hash_name(name);
  int32_t i = scope->n_buckets ? *bucket_of(scope, hash) : -1;
  while (i >= 0) {
    const hd_scope_entry *entry = &scope->entries[i];
    if (entry->hash == hash && strcmp(entry->name, name) == 0)
      return entry;
    i = entry->older;
  }
  return NULL;
}

void hd_scope_free(hd_scope *scope) {
  free(scope->entries);
  free(scope->buckets);
  *scope = (hd_scope){0};
}

/* The place of a key in the open-addressed table: its own, or the free one where it would stand. */
static int32_t place_of(const hd_facts *facts, const hd_value *value) {
  uint64_t mixed = (uint64_t)(uintptr_t)value * UINT64_C(0x9e3779b97f4a7c15);
  int32_t i = (int32_t)(mixed >> 33) & (facts->cap - 1);
  while (facts->keys[i] && facts->keys[i] != value)
    i = (i + 1) & (facts->cap - 1);
  return i;
}

static void widen_facts(hd_facts *facts) {
  hd_facts old = *facts;
  facts->cap = old.cap ? 2 * old.cap : 256;
  facts->n = 0;
  facts->keys = hd_xmalloc(sizeof *facts->keys * (size_t)facts->cap);
  facts->facts = hd_xmalloc(sizeof *facts->facts * (size_t)facts->cap);
  memset(facts->keys, 0, sizeof *facts->keys * (size_t)facts->cap);
  for (int32_t i = 0; i < old.cap; i++)
    if (old.keys[i])
      hd_facts_set(facts, old.keys[i], old.facts[i]);
  hd_facts_free(&old);
}

void hd_facts_set(hd_facts *facts, const hd_value *value, int64_t fact) {
  if (2 * facts->n >= facts->cap)
    widen_facts(facts);
  int32_t i = place_of(facts, value);
  facts->n += facts->keys[i] == NULL;
  facts->keys[i] = value;
  facts->facts[i] = fact;
}

int64_t hd_facts_get(const hd_facts *facts, const hd_value *value) {
  if (!facts->cap)
    return HD_NO_FACT;
  int32_t i = place_of(facts, value);
  return facts->keys[i] ? facts->facts[i] : HD_NO_FACT;
}

void hd_facts_free(hd_facts *facts) {
  free(facts->keys);
  free(facts->facts);
  *facts = (hd_facts){0};
}
