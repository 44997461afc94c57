/* Sim/sim_tcgen05_copy.c: tcgen05.cp from shared to tensor memory; tcgen05.commit. */
#include <string.h>

#include "Sim/sim_tmem.h"
#include "Support/diag.h"

enum { FORMAT_SAME, FORMAT_B6, FORMAT_B4 };

/* ---- cp ---- */

/* 16 packed elements become bytes: 4 bits to the middle (00xxxx00), 6 bits above the lowest
 * (0xxxxxx0). */
static void expand(uint8_t format, const uint8_t source[16], uint8_t out[16]) {
  uint32_t bits = format == FORMAT_B6 ? 6 : 4, shift = format == FORMAT_B6 ? 1 : 2;
  if (format == FORMAT_SAME) {
    memcpy(out, source, 16);
    return;
  }
  for (uint32_t i = 0; i < 16; i++) {
    uint32_t at = i * bits, two = source[at / 8] | (uint32_t)source[at / 8 + 1] << 8;
    out[i] = (uint8_t)((two >> at % 8 & ((1u << bits) - 1)) << shift);
  }
}

static sim_step copy_row(sim_machine *m, const sim_async *op, sim_cta *cta, uint32_t row) {
  hd_sim_cp cp = (hd_sim_cp)op->insn->cmp;
  hd_sim_cp_shape shape = hd_sim_cp_shape_of(cp);
  hd_sim_descriptor5 d = hd_sim_descriptor5_read(op->tensor->desc_a);
  sim_access from = hd_sim_operand_access(m, op), to = hd_sim_tensor_access(m, op, SIM_WRITE);
  uint32_t address = op->tensor->address;
  for (uint32_t byte = 0; byte < shape.bytes; byte += 16) {
    const uint8_t *source;
    uint8_t out[16];
    if (hd_sim_chunk(&from, cta, hd_sim_descriptor5_address(&d, false, row, byte, 1), 16,
                     &source) == SIM_STOP)
      return SIM_STOP;
    expand(op->insn->vec, source, out);
    for (uint32_t copy = 0; copy < shape.copies; copy++) {
      uint32_t *cell;
      if (hd_sim_tensor_cells(&to, cta, (address >> 16) + hd_sim_cp_lane(cp, row, copy),
                              (address & 0xffff) + byte / 4, 4, &cell) == SIM_STOP)
        return SIM_STOP;
      memcpy(cell, out, 16);
    }
  }
  return SIM_NEXT;
}

static sim_step complete_cp(sim_machine *m, sim_async *op) {
  sim_cta *cta[2];
  if (!hd_sim_tensor_is_next(op))
    return SIM_WAIT;
  uint32_t n = hd_sim_tensor_ctas(op, cta);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t row = 0; row < hd_sim_cp_shape_of((hd_sim_cp)op->insn->cmp).rows; row++)
      if (copy_row(m, op, cta[i], row) == SIM_STOP)
        return SIM_STOP;
  hd_sim_tensor_done(m, op);
  return SIM_NEXT;
}

static sim_step issue_cp(sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_machine *m = w->machine;
  const sim_opnd *o = in->opnd;
  uint32_t address = (uint32_t)(hd_sim_read_lane(w, &o[0].vec[0], lane) + (uint64_t)o[0].imm);
  uint64_t bits = hd_sim_read_lane(w, &o[1], lane);
  hd_sim_descriptor5 d = hd_sim_descriptor5_read(bits);
  if (!d.valid || d.base_offset || d.absolute || d.wide)
    return hd_sim_fault(
        m, "descriptor", w, lane, in,
        "descriptor 0x%llx: a fixed field or the swizzle mode is wrong, or it has a "
        "base offset, an absolute stride or 32-byte atoms, which are not simulated",
        (unsigned long long)bits);
  uint32_t limit = in->cmp == HD_SIM_CP_4X256B ? 31 : 0;
  if (address >> 16 > limit)
    return hd_sim_fault(m, "tmem", w, lane, in, "lane %u; legal: 0 to %u", address >> 16, limit);
  sim_async *op = hd_sim_tensor_issue(w, lane, in, complete_cp);
  op->tensor->address = address;
  op->tensor->desc_a = bits;
  return hd_sim_async_push(m, op);
}

static sim_step exec_cp(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, issue_cp);
}

/* ---- commit ---- */

/* The arrival releases the thread's operations on tensor memory and those that they followed. It
 * releases no generic writes, neither the thread's own nor others that it has acquired. */
static sim_step complete_commit(sim_machine *m, sim_async *op) {
  const sim_issuer *issuer = hd_sim_thread(op->warp, op->lane)->issuer;
  sim_mbarrier *b = op->mbarrier;
  uint32_t number = op->tensor->number;
  if (issuer->n_done < number)
    return SIM_WAIT;
  if (b->pending == 0)
    return hd_sim_fault(m, "arrivals", op->warp, op->lane, op->insn,
                        "one arrival too many at the mbarrier at shared byte %u of cta %u",
                        b->offset, op->target->index);
  sim_agent agent =
      hd_sim_agent(op->warp->cta, m->agent_tensor + op->warp->index * 32 + op->lane);
  if (hd_sim_phase_land(m, op) == SIM_STOP)
    return SIM_STOP;
  sim_vc *const into[] = {&b->arriving, &b->arriving_order};
  const sim_vc *const from[] = {&op->vc, &op->tensor->view, &issuer->behind};
  for (size_t i = 0; i < HD_COUNT(into); i++) {
    for (size_t j = 0; j < HD_COUNT(from); j++)
      hd_sim_vc_join_tensor(m, into[i], from[j]);
    if (number)
      hd_sim_vc_raise(m, into[i], agent, number);
  }
  b->pending--;
  b->commits--;
  b->committed = b->phase + 1;
  hd_sim_mbarrier_advance(m, op->target, b);
  return SIM_NEXT;
}

static sim_step commit_to(sim_warp *w, const sim_insn *in, uint32_t lane, uint64_t address) {
  sim_access a = hd_sim_access(w, lane, in, SIM_READ);
  sim_cta *cta;
  uint32_t offset;
  sim_mbarrier *b;
  if (hd_sim_shared(&a, address, &cta, &offset) == SIM_STOP ||
      hd_sim_mbarrier_use(&a, cta, offset, &b) == SIM_STOP)
    return SIM_STOP;
  sim_async *op = hd_sim_tensor_issue(w, lane, in, complete_commit);
  op->mbarrier = b;
  op->target = cta;
  b->commits++;
  return hd_sim_async_push(w->machine, op);
}

static sim_step commit_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  const sim_opnd *o = in->opnd;
  uint64_t address = hd_sim_read_lane(w, &o[0].vec[0], lane) + (uint64_t)o[0].imm;
  if (in->space == SIM_GENERIC && address >= SIM_SHARED_WINDOW)
    address -= SIM_SHARED_WINDOW;
  if (!(in->flags & SIM_F_MULTICAST))
    return commit_to(w, in, lane, address);
  uint32_t mask;
  if (hd_sim_multicast(w, in, lane, &o[1], &mask) == SIM_STOP)
    return SIM_STOP;
  SIM_LANES(rank, mask)
  if (commit_to(w, in, lane, hd_sim_offset(address) | (uint64_t)rank << SIM_RANK_SHIFT) == SIM_STOP)
    return SIM_STOP;
  return SIM_NEXT;
}

static sim_step exec_commit(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, commit_lane);
}

/* ---- decoding ---- */

heddle_status hd_sim_decode_tensor_cp(sim_decode *d, sim_insn *in) {
  static const struct {
    const char *shape, *multicast;
  } shapes[] = {[HD_SIM_CP_128X256B] = {"128x256b", NULL},
                [HD_SIM_CP_4X256B] = {"4x256b", NULL},
                [HD_SIM_CP_128X128B] = {"128x128b", NULL},
                [HD_SIM_CP_64X128B_02_13] = {"64x128b", "warpx2::02_13"},
                [HD_SIM_CP_64X128B_01_23] = {"64x128b", "warpx2::01_23"},
                [HD_SIM_CP_32X128B_X4] = {"32x128b", "warpx4"}};
  in->op = SIM_OP_CP;
  in->exec = exec_cp;
  in->accesses = true;
  in->vec = hd_sim_take(d, "b6x16_p32") ? FORMAT_B6 : hd_sim_take(d, "b4x16_p64") ? FORMAT_B4 : 0;
  if ((in->vec != FORMAT_SAME) != hd_sim_take(d, "b8x16"))
    return HEDDLE_UNSUPPORTED;
  bool found = false;
  for (uint8_t i = 0; i < HD_COUNT(shapes) && !found; i++) {
    if (shapes[i].multicast && !hd_sim_take(d, shapes[i].multicast))
      continue;
    found = hd_sim_take(d, shapes[i].shape);
    in->cmp = i;
  }
  if (!found)
    return HEDDLE_UNSUPPORTED;
  return in->n_opnds == 2 && in->opnd[0].kind == SIM_ADDR && in->opnd[1].kind != SIM_ADDR
             ? HEDDLE_OK : HEDDLE_INVALID;
}

heddle_status hd_sim_decode_tensor_commit(sim_decode *d, sim_insn *in) {
  in->op = SIM_OP_COMMIT;
  in->exec = exec_commit;
  hd_sim_take_space(d, in);
  if (hd_sim_take(d, "multicast::cluster"))
    in->flags |= SIM_F_MULTICAST;
  if (!hd_sim_take(d, "mbarrier::arrive::one") || !hd_sim_take(d, "b64"))
    return HEDDLE_UNSUPPORTED;
  uint32_t want = 1 + ((in->flags & SIM_F_MULTICAST) != 0);
  return in->n_opnds == want && in->opnd[0].kind == SIM_ADDR ? HEDDLE_OK : HEDDLE_INVALID;
}
