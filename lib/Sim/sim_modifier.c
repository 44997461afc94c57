/* Sim/sim_modifier.c: the modifiers of an opcode, each taken by the decoder that knows it. */
#include <string.h>

#include "Sim/sim_machine.h"

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

sim_step hd_sim_exec_nothing(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)w;
  (void)in;
  (void)mask;
  return SIM_NEXT;
}
