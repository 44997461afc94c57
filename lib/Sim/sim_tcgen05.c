/* Sim/sim_tcgen05.c: tcgen05.mma and mma.sp: one thread issues, one or two CTAs multiply. */
#include <math.h>
#include <string.h>

#include "Sim/sim_maps.h"
#include "Sim/sim_product.h"
#include "Sim/sim_tmem.h"
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

/* ---- what the descriptors say ---- */

typedef struct plan {
  sim_mma s; /* m: rows of a CTA; n: all columns */
  hd_sim_idesc idesc;
  hd_sim_paths paths;
  uint32_t columns, group; /* stored elements of a row of A; of CTAs */
} plan;

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
static bool is_shape(const plan *p) {
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

/* NULL, or what is wrong with the instruction descriptor. */
static const char *make_plan(const sim_insn *in, uint32_t bits, plan *p) {
  uint8_t kind = in->mma->kind;
  hd_sim_idesc_form form = kind == SIM_KIND_MXF8F6F4 ? HD_SIM_IDESC_MX8
                           : kind >= SIM_KIND_MXF4   ? HD_SIM_IDESC_MX4 : HD_SIM_IDESC_PLAIN;
  *p = (plan){.s = *in->mma, .idesc = hd_sim_idesc_read(form, bits), .group = in->cta_group};
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

/* ---- operands in shared memory ---- */

typedef struct source {
  uint64_t bits;
  bool mn_major, negate;
  uint32_t n_mn, n_k; /* extent in elements */
  uint8_t type, container;
} source;

typedef void place_element(sim_tile *tile, uint32_t mn, uint32_t k, double value);
static void place_in_a(sim_tile *tile, uint32_t mn, uint32_t k, double value) {
  tile->a[mn][k] = value;
}
static void place_in_b(sim_tile *tile, uint32_t mn, uint32_t k, double value) {
  tile->b[k][mn] = value;
}

/* Bits of an element in its 16 bytes of shared memory: 4- and 6-bit types lie packed at the start. */
static uint32_t width_of(uint8_t type) {
  return type == SIM_T_E2M1 ? 4 : type == SIM_T_E3M2 || type == SIM_T_E2M3 ? 6
                                                                           : hd_sim_type(type)->bits;
}

static double element_at(const plan *p, const source *from, const uint8_t *at, uint32_t e) {
  uint32_t width = width_of(from->type), low = e * width;
  uint64_t bits = 0;
  if (width >= 8) {
    memcpy(&bits, at + low / 8, width / 8);
    return hd_sim_element(&p->s, from->type, from->container, bits);
  }
  bits = at[low / 8] | (low % 8 + width > 8 ? (uint64_t)at[low / 8 + 1] << 8 : 0);
  return hd_sim_decode_bits(from->type, bits >> low % 8 & ((1u << width) - 1));
}

static sim_step read_runs(sim_access *a, sim_cta *cta, const plan *p, const source *from,
                          uint32_t first_mn, place_element *place) {
  hd_sim_descriptor5 d = hd_sim_descriptor5_read(from->bits);
  uint32_t run = 128 / from->container, bytes = from->mn_major ? from->container / 8u : 1;
  uint32_t n_outer = from->mn_major ? from->n_k : from->n_mn;
  uint32_t n_inner = from->mn_major ? from->n_mn : from->n_k;
  for (uint32_t o = 0; o < n_outer; o++) {
    for (uint32_t i = 0; i < n_inner; i += run) {
      uint32_t mn = from->mn_major ? i : o, k = from->mn_major ? o : i * from->container / 8;
      const uint8_t *at;
      if (hd_sim_chunk(a, cta, hd_sim_descriptor5_address(&d, from->mn_major, mn, k, bytes), 16,
                       &at) == SIM_STOP)
        return SIM_STOP;
      for (uint32_t e = 0; e < run && i + e < n_inner; e++) {
        double value = element_at(p, from, at, e);
        place(a->m->tile, first_mn + (from->mn_major ? i + e : o), from->mn_major ? o : i + e,
              from->negate ? -value : value);
      }
    }
  }
  return SIM_NEXT;
}

static sim_step check_source(const sim_access *a, const source *from) {
  hd_sim_descriptor5 d = hd_sim_descriptor5_read(from->bits);
  bool tf32 = from->type == SIM_T_TF32;
  const char *wrong =
      !d.valid                                  ? "a fixed field or the swizzle mode is wrong"
      : d.base_offset || d.absolute             ? "base offsets and absolute strides are not simulated"
      : d.wide != (tf32 && from->mn_major)      ? "32-byte atoms are for transposed tf32, and only"
      : from->mn_major && width_of(from->type) < 8 ? "4- and 6-bit types are not transposed"
                                                : NULL;
  if (!wrong)
    return SIM_NEXT;
  return hd_sim_fault(a->m, "descriptor", a->warp, a->lane, a->insn, "descriptor 0x%llx: %s",
                      (unsigned long long)from->bits, wrong);
}

static sim_step read_b(sim_machine *m, const sim_async *op, const plan *p) {
  sim_access a = hd_sim_operand_access(m, op);
  sim_cta *cta[2];
  uint32_t n = hd_sim_tensor_ctas(op, cta), each = p->s.n / n;
  source b = {op->tensor->desc_b, p->idesc.transpose_b, p->idesc.negate_b, each, p->s.k, p->s.b,
              p->s.b_bits};
  for (uint32_t i = 0; i < n; i++)
    if (check_source(&a, &b) == SIM_STOP ||
        read_runs(&a, cta[i], p, &b, i * each, place_in_b) == SIM_STOP)
      return SIM_STOP;
  return SIM_NEXT;
}

/* ---- operands in tensor memory ---- */

static uint32_t lane_at(uint32_t address, const hd_sim_tensor_place *p) {
  return (address >> 16) + p->lane;
}
static uint32_t column_at(uint32_t address, const hd_sim_tensor_place *p) {
  return (address & 0xffff) + p->column;
}

static double a_value(const plan *p, uint32_t word, uint32_t bit) {
  uint64_t bits = word >> bit;
  if (p->s.a_bits == 8 && width_of(p->s.a) == 6) /* 0xxxxxx0; 4-bit types: 00xxxx00 */
    return hd_sim_decode_bits(p->s.a, bits >> 1 & 63);
  return hd_sim_element(&p->s, p->s.a, p->s.a_bits, bits);
}

static sim_step read_a_row(const sim_access *a, sim_cta *cta, const plan *p, uint32_t address,
                           uint32_t row) {
  uint32_t *word, *twin = NULL, n = p->columns * p->s.a_bits / 32;
  hd_sim_tensor_place at = hd_sim_place_a5(p->paths, p->s.a_bits, row, 0);
  if (hd_sim_tensor_cells(a, cta, lane_at(address, &at), column_at(address, &at), n, &word) ==
      SIM_STOP)
    return SIM_STOP;
  if (p->paths == HD_SIM_PATHS_SPLIT &&
      hd_sim_tensor_cells(a, cta, lane_at(address, &at) + 64, column_at(address, &at), n, &twin) ==
          SIM_STOP)
    return SIM_STOP;
  if (twin && memcmp(word, twin, 4 * n) != 0)
    return hd_sim_find(a->m, "tmem", a->warp, a->lane, a->insn, NULL,
                       "row %u of A in lanes %u and %u differs: this shape reads both", row,
                       at.lane, at.lane + 64);
  for (uint32_t k = 0; k < p->columns; k++) {
    at = hd_sim_place_a5(p->paths, p->s.a_bits, row, k);
    double value = a_value(p, word[at.column], at.bit);
    a->m->tile->a[row][k] = p->idesc.negate_a ? -value : value;
  }
  return SIM_NEXT;
}

static sim_step read_a(sim_machine *m, const sim_async *op, sim_cta *cta, const plan *p) {
  if (op->insn->opnd[1].kind != SIM_ADDR) {
    sim_access a = hd_sim_operand_access(m, op);
    source from = {op->tensor->desc_a, p->idesc.transpose_a, p->idesc.negate_a, p->s.m, p->columns,
                   p->s.a, p->s.a_bits};
    return check_source(&a, &from) == SIM_STOP ? SIM_STOP
                                               : read_runs(&a, cta, p, &from, 0, place_in_a);
  }
  sim_access a = hd_sim_tensor_access(m, op, SIM_READ);
  for (uint32_t row = 0; row < p->s.m; row++)
    if (read_a_row(&a, cta, p, op->tensor->a, row) == SIM_STOP)
      return SIM_STOP;
  return SIM_NEXT;
}

/* The ISA lists, beside the ascending pairs, 0b0110. */
static bool decode_meta(const sim_mma *s, uint32_t nibble, uint32_t kept[4]) {
  return hd_sim_meta_decode(s->group, nibble, true, kept) || (s->group > 2 && nibble == 6);
}

static sim_step read_meta(sim_machine *m, const sim_async *op, sim_cta *cta, const plan *p) {
  const sim_mma *s = &p->s;
  sim_access a = hd_sim_tensor_access(m, op, SIM_READ);
  for (uint32_t row = 0; row < s->m; row++) {
    for (uint32_t g = 0; g < s->k / s->group; g++) {
      hd_sim_tensor_place at =
          hd_sim_place_meta5(p->paths, s->a_bits, p->idesc.selector, row, g);
      uint32_t *word, kept[4] = {0}, address = op->tensor->meta;
      if (hd_sim_tensor_cells(&a, cta, lane_at(address, &at), column_at(address, &at), 1, &word) ==
          SIM_STOP)
        return SIM_STOP;
      uint32_t nibble = *word >> at.bit & 15;
      if (!decode_meta(s, nibble, kept) &&
          hd_sim_find(m, "metadata", op->warp, op->lane, op->insn, NULL,
                      "bits %u to %u of lane %u, column %u are 0x%x (row %u, group %u): not a legal "
                      "index", at.bit, at.bit + 3, lane_at(address, &at), column_at(address, &at),
                      nibble, row, g) == SIM_STOP)
        return SIM_STOP;
      for (uint32_t t = 0; t < s->kept; t++)
        m->tile->at[row][g * s->kept + t] = (uint8_t)(g * s->group + kept[t]);
    }
  }
  return SIM_NEXT;
}

/* ---- scales ---- */

/* The scale at a place, in every group of 32 lanes that must hold it. */
static sim_step read_scale(const sim_access *a, sim_cta *cta, const plan *p, uint32_t address,
                           hd_sim_tensor_place at, uint32_t n_copies, double *scale) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < n_copies; i++) {
    uint32_t *word;
    if (hd_sim_tensor_cells(a, cta, lane_at(address, &at) + 32 * i, column_at(address, &at), 1,
                            &word) == SIM_STOP)
      return SIM_STOP;
    uint32_t byte = *word >> at.bit & 0xff;
    first = i ? first : byte;
    if (byte != first)
      return hd_sim_find(a->m, "tmem", a->warp, a->lane, a->insn, NULL,
                         "the scale in column %u, bits %u.., is 0x%x in lane %u and 0x%x in lane %u: "
                         "it must be in every 32 lanes", column_at(address, &at), at.bit, first,
                         lane_at(address, &at), byte, lane_at(address, &at) + 32 * i);
  }
  *scale = hd_sim_decode_bits(p->s.scale_type, first);
  return SIM_NEXT;
}

static sim_step scale_a(const sim_access *a, sim_cta *cta, const plan *p, uint32_t address) {
  const sim_mma *s = &p->s;
  sim_tile *tile = a->m->tile;
  for (uint32_t row = 0; row < s->m; row++) {
    double scale[4];
    for (uint32_t j = 0; j < s->n_scales; j++)
      if (read_scale(a, cta, p, address, hd_sim_place_scale_a5(row, p->idesc.scale_a, j), 4,
                     &scale[j]) == SIM_STOP)
        return SIM_STOP;
    for (uint32_t t = 0; t < p->columns; t++)
      tile->a[row][t] *= scale[tile->at[row][t] / (s->k / s->n_scales)];
  }
  return SIM_NEXT;
}

static sim_step scale_b(const sim_access *a, sim_cta *cta, const plan *p, uint32_t address) {
  const sim_mma *s = &p->s;
  uint32_t n_copies = p->paths == HD_SIM_PATHS_SPLIT ? 2 : 4;
  for (uint32_t n = 0; n < s->n; n++) {
    double scale[4];
    for (uint32_t j = 0; j < s->n_scales; j++)
      if (read_scale(a, cta, p, address,
                     hd_sim_place_scale_b5(p->paths, s->n, n, p->idesc.scale_b, j), n_copies,
                     &scale[j]) == SIM_STOP)
        return SIM_STOP;
    for (uint32_t k = 0; k < s->k; k++)
      a->m->tile->b[k][n] *= scale[k / (s->k / s->n_scales)];
  }
  return SIM_NEXT;
}

/* ---- D ---- */

/* One row: in, scaled by 2^-scale_d, or out. */
static sim_step transfer_row(const sim_access *a, sim_cta *cta, const plan *p,
                             const sim_tensor_op *t, uint32_t row) {
  uint32_t pieces = p->paths == HD_SIM_PATHS_SPLIT ? 2 : 1, n = p->s.n / pieces, *word;
  uint32_t mask = hd_sim_type(p->s.d)->bits == 16 ? 0xffff : 0xffffffff;
  for (uint32_t i = 0; i < pieces; i++) {
    hd_sim_tensor_place at = hd_sim_place_d5(p->paths, p->s.n, row, i * n);
    uint32_t lane = lane_at(t->address, &at);
    uint32_t bit = lane + (p->group == 2 && cta->rank % 2 ? 128 : 0);
    if (a->kind == SIM_WRITE && lane < 128 && (t->disabled[bit / 32] >> bit % 32 & 1))
      continue;
    if (hd_sim_tensor_cells(a, cta, lane, column_at(t->address, &at), n, &word) == SIM_STOP)
      return SIM_STOP;
    double *d = &a->m->tile->d[row][i * n];
    for (uint32_t j = 0; j < n; j++) {
      if (a->kind == SIM_WRITE)
        word[j] = (uint32_t)hd_sim_round_d(&p->s, d[j]);
      else
        d[j] = ldexp(hd_sim_read_c(&p->s, word[j] & mask), -(int)t->scale_d);
    }
  }
  return SIM_NEXT;
}

static sim_step transfer_d(sim_machine *m, const sim_async *op, sim_cta *cta, const plan *p,
                           uint8_t kind) {
  sim_access a = hd_sim_tensor_access(m, op, kind);
  for (uint32_t row = 0; row < p->s.m; row++)
    if (transfer_row(&a, cta, p, op->tensor, row) == SIM_STOP)
      return SIM_STOP;
  return SIM_NEXT;
}

/* ---- completion ---- */

static sim_step multiply_cta(sim_machine *m, const sim_async *op, sim_cta *cta, const plan *p) {
  const sim_tensor_op *t = op->tensor;
  sim_access a = hd_sim_tensor_access(m, op, SIM_READ);
  if (read_b(m, op, p) == SIM_STOP || read_a(m, op, cta, p) == SIM_STOP)
    return SIM_STOP;
  if (!p->s.sparse)
    hd_sim_dense_columns(&p->s, m->tile);
  else if (read_meta(m, op, cta, p) == SIM_STOP)
    return SIM_STOP;
  if (p->s.n_scales && (scale_a(&a, cta, p, t->scale_a) == SIM_STOP ||
                        scale_b(&a, cta, p, t->scale_b) == SIM_STOP))
    return SIM_STOP;
  if (!t->accumulate)
    memset(m->tile->d, 0, sizeof m->tile->d);
  else if (transfer_d(m, op, cta, p, SIM_READ) == SIM_STOP)
    return SIM_STOP;
  hd_sim_multiply(&p->s, m->tile);
  return transfer_d(m, op, cta, p, SIM_WRITE);
}

static sim_step complete_mma(sim_machine *m, sim_async *op) {
  sim_issuer *issuer = hd_sim_thread(op->warp, op->lane)->issuer;
  sim_cta *cta[2];
  plan p;
  if (issuer->n_done + 1 != op->tensor->number)
    return SIM_WAIT;
  make_plan(op->insn, op->tensor->idesc, &p);
  uint32_t n = hd_sim_tensor_ctas(op, cta);
  for (uint32_t i = 0; i < n; i++)
    if (multiply_cta(m, op, cta[i], &p) == SIM_STOP)
      return SIM_STOP;
  issuer->n_done++;
  m->report->n_mma++;
  return SIM_NEXT;
}

/* ---- issue ---- */

static uint32_t address_of(sim_warp *w, const sim_insn *in, int i, uint32_t lane) {
  const sim_opnd *o = &in->opnd[i];
  return (uint32_t)(hd_sim_read_lane(w, &o->vec[0], lane) + (uint64_t)o->imm);
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

/* NULL, or what is wrong with the places in tensor memory. */
static const char *check_places(const sim_insn *in, const plan *p, const sim_tensor_op *t) {
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

/* The descriptor and the places; on a fault the operation is gone. */
static sim_step check_op(sim_warp *w, const sim_insn *in, uint32_t lane, sim_async *op, plan *p) {
  sim_machine *m = w->machine;
  uint32_t idesc = op->tensor->idesc;
  const char *wrong = make_plan(in, idesc, p), *misplaced = NULL;
  if (!wrong)
    misplaced = check_places(in, p, op->tensor);
  if (!wrong && !misplaced)
    return SIM_NEXT;
  hd_sim_async_free(m, op);
  if (misplaced)
    return hd_sim_fault(m, "tmem", w, lane, in, "%s", misplaced);
  return hd_sim_fault(m, "idesc", w, lane, in, "instruction descriptor 0x%08x (M %u, N %u): %s",
                      idesc, p->idesc.m, p->idesc.n, wrong);
}

static sim_step issue_lane(sim_warp *w, const sim_insn *in, uint32_t lane) {
  sim_machine *m = w->machine;
  sim_async *op = hd_sim_tensor_issue(w, lane, in, complete_mma);
  sim_tensor_op *t = op->tensor;
  plan p;
  fill_op(w, in, lane, t);
  if (check_op(w, in, lane, op, &p) == SIM_STOP)
    return SIM_STOP;
  sim_issued *record = &hd_sim_thread(w, lane)->issuer->issued[t->number - 1];
  record->d = t->address;
  record->shape = (uint32_t)p.s.kind << 26 | p.idesc.m << 16 | p.idesc.n << 1 | p.s.sparse;
  return hd_sim_async_push(m, op);
}

static sim_step exec_mma(sim_warp *w, const sim_insn *in, uint32_t mask) {
  SIM_LANES(l, mask)
  if (issue_lane(w, in, l) == SIM_STOP)
    return SIM_STOP;
  return SIM_NEXT;
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

/* scale_vec and its aliases; false: not of the kind. */
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

static void take_collector(sim_decode *d) {
  static const char *const uses[] = {"collector::a::fill", "collector::a::use",
                                     "collector::a::lastuse", "collector::a::discard"};
  for (size_t i = 0; i < HD_COUNT(uses); i++)
    if (hd_sim_take(d, uses[i]))
      return; /* a permission to cache, which changes nothing here */
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
  sim_mma *s = HD_NEW(d->arena, sim_mma);
  in->mma = s;
  in->op = SIM_OP_MMA;
  in->exec = exec_mma;
  in->accesses = true;
  s->sparse = s->ordered = hd_sim_take(d, "sp");
  take_collector(d);
  if (!take_kind(d, s))
    return HEDDLE_UNSUPPORTED;
  return take_scales(d, s) && operands_fit(in) ? HEDDLE_OK : HEDDLE_INVALID;
}
