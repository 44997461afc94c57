/* Canonical shared-memory layouts of wgmma and tcgen05 (PTX ISA 9.7.16.3.3), in bytes.
 *
 *   S = swizzle bytes (none: 16), e = element bytes, T = 16 / e, atom = 8 rows of S bytes
 *   K-major,  none   : (mn%8)*16 + (mn/8)*SBO + (k%T)*e + (k/T)*LBO
 *   K-major,  S      : (mn%8)*S  + (mn/8)*SBO + k*e                    then swizzled, k*e < S
 *   MN-major, none   : (mn%T)*e + (mn/T)*SBO + (k%8)*16 + (k/8)*LBO
 *   MN-major, S      : (mn%(S/e))*e + (mn/(S/e))*LBO + (k%8)*S + (k/8)*SBO   then swizzled */
#include <string.h>

#include "Spec/spec.h"

static const unsigned swizzle_bytes[] = {16, 32, 64, 128};

static unsigned log2_of(unsigned value) {
  unsigned bits = 0;
  while (1u << bits < value)
    bits++;
  return bits;
}

/* One coordinate: 2^bits steps of `unit` bytes in an atom, then count/2^bits steps of `outer`. */
typedef struct axis {
  unsigned bits;
  uint32_t unit, outer, count;
} axis;

static bool add_axis(hd_layout *layout, const char *name, const axis *a) {
  int32_t image[HD_LAYOUT_BITS][HD_LAYOUT_DIMS] = {0}, stride[HD_LAYOUT_DIMS] = {(int32_t)a->outer};
  unsigned bits = a->bits;
  if (a->count < 1u << bits) /* a tile smaller than the atom */
    bits = log2_of(a->count);
  if (a->count == 0 || a->count % (1u << bits))
    return false;
  for (unsigned i = 0; i < bits; i++)
    image[i][0] = (int32_t)(a->unit << i);
  uint32_t outer = a->count >> bits;
  return hd_layout_add_in(layout, name, bits, (const int32_t(*)[HD_LAYOUT_DIMS])image) &&
         (outer == 1 || a->outer != 0) &&
         hd_layout_add_repeat(layout, layout->n_in - 1u, outer, stride);
}

bool hd_canonical_layout(const hd_canonical *form, unsigned elem_bits, uint32_t mn, uint32_t k,
                         hd_layout *layout) {
  if (elem_bits != 8 && elem_bits != 16 && elem_bits != 32)
    return false;
  bool plain = form->swizzle == HD_SMEM_NONE;
  unsigned e = elem_bits / 8, s = swizzle_bytes[form->swizzle];
  unsigned across = log2_of(s / e);
  axis contiguous = {across, e, 0, 0}, rows = {3, s, 0, 0};
  axis *mn_axis = form->mn_major ? &contiguous : &rows,
       *k_axis = form->mn_major ? &rows : &contiguous;
  mn_axis->count = mn;
  k_axis->count = k;
  if (form->mn_major) {
    contiguous.outer = plain ? form->sbo_bytes : form->lbo_bytes;
    rows.outer = plain ? form->lbo_bytes : form->sbo_bytes;
  } else {
    rows.outer = form->sbo_bytes;
    contiguous.outer = plain ? form->lbo_bytes : 0; /* a descriptor spans one atom along k */
  }
  hd_layout built = hd_layout_empty();
  bool ok = hd_layout_add_out(&built, "byte", log2_of(8 * s)) &&
            add_axis(&built, "mn", mn_axis) && add_axis(&built, "k", k_axis) &&
            hd_layout_swizzle(&built, 0, form->swizzle, 4, 3);
  if (ok)
    *layout = built;
  return ok;
}

/* ---- matching ---- */

static uint32_t address(const hd_layout *buffer, uint32_t mn, uint32_t k) {
  uint32_t in[HD_LAYOUT_DIMS] = {mn, k};
  int64_t out[HD_LAYOUT_DIMS];
  if (mn >= hd_layout_in_size(buffer, 0) || k >= hd_layout_in_size(buffer, 1))
    return 0;
  hd_layout_apply(buffer, in, out);
  return (uint32_t)out[0];
}

/* Reads the offsets from the buffer, assuming that it has this form. */
static void read_offsets(const hd_layout *buffer, unsigned e, hd_canonical *form) {
  unsigned s = swizzle_bytes[form->swizzle];
  uint32_t along = form->mn_major ? address(buffer, s / e, 0) : address(buffer, 0, s / e);
  uint32_t across = form->mn_major ? address(buffer, 0, 8) : address(buffer, 8, 0);
  bool swap = form->mn_major && form->swizzle == HD_SMEM_NONE;
  form->lbo_bytes = swap ? across : along;
  form->sbo_bytes = swap ? along : across;
}

static bool encodable(uint32_t bytes) {
  return bytes % 16 == 0 && bytes >> 4 < 1u << 14;
}

hd_answer hd_canonical_match(const hd_layout *buffer, unsigned elem_bits, hd_canonical *form) {
  if (buffer->n_in != 2 || buffer->n_out != 1 || elem_bits < 8)
    return HD_NO;
  for (unsigned i = 0; i < 8; i++) {
    hd_canonical trial = {.mn_major = i & 1, .swizzle = (hd_smem_swizzle)(i >> 1)};
    hd_layout canonical;
    read_offsets(buffer, elem_bits / 8, &trial);
    if (!encodable(trial.lbo_bytes) || !encodable(trial.sbo_bytes) ||
        !hd_canonical_layout(&trial, elem_bits, hd_layout_in_size(buffer, 0),
                             hd_layout_in_size(buffer, 1), &canonical))
      continue;
    hd_layout named = *buffer; /* ignores the names of the buffer's dimensions */
    for (unsigned d = 0; d < 2; d++)
      named.in[d].name = canonical.in[d].name;
    named.out[0].name = canonical.out[0].name;
    hd_answer equal = hd_layout_equal(&named, &canonical);
    if (equal == HD_NO)
      continue;
    *form = trial;
    return equal;
  }
  return HD_NO;
}
