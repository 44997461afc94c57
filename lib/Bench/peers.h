/* Bench/peers.h: the libraries that a user has instead, opened at run time, at their best. Our own
 * statements of their ABI (cuBLASLt 13, cuSPARSELt 0.8; sources: their API references). */
#ifndef HD_PEERS_H
#define HD_PEERS_H

#include "Tune/measure.h"
#include "heddle/types.h"

/* What all contenders compute: D[m,n] = A[m,k] x B, B stored n x k. Buffer set i of each
 * rotation. */
typedef struct hd_bench_case {
  int64_t m, n, k;
  int64_t g; /* of a batch: matrices without gaps; else 0 */
  heddle_elem elem;   /* of A and B */
  heddle_elem d_elem;
  const hd_rotation *a_dense, *a_packed, *b, *d; /* borrowed; a_dense: A pruned, in dense form */
  size_t n_sets;
  /* Device memory of f32 scales of 128 elements of k, of A and of B; 0: there are none. They lie
   * row after row of a k-block, but for those that 128 rows of A share (block_rows): k-block after
   * k-block of such rows, a multiple of four of them. */
  uint64_t block_scales[2];
  int64_t block_rows;
  uint64_t workspace; /* device memory, and its size */
  size_t workspace_bytes;
  int32_t n_jobs; /* threads that a peer may use to prepare; 0: 1 */
  /* Names of ways, and of what hd_peer_preparing gives, that are not tried: each broke the device
   * in an earlier process. */
  const char *const *left_out;
  int32_t n_left_out;
} hd_bench_case;

bool hd_bench_case_leaves_out(const hd_bench_case *bench, const char *name);

/* A peer's library, opened. */
typedef struct hd_peer hd_peer;

/* name: "cublas", "cusparselt", or "stream" (kernels that only read what the product must read, or
 * must move: ceilings, not rivals). path NULL: the library's usual names. HEDDLE_ENVIRONMENT when
 * it is not there, HEDDLE_INVALID for an unknown name. */
heddle_status hd_peer_open(heddle_context *ctx, const char *name, const char *path,
                           const hd_device *device, hd_peer **peer);
void hd_peer_close(hd_peer *peer);
/* The usual names of a peer's library, newest first, ended by NULL; NULL: it needs none. */
const char *const *hd_peer_sonames(const char *name);

/* Every way the peer has for the case (both orders of D; heuristics or algorithm ids), as
 * contenders that live until the next prepare or close. `picked` (may be NULL) is the index of what
 * the peer would run by default, -1 when it has none. HEDDLE_UNSUPPORTED when it has no way. */
heddle_status hd_peer_prepare(heddle_context *ctx, hd_peer *peer, const hd_bench_case *bench,
                              const hd_contender **list, int32_t *n, int32_t *picked);
/* What the last hd_peer_prepare was about to do, named like a way: "cusparselt padded to 8". Where
 * it broke the device, this is to be left out. */
const char *hd_peer_preparing(const hd_peer *peer);

/* The same product into m x n values of f32 (s32 of 8-bit integers) at d, of buffer set 0,
 * accumulated no worse: what results are checked against. Runs on the device's stream.
 * HEDDLE_UNSUPPORTED when the peer has no way. */
heddle_status hd_peer_product(heddle_context *ctx, hd_peer *peer, const hd_bench_case *bench,
                              uint64_t d, bool *row_major);

#endif
