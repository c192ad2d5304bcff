// C = A B in f16 with sums in f32, the way of sm_90a: a producer warp fills a ring of three stages by bulk tensor copies, and two warpgroups
// multiply what has arrived by wgmma, one of 64 rows each. A is [m, k], B [k, n], C [m, n], all row-major; m and n are multiples of 128, k
// of 64. wgmma_matmul.ptx is what nvcc 13.0 makes of it:
//   nvcc -ptx -arch=sm_90a -lineinfo wgmma_matmul.cu, with the folders cut from the names in its .file lines
#include <cstdint>

constexpr int kStages = 3, kTileOfA = 16384, kStage = 2 * kTileOfA;

struct alignas(64) TensorMap {
  char opaque[128];
};

__device__ void init(uint32_t barrier, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count)); }
__device__ void wait(uint32_t barrier, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra WAIT;\n}" ::"r"(barrier), "r"(parity)
      : "memory");
}
__device__ void arrive(uint32_t barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
__device__ void expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ void load(uint32_t to, const TensorMap* map, int x, int y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map),
      "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

// PTX ISA, "Matrix Descriptor Format": rows of 128 swizzled bytes.
__device__ uint64_t descriptor(uint32_t at, uint32_t leading, uint32_t stride) {
  return (at & 0x3ffff) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | uint64_t(1) << 62;
}

#define FOUR(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
__device__ void multiply(float (&c)[64], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
      "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "
      "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 1;"
      : SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)
      : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(288)
    wgmma_matmul(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* c, int n, int k) {
  extern __shared__ __align__(1024) char tile[];
  __shared__ __align__(8) uint64_t full[kStages], empty[kStages];
  const auto shared = [](const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); };
  const uint32_t base = shared(tile), full_at = shared(full), empty_at = shared(empty);
  const int row0 = blockIdx.y * 128, col0 = blockIdx.x * 128, steps = k / 64, t = threadIdx.x, warp = t >> 5;
  if (t == 0)
    for (int s = 0; s < kStages; ++s) {
      init(full_at + 8 * s, 1);
      init(empty_at + 8 * s, 2);
    }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (warp == 8) {
    if (t % 32 != 0) return;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const int stage = step % kStages;
      const uint32_t to = base + stage * kStage, barrier = full_at + 8 * stage;
      wait(empty_at + 8 * stage, step / kStages & 1 ^ 1);
      expect(barrier, kStage);
      load(to, &a, step * 64, row0, barrier);
      load(to + kTileOfA, &b, col0, step * 64, barrier);
      load(to + kTileOfA + 8192, &b, col0 + 64, step * 64, barrier);
    }
    return;
  }
  const int group = warp / 4;
  float sum[64] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    const uint32_t from = base + stage * kStage;
    wait(full_at + 8 * stage, step / kStages & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int i = 0; i < 4; ++i)
      multiply(sum, descriptor(from + group * 8192 + 32 * i, 16, 1024), descriptor(from + kTileOfA + 2048 * i, 8192, 1024));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (t % 128 == 0) arrive(empty_at + 8 * stage);
  }
  const int row = row0 + t / 32 * 16 + t % 32 / 4, column = col0 + t % 4 * 2;
  for (int i = 0; i < 64; i += 2)
    *reinterpret_cast<float2*>(c + (row + (i / 2 % 2) * 8) * n + column + i / 4 * 8) = make_float2(sum[i], sum[i + 1]);
}
