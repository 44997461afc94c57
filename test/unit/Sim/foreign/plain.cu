// Kernels as CUDA programmers write them: shared memory, warps, atomics, flags between CTAs.
// Each takes a (1024 words), d (1024 words, not written yet) and w (a workspace of zeros).
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdint>
#include <cuda/atomic>
namespace cg = cooperative_groups;
using u32 = uint32_t;
#define KERNEL extern "C" __global__ void
#define GLOBAL_ID (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL copy_words(const u32 *a, u32 *d, u32 *w) { d[GLOBAL_ID] = a[GLOBAL_ID]; }

KERNEL reverse_block(const u32 *a, u32 *d, u32 *w) {
  __shared__ u32 s[256];
  s[threadIdx.x] = a[GLOBAL_ID];
  __syncthreads();
  d[GLOBAL_ID] = s[blockDim.x - 1 - threadIdx.x];
}

KERNEL reduce_tree(const u32 *a, u32 *d, u32 *w) {
  __shared__ u32 s[256];
  s[threadIdx.x] = a[GLOBAL_ID];
  __syncthreads();
  for (u32 n = blockDim.x / 2; n > 0; n /= 2) {
    if (threadIdx.x < n)
      s[threadIdx.x] += s[threadIdx.x + n];
    __syncthreads();
  }
  d[GLOBAL_ID] = s[0];
}

KERNEL reduce_shuffle(const u32 *a, u32 *d, u32 *w) {
  __shared__ u32 s[32];
  u32 v = a[GLOBAL_ID];
  for (int n = 16; n > 0; n /= 2)
    v += __shfl_xor_sync(0xffffffff, v, n);
  if (threadIdx.x % 32 == 0)
    s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0;
    for (int n = 16; n > 0; n /= 2)
      v += __shfl_down_sync(0xffffffff, v, n);
    if (threadIdx.x == 0)
      s[0] = v;
  }
  __syncthreads();
  d[GLOBAL_ID] = s[0];
}

KERNEL reduce_redux(const u32 *a, u32 *d, u32 *w) {
  __shared__ u32 s[8];
  u32 v = __reduce_add_sync(0xffffffff, a[GLOBAL_ID]);
  if (threadIdx.x % 32 == 0)
    s[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0;
  for (u32 i = 0; i < blockDim.x / 32; i++)
    v += s[i];
  d[GLOBAL_ID] = v;
}

KERNEL scan_block(const u32 *a, u32 *d, u32 *w) {
  __shared__ u32 s[2][256];
  int p = 0;
  s[0][threadIdx.x] = a[GLOBAL_ID];
  __syncthreads();
  for (u32 n = 1; n < blockDim.x; n *= 2, p ^= 1) {
    s[p ^ 1][threadIdx.x] =
        s[p][threadIdx.x] + (threadIdx.x >= n ? s[p][threadIdx.x - n] : 0);
    __syncthreads();
  }
  d[GLOBAL_ID] = s[p][threadIdx.x];
}

KERNEL scan_warps(const u32 *a, u32 *d, u32 *w) {
  __shared__ u32 total[8];
  u32 v = a[GLOBAL_ID], lane = threadIdx.x % 32;
  for (u32 n = 1; n < 32; n *= 2) {
    u32 other = __shfl_up_sync(0xffffffff, v, n);
    v += lane >= n ? other : 0;
  }
  if (lane == 31)
    total[threadIdx.x / 32] = v;
  __syncthreads();
  for (u32 i = 0; i < threadIdx.x / 32; i++)
    v += total[i];
  d[GLOBAL_ID] = v;
}

KERNEL reverse_half_warps(const u32 *a, u32 *d, u32 *w) {
  u32 mask = threadIdx.x % 32 < 16 ? 0x0000ffff : 0xffff0000;
  d[GLOBAL_ID] = __shfl_xor_sync(mask, a[GLOBAL_ID], 15, 16);
}

KERNEL transpose_tile(const u32 *a, u32 *d, u32 *w) { // 32 x 32
  __shared__ u32 s[32][33];
  u32 x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (u32 i = y; i < 32; i += blockDim.x / 32)
    s[i][x] = a[i * 32 + x];
  __syncthreads();
  for (u32 i = y; i < 32; i += blockDim.x / 32)
    d[i * 32 + x] = s[x][i];
}

KERNEL histogram_shared(const u32 *a, u32 *d, u32 *w) { // 64 bins, of all blocks, then broadcast
  __shared__ u32 s[64], last;
  if (threadIdx.x < 64)
    s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&s[a[GLOBAL_ID] % 64], 1);
  __syncthreads();
  if (threadIdx.x < 64)
    atomicAdd(&w[1 + threadIdx.x], s[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(&w[0], 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last)
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x)
      d[i] = w[1 + i % 64];
}

KERNEL ballot_rank(const u32 *a, u32 *d, u32 *w) { // how many odd ones stand before in the warp
  u32 odd = __ballot_sync(0xffffffff, a[GLOBAL_ID] & 1);
  d[GLOBAL_ID] = __popc(odd & ((1u << threadIdx.x % 32) - 1));
}

KERNEL last_block_sums(const u32 *a, u32 *d, u32 *w) {
  __shared__ bool last;
  __shared__ u32 s[256];
  s[threadIdx.x] = a[GLOBAL_ID];
  __syncthreads();
  for (u32 n = blockDim.x / 2; n > 0; n /= 2) {
    if (threadIdx.x < n)
      s[threadIdx.x] += s[threadIdx.x + n];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    w[16 + blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&w[0], gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) {
    u32 sum = 0;
    for (u32 i = 0; i < gridDim.x; i++)
      sum += w[16 + i];
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x)
      d[i] = sum;
  }
}

KERNEL spin_lock(const u32 *a, u32 *d, u32 *w) { // each block adds its first word under a lock
  if (threadIdx.x == 0) {
    while (atomicCAS(&w[0], 0, 1) != 0)
      ;
    __threadfence();
    w[8] += a[blockIdx.x * blockDim.x];
    u32 n = ++w[9];
    __threadfence();
    atomicExch(&w[0], 0);
    if (n == gridDim.x)
      d[0] = w[8];
  }
}

KERNEL ticket_lock(const u32 *a, u32 *d, u32 *w) {
  if (threadIdx.x == 0) {
    cuda::atomic_ref<u32, cuda::thread_scope_device> next(w[0]), serving(w[1]);
    u32 mine = next.fetch_add(1, cuda::memory_order_relaxed);
    while (serving.load(cuda::memory_order_acquire) != mine)
      __nanosleep(20);
    w[8] += a[blockIdx.x * blockDim.x];
    if (mine == gridDim.x - 1)
      d[0] = w[8];
    serving.store(mine + 1, cuda::memory_order_release);
  }
}

KERNEL flag_release_acquire(const u32 *a, u32 *d, u32 *w) { // block 0 hands its words to block 1
  cuda::atomic_ref<u32, cuda::thread_scope_device> flag(w[0]);
  if (blockIdx.x == 0) {
    w[64 + threadIdx.x] = a[threadIdx.x] + 1;
    __syncthreads();
    if (threadIdx.x == 0)
      flag.store(1, cuda::memory_order_release);
  } else {
    if (threadIdx.x == 0)
      while (flag.load(cuda::memory_order_acquire) == 0)
        ;
    __syncthreads();
    d[threadIdx.x] = w[64 + threadIdx.x];
  }
}

KERNEL flag_volatile_fences(const u32 *a, u32 *d, u32 *w) {
  volatile u32 *flag = w;
  if (blockIdx.x == 0) {
    w[64 + threadIdx.x] = a[threadIdx.x] + 1;
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0)
      *flag = 1;
  } else {
    if (threadIdx.x == 0)
      while (*flag == 0)
        ;
    __threadfence();
    __syncthreads();
    d[threadIdx.x] = w[64 + threadIdx.x];
  }
}

KERNEL flag_relaxed_fences(const u32 *a, u32 *d, u32 *w) {
  cuda::atomic_ref<u32, cuda::thread_scope_device> flag(w[0]);
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    w[64] = a[3];
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
    flag.store(1, cuda::memory_order_relaxed);
  } else if (threadIdx.x == 0) {
    while (flag.load(cuda::memory_order_relaxed) == 0)
      ;
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    d[0] = w[64];
  }
}

KERNEL flag_in_shared(const u32 *a, u32 *d, u32 *w) { // warp 0 hands a word to warp 1
  __shared__ u32 value, flag;
  if (threadIdx.x == 0)
    flag = 0;
  __syncthreads();
  cuda::atomic_ref<u32, cuda::thread_scope_block> f(flag);
  if (threadIdx.x == 0) {
    value = a[7];
    f.store(1, cuda::memory_order_release);
  } else if (threadIdx.x == 32) {
    while (f.load(cuda::memory_order_acquire) == 0)
      __nanosleep(20);
    d[0] = value;
  }
}

KERNEL flag_in_shared_fences(const u32 *a, u32 *d, u32 *w) {
  __shared__ u32 value;
  __shared__ volatile u32 flag;
  if (threadIdx.x == 0)
    flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    value = a[7];
    __threadfence_block();
    flag = 1;
  } else if (threadIdx.x == 32) {
    while (flag == 0)
      ;
    __threadfence_block();
    d[0] = value;
  }
}

KERNEL grid_barrier(const u32 *a, u32 *d, u32 *w) { // shift by a block, between two barriers
  cuda::atomic_ref<u32, cuda::thread_scope_device> count(w[0]);
  w[64 + GLOBAL_ID] = a[GLOBAL_ID];
  __syncthreads();
  if (threadIdx.x == 0) {
    count.fetch_add(1, cuda::memory_order_acq_rel);
    while (count.load(cuda::memory_order_acquire) < gridDim.x)
      ;
  }
  __syncthreads();
  d[GLOBAL_ID] = w[64 + (GLOBAL_ID + blockDim.x) % (gridDim.x * blockDim.x)];
}

KERNEL look_back(const u32 *a, u32 *d, u32 *w) { // a scan of blocks in one pass, by tickets
  __shared__ u32 number, before;
  cuda::atomic_ref<u32, cuda::thread_scope_device> ticket(w[0]);
  if (threadIdx.x == 0)
    number = ticket.fetch_add(1, cuda::memory_order_relaxed);
  __syncthreads();
  u32 block = number;
  if (threadIdx.x == 0) {
    u32 sum = 0;
    for (u32 i = 0; i < blockDim.x; i++)
      sum += a[block * blockDim.x + i];
    u32 prefix = 0;
    if (block) {
      cuda::atomic_ref<u32, cuda::thread_scope_device> state(w[32 + block - 1]);
      while (state.load(cuda::memory_order_acquire) == 0)
        ;
      prefix = w[64 + block - 1];
    }
    w[64 + block] = prefix + sum;
    cuda::atomic_ref<u32, cuda::thread_scope_device>(w[32 + block])
        .store(1, cuda::memory_order_release);
    before = prefix;
  }
  __syncthreads();
  u32 v = before;
  for (u32 i = 0; i <= threadIdx.x; i++)
    v += a[block * blockDim.x + i];
  d[block * blockDim.x + threadIdx.x] = v;
}

KERNEL semaphore_serial(const u32 *a, u32 *d, u32 *w) { // split-k partials, in block order
  if (threadIdx.x == 0) {
    u32 state;
    do
      asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(state) : "l"(w) : "memory");
    while (state != blockIdx.x);
  }
  __syncthreads();
  u32 sum = blockIdx.x ? w[64 + threadIdx.x] : 0;
  sum += a[GLOBAL_ID];
  if (blockIdx.x == gridDim.x - 1)
    d[threadIdx.x] = sum;
  else
    w[64 + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    u32 next = blockIdx.x == gridDim.x - 1 ? 0 : blockIdx.x + 1;
    asm volatile("st.global.release.gpu.b32 [%0], %1;" ::"l"(w), "r"(next) : "memory");
  }
}

KERNEL named_barriers(const u32 *a, u32 *d, u32 *w) { // two warps produce, two consume
  __shared__ u32 s[64];
  u32 half = threadIdx.x / 64, i = threadIdx.x % 64;
  for (u32 step = 0; step < 4; step++) {
    if (half == 0) {
      if (step)
        asm volatile("bar.sync 2, 128;" ::: "memory");
      s[i] = a[step * 64 + i];
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 128;" ::: "memory");
      d[step * 64 + i] = s[63 - i];
      if (step < 3)
        asm volatile("bar.arrive 2, 128;" ::: "memory");
    }
  }
}

KERNEL tiles_of_sixteen(const u32 *a, u32 *d, u32 *w) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  u32 v = a[GLOBAL_ID];
  for (int n = 8; n > 0; n /= 2)
    v += tile.shfl_xor(v, n);
  d[GLOBAL_ID] = v;
}

KERNEL tile_reduce(const u32 *a, u32 *d, u32 *w) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  d[GLOBAL_ID] = cg::reduce(tile, a[GLOBAL_ID], cg::plus<u32>());
}

KERNEL warp_sync_exchange(const u32 *a, u32 *d, u32 *w) {
  __shared__ u32 s[256];
  s[threadIdx.x] = a[GLOBAL_ID];
  __syncwarp();
  u32 v = s[threadIdx.x ^ 1];
  __syncwarp();
  s[threadIdx.x] = v + 1;
  __syncwarp();
  d[GLOBAL_ID] = s[threadIdx.x ^ 1];
}

KERNEL divergent_sums(const u32 *a, u32 *d, u32 *w) { // branches that meet again
  u32 v = a[GLOBAL_ID], r = 0;
  if (v & 1) {
    for (u32 i = 0; i < v % 7; i++)
      r += i;
  } else {
    r = v * 3;
  }
  __syncwarp();
  d[GLOBAL_ID] = r + __shfl_sync(0xffffffff, v, 0);
}
