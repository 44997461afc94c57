/* Emit/emit_strip.h: the epilogue of one 16-row strip of D.
 *
 * Of block b (8 columns), a lane (g = lane / 4, q = lane % 4) holds the elements
 *   register 4b + 2h + j  ->  (row g + 8h, column 8b + 2q + j)        h, j = 0, 1
 * so two registers are a pair of adjacent columns. If B's rows were permuted (`run` in docs/ir.md),
 * run / 2 consecutive blocks, b = i + run / 2 * t, hold 4 runs of columns, one per lane of a quad:
 *   register 4b + 2h + j  ->  (row g + 8h, column 4 run * t + run * q + 2i + j)
 * For run = 2 both are the same. With a gated activation (`pair`; h = 0 the gate, h = 1 up) both
 * halves give one element of D, stored as h = 0; the strip then has 8 rows of D. */
#ifndef HD_EMIT_STRIP_H
#define HD_EMIT_STRIP_H

#include "Emit/emit_state.h"

/* A matrix in global memory, addressed from this lane's first element. */
typedef struct hd_view {
  LLVMValueRef base;     /* pointer to element (row0 + g, col0 + run * q) */
  LLVMValueRef below;    /* 8 rows down; NULL: col_major */
  LLVMValueRef origin;   /* pointer to element (row0, col0); warp-uniform */
  LLVMValueRef ld_bytes; /* i64, between rows (col_major: columns) */
  heddle_elem elem;
  int64_t bytes; /* of an element */
  bool col_major;
} hd_view;

/* A vector along n in global memory, addressed from this lane's first column. */
typedef struct hd_along {
  LLVMValueRef at;     /* pointer to the element of column col0 + run * q */
  LLVMValueRef paired; /* i1: the address is aligned to two elements */
  heddle_elem elem;
  int64_t bytes; /* of an element */
  bool whole;    /* all pairs that are read exist and are aligned */
} hd_along;

enum { HD_MOST_RUN = 16 };

/* How a lane loads two rows of a column of C together (emit_c_words.c). */
typedef struct hd_c_words {
  LLVMValueRef at;           /* pointer to (row0 + 2 * (lane % 4), col0 + lane / 4) */
  LLVMValueRef columns_left; /* i32: from that column on */
  LLVMValueRef both[2];      /* i1, by h: both rows exist, and their address is aligned */
  LLVMValueRef each[2][2];   /* i1, by h: otherwise, whether a row exists */
} hd_c_words;

typedef struct hd_strip {
  const hd_op *op;
  heddle_elem acc_elem;
  int32_t n_blocks, run;
  int32_t halves; /* of 8 rows of D: 2; with `pair` 1 */
  LLVMValueRef *acc;                 /* 4 * n_blocks elements, f32 or i32 */
  LLVMValueRef row0, col0, row, col; /* i32: of the strip; row, col: of this lane's first element */
  LLVMValueRef m, n; /* of D */
  LLVMValueRef row_ok[2];   /* row + 8h < m */
  LLVMValueRef
      cols_left[2]; /* in row h from this lane's first column on; 0 if the row is outside D */
  /* scatter_d: the column of D for each column: register i of lane l has that of column 32 i + l.
   * `d` then begins at column 0. NULL: columns are not scattered. */
  LLVMValueRef *to, n_columns; /* of D */
  hd_view d, c;
  const hd_c_words *c_words; /* NULL: C is loaded an element, or a run, at a time */
  bool integer; /* the whole epilogue is in i32 */
  bool finished;        /* finish.tile has applied the epilogue: only factors are left */
  LLVMValueRef factors; /* i32 address of this lane's factors of columns, or unless `finished` of
                           its scale_b; NULL: none */
  bool pair;
  bool has_c, has_bias, has_bias_n, has_scale_a, has_scale_b;
  LLVMValueRef alpha, beta, scale_b_one; /* NULL: absent */
  LLVMValueRef bias_m[2], scale_a[2];    /* by h; NULL: absent */
  hd_along bias_n, scale_b;              /* at NULL: absent */
  const char *act; /* with `pair` the gate's */
  bool coarse;     /* activations with the accuracy of 16 bits */
  LLVMValueRef user, user_ptr; /* function and its pointer */
} hd_strip;

/* Partial sums are stored in fragment order: for each block a vector of 4 elements per lane. */
enum { HD_VECTOR = 4, HD_VECTOR_BYTES = 16 };
/* Bytes from a lane's first vector to the one that begins with its element `i`, a multiple of 4. */
static inline int32_t hd_part_offset(int32_t i) {
  return i / HD_VECTOR * HD_LANES * HD_VECTOR_BYTES;
}

/* The inputs of the epilogue for the four elements of a block, besides the accumulators: by h, j,
 * in f32 (integer epilogues: i32). NULL: absent. */
typedef struct hd_inputs {
  LLVMValueRef c[2][2], bias[2], scale_b[2];
  LLVMValueRef c_word[2]; /* by h: C as hd_emit_take_c_words takes it */
} hd_inputs;

/* Inputs of a stage.tile that were loaded during the previous one, because a load takes as long as
 * one slice. Both have the same rows. */
typedef struct hd_read_ahead {
  const hd_op *op;
  LLVMValueRef scale_a[2], bias_m[2]; /* NULL: absent */
  hd_inputs *in;                      /* one per block */
} hd_read_ahead;

/* A pair of adjacent columns, converted to D's type: one i16 or i32 that holds both (n 1), or two
 * i32 (n 2). */
typedef struct hd_pair {
  LLVMValueRef v[2];
  int32_t n;
} hd_pair;

/* --- emit_convert.c --- */
/* Whether D, or an input, can have this type. */
bool hd_emit_can_store(const hd_emitter *e, heddle_elem elem);
bool hd_emit_can_load(heddle_elem elem);
hd_pair hd_emit_pack(hd_emitter *e, heddle_elem elem, LLVMValueRef x, LLVMValueRef y);
/* Element j of a pair as bits: i8, i16 or i32. */
LLVMValueRef hd_emit_unpack(hd_emitter *e, heddle_elem elem, hd_pair pair, int j);
/* Converts bits as loaded (i8, i16, i32) to f32, or (integer) to i32. */
LLVMValueRef hd_emit_from_bits(hd_emitter *e, heddle_elem elem, LLVMValueRef bits, bool integer);
/* The same for the 1, 2 or 4 elements of a 32-bit word, of any type of D. */
void hd_emit_word_elements(hd_emitter *e, heddle_elem elem, LLVMValueRef word, bool integer,
                           LLVMValueRef *out);
/* The elements of accumulator registers, one or two of each, in f32 or i32. */
void hd_emit_accumulators(hd_emitter *e, heddle_elem elem, LLVMValueRef const *regs, int32_t n_regs,
                          LLVMValueRef *out);

/* --- emit_epilogue.c --- */
/* Reads the op's attributes and arguments: everything that does not depend on the block. */
heddle_status hd_emit_epilogue_open(hd_emitter *e, hd_strip *s);
/* Loads the inputs of the run / 2 blocks from b on; `in` has as many elements. checked: accesses
 * only what is inside m x n. */
void hd_emit_read_inputs(hd_emitter *e, const hd_strip *s, int32_t b, bool checked, hd_inputs *in);
/* Whether the epilogue reads only vectors along n: one register per column for all rows. */
bool hd_emit_reads_vectors(const hd_strip *s);
/* Whether its inputs are loaded long before they are needed: such vectors, or C in words. */
bool hd_emit_reads_ahead(const hd_strip *s);
/* Loads n blocks together (only if hd_emit_reads_at_once): wide loads without predicates if all
 * columns exist and pairs are aligned, else checked loads. */
bool hd_emit_reads_at_once(const hd_emitter *e, const hd_strip *s);
void hd_emit_read_vectors(hd_emitter *e, const hd_strip *s, int32_t b, int32_t n, hd_inputs *in);
/* The two finished elements (h < halves) of block b, in f32 or i32. */
void hd_emit_finish(hd_emitter *e, const hd_strip *s, const hd_inputs *in, int32_t b, int h,
                    LLVMValueRef out[2]);
/* Element j of them, if the strip has a user's function. */
LLVMValueRef hd_emit_finish_by_user(hd_emitter *e, const hd_strip *s, const hd_inputs *in,
                                    int32_t b, int h, int j);
/* The column of element j of block b, relative to this lane's first column. */
static inline int32_t hd_strip_column(const hd_strip *s, int32_t b, int j) {
  int32_t blocks = s->run / 2;
  return b / blocks * 4 * s->run + b % blocks * 2 + j;
}
/* i1: element (h, j) of block b is inside m x n. */
LLVMValueRef hd_emit_inside(hd_emitter *e, const hd_strip *s, int32_t b, int h, int j);
/* An address in a view: a pointer, and an offset in bytes, which becomes an immediate of the
 * instruction. For stores also a predicate (i1; NULL: always). */
typedef struct hd_place {
  LLVMValueRef ptr;
  int64_t bytes;
  LLVMValueRef where;
} hd_place;
hd_place hd_emit_place(hd_emitter *e, const hd_strip *s, const hd_view *view, int32_t b, int h,
                       int j);
/* The column of D for column `x` from block b on (per lane); if not below n_columns: none. */
LLVMValueRef hd_emit_scattered(hd_emitter *e, const hd_strip *s, int32_t b, LLVMValueRef x);
/* The address in column `column` that corresponds to `ptr` in column 0. */
hd_place hd_emit_in_column(hd_emitter *e, const hd_strip *s, LLVMValueRef ptr, LLVMValueRef column);

/* --- emit_c_words.c --- */
/* For a column-major C of 16-bit types, without pairs, runs and scattered columns. */
void hd_emit_open_c_words(hd_emitter *e, hd_strip *s);
/* Loads block b, by h; zeros outside of m x n. */
void hd_emit_read_c_words(hd_emitter *e, const hd_strip *s, int32_t b, LLVMValueRef words[2]);
/* The two elements of this lane's row, in f32 or i32. For whole warps. */
void hd_emit_take_c_words(hd_emitter *e, const hd_strip *s, LLVMValueRef word, LLVMValueRef out[2]);

/* --- emit_store.c --- */
/* Reads everything of a store.tile or stage.tile except the destination. */
heddle_status hd_emit_strip_open(hd_emitter *e, hd_strip *s);
/* Finishes the pairs of blocks first to end - 1, at [2 * block + h], h < halves. If `checked`,
 * accesses nothing outside m x n. */
void hd_emit_finish_all(hd_emitter *e, const hd_strip *s, int32_t first, int32_t end, bool checked,
                        hd_pair *pair);
/* Finishes the pairs of the first n_blocks blocks, whose inputs were loaded before. */
void hd_emit_finish_read(hd_emitter *e, const hd_strip *s, const hd_inputs *in, int32_t n_blocks,
                         hd_pair *pair);

/* --- emit_stage.c --- */
/* Finishes the pairs of blocks before `end` with the user's function. It may load, so it is called
 * only for elements that exist. */
void hd_emit_finish_user(hd_emitter *e, const hd_strip *s, int32_t end, hd_pair *pair);

/* --- emit_factor.c --- */
/* The shared address of slot `slot` of a buffer. */
LLVMValueRef hd_emit_slot_at(hd_emitter *e, const hd_value *buffer, LLVMValueRef slot);
/* The shared address of a strip's factors. Reads the factors of a block's two columns. */
LLVMValueRef hd_emit_factors(hd_emitter *e, const hd_strip *s);
void hd_emit_read_factors(hd_emitter *e, const hd_strip *s, int32_t b, LLVMValueRef out[2]);

/* --- emit_put.c: stores as inline asm that contains the constant offsets and predicates. This
 * saves LLVM thousands of small instructions. --- */
/* Stores n consecutive words: 1, 2 or 4 of i32, or one i16 or i8. */
void hd_emit_put_words(hd_emitter *e, hd_place at, LLVMValueRef const *w, int32_t n);
/* Stores half h of n blocks from b on, each element only if it is inside m x n. `pair`: the first
 * pair of block b. */
enum { HD_PUT_BLOCKS = 4 /* maximum of n */ };
void hd_emit_put_checked(hd_emitter *e, const hd_strip *s, int32_t b, int32_t n, int h,
                         const hd_pair *pair);

/* --- emit_row_words.c: 16 consecutive bytes of a row per lane, 64 per quad (a group) --- */
enum { HD_QUAD_BYTES = 64 };
/* The number of blocks of a group. */
int32_t hd_quad_blocks(const hd_strip *s);
/* The lane's words of the group whose first pair is `pair`, half h. */
void hd_emit_row_words(hd_emitter *e, const hd_strip *s, int h, const hd_pair *pair,
                       LLVMValueRef w[4]);
/* Where the lane's words of the group from block b on are stored. */
hd_place hd_emit_place_of_words(hd_emitter *e, const hd_strip *s, int32_t b, int h);
/* The low halves of four words, then their high halves. */
void hd_emit_sort_halves(hd_emitter *e, const LLVMValueRef w[4], LLVMValueRef sorted[4]);

/* --- emit_store_shifted.c --- */
/* Stores blocks `first` to `end` - 1 of a row-major strip of 1- or 2-byte elements, as far as they
 * are inside m x n, at any addresses. `pair`: the first pair of block `first`. For whole warps. */
void hd_emit_store_shifted(hd_emitter *e, const hd_strip *s, int32_t first, int32_t end,
                           const hd_pair *pair);

/* --- emit_activation.c --- */
/* Applies `act` (activations.def) to two f32. coarse: accurate enough for 16 bits. */
void hd_emit_activation(hd_emitter *e, const char *act, bool coarse, LLVMValueRef x[2]);
bool hd_emit_is_activation(const char *act);

/* --- emit_exchange.c --- */
/* Transposes four words per lane within each quad: lane q gets word q of lanes 0 to 3. */
void hd_emit_transpose_quad(hd_emitter *e, LLVMValueRef w[4]);
/* The same among four lanes that are 4 apart: of four consecutive quads. */
void hd_emit_transpose_quads(hd_emitter *e, LLVMValueRef w[4]);
/* Lanes 2i and 2i + 1 exchange a pair of words: after it the even lane holds w[0..1] of both, the
 * odd lane w[2..3] of both, in lane order. */
void hd_emit_trade_pairs(hd_emitter *e, LLVMValueRef w[4]);
/* movmatrix: transposes an 8x8 matrix of 16-bit elements in a warp. */
LLVMValueRef hd_emit_movmatrix(hd_emitter *e, LLVMValueRef word);

#endif
