/* Spec/text.h: instruction texts. Private to lib/Spec. */
#ifndef HD_SPEC_TEXT_H
#define HD_SPEC_TEXT_H

#include "Spec/spec.h"

enum { HD_INSTRUCTION_BYTES = 256 };

/* An instruction in the spelling of its row. */
typedef struct hd_instruction {
  char text[HD_INSTRUCTION_BYTES];
  uint32_t modifiers;   /* hd_modifier bits of what was stripped or put in */
  uint16_t min_ptx;     /* what the stripped spelling needs by itself; 0 nothing */
  uint16_t
      defined_ptx; /* the ISA has the spelling from here on, ptxas takes it earlier; 0 always */
  bool misplaced;       /* ptxas takes the order of the qualifiers, the ISA does not define it */
  bool keeps_collector; /* .collector::a::use or ::fill, which .ashift excludes */
} hd_instruction;

/* Strips what rows leave optional (.satfinite, collector, .ashift, cache hints, …) and puts in the
 * default of what they name (state space, .scale_vec, .tile, …). False when the text is too
 * long. */
bool hd_instruction_parse(const char *text, hd_instruction *out);
/* The row that has the text and admits the modifiers; NULL. */
const hd_spec_row *hd_instruction_row(const hd_instruction *instruction);
/* The row with the same qualifiers in another order, or of wgmma without .aligned: what ptxas takes
 * and the ISA does not define; NULL. Marks it as misplaced, adds what that spelling needs. */
const hd_spec_row *hd_instruction_respelled(hd_instruction *instruction);
/* The row whose text is most like it. Never NULL. */
const hd_spec_row *hd_instruction_nearest(const hd_instruction *instruction);

#endif
