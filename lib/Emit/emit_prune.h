/* Emit/emit_prune.h: selects the elements to keep of each group in a lane's registers. */
#ifndef HD_EMIT_PRUNE_H
#define HD_EMIT_PRUNE_H

#include "Emit/emit_state.h"

/* How the elements of a type are ranked by magnitude. */
typedef struct hd_ranking {
  int64_t bits; /* per element */
  heddle_elem_kind kind;
  int64_t magnitude; /* mask of the bits that hold an element's magnitude; integers: all bits */
  int64_t infinity;  /* types with several NaNs: the largest magnitude that is no NaN; else 0 */
  bool is_pruned;    /* floats: at most two elements of a group are not zero */
  bool any_zero;     /* a kept zero may be -0 */
} hd_ranking;

/* Returns false if the type is not sparse, or its elements are not whole bytes. */
bool hd_ranking_find(heddle_elem elem, hd_ranking *ranking);

/* Prunes 8 words of dense elements to 4 words of values. Returns the metadata, one nibble per group
 * from the low bits up: 8 nibbles for 8-bit types, else 4 (the bits above have no meaning). */
LLVMValueRef hd_emit_keep(hd_emitter *e, const hd_ranking *ranking, LLVMValueRef const *words,
                          LLVMValueRef *values);
/* The magnitudes of the elements of a word, of 16 bits; a NaN becomes an infinity. */
LLVMValueRef hd_emit_magnitudes(hd_emitter *e, const hd_ranking *ranking, LLVMValueRef word);
/* A word of elements of 8 or 16 bits with +0 for each -0. */
LLVMValueRef hd_emit_without_negative_zero(hd_emitter *e, const hd_ranking *ranking,
                                           LLVMValueRef word);

/* A lane's part of a strip: of rows g and g + 8 (lane / 4) so many words, and tiles of four columns
 * (16-bit types). */
enum { HD_STRIP_LANE_ROWS = 2, HD_STRIP_LANE_WORDS = 8, HD_STRIP_LANE_TILES = 4 };

/* Sets those of four 16-bit elements to zero whose byte has no sign bit. */
void hd_emit_keep_signed(hd_emitter *e, LLVMValueRef signs, LLVMValueRef words[2]);
/* Sets the elements that do not stay to zero (Layout/two_way.h; 16-bit types). mask: a byte for
 * each element, 1 for one that stays; a word for each tile. */
void hd_emit_prune_two_way(hd_emitter *e, heddle_elem elem,
                           LLVMValueRef w[HD_STRIP_LANE_ROWS][HD_STRIP_LANE_WORDS],
                           LLVMValueRef mask[HD_STRIP_LANE_ROWS][HD_STRIP_LANE_TILES]);

#endif
