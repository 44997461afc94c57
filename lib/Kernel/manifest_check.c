/* Validates a manifest. manifest_fields.c has the ranges of single fields. This file checks the
 * relations between fields, and what the generated C launcher relies on (names, references). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "Kernel/manifest_fields.h"
#include "Support/diag.h"

enum { MAX_NAME = 200 };

static heddle_status refuse(heddle_context *ctx, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static heddle_status refuse(heddle_context *ctx, const char *rule, const char *format, ...) {
  char text[320];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, rule, "%s", text);
}

static heddle_status check_identifier(heddle_context *ctx, const char *key, const char *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  if (text && text[0] && strchr(letters, text[0]) && text[strspn(text, all)] == '\0' &&
      strlen(text) <= MAX_NAME)
    return HEDDLE_OK;
  return refuse(ctx, "manifest.identifier", "%s: got \"%.40s\"; legal: a C identifier", key,
                text ? text : "");
}

/* Checks a word that generated files quote in comments. */
static heddle_status check_word(heddle_context *ctx, const char *key, const char *text) {
  static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.+-";
  if (text[0] && text[strspn(text, all)] == '\0' && strlen(text) <= MAX_NAME)
    return HEDDLE_OK;
  return refuse(ctx, "manifest.word", "%s: got \"%.40s\"; legal: letters, digits and _ . + -", key,
                text);
}

/* Checks the ranges of manifest_fields, for a manifest that was built in memory and not read. */
static heddle_status check_ranges(heddle_context *ctx, const hd_field *fields, const char *base) {
  for (const hd_field *field = fields; field->key; field++) {
    const char *at = base + field->offset;
    bool is_list = field->kind == HD_FIELD_LIST || field->kind == HD_FIELD_MATCH;
    int32_t count = is_list ? *(const int32_t *)(base + field->count_offset) : 0;
    bool is_number = field->kind == HD_FIELD_I32 || field->kind == HD_FIELD_I64;
    int64_t value = field->kind == HD_FIELD_I32   ? *(const int32_t *)at
                    : field->kind == HD_FIELD_I64 ? *(const int64_t *)at
                                                  : 0;
    if (is_number && (value < field->least || value > field->most))
      return refuse(ctx, "manifest.range", "%s: got %" PRId64 "; legal: %" PRId64 " to %" PRId64,
                    field->key, value, field->least, field->most);
    if (field->kind == HD_FIELD_STRING && !*(const char *const *)at)
      return refuse(ctx, "manifest.missing", "%s: missing", field->key);
    if (field->kind == HD_FIELD_NAME && !field->names->name((int)*(const unsigned *)at))
      return refuse(ctx, "manifest.name", "%s: got %u; legal: %s", field->key,
                    *(const unsigned *)at, field->names->what);
    if (field->kind == HD_FIELD_RECORD)
      HD_TRY(check_ranges(ctx, field->record, at));
    if (count < 0 || (is_list && count > field->cap))
      return refuse(ctx, "manifest.length", "%s: got %d elements; legal: at most %d", field->key,
                    count, field->cap);
    for (int32_t i = 0; i < count; i++)
      HD_TRY(check_ranges(ctx, field->record, at + (size_t)i * field->size));
  }
  return HEDDLE_OK;
}

/* An expression may only use existing arguments, and pointers only if `pointers` is set. */
static heddle_status check_expr(heddle_context *ctx, const hd_manifest *manifest,
                                const char *where, const hd_expr *expr, bool pointers) {
  if (expr->div == 0 || expr->arg == HD_ARG_NONE)
    return HEDDLE_OK;
  heddle_arg_class class = hd_arg_class_of(expr->arg);
  if (!hd_manifest_arg(manifest, expr->arg))
    return refuse(ctx, "manifest.expr", "%s speaks of %s, which is no argument", where,
                  hd_arg_name(expr->arg));
  if (class == HEDDLE_CLASS_F32 || (class == HEDDLE_CLASS_PTR && !pointers))
    return refuse(ctx, "manifest.expr", "%s speaks of %s; legal: a size or a stride", where,
                  hd_arg_name(expr->arg));
  return HEDDLE_OK;
}

static heddle_status check_arg(heddle_context *ctx, const hd_manifest *manifest, int index) {
  const hd_arg *arg = &manifest->arg[index];
  const char *name = hd_arg_name(arg->kind);
  heddle_arg_class class = hd_arg_class_of(arg->kind);
  bool is_number = class == HEDDLE_CLASS_I32 || class == HEDDLE_CLASS_I64;
  if (arg->kind == HD_ARG_NONE)
    return refuse(ctx, "manifest.arg", "argument %d has no kind", index);
  if (hd_manifest_arg(manifest, arg->kind) != arg)
    return refuse(ctx, "manifest.arg", "argument %s stands twice", name);
  if (arg->fixed > 0 && !is_number)
    return refuse(ctx, "manifest.arg", "argument %s: only sizes and strides can be fixed", name);
  if (class == HEDDLE_CLASS_I32 && (arg->fixed > INT32_MAX || arg->max > INT32_MAX))
    return refuse(ctx, "manifest.arg", "argument %s: a size is at most %d", name, INT32_MAX);
  if (arg->fixed > 0 && arg->divisible_by > 1 && arg->fixed % arg->divisible_by != 0)
    return refuse(ctx, "manifest.arg",
                  "argument %s: fixed at %" PRId64 ", not a multiple of %" PRId64, name, arg->fixed,
                  arg->divisible_by);
  if (arg->align & (arg->align - 1))
    return refuse(ctx, "manifest.arg", "argument %s: alignment %d is not a power of two", name,
                  arg->align);
  return check_expr(ctx, manifest, "at_least", &arg->at_least, false);
}

/* The arguments of block scales must be all present or all absent. Tiled scales have no pitch. */
static heddle_status check_scales(heddle_context *ctx, const hd_manifest *manifest) {
  static const hd_arg_kind kinds[] = {HD_ARG_BLOCK_SCALE_A, HD_ARG_BLOCK_SCALE_B, HD_ARG_LDSA,
                                      HD_ARG_LDSB};
  for (size_t i = 0; i < HD_COUNT(kinds); i++) {
    bool there = hd_manifest_arg(manifest, kinds[i]) != NULL;
    bool is_pitch = hd_arg_class_of(kinds[i]) != HEDDLE_CLASS_PTR;
    if (kinds[i] == HD_ARG_LDSB && manifest->scale_b_statistic)
      continue; /* check_column_statistic */
    if (there != (manifest->scale_block > 0 && !(is_pitch && manifest->scale_tiles)))
      return refuse(ctx, "manifest.scale-block", "scale_block: got %d%s %s argument %s",
                    manifest->scale_block, manifest->scale_tiles ? " in tiles" : "",
                    there ? "beside" : "without", hd_arg_name(kinds[i]));
  }
  if (manifest->scale_tiles && !manifest->scale_block)
    return refuse(ctx, "manifest.scale-block", "scale_tiles: got true without block scales");
  if ((manifest->scale_rows > 0) != (manifest->scale_block > 0))
    return refuse(ctx, "manifest.scale-block", "scale_rows: got %d with scale_block %d",
                  manifest->scale_rows, manifest->scale_block);
  return HEDDLE_OK;
}

/* The arguments scale_d and ldsd exist exactly if there is a statistic. */
static heddle_status check_statistic(heddle_context *ctx, const hd_manifest *manifest) {
  static const hd_arg_kind kinds[] = {HD_ARG_SCALE_D, HD_ARG_LDSD};
  static const char *const words[] = {"absmax", "sumsq", "scale"};
  bool known = !manifest->statistic;
  for (size_t i = 0; manifest->statistic && i < HD_COUNT(words); i++)
    known |= strcmp(manifest->statistic, words[i]) == 0;
  if (!known)
    return refuse(ctx, "manifest.statistic", "statistic: got %.40s; legal: absmax, sumsq, scale",
                  manifest->statistic);
  for (size_t i = 0; i < HD_COUNT(kinds); i++)
    if ((hd_manifest_arg(manifest, kinds[i]) != NULL) != (manifest->statistic != NULL))
      return refuse(ctx, "manifest.statistic", "argument %s: got %s; legal: one with a statistic, "
                    "none without",
                    hd_arg_name(kinds[i]), manifest->statistic ? "none" : "one");
  return HEDDLE_OK;
}

/* A scale_b from a statistic has a pitch and eps; no other scale_b has an eps. */
static heddle_status check_column_statistic(heddle_context *ctx, const hd_manifest *manifest) {
  static const hd_arg_kind kinds[] = {HD_ARG_SCALE_B, HD_ARG_LDSB, HD_ARG_EPS};
  const char *statistic = manifest->scale_b_statistic;
  if (statistic && strcmp(statistic, "sumsq") != 0)
    return refuse(ctx, "manifest.statistic", "scale_b_statistic: got %.40s; legal: sumsq",
                  statistic);
  if (statistic && (manifest->scale_b_one || manifest->scale_block))
    return refuse(ctx, "manifest.statistic",
                  "scale_b_statistic: got %s with %s; legal: without both", statistic,
                  manifest->scale_b_one ? "scale_b_one" : "scale_block");
  for (size_t i = statistic ? 0 : HD_COUNT(kinds) - 1; i < HD_COUNT(kinds); i++)
    if ((hd_manifest_arg(manifest, kinds[i]) != NULL) != (statistic != NULL))
      return refuse(ctx, "manifest.statistic",
                    "argument %s: got %s %s scale_b_statistic; legal: both, or neither",
                    hd_arg_name(kinds[i]), statistic ? "none" : "one",
                    statistic ? "beside" : "without");
  return HEDDLE_OK;
}

/* The arguments of the second matrix exist exactly if there is one; stride_aux if there is a
 * stride_d. */
static heddle_status check_aux(heddle_context *ctx, const hd_manifest *manifest) {
  static const hd_arg_kind kinds[] = {HD_ARG_AUX, HD_ARG_LDAUX, HD_ARG_STRIDE_AUX};
  const char *aux = manifest->aux;
  bool batch = hd_manifest_arg(manifest, HD_ARG_STRIDE_D) != NULL;
  bool input = aux && strcmp(aux, "input") == 0;
  if (aux && !input && strcmp(aux, "result") != 0)
    return refuse(ctx, "manifest.aux", "aux: got %.40s; legal: result, input", aux);
  if (aux && (manifest->slots || (input && hd_act_is_pair(manifest->act))))
    return refuse(ctx, "manifest.aux", "aux: got %s with %s; legal: without it", aux,
                  manifest->slots ? "combine_d" : manifest->act);
  for (size_t i = 0; i < HD_COUNT(kinds); i++) {
    bool there = hd_manifest_arg(manifest, kinds[i]) != NULL;
    if (there != (aux && (kinds[i] != HD_ARG_STRIDE_AUX || batch)))
      return refuse(ctx, "manifest.aux", "argument %s: got %s, aux %s; legal: all of aux, or none",
                    hd_arg_name(kinds[i]), there ? "one" : "none", aux ? aux : "none");
  }
  return HEDDLE_OK;
}

/* With combine_d, every variant must have a combine kernel that runs after it. */
static heddle_status check_combine(heddle_context *ctx, const hd_manifest *manifest) {
  bool combines = hd_manifest_arg(manifest, HD_ARG_COMBINE_D) != NULL, all = true;
  for (int i = 0; i < manifest->n_variants; i++)
    all = all && (hd_variant_serves(&manifest->variant[i]) ||
                  (manifest->variant[i].behind > 0) == combines);
  bool right = !combines || (manifest->d_col_major && !hd_manifest_arg(manifest, HD_ARG_C) &&
                             !hd_manifest_arg(manifest, HD_ARG_SCATTER_D));
  if (all && right && combines == (manifest->slots > 0))
    return HEDDLE_OK;
  return refuse(ctx, "manifest.combine",
                "argument combine_d: got %s, slots %d, %s; legal: slots of 1 or more, a col_major "
                "D without c and scatter_d, and for each variant one behind it; or nothing of it",
                combines ? "one" : "none", manifest->slots,
                !right  ? "a row_major D, c or scatter_d"
                : !all  ? "a variant with, or without, one behind it"
                        : "and all else as it belongs");
}

static heddle_status check_groups(heddle_context *ctx, const hd_manifest *manifest) {
  static const hd_arg_kind strides[] = {HD_ARG_STRIDE_B, HD_ARG_STRIDE_C, HD_ARG_STRIDE_D,
                                        HD_ARG_STRIDE_AUX, HD_ARG_STRIDE_SCALE_B};
  for (size_t i = 0; i < HD_COUNT(strides); i++)
    if (hd_manifest_arg(manifest, strides[i]))
      return refuse(ctx, "manifest.groups", "argument %s: got one beside offsets; legal: none",
                    hd_arg_name(strides[i]));
  if (!hd_manifest_arg(manifest, HD_ARG_G) || !hd_manifest_arg(manifest, HD_ARG_STRIDE_A))
    return refuse(ctx, "manifest.groups",
                  "argument offsets: got one without g or stride_a; legal: all three");
  bool of_t = hd_manifest_arg(manifest, HD_ARG_GATHER_B) ||
              hd_manifest_arg(manifest, HD_ARG_COMBINE_D);
  if (of_t != (hd_manifest_arg(manifest, HD_ARG_T) != NULL))
    return refuse(ctx, "manifest.groups",
                  "argument t: got %s gather_b and combine_d; legal: with one of them, or both",
                  of_t ? "none beside" : "one without");
  HD_TRY(check_combine(ctx, manifest));
  if (hd_manifest_arg(manifest, HD_ARG_SCATTER_D) &&
      (!manifest->d_col_major || hd_manifest_arg(manifest, HD_ARG_C)))
    return refuse(ctx, "manifest.groups",
                  "argument scatter_d: got a row_major D, or c; legal: a col_major D without c");
  for (int i = 0; i < manifest->n_variants; i++)
    if (!manifest->variant[i].persistent || manifest->variant[i].split_k > 1)
      return refuse(ctx, "manifest.groups",
                    "entry %s: persistent %d, split_k %d beside offsets; legal: true, 1",
                    manifest->variant[i].entry, manifest->variant[i].persistent,
                    manifest->variant[i].split_k);
  return HEDDLE_OK;
}

/* Strides require a batch, and a batch requires stride_d. Groups have no strides of B, C, D and
 * scale_b, because the groups are columns of one matrix each. */
static heddle_status check_batch(heddle_context *ctx, const hd_manifest *manifest) {
  bool is_batch = hd_manifest_arg(manifest, HD_ARG_G) != NULL;
  if (hd_manifest_is_grouped(manifest))
    return check_groups(ctx, manifest);
  static const hd_arg_kind of_groups[] = {HD_ARG_GATHER_B, HD_ARG_SCATTER_D, HD_ARG_COMBINE_D,
                                          HD_ARG_T};
  for (size_t i = 0; i < HD_COUNT(of_groups); i++)
    if (hd_manifest_arg(manifest, of_groups[i]))
      return refuse(ctx, "manifest.groups", "argument %s: got one without offsets; legal: both",
                    hd_arg_name(of_groups[i]));
  for (hd_arg_kind kind = HD_ARG_STRIDE_A; kind <= HD_ARG_STRIDE_SCALE_B; kind++) {
    bool there = hd_manifest_arg(manifest, kind) != NULL;
    if ((there && !is_batch) || (!there && is_batch && kind == HD_ARG_STRIDE_D))
      return refuse(ctx, "manifest.batch", "argument %s: got %s; legal: %s", hd_arg_name(kind),
                    there ? "one without argument g" : "none beside argument g",
                    there ? "both, or neither" : "both");
  }
  return HEDDLE_OK;
}

static heddle_status check_args(heddle_context *ctx, const hd_manifest *manifest) {
  static const hd_arg_kind needed[] = {HD_ARG_B, HD_ARG_D, HD_ARG_M, HD_ARG_K, HD_ARG_A, HD_ARG_N};
  enum { OF_PACK = 4 }; /* a pack kernel has neither A nor n and needs only the first four */
  bool is_pack = hd_manifest_is_pack(manifest) && !hd_manifest_arg(manifest, HD_ARG_N);
  for (int i = 0; i < manifest->n_args; i++)
    HD_TRY(check_arg(ctx, manifest, i));
  for (size_t i = 0; i < (is_pack ? OF_PACK : HD_COUNT(needed)); i++) {
    if (!hd_manifest_arg(manifest, needed[i]))
      return refuse(ctx, "manifest.arg", "argument %s is missing", hd_arg_name(needed[i]));
  }
  HD_TRY(check_batch(ctx, manifest));
  HD_TRY(check_statistic(ctx, manifest));
  HD_TRY(check_column_statistic(ctx, manifest));
  HD_TRY(check_aux(ctx, manifest));
  return check_scales(ctx, manifest);
}

static heddle_status check_tmap(heddle_context *ctx, const hd_manifest *manifest,
                                const hd_tmap_recipe *tmap) {
  if (hd_arg_class_of(tmap->base) != HEDDLE_CLASS_PTR || !hd_manifest_arg(manifest, tmap->base))
    return refuse(ctx, "manifest.tmap", "base %s is not a pointer argument",
                  hd_arg_name(tmap->base));
  for (int i = 0; i < tmap->rank; i++) {
    HD_TRY(check_expr(ctx, manifest, "a tensor map's dim", &tmap->dim[i], false));
    HD_TRY(check_expr(ctx, manifest, "a tensor map's stride", &tmap->stride[i], false));
    if (tmap->dim[i].div == 0 || (i > 0 && tmap->stride[i].div == 0))
      return refuse(ctx, "manifest.tmap", "tensor map of %s: dimension %d has no size or stride",
                    hd_arg_name(tmap->base), i);
  }
  return HEDDLE_OK;
}

static heddle_status check_params(heddle_context *ctx, const hd_manifest *manifest,
                                  const hd_variant *variant) {
  for (int i = 0; i < variant->n_params; i++) {
    const hd_param *param = &variant->param[i];
    if (param->arg == HD_ARG_NONE && param->tmap >= variant->n_tmaps)
      return refuse(ctx, "manifest.param", "entry %s, parameter %d: no tensor map %d",
                    variant->entry, i, param->tmap);
    if (param->arg != HD_ARG_NONE && !hd_manifest_arg(manifest, param->arg))
      return refuse(ctx, "manifest.param", "entry %s, parameter %d: %s is no argument",
                    variant->entry, i, hd_arg_name(param->arg));
  }
  return HEDDLE_OK;
}

/* A cluster of independent CTAs may have CTAs without a tile, which only a tile loop handles. */
static heddle_status check_cluster(heddle_context *ctx, const hd_variant *v) {
  bool whole = v->tile_cluster == v->cluster;
  if (whole || (v->tile_cluster == 1 && v->persistent && !v->stream_granule))
    return HEDDLE_OK;
  return refuse(ctx, "manifest.cluster",
                "entry %s: tile_cluster %d of a cluster of %d, persistent %d, stream_granule %d; "
                "legal: %d, or 1 of a persistent kernel without stream-K",
                v->entry, v->tile_cluster, v->cluster, v->persistent, v->stream_granule,
                v->cluster);
}

/* A variant that runs before or after another one must not have such variants itself, takes no
 * tensor maps, and shares no tiles. */
static heddle_status check_served(heddle_context *ctx, const hd_manifest *manifest,
                                  const hd_variant *v) {
  int32_t n = manifest->n_variants;
  bool before = v->ahead <= n && (v->ahead == 0 || manifest->variant[v->ahead - 1].runs_ahead);
  bool after = v->behind <= n && (v->behind == 0 || manifest->variant[v->behind - 1].runs_behind);
  bool is_plain = !hd_variant_serves(v) ||
                  (v->ahead == 0 && v->behind == 0 && v->n_tmaps == 0 && v->cluster == 1 &&
                   v->split_k == 1 && !v->stream_granule && v->runs_ahead != v->runs_behind);
  if (before && after && is_plain)
    return HEDDLE_OK;
  return refuse(ctx, "manifest.ahead",
                "entry %s: ahead %d, behind %d, runs_ahead %d, runs_behind %d, %d tensor maps, "
                "cluster %d, split_k %d, stream_granule %d; legal: ahead 0 or a variant that "
                "runs_ahead, behind 0 or one that runs_behind, which has itself 0, 0, one of both, "
                "none, 1, 1 and 0",
                v->entry, v->ahead, v->behind, v->runs_ahead, v->runs_behind, v->n_tmaps,
                v->cluster, v->split_k, v->stream_granule);
}

static heddle_status check_variant(heddle_context *ctx, const hd_manifest *manifest,
                                   const hd_variant *variant) {
  HD_TRY(check_identifier(ctx, "variant.entry", variant->entry));
  HD_TRY(check_word(ctx, "variant.path", variant->path));
  HD_TRY(check_cluster(ctx, variant));
  HD_TRY(check_params(ctx, manifest, variant));
  HD_TRY(check_served(ctx, manifest, variant));
  for (int i = 0; i < variant->n_tmaps; i++)
    HD_TRY(check_tmap(ctx, manifest, &variant->tmap[i]));
  for (int i = 0; i < variant->n_requirements; i++) {
    if (variant->requirement[i].value.div == 0)
      return refuse(ctx, "manifest.requirement", "entry %s, requirement %d: div is 0",
                    variant->entry, i);
    HD_TRY(check_expr(ctx, manifest, "a requirement", &variant->requirement[i].value, true));
  }
  const hd_expr *workspace = &variant->workspace_bytes_per_tile;
  if (workspace->div > 0 && !hd_manifest_arg(manifest, HD_ARG_WORKSPACE))
    return refuse(ctx, "manifest.workspace", "entry %s takes workspace, which is no argument",
                  variant->entry);
  return check_expr(ctx, manifest, "the workspace", workspace, false);
}

heddle_status hd_manifest_check(heddle_context *ctx, const hd_manifest *manifest) {
  HD_TRY(check_ranges(ctx, hd_manifest_fields, (const char *)manifest));
  HD_TRY(check_identifier(ctx, "name", manifest->name));
  HD_TRY(check_word(ctx, "target", manifest->target));
  HD_TRY(check_word(ctx, "act", manifest->act));
  HD_TRY(check_word(ctx, "family", manifest->family));
  if (manifest->user_function)
    HD_TRY(check_identifier(ctx, "user_function", manifest->user_function));
  HD_TRY(check_args(ctx, manifest));
  if (manifest->n_variants < 1)
    return refuse(ctx, "manifest.variant", "no variant; legal: at least one");
  for (int i = 0; i < manifest->n_variants; i++)
    HD_TRY(check_variant(ctx, manifest, &manifest->variant[i]));
  return HEDDLE_OK;
}
