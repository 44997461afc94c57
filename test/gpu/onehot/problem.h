/* problem.h: one sparse product in logical terms, and the result that the hardware must give. */
#ifndef ONEHOT_PROBLEM_H
#define ONEHOT_PROBLEM_H

#include "Spec/spec.h"

enum { MAX_M = 64, MAX_N = 256, MAX_K = 128 };

/* Small integers, exact in every type: -2..3, or 0..3 in unsigned types. */
typedef struct problem {
  const hd_spec_row *row;
  unsigned group, kept; /* elements of a sparse group, and how many are kept */
  bool is_unsigned_a, is_unsigned_b;
  int8_t a[MAX_M][MAX_K / 2];    /* compressed */
  uint8_t code[MAX_M][MAX_K / 2]; /* metadata of group g of row m */
  int8_t b[MAX_K][MAX_N];
  int8_t c[MAX_M][MAX_N];
  uint64_t seed;
  bool
      inject; /* reads codes 0x4 and 0x8 (tf32: 0x4, 0xE) the wrong way round: a test of the test */
} problem;

void problem_init(problem *p, const hd_spec_row *row, bool inject);
void problem_clear(problem *p);
uint32_t problem_random(problem *p);
/* The valid metadata codes of the row's type. */
unsigned problem_n_codes(const problem *p);
uint8_t problem_code(const problem *p, unsigned i);
void problem_random_codes(problem *p);
/* Fills a, b, c with small random values; no value of A is zero. */
void problem_random_values(problem *p);

/* Logical k of compressed column `cc` of row `m` (PTX ISA, sparse matrix storage). The low two bits
 * of a code are the first kept position, the high two the second. tf32: 0x4 keeps the first of two,
 * 0xE the second. 4-bit types: positions count pairs. */
unsigned problem_k(const problem *p, unsigned m, unsigned cc);

/* d[m*n_cols + n] = c + sign * sum of a*b. */
void problem_expect(const problem *p, int sign, int32_t *d);

#endif
