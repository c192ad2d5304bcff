// The cpu device below the public classes: launches of a function of this process, in checked mode too.
#include "runtime/host/host_device.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "entry_object.h"
#include "runtime/devices.h"

using namespace tilewright;

namespace {

// out[i] = i + addend, one element a program.
void iota(const std::uint64_t* a, const backend::HostLaunch* launch, std::int64_t begin, std::int64_t end, std::byte* scratch) {
  auto* out = reinterpret_cast<int*>(a[0]);
  for (std::int64_t i = begin; i < end; ++i) {
    std::uint64_t address = reinterpret_cast<std::uint64_t>(out + i);
    std::uint8_t active = 1;
    if (launch->check) launch->check(launch->check_context, &address, &active, 1, 0);
    if (scratch) scratch[63] = std::byte{1};
    if (active) out[i] = static_cast<int>(i) + static_cast<int>(a[1]);
  }
}

backend::CompiledKernel two_parameters() {
  backend::CompiledKernel k;
  k.params = {ir::Type::pointer(ir::Element::i32, false), ir::Type(ir::Element::i32)};
  k.scratch_bytes = 64;
  k.sites = {{{"kernel.cpp", 5, 1}, true, 4}};
  return k;
}
std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

}  // namespace

TEST_CASE("host_device: a launch runs every program of a grid of three axes") {
  const auto device = rt::open_device("cpu", Here::current());
  const auto kernel = rt::make_host_executable(&iota, two_parameters());
  std::vector<int> out(4 * 5 * 6, -1), want(out.size());
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = static_cast<int>(i) + 10;
  const std::vector<std::uint64_t> arguments{address(out.data()), 10};
  device->launch(*kernel, {.grid = {4, 5, 6}, .where = Here::current()}, arguments, device->default_stream());
  CHECK(out == want);
}

TEST_CASE("host_device: checked mode throws at the kernel's line, keeps the good lanes, and the device goes on") {
  Device device = Device::open("cpu");
  rt::Device& driver = *device.handle();
  const auto kernel = rt::make_host_executable(&iota, two_parameters());
  auto buffer = device.upload(std::vector<int>(10, -1));
  const std::vector<std::uint64_t> arguments{address(buffer.data()), 0};
  try {
    driver.launch(*kernel, {.grid = {12, 1, 1}, .check = true, .where = Here::current()}, arguments, driver.default_stream());
    FAIL("nothing was reported");
  } catch (const Error& e) {
    CHECK(e.where().line == 5);
    CHECK(std::string(e.what()).find("store of 4 bytes at index 10 of a buffer of 10 int elements") != std::string::npos);
    CHECK(std::string(e.what()).find("host_device_test.cpp:") != std::string::npos);
  }
  CHECK(buffer.download() == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  driver.launch(*kernel, {.grid = {10, 1, 1}, .check = true, .where = Here::current()}, arguments, driver.default_stream());
}

TEST_CASE("host_device: a kernel whose tiles do not fit into the machine is refused, and the device goes on") {
  const auto device = rt::open_device("cpu", Here::current());
  backend::CompiledKernel greedy = two_parameters();
  greedy.scratch_bytes = std::size_t{1} << 50;
  const auto kernel = rt::make_host_executable(&iota, two_parameters()), too_large = rt::make_host_executable(&iota, greedy);
  std::vector<int> out(4, -1);
  const std::vector<std::uint64_t> arguments{address(out.data()), 10};
  const rt::LaunchConfig config{.grid = {4, 1, 1}, .where = Here::current()};
  CHECK_THROWS_AS(device->launch(*too_large, config, arguments, device->default_stream()), DeviceError);
  CHECK(out == std::vector<int>(4, -1));
  device->launch(*kernel, config, arguments, device->default_stream());
  CHECK(out == std::vector<int>{10, 11, 12, 13});
}

TEST_CASE("host_device: launches from many threads, on one stream and on several") {
  Device device = Device::open("cpu");
  rt::Device& driver = *device.handle();
  const auto kernel = rt::make_host_executable(&iota, two_parameters());
  std::vector<int> good(6);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      const Stream own = device.stream();
      for (int i = 0; i < 30; ++i) {
        std::vector<int> out(100);
        const std::vector<std::uint64_t> arguments{address(out.data()), 0};
        driver.launch(*kernel, {.grid = {100, 1, 1}, .where = Here::current()}, arguments, t % 2 ? driver.default_stream() : *own.handle());
        good[t] += out[0] == 0 && out[99] == 99;
      }
    });
  for (auto& t : threads) t.join();
  CHECK(good == std::vector<int>(6, 30));
}

TEST_CASE("host_device: launches on one stream never overlap") {
  // If launches were not ordered, increments of threads would be lost.
  static int counter;
  counter = 0;
  backend::CompiledKernel none;
  const backend::HostEntry increment = [](const std::uint64_t*, const backend::HostLaunch*, std::int64_t, std::int64_t, std::byte*) {
    const int seen = counter;
    std::this_thread::yield();
    counter = seen + 1;
  };
  const auto device = rt::open_device("cpu", Here::current());
  const auto kernel = rt::make_host_executable(increment, none);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) device->launch(*kernel, {.where = Here::current()}, {}, device->default_stream());
    });
  for (auto& t : threads) t.join();
  CHECK(counter == 400);
}

TEST_CASE("host_device: load turns an object into an executable") {
  const auto device = rt::open_device("cpu", Here::current());
  backend::CompiledKernel k;
  const auto bytes = std::as_bytes(std::span(kEntryObject));
  k.image.assign(bytes.begin(), bytes.end());
  k.entry = "entry";
  k.params = {ir::Type::pointer(ir::Element::f32, false)};
  const auto kernel = device->load(k, Here::current());
  std::vector<float> out(3);
  const std::vector<std::uint64_t> arguments{address(out.data())};
  device->launch(*kernel, {.grid = {3, 1, 1}, .where = Here::current()}, arguments, device->default_stream());
  CHECK(out == std::vector<float>{1, 3, 5});
}
