// Uses the installed package: runs a kernel, and one of the kernel library, and catches an exception of the library by its type.
#include <tilewright/kernels.h>
#include <tilewright/tilewright.h>

#include <cstdio>
#include <cstring>

namespace tw = tilewright;

void add(tw::Ptr<const float> x, tw::Ptr<float> y, tw::I32 n, int BLOCK) {
  auto i = tw::program_id(0) * BLOCK + tw::arange(0, BLOCK);
  auto mask = i < n;
  tw::store(y + i, tw::load(x + i, mask) + 1.0f, mask);
}

int main() {
  const int n = 1000;
  tw::Device device = tw::Device::open("cpu");
  tw::Kernel kernel("add", add);
  std::vector<float> host(n);
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i);
  auto x = device.upload(host), y = device.upload(std::vector<float>(n, -1.0f));
  kernel({.grid = tw::cdiv(n, 256)}, x, y, n, 256);
  const std::vector<float> got = y.download();
  for (int i = 0; i < n; ++i)
    if (got[i] != host[i] + 1.0f) return std::printf("y[%d] is %g\n", i, got[i]), 1;

  auto z = device.allocate<float>(100);
  tw::kernels::matmul(tw::view(x, {10, 1}), tw::view(y, {1, 10}), tw::view(z, {10, 10}));
  if (z.download()[99] != 90) return std::puts("matmul: 9 times 10 is not 90"), 1;

  try {
    kernel({.grid = 1}, x, y, n, 100);
  } catch (const tw::Error& error) {
    if (std::strstr(error.what(), "consumer.cpp:") != nullptr) return std::puts("consumer: passed"), 0;
    return std::printf("an error without this file's name: %s\n", error.what()), 1;
  }
  return std::puts("a range of 100 was accepted"), 1;
}
