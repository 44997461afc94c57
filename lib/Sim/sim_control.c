/* Sim/sim_control.c: branches, and the collectives of a warp that touch no memory. */
#include <string.h>

#include "Sim/sim_machine.h"

static sim_step exec_bra(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_group *g = &w->group[w->current];
  if (mask == 0)
    return SIM_NEXT;
  if (g->mask & ~mask)
    hd_sim_split(w, g->mask & ~mask, g->pc + 1);
  w->group[w->current].pc = in->target;
  return SIM_JUMP;
}

static sim_step exec_brx(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint32_t first = (uint32_t)__builtin_ctz(mask);
  uint64_t index = (uint32_t)hd_sim_read_lane(w, &in->opnd[0], first);
  if (index >= in->target)
    return hd_sim_fault(w->machine, "bounds", w, first, in, "index %llu of a table of %u labels",
                        (unsigned long long)index, in->target);
  uint32_t same = 0;
  SIM_LANES(l, mask)
  if ((uint32_t)hd_sim_read_lane(w, &in->opnd[0], l) == index)
    same |= 1u << l;
  uint32_t others = w->group[w->current].mask & ~same;
  if (others) /* predicated-off lanes continue, the others come back here */
    hd_sim_split(w, others & mask ? others & mask : others,
          w->group[w->current].pc + !(others & mask));
  w->group[w->current].pc = in->targets[index];
  return SIM_JUMP;
}

static sim_step exec_exit(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_exit(w, in, mask);
}

static sim_step exec_trap(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_fault(w->machine, "trap", w, (uint32_t)__builtin_ctz(mask), in, "reached");
}

/* ---- shfl ---- */

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
static const char *const shfl_names[] = {"up", "down", "bfly", "idx"};

/* PTX ISA, shfl.sync: the source lane, and whether it is in range. */
static uint32_t shfl_source(uint8_t mode, uint32_t lane, uint32_t b, uint32_t c, bool *in_range) {
  uint32_t clamp = c & 31, segment = c >> 8 & 31;
  uint32_t high = (lane & segment) | (clamp & ~segment), low = lane & segment;
  int32_t j;
  b &= 31;
  switch (mode) {
  case SHFL_UP:
    j = (int32_t)lane - (int32_t)b;
    *in_range = j >= (int32_t)high;
    break;
  case SHFL_DOWN:
    j = (int32_t)(lane + b);
    *in_range = j <= (int32_t)high;
    break;
  case SHFL_BFLY:
    j = (int32_t)(lane ^ b);
    *in_range = j <= (int32_t)high;
    break;
  default:
    j = (int32_t)(low | (b & ~segment));
    *in_range = j <= (int32_t)high;
    break;
  }
  return *in_range ? (uint32_t)j : lane;
}

static sim_step exec_shfl(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_step step = hd_sim_members(w, in, &in->opnd[4], &mask);
  if (step != SIM_NEXT)
    return step;
  hd_sim_meet(w, mask);
  uint64_t buf[5][32], copy[32];
  memcpy(copy, hd_sim_read(w, &in->opnd[1], buf[0]), sizeof copy);
  const uint64_t *b = hd_sim_read(w, &in->opnd[2], buf[1]);
  const uint64_t *c = hd_sim_read(w, &in->opnd[3], buf[2]);
  uint64_t *dst = hd_sim_dst(w, &in->opnd[0], buf[3]), *p = hd_sim_dst(w, &in->dst2, buf[4]);
  SIM_LANES(l, mask) {
    bool in_range;
    uint32_t from = shfl_source(in->op, l, (uint32_t)b[l], (uint32_t)c[l], &in_range);
    if (in_range && !(mask >> from & 1))
      return hd_sim_find(w->machine, "shfl", w, l, in, NULL,
                         "reads lane %u, which is not in its membermask", from);
    dst[l] = copy[from] & 0xffffffff;
    p[l] = in_range;
  }
  return SIM_NEXT;
}

/* ---- vote, elect, redux, activemask ---- */

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
static const char *const vote_names[] = {"all", "any", "uni", "ballot"};

static sim_step exec_vote(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_step step = hd_sim_members(w, in, &in->opnd[2], &mask);
  if (step != SIM_NEXT)
    return step;
  hd_sim_meet(w, mask);
  uint32_t set = 0;
  SIM_LANES(l, mask) set |= (uint32_t)(hd_sim_read_lane(w, &in->opnd[1], l) & 1) << l;
  uint64_t r = in->op == VOTE_ALL   ? set == mask
               : in->op == VOTE_ANY ? set != 0
               : in->op == VOTE_UNI ? set == 0 || set == mask : set;
  uint64_t scratch[32], *dst = hd_sim_dst(w, &in->opnd[0], scratch);
  SIM_LANES(l, mask) dst[l] = r;
  return SIM_NEXT;
}

/* The ISA does not specify which lane is elected, only that it is the same one for the same mask:
 * any lane, and in early mode the lowest, as on hardware. */
static sim_step exec_elect(sim_warp *w, const sim_insn *in, uint32_t mask) {
  const sim_machine *m = w->machine;
  sim_step step = hd_sim_members(w, in, &in->opnd[1], &mask);
  if (step != SIM_NEXT)
    return step;
  hd_sim_meet(w, mask);
  uint32_t left = mask, skip = 0;
  if (m->options.mode != HD_SIM_EARLY)
    skip = (uint32_t)(m->options.seed % (uint32_t)__builtin_popcount(left));
  while (skip--)
    left &= left - 1;
  uint32_t leader = (uint32_t)__builtin_ctz(left);
  uint64_t buf[2][32], *dst = hd_sim_dst(w, &in->opnd[0], buf[0]);
  uint64_t *p = hd_sim_dst(w, &in->dst2, buf[1]);
  SIM_LANES(l, mask) {
    dst[l] = leader;
    p[l] = l == leader;
  }
  return SIM_NEXT;
}

static const char *const redux_names[] = {"add", "min", "max", "and", "or", "xor"};

static sim_step exec_redux(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_step step = hd_sim_members(w, in, &in->opnd[2], &mask);
  if (step != SIM_NEXT)
    return step;
  hd_sim_meet(w, mask);
  bool is_signed = in->type[0] == SIM_T_S32, first = true;
  uint32_t r = 0;
  SIM_LANES(l, mask) {
    uint32_t v = (uint32_t)hd_sim_read_lane(w, &in->opnd[1], l);
    bool less = is_signed ? (int32_t)v < (int32_t)r : v < r;
    r = first          ? v
        : in->op == 0  ? r + v
        : in->op == 1  ? (less ? v : r)
        : in->op == 2  ? (less ? r : v)
        : in->op == 3  ? r & v
        : in->op == 4  ? r | v : r ^ v;
    first = false;
  }
  uint64_t scratch[32], *dst = hd_sim_dst(w, &in->opnd[0], scratch);
  SIM_LANES(l, mask) dst[l] = r;
  return SIM_NEXT;
}

enum { MATCH_ANY, MATCH_ALL };
static const char *const match_names[] = {"any", "all"};

static sim_step exec_match(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_step step = hd_sim_members(w, in, &in->opnd[2], &mask);
  if (step != SIM_NEXT)
    return step;
  hd_sim_meet(w, mask);
  uint64_t buf[3][32], same[32] = {0};
  const uint64_t *value = hd_sim_read(w, &in->opnd[1], buf[0]);
  uint64_t *dst = hd_sim_dst(w, &in->opnd[0], buf[1]), *p = hd_sim_dst(w, &in->dst2, buf[2]);
  SIM_LANES(l, mask)
  SIM_LANES(k, mask) same[l] |= (uint64_t)(value[k] == value[l]) << k;
  SIM_LANES(l, mask) {
    dst[l] = in->op == MATCH_ANY || same[l] == mask ? same[l] : 0;
    p[l] = same[l] == mask;
  }
  return SIM_NEXT;
}

static sim_step exec_activemask(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint64_t scratch[32], *dst = hd_sim_dst(w, &in->opnd[0], scratch);
  SIM_LANES(l, mask) dst[l] = mask;
  return SIM_NEXT;
}

/* ---- decoding ---- */

static bool take_name(sim_decode *d, sim_insn *in, const char *const *names, uint8_t n) {
  for (uint8_t i = 0; i < n; i++) {
    if (hd_sim_take(d, names[i])) {
      in->op = i;
      return true;
    }
  }
  return false;
}

static heddle_status decode_collective(sim_decode *d, sim_insn *in) {
  const char *name = d->mod[0];
  uint32_t want = 3;
  bool known = hd_sim_take(d, "sync");
  in->n_dst = 1;
  if (strcmp(name, "shfl") == 0) {
    known &= take_name(d, in, shfl_names, HD_COUNT(shfl_names));
    in->exec = exec_shfl;
    want = 5;
  } else if (strcmp(name, "vote") == 0) {
    known &= take_name(d, in, vote_names, HD_COUNT(vote_names));
    in->exec = exec_vote;
  } else if (strcmp(name, "elect") == 0) {
    in->exec = exec_elect;
    want = 2;
  } else if (strcmp(name, "match") == 0) {
    known &= take_name(d, in, match_names, HD_COUNT(match_names));
    in->exec = exec_match;
  } else {
    known &= take_name(d, in, redux_names, HD_COUNT(redux_names));
    in->exec = exec_redux;
  }
  hd_sim_take_types(d, in);
  if (!known)
    return HEDDLE_UNSUPPORTED;
  return in->n_opnds == want ? HEDDLE_OK : HEDDLE_INVALID;
}

heddle_status hd_sim_decode_control(sim_decode *d, sim_insn *in) {
  const char *name = d->mod[0];
  hd_sim_take(d, "uni");
  if (strcmp(name, "bra") == 0) {
    in->exec = exec_bra;
    return HEDDLE_OK;
  }
  if (strcmp(name, "brx") == 0) {
    in->exec = exec_brx;
    return hd_sim_take(d, "idx") ? HEDDLE_OK : HEDDLE_UNSUPPORTED;
  }
  if (strcmp(name, "ret") == 0 || strcmp(name, "exit") == 0) {
    in->exec = exec_exit;
    return HEDDLE_OK;
  }
  if (strcmp(name, "trap") == 0) {
    in->exec = exec_trap;
    return HEDDLE_OK;
  }
  if (strcmp(name, "nanosleep") == 0) {
    in->exec = hd_sim_exec_nothing;
    return hd_sim_take(d, "u32") ? HEDDLE_OK : HEDDLE_UNSUPPORTED;
  }
  if (strcmp(name, "activemask") == 0) {
    in->exec = exec_activemask;
    in->n_dst = 1;
    hd_sim_take_types(d, in);
    return in->n_opnds == 1 ? HEDDLE_OK : HEDDLE_INVALID;
  }
  return decode_collective(d, in);
}
