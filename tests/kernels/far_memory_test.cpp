// Arrays whose strides lead past 2^31 and 2^32 elements, in memory of which only the pages that are touched exist.
#include <sys/mman.h>

#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

/// Zeros that take no memory until they are written.
struct FarMemory {
  static constexpr std::size_t kBytes = std::size_t{24} << 30;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ~FarMemory() { munmap(memory, kBytes); }
};

}  // namespace

TEST_CASE("far memory: rows that are more than 2^31 elements apart") {
  FarMemory far;
  REQUIRE(far.memory != MAP_FAILED);
  tw::Device device = tw::Device::open("cpu");
  constexpr std::int64_t kStride = (std::int64_t{1} << 31) + 12345;
  float* memory = static_cast<float*>(far.memory);
  auto buffer = device.wrap(memory, static_cast<std::int64_t>(FarMemory::kBytes / 4));
  auto identity = device.upload(std::vector<float>{1, 0, 0, 1}), out = device.allocate<float>(6);
  for (std::int64_t i = 0; i < 3; ++i) memory[i * kStride] = static_cast<float>(i + 1), memory[i * kStride + 1] = static_cast<float>(-i);
  const auto x = tw::view(buffer, {3, 2}, {kStride, std::int64_t{1}}), y = tw::view(out, {3, 2});
  const std::vector<float> want{1, 0, 2, -1, 3, -2};
  kernels::matmul(x, tw::view(identity, {2, 2}), y);
  CHECK(out.download() == want);
  kernels::fill(y, 0.0f);
  kernels::copy(x, y);
  CHECK(out.download() == want);
  kernels::softmax(x, y);
  CHECK(out.download()[5] == doctest::Approx(1 / (1 + std::exp(5.0))));
  kernels::fill(x, 4.0f);
  CHECK(memory[2 * kStride + 1] == 4);
  CHECK(memory[2 * kStride + 2] == 0);
}
