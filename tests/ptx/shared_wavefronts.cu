// Launches with one request to shared memory each, of many kinds; prints each request before it runs. Under ncu this measures wavefronts:
// shared_wavefronts_h100.txt has the printed requests with ncu's counts.
//   nvcc -std=c++17 -O2 -arch=sm_90 shared_wavefronts.cu -o shared_wavefronts
#include <cstdio>
#include <random>
#include <vector>

template <class T>
__global__ void ld(const int* at, T* out) {
  extern __shared__ int shared[];
  for (int i = threadIdx.x; i < 8192; i += 32) shared[i] = i;
  __syncthreads();
  const int byte = at[threadIdx.x];
  if (byte < 0) return;
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + byte;
  T v;
  if constexpr (sizeof(T) == 16)
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address));
  else if constexpr (sizeof(T) == 8)
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(address));
  else
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(address));
  out[threadIdx.x] = v;
}

template <class T>
__global__ void st(const int* at, T* out) {
  extern __shared__ int shared[];
  const int byte = at[threadIdx.x];
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + byte;
  if (byte >= 0) {
    if constexpr (sizeof(T) == 16)
      asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(address), "r"(byte) : "memory");
    else if constexpr (sizeof(T) == 8)
      asm volatile("st.shared.v2.b32 [%0], {%1, %1};" ::"r"(address), "r"(byte) : "memory");
    else
      asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(byte) : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 99) *reinterpret_cast<int*>(out) = shared[byte];
}

int main() {
  std::mt19937 random(7);
  int* at = nullptr;
  void* out = nullptr;
  if (cudaMalloc(&at, 32 * sizeof(int)) != cudaSuccess || cudaMalloc(&out, 4096) != cudaSuccess) return 1;
  const auto go = [&](int width, bool store, const std::vector<int>& bytes) {
    std::printf("%s %d", store ? "st" : "ld", width);
    for (int b : bytes) b < 0 ? std::printf(" -") : std::printf(" %d", b);
    std::printf("\n");
    cudaMemcpy(at, bytes.data(), 32 * sizeof(int), cudaMemcpyHostToDevice);
    constexpr int kShared = 32768;
    if (width == 16) store ? st<<<1, 32, kShared>>>(at, static_cast<uint4*>(out)) : ld<<<1, 32, kShared>>>(at, static_cast<uint4*>(out));
    if (width == 8) store ? st<<<1, 32, kShared>>>(at, static_cast<uint2*>(out)) : ld<<<1, 32, kShared>>>(at, static_cast<uint2*>(out));
    if (width == 4) store ? st<<<1, 32, kShared>>>(at, static_cast<unsigned*>(out)) : ld<<<1, 32, kShared>>>(at, static_cast<unsigned*>(out));
    if (cudaDeviceSynchronize() != cudaSuccess) std::abort();
  };
  for (int width : {4, 8, 16})
    for (bool store : {false, true}) {
      const auto each = [&](auto element_of) {
        std::vector<int> bytes(32);
        for (int i = 0; i < 32; ++i) bytes[i] = element_of(i) < 0 ? -1 : element_of(i) * width;
        go(width, store, bytes);
      };
      for (int shift = 0; shift <= 5; ++shift) each([&](int i) { return i >> shift; });
      for (int modulus : {2, 4, 8, 16}) each([&](int i) { return i % modulus; });
      for (int stride : {2, 8}) each([&](int i) { return i * stride; });
      each([](int i) { return i ^ 1; });
      each([](int i) { return i % 8 * 8 + i / 8; });
      each([](int i) { return i % 4 * 2 + i / 4 % 2; });
      each([](int i) { return (i & 7) + (i >> 4) * 8; });
      each([](int i) { return (i >> 1 & 7) + (i & 1) * 8; });
      each([](int i) { return i < 8 ? i : 0; });
      each([](int i) { return (i & 3) | (i >> 2 & 1) << 4; });
      for (int k = 0; k < 14; ++k) {
        std::vector<int> element(32);
        for (int& e : element) e = static_cast<int>(random() % (1u << k / 2));
        each([&](int i) { return element[i]; });
      }
      for (int k = 1; k <= 4; ++k) each([&](int i) { return i < 8 * k ? i : -1; });
      for (int k = 0; k < 4; ++k) {
        const unsigned active = random();
        each([&](int i) { return active >> i & 1 ? i : -1; });
      }
    }
}
