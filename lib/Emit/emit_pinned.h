/* Emit/emit_pinned.h: pinned accumulators of wgmma: registers that the PTX declares, %acc0 and on.
 *
 * LLVM never sees them: a hundred values a thread, through every instruction and around every loop,
 * cost it half of its time. They are written and read by asm alone, whose order LLVM keeps, so that
 * nothing of theirs comes to stand behind a fence, or in front of a wait. A pinned fragment is
 * known by the number of its first register. */
#ifndef HD_EMIT_PINNED_H
#define HD_EMIT_PINNED_H

#include "Emit/emit_state.h"

#define HD_PINNED_REGISTER "%%acc%d"

/* The fragment that frag.undef (or frag.zero) makes is pinned if one op after the other has it
 * alone: wgmma, its fences and waits, promote, loops, branches, up to that behind which it is read.
 * False: it is to be LLVM's. */
bool hd_emit_pinned_open(hd_emitter *e, const hd_op *undef);
/* `to` in LLVM values: what the pinned registers of `from` hold here. */
void hd_emit_pinned_read(hd_emitter *e, const hd_value *from, const hd_value *to);
/* At the head of the kernel, behind its last op. */
void hd_emit_pinned_declare(hd_emitter *e);

#endif
