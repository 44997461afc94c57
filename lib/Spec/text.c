/* Instruction texts: normalization, lookup, similarity. */
#include "Spec/text.h"

#include <string.h>

#include "Spec/spelling.h"
#include "Spec/tables.h"

/* Removes the first occurrence of word. False if there is none. */
static bool strip(char *text, const char *word) {
  char *at = strstr(text, word);
  if (!at)
    return false;
  memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
  return true;
}

/* Inserts word before the first occurrence of `before`. False if there is none, or no space. */
static bool insert(char *text, const char *before, const char *word) {
  char *at = strstr(text, before);
  size_t n = strlen(word);
  if (!at || strlen(text) + n >= HD_INSTRUCTION_BYTES)
    return false;
  memmove(at + n, at, strlen(at) + 1);
  memcpy(at, word, n);
  return true;
}

/* Removes word from the end. False if the text does not end with it. */
static bool strip_end(char *text, const char *word) {
  size_t n = strlen(text), n_word = strlen(word);
  if (n < n_word || strcmp(text + n - n_word, word))
    return false;
  text[n - n_word] = 0;
  return true;
}

static bool append(char *text, const char *word) {
  if (strlen(text) + strlen(word) >= HD_INSTRUCTION_BYTES)
    return false;
  strcat(text, word);
  return true;
}

static bool starts_with(const char *text, const char *head) {
  return !strncmp(text, head, strlen(head));
}

/* ".satfinite" is directly before the destination type, which is s32. */
static void parse_satfinite(hd_instruction *in) {
  char *at = strstr(in->text, ".satfinite.s32.");
  if (at && strip(at, ".satfinite"))
    in->modifiers |= HD_MOD_SATFINITE;
}

/* tcgen05.mma.sp ends with optional .ashift and collector, in this order. */
static void take_collector(hd_instruction *in, bool (*take)(char *text, const char *word)) {
  static const char *const words[] = {".collector::a::fill", ".collector::a::use",
                                      ".collector::a::lastuse", ".collector::a::discard"};
  for (unsigned i = 0; i < 4; i++)
    if (take(in->text, words[i])) {
      in->modifiers |= HD_MOD_COLLECTOR;
      in->keeps_collector = i < 2;
      break;
    }
  if (take(in->text, ".ashift"))
    in->modifiers |= HD_MOD_ASHIFT;
}

/* .shared is the shared memory of this CTA. The explicit ::cta needs PTX 7.8. */
static void strip_cta(hd_instruction *in) {
  if (strstr(in->text, ".shared::cta") && strip(in->text, "::cta"))
    in->min_ptx = 78;
}

/* ldmatrix, stmatrix: the state space is before the type. Without one: generic addressing. */
static void parse_space(hd_instruction *in) {
  static const char *const types[] = {".b16", ".b8x16", ".b8"};
  if (strstr(in->text, ".shared::cta.b"))
    strip_cta(in);
  for (unsigned i = 0; i < 3 && !strstr(in->text, ".shared"); i++)
    insert(in->text, types[i], ".shared");
}

static const char *mbarrier_order(const char *text) {
  return strstr(text, "_wait") ? ".acquire" : strstr(text, "arrive") ? ".release" : ".relaxed";
}

/* mbarrier: the default order and scope may be explicit since PTX 8.0. No state space means generic
 * addressing. */
static void parse_mbarrier(hd_instruction *in) {
  const char *order = mbarrier_order(in->text);
  strip_cta(in);
  if (!strstr(in->text, ".shared") && !strstr(in->text, "pending_count"))
    insert(in->text, ".b64", ".shared");
  char *at = strstr(in->text, order);
  if (at && starts_with(at + strlen(order), ".cta.shared") && strip(at, order) && strip(at, ".cta"))
    in->min_ptx = 80;
}

/* cp.async: L2 cache hints need PTX 7.4, ".shared::cta" needs 7.8. */
static void parse_cp_async(hd_instruction *in) {
  static const char *const sizes[] = {".L2::64B", ".L2::128B", ".L2::256B"};
  bool hinted = false;
  for (unsigned i = 0; i < 3 && !hinted; i++)
    hinted = strip_end(in->text, sizes[i]);
  hinted |= strip_end(in->text, ".L2::cache_hint");
  in->min_ptx = hinted ? 74 : 0;
  if (strstr(in->text, ".shared::cta.") && strip(in->text, "::cta"))
    in->defined_ptx = 78;
}

/* Bulk copies from or to global memory accept a cache hint. The default mode of tensor copies is
 * .tile. */
static void parse_bulk(hd_instruction *in) {
  static const char hint[] = ".L2::cache_hint";
  bool masked = strip_end(in->text, ".cp_mask");
  if (strstr(in->text, ".global") && !strstr(in->text, ".cp_mask"))
    strip_end(in->text, hint);
  if (masked)
    append(in->text, ".cp_mask");
  if (!strstr(in->text, ".tensor.") || strstr(in->text, ".tile") || strstr(in->text, ".im2col"))
    return;
  if (!insert(in->text, ".mbarrier::", ".tile") && !insert(in->text, ".bulk_group", ".tile"))
    append(in->text, ".tile");
}

/* No state space means generic addressing. */
static void parse_tcgen05(hd_instruction *in) {
  if (strstr(in->text, ".shared::"))
    return;
  if (starts_with(in->text, "tcgen05.alloc."))
    insert(in->text, ".b32", ".shared::cta");
  else if (!insert(in->text, ".multicast::cluster", ".shared::cluster"))
    insert(in->text, ".b64", ".shared::cluster");
}

/* A fence with only a scope is .acq_rel. */
static void parse_fence(hd_instruction *in) {
  static const char *const scopes[] = {".cta", ".cluster", ".gpu", ".sys"};
  for (unsigned i = 0; i < 4; i++)
    if (!strcmp(strchr(in->text, '.'), scopes[i])) {
      insert(in->text, scopes[i], ".acq_rel");
      return;
    }
}

/* bar is barrier.aligned, so .aligned is removed. .cta needs PTX 7.8. */
static void parse_bar(hd_instruction *in) {
  if (starts_with(strchr(in->text, '.'), ".cta.") && strip(in->text, ".cta"))
    in->min_ptx = 78;
  if (strip(in->text, "rier") && !strip_end(in->text, ".aligned") &&
      strstr(in->text, ".aligned.sync"))
    in->misplaced = strip(in->text, ".aligned");
}

static const char *cluster_order(const char *text) {
  return starts_with(text, "barrier.cluster.arrive.") ? ".release" : ".acquire";
}

/* barrier.cluster: the default order may be explicit since PTX 8.0, and .aligned is optional. */
static void parse_barrier(hd_instruction *in) {
  const char *order = cluster_order(in->text);
  if (!strstr(in->text, ".aligned"))
    append(in->text, ".aligned");
  char *at = strstr(in->text, order);
  if (at && !strcmp(at + strlen(order), ".aligned") && strip(in->text, order))
    in->min_ptx = 80;
}

/* mma.sp: mxf8f6f4 defaults to 1X, mxf4 to 2X. */
static const char *default_scale_vec(const char *text) {
  return strstr(text, ".scale_vec::") || strstr(text, ".kind::mxf4nvf4") ? NULL
         : strstr(text, ".kind::mxf8f6f4")                               ? ".scale_vec::1X"
         : strstr(text, ".kind::mxf4")                                   ? ".scale_vec::2X" : NULL;
}

static void parse_scale_vec(hd_instruction *in) {
  const char *vec = strstr(in->text, ".block_scale.f32.") ? default_scale_vec(in->text) : NULL;
  if (vec && insert(in->text, ".f32.", vec))
    in->modifiers |= HD_MOD_SCALE_VEC;
}

bool hd_instruction_parse(const char *text, hd_instruction *out) {
  size_t length = strlen(text);
  *out = (hd_instruction){.modifiers = 0};
  if (length == 0 || length >= HD_INSTRUCTION_BYTES)
    return false;
  memcpy(out->text, text, length + 1);
  if (starts_with(text, "mma.sp") || starts_with(text, "wgmma.mma_async.sp"))
    parse_satfinite(out);
  if (starts_with(text, "mma.sp"))
    parse_scale_vec(out);
  if (starts_with(text, "tcgen05.mma.sp"))
    take_collector(out, strip_end);
  if (starts_with(text, "ldmatrix") || starts_with(text, "stmatrix"))
    parse_space(out);
  if (starts_with(text, "barrier.cluster."))
    parse_barrier(out);
  else if (starts_with(text, "barrier.") || starts_with(text, "bar.cta."))
    parse_bar(out);
  if (starts_with(text, "mbarrier.") || starts_with(text, "cp.async.mbarrier."))
    parse_mbarrier(out);
  if (starts_with(text, "cp.async.ca.") || starts_with(text, "cp.async.cg."))
    parse_cp_async(out);
  if (starts_with(text, "cp.async.bulk."))
    parse_bulk(out);
  if (starts_with(text, "tcgen05.alloc.") || starts_with(text, "tcgen05.commit."))
    parse_tcgen05(out);
  if (starts_with(text, "fence."))
    parse_fence(out);
  return true;
}

/* ---- lookup ---- */

static const hd_spec_row *row_at(size_t i) {
  return &hd_spec_rows[hd_spec_by_ptx[i]];
}

/* The first position in the index whose text is not less. */
static size_t lower_bound(const char *text) {
  size_t lo = 0, hi = hd_spec_n_rows;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (strcmp(row_at(mid)->ptx, text) < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

const hd_spec_row *hd_instruction_row(const hd_instruction *in) {
  for (size_t i = lower_bound(in->text); i < hd_spec_n_rows; i++) {
    const hd_spec_row *row = row_at(i);
    if (strcmp(row->ptx, in->text))
      return NULL;
    if ((in->modifiers & ~row->modifiers) == 0)
      return row;
  }
  return NULL;
}

static const hd_spec_row *row_of_key(uint64_t key, uint32_t modifiers) {
  size_t lo = 0, hi = hd_spec_n_spellings;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (hd_spec_spellings[mid].key < key)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (; lo < hd_spec_n_spellings && hd_spec_spellings[lo].key == key; lo++) {
    const hd_spec_row *row = &hd_spec_rows[hd_spec_spellings[lo].row];
    if ((modifiers & ~row->modifiers) == 0)
      return row;
  }
  return NULL;
}

static bool strip_order(hd_instruction *in, const char *order, const char *scope) {
  return strstr(in->text, order) && strstr(in->text, scope) && strip(in->text, order) &&
         strip(in->text, scope);
}

/* Removes the cache hints and ::cta of cp.async, and the cache hint of bulk copies. */
static void strip_hints(hd_instruction *in) {
  static const char *const sizes[] = {".L2::64B", ".L2::128B", ".L2::256B"};
  bool hinted = strstr(in->text, ".global") && strip(in->text, ".L2::cache_hint");
  if (starts_with(in->text, "cp.async.bulk."))
    return;
  for (unsigned i = 0; i < 3; i++)
    hinted |= strip(in->text, sizes[i]);
  if (hinted)
    in->min_ptx = 74;
  if (strstr(in->text, ".shared::cta."))
    strip(in->text, "::cta");
}

/* Removes optional parts at positions where hd_instruction_parse does not expect them. */
static void strip_misplaced(hd_instruction *in) {
  if (starts_with(in->text, "cp.async."))
    strip_hints(in);
  if (!starts_with(in->text, "wgmma.satfinite") && strip(in->text, ".satfinite"))
    in->modifiers |= HD_MOD_SATFINITE;
  if (starts_with(in->text, "tcgen05.mma."))
    take_collector(in, strip);
  if (starts_with(in->text, "ldmatrix") || starts_with(in->text, "stmatrix"))
    strip_cta(in);
  if (starts_with(in->text, "mbarrier.") && strip_order(in, mbarrier_order(in->text), ".cta"))
    in->min_ptx = 80;
  if (starts_with(in->text, "barrier.cluster.") && strip(in->text, cluster_order(in->text)))
    in->min_ptx = 80;
  const char *vec = default_scale_vec(in->text);
  if (starts_with(in->text, "mma.") && vec && append(in->text, vec))
    in->modifiers |= HD_MOD_SCALE_VEC;
}

/* The length of the words that name the instruction. */
static size_t head_length(const char *text) {
  const char *at = text;
  for (int words = hd_spelling_head(text); words > 0 && *at; words--)
    at += strcspn(at + 1, ".") + 1;
  return (size_t)(at - text);
}

const hd_spec_row *hd_instruction_respelled(hd_instruction *in) {
  char before[HD_INSTRUCTION_BYTES];
  in->misplaced = true;
  const hd_spec_row *row = row_of_key(hd_spelling_key(in->text, NULL), in->modifiers);
  if (row)
    return row;
  strcpy(before, in->text);
  strip_misplaced(in);
  size_t n = head_length(before);
  if (n != head_length(in->text) || memcmp(before, in->text, n))
    return NULL; /* a removed part was inside the name */
  return row_of_key(hd_spelling_key(in->text, NULL), in->modifiers);
}

/* The length of the common prefix plus the common suffix. */
static size_t likeness(const char *a, const char *b) {
  size_t n_a = strlen(a), n_b = strlen(b), head = 0, tail = 0, least = n_a < n_b ? n_a : n_b;
  while (head < least && a[head] == b[head])
    head++;
  while (tail < least - head && a[n_a - 1 - tail] == b[n_b - 1 - tail])
    tail++;
  return head + tail;
}

const hd_spec_row *hd_instruction_nearest(const hd_instruction *in) {
  enum { WINDOW = 64 }; /* texts with a long common prefix are close in the index */
  size_t at = lower_bound(in->text), first = at > WINDOW ? at - WINDOW : 0;
  const hd_spec_row *best = row_at(first < hd_spec_n_rows ? first : hd_spec_n_rows - 1);
  size_t best_likeness = 0;
  for (size_t i = first; i < hd_spec_n_rows && i < at + WINDOW; i++) {
    size_t here = likeness(in->text, row_at(i)->ptx);
    if (here > best_likeness) {
      best_likeness = here;
      best = row_at(i);
    }
  }
  return best;
}
