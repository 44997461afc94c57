/* Tune/epilogue_values.h: the inputs of a product's epilogue, and its reference results. */
#ifndef HD_EPILOGUE_VALUES_H
#define HD_EPILOGUE_VALUES_H

#include "Choice/product.h"
#include "Reference/reference.h"
#include "Runtime/device.h"

/* In host memory; NULL: not read. All products of a batch share the vectors. */
typedef struct hd_epilogue_values {
  float *bias, *scale_a, *scale_b; /* owned; scale_b: or sums of squares, n per row of 128 of k */
  double *columns; /* owned: the scales that these sums stand for; NULL: scale_b has scales */
  float *blocks[2]; /* owned: f32 block scales of A, of B, in k-block order (docs/format.md) */
  void *c;                         /* owned; stored as D; the matrices of a batch are contiguous */
  size_t n_bias, n_scale_a, n_scale_b, c_bytes, n_blocks[2];
} hd_epilogue_values;

/* The argument eps of a scale_b from sums of squares. */
#define HD_EPILOGUE_EPS 1e-5f

/* *values is zero-initialised or the result of an earlier call. */
heddle_status hd_epilogue_values_make(heddle_context *ctx, const hd_product *product,
                                      uint64_t seed, hd_epilogue_values *values);
void hd_epilogue_values_free(hd_epilogue_values *values);

/* *other (owned; NULL if there is no C): C in the other order, for a kernel whose D has that. */
heddle_status hd_epilogue_other_c(heddle_context *ctx, const hd_product *product,
                                  const hd_epilogue_values *values, void **other);

/* Adds the block scales of the product to a reference of the columns from `first` on. */
void hd_epilogue_add_blocks(const hd_product *product, const hd_epilogue_values *values,
                            uint64_t first, hd_reference *reference);

/* Bytes of D, and of the second matrix, of all products of a batch. */
size_t hd_product_d_bytes(const hd_product *product);
size_t hd_product_aux_bytes(const hd_product *product);
/* The error bound, for hd_compare_bounded, of a correct kernel that stores D as elem. */
double hd_product_bound(const hd_product *product, heddle_elem elem);

/* Computes rows of D, or of the second matrix, of product g, in the columns from first on. sums has
 * A and B and their sizes; its n is the number of columns. out and slack: n_rows x n. */
heddle_status hd_epilogue_rows(heddle_context *ctx, const hd_product *product,
                               const hd_epilogue_values *values, const hd_reference *sums,
                               int64_t g, bool of_aux, uint64_t first, const uint64_t *rows,
                               size_t n_rows, double *out, double *slack);

/* In device memory. Zero-initialise. scale_d is written by the kernel, n columns per row, and so is
 * aux, which is stored like D. */
typedef struct hd_epilogue_buffers {
  hd_buffer bias, scale_a, scale_b, scale_d, blocks[2];
  hd_rotation c, aux;
} hd_epilogue_buffers;
heddle_status hd_epilogue_upload(heddle_context *ctx, const hd_device *device,
                                 const hd_product *product, const hd_epilogue_values *values,
                                 size_t n_sets, hd_epilogue_buffers *buffers);
/* For a D that is divided by `scales` (one per 128 rows of a column): writes the divided results to
 * `out` (2 x n_rows x n), followed by the error that each may have. */
void hd_epilogue_divide(const hd_product *product, const uint64_t *rows, size_t n_rows,
                        const double *results, const double *slack, const float *scales,
                        double *out);
/* If D is divided by statistics: *divided (owned) is hd_epilogue_divide of results and slack by the
 * scales that the last launch stored. Otherwise *divided is NULL. */
heddle_status hd_epilogue_divided(heddle_context *ctx, const hd_device *device,
                                  const hd_product *product, const hd_epilogue_buffers *buffers,
                                  const uint64_t *rows, size_t n_rows, const double *results,
                                  const double *slack, double **divided);
void hd_epilogue_buffers_free(const hd_device *device, hd_epilogue_buffers *buffers);

/* Makes a rotation in which each set holds g contiguous copies of the data (0: one). */
heddle_status hd_rotation_repeat(heddle_context *ctx, const hd_device *device, const void *data,
                                 size_t n_bytes, int64_t g, size_t n_sets, hd_rotation *rotation);

#endif
