/* heddle/pack.h: prunes and packs a matrix in device memory with a generated kernel, for weights
 * that are already there or change there.
 *
 * A dense matrix of m rows of k elements is converted to the same payload, bit for bit and with
 * padding, as by heddle_sparse_prune_pack (heddle/sparse.h) on the host: each group keeps the units
 * of largest magnitude. The two families have the same bytes. A matrix that is already sparse is
 * packed unchanged. */
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

/* Compiles the kernel for an element type and a target ("sm_90a"; sm_80 and later) for
 * heddle_kernel_load. One kernel serves all sizes. Types: bf16, f16, tf32 (f32 in memory), e4m3,
 * e5m2, e3m2, e2m3, e2m1, s8, u8. ptxas: path of the assembler, for a cubin; NULL: PTX only.
 * *compiled is owned (heddle_compiled_free). HEDDLE_UNSUPPORTED: a type with two elements per byte,
 * a type that is never sparse, or an unknown target; otherwise the errors of heddle_compile.
 * Thread-safe with one ctx per thread. */
HEDDLE_API heddle_status heddle_pack_compile(heddle_context *ctx, heddle_elem elem,
                                             const char *target, const char *ptxas,
                                             heddle_compiled **compiled);

/* The same for a matrix whose transpose is in memory: k rows of m elements. For a weight that is
 * sparse along rows and along columns it makes the packed form of the transposed weight, which the
 * gradient for a layer's input needs. */
HEDDLE_API heddle_status heddle_pack_compile_transposed(heddle_context *ctx, heddle_elem elem,
                                                        const char *target, const char *ptxas,
                                                        heddle_compiled **compiled);

/* The same for a matrix and its transpose together, from one read. Each is pruned by itself. Types:
 * bf16, f16. Otherwise HEDDLE_UNSUPPORTED, as above. For heddle_pack_device_twin. */
HEDDLE_API heddle_status heddle_pack_compile_twin(heddle_context *ctx, heddle_elem elem,
                                                  const char *target, const char *ptxas,
                                                  heddle_compiled **compiled);

/* The same with the mask: of each 4 x 4 tile the pattern with two elements in each row and column
 * stays that heddle_sparse_prune_two_way keeps, so that the matrix and its transpose have the same
 * elements. For heddle_pack_device_two_way. */
HEDDLE_API heddle_status heddle_pack_compile_two_way(heddle_context *ctx, heddle_elem elem,
                                                     const char *target, const char *ptxas,
                                                     heddle_compiled **compiled);

/* The same as the twin's, under a mask that is given: elements whose byte is 0 become zeros before
 * both are packed. For heddle_pack_device_masked. */
HEDDLE_API heddle_status heddle_pack_compile_masked(heddle_context *ctx, heddle_elem elem,
                                                    const char *target, const char *ptxas,
                                                    heddle_compiled **compiled);

/* The same for a matrix of another type: from: bf16 or f16 in memory; elem: e4m3 or e5m2, packed.
 * Elements are chosen by their magnitude in memory. Each kept one is multiplied by the reciprocal
 * of its row's scale, in f32, and rounded; what is too large becomes the largest finite value. From
 * sm_89 on; otherwise HEDDLE_UNSUPPORTED, as above. For heddle_pack_device_quantized. */
HEDDLE_API heddle_status heddle_pack_compile_quantized(heddle_context *ctx, heddle_elem from,
                                                       heddle_elem elem, const char *target,
                                                       const char *ptxas,
                                                       heddle_compiled **compiled);

/* Launches a kernel of the first two kinds into a stream (a CUstream or cudaStream_t; NULL: the
 * default stream) of the current context; the payload is complete when the stream has executed the
 * launch. m, k: the sizes of the packed matrix. dense: device memory with row pitch row_bytes,
 * aligned to its element; fastest if address, row_bytes and the bytes of a row are multiples of 16.
 * payload: device memory of heddle_sparse_packed_bytes, aligned to 128 bytes, not overlapping
 * dense. Both belong to the caller, and must stay valid until the launch is complete. Does not wait
 * or allocate, so it works during stream capture. HEDDLE_INVALID: another kernel, k not a multiple
 * of the group, row_bytes shorter than a row or not a multiple of the element, m or k above 2^30, a
 * null or misaligned pointer, no current context with this kernel; m = 0 does nothing.
 * HEDDLE_ENVIRONMENT when the driver refuses. Thread-safe with one ctx per thread. */
HEDDLE_API heddle_status heddle_pack_device(heddle_context *ctx, const heddle_kernel *kernel,
                                            uint64_t m, uint64_t k, const void *dense,
                                            size_t row_bytes, void *payload, void *stream);

/* The same with a kernel of heddle_pack_compile_twin. twin: the payload of the transposed matrix
 * (k rows of m elements), device memory like payload that overlaps neither it nor dense. m is a
 * multiple of the group, too. */
HEDDLE_API heddle_status heddle_pack_device_twin(heddle_context *ctx, const heddle_kernel *kernel,
                                                 uint64_t m, uint64_t k, const void *dense,
                                                 size_t row_bytes, void *payload, void *twin,
                                                 void *stream);

/* The same with a kernel of heddle_pack_compile_two_way. mask: m x k bytes of device memory, 1 for
 * an element that stays and 0 for the others, aligned to 8 bytes. */
HEDDLE_API heddle_status heddle_pack_device_two_way(heddle_context *ctx,
                                                    const heddle_kernel *kernel, uint64_t m,
                                                    uint64_t k, const void *dense,
                                                    size_t row_bytes, void *payload, void *twin,
                                                    void *mask, void *stream);

/* The same with a kernel of heddle_pack_compile_masked, which reads such a mask; of each byte the
 * lowest bit counts. */
HEDDLE_API heddle_status heddle_pack_device_masked(heddle_context *ctx, const heddle_kernel *kernel,
                                                   uint64_t m, uint64_t k, const void *dense,
                                                   size_t row_bytes, const void *mask,
                                                   void *payload, void *twin, void *stream);

/* The same with a kernel of heddle_pack_compile_quantized; row_bytes and the alignment of dense are
 * those of its type in memory. scales: m positive f32 in device memory, aligned to 4 bytes: those
 * by which the product multiplies row i (scale_a). The largest magnitude of a row over 448 (e5m2:
 * 57344) uses the whole range. */
HEDDLE_API heddle_status heddle_pack_device_quantized(heddle_context *ctx,
                                                      const heddle_kernel *kernel, uint64_t m,
                                                      uint64_t k, const void *dense,
                                                      size_t row_bytes, const void *scales,
                                                      void *payload, void *stream);

#ifdef __cplusplus
}
#endif
#endif
