// C = A B in f16 with sums in f32, the way of sm_80: three stages of cp.async, ldmatrix from swizzled shared memory, mma. A is [m, k], B [k, n], C
// [m, n], all row-major; m and n are multiples of 128, k of 32. tensor_matmul.ptx is what nvcc 13.0 makes of it:
//   nvcc -ptx -arch=sm_80 -lineinfo tensor_matmul.cu, with the folders cut from the names in its .file lines
#include <cstdint>

__device__ void copy16(uint32_t to, const void* from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from)); }

__device__ void load4(uint32_t (&r)[4], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at));
}
__device__ void load4_transposed(uint32_t (&r)[4], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at));
}
__device__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Rows of 64 bytes and of 256: neighbouring rows have their 16-byte pieces in other banks.
__device__ uint32_t place_a(int row, int piece) { return row * 64 + ((piece ^ (row >> 1 & 3)) << 4); }
__device__ uint32_t place_b(int row, int piece) { return row * 256 + ((piece ^ (row & 7)) << 4); }

extern "C" __global__ void __launch_bounds__(128) tensor_matmul(const uint16_t* a, const uint16_t* b, float* c, int m, int n, int k) {
  constexpr int kStages = 3, kStage = 16384;
  __shared__ __align__(128) char tile[kStages * kStage];
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5, row0 = blockIdx.y * 128, col0 = blockIdx.x * 128;
  const int warp_row = (warp >> 1) * 64, warp_col = (warp & 1) * 64, steps = k / 32;
  const auto fetch = [&](int step) {
    const uint32_t to = base + step % kStages * kStage;
    for (int i = 0; i < 4; ++i) {
      const int at = t + 128 * i;
      copy16(to + place_a(at >> 2, at & 3), a + (row0 + (at >> 2)) * k + step * 32 + (at & 3) * 8);
      copy16(to + 8192 + place_b(at >> 4, at & 15), b + (step * 32 + (at >> 4)) * n + col0 + (at & 15) * 8);
    }
  };
  for (int step = 0; step < kStages - 1; ++step) {
    if (step < steps) fetch(step);
    asm volatile("cp.async.commit_group;");
  }
  float sum[4][8][4] = {};
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group 1;");
    __syncthreads();
    const uint32_t from = base + step % kStages * kStage;
    for (int half = 0; half < 2; ++half) {
      uint32_t left[4][4], right[4][4];
      for (int i = 0; i < 4; ++i) load4(left[i], from + place_a(warp_row + 16 * i + (lane & 15), 2 * half + (lane >> 4)));
      for (int j = 0; j < 4; ++j) load4_transposed(right[j], from + 8192 + place_b(16 * half + (lane & 15), warp_col / 8 + 2 * j + (lane >> 4)));
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 8; ++j) multiply(sum[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
    }
    if (step + kStages - 1 < steps) fetch(step + kStages - 1);
    asm volatile("cp.async.commit_group;");
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j)
      for (int h = 0; h < 2; ++h) {
        const int row = row0 + warp_row + 16 * i + 8 * h + lane / 4, col = col0 + warp_col + 8 * j + lane % 4 * 2;
        *reinterpret_cast<float2*>(c + row * n + col) = make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
      }
}
