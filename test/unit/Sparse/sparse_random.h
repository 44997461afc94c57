/* Random dense and 2:4 matrices for the tests of lib/Sparse. */
#ifndef SPARSE_RANDOM_H
#define SPARSE_RANDOM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "Sparse/sparse_rule.h"

static inline uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 32);
}

static inline void fill_random(uint64_t *state, void *data, size_t n_bytes) {
  for (size_t i = 0; i < n_bytes; i++)
    ((uint8_t *)data)[i] = (uint8_t)next_random(state);
}

/* Random bits. Each group keeps a random set of at most `kept` units; the others are +0. */
static inline void fill_sparse(uint64_t *state, heddle_elem elem, void *data, size_t n_bytes) {
  const hd_sparse_rule *rule = hd_sparse_rule_get(elem);
  size_t group_bytes = (size_t)rule->unit_bytes * rule->n_units;
  uint8_t *bytes = data;
  fill_random(state, data, n_bytes);
  for (size_t g = 0; g < n_bytes / group_bytes; g++) {
    unsigned keep;
    do
      keep = next_random(state) % (1u << rule->n_units);
    while ((unsigned)__builtin_popcount(keep) > rule->kept);
    for (unsigned i = 0; i < rule->n_units; i++) {
      uint8_t *unit = bytes + g * group_bytes + (size_t)i * rule->unit_bytes;
      if (!(keep >> i & 1) || !(hd_unit_load(unit, rule->unit_bytes) & rule->nonzero_mask))
        memset(unit, 0, rule->unit_bytes);
    }
  }
}

#define FOR_SPARSE_ELEMS(elem)                                                                     \
  for (heddle_elem elem = 0; elem < HEDDLE_N_ELEMS; elem++)                                        \
    if (hd_sparse_rule_get(elem))

#endif
