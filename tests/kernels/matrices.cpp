// Devices and comparisons that matrices.h declares.
#include "tests/kernels/matrices.h"

namespace kernel_tests {

void on_every_device(const std::function<void(tw::Device&)>& test) {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    INFO("on ", std::string(name));
    tw::Device device = tw::Device::open(name);
    test(device);
  }
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const tw::Error& e) {
    return e.what();
  }
  return "";
}

double error(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isinf(want[i]) && got[i] == want[i]) continue;
    difference += (got[i] - want[i]) * (got[i] - want[i]), size += want[i] * want[i];
  }
  if (difference == 0) return 0;
  return std::isnan(difference) ? INFINITY : std::sqrt(difference / std::max(size, 1e-300));
}

}  // namespace kernel_tests
