/* A 64 x 16 x 64 nk problem of small integers in bf16: A dense and packed, and the product. */
#ifndef SIM_PROBLEM_H
#define SIM_PROBLEM_H

#include <stdint.h>

enum { M = 64, N = 16, NK = 5, K = 64 * NK, BLOCK = 4608 };

typedef struct problem {
  int a[M][K], b[N][K];
  uint8_t packed[NK * BLOCK];
  uint16_t b_bits[N][K];
  float d[M][N];
} problem;

/* Keeps two of four values at random positions. The packed block is written with the formula of
 * docs/format.md. */
void problem_make(problem *p);
/* Returns the number of elements of d that differ from the product. */
int problem_wrong(const problem *p);

#endif
