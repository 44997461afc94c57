/* Sim/sim_decode.c: opcode and modifiers to the family that executes them. */
#include <string.h>

#include "Sim/sim_program.h"
#include "Support/diag.h"

bool hd_sim_take(sim_decode *d, const char *mod) {
  for (uint32_t i = 1; i < d->n_mods; i++) {
    if (!d->taken[i] && strcmp(d->mod[i], mod) == 0) {
      d->taken[i] = true;
      return true;
    }
  }
  return false;
}

uint8_t hd_sim_take_type(sim_decode *d) {
  for (uint32_t i = 1; i < d->n_mods; i++) {
    uint8_t type = d->taken[i] ? SIM_T_NONE : hd_sim_type_find(d->mod[i]);
    if (type) {
      d->taken[i] = true;
      return type;
    }
  }
  return SIM_T_NONE;
}

void hd_sim_take_types(sim_decode *d, sim_insn *insn) {
  while (insn->n_types < 4) {
    uint8_t type = hd_sim_take_type(d);
    if (!type)
      return;
    insn->type[insn->n_types++] = type;
  }
}

void hd_sim_take_space(sim_decode *d, sim_insn *insn) {
  static const struct {
    const char *text;
    uint8_t space;
  } spaces[] = {{"global", SIM_GLOBAL},
                {"shared", SIM_SHARED_CTA},
                {"shared::cta", SIM_SHARED_CTA},
                {"shared::cluster", SIM_SHARED_CLUSTER},
                {"local", SIM_LOCAL},
                {"param", SIM_PARAM},
                {"param::entry", SIM_PARAM},
                {"const", SIM_CONST}};
  for (size_t i = 0; i < HD_COUNT(spaces); i++) {
    if (hd_sim_take(d, spaces[i].text)) {
      insn->space = spaces[i].space;
      return;
    }
  }
}

void hd_sim_take_order(sim_decode *d, sim_insn *insn) {
  static const char *const sems[] = {"", "relaxed", "acquire", "release", "acq_rel", "volatile"};
  static const char *const scopes[] = {"", "cta", "cluster", "gpu", "sys"};
  for (uint8_t i = 1; i < HD_COUNT(sems); i++)
    if (hd_sim_take(d, sems[i]))
      insn->sem = i;
  for (uint8_t i = 1; i < HD_COUNT(scopes); i++)
    if (hd_sim_take(d, scopes[i]))
      insn->scope = i;
  hd_sim_take(d, "weak");
}

void hd_sim_take_hints(sim_decode *d, sim_insn *insn) {
  for (uint32_t i = 1; i < d->n_mods; i++) {
    const char *m = d->mod[i];
    if (d->taken[i])
      continue;
    if (strcmp(m, "L2::cache_hint") == 0)
      insn->flags |= SIM_F_CACHE_HINT;
    if (strncmp(m, "L1::", 4) == 0 || strncmp(m, "L2::", 4) == 0 || strcmp(m, "ca") == 0 ||
        strcmp(m, "cg") == 0 || strcmp(m, "cs") == 0 || strcmp(m, "lu") == 0 ||
        strcmp(m, "cv") == 0 || strcmp(m, "wb") == 0 || strcmp(m, "wt") == 0)
      d->taken[i] = true;
  }
}

heddle_status hd_sim_check_operands(const sim_decode *d, bool fit) {
  for (uint32_t i = 1; i < d->n_mods; i++)
    if (!d->taken[i])
      return HEDDLE_UNSUPPORTED;
  return fit ? HEDDLE_OK : HEDDLE_INVALID;
}

/* The first word of the opcode decides the family. */
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
    {"tcgen05", hd_sim_decode_tcgen05},
};

static sim_decoder *find_family(const char *name) {
  for (size_t i = 0; i < HD_COUNT(families); i++)
    if (strcmp(families[i].name, name) == 0)
      return families[i].decode;
  return hd_sim_decode_alu;
}

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

/* An immediate written as a double takes the form that a 32-bit float instruction reads. */
static void narrow_immediates(sim_insn *insn) {
  uint8_t type = insn->type[insn->n_types ? insn->n_types - 1 : 0];
  for (uint32_t i = 0; i < insn->n_opnds; i++) {
    sim_opnd *o = &insn->opnd[i];
    if (o->kind == SIM_IMM && o->fp == 2 && type == SIM_T_F32) {
      o->imm = hd_sim_f32_bits((float)hd_sim_f64((uint64_t)o->imm));
      o->fp = 1;
    }
  }
}

heddle_status hd_sim_decode(sim_decode *d, sim_insn *insn) {
  heddle_status status = find_family(d->mod[0])(d, insn);
  if (status != HEDDLE_OK)
    return status == HEDDLE_UNSUPPORTED ? unsupported(d, insn)
                                        : hd_error(d->ctx, status, here(d, insn), "ptx.operands",
                                                   "`%s`: wrong number or kind of operands",
                                                   insn->text);
  for (uint32_t i = 1; i < d->n_mods; i++)
    if (!d->taken[i])
      return unsupported(d, insn);
  narrow_immediates(insn);
  return HEDDLE_OK;
}
