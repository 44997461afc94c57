/* Sparse/sparse_file.h: the header of both forms, byte by byte (docs/format.md).
 *
 *   offset size field
 *        0    8 magic 89 'H' 'D' 'L' 0d 0a 1a 0a
 *        8    4 version, 1
 *       12    4 header bytes, 128
 *       16    1 form: 1 canonical, 2 packed
 *       17    1 element type, its number in heddle/types.def
 *       18    1 family: 0 none, 1 mma, 2 wgmma
 *       19    1 container bits of an element
 *       20    1 elements in a sparse group
 *       21    1 elements that stay of a group
 *       22    2 rows of a block (packed: 64; canonical: 0)
 *       24    8 M
 *       32    8 K
 *       40    8 offset of the values (packed: of the first block)
 *       48    8 bytes of the values (packed: of all blocks)
 *       56    8 offset of the codes (packed: of the metadata words, from the start of a block)
 *       64    8 bytes of the codes (packed: of the metadata words of one block)
 *       72    4 columns of a block (packed: the k-block; canonical: 0)
 *       76    4 bytes of a block (canonical: 0)
 *       80   16 name of the element type, padded with NUL
 *       96    1 order of rows: 0 unchanged; 1 gate and up, interleaved by 8 (packed)
 *       97   15 zero
 *      112   16 checksum: H(H(header with zeros here) . H(payload)), H = XXH3 128 bits, each hash
 *               as two 64-bit words, low first
 *
 * All numbers are little-endian. */
#ifndef HD_SPARSE_FILE_H
#define HD_SPARSE_FILE_H

#include "heddle/sparse.h"

enum { HD_SPARSE_VERSION = 1 };

/* HEDDLE_INVALID unless m rows can be 8 rows of gate and 8 rows of up, repeated. */
heddle_status hd_sparse_pair_check(heddle_context *ctx, uint64_t m);

/* Refuses an image whose checksum does not match its header and payload. info is from
 * heddle_sparse_open. */
heddle_status hd_sparse_checksum_check(heddle_context *ctx, const void *image,
                                       const heddle_sparse_info *info);

/* Reads a file of either form, or a .npy file. Validates the header first, and never reads more
 * than its size. *image owned. heddle_sparse_check or hd_npy_open validates the rest. */
heddle_status hd_sparse_file_read(heddle_context *ctx, const char *path, char **image,
                                  size_t *n_bytes);

#endif
