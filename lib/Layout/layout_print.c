/* Layouts as text: CuTe notation if the map has a CuTe form, else one line per input bit. */
#include "Layout/layout.h"

/* One CuTe mode: `shape` steps of `stride` units. */
typedef struct mode {
  uint32_t shape;
  int64_t stride;
} mode;

typedef struct mode_list {
  mode at[HD_LAYOUT_BITS + HD_LAYOUT_REPEATS];
  unsigned n;
} mode_list;

static uint32_t field_of(const hd_layout *layout, uint32_t word, unsigned dim) {
  unsigned shift = 0;
  for (unsigned d = 0; d < dim; d++)
    shift += layout->out[d].bits;
  return (uint32_t)((uint64_t)word >> shift & (((uint64_t)1 << layout->out[dim].bits) - 1));
}

static void print_bits(const hd_layout *layout, hd_strbuf *out) {
  unsigned bit = 0;
  for (unsigned o = 0; layout->offset && o < layout->n_out; o++)
    hd_strbuf_printf(out, "%s %s %u%s", o ? "," : "0 ->", layout->out[o].name,
                     field_of(layout, layout->offset, o), o + 1 == layout->n_out ? "\n" : "");
  for (unsigned d = 0; d < layout->n_in; d++)
    for (unsigned i = 0; i < layout->in[d].bits; i++, bit++) {
      hd_strbuf_printf(out, "%s[%u] ->", layout->in[d].name, i);
      for (unsigned o = 0; o < layout->n_out; o++)
        hd_strbuf_printf(out, "%s %s %u", o ? "," : "", layout->out[o].name,
                         field_of(layout, layout->column[bit], o));
      hd_strbuf_add(out, "\n");
    }
  for (unsigned i = 0; i < layout->n_repeats; i++) {
    const hd_layout_repeat *r = &layout->repeat[i];
    hd_strbuf_printf(out, "%s x%u ->", layout->in[r->in_dim].name, r->count);
    for (unsigned o = 0; o < layout->n_out; o++)
      hd_strbuf_printf(out, "%s %s %+d", o ? "," : "", layout->out[o].name, r->stride[o]);
    hd_strbuf_add(out, "\n");
  }
}

/* A map is linear in integers when no two columns share a bit. */
static bool columns_disjoint(const hd_layout *layout, unsigned n_bits) {
  uint32_t seen = 0;
  for (unsigned i = 0; i < n_bits; i++) {
    if (layout->column[i] & seen)
      return false;
    seen |= layout->column[i];
  }
  return true;
}

static void push_mode(mode_list *list, uint32_t shape, int64_t stride) {
  mode *last = list->n ? &list->at[list->n - 1] : NULL;
  if (last && last->stride * last->shape == stride)
    last->shape *= shape;
  else
    list->at[list->n++] = (mode){shape, stride};
}

/* Integer stride of an image, outputs flattened with dimension 0 fastest. */
static int64_t flat_stride(const hd_layout *layout, const int64_t *image) {
  int64_t stride = 0, unit = 1;
  for (unsigned d = 0; d < layout->n_out; d++) {
    stride += image[d] * unit;
    unit *= (int64_t)hd_layout_out_extent(layout, d);
  }
  return stride;
}

static void modes_of(const hd_layout *layout, unsigned dim, unsigned first_bit, mode_list *list) {
  int64_t image[HD_LAYOUT_DIMS];
  list->n = 0;
  for (unsigned i = 0; i < layout->in[dim].bits; i++) {
    for (unsigned d = 0; d < layout->n_out; d++)
      image[d] = field_of(layout, layout->column[first_bit + i], d);
    push_mode(list, 2, flat_stride(layout, image));
  }
  for (unsigned i = 0; i < layout->n_repeats; i++) {
    if (layout->repeat[i].in_dim != dim)
      continue;
    for (unsigned d = 0; d < layout->n_out; d++)
      image[d] = layout->repeat[i].stride[d];
    push_mode(list, layout->repeat[i].count, flat_stride(layout, image));
  }
  if (list->n == 0)
    push_mode(list, 1, 0);
}

static void print_half(const hd_layout *layout, bool strides, hd_strbuf *out) {
  mode_list list;
  unsigned bit = 0;
  hd_strbuf_add(out, "(");
  for (unsigned d = 0; d < layout->n_in; d++) {
    modes_of(layout, d, bit, &list);
    bit += layout->in[d].bits;
    hd_strbuf_add(out, d ? "," : "");
    hd_strbuf_add(out, list.n > 1 ? "(" : "");
    for (unsigned i = 0; i < list.n; i++)
      hd_strbuf_printf(out, "%s%lld", i ? "," : "",
                       (long long)(strides ? list.at[i].stride : (int64_t)list.at[i].shape));
    hd_strbuf_add(out, list.n > 1 ? ")" : "");
  }
  hd_strbuf_add(out, ")");
}

void hd_layout_print_cute(const hd_layout *layout, hd_strbuf *out) {
  unsigned n_bits = 0;
  for (unsigned d = 0; d < layout->n_in; d++)
    n_bits += layout->in[d].bits;
  for (unsigned b = 0; b <= 3 && !layout->offset; b++) {
    hd_layout plain = *layout; /* a swizzle is its own inverse */
    if (!hd_layout_swizzle(&plain, 0, b, 4, 3) || !columns_disjoint(&plain, n_bits))
      continue;
    if (b)
      hd_strbuf_printf(out, "Swizzle<%u,4,3> o ", b);
    print_half(&plain, false, out);
    hd_strbuf_add(out, ":");
    print_half(&plain, true, out);
    return;
  }
  hd_strbuf_add(out, "no CuTe form:\n");
  print_bits(layout, out);
}
