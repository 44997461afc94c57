/* Spec/spelling.h: a key of an instruction text that does not depend on the order of its
 * qualifiers. ptxas accepts any order, but the ISA defines only one. The order of types, of state
 * spaces and of .row.col matters. heddle-tblgen computes the rows' keys with this function. */
#ifndef HD_SPEC_SPELLING_H
#define HD_SPEC_SPELLING_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hd_spelling_hash(const char *word, size_t n) {
  uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ (unsigned char)word[i]) * 0x100000001b3u;
  return hash;
}

static inline bool hd_spelling_is_one_of(const char *word, size_t n, const char *const *words,
                                         size_t n_words) {
  for (size_t i = 0; i < n_words; i++)
    if (strlen(words[i]) == n && !memcmp(words[i], word, n))
      return true;
  return false;
}

/* 0: any order; the order among words of a class matters for 1 .row.col, 2 types, 3 spaces. */
static inline int hd_spelling_class(const char *word, size_t n) {
  static const char *const majors[] = {"row", "col"};
  static const char *const types[] = {"f16",   "bf16",      "tf32",     "f32",   "s32",  "s8",
                                      "u8",    "s4",        "u4",       "e4m3",  "e5m2", "e3m2",
                                      "e2m3",  "e2m1",      "ue8m0",    "ue4m3", "b16",  "b8",
                                      "b8x16", "b6x16_p32", "b4x16_p64"};
  static const char *const spaces[] = {"global", "shared", "shared::cta", "shared::cluster"};
  if (hd_spelling_is_one_of(word, n, majors, sizeof majors / sizeof *majors))
    return 1;
  if (hd_spelling_is_one_of(word, n, spaces, sizeof spaces / sizeof *spaces))
    return 3;
  return hd_spelling_is_one_of(word, n, types, sizeof types / sizeof *types) ? 2 : 0;
}

/* The number of words that name the instruction. They come first, in a fixed order. */
static inline int hd_spelling_head(const char *text) {
  static const struct {
    const char *begin;
    int words;
  } heads[] = {{"cp.async.bulk.prefetch.tensor.", 5}, {"cp.async.bulk.prefetch.", 4},
               {"cp.async.bulk.tensor.", 4},          {"cp.async.bulk.wait_group", 4},
               {"cp.async.bulk.", 3},                 {"cp.async.mbarrier.arrive.", 4},
               {"cp.async.", 2},                      {"mbarrier.arrive.expect_tx.", 3},
               {"mbarrier.arrive_drop.expect_tx.", 3}, {"mbarrier.try_wait.parity.", 3},
               {"mbarrier.test_wait.parity.", 3},     {"mbarrier.", 2},
               {"barrier.cluster.", 3},               {"barrier.", 2},
               {"bar.", 2},                           {"fence.proxy.", 2},
               {"setmaxnreg.", 2},                    {"griddepcontrol.", 2},
               {"wgmma.", 2},                         {"tcgen05.", 2}};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    if (!strncmp(text, heads[i].begin, strlen(heads[i].begin)))
      return heads[i].words;
  return 1;
}

/* Ignores the qualifier `without` (NULL: none). */
static inline uint64_t hd_spelling_key(const char *text, const char *without) {
  uint64_t chain[4] = {0, 1, 2, 3}; /* any order; majors; types and the head; spaces */
  int head = hd_spelling_head(text);
  for (const char *word = text; *word; head--) {
    size_t n = strcspn(word, ".");
    uint64_t hash = hd_spelling_hash(word, n);
    int class = head > 0 ? 2 : hd_spelling_class(word, n);
    bool left_out = without && strlen(without) == n && !memcmp(without, word, n);
    if (class)
      chain[class] = chain[class] * 0x9e3779b97f4a7c15u + hash;
    else if (!left_out)
      chain[0] += hash * 0xd6e8feb86659fd93u;
    word += n + (word[n] == '.');
  }
  return chain[0] ^ chain[1] * 0xa0761d6478bd642fu ^ chain[2] * 0xe7037ed1a0b428dbu ^
         chain[3] * 0x8ebc6af09c88c6e3u;
}

#endif
