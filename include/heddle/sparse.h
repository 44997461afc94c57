/* heddle/sparse.h: 2:4 sparse matrices: prune, compress, pack, and back (docs/format.md).
 *
 * A matrix is M rows of K elements. Dense rows have the pitch row_bytes; two 4-bit elements share a
 * byte, low nibble first. K is a multiple of the type's sparse group (heddle_elem_info.group: 4, or
 * 2 for tf32, or 8 for 4-bit types), M and K at least 1. Neither N nor the other operand is needed.
 *
 * Source of all patterns and codes: PTX ISA, "Sparse matrix storage", of mma.sp and of
 * wgmma.mma_async.sp.
 *
 * A group's `unit` is what one 2-bit index selects: an element, or a pair of 4-bit elements. Two of
 * 4 units are kept (tf32: one of 2). A unit is zero if all its bits except the signs are zero: -0.0
 * is zero, NaN is not. The low 13 bits of tf32 are ignored.
 *
 * The caller provides all memory; heddle_sparse_plan gives the sizes. Data is little-endian.
 * Common errors: HEDDLE_INVALID (K not a multiple of the group, an empty matrix, a row stride
 * shorter than a row, a size past SIZE_MAX) and HEDDLE_UNSUPPORTED (a type that is never a sparse
 * operand, or not in that family), each with a diagnostic in ctx (may be NULL). Thread-safe for
 * distinct contexts and buffers. Outputs are untouched on failure unless a function says
 * otherwise. */
#ifndef HEDDLE_SPARSE_H
#define HEDDLE_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The instructions that read a packed matrix; heddle_kernel_family (heddle/kernel.h) gives that of
 * a kernel. Numbers are pinned: files hold them. */
typedef enum heddle_family {
  HEDDLE_FAMILY_NONE = 0,  /* canonical: not for an instruction */
  HEDDLE_FAMILY_MMA = 1,   /* mma.sp, sm_80 and later; tcgen05.mma.sp of types with two elements per
                              byte */
  HEDDLE_FAMILY_WGMMA = 2, /* wgmma.mma_async.sp, sm_90a; tcgen05.mma.sp of the other types */
} heddle_family;

/* "none", "mma", "wgmma" (static); NULL when it is not one. Thread-safe. */
HEDDLE_API const char *heddle_family_name(heddle_family family);
/* The family of a name; HEDDLE_NOT_FOUND when there is none. Thread-safe. */
HEDDLE_API heddle_status heddle_family_parse(const char *name, heddle_family *family);

/* The two forms. Numbers are pinned: files hold them. */
typedef enum heddle_sparse_form {
  HEDDLE_SPARSE_CANONICAL = 1,
  HEDDLE_SPARSE_PACKED = 2,
} heddle_sparse_form;

enum {
  HEDDLE_SPARSE_HEADER_BYTES = 128, /* of a file; what follows it is the payload */
  HEDDLE_SPARSE_BLOCK_ROWS = 64,    /* packed: rows of a block */
  HEDDLE_SPARSE_K_BLOCK_BYTES = 128 /* packed: bytes of a row of B that a block covers */
};

/* The layout of a file of either form. Offsets are from the start of the file. */
typedef struct heddle_sparse_info {
  heddle_sparse_form form;
  heddle_elem elem;
  heddle_family family; /* NONE for canonical */
  uint64_t m, k;        /* true sizes, without padding */
  size_t file_bytes;    /* header and payload */
  size_t payload_offset, payload_bytes;
  /* Canonical. Values: [m][k/2] row-major. Codes: one nibble per group, low first; rows have whole
   * bytes. */
  size_t values_offset, values_bytes, values_row_bytes;
  size_t codes_offset, codes_bytes, codes_row_bytes;
  /* Packed. Block (i, j), at (i * n_k_blocks + j) * block_bytes of the payload, holds rows
   * 64i..64i+63 and columns k_block_size*j..; its metadata words start at block_meta_offset. */
  uint32_t k_block_size, block_bytes, block_meta_offset;
  uint64_t n_slabs, n_k_blocks;
  bool pair; /* packed: rows of gate and up, interleaved (heddle_sparse_pair_rows) */
} heddle_sparse_info;

/* All sizes of a matrix in a form; family is ignored for canonical. Touches no data. */
HEDDLE_API heddle_status heddle_sparse_plan(heddle_context *ctx, heddle_sparse_form form,
                                            heddle_elem elem, heddle_family family, uint64_t m,
                                            uint64_t k, heddle_sparse_info *info);

/* Bytes of a packed payload (a multiple of 128; what a kernel reads as A). */
HEDDLE_API heddle_status heddle_sparse_packed_bytes(heddle_context *ctx, heddle_elem elem,
                                                    heddle_family family, uint64_t m, uint64_t k,
                                                    size_t *payload_bytes);

/* Bytes of a dense row of k elements. */
HEDDLE_API heddle_status heddle_sparse_dense_row_bytes(heddle_context *ctx, heddle_elem elem,
                                                       uint64_t k, size_t *row_bytes);

/* Keeps, in each group of a dense matrix and in place, the units of largest magnitude: ties to the
 * lower index, NaN above Inf, a pair counts as the sum of its two magnitudes. The others become +0;
 * kept units keep their bits. */
HEDDLE_API heddle_status heddle_sparse_prune(heddle_context *ctx, heddle_elem elem, uint64_t m,
                                             uint64_t k, void *dense, size_t row_bytes);

/* The same along rows and along columns: in each 4 x 4 tile, the pattern with two elements in each
 * row and column whose magnitudes have the largest sum stays. m and k are multiples of 4; types of
 * 16 and 8 bits with groups of four. The sums are of f32, so that equal sums and their rounding are
 * those of the device (heddle_pack_device_two_way); a NaN counts as Inf. mask: m x k bytes, 1 for
 * an element that stays and 0 for the others, without gaps between rows; may be NULL. */
HEDDLE_API heddle_status heddle_sparse_prune_two_way(heddle_context *ctx, heddle_elem elem,
                                                     uint64_t m, uint64_t k, void *dense,
                                                     size_t row_bytes, uint8_t *mask);

/* Dense to canonical. HEDDLE_INVALID names the first row and group with too many non-zeros, and its
 * values; then values and codes hold an unspecified part of the result. */
HEDDLE_API heddle_status heddle_sparse_compress(heddle_context *ctx, heddle_elem elem, uint64_t m,
                                                uint64_t k, const void *dense, size_t row_bytes,
                                                void *values, void *codes);

/* Canonical to dense. HEDDLE_INVALID names the first code that is not legal (dense: as above).
 * Bytes of a dense row after its k elements are not changed. */
HEDDLE_API heddle_status heddle_sparse_decompress(heddle_context *ctx, heddle_elem elem,
                                                  uint64_t m, uint64_t k, const void *values,
                                                  const void *codes, void *dense,
                                                  size_t row_bytes);

/* Canonical to packed: heddle_sparse_packed_bytes of payload, padding included. */
HEDDLE_API heddle_status heddle_sparse_pack(heddle_context *ctx, heddle_elem elem,
                                            heddle_family family, uint64_t m, uint64_t k,
                                            const void *values, const void *codes, void *payload);

/* Dense to packed in one call: compress, then pack. The same errors; after an error the payload
 * holds an unspecified part of the result. */
HEDDLE_API heddle_status heddle_sparse_pack_dense(heddle_context *ctx, heddle_elem elem,
                                                  heddle_family family, uint64_t m, uint64_t k,
                                                  const void *dense, size_t row_bytes,
                                                  void *payload);

/* Zero-initialise. */
typedef struct heddle_prune_pack_options {
  int32_t n_threads; /* maximum number of threads, up to 64; 0: only the calling thread */
  /* Called on any of the threads, one at a time, with the number of finished rows; false: stop. May
   * be NULL. */
  bool (*progress)(void *user, uint64_t rows_done);
  void *user;
} heddle_prune_pack_options;

/* Prunes and packs in one pass; the dense matrix is unchanged. The payload is bit for bit that of
 * heddle_sparse_prune followed by heddle_sparse_pack_dense. With AVX2 (16-bit types, fp8, s8) it
 * processes several GB of dense bytes per second and thread (`heddle pack --prune --time`). options
 * may be NULL. HEDDLE_ENVIRONMENT if progress stopped it; the payload is then unspecified. */
HEDDLE_API heddle_status heddle_sparse_prune_pack(heddle_context *ctx, heddle_elem elem,
                                                  heddle_family family, uint64_t m, uint64_t k,
                                                  const void *dense, size_t row_bytes,
                                                  const heddle_prune_pack_options *options,
                                                  void *payload);

/* Packed to canonical; padding is dropped. Codes are not checked: heddle_sparse_check does that. */
HEDDLE_API heddle_status heddle_sparse_unpack(heddle_context *ctx, heddle_elem elem,
                                              heddle_family family, uint64_t m, uint64_t k,
                                              const void *payload, void *values, void *codes);

/* Pairs: a matrix of m rows, m a multiple of 16, first m/2 rows of gate, then m/2 of up. Kernels
 * with an act of pairs (swiglu, …) read it packed with its rows interleaved by 8: row 16q + i (i <
 * 8) is row 8q + i of gate, row 16q + 8 + i that of up. pair_rows copies rows of row_bytes bytes to
 * that order, and unpair_rows back: rows of a dense matrix, of values, codes, or scales. from and
 * to must not overlap. HEDDLE_INVALID: m is not a multiple of 16. */
HEDDLE_API heddle_status heddle_sparse_pair_rows(heddle_context *ctx, uint64_t m, size_t row_bytes,
                                                 const void *from, void *to);
HEDDLE_API heddle_status heddle_sparse_unpair_rows(heddle_context *ctx, uint64_t m,
                                                   size_t row_bytes, const void *from, void *to);

/* Files. An image is a complete file in memory, of info->file_bytes; the payload must already be at
 * info's offsets. heddle_sparse_seal writes the header with the checksum, and zeroes the gap
 * between values and codes. info must come from heddle_sparse_plan; for a packed file of pairs set
 * its `pair`. */
HEDDLE_API heddle_status heddle_sparse_seal(heddle_context *ctx, const heddle_sparse_info *info,
                                            void *image);

/* Reads and validates a header and all sizes (not the payload). HEDDLE_INVALID: empty, truncated,
 * not a heddle file, wrong version, contradictory fields. */
HEDDLE_API heddle_status heddle_sparse_open(heddle_context *ctx, const void *image, size_t n_bytes,
                                            heddle_sparse_info *info);

/* Validates everything: the header, the checksum, every code, the padding. */
HEDDLE_API heddle_status heddle_sparse_check(heddle_context *ctx, const void *image,
                                             size_t n_bytes, heddle_sparse_info *info);

#ifdef __cplusplus
}
#endif
#endif
