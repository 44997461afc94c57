/* Emit/emit_copy_rows.h: all threads of a role copy a block of rows in chunks of `vec` bytes.
 * Chunks are numbered along rows; thread t copies chunks t, t + n_threads, … */
#ifndef HD_EMIT_COPY_ROWS_H
#define HD_EMIT_COPY_ROWS_H

#include "Emit/emit_buffer.h"

/* How the chunks of one thread are arranged. */
typedef enum hd_chunk_order {
  HD_CHUNKS_DOWN,  /* threads are a multiple of a row's chunks: one column, every row_step-th row */
  HD_CHUNKS_ALONG, /* a row's chunks are a multiple of the threads: rows are constants */
  HD_CHUNKS_LOOSE  /* neither: row and column are computed for each chunk */
} hd_chunk_order;

enum { HD_SWIZZLE_ROWS = 8 /* rows after which the swizzle of a panel repeats */ };

typedef struct hd_rows_copy {
  const hd_op *op;
  int64_t rows, row_bytes, vec;
  int64_t per_row, threads, n_mine; /* chunks per row; threads; chunks per thread */
  hd_chunk_order order;
  int64_t row_step; /* DOWN */
  /* Computed at the role's entry, all i32. DOWN and ALONG: row and byte of chunk 0. LOOSE: of each
   * chunk; NULL: computed at its use. */
  LLVMValueRef *row, *col;
  /* Chunk i is written to base[i % period] + i / period * stride of the slot; period 0: the address
   * is computed for each chunk. */
  LLVMValueRef base[HD_SWIZZLE_ROWS];
  int64_t period, stride;
  LLVMValueRef last_is_mine; /* i1: chunk n_mine - 1 exists for this thread; NULL: for all */
} hd_rows_copy;

/* Source and destination of a copy, computed once per op. */
typedef struct hd_rows_place {
  LLVMValueRef source, step; /* chunk 0 in global memory; DOWN: bytes from chunk to chunk */
  LLVMValueRef slot;         /* shared address (i32) */
  LLVMValueRef bytes;        /* bytes of each row that exist, 0 to row_bytes (i32) */
  LLVMValueRef rows; /* rows that exist, from the block's first row on; DOWN: from chunk 0's row */
} hd_rows_place;

/* One chunk. */
typedef struct hd_chunk {
  LLVMValueRef src, dst; /* global pointer; shared address (i32) */
  int64_t offset;        /* bytes after dst: an immediate of the store instruction */
  LLVMValueRef size;     /* bytes that exist, 0 to vec (i32) */
  LLVMValueRef there;    /* i1: they are vec, not 0; NULL: they may be others */
  LLVMValueRef mine;     /* i1: this thread copies it; NULL: always */
} hd_chunk;

/* Loads `vec` bytes (1 to 16) of global memory if `exists` (i1); else they are zeros. v: one i16
 * for 1 or 2 bytes, else words. */
void hd_emit_load_vec(hd_emitter *e, int64_t vec, LLVMValueRef from, LLVMValueRef exists,
                      LLVMValueRef *v);

/* Checks the op and computes everything that depends only on the thread. */
heddle_status hd_emit_plan_rows(hd_emitter *e, const hd_op *op, hd_rows_copy *copy);
hd_rows_place hd_emit_place_rows(hd_emitter *e, const hd_rows_copy *copy);
/* Chunk i. DOWN: the source of all chunks but the first is `src`. */
hd_chunk hd_emit_chunk(hd_emitter *e, const hd_rows_copy *copy, const hd_rows_place *place,
                       int64_t i, LLVMValueRef src);
/* How many bytes of the chunk at byte `col` of a row exist; `bytes`: of the row. */
LLVMValueRef hd_emit_chunk_bytes(hd_emitter *e, const hd_rows_copy *copy, LLVMValueRef bytes,
                                 LLVMValueRef col);

#endif
