/* Spec/text.h: instruction texts. Private to lib/Spec. */
#ifndef HD_SPEC_TEXT_H
#define HD_SPEC_TEXT_H

#include "Spec/spec.h"

enum { HD_INSTRUCTION_BYTES = 256 };

/* Strips what a row leaves optional (.satfinite, collector, ashift) and reports it as hd_modifier
 * bits. False when the text is too long or a modifier stands where it may not. */
bool hd_instruction_normalize(const char *instruction, char out[HD_INSTRUCTION_BYTES],
                              uint32_t *modifiers);
/* The row of a normalised text that admits the modifiers; NULL. */
const hd_spec_row *hd_instruction_row(const char *normalized, uint32_t modifiers);

#endif
