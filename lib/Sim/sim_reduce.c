/* Sim/sim_reduce.c: the arithmetic of atom, red and cp.reduce. */
#include <math.h>
#include <string.h>

#include "Sim/sim_reduce.h"
#include "Support/diag.h"

static const char *const names[] = {"add", "min",  "max", "and", "or",
                                    "xor", "exch", "cas", "inc", "dec"};

static uint64_t float_atom(uint8_t atom, const sim_type_info *t, uint64_t old, uint64_t b) {
  uint32_t bits = hd_sim_type(t->elem)->bits;
  uint64_t r = 0, mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  for (uint32_t i = 0; i < t->lanes; i++) {
    double x = hd_sim_decode_bits(t->elem, old >> (bits * i) & mask);
    double y = hd_sim_decode_bits(t->elem, b >> (bits * i) & mask);
    double v = atom == SIM_ATOM_ADD ? x + y : atom == SIM_ATOM_MIN ? fmin(x, y) : fmax(x, y);
    if (t->elem == SIM_T_F32 && atom == SIM_ATOM_ADD)
      v = (double)((float)x + (float)y);
    r |= hd_sim_encode_bits(t->elem, v, SIM_RN, false) << (bits * i);
  }
  return r;
}

static uint64_t integer_atom(uint8_t atom, const sim_type_info *t, uint64_t old, uint64_t b) {
  uint32_t up = 64 - t->bits;
  uint64_t mask = ~0ull >> up;
  bool less = t->cls == 's' ? (int64_t)(old << up) < (int64_t)(b << up) : (old & mask) < (b & mask);
  old &= mask;
  b &= mask;
  switch (atom) {
  case SIM_ATOM_ADD:
    return old + b;
  case SIM_ATOM_MIN:
    return less ? old : b;
  case SIM_ATOM_MAX:
    return less ? b : old;
  case SIM_ATOM_AND:
    return old & b;
  case SIM_ATOM_OR:
    return old | b;
  case SIM_ATOM_XOR:
    return old ^ b;
  case SIM_ATOM_EXCH:
    return b;
  case SIM_ATOM_INC:
    return old >= b ? 0 : old + 1;
  default:
    return old == 0 || old > b ? b : old - 1;
  }
}

uint64_t hd_sim_reduce(uint8_t atom, const sim_type_info *t, uint64_t old, uint64_t value) {
  return t->cls == 'f' ? float_atom(atom, t, old, value) : integer_atom(atom, t, old, value);
}

void hd_sim_reduce_bytes(uint8_t atom, uint8_t type, uint8_t *to, const uint8_t *from,
                         uint32_t n_bytes) {
  const sim_type_info *t = hd_sim_type(type);
  uint32_t each = t->bits / 8;
  for (uint32_t i = 0; i + each <= n_bytes; i += each) {
    uint64_t old = 0, value = 0;
    memcpy(&old, to + i, each);
    memcpy(&value, from + i, each);
    old = hd_sim_reduce(atom, t, old, value);
    memcpy(to + i, &old, each);
  }
}

bool hd_sim_can_reduce(uint8_t atom, uint8_t type) {
  const sim_type_info *t = hd_sim_type(type);
  return t->bits >= 16 && t->bits <= 64 && (t->cls != 'f' || atom <= SIM_ATOM_MAX);
}

heddle_status hd_sim_decode_operation(sim_decode *d, sim_insn *in, bool exchanges) {
  for (in->atom = 0; in->atom < HD_COUNT(names); in->atom++)
    if ((exchanges || (in->atom != SIM_ATOM_EXCH && in->atom != SIM_ATOM_CAS)) &&
        hd_sim_take(d, names[in->atom]))
      return HEDDLE_OK;
  return HEDDLE_UNSUPPORTED;
}

heddle_status hd_sim_decode_reduction(sim_decode *d, sim_insn *in, bool exchanges) {
  HD_TRY(hd_sim_decode_operation(d, in, exchanges));
  hd_sim_take(d, "noftz");
  hd_sim_take_types(d, in);
  in->vec = 1;
  in->accesses = true;
  bool known = in->n_types == 1 && hd_sim_can_reduce(in->atom, in->type[0]);
  return known ? HEDDLE_OK : HEDDLE_UNSUPPORTED;
}
