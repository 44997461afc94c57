/* Sim/sim_reduce.h: the arithmetic of atom, red and cp.reduce (private to the folder). */
#ifndef HD_SIM_REDUCE_H
#define HD_SIM_REDUCE_H

#include "Sim/sim_machine.h"

/* insn.atom. Compare-and-swap is not a reduction: its executor implements it. */
enum {
  SIM_ATOM_ADD,
  SIM_ATOM_MIN,
  SIM_ATOM_MAX,
  SIM_ATOM_AND,
  SIM_ATOM_OR,
  SIM_ATOM_XOR,
  SIM_ATOM_EXCH,
  SIM_ATOM_CAS,
  SIM_ATOM_INC,
  SIM_ATOM_DEC
};

uint64_t hd_sim_reduce(uint8_t atom, const sim_type_info *type, uint64_t old, uint64_t value);
/* On elements of a type, in place. */
void hd_sim_reduce_bytes(uint8_t atom, uint8_t type, uint8_t *to, const uint8_t *from,
                         uint32_t n_bytes);
bool hd_sim_can_reduce(uint8_t atom, uint8_t type);

/* Operation and type of atom, red and cp.reduce; exchanges: exch and cas are among them. */
heddle_status hd_sim_decode_reduction(sim_decode *d, sim_insn *insn, bool exchanges);
heddle_status hd_sim_decode_operation(sim_decode *d, sim_insn *insn, bool exchanges); /* no type */

#endif
