/* Check/check_program.h: a kernel flattened to a list of steps. A warp can stop at any step. */
#ifndef HD_CHECK_PROGRAM_H
#define HD_CHECK_PROGRAM_H

#include "IR/ir.h"
#include "Spec/spec.h"

typedef enum hd_ck_code {
  HD_CK_OP,   /* execute op */
  HD_CK_FOR,  /* args lo, hi, step, carried...; outs index, carried...; results the op's */
  HD_CK_NEXT, /* end of a loop's body: args next carried values; target the FOR */
  HD_CK_IF,   /* args condition; target the else part */
  HD_CK_JOIN, /* end of a branch: copies args to outs; target after the if */
  HD_CK_LEAVE, /* end of a last_arriver's region; the last_arriver's target */
  HD_CK_ROLE, /* warps of other roles go to target */
  HD_CK_END
} hd_ck_code;

enum { HD_CK_EQ, HD_CK_NE, HD_CK_LT, HD_CK_LE, HD_CK_GT, HD_CK_GE };

typedef struct hd_ck_step {
  hd_ck_code code;
  const hd_op *op;
  int32_t *args, *outs, *results; /* indices of values */
  int32_t n_args, n_outs, n_results;
  int32_t target;
  int32_t role;   /* -1 outside of roles */
  bool skips;     /* FOR: whole periods may be skipped */
  bool decides;   /* FOR: it contains a last_arriver, or its results are numbers */
  const hd_spec_row *row; /* of an instruction; else NULL */
  int64_t number; /* const: its value; cursor: its stages; cmp: its predicate (HD_CK_EQ ...) */
} hd_ck_step;

typedef struct hd_ck_role {
  const hd_op *op;
  const char *name;
  int32_t warp_lo, n_warps;
  bool single; /* only thread-issued work: all warps but the first leave at once */
  bool counts; /* contains a last_arriver */
} hd_ck_role;

/* ORDER HD_CK_ROWS. The verifier accepts no other layout. */
typedef enum hd_ck_layout { HD_CK_ROWS, HD_CK_PACKED_A, HD_CK_BOX, HD_CK_LINEAR } hd_ck_layout;

typedef struct hd_ck_ring { /* a buffer or a barrier */
  const hd_op *op;
  int32_t stages, first; /* first: index of slot 0 among all slots of its kind in a CTA */
  int64_t bytes, count;
  int64_t at; /* buffer: its first byte in shared memory, if all slots are multiples of a cell */
  bool over;  /* overlaps other buffers, whose history covers its bytes */
  hd_ck_layout layout; /* of a buffer, as all fields below; 0 if it does not state them */
  int64_t slab_bytes, n_slabs, meta_offset, rows, panel, run;
  int32_t elem_bits; /* of the container */
  bool by_step;
} hd_ck_ring;

/* The sizes that the kernel's `product` fixes; 0: not fixed, or no product. */
typedef struct hd_ck_product {
  const hd_op *op; /* NULL: the kernel states no problem */
  int64_t m, n, k, g, ldb, ldd;
} hd_ck_product;

enum { HD_CK_MAX_ROLES = 8, HD_CK_MAX_RINGS = 16 };

typedef struct hd_ck_program {
  hd_arena arena;
  const hd_op *kernel;
  hd_ck_step *steps; /* owned (malloc) */
  int32_t n_steps, cap_steps;
  const hd_value **values; /* open addressing, by pointer; owned */
  int32_t *numbers, cap_values, n_values;
  hd_ck_role roles[HD_CK_MAX_ROLES];
  hd_ck_ring buffers[HD_CK_MAX_RINGS], barriers[HD_CK_MAX_RINGS];
  int32_t n_roles, n_buffers, n_barriers, n_buffer_slots, n_barrier_slots;
  int32_t n_warps, cluster; /* warps of a CTA, CTAs of a cluster */
  int32_t together;         /* CTAs that multiply together: 2 for a pair */
  int32_t splits; /* maximum splits of k of a tile; 1: none */
  bool transposed; /* B is stored k x n */
  bool streams; /* stream-K: CTAs share tiles over k, in parts that depend on the grid */
  bool counts;  /* a last_arriver decides which CTA sums the parts */
  hd_ck_product product;
  int32_t period;      /* iterations after which all rings are in the same state; 0: run all */
  const char *refusal; /* why the kernel cannot be flattened; else NULL */
  const hd_op *refused;
} hd_ck_program;

/* Flattens a verified kernel; program->refusal says what is not supported. Always free it. */
void hd_ck_program_build(hd_ck_program *program, const hd_op *kernel);
void hd_ck_program_free(hd_ck_program *program);
/* The ring that a value names; NULL if no declaration defines the value. */
const hd_ck_ring *hd_ck_buffer(const hd_ck_program *program, const hd_value *value);
/* Whether the buffer holds statistics of D, or scales of columns: it is not a ring. */
bool hd_ck_is_statistics(const hd_op *kernel, const hd_op *buffer);
const hd_ck_ring *hd_ck_barrier(const hd_ck_program *program, const hd_value *value);

#endif
