// The cost of launching a compiled kernel, from the user's call to the driver's: allocations and driver calls.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/runtime/count_allocations.h"
#include "tests/unit/runtime/fake_device.h"
#include "tilewright/tilewright.h"

using namespace tilewright;

namespace {

// Long enough that a copy of it allocates.
const std::string kLongName = "a constant of a type that only its own == compares";
struct Config {
  int block = 64;
  std::array<bool, 3> flags{};
};

void everything(Ptr<const float> x, Ptr<float> y, View<float, 2> v, I32 n, F32 f, Config c, const std::string& name) {
  const I32 i = program_id(0) * c.block + arange(0, c.block);
  store(y + i, load(x + i, i < n) * f + static_cast<float>(name.size()), i < n);
  v.store({0, 0}, zeros<float>({4, 4}));
}

template <class F>
long allocations_of(F&& f) {
  const long before = rt::allocations_so_far();
  f();
  return rt::allocations_so_far() - before;
}

// Allocations of the second launch, with other values in the same classes.
long warm_allocations(const Device& device) {
  Kernel kernel("everything", everything);
  auto x = device.allocate<float>(128), y = device.allocate<float>(128), z = device.allocate<float>(128);
  const Stream stream = device.stream();
  std::string name = kLongName, again = kLongName;
  const auto launch = [&](int n, float f, std::string&& constant) {
    kernel({.grid = 2, .stream = stream}, x, y, view(z, {8, 16}), n, f, Config{.block = 32}, std::move(constant));
  };
  CHECK(allocations_of([&] { launch(33, 1, std::move(name)); }) > 100);
  return allocations_of([&] { launch(35, 2, std::move(again)); });
}

}  // namespace

TEST_CASE("launch path: a warm launch on a GPU allocates nothing, and asks the driver for nothing but the launch") {
  rt::cuda::FakeDriver driver;
  const Device device(rt::cuda::open_fake(driver));
  CHECK(warm_allocations(device) == 0);
  Kernel set("set", [](Ptr<int> p, I32 v) { store(p, v); });
  auto p = device.allocate<int>(1);
  set({.grid = 1}, p, 1);
  const std::size_t first = driver.calls.size();
  driver.parameter_count = 2;
  CHECK(allocations_of([&] { set({.grid = 1}, p, 3); }) == 1);  // the fake's own vector of what it was given
  CHECK(allocations_of([&] { set({.grid = 1}, p, 5); }) == 0);
  CHECK(driver.parameters == std::vector<std::uint64_t>{reinterpret_cast<std::uint64_t>(p.data()), 5});
  CHECK(driver.since(first) ==
        "cuCtxGetCurrent cuCtxPushCurrent cuLaunchKernelEx cuCtxPopCurrent cuCtxGetCurrent cuCtxPushCurrent cuLaunchKernelEx "
        "cuCtxPopCurrent");
}

TEST_CASE("launch path: a warm launch on the cpu allocates nothing") { CHECK(warm_allocations(Device::open("cpu")) == 0); }

TEST_CASE("launch path: more arguments than usual arrive, and differ where one differs") {
  const Device device = Device::open("cpu");
  auto out = device.upload(std::vector<std::int64_t>(40));
  int traces = 0;
  using I = I64;
  Kernel many("many", [&](Ptr<std::int64_t> p, I a, I b, I c, I d, I e, I f, I g, I h, I i, I j, I k, I l, I m, I n, I o, I q, I r, I s,
                          I t, I u, I v, I w, I x, I y, I z, I aa, I bb) {
    ++traces;
    int at = 0;
    for (const I& value : {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q, r, s, t, u, v, w, x, y, z, aa, bb}) store(p + at++, value);
  });
  many({.grid = 1}, out, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28);
  const auto got = out.download();
  for (int i = 0; i < 27; ++i) CHECK(got[static_cast<std::size_t>(i)] == (i < 15 ? i + 1 : i + 2));
  many({.grid = 1}, out, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 36);
  CHECK(traces == 1);
  many({.grid = 1}, out, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 32);
  CHECK(traces == 2);
  CHECK(out.download()[26] == 32);
}
