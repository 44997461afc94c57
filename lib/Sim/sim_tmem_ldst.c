/* Sim/sim_tmem_ldst.c: tcgen05.ld, tcgen05.st and the waits for them. A load's registers are
 * poisoned from its issue to the wait; a store has read its registers when it is issued. */
#include "Sim/sim_tmem.h"
#include "Support/diag.h"

typedef struct move {
  hd_sim_ldst shape;
  uint32_t n; /* registers */
  bool half;  /* .pack::16b, .unpack::16b */
  const sim_opnd *address, *values, *split;
} move;

static move move_of(const sim_insn *in) {
  bool store = in->op == SIM_OP_ST, split = in->cmp == HD_SIM_16X32BX2;
  return (move){(hd_sim_ldst)in->cmp, in->vec, (in->flags & SIM_F_WIDE) != 0,
                &in->opnd[store ? 0 : 1], &in->opnd[store ? 1 + split : 0],
                split ? &in->opnd[store ? 1 : 2] : NULL};
}

/* ---- registers of loads ---- */

/* ---- completion ---- */

/* The cell of a thread's register; `part` 1: the second column of a packed pair. */
static sim_step cell_of(const sim_access *a, const sim_async *op, const move *v, uint32_t thread,
                        uint32_t reg, uint32_t part, hd_sim_tensor_coord *at, uint32_t **cell) {
  uint32_t scale = v->half ? 2 : 1;
  uint32_t split = v->shape == HD_SIM_16X32BX2 && thread >= 16 ? op->tensor->split : 0;
  *at = hd_sim_coord_ldst(v->shape, thread, reg, 0);
  at->lane += op->tensor->address >> 16;
  at->column = (op->tensor->address & 0xffff) + scale * at->column + split + part;
  return hd_sim_tensor_cells(a, op->warp->cta, at->lane, at->column, 1, cell);
}

static sim_step load_register(const sim_access *a, const sim_async *op, const move *v, uint32_t r,
                              uint64_t out[32], uint32_t *undefined) {
  SIM_LANES(l, op->mask) {
    uint32_t *cell;
    hd_sim_tensor_coord at;
    out[l] = 0;
    for (uint32_t part = 0; part < (v->half ? 2u : 1u); part++) {
      if (cell_of(a, op, v, l, r, part, &at, &cell) == SIM_STOP)
        return SIM_STOP;
      *undefined |= (uint32_t)!hd_sim_tensor_written(op->warp->cta, at.lane, at.column) << l;
      out[l] |= v->half ? (uint64_t)(*cell & 0xffff) << (16 * part) : *cell;
    }
  }
  return SIM_NEXT;
}

static sim_step complete_ld(sim_machine *m, sim_async *op) {
  sim_warp *w = op->warp;
  move v = move_of(op->insn);
  sim_access a = hd_sim_tensor_access(m, op, SIM_READ);
  a.quiet = true; /* the register becomes undefined, and its use is the error */
  if (!w->reg || !w->mover)
    return SIM_NEXT;
  for (uint32_t r = 0; r < v.n; r++) {
    uint64_t scratch[32], value[32];
    uint32_t undefined = 0;
    if (load_register(&a, op, &v, r, value, &undefined) == SIM_STOP)
      return SIM_STOP;
    uint64_t *dst = hd_sim_dst(w, &v.values->vec[r], scratch);
    SIM_LANES(l, op->mask) dst[l] = value[l];
    hd_sim_define(w, &v.values->vec[r], op->mask, undefined);
  }
  w->mover->n_done[0]++;
  return SIM_NEXT;
}

static sim_step complete_st(sim_machine *m, sim_async *op) {
  move v = move_of(op->insn);
  sim_access a = hd_sim_tensor_access(m, op, SIM_WRITE);
  for (uint32_t r = 0; r < v.n; r++) {
    SIM_LANES(l, op->mask) {
      uint32_t *cell, value = op->tensor->value[32 * r + l];
      hd_sim_tensor_coord at;
      for (uint32_t part = 0; part < (v.half ? 2u : 1u); part++) {
        if (cell_of(&a, op, &v, l, r, part, &at, &cell) == SIM_STOP)
          return SIM_STOP;
        *cell = v.half ? value >> (16 * part) & 0xffff : value;
      }
    }
  }
  op->warp->mover->n_done[1]++;
  return SIM_NEXT;
}

/* ---- issue ---- */

static sim_step address_of(sim_warp *w, const sim_insn *in, uint32_t mask, const move *v,
                           uint32_t *address) {
  const sim_opnd *o = v->address;
  uint32_t first = (uint32_t)__builtin_ctz(mask);
  *address = (uint32_t)(hd_sim_read_lane(w, &o->vec[0], first) + (uint64_t)o->imm);
  if (hd_sim_touch(w, in, o) == SIM_STOP)
    return SIM_STOP;
  if ((hd_sim_undefined(w, o) & mask) && !(w->machine->options.off & HD_SIM_NO_UNDEFINED))
    return hd_sim_fault(w->machine, "undefined", w, first, in, "the address has no value");
  SIM_LANES(l, mask)
  if ((uint32_t)(hd_sim_read_lane(w, &o->vec[0], l) + (uint64_t)o->imm) != *address)
    return hd_sim_fault(w->machine, "uniform", w, l, in, "the address differs from lane 0's");
  /* A warp can access the 32 lanes of its position in the warpgroup. */
  uint32_t lane = *address >> 16, lo = w->index % 4 * 32;
  bool whole = v->shape == HD_SIM_32X32B;
  if (lane == lo || (!whole && lane == lo + 16))
    return SIM_NEXT;
  return hd_sim_fault(w->machine, "tmem", w, 0, in,
                      "lane %u of tensor memory: warp %u reaches lanes %u to %u, from %u%s", lane,
                      w->index, lo, lo + 31, lo, whole ? "" : " or the sixteenth after it");
}

static sim_step exec_move(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  bool store = in->op == SIM_OP_ST;
  move v = move_of(in);
  uint32_t address;
  if (address_of(w, in, mask, &v, &address) == SIM_STOP ||
      hd_sim_touch(w, in, v.values) == SIM_STOP)
    return SIM_STOP;
  for (uint32_t r = 0; r < v.n && !store; r++)
    if (v.values->vec[r].kind == SIM_REG)
      w->mover->loading[v.values->vec[r].reg] = w->mover->n_issued[0] + 1;
  if (store && (hd_sim_undefined(w, v.values) & mask) &&
      !(m->options.off & HD_SIM_NO_UNDEFINED) &&
      hd_sim_find(m, "undefined", w, 0, in, NULL, "a source register has no value") == SIM_STOP)
    return SIM_STOP;
  sim_async *op = hd_sim_tensor_move(w, mask, in, store ? complete_st : complete_ld);
  op->tensor->address = address;
  op->tensor->split = v.split ? (uint32_t)v.split->imm : 0;
  if (store) {
    op->tensor->value = hd_xmalloc(sizeof *op->tensor->value * 32 * v.n);
    for (uint32_t r = 0; r < v.n; r++)
      for (uint32_t l = 0; l < 32; l++)
        op->tensor->value[32 * r + l] = (uint32_t)hd_sim_read_lane(w, &v.values->vec[r], l);
  }
  return hd_sim_async_push(m, op);
}

static sim_step exec_wait(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  sim_mover *mover = w->mover;
  uint32_t which = in->op == SIM_OP_ST, n = mover->n_issued[which];
  if (mover->n_done[which] < n) {
    hd_sim_block(w, SIM_WAIT_TENSOR, 0, 0);
    return SIM_WAIT;
  }
  mover->waited[which] = n;
  sim_agent self = hd_sim_agent(w->cta, m->agent_mover + 2 * w->index + which);
  sim_lanes lanes;
  hd_sim_lanes_begin(m, &lanes);
  SIM_LANES(l, mask)
  hd_sim_lanes_raise(m, &lanes, &hd_sim_thread(w, l)->issuer->view, self, n);
  hd_sim_lanes_end(&lanes);
  w->dirty = true;
  return SIM_NEXT;
}

/* ---- decoding ---- */

static bool take_shape(sim_decode *d, sim_insn *in) {
  static const char *const shapes[] = {[HD_SIM_32X32B] = "32x32b",
                                       [HD_SIM_16X32BX2] = "16x32bx2",
                                       [HD_SIM_16X64B] = "16x64b",
                                       [HD_SIM_16X128B] = "16x128b",
                                       [HD_SIM_16X256B] = "16x256b"};
  static const char *const counts[] = {"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"};
  for (uint8_t s = 0; s < HD_COUNT(shapes); s++) {
    if (!hd_sim_take(d, shapes[s]))
      continue;
    for (uint32_t i = 0; i < HD_COUNT(counts); i++) {
      uint32_t n = hd_sim_ldst_registers((hd_sim_ldst)s) << i;
      if (!hd_sim_take(d, counts[i]))
        continue;
      in->cmp = s;
      in->vec = (uint8_t)n;
      return n <= 128;
    }
  }
  return false;
}

heddle_status hd_sim_decode_tensor_move(sim_decode *d, sim_insn *in, bool store) {
  in->op = store ? SIM_OP_ST : SIM_OP_LD;
  in->exec = exec_move;
  in->accesses = in->aligned = in->meets = in->owns_registers = true;
  if (hd_sim_take(d, store ? "unpack::16b" : "pack::16b"))
    in->flags |= SIM_F_WIDE;
  if (!hd_sim_take(d, "sync") || !hd_sim_take(d, "aligned") || !hd_sim_take(d, "b32") ||
      !take_shape(d, in))
    return HEDDLE_UNSUPPORTED;
  bool split = in->cmp == HD_SIM_16X32BX2;
  if (in->n_opnds != 2 + split)
    return HEDDLE_INVALID;
  move v = move_of(in);
  bool fits = v.address->kind == SIM_ADDR && v.values->kind == SIM_VEC && v.values->n == v.n &&
              (!split || v.split->kind == SIM_IMM);
  return fits ? HEDDLE_OK : HEDDLE_INVALID;
}

heddle_status hd_sim_decode_tensor_wait(sim_decode *d, sim_insn *in, bool store) {
  in->op = store ? SIM_OP_ST : SIM_OP_LD;
  in->exec = exec_wait;
  in->aligned = in->meets = true;
  if (!hd_sim_take(d, "sync") || !hd_sim_take(d, "aligned"))
    return HEDDLE_UNSUPPORTED;
  return in->n_opnds == 0 ? HEDDLE_OK : HEDDLE_INVALID;
}
