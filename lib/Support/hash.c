#include "Support/hash.h"

#include <stdio.h>
#include <xxhash.h>

hd_hash hd_hash_bytes(const void *data, size_t n_bytes) {
  XXH128_hash_t h = XXH3_128bits(data, n_bytes);
  return (hd_hash){h.low64, h.high64};
}

hd_hash hd_hash_combine(hd_hash a, hd_hash b) {
  uint64_t words[4] = {a.lo, a.hi, b.lo, b.hi};
  return hd_hash_bytes(words, sizeof words);
}

uint64_t hd_hash_mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

uint64_t hd_hash_next(uint64_t *state) { return hd_hash_mix(*state += 0x9e3779b97f4a7c15u); }

void hd_hash_format(hd_hash hash, char out[33]) {
  snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash.hi, (unsigned long long)hash.lo);
}
