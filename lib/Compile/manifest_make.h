/* Compile/manifest_make.h: makes the manifest of the emitted kernels. */
#ifndef HD_MANIFEST_MAKE_H
#define HD_MANIFEST_MAKE_H

#include "Emit/emit.h"
#include "Kernel/manifest.h"
#include "Passes/plan.h"

/* Adds the arguments of a launch and their constraints to a manifest without arguments. workspace:
 * the kernel takes a workspace, for split-K, stream-K, the copy of B or columns to combine. */
void hd_manifest_args(const hd_problem *problem, bool workspace, hd_manifest *manifest);

/* The format of A's metadata that a schedule reads: "mma" or "wgmma". */
const char *hd_manifest_family(const hd_problem *problem, const hd_schedule *schedule);

/* Makes a variant for each emitted entry point. problem: of the kernel that has no bucket limit.
 * plans: of the entry points, in order; a last plan of NULL is the kernel that copies B or combines
 * columns. Strings live in the arena. */
heddle_status hd_manifest_make(heddle_context *ctx, const hd_problem *problem,
                               const hd_plan *const *plans,
                               const hd_emit_result *emitted, hd_hash hash, hd_arena *arena,
                               hd_manifest *manifest);

/* Refuses b=copied in one `what` (bucket, range) if another shares tiles through the workspace. */
heddle_status hd_refuse_copied_split(heddle_context *ctx, const hd_problem *problem,
                                     const char *what);

#endif
