#include "IR/facts.h"

#include "Support/arena.h"

/* The slot of a key in the open-addressed table, or the free slot for it. */
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
  facts->keys = hd_xzalloc(sizeof *facts->keys * (size_t)facts->cap);
  facts->facts = hd_xmalloc(sizeof *facts->facts * (size_t)facts->cap);
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
  hd_free(facts->keys);
  hd_free(facts->facts);
  *facts = (hd_facts){0};
}
