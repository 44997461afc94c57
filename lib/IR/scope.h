/* IR/scope.h: visible names, for the parser, the printer and the verifier. */
#ifndef HD_SCOPE_H
#define HD_SCOPE_H

#include "IR/ir.h"

/* Names of values. A name is visible until hd_scope_leave of the mark that hd_scope_enter returned.
 * Strings are borrowed for the life of the scope. Zero-initialise to start. */
typedef struct hd_scope_entry {
  const char *name;
  hd_value *value;
  uint64_t hash;
  int32_t older; /* the next entry of the same bucket, -1: none */
} hd_scope_entry;

typedef struct hd_scope {
  hd_scope_entry *entries; /* owned */
  int32_t *buckets;        /* owned; newest entry, -1: none */
  int32_t n, cap, n_buckets;
} hd_scope;

int32_t hd_scope_enter(const hd_scope *scope);
void hd_scope_leave(hd_scope *scope, int32_t mark);
void hd_scope_add(hd_scope *scope, const char *name, hd_value *value);
/* The visible entry of a name, or NULL; valid until the next add. */
const hd_scope_entry *hd_scope_find(const hd_scope *scope, const char *name);
void hd_scope_free(hd_scope *scope);

#endif
