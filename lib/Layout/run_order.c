#include "Layout/layout.h"

hd_layout hd_layout_run_order(uint32_t run, uint32_t n) {
  const int32_t group[HD_LAYOUT_DIMS] = {(int32_t)(4 * run)};
  int32_t image[HD_LAYOUT_BITS][HD_LAYOUT_DIMS] = {{1}, {(int32_t)run}, {(int32_t)(2 * run)}};
  unsigned n_bits = 3;
  for (uint32_t step = 2; step < run; step *= 2)
    image[n_bits++][0] = (int32_t)step;
  hd_layout order = hd_layout_empty();
  hd_layout_add_out(&order, "column", n_bits);
  hd_layout_add_in(&order, "place", n_bits, (const int32_t(*)[HD_LAYOUT_DIMS])image);
  hd_layout_add_repeat(&order, 0, n / (4 * run), group);
  return order;
}
