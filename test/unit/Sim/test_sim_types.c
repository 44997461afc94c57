/* Conversions of every small format: each code, the midpoint between each two codes, and its
 * neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "Sim/sim_types.h"

typedef struct code {
  double value;
  uint32_t bits;
} code;

static int by_value(const void *a, const void *b) {
  double x = ((const code *)a)->value, y = ((const code *)b)->value;
  return (x > y) - (x < y);
}

/* The positive finite codes of a format in ascending order, found by decoding all of them. */
static uint32_t codes_of(uint8_t elem, uint32_t bits, code *out) {
  uint32_t n = 0, step = elem == SIM_T_TF32 ? 1u << 13 : 1;
  for (uint32_t i = 0; i < 1u << bits; i++) {
    double v = hd_sim_decode_bits(elem, (uint64_t)i * step);
    if (isfinite(v) && !signbit(v))
      out[n++] = (code){v, i * step};
  }
  qsort(out, n, sizeof *out, by_value);
  return n;
}

static const struct {
  uint8_t elem;
  uint32_t bits;
  double largest; /* by the formats' definitions */
} formats[] = {{SIM_T_F16, 16, 65504},        {SIM_T_BF16, 16, 0x1.fep127}, {SIM_T_E4M3, 8, 448},
               {SIM_T_E5M2, 8, 57344},        {SIM_T_E3M2, 6, 28},          {SIM_T_E2M3, 6, 7.5},
               {SIM_T_E2M1, 4, 6},            {SIM_T_TF32, 19, 0x1.ffcp127}};

static code codes[1 << 19];

static void nearest_and_ties(void **state) {
  (void)state;
  for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
    uint8_t elem = formats[f].elem;
    uint32_t n = codes_of(elem, formats[f].bits, codes);
    uint32_t unit = elem == SIM_T_TF32 ? 1u << 13 : 1;
    assert_true(codes[n - 1].value == formats[f].largest);
    assert_true(codes[0].value == 0.0);
    for (uint32_t i = 0; i + 1 < n; i++) {
      double low = codes[i].value, high = codes[i + 1].value, mid = low + (high - low) / 2;
      uint32_t even = codes[i].bits / unit % 2 == 0 ? codes[i].bits : codes[i + 1].bits;
      assert_int_equal(hd_sim_encode_bits(elem, low, SIM_RN, false), codes[i].bits);
      assert_int_equal(hd_sim_encode_bits(elem, mid, SIM_RN, false), even);
      assert_int_equal(hd_sim_encode_bits(elem, nextafter(mid, 0), SIM_RN, false), codes[i].bits);
      assert_int_equal(hd_sim_encode_bits(elem, nextafter(mid, INFINITY), SIM_RN, false),
                       codes[i + 1].bits);
      assert_int_equal(hd_sim_encode_bits(elem, mid, SIM_RNA, false), codes[i + 1].bits);
      assert_int_equal(hd_sim_encode_bits(elem, mid, SIM_RZ, false), codes[i].bits);
      assert_int_equal(hd_sim_encode_bits(elem, mid, SIM_RP, false), codes[i + 1].bits);
      assert_int_equal(hd_sim_encode_bits(elem, -mid, SIM_RP, false),
                       hd_sim_encode_bits(elem, -low, SIM_RN, false));
    }
  }
}

static void overflow_and_nan(void **state) {
  (void)state;
  assert_int_equal(hd_sim_encode_bits(SIM_T_F16, 65519.99, SIM_RN, false), 0x7bff);
  assert_int_equal(hd_sim_encode_bits(SIM_T_F16, 65520, SIM_RN, false), 0x7c00);
  assert_int_equal(hd_sim_encode_bits(SIM_T_F16, 1e9, SIM_RN, true), 0x7bff);
  assert_int_equal(hd_sim_encode_bits(SIM_T_F16, -INFINITY, SIM_RN, false), 0xfc00);
  assert_int_equal(hd_sim_encode_bits(SIM_T_E4M3, 1e9, SIM_RN, true), 0x7e);
  assert_int_equal(hd_sim_encode_bits(SIM_T_E4M3, 1e9, SIM_RN, false), 0x7f);
  assert_int_equal(hd_sim_encode_bits(SIM_T_E5M2, 1e9, SIM_RN, true), 0x7b);
  assert_int_equal(hd_sim_encode_bits(SIM_T_E5M2, 1e9, SIM_RN, false), 0x7c);
  assert_int_equal(hd_sim_encode_bits(SIM_T_E2M1, -1e9, SIM_RN, false), 0xf);
  assert_int_equal(hd_sim_encode_bits(SIM_T_BF16, NAN, SIM_RN, false), 0x7fff);
  assert_true(isnan(hd_sim_decode_bits(SIM_T_E4M3, 0x7f)));
  assert_true(isinf(hd_sim_decode_bits(SIM_T_E5M2, 0x7c)));
  assert_true(hd_sim_decode_bits(SIM_T_UE8M0, 127) == 1.0);
  assert_true(isnan(hd_sim_decode_bits(SIM_T_UE8M0, 255)));
  assert_true(hd_sim_decode_bits(SIM_T_UE4M3, 0x7e) == 448.0);
  assert_true(hd_sim_decode_bits(SIM_T_S4, 0xf) == -1.0);
  assert_int_equal(hd_sim_encode_bits(SIM_T_UE8M0, 1.5, SIM_RP, false), 128);
  assert_int_equal(hd_sim_encode_bits(SIM_T_UE8M0, 1.5, SIM_RZ, false), 127);
}

/* The general rounding to f32 gives the same result as the host's own conversion. */
static void f32_is_the_hosts(void **state) {
  (void)state;
  uint64_t s = 1;
  for (int i = 0; i < 200000; i++) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    double x = hd_sim_f64(s ^ s >> 7);
    if (isnan(x))
      continue;
    assert_int_equal(hd_sim_encode_bits(SIM_T_F32, x, SIM_RN, false), hd_sim_f32_bits((float)x));
    uint64_t down = hd_sim_encode_bits(SIM_T_F32, fabs(x), SIM_RZ, false);
    assert_true((double)hd_sim_f32((uint32_t)down) <= fabs(x));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nearest_and_ties),
      cmocka_unit_test(overflow_and_nan),
      cmocka_unit_test(f32_is_the_hosts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
