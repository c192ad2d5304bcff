// Arithmetic of half2, bfloat162 and 8-bit floats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void halves(const __half2* x, const __half2* y, __half2* out) {
  int t = threadIdx.x;
  __half2 a = x[t], b = y[t], *o = out + 8 * t;
  o[0] = __hfma2(a, b, __float2half2_rn(0.5f));
  o[1] = __hadd2(a, b);
  o[2] = __hmul2(a, __hsub2(a, b));
  o[3] = __hmax2(a, b);
  o[4] = h2exp(a);
  o[5] = h2rcp(b);
  o[6] = __h2div(a, b);
  o[7] = __hgt2(a, b);
}
extern "C" __global__ void bfloats(const __nv_bfloat162* x, const __nv_bfloat162* y, __nv_bfloat162* out) {
  int t = threadIdx.x;
  __nv_bfloat162 a = x[t], b = y[t], *o = out + 4 * t;
  o[0] = __hfma2(a, b, b);
  o[1] = __hadd2(a, b);
  o[2] = __hmin2(a, __hneg2(b));
  o[3] = __floats2bfloat162_rn(__low2float(a) * __high2float(b), float(__hlt(__low2bfloat16(a), __low2bfloat16(b))));
}
extern "C" __global__ void half_dot(const __half* x, const __half* y, float* out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += __half2float(x[i]) * __half2float(y[i]);
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) *out = sum;
}
