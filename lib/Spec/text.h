/* Spec/text.h: instruction texts. Private to lib/Spec. */
#ifndef HD_SPEC_TEXT_H
#define HD_SPEC_TEXT_H

#include "Spec/spec.h"

enum { HD_INSTRUCTION_BYTES = 256 };

/* An instruction, normalized to the spelling of its row. */
typedef struct hd_instruction {
  char text[HD_INSTRUCTION_BYTES];
  uint32_t modifiers;   /* hd_modifier bits of the removed or inserted parts */
  uint16_t min_ptx;     /* PTX version that the original spelling needs; 0 any */
  uint16_t
      defined_ptx; /* first version that defines the spelling; ptxas accepts it earlier; 0 any */
  bool misplaced;       /* ptxas accepts the order of the qualifiers, the ISA does not define it */
  bool keeps_collector; /* .collector::a::use or ::fill, which .ashift excludes */
} hd_instruction;

/* Removes parts that are optional for rows (.satfinite, collector, .ashift, cache hints, …) and
 * inserts the defaults of omitted parts (state space, .scale_vec, .tile, …). False if the text is
 * empty or too long. */
bool hd_instruction_parse(const char *text, hd_instruction *out);
/* The row that has the text and accepts the modifiers, or NULL. */
const hd_spec_row *hd_instruction_row(const hd_instruction *instruction);
/* The row with the same qualifiers in another order, or of wgmma without .aligned, or NULL. ptxas
 * accepts it, but the ISA does not define it. Sets misplaced and the PTX version that it needs. */
const hd_spec_row *hd_instruction_respelled(hd_instruction *instruction);
/* The row with the most similar text. Never NULL. */
const hd_spec_row *hd_instruction_nearest(const hd_instruction *instruction);

#endif
