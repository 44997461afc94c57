/* heddle/problem_flags.h: a problem said in options, where no text is given:
 * --type bf16 -m 4096 -n ..65536 -k 4096 --bias m --act gelu. */
#ifndef HD_PROBLEM_FLAGS_H
#define HD_PROBLEM_FLAGS_H

#include "Support/activations.h"
#include "cli.h"

/* What was given; NULL and false: not. The texts are borrowed from argv. */
typedef struct problem_flags {
  const char *m, *n, *k, *g, *gather, *t; /* "4096", "..65536" (known at launch, at most), ".." */
  const char *type, *b_type, *acc, *d_type, *b_order, *d_order;
  const char *c_type, *bias, *scale_a, *scale_b, *act, *reduce;
  bool alpha, beta, groups, scatter, scale_d;
  int64_t combine;
} problem_flags;

/* Rows of a command's option table. The operands' names are options of their own in `run`, whose
 * values are files: it takes PROBLEM_SHAPE_OPTIONS, and these names' values into the flags where
 * no text is given. */
#define PROBLEM_SHAPE_OPTIONS(f)                                                                   \
  {"m", CLI_TEXT, &(f).m, "M",                                                                     \
   "in place of FILE, with -n, -k, --type: rows of A and D; ..M: known at launch"},                \
      {"n", CLI_TEXT, &(f).n, "N", "columns of B and D: 512, or ..65536"},                         \
      {"k", CLI_TEXT, &(f).k, "K", "columns of A, before the pruning"},                            \
      {"g", CLI_TEXT, &(f).g, "G", "a batch of so many products: 12, or ..64"},                    \
      {"groups", CLI_FLAG, &(f).groups, NULL, "with -g: groups of N columns in all"},              \
      {"gather", CLI_TEXT, &(f).gather, "T", "of groups: an index a column of a B of T columns"},  \
      {"scatter", CLI_FLAG, &(f).scatter, NULL, "of groups: an index a column of D"},              \
      {"combine", CLI_INT, &(f).combine, "C",                                                      \
       "of groups: a column of D is the sum of C of the products', by index"},                     \
      {"t", CLI_TEXT, &(f).t, "T", "with --combine: columns of D (of --gather: its T)"},           \
      {"type", CLI_TEXT, &(f).type, "T", "element type of A and B: bf16, e4m3, s8 …"},             \
      {"b-type", CLI_TEXT, &(f).b_type, "T", "B's, where it is another"},                          \
      {"acc", CLI_TEXT, &(f).acc, "T", "accumulators' (f32; s32 of integers)"},                    \
      {"d-type", CLI_TEXT, &(f).d_type, "T", "D's (f16: f16, tf32: f32, others: bf16)"},           \
      {"b-order", CLI_TEXT, &(f).b_order, "O", "k_major (default: N rows of K) or mn_major"},      \
      {"d-order", CLI_TEXT, &(f).d_order, "O", "row_major (default: M rows of N) or col_major"},   \
      {"act", CLI_TEXT, &(f).act, "F", hd_act_about},                                              \
      {"reduce", CLI_TEXT, &(f).reduce, "S",                                                       \
       "a statistic of each 128 rows of a column of D, beside D: absmax or sumsq"},                \
      {"scale-d", CLI_FLAG, &(f).scale_d, NULL,                                                    \
       "with --d-type e4m3, e5m2, s8: those rows are divided by a scale, which is stored"},        \
      {"alpha", CLI_FLAG, &(f).alpha, NULL, "alpha is an argument of the launch"}, {               \
    "beta", CLI_FLAG, &(f).beta, NULL, "beta is an argument of the launch (with -c)"               \
  }

#define PROBLEM_OPERAND_OPTIONS(f)                                                                 \
  {"bias", CLI_TEXT, &(f).bias, "D[:T]", "a bias a row (m) or a column (n) of D; of type f32"},    \
      {"c", CLI_TEXT, &(f).c_type, "T", "C, stored as D, is added; of this type"},                 \
      {"scale-a", CLI_TEXT, &(f).scale_a, "S", "f32 scales of A: one, or vector (a row)"}, {       \
    "scale-b", CLI_TEXT, &(f).scale_b, "S", "f32 scales of B: one, or vector (a column)"           \
  }

/* Was any of them given? */
bool problem_flags_given(const problem_flags *f);

/* The problem as text: *text is owned (free()). target, name: NULL: sm_90a, "gemm". HEDDLE_INVALID
 * names the option that is missing or wrong. */
heddle_status problem_flags_text(heddle_context *ctx, const problem_flags *f, const char *target,
                                 const char *name, char **text, size_t *text_bytes);

#endif
