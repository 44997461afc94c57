// Tensor cores by hand: mma, mma.sp, wgmma, wgmma.sp, ldmatrix, stmatrix.
#include <cstdint>
#include <cuda_fp16.h>
using u32 = uint32_t;
#define KERNEL extern "C" __global__ void

static __device__ u32 at(const void *p) { return (u32)__cvta_generic_to_shared(p); }
static __device__ int small(u32 x) { return (int)(x % 7) - 3; }
static __device__ u32 half2_of(int x, int y) {
  return __half_as_ushort(__int2half_rn(x)) | (u32)__half_as_ushort(__int2half_rn(y)) << 16;
}
/* Two of four, by row and group: one of the six codes of ordered metadata. */
static __device__ u32 code(u32 row, u32 group) {
  return (0xedc984u >> 4 * ((row + group) % 6)) & 15;
}
static __device__ u32 codes(u32 row, u32 first, u32 n) {
  u32 word = 0;
  for (u32 i = 0; i < n; i++)
    word |= code(row, first + i) << 4 * i;
  return word;
}
/* A's fragment of 16 x 16 halves: row i, column k of a. */
static __device__ void fragment_a(const u32 *a, u32 lane, u32 r[4]) {
  for (u32 j = 0; j < 4; j++) {
    u32 row = lane / 4 + 8 * (j & 1), k = 8 * (j >> 1) + 2 * (lane % 4);
    r[j] = half2_of(small(a[row * 16 + k]), small(a[row * 16 + k + 1]));
  }
}
static __device__ void store_d(u32 *d, u32 lane, const float f[4]) {
  for (u32 j = 0; j < 4; j++)
    d[(lane / 4 + 8 * (j >> 1)) * 8 + 2 * (lane % 4) + (j & 1)] = (u32)(int)f[j];
}

KERNEL mma_f16(const u32 *a, u32 *d, u32 *w) {
  u32 lane = threadIdx.x, x[4], y[2];
  float f[4] = {0, 0, 0, 0};
  fragment_a(a, lane, x);
  for (u32 j = 0; j < 2; j++) {
    u32 k = 8 * j + 2 * (lane % 4), n = lane / 4;
    y[j] = half2_of(small(a[512 + k * 8 + n]), small(a[512 + (k + 1) * 8 + n]));
  }
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};" : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  store_d(d, lane, f);
}

KERNEL mma_sp_f16(const u32 *a, u32 *d, u32 *w) { // the lanes of selector 1 hold the metadata
  u32 lane = threadIdx.x, q = lane % 4, x[4], y[4], e;
  float f[4] = {0, 0, 0, 0};
  fragment_a(a, lane, x);
  for (u32 j = 0; j < 4; j++) {
    u32 k = 8 * j + 2 * q, n = lane / 4;
    y[j] = half2_of(small(a[512 + k * 8 + n]), small(a[512 + (k + 1) * 8 + n]));
  }
  e = q >= 2 ? codes(lane / 4, 4 * (q - 2), 4) | codes(lane / 4 + 8, 4 * (q - 2), 4) << 16 : 0;
  asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 1;"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]),
                 "r"(y[3]), "r"(e));
  store_d(d, lane, f);
}

KERNEL mma_sp_s8(const u32 *a, u32 *d, u32 *w) {
  u32 lane = threadIdx.x, q = lane % 4, x[4] = {0}, y[4] = {0};
  int f[4] = {0, 0, 0, 0};
  for (u32 j = 0; j < 4; j++)
    for (u32 i = 0; i < 4; i++) {
      u32 row = lane / 4 + 8 * (j & 1), c = 16 * (j >> 1) + 4 * q + i, k = 16 * j + 4 * q + i;
      x[j] |= (u32)(small(a[row * 32 + c]) & 255) << 8 * i;
      y[j] |= (u32)(small(a[512 + k * 8 + lane / 4]) & 255) << 8 * i;
    }
  u32 e = codes(lane / 4 + 8 * (q & 1), 8 * (q >> 1), 8);
  asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0;"
               : "+r"(f[0]), "+r"(f[1]), "+r"(f[2]), "+r"(f[3])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]),
                 "r"(y[3]), "r"(e));
  for (u32 j = 0; j < 4; j++)
    d[(lane / 4 + 8 * (j >> 1)) * 8 + 2 * q + (j & 1)] = (u32)f[j];
}

KERNEL ldmatrix_fragments(const u32 *a, u32 *d, u32 *w) { // mma_f16, A and B through shared memory
  __shared__ alignas(16) __half sa[16][16], sb[16][8];
  u32 lane = threadIdx.x, x[4], y[2];
  float f[4] = {0, 0, 0, 0};
  for (u32 i = lane; i < 256; i += 32)
    sa[i / 16][i % 16] = __int2half_rn(small(a[i]));
  for (u32 i = lane; i < 128; i += 32)
    sb[i / 8][i % 8] = __int2half_rn(small(a[512 + i]));
  __syncwarp();
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(at(&sa[lane % 16][lane / 16 * 8])) : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(y[0]), "=r"(y[1]) : "r"(at(&sb[lane % 16][0])) : "memory");
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%0,%1,%2,%3};" : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  store_d(d, lane, f);
}

KERNEL stmatrix_tile(const u32 *a, u32 *d, u32 *w) { // words of a by stmatrix, read back in rows
  __shared__ alignas(16) u32 s[8][4];
  u32 lane = threadIdx.x;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(at(&s[lane % 8][0])),
               "r"(a[lane]) : "memory");
  __syncwarp();
  d[lane] = s[lane / 4][lane % 4];
}

/* ---- wgmma: core matrices of 8 rows of 16 bytes, along k next to each other ---- */

static __device__ uint64_t descriptor(const void *p, u32 along_k, u32 along_mn) {
  return (uint64_t)(at(p) >> 4 & 0x3fff) | (uint64_t)(along_k >> 4) << 16 |
         (uint64_t)(along_mn >> 4) << 32;
}
/* Element (row, k) of a tile with `k_elems` halves a row. */
static __device__ u32 core(u32 row, u32 k, u32 k_elems) {
  return row / 8 * (k_elems * 8) + k / 8 * 64 + row % 8 * 8 + k % 8;
}
static __device__ void fill(const u32 *a, __half *sa, __half *sb, u32 k_b) {
  for (u32 i = threadIdx.x; i < 64 * 16; i += 128)
    sa[core(i / 16, i % 16, 16)] = __int2half_rn(small(a[i]));
  for (u32 i = threadIdx.x; i < 8 * k_b; i += 128)
    sb[core(i % 8, i / 8, k_b)] = __int2half_rn(small(a[512 + i]));
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
}
static __device__ u32 metadata() {
  u32 lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4, h = lane % 4;
  return h < 2 ? codes(row, 4 * h, 4) | codes(row + 8, 4 * h, 4) << 16 : 0;
}
static __device__ void store_wgmma(u32 *d, const float f[4]) {
  store_d(d + threadIdx.x / 32 * 128, threadIdx.x % 32, f);
}
#define ACC "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
#define FENCE "wgmma.fence.sync.aligned;\n"
#define DONE "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"

KERNEL wgmma_dense(const u32 *a, u32 *d, u32 *w) {
  __shared__ alignas(128) __half sa[64 * 16], sb[8 * 16];
  float f[4] = {0, 0, 0, 0};
  fill(a, sa, sb, 16);
  asm volatile(FENCE "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, "
               "0, 0;\n" DONE : ACC : "l"(descriptor(sa, 128, 256)), "l"(descriptor(sb, 128, 256))
               : "memory");
  store_wgmma(d, f);
}

KERNEL wgmma_sp(const u32 *a, u32 *d, u32 *w) {
  __shared__ alignas(128) __half sa[64 * 16], sb[8 * 32];
  float f[4] = {0, 0, 0, 0};
  u32 e = metadata();
  fill(a, sa, sb, 32);
  asm volatile(FENCE "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, %6, 0, "
               "1, 1, 1, 0, 0;\n" DONE : ACC
               : "l"(descriptor(sa, 128, 256)), "l"(descriptor(sb, 128, 512)), "r"(e) : "memory");
  store_wgmma(d, f);
}

KERNEL wgmma_sp_registers(const u32 *a, u32 *d, u32 *w) { // A in registers, two in flight
  __shared__ alignas(128) __half sa[64 * 16], sb[8 * 32];
  float f[4] = {0, 0, 0, 0};
  u32 e = metadata(), x[4];
  fragment_a(a + threadIdx.x / 32 * 256, threadIdx.x % 32, x);
  fill(a, sa, sb, 32);
  asm volatile(FENCE "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "%8, %9, 0, 0, 1, 1, 0;\n"
               "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "%8, %9, 0, 1, 1, 1, 0;\n" DONE : ACC
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(descriptor(sb, 128, 512)), "r"(e)
               : "memory");
  store_wgmma(d, f);
}

KERNEL wgmma_sp_idle_lanes(const u32 *a, u32 *d, u32 *w) { // no metadata where none is read
  __shared__ alignas(128) __half sa[64 * 16], sb[8 * 32];
  float f[4] = {0, 0, 0, 0};
  u32 e = metadata();
  fill(a, sa, sb, 32);
  asm volatile("{ .reg .b32 E; .reg .pred P; setp.lt.u32 P, %7, 2; @P mov.b32 E, %6;\n" FENCE
               "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, E, 0, "
               "1, 1, 1, 0, 0;\n" DONE "}" : ACC
               : "l"(descriptor(sa, 128, 256)), "l"(descriptor(sb, 128, 512)), "r"(e),
                 "r"(threadIdx.x % 4) : "memory");
  store_wgmma(d, f);
}

KERNEL wgmma_sp_reused_metadata(const u32 *a, u32 *d, u32 *w) { // overwritten while it runs
  __shared__ alignas(128) __half sa[64 * 16], sb[8 * 32];
  float f[4] = {0, 0, 0, 0};
  u32 e = metadata();
  fill(a, sa, sb, 32);
  asm volatile("{ .reg .b32 E; mov.b32 E, %6;\n" FENCE
               "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, E, 0, "
               "1, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\nmov.b32 E, %6;\n"
               "wgmma.wait_group.sync.aligned 0; }" : ACC
               : "l"(descriptor(sa, 128, 256)), "l"(descriptor(sb, 128, 512)), "r"(e) : "memory");
  store_wgmma(d, f);
}
