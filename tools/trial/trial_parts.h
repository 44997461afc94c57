/* trial/trial_parts.h: shared by the files of the trial. */
#ifndef TRIAL_PARTS_H
#define TRIAL_PARTS_H

#include "trial/trial.h"

/* Sizes and pitches of one launch, in elements. */
typedef struct trial_shape {
  int64_t m, n, k, ldb, ldc, ldd, ldsa, ldsb, ldsd, ldaux;
  int64_t g; /* products of a batch; 1: no batch */
  int64_t t; /* columns of B (n, unless gathered), or of D if it is combined */
  /* For a batch, per stride argument: elements (of A: bytes) between matrices; 0: shared. */
  int64_t stride[HD_ARG_STRIDE_SCALE_B - HD_ARG_STRIDE_A + 1];
} trial_shape;

/* The stride for HD_ARG_STRIDE_A etc., and the number of matrices of the operand. */
static inline int64_t trial_stride(const trial_shape *shape, hd_arg_kind kind) {
  return shape->stride[kind - HD_ARG_STRIDE_A];
}
static inline int64_t trial_matrices(const trial_shape *shape, hd_arg_kind kind) {
  return trial_stride(shape, kind) ? shape->g : 1;
}
/* The stride argument of the operand `kind` (HD_ARG_A etc.). */
hd_arg_kind trial_stride_of(hd_arg_kind kind);
/* Elements (of A: bytes) before matrix i of the operand; 0 if it is shared. */
int64_t trial_before(const trial_shape *shape, hd_arg_kind kind, int64_t i);

/* Given, fixed or default sizes; sizes of given files count as given. */
heddle_status trial_shape_resolve(heddle_context *ctx, const hd_manifest *manifest,
                                  const int64_t *asked, trial_shape *shape);

/* Rows and columns of an operand in memory. */
typedef struct trial_stored {
  int64_t rows, cols, pitch;
} trial_stored;
trial_stored trial_stored_b(const hd_manifest *manifest, const trial_shape *shape);
trial_stored trial_stored_c(const hd_manifest *manifest, const trial_shape *shape);
trial_stored trial_stored_d(const hd_manifest *manifest, const trial_shape *shape);
trial_stored trial_stored_aux(const hd_manifest *manifest, const trial_shape *shape);

/* Host memory of one operand between two guards (none if bare). All of it is initialised with
 * TRIAL_POISON, which is NaN in every floating-point type of at least 8 bits, and -1 in
 * integers. */
enum { TRIAL_GUARD_BYTES = 1024, TRIAL_POISON = 0xff };
typedef struct trial_block {
  hd_arg_kind kind;
  heddle_elem elem;
  uint8_t *all;   /* owned: guard, offset, data, guard */
  uint8_t *data;
  uint8_t *before; /* owned: a copy of `all` before the launch */
  size_t n_bytes, all_bytes;
  size_t lead_bytes; /* from all to data: guard and offset */
  size_t offset;
} trial_block;

/* Seed difference between consecutive matrices of a batch. */
#define TRIAL_NEXT_MATRIX UINT64_C(0x9e3779b97f4a7c15)
enum { TRIAL_STREAMS = 22 /* random streams per seed, one per operand */ };
enum { TRIAL_MAX_BLOCKS = 15 };
typedef struct trial_data {
  trial_shape shape;
  trial_block block[TRIAL_MAX_BLOCKS];
  int n_blocks;
  int32_t *offsets; /* owned: of groups, without a fault; NULL: no groups */
  int32_t *gather, *scatter; /* owned: likewise, indices of B's and D's columns */
  int32_t *combine; /* owned: for each column of D its slots: columns of the products */
  void *a_dense; /* owned: m x k, all matrices of a batch */
  void *an_injected; /* owned: the matrix with the injected fault; NULL: none */
  size_t a_row_bytes;
  uint8_t *scales[2]; /* owned: block scales of A (per row or block of rows) and of B (per column),
                         row-major; NULL: none */
  size_t guard_bytes;
  hd_values values; /* sizes, pitches, scalars; the backend sets the pointers */
  float alpha, beta, eps;
} trial_data;

/* Generates or reads all operands, packs A, poisons D. Free with trial_data_free, even after a
 * failure. */
heddle_status trial_data_make(heddle_context *ctx, const hd_manifest *manifest,
                              const trial_request *request, trial_data *data);
void trial_data_free(trial_data *data);
/* Returns a copy of D's block after a launch (owned), and restores it and the block of aux for the
 * next launch. */
void *trial_data_take_d(const trial_data *data);
/* Checks that a launch wrote the same bytes again, and sets result->why otherwise; frees
 * `taken`. */
void trial_data_compare_d(const trial_data *data, void *taken, trial_result *result);
/* The block of an argument; NULL if the kernel does not have it. */
static inline trial_block *trial_data_block(const trial_data *data, hd_arg_kind kind) {
  for (int i = 0; i < data->n_blocks; i++)
    if (data->block[i].kind == kind)
      return (trial_block *)&data->block[i];
  return NULL;
}

/* Block scales of a row, per k-block and in total; 0 if the problem has none. */
int64_t trial_scales_a_k_block(const hd_manifest *manifest);
int64_t trial_scales_a_row(const hd_manifest *manifest, const trial_shape *shape);
/* Rows of scales of A (which 0) or B. */
int64_t trial_scaled_rows(const hd_manifest *manifest, const trial_shape *shape, int which);
/* Scale matrices of operand `which`: one for each product of a batch, or one for all. */
int64_t trial_scale_matrices(const hd_manifest *manifest, const trial_shape *shape, int which);
/* Bytes of the scales of operand `which` (0: A). */
int64_t trial_block_scale_bytes(const hd_manifest *manifest, const trial_shape *shape, int which);
/* Generates or reads the scales of operand `which`, and stores them to `to` as the kernel reads
 * them, with padding for elements past K. *scales is owned. */
heddle_status trial_block_scales(heddle_context *ctx, const hd_manifest *manifest,
                                 const trial_request *request, const trial_data *data, int which,
                                 uint8_t **scales, uint8_t *to);

/* A as a dense m x k matrix, for a batch all matrices: generated, or read from a file (owned by the
 * caller). */
heddle_status trial_operand_a(heddle_context *ctx, const hd_manifest *manifest,
                              const trial_request *request, const trial_shape *shape,
                              unsigned limit, void **dense, size_t *row_bytes);
/* Sets sizes in `asked` from the request's files, unless they are given or fixed. */
heddle_status trial_operand_sizes(heddle_context *ctx, const hd_manifest *manifest,
                                  const trial_request *request, int64_t *asked);
/* Injects the fault into a copy of A. */
heddle_status trial_inject_fault(heddle_context *ctx, trial_fault plant, heddle_elem elem,
                                const trial_shape *shape, void *dense, size_t row_bytes);

/* ---- statistics of B (trial_columns.c) ---- */
trial_stored trial_column_sums(const trial_shape *shape);
/* Generates the sums, and eps, for scales of about `unit` with eps. */
void trial_fill_column_sums(const trial_request *request, double unit, trial_data *data);
float trial_eps(const trial_request *request, double unit);

/* ---- statistics of D (trial_statistic.c) ---- */

trial_stored trial_stored_statistic(const hd_manifest *manifest, const trial_shape *shape);
/* The rows of the first and the last statistic of a D with `height` rows; returns their number. */
enum { TRIAL_STATISTIC_ROWS = 2 * 128 };
size_t trial_statistic_rows(uint64_t height, uint64_t rows[TRIAL_STATISTIC_ROWS]);
/* Compares the statistics of columns `first` to first + n - 1 with those of results x (n_rows rows,
 * all rows of each statistic). Results may be off by `near`. If D is divided by the statistic,
 * divides x and near too. */
void trial_check_statistic(const hd_manifest *manifest, const trial_data *data, int64_t first,
                           uint64_t n, const uint64_t *rows, size_t n_rows, double *x, double *near,
                           trial_result *result);
/* Replaces results x by the values that D can represent, if it is divided by scales. */
void trial_show_scaled(const hd_manifest *manifest, uint64_t n, const uint64_t *rows,
                       size_t n_rows, double *x);
/* Marks the bytes of the statistics in their block. */
void trial_mark_statistics(const hd_manifest *manifest, const trial_data *data,
                           uint8_t *is_element);
/* ---- groups (trial_groups.c) ---- */

/* Makes g + 1 offsets by the request's routing. */
heddle_status trial_make_offsets(heddle_context *ctx, const trial_request *request,
                                 const trial_shape *shape, int32_t *offsets);
/* The columns [*first, *end) of product g: its own with groups, else all. */
void trial_columns(const trial_data *data, int64_t g, int64_t *first, int64_t *end);
/* The index of A's matrix with the injected fault: the last one that has any columns. */
int64_t trial_injected_matrix(const trial_data *data);
/* HEDDLE_UNSUPPORTED if no product has any columns. */
heddle_status trial_check_injectable(heddle_context *ctx, const trial_data *data);
heddle_status trial_inject_offset(heddle_context *ctx, const trial_shape *shape, int32_t *offsets);
/* Makes n_indices indices by the request's routing: of B's columns, of D's (HD_ARG_SCATTER_D), or
 * of a sum's (HD_ARG_COMBINE_D: only columns of a group). */
void trial_make_index(const trial_request *request, const trial_data *data, hd_arg_kind kind,
                      int64_t n_indices, int32_t *index);
/* Removes the first index of a group's column that is below `n`, or the first index of a sum. */
heddle_status trial_inject_index(heddle_context *ctx, const trial_data *data, hd_arg_kind kind,
                                 int64_t n, int64_t n_indices, int32_t *index);
/* Whether a column of the products affects D. With combined columns, it must be in a sum. */
bool trial_is_shown(const hd_manifest *manifest, const trial_data *data, int64_t column);
/* HEDDLE_UNSUPPORTED if the column of an offset's or index's fault does not affect D. */
heddle_status trial_check_shown(heddle_context *ctx, const hd_manifest *manifest,
                                trial_fault fault, const trial_data *data);
/* Gathers columns of the products, each k (for D: its rows) elements: of B by index, with zeros for
 * no index; of D after a launch likewise. Owned; NULL: out of memory. */
uint8_t *trial_take_columns(heddle_context *ctx, const trial_data *data, hd_arg_kind kind,
                            const int32_t *index, int64_t n_columns, const trial_stored *stored);
/* The same of the block scales of B: rows of scales, one for each column of the products. */
uint8_t *trial_take_scales(heddle_context *ctx, const hd_manifest *manifest,
                           const trial_data *data);
static inline bool trial_is_index(int32_t index, int64_t n) { return index >= 0 && index < n; }

/* Launches the kernel, and fills the blocks with the memory's contents after it. */
heddle_status trial_launch_device(heddle_context *ctx, trial_device *device,
                                  trial_kernel *kernel, trial_data *data, trial_result *result);
heddle_status trial_launch_sim(heddle_context *ctx, const trial_kernel *kernel, hd_sim_mode mode,
                               uint64_t seed, trial_data *data, trial_result *result);

/* Checks that guards, gaps between rows and inputs are unchanged; sets result->why otherwise. */
bool trial_memory_right(const hd_manifest *manifest, const trial_data *data,
                        trial_result *result);
/* Checks guards, gaps between rows, inputs and numbers, and stores the verdict in the result. */
heddle_status trial_verify(heddle_context *ctx, const hd_manifest *manifest,
                           const trial_request *request, const trial_data *data,
                           trial_result *result);

#endif
