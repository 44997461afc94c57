/* The yes/no questions, which are answered by evaluating every point of the domain. A domain (a
 * tile) of more than 2^22 points is UNDECIDED. */
#include <stdlib.h>
#include <string.h>

#include "Layout/layout.h"
#include "Support/arena.h"

enum { MAX_POINTS = 1 << 22 };

static bool same_names(const hd_layout_dim *a, unsigned n_a, const hd_layout_dim *b,
                       unsigned n_b) {
  for (unsigned i = 0; i < n_a && i < n_b; i++)
    if (strcmp(a[i].name, b[i].name))
      return false;
  return n_a == n_b;
}

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* All images as indices into the box, sorted (owned); NULL if an image is outside the box. */
static uint64_t *sorted_images(const hd_layout *layout, const uint64_t *extent) {
  uint64_t points = hd_layout_points(layout);
  uint64_t *image = hd_xmalloc(points * sizeof *image);
  for (uint64_t i = 0; i < points; i++) {
    uint32_t in[HD_LAYOUT_DIMS];
    int64_t out[HD_LAYOUT_DIMS];
    uint64_t index = 0;
    hd_layout_point(layout, i, in);
    hd_layout_apply(layout, in, out);
    for (unsigned d = layout->n_out; d-- > 0;) {
      if (out[d] < 0 || (uint64_t)out[d] >= extent[d]) {
        hd_free(image);
        return NULL;
      }
      index = index * extent[d] + (uint64_t)out[d];
    }
    image[i] = index;
  }
  qsort(image, points, sizeof *image, compare_u64);
  return image;
}

static uint64_t count_distinct(const uint64_t *image, uint64_t points) {
  uint64_t distinct = 0;
  for (uint64_t i = 0; i < points; i++)
    distinct += i == 0 || image[i] != image[i - 1];
  return distinct;
}

hd_answer hd_layout_injective(const hd_layout *layout) {
  uint64_t extent[HD_LAYOUT_DIMS], points = hd_layout_points(layout);
  if (points > MAX_POINTS)
    return HD_UNDECIDED;
  for (unsigned d = 0; d < layout->n_out; d++)
    extent[d] = hd_layout_out_extent(layout, d);
  uint64_t *image = sorted_images(layout, extent);
  if (!image)
    return HD_UNDECIDED;
  uint64_t distinct = count_distinct(image, points);
  hd_free(image);
  return distinct == points ? HD_YES : HD_NO;
}

hd_answer hd_layout_onto(const hd_layout *layout, const uint64_t *extent) {
  uint64_t points = hd_layout_points(layout), box = 1;
  for (unsigned d = 0; d < layout->n_out; d++)
    box *= extent[d];
  if (points > MAX_POINTS)
    return HD_UNDECIDED;
  uint64_t *image = sorted_images(layout, extent);
  if (!image)
    return HD_NO;
  uint64_t distinct = count_distinct(image, points);
  hd_free(image);
  return distinct == box ? HD_YES : HD_NO;
}

/* Whether two layouts have the same representation. (A map may have several representations.) */
static bool same_form(const hd_layout *a, const hd_layout *b) {
  unsigned n_bits = 0;
  bool same = a->offset == b->offset && a->n_repeats == b->n_repeats;
  for (unsigned d = 0; d < a->n_in; n_bits += a->in[d++].bits)
    same = same && a->in[d].bits == b->in[d].bits;
  for (unsigned d = 0; d < a->n_out; d++)
    same = same && a->out[d].bits == b->out[d].bits;
  for (unsigned i = 0; same && i < a->n_repeats; i++) {
    const hd_layout_repeat *x = &a->repeat[i], *y = &b->repeat[i];
    same = x->in_dim == y->in_dim && x->count == y->count &&
           !memcmp(x->stride, y->stride, a->n_out * sizeof *x->stride);
  }
  return same && !memcmp(a->column, b->column, n_bits * sizeof *a->column);
}

hd_answer hd_layout_equal(const hd_layout *a, const hd_layout *b) {
  uint64_t points = hd_layout_points(a);
  if (!same_names(a->in, a->n_in, b->in, b->n_in) ||
      !same_names(a->out, a->n_out, b->out, b->n_out))
    return HD_NO;
  for (unsigned d = 0; d < a->n_in; d++)
    if (hd_layout_in_size(a, d) != hd_layout_in_size(b, d))
      return HD_NO;
  if (same_form(a, b))
    return HD_YES;
  if (points > MAX_POINTS)
    return HD_UNDECIDED;
  for (uint64_t i = 0; i < points; i++) {
    uint32_t in[HD_LAYOUT_DIMS];
    int64_t x[HD_LAYOUT_DIMS], y[HD_LAYOUT_DIMS];
    hd_layout_point(a, i, in);
    hd_layout_apply(a, in, x);
    hd_layout_apply(b, in, y);
    if (memcmp(x, y, a->n_out * sizeof *x))
      return HD_NO;
  }
  return HD_YES;
}
