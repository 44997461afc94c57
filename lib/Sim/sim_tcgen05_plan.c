/* Sim/sim_tcgen05_plan.c: decodes the instruction descriptor of a tcgen05.mma. */
#include "Sim/sim_tcgen05.h"

static bool float_types(uint8_t kind, const hd_sim_idesc *i, sim_mma *s) {
  static const uint8_t halves[8] = {SIM_T_F16, SIM_T_BF16};
  static const uint8_t narrow[8] = {SIM_T_E4M3, SIM_T_E5M2, SIM_T_NONE, SIM_T_E2M3, SIM_T_E3M2,
                                    SIM_T_E2M1};
  s->d = i->d == 0 ? SIM_T_F16 : i->d == 1 ? SIM_T_F32 : SIM_T_NONE;
  if (kind == SIM_KIND_F16) {
    s->a = halves[i->a];
    s->b = halves[i->b];
    return s->a == s->b && s->d && (s->d == SIM_T_F32 || s->a == SIM_T_F16);
  }
  if (kind == SIM_KIND_TF32) {
    s->a = s->b = SIM_T_TF32;
    return i->a == 2 && i->b == 2 && s->d == SIM_T_F32;
  }
  if (kind >= SIM_KIND_MXF4) {
    s->a = s->b = SIM_T_E2M1;
    return i->a == 1 && i->b == 1;
  }
  s->a = narrow[i->a];
  s->b = narrow[i->b];
  return s->a && s->b && s->d;
}

static bool take_types(uint8_t kind, const hd_sim_idesc *i, sim_mma *s) {
  if (kind != SIM_KIND_I8)
    return float_types(kind, i, s);
  s->d = i->d == 2 ? SIM_T_S32 : SIM_T_NONE;
  s->a = i->a == 1 ? SIM_T_S8 : i->a == 0 ? SIM_T_U8 : SIM_T_NONE;
  s->b = i->b == 1 ? SIM_T_S8 : i->b == 0 ? SIM_T_U8 : SIM_T_NONE;
  s->satfinite = i->saturate;
  return s->d && s->a && s->b && !i->negate_a && !i->negate_b;
}

static bool take_scale(const hd_sim_idesc *i, sim_mma *s) {
  uint32_t step = s->n_scales == 1 ? 1 : s->n_scales == 2 ? 2 : 4; /* ids are multiples of it */
  if (s->n_scales == 0)
    return true;
  s->scale_type = i->scale_type ? SIM_T_UE8M0 : SIM_T_UE4M3;
  return i->scale_a % step == 0 && i->scale_b % step == 0 && !i->long_k &&
         (i->scale_type || (s->kind == SIM_KIND_MXF4NVF4 && s->n_scales == 4));
}

/* Table "Various combinations of .kind and shapes", without .ws. */
static bool is_shape(const sim_plan *p) {
  const hd_sim_idesc *i = &p->idesc;
  uint32_t step = 8 * p->group;
  bool scaled = p->s.n_scales != 0;
  if (p->s.kind == SIM_KIND_I8)
    step = p->group == 2 ? 32 : i->n > 32 ? 16 : 8;
  if (i->transpose_b && p->s.b_bits == 8)
    step = 16 * p->group;
  bool m = i->m == 64 * p->group ? !scaled || (p->group == 2 && !i->sparse)
                                 : i->m == 128 * p->group;
  return m && i->n >= step && i->n <= 256 && i->n % step == 0;
}

const char *hd_sim_tcgen05_plan(const sim_insn *in, uint32_t bits, sim_plan *p) {
  uint8_t kind = in->mma->kind;
  hd_sim_idesc_form form = kind == SIM_KIND_MXF8F6F4 ? HD_SIM_IDESC_MX8
                           : kind >= SIM_KIND_MXF4   ? HD_SIM_IDESC_MX4 : HD_SIM_IDESC_PLAIN;
  *p = (sim_plan){.s = *in->mma, .idesc = hd_sim_idesc_read(form, bits), .group = in->cta_group};
  const hd_sim_idesc *i = &p->idesc;
  if (i->reserved)
    return "bits that must be zero are set";
  if (i->sparse != p->s.sparse)
    return "its sparsity is not the instruction's";
  if (!take_types(kind, i, &p->s))
    return "the types are not of the kind";
  if (!take_scale(i, &p->s))
    return "the scales' type or id is not of the kind, or K is 96";
  p->s.m = i->m / p->group;
  p->s.n = i->n;
  p->s.c = p->s.d;
  p->s.a_bits = p->s.b_bits = kind == SIM_KIND_TF32 ? 32 : kind == SIM_KIND_F16 ? 16 : 8;
  if (!is_shape(p) || !hd_sim_paths_find(i->m, p->group, i->sparse, &p->paths))
    return "the kind has no such M and N";
  p->s.k = (kind >= SIM_KIND_MXF4 ? 64u : 256u / p->s.a_bits) << i->sparse;
  if (!hd_sim_mma_finish(&p->s))
    return "the kind has no such shape";
  if (i->sparse && i->selector > (p->s.a_bits >= 16))
    return p->s.a_bits >= 16 ? "selectors 2 and 3 are not simulated" : "the selector must be 0";
  p->columns = hd_sim_a_columns(&p->s);
  return NULL;
}
