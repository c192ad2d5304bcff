// Opens the devices that programs.h declares.
#include <cstdlib>
#include <sstream>

#include "tests/programs/programs.h"

namespace programs {

const std::vector<tw::Device>& devices() {
  static const std::vector<tw::Device> all = [] {
    std::vector<tw::Device> found;
    if (const char* named = std::getenv("PROGRAMS_DEVICES")) {
      std::istringstream names(named);
      for (std::string name; std::getline(names, name, ',');) found.push_back(tw::Device::open(name));
      return found;
    }
    found = {tw::Device::open("cpu"), tw::Device::open("cpu:x86-64")};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(tw::Device::open("cpu:x86-64-v3"));
    return found;
  }();
  return all;
}

void on_every_device(const std::function<void(tw::Device&)>& program) {
  for (tw::Device device : devices()) {
    INFO("on ", device.name());
    program(device);
  }
}

void on_every_cpu(const std::function<void(tw::Device&)>& program) {
  on_every_device([&](tw::Device& device) {
    if (!is_gpu(device)) program(device);
  });
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const tw::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace programs
