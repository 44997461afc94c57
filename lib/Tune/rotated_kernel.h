/* Tune/rotated_kernel.h: a compiled kernel on the device, with its arguments for each set of
 * operands that its launches take in turn. */
#ifndef HD_ROTATED_KERNEL_H
#define HD_ROTATED_KERNEL_H

#include "Runtime/device.h"
#include "Tune/epilogue_values.h"
#include "heddle/compile.h"
#include "heddle/kernel.h"

/* Zero-initialise. */
typedef struct hd_rotated_kernel {
  heddle_kernel *kernel; /* NULL: none is loaded */
  heddle_arg *args;      /* n_sets x n_args */
  size_t n_args, n_sets;
  hd_buffer workspace; /* its own: zero at first, as only the same kernel leaves it */
} hd_rotated_kernel;

/* Set i of each rotation is what launch i works on; a is packed for the kernel's family. */
typedef struct hd_rotated_operands {
  const hd_rotation *a, *b, *d;
  const hd_rotation *offsets; /* of groups; NULL: there are none */
  int64_t n, ldb, ldd; /* n: where it is an argument */
  int64_t ldsa, ldsb;  /* of block scales */
  const hd_epilogue_buffers *epilogue; /* NULL: it reads nothing */
  int64_t stride_a, stride_b, stride_d; /* of a batch; C's is D's, vectors are shared */
  int64_t columns; /* of statistics of D, from row to row */
} hd_rotated_operands;
/* The strides of a product's operands, without gaps. */
void hd_rotated_strides(const hd_product *product, size_t packed_bytes, hd_rotated_operands *o);

/* heddle_kernel_load of what was compiled. */
heddle_status hd_load_compiled(heddle_context *ctx, heddle_runtime *runtime,
                               const heddle_compiled *compiled, heddle_kernel **kernel);
/* Fills in the arguments, once. */
heddle_status hd_rotated_give(heddle_context *ctx, const hd_device *device,
                              const hd_rotated_operands *operands, hd_rotated_kernel *k);
/* An hd_launch_fn; user is the hd_rotated_kernel. */
heddle_status hd_rotated_launch(heddle_context *ctx, void *user, size_t index, void *stream);
void hd_rotated_free(const hd_device *device, hd_rotated_kernel *k);

#endif
