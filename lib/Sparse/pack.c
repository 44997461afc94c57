/* Converts canonical to packed and back. hd_value_offset and hd_code_offset define the position of
 * each byte in a block; packing and unpacking both use them. */
#include "Layout/packed_format.h"
#include "Sparse/sparse_sizes.h"
#include "Support/arena.h"
#include "Support/diag.h"

/* One row of a k-block. Values are padded with 0, codes with the code of zeros. */
typedef struct k_block_row {
  uint8_t values[HD_BLOCK_VALUE_ROW_BYTES];
  uint8_t codes[16];
} k_block_row;

static size_t bytes_left(size_t row_bytes, size_t start, size_t at_most) {
  size_t left = row_bytes > start ? row_bytes - start : 0;
  return left < at_most ? left : at_most;
}

/* n_codes: number of codes of the row. If it is odd, the last byte contains one code. */
static void read_row(k_block_row *row, const heddle_sparse_info *canonical, const uint8_t *values,
                     const uint8_t *codes, uint64_t k_block, unsigned code_bytes,
                     uint64_t n_codes) {
  size_t value_start = (size_t)k_block * HD_BLOCK_VALUE_ROW_BYTES;
  size_t code_start = (size_t)k_block * code_bytes;
  size_t n_value_bytes =
      bytes_left(canonical->values_row_bytes, value_start, HD_BLOCK_VALUE_ROW_BYTES);
  size_t n_code_bytes = bytes_left(canonical->codes_row_bytes, code_start, code_bytes);
  memset(row->values, 0, sizeof row->values);
  memset(row->codes, HD_CODE_ZERO * 0x11, sizeof row->codes);
  memcpy(row->values, values + value_start, n_value_bytes);
  memcpy(row->codes, codes + code_start, n_code_bytes);
  bool ends_here = code_start + n_code_bytes == canonical->codes_row_bytes;
  if (ends_here && n_codes % 2)
    row->codes[n_code_bytes - 1] =
        (uint8_t)((row->codes[n_code_bytes - 1] & 0x0f) | HD_CODE_ZERO << 4);
}

static void put_row(const k_block_row *row, unsigned row_index, unsigned code_bytes,
                    uint8_t *block) {
  unsigned run_bytes = code_bytes / 4;
  for (unsigned chunk = 0; chunk < HD_CHUNKS_A_ROW; chunk++)
    memcpy(block + hd_value_offset(row_index, chunk), row->values + chunk * HD_CHUNK_BYTES,
           HD_CHUNK_BYTES);
  for (unsigned run = 0; run < 4; run++)
    memcpy(block + HD_BLOCK_VALUE_BYTES + hd_code_offset(row_index, run, code_bytes),
           row->codes + run * run_bytes, run_bytes);
}

static void get_row(k_block_row *row, unsigned row_index, unsigned code_bytes,
                    const uint8_t *block) {
  unsigned run_bytes = code_bytes / 4;
  for (unsigned chunk = 0; chunk < HD_CHUNKS_A_ROW; chunk++)
    memcpy(row->values + chunk * HD_CHUNK_BYTES, block + hd_value_offset(row_index, chunk),
           HD_CHUNK_BYTES);
  for (unsigned run = 0; run < 4; run++)
    memcpy(row->codes + run * run_bytes,
           block + HD_BLOCK_VALUE_BYTES + hd_code_offset(row_index, run, code_bytes), run_bytes);
}

/* The plans of both forms of one matrix. */
typedef struct two_plans {
  heddle_sparse_info canonical, packed;
  unsigned code_bytes; /* bytes of codes of a row in a k-block */
  uint64_t n_codes;    /* number of codes of a whole row */
} two_plans;

static heddle_status make_plans(heddle_context *ctx, heddle_elem elem, heddle_family family,
                                uint64_t m, uint64_t k, two_plans *plans) {
  HD_TRY(heddle_sparse_plan(ctx, HEDDLE_SPARSE_PACKED, elem, family, m, k, &plans->packed));
  HD_TRY(heddle_sparse_plan(ctx, HEDDLE_SPARSE_CANONICAL, elem, family, m, k, &plans->canonical));
  plans->code_bytes = hd_k_block_code_bytes(hd_sparse_rule_get(elem));
  plans->n_codes = k / heddle_elem_get(elem)->group;
  return HEDDLE_OK;
}

/* Packs one row of the padded matrix into its slab. values and codes are NULL for padding rows. */
static void pack_row(const two_plans *plans, const uint8_t *values, const uint8_t *codes,
                     unsigned row_index, uint8_t *slab) {
  k_block_row row;
  memset(row.values, 0, sizeof row.values);
  memset(row.codes, HD_CODE_ZERO * 0x11, sizeof row.codes);
  for (uint64_t j = 0; j < plans->packed.n_k_blocks; j++) {
    if (values)
      read_row(&row, &plans->canonical, values, codes, j, plans->code_bytes, plans->n_codes);
    put_row(&row, row_index, plans->code_bytes, slab + j * plans->packed.block_bytes);
  }
}

static uint8_t *slab_of(const two_plans *plans, const void *payload, uint64_t row) {
  uint64_t slab_bytes = plans->packed.n_k_blocks * plans->packed.block_bytes;
  return (uint8_t *)payload + row / HEDDLE_SPARSE_BLOCK_ROWS * slab_bytes;
}

static void pack_padding(const two_plans *plans, void *payload) {
  uint64_t n_rows = plans->packed.n_slabs * HEDDLE_SPARSE_BLOCK_ROWS;
  for (uint64_t i = plans->packed.m; i < n_rows; i++)
    pack_row(plans, NULL, NULL, i % HEDDLE_SPARSE_BLOCK_ROWS, slab_of(plans, payload, i));
}

heddle_status heddle_sparse_pack(heddle_context *ctx, heddle_elem elem, heddle_family family,
                                 uint64_t m, uint64_t k, const void *values, const void *codes,
                                 void *payload) {
  two_plans plans;
  HD_TRY(make_plans(ctx, elem, family, m, k, &plans));
  for (uint64_t i = 0; i < m; i++)
    pack_row(&plans, (const uint8_t *)values + i * plans.canonical.values_row_bytes,
             (const uint8_t *)codes + i * plans.canonical.codes_row_bytes,
             i % HEDDLE_SPARSE_BLOCK_ROWS, slab_of(&plans, payload, i));
  pack_padding(&plans, payload);
  return HEDDLE_OK;
}

/* Packs one row at a time, so that the memory use does not grow with M. */
heddle_status heddle_sparse_pack_dense(heddle_context *ctx, heddle_elem elem, heddle_family family,
                                       uint64_t m, uint64_t k, const void *dense, size_t row_bytes,
                                       void *payload) {
  two_plans plans;
  const hd_sparse_rule *rule;
  HD_TRY(hd_sparse_stride_check(ctx, elem, m, k, row_bytes, &rule));
  HD_TRY(make_plans(ctx, elem, family, m, k, &plans));
  const heddle_sparse_info *canonical = &plans.canonical;
  uint8_t *values =
      hd_try_malloc(ctx, canonical->values_row_bytes + canonical->codes_row_bytes, "a row of A");
  if (!values)
    return HEDDLE_NO_MEMORY;
  uint8_t *codes = values + canonical->values_row_bytes;
  heddle_status status = HEDDLE_OK;
  for (uint64_t i = 0; status == HEDDLE_OK && i < m; i++) {
    const uint8_t *row = (const uint8_t *)dense + i * row_bytes;
    status = hd_sparse_compress_row(ctx, elem, i, k, row, values, codes);
    if (status == HEDDLE_OK)
      pack_row(&plans, values, codes, i % HEDDLE_SPARSE_BLOCK_ROWS, slab_of(&plans, payload, i));
  }
  if (status == HEDDLE_OK)
    pack_padding(&plans, payload);
  hd_free(values);
  return status;
}

static void unpack_row(const two_plans *plans, const uint8_t *slab, unsigned row_index,
                       uint8_t *values, uint8_t *codes) {
  const heddle_sparse_info *canonical = &plans->canonical;
  k_block_row row;
  for (uint64_t j = 0; j < plans->packed.n_k_blocks; j++) {
    size_t value_start = (size_t)j * HD_BLOCK_VALUE_ROW_BYTES;
    size_t code_start = (size_t)j * plans->code_bytes;
    get_row(&row, row_index, plans->code_bytes, slab + j * plans->packed.block_bytes);
    memcpy(values + value_start, row.values,
           bytes_left(canonical->values_row_bytes, value_start, HD_BLOCK_VALUE_ROW_BYTES));
    memcpy(codes + code_start, row.codes,
           bytes_left(canonical->codes_row_bytes, code_start, plans->code_bytes));
  }
  if (plans->n_codes % 2)
    codes[canonical->codes_row_bytes - 1] &= 0x0f;
}

heddle_status heddle_sparse_unpack(heddle_context *ctx, heddle_elem elem, heddle_family family,
                                   uint64_t m, uint64_t k, const void *payload, void *values,
                                   void *codes) {
  two_plans plans;
  HD_TRY(make_plans(ctx, elem, family, m, k, &plans));
  for (uint64_t i = 0; i < m; i++)
    unpack_row(&plans, slab_of(&plans, payload, i), i % HEDDLE_SPARSE_BLOCK_ROWS,
               (uint8_t *)values + i * plans.canonical.values_row_bytes,
               (uint8_t *)codes + i * plans.canonical.codes_row_bytes);
  return HEDDLE_OK;
}
