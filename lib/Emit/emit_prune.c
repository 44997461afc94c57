/* Keeps the two elements of largest magnitude of each four, bit for bit as lib/Sparse does.
 *
 * Elements of 16 and 8 bits are compared several at once. Register i holds element i of two or four
 * groups, one in each part. The key of a part is the magnitude; all NaNs have the same key. An
 * element is kept if it wins two of its three comparisons "i is no less than j", i < j, so the
 * lower index wins a tie. */
#include "Emit/emit_prune.h"

#include "Support/convert.h"

enum { WORDS = 8, GROUP = 4 };
/* Selectors of prmt: nibble i selects the source of byte i of the result; with bit 3 set, all bits
 * are copies of the source byte's sign. */
enum {
  LOW_BYTES = 0x5140,  /* bytes 0 and 1 of two words, interleaved */
  HIGH_BYTES = 0x7362, /* bytes 2 and 3 */
  EVEN_BYTES = 0x6420,
  SIGNS_8 = 0xba98,
  SIGNS_16 = 0xbb99
};

bool hd_ranking_find(heddle_elem elem, hd_ranking *r) {
  static const struct {
    heddle_elem elem;
    int64_t infinity;
  } with_nans[] = {
      {HEDDLE_F16, 0x7c00}, {HEDDLE_BF16, 0x7f80}, {HEDDLE_TF32, 0x7f800000}, {HEDDLE_E5M2, 0x7c}};
  const heddle_elem_info *info = heddle_elem_get(elem);
  int64_t value = hd_elem_value_mask(elem), sign = 1;
  while (2 * sign <= value)
    sign *= 2;
  *r = (hd_ranking){.bits = info->container_bits,
                    .kind = info->kind,
                    .magnitude = info->kind == HEDDLE_FLOAT ? value - sign : value};
  for (size_t i = 0; i < HD_COUNT(with_nans); i++)
    if (with_nans[i].elem == elem)
      r->infinity = with_nans[i].infinity;
  bool pairs = info->group == 2 * GROUP; /* of 4-bit elements */
  return info->group > 0 && info->container_bits >= 8 && !pairs;
}

/* ---- arithmetic on all parts of a register ---- */

static LLVMValueRef either(hd_emitter *e, LLVMValueRef x, LLVMValueRef y) {
  return LLVMBuildOr(e->b, x, y, "");
}

static LLVMValueRef invert(hd_emitter *e, LLVMValueRef x) { return LLVMBuildNot(e->b, x, ""); }

/* The bits that are set in at least two of the three, of which the first n_inverted are inverted.
 * One lop3: LLVM and ptxas make two instructions of the operators. */
static LLVMValueRef majority(hd_emitter *e, const LLVMValueRef x[3], int n_inverted) {
  uint8_t column[] = {0xf0, 0xcc, 0xaa}; /* the truth table's inputs */
  for (int i = 0; i < n_inverted; i++)
    column[i] = (uint8_t)~column[i];
  uint32_t table = (column[0] & column[1]) | ((column[0] | column[1]) & column[2]);
  LLVMValueRef args[] = {x[0], x[1], x[2], hd_emit_i32(e, (int32_t)table)};
  return hd_emit_asm(e, e->i32, "lop3.b32 $0, $1, $2, $3, $4;", "=r,r,r,r,n", args, 4, HD_ASM_PURE);
}

/* Bits of x where the mask is set, else of y. */
static LLVMValueRef choose(hd_emitter *e, LLVMValueRef mask, LLVMValueRef x, LLVMValueRef y) {
  return either(e, hd_emit_and(e, mask, x), hd_emit_and(e, invert(e, mask), y));
}

/* `bits` in each part. */
static LLVMValueRef parts(hd_emitter *e, const hd_ranking *r, int64_t bits) {
  return hd_emit_i32(e, (int32_t)(bits * (r->bits == 8 ? 0x01010101 : 0x00010001)));
}

static int64_t top_bit(const hd_ranking *r) { return INT64_C(1) << (r->bits - 1); }

/* Copies the highest bit of each part to all of its bits. */
static LLVMValueRef spread(hd_emitter *e, const hd_ranking *r, LLVMValueRef x) {
  return hd_emit_permute(e, x, x, r->bits == 8 ? SIGNS_8 : SIGNS_16);
}

/* ---- keys, and which elements are kept ---- */

static LLVMValueRef lesser_of_pairs(hd_emitter *e, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef args[] = {x, y};
  return hd_emit_asm(e, e->i32, "min.u16x2 $0, $1, $2;", "=r,r,r", args, 2, HD_ASM_PURE);
}

static LLVMValueRef key_of(hd_emitter *e, const hd_ranking *r, LLVMValueRef x) {
  if (r->kind == HEDDLE_UNSIGNED)
    return x;
  if (r->kind == HEDDLE_SIGNED) { /* -128 becomes 128, as an unsigned number */
    LLVMValueRef negative = spread(e, r, x), one = hd_emit_and(e, negative, parts(e, r, 1));
    return hd_emit_add(e, hd_emit_xor(e, x, negative), one);
  }
  LLVMValueRef key = hd_emit_and(e, x, parts(e, r, r->magnitude));
  if (!r->infinity)
    return key;
  if (r->bits == 16 && e->target->sm >= 90) /* .u16x2 is for sm_90 and later */
    return lesser_of_pairs(e, key, parts(e, r, r->infinity + 1));
  int64_t most = top_bit(r) - 1;
  LLVMValueRef nan = spread(e, r, hd_emit_add(e, key, parts(e, r, most - r->infinity)));
  return either(e, key, hd_emit_and(e, nan, parts(e, r, most)));
}

LLVMValueRef hd_emit_magnitudes(hd_emitter *e, const hd_ranking *r, LLVMValueRef x) {
  LLVMValueRef size = hd_emit_and(e, x, parts(e, r, r->magnitude));
  LLVMValueRef infinity = parts(e, r, r->infinity);
  if (e->target->sm >= 90) /* .u16x2 is for sm_90 and later */
    return lesser_of_pairs(e, size, infinity);
  LLVMValueRef most = parts(e, r, top_bit(r) - 1 - r->infinity);
  LLVMValueRef nan = spread(e, r, hd_emit_add(e, size, most));
  return choose(e, nan, infinity, size);
}

/* The highest bit of each part: x >= y. Keys of floats do not use that bit, so that no part borrows
 * from the next one; for integers it is compared separately. */
static LLVMValueRef is_no_less(hd_emitter *e, const hd_ranking *r, LLVMValueRef x,
                               LLVMValueRef y) {
  LLVMValueRef top = parts(e, r, top_bit(r)), rest = parts(e, r, top_bit(r) - 1);
  if (r->kind == HEDDLE_FLOAT)
    return hd_emit_sub(e, either(e, x, top), y);
  LLVMValueRef low = hd_emit_sub(e, either(e, x, top), hd_emit_and(e, y, rest));
  LLVMValueRef same = invert(e, hd_emit_xor(e, x, y));
  return either(e, hd_emit_and(e, x, invert(e, y)), hd_emit_and(e, same, low));
}

/* Masks of the parts whose element is kept, if at most two of each four are not zero: those, and of
 * the zeros the lowest. */
static void find_nonzeros(hd_emitter *e, const hd_ranking *r, LLVMValueRef const *x,
                          LLVMValueRef stays[GROUP]) {
  LLVMValueRef some[GROUP]; /* the top bit of each part */
  for (int i = 0; i < GROUP; i++)
    some[i] = hd_emit_add(e, hd_emit_and(e, x[i], parts(e, r, r->magnitude)),
                          parts(e, r, top_bit(r) - 1));
  stays[0] = either(e, some[0], invert(e, majority(e, some + 1, 0)));
  stays[1] = either(e, some[1], invert(e, either(e, some[2], some[3])));
  stays[2] = some[2];
  stays[3] = some[3];
  for (int i = 0; i < GROUP; i++)
    stays[i] = spread(e, r, stays[i]);
}

/* Masks of the parts whose element is kept: two of each four. */
static void find_winners(hd_emitter *e, const hd_ranking *r, LLVMValueRef const *x,
                         LLVMValueRef stays[GROUP]) {
  /* wins[i]: i against the three others; inverted where the other one comes before i. */
  LLVMValueRef key[GROUP], wins[GROUP][GROUP - 1];
  for (int i = 0; i < GROUP; i++)
    key[i] = key_of(e, r, x[i]);
  for (int i = 0; i < GROUP; i++)
    for (int j = i + 1; j < GROUP; j++)
      wins[i][j - 1] = wins[j][i] = is_no_less(e, r, key[i], key[j]);
  for (int i = 0; i < GROUP; i++)
    stays[i] = spread(e, r, majority(e, wins[i], i));
}

/* A part whose magnitude is 0 becomes +0. If the magnitude is all bits but the sign, less is
 * computed: the sign bit of (x | sign) - 1 is set unless the magnitude is 0. */
LLVMValueRef hd_emit_without_negative_zero(hd_emitter *e, const hd_ranking *r, LLVMValueRef x) {
  LLVMValueRef rest = parts(e, r, top_bit(r) - 1);
  if (r->kind != HEDDLE_FLOAT)
    return x;
  if (r->magnitude == top_bit(r) - 1) {
    LLVMValueRef less = hd_emit_sub(e, either(e, x, parts(e, r, top_bit(r))), parts(e, r, 1));
    return hd_emit_and(e, x, either(e, less, rest));
  }
  LLVMValueRef magnitude = hd_emit_and(e, x, parts(e, r, r->magnitude));
  return hd_emit_and(e, x, spread(e, r, hd_emit_add(e, magnitude, rest)));
}

/* The elements kept of the groups in x; their codes, in the low bits of each part. */
typedef struct kept {
  LLVMValueRef first, second, codes;
} kept;

/* A code: index of the first kept element (0 to 2) in bits 0-1, of the second (1 to 3) in 2-3. */
static kept keep_two(hd_emitter *e, const hd_ranking *r, LLVMValueRef const *x) {
  LLVMValueRef s[GROUP];
  (r->is_pruned ? find_nonzeros : find_winners)(e, r, x, s);
  LLVMValueRef first = choose(e, s[0], x[0], choose(e, s[1], x[1], x[2]));
  LLVMValueRef second = choose(e, s[3], x[3], choose(e, s[2], x[2], x[1]));
  LLVMValueRef lower = hd_emit_xor(e, hd_emit_and(e, s[1], parts(e, r, 3)), parts(e, r, 2));
  LLVMValueRef upper = hd_emit_xor(e, hd_emit_and(e, s[2], parts(e, r, 0xc)), parts(e, r, 4));
  LLVMValueRef codes = either(e, hd_emit_and(e, invert(e, s[0]), lower),
                              hd_emit_and(e, either(e, s[3], upper), parts(e, r, 0xc)));
  if (r->any_zero)
    return (kept){first, second, codes};
  return (kept){hd_emit_without_negative_zero(e, r, first),
                hd_emit_without_negative_zero(e, r, second), codes};
}

/* ---- by width ---- */

static LLVMValueRef shift_right(hd_emitter *e, LLVMValueRef x, int64_t by) {
  return LLVMBuildLShr(e->b, x, hd_emit_i32(e, by), "");
}

/* Groups of two words, two at a time. */
static LLVMValueRef keep_16(hd_emitter *e, const hd_ranking *r, LLVMValueRef const *w,
                            LLVMValueRef *values) {
  LLVMValueRef codes[2];
  for (int i = 0; i < 2; i++) {
    LLVMValueRef x[GROUP];
    for (int j = 0; j < GROUP; j++)
      x[j] = hd_emit_permute(e, w[4 * i + j / 2], w[4 * i + 2 + j / 2],
                             j % 2 ? HD_HIGH_HALVES : HD_LOW_HALVES);
    kept k = keep_two(e, r, x);
    values[2 * i] = hd_emit_permute(e, k.first, k.second, HD_LOW_HALVES);
    values[2 * i + 1] = hd_emit_permute(e, k.first, k.second, HD_HIGH_HALVES);
    codes[i] = k.codes;
  }
  /* Moves nibbles 0 to 3 from bits 0, 16, 8 and 24 to bits 0, 4, 8 and 12. */
  LLVMValueRef all = either(e, codes[0], LLVMBuildShl(e->b, codes[1], hd_emit_i32(e, 8), ""));
  return either(e, all, shift_right(e, all, 12));
}

/* Groups of a word, four at a time. */
static LLVMValueRef keep_8(hd_emitter *e, const hd_ranking *r, LLVMValueRef const *w,
                           LLVMValueRef *values) {
  LLVMValueRef codes[2];
  for (int i = 0; i < 2; i++) {
    const LLVMValueRef *g = w + 4 * i;
    LLVMValueRef x[GROUP];
    for (int j = 0; j < GROUP; j += 2) {
      LLVMValueRef low = hd_emit_permute(e, g[0], g[1], j ? HIGH_BYTES : LOW_BYTES);
      LLVMValueRef high = hd_emit_permute(e, g[2], g[3], j ? HIGH_BYTES : LOW_BYTES);
      x[j] = hd_emit_permute(e, low, high, HD_LOW_HALVES);
      x[j + 1] = hd_emit_permute(e, low, high, HD_HIGH_HALVES);
    }
    kept k = keep_two(e, r, x);
    values[2 * i] = hd_emit_permute(e, k.first, k.second, LOW_BYTES);
    values[2 * i + 1] = hd_emit_permute(e, k.first, k.second, HIGH_BYTES);
    codes[i] = either(e, k.codes, shift_right(e, k.codes, 4)); /* bytes 0 and 2 count */
  }
  return hd_emit_permute(e, codes[0], codes[1], EVEN_BYTES);
}

/* tf32: one of two words; the low 13 bits are not part of the magnitude. */
static LLVMValueRef keep_32(hd_emitter *e, const hd_ranking *r, LLVMValueRef const *w,
                            LLVMValueRef *values) {
  enum { FIRST = 0x4, SECOND = 0xe };
  LLVMValueRef codes = hd_emit_i32(e, 0);
  LLVMValueRef nan = hd_emit_i32(e, r->infinity + (r->magnitude & -r->magnitude));
  for (int i = 0; i < WORDS / 2; i++) {
    LLVMValueRef key[2];
    for (int j = 0; j < 2; j++)
      key[j] = hd_emit_min(e, hd_emit_and(e, w[2 * i + j], hd_emit_i32(e, r->magnitude)), nan);
    LLVMValueRef takes_second = hd_emit_lt(e, key[0], key[1]);
    LLVMValueRef value = hd_emit_select(e, takes_second, w[2 * i + 1], w[2 * i]);
    LLVMValueRef is_zero = hd_emit_eqi(e, either(e, key[0], key[1]), 0);
    values[i] = hd_emit_select(e, is_zero, hd_emit_i32(e, 0), value);
    codes = either(e, codes, hd_emit_select(e, takes_second, hd_emit_i32(e, SECOND << 4 * i),
                                            hd_emit_i32(e, FIRST << 4 * i)));
  }
  return codes;
}

LLVMValueRef hd_emit_keep(hd_emitter *e, const hd_ranking *r, LLVMValueRef const *w,
                          LLVMValueRef *values) {
  if (r->bits == 8)
    return keep_8(e, r, w, values);
  return r->bits == 16 ? keep_16(e, r, w, values) : keep_32(e, r, w, values);
}
