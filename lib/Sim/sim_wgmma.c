/* Sim/sim_wgmma.c: wgmma of a warpgroup: issue by four warps, registers (R5), completion in
 * order. */
#include "Sim/sim_maps.h"
#include "Sim/sim_source.h"
#include "Support/diag.h"

/* Operands of wgmma in text order; -1: absent. */
typedef struct roles {
  int a, b, meta, selector, scale_d, scale_a, scale_b, trans_a, trans_b;
} roles;

static roles roles_of(const sim_insn *in) {
  const sim_mma *s = in->mma;
  bool regs = in->opnd[1].kind == SIM_VEC, integer = s->d == SIM_T_S32;
  int i = 3;
  roles r = {1, 2, -1, -1, -1, -1, -1, -1, -1};
  if (s->sparse) {
    r.meta = i++;
    r.selector = i++;
  }
  r.scale_d = i++;
  if (integer)
    return r;
  r.scale_a = i++;
  r.scale_b = i++;
  if (s->a_bits == 16 && !regs)
    r.trans_a = i++;
  if (s->a_bits == 16)
    r.trans_b = i++;
  return r;
}

static int64_t immediate(const sim_insn *in, int i, int64_t otherwise) {
  return i >= 0 && i < in->n_opnds ? in->opnd[i].imm : otherwise;
}

/* ---- issue ---- */

static sim_step use_register(sim_warp *w, const sim_insn *in, uint32_t reg, uint8_t as,
                             uint32_t group) {
  sim_machine *m = w->machine;
  bool busy = w->busy[reg] > w->wgmma_waited;
  uint8_t busy_as = w->busy_as[reg];
  bool clash = busy && (busy_as == 'd') != (as == 'd');
  bool shape = busy && as == 'd' && w->busy_shape != in->mma->n;
  bool unfenced = w->touched[reg] == w->fence_epoch;
  w->busy[reg] = group;
  w->busy_as[reg] = as;
  if ((m->options.off & HD_SIM_NO_POISON) || !(clash || shape || unfenced))
    return SIM_NEXT;
  /* The ISA covers accumulators and A; for metadata this is a rule of Heddle's own. */
  const char *rule = as == 'm' || (clash && busy_as == 'm') ? "R5:heddle" : "R5";
  if (unfenced)
    return hd_sim_find(m, rule, w, 0, in, NULL,
                       "a register (%s) was accessed after the last wgmma.fence",
                       as == 'd' ? "accumulator" : as == 'a' ? "A" : "metadata");
  return hd_sim_find(m, rule, w, 0, in, NULL,
                     "uses a register of an unfinished wgmma %s",
                     clash ? "in another role" : "of another shape");
}

static sim_step use_operand(sim_warp *w, const sim_insn *in, const sim_opnd *o, uint8_t as,
                            uint32_t group) {
  for (uint32_t i = 0; i < o->n; i++)
    if (use_operand(w, in, &o->vec[i], as, group) == SIM_STOP)
      return SIM_STOP;
  return o->kind == SIM_REG ? use_register(w, in, o->reg, as, group) : SIM_NEXT;
}

static sim_step undefined_operand(sim_warp *w, const sim_insn *in, const char *what) {
  if (w->machine->options.off & HD_SIM_NO_UNDEFINED)
    return SIM_NEXT;
  return hd_sim_find(w->machine, "undefined", w, 0, in, NULL, "%s has no value", what);
}

static sim_step undefined_metadata(sim_warp *w, const sim_insn *in, const roles *r) {
  uint32_t lanes = hd_sim_undefined(w, &in->opnd[r->meta]) & w->lanes & ~w->exited;
  if (!lanes)
    return SIM_NEXT;
  bool read = lanes & hd_sim_meta_lanes(in->mma, (uint32_t)in->opnd[r->selector].imm);
  return read ? undefined_operand(w, in, "the metadata") : hd_sim_idle_metadata(w, in, lanes);
}

static sim_step use_registers(sim_warp *w, const sim_insn *in, const roles *r, bool scale_d,
                              uint32_t group) {
  uint32_t lanes = w->lanes & ~w->exited;
  if (w->fence_epoch == 1 && !(w->machine->options.off & HD_SIM_NO_POISON) &&
      hd_sim_find(w->machine, "R5", w, 0, in, NULL, "no wgmma.fence before the first wgmma") ==
          SIM_STOP)
    return SIM_STOP;
  if ((scale_d && (hd_sim_undefined(w, &in->opnd[0]) & lanes) &&
       undefined_operand(w, in, "an accumulator") == SIM_STOP) ||
      ((hd_sim_undefined(w, &in->opnd[r->a]) & lanes) &&
       undefined_operand(w, in, "A") == SIM_STOP) ||
      (r->meta >= 0 && undefined_metadata(w, in, r) == SIM_STOP))
    return SIM_STOP;
  if (use_operand(w, in, &in->opnd[0], 'd', group) == SIM_STOP)
    return SIM_STOP;
  if (in->opnd[r->a].kind == SIM_VEC &&
      use_operand(w, in, &in->opnd[r->a], 'a', group) == SIM_STOP)
    return SIM_STOP;
  if (r->meta >= 0 && use_operand(w, in, &in->opnd[r->meta], 'm', group) == SIM_STOP)
    return SIM_STOP;
  w->busy_shape = in->mma->n;
  hd_sim_define(w, &in->opnd[0], lanes, 0);
  return SIM_NEXT;
}

/* A value that all lanes must agree on. */
static sim_step uniform(sim_warp *w, const sim_insn *in, uint32_t mask, int i, const char *what,
                        uint64_t *value) {
  const sim_opnd *o = &in->opnd[i];
  *value = hd_sim_read_lane(w, o, 0);
  if (hd_sim_touch(w, in, o) == SIM_STOP)
    return SIM_STOP;
  if ((hd_sim_undefined(w, o) & mask) && undefined_operand(w, in, what) == SIM_STOP)
    return SIM_STOP;
  SIM_LANES(l, mask)
  if (hd_sim_read_lane(w, o, l) != *value)
    return hd_sim_find(w->machine, "uniform", w, l, in, NULL, "%s differs from lane 0's", what);
  return SIM_NEXT;
}

static bool same_op(const sim_wgmma_op *a, const sim_wgmma_op *b) {
  return a->insn == b->insn && a->desc_a == b->desc_a && a->desc_b == b->desc_b &&
         a->scale_d == b->scale_d && a->group == b->group;
}

/* Merges the issues of all lanes and warps: the operation knows only what all of them know. */
static sim_step enqueue(sim_warp *w, const sim_insn *in, uint32_t mask, sim_wgmma_op *op) {
  sim_machine *m = w->machine;
  sim_wgmma *q = &w->cta->wgmma[w->index / 4];
  const sim_vc *vc = &hd_sim_thread(w, 0)->vc;
  uint32_t number = w->wgmma_issued++;
  if (number == q->n_ops) {
    op->warps = 1u << (w->index % 4);
    hd_sim_vc_init(m, &op->vc);
    hd_sim_vc_join(m, &op->vc, vc);
    op->number = m->n_issued++;
    hd_sim_trace(w, HD_SIM_ISSUES, in, mask, op->number);
    HD_PUSH(q->op, q->n_ops, q->cap, *op);
  } else {
    if (!same_op(op, &q->op[number]))
      return hd_sim_fault(
          m, "uniform", w, 0, in,
          "the warps of warpgroup %u issue different wgmma, descriptors, scale-d or "
          "groups (other: line %u)",
          q->index, q->op[number].insn->line);
    q->op[number].warps |= 1u << (w->index % 4);
  }
  vc = NULL;
  SIM_LANES(l, mask) {
    const sim_vc *own = &hd_sim_thread(w, l)->vc;
    if (!vc || !hd_sim_vc_same(m, own, vc))
      hd_sim_vc_meet(m, &q->op[number].vc, own);
    vc = own;
  }
  hd_sim_progress(m);
  sim_step step = SIM_NEXT;
  if (m->options.mode == HD_SIM_EARLY)
    while (step == SIM_NEXT && hd_sim_wgmma_step(m, q, &step))
      ;
  return step == SIM_STOP ? SIM_STOP : SIM_NEXT;
}

static sim_step exec_wgmma(sim_warp *w, const sim_insn *in, uint32_t mask) {
  roles r = roles_of(in);
  sim_wgmma_op op = {.insn = in, .group = w->wgmma_committed + 1};
  uint64_t scale_d;
  bool regs = in->opnd[r.a].kind == SIM_VEC;
  if ((!regs && uniform(w, in, mask, r.a, "the descriptor of A", &op.desc_a) == SIM_STOP) ||
      uniform(w, in, mask, r.b, "the descriptor of B", &op.desc_b) == SIM_STOP ||
      uniform(w, in, mask, r.scale_d, "scale-d", &scale_d) == SIM_STOP)
    return SIM_STOP;
  op.scale_d = scale_d & 1;
  if (use_registers(w, in, &r, op.scale_d, op.group) == SIM_STOP)
    return SIM_STOP;
  return enqueue(w, in, mask, &op);
}

/* ---- completion ---- */

static uint32_t address_of(const sim_source *from, uint32_t mn, uint32_t k) {
  hd_sim_descriptor d = hd_sim_descriptor_read(from->bits);
  return hd_sim_descriptor_address(&d, from->mn_major, mn, k, from->container / 8u);
}

static sim_step read_operand(sim_access *a, sim_cta *cta, const sim_mma *s,
                             const sim_source *from) {
  uint32_t base_offset = hd_sim_descriptor_read(from->bits).base_offset;
  if (from->bits & HD_SIM_DESCRIPTOR_RESERVED)
    return hd_sim_fault(a->m, "descriptor", a->warp, 0, a->insn,
                        "descriptor 0x%llx: bits 14, 15, 30, 31, 46 to 48 and 52 to 61 are zero",
                        (unsigned long long)from->bits);
  if (base_offset)
    return hd_sim_fault(a->m, "descriptor", a->warp, 0, a->insn,
                        "descriptor 0x%llx: base offset %u is not simulated",
                        (unsigned long long)from->bits, base_offset);
  return hd_sim_source_read(a, cta, s, from, address_of);
}

static void read_a_registers(sim_warp *w, const sim_mma *s, const sim_opnd *o, bool negate,
                             sim_tile *tile, uint32_t row) {
  uint32_t each = 32 / s->a_bits;
  for (uint32_t r = 0; r < o->n; r++) {
    for (uint32_t l = 0; l < 32; l++) {
      uint64_t word = hd_sim_read_lane(w, &o->vec[r], l);
      for (uint32_t e = 0; e < each; e++) {
        hd_sim_coord p = hd_sim_coord_a(s->a_bits, l, r, e);
        double v = hd_sim_element(s, s->a, s->a_bits, word >> (e * s->a_bits));
        tile->a[row + p.row][p.col] = negate ? -v : v;
      }
    }
  }
}

static void read_accumulators(sim_warp *w, const sim_mma *s, const sim_opnd *o, bool scale_d,
                              sim_tile *tile, uint32_t row) {
  uint32_t bits = hd_sim_type(s->d)->bits, each = 32 / bits;
  for (uint32_t r = 0; r < o->n; r++) {
    for (uint32_t l = 0; l < 32; l++) {
      uint64_t word = scale_d ? hd_sim_read_lane(w, &o->vec[r], l) : 0;
      for (uint32_t e = 0; e < each; e++) {
        hd_sim_coord p = hd_sim_coord_d(bits, l, r, e);
        tile->d[row + p.row][p.col] = hd_sim_read_c(s, word >> (e * bits));
      }
    }
  }
}

static void write_accumulators(sim_warp *w, const sim_mma *s, const sim_opnd *o,
                               const sim_tile *tile, uint32_t row) {
  uint32_t bits = hd_sim_type(s->d)->bits, each = 32 / bits;
  for (uint32_t r = 0; r < o->n; r++) {
    uint64_t scratch[32], *dst = hd_sim_dst(w, &o->vec[r], scratch);
    for (uint32_t l = 0; l < 32; l++) {
      dst[l] = 0;
      for (uint32_t e = 0; e < each; e++) {
        hd_sim_coord p = hd_sim_coord_d(bits, l, r, e);
        dst[l] |= hd_sim_round_d(s, tile->d[row + p.row][p.col]) << (e * bits);
      }
    }
  }
}

static sim_step read_warp(sim_warp *w, const sim_wgmma_op *op, const roles *r, sim_tile *tile,
                          uint32_t row) {
  const sim_insn *in = op->insn;
  const sim_mma *s = in->mma;
  if (in->opnd[r->a].kind == SIM_VEC)
    read_a_registers(w, s, &in->opnd[r->a], immediate(in, r->scale_a, 1) < 0, tile, row);
  read_accumulators(w, s, &in->opnd[0], op->scale_d, tile, row);
  if (!s->sparse)
    return SIM_NEXT;
  uint64_t buf[32];
  const uint64_t *meta = hd_sim_read(w, &in->opnd[r->meta], buf);
  return hd_sim_apply_metadata(w, in, s, tile, row, meta,
                               (uint32_t)immediate(in, r->selector, 0));
}

static sim_step complete(sim_machine *m, sim_wgmma *q, sim_wgmma_op *op) {
  const sim_insn *in = op->insn;
  const sim_mma *s = in->mma;
  roles r = roles_of(in);
  sim_tile *tile = m->tile;
  sim_warp *first = &q->cta->warp[q->index * 4];
  sim_access a = {.m = m,
                  .warp = first,
                  .insn = in,
                  .view = {&op->vc, SIM_NO_AGENT, 0},
                  .agent = hd_sim_agent(q->cta, m->agent_wgmma + q->index),
                  .clock = op->group,
                  .kind = SIM_READ,
                  .async = true};
  sim_source b = {op->desc_b, false, immediate(in, r.trans_b, 0) != 0,
                  immediate(in, r.scale_b, 1) < 0, s->n, s->k, 0, s->b, s->b_bits};
  sim_source sa = {op->desc_a, true, immediate(in, r.trans_a, 0) != 0,
                   immediate(in, r.scale_a, 1) < 0, 64, hd_sim_a_columns(s), 0, s->a, s->a_bits};
  if (read_operand(&a, q->cta, s, &b) == SIM_STOP ||
      (in->opnd[r.a].kind != SIM_VEC && read_operand(&a, q->cta, s, &sa) == SIM_STOP))
    return SIM_STOP;
  if (!s->sparse)
    hd_sim_dense_columns(s, tile);
  for (uint32_t i = 0; i < 4; i++)
    if (read_warp(first + i, op, &r, tile, 16 * i) == SIM_STOP)
      return SIM_STOP;
  hd_sim_multiply(s, tile);
  for (uint32_t i = 0; i < 4; i++)
    write_accumulators(first + i, s, &in->opnd[0], tile, 16 * i);
  m->report->n_mma++;
  return SIM_NEXT;
}

bool hd_sim_wgmma_ready(const sim_wgmma *q) {
  return q->n_done < q->n_ops && q->op[q->n_done].warps == 15;
}

bool hd_sim_wgmma_step(sim_machine *m, sim_wgmma *q, sim_step *step) {
  if (!hd_sim_wgmma_ready(q))
    return false;
  sim_wgmma_op *op = &q->op[q->n_done];
  *step = complete(m, q, op);
  hd_sim_vc_free(m, &op->vc);
  q->n_done++;
  m->report->n_async++;
  hd_sim_trace(&q->cta->warp[q->index * 4], HD_SIM_COMPLETES, op->insn, UINT32_MAX, op->number);
  hd_sim_progress(m);
  return true;
}

/* ---- fence, commit, wait ---- */

static sim_step exec_fence(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  (void)mask;
  w->fence_epoch++;
  return SIM_NEXT;
}

static sim_step exec_commit(sim_warp *w, const sim_insn *in, uint32_t mask) {
  (void)in;
  (void)mask;
  w->wgmma_committed++;
  return SIM_NEXT;
}

static sim_step exec_wait(sim_warp *w, const sim_insn *in, uint32_t mask) {
  sim_machine *m = w->machine;
  uint32_t may_stay = (uint32_t)in->opnd[0].imm;
  uint32_t group = w->wgmma_committed > may_stay ? w->wgmma_committed - may_stay : 0;
  const sim_wgmma *q = &w->cta->wgmma[w->index / 4];
  if (q->n_done < w->wgmma_issued && q->op[q->n_done].group <= group) {
    hd_sim_block(w, SIM_WAIT_WGMMA, 0, group);
    return SIM_WAIT;
  }
  if (group <= w->wgmma_waited)
    return SIM_NEXT;
  w->wgmma_waited = group;
  sim_agent agent = hd_sim_agent(w->cta, m->agent_wgmma + w->index / 4);
  sim_vc done;
  hd_sim_vc_init(m, &done);
  hd_sim_vc_raise(m, &done, agent, group);
  hd_sim_acquire(m, w, mask, &done);
  hd_sim_vc_free(m, &done);
  return SIM_NEXT;
}

/* ---- decoding ---- */

static bool operands_fit(const sim_insn *in) {
  const sim_mma *s = in->mma;
  roles r = roles_of(in);
  bool regs = in->n_opnds > 1 && in->opnd[1].kind == SIM_VEC;
  int last = r.trans_b >= 0 ? r.trans_b : r.scale_b >= 0 ? r.scale_b : r.scale_d;
  uint32_t n_d = s->n * hd_sim_type(s->d)->bits / 64;
  if (in->n_opnds != last + 1 || in->opnd[0].kind != SIM_VEC || in->opnd[0].n != n_d)
    return false;
  if (regs && in->opnd[1].n != 4)
    return false;
  if (r.selector >= 0 &&
      (in->opnd[r.selector].kind != SIM_IMM || (uint64_t)in->opnd[r.selector].imm > 1 ||
       (s->a_bits == 8 && in->opnd[r.selector].imm != 0)))
    return false;
  for (int i = r.scale_a; i >= 0 && i <= last; i++)
    if (in->opnd[i].kind != SIM_IMM)
      return false;
  return true;
}

static heddle_status decode_mma_async(sim_decode *d, sim_insn *in) {
  sim_mma *s = HD_NEW(d->arena, sim_mma);
  in->mma = s;
  in->exec = exec_wgmma;
  in->accesses = true;
  in->owns_registers = true;
  s->sparse = s->ordered = hd_sim_take(d, "sp");
  s->satfinite = hd_sim_take(d, "satfinite");
  if (!hd_sim_parse_shape(d, s))
    return HEDDLE_UNSUPPORTED;
  hd_sim_take_types(d, in);
  if (in->n_types != 3)
    return HEDDLE_UNSUPPORTED;
  s->d = s->c = in->type[0];
  s->a = in->type[1];
  s->b = in->type[2];
  if (!hd_sim_mma_finish(s) || s->m != 64 || s->n % 8 || s->n == 0 ||
      s->k * s->a_bits != (s->sparse ? 512 : 256) || s->a_bits < 8)
    return HEDDLE_UNSUPPORTED;
  return operands_fit(in) ? HEDDLE_OK : HEDDLE_INVALID;
}

heddle_status hd_sim_decode_wgmma(sim_decode *d, sim_insn *in) {
  in->aligned = in->meets = true;
  hd_sim_take(d, "aligned");
  if (!hd_sim_take(d, "sync"))
    return HEDDLE_UNSUPPORTED;
  if (hd_sim_take(d, "mma_async"))
    return decode_mma_async(d, in);
  if (hd_sim_take(d, "wait_group")) {
    in->exec = exec_wait;
    return in->n_opnds == 1 && in->opnd[0].kind == SIM_IMM ? HEDDLE_OK : HEDDLE_INVALID;
  }
  bool fence = hd_sim_take(d, "fence");
  in->exec = fence ? exec_fence : exec_commit;
  return fence || hd_sim_take(d, "commit_group") ? HEDDLE_OK : HEDDLE_UNSUPPORTED;
}
