// Atomics of all kinds: of CUDA's own functions and of libcu++ with scopes and orders.
#include <cuda/atomic>
#include <cuda_fp16.h>
extern "C" __global__ void atomics(const int* x, int* i, unsigned* u, unsigned long long* l, float* f, double* d, __half2* h) {
  int v = x[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(&i[0], v);
  atomicSub(&i[1], v);
  atomicMin(&i[2], v);
  atomicMax(&i[3], v);
  atomicAnd(&i[4], ~(1 << (v & 31)));
  atomicOr(&i[5], 1 << (v & 31));
  atomicXor(&i[6], v);
  atomicInc(&u[0], 9);
  atomicDec(&u[1], 11);
  atomicAdd_block(&u[2], 2u);
  atomicAdd(&l[0], 1ull << 33);
  atomicMax(&l[1], (unsigned long long)v << 8);
  atomicAdd(&f[0], 0.5f);
  atomicAdd(&d[0], 0.25);
  atomicAdd(&h[0], __floats2half2_rn(1, 2));
  unsigned long long seen = *(volatile unsigned long long*)&l[2], wanted;
  do {
    wanted = seen;
    seen = atomicCAS(&l[2], wanted, wanted * 3 + 1);
  } while (seen != wanted);
}
// One block fills, the others wait for its flag: release and acquire.
extern "C" __global__ void message(int* data, int* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 3 * threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) ready.store(1, cuda::memory_order_release);
  } else {
    if (threadIdx.x == 0)
      while (ready.load(cuda::memory_order_acquire) == 0) {
      }
    __syncthreads();
    out[(blockIdx.x - 1) * blockDim.x + threadIdx.x] = data[threadIdx.x] + 1;
  }
}
// A ticket lock.
extern "C" __global__ void ticket(int* next, int* serving, int* shared_value) {
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> tickets(*next), turn(*serving);
  int mine = tickets.fetch_add(1, cuda::memory_order_relaxed);
  while (turn.load(cuda::memory_order_acquire) != mine) {
  }
  *shared_value = *shared_value * 2 + 1;
  turn.store(mine + 1, cuda::memory_order_release);
}
