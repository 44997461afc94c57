#include "problem_flags.h"

#include <stdio.h>
#include <string.h>

#include "Choice/product.h"
#include "Support/activations.h"
#include "Support/batch.h"
#include "Support/diag.h"
#include "heddle/ir.h"

bool problem_flags_given(const problem_flags *f) {
  const char *const texts[] = {f->m,    f->n,       f->k,       f->type,    f->b_type,
                               f->acc,  f->d_type,  f->b_order, f->d_order, f->c_type,
                               f->bias, f->scale_a, f->scale_b, f->act,     f->g,       f->gather,
                               f->t,    f->reduce,  f->aux,     f->blocks};
  for (size_t i = 0; i < HD_COUNT(texts); i++)
    if (texts[i])
      return true;
  return f->alpha || f->beta || f->scale_d;
}

static heddle_status wrong(heddle_context *ctx, const char *option, const char *got,
                           const char *legal) {
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "problem.option", "got %s %.60s; legal: %s",
                  option, got, legal);
}

/* The index of `text` in words; NULL: 0, the default. */
static heddle_status read_word(heddle_context *ctx, const char *option, const char *text,
                               const char *const *words, int n, int *which) {
  *which = 0;
  for (int i = 0; text && i < n; i++)
    if (strcmp(text, words[i]) == 0) {
      *which = i;
      return HEDDLE_OK;
    }
  if (!text)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "problem.option", "got %s %.60s; nearest: %s",
                  option, text, cli_nearest(text, words, (size_t)n));
}

static heddle_status read_elem(heddle_context *ctx, const char *option, const char *text,
                               heddle_elem otherwise, heddle_elem *elem) {
  const char *names[HEDDLE_N_ELEMS];
  int which;
  *elem = otherwise;
  if (!text)
    return HEDDLE_OK;
  for (int i = 0; i < HEDDLE_N_ELEMS; i++)
    names[i] = heddle_elem_get((heddle_elem)i)->name;
  HD_TRY(read_word(ctx, option, text, names, HEDDLE_N_ELEMS, &which));
  *elem = (heddle_elem)which;
  return HEDDLE_OK;
}

/* Parses "4096", "..65536" or "..". */
static heddle_status read_size(heddle_context *ctx, heddle_problem *p, heddle_dim dim,
                               const char *option, const char *text, int64_t divisible_by) {
  int64_t value = 0;
  bool dynamic = text && strncmp(text, "..", 2) == 0;
  const char *digits = text ? text + 2 * dynamic : "";
  if (!text)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "problem.option",
                    "%s is missing; legal: -m, -n, -k and --type together, or a FILE", option);
  if ((*digits || !dynamic) && (!cli_parse_int(digits, &value) || value < 1))
    return wrong(ctx, option, text,
                 "a size as 4096, or ..65536 for one that is known only at launch");
  if (dynamic)
    heddle_problem_set_dynamic(p, dim, value, divisible_by);
  else
    heddle_problem_set_size(p, dim, value);
  return HEDDLE_OK;
}

/* Parses "m" or "n:bf16". */
static heddle_status read_bias(heddle_context *ctx, heddle_problem *p, const char *text) {
  static const char *const types[] = {"f32", "bf16", "f16"};
  static const heddle_elem elems[] = {HEDDLE_F32, HEDDLE_BF16, HEDDLE_F16};
  int which;
  if ((text[0] != 'm' && text[0] != 'n') || (text[1] && text[1] != ':'))
    return wrong(ctx, "--bias", text,
                 "m (one for each row of D) or n (one for each column), as m or m:bf16");
  HD_TRY(read_word(ctx, "--bias", text[1] ? text + 2 : NULL, types, HD_COUNT(types), &which));
  heddle_problem_set_bias(p, elems[which], text[0] == 'm' ? HEDDLE_DIM_M : HEDDLE_DIM_N);
  return HEDDLE_OK;
}

static heddle_status read_scales(heddle_context *ctx, heddle_problem *p, const problem_flags *f) {
  static const char *const words[] = {"none", "one", "vector", "sumsq"};
  enum { OF_A = 3 };
  int a, b;
  HD_TRY(read_word(ctx, "--scale-a", f->scale_a, words, OF_A, &a));
  HD_TRY(read_word(ctx, "--scale-b", f->scale_b, words, HD_COUNT(words), &b));
  heddle_problem_set_scales(p, (heddle_scale)a, (heddle_scale)b);
  return HEDDLE_OK;
}

/* A scale requires absmax. */
static heddle_status read_reduce(heddle_context *ctx, heddle_problem *p, const problem_flags *f) {
  static const char *const words[] = {"absmax", "sumsq"};
  int which;
  HD_TRY(read_word(ctx, "--reduce", f->reduce, words, HD_COUNT(words), &which));
  if (f->reduce || f->scale_d)
    heddle_problem_set_reduce(p, words[which], f->scale_d);
  return HEDDLE_OK;
}

/* Parses "result" or "input:f32". */
static heddle_status read_aux(heddle_context *ctx, heddle_problem *p, const char *text) {
  static const char *const words[] = {"result", "input"};
  char word[16];
  int which;
  heddle_elem elem;
  size_t n = strcspn(text, ":");
  snprintf(word, sizeof word, "%.*s", (int)n, text);
  HD_TRY(read_word(ctx, "--aux", word, words, HD_COUNT(words), &which));
  HD_TRY(read_elem(ctx, "--aux", text[n] ? text + n + 1 : NULL, HEDDLE_BF16, &elem));
  heddle_problem_set_aux(p, words[which], elem);
  return HEDDLE_OK;
}

/* Parses "128x128", "1x128" or "ue8m0:64". */
static heddle_status read_blocks(heddle_context *ctx, heddle_problem *p, const char *text) {
  enum { BLOCK = 128, MOST = 1 << 16 };
  static const char legal[] = "128x128, 1x128, or a type and a number of elements as ue8m0:64";
  char word[16];
  heddle_elem type = HEDDLE_F32;
  int64_t block = BLOCK;
  bool tiles = strcmp(text, "128x128") == 0;
  size_t n = strcspn(text, ":");
  if (!text[n] && !tiles && strcmp(text, "1x128") != 0)
    return wrong(ctx, "--blocks", text, legal);
  if (text[n]) {
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    HD_TRY(read_elem(ctx, "--blocks", word, type, &type));
    if (!cli_parse_int(text + n + 1, &block) || block < 1 || block > MOST)
      return wrong(ctx, "--blocks", text, legal);
  }
  heddle_problem_set_block_scales(p, type, (int32_t)block, 0, 0);
  heddle_problem_set_block_rows(p, tiles ? BLOCK : 0);
  return HEDDLE_OK;
}

static heddle_status read_operands(heddle_context *ctx, heddle_problem *p, const problem_flags *f) {
  static const char *const b_orders[] = {"k_major", "mn_major"}, *const d_orders[] = {"row_major",
                                                                                      "col_major"};
  heddle_elem a, b, acc, c, d;
  int b_order, d_order;
  if (!f->type)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "problem.option",
                    "--type is missing; legal: -m, -n, -k and --type together, or a FILE");
  HD_TRY(read_elem(ctx, "--type", f->type, HEDDLE_BF16, &a));
  HD_TRY(read_elem(ctx, "--b-type", f->b_type, a, &b));
  HD_TRY(read_elem(ctx, "--acc", f->acc, heddle_elem_get(a)->acc, &acc));
  HD_TRY(read_elem(ctx, "--d-type", f->d_type, heddle_elem_get(a)->d, &d));
  HD_TRY(read_word(ctx, "--b-order", f->b_order, b_orders, HD_COUNT(b_orders), &b_order));
  HD_TRY(read_word(ctx, "--d-order", f->d_order, d_orders, HD_COUNT(d_orders), &d_order));
  heddle_order stored = d_order ? HEDDLE_COL_MAJOR : HEDDLE_ROW_MAJOR;
  heddle_problem_set_a(p, a);
  heddle_problem_set_b(p, b, b_order ? HEDDLE_MN_MAJOR : HEDDLE_K_MAJOR, 0, 0);
  heddle_problem_set_accumulator(p, acc);
  heddle_problem_set_d(p, d, stored, 0, 0);
  if (f->c_type) {
    HD_TRY(read_elem(ctx, "-c", f->c_type, d, &c));
    heddle_problem_set_c(p, c, stored, 0, 0);
  }
  return f->bias ? read_bias(ctx, p, f->bias) : HEDDLE_OK;
}

static heddle_status build(heddle_context *ctx, heddle_problem *p, const problem_flags *f,
                           heddle_module **module) {
  if (!p)
    return HEDDLE_NO_MEMORY;
  heddle_problem_set_place(p, "command line", 1, 1);
  HD_TRY(read_size(ctx, p, HEDDLE_DIM_M, "-m", f->m,
                   hd_act_is_pair(f->act) ? 2 * HD_PAIR_ROWS : 0));
  HD_TRY(read_size(ctx, p, HEDDLE_DIM_N, "-n", f->n, 0));
  HD_TRY(read_size(ctx, p, HEDDLE_DIM_K, "-k", f->k, 0));
  if (f->g)
    HD_TRY(read_size(ctx, p, HEDDLE_DIM_G, "-g", f->g, 0));
  heddle_problem_set_groups(p, f->groups);
  heddle_problem_set_indices(p, f->gather != NULL, f->scatter);
  if (f->combine < 0 || f->combine > HD_COMBINE_MOST)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "problem.option",
                    "got --combine %lld; legal: 1 to %d", (long long)f->combine, HD_COMBINE_MOST);
  heddle_problem_set_combine(p, (int32_t)f->combine);
  if (f->gather || f->t)
    HD_TRY(read_size(ctx, p, HEDDLE_DIM_T, f->gather ? "--gather" : "-t",
                     f->gather ? f->gather : f->t, 0));
  HD_TRY(read_operands(ctx, p, f));
  if (f->scale_a || f->scale_b)
    HD_TRY(read_scales(ctx, p, f));
  if (f->alpha || f->beta)
    heddle_problem_set_scalars(p, f->alpha, f->beta);
  if (f->act)
    heddle_problem_set_act(p, f->act);
  HD_TRY(read_reduce(ctx, p, f));
  if (f->aux)
    HD_TRY(read_aux(ctx, p, f->aux));
  if (f->blocks)
    HD_TRY(read_blocks(ctx, p, f->blocks));
  return heddle_problem_build(ctx, p, module);
}

heddle_status problem_flags_text(heddle_context *ctx, const problem_flags *f, const char *target,
                                 const char *name, char **text, size_t *text_bytes) {
  heddle_module *module = NULL;
  heddle_problem *problem = heddle_problem_create(name ? name : "gemm", target ? target : "sm_90a");
  heddle_status status = build(ctx, problem, f, &module);
  if (status == HEDDLE_OK)
    status = heddle_module_print(module, text, text_bytes);
  heddle_module_free(module);
  heddle_problem_free(problem);
  return status;
}
