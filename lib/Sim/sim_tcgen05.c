/* Sim/sim_tcgen05.c: tcgen05.mma and mma.sp: operands, descriptors, issue. */
#include "Sim/sim_tcgen05.h"
#include "Support/diag.h"

/* Operands after the first three in text order; -1: absent. */
typedef struct roles {
  int meta, idesc, disabled, scale_a, accumulate, scale_d;
} roles;

static roles roles_of(const sim_insn *in) {
  const sim_mma *s = in->mma;
  int i = 3;
  roles r = {-1, -1, -1, -1, -1, -1};
  if (s->sparse)
    r.meta = i++;
  r.idesc = i++;
  if (i < in->n_opnds && in->opnd[i].kind == SIM_VEC)
    r.disabled = i++;
  if (s->n_scales) {
    r.scale_a = i;
    i += 2;
  }
  r.accumulate = i++;
  if (i < in->n_opnds)
    r.scale_d = i;
  return r;
}

/* ---- issue ---- */

static uint32_t address_of(sim_warp *w, const sim_insn *in, int i, uint32_t lane) {
  const sim_opnd *o = &in->opnd[i];
  return (uint32_t)hd_sim_address(w, o, lane);
}

static void fill_op(sim_warp *w, const sim_insn *in, uint32_t lane, sim_tensor_op *t) {
  roles r = roles_of(in);
  t->address = address_of(w, in, 0, lane);
  if (in->opnd[1].kind == SIM_ADDR)
    t->a = address_of(w, in, 1, lane);
  else
    t->desc_a = hd_sim_read_lane(w, &in->opnd[1], lane);
  t->desc_b = hd_sim_read_lane(w, &in->opnd[2], lane);
  t->idesc = (uint32_t)hd_sim_read_lane(w, &in->opnd[r.idesc], lane);
  t->accumulate = hd_sim_read_lane(w, &in->opnd[r.accumulate], lane) & 1;
  if (r.meta >= 0)
    t->meta = address_of(w, in, r.meta, lane);
  if (r.scale_a >= 0) {
    t->scale_a = address_of(w, in, r.scale_a, lane);
    t->scale_b = address_of(w, in, r.scale_a + 1, lane);
  }
  if (r.scale_d >= 0)
    t->scale_d = (uint32_t)in->opnd[r.scale_d].imm;
  for (uint32_t i = 0; r.disabled >= 0 && i < in->opnd[r.disabled].n; i++)
    t->disabled[i] = (uint32_t)hd_sim_read_lane(w, &in->opnd[r.disabled].vec[i], lane);
}

/* NULL, or the error in the addresses in tensor memory. */
static const char *check_places(const sim_insn *in, const sim_plan *p, const sim_tensor_op *t) {
  uint32_t lane = t->address >> 16;
  bool half = p->paths == HD_SIM_PATHS_HALF;
  if (lane != 0 && !(half && lane == 16))
    return half ? "D must start at lane 0 or 16" : "D must start at lane 0";
  if (in->opnd[1].kind == SIM_ADDR && t->a >> 16 != lane)
    return "A must start at D's lane";
  if (p->s.sparse && (t->meta >> 16 != lane || t->meta & 1))
    return "the metadata must start at D's lane, in an even column";
  if (p->s.n_scales && (t->scale_a | t->scale_b) >> 16)
    return "scales must start at lane 0";
  return NULL;
}

static sim_step issue_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_machine *m = w->machine;
  sim_async *op = hd_sim_tensor_issue(w, lane, in, hd_sim_tcgen05_complete);
  sim_tensor_op *t = op->tensor;
  sim_plan p;
  fill_op(w, in, lane, t);
  uint32_t idesc = t->idesc;
  const char *wrong = hd_sim_tcgen05_plan(in, idesc, &p);
  const char *misplaced = wrong ? NULL : check_places(in, &p, t);
  if (wrong || misplaced)
    hd_sim_async_free(m, op);
  if (misplaced)
    return hd_sim_fault(m, "tmem", w, lane, in, "%s", misplaced);
  if (wrong)
    return hd_sim_fault(m, "idesc", w, lane, in, "instruction descriptor 0x%08x (M %u, N %u): %s",
                        idesc, p.idesc.m, p.idesc.n, wrong);
  sim_issued *record = &hd_sim_thread(w, lane)->issuer->issued[t->number - 1];
  record->d = t->address;
  record->shape = (uint32_t)p.s.kind << 26 | p.idesc.m << 16 | p.idesc.n << 1 | p.s.sparse;
  return hd_sim_async_push(m, op);
}

static sim_step exec_mma(sim_warp *w, const sim_insn *in, uint32_t mask) {
  return hd_sim_each_lane(w, in, mask, issue_lane);
}

/* ---- decoding ---- */

static bool take_kind(sim_decode *d, sim_mma *s) {
  static const struct {
    const char *name;
    uint8_t kind;
  } kinds[] = {{"kind::f16", SIM_KIND_F16},           {"kind::tf32", SIM_KIND_TF32},
               {"kind::i8", SIM_KIND_I8},             {"kind::f8f6f4", SIM_KIND_F8F6F4},
               {"kind::mxf8f6f4", SIM_KIND_MXF8F6F4}, {"kind::mxf4", SIM_KIND_MXF4},
               {"kind::mxf4nvf4", SIM_KIND_MXF4NVF4}};
  for (size_t i = 0; i < HD_COUNT(kinds); i++)
    if (hd_sim_take(d, kinds[i].name))
      s->kind = kinds[i].kind;
  return s->kind != SIM_KIND_NONE;
}

/* scale_vec and its aliases; false: not legal for the kind. */
static bool take_scales(sim_decode *d, sim_mma *s) {
  bool scaled = hd_sim_take(d, "block_scale"), one = s->kind == SIM_KIND_MXF8F6F4;
  uint32_t n = hd_sim_take(d, "scale_vec::1X")   ? 1
               : hd_sim_take(d, "scale_vec::2X") ? 2
               : hd_sim_take(d, "scale_vec::4X") ? 4
               : hd_sim_take(d, "block32")       ? (one ? 1 : 2)
               : hd_sim_take(d, "block16")       ? 4 : 0;
  if (s->kind < SIM_KIND_MXF8F6F4)
    return !scaled && n == 0;
  if (n == 0 && s->kind != SIM_KIND_MXF4NVF4)
    n = one ? 1 : 2;
  s->n_scales = n;
  return scaled && (one ? n == 1 : s->kind == SIM_KIND_MXF4 ? n == 2 : n == 2 || n == 4);
}

static bool operands_fit(const sim_insn *in) {
  const sim_mma *s = in->mma;
  roles r = roles_of(in);
  const sim_opnd *o = in->opnd;
  if (in->n_opnds <= r.accumulate || o[0].kind != SIM_ADDR || o[2].kind == SIM_ADDR ||
      in->n_opnds > r.accumulate + 1 + (r.scale_d >= 0))
    return false;
  if ((r.meta >= 0 && o[r.meta].kind != SIM_ADDR) ||
      (r.scale_a >= 0 && (o[r.scale_a].kind != SIM_ADDR || o[r.scale_a + 1].kind != SIM_ADDR)))
    return false;
  if (r.disabled >= 0 && (s->n_scales || o[r.disabled].n != 4 * in->cta_group))
    return false;
  bool scales_d = s->kind == SIM_KIND_F16 || s->kind == SIM_KIND_TF32;
  return r.scale_d < 0 || (scales_d && o[r.scale_d].kind == SIM_IMM && o[r.scale_d].imm >= 0 &&
                           o[r.scale_d].imm <= 15);
}

heddle_status hd_sim_decode_tensor_mma(sim_decode *d, sim_insn *in) {
  /* Permissions to cache, which have no effect here. */
  static const char *const collectors[] = {"collector::a::fill", "collector::a::use",
                                           "collector::a::lastuse", "collector::a::discard"};
  sim_mma *s = HD_NEW(d->arena, sim_mma);
  in->mma = s;
  in->op = SIM_OP_MMA;
  in->exec = exec_mma;
  in->accesses = true;
  s->sparse = s->ordered = hd_sim_take(d, "sp");
  for (size_t i = 0; i < HD_COUNT(collectors); i++)
    if (hd_sim_take(d, collectors[i]))
      break;
  if (!take_kind(d, s))
    return HEDDLE_UNSUPPORTED;
  return take_scales(d, s) && operands_fit(in) ? HEDDLE_OK : HEDDLE_INVALID;
}
