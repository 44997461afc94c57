/* heddle/problem_flags.h: a problem given by options instead of a text: --type bf16 -m 4096 -n
 * ..65536 -k 4096 --bias m --act gelu. */
#ifndef HD_PROBLEM_FLAGS_H
#define HD_PROBLEM_FLAGS_H

#include "Support/activations.h"
#include "cli.h"

/* NULL and false: not given. Texts are borrowed from argv. */
typedef struct problem_flags {
  const char *m, *n, *k, *g, *gather, *t; /* "4096", "..65536" (known at launch, at most), ".." */
  const char *type, *b_type, *acc, *d_type, *b_order, *d_order;
  const char *c_type, *bias, *scale_a, *scale_b, *act, *reduce, *aux, *blocks;
  bool alpha, beta, groups, scatter, scale_d;
  int64_t combine;
} problem_flags;

/* Rows of a command's option table. In `run`, the names of operands are options for files. It uses
 * only PROBLEM_SHAPE_OPTIONS, and copies its operand options to the flags if there is no text. */
#define PROBLEM_SHAPE_OPTIONS(f)                                                                   \
  {"m", CLI_TEXT, &(f).m, "M",                                                                     \
   "rows of A and D, or ..M (with -n, -k and --type: replaces FILE)"},                             \
      {"n", CLI_TEXT, &(f).n, "N", "columns of B and D: 512, or ..65536 (known at launch)"},       \
      {"k", CLI_TEXT, &(f).k, "K", "columns of the dense A"},                                      \
      {"g", CLI_TEXT, &(f).g, "G", "a batch of G products: 12, or ..64"},                          \
      {"groups", CLI_FLAG, &(f).groups, NULL, "with -g: groups, N columns in total"},              \
      {"gather", CLI_TEXT, &(f).gather, "T",                                                       \
       "with --groups: B has T columns, which the products take by index"},                        \
      {"scatter", CLI_FLAG, &(f).scatter, NULL, "with --groups: an index for each column of D"},   \
      {"combine", CLI_INT, &(f).combine, "C",                                                      \
       "with --groups: each column of D is the sum of C columns, by index"},                       \
      {"t", CLI_TEXT, &(f).t, "T", "with --combine: columns of D (default: T of --gather)"},       \
      {"type", CLI_TEXT, &(f).type, "T", "element type of A and B: bf16, e4m3, s8 …"},             \
      {"b-type", CLI_TEXT, &(f).b_type, "T", "element type of B, if it differs"},                  \
      {"acc", CLI_TEXT, &(f).acc, "T", "accumulator type (f32; s32 for integers)"},                \
      {"d-type", CLI_TEXT, &(f).d_type, "T",                                                       \
       "element type of D (f16: f16, tf32: f32, others: bf16)"},                                   \
      {"b-order", CLI_TEXT, &(f).b_order, "O",                                                     \
       "order of B: k_major (default; stored N x K) or mn_major"},                                 \
      {"d-order", CLI_TEXT, &(f).d_order, "O",                                                     \
       "order of D: row_major (default; stored M x N) or col_major"},                              \
      {"act", CLI_TEXT, &(f).act, "F", hd_act_about},                                              \
      {"reduce", CLI_TEXT, &(f).reduce, "S",                                                       \
       "a statistic of each 128 rows of a column of D, beside D: absmax or sumsq"},                \
      {"scale-d", CLI_FLAG, &(f).scale_d, NULL,                                                    \
       "with --d-type e4m3, e5m2, s8: those rows are divided by a scale, which is stored"},        \
      {"aux", CLI_TEXT, &(f).aux, "V[:T]",                                                         \
       "a second matrix of type T (bf16) beside D: result, before D's conversion; input, of act"}, \
      {"blocks", CLI_TEXT, &(f).blocks, "S",                                                       \
       "block scales: f32 for 128x128 or 1x128 of A and 1x128 of B (sm_90a), or T:K as ue8m0:64"}, \
      {"alpha", CLI_FLAG, &(f).alpha, NULL, "alpha is an argument of the launch"}, {               \
    "beta", CLI_FLAG, &(f).beta, NULL, "beta is an argument of the launch (with -c)"               \
  }

#define PROBLEM_OPERAND_OPTIONS(f)                                                                 \
  {"bias", CLI_TEXT, &(f).bias, "D[:T]", "add a bias for each row (m) or column (n) of D (f32)"},  \
      {"c", CLI_TEXT, &(f).c_type, "T", "add C, of type T and stored like D"},                     \
      {"scale-a", CLI_TEXT, &(f).scale_a, "S",                                                     \
       "f32 scales of A: one, or vector (one for each row)"}, {                                    \
    "scale-b", CLI_TEXT, &(f).scale_b, "S",                                                        \
        "f32 scales of B: one, vector (one for each column), or sumsq (from sums of squares)"      \
  }

/* Whether any option was given. */
bool problem_flags_given(const problem_flags *f);

/* Writes the problem as text; *text is owned (free()). target NULL: sm_90a; name NULL: "gemm".
 * HEDDLE_INVALID names the option that is missing or wrong. */
heddle_status problem_flags_text(heddle_context *ctx, const problem_flags *f, const char *target,
                                 const char *name, char **text, size_t *text_bytes);

#endif
