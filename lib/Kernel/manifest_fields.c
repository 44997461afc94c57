#include "Kernel/manifest_fields.h"
#include "Support/batch.h"

static const char *elem_name(int number) {
  const heddle_elem_info *info = heddle_elem_get((heddle_elem)number);
  return info ? info->name : NULL;
}

static const char *arg_name(int number) {
  return (unsigned)number < HD_N_ARG_KINDS ? hd_arg_name((hd_arg_kind)number) : NULL;
}

static const char *swizzle_name(int number) {
  static const char *const swizzles[] = {"none", "32", "64", "128"};
  return (unsigned)number < HD_COUNT(swizzles) ? swizzles[number] : NULL;
}

static const hd_names elem_names = {"an element type", elem_name};
static const hd_names arg_names = {"an argument's name", arg_name};
static const hd_names swizzle_names = {"a swizzle", swizzle_name};

#define AT(type, member) .offset = offsetof(type, member)
#define TEXT(type, member) {#member, HD_FIELD_STRING, AT(type, member)}
#define OPTIONAL(type, member) {#member, HD_FIELD_OPTIONAL, AT(type, member)}
#define HASH(type, member) {#member, HD_FIELD_HASH, AT(type, member)}
#define BOOL(type, member) {#member, HD_FIELD_BOOL, AT(type, member)}
#define I32(type, member, lo, hi)                                                                  \
  {#member, HD_FIELD_I32, AT(type, member), .least = (lo), .most = (hi)}
#define I64(type, member, lo, hi)                                                                  \
  {#member, HD_FIELD_I64, AT(type, member), .least = (lo), .most = (hi)}
#define NAME(type, member, table) {#member, HD_FIELD_NAME, AT(type, member), .names = &(table)}
#define RECORD(type, member, fields)                                                               \
  { #member, HD_FIELD_RECORD, AT(type, member), .record = (fields) }
#define LIST_OF(type, member, list_kind, n, fields)                                                \
  {#member, list_kind, AT(type, member), .record = (fields), .count_offset = offsetof(type, n),    \
   .size = sizeof(((type *)0)->member[0]), .cap = (int32_t)HD_COUNT(((type *)0)->member)}
#define LIST(type, member, n, fields) LIST_OF(type, member, HD_FIELD_LIST, n, fields)
#define MATCH(type, member, n, fields) LIST_OF(type, member, HD_FIELD_MATCH, n, fields)
#define END {0}

/* Factors stay below 2^20, so that expressions of sizes (2^31) and strides (2^40) stay below
 * 2^62. */
#define FACTOR (INT64_C(1) << 20)

static const hd_field expr_fields[] = {
    NAME(hd_expr, arg, arg_names),
    I64(hd_expr, mul, -FACTOR, FACTOR),
    I64(hd_expr, add, -HD_MAX_STRIDE, HD_MAX_STRIDE),
    I64(hd_expr, div, 0, FACTOR),
    END,
};

static const hd_field arg_fields[] = {
    NAME(hd_arg, kind, arg_names),
    I64(hd_arg, fixed, 0, HD_MAX_STRIDE),
    I64(hd_arg, divisible_by, 0, HD_MAX_STRIDE),
    I64(hd_arg, max, 0, HD_MAX_STRIDE),
    RECORD(hd_arg, at_least, expr_fields),
    I32(hd_arg, align, 0, 4096),
    NAME(hd_arg, elem, elem_names),
    END,
};

static const hd_field param_fields[] = {
    NAME(hd_param, arg, arg_names),
    I32(hd_param, tmap, 0, HD_MAX_TMAPS - 1),
    END,
};

static const hd_field requirement_fields[] = {
    RECORD(hd_requirement, value, expr_fields),
    I64(hd_requirement, modulo, 1, HD_MAX_STRIDE),
    I64(hd_requirement, at_most, 0, HD_MAX_STRIDE),
    END,
};

/* A tensor map's box: cuTensorMapEncodeTiled, boxDim at most 256. */
static const hd_field box_fields[] = {{"", HD_FIELD_I32, 0, .least = 1, .most = 256}, END};

static const hd_field tmap_fields[] = {
    NAME(hd_tmap_recipe, base, arg_names),
    NAME(hd_tmap_recipe, elem, elem_names),
    I32(hd_tmap_recipe, rank, 1, 5),
    MATCH(hd_tmap_recipe, dim, rank, expr_fields),
    MATCH(hd_tmap_recipe, stride, rank, expr_fields),
    MATCH(hd_tmap_recipe, box, rank, box_fields),
    NAME(hd_tmap_recipe, swizzle, swizzle_names),
    END,
};

static const hd_field variant_fields[] = {
    TEXT(hd_variant, entry),
    TEXT(hd_variant, path),
    OPTIONAL(hd_variant, schedule),
    OPTIONAL(hd_variant, instead_of),
    I32(hd_variant, n_threads, 1, 1024),
    I32(hd_variant, cluster, 1, 16),
    I32(hd_variant, tile_cluster, 1, 16),
    I32(hd_variant, shared_bytes, 0, 256 * 1024),
    I32(hd_variant, n_registers, 0, 255),
    I32(hd_variant, tile_m, 1, 4096),
    I32(hd_variant, tile_n, 1, 4096),
    I32(hd_variant, split_k, 1, 1024),
    BOOL(hd_variant, persistent),
    I32(hd_variant, stream_granule, 0, 4096),
    I32(hd_variant, ahead, 0, HD_MAX_VARIANTS),
    BOOL(hd_variant, runs_ahead),
    I32(hd_variant, behind, 0, HD_MAX_VARIANTS),
    BOOL(hd_variant, runs_behind),
    BOOL(hd_variant, dependent_launch),
    BOOL(hd_variant, weights_ready),
    LIST(hd_variant, param, n_params, param_fields),
    LIST(hd_variant, tmap, n_tmaps, tmap_fields),
    LIST(hd_variant, requirement, n_requirements, requirement_fields),
    RECORD(hd_variant, workspace_bytes_per_tile, expr_fields),
    END,
};

const hd_field hd_manifest_fields[] = {
    TEXT(hd_manifest, name),
    TEXT(hd_manifest, target),
    I32(hd_manifest, ptx_version, 10, 999),
    NAME(hd_manifest, a_elem, elem_names),
    NAME(hd_manifest, b_elem, elem_names),
    NAME(hd_manifest, c_elem, elem_names),
    NAME(hd_manifest, d_elem, elem_names),
    NAME(hd_manifest, acc_elem, elem_names),
    NAME(hd_manifest, bias_elem, elem_names),
    BOOL(hd_manifest, b_mn_major),
    BOOL(hd_manifest, d_col_major),
    BOOL(hd_manifest, c_col_major),
    BOOL(hd_manifest, bias_along_n),
    BOOL(hd_manifest, scale_a_one),
    BOOL(hd_manifest, scale_b_one),
    I32(hd_manifest, slots, 0, HD_COMBINE_MOST),
    OPTIONAL(hd_manifest, statistic),
    OPTIONAL(hd_manifest, scale_b_statistic),
    OPTIONAL(hd_manifest, aux),
    I32(hd_manifest, scale_block, 0, 1024),
    BOOL(hd_manifest, scale_tiles),
    I32(hd_manifest, scale_rows, 0, 128),
    TEXT(hd_manifest, act),
    OPTIONAL(hd_manifest, user_function),
    TEXT(hd_manifest, family),
    LIST(hd_manifest, arg, n_args, arg_fields),
    LIST(hd_manifest, variant, n_variants, variant_fields),
    HASH(hd_manifest, hash),
    HASH(hd_manifest, ptx_hash),
    HASH(hd_manifest, cubin_hash),
    END,
};
