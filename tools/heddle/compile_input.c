#include "compile_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Compile/manifest_make.h"
#include "Passes/front.h"
#include "Support/diag.h"
#include "Support/file.h"
#include "heddle/sparse.h"
#include "sizes.h"
#include "tuned_file.h"

/* ---- ptxas ---- */

static heddle_status choose_ptxas(heddle_context *ctx, compile_input *in) {
  if (in->ptxas && !strcmp(in->ptxas, "none"))
    return HEDDLE_OK;
  if (!in->ptxas) {
    in->ptxas_path = compile_find_ptxas();
    return HEDDLE_OK;
  }
  if (access(in->ptxas, X_OK) != 0)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "tool.ptxas",
                    "'%s' cannot be run; leave --ptxas out to search PATH", in->ptxas);
  in->ptxas_path = hd_xstrdup(in->ptxas);
  return HEDDLE_OK;
}

/* ---- reading ---- */

heddle_status compile_input_read(heddle_context *ctx, compile_input *in) {
  HD_TRY(hd_file_read_text(ctx, in->path, &in->text, &in->text_bytes));
  if (in->epilogue)
    HD_TRY(hd_file_read_text(ctx, in->epilogue, &in->epilogue_text, &in->epilogue_bytes));
  if (!in->cache)
    in->cache = getenv("HEDDLE_CACHE");
  if (in->cache && !*in->cache)
    in->cache = NULL;
  return choose_ptxas(ctx, in);
}

void compile_input_free(compile_input *in) {
  free(in->text);
  free(in->epilogue_text);
  free(in->ptxas_path);
  heddle_tuned_free(in->tuned);
}

/* ---- compiling ---- */

heddle_status compile_input_compile(heddle_context *ctx, const compile_input *in, const char *text,
                                    const char *schedule, trial_kernel *kernel) {
  heddle_compile_options options = {.target = in->target,
                                    .schedule = schedule ? schedule : in->schedule,
                                    .user_epilogue = in->epilogue_text,
                                    .user_epilogue_bytes = in->epilogue_bytes,
                                    .ptxas = in->ptxas_path,
                                    .cache = in->cache};
  return trial_kernel_compile(ctx, in->path, text ? text : in->text,
                              text ? strlen(text) : in->text_bytes, &options, kernel);
}

/* ---- the product, and what was tuned for it ---- */

static heddle_status read_front(heddle_context *ctx, const compile_input *in, hd_front *front) {
  hd_pass_context pass = {.ctx = ctx, .target = in->target};
  return hd_front_parse(&pass, in->path, in->text, in->text_bytes, front);
}

heddle_status compile_input_sizes(heddle_context *ctx, const compile_input *in, const char *text,
                                  int64_t size[HD_N_ARG_KINDS]) {
  hd_front front;
  hd_manifest arguments = {0};
  if (!text)
    return HEDDLE_OK;
  HD_TRY(sizes_read(ctx, text, size));
  HD_TRY(read_front(ctx, in, &front));
  hd_manifest_args(&front.problem, false, &arguments);
  hd_front_free(&front);
  return trial_check_sizes(ctx, &arguments, size);
}

heddle_status compile_input_product(heddle_context *ctx, const compile_input *in,
                                    const int64_t hint_mnk[3], hd_product *product) {
  hd_front front;
  HD_TRY(read_front(ctx, in, &front));
  const hd_problem *p = &front.problem;
  heddle_status status = HEDDLE_OK;
  if (p->block)
    status = hd_error(ctx, HEDDLE_UNSUPPORTED, p->block_a.op->loc, "tune.block-scale",
                      "a product with block scales is not measured; legal: a schedule of one's "
                      "own, as `heddle explain` shows it");
  if (status == HEDDLE_OK)
    *product = hd_product_of(p, hint_mnk);
  hd_front_free(&front);
  return status;
}

/* What is wrong with the problem is told by its compile, once. */
heddle_status compile_input_tune(heddle_context *ctx, compile_input *in,
                                 const int64_t size[HD_N_ARG_KINDS]) {
  const int64_t hint[] = {size[HD_ARG_M], size[HD_ARG_N], size[HD_ARG_K]};
  hd_front front;
  hd_schedule s;
  if (in->schedule || in->no_tuned)
    return HEDDLE_OK;
  HD_TRY(tuned_open(ctx, in->db, &in->tuned));
  if (!in->tuned || read_front(NULL, in, &front) != HEDDLE_OK)
    return HEDDLE_OK;
  hd_op *kernel = front.problem.kernel;
  hd_product product = hd_product_of(&front.problem, hint);
  heddle_status status = HEDDLE_OK;
  if (!hd_op_has(kernel, HD_ATTR_SCHEDULE))
    status = hd_tune_pick(ctx, in->tuned, kernel, &product, &in->entry, &s);
  hd_front_free(&front);
  if (status == HEDDLE_OK && in->entry) {
    hd_schedule_print(&s, in->tuned_schedule);
    in->schedule = in->tuned_schedule;
  }
  return status;
}

heddle_status compile_packed_bytes(heddle_context *ctx, const hd_manifest *manifest, int64_t m,
                                   int64_t k, size_t *n_bytes) {
  return heddle_sparse_packed_bytes(ctx, manifest->a_elem, trial_kernel_family(manifest),
                                    (uint64_t)m, (uint64_t)k, n_bytes);
}
