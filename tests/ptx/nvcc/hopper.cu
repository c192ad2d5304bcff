// Features that are new in Hopper, through libcu++ and cooperative groups: bulk copies with barriers, and clusters of blocks.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
// Two buffers that bulk copies fill while the other one is summed; results leave by a bulk copy too.
extern "C" __global__ void __launch_bounds__(128) bulk(const float* x, float* out, int steps) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(128) float buffer[2][512];
  __shared__ alignas(128) float result[512];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier full[2];
  if (threadIdx.x == 0) {
    init(&full[0], 1);
    init(&full[1], 1);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  auto fetch = [&](int step) {
    cuda::device::memcpy_async_tx(buffer[step & 1], x + 512 * step, cuda::aligned_size_t<16>(sizeof buffer[0]), full[step & 1]);
    (void)cuda::device::barrier_arrive_tx(full[step & 1], 1, sizeof buffer[0]);
  };
  if (threadIdx.x == 0) fetch(0);
  float sum[4] = {0, 0, 0, 0};
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x == 0 && step + 1 < steps) fetch(step + 1);
    full[step & 1].wait_parity(step >> 1 & 1);
    for (int i = 0; i < 4; ++i) sum[i] += buffer[step & 1][i * 128 + threadIdx.x];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) result[i * 128 + threadIdx.x] = sum[i];
  cuda::device::experimental::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, result, sizeof result);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}
// A histogram whose bins are spread over the shared memories of a cluster.
extern "C" __global__ void __cluster_dims__(4, 1, 1) spread_histogram(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned own[64];
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x < 64) own[threadIdx.x] = 0;
  cluster.sync();
  for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
    int bin = x[i];
    atomicAdd(cluster.map_shared_rank(own, bin / 64) + bin % 64, 1u);
  }
  cluster.sync();
  if (threadIdx.x < 64) bins[cluster.block_rank() * 64 + threadIdx.x] = own[threadIdx.x];
}
