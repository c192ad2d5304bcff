// CUB's block algorithms: reduction, scan, radix sort, and a histogram.
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
extern "C" __global__ void reduce(const double* x, double* out) {
  using Reduce = cub::BlockReduce<double, 128>;
  __shared__ typename Reduce::TempStorage storage;
  double sum = Reduce(storage).Sum(x[blockIdx.x * 128 + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
extern "C" __global__ void scan(const int* x, int* out) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage storage;
  int items[4], total;
  for (int i = 0; i < 4; ++i) items[i] = x[threadIdx.x * 4 + i];
  Scan(storage).ExclusiveSum(items, items, total);
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = items[i] + total;
}
extern "C" __global__ void sort(const float* keys, const int* values, float* sorted, int* moved) {
  using Sort = cub::BlockRadixSort<float, 64, 4, int>;
  __shared__ typename Sort::TempStorage storage;
  float k[4];
  int v[4];
  for (int i = 0; i < 4; ++i) k[i] = keys[threadIdx.x * 4 + i], v[i] = values[threadIdx.x * 4 + i];
  Sort(storage).Sort(k, v);
  for (int i = 0; i < 4; ++i) sorted[threadIdx.x * 4 + i] = k[i], moved[threadIdx.x * 4 + i] = v[i];
}
extern "C" __global__ void histogram(const unsigned char* x, unsigned* bins) {
  using Histogram = cub::BlockHistogram<unsigned char, 128, 4, 64>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ unsigned counts[64];
  unsigned char items[4];
  for (int i = 0; i < 4; ++i) items[i] = x[threadIdx.x * 4 + i];
  Histogram(storage).Histogram(items, counts);
  __syncthreads();
  if (threadIdx.x < 64) bins[threadIdx.x] = counts[threadIdx.x];
}
