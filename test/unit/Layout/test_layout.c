/* The algebra of layouts, compared with an evaluation at every point. */
#include <stdlib.h>
#include <string.h>

#include "Layout/layout.h"
#include "layout_tests.h"

/* n columns of 4 bytes in rows of `pitch` bytes: one input, split into block bits and repeats. */
static hd_layout strided(unsigned bits, uint32_t repeat, int32_t pitch) {
  int32_t image[8][HD_LAYOUT_DIMS] = {{0}}, stride[HD_LAYOUT_DIMS] = {pitch << bits};
  hd_layout layout = hd_layout_empty();
  for (unsigned i = 0; i < bits; i++)
    image[i][0] = pitch << i;
  assert_true(hd_layout_add_out(&layout, "byte", 12));
  assert_true(hd_layout_add_in(&layout, "row", bits, (const int32_t(*)[HD_LAYOUT_DIMS])image));
  assert_true(hd_layout_add_repeat(&layout, 0, repeat, stride));
  return layout;
}

void equality_sees_through_factoring(void **state) {
  (void)state;
  hd_layout a = strided(4, 3, 16), b = strided(2, 12, 16), c = strided(2, 12, 32);
  assert_int_equal(hd_layout_equal(&a, &b), HD_YES);
  assert_int_equal(hd_layout_equal(&a, &c), HD_NO);
  hd_layout shorter = strided(2, 11, 16);
  assert_int_equal(hd_layout_equal(&a, &shorter), HD_NO);
  b.column[1] ^= 1;
  assert_int_equal(hd_layout_equal(&a, &b), HD_NO);
}

/* Two layouts of the same form are equal only if every number is equal. */
void equality_reads_every_number(void **state) {
  (void)state;
  const hd_layout a = strided(4, 3, 16);
  hd_layout b = a;
  assert_int_equal(hd_layout_equal(&a, &b), HD_YES);
  b.column[3] ^= 1;
  assert_int_equal(hd_layout_equal(&a, &b), HD_NO);
  b = a;
  b.offset ^= 1;
  assert_int_equal(hd_layout_equal(&a, &b), HD_NO);
  b = a;
  b.repeat[0].stride[0]++;
  assert_int_equal(hd_layout_equal(&a, &b), HD_NO);
}

void injectivity_is_exact(void **state) {
  (void)state;
  hd_layout a = strided(2, 12, 16);
  uint64_t extent[1] = {12 * 64};
  assert_int_equal(hd_layout_injective(&a), HD_YES);
  assert_int_equal(hd_layout_onto(&a, extent), HD_NO); /* only every 16th byte */
  hd_layout tight = strided(2, 12, 1);
  extent[0] = 48;
  assert_int_equal(hd_layout_onto(&tight, extent), HD_YES);
  tight.repeat[0].stride[0] = 3; /* repeats overlap the block */
  assert_int_equal(hd_layout_injective(&tight), HD_NO);
}

void wrong_dimensions_are_refused(void **state) {
  (void)state;
  hd_layout full = hd_layout_empty();
  assert_true(hd_layout_add_out(&full, "byte", 32));
  assert_false(hd_layout_add_out(&full, "more", 1));
  int32_t image[1][HD_LAYOUT_DIMS] = {{-1}};
  assert_false(hd_layout_add_in(&full, "x", 1, (const int32_t(*)[HD_LAYOUT_DIMS])image));
}

void cute_text_is_right(void **state) {
  (void)state;
  hd_strbuf text = {0};
  hd_layout a = strided(3, 6, 16);
  hd_layout_print_cute(&a, &text);
  assert_string_equal(text.text, "(48):(16)");
  hd_strbuf_free(&text);
  hd_layout b = strided(1, 1, 1);
  b.offset = 1; /* XORed with 1: not a CuTe layout */
  hd_layout_print_cute(&b, &text);
  assert_string_equal(text.text, "no CuTe form:\n0 -> byte 1\nrow[0] -> byte 1\n");
  hd_strbuf_free(&text);
}
