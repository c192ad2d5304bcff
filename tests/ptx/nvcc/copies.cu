// A pipeline of asynchronous copies to shared memory, and products by nvcuda::wmma.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
extern "C" __global__ void pipeline(const float4* x, float4* out, int steps) {
  __shared__ float4 stage[3][64];
  int t = threadIdx.x;
  for (int s = 0; s < 2; ++s) {
    if (s < steps) __pipeline_memcpy_async(&stage[s][t], &x[s * 64 + t], 16);
    __pipeline_commit();
  }
  float4 sum = make_float4(0, 0, 0, 0);
  for (int s = 0; s < steps; ++s) {
    if (s + 2 < steps) __pipeline_memcpy_async(&stage[(s + 2) % 3][t], &x[(s + 2) * 64 + t], 16);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    float4 v = stage[s % 3][63 - t];
    sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    __syncthreads();
  }
  out[t] = sum;
}
// 64 by 64 by 64, a warp for each 16 rows and columns of a quarter.
extern "C" __global__ void wmma_matmul(const __half* a, const __half* b, const float* c, float* d) {
  using namespace nvcuda;
  int row = 16 * (threadIdx.x / 32), column = 16 * blockIdx.x;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::load_matrix_sync(sum, c + row * 64 + column, 64, wmma::mem_row_major);
  for (int k = 0; k < 64; k += 16) {
    wmma::load_matrix_sync(fa, a + row * 64 + k, 64);
    wmma::load_matrix_sync(fb, b + column * 64 + k, 64);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= 2;
  wmma::store_matrix_sync(d + row * 64 + column, sum, 64, wmma::mem_row_major);
}
