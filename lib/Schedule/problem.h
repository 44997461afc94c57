/* Schedule/problem.h: a kernel at problem or tile level, read into one record. */
#ifndef HD_PROBLEM_H
#define HD_PROBLEM_H

#include "Layout/packed_format.h"
#include "IR/ir.h"
#include "Spec/spec.h"

/* A size: fixed (value > 0) or known at launch. */
typedef struct hd_size {
  hd_op *op;
  int64_t value, max, divisible_by;
} hd_size;

/* A dense matrix operand, scales, or D. ld 0: the kernel has an argument for it. */
typedef struct hd_dense {
  hd_op *op; /* `dense`, `vector`, `block_scale` or `store`; NULL: absent */
  heddle_elem elem;
  bool transposed; /* b: mn_major; c, d: col_major */
  bool one;        /* a scale of one element for the whole matrix */
  int64_t ld, divisible_by;
  int64_t g_stride; /* batch: elements from one matrix to the next; 0: an argument */
  bool shared;      /* batch: all products use the same matrix; groups: also set for operands with
                       columns, which are one matrix of all groups */
} hd_dense;

typedef struct hd_problem {
  hd_op *kernel;
  const hd_target *target;
  hd_size m, n, k;
  hd_size g; /* batch and groups: the number of products; op NULL: a single product */
  hd_op *offsets; /* groups: the vector of column offsets of the g products; NULL: none */
  hd_op *gather, *scatter; /* groups: indices of the columns of B and of D; NULL: none */
  hd_op *combine; /* groups: the columns that are summed for each column of D; NULL: none */
  hd_size t;               /* with gather: columns of B; with combine: columns of D */
  heddle_elem a_elem, acc_elem;
  hd_op *sparse, *matmul, *epilogue, *store;
  bool a_shared; /* as hd_dense.shared */
  hd_dense b, c, d, bias, scale_a, scale_b, block_a, block_b;
  int32_t block;    /* elements of k that share a scale of block_a, block_b; 0: no block scales */
  int32_t block_rows; /* rows of A that share a scale of block_a */
  const char *kind; /* kind of the instruction; NULL: any */
  bool alpha, beta, bias_along_n;
  const char *act, *user;
  bool pair; /* A's rows are gate and up, interleaved by 8; D has m / 2 rows */
  const char *reduce; /* the statistic of each 128 rows of a column of D; NULL: none */
  bool scale_d;       /* D is scaled by the statistic, and the scale is stored instead */
  hd_dense reduced;   /* where the statistic or scale is stored, f32 */
  const char *aux_of; /* what matrix `aux` has of each element: its "result" before conversion to
                         D's type, or the "input" of the activation; NULL: there is no aux */
  hd_dense aux;       /* of the shape and order of D */
  const char *statistic; /* scale_b is computed from this statistic of B's columns, of which
                            argument scale_b has a row for each 128 of k; NULL: it is stored */
} hd_problem;

/* Reads a kernel at problem level, or at tile level including its `work` region. Checks the rules
 * that hold for every target: one matmul, its operands, K a multiple of the group, pitches no
 * shorter than a row. HEDDLE_INVALID or HEDDLE_UNSUPPORTED with rule, value and legal value. */
heddle_status hd_problem_read(heddle_context *ctx, hd_op *kernel, hd_problem *problem);

/* Checks those of the rules that depend on sizes, for a problem whose sizes were fixed later. */
heddle_status hd_problem_check_sizes(heddle_context *ctx, hd_problem *problem);

/* --- arguments of a kernel for the problem (Kernel/args.def) --- */
/* Whether the kernel has the argument, except for the workspace, which depends on the schedule. */
bool hd_problem_takes(const hd_problem *problem, hd_arg_kind arg);
/* The operand whose pointer, pitch or stride the argument is; NULL: A, or no operand. */
const hd_dense *hd_problem_operand(const hd_problem *problem, hd_arg_kind arg);
/* The size for HD_ARG_M, _N, _K, _G or _T; NULL for other arguments. */
const hd_size *hd_problem_size(const hd_problem *problem, hd_arg_kind arg);
/* The element type that a pointer argument points to. */
heddle_elem hd_problem_pointee(const hd_problem *problem, hd_arg_kind arg);
/* The size of a stored row. A row of block scales holds the scales of one k-block: M or N. */
hd_arg_kind hd_problem_row_size(const hd_problem *problem, hd_arg_kind pitch);

static inline bool hd_is_batch(const hd_problem *problem) { return problem->g.op != NULL; }
/* A batch whose products are groups of columns of one B and one D, delimited by offsets. */
static inline bool hd_is_grouped(const hd_problem *problem) { return problem->offsets != NULL; }
/* The maximum number of groups. */
static inline int64_t hd_most_groups(const hd_problem *problem) {
  return problem->g.value ? problem->g.value : problem->g.max;
}
/* Whether the operand has one matrix per product. Their stride is an argument of the kernel. */
static inline bool hd_has_stride(const hd_problem *problem, const hd_dense *x) {
  return hd_is_batch(problem) && x->op && !x->shared;
}

/* With combine: the indices per column of D; and the pitch of the stored columns of the products,
 * in elements, so that every column starts at 16 bytes in any type. */
static inline int64_t hd_combine_slots(const hd_problem *problem) {
  return hd_op_int(problem->combine, HD_ATTR_SLOTS, 1);
}
int64_t hd_combine_pitch(const hd_problem *problem);

/* Whether aux has the activation's input. */
bool hd_aux_is_input(const hd_problem *problem);

/* Rows of A per row of D: 2 for pairs, else 1. */
static inline int32_t hd_rows_of_d(const hd_problem *problem) { return problem->pair ? 2 : 1; }

enum { HD_REDUCE_ROWS = 128 /* rows of D: one k-block of an 8-bit product that reads D */ };
/* Rows of A per statistic: HD_REDUCE_ROWS, twice as many for pairs. */
static inline int32_t hd_reduce_rows(const hd_problem *problem) {
  return HD_REDUCE_ROWS * hd_rows_of_d(problem);
}

/* Elements per byte: 2 for 4-bit types, else 1. */
static inline int32_t hd_elems_per_byte(heddle_elem elem) {
  int32_t bits = heddle_elem_get(elem)->container_bits;
  return bits < 8 ? 8 / bits : 1;
}
/* Block scales per row of A, or column of B, in a k-block. */
int32_t hd_scales_a_row(const hd_problem *problem);
/* Block scales of f32, which no instruction applies: the sums of a k-block are promoted. */
/* Whether each product of a batch, or each group, has block scales of its own of A (which 0) or B
 * (1). They follow each other: the lines of product 0, those of product 1, … */
bool hd_scales_apart(const hd_problem *problem, int which);
static inline bool hd_scales_promoted(const hd_problem *problem) {
  return problem->block && problem->block_a.elem == HEDDLE_F32;
}
/* Those of a B that is read by index: its scales are, too, also where B itself is copied first. */
static inline bool hd_scales_by_index(const hd_problem *problem) {
  return hd_scales_promoted(problem) && problem->gather;
}
/* Scales in HD_SCALE_ALIGN bytes. Pitches and copies of scales are multiples of it. */
int32_t hd_scale_unit(const hd_problem *problem);
/* Whether scales are stored in the layout of tensor memory, as tiles of 128 rows by 4 along k; else
 * they are stored in k-blocks. Tiles per k-block; 1 if a k-block has only a part of a tile. */
bool hd_scales_in_tiles(const hd_problem *problem);
int32_t hd_scale_tiles(const hd_problem *problem);
/* Bands of 128 rows or columns that a tile of `rows` of them overlaps. The tile begins at a band,
 * or in the middle of one (tiles of 64 or 192 columns). */
int32_t hd_scale_bands(int32_t rows);
/* Bytes of an element of a tensor map: a byte for a pair of 4-bit elements. */
static inline int32_t hd_map_bytes(heddle_elem elem) {
  int32_t bits = heddle_elem_get(elem)->container_bits;
  return bits < 8 ? 1 : bits / 8;
}

/* Consecutive columns of D that a lane stores with store=permuted: 16 bytes. N is then a multiple
 * of the columns of four lanes. */
int32_t hd_d_run(const hd_problem *problem);

/* Checks the rules of block scales that hold for every target: an instruction supports the types
 * and the block, and pitches are multiples of hd_scale_unit. */
heddle_status hd_problem_check_blocks(heddle_context *ctx, hd_problem *problem);
/* Groups: marks the operands with columns as one matrix that all groups share. */
void hd_problem_share_columns(hd_problem *problem);
/* Checks the rules of a statistic of D, and of its scales. */
heddle_status hd_problem_check_reduce(heddle_context *ctx, const hd_problem *problem);
/* Checks the rules of a scale_b that is computed from a statistic. */
heddle_status hd_problem_check_statistic(heddle_context *ctx, const hd_problem *problem);
/* Checks the rules of a second matrix beside D. */
heddle_status hd_problem_check_aux(heddle_context *ctx, const hd_problem *problem);
/* Checks the rules of a batch (strides, no overlap of D's matrices) and of groups. */
heddle_status hd_problem_check_batch(heddle_context *ctx, const hd_problem *problem);
/* An instruction of any target that scales blocks of its types, the nearest one by its scales'
 * type, then by its block; NULL: there is none. */
const hd_spec_row *hd_problem_scaled_row(const hd_problem *problem);
enum { HD_SCALE_ALIGN = 16 }; /* bytes: of the pointers and pitches of block scales */

/* The instruction of a family (MMA_SP, WGMMA_SP, TCGEN05_SP) for the problem; n 0: any n. NULL:
 * none. */
const hd_spec_row *hd_problem_row(const hd_problem *problem, hd_family family, int n,
                                  bool a_in_registers);
/* Whether the family has an instruction of any n: A by descriptor, or in registers (MMA_SP). */
bool hd_problem_has(const hd_problem *problem, hd_family family);
/* Whether ptxas emulates mma.sp for the problem's types (e4m3 and e5m2 from sm_90 to below sm_120),
 * which is slow and takes far more registers (specs/mma_sp.td). */
bool hd_problem_is_emulated(const hd_problem *problem);
/* The tcgen05 instruction of a pair of CTAs. */
const hd_spec_row *hd_problem_pair_row(const hd_problem *problem);

#endif
