/* setmaxnreg: a warp gives registers to the pool of its CTA, or waits until the pool has what it
 * asks for. A launch has .maxnreg for every thread and none in the pool; without that number ptxas
 * ignores the instruction. */
#include "Sim/sim_machine.h"

enum { LEAST = 24, MOST = 256, UNIT = 8 };

static sim_step exec(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  uint32_t n = (uint32_t)in->opnd[0].imm, has = w->registers;
  if (!m->program->max_registers)
    return SIM_NEXT;
  if (in->op ? n < has : n > has)
    return hd_sim_fault(m, "registers", w, (uint32_t)__builtin_ctz(mask), in,
                        "%s to %u registers from %u", in->op ? "grows" : "shrinks", n, has);
  if (in->op && n - has > w->cta->free_registers) {
    hd_sim_block(w, SIM_WAIT_REGISTERS, 0, n - has);
    return SIM_WAIT;
  }
  w->cta->free_registers += has - n;
  w->registers = n;
  hd_sim_progress(m);
  return SIM_NEXT;
}

heddle_status hd_sim_decode_setmaxnreg(sim_decode *d, sim_insn *in) {
  in->exec = exec;
  in->aligned = in->meets = hd_sim_take(d, "aligned");
  in->op = hd_sim_take(d, "inc");
  if ((!in->op && !hd_sim_take(d, "dec")) || !hd_sim_take(d, "sync") || !hd_sim_take(d, "u32"))
    return HEDDLE_UNSUPPORTED;
  bool fits = in->n_opnds == 1 && in->opnd[0].kind == SIM_IMM && in->opnd[0].imm >= LEAST &&
              in->opnd[0].imm <= MOST && in->opnd[0].imm % UNIT == 0;
  return fits ? HEDDLE_OK : HEDDLE_INVALID;
}
