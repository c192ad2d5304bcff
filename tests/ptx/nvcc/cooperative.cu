// Cooperative groups: grids that wait for each other, tiles, coalesced groups and reductions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void grid_sync(int* a, int* b, int n) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  a[i] = i * 3;
  grid.sync();
  b[i] = a[(i + n / 2) % n];
  grid.sync();
  a[i] = b[n - 1 - i];
}
extern "C" __global__ void tiles(const int* x, int* out, int n) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int t = block.thread_rank(), v = x[t];
  int sum = cg::reduce(tile, v, cg::plus<int>());
  int most = cg::reduce(tile, v, cg::greater<int>());
  int before = cg::exclusive_scan(tile, v);
  out[4 * t] = sum + 1000 * tile.meta_group_rank();
  out[4 * t + 1] = most;
  out[4 * t + 2] = before;
  out[4 * t + 3] = -1;
  if (v % 3 == 0) {
    auto some = cg::coalesced_threads();
    out[4 * t + 3] = some.size() * 100 + some.thread_rank();
  }
}
// One atomic for all lanes that come together.
extern "C" __global__ void compact(const int* x, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) {
    auto active = cg::coalesced_threads();
    int first = 0;
    if (active.thread_rank() == 0) first = atomicAdd(count, active.size());
    first = active.shfl(first, 0);
    out[first + active.thread_rank()] = x[i];
  }
}
