/* Support/hash.h: content hashes (xxHash, XXH3 128 bits). */
#ifndef HD_HASH_H
#define HD_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct hd_hash {
  uint64_t lo, hi;
} hd_hash;

/* The hash of a byte string; stable across machines and versions of Heddle. */
hd_hash hd_hash_bytes(const void *data, size_t n_bytes);
/* The hash of two hashes, which depends on their order. Used to build keys. */
hd_hash hd_hash_combine(hd_hash a, hd_hash b);
/* The finalizer of splitmix64: each bit of x changes about half of the result's 64 bits. */
uint64_t hd_hash_mix(uint64_t x);
/* The next word of a pseudorandom sequence of 2^64 words (splitmix64). Any state is a seed. */
uint64_t hd_hash_next(uint64_t *state);
/* Writes 32 hexadecimal digits and a NUL. */
void hd_hash_format(hd_hash hash, char out[33]);

#endif
