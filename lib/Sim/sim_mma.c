/* Sim/sim_mma.c: mma and mma.sp of a warp. */
#include <string.h>

#include "Sim/sim_maps.h"
#include "Sim/sim_product.h"
#include "Support/diag.h"

static void read_a(sim_warp *w, const sim_mma *s, const sim_opnd *o, sim_tile *tile) {
  uint32_t each = 32 / s->a_bits;
  for (uint32_t r = 0; r < o->n; r++) {
    uint64_t buf[32];
    const uint64_t *v = hd_sim_read(w, &o->vec[r], buf);
    for (uint32_t l = 0; l < 32; l++) {
      for (uint32_t e = 0; e < each; e++) {
        hd_sim_coord p = hd_sim_coord_a(s->a_bits, l, r, e);
        tile->a[p.row][p.col] = hd_sim_element(s, s->a, s->a_bits, v[l] >> (e * s->a_bits));
      }
    }
  }
}

static void read_b(sim_warp *w, const sim_mma *s, const sim_opnd *o, sim_tile *tile) {
  uint32_t each = 32 / s->b_bits;
  for (uint32_t r = 0; r < o->n; r++) {
    uint64_t buf[32];
    const uint64_t *v = hd_sim_read(w, &o->vec[r], buf);
    for (uint32_t l = 0; l < 32; l++) {
      for (uint32_t e = 0; e < each; e++) {
        hd_sim_coord p = hd_sim_coord_b(s->b_bits, l, r, e);
        tile->b[p.row][p.col] = hd_sim_element(s, s->b, s->b_bits, v[l] >> (e * s->b_bits));
      }
    }
  }
}

/* Reads C, or writes D. */
static void transfer_d(sim_warp *w, const sim_mma *s, const sim_opnd *o, sim_tile *tile, bool out) {
  uint32_t bits = hd_sim_type(s->d)->bits, each = 32 / bits;
  uint64_t mask = bits == 32 ? 0xffffffff : 0xffff;
  for (uint32_t r = 0; r < o->n; r++) {
    uint64_t buf[32], *v = out ? hd_sim_dst(w, &o->vec[r], buf) : buf;
    if (!out)
      memcpy(buf, hd_sim_read(w, &o->vec[r], buf), sizeof buf);
    for (uint32_t l = 0; l < 32; l++) {
      uint64_t word = 0;
      for (uint32_t e = 0; e < each; e++) {
        hd_sim_coord p = hd_sim_coord_d(bits, l, r, e);
        if (out)
          word |= hd_sim_round_d(s, tile->d[p.row][p.col]) << (e * bits);
        else
          tile->d[p.row][p.col] = hd_sim_read_c(s, v[l] >> (e * bits) & mask);
      }
      if (out)
        v[l] = word;
    }
  }
}

/* ---- block scales (PTX ISA, "Block Scaling") ---- */

static double scale_of(sim_warp *w, const sim_mma *s, const sim_opnd *data, const sim_opnd *ids,
                       bool of_a, uint32_t i, uint32_t j) {
  uint32_t byte = (uint32_t)hd_sim_read_lane(w, &ids->vec[0], 0) & 3;
  uint32_t thread = (uint32_t)hd_sim_read_lane(w, &ids->vec[1], 0) & (of_a ? 1 : 3);
  hd_sim_meta_coord p = hd_sim_coord_scale(of_a, byte, thread, i, j);
  return hd_sim_decode_bits(s->scale_type, hd_sim_read_lane(w, data, p.lane) >> p.bit & 0xff);
}

/* byte-id must leave room for all blocks of k and be a multiple of their number; thread-id is 0 or
 * 1 for A, whose scales take two lanes of four, and 0 to 3 for B. */
static sim_step check_ids(sim_warp *w, const sim_insn *in, const sim_mma *s, const sim_opnd *ids,
                          bool of_a) {
  for (uint32_t l = 0; l < 32; l++) {
    uint32_t byte = (uint32_t)hd_sim_read_lane(w, &ids->vec[0], l);
    uint32_t thread = (uint32_t)hd_sim_read_lane(w, &ids->vec[1], l);
    if ((byte > 3 || byte % s->n_scales || thread > (of_a ? 1 : 3)) &&
        hd_sim_find(
            w->machine, "scales", w, l, in, NULL,
            "byte-id %u, thread-id %u of scale-%s; legal: a multiple of %u up to %u, and 0 to %u",
            byte, thread, of_a ? "a" : "b", s->n_scales, 4 - s->n_scales, of_a ? 1 : 3) == SIM_STOP)
      return SIM_STOP;
  }
  return SIM_NEXT;
}

static sim_step apply_scales(sim_warp *w, const sim_insn *in, const sim_mma *s, sim_tile *tile) {
  const sim_opnd *o = &in->opnd[in->n_opnds - 4];
  if (check_ids(w, in, s, &o[1], true) == SIM_STOP || check_ids(w, in, s, &o[3], false) == SIM_STOP)
    return SIM_STOP;
  uint32_t block = s->k / s->n_scales;
  for (uint32_t i = 0; i < s->m; i++)
    for (uint32_t t = 0; t < hd_sim_a_columns(s); t++)
      tile->a[i][t] *= scale_of(w, s, &o[0], &o[1], true, i, tile->at[i][t] / block);
  for (uint32_t k = 0; k < s->k; k++)
    for (uint32_t j = 0; j < s->n; j++)
      tile->b[k][j] *= scale_of(w, s, &o[2], &o[3], false, j, k / block);
  return SIM_NEXT;
}

static sim_step exec_mma(sim_warp *w, const sim_insn *in, uint32_t mask) {
  const sim_mma *s = in->mma;
  sim_tile *tile = w->machine->tile;
  read_a(w, s, &in->opnd[1], tile);
  read_b(w, s, &in->opnd[2], tile);
  transfer_d(w, s, &in->opnd[3], tile, false);
  if (s->sparse) {
    uint64_t buf[32];
    const uint64_t *meta = hd_sim_read(w, &in->opnd[4], buf);
    if (hd_sim_idle_metadata(w, in, hd_sim_undefined(w, &in->opnd[4]) & mask) == SIM_STOP ||
        hd_sim_apply_metadata(w, in, s, tile, 0, meta, (uint32_t)in->opnd[5].imm) == SIM_STOP)
      return SIM_STOP;
  } else {
    hd_sim_dense_columns(s, tile);
  }
  if (s->n_scales && apply_scales(w, in, s, tile) == SIM_STOP)
    return SIM_STOP;
  hd_sim_multiply(s, tile);
  transfer_d(w, s, &in->opnd[0], tile, true);
  w->machine->report->n_mma++;
  return SIM_NEXT;
}

/* ---- decoding ---- */

/* .kind, .block_scale and .scale_vec; a block size that is omitted is the kind's default. */
static void take_kind(sim_decode *d, sim_mma *s) {
  static const struct {
    const char *name;
    uint8_t kind;
    uint32_t n_scales;
  } kinds[] = {{"kind::f8f6f4", SIM_KIND_F8F6F4, 0},
               {"kind::mxf8f6f4", SIM_KIND_MXF8F6F4, 1},
               {"kind::mxf4", SIM_KIND_MXF4, 2},
               {"kind::mxf4nvf4", SIM_KIND_MXF4NVF4, 0}};
  static const char *const vectors[] = {[1] = "scale_vec::1X", [2] = "scale_vec::2X",
                                        [4] = "scale_vec::4X"};
  for (size_t i = 0; i < HD_COUNT(kinds); i++) {
    if (hd_sim_take(d, kinds[i].name)) {
      s->kind = kinds[i].kind;
      s->n_scales = kinds[i].n_scales;
    }
  }
  bool scaled = hd_sim_take(d, "block_scale");
  for (uint32_t n = 1; n <= 4; n *= 2)
    if (hd_sim_take(d, vectors[n]))
      s->n_scales = n;
  if (!scaled)
    s->n_scales = 0;
}

/* What the ISA's table of scale vectors allows; without .block_scale: no scale type. */
static bool scales_fit(const sim_mma *s) {
  bool ue8m0 = s->scale_type == SIM_T_UE8M0;
  switch (s->kind) {
  case SIM_KIND_MXF8F6F4:
    return s->n_scales == 1 && ue8m0;
  case SIM_KIND_MXF4:
    return s->n_scales == 2 && ue8m0;
  case SIM_KIND_MXF4NVF4:
    return (s->n_scales == 2 && ue8m0) ||
           (s->n_scales == 4 && (ue8m0 || s->scale_type == SIM_T_UE4M3));
  default:
    return s->n_scales == 0 && s->scale_type == SIM_T_NONE;
  }
}

static uint32_t registers(uint32_t rows, uint32_t cols, uint32_t bits) {
  return rows * cols * bits / (32 * 32);
}

/* The selector must name lanes that exist in a group of four. */
static bool selector_fits(const sim_mma *s, const sim_opnd *o) {
  uint32_t n_groups = s->k / s->group;
  uint32_t lanes = s->a_bits >= 16 ? n_groups / 4 : 2 * ((n_groups + 7) / 8);
  return o->kind == SIM_IMM && lanes > 0 && (uint64_t)o->imm < 4 / lanes;
}

static bool operands_fit(const sim_insn *in, const sim_mma *s) {
  uint32_t want = 4 + 2 * s->sparse + (s->n_scales ? 4 : 0);
  const sim_opnd *o = in->opnd;
  if (in->n_opnds != want)
    return false;
  uint32_t d_bits = hd_sim_type(s->d)->bits;
  uint32_t n_d = registers(s->m, s->n, d_bits), n_b = registers(s->k, s->n, s->b_bits);
  return o[0].n == n_d && o[3].n == n_d && o[2].n == n_b &&
         o[1].n == registers(s->m, hd_sim_a_columns(s), s->a_bits) &&
         (!s->sparse || selector_fits(s, &o[5])) &&
         (!s->n_scales || (o[want - 3].n == 2 && o[want - 1].n == 2));
}

heddle_status hd_sim_decode_mma(sim_decode *d, sim_insn *in) {
  sim_mma *s = HD_NEW(d->arena, sim_mma);
  in->mma = s;
  in->exec = exec_mma;
  in->meets = true;
  in->n_dst = 1;
  s->ordered = hd_sim_take(d, "sp::ordered_metadata");
  s->sparse = s->ordered || hd_sim_take(d, "sp");
  s->satfinite = hd_sim_take(d, "satfinite");
  in->sparse = s->sparse;
  in->aligned = hd_sim_take(d, "aligned");
  take_kind(d, s);
  if (!hd_sim_take(d, "sync") || !hd_sim_take(d, "row") || !hd_sim_take(d, "col") ||
      !hd_sim_parse_shape(d, s))
    return HEDDLE_UNSUPPORTED;
  hd_sim_take_types(d, in);
  s->scale_type = hd_sim_take_type(d);
  if (in->n_types != 4)
    return HEDDLE_UNSUPPORTED;
  s->d = in->type[0];
  s->a = in->type[1];
  s->b = in->type[2];
  s->c = in->type[3];
  if (s->c != s->d || !hd_sim_mma_finish(s) || s->m != 16 || s->n != 8 || !scales_fit(s))
    return HEDDLE_UNSUPPORTED;
  return operands_fit(in, s) ? HEDDLE_OK : HEDDLE_INVALID;
}
