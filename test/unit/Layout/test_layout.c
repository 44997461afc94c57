/* The algebra of layouts, against evaluation at every point. */
#include <stdlib.h>
#include <string.h>

#include "Layout/layout.h"
#include "layout_tests.h"

static uint32_t seed = 12345;

static uint32_t next_random(void) {
  seed = seed * 1664525u + 1013904223u;
  return seed >> 8;
}

/* A random invertible map of n bits, as images of one input onto (row: r bits, col: rest). */
static void random_basis(uint32_t *column, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    column[i] = 1u << i;
  for (unsigned step = 0; step < 64; step++) {
    unsigned i = next_random() % n, j = next_random() % n;
    if (i != j)
      column[i] ^= column[j];
  }
}

static hd_layout random_layout(const char *in, const char *out, unsigned n, unsigned r) {
  uint32_t column[16];
  int32_t image[16][HD_LAYOUT_DIMS] = {{0}};
  hd_layout layout = hd_layout_empty();
  random_basis(column, n);
  for (unsigned i = 0; i < n; i++) {
    image[i][0] = (int32_t)(column[i] & ((1u << r) - 1));
    image[i][1] = (int32_t)(column[i] >> r);
  }
  assert_true(hd_layout_add_out(&layout, out, r));
  assert_true(hd_layout_add_out(&layout, "rest", n - r));
  assert_true(hd_layout_add_in(&layout, in, r, (const int32_t(*)[HD_LAYOUT_DIMS])image));
  assert_true(hd_layout_add_in(&layout, "rest", n - r,
                               (const int32_t(*)[HD_LAYOUT_DIMS])(image + r)));
  layout.offset = next_random() & ((1u << n) - 1);
  return layout;
}

static void to_input(const hd_layout *layout, const int64_t *out, uint32_t *in) {
  for (unsigned d = 0; d < layout->n_out; d++)
    in[d] = (uint32_t)out[d];
}

void layouts_compose_exactly(void **state) {
  (void)state;
  for (unsigned i = 0; i < 200; i++) {
    hd_layout f = random_layout("x", "y", 8, 3), g = random_layout("y", "z", 8, 3), both;
    assert_int_equal(hd_layout_compose(&f, &g, &both), HD_YES);
    for (uint64_t p = 0; p < hd_layout_points(&f); p++) {
      uint32_t in[HD_LAYOUT_DIMS], middle[HD_LAYOUT_DIMS];
      int64_t a[HD_LAYOUT_DIMS], b[HD_LAYOUT_DIMS], c[HD_LAYOUT_DIMS];
      hd_layout_point(&f, p, in);
      hd_layout_apply(&f, in, a);
      to_input(&f, a, middle);
      hd_layout_apply(&g, middle, b);
      hd_layout_apply(&both, in, c);
      assert_memory_equal(b, c, 2 * sizeof *b);
    }
  }
}

void layouts_invert_exactly(void **state) {
  (void)state;
  for (unsigned i = 0; i < 200; i++) {
    hd_layout f = random_layout("x", "y", 8, 3), back, round;
    assert_int_equal(hd_layout_invert(&f, &back), HD_YES);
    assert_int_equal(hd_layout_compose(&f, &back, &round), HD_YES);
    for (uint64_t p = 0; p < hd_layout_points(&f); p++) {
      uint32_t in[HD_LAYOUT_DIMS];
      int64_t out[HD_LAYOUT_DIMS];
      hd_layout_point(&f, p, in);
      hd_layout_apply(&round, in, out);
      assert_true(out[0] == in[0] && out[1] == in[1]);
    }
    f.column[3] = f.column[2]; /* no longer a bijection */
    assert_int_equal(hd_layout_invert(&f, &back), HD_NO);
  }
}

/* n columns of 4 bytes, rows of `pitch` bytes: one input, cut into block bits and repeats. */
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

/* Of a pair written alike each number counts. */
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
  hd_layout f = random_layout("x", "y", 8, 3), g = random_layout("z", "w", 8, 3), both;
  assert_int_equal(hd_layout_compose(&f, &g, &both), HD_NO);
  hd_layout small = random_layout("y", "z", 7, 3); /* f leaves its domain */
  assert_int_equal(hd_layout_compose(&f, &small, &both), HD_NO);
  hd_layout full = hd_layout_empty();
  assert_true(hd_layout_add_out(&full, "byte", 32));
  assert_false(hd_layout_add_out(&full, "more", 1));
  int32_t image[1][HD_LAYOUT_DIMS] = {{-1}};
  assert_false(hd_layout_add_in(&full, "x", 1, (const int32_t(*)[HD_LAYOUT_DIMS])image));
}

void repeats_without_form_are_undecided(void **state) {
  (void)state;
  /* Five values x 3, then XOR with 1 in what follows: x*3 carries, so bit 0 is not a sum. */
  hd_layout f = strided(0, 5, 3), g = strided(4, 1, 1), both;
  f.out[0].name = "row";
  g.offset = 1;
  assert_int_equal(hd_layout_compose(&f, &g, &both), HD_UNDECIDED);
}

void cute_text_is_right(void **state) {
  (void)state;
  hd_strbuf text = {0};
  hd_layout a = strided(3, 6, 16);
  hd_layout_print_cute(&a, &text);
  assert_string_equal(text.text, "(48):(16)");
  hd_strbuf_free(&text);
  hd_layout b = strided(1, 1, 1);
  b.offset = 1; /* XORed with 1: no CuTe layout */
  hd_layout_print_cute(&b, &text);
  assert_string_equal(text.text, "no CuTe form:\n0 -> byte 1\nrow[0] -> byte 1\n");
  hd_strbuf_free(&text);
}
