// Compiles and runs kernels that only differ in constants, checks what they compute, and leaves by a code: 0 all right, 3 a wrong result.
// The tests of the disk cache run many of these at once and kill some.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace {

constexpr int kCount = 100;

void scale(tw::Ptr<float> p, int FACTOR, int ADDEND) {
  const auto lanes = tw::arange(0, 128);
  const auto at = p + lanes;
  tw::store(at, tw::load(at, lanes < kCount, 0.0f) * float(FACTOR) + float(ADDEND), lanes < kCount);
}

bool is_right(const tw::Device& device, const tw::Kernel<void(tw::Ptr<float>, int, int)>& kernel, int factor, int addend) {
  std::vector<float> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = float(i);
  auto buffer = device.upload(values);
  kernel({.grid = 1}, buffer, factor, addend);
  const std::vector<float> got = buffer.download();
  for (int i = 0; i < kCount; ++i)
    if (got[i] != float(i * factor + addend)) return false;
  return true;
}

}  // namespace

/// worker SEED KERNELS DISTINCT DEVICE: runs KERNELS of the DISTINCT ones in an order of the seed, which all have one name.
int main(int argc, char** argv) {
  if (argc != 5) return 2;
  std::mt19937 random(static_cast<unsigned>(std::atoi(argv[1])));
  const int kernels = std::atoi(argv[2]), distinct = std::atoi(argv[3]);
  const tw::Device device = tw::Device::open(argv[4]);
  const tw::Kernel<void(tw::Ptr<float>, int, int)> kernel("scale", scale);
  for (int i = 0; i < kernels; ++i) {
    const int which = static_cast<int>(random() % static_cast<unsigned>(distinct));
    if (!is_right(device, kernel, which, which * 7 % 13)) return 3;
  }
  const tw::CacheStatistics s = tw::cache_statistics();
  std::printf("hits %llu misses %llu rejected %llu\n", static_cast<unsigned long long>(s.hits), static_cast<unsigned long long>(s.misses),
              static_cast<unsigned long long>(s.rejected));
  return s.rejected == 0 ? 0 : 4;
}
