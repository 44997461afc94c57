/* 64-bit shared-memory descriptors and the tables of descriptor fields. */
#include <string.h>

#include "Spec/tables.h"

/*  63 62          45..32      29..16      13..0
 * | swz |  ...  | SBO >> 4 | LBO >> 4 | address >> 4 |   swizzle: 0 none, 1 128B, 2 64B, 3 32B */
uint64_t hd_wgmma_descriptor(const hd_canonical *form) {
  static const uint64_t mode[] = {0, 3, 2, 1};
  /* K-major with a swizzle: LBO is not used; the ISA assumes the encoded value 1. */
  bool unused = !form->mn_major && form->swizzle != HD_SMEM_NONE;
  uint64_t lbo = unused ? 1 : form->lbo_bytes >> 4, sbo = form->sbo_bytes >> 4;
  return (lbo & 0x3fff) << 16 | (sbo & 0x3fff) << 32 | mode[form->swizzle] << 62;
}

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
