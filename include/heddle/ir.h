/* heddle/ir.h: builds problems as modules, from text or from C, and prints them as text. Needs no
 * GPU, no driver, no LLVM. docs/ir.md describes the text; heddle_compile (heddle/compile.h)
 * compiles it. */
#ifndef HEDDLE_IR_H
#define HEDDLE_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/context.h"
#include "heddle/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- modules ---- */

/* A module of any level. Not thread-safe; threads may use different modules at once. */
typedef struct heddle_module heddle_module;

/* Parses and verifies a text. file names it in diagnostics (may be NULL); all arguments are
 * borrowed for the call. HEDDLE_INVALID or HEDDLE_UNSUPPORTED, with file, line and column in the
 * context. *module is owned. */
HEDDLE_API heddle_status heddle_module_parse(heddle_context *ctx, const char *file,
                                             const char *text, size_t text_bytes,
                                             heddle_module **module);
/* Accepts NULL. */
HEDDLE_API void heddle_module_free(heddle_module *module);
/* The text of a module. *text is owned (free()); one NUL follows its *text_bytes bytes. Parsing the
 * text gives an equal module, and printing that module gives the same bytes. text_bytes may be
 * NULL. */
HEDDLE_API heddle_status heddle_module_print(const heddle_module *module, char **text,
                                             size_t *text_bytes);
/* The number of kernels, and the name of the i-th (borrowed; NULL when i is out of range). */
HEDDLE_API size_t heddle_module_kernel_count(const heddle_module *module);
HEDDLE_API const char *heddle_module_kernel_name(const heddle_module *module, size_t i);
/* 32 hexadecimal digits and a NUL. Modules that differ only in the names of values, in comments and
 * in formatting have equal hashes. */
HEDDLE_API void heddle_module_hash(const heddle_module *module, char out[33]);

/* ---- problems ----
 * D[m, n] = act(alpha * (A[m, k] B[k, n] * scale_a * scale_b) + beta * C[m, n] + bias) */

/* T: columns of B with gather_b, or of D with combine_d. */
typedef enum heddle_dim {
  HEDDLE_DIM_M,
  HEDDLE_DIM_N,
  HEDDLE_DIM_K,
  HEDDLE_DIM_G,
  HEDDLE_DIM_T
} heddle_dim;

/* How a dense matrix is stored. B: k_major is n rows of k elements, mn_major is k rows of n. C and
 * D: row_major is m rows of n elements, col_major is n rows of m. */
typedef enum heddle_order {
  HEDDLE_K_MAJOR,
  HEDDLE_MN_MAJOR,
  HEDDLE_ROW_MAJOR,
  HEDDLE_COL_MAJOR
} heddle_order;

/* A problem under construction. Setters store their arguments and copy strings. A later call of a
 * setter replaces an earlier one. heddle_problem_build and heddle_compile_module check the problem.
 * Not thread-safe. */
typedef struct heddle_problem heddle_problem;

/* name: a C identifier; target: "sm_90a". Owned by the caller; NULL when out of memory. */
HEDDLE_API heddle_problem *heddle_problem_create(const char *name, const char *target);
/* Accepts NULL. */
HEDDLE_API void heddle_problem_free(heddle_problem *problem);

/* The location in diagnostics about the problem: a line of the embedder's source. */
HEDDLE_API void heddle_problem_set_place(heddle_problem *problem, const char *file, uint32_t line,
                                         uint32_t col);
/* Overrides the default schedule: "tile=128x256x64 stages=4". */
HEDDLE_API void heddle_problem_set_schedule(heddle_problem *problem, const char *schedule);

/* Sizes in elements; every size except g and t is required. g makes a batch of g products of the
 * other sizes, at most 1,048,576. A size is fixed (set_size) or known only at launch (set_dynamic).
 * The launch checks that it is at most max (0: no bound) and a multiple of divisible_by (0 or 1:
 * any value). */
HEDDLE_API void heddle_problem_set_size(heddle_problem *problem, heddle_dim dim, int64_t value);
HEDDLE_API void heddle_problem_set_dynamic(heddle_problem *problem, heddle_dim dim, int64_t max,
                                           int64_t divisible_by);

/* A, sparse, in packed order (docs/format.md); required. */
HEDDLE_API void heddle_problem_set_a(heddle_problem *problem, heddle_elem type);
/* Dense matrices. B and D are required; C adds the term beta * C. ld: the row pitch in elements; 0:
 * it is an argument of the kernel. divisible_by: a launch checks that such a pitch is a multiple of
 * it (0 or 1: any value). */
HEDDLE_API void heddle_problem_set_b(heddle_problem *problem, heddle_elem type, heddle_order order,
                                     int64_t ld, int64_t divisible_by);
HEDDLE_API void heddle_problem_set_c(heddle_problem *problem, heddle_elem type, heddle_order order,
                                     int64_t ld, int64_t divisible_by);
HEDDLE_API void heddle_problem_set_d(heddle_problem *problem, heddle_elem type, heddle_order order,
                                     int64_t ld, int64_t divisible_by);
/* The accumulator type; default s32 for integer types, else f32. */
HEDDLE_API void heddle_problem_set_accumulator(heddle_problem *problem, heddle_elem type);

/* A bias with one value for each row of D (along = HEDDLE_DIM_M) or each column (HEDDLE_DIM_N). */
HEDDLE_API void heddle_problem_set_bias(heddle_problem *problem, heddle_elem type,
                                        heddle_dim along);
/* f32 scales of A and B in device memory: one for the matrix, or one for each of the m rows of A or
 * n columns of B. They are applied before alpha, beta and bias. HEDDLE_SCALE_SUMSQ, for B only: the
 * kernel computes the scale of a column as 1 / sqrt(sum / k + eps), an RMSNorm without its weight.
 * The argument scale_b then has sums of squares of the column, as a product with
 * heddle_problem_set_reduce "sumsq" has stored them: element i * ldsb + j is for rows 128 i to
 * 128 i + 127 of column j of B. ldsb and eps (f32) are arguments, too. One product, or groups
 * without gather_b; no block scales. */
typedef enum heddle_scale {
  HEDDLE_SCALE_NONE,
  HEDDLE_SCALE_ONE,
  HEDDLE_SCALE_VECTOR,
  HEDDLE_SCALE_SUMSQ
} heddle_scale;
HEDDLE_API void heddle_problem_set_scales(heddle_problem *problem, heddle_scale a, heddle_scale b);
/* Scales of A and of B for each `block` elements of k (ue8m0, ue4m3; on sm_90a f32 for blocks of
 * 128), in k-block order, or in tile order on targets with tcgen05 (heddle/block_scale.h). Both
 * operands have them. ld_a, ld_b: pitches of a k-block in scales; 0: an argument of the kernel.
 * Tiles have no pitch. */
HEDDLE_API void heddle_problem_set_block_scales(heddle_problem *problem, heddle_elem type,
                                                int32_t block, int64_t ld_a, int64_t ld_b);
/* For f32 scales: the number of rows of A that share one (128: 128 x 128 blocks of A); 0, the
 * default: each row has its own. */
HEDDLE_API void heddle_problem_set_block_rows(heddle_problem *problem, int32_t rows);
/* Selects the instruction's kind ("mxf4nvf4", …) if several support the types; NULL: any. */
HEDDLE_API void heddle_problem_set_kind(heddle_problem *problem, const char *kind);
/* Whether alpha and beta are arguments of the kernel; otherwise they are the constant 1. */
HEDDLE_API void heddle_problem_set_scalars(heddle_problem *problem, bool alpha, bool beta);
/* The activation: "none" (the default), "relu", "gelu", "gelu_tanh", "silu". For pairs: "swiglu"
 * (silu(gate) * up), "geglu" (gelu, by erf), "geglu_tanh", "reglu" (relu): m is a multiple of 16; A
 * has m/2 rows of gate and m/2 rows of up, which heddle_sparse_pair_rows (heddle/sparse.h)
 * interleaves before they are packed. A bias and scales along m are in the original order. D has
 * m/2 rows; there is no C. */
HEDDLE_API void heddle_problem_set_act(heddle_problem *problem, const char *act);
/* A user's function instead: `float NAME(float acc, i32 row, i32 col, ptr user)`. */
HEDDLE_API void heddle_problem_set_user(heddle_problem *problem, const char *function);
/* For pairs: `float NAME(float gate, float up, i32 row, i32 col, ptr user)`; row is the row of
 * D. */
HEDDLE_API void heddle_problem_set_user_pair(heddle_problem *problem, const char *function);
/* dependent: launches may start before their predecessor in the stream has ended (programmatic
 * dependent launch, sm_90 and later), and wait for it before they access memory that it may write.
 * weights_ready: the caller guarantees that the predecessor writes neither A nor its block scales,
 * so the kernel reads them before it has ended. Both default to false; weights_ready without
 * dependent is refused. */
HEDDLE_API void heddle_problem_set_dependent(heddle_problem *problem, bool dependent,
                                             bool weights_ready);

/* In a batch, matrix i of an operand begins i strides after the first one. By default the stride is
 * an argument of the kernel ("stride_b", …; for A in bytes, a multiple of 128; otherwise in
 * elements), and 0 at launch lets all products use one matrix. This call makes the stride a
 * constant, in elements (0: one matrix for all). For A only 0 is legal; for D 0 is illegal. */
typedef enum heddle_operand {
  HEDDLE_OPERAND_A,
  HEDDLE_OPERAND_B,
  HEDDLE_OPERAND_C,
  HEDDLE_OPERAND_D,
  HEDDLE_OPERAND_BIAS,
  HEDDLE_OPERAND_SCALE_A,
  HEDDLE_OPERAND_SCALE_B
} heddle_operand;
HEDDLE_API void heddle_problem_set_stride(heddle_problem *problem, heddle_operand operand,
                                          int64_t stride);

/* Groups: the g products of a batch (at most 1,024, fixed or with max) divide the n columns of one
 * B, one C and one D: product i has those from offsets[i] to offsets[i + 1]. `offsets` is an
 * argument of the kernel, g + 1 i32 in device memory, which the kernel reads when it runs; columns
 * that belong to no group are not written. sm_90a; docs/support.md lists the limits. */
HEDDLE_API void heddle_problem_set_groups(heddle_problem *problem, bool groups);
/* Indices for groups: arguments of the kernel, n i32 each in device memory. gather_b: column j of
 * the products reads column gather_b[j] of B, which has t columns (HEDDLE_DIM_T, then required); an
 * index outside 0 to t - 1 reads zeros. scatter_d: column j is stored to column scatter_d[j] of a
 * col_major D; an index outside 0 to n - 1 stores nothing. B's address and pitch are multiples of
 * 16 bytes. */
HEDDLE_API void heddle_problem_set_indices(heddle_problem *problem, bool gather_b, bool scatter_d);
/* Sums for groups, 1 to 64 slots (0: no sums): D is col_major and has t columns (HEDDLE_DIM_T, then
 * required), each the sum of columns of the products. combine_d is an argument of the kernel, t
 * rows of `slots` i32 in device memory: the indices of these columns, in the order of addition. An
 * index outside 0 to n - 1 adds nothing; a column that belongs to no group must not be named. m is
 * fixed. The products are stored in the workspace in D's type, and a second kernel, NAME_combine,
 * adds them up. */
HEDDLE_API void heddle_problem_set_combine(heddle_problem *problem, int32_t slots);
/* Also writes a statistic of each 128 rows of a column of D, "absmax" or "sumsq" (NULL: none), to
 * the argument scale_d, an f32 array: element i * ldsd + j is for rows 128 i to 128 i + 127 of
 * column j. If the parameter scale_d is set ("absmax", and a D of e4m3, e5m2 or s8), these rows are
 * divided by a scale, which is stored instead: absmax / (the largest finite value of the type), at
 * least 2^-126. */
HEDDLE_API void heddle_problem_set_reduce(heddle_problem *problem, const char *statistic,
                                          bool scale_d);

/* Also writes a second matrix, with the shape and order of D and elements of `type` (any that D may
 * have), to the argument aux, in device memory: "result" (the result of the epilogue, before it is
 * divided by a scale of heddle_problem_set_reduce and converted to D's type) or "input" (the input
 * of the activation; not for pairs). NULL: no second matrix. The arguments ldaux and, for a batch,
 * stride_aux are its row pitch and the distance between its matrices, in elements. The string is
 * copied. Not with heddle_problem_set_combine. */
HEDDLE_API void heddle_problem_set_aux(heddle_problem *problem, const char *value,
                                       heddle_elem type);

/* Makes a verified module at problem level from the problem. HEDDLE_INVALID: a part is missing or
 * out of range; HEDDLE_UNSUPPORTED: no target supports it. heddle_compile_module checks
 * combinations (types and target, a pitch and its row, k and the group). *module is owned; the
 * problem is unchanged. */
HEDDLE_API heddle_status heddle_problem_build(heddle_context *ctx, const heddle_problem *problem,
                                              heddle_module **module);

#ifdef __cplusplus
}
#endif
#endif
