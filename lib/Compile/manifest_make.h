/* Compile/manifest_make.h: the manifest of what was emitted. */
#ifndef HD_MANIFEST_MAKE_H
#define HD_MANIFEST_MAKE_H

#include "Emit/emit.h"
#include "Kernel/manifest.h"
#include "Passes/plan.h"

/* Adds the arguments of a launch, with what each may be, to a manifest that has none; `workspace`:
 * tiles are shared over k through global memory, or B is copied there. */
void hd_manifest_args(const hd_problem *problem, bool workspace, hd_manifest *manifest);

/* The plane of A's metadata that a schedule reads: "mma" or "wgmma". */
const char *hd_manifest_family(const hd_problem *problem, const hd_schedule *schedule);

/* problem: of the kernel that has no bucket. A variant for each entry point that was emitted;
 * plans: theirs, in the same order; NULL, as the last: the kernel that copies B, or combines
 * columns. Strings live in the arena. */
heddle_status hd_manifest_make(heddle_context *ctx, const hd_problem *problem,
                               const hd_plan *const *plans,
                               const hd_emit_result *emitted, hd_hash hash, hd_arena *arena,
                               hd_manifest *manifest);

/* That one `what` (bucket, range) has b=copied, and another shares tiles through the workspace. */
heddle_status hd_refuse_copied_split(heddle_context *ctx, const hd_problem *problem,
                                     const char *what);

#endif
