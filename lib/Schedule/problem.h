/* Schedule/problem.h: a kernel of problem or tile level read into one record. */
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

/* A dense matrix operand, scales, or D. ld 0: an argument of the kernel. */
typedef struct hd_dense {
  hd_op *op; /* `dense`, `vector`, `block_scale` or `store`; NULL: not there */
  heddle_elem elem;
  bool transposed; /* b: mn_major; c, d: col_major */
  bool one;        /* a scale of one element for the whole matrix */
  int64_t ld, divisible_by;
  int64_t g_stride; /* of a batch: elements from one matrix to the next; 0: an argument */
  bool shared;      /* of a batch: all its products take the one matrix that there is; of groups
                       what has columns, too */
} hd_dense;

typedef struct hd_problem {
  hd_op *kernel;
  const hd_target *target;
  hd_size m, n, k;
  hd_size g; /* of a batch, and of groups: how many products; op NULL: it is one */
  hd_op *offsets; /* the vector that makes g products groups of columns; NULL: there is none */
  hd_op *gather, *scatter; /* of groups: indices of B's and of D's columns; NULL: there are none */
  hd_op *combine; /* of groups: which columns each of D is the sum of; NULL: D has theirs */
  hd_size t;               /* with gather: columns of B; with combine: of D */
  heddle_elem a_elem, acc_elem;
  hd_op *sparse, *matmul, *epilogue, *store;
  bool a_shared; /* as hd_dense.shared */
  hd_dense b, c, d, bias, scale_a, scale_b, block_a, block_b;
  int32_t block;    /* elements of k that share a scale of block_a, block_b; 0: there are none */
  int32_t block_rows; /* rows of A that do */
  const char *kind; /* of the instruction; NULL: any */
  bool alpha, beta, bias_along_n;
  const char *act, *user;
  bool pair; /* A's rows are gate and up, interleaved by 8; D has m / 2 rows */
  const char *reduce; /* the statistic of each 128 rows of D and column; NULL: there is none */
  bool scale_d;       /* by which D is scaled, and what is stored of it is the scale */
  hd_dense reduced;   /* where it is stored, f32 */
} hd_problem;

/* Reads the kernel (region of the problem's ops, or the `work` region's kernel at tile level) and
 * checks the rules that hold for every target: one matmul, its operands, K a multiple of the group,
 * strides no shorter than a row. HEDDLE_INVALID with rule, value and nearest legal value. */
heddle_status hd_problem_read(heddle_context *ctx, hd_op *kernel, hd_problem *problem);

/* Those rules of them that sizes decide: for a problem whose sizes were fixed after it was read. */
heddle_status hd_problem_check_sizes(heddle_context *ctx, hd_problem *problem);

/* --- arguments of a kernel for the problem (Kernel/args.def) --- */
/* Has it: what problem and layout ask for. Not the workspace, which is a schedule's. */
bool hd_problem_takes(const hd_problem *problem, hd_arg_kind arg);
/* Whose pointer, pitch or stride it is; NULL: of A, or of no operand. */
const hd_dense *hd_problem_operand(const hd_problem *problem, hd_arg_kind arg);
/* m, n, k, g or t; NULL: another. */
const hd_size *hd_problem_size(const hd_problem *problem, hd_arg_kind arg);
/* What a pointer points to. */
heddle_elem hd_problem_pointee(const hd_problem *problem, hd_arg_kind arg);
/* The size that a stored row has, of a k-block's scales that there are rows of. */
hd_arg_kind hd_problem_row_size(const hd_problem *problem, hd_arg_kind pitch);

static inline bool hd_is_batch(const hd_problem *problem) { return problem->g.op != NULL; }
/* A batch whose products have columns of one B and one D each, which offsets say. */
static inline bool hd_is_grouped(const hd_problem *problem) { return problem->offsets != NULL; }
/* Groups at most. */
static inline int64_t hd_most_groups(const hd_problem *problem) {
  return problem->g.value ? problem->g.value : problem->g.max;
}
/* Matrices of the operand are a stride apart, which is an argument of the kernel. */
static inline bool hd_has_stride(const hd_problem *problem, const hd_dense *x) {
  return hd_is_batch(problem) && x->op && !x->shared;
}

/* With combine: indices of a column of D, and from one column of the products to the next where
 * they are stored, in elements: whole runs of 16 bytes of any type. */
static inline int64_t hd_combine_slots(const hd_problem *problem) {
  return hd_op_int(problem->combine, HD_ATTR_SLOTS, 1);
}
int64_t hd_combine_pitch(const hd_problem *problem);

/* Rows of A for a row of D: 2 of pairs, else 1. */
static inline int32_t hd_rows_of_d(const hd_problem *problem) { return problem->pair ? 2 : 1; }

enum { HD_REDUCE_ROWS = 128 /* of D: a k-block of a product of 8 bits that reads it */ };
/* Rows of A for a statistic: those, of pairs twice as many. */
static inline int32_t hd_reduce_rows(const hd_problem *problem) {
  return HD_REDUCE_ROWS * hd_rows_of_d(problem);
}

/* How many elements share a byte: 2 of the 4-bit types, else 1. */
static inline int32_t hd_elems_per_byte(heddle_elem elem) {
  int32_t bits = heddle_elem_get(elem)->container_bits;
  return bits < 8 ? 8 / bits : 1;
}
/* Block scales of a row of A, or a column of B, in a k-block. */
int32_t hd_scales_a_row(const hd_problem *problem);
/* No instruction takes them: the sums of a k-block are scaled and promoted to others (f32). */
static inline bool hd_scales_promoted(const hd_problem *problem) {
  return problem->block && problem->block_a.elem == HEDDLE_F32;
}
/* Scales in the bytes that pitches and copies are whole units of. */
int32_t hd_scale_unit(const hd_problem *problem);
/* Scales are stored as tensor memory takes them: in tiles of 128 rows by 4, along k. Else in
 * k-blocks. A k-block has so many whole tiles, or a part of one. */
bool hd_scales_in_tiles(const hd_problem *problem);
int32_t hd_scale_tiles(const hd_problem *problem);
/* How many times 128 rows or columns a tile of so many reaches into. It begins with a band, or (64,
 * 192 columns) in its middle. */
int32_t hd_scale_bands(int32_t rows);
/* Bytes of what a tensor map of such elements counts in: 4-bit ones go in pairs. */
static inline int32_t hd_map_bytes(heddle_elem elem) {
  int32_t bits = heddle_elem_get(elem)->container_bits;
  return bits < 8 ? 1 : bits / 8;
}

/* Consecutive columns of D that a lane stores where B's rows are permuted: 16 bytes. N is then a
 * multiple of four lanes' of them. */
int32_t hd_d_run(const hd_problem *problem);

/* The rules of block scales that hold for every target: types and block are those of an
 * instruction, pitches in whole copies. */
heddle_status hd_problem_check_blocks(heddle_context *ctx, hd_problem *problem);
/* Of groups, what has columns is one matrix of all of them. */
void hd_problem_share_columns(hd_problem *problem);
/* The rules of a statistic of D, and of its scales. */
heddle_status hd_problem_check_reduce(heddle_context *ctx, const hd_problem *problem);
/* The rules of a batch: strides only with one, D's matrices apart; those of groups. */
heddle_status hd_problem_check_batch(heddle_context *ctx, const hd_problem *problem);
/* An instruction of any target that scales blocks of its types, the nearest one by its scales'
 * type, then by its block; NULL: there is none. */
const hd_spec_row *hd_problem_scaled_row(const hd_problem *problem);
enum { HD_SCALE_ALIGN = 16 }; /* bytes: of the pointers and pitches of block scales */

/* The instruction of a family (MMA_SP, WGMMA_SP, TCGEN05_SP) for the problem; n 0: any. NULL when
 * there is none. */
const hd_spec_row *hd_problem_row(const hd_problem *problem, hd_family family, int n,
                                  bool a_in_registers);
/* Has one of any shape: A by descriptor, or for MMA_SP in registers. */
bool hd_problem_has(const hd_problem *problem, hd_family family);
/* mma.sp of its types is made of other instructions by ptxas (e4m3 and e5m2 from sm_90 to before
 * sm_120): with far more registers, and slowly (specs/mma_sp.td). */
bool hd_problem_is_emulated(const hd_problem *problem);
/* The tcgen05 instruction of a pair of CTAs. */
const hd_spec_row *hd_problem_pair_row(const hd_problem *problem);

#endif
