// CUDA kernels whose PTX the emulator's tests run. block_kernels.ptx is what nvcc 13.0 makes of them:
//   nvcc -ptx -arch=sm_80 -lineinfo block_kernels.cu, with the folders cut from the names in its .file lines
#include <cstdint>
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
extern "C" __global__ void block_sum(const float* x, float* out, int n) {
  __shared__ float part[32];
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.f;
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
    if (threadIdx.x == 0) atomicAdd(out, s);
  }
}
extern "C" __global__ void tiled_matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[16][16], tb[16][17];
  int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
  float s = 0;
  for (int k = 0; k < n; k += 16) {
    ta[y][x] = a[row * n + k + x];
    tb[y][x] = b[(k + y) * n + col];
    __syncthreads();
    for (int j = 0; j < 16; ++j) s = fmaf(ta[y][j], tb[j][x], s);
    __syncthreads();
  }
  c[row * n + col] = s;
}
extern "C" __global__ void scan(const int* in, int* out, int n) {
  extern __shared__ int buf[];
  int t = threadIdx.x;
  buf[t] = t < n ? in[t] : 0;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d <<= 1) {
    int v = t >= d ? buf[t - d] : 0;
    __syncthreads();
    buf[t] += v;
    __syncthreads();
  }
  if (t < n) out[t] = buf[t];
}
extern "C" __global__ void histogram(const uint8_t* in, unsigned* out, int n) {
  __shared__ unsigned bins[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) if (bins[i]) atomicAdd(&out[i], bins[i]);
}
__device__ unsigned done;
extern "C" __global__ void last_block_sum(const float* x, float* partial, float* out, int n) {
  __shared__ float part[8];
  __shared__ bool last;
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) s += part[w];
    partial[blockIdx.x] = s;
    __threadfence();
    last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    __threadfence();
    if (threadIdx.x == 0) { float t = 0; for (int i = 0; i < gridDim.x; ++i) t += ((volatile float*)partial)[i]; *out = t; }
  }
}
extern "C" __global__ void collatz(const unsigned* in, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = in[i]; unsigned steps = 0;
  while (v > 1) { if (v & 1) v = 3 * v + 1; else v >>= 1; if (++steps > 1000) break; }
  switch (steps & 7) { case 0: steps += 10; break; case 1: steps *= 3; break; case 2: steps ^= 0x55; break; case 3: steps -= 7; break; case 4: steps = ~steps; break; case 5: steps <<= 2; break; default: break; }
  out[i] = steps;
}
extern "C" __global__ void spin_lock(int* lock, int* counter) {
  bool got = false;
  while (!got) {
    if (atomicCAS(lock, 0, 1) == 0) { __threadfence(); *(volatile int*)counter = *(volatile int*)counter + 1; __threadfence(); atomicExch(lock, 0); got = true; }
  }
}
extern "C" __global__ void grid_barrier(int* count, int* data, int* out) {
  if (threadIdx.x == 0) {
    data[blockIdx.x] = blockIdx.x * 3;
    __threadfence();
    atomicAdd(count, 1);
    while (*(volatile int*)count < gridDim.x) {}
    __threadfence();
    int s = 0;
    for (int i = 0; i < gridDim.x; ++i) s += data[i];
    out[blockIdx.x] = s;
  }
}
