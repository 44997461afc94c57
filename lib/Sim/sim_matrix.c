/* Sim/sim_matrix.c: ldmatrix, stmatrix, movmatrix. */
#include <string.h>

#include "Sim/sim_maps.h"
#include "Sim/sim_product.h"

enum { FMT_B16, FMT_B8, FMT_B6, FMT_B4 };

/* 16 bytes of a matrix row, as they are in memory or decompressed. */
static void expand_row(uint8_t format, const uint8_t source[16], uint8_t row[16]) {
  if (format <= FMT_B8) {
    memcpy(row, source, 16);
    return;
  }
  uint32_t bits = format == FMT_B6 ? 6 : 4;
  for (uint32_t i = 0; i < 16; i++) {
    uint32_t at = i * bits;
    uint32_t two = source[at / 8] | (uint32_t)source[at / 8 + 1] << 8;
    row[i] = (uint8_t)(two >> at % 8 & ((1u << bits) - 1));
  }
}

static sim_step row_memory(sim_warp *w, const sim_insn *in, uint32_t lane, const sim_opnd *o,
                           uint8_t kind, uint8_t **at) {
  sim_access a = hd_sim_access(w, lane, in, kind);
  sim_memory *memory;
  uint64_t offset, address = hd_sim_address(w, o, lane);
  if (hd_sim_resolve(&a, in->space, address, 16, 16, &memory, &offset) == SIM_STOP ||
      hd_sim_check(&a, memory, offset, 16) == SIM_STOP)
    return SIM_STOP;
  if (memory->buffer)
    return hd_sim_fault(w->machine, "bounds", w, lane, in, "the address is not in shared memory");
  *at = memory->data + offset;
  return SIM_NEXT;
}

/* Number of row addresses of the instruction. */
static uint32_t n_rows_of(const sim_insn *in) {
  return in->vec * (in->op == HD_SIM_M16N16 ? 16 : 8);
}

static uint8_t *byte_of(const sim_insn *in, uint8_t rows[32][16], uint32_t lane, uint32_t reg,
                        uint32_t index) {
  hd_sim_coord p = hd_sim_coord_matrix(in->op, in->flags & SIM_F_TRANS, lane, reg, index);
  return &rows[p.row][p.col];
}

static sim_step exec_ldmatrix(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint8_t rows[32][16] = {{0}};
  const sim_opnd *d = &in->opnd[0];
  for (uint32_t l = 0; l < n_rows_of(in); l++) {
    uint8_t *at;
    if (row_memory(w, in, l, &in->opnd[1], SIM_READ, &at) == SIM_STOP)
      return SIM_STOP;
    expand_row(in->cmp, at, rows[l]);
  }
  for (uint32_t r = 0; r < d->n; r++) {
    uint64_t scratch[32], *dst = hd_sim_dst(w, &d->vec[r], scratch);
    SIM_LANES(l, mask) {
      dst[l] = 0;
      for (uint32_t b = 0; b < 4; b++)
        dst[l] |= (uint64_t)*byte_of(in, rows, l, r, b) << 8 * b;
    }
  }
  return SIM_NEXT;
}

static sim_step exec_stmatrix(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint8_t rows[32][16];
  const sim_opnd *s = &in->opnd[1];
  for (uint32_t r = 0; r < s->n; r++) {
    SIM_LANES(l, mask) {
      uint64_t value = hd_sim_read_lane(w, &s->vec[r], l);
      for (uint32_t b = 0; b < 4; b++)
        *byte_of(in, rows, l, r, b) = (uint8_t)(value >> 8 * b);
    }
  }
  for (uint32_t l = 0; l < n_rows_of(in); l++) {
    uint8_t *at;
    if (row_memory(w, in, l, &in->opnd[0], SIM_WRITE, &at) == SIM_STOP)
      return SIM_STOP;
    memcpy(at, rows[l], 16);
  }
  return SIM_NEXT;
}

static sim_step exec_movmatrix(sim_warp *w, const sim_insn *in, uint32_t mask) {
  uint16_t m[8][8];
  uint64_t scratch[32], *dst = hd_sim_dst(w, &in->opnd[0], scratch);
  SIM_LANES(l, mask) {
    uint32_t value = (uint32_t)hd_sim_read_lane(w, &in->opnd[1], l);
    m[l / 4][2 * (l % 4)] = (uint16_t)value;
    m[l / 4][2 * (l % 4) + 1] = (uint16_t)(value >> 16);
  }
  SIM_LANES(l, mask)
  dst[l] = m[2 * (l % 4)][l / 4] | (uint32_t)m[2 * (l % 4) + 1][l / 4] << 16;
  return SIM_NEXT;
}

/* ---- decoding ---- */

static bool take_format(sim_decode *d, sim_insn *in) {
  in->cmp = hd_sim_take(d, "b6x16_p32") ? FMT_B6 : hd_sim_take(d, "b4x16_p64") ? FMT_B4 : FMT_B16;
  if (in->cmp != FMT_B16)
    return hd_sim_take(d, "b8x16");
  if (hd_sim_take(d, "b8"))
    in->cmp = FMT_B8;
  else if (!hd_sim_take(d, "b16"))
    return false;
  return true;
}

/* The forms of the ISA: shape, formats, how many, transposed or not. */
static bool is_form(const sim_insn *in, bool load) {
  bool trans = in->flags & SIM_F_TRANS;
  switch (in->op) {
  case HD_SIM_M8N8:
    return in->cmp == FMT_B16;
  case HD_SIM_M8N16:
    return load && !trans && in->cmp >= FMT_B6;
  case HD_SIM_M16N16:
    return load && trans && in->cmp != FMT_B16 && in->vec <= 2;
  default:
    return !load && trans && in->cmp == FMT_B8;
  }
}

static bool take_shape(sim_decode *d, sim_insn *in) {
  static const char *const names[] = {[HD_SIM_M8N8] = "m8n8", [HD_SIM_M8N16] = "m8n16",
                                      [HD_SIM_M16N16] = "m16n16", [HD_SIM_M16N8] = "m16n8"};
  for (uint8_t i = 0; i < HD_COUNT(names); i++)
    if (hd_sim_take(d, names[i])) {
      in->op = i;
      return true;
    }
  return false;
}

heddle_status hd_sim_decode_matrix(sim_decode *d, sim_insn *in) {
  bool load = d->mod[0][0] == 'l';
  in->aligned = hd_sim_take(d, "aligned");
  in->meets = true;
  if (!hd_sim_take(d, "sync"))
    return HEDDLE_UNSUPPORTED;
  if (strcmp(d->mod[0], "movmatrix") == 0) {
    in->exec = exec_movmatrix;
    in->n_dst = 1;
    return hd_sim_take(d, "m8n8") && hd_sim_take(d, "trans") && hd_sim_take(d, "b16") &&
                   in->n_opnds == 2
               ? HEDDLE_OK
               : HEDDLE_UNSUPPORTED;
  }
  in->exec = load ? exec_ldmatrix : exec_stmatrix;
  in->accesses = true;
  in->n_dst = load;
  hd_sim_take_space(d, in);
  if (!take_shape(d, in))
    return HEDDLE_UNSUPPORTED;
  in->vec = hd_sim_take(d, "x1") ? 1 : hd_sim_take(d, "x2") ? 2 : hd_sim_take(d, "x4") ? 4 : 0;
  if (hd_sim_take(d, "trans"))
    in->flags |= SIM_F_TRANS;
  if (!in->vec || !take_format(d, in) || !is_form(in, load))
    return HEDDLE_UNSUPPORTED;
  if (in->n_opnds != 2 || in->opnd[load ? 1 : 0].kind != SIM_ADDR ||
      in->opnd[load ? 0 : 1].kind != SIM_VEC)
    return HEDDLE_INVALID;
  uint32_t n_regs = in->vec * (in->op == HD_SIM_M16N16 ? 2u : 1u);
  return in->opnd[load ? 0 : 1].n == n_regs ? HEDDLE_OK : HEDDLE_INVALID;
}
