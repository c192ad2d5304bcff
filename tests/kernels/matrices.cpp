// Devices and comparisons that matrices.h declares.
#include "tests/kernels/matrices.h"

#include <cstdlib>
#include <sstream>

namespace kernel_tests {

void on_every_device(const std::function<void(tw::Device&)>& test) {
  const char* named = std::getenv("KERNELS_DEVICES");
  std::istringstream names(named ? named : "cpu,emulator:sm_80");
  for (std::string name; std::getline(names, name, ',');) {
    INFO("on ", name);
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

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (double x : values) sum += std::isinf(x) ? 0 : x * x;
  return std::sqrt(sum);
}

double error(const std::vector<double>& got, const std::vector<double>& want, double least) {
  REQUIRE(got.size() == want.size());
  std::vector<double> difference(want.size());
  for (std::size_t i = 0; i < want.size(); ++i) difference[i] = std::isinf(want[i]) ? (got[i] == want[i] ? 0 : NAN) : got[i] - want[i];
  for (double d : difference)
    if (!std::isfinite(d)) return INFINITY;
  const double size = norm(difference);
  return size == 0 ? 0 : size / std::max({norm(want), least, 1e-300});
}

}  // namespace kernel_tests
