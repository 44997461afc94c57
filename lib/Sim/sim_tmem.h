/* Sim/sim_tmem.h: tensor memory and the asynchronous operations of tcgen05 (private to the folder).
 *
 * Order of accesses (PTX ISA, "Memory Consistency Model for 5th generation of TensorCore
 * operations"), rule R9 of this simulator: an asynchronous operation is ordered after what its
 * thread's *view* holds. The view grows by fence::after_thread_sync (all that the thread knows
 * then, and the order that mbarriers imply, even for relaxed waits) and by wait::ld and wait::st
 * (its warp's loads and stores). fence::before_thread_sync publishes the view to other threads. A
 * commit publishes the mma and cp that it tracks, and what they followed. Some pairs are ordered by
 * issue order, in one thread or with fences between: cp -> mma, and mma -> mma of the same shape,
 * kind and accumulator. */
#ifndef HD_SIM_TMEM_H
#define HD_SIM_TMEM_H

#include "Sim/sim_machine.h"
#include "Sim/sim_tcgen05_maps.h"

enum { SIM_OP_MMA = 1, SIM_OP_CP, SIM_OP_LD, SIM_OP_ST, SIM_OP_COMMIT }; /* insn.op */

/* A CTA's tensor memory: 4 bytes per cell, at ((lane * 512) + column) * 4. */
typedef struct sim_tensor {
  sim_memory memory;
  uint16_t column[SIM_TENSOR_COLUMNS]; /* first column of the allocation + 1; 0: free */
  uint32_t last_size;                  /* of the latest allocation; 0: none yet */
  uint32_t wanted, granted;            /* cta_group::2: columns requested; 1 + the column granted */
  bool relinquished;
} sim_tensor;

/* An issued operation, for the pairs that are ordered by issue. */
typedef struct sim_issued {
  const sim_insn *insn;
  uint32_t d, shape, clock; /* accumulator; M, N, kind in a number; the thread's clock */
} sim_issued;

/* A thread's mma and cp, numbered from 1 in the order of issue. */
typedef struct sim_issuer {
  sim_vc view;
  sim_vc behind; /* joined views of the completed operations */
  sim_vc heard;  /* from mbarriers, also by relaxed waits; fence::after_thread_sync adds it */
  sim_issued *issued;
  uint32_t n_issued, cap, n_done;
} sim_issuer;

/* A warp's ld (0) and st (1), numbered from 1. */
typedef struct sim_mover {
  uint32_t n_issued[2], n_done[2], waited[2];
  uint32_t *loading; /* [n_regs] the last ld that defines it */
} sim_mover;

typedef struct sim_tensor_op {
  sim_vc view;     /* grows by operations found to precede it in issue order */
  uint32_t number; /* of its thread, or among its warp's ld or st */
  uint32_t address, split;
  uint32_t *value; /* st: [register][lane] */
  /* mma, cp */
  uint64_t desc_a, desc_b;
  uint32_t a, meta, scale_a, scale_b, idesc, scale_d, disabled[8];
  bool accumulate;
} sim_tensor_op;

void hd_sim_tensor_start(sim_machine *m, sim_cta *cta);
/* Frees memory and views; with `all` also the records. */
void hd_sim_tensor_stop(sim_machine *m, sim_cta *cta, bool all);
/* Clears the history of columns. */
void hd_sim_tensor_forget(sim_tensor *t, uint32_t first, uint32_t n);

/* A new operation of mma, cp or commit by a thread; ld or st by a warp. */
sim_async *hd_sim_tensor_issue(sim_warp *w, uint32_t lane, const sim_insn *in,
                               sim_complete *complete);
sim_async *hd_sim_tensor_move(sim_warp *w, uint32_t mask, const sim_insn *in,
                              sim_complete *complete);
/* The operation's access to tensor memory. */
sim_access hd_sim_tensor_access(sim_machine *m, const sim_async *op, uint8_t kind);
/* ... and of mma and cp to shared memory. */
sim_access hd_sim_operand_access(sim_machine *m, const sim_async *op);
/* is_next: whether an mma or cp may complete now. A thread's operations complete in order, and so
 * do pairs that are ordered by issue. done: it has completed. */
bool hd_sim_tensor_is_next(const sim_async *op);
void hd_sim_tensor_done(sim_machine *m, const sim_async *op);
/* n cells of a lane, checked: allocated, ordered. at: the first. */
sim_step hd_sim_tensor_cells(const sim_access *a, sim_cta *cta, uint32_t lane, uint32_t column,
                             uint32_t n, uint32_t **at);
/* Whether the cell was ever written. */
bool hd_sim_tensor_written(const sim_cta *cta, uint32_t lane, uint32_t column);
/* Whether the access is ordered after one by `agent` only because both were issued in order. */
bool hd_sim_tensor_pipelined(const sim_access *a, sim_agent agent, uint32_t at);
/* The pair of CTAs, even rank first; or the CTA itself. Returns the number. */
uint32_t hd_sim_tensor_ctas(const sim_async *op, sim_cta *cta[2]);
/* When the last thread exits: all columns must be freed, all operations waited for. */
sim_step hd_sim_tensor_exit(sim_warp *w, const sim_insn *in, const sim_vc *all);

/* Decoders of the instructions, after the word that names them. */
heddle_status hd_sim_decode_tensor_move(sim_decode *d, sim_insn *in, bool store);
heddle_status hd_sim_decode_tensor_fence(sim_insn *in, bool after);
heddle_status hd_sim_decode_tensor_wait(sim_decode *d, sim_insn *in, bool store);
heddle_status hd_sim_decode_tensor_alloc(sim_decode *d, sim_insn *in);
heddle_status hd_sim_decode_tensor_mma(sim_decode *d, sim_insn *in);
heddle_status hd_sim_decode_tensor_cp(sim_decode *d, sim_insn *in);
heddle_status hd_sim_decode_tensor_commit(sim_decode *d, sim_insn *in);

#endif
