/* Interleaves rows of gate and up by 8, so that a kernel's thread has both; and the inverse. */
#include <string.h>

#include "Sparse/sparse_file.h"
#include "Support/activations.h"
#include "Support/diag.h"

heddle_status hd_sparse_pair_check(heddle_context *ctx, uint64_t m) {
  enum { UNIT = 2 * HD_PAIR_ROWS };
  if (m && m % UNIT == 0)
    return HEDDLE_OK;
  return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "sparse.pair",
                  "got %llu rows of gate and up; legal: multiples of %d; nearest: %llu",
                  (unsigned long long)m, UNIT, (unsigned long long)(m / UNIT + 1) * UNIT);
}

/* The index of interleaved row i in the matrix of all gates followed by all ups. */
static uint64_t source_of(uint64_t m, uint64_t i) {
  uint64_t band = i / HD_PAIR_ROWS;
  return band % 2 * (m / 2) + band / 2 * HD_PAIR_ROWS + i % HD_PAIR_ROWS;
}

heddle_status heddle_sparse_pair_rows(heddle_context *ctx, uint64_t m, size_t row_bytes,
                                      const void *from, void *to) {
  HD_TRY(hd_sparse_pair_check(ctx, m));
  for (uint64_t i = 0; i < m; i += HD_PAIR_ROWS)
    memcpy((char *)to + i * row_bytes, (const char *)from + source_of(m, i) * row_bytes,
           HD_PAIR_ROWS * row_bytes);
  return HEDDLE_OK;
}

heddle_status heddle_sparse_unpair_rows(heddle_context *ctx, uint64_t m, size_t row_bytes,
                                        const void *from, void *to) {
  HD_TRY(hd_sparse_pair_check(ctx, m));
  for (uint64_t i = 0; i < m; i += HD_PAIR_ROWS)
    memcpy((char *)to + source_of(m, i) * row_bytes, (const char *)from + i * row_bytes,
           HD_PAIR_ROWS * row_bytes);
  return HEDDLE_OK;
}
