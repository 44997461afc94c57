/* Schedule/schedule.h: how a problem is computed, as a small printable record. */
#ifndef HD_SCHEDULE_H
#define HD_SCHEDULE_H

#include "Spec/spec.h"
#include "Support/diag.h"

enum { HD_SCHEDULE_TEXT = 320 }; /* bytes of a schedule's text */

/* Included without keys: only the lists of words and their enumerations. */
#define HD_WORD_KEY(...)
#define HD_TILE_KEY(...)
#define HD_WARPS_KEY(...)
#define HD_INT_KEY(...)
#include "Schedule/schedule_keys.def"

/* Text form: "family=wgmma tile=128x256x64 stages=4 cluster=2", each key at most once, in any
 * order. Absent keys get the default of the problem and target. Keys: schedule_keys.def. */
typedef struct hd_schedule {
#define HD_WORD_KEY(KEY, field, word, initial, kind, type, words, says) type field;
#define HD_TILE_KEY(KEY, field, word, kind, says) int32_t field##_m, field##_n, field##_k;
#define HD_WARPS_KEY(KEY, field, word, kind, says) int32_t field##_m, field##_n;
#define HD_INT_KEY(KEY, field, word, initial, kind, least, most, says) int32_t field;
#include "Schedule/schedule_keys.def"
} hd_schedule;

/* ORDER KEYS: the numbers of the keys, in the printed order. */
typedef enum hd_key {
#define HD_WORD_KEY(KEY, ...) HD_KEY_##KEY,
#define HD_TILE_KEY(KEY, ...) HD_KEY_##KEY,
#define HD_WARPS_KEY(KEY, ...) HD_KEY_##KEY,
#define HD_INT_KEY(KEY, ...) HD_KEY_##KEY,
#include "Schedule/schedule_keys.def"
  HD_N_KEYS
} hd_key;

/* The initial values of all keys, which do not depend on a problem. No tile. */
extern const hd_schedule hd_schedule_initial;

/* A key, from schedule_keys.def. */
typedef enum hd_key_kind { HD_KEY_INT, HD_KEY_WORD, HD_KEY_PAIR, HD_KEY_TRIPLE } hd_key_kind;
typedef struct hd_schedule_key {
  const char *name;
  hd_key_kind kind;
  bool structural;
  size_t at;                /* offset of its (first) value in the record */
  int32_t least, most;      /* HD_KEY_INT */
  const char *const *words; /* HD_KEY_WORD: indexed by value, NULL-terminated */
  const char *says;
} hd_schedule_key;
extern const hd_schedule_key hd_schedule_keys[HD_N_KEYS];
/* The word of a key's value: "zigzag". */
static inline const char *hd_key_word(hd_key key, int32_t value) {
  return hd_schedule_keys[key].words[value];
}
/* The key with this name, now or in the last version; HD_N_KEYS: none. *old (may be NULL): whether
 * the name is that of the last version. */
hd_key hd_schedule_key_find(const char *name, size_t len, bool *old);

/* Values of those keys that a text contains. */
typedef struct hd_schedule_words {
  hd_schedule value; /* tile_k 0: the tile was given without k */
  uint32_t given;    /* bits of hd_key */
  uint32_t renamed;  /* the bits of keys that were given by their name in the last version */
} hd_schedule_words;

static inline bool hd_words_have(const hd_schedule_words *words, hd_key key) {
  return words->given >> key & 1;
}

/* Words that give every key its value in the schedule. */
hd_schedule_words hd_schedule_all_words(const hd_schedule *schedule);
/* Adds the words of a text (NULL: none); they override existing words. HEDDLE_INVALID, with the
 * key, the value and the legal values, if a key is unknown, occurs twice in the text, or has an
 * illegal value. */
heddle_status hd_schedule_parse(heddle_context *ctx, hd_loc loc, const char *text,
                                hd_schedule_words *words);
/* Adds parsed words, which override existing ones. */
void hd_schedule_add_words(const hd_schedule_words *over, hd_schedule_words *words);
/* Adds a note if names of the last version were read, with their current names. */
void hd_schedule_note_renamed(heddle_context *ctx, hd_loc loc, const hd_schedule_words *words);
/* Sets each key that is given to its value. */
void hd_schedule_apply(const hd_schedule_words *words, hd_schedule *schedule);
/* Whether each key that is given has this value in the schedule. */
bool hd_schedule_matches(const hd_schedule *schedule, const hd_schedule_words *words);
bool hd_schedule_equals(const hd_schedule *x, const hd_schedule *y);

/* Prints the canonical text of all keys, or of those that are given. */
void hd_schedule_print(const hd_schedule *schedule, char out[HD_SCHEDULE_TEXT]);
void hd_schedule_print_words(const hd_schedule_words *words, char out[HD_SCHEDULE_TEXT]);
/* The one, two or three numbers of a key (returns how many). For a word: its enumerator. */
int32_t hd_schedule_get(const hd_schedule *schedule, hd_key key, int32_t v[3]);
void hd_schedule_set(hd_schedule *schedule, hd_key key, const int32_t v[3]);
/* Prints only the value of a key: "zigzag", "128x256x64". */
enum { HD_KEY_VALUE_TEXT = 40 };
void hd_schedule_print_key(const hd_schedule *schedule, hd_key key, char out[HD_KEY_VALUE_TEXT]);

static inline bool hd_schedule_is_wgmma(const hd_schedule *s) {
  return s->family == HD_FAMILY_WGMMA_SP;
}
static inline bool hd_schedule_is_mma(const hd_schedule *s) {
  return s->family == HD_FAMILY_MMA_SP;
}
static inline bool hd_schedule_is_tensor(const hd_schedule *s) {
  return s->family == HD_FAMILY_TCGEN05_SP;
}
/* A pair of CTAs executes each MMA: the first one issues it, each holds half of B's columns. */
static inline bool hd_schedule_is_pair(const hd_schedule *s) {
  return hd_schedule_is_tensor(s) && s->cluster == 2;
}
/* CTAs of a cluster along k. */
static inline int32_t hd_schedule_along_k(const hd_schedule *s) {
  return s->reduce == HD_REDUCE_WORKSPACE ? 1 : s->split_k;
}
static inline bool hd_schedule_over_ring(const hd_schedule *s) {
  return s->reduce == HD_REDUCE_RING;
}
/* CTAs share tiles over k, through partial sums. */
static inline bool hd_schedule_shares_tiles(const hd_schedule *s) {
  return s->split_k > 1 || s->stream_k;
}

#endif
