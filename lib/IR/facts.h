/* IR/facts.h: a hash table from values to numbers. */
#ifndef HD_FACTS_H
#define HD_FACTS_H

#include <stdint.h>

typedef struct hd_value hd_value;

/* A fact (any number but INT64_MIN) about each value. Zero-initialise to start. */
typedef struct hd_facts {
  const hd_value **keys; /* owned */
  int64_t *facts;        /* owned */
  int32_t n, cap;
} hd_facts;

#define HD_NO_FACT INT64_MIN
void hd_facts_set(hd_facts *facts, const hd_value *value, int64_t fact);
int64_t hd_facts_get(const hd_facts *facts, const hd_value *value); /* HD_NO_FACT when absent */
void hd_facts_free(hd_facts *facts);

#endif
