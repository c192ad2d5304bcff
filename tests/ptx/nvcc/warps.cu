// Votes, matches, shuffles and reductions of warps, and bits.
extern "C" __global__ void votes(const int* x, unsigned* out) {
  int t = threadIdx.x, v = x[t];
  unsigned r = __ballot_sync(~0u, v > 10);
  r ^= __all_sync(~0u, v > -100) << 31;
  r ^= __any_sync(~0u, v == 3) << 30;
  r += __match_any_sync(~0u, v & 7);
  int same;
  r ^= __match_all_sync(~0u, v >> 20, &same) + same;
  r += __reduce_add_sync(~0u, v) ^ __reduce_max_sync(~0u, v) ^ __reduce_xor_sync(~0u, unsigned(v));
  if (v & 1) r += __popc(__activemask());
  out[t] = r;
}
extern "C" __global__ void shuffles(const double* x, double* out) {
  int t = threadIdx.x;
  double v = x[t];
  double up = __shfl_up_sync(~0u, v, 3, 16), down = __shfl_down_sync(~0u, v, 5), at = __shfl_sync(~0u, v, t * 7, 8);
  out[t] = v + 2 * up + 4 * down + 8 * at + 16 * __shfl_xor_sync(~0u, v, 21);
}
extern "C" __global__ void bits(const unsigned* x, const unsigned* y, unsigned long long* out) {
  int t = threadIdx.x;
  unsigned a = x[t], b = y[t];
  unsigned long long r = __popc(a) + 3 * __clz(b) + 5 * __ffs(a) + 7ull * __brev(b);
  r ^= (unsigned long long)__byte_perm(a, b, 0x6053) << 7;
  r += __funnelshift_l(a, b, a) ^ __funnelshift_rc(a, b, b & 63);
  r ^= __umul64hi(r * a, (unsigned long long)b << 20) + __mulhi(int(a), int(b));
  r += (unsigned)__dp4a(int(a), int(b), 17) + __dp4a(a, b, 3u) + __usad(a, b, 9u) + __sad(int(a), int(b), 1u);
  r ^= (unsigned long long)__vadd4(a, b) + __vabsdiffu4(a, b) + __vmaxs2(a, b) + __vcmpgtu4(a, b) + __vavgu2(a, b);
  r += __popcll(r) + __clzll(r) * 1000 + __brevll(r) % 1009;
  r += a / (b | 1) + a % (b | 1) + (unsigned long long)(int(a) / (int(b) | 1)) + r / (b | 1ull) + r % (a | 1ull);
  out[t] = r;
}
extern "C" __global__ void jump(const int* x, int* out) {
  int t = threadIdx.x, v = x[t], r;
  switch (v & 15) {
    case 0: r = v * 3; break;
    case 1: r = v ^ 77; break;
    case 2: r = v / 7; break;
    case 3: r = __popc(v); break;
    case 4: r = v << 3; break;
    case 5: r = __clz(v); break;
    case 6: r = v % 11; break;
    case 7: r = v - 1000; break;
    default: r = -v; break;
  }
  out[t] = r;
}
__constant__ float weights[8] = {1, -2, 3.5f, 0.25f, -1e10f, 7, 8, 9};
__device__ int counter = 40;
// Padding keeps both sides of a transpose free of bank conflicts.
extern "C" __global__ void transpose(const float* x, float* y, int n) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = x[(r + i) * n + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) y[(r + i) * n + c] = tile[threadIdx.x][threadIdx.y + i] * weights[i / 8 + (r & 4)];
  if (threadIdx.x == 0 && threadIdx.y == 0) atomicAdd(&counter, 1);
}
