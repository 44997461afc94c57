/* Tune/epilogue_values.h: what the epilogue of a product reads, and what it makes of sums. */
#ifndef HD_EPILOGUE_VALUES_H
#define HD_EPILOGUE_VALUES_H

#include "Choice/product.h"
#include "Reference/reference.h"
#include "Runtime/device.h"

/* On the host; NULL: not read. A batch shares the vectors. */
typedef struct hd_epilogue_values {
  float *bias, *scale_a, *scale_b; /* owned */
  float *blocks[2]; /* owned: f32 block scales of A, of B, in k-block order (docs/format.md) */
  void *c;                         /* owned; stored as D, of a batch one behind the other */
  size_t n_bias, n_scale_a, n_scale_b, c_bytes, n_blocks[2];
} hd_epilogue_values;

/* *values is zero, or what was made before. */
heddle_status hd_epilogue_values_make(heddle_context *ctx, const hd_product *product,
                                      uint64_t seed, hd_epilogue_values *values);
void hd_epilogue_values_free(hd_epilogue_values *values);

/* Into the product's reference, of columns from `first` on, its block scales. */
void hd_epilogue_add_blocks(const hd_product *product, const hd_epilogue_values *values,
                            uint64_t first, hd_reference *reference);

/* Bytes of D: of a batch of all. */
size_t hd_product_d_bytes(const hd_product *product);
/* The relative error of D, as hd_compare_bounded counts it, of a right kernel that stores elem. */
double hd_product_bound(const hd_product *product, heddle_elem elem);

/* Rows of D of product g, in columns from first on: sums has A, B and their sizes (n of them the
 * columns). out and slack: n_rows x n. */
heddle_status hd_epilogue_rows(heddle_context *ctx, const hd_product *product,
                               const hd_epilogue_values *values, const hd_reference *sums,
                               int64_t g, uint64_t first, const uint64_t *rows, size_t n_rows,
                               double *out, double *slack);

/* On the device. Zero-initialise. scale_d: written, n columns a row. */
typedef struct hd_epilogue_buffers {
  hd_buffer bias, scale_a, scale_b, scale_d, blocks[2];
  hd_rotation c;
} hd_epilogue_buffers;
heddle_status hd_epilogue_upload(heddle_context *ctx, const hd_device *device,
                                 const hd_product *product, const hd_epilogue_values *values,
                                 size_t n_sets, hd_epilogue_buffers *buffers);
/* Into `out` (2 x n_rows x n): results, and behind them how far off each may be, as a D shows them
 * that is divided by `scales`: of 128 rows and a column one. */
void hd_epilogue_divide(const hd_product *product, const uint64_t *rows, size_t n_rows,
                        const double *results, const double *slack, const float *scales,
                        double *out);
/* What D shows of rows of results that may be `slack` off: where it is divided, results and slack
 * (one behind the other, owned) divided by the scales that a launch stored; else NULL. */
heddle_status hd_epilogue_divided(heddle_context *ctx, const hd_device *device,
                                  const hd_product *product, const hd_epilogue_buffers *buffers,
                                  const uint64_t *rows, size_t n_rows, const double *results,
                                  const double *slack, double **divided);
void hd_epilogue_buffers_free(const hd_device *device, hd_epilogue_buffers *buffers);

/* A rotation whose sets hold the same bytes g times (0: once), one behind the other. */
heddle_status hd_rotation_repeat(heddle_context *ctx, const hd_device *device, const void *data,
                                 size_t n_bytes, int64_t g, size_t n_sets, hd_rotation *rotation);

#endif
