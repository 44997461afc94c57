/* Emit/emit_pinned.h: pinned accumulators of wgmma: PTX registers %acc0, %acc1, … that inline asm
 * declares.
 *
 * LLVM never sees them: a hundred values per thread, through every instruction and every loop, took
 * half of LLVM's time. Only asm reads and writes them, and LLVM keeps asm in order, so no access
 * moves past a fence or a wait. A pinned fragment is identified by its first register's number. */
#ifndef HD_EMIT_PINNED_H
#define HD_EMIT_PINNED_H

#include "Emit/emit_state.h"

#define HD_PINNED_REGISTER "%%acc%d"

/* Pins the fragment that frag.undef (or frag.zero) creates if it has one use at a time: wgmma, its
 * fences and waits, promote, loops, branches, until the op after which it is read. Returns false if
 * it cannot be pinned and must be LLVM values. */
bool hd_emit_pinned_open(hd_emitter *e, const hd_op *undef);
/* Sets `to` to LLVM values with the current contents of the pinned registers of `from`. */
void hd_emit_pinned_read(hd_emitter *e, const hd_value *from, const hd_value *to);
/* Declares all pinned registers at the start of the kernel. Call it after the last op. */
void hd_emit_pinned_declare(hd_emitter *e);

#endif
