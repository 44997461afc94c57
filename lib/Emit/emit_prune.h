/* Emit/emit_prune.h: of the groups in a lane's registers, which elements stay, and their codes. */
#ifndef HD_EMIT_PRUNE_H
#define HD_EMIT_PRUNE_H

#include "Emit/emit_state.h"

/* How the elements of a type are ranked by magnitude. */
typedef struct hd_ranking {
  int64_t bits; /* of an element */
  heddle_elem_kind kind;
  int64_t magnitude; /* those bits of an element that say its magnitude; of integers all */
  int64_t infinity;  /* of types with several NaNs the largest that is none; else 0 */
} hd_ranking;

/* False: elements that are not sparse, or not whole bytes. */
bool hd_ranking_find(heddle_elem elem, hd_ranking *ranking);

/* 8 words of dense elements become 4 of values; gives their codes, a nibble a group from the low
 * bits up: 8 of 8-bit types, else 4 (what stands above those has no meaning). */
LLVMValueRef hd_emit_keep(hd_emitter *e, const hd_ranking *ranking, LLVMValueRef const *words,
                          LLVMValueRef *values);

#endif
