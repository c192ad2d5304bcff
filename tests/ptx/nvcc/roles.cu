// A pipeline of libcu++ with producer and consumer threads; the last thread invalidates its mbarriers.
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
extern "C" __global__ void roles(const int* x, int* out, int steps) {
  constexpr int kStages = 2, kN = 64;
  __shared__ int buffer[kStages][kN];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  const bool producer = threadIdx.x < 64;
  auto pipe = cuda::make_pipeline(block, &state, producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int t = threadIdx.x % 64;
  if (producer) {
    for (int s = 0; s < steps; ++s) {
      pipe.producer_acquire();
      cuda::memcpy_async(&buffer[s % kStages][t], &x[s * kN + t], cuda::aligned_size_t<4>(4), pipe);
      pipe.producer_commit();
    }
  } else {
    int sum = 0;
    for (int s = 0; s < steps; ++s) {
      pipe.consumer_wait();
      sum += buffer[s % kStages][63 - t];
      pipe.consumer_release();
    }
    out[t] = sum;
  }
}
