// Tiles by tensor maps (TMA), as CUDA's programming guide writes them: a is 32 x 32 words, a box 32 x 8.
#include <cstdint>
#include <cuda.h>
#include <cuda/barrier>
#include <utility>
using u32 = uint32_t;
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
#define KERNEL extern "C" __global__ void
#define MAP const __grid_constant__ CUtensorMap

KERNEL tile_load(MAP a, u32 *d, MAP to) { // each CTA a band of 8 rows
  __shared__ alignas(128) u32 s[8][32];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&s, &a, 0, blockIdx.x * 8, bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof s);
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  d[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x / 32][threadIdx.x % 32];
}

KERNEL tile_add_one(MAP a, u32 *d, MAP to) { // changed in shared memory, stored by a map
  __shared__ alignas(128) u32 s[8][32];
  __shared__ barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&s, &a, 0, blockIdx.x * 8, bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof s);
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  s[threadIdx.x / 32][threadIdx.x % 32] += 1;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&to, 0, blockIdx.x * 8, &s);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}

KERNEL tile_ring(MAP a, u32 *d, MAP to) { // a producer warp, two stages, four tiles
  __shared__ alignas(128) u32 s[2][8][32];
  __shared__ barrier full[2], empty[2];
  u32 consumers = blockDim.x - 32, me = threadIdx.x - 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; i++) {
      init(&full[i], 1);
      init(&empty[i], consumers + 1);
    }
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0)
      for (int i = 0; i < 4; i++) {
        empty[i % 2].wait(empty[i % 2].arrive());
        cde::cp_async_bulk_tensor_2d_global_to_shared(&s[i % 2], &a, 0, i * 8, full[i % 2]);
        (void)cuda::device::barrier_arrive_tx(full[i % 2], 1, sizeof s[0]);
      }
  } else {
    for (int i = 0; i < 2; i++)
      (void)empty[i].arrive();
    for (int i = 0; i < 4; i++) {
      full[i % 2].wait_parity(i / 2 % 2);
      for (u32 at = me; at < 256; at += consumers)
        d[i * 256 + at] = s[i % 2][at / 32][at % 32];
      (void)empty[i % 2].arrive();
    }
  }
}
