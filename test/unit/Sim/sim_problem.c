#include "sim_problem.h"

#include <string.h>

#include "sim_harness.h"

void problem_make(problem *p) {
  uint64_t state = 7;
  memset(p, 0, sizeof *p);
  for (int i = 0; i < M; i++) {
    for (int g = 0; g < K / 4; g++) {
      static const int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
      const int *pair = pairs[next_random(&state) % 6];
      uint8_t *block = p->packed + g / 16 * BLOCK;
      uint32_t step = (uint32_t)g % 16 / 8, row = (uint32_t)i;
      for (int t = 0; t < 2; t++) {
        int v = 1 + (int)(next_random(&state) % 7);
        v = next_random(&state) % 2 ? v : -v;
        p->a[i][4 * g + pair[t]] = v;
        uint32_t byte = ((uint32_t)g % 8 * 2 + (uint32_t)t) * 2;
        uint16_t bits = bf16_of((float)v);
        memcpy(block + step * 2048 + row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16,
               &bits, 2);
      }
      uint32_t lane = 4 * (row % 8) + 2 * step + (uint32_t)g % 8 / 4; /* k-step = selector */
      uint32_t thread = row / 16 * 32 + lane, shift = (uint32_t)g % 4 * 4 + (row % 16 / 8) * 16;
      uint32_t word;
      memcpy(&word, block + 4096 + thread * 4, 4);
      word |= (uint32_t)(pair[0] | pair[1] << 2) << shift;
      memcpy(block + 4096 + thread * 4, &word, 4);
    }
  }
  for (int j = 0; j < N; j++) {
    for (int k = 0; k < K; k++) {
      p->b[j][k] = (int)(next_random(&state) % 9) - 4;
      p->b_bits[j][k] = bf16_of((float)p->b[j][k]);
    }
  }
}

int problem_wrong(const problem *p) {
  int n = 0;
  for (int i = 0; i < M; i++) {
    for (int j = 0; j < N; j++) {
      int sum = 0;
      for (int k = 0; k < K; k++)
        sum += p->a[i][k] * p->b[j][k];
      n += p->d[i][j] != (float)sum;
    }
  }
  return n;
}
