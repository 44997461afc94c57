/* Sparse/npy.h: matrices in NumPy's .npy files (format versions 1, 2 and 3).
 *
 * Element types map to dtypes so: f16 <f2 (or <u2) · bf16 <u2 (or <i2, <V2) · tf32, f32 <f4 ·
 * s32 <i4 · s8 |i1 · all other 8-bit types |u1 (or |i1, |V1) · 4-bit types |u1 or |i1, two a byte,
 * low nibble first, so that the last dimension is half the columns. */
#ifndef HD_NPY_H
#define HD_NPY_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/types.h"

/* A view of a .npy image. One-dimensional arrays are one row. Sizes are validated against the
 * image, so that rows * cols * item_bytes == data_bytes holds. */
typedef struct hd_npy {
  char kind;           /* of the dtype: f, i, u, V */
  unsigned item_bytes; /* 1, 2, 4 or 8 */
  bool fortran;        /* columns lie together */
  uint64_t rows, cols; /* in items */
  const uint8_t *data; /* borrowed from the image */
  size_t data_bytes;
} hd_npy;

/* Reads the header. `file` names the image in refusals. HEDDLE_INVALID: malformed or truncated.
 * HEDDLE_UNSUPPORTED: big-endian, structured, more than two dimensions. */
heddle_status hd_npy_open(heddle_context *ctx, const char *file, const void *image, size_t n_bytes,
                          hd_npy *npy);

/* The first byte tells: no file of ours begins with that of a .npy file. */
bool hd_npy_is(const void *image, size_t n_bytes);

/* For hd_file_read_sized: what the header tells of the file's size. */
heddle_status hd_npy_size(heddle_context *ctx, const char *path, const void *head, size_t n_bytes,
                           size_t *whole_bytes);

/* Refuses a dtype that does not hold elem. Gives the sizes in elements. */
heddle_status hd_npy_check_elem(heddle_context *ctx, const char *file, const hd_npy *npy,
                                heddle_elem elem, uint64_t *n_rows, uint64_t *n_cols);

/* The data row-major without gaps (*rows_data owned, hd_free); Fortran order is transposed. */
heddle_status hd_npy_copy_rows(heddle_context *ctx, const hd_npy *npy, void **rows_data);

/* Reads a file of n_rows x n_cols elements: all of the above. *data owned. */
heddle_status hd_npy_read(heddle_context *ctx, const char *path, heddle_elem elem, void **data,
                          uint64_t *n_rows, uint64_t *n_cols);

/* Writes a matrix, rows row_bytes apart (version 1, C order, atomically; "-" = standard output). */
heddle_status hd_npy_write(heddle_context *ctx, const char *path, heddle_elem elem,
                           uint64_t n_rows, uint64_t n_cols, const void *data, size_t row_bytes);

#endif
