/* Bench/whole_check.h: all of D against an independent product of the same values: cuBLASLt's dense
 * one, which accumulates and stores in f32 (s32 of 8-bit integers). */
#ifndef HD_WHOLE_CHECK_H
#define HD_WHOLE_CHECK_H

#include "Reference/reference_compare.h"
#include "Bench/peers.h"

/* R on the host. Zero-initialise. */
typedef struct hd_whole {
  void *data; /* owned; NULL: nobody could make it */
  bool integer, row_major;
  int64_t m, n;
} hd_whole;

/* The product of buffer set 0 of the case, by that peer. HEDDLE_UNSUPPORTED when it has no way. */
heddle_status hd_whole_make(heddle_context *ctx, const hd_device *device, hd_peer *peer,
                            const hd_bench_case *bench, hd_whole *whole);
void hd_whole_free(hd_whole *whole);

/* Every element of D (m x n) by n_jobs threads, in bands of whole rows: ok only if each band is
 * within the bound (hd_compare_bounded). error is that of the worst band, row and col that of its
 * worst element. */
hd_comparison hd_whole_compare(const hd_whole *whole, const hd_matrix *d, double bound,
                               int32_t n_jobs);

#endif
