/* heddle_kernel_set_overlapping: a second version of a product, for launches that can overlap. */
#include <string.h>

#include "Runtime/loaded_kernel.h"
#include "Support/diag.h"

static bool same_text(const char *x, const char *y) {
  return x == y || (x && y && strcmp(x, y) == 0);
}

static bool same_types(const hd_manifest *x, const hd_manifest *y) {
  return x->a_elem == y->a_elem && x->b_elem == y->b_elem && x->c_elem == y->c_elem &&
         x->d_elem == y->d_elem && x->acc_elem == y->acc_elem && x->bias_elem == y->bias_elem;
}

static bool same_layouts(const hd_manifest *x, const hd_manifest *y) {
  return x->b_mn_major == y->b_mn_major && x->d_col_major == y->d_col_major &&
         x->c_col_major == y->c_col_major && x->bias_along_n == y->bias_along_n &&
         x->scale_a_one == y->scale_a_one && x->scale_b_one == y->scale_b_one &&
         x->scale_block == y->scale_block && x->scale_rows == y->scale_rows &&
         x->scale_tiles == y->scale_tiles && x->slots == y->slots &&
         same_text(x->family, y->family);
}

static bool same_epilogue(const hd_manifest *x, const hd_manifest *y) {
  return same_text(x->act, y->act) && same_text(x->user_function, y->user_function) &&
         same_text(x->statistic, y->statistic) && same_text(x->aux, y->aux) &&
         same_text(x->scale_b_statistic, y->scale_b_statistic);
}

/* Whether a launch of x has what y needs: every argument, and none but the workspace besides. */
static bool same_arguments(const hd_manifest *x, const hd_manifest *y) {
  int32_t workspaces = hd_manifest_arg(x, HD_ARG_WORKSPACE) != NULL;
  for (int32_t i = 0; i < y->n_args; i++) {
    const hd_arg *arg = hd_manifest_arg(x, y->arg[i].kind);
    if (!arg || arg->fixed != y->arg[i].fixed || arg->elem != y->arg[i].elem)
      return false;
  }
  return x->n_args == y->n_args + workspaces;
}

static bool is_loaded_in(const heddle_kernel *kernel, const void *context) {
  for (int32_t i = 0; i < kernel->n_loaded; i++)
    if (kernel->loaded[i].context == context)
      return true;
  return false;
}

static bool starts_early(const hd_manifest *m) {
  for (int32_t i = 0; i < m->n_variants; i++)
    if (m->variant[i].dependent_launch)
      return true;
  return false;
}

#define REFUSE(...)                                                                                \
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "kernel.overlapping", __VA_ARGS__)

static heddle_status check(heddle_context *ctx, const heddle_kernel *kernel,
                           const heddle_kernel *overlapping) {
  if (overlapping == kernel || overlapping->overlapping || kernel->overlapping)
    REFUSE("kernel %s: got %s; legal: one other kernel that has none itself", kernel->manifest.name,
           overlapping == kernel ? "the same kernel" : "a second one");
  const hd_manifest *x = &kernel->manifest, *y = &overlapping->manifest;
  if (!starts_early(y))
    REFUSE("got kernel %s, which starts at the end of its predecessor; legal: one that is compiled "
           "with dependent", y->name);
  if (hd_manifest_arg(y, HD_ARG_WORKSPACE))
    REFUSE("kernel %s needs a workspace, and the launch has that of kernel %s; legal: a schedule "
           "without (split_k=1, or reduce=cluster)", y->name, x->name);
  if (!same_types(x, y) || !same_layouts(x, y) || !same_epilogue(x, y) || !same_arguments(x, y))
    REFUSE("kernel %s, %s, is not the product of kernel %s, %s; legal: the same problem", y->name,
           overlapping->prototype, x->name, kernel->prototype);
  for (int32_t i = 0; i < kernel->n_loaded; i++)
    if (kernel->runtime != overlapping->runtime ||
        !is_loaded_in(overlapping, kernel->loaded[i].context))
      REFUSE("kernel %s is not loaded in each context of kernel %s; nearest: "
             "heddle_kernel_attach", y->name, x->name);
  return HEDDLE_OK;
}

heddle_status heddle_kernel_set_overlapping(heddle_context *ctx, heddle_kernel *kernel,
                                            heddle_kernel *overlapping) {
  if (overlapping)
    HD_TRY(check(ctx, kernel, overlapping));
  kernel->overlapping = overlapping ? overlapping : kernel->overlapping;
  kernel->ordinary = true;
  return HEDDLE_OK;
}
