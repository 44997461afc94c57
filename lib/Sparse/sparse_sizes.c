#include "Sparse/sparse_sizes.h"

#include "Support/diag.h"

enum { PAYLOAD_ALIGN = 128 };

static const char *const family_names[] = {"none", "mma", "wgmma"};

const char *heddle_family_name(heddle_family family) {
  return (unsigned)family <= HEDDLE_FAMILY_WGMMA ? family_names[family] : NULL;
}

heddle_status heddle_family_parse(const char *name, heddle_family *family) {
  for (int i = HEDDLE_FAMILY_NONE; i <= HEDDLE_FAMILY_WGMMA; i++) {
    if (strcmp(name, family_names[i]) == 0) {
      *family = (heddle_family)i;
      return HEDDLE_OK;
    }
  }
  return HEDDLE_NOT_FOUND;
}

/* *product *= factor; false on overflow. */
static bool multiply(size_t *product, uint64_t factor) {
  if (factor > SIZE_MAX)
    return false;
  return !__builtin_mul_overflow(*product, (size_t)factor, product);
}

static heddle_status too_large(heddle_context *ctx, uint64_t m, uint64_t k) {
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.size",
                  "a matrix of %llu x %llu is too large for the %d-bit sizes of this machine",
                  (unsigned long long)m, (unsigned long long)k, (int)(8 * sizeof(size_t)));
}

static heddle_status check_shape(heddle_context *ctx, heddle_elem elem, uint64_t m, uint64_t k,
                                 const hd_sparse_rule **rule) {
  const hd_sparse_rule *found;
  HD_TRY(hd_sparse_rule_find(ctx, elem, &found));
  const heddle_elem_info *info = heddle_elem_get(elem);
  if (m == 0 || k == 0)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.empty",
                    "a matrix of %llu x %llu is empty; nearest: 1 x %d", (unsigned long long)m,
                    (unsigned long long)k, info->group);
  if (k % info->group != 0) {
    uint64_t below = k - k % info->group, padded = below + info->group; /* with columns of zeros */
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.k-group",
                    "K = %llu is not a multiple of the sparse group of %s, which is %d; nearest: "
                    "%llu",
                    (unsigned long long)k, info->name, info->group,
                    (unsigned long long)(padded > k ? padded : below));
  }
  /* The bound includes the padding of both forms, so that later arithmetic cannot overflow. */
  size_t bound = 16;
  if (m > SIZE_MAX - 64 || k > SIZE_MAX - 256 || !multiply(&bound, m + 64) ||
      !multiply(&bound, k + 256))
    return too_large(ctx, m, k);
  *rule = found;
  return HEDDLE_OK;
}

heddle_status hd_sparse_stride_check(heddle_context *ctx, heddle_elem elem, uint64_t m, uint64_t k,
                                     size_t row_bytes, const hd_sparse_rule **rule) {
  HD_TRY(check_shape(ctx, elem, m, k, rule));
  size_t least = (size_t)k * heddle_elem_get(elem)->container_bits / 8, total = row_bytes;
  if (row_bytes < least)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.stride",
                    "a row stride of %zu bytes is shorter than a row of %llu %s; nearest: %zu",
                    row_bytes, (unsigned long long)k, heddle_elem_get(elem)->name, least);
  return multiply(&total, m) ? HEDDLE_OK : too_large(ctx, m, k);
}

static void plan_canonical(heddle_sparse_info *info) {
  const heddle_elem_info *elem = heddle_elem_get(info->elem);
  size_t m = (size_t)info->m, k = (size_t)info->k;
  info->values_row_bytes = k / 2 * elem->container_bits / 8;
  info->values_offset = info->payload_offset;
  info->values_bytes = m * info->values_row_bytes;
  info->codes_row_bytes = (k / elem->group + 1) / 2;
  size_t values_end = info->values_offset + info->values_bytes;
  info->codes_offset = (values_end + PAYLOAD_ALIGN - 1) / PAYLOAD_ALIGN * PAYLOAD_ALIGN;
  info->codes_bytes = m * info->codes_row_bytes;
  info->payload_bytes = info->codes_offset + info->codes_bytes - info->payload_offset;
}

static void plan_packed(heddle_sparse_info *info, const hd_sparse_rule *rule) {
  info->k_block_size =
      HEDDLE_SPARSE_K_BLOCK_BYTES * 8 / heddle_elem_get(info->elem)->container_bits;
  info->block_meta_offset = HD_BLOCK_VALUE_BYTES;
  info->block_bytes =
      HD_BLOCK_VALUE_BYTES + HEDDLE_SPARSE_BLOCK_ROWS * hd_k_block_code_bytes(rule);
  info->n_slabs = (info->m + HEDDLE_SPARSE_BLOCK_ROWS - 1) / HEDDLE_SPARSE_BLOCK_ROWS;
  info->n_k_blocks = (info->k + info->k_block_size - 1) / info->k_block_size;
  info->payload_bytes = (size_t)(info->n_slabs * info->n_k_blocks) * info->block_bytes;
}

static heddle_status check_family(heddle_context *ctx, heddle_elem elem, heddle_family family,
                                  const hd_sparse_rule *rule) {
  if (family != HEDDLE_FAMILY_MMA && family != HEDDLE_FAMILY_WGMMA)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.family",
                    "%d is not a family of a packed matrix; legal: mma (1) or wgmma (2)",
                    (int)family);
  if (family == HEDDLE_FAMILY_WGMMA && !rule->in_wgmma)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "sparse.family",
                    "wgmma.mma_async.sp takes no %s; legal: f16, bf16, tf32, e4m3, e5m2, s8 or u8; "
                    "nearest: family mma",
                    heddle_elem_get(elem)->name);
  return HEDDLE_OK;
}

heddle_status heddle_sparse_plan(heddle_context *ctx, heddle_sparse_form form, heddle_elem elem,
                                 heddle_family family, uint64_t m, uint64_t k,
                                 heddle_sparse_info *info) {
  const hd_sparse_rule *rule = NULL;
  HD_TRY(check_shape(ctx, elem, m, k, &rule));
  heddle_sparse_info plan = {.form = form, .elem = elem, .m = m, .k = k};
  plan.payload_offset = HEDDLE_SPARSE_HEADER_BYTES;
  if (form == HEDDLE_SPARSE_PACKED) {
    HD_TRY(check_family(ctx, elem, family, rule));
    plan.family = family;
    plan_packed(&plan, rule);
  } else if (form == HEDDLE_SPARSE_CANONICAL) {
    plan_canonical(&plan);
  } else {
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.form",
                    "%d is no form; legal: canonical (1) or packed (2)", (int)form);
  }
  plan.file_bytes = plan.payload_offset + plan.payload_bytes;
  *info = plan;
  return HEDDLE_OK;
}

heddle_status heddle_sparse_packed_bytes(heddle_context *ctx, heddle_elem elem,
                                         heddle_family family, uint64_t m, uint64_t k,
                                         size_t *payload_bytes) {
  heddle_sparse_info info;
  HD_TRY(heddle_sparse_plan(ctx, HEDDLE_SPARSE_PACKED, elem, family, m, k, &info));
  *payload_bytes = info.payload_bytes;
  return HEDDLE_OK;
}

heddle_status heddle_sparse_dense_row_bytes(heddle_context *ctx, heddle_elem elem, uint64_t k,
                                            size_t *row_bytes) {
  const hd_sparse_rule *rule;
  HD_TRY(check_shape(ctx, elem, 1, k, &rule));
  *row_bytes = (size_t)k * heddle_elem_get(elem)->container_bits / 8;
  return HEDDLE_OK;
}
