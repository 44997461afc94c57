/* A 64 x 16 x 64 nk problem of small integers in bf16: dense, packed, and its product. */
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

/* Two of four are kept, at random places; the packed block is written from docs/format.md's
 * formula. */
void problem_make(problem *p);
/* How many elements of d are not the product. */
int problem_wrong(const problem *p);

#endif
