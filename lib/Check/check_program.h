/* Check/check_program.h: a kernel flattened to a list of steps that a warp can be stopped in. */
#ifndef HD_CHECK_PROGRAM_H
#define HD_CHECK_PROGRAM_H

#include "IR/ir.h"
#include "Spec/spec.h"

typedef enum hd_ck_code {
  HD_CK_OP,   /* execute op */
  HD_CK_FOR,  /* args lo, hi, step, carried...; outs index, carried...; results the op's */
  HD_CK_NEXT, /* end of a loop's body: args next carried values; target the FOR */
  HD_CK_IF,   /* args condition; target the else part */
  HD_CK_JOIN, /* end of a branch: args to outs; target behind the if */
  HD_CK_LEAVE, /* end of a last_arriver's region, whose target it is */
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
  bool skips;     /* of a FOR: whole periods of it may be skipped */
  bool decides;   /* of a FOR: arrivals are counted in it, or its results are numbers */
  const hd_spec_row *row; /* of an instruction; NULL */
  int64_t number; /* const: its value; cursor: its stages; cmp: its predicate, of HD_CK_EQ … */
} hd_ck_step;

typedef struct hd_ck_role {
  const hd_op *op;
  const char *name;
  int32_t warp_lo, n_warps;
  bool single; /* only thread-issued work: the warps past the first leave at once */
  bool counts; /* it has a last_arriver */
} hd_ck_role;

/* ORDER HD_CK_ROWS; the verifier admits no other. */
typedef enum hd_ck_layout { HD_CK_ROWS, HD_CK_PACKED_A, HD_CK_BOX, HD_CK_LINEAR } hd_ck_layout;

typedef struct hd_ck_ring { /* a buffer or a barrier */
  const hd_op *op;
  int32_t stages, first; /* first: index of slot 0 among all slots of its kind in a CTA */
  int64_t bytes, count;
  int64_t at; /* of a buffer: its first byte in shared memory, where slots are of whole cells */
  bool over;  /* it lies over other buffers, which know what happens in it */
  hd_ck_layout layout; /* of a buffer, as all that follows; 0 where it says no such thing */
  int64_t slab_bytes, n_slabs, meta_offset, rows, panel, run;
  int32_t elem_bits; /* of the container */
  bool by_step;
} hd_ck_ring;

/* What the kernel's `product` fixes; 0: nothing, or there is none. */
typedef struct hd_ck_product {
  const hd_op *op; /* NULL: the kernel says no problem */
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
  int32_t together;         /* CTAs that multiply together: 2 of a pair */
  int32_t splits; /* of k that a tile may have; 1: none */
  bool transposed; /* B is stored k x n */
  bool streams; /* CTAs share tiles over k, in parts that the grid decides */
  bool counts;  /* a last_arriver tells which CTA sums them up */
  hd_ck_product product;
  int32_t period;      /* iterations after which all rings stand where they stood; 0: run in full */
  const char *refusal; /* NULL, or why the kernel cannot be flattened */
  const hd_op *refused;
} hd_ck_program;

/* Flattens a verified kernel; program->refusal tells what does not fit. Free it in any case. */
void hd_ck_program_build(hd_ck_program *program, const hd_op *kernel);
void hd_ck_program_free(hd_ck_program *program);
/* The ring that a value names; NULL when the value is not made by a declaration. */
const hd_ck_ring *hd_ck_buffer(const hd_ck_program *program, const hd_value *value);
/* The buffer of statistics of D, whose slots are no ring; NULL: the kernel has none. */
const hd_op *hd_ck_statistics(const hd_op *kernel);
const hd_ck_ring *hd_ck_barrier(const hd_ck_program *program, const hd_value *value);

#endif
