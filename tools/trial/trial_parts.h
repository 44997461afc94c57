/* trial/trial_parts.h: what the files of the trial share. */
#ifndef TRIAL_PARTS_H
#define TRIAL_PARTS_H

#include "trial/trial.h"

/* Sizes and pitches of one launch, in elements. */
typedef struct trial_shape {
  int64_t m, n, k, ldb, ldc, ldd, ldsa, ldsb, ldsd;
  int64_t g; /* products of a batch; 1: it is none */
  int64_t t; /* columns of B: n, unless they are gathered; of D, where they are combined */
  /* Of a batch, by stride argument: elements (of A bytes) from one matrix to the next; 0: one. */
  int64_t stride[HD_ARG_STRIDE_SCALE_B - HD_ARG_STRIDE_A + 1];
} trial_shape;

/* By HD_ARG_STRIDE_A and its like: the stride, and how many matrices the operand has. */
static inline int64_t trial_stride(const trial_shape *shape, hd_arg_kind kind) {
  return shape->stride[kind - HD_ARG_STRIDE_A];
}
static inline int64_t trial_matrices(const trial_shape *shape, hd_arg_kind kind) {
  return trial_stride(shape, kind) ? shape->g : 1;
}
/* Of the operand `kind` (HD_ARG_A and its like) of a batch the stride argument. */
hd_arg_kind trial_stride_of(hd_arg_kind kind);
/* Elements (bytes of A) before matrix i of the operand; 0 of a shared one. */
int64_t trial_before(const trial_shape *shape, hd_arg_kind kind, int64_t i);

/* Asked, fixed, or default sizes; sizes of given files count as asked. */
heddle_status trial_shape_resolve(heddle_context *ctx, const hd_manifest *manifest,
                                  const int64_t *asked, trial_shape *shape);

/* Rows and columns of an operand as it is stored. */
typedef struct trial_stored {
  int64_t rows, cols, pitch;
} trial_stored;
trial_stored trial_stored_b(const hd_manifest *manifest, const trial_shape *shape);
trial_stored trial_stored_c(const hd_manifest *manifest, const trial_shape *shape);
trial_stored trial_stored_d(const hd_manifest *manifest, const trial_shape *shape);

/* Host memory of one operand between two guards (none when bare), all poisoned with TRIAL_POISON to
 * start with (NaN in every floating-point type of 8 bits and more, which integers take for -1). */
enum { TRIAL_GUARD_BYTES = 1024, TRIAL_POISON = 0xff };
typedef struct trial_block {
  hd_arg_kind kind;
  heddle_elem elem;
  uint8_t *all;   /* owned: guard, offset, data, guard */
  uint8_t *data;
  uint8_t *before; /* owned: a copy of `all` as the launch finds it */
  size_t n_bytes, all_bytes;
  size_t lead_bytes; /* from all to data: guard and offset */
  size_t offset;
} trial_block;

/* From the numbers of one matrix of a batch to those of the next. */
#define TRIAL_NEXT_MATRIX UINT64_C(0x9e3779b97f4a7c15)
enum { TRIAL_STREAMS = 22 /* of numbers, of a seed: one an operand */ };
enum { TRIAL_MAX_BLOCKS = 15 };
typedef struct trial_data {
  trial_shape shape;
  trial_block block[TRIAL_MAX_BLOCKS];
  int n_blocks;
  int32_t *offsets; /* owned: of groups, without a fault; NULL: there are none */
  int32_t *gather, *scatter; /* owned: the same of indices of B's and D's columns */
  int32_t *combine; /* owned: of each column of D the slots, columns of the products */
  void *a_dense; /* owned: m x k, of a batch matrix after matrix */
  void *an_injected; /* owned: the last one with the injected fault; NULL: none */
  size_t a_row_bytes;
  uint8_t *scales[2]; /* owned: block scales of A (m rows, or blocks of rows) and of B (n),
                         row-major; NULL: none */
  size_t guard_bytes;
  hd_values values; /* sizes, pitches, scalars; the backend sets the pointers */
  float alpha, beta;
} trial_data;

/* Makes or reads all operands, packs A, poisons D. Free with trial_data_free, also after a
 * failure. */
heddle_status trial_data_make(heddle_context *ctx, const hd_manifest *manifest,
                              const trial_request *request, trial_data *data);
void trial_data_free(trial_data *data);
/* D, all of its block, as a launch left it (owned); the block is again as it was before. */
void *trial_data_take_d(const trial_data *data);
/* Whether a launch left the same bytes again; frees `taken`, and says so in the result when not. */
void trial_data_compare_d(const trial_data *data, void *taken, trial_result *result);
/* The block of an argument, NULL when the kernel does not take it. */
static inline trial_block *trial_data_block(const trial_data *data, hd_arg_kind kind) {
  for (int i = 0; i < data->n_blocks; i++)
    if (data->block[i].kind == kind)
      return (trial_block *)&data->block[i];
  return NULL;
}

/* Block scales of a row, in a k-block and in all; 0 where the problem has none. */
int64_t trial_scales_a_k_block(const hd_manifest *manifest);
int64_t trial_scales_a_row(const hd_manifest *manifest, const trial_shape *shape);
/* Rows of scales of A (which 0), of B. */
int64_t trial_scaled_rows(const hd_manifest *manifest, const trial_shape *shape, int which);
/* Bytes that the `which`-th operand's (0: A) take. */
int64_t trial_block_scale_bytes(const hd_manifest *manifest, const trial_shape *shape, int which);
/* Makes or reads the `which`-th operand's, and stores them at `to` as the kernel reads them, blocks
 * that the kernel may only multiply with zeros filled; *scales is owned. */
heddle_status trial_block_scales(heddle_context *ctx, const hd_manifest *manifest,
                                 const trial_request *request, const trial_shape *shape, int which,
                                 uint8_t **scales, uint8_t *to);

/* A as a dense m x k matrix, of a batch so many rows for each: made, or read from a file (owned by
 * the caller). */
heddle_status trial_operand_a(heddle_context *ctx, const hd_manifest *manifest,
                              const trial_request *request, const trial_shape *shape,
                              unsigned limit, void **dense, size_t *row_bytes);
/* Into `asked`, the sizes that the request's files give and nobody has asked for or fixed. */
heddle_status trial_operand_sizes(heddle_context *ctx, const hd_manifest *manifest,
                                  const trial_request *request, int64_t *asked);
/* The injected fault, in a copy of A. */
heddle_status trial_inject_fault(heddle_context *ctx, trial_fault plant, heddle_elem elem,
                                const trial_shape *shape, void *dense, size_t row_bytes);

/* ---- statistics of D (trial_statistic.c) ---- */

trial_stored trial_stored_statistic(const hd_manifest *manifest, const trial_shape *shape);
/* The rows of the first and of the last statistic of a D of so many; gives how many. */
enum { TRIAL_STATISTIC_ROWS = 2 * 128 };
size_t trial_statistic_rows(uint64_t height, uint64_t rows[TRIAL_STATISTIC_ROWS]);
/* Compares the statistics of columns `first` to first + n - 1 with those of results x (n_rows, all
 * of the statistics that they are of), each of them `near` off at most. Where D is divided by them,
 * so become both. */
void trial_check_statistic(const hd_manifest *manifest, const trial_data *data, int64_t first,
                           uint64_t n, const uint64_t *rows, size_t n_rows, double *x, double *near,
                           trial_result *result);
/* In place of results x what D shows of them, where it is divided by scales: multiples of these. */
void trial_show_scaled(const hd_manifest *manifest, uint64_t n, const uint64_t *rows,
                       size_t n_rows, double *x);
/* Bytes of them in their block. */
void trial_mark_statistics(const hd_manifest *manifest, const trial_data *data,
                           uint8_t *is_element);
/* ---- groups (trial_groups.c) ---- */

/* g + 1 offsets, as the request says. */
heddle_status trial_make_offsets(heddle_context *ctx, const trial_request *request,
                                 const trial_shape *shape, int32_t *offsets);
/* The columns [*first, *end) of product g: of groups its own, else all. */
void trial_columns(const trial_data *data, int64_t g, int64_t *first, int64_t *end);
/* Which of A's matrices has the injected fault: the last one that a product takes. */
int64_t trial_injected_matrix(const trial_data *data);
/* HEDDLE_UNSUPPORTED where no product takes any. */
heddle_status trial_check_injectable(heddle_context *ctx, const trial_data *data);
heddle_status trial_inject_offset(heddle_context *ctx, const trial_shape *shape, int32_t *offsets);
/* n_indices of B's columns, of D's (HD_ARG_SCATTER_D) or of those of a sum (HD_ARG_COMBINE_D: none
 * that no group has), as the request's routing says. */
void trial_make_index(const trial_request *request, const trial_data *data, hd_arg_kind kind,
                      int64_t n_indices, int32_t *index);
/* The first column of a group whose index is one of `n`, or the first index of a sum, loses it. */
heddle_status trial_inject_index(heddle_context *ctx, const trial_data *data, hd_arg_kind kind,
                                 int64_t n, int64_t n_indices, int32_t *index);
/* Whether D shows the column of the products: it is in no sum where columns are combined without
 * it. */
bool trial_is_shown(const hd_manifest *manifest, const trial_data *data, int64_t column);
/* HEDDLE_UNSUPPORTED where D does not show the column that an offset's or an index's fault is
 * of. */
heddle_status trial_check_shown(heddle_context *ctx, const hd_manifest *manifest,
                                trial_fault fault, const trial_data *data);
/* Columns of the products, each k (of D: its rows) elements: B's by their index, zeros where it is
 * none; D's as a launch left them, in the same way. Owned; NULL: out of memory. */
uint8_t *trial_take_columns(heddle_context *ctx, const trial_data *data, hd_arg_kind kind,
                            const int32_t *index, int64_t n_columns, const trial_stored *stored);
static inline bool trial_is_index(int32_t index, int64_t n) { return index >= 0 && index < n; }

/* The launch: fills the blocks with what memory holds afterwards. */
heddle_status trial_launch_device(heddle_context *ctx, trial_device *device,
                                  trial_kernel *kernel, trial_data *data, trial_result *result);
heddle_status trial_launch_sim(heddle_context *ctx, const trial_kernel *kernel, hd_sim_mode mode,
                               uint64_t seed, trial_data *data, trial_result *result);

/* Checks guards, gaps between rows, untouched inputs and numbers into the result. */
heddle_status trial_verify(heddle_context *ctx, const hd_manifest *manifest,
                           const trial_request *request, const trial_data *data,
                           trial_result *result);

#endif
