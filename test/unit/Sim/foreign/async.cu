// Asynchronous copies, mbarriers, pipelines, clusters.
#include <cooperative_groups.h>
#include <cstdint>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
using u32 = uint32_t;
#define KERNEL extern "C" __global__ void
#define GLOBAL_ID (blockIdx.x * blockDim.x + threadIdx.x)

static __device__ u32 at(const void *p) { return (u32)__cvta_generic_to_shared(p); }
static __device__ void init(uint64_t *bar, u32 n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(bar)), "r"(n) : "memory");
}
static __device__ void fence_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
static __device__ void expect(uint64_t *bar, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(bar)), "r"(bytes)
               : "memory");
}
static __device__ void arrive(uint64_t *bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(bar)) : "memory");
}
static __device__ void wait(uint64_t *bar, u32 parity) {
  asm volatile("{ .reg .pred P; W: mbarrier.try_wait.parity.shared::cta.b64 P, [%0], %1;\n"
               "@P bra D; bra W; D: }" ::"r"(at(bar)), "r"(parity) : "memory");
}
static __device__ void wait_cluster(uint64_t *bar, u32 parity) {
  asm volatile("{ .reg .pred P; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 P, [%0], "
               "%1;\n@P bra D; bra W; D: }" ::"r"(at(bar)), "r"(parity) : "memory");
}
static __device__ void load(void *to, const void *from, u32 bytes, uint64_t *bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
               "[%3];" ::"r"(at(to)), "l"(from), "r"(bytes), "r"(at(bar)) : "memory");
}
static __device__ void fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }

KERNEL cp_async_double_buffer(const u32 *a, u32 *d, u32 *w) { // 4 chunks of 128 words
  __shared__ u32 s[2][128];
  __pipeline_memcpy_async(&s[0][threadIdx.x], &a[threadIdx.x], 4);
  __pipeline_commit();
  for (u32 i = 0; i < 4; i++) {
    if (i + 1 < 4)
      __pipeline_memcpy_async(&s[(i + 1) % 2][threadIdx.x], &a[(i + 1) * 128 + threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    d[i * 128 + threadIdx.x] = s[i % 2][127 - threadIdx.x];
    __syncthreads();
  }
}

KERNEL pipeline_of_thread(const u32 *a, u32 *d, u32 *w) {
  __shared__ u32 s[2][128];
  auto pipe = cuda::make_pipeline();
  for (u32 i = 0; i < 5; i++) {
    if (i < 4) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[i % 2][threadIdx.x], &a[i * 128 + threadIdx.x], sizeof(u32), pipe);
      pipe.producer_commit();
    }
    if (i > 0) {
      if (i < 4)
        cuda::pipeline_consumer_wait_prior<1>(pipe);
      else
        cuda::pipeline_consumer_wait_prior<0>(pipe);
      d[(i - 1) * 128 + threadIdx.x] = s[(i - 1) % 2][threadIdx.x];
      pipe.consumer_release();
    }
  }
}

KERNEL pipeline_of_block(const u32 *a, u32 *d, u32 *w) { // libcu++: stages of a block
  __shared__ u32 s[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (u32 i = 0; i < 5; i++) {
    if (i < 4) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[i % 2][threadIdx.x], &a[i * 128 + threadIdx.x], sizeof(u32), pipe);
      pipe.producer_commit();
    }
    if (i > 0) {
      pipe.consumer_wait();
      d[(i - 1) * 128 + threadIdx.x] = s[(i - 1) % 2][127 - threadIdx.x];
      pipe.consumer_release();
    }
  }
}

KERNEL barrier_tokens(const u32 *a, u32 *d, u32 *w) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ u32 s[128];
  if (threadIdx.x == 0)
    init(&bar, blockDim.x);
  __syncthreads();
  s[threadIdx.x] = a[GLOBAL_ID];
  auto token = bar.arrive();
  u32 own = a[GLOBAL_ID] * 2;
  bar.wait(std::move(token));
  d[GLOBAL_ID] = s[127 - threadIdx.x] + own;
}

KERNEL barrier_memcpy(const u32 *a, u32 *d, u32 *w) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ u32 s[128];
  if (threadIdx.x == 0)
    init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&s[threadIdx.x], &a[GLOBAL_ID], sizeof(u32), bar);
  bar.arrive_and_wait();
  d[GLOBAL_ID] = s[127 - threadIdx.x];
}

KERNEL bulk_load(const u32 *a, u32 *d, u32 *w) {
  __shared__ alignas(128) u32 s[256];
  __shared__ alignas(8) uint64_t bar;
  if (threadIdx.x == 0) {
    init(&bar, 1);
    fence_init();
    fence_async();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&bar, 1024);
    load(s, a + blockIdx.x * 256, 1024, &bar);
  }
  wait(&bar, 0);
  d[GLOBAL_ID] = s[255 - threadIdx.x];
}

KERNEL bulk_load_cuda_barrier(const u32 *a, u32 *d, u32 *w) { // no fence behind init: libcu++
  __shared__ alignas(128) u32 s[256];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0)
    init(&bar, blockDim.x);
  __syncthreads();
  cuda::barrier<cuda::thread_scope_block>::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(s, a + blockIdx.x * 256, cuda::aligned_size_t<16>(1024), bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, 1024);
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  d[GLOBAL_ID] = s[255 - threadIdx.x];
}

KERNEL bulk_ring(const u32 *a, u32 *d, u32 *w) { // a producer warp, two stages, 4 consumer warps
  __shared__ alignas(128) u32 s[2][128];
  __shared__ alignas(8) uint64_t full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; i++) {
      init(&full[i], 1);
      init(&empty[i], 4);
    }
    fence_init();
  }
  __syncthreads();
  if (threadIdx.x == 128) {
    for (u32 i = 0; i < 8; i++) {
      wait(&empty[i % 2], (i / 2 & 1) ^ 1);
      expect(&full[i % 2], 512);
      load(s[i % 2], a + i * 128, 512, &full[i % 2]);
    }
  } else if (threadIdx.x < 128) {
    for (u32 i = 0; i < 8; i++) {
      wait(&full[i % 2], i / 2 & 1);
      d[i * 128 + threadIdx.x] = s[i % 2][127 - threadIdx.x];
      __syncwarp();
      if (threadIdx.x % 32 == 0)
        arrive(&empty[i % 2]);
    }
  }
}

KERNEL generic_ring(const u32 *a, u32 *d, u32 *w) { // producer warps store, consumer warps load
  __shared__ u32 s[2][64];
  __shared__ alignas(8) uint64_t full[2], empty[2];
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; i++) {
      init(&full[i], 64);
      init(&empty[i], 64);
    }
  __syncthreads();
  u32 t = threadIdx.x % 64;
  for (u32 i = 0; i < 8; i++) {
    if (threadIdx.x < 64) {
      wait(&empty[i % 2], (i / 2 & 1) ^ 1);
      s[i % 2][t] = a[i * 64 + t];
      arrive(&full[i % 2]);
    } else {
      wait(&full[i % 2], i / 2 & 1);
      d[i * 64 + t] = s[i % 2][63 - t];
      arrive(&empty[i % 2]);
    }
  }
}

KERNEL bulk_store(const u32 *a, u32 *d, u32 *w) {
  __shared__ alignas(128) u32 s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + 255 - threadIdx.x];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;\n"
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::"l"(
                     d + blockIdx.x * 256), "r"(at(s)) : "memory");
  }
}

KERNEL bulk_reduce(const u32 *a, u32 *d, u32 *w) { // sums of blocks, then the last one copies
  __shared__ alignas(128) u32 s[256];
  __shared__ bool last;
  s[threadIdx.x] = a[GLOBAL_ID];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 1024;\n"
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(w + 64),
                 "r"(at(s)) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __threadfence();
    last = atomicAdd(w, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last)
    d[threadIdx.x] = w[64 + threadIdx.x];
}

KERNEL cluster_exchange(const u32 *a, u32 *d, u32 *w) { // distributed shared memory, by rank
  __shared__ u32 s[128];
  auto cluster = cg::this_cluster();
  s[threadIdx.x] = a[GLOBAL_ID];
  cluster.sync();
  u32 *other = cluster.map_shared_rank(s, (cluster.block_rank() + 1) % cluster.num_blocks());
  d[GLOBAL_ID] = other[threadIdx.x];
  cluster.sync();
}

KERNEL cluster_histogram(const u32 *a, u32 *d, u32 *w) { // 64 bins a CTA, of all of the cluster
  __shared__ u32 bins[64];
  auto cluster = cg::this_cluster();
  if (threadIdx.x < 64)
    bins[threadIdx.x] = 0;
  cluster.sync();
  u32 v = a[GLOBAL_ID] % 128;
  atomicAdd(cluster.map_shared_rank(bins, v / 64) + v % 64, 1);
  cluster.sync();
  if (threadIdx.x < 64)
    d[blockIdx.x * 64 + threadIdx.x] = bins[threadIdx.x];
}

KERNEL cluster_split_barrier(const u32 *a, u32 *d, u32 *w) {
  __shared__ u32 s[128];
  auto cluster = cg::this_cluster();
  s[threadIdx.x] = a[GLOBAL_ID];
  auto token = cluster.barrier_arrive();
  u32 own = a[GLOBAL_ID] * 3;
  cluster.barrier_wait(std::move(token));
  d[GLOBAL_ID] = own + cluster.map_shared_rank(s, 1 - cluster.block_rank())[threadIdx.x];
  cluster.sync();
}

KERNEL cluster_multicast(const u32 *a, u32 *d, u32 *w) { // each CTA brings half, for both
  __shared__ alignas(128) u32 s[256];
  __shared__ alignas(8) uint64_t bar;
  auto cluster = cg::this_cluster();
  u32 rank = cluster.block_rank();
  if (threadIdx.x == 0) {
    init(&bar, 1);
    fence_init();
  }
  cluster.sync();
  if (threadIdx.x == 0) {
    expect(&bar, 1024);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
                 "cluster [%0], [%1], 512, [%2], %3;" ::"r"(at(s + rank * 128)),
                 "l"(a + rank * 128), "r"(at(&bar)), "h"((uint16_t)3) : "memory");
  }
  wait(&bar, 0);
  d[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
  cluster.sync();
}

KERNEL cluster_remote_arrive(const u32 *a, u32 *d, u32 *w) { // rank 1 stores into rank 0
  __shared__ u32 s[128];
  __shared__ alignas(8) uint64_t bar;
  auto cluster = cg::this_cluster();
  u32 rank = cluster.block_rank();
  if (threadIdx.x == 0) {
    init(&bar, 128);
    fence_init();
  }
  cluster.sync();
  if (rank == 1) {
    cluster.map_shared_rank(s, 0)[threadIdx.x] = a[threadIdx.x];
    u32 remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(remote) : "r"(at(&bar)));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote)
                 : "memory");
  } else {
    wait_cluster(&bar, 0);
    d[threadIdx.x] = s[127 - threadIdx.x];
  }
  cluster.sync();
}

KERNEL cluster_st_async(const u32 *a, u32 *d, u32 *w) {
  __shared__ u32 s[128];
  __shared__ alignas(8) uint64_t bar;
  auto cluster = cg::this_cluster();
  u32 other = 1 - cluster.block_rank(), to, signal;
  if (threadIdx.x == 0) {
    init(&bar, 1);
    fence_init();
    expect(&bar, 512);
  }
  cluster.sync();
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(at(s + threadIdx.x)), "r"(other));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(signal) : "r"(at(&bar)), "r"(other));
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
               "r"(a[GLOBAL_ID]), "r"(signal) : "memory");
  wait_cluster(&bar, 0);
  d[GLOBAL_ID] = s[threadIdx.x];
  cluster.sync();
}

KERNEL cluster_bulk_copy(const u32 *a, u32 *d, u32 *w) { // shared memory to the other CTA's
  __shared__ alignas(128) u32 s[128], in[128];
  __shared__ alignas(8) uint64_t bar;
  auto cluster = cg::this_cluster();
  u32 other = 1 - cluster.block_rank(), to, signal;
  s[threadIdx.x] = a[GLOBAL_ID];
  fence_async();
  if (threadIdx.x == 0) {
    init(&bar, 1);
    fence_init();
    expect(&bar, 512);
  }
  cluster.sync();
  if (threadIdx.x == 0) {
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(at(in)), "r"(other));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(signal) : "r"(at(&bar)), "r"(other));
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 512, "
                 "[%2];" ::"r"(to), "r"(at(s)), "r"(signal) : "memory");
  }
  wait_cluster(&bar, 0);
  d[GLOBAL_ID] = in[threadIdx.x];
  cluster.sync();
}

KERNEL cluster_flag(const u32 *a, u32 *d, u32 *w) { // through global memory, at cluster scope
  u32 rank = cg::this_cluster().block_rank();
  if (threadIdx.x == 0 && rank == 0) {
    w[8] = a[5];
    asm volatile("fence.acq_rel.cluster; st.relaxed.cluster.global.b32 [%0], 1;" ::"l"(w) : "memory");
  } else if (threadIdx.x == 0) {
    u32 v;
    do
      asm volatile("ld.relaxed.cluster.global.b32 %0, [%1];" : "=r"(v) : "l"(w) : "memory");
    while (v == 0);
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    d[0] = w[8];
  }
}

KERNEL elected_issuer(const u32 *a, u32 *d, u32 *w) { // elect.sync issues a bulk copy
  __shared__ alignas(128) u32 s[256];
  __shared__ alignas(8) uint64_t bar;
  u32 leads = 0;
  if (threadIdx.x < 32) {
    asm volatile("{ .reg .pred P; elect.sync _|P, 0xffffffff; selp.u32 %0, 1, 0, P; }" : "=r"(leads));
    if (leads) {
      init(&bar, 1);
      fence_init();
    }
  }
  __syncthreads();
  if (leads) {
    expect(&bar, 1024);
    load(s, a, 1024, &bar);
  }
  wait(&bar, 0);
  d[threadIdx.x] = s[threadIdx.x];
}
