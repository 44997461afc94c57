/* Shared-memory banks and swizzles. */
#include <string.h>

#include "Layout/layout.h"
#include "layout_tests.h"

static unsigned conflicts(uint32_t pitch, unsigned lanes, unsigned bytes) {
  uint32_t address[32];
  for (unsigned i = 0; i < lanes; i++)
    address[i] = i * pitch;
  return hd_bank_conflicts(address, lanes, bytes);
}

void conflicts_of_known_accesses(void **state) {
  (void)state;
  assert_int_equal(conflicts(4, 32, 4), 1);    /* a row of words */
  assert_int_equal(conflicts(8, 32, 4), 2);    /* every second bank */
  assert_int_equal(conflicts(128, 32, 4), 32); /* one bank */
  assert_int_equal(conflicts(132, 32, 4), 1);  /* padded column */
  assert_int_equal(conflicts(0, 32, 4), 1);    /* the same word for all lanes */
  assert_int_equal(conflicts(16, 32, 16), 1);
  assert_int_equal(conflicts(128, 8, 16), 8); /* ldmatrix of 128-byte rows */
  assert_int_equal(conflicts(64, 8, 16), 4);
  assert_int_equal(conflicts(80, 8, 16), 1);
}

void swizzle_is_derived(void **state) {
  (void)state;
  assert_int_equal(hd_swizzle_for_rows(16), 0);
  assert_int_equal(hd_swizzle_for_rows(32), 1);
  assert_int_equal(hd_swizzle_for_rows(64), 2);
  assert_int_equal(hd_swizzle_for_rows(128), 3);
  assert_int_equal(hd_swizzle_for_rows(80), 0);
  assert_int_equal(hd_swizzle_for_rows(256), -1); /* the swizzle does not reach the row's bits */
  assert_int_equal(hd_swizzle_for_rows(24), -1);
  assert_int_equal(hd_swizzle_for_rows(0), -1);
}

static hd_layout rows_of_128(int32_t stage) {
  int32_t row[3][HD_LAYOUT_DIMS] = {{128}, {256}, {512}},
          chunk[3][HD_LAYOUT_DIMS] = {{16}, {32}, {64}};
  int32_t stride[HD_LAYOUT_DIMS] = {stage};
  hd_layout layout = hd_layout_empty();
  assert_true(hd_layout_add_out(&layout, "byte", 10));
  assert_true(hd_layout_add_in(&layout, "row", 3, (const int32_t(*)[HD_LAYOUT_DIMS])row));
  assert_true(hd_layout_add_in(&layout, "chunk", 3, (const int32_t(*)[HD_LAYOUT_DIMS])chunk));
  assert_true(hd_layout_add_repeat(&layout, 0, 5, stride));
  return layout;
}

/* The maximum over the columns of chunks, as ldmatrix reads them. */
static unsigned chunk_conflicts(const hd_layout *layout) {
  unsigned worst = 0;
  for (uint32_t chunk = 0; chunk < 8; chunk++) {
    uint32_t address[8];
    for (uint32_t row = 0; row < 8; row++) {
      int64_t out[HD_LAYOUT_DIMS];
      hd_layout_apply(layout, (const uint32_t[]){row, chunk}, out);
      address[row] = (uint32_t)out[0];
    }
    unsigned here = hd_bank_conflicts(address, 8, 16);
    worst = here > worst ? here : worst;
  }
  return worst;
}

void swizzle_refuses_carries(void **state) {
  (void)state;
  hd_layout whole = rows_of_128(4096), broken = rows_of_128(4608);
  assert_int_equal(chunk_conflicts(&whole), 8);
  assert_true(hd_layout_swizzle(&whole, 0, 3, 4, 3));
  assert_int_equal(hd_layout_injective(&whole), HD_YES);
  assert_int_equal(chunk_conflicts(&whole), 1);
  assert_false(hd_layout_swizzle(&broken, 0, 3, 4, 3)); /* 4608 = 4.5 patterns */
}

/* Maximum number of words in one bank, by brute force. */
static unsigned brute(const uint32_t *address, unsigned n, unsigned bytes) {
  unsigned worst = 1, a_phase = 128 / bytes;
  for (unsigned first = 0; first < n; first += a_phase)
    for (unsigned bank = 0; bank < 32; bank++) {
      unsigned count = 0;
      for (uint32_t word = bank; word < 2048; word += 32) {
        int hit = 0;
        for (unsigned i = first; i < first + a_phase && i < n; i++)
          hit |= word >= address[i] / 4 && word < (address[i] + bytes) / 4;
        count += (unsigned)hit;
      }
      worst = count > worst ? count : worst;
    }
  return worst;
}

void bank_count_matches_brute_force(void **state) {
  (void)state;
  uint32_t seed = 7, address[32];
  static const unsigned sizes[] = {4, 8, 16};
  for (unsigned t = 0; t < 60; t++) {
    unsigned bytes = sizes[t % 3];
    for (unsigned i = 0; i < 32; i++) {
      seed = seed * 1664525u + 1013904223u;
      address[i] = (seed >> 10) % (8192 / bytes) * bytes;
    }
    assert_int_equal(hd_bank_conflicts(address, 32, bytes), brute(address, 32, bytes));
  }
}
