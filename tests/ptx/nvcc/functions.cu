// Calls: structs by value, recursion, pointers to functions, virtual functions, printf and assert.
#include <cassert>
#include <cstdio>
struct Triple {
  float a[3];
  int b;
};
__device__ __noinline__ float fused(float a, float b, float c) { return a * b + c; }
__device__ __noinline__ float difference(float a, float b, float c) { return a - b - c; }
__device__ __noinline__ Triple moved(float x, Triple t) {
  t.a[1] += x;
  t.b *= 3;
  return t;
}
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ int tree_sum(const int* v, int n) {
  int parts[4], sum = 0;
  if (n <= 4) {
    for (int i = 0; i < n; ++i) sum += v[i];
    return sum;
  }
  for (int i = 0; i < 4; ++i) parts[i] = tree_sum(v + i * (n / 4), n / 4);
  for (int i = 0; i < 4; ++i) sum += (i + 1) * parts[i];
  return sum;
}
__device__ float (*table[2])(float, float, float) = {fused, difference};
struct Shape {
  __device__ virtual int size(int) const = 0;
};
struct Adder : Shape {
  int k;
  __device__ int size(int x) const override { return x + k; }
};
struct Scaler : Shape {
  int k;
  __device__ int size(int x) const override { return x * k; }
};
extern "C" __global__ void calls(const float* x, float* y) {
  int t = threadIdx.x;
  Triple s{{x[t], 1, 2}, t};
  s = moved(x[t], s);
  y[t] = fused(s.a[0], s.a[1], float(s.b)) + table[t & 1](x[t], 2, 3);
}
extern "C" __global__ void recursion(const int* v, int n, int* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 10) + tree_sum(v, n); }
extern "C" __global__ void shapes(int* out) {
  Adder adder;
  Scaler scaler;
  adder.k = 5;
  scaler.k = 7;
  const Shape* shape = threadIdx.x % 3 ? static_cast<const Shape*>(&adder) : &scaler;
  out[threadIdx.x] = shape->size(threadIdx.x);
}
extern "C" __global__ void prints(int n, float f) {
  if (threadIdx.x < n) printf("thread %d of %u: %5.2f %s %llx\n", threadIdx.x, blockDim.x, f * threadIdx.x, "text", 0x123456789abcull);
  assert(n < 4);
}
