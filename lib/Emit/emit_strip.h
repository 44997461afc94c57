/* Emit/emit_strip.h: one 16-row strip of D on its way through the epilogue.
 *
 * A lane (g = lane / 4, q = lane % 4) holds of block b (8 columns) the elements
 *   register 4b + 2h + j  ->  (row g + 8h, column 8b + 2q + j)        h, j = 0, 1
 * so two registers are a pair of neighbouring columns. Where B's rows were permuted (`run` in
 * docs/ir.md) each run / 2 blocks, b = i + run / 2 * t, are 4 runs of columns instead, one a lane:
 *   register 4b + 2h + j  ->  (row g + 8h, column 4 run * t + run * q + 2i + j)
 * which for run = 2 is the first. Of pairs (h = 0 the gate, 1 up) both become one element of D,
 * h = 0 of 8 rows. */
#ifndef HD_EMIT_STRIP_H
#define HD_EMIT_STRIP_H

#include "Emit/emit_state.h"

/* A matrix in global memory seen from this lane. */
typedef struct hd_view {
  LLVMValueRef base;     /* pointer to element (row0 + g, col0 + run * q) */
  LLVMValueRef below;    /* 8 rows down; NULL: col_major */
  LLVMValueRef origin;   /* pointer to element (row0, col0): the same in all lanes */
  LLVMValueRef ld_bytes; /* i64, between rows (col_major: columns) */
  heddle_elem elem;
  int64_t bytes; /* of an element */
  bool col_major;
} hd_view;

/* A vector along n in global memory seen from this lane. */
typedef struct hd_along {
  LLVMValueRef at;     /* pointer to the element of column col0 + run * q */
  LLVMValueRef paired; /* i1: the address is a multiple of two elements */
  heddle_elem elem;
  int64_t bytes; /* of an element */
  bool whole;    /* every pair that is read exists and is aligned */
} hd_along;

enum { HD_MOST_RUN = 16 };

typedef struct hd_strip {
  const hd_op *op;
  heddle_elem acc_elem;
  int32_t n_blocks, run;
  int32_t halves; /* of 8 rows of D: 2, of pairs 1 */
  LLVMValueRef *acc;                 /* 4 * n_blocks elements, f32 or i32 */
  LLVMValueRef row0, col0, row, col; /* i32; row, col: of this lane's first element */
  LLVMValueRef m, n; /* of D */
  LLVMValueRef row_ok[2];   /* row + 8h < m */
  LLVMValueRef
      cols_left[2]; /* of row h from this lane's first column on; 0 when the row is outside */
  /* Columns that go to others of D: register i of lane l has that of column 32 i + l. NULL: all
   * stay. With it `d` begins at column 0. */
  LLVMValueRef *to, n_columns; /* of D */
  hd_view d, c;
  bool integer; /* the whole epilogue is in i32 */
  bool finished;        /* by finish.tile: there is no epilogue left, */
  LLVMValueRef factors; /* but factors of columns; i32: where this lane's are. NULL: none */
  bool pair;
  bool has_c, has_bias, has_bias_n, has_scale_a, has_scale_b;
  LLVMValueRef alpha, beta, scale_b_one; /* NULL: absent */
  LLVMValueRef bias_m[2], scale_a[2];    /* by h; NULL: absent */
  hd_along bias_n, scale_b;              /* at NULL: absent */
  const char *act; /* of pairs the gate's */
  LLVMValueRef user, user_ptr; /* function and its pointer */
} hd_strip;

/* A part of a sum over k lies in fragment order: of block after block a vector of 4 elements a
 * lane. */
enum { HD_VECTOR = 4, HD_VECTOR_BYTES = 16 };
/* From a lane's first vector to that of its element `i`, a multiple of 4. */
static inline int32_t hd_part_offset(int32_t i) {
  return i / HD_VECTOR * HD_LANES * HD_VECTOR_BYTES;
}

/* What the epilogue reads beside the accumulators for the four elements of a block: by h, j, in f32
 * (integer epilogues: i32). NULL: absent. */
typedef struct hd_inputs {
  LLVMValueRef c[2][2], bias[2], scale_b[2];
} hd_inputs;

/* What a stage.tile reads beside its accumulators, read while the one before it was finished: a
 * load takes as long as its slice. Both have the same rows. */
typedef struct hd_read_ahead {
  const hd_op *op;
  LLVMValueRef scale_a[2], bias_m[2]; /* NULL: absent */
  hd_inputs *in;                      /* of each of its blocks */
} hd_read_ahead;

/* A pair of neighbouring columns converted to D's type: one i16 or i32 of both (n 1), or two
 * i32. */
typedef struct hd_pair {
  LLVMValueRef v[2];
  int32_t n;
} hd_pair;

/* --- emit_convert.c --- */
/* Can D, or an input, be of this type? */
bool hd_emit_can_store(const hd_emitter *e, heddle_elem elem);
bool hd_emit_can_load(heddle_elem elem);
hd_pair hd_emit_pack(hd_emitter *e, heddle_elem elem, LLVMValueRef x, LLVMValueRef y);
/* Element j of a pair as bits: i8, i16 or i32. */
LLVMValueRef hd_emit_unpack(hd_emitter *e, heddle_elem elem, hd_pair pair, int j);
/* Bits as loaded (i8, i16, i32) to f32, or (integer) to i32. */
LLVMValueRef hd_emit_from_bits(hd_emitter *e, heddle_elem elem, LLVMValueRef bits, bool integer);
/* The elements of a word of memory (1, 2 or 4 of them), of any type of D, likewise. */
void hd_emit_word_elements(hd_emitter *e, heddle_elem elem, LLVMValueRef word, bool integer,
                           LLVMValueRef *out);
/* An accumulator register as its elements, one or two, in f32 or i32. */
void hd_emit_accumulators(hd_emitter *e, heddle_elem elem, LLVMValueRef const *regs, int32_t n_regs,
                          LLVMValueRef *out);

/* --- emit_epilogue.c --- */
/* The op's flags and arguments: everything that does not depend on the block. */
heddle_status hd_emit_epilogue_open(hd_emitter *e, hd_strip *s);
/* Reads the inputs of the run / 2 blocks from b on, into as many. checked: only what lies inside m
 * x n is touched. */
void hd_emit_read_inputs(hd_emitter *e, const hd_strip *s, int32_t b, bool checked, hd_inputs *in);
/* Vectors along n alone are read: a register a column, for all of the strip's rows. */
bool hd_emit_reads_vectors(const hd_strip *s);
/* Reads n blocks at once (if hd_emit_reads_at_once): by wide loads without predicates if all of
 * their columns exist and pairs are aligned, else checked. */
bool hd_emit_reads_at_once(const hd_emitter *e, const hd_strip *s);
void hd_emit_read_vectors(hd_emitter *e, const hd_strip *s, int32_t b, int32_t n, hd_inputs *in);
/* The finished element (h < halves, j) of block b, in f32 or i32. */
LLVMValueRef hd_emit_finish(hd_emitter *e, const hd_strip *s, const hd_inputs *in, int32_t b, int h,
                            int j);
/* How far right of this lane's first column element j of block b stands. */
static inline int32_t hd_strip_column(const hd_strip *s, int32_t b, int j) {
  int32_t blocks = s->run / 2;
  return b / blocks * 4 * s->run + b % blocks * 2 + j;
}
/* Element (h, j) of block b lies inside m x n (i1). */
LLVMValueRef hd_emit_inside(hd_emitter *e, const hd_strip *s, int32_t b, int h, int j);
/* Its address in a view: a pointer, and bytes beyond it that go into the instruction; of a store,
 * where there is one (i1; NULL: everywhere). */
typedef struct hd_place {
  LLVMValueRef ptr;
  int64_t bytes;
  LLVMValueRef where;
} hd_place;
hd_place hd_emit_place(hd_emitter *e, const hd_strip *s, const hd_view *view, int32_t b, int h,
                       int j);
/* Where column `x` (each lane its own, of 8 from block b on) goes: a column of D, or none of it. */
LLVMValueRef hd_emit_scattered(hd_emitter *e, const hd_strip *s, int32_t b, LLVMValueRef x);
/* The place in that column of what stands at `ptr` in column 0. */
hd_place hd_emit_in_column(hd_emitter *e, const hd_strip *s, LLVMValueRef ptr, LLVMValueRef column);

/* --- emit_store.c --- */
/* Everything of a store.tile or stage.tile but where it goes. */
heddle_status hd_emit_strip_open(hd_emitter *e, hd_strip *s);
/* All pairs of blocks first to end - 1, at [2 * block + h], h < halves. Nothing outside m x n is
 * touched unless `checked` is false. */
void hd_emit_finish_all(hd_emitter *e, const hd_strip *s, int32_t first, int32_t end, bool checked,
                        hd_pair *pair);
/* The first n_blocks pairs of inputs that were read. */
void hd_emit_finish_read(hd_emitter *e, const hd_strip *s, const hd_inputs *in, int32_t n_blocks,
                         hd_pair *pair);

/* --- emit_stage.c --- */
/* The pairs of blocks before `end` by a function of the user, which may load: it is called for
 * elements that exist, and for no others. */
void hd_emit_finish_user(hd_emitter *e, const hd_strip *s, int32_t end, hd_pair *pair);

/* --- emit_factor.c --- */
/* Slot `slot` of a buffer of statistics. */
LLVMValueRef hd_emit_statistic_slot(hd_emitter *e, const hd_value *buffer, LLVMValueRef slot);
/* Where a finished store's factors are, in shared memory; those of a block's two columns. */
LLVMValueRef hd_emit_factors(hd_emitter *e, const hd_op *store);
void hd_emit_read_factors(hd_emitter *e, LLVMValueRef factors, int32_t b, LLVMValueRef out[2]);

/* --- emit_put.c: stores as inline asm, with constant offsets and predicates inside: thousands of
 * small instructions fewer for LLVM to look at. --- */
/* n words (i32, 1 to 4 of them; or one i16 or i8) to consecutive addresses. */
void hd_emit_put_words(hd_emitter *e, hd_place at, LLVMValueRef const *w, int32_t n);
/* Half h of n blocks from b on, whose pairs begin at `pair`: each element when it lies inside m x
 * n. */
enum { HD_PUT_BLOCKS = 4 /* at most */ };
void hd_emit_put_checked(hd_emitter *e, const hd_strip *s, int32_t b, int32_t n, int h,
                         const hd_pair *pair);

/* --- emit_activation.c --- */
/* act (activations.def) of an f32. */
LLVMValueRef hd_emit_activation(hd_emitter *e, const char *act, LLVMValueRef x);
bool hd_emit_is_activation(const char *act);

/* --- emit_exchange.c --- */
/* Four words a lane, transposed among the four lanes of a quad: lane q gets word q of lanes 0 to
 * 3. */
void hd_emit_transpose_quad(hd_emitter *e, LLVMValueRef w[4]);
/* Two words pairs a lane: lanes 2i and 2i + 1 trade, so that the even lane holds pair x of both,
 * the odd lane pair y of both: w[0..1] and w[2..3] become four words in lane order. */
void hd_emit_trade_pairs(hd_emitter *e, LLVMValueRef w[4]);
/* movmatrix: an 8x8 matrix of 16-bit elements transposed in a warp. */
LLVMValueRef hd_emit_movmatrix(hd_emitter *e, LLVMValueRef word);

#endif
