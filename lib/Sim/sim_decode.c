/* Sim/sim_decode.c: opcode and modifiers to the family that executes them. */
#include <string.h>

#include "Sim/sim_tmem.h"
#include "Support/diag.h"

/* The second word of the opcode selects the decoder. */
static heddle_status decode_tcgen05(sim_decode *d, sim_insn *in) {
  sim_program *g = (sim_program *)d->program;
  g->has_tensor = true;
  in->cta_group = hd_sim_take(d, "cta_group::1") ? 1 : hd_sim_take(d, "cta_group::2") ? 2 : 0;
  g->cta_groups |= in->cta_group;
  if (hd_sim_take(d, "fence::before_thread_sync") || hd_sim_take(d, "fence::after_thread_sync"))
    return hd_sim_decode_tensor_fence(in, strstr(d->mod[1], "after") != NULL);
  if (hd_sim_take(d, "ld") || hd_sim_take(d, "st"))
    return hd_sim_decode_tensor_move(d, in, d->mod[1][0] == 's');
  if (hd_sim_take(d, "wait::ld") || hd_sim_take(d, "wait::st"))
    return hd_sim_decode_tensor_wait(d, in, d->mod[1][6] == 's');
  if (!in->cta_group)
    return HEDDLE_UNSUPPORTED;
  return hd_sim_take(d, "mma")      ? hd_sim_decode_tensor_mma(d, in)
         : hd_sim_take(d, "cp")     ? hd_sim_decode_tensor_cp(d, in)
         : hd_sim_take(d, "commit") ? hd_sim_decode_tensor_commit(d, in)
                                    : hd_sim_decode_tensor_alloc(d, in);
}

/* The first word of the opcode selects the family. */
static const struct {
  const char *name;
  sim_decoder *decode;
} families[] = {
    {"ld", hd_sim_decode_memory},
    {"ldu", hd_sim_decode_memory},
    {"st", hd_sim_decode_memory},
    {"atom", hd_sim_decode_memory},
    {"red", hd_sim_decode_memory},
    {"cvta", hd_sim_decode_memory},
    {"mapa", hd_sim_decode_memory},
    {"prefetch", hd_sim_decode_memory},
    {"prefetchu", hd_sim_decode_memory},
    {"applypriority", hd_sim_decode_memory},
    {"createpolicy", hd_sim_decode_memory},
    {"isspacep", hd_sim_decode_memory},
    {"bra", hd_sim_decode_control},
    {"brx", hd_sim_decode_control},
    {"ret", hd_sim_decode_control},
    {"exit", hd_sim_decode_control},
    {"trap", hd_sim_decode_control},
    {"bar", hd_sim_decode_sync},
    {"barrier", hd_sim_decode_sync},
    {"membar", hd_sim_decode_sync},
    {"fence", hd_sim_decode_sync},
    {"mbarrier", hd_sim_decode_mbarrier},
    {"shfl", hd_sim_decode_control},
    {"vote", hd_sim_decode_control},
    {"elect", hd_sim_decode_control},
    {"activemask", hd_sim_decode_control},
    {"redux", hd_sim_decode_control},
    {"match", hd_sim_decode_control},
    {"setmaxnreg", hd_sim_decode_setmaxnreg},
    {"griddepcontrol", hd_sim_decode_sync},
    {"nanosleep", hd_sim_decode_control},
    {"cp", hd_sim_decode_copy},
    {"ldmatrix", hd_sim_decode_matrix},
    {"stmatrix", hd_sim_decode_matrix},
    {"movmatrix", hd_sim_decode_matrix},
    {"mma", hd_sim_decode_mma},
    {"wgmma", hd_sim_decode_wgmma},
    {"tcgen05", decode_tcgen05},
};

static hd_loc here(const sim_decode *d, const sim_insn *insn) {
  return (hd_loc){d->program->file, insn->line, 1};
}

static heddle_status unsupported(sim_decode *d, const sim_insn *insn) {
  if (strcmp(d->mod[0], "multimem") == 0)
    return hd_error(d->ctx, HEDDLE_UNSUPPORTED, here(d, insn), "ptx.multimem",
                    "`%s`: a multimem address stands for memory of several devices, and one is "
                    "simulated; nearest: red, ld and st of the own memory", insn->text);
  for (uint32_t i = 1; i < d->n_mods; i++)
    if (!d->taken[i])
      return hd_error(d->ctx, HEDDLE_UNSUPPORTED, here(d, insn), "ptx.modifier",
                      "`%s`: modifier .%s is not simulated", insn->text, d->mod[i]);
  return hd_error(d->ctx, HEDDLE_UNSUPPORTED, here(d, insn), "ptx.instruction",
                  "`%s` is not simulated", insn->text);
}

heddle_status hd_sim_decode(sim_decode *d, sim_insn *insn) {
  sim_decoder *decode = hd_sim_decode_alu;
  for (size_t i = 0; i < HD_COUNT(families); i++)
    if (strcmp(families[i].name, d->mod[0]) == 0)
      decode = families[i].decode;
  heddle_status status = decode(d, insn);
  if (status != HEDDLE_OK)
    return status == HEDDLE_UNSUPPORTED ? unsupported(d, insn)
                                        : hd_error(d->ctx, status, here(d, insn), "ptx.operands",
                                                   "`%s`: wrong number or kind of operands",
                                                   insn->text);
  for (uint32_t i = 1; i < d->n_mods; i++)
    if (!d->taken[i])
      return unsupported(d, insn);
  /* An immediate written as a double takes the form that a 32-bit float instruction reads. */
  uint8_t type = insn->type[insn->n_types ? insn->n_types - 1 : 0];
  for (uint32_t i = 0; i < insn->n_opnds; i++) {
    sim_opnd *o = &insn->opnd[i];
    if (o->kind == SIM_IMM && o->fp == 2 && type == SIM_T_F32) {
      o->imm = hd_sim_f32_bits((float)hd_sim_f64((uint64_t)o->imm));
      o->fp = 1;
    }
  }
  return HEDDLE_OK;
}
