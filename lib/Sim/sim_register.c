/* Sim/sim_register.c: reading and writing operands; poison of unfinished wgmma (R5). */
#include "Sim/sim_tmem.h"

static uint64_t special(const sim_warp *w, int64_t sreg, uint32_t lane) {
  const sim_machine *m = w->machine;
  const sim_cta *cta = w->cta;
  switch (sreg) {
  case SIM_SREG_TID_X: return w->index * 32 + lane;
  case SIM_SREG_NTID_X: return m->n_threads;
  case SIM_SREG_CTAID_X: return cta->index % m->grid[0];
  case SIM_SREG_CTAID_Y:
  case SIM_SREG_CLUSTERID_Y: return cta->index / m->grid[0] % m->grid[1];
  case SIM_SREG_CTAID_Z:
  case SIM_SREG_CLUSTERID_Z: return cta->index / m->grid[0] / m->grid[1];
  case SIM_SREG_NCTAID_X: return m->grid[0];
  case SIM_SREG_NCTAID_Y:
  case SIM_SREG_NCLUSTERID_Y: return m->grid[1];
  case SIM_SREG_NCTAID_Z:
  case SIM_SREG_NCLUSTERID_Z: return m->grid[2];
  case SIM_SREG_NTID_Y:
  case SIM_SREG_NTID_Z:
  case SIM_SREG_CLUSTER_NCTAID_Y:
  case SIM_SREG_CLUSTER_NCTAID_Z: return 1;
  case SIM_SREG_LANEID: return lane;
  case SIM_SREG_WARPID: return w->index;
  case SIM_SREG_NWARPID: return m->n_warps;
  case SIM_SREG_CLUSTERID_X: return cta->index % m->grid[0] / m->cluster_size;
  case SIM_SREG_NCLUSTERID_X: return m->grid[0] / m->cluster_size;
  case SIM_SREG_CLUSTER_CTAID_X:
  case SIM_SREG_CLUSTER_CTARANK: return cta->rank;
  case SIM_SREG_CLUSTER_NCTAID_X:
  case SIM_SREG_CLUSTER_NCTARANK: return m->cluster_size;
  case SIM_SREG_LANEMASK_EQ: return 1u << lane;
  case SIM_SREG_LANEMASK_LT: return (1u << lane) - 1;
  case SIM_SREG_LANEMASK_LE: return (2ull << lane) - 1;
  case SIM_SREG_LANEMASK_GT: return 0xffffffffu & ~((2ull << lane) - 1);
  case SIM_SREG_LANEMASK_GE: return 0xffffffffu & ~((1ull << lane) - 1);
  case SIM_SREG_SMID: return cta->index;
  case SIM_SREG_NSMID: return m->n_ctas;
  case SIM_SREG_CLOCK: return (uint32_t)w->steps;
  case SIM_SREG_CLOCK64:
  case SIM_SREG_GLOBALTIMER: return w->steps;
  case SIM_SREG_DYNAMIC_SMEM: return (uint64_t)m->plan->variant->shared_bytes;
  case SIM_SREG_TOTAL_SMEM: return cta->shared.n_bytes - SIM_SHARED_BASE;
  default: return 0;
  }
}

uint64_t hd_sim_read_lane(sim_warp *w, const sim_opnd *o, uint32_t lane) {
  switch (o->kind) {
  case SIM_REG: {
    uint64_t value = w->reg[(size_t)o->reg * 32 + lane];
    return o->neg ? (uint64_t)(value == 0) : value; /* only predicates are negated in place */
  }
  case SIM_SHARED: return (uint64_t)o->imm | (uint64_t)w->cta->rank << SIM_RANK_SHIFT;
  case SIM_SREG: return special(w, o->imm, lane);
  default: return (uint64_t)o->imm;
  }
}

uint64_t hd_sim_address(sim_warp *w, const sim_opnd *o, uint32_t lane) {
  return hd_sim_read_lane(w, &o->vec[0], lane) + (uint64_t)o->imm;
}

const uint64_t *hd_sim_read(sim_warp *w, const sim_opnd *o, uint64_t buf[32]) {
  if (o->kind == SIM_REG && !o->neg)
    return &w->reg[(size_t)o->reg * 32];
  for (uint32_t l = 0; l < 32; l++)
    buf[l] = hd_sim_read_lane(w, o, l);
  return buf;
}

uint64_t *hd_sim_dst(sim_warp *w, const sim_opnd *o, uint64_t scratch[32]) {
  return o->kind == SIM_REG ? &w->reg[(size_t)o->reg * 32] : scratch;
}

uint32_t hd_sim_undefined(const sim_warp *w, const sim_opnd *o) {
  uint32_t lanes = 0;
  if (o->kind == SIM_REG)
    return w->undefined[o->reg];
  for (uint32_t i = 0; i < o->n; i++)
    lanes |= hd_sim_undefined(w, &o->vec[i]);
  return lanes;
}

void hd_sim_define(sim_warp *w, const sim_opnd *o, uint32_t lanes, uint32_t undefined) {
  if (o->kind == SIM_REG)
    w->undefined[o->reg] = (w->undefined[o->reg] & ~lanes) | (undefined & lanes);
  for (uint32_t i = 0; i < o->n; i++)
    hd_sim_define(w, &o->vec[i], lanes, undefined);
}

sim_step hd_sim_touch(sim_warp *w, const sim_insn *insn, const sim_opnd *o) {
  for (uint32_t i = 0; i < o->n; i++)
    if (hd_sim_touch(w, insn, &o->vec[i]) == SIM_STOP)
      return SIM_STOP;
  if (o->kind != SIM_REG)
    return SIM_NEXT;
  w->touched[o->reg] = w->fence_epoch;
  if (w->machine->options.off & HD_SIM_NO_POISON)
    return SIM_NEXT;
  if (w->mover && w->mover->loading[o->reg] > w->mover->waited[0] &&
      hd_sim_find(w->machine, "R9", w, 0, insn, NULL,
                  "touches a register that tcgen05.ld may not have written yet: "
                  "tcgen05.wait::ld belongs before it") == SIM_STOP)
    return SIM_STOP;
  if (w->busy[o->reg] <= w->wgmma_waited)
    return SIM_NEXT;
  uint8_t as = w->busy_as[o->reg];
  const char *part = as == 'd' ? "an accumulator" : as == 'a' ? "part of A" : "metadata";
  return hd_sim_find(w->machine, as == 'm' ? "R5:heddle" : "R5", w, 0, insn, NULL,
                     "touches a register that is %s of wgmma group %u, which is not waited for "
                     "(waited: %u); wgmma.wait_group belongs before it",
                     part, w->busy[o->reg], w->wgmma_waited);
}
