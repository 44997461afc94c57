/* 64-bit shared-memory descriptors and the tables of descriptor fields. */
#include <string.h>

#include "Spec/tables.h"

/*  63 62          45..32      29..16      13..0
 * | swz |  ...  | SBO >> 4 | LBO >> 4 | address >> 4 |   swizzle: 0 none, 1 128B, 2 64B, 3 32B */
uint64_t hd_wgmma_descriptor(const hd_canonical *form) {
  static const uint64_t mode[] = {0, 3, 2, 1};
  /* K-major with a swizzle does not use LBO; the ISA assumes the encoded value 1. */
  bool unused = !form->mn_major && form->swizzle != HD_SMEM_NONE;
  uint64_t lbo = unused ? 1 : form->lbo_bytes >> 4, sbo = form->sbo_bytes >> 4;
  return (lbo & 0x3fff) << 16 | (sbo & 0x3fff) << 32 | mode[form->swizzle] << 62;
}

/* The fields that are used are the same: the swizzle field begins one bit lower and its values are
 * twice as large. Bit 46 is the version. */
uint64_t hd_tcgen05_descriptor(const hd_canonical *form) {
  return hd_wgmma_descriptor(form) | (uint64_t)1 << 46;
}

/* ---- the instruction descriptor ---- */

/* The value of a field, shifted to its position; 0 if the descriptor has no such field. */
static uint32_t at_field(const hd_descriptor *d, const char *name, uint32_t value) {
  for (int i = 0; i < d->n_fields; i++)
    if (!strcmp(d->field[i].name, name))
      return value >> d->field[i].shift << d->field[i].lo;
  return 0;
}

/* The encoding of the fields a_type and b_type, as in their texts. */
static uint32_t input_number(heddle_elem elem) {
  switch (elem) {
  case HEDDLE_BF16:
  case HEDDLE_E5M2:
  case HEDDLE_S8:
  case HEDDLE_E2M1P:
    return 1;
  case HEDDLE_TF32:
    return 2;
  default: /* f16, e4m3, u8 */
    return 0;
  }
}

uint32_t hd_tcgen05_idesc(const hd_spec_row *row, uint32_t n, unsigned selector, bool b_mn_major) {
  heddle_elem d_elem = row->operand[HD_OPERAND_D].elem;
  bool narrow = row->operand[HD_OPERAND_A].elem == HEDDLE_E2M1P;
  const hd_descriptor *d = hd_descriptor_find(!row->scale_vec ? "tcgen05_idesc"
                                              : narrow        ? "tcgen05_idesc_mxf4"
                                                              : "tcgen05_idesc_mxf8f6f4");
  return at_field(d, "sparsity_selector", selector) | at_field(d, "sparse", 1) |
         at_field(d, "d_type", d_elem == HEDDLE_S32 ? 2 : d_elem == HEDDLE_F32) |
         at_field(d, "a_type", input_number(row->operand[HD_OPERAND_A].elem)) |
         at_field(d, "b_type", input_number(row->operand[HD_OPERAND_B].elem)) |
         at_field(d, "transpose_b", b_mn_major) | at_field(d, "n", n) | at_field(d, "m", row->m) |
         at_field(d, "scale_type", row->operand[HD_OPERAND_SCALE_A].elem == HEDDLE_UE8M0) |
         at_field(d, "scale_a_id", selector) | at_field(d, "scale_b_id", selector);
}

/* ---- tables ---- */

size_t hd_descriptor_count(void) {
  return hd_spec_n_descriptors;
}

const hd_descriptor *hd_descriptor_get(size_t i) {
  return i < hd_spec_n_descriptors ? &hd_spec_descriptors[i] : NULL;
}

const hd_descriptor *hd_descriptor_find(const char *name) {
  for (size_t i = 0; i < hd_spec_n_descriptors; i++)
    if (!strcmp(hd_spec_descriptors[i].name, name))
      return &hd_spec_descriptors[i];
  return NULL;
}

/* ---- fields ---- */

uint64_t hd_field_mask(const hd_field *field) {
  unsigned width = (unsigned)(field->hi - field->lo + 1);
  return width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}

bool hd_field_defined(const hd_field *field, uint64_t encoded) {
  if (field->fixed != UINT64_MAX)
    return encoded == field->fixed;
  return encoded <= hd_field_mask(field) &&
         (!field->defined || (encoded < 64 && field->defined >> encoded & 1));
}

uint64_t hd_field_nearest(const hd_field *field, int64_t value) {
  uint64_t best = 0, best_distance = UINT64_MAX, wanted = value < 0 ? 0 : (uint64_t)value;
  for (uint64_t encoded = 0; encoded <= hd_field_mask(field); encoded++) {
    uint64_t here = encoded << field->shift;
    uint64_t distance = here > wanted ? here - wanted : wanted - here;
    if (hd_field_defined(field, encoded) && distance < best_distance) {
      best = here;
      best_distance = distance;
    }
  }
  return best;
}
