/* Passes/plan.h: the plan of a kernel: what it computes and how.
 *
 * select_shape, tile, assign_fragments and select_operand_path make the plan. The ops of the tile
 * level hold it: each decision is one attribute of `work`, `matmul` or `store`. hd_plan is the view
 * of those ops that every later pass, the manifest and tools read. */
#ifndef HD_PLAN_H
#define HD_PLAN_H

#include "Schedule/problem.h"
#include "Schedule/schedule.h"
#include "Schedule/variants.h"

/* 32-bit registers per thread for each operand of one instruction; 0: the operand is in shared or
 * tensor memory. ORDER FRAGMENTS: the order of matmul's `fragments`. */
typedef struct hd_fragment_registers {
  int32_t a, b, metadata, accumulators;
} hd_fragment_registers;

enum { HD_QUAD_BLOCKS = 4 };

typedef struct hd_plan {
  struct hd_plan *next; /* the plan of another kernel of the module */
  hd_problem p;         /* what is computed; p.kernel is the kernel */
  hd_op *work;          /* NULL at problem level */
  const hd_schedule_words *words; /* the input of select_shape, borrowed from the module; NULL: the
                                     kernel's own schedule text */
  hd_schedule s;        /* how it is computed; from select_shape on */
  const hd_spec_row *row;
  hd_fragment_registers fragments; /* from assign_fragments on */
  const hd_b_variant *variant;     /* from select_operand_path on, like b_box and swizzle */
  int32_t b_box;                   /* columns of B in a box of its tensor map; 0: no map */
  int32_t swizzle;                 /* bytes of the swizzle of B's slots; 0: none */
} hd_plan;

/* The plan of a kernel, as far as passes have made it; owned by the module. For a parsed module the
 * first call reads the plan from the ops and checks it: HEDDLE_INVALID or HEDDLE_UNSUPPORTED with
 * rule, value and nearest legal value if attributes contradict each other. */
heddle_status hd_plan_of(heddle_context *ctx, hd_module *module, hd_op *kernel, hd_plan **plan);

/* The plan of `kernel`, a clone of the plan's kernel. map: the old values to the clone's values. */
hd_plan *hd_plan_clone(hd_module *module, const hd_plan *plan, hd_op *kernel,
                       const hd_value_map *map);

/* Write to the ops of the tile level: the schedule; the fragments; the variant, box and swizzle,
 * and the schedule, which the variant may change. */
void hd_plan_write_schedule(hd_module *module, const hd_plan *plan);
void hd_plan_write_fragments(hd_module *module, const hd_plan *plan);
void hd_plan_write_paths(hd_module *module, const hd_plan *plan);

/* Blocks of 8 columns of D that a warp stores at once (tcgen05: the maximum). With path = quad,
 * lanes exchange registers within groups of HD_QUAD_BLOCKS blocks. */
int32_t hd_plan_store_blocks(const hd_plan *plan);

/* The instruction of a schedule; the registers of its fragments; the swizzle with which the rows of
 * a k-block are read without bank conflicts. */
const hd_spec_row *hd_plan_row(const hd_problem *problem, const hd_schedule *schedule);
hd_fragment_registers hd_plan_fragments(const hd_spec_row *row);
int32_t hd_plan_swizzle(void);

#endif
