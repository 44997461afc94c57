/* Emit/emit_copy_rows.h: a block of rows copied by all threads of a role, cut into chunks of `vec`
 * bytes. Thread t takes chunks t, t + n_threads, …, counted along rows. */
#ifndef HD_EMIT_COPY_ROWS_H
#define HD_EMIT_COPY_ROWS_H

#include "Emit/emit_buffer.h"

typedef struct hd_rows_copy {
  const hd_op *op;
  int64_t rows, row_bytes, vec;
  int64_t per_row, threads, n_mine; /* chunks a row; threads; chunks a thread */
  LLVMValueRef *row, *col, *dst; /* of chunk i of this thread: row, byte, shared offset (i32), computed
                                    once at the role's entry */
  LLVMValueRef last_is_mine; /* i1: chunk n_mine - 1 exists for this thread; NULL: for all */
} hd_rows_copy;

/* One chunk at its turn. */
typedef struct hd_chunk {
  LLVMValueRef src, dst; /* global pointer; shared address (i32) */
  LLVMValueRef size;     /* bytes that exist, 0 to vec (i32) */
  LLVMValueRef mine;     /* i1, or NULL: always */
} hd_chunk;

/* Checks the op and computes what depends on the thread alone. */
heddle_status hd_emit_plan_rows(hd_emitter *e, const hd_op *op, hd_rows_copy *copy);
/* All chunks of this thread (n_mine of them, in the arena). */
hd_chunk *hd_emit_chunks(hd_emitter *e, const hd_rows_copy *copy);

#endif
