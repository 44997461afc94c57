#include "IR/scope.h"
#include "Support/memory.h"

#include <string.h>

int32_t hd_scope_enter(const hd_scope *scope) {
  return scope->n;
}

static int32_t *bucket_of(const hd_scope *scope, uint64_t hash) {
  return &scope->buckets[hash & (uint64_t)(scope->n_buckets - 1)];
}

/* Each bucket is a list with the newest entry first, so that leaving a scope only moves heads. */
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
  size_t old_bytes = sizeof *scope->buckets * (size_t)scope->n_buckets;
  scope->n_buckets = scope->n_buckets ? 2 * scope->n_buckets : 64;
  size_t n_bytes = sizeof *scope->buckets * (size_t)scope->n_buckets;
  scope->buckets = hd_xrealloc(scope->buckets, old_bytes, n_bytes);
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
  hd_free(scope->entries);
  hd_free(scope->buckets);
  *scope = (hd_scope){0};
}
