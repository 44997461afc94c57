/* Emit/emit_copy_rows.h: a block of rows copied by all threads of a role, cut into chunks of `vec`
 * bytes. Thread t takes chunks t, t + n_threads, …, counted along rows. */
#ifndef HD_EMIT_COPY_ROWS_H
#define HD_EMIT_COPY_ROWS_H

#include "Emit/emit_buffer.h"

/* How a thread's chunks lie. */
typedef enum hd_chunk_order {
  HD_CHUNKS_DOWN,  /* threads are a multiple of a row's chunks: one column, every row_step-th row */
  HD_CHUNKS_ALONG, /* a row's chunks are a multiple of the threads: whole rows, known ones */
  HD_CHUNKS_LOOSE  /* neither divides: row and column of each */
} hd_chunk_order;

enum { HD_SWIZZLE_ROWS = 8 /* the swizzle of a panel repeats after so many rows */ };

typedef struct hd_rows_copy {
  const hd_op *op;
  int64_t rows, row_bytes, vec;
  int64_t per_row, threads, n_mine; /* chunks a row; threads; chunks a thread */
  hd_chunk_order order;
  int64_t row_step; /* DOWN */
  /* Hoisted to the role's entry, all i32. DOWN and ALONG: row and byte of chunk 0. LOOSE: of
   * each. */
  LLVMValueRef *row, *col;
  /* Chunk i lands at base[i % period] + i / period * stride of the slot; period 0: worked out each
   * time. */
  LLVMValueRef base[HD_SWIZZLE_ROWS];
  int64_t period, stride;
  LLVMValueRef last_is_mine; /* i1: chunk n_mine - 1 exists for this thread; NULL: for all */
} hd_rows_copy;

/* The place of a copy, found once an op. */
typedef struct hd_rows_place {
  LLVMValueRef source, step; /* chunk 0 in global memory; DOWN: bytes from chunk to chunk */
  LLVMValueRef slot;         /* shared address (i32) */
  LLVMValueRef bytes;        /* of the block's rows that exist, 0 to row_bytes (i32) */
  LLVMValueRef rows; /* rows that exist, counted from the block's first, DOWN: from chunk 0's */
} hd_rows_place;

/* One chunk at its turn. */
typedef struct hd_chunk {
  LLVMValueRef src, dst; /* global pointer; shared address (i32) */
  int64_t offset;        /* bytes behind dst: an immediate of the instruction that writes it */
  LLVMValueRef size;     /* bytes that exist, 0 to vec (i32) */
  LLVMValueRef mine;     /* i1, or NULL: always */
} hd_chunk;

/* Reads `vec` bytes (1 to 16) of global memory where `exists` (i1); else they are zeros. v: an i16
 * of 1 or 2 bytes, else words. */
void hd_emit_load_vec(hd_emitter *e, int64_t vec, LLVMValueRef from, LLVMValueRef exists,
                      LLVMValueRef *v);

/* Checks the op and computes what depends on the thread alone. */
heddle_status hd_emit_plan_rows(hd_emitter *e, const hd_op *op, hd_rows_copy *copy);
hd_rows_place hd_emit_place_rows(hd_emitter *e, const hd_rows_copy *copy);
/* Chunk i. DOWN: past the first, it lies at `src`. */
hd_chunk hd_emit_chunk(hd_emitter *e, const hd_rows_copy *copy, const hd_rows_place *place,
                       int64_t i, LLVMValueRef src);
/* Bytes of a chunk at byte `col` of a row, given the bytes of the row. */
LLVMValueRef hd_emit_chunk_bytes(hd_emitter *e, const hd_rows_copy *copy, LLVMValueRef bytes,
                                 LLVMValueRef col);

#endif
