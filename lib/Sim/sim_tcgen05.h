/* Sim/sim_tcgen05.h: a tcgen05.mma once its descriptors are read (private to the folder). */
#ifndef HD_SIM_TCGEN05_H
#define HD_SIM_TCGEN05_H

#include "Sim/sim_product.h"
#include "Sim/sim_tmem.h"

typedef struct sim_plan {
  sim_mma s; /* m: rows of a CTA; n: all columns */
  hd_sim_idesc idesc;
  hd_sim_paths paths;
  uint32_t columns, group; /* stored elements of a row of A; number of CTAs */
} sim_plan;

/* Fills in *p. Returns NULL, or the error in the instruction descriptor. */
const char *hd_sim_tcgen05_plan(const sim_insn *in, uint32_t idesc, sim_plan *p);
/* Completes a tcgen05.mma of one or two CTAs. */
sim_complete hd_sim_tcgen05_complete;

#endif
