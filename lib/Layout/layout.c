/* Building and evaluating layouts. */
#include "Layout/layout.h"

#include <string.h>

hd_layout hd_layout_empty(void) {
  hd_layout layout;
  memset(&layout, 0, sizeof layout);
  return layout;
}

static unsigned total_bits(const hd_layout_dim *dim, unsigned n) {
  unsigned bits = 0;
  for (unsigned i = 0; i < n; i++)
    bits += dim[i].bits;
  return bits;
}

bool hd_layout_add_out(hd_layout *layout, const char *name, unsigned bits) {
  if (layout->n_out == HD_LAYOUT_DIMS || layout->n_in > 0 ||
      total_bits(layout->out, layout->n_out) + bits > 32)
    return false;
  layout->out[layout->n_out++] = (hd_layout_dim){name, (uint8_t)bits};
  return true;
}

/* Packs one integer per output dimension into a word of block bits; false if one does not fit. */
static bool pack_image(const hd_layout *layout, const int32_t *image, uint32_t *word) {
  unsigned shift = 0;
  *word = 0;
  for (unsigned d = 0; d < layout->n_out; d++) {
    if (image[d] < 0 || (uint64_t)image[d] >= (uint64_t)1 << layout->out[d].bits)
      return false;
    if (image[d])
      *word |= (uint32_t)image[d] << shift;
    shift += layout->out[d].bits;
  }
  return true;
}

bool hd_layout_add_in(hd_layout *layout, const char *name, unsigned n_bits,
                      const int32_t (*image)[HD_LAYOUT_DIMS]) {
  unsigned first = total_bits(layout->in, layout->n_in);
  if (layout->n_in == HD_LAYOUT_DIMS || first + n_bits > HD_LAYOUT_BITS)
    return false;
  for (unsigned i = 0; i < n_bits; i++)
    if (!pack_image(layout, image[i], &layout->column[first + i]))
      return false;
  layout->in[layout->n_in++] = (hd_layout_dim){name, (uint8_t)n_bits};
  return true;
}

bool hd_layout_add_repeat(hd_layout *layout, unsigned in_dim, uint32_t count,
                          const int32_t stride[HD_LAYOUT_DIMS]) {
  if (count <= 1)
    return count == 1;
  if (layout->n_repeats == HD_LAYOUT_REPEATS || in_dim >= layout->n_in)
    return false;
  hd_layout_repeat *r = &layout->repeat[layout->n_repeats++];
  r->in_dim = (uint8_t)in_dim;
  r->count = count;
  memcpy(r->stride, stride, sizeof r->stride);
  return true;
}

uint32_t hd_layout_in_size(const hd_layout *layout, unsigned dim) {
  uint32_t size = 1u << layout->in[dim].bits;
  for (unsigned i = 0; i < layout->n_repeats; i++)
    if (layout->repeat[i].in_dim == dim)
      size *= layout->repeat[i].count;
  return size;
}

uint64_t hd_layout_points(const hd_layout *layout) {
  uint64_t points = 1;
  for (unsigned d = 0; d < layout->n_in; d++)
    points *= hd_layout_in_size(layout, d);
  return points;
}

uint64_t hd_layout_out_extent(const hd_layout *layout, unsigned dim) {
  uint64_t largest = 0, points = hd_layout_points(layout);
  for (uint64_t i = 0; i < points; i++) {
    uint32_t in[HD_LAYOUT_DIMS];
    int64_t out[HD_LAYOUT_DIMS];
    hd_layout_point(layout, i, in);
    hd_layout_apply(layout, in, out);
    if (out[dim] >= 0 && (uint64_t)out[dim] > largest)
      largest = (uint64_t)out[dim];
  }
  return largest + 1;
}

void hd_layout_apply(const hd_layout *layout, const uint32_t *in, int64_t *out) {
  uint32_t word = layout->offset, rest[HD_LAYOUT_DIMS];
  unsigned bit = 0, shift = 0;
  for (unsigned d = 0; d < layout->n_in; d++) {
    for (unsigned i = 0; i < layout->in[d].bits; i++, bit++)
      if (in[d] >> i & 1)
        word ^= layout->column[bit];
    rest[d] = in[d] >> layout->in[d].bits;
  }
  for (unsigned d = 0; d < layout->n_out; d++) {
    uint64_t mask = ((uint64_t)1 << layout->out[d].bits) - 1;
    out[d] = shift < 32 ? (int64_t)(word >> shift & mask) : 0;
    shift += layout->out[d].bits;
  }
  for (unsigned i = 0; i < layout->n_repeats; i++) {
    const hd_layout_repeat *r = &layout->repeat[i];
    int64_t digit = rest[r->in_dim] % r->count;
    rest[r->in_dim] /= r->count;
    for (unsigned d = 0; d < layout->n_out; d++)
      out[d] += digit * r->stride[d];
  }
}

void hd_layout_point(const hd_layout *layout, uint64_t i, uint32_t *in) {
  for (unsigned d = 0; d < layout->n_in; d++) {
    uint32_t size = hd_layout_in_size(layout, d);
    in[d] = (uint32_t)(i % size);
    i /= size;
  }
}
