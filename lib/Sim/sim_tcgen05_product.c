/* Sim/sim_tcgen05_product.c: execution of tcgen05.mma: operands in both memories, scales, D. */
#include <math.h>
#include <string.h>

#include "Sim/sim_maps.h"
#include "Sim/sim_source.h"
#include "Sim/sim_tcgen05.h"

/* ---- operands in shared memory ---- */

static uint32_t address_of(const sim_source *from, uint32_t mn, uint32_t k) {
  hd_sim_descriptor5 d = hd_sim_descriptor5_read(from->bits);
  if (from->mn_major)
    return hd_sim_descriptor5_address(&d, true, mn, k, from->container / 8u);
  return hd_sim_descriptor5_address(&d, false, mn, k * from->container / 8,
                                    1); /* in bytes along k */
}

static sim_step check_source(const sim_access *a, const sim_source *from) {
  hd_sim_descriptor5 d = hd_sim_descriptor5_read(from->bits);
  bool tf32 = from->type == SIM_T_TF32;
  const char *wrong =
      !d.valid                             ? "a fixed field or the swizzle mode is wrong"
      : d.base_offset || d.absolute        ? "base offsets and absolute strides are not simulated"
      : d.wide != (tf32 && from->mn_major) ? "32-byte atoms are for transposed tf32, and only"
      : from->mn_major && hd_sim_source_width(from->type) < 8
          ? "4- and 6-bit types are not transposed"
          : NULL;
  if (!wrong)
    return SIM_NEXT;
  return hd_sim_fault(a->m, "descriptor", a->warp, a->lane, a->insn, "descriptor 0x%llx: %s",
                      (unsigned long long)from->bits, wrong);
}

static sim_step read_b(sim_machine *m, const sim_async *op, const sim_plan *p) {
  sim_access a = hd_sim_operand_access(m, op);
  sim_cta *cta[2];
  uint32_t n = hd_sim_tensor_ctas(op, cta), each = p->s.n / n;
  sim_source b = {op->tensor->desc_b, false, p->idesc.transpose_b, p->idesc.negate_b, each, p->s.k,
                  0, p->s.b, p->s.b_bits};
  for (uint32_t i = 0; i < n; i++, b.first_mn += each)
    if (check_source(&a, &b) == SIM_STOP ||
        hd_sim_source_read(&a, cta[i], &p->s, &b, address_of) == SIM_STOP)
      return SIM_STOP;
  return SIM_NEXT;
}

/* ---- operands in tensor memory ---- */

static uint32_t lane_at(uint32_t address, const hd_sim_tensor_coord *p) {
  return (address >> 16) + p->lane;
}
static uint32_t column_at(uint32_t address, const hd_sim_tensor_coord *p) {
  return (address & 0xffff) + p->column;
}

static sim_step read_a_row(const sim_access *a, sim_cta *cta, const sim_plan *p, uint32_t address,
                           uint32_t row) {
  uint32_t *word, *twin = NULL, n = p->columns * p->s.a_bits / 32;
  hd_sim_tensor_coord at = hd_sim_coord_a5(p->paths, p->s.a_bits, row, 0);
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
  bool in_6_bits = p->s.a_bits == 8 && hd_sim_source_width(p->s.a) == 6;
  for (uint32_t k = 0; k < p->columns; k++) {
    at = hd_sim_coord_a5(p->paths, p->s.a_bits, row, k);
    uint64_t bits = word[at.column] >> at.bit; /* 6 bits: 0xxxxxx0; 4: 00xxxx00 */
    double value = in_6_bits ? hd_sim_decode_bits(p->s.a, bits >> 1 & 63)
                             : hd_sim_element(&p->s, p->s.a, p->s.a_bits, bits);
    a->m->tile->a[row][k] = p->idesc.negate_a ? -value : value;
  }
  return SIM_NEXT;
}

static sim_step read_a(sim_machine *m, const sim_async *op, sim_cta *cta, const sim_plan *p) {
  if (op->insn->opnd[1].kind != SIM_ADDR) {
    sim_access a = hd_sim_operand_access(m, op);
    sim_source from = {op->tensor->desc_a, true, p->idesc.transpose_a, p->idesc.negate_a, p->s.m,
                       p->columns, 0, p->s.a, p->s.a_bits};
    return check_source(&a, &from) == SIM_STOP
               ? SIM_STOP : hd_sim_source_read(&a, cta, &p->s, &from, address_of);
  }
  sim_access a = hd_sim_tensor_access(m, op, SIM_READ);
  for (uint32_t row = 0; row < p->s.m; row++)
    if (read_a_row(&a, cta, p, op->tensor->a, row) == SIM_STOP)
      return SIM_STOP;
  return SIM_NEXT;
}

static sim_step read_meta(sim_machine *m, const sim_async *op, sim_cta *cta, const sim_plan *p) {
  const sim_mma *s = &p->s;
  sim_access a = hd_sim_tensor_access(m, op, SIM_READ);
  for (uint32_t row = 0; row < s->m; row++) {
    for (uint32_t g = 0; g < s->k / s->group; g++) {
      hd_sim_tensor_coord at = hd_sim_coord_meta5(p->paths, s->a_bits, p->idesc.selector, row, g);
      uint32_t *word, kept[4] = {0}, address = op->tensor->meta;
      if (hd_sim_tensor_cells(&a, cta, lane_at(address, &at), column_at(address, &at), 1, &word) ==
          SIM_STOP)
        return SIM_STOP;
      uint32_t nibble = *word >> at.bit & 15;
      if (!hd_sim_meta_decode(s->group, nibble, true, kept) &&
          !(s->group > 2 && nibble == 6) && /* listed by the ISA besides the ascending pairs */
          hd_sim_find(
              m, "metadata", op->warp, op->lane, op->insn, NULL,
              "bits %u to %u of lane %u, column %u are 0x%x (row %u, group %u): not a legal "
              "index",
              at.bit, at.bit + 3, lane_at(address, &at), column_at(address, &at), nibble, row,
              g) == SIM_STOP)
        return SIM_STOP;
      for (uint32_t t = 0; t < s->kept; t++)
        m->tile->at[row][g * s->kept + t] = (uint8_t)(g * s->group + kept[t]);
    }
  }
  return SIM_NEXT;
}

/* ---- scales ---- */

/* Reads a scale, which must be equal in every group of 32 lanes that must hold it. */
static sim_step read_scale(const sim_access *a, sim_cta *cta, const sim_plan *p, uint32_t address,
                           hd_sim_tensor_coord at, uint32_t n_copies, double *scale) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < n_copies; i++) {
    uint32_t *word;
    if (hd_sim_tensor_cells(a, cta, lane_at(address, &at) + 32 * i, column_at(address, &at), 1,
                            &word) == SIM_STOP)
      return SIM_STOP;
    uint32_t byte = *word >> at.bit & 0xff;
    first = i ? first : byte;
    if (byte != first)
      return hd_sim_find(
          a->m, "tmem", a->warp, a->lane, a->insn, NULL,
          "the scale in column %u, bits %u.., is 0x%x in lane %u and 0x%x in lane %u: "
          "it must be in every 32 lanes",
          column_at(address, &at), at.bit, first, lane_at(address, &at), byte,
          lane_at(address, &at) + 32 * i);
  }
  *scale = hd_sim_decode_bits(p->s.scale_type, first);
  return SIM_NEXT;
}

static sim_step scale_a(const sim_access *a, sim_cta *cta, const sim_plan *p, uint32_t address) {
  const sim_mma *s = &p->s;
  sim_tile *tile = a->m->tile;
  for (uint32_t row = 0; row < s->m; row++) {
    double scale[4] = {0};
    for (uint32_t j = 0; j < s->n_scales; j++)
      if (read_scale(a, cta, p, address, hd_sim_coord_scale_a5(row, p->idesc.scale_a, j), 4,
                     &scale[j]) == SIM_STOP)
        return SIM_STOP;
    for (uint32_t t = 0; t < p->columns; t++)
      tile->a[row][t] *= scale[tile->at[row][t] / (s->k / s->n_scales)];
  }
  return SIM_NEXT;
}

static sim_step scale_b(const sim_access *a, sim_cta *cta, const sim_plan *p, uint32_t address) {
  const sim_mma *s = &p->s;
  uint32_t n_copies = p->paths == HD_SIM_PATHS_SPLIT ? 2 : 4;
  for (uint32_t n = 0; n < s->n; n++) {
    double scale[4] = {0};
    for (uint32_t j = 0; j < s->n_scales; j++)
      if (read_scale(a, cta, p, address,
                     hd_sim_coord_scale_b5(p->paths, s->n, n, p->idesc.scale_b, j), n_copies,
                     &scale[j]) == SIM_STOP)
        return SIM_STOP;
    for (uint32_t k = 0; k < s->k; k++)
      a->m->tile->b[k][n] *= scale[k / (s->k / s->n_scales)];
  }
  return SIM_NEXT;
}

/* ---- D ---- */

/* Reads one row of D, scaled by 2^-scale_d, or writes it. */
static sim_step transfer_row(const sim_access *a, sim_cta *cta, const sim_plan *p,
                             const sim_tensor_op *t, uint32_t row) {
  uint32_t pieces = p->paths == HD_SIM_PATHS_SPLIT ? 2 : 1, n = p->s.n / pieces, *word;
  uint32_t mask = hd_sim_type(p->s.d)->bits == 16 ? 0xffff : 0xffffffff;
  for (uint32_t i = 0; i < pieces; i++) {
    hd_sim_tensor_coord at = hd_sim_coord_d5(p->paths, p->s.n, row, i * n);
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

static sim_step transfer_d(sim_machine *m, const sim_async *op, sim_cta *cta, const sim_plan *p,
                           uint8_t kind) {
  sim_access a = hd_sim_tensor_access(m, op, kind);
  for (uint32_t row = 0; row < p->s.m; row++)
    if (transfer_row(&a, cta, p, op->tensor, row) == SIM_STOP)
      return SIM_STOP;
  return SIM_NEXT;
}

/* ---- completion ---- */

static sim_step multiply_cta(sim_machine *m, const sim_async *op, sim_cta *cta, const sim_plan *p) {
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

sim_step hd_sim_tcgen05_complete(sim_machine *m, sim_async *op) {
  sim_cta *cta[2];
  sim_plan p;
  if (!hd_sim_tensor_is_next(op))
    return SIM_WAIT;
  hd_sim_tcgen05_plan(op->insn, op->tensor->idesc, &p);
  uint32_t n = hd_sim_tensor_ctas(op, cta);
  for (uint32_t i = 0; i < n; i++)
    if (multiply_cta(m, op, cta[i], &p) == SIM_STOP)
      return SIM_STOP;
  hd_sim_tensor_done(m, op);
  m->report->n_mma++;
  return SIM_NEXT;
}
