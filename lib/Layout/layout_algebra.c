/* Composition, inversion and the yes/no questions. Each answer is exact: a candidate is built from
 * the images of the digits and then checked at every point of the domain; what has no such form is
 * UNDECIDED, never approximated. Domains here are tiles (at most 2^22 points). */
#include <stdlib.h>
#include <string.h>

#include "Layout/layout.h"
#include "Support/arena.h"

enum { MAX_POINTS = 1 << 22 };

/* A function on a box of inputs, to be given block + repeats form. */
typedef struct function {
  bool (*eval)(const void *self, const uint32_t *in, int64_t *out);
  const void *self;
} function;

/* How each input dimension is cut: block bits and repeat counts, as in a layout; strides unused. */
typedef hd_layout factoring;

static unsigned bits_for(int64_t value) {
  unsigned bits = 0;
  while (value >> bits)
    bits++;
  return bits;
}

/* Sets out bits of `result` to hold the XOR closure of images; false when over 32. */
static bool widen(hd_layout *result, const int64_t *image) {
  unsigned total = 0;
  for (unsigned d = 0; d < result->n_out; d++) {
    if (image[d] < 0)
      return false;
    unsigned bits = bits_for(image[d]);
    if (bits > result->out[d].bits)
      result->out[d].bits = (uint8_t)bits;
    total += result->out[d].bits;
  }
  return total <= 32;
}

static uint32_t pack(const hd_layout *layout, const int64_t *image) {
  uint64_t word = 0;
  unsigned shift = 0;
  for (unsigned d = 0; d < layout->n_out; d++) {
    word |= (uint64_t)image[d] << shift;
    shift += layout->out[d].bits;
  }
  return (uint32_t)word;
}

static bool fit_block(function f, const factoring *cut, hd_layout *result) {
  uint32_t in[HD_LAYOUT_DIMS] = {0};
  int64_t image[HD_LAYOUT_BITS + 1][HD_LAYOUT_DIMS] = {{0}};
  unsigned n = 0;
  if (!f.eval(f.self, in, image[HD_LAYOUT_BITS]) || !widen(result, image[HD_LAYOUT_BITS]))
    return false;
  for (unsigned d = 0; d < cut->n_in; d++)
    for (unsigned i = 0; i < cut->in[d].bits; i++, n++) {
      in[d] = 1u << i;
      if (n == HD_LAYOUT_BITS || !f.eval(f.self, in, image[n]) || !widen(result, image[n]))
        return false;
      in[d] = 0;
    }
  result->offset = pack(result, image[HD_LAYOUT_BITS]);
  for (unsigned i = 0; i < n; i++)
    result->column[i] = pack(result, image[i]) ^ result->offset;
  return true;
}

static bool fit_repeats(function f, const factoring *cut, hd_layout *result) {
  uint32_t in[HD_LAYOUT_DIMS] = {0}, step[HD_LAYOUT_DIMS];
  int64_t zero[HD_LAYOUT_DIMS], image[HD_LAYOUT_DIMS];
  for (unsigned d = 0; d < cut->n_in; d++)
    step[d] = 1u << cut->in[d].bits;
  if (!f.eval(f.self, in, zero))
    return false;
  result->n_repeats = cut->n_repeats;
  for (unsigned i = 0; i < cut->n_repeats; i++) {
    hd_layout_repeat *r = &result->repeat[i];
    *r = (hd_layout_repeat){.in_dim = cut->repeat[i].in_dim, .count = cut->repeat[i].count};
    in[r->in_dim] = step[r->in_dim];
    if (!f.eval(f.self, in, image))
      return false;
    in[r->in_dim] = 0;
    step[r->in_dim] *= r->count;
    for (unsigned d = 0; d < result->n_out; d++)
      r->stride[d] = (int32_t)(image[d] - zero[d]);
  }
  return true;
}

static bool agrees_everywhere(function f, const hd_layout *layout) {
  uint64_t points = hd_layout_points(layout);
  for (uint64_t i = 0; i < points; i++) {
    uint32_t in[HD_LAYOUT_DIMS];
    int64_t a[HD_LAYOUT_DIMS], b[HD_LAYOUT_DIMS];
    hd_layout_point(layout, i, in);
    hd_layout_apply(layout, in, a);
    if (!f.eval(f.self, in, b) || memcmp(a, b, layout->n_out * sizeof *a))
      return false;
  }
  return true;
}

/* result's outputs are named already; inputs are taken from the factoring. */
static bool fit(function f, const factoring *cut, hd_layout *result) {
  hd_layout trial = *result;
  trial.n_in = cut->n_in;
  memcpy(trial.in, cut->in, sizeof trial.in);
  if (!fit_block(f, cut, &trial) || !fit_repeats(f, cut, &trial) || !agrees_everywhere(f, &trial))
    return false;
  *result = trial;
  return true;
}

/* Powers of two of every dimension into the block, what is left as one repeat. */
static bool cut_by_size(const hd_layout_dim *dim, const uint64_t *size, unsigned n,
                        factoring *cut) {
  const int32_t none[HD_LAYOUT_DIMS] = {0};
  *cut = hd_layout_empty();
  for (unsigned d = 0; d < n; d++) {
    unsigned bits = 0;
    while (!(size[d] >> bits & 1))
      bits++;
    cut->in[cut->n_in++] = (hd_layout_dim){dim[d].name, (uint8_t)bits};
    if (!hd_layout_add_repeat(cut, d, (uint32_t)(size[d] >> bits), none))
      return false;
  }
  return true;
}

static bool same_names(const hd_layout_dim *a, unsigned n_a, const hd_layout_dim *b,
                       unsigned n_b) {
  for (unsigned i = 0; i < n_a && i < n_b; i++)
    if (strcmp(a[i].name, b[i].name))
      return false;
  return n_a == n_b;
}

/* ---- compose ---- */

typedef struct pair {
  const hd_layout *f, *g;
} pair;

static bool eval_pair(const void *self, const uint32_t *in, int64_t *out) {
  const pair *p = self;
  int64_t middle[HD_LAYOUT_DIMS];
  uint32_t g_in[HD_LAYOUT_DIMS];
  hd_layout_apply(p->f, in, middle);
  for (unsigned d = 0; d < p->g->n_in; d++) {
    if (middle[d] < 0 || middle[d] >= hd_layout_in_size(p->g, d))
      return false;
    g_in[d] = (uint32_t)middle[d];
  }
  hd_layout_apply(p->g, g_in, out);
  return true;
}

static bool stays_inside(const pair *p) {
  uint64_t points = hd_layout_points(p->f);
  for (uint64_t i = 0; i < points; i++) {
    uint32_t in[HD_LAYOUT_DIMS];
    int64_t out[HD_LAYOUT_DIMS];
    hd_layout_point(p->f, i, in);
    if (!eval_pair(p, in, out))
      return false;
  }
  return true;
}

hd_answer hd_layout_compose(const hd_layout *f, const hd_layout *g, hd_layout *result) {
  pair p = {f, g};
  function fn = {eval_pair, &p};
  factoring cut;
  uint64_t size[HD_LAYOUT_DIMS];
  if (!same_names(f->out, f->n_out, g->in, g->n_in))
    return HD_NO;
  if (hd_layout_points(f) > MAX_POINTS)
    return HD_UNDECIDED;
  if (!stays_inside(&p))
    return HD_NO;
  hd_layout composed = hd_layout_empty();
  composed.n_out = g->n_out;
  memcpy(composed.out, g->out, sizeof composed.out);
  for (unsigned d = 0; d < f->n_in; d++)
    size[d] = hd_layout_in_size(f, d);
  if (!fit(fn, f, &composed) &&
      !(cut_by_size(f->in, size, f->n_in, &cut) && fit(fn, &cut, &composed)))
    return HD_UNDECIDED;
  *result = composed;
  return HD_YES;
}

/* ---- images ---- */

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Every image as one number inside the box, sorted (owned); NULL when one lies outside the box. */
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

static void extents(const hd_layout *layout, uint64_t *extent) {
  for (unsigned d = 0; d < layout->n_out; d++)
    extent[d] = hd_layout_out_extent(layout, d);
}

hd_answer hd_layout_injective(const hd_layout *layout) {
  uint64_t extent[HD_LAYOUT_DIMS], points = hd_layout_points(layout);
  if (points > MAX_POINTS)
    return HD_UNDECIDED;
  extents(layout, extent);
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

static bool same_repeat(const hd_layout_repeat *x, const hd_layout_repeat *y, unsigned n_out) {
  return x->in_dim == y->in_dim && x->count == y->count &&
         !memcmp(x->stride, y->stride, n_out * sizeof *x->stride);
}

/* Written alike: the same map without a look at its points. Of one map there are other ways. */
static bool same_form(const hd_layout *a, const hd_layout *b) {
  unsigned n_bits = 0;
  bool same = a->offset == b->offset && a->n_repeats == b->n_repeats;
  for (unsigned d = 0; d < a->n_in; n_bits += a->in[d++].bits)
    same = same && a->in[d].bits == b->in[d].bits;
  for (unsigned d = 0; d < a->n_out; d++)
    same = same && a->out[d].bits == b->out[d].bits;
  for (unsigned i = 0; same && i < a->n_repeats; i++)
    same = same_repeat(&a->repeat[i], &b->repeat[i], a->n_out);
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

/* ---- invert ---- */

typedef struct inverse_table {
  const hd_layout *f;
  uint64_t extent[HD_LAYOUT_DIMS];
  uint32_t *point; /* domain point of each image */
} inverse_table;

static uint64_t box_index(const inverse_table *t, const int64_t *at) {
  uint64_t index = 0;
  for (unsigned d = t->f->n_out; d-- > 0;)
    index = index * t->extent[d] + (uint64_t)at[d];
  return index;
}

static bool eval_inverse(const void *self, const uint32_t *in, int64_t *out) {
  const inverse_table *t = self;
  int64_t at[HD_LAYOUT_DIMS];
  uint32_t point[HD_LAYOUT_DIMS];
  for (unsigned d = 0; d < t->f->n_out; d++)
    at[d] = in[d];
  hd_layout_point(t->f, t->point[box_index(t, at)], point);
  for (unsigned d = 0; d < t->f->n_in; d++)
    out[d] = point[d];
  return true;
}

static void fill_inverse(inverse_table *t, uint64_t points) {
  for (uint64_t i = 0; i < points; i++) {
    uint32_t in[HD_LAYOUT_DIMS];
    int64_t out[HD_LAYOUT_DIMS];
    hd_layout_point(t->f, i, in);
    hd_layout_apply(t->f, in, out);
    t->point[box_index(t, out)] = (uint32_t)i;
  }
}

hd_answer hd_layout_invert(const hd_layout *layout, hd_layout *result) {
  inverse_table t = {.f = layout};
  uint64_t points = hd_layout_points(layout), box = 1;
  if (points > MAX_POINTS)
    return HD_UNDECIDED;
  extents(layout, t.extent);
  for (unsigned d = 0; d < layout->n_out; d++)
    box *= t.extent[d];
  if (box != points || hd_layout_onto(layout, t.extent) != HD_YES)
    return HD_NO;
  t.point = hd_xmalloc(points * sizeof *t.point);
  fill_inverse(&t, points);
  function fn = {eval_inverse, &t};
  factoring cut;
  hd_layout inverse = hd_layout_empty();
  inverse.n_out = layout->n_in;
  for (unsigned d = 0; d < layout->n_in; d++)
    inverse.out[d].name = layout->in[d].name;
  bool fits = cut_by_size(layout->out, t.extent, layout->n_out, &cut) && fit(fn, &cut, &inverse);
  hd_free(t.point);
  if (!fits)
    return HD_UNDECIDED;
  *result = inverse;
  return HD_YES;
}
