/* setmaxnreg: a warp releases registers to the pool of its CTA, or waits until the pool has as many
 * as it requests. Each thread starts with .maxnreg registers, and the pool is empty; without
 * .maxnreg ptxas ignores the instruction. All warps of a warpgroup execute the same one, and
 * synchronise before the next (PTX ISA, setmaxnreg). */
#include "Sim/sim_machine.h"

enum { MINIMUM = 24, MAXIMUM = 256, UNIT = 8 };

/* Checks the warp's n-th setmaxnreg. The other warps of its warpgroup must have executed the
 * previous one, ordered before in every schedule, and if any the same n-th one. */
static sim_step check_warpgroup(const sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_machine *m = w->machine;
  uint32_t first = w->index / 4 * 4, n = w->n_resized + 1;
  for (uint32_t i = first; i < first + 4 && i < w->cta->n_warps; i++) {
    const sim_warp *other = &w->cta->warp[i];
    const sim_resize *before = &other->resize[(n - 1) % 2];
    if (other == w)
      continue;
    if (other->n_resized >= n && other->resize[n % 2].insn != in)
      return hd_sim_fault(m, "registers", w, lane, in,
                          "warp %u of the warpgroup executes the one at line %u instead", i,
                          other->resize[n % 2].insn->line);
    if (n > 1 && (other->n_resized < n - 1 ||
                  !hd_sim_clock_has(&hd_sim_thread(w, lane)->vc.order,
                                    hd_sim_thread_agent(other, 0), before->clock)))
      return hd_sim_fault(m, "registers", w, lane, in,
                          "follows the one at line %u, which warp %u of the warpgroup may not have "
                          "executed: a barrier of the warpgroup belongs between",
                          w->resize[(n - 1) % 2].insn->line, i);
  }
  return SIM_NEXT;
}

static sim_step exec(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  uint32_t n = (uint32_t)in->opnd[0].imm, has = w->registers, lane = (uint32_t)__builtin_ctz(mask);
  if (!m->program->max_registers)
    return SIM_NEXT;
  if (check_warpgroup(w, in, lane) == SIM_STOP)
    return SIM_STOP;
  if (in->op ? n < has : n > has)
    return hd_sim_fault(m, "registers", w, lane, in, "%s to %u registers from %u",
                        in->op ? "grows" : "shrinks", n, has);
  if (in->op && n - has > w->cta->free_registers) {
    hd_sim_block(w, SIM_WAIT_REGISTERS, 0, n - has);
    return SIM_WAIT;
  }
  w->cta->free_registers += has - n;
  w->registers = n;
  w->n_resized++;
  w->resize[w->n_resized % 2] = (sim_resize){in, hd_sim_thread(w, 0)->clock};
  hd_sim_progress(m);
  return SIM_NEXT;
}

/* At the end of a CTA: all warps of a warpgroup must have executed the same number. */
sim_step hd_sim_resized_alike(sim_warp *w, const sim_insn *in) {
  const sim_cta *cta = w->cta;
  for (uint32_t i = 1; i < cta->n_warps; i++) {
    const sim_warp *a = &cta->warp[i - 1], *b = &cta->warp[i];
    if (a->index / 4 == b->index / 4 && a->n_resized != b->n_resized)
      return hd_sim_find(w->machine, "registers", w, 0, in, NULL,
                         "warps %u and %u of a warpgroup have executed %u and %u setmaxnreg", i - 1,
                         i, a->n_resized, b->n_resized);
  }
  return SIM_NEXT;
}

heddle_status hd_sim_decode_setmaxnreg(sim_decode *d, sim_insn *in) {
  in->exec = exec;
  in->aligned = in->meets = hd_sim_take(d, "aligned");
  in->op = hd_sim_take(d, "inc");
  if ((!in->op && !hd_sim_take(d, "dec")) || !hd_sim_take(d, "sync") || !hd_sim_take(d, "u32"))
    return HEDDLE_UNSUPPORTED;
  bool fits = in->n_opnds == 1 && in->opnd[0].kind == SIM_IMM && in->opnd[0].imm >= MINIMUM &&
              in->opnd[0].imm <= MAXIMUM && in->opnd[0].imm % UNIT == 0;
  return fits ? HEDDLE_OK : HEDDLE_INVALID;
}
