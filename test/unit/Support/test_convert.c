/* Element conversions. All types up to 16 bits are tested exhaustively, against a search that uses
 * only the decoded values. For wider types the boundaries are tested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "Support/arena.h"
#include "Support/convert.h"
#include "heddle/convert.h"

static uint32_t n_codes(heddle_elem elem) {
  unsigned bits = heddle_elem_get(elem)->container_bits;
  return bits <= 16 ? 1u << bits : 0;
}

/* Whether all bits are inside the value mask. */
static bool is_plain(heddle_elem elem, uint32_t bits) {
  return (bits & ~hd_elem_value_mask(elem)) == 0;
}

static void every_value_survives(void **state) {
  (void)state;
  for (heddle_elem elem = 0; elem < HEDDLE_N_ELEMS; elem++)
    for (uint32_t bits = 0; bits < n_codes(elem); bits++) {
      double value = hd_elem_to_double(elem, bits);
      uint32_t back = hd_elem_from_double(elem, value);
      assert_true(hd_elem_to_double(elem, bits & hd_elem_value_mask(elem)) == value ||
                  isnan(value));
      if (isnan(value))
        assert_true(isnan(hd_elem_to_double(elem, back)));
      else if (is_plain(elem, bits) && !(elem == HEDDLE_UE4M3 && bits > 0x7f) && !isinf(value))
        assert_int_equal(back, bits);
    }
}

/* The finite values of a type, sorted by value. This does not depend on the order of the
 * encoding. */
typedef struct sorted {
  double value[65536];
  int n;
} sorted;

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void sort_values(heddle_elem elem, sorted *s) {
  s->n = 0;
  for (uint32_t bits = 0; bits < n_codes(elem); bits++) {
    double v = hd_elem_to_double(elem, bits);
    if (is_plain(elem, bits) && isfinite(v) && !(elem == HEDDLE_UE4M3 && bits > 0x7f))
      s->value[s->n++] = v;
  }
  qsort(s->value, (size_t)s->n, sizeof *s->value, by_value);
}

static double rounded(heddle_elem elem, double x) {
  return hd_elem_to_double(elem, hd_elem_from_double(elem, x));
}

/* Between two neighbours, values below the middle round down and values above it round up. The
 * middle rounds to the even code. */
static void rounding_is_to_nearest_even(void **state) {
  (void)state;
  static sorted s;
  for (heddle_elem elem = 0; elem < HEDDLE_N_ELEMS; elem++) {
    if (!n_codes(elem) || elem == HEDDLE_UE8M0)
      continue;
    sort_values(elem, &s);
    int shift = elem == HEDDLE_E2M1 ? 2 : 0;
    for (int i = 0; i + 1 < s.n; i++) {
      double low = s.value[i], high = s.value[i + 1], middle = (low + high) / 2;
      if (low == high)
        continue;
      assert_true(rounded(elem, nextafter(middle, low)) == low);
      assert_true(rounded(elem, nextafter(middle, high)) == high);
      uint32_t code = hd_elem_from_double(elem, middle);
      assert_int_equal(code >> shift & 1, 0);
      assert_true(rounded(elem, middle) == low || rounded(elem, middle) == high);
    }
  }
}

typedef struct edge {
  heddle_elem elem;
  double value;
  uint32_t bits;
} edge;

static const edge edges[] = {
    {HEDDLE_F16, 65519, 0x7bff},        {HEDDLE_F16, 65520, 0x7c00},
    {HEDDLE_F16, -1e300, 0xfc00},       {HEDDLE_F16, INFINITY, 0x7c00},
    {HEDDLE_F16, NAN, 0x7fff},          {HEDDLE_F16, -0.0, 0x8000},
    {HEDDLE_F16, 0x1p-24, 0x0001},      {HEDDLE_F16, 0x1p-25, 0x0000},
    {HEDDLE_F16, 0x1.8p-25, 0x0001},    {HEDDLE_F16, 5e-324, 0x0000},
    {HEDDLE_F16, 0x1.ff8p-15, 0x03ff},  {HEDDLE_F16, 0x1.ffcp-15, 0x0400},
    {HEDDLE_BF16, 1, 0x3f80},           {HEDDLE_BF16, 0x1.01p0, 0x3f80},
    {HEDDLE_BF16, 0x1.03p0, 0x3f82},    {HEDDLE_BF16, 3.4e38, 0x7f80},
    {HEDDLE_BF16, 0x1p-133, 0x0001},    {HEDDLE_BF16, 0x1p-134, 0x0000},
    {HEDDLE_TF32, 1, 0x3f800000},       {HEDDLE_TF32, 0x1.002p0, 0x3f800000},
    {HEDDLE_TF32, 0x1.006p0, 0x3f804000}, {HEDDLE_TF32, 0x1.fffp127, 0x7f800000},
    {HEDDLE_TF32, NAN, 0x7fffe000},     {HEDDLE_TF32, 0x1p-136, 0x00002000},
    {HEDDLE_F32, 0x1.000001p0, 0x3f800000}, {HEDDLE_F32, 0x1.000003p0, 0x3f800002},
    {HEDDLE_F32, 1e300, 0x7f800000},    {HEDDLE_F32, NAN, 0x7fffffff},
    {HEDDLE_E4M3, 448, 0x7e},           {HEDDLE_E4M3, 1e9, 0x7e},
    {HEDDLE_E4M3, -INFINITY, 0xfe},     {HEDDLE_E4M3, NAN, 0x7f},
    {HEDDLE_E4M3, 0x1p-9, 0x01},        {HEDDLE_E4M3, 464, 0x7e},
    {HEDDLE_E5M2, 57344, 0x7b},         {HEDDLE_E5M2, INFINITY, 0x7b},
    {HEDDLE_E5M2, NAN, 0x7f},           {HEDDLE_E5M2, -1e9, 0xfb},
    {HEDDLE_E3M2, 28, 0x1f},            {HEDDLE_E3M2, -99, 0x3f},
    {HEDDLE_E3M2, NAN, 0x1f},           {HEDDLE_E2M3, 7.5, 0x1f},
    {HEDDLE_E2M3, 0.125, 0x01},         {HEDDLE_E2M3, 9, 0x1f},
    {HEDDLE_E2M1, 6, 0x1c},             {HEDDLE_E2M1, -0.5, 0x24},
    {HEDDLE_E2M1, 100, 0x1c},           {HEDDLE_E2M1, NAN, 0x1c},
    {HEDDLE_E2M1P, 6, 0x7},             {HEDDLE_E2M1P, -6, 0xf},
    {HEDDLE_E2M1P, 2.5, 0x4},           {HEDDLE_E2M1P, 5, 0x6},
    {HEDDLE_UE4M3, -3, 0},              {HEDDLE_UE4M3, 1000, 0x7e},
    {HEDDLE_UE8M0, 1, 127},             {HEDDLE_UE8M0, 1.1, 128},
    {HEDDLE_UE8M0, 2, 128},             {HEDDLE_UE8M0, 0, 0},
    {HEDDLE_UE8M0, -1, 0},              {HEDDLE_UE8M0, 1e300, 0xfe},
    {HEDDLE_UE8M0, INFINITY, 0xfe},     {HEDDLE_UE8M0, NAN, 0xff},
    {HEDDLE_S8, -128.5, 0x80},          {HEDDLE_S8, 1000, 0x7f},
    {HEDDLE_S8, 2.5, 2},                {HEDDLE_S8, 3.5, 4},
    {HEDDLE_S8, NAN, 0},                {HEDDLE_U8, -1, 0},
    {HEDDLE_U8, 255.5, 0xff},           {HEDDLE_S4, -9, 0x8},
    {HEDDLE_S4, 9, 0x7},                {HEDDLE_U4, 15.4, 0xf},
    {HEDDLE_S32, 1e12, 0x7fffffff},     {HEDDLE_S32, -1e12, 0x80000000},
    {HEDDLE_S32, -1, 0xffffffff},       {HEDDLE_S32, -INFINITY, 0x80000000},
};

static void edges_are_as_cvt_has_them(void **state) {
  (void)state;
  for (size_t i = 0; i < HD_COUNT(edges); i++)
    assert_int_equal(hd_elem_from_double(edges[i].elem, edges[i].value), edges[i].bits);
}

/* Known values, independent of the encoder. */
static void values_are_those_of_the_formats(void **state) {
  (void)state;
  assert_true(hd_elem_to_double(HEDDLE_E4M3, 0x38) == 1);
  assert_true(hd_elem_to_double(HEDDLE_E4M3, 0x7e) == 448);
  assert_true(isnan(hd_elem_to_double(HEDDLE_E4M3, 0xff)));
  assert_true(hd_elem_to_double(HEDDLE_E5M2, 0x3c) == 1);
  assert_true(hd_elem_to_double(HEDDLE_E5M2, 0xfc) == -INFINITY);
  assert_true(hd_elem_to_double(HEDDLE_E3M2, 0x0c) == 1);
  assert_true(hd_elem_to_double(HEDDLE_E2M3, 0x08) == 1);
  assert_true(hd_elem_to_double(HEDDLE_E2M1P, 0x2) == 1);
  assert_true(hd_elem_to_double(HEDDLE_E2M1, 0x2 << 2 | 3) == 1);
  assert_true(hd_elem_to_double(HEDDLE_F16, 0x3c00) == 1);
  assert_true(hd_elem_to_double(HEDDLE_F16, 0xfc00) == -INFINITY);
  assert_true(hd_elem_to_double(HEDDLE_TF32, 0x3f801fff) == 1);
  assert_true(hd_elem_to_double(HEDDLE_UE8M0, 0) == 0x1p-127);
  assert_true(hd_elem_to_double(HEDDLE_S4, 0xf) == -1);
  assert_true(hd_elem_to_double(HEDDLE_S32, 0x80000000) == -0x1p31);
}

static void elements_are_stored_where_they_belong(void **state) {
  (void)state;
  uint8_t array[64];
  for (heddle_elem elem = 0; elem < HEDDLE_N_ELEMS; elem++)
    for (size_t i = 0; i < 16; i++) {
      memset(array, 0xa5, sizeof array);
      uint32_t bits = 0x12345678 & hd_elem_value_mask(elem);
      hd_elem_set_bits(elem, array, i, bits);
      assert_int_equal(hd_elem_get_bits(elem, array, i), bits);
      unsigned width = heddle_elem_get(elem)->container_bits;
      for (size_t bit = 0; bit < 8 * sizeof array; bit++)
        if (bit / width != i)
          assert_int_equal(array[bit / 8] >> (bit % 8) & 1, 0xa5 >> (bit % 8) & 1);
    }
  assert_int_equal(hd_elem_bytes(HEDDLE_S4, 5), 3);
  assert_int_equal(hd_elem_bytes(HEDDLE_E2M1, 5), 5);
  assert_int_equal(hd_elem_bytes(HEDDLE_TF32, 5), 20);
}

static void many_are_the_same_as_one(void **state) {
  (void)state;
  enum { N = 32, STRIDE = 3 };
  uint8_t array[N * STRIDE * 4 + 9], again[sizeof array];
  double values[N];
  for (size_t i = 0; i < sizeof array; i++)
    array[i] = (uint8_t)(i * 151 + 7);
  for (heddle_elem elem = 0; elem < HEDDLE_N_ELEMS; elem++)
    for (size_t stride = 1; stride <= STRIDE; stride++) {
      uint8_t *odd = again + 1; /* alignment is not required */
      hd_elem_load_many(elem, array + 1, 2, stride, N, values);
      memcpy(again, array, sizeof array);
      hd_elem_store_many(elem, odd, 2, stride, N, values);
      for (size_t i = 0; i < N; i++) {
        double one = hd_elem_load(elem, array + 1, 2 + i * stride);
        assert_true(values[i] == one || (isnan(values[i]) && isnan(one)));
        assert_int_equal(hd_elem_get_bits(elem, odd, 2 + i * stride),
                         hd_elem_from_double(elem, one));
      }
    }
}

static void exact_integers_are_exact(void **state) {
  (void)state;
  for (heddle_elem elem = 0; elem < HEDDLE_N_ELEMS; elem++) {
    double n = hd_elem_exact_integers(elem);
    if (n == 0 || n > 1e6)
      continue;
    for (double i = 0; i <= n; i++)
      assert_true(rounded(elem, i) == i);
    assert_true(rounded(elem, n + 1) != n + 1);
  }
}

/* The public function rounds an f32 like the internal one, including the special case of bf16. */
static void the_public_form_is_the_same(void **state) {
  (void)state;
  enum { N = 65536 + 7 };
  static float values[N], back[N];
  static uint32_t elements[N];
  for (uint32_t i = 0, seed = 1; i < N; i++) {
    seed = seed * 1664525 + 1013904223; /* all exponents, with NaN and Inf */
    uint32_t bits = i % 64 == 0 ? 0x7f800000 | (i / 64 % 2) << 21 : seed;
    bits = i % 4 == 1 ? (bits & 0x87ffffff) | 0x38000000 : bits; /* in the range of 8-bit floats */
    bits = i % 8 == 5 ? bits & ~0xffffu : bits;                  /* and their ties */
    memcpy(&values[i], &bits, 4);
  }
  for (heddle_elem elem = 0; elem < HEDDLE_N_ELEMS; elem++) {
    assert_int_equal(heddle_elem_from_f32(elem, N, values, elements), HEDDLE_OK);
    assert_int_equal(heddle_elem_to_f32(elem, N, elements, back), HEDDLE_OK);
    for (size_t i = 0; i < N; i++) {
      float want = (float)hd_elem_to_double(elem, hd_elem_from_double(elem, values[i]));
      assert_true(want != want || signbit(back[i]) == signbit(want));
      assert_true(back[i] == want || (back[i] != back[i] && want != want));
    }
  }
  assert_int_equal(heddle_elem_to_f32(HEDDLE_N_ELEMS, 1, elements, back), HEDDLE_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_value_survives),
      cmocka_unit_test(rounding_is_to_nearest_even),
      cmocka_unit_test(edges_are_as_cvt_has_them),
      cmocka_unit_test(values_are_those_of_the_formats),
      cmocka_unit_test(elements_are_stored_where_they_belong),
      cmocka_unit_test(many_are_the_same_as_one),
      cmocka_unit_test(exact_integers_are_exact),
      cmocka_unit_test(the_public_form_is_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
