/* Sparse/npy.h: matrices in NumPy's .npy files (format versions 1, 2 and 3).
 *
 * The dtypes of element types: f16 <f2 (or <u2) · bf16 <u2 (or <i2, <V2) · tf32, f32 <f4 · s32 <i4
 * · s8 |i1 · u8 |u1 · all other 8-bit types |u1 (or |i1, |V1) · 4-bit types the same, two per byte,
 * low nibble first, so that the last dimension is half the columns. */
#ifndef HD_NPY_H
#define HD_NPY_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/types.h"

/* A view of a .npy image. A one-dimensional array is one row. Sizes are validated against the
 * image, so that rows * cols * item_bytes == data_bytes holds. */
typedef struct hd_npy {
  char kind;           /* kind of the dtype: f, i, u, V */
  unsigned item_bytes; /* 1, 2, 4 or 8 */
  bool fortran;        /* columns are contiguous */
  uint64_t rows, cols; /* in items */
  const uint8_t *data; /* borrowed from the image */
  size_t data_bytes;
} hd_npy;

/* Reads the header. Diagnostics call the image `file`. HEDDLE_INVALID: malformed or truncated.
 * HEDDLE_UNSUPPORTED: big-endian, structured, more than two dimensions. */
heddle_status hd_npy_open(heddle_context *ctx, const char *file, const void *image, size_t n_bytes,
                          hd_npy *npy);

/* Compares the first byte only; Heddle's own files begin with a different one. */
bool hd_npy_is(const void *image, size_t n_bytes);

/* A sizer for hd_file_read_sized: computes the file's size from its header. */
heddle_status hd_npy_size(heddle_context *ctx, const char *path, const void *head, size_t n_bytes,
                           size_t *whole_bytes);

/* Refuses a dtype that cannot contain elem. Sets the sizes in elements. */
heddle_status hd_npy_check_elem(heddle_context *ctx, const char *file, const hd_npy *npy,
                                heddle_elem elem, uint64_t *n_rows, uint64_t *n_cols);

/* Copies the data row-major without gaps (*rows_data owned, hd_free); transposes Fortran order. */
heddle_status hd_npy_copy_rows(heddle_context *ctx, const hd_npy *npy, void **rows_data);

/* Reads and validates a file of n_rows x n_cols elements, as row-major data. *data owned. */
heddle_status hd_npy_read(heddle_context *ctx, const char *path, heddle_elem elem, void **data,
                          uint64_t *n_rows, uint64_t *n_cols);

/* Writes a matrix with rows row_bytes apart (version 1, C order, atomic; "-": standard output). */
heddle_status hd_npy_write(heddle_context *ctx, const char *path, heddle_elem elem,
                           uint64_t n_rows, uint64_t n_cols, const void *data, size_t row_bytes);

#endif
