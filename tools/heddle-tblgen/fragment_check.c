/* Reads fragments, and proves that each is a layout of its tile. */
#include "checked_records.h"

static bool read_images(const record *r, const char *field, int32_t (*image)[HD_LAYOUT_DIMS],
                        unsigned *n) {
  json_t *list = record_list(r, field);
  *n = (unsigned)json_array_size(list);
  if (*n > HD_LAYOUT_BITS) {
    record_error(r, "%s has %u bits", field, *n);
    return false;
  }
  for (unsigned i = 0; i < *n; i++) {
    json_t *pair = json_array_get(list, i);
    if (json_array_size(pair) != 2) {
      record_error(r, "%s[%u] is not [rows, columns]", field, i);
      return false;
    }
    image[i][0] = (int32_t)json_integer_value(json_array_get(pair, 0));
    image[i][1] = (int32_t)json_integer_value(json_array_get(pair, 1));
  }
  return true;
}

static unsigned bits_of(uint32_t value) {
  unsigned bits = 0;
  while (value >> bits)
    bits++;
  return bits;
}

static bool add_repeats(const record *r, hd_layout *map) {
  json_t *list = record_list(r, "Repeat");
  for (size_t i = 0; i < json_array_size(list); i++) {
    json_t *triple = json_array_get(list, i);
    int32_t stride[HD_LAYOUT_DIMS] = {(int32_t)json_integer_value(json_array_get(triple, 1)),
                                      (int32_t)json_integer_value(json_array_get(triple, 2))};
    if (!hd_layout_add_repeat(map, 1, (uint32_t)json_integer_value(json_array_get(triple, 0)),
                              stride))
      return false;
  }
  return true;
}

static bool read_map(const record *r, hd_layout *map) {
  static const char *const names[3][2] = {{"Lane", "lane"}, {"Reg", "reg"}, {"Field", "field"}};
  int32_t image[3][HD_LAYOUT_BITS][HD_LAYOUT_DIMS] = {{{0}}};
  unsigned n[3];
  uint32_t all[2] = {0, 0};
  for (unsigned d = 0; d < 3; d++) {
    if (!read_images(r, names[d][0], image[d], &n[d]))
      return false;
    for (unsigned i = 0; i < n[d]; i++) {
      all[0] |= (uint32_t)image[d][i][0];
      all[1] |= (uint32_t)image[d][i][1];
    }
  }
  *map = hd_layout_empty();
  bool ok = hd_layout_add_out(map, "row", bits_of(all[0])) &&
            hd_layout_add_out(map, "col", bits_of(all[1]));
  for (unsigned d = 0; d < 3; d++)
    ok = ok && hd_layout_add_in(map, names[d][1], n[d], (const int32_t(*)[HD_LAYOUT_DIMS])image[d]);
  ok = ok && add_repeats(r, map);
  if (!ok)
    record_error(r, "the layout does not fit lib/Layout's limits");
  return ok;
}

bool fragment_read(const record *r, fragment *f) {
  *f = (fragment){.space = record_string(r, "Space"),
                  .lanes = record_int(r, "Lanes"),
                  .regs = record_int(r, "Regs"),
                  .bits = record_int(r, "Bits"),
                  .rows = record_int(r, "Rows"),
                  .cols = record_int(r, "Cols"),
                  .mask = record_int(r, "Mask"),
                  .unit = record_int(r, "Unit"),
                  .broadcast = record_int(r, "Broadcast") != 0};
  if (f->unit < 1 || f->unit & (f->unit - 1)) {
    record_error(r, "Unit %ld is not a power of two", f->unit);
    return false;
  }
  return read_map(r, &f->map);
}

/* The map without masked lane bits, that is, of contributing lanes only; columns in units. */
static hd_layout contributing(const fragment *f) {
  hd_layout only = f->map;
  unsigned row_bits = f->map.out[0].bits, kept = 0, n = 0;
  for (unsigned d = 0; d < f->map.n_in; d++)
    n += f->map.in[d].bits;
  for (unsigned i = 0; i < n; i++) {
    if (i < f->map.in[0].bits && (f->mask >> i & 1))
      continue;
    uint32_t row = f->map.column[i] & ((1u << row_bits) - 1), col = f->map.column[i] >> row_bits;
    only.column[kept++] = row | col / (uint32_t)f->unit << row_bits;
  }
  only.in[0].bits = (uint8_t)(only.in[0].bits - (n - kept));
  return only;
}

bool fragment_prove(const record *r, const fragment *f) {
  hd_layout map = contributing(f);
  uint64_t extent[HD_LAYOUT_DIMS] = {(uint64_t)f->rows, (uint64_t)(f->cols / f->unit)};
  uint64_t points = hd_layout_points(&map);
  if (hd_layout_in_size(&f->map, 0) != (uint64_t)f->lanes ||
      hd_layout_in_size(&f->map, 1) != (uint64_t)f->regs) {
    record_error(r, "lane and register images give %u lanes, %u registers; declared %ld, %ld",
                 hd_layout_in_size(&f->map, 0), hd_layout_in_size(&f->map, 1), f->lanes, f->regs);
    return false;
  }
  if (!f->broadcast && points != extent[0] * extent[1]) {
    record_error(r, "lanes x registers x fields = %llu, the tile has %ld x %ld elements",
                 (unsigned long long)points, f->rows, f->cols);
    return false;
  }
  if (hd_layout_onto(&map, extent) != HD_YES) {
    record_error(r, "the layout does not cover its %ld x %ld tile", f->rows, f->cols);
    return false;
  }
  if (!f->broadcast && hd_layout_injective(&map) != HD_YES) {
    record_error(r, "two fields hold the same element");
    return false;
  }
  return true;
}
