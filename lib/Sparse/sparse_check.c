/* Validates whole files. A payload is valid if its codes are legal and its padding is what the
 * writer writes. The check of the padding packs the matrix again and compares. */
#include "Sparse/sparse_file.h"
#include "Sparse/sparse_sizes.h"
#include "Support/arena.h"
#include "Support/diag.h"

static heddle_status check_codes(heddle_context *ctx, const heddle_sparse_info *canonical,
                                 const uint8_t *codes) {
  const hd_sparse_rule *rule = hd_sparse_rule_get(canonical->elem);
  uint64_t n_groups = canonical->k / heddle_elem_get(canonical->elem)->group;
  for (uint64_t i = 0; i < canonical->m; i++) {
    const uint8_t *row = codes + i * canonical->codes_row_bytes;
    for (uint64_t g = 0; g < n_groups; g++)
      if (!hd_sparse_code_is_legal(rule, hd_nibble(row, g)))
        return hd_sparse_bad_code(ctx, rule, i, g, hd_nibble(row, g));
    if (n_groups % 2 && hd_nibble(row, n_groups) != 0)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.padding",
                      "the padding nibble of row %llu is 0x%x; legal: 0", (unsigned long long)i,
                      hd_nibble(row, n_groups));
  }
  return HEDDLE_OK;
}

static heddle_status check_canonical(heddle_context *ctx, const uint8_t *image,
                                     const heddle_sparse_info *info) {
  for (size_t i = info->values_offset + info->values_bytes; i < info->codes_offset; i++)
    if (image[i] != 0)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.padding",
                      "byte %zu, between values and codes, is 0x%02x; legal: 0", i, image[i]);
  return check_codes(ctx, info, image + info->codes_offset);
}

/* `scratch` is memory for the canonical form and the payload that is packed again. */
static heddle_status check_packed_in(heddle_context *ctx, const uint8_t *payload,
                                     const heddle_sparse_info *info,
                                     const heddle_sparse_info *canonical, uint8_t *scratch) {
  uint8_t *values = scratch, *codes = values + canonical->values_bytes;
  uint8_t *again = codes + canonical->codes_bytes;
  HD_TRY(heddle_sparse_unpack(ctx, info->elem, info->family, info->m, info->k, payload, values,
                              codes));
  HD_TRY(check_codes(ctx, canonical, codes));
  HD_TRY(heddle_sparse_pack(ctx, info->elem, info->family, info->m, info->k, values, codes, again));
  size_t i = 0;
  while (i < info->payload_bytes && payload[i] == again[i])
    i++;
  if (i == info->payload_bytes)
    return HEDDLE_OK;
  size_t block = i / info->block_bytes;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.padding",
                  "byte %zu of block (%llu, %llu) is padding and holds 0x%02x; legal: 0x%02x",
                  i % info->block_bytes, (unsigned long long)(block / info->n_k_blocks),
                  (unsigned long long)(block % info->n_k_blocks), payload[i], again[i]);
}

static heddle_status check_packed(heddle_context *ctx, const uint8_t *image,
                                  const heddle_sparse_info *info) {
  heddle_sparse_info canonical;
  HD_TRY(heddle_sparse_plan(ctx, HEDDLE_SPARSE_CANONICAL, info->elem, HEDDLE_FAMILY_NONE, info->m,
                            info->k, &canonical));
  uint8_t *scratch = hd_try_malloc(
      ctx, canonical.values_bytes + canonical.codes_bytes + info->payload_bytes, "unpacking");
  if (!scratch)
    return HEDDLE_NO_MEMORY;
  heddle_status status =
      check_packed_in(ctx, image + info->payload_offset, info, &canonical, scratch);
  hd_free(scratch);
  return status;
}

heddle_status heddle_sparse_check(heddle_context *ctx, const void *image, size_t n_bytes,
                                  heddle_sparse_info *info) {
  heddle_sparse_info found;
  HD_TRY(heddle_sparse_open(ctx, image, n_bytes, &found));
  HD_TRY(hd_sparse_checksum_check(ctx, image, &found));
  HD_TRY(found.form == HEDDLE_SPARSE_PACKED ? check_packed(ctx, image, &found)
                                            : check_canonical(ctx, image, &found));
  *info = found;
  return HEDDLE_OK;
}
