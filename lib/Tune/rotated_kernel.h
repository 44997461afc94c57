/* Tune/rotated_kernel.h: a compiled kernel on the device, with its arguments for each set of
 * operands. Launches rotate over the sets. */
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
  hd_buffer workspace; /* private and zeroed at first; each launch leaves it ready for the next */
} hd_rotated_kernel;

/* Launch i uses set i of each rotation. a is packed for the kernel's family. */
typedef struct hd_rotated_operands {
  const hd_rotation *a, *b, *d;
  const hd_rotation *offsets; /* of groups; NULL: no groups */
  int64_t n, ldb, ldd; /* n: used if it is an argument of the kernel */
  int64_t ldsa, ldsb;  /* of block scales; ldsb: or of sums of squares */
  const hd_epilogue_buffers *epilogue; /* NULL: the epilogue reads nothing */
  int64_t stride_a, stride_b, stride_d; /* of a batch; C has the stride of D, vectors are shared */
  int64_t columns; /* row stride of the statistics of D (argument ldsd) */
} hd_rotated_operands;
/* Sets the strides of a product's operands, which have no padding. */
void hd_rotated_strides(const hd_product *product, size_t packed_bytes, hd_rotated_operands *o);

/* Loads a compiled kernel with heddle_kernel_load. */
heddle_status hd_load_compiled(heddle_context *ctx, heddle_runtime *runtime,
                               const heddle_compiled *compiled, heddle_kernel **kernel);
/* Makes the arguments of all sets, and the workspace. Call once, after loading. */
heddle_status hd_rotated_give(heddle_context *ctx, const hd_device *device,
                              const hd_rotated_operands *operands, hd_rotated_kernel *k);
/* An hd_launch_fn; user is the hd_rotated_kernel. */
heddle_status hd_rotated_launch(heddle_context *ctx, void *user, size_t index, void *stream);
void hd_rotated_free(const hd_device *device, hd_rotated_kernel *k);

#endif
