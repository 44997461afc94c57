/* Generates the checks and the launch code of a launcher: one line of C for each rule of the
 * manifest, in the order of hd_manifest_plan. ORDER launch checks: manifest_plan.c. */
#include <inttypes.h>

#include "Kernel/launcher_c.h"

static bool is_number(hd_arg_kind kind) {
  heddle_arg_class class = hd_arg_class_of(kind);
  return class == HEDDLE_CLASS_I32 || class == HEDDLE_CLASS_I64;
}

void hd_launcher_params(hd_strbuf *out, const hd_manifest *manifest, bool numbers_only) {
  for (int i = 0; i < manifest->n_args; i++) {
    const hd_arg *arg = &manifest->arg[i];
    if (hd_arg_is_passed(arg) && (!numbers_only || is_number(arg->kind)))
      hd_strbuf_printf(out, "%s%s, ", hd_arg_c_type(arg->kind), hd_arg_name(arg->kind));
  }
}

void hd_launcher_initialiser(hd_strbuf *out, const hd_manifest *manifest, bool numbers_only) {
  const char *separator = "{";
  for (int i = 0; i < manifest->n_args; i++) {
    const hd_arg *arg = &manifest->arg[i];
    const char *name = hd_arg_name(arg->kind);
    if (numbers_only && !is_number(arg->kind))
      continue;
    if (!hd_arg_is_passed(arg))
      hd_strbuf_printf(out, "%s.%s = INT64_C(%" PRId64 ")", separator, name, arg->fixed);
    else if (hd_arg_class_of(arg->kind) == HEDDLE_CLASS_PTR)
      hd_strbuf_printf(out, "%s.%s = (uint64_t)(uintptr_t)%s", separator, name, name);
    else
      hd_strbuf_printf(out, "%s.%s = %s", separator, name, name);
    separator = ",\n                 ";
  }
  hd_strbuf_add(out, "}");
}

void hd_launcher_values(hd_strbuf *out, const hd_manifest *manifest) {
  static const char *const types[] = {"uint64_t", "int64_t", "int64_t", "float"};
  hd_strbuf_add(out, "typedef struct hd_values {\n");
  for (int i = 0; i < manifest->n_args; i++) {
    hd_arg_kind kind = manifest->arg[i].kind;
    hd_strbuf_printf(out, "  %s %s;\n", types[hd_arg_class_of(kind)], hd_arg_name(kind));
  }
  hd_strbuf_add(out, "} hd_values;\n\n");
}

/* arg * mul + add, without the neutral parts. */
static void add_linear(hd_strbuf *out, const hd_expr *expr) {
  bool is_pointer = hd_arg_class_of(expr->arg) == HEDDLE_CLASS_PTR;
  if (expr->arg == HD_ARG_NONE) {
    hd_strbuf_printf(out, "INT64_C(%" PRId64 ")", expr->mul + expr->add);
    return;
  }
  hd_strbuf_printf(out, "%sv->%s", is_pointer ? "(int64_t)" : "", hd_arg_name(expr->arg));
  if (expr->mul != 1)
    hd_strbuf_printf(out, " * INT64_C(%" PRId64 ")", expr->mul);
  if (expr->add != 0)
    hd_strbuf_printf(out, " + INT64_C(%" PRId64 ")", expr->add);
}

/* An expression as C, over `v`, parenthesized so that it can be an operand. */
static void add_expr(hd_strbuf *out, const hd_expr *expr) {
  hd_strbuf_add(out, expr->div > 1 ? "hd_ceil_div(" : "(");
  add_linear(out, expr);
  if (expr->div > 1)
    hd_strbuf_printf(out, ", INT64_C(%" PRId64 ")", expr->div);
  hd_strbuf_add(out, ")");
}

static void add_divisible(hd_strbuf *out, const hd_arg *arg) {
  if (arg->divisible_by > 1)
    hd_strbuf_printf(out, "  if (v->%s %% INT64_C(%" PRId64 ") != 0)\n"
                          "    return HEDDLE_LAUNCH_DIVISIBLE;\n",
                     hd_arg_name(arg->kind), arg->divisible_by);
}

static void add_size_checks(hd_strbuf *out, const hd_arg *arg) {
  const char *name = hd_arg_name(arg->kind);
  hd_strbuf_printf(out, "  if (v->%s < %d)\n    return HEDDLE_LAUNCH_SIZE;\n", name,
                   arg->kind == HD_ARG_K);
  hd_strbuf_printf(out, "  if (v->%s > INT64_C(%" PRId64 "))\n    return HEDDLE_LAUNCH_MAX;\n",
                   name, arg->max > 0 ? arg->max : (int64_t)INT32_MAX);
  add_divisible(out, arg);
}

static void add_stride_checks(hd_strbuf *out, const hd_arg *arg) {
  static const hd_expr one = {HD_ARG_NONE, 1, 0, 1};
  const char *name = hd_arg_name(arg->kind);
  hd_strbuf_printf(out, "  if (v->%s < ", name);
  add_expr(out, arg->at_least.div > 0 ? &arg->at_least : &one);
  hd_strbuf_add(out, ")\n    return HEDDLE_LAUNCH_STRIDE;\n");
  hd_strbuf_printf(out, "  if (v->%s > INT64_C(%" PRId64 "))\n    return HEDDLE_LAUNCH_MAX;\n",
                   name, arg->max > 0 && arg->max < HD_MAX_STRIDE ? arg->max : HD_MAX_STRIDE);
  add_divisible(out, arg);
}

/* hd_batch_overlaps for D, or for aux. Earlier checks ensure that pitch and stride are at least a
 * row. */
static void add_batch_check(hd_strbuf *out, const hd_manifest *manifest, const char *matrix) {
  const char *m = hd_act_is_pair(manifest->act) ? "m / 2" : "m";
  const char *rows = manifest->d_col_major ? "n" : m, *row = manifest->d_col_major ? m : "n";
  hd_strbuf_printf(out,
                   "  if (v->g > 1 && v->m > 0 && v->n > 0 &&\n"
                   "      (v->stride_%s - v->%s) / v->ld%s < v->%s - 1 &&\n"
                   "      (v->ld%s - v->%s) / v->stride_%s < v->g - 1)\n"
                   "    return HEDDLE_LAUNCH_STRIDE;\n",
                   matrix, row, matrix, rows, matrix, row, matrix);
}

static void add_pointer_checks(hd_strbuf *out, const hd_arg *arg) {
  const char *name = hd_arg_name(arg->kind);
  if (arg->kind == HD_ARG_WORKSPACE)
    hd_strbuf_printf(out, "  if (v->%s == 0 && workspace_bytes > 0)\n"
                          "    return HEDDLE_LAUNCH_NULL;\n", name);
  else if (arg->kind != HD_ARG_USER)
    hd_strbuf_printf(out, "  if (v->%s == 0)\n    return HEDDLE_LAUNCH_NULL;\n", name);
  if (arg->align > 1)
    hd_strbuf_printf(out, "  if (v->%s %% %d != 0)\n    return HEDDLE_LAUNCH_ALIGN;\n", name,
                     arg->align);
}

/* The pointer checks of the combine kernel, which runs alone if there are no products. */
static void add_combined_checks(hd_strbuf *out, const hd_manifest *manifest) {
  const hd_variant *combiner = hd_manifest_combiner(manifest);
  if (!combiner)
    return;
  hd_strbuf_add(out, "static int hd_check_combined(const hd_values *v) {\n");
  for (int i = 0; i < manifest->n_args; i++) {
    const hd_arg *arg = &manifest->arg[i];
    if (hd_arg_class_of(arg->kind) == HEDDLE_CLASS_PTR && arg->kind != HD_ARG_WORKSPACE &&
        hd_variant_takes(combiner, arg->kind))
      add_pointer_checks(out, arg);
  }
  hd_strbuf_add(out, "  return HEDDLE_LAUNCH_OK;\n}\n\n");
}

void hd_launcher_checks(hd_strbuf *out, const hd_manifest *manifest) {
  hd_strbuf_add(out, "static int hd_check_numbers(const hd_values *v) {\n");
  for (int i = 0; i < manifest->n_args; i++) {
    if (hd_arg_class_of(manifest->arg[i].kind) == HEDDLE_CLASS_I32)
      add_size_checks(out, &manifest->arg[i]);
  }
  for (int i = 0; i < manifest->n_args; i++) {
    if (hd_arg_class_of(manifest->arg[i].kind) == HEDDLE_CLASS_I64)
      add_stride_checks(out, &manifest->arg[i]);
  }
  if (hd_manifest_arg(manifest, HD_ARG_G) && !hd_manifest_is_grouped(manifest))
    add_batch_check(out, manifest, "d");
  if (hd_manifest_arg(manifest, HD_ARG_STRIDE_AUX))
    add_batch_check(out, manifest, "aux");
  hd_strbuf_add(out,
                "  return HEDDLE_LAUNCH_OK;\n}\n\n"
                "static int hd_check_pointers(const hd_values *v, uint64_t workspace_bytes) {\n"
                "  (void)workspace_bytes;\n");
  for (int i = 0; i < manifest->n_args; i++) {
    if (hd_arg_class_of(manifest->arg[i].kind) == HEDDLE_CLASS_PTR)
      add_pointer_checks(out, &manifest->arg[i]);
  }
  hd_strbuf_add(out, "  return HEDDLE_LAUNCH_OK;\n}\n\n");
  add_combined_checks(out, manifest);
}

/* Variants. */

static void add_bound(hd_strbuf *out, const hd_requirement *r, const char *otherwise) {
  if (r->at_most == 0)
    return;
  hd_strbuf_add(out, "  if (");
  add_expr(out, &r->value);
  hd_strbuf_printf(out, " > INT64_C(%" PRId64 "))\n    return %s;\n", r->at_most, otherwise);
}

static void add_fits(hd_strbuf *out, const hd_variant *variant, int index) {
  hd_strbuf_printf(out, "static int hd_fits_%d(const hd_values *v) {\n  (void)v;\n", index);
  for (int i = 0; i < variant->n_requirements; i++) {
    const hd_requirement *r = &variant->requirement[i];
    add_bound(out, r, "0");
    if (r->modulo == 1)
      continue;
    hd_strbuf_add(out, "  if (");
    add_expr(out, &r->value);
    hd_strbuf_printf(out, " %% INT64_C(%" PRId64 ") != 0)\n    return 0;\n", r->modulo);
  }
  hd_strbuf_add(out, "  return 1;\n}\n\n");
}

static void add_workspace(hd_strbuf *out, const hd_variant *variant, int index) {
  hd_strbuf_printf(out, "static int64_t hd_tile_workspace_%d(const hd_values *v) {\n  (void)v;\n",
                   index);
  for (int i = 0; i < variant->n_requirements; i++)
    add_bound(out, &variant->requirement[i], "-1");
  hd_strbuf_add(out, "  return ");
  if (variant->workspace_bytes_per_tile.div > 0)
    add_expr(out, &variant->workspace_bytes_per_tile);
  else
    hd_strbuf_add(out, "0");
  hd_strbuf_add(out, ";\n}\n\n");
}

/* The dimensions or strides of a tensor map. A map of rank 1 has no strides and gets a single 0. */
static void add_exprs(hd_strbuf *out, const char *name, const hd_expr *exprs, int from, int rank) {
  hd_strbuf_printf(out, "    const int64_t %s[5] = {", name);
  for (int i = from; i < rank; i++) {
    if (from > 0 && hd_arg_is_batch_stride(exprs[i].arg)) /* 0: all use one matrix */
      hd_strbuf_printf(out, "v->%s == 0 ? 16 : ", hd_arg_name(exprs[i].arg));
    add_expr(out, &exprs[i]);
    hd_strbuf_add(out, i + 1 < rank ? ", " : "");
  }
  hd_strbuf_add(out, from < rank ? "};\n" : "0};\n");
}

static void add_tmap(hd_strbuf *out, const hd_tmap_recipe *tmap, int index) {
  hd_strbuf_add(out, "  {\n");
  add_exprs(out, "dims", tmap->dim, 0, tmap->rank);
  add_exprs(out, "strides", tmap->stride, 1, tmap->rank);
  hd_strbuf_add(out, "    static const uint32_t box[5] = {");
  for (int i = 0; i < tmap->rank; i++)
    hd_strbuf_printf(out, "%s%d", i ? ", " : "", tmap->box[i]);
  hd_strbuf_printf(
      out,
      "};\n"
      "    int code = hd_encode(kernel, &maps[%d], %d, %d, v->%s, dims, strides, box, %d);\n"
      "    if (code != HEDDLE_LAUNCH_OK)\n"
      "      return code;\n"
      "  }\n",
      index, (int)hd_tmap_data_type(tmap->elem), tmap->rank, hd_arg_name(tmap->base),
      (int)tmap->swizzle);
}

static void add_launch(hd_strbuf *out, const char *name, const hd_variant *variant, int index) {
  static const char *const types[] = {"uint64_t", "int32_t", "int64_t", "float"};
  hd_strbuf_printf(out,
                   "static int hd_launch_%d(const %s_kernel *kernel, const hd_values *v, "
                   "uint32_t grid,\n                       void *stream) {\n  (void)v;\n",
                   index, name);
  if (variant->n_tmaps > 0)
    hd_strbuf_printf(out, "  hd_tmap maps[%d];\n", variant->n_tmaps);
  for (int i = 0; i < variant->n_tmaps; i++)
    add_tmap(out, &variant->tmap[i], i);
  for (int i = 0; i < variant->n_params; i++) {
    hd_arg_kind arg = variant->param[i].arg;
    if (arg == HD_ARG_NONE)
      continue;
    const char *type = types[hd_arg_class_of(arg)];
    hd_strbuf_printf(out, "  %s p%d = (%s)v->%s;\n", type, i, type, hd_arg_name(arg));
  }
  hd_strbuf_add(out, "  void *params[] = {");
  for (int i = 0; i < variant->n_params; i++) {
    const hd_param *param = &variant->param[i];
    bool is_map = param->arg == HD_ARG_NONE;
    hd_strbuf_printf(out, is_map ? "&maps[%d], " : "&p%d, ", is_map ? param->tmap : i);
  }
  hd_strbuf_printf(out, "0};\n  return hd_submit(kernel, %d, grid, params, stream);\n}\n\n", index);
}

void hd_launcher_variant(hd_strbuf *out, const char *name, const hd_variant *variant, int index) {
  if (!hd_variant_serves(variant))
    add_fits(out, variant, index);
  add_workspace(out, variant, index);
  add_launch(out, name, variant, index);
}
