/* heddle/pack.h: prune and pack a matrix where it is, in device memory: a kernel that Heddle
 * generates, for weights that are already there, or change there.
 *
 * A dense matrix of m rows of k elements becomes the payload that heddle_sparse_prune_pack
 * (heddle/sparse.h) makes of it on the host, bit for bit, padding included: of each group the units
 * of largest magnitude stay. The two families have the same bytes. A matrix that is sparse already
 * is packed as it is. */
#ifndef HEDDLE_PACK_H
#define HEDDLE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/compile.h"
#include "heddle/kernel.h"
#include "heddle/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles the kernel for an element type and a target ("sm_90a"; sm_80 and later) into the form
 * that heddle_kernel_load takes. One serves all sizes. Types: bf16, f16, tf32 (f32 in memory),
 * e4m3, e5m2, e3m2, e2m3, e2m1, s8, u8. ptxas: path of the assembler, for a cubin; NULL: PTX only.
 * *compiled is owned (heddle_compiled_free). HEDDLE_UNSUPPORTED: a type of two elements a byte, one
 * that is never sparse, or no such target; else the errors of heddle_compile. Thread-safe with a
 * ctx a thread. */
HEDDLE_API heddle_status heddle_pack_compile(heddle_context *ctx, heddle_elem elem,
                                             const char *target, const char *ptxas,
                                             heddle_compiled **compiled);

/* The same for a matrix whose transposed one is in memory: k rows of m elements. For a weight that
 * is sparse along rows and along columns it makes the packed form of the transposed weight, which
 * the gradient to a layer's input needs. */
HEDDLE_API heddle_status heddle_pack_compile_transposed(heddle_context *ctx, heddle_elem elem,
                                                        const char *target, const char *ptxas,
                                                        heddle_compiled **compiled);

/* Launches such a kernel into a stream (a CUstream or cudaStream_t; NULL: the default stream) of
 * the current context; the payload is whole once the stream has passed it. m, k: of what is packed.
 * dense: device memory, rows row_bytes apart, aligned to its element; fastest where address,
 * row_bytes and the bytes of a row are multiples of 16. payload: device memory of
 * heddle_sparse_packed_bytes, aligned to 128 bytes, not overlapping dense. Both are the caller's,
 * until the launch is over. Waits for nothing and allocates nothing: graph capture works.
 * HEDDLE_INVALID: another kernel, k not a multiple of the group, row_bytes shorter than a row or no
 * whole elements, m or k above 2^30, a null or misaligned pointer, no current context with this
 * kernel; m = 0 does nothing. HEDDLE_ENVIRONMENT when the driver refuses. Thread-safe with a ctx a
 * thread. */
HEDDLE_API heddle_status heddle_pack_device(heddle_context *ctx, const heddle_kernel *kernel,
                                            uint64_t m, uint64_t k, const void *dense,
                                            size_t row_bytes, void *payload, void *stream);

#ifdef __cplusplus
}
#endif
#endif
