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
