/* Swizzles and shared-memory banks: 32 banks of 4 bytes. */
#include "Layout/layout.h"

enum { N_BANKS = 32, BANK_BYTES = 4, PHASE_BYTES = N_BANKS * BANK_BYTES };

static uint32_t swizzle_word(uint32_t word, unsigned shift, unsigned b, unsigned m, unsigned s) {
  uint32_t mask = (1u << b) - 1;
  return word ^ ((word >> (shift + m + s) & mask) << (shift + m));
}

/* A swizzle only mixes bits inside the block. A repeat whose stride has bits in the swizzled window
 * or below could add a carry into the window. */
static bool repeats_stay_above(const hd_layout *layout, unsigned dim, unsigned bits) {
  for (unsigned i = 0; i < layout->n_repeats; i++)
    if (layout->repeat[i].stride[dim] & (int32_t)((1u << bits) - 1))
      return false;
  return true;
}

bool hd_layout_swizzle(hd_layout *layout, unsigned dim, unsigned b, unsigned m, unsigned s) {
  if (b == 0)
    return true;
  unsigned window = m + s + b, shift = 0, n_in = 0;
  if (dim >= layout->n_out || layout->out[dim].bits < window ||
      !repeats_stay_above(layout, dim, window))
    return false;
  for (unsigned d = 0; d < dim; d++)
    shift += layout->out[d].bits;
  for (unsigned d = 0; d < layout->n_in; d++)
    n_in += layout->in[d].bits;
  for (unsigned i = 0; i < n_in; i++)
    layout->column[i] = swizzle_word(layout->column[i], shift, b, m, s);
  layout->offset = swizzle_word(layout->offset, shift, b, m, s);
  return true;
}

/* The maximum number of distinct words that a bank serves for `n` lanes of one phase. */
static unsigned phase_conflicts(const uint32_t *address, unsigned n, unsigned access_bytes) {
  uint32_t words[N_BANKS][N_BANKS];
  unsigned n_words[N_BANKS] = {0}, worst = 0;
  for (unsigned lane = 0; lane < n; lane++)
    for (unsigned byte = 0; byte < access_bytes; byte += BANK_BYTES) {
      uint32_t word = (address[lane] + byte) / BANK_BYTES;
      unsigned bank = word % N_BANKS, i = 0;
      while (i < n_words[bank] && words[bank][i] != word)
        i++;
      if (i == n_words[bank])
        words[bank][n_words[bank]++] = word;
      if (n_words[bank] > worst)
        worst = n_words[bank];
    }
  return worst;
}

unsigned hd_bank_conflicts(const uint32_t *address, unsigned n_lanes, unsigned access_bytes) {
  if (access_bytes < BANK_BYTES)
    access_bytes = BANK_BYTES;
  unsigned lanes_a_phase = PHASE_BYTES / access_bytes, worst = 1;
  for (unsigned first = 0; first < n_lanes; first += lanes_a_phase) {
    unsigned n = n_lanes - first < lanes_a_phase ? n_lanes - first : lanes_a_phase;
    unsigned here = phase_conflicts(address + first, n, access_bytes);
    worst = here > worst ? here : worst;
  }
  return worst;
}

/* Conflicts of ldmatrix for rows of row_bytes: a phase reads a 16-byte column of eight consecutive
 * rows. */
static unsigned row_conflicts(uint32_t row_bytes, unsigned b) {
  unsigned worst = 1;
  for (uint32_t column = 0; column < row_bytes; column += 16) {
    uint32_t address[8];
    for (uint32_t row = 0; row < 8; row++)
      address[row] = swizzle_word(row * row_bytes + column, 0, b, 4, 3);
    unsigned here = hd_bank_conflicts(address, 8, 16);
    worst = here > worst ? here : worst;
  }
  return worst;
}

int hd_swizzle_for_rows(uint32_t row_bytes) {
  if (row_bytes == 0 || row_bytes % 16)
    return -1;
  for (unsigned b = 0; b <= 3; b++)
    if ((b == 0 || row_bytes % (16u << b) == 0) && row_conflicts(row_bytes, b) == 1)
      return (int)b;
  return -1;
}
