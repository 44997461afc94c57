/* Prunes and packs a dense matrix in one pass, by slabs of 64 rows, on several threads. */
#include <pthread.h>
#include <stdatomic.h>

#include "Layout/packed_format.h"
#include "Sparse/select.h"
#include "Support/diag.h"
#include "Support/parallel.h"

/* Number of k-blocks per pass over the rows of a slab; so few blocks stay in the L1 cache. */
enum { K_BLOCKS_AT_ONCE = 2 };

typedef struct job {
  const heddle_sparse_info *packed;
  const uint8_t *dense;
  size_t row_bytes, used_row_bytes; /* pitch of a row, and bytes of its elements */
  unsigned code_bytes;
  const hd_ranker *ranker;
  hd_select_fn select;
  uint8_t *payload;
  const heddle_prune_pack_options *options;
  pthread_mutex_t tell; /* guards rows_done and the progress function */
  uint64_t rows_done;
  atomic_bool stopped;
} job;

/* Packs one row of one k-block. Pads with zeros beyond the edges of the matrix. */
static void put_piece(const job *j, uint64_t row, uint64_t k_block, uint8_t *block) {
  uint8_t edge[HEDDLE_SPARSE_K_BLOCK_BYTES] = {0};
  hd_selected selected;
  size_t at = (size_t)k_block * HEDDLE_SPARSE_K_BLOCK_BYTES;
  const uint8_t *dense = j->dense + row * j->row_bytes + at;
  unsigned in_block = row % HEDDLE_SPARSE_BLOCK_ROWS, run_bytes = j->code_bytes / 4;
  if (row >= j->packed->m || at + sizeof edge > j->used_row_bytes) {
    if (row < j->packed->m)
      memcpy(edge, dense, j->used_row_bytes - at);
    dense = edge;
  }
  j->select(j->ranker, dense, &selected);
  for (unsigned i = 0; i < HD_CHUNKS_A_ROW; i++)
    memcpy(block + hd_value_offset(in_block, i), selected.values + i * HD_CHUNK_BYTES,
           HD_CHUNK_BYTES);
  for (unsigned i = 0; i < 4; i++)
    memcpy(block + HD_BLOCK_VALUE_BYTES + hd_code_offset(in_block, i, j->code_bytes),
           selected.codes + i * run_bytes, run_bytes);
}

static void tell(job *j) {
  const heddle_prune_pack_options *o = j->options;
  if (!o || !o->progress)
    return;
  pthread_mutex_lock(&j->tell);
  uint64_t done = j->rows_done + HEDDLE_SPARSE_BLOCK_ROWS;
  j->rows_done = done < j->packed->m ? done : j->packed->m;
  if (!j->stopped && !o->progress(o->user, j->rows_done))
    j->stopped = true;
  pthread_mutex_unlock(&j->tell);
}

static void put_slab(void *user, int32_t index) {
  job *j = user;
  const heddle_sparse_info *p = j->packed;
  uint64_t first_row = (uint64_t)index * HEDDLE_SPARSE_BLOCK_ROWS;
  uint8_t *slab = j->payload + (uint64_t)index * p->n_k_blocks * p->block_bytes;
  for (uint64_t k = 0; k < p->n_k_blocks && !j->stopped; k += K_BLOCKS_AT_ONCE) {
    uint64_t end = k + K_BLOCKS_AT_ONCE < p->n_k_blocks ? k + K_BLOCKS_AT_ONCE : p->n_k_blocks;
    for (unsigned i = 0; i < HEDDLE_SPARSE_BLOCK_ROWS; i++)
      for (uint64_t b = k; b < end; b++)
        put_piece(j, first_row + i, b, slab + b * p->block_bytes);
  }
  tell(j);
}

heddle_status heddle_sparse_prune_pack(heddle_context *ctx, heddle_elem elem, heddle_family family,
                                       uint64_t m, uint64_t k, const void *dense, size_t row_bytes,
                                       const heddle_prune_pack_options *options, void *payload) {
  const hd_sparse_rule *rule;
  heddle_sparse_info packed;
  hd_ranker ranker = {0};
  job j = {.packed = &packed, .dense = dense, .row_bytes = row_bytes, .ranker = &ranker,
           .payload = payload, .options = options, .tell = PTHREAD_MUTEX_INITIALIZER};
  HD_TRY(hd_sparse_stride_check(ctx, elem, m, k, row_bytes, &rule));
  HD_TRY(heddle_sparse_plan(ctx, HEDDLE_SPARSE_PACKED, elem, family, m, k, &packed));
  HD_TRY(heddle_sparse_dense_row_bytes(ctx, elem, k, &j.used_row_bytes));
  if (packed.n_slabs > INT32_MAX)
    return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "sparse.rows",
                    "got m = %llu; legal: at most 64 * (2^31 - 1)", (unsigned long long)m);
  hd_ranker_make(&ranker, elem, rule);
  j.select = hd_select_fast(elem) ? hd_select_fast(elem) : hd_select_any;
  j.code_bytes = hd_k_block_code_bytes(rule);
  hd_parallel(options && options->n_threads > 1 ? options->n_threads : 1, (int32_t)packed.n_slabs,
              put_slab, &j);
  if (j.stopped)
    return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "sparse.stopped",
                    "stopped by the caller after %llu of %llu rows",
                    (unsigned long long)j.rows_done, (unsigned long long)m);
  return HEDDLE_OK;
}
