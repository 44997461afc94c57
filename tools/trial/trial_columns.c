/* A scale_b that the kernel computes from sums of squares of B's columns. The sums are not those of
 * B: they are chosen such that scales are as large as those of a scale_b that is given. */
#include <math.h>

#include "Support/hash.h"
#include "trial/trial_parts.h"

enum { ROWS = 128 /* of B, for each row of sums */ };

trial_stored trial_column_sums(const trial_shape *s) {
  return (trial_stored){(s->k + ROWS - 1) / ROWS, s->n, s->ldsb};
}

/* One part of `left` for the first of n rows: up to half an average part more or less; whole if
 * left is. */
static double part_of(double left, int64_t n, uint64_t hash) {
  double average = left / (double)n, change = (double)(hash >> 40) / 0x1p24 - 0.5;
  return n == 1 ? left : floor(average + average * change);
}

/* The sum of a column is k * (v^2 - 1/4) / unit^2, and eps is 1/4 / unit^2, so that the scale is
 * unit / v. exact: v is 1, 2 or 4, and a part a multiple of 1/4 / unit^2; else v is 1/2 to 2, and
 * eps is smaller. */
void trial_fill_column_sums(const trial_request *r, double unit, trial_data *data) {
  const trial_block *block = trial_data_block(data, HD_ARG_SCALE_B);
  trial_stored s = trial_column_sums(&data->shape);
  float *sums = (float *)(void *)block->data;
  uint64_t seed = r->seed * TRIAL_STREAMS + HD_ARG_SCALE_B;
  double quarter = 0.25 / (unit * unit);
  for (int64_t j = 0; j < s.cols; j++) {
    uint64_t hash = hd_hash_next(&seed);
    double v = r->exact ? ldexp(1, (int)(hash % 3)) : ldexp(1, (int)(hash % 2)) *
                                                          (0.5 + (double)(hash >> 40) / 0x1p25);
    double left = (double)data->shape.k * (4 * v * v - r->exact);
    for (int64_t i = 0; i < s.rows; i++) {
      double part = part_of(left, s.rows - i, hd_hash_next(&seed));
      sums[i * s.pitch + j] = (float)(part * quarter);
      left -= part;
    }
  }
}

float trial_eps(const trial_request *r, double unit) {
  return r->eps != 0 ? r->eps : (float)((r->exact ? 0.25 : 0.0625) / (unit * unit));
}
