// Memory that a lane must not access: where its mask is false, and the bytes of neighbouring elements.
#include <sys/mman.h>
#include <unistd.h>

#include <numeric>

#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::column, tw::row, tw::load, tw::store;

/// Two accessible pages of memory between two inaccessible ones.
class GuardedMemory {
 public:
  GuardedMemory() : page_(sysconf(_SC_PAGESIZE)) {
    memory_ = static_cast<char*>(mmap(nullptr, 4 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(mprotect(memory_ + page_, 2 * page_, PROT_READ | PROT_WRITE) == 0);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(memory_, 4 * page_); }
  char* begin() const { return memory_ + page_; }
  char* end() const { return memory_ + 3 * page_; }

 private:
  std::size_t page_;
  char* memory_;
};

template <class T>
void check_guarded(tw::Device& device) {
  const GuardedMemory memory;
  const tw::Kernel edge("edge", [](tw::Ptr<const T> x, tw::Ptr<T> y, tw::I32 n, int block) {
    auto i = arange(0, block);
    store(y + i, load(x + i, i < n), i < n);
  });
  const tw::Kernel backwards("backwards", [](tw::Ptr<const T> x, tw::Ptr<T> y, tw::I32 n, int block) {
    auto i = arange(0, block);
    store(y - i, load(x - i, i < n), i < n);
  });
  const tw::Kernel odd("odd", [](tw::Ptr<const T> x, tw::Ptr<T> y, tw::I32 n, int block) {
    auto i = arange(0, block);
    auto there = i < n && i % 2 == 1;
    store(y + i, load(x + i, there), there);
  });
  const tw::Kernel strided("strided", [](tw::Ptr<const T> x, tw::Ptr<T> y, tw::I32 n, int block) {
    auto i = arange(0, block);
    store(y + i * 3, load(x + i * 2, i < n, T(0)), i < n);
  });
  const tw::Kernel views("views", [](tw::View<const T, 2> x, tw::View<T, 2> y, bool transposed, int a, int b) {
    auto t = x.load({0, 0}, {a, b});
    y.store({0, 0}, transposed ? tw::transpose(t) : t);
  });
  const tw::Kernel nothing("nothing", [](tw::Ptr<const T> x, tw::Ptr<T> y, tw::Bool any, int block) {
    auto i = arange(0, block);
    store(y + i, load(x + i, any), any);
  });
  constexpr int block = 128;
  for (int n : {1, 15, 100}) {
    auto other = device.allocate<T>(512);
    const auto at_end = [&](int count) { return device.wrap(reinterpret_cast<T*>(memory.end()) - count, count); };
    auto last = at_end(n), first = device.wrap(reinterpret_cast<T*>(memory.begin()), n);
    const auto x = numbers<T>(n, n, 10);
    last.upload(x);
    edge({.grid = 1}, last, other, n, block);
    edge({.grid = 1}, other, last, n, block);
    odd({.grid = 1}, last, other, n, block);
    odd({.grid = 1}, other, last, n, block);
    for (bool transposed : {false, true}) {
      const auto line = tw::view(other, {1, n}), standing = tw::view(other, {n, 1});
      views({.grid = 1}, tw::view(last, {1, n}), transposed ? standing : line, transposed, 4, block);
      views({.grid = 1}, line, transposed ? tw::view(last, {n, 1}) : tw::view(last, {1, n}), transposed, 4, block);
    }
    check_same("the last elements of a page", last.download(), x);
    backwards({.grid = 1}, last + (n - 1), first + (n - 1), n, block);
    backwards({.grid = 1}, first + (n - 1), other + 511, n, block);
    check_same("the first elements of a page", first.download(), x);
    auto doubled = at_end(2 * n - 1), trebled = at_end(3 * n - 2);
    strided({.grid = 1}, doubled, other, n, block);
    strided({.grid = 1}, other, trebled, n, block);
    nothing({.grid = 1, .device = device}, reinterpret_cast<T*>(memory.end()), reinterpret_cast<T*>(memory.end()), false, block);
    device.synchronize();
  }
}

/// Programs that run at the same time, each writing every third element of the same bytes.
template <class T>
void check_neighbours(tw::Device& device) {
  const tw::Kernel kernel("thirds", [](tw::Ptr<T> y) {
    auto pid = tw::program_id(0);
    auto i = pid / 3 * 256 + arange(0, 256);
    store(y + i, 1, i % 3 == pid % 3);
  });
  auto y = device.allocate<T>(1 << 14);
  y.fill(T(0));
  kernel({.grid = 3 * (1 << 14) / 256}, y);
  check_same("thirds", y.download(), std::vector<T>(1 << 14, T(1)));
}

}  // namespace

TEST_CASE("lanes: masked-off lanes read and write nothing at the edge of memory") {
  on_every_cpu([](tw::Device& device) {
    check_guarded<std::int8_t>(device);
    check_guarded<tw::bf16>(device);
    check_guarded<float>(device);
    check_guarded<double>(device);
  });
}

TEST_CASE("lanes: masked stores of programs that run at once leave each other's bytes alone") {
  on_every_device([](tw::Device& device) {
    check_neighbours<std::uint8_t>(device);
    check_neighbours<tw::f16>(device);
    check_neighbours<float>(device);
    check_neighbours<std::int64_t>(device);
  });
}

TEST_CASE("lanes: buffers that overlap: each load sees the stores before it and none after") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("overlap", [](tw::Ptr<float> x, tw::Ptr<float> y, tw::Ptr<float> z) {
      auto i = arange(0, 128);
      auto before = load(x + i);
      store(y + i, before + 1000);
      auto after = load(x + i);
      store(z + i, before * 2);
      store(z + 128 + i, after);
    });
    std::vector<float> x(512);
    std::iota(x.begin(), x.end(), 0.0f);
    auto buffer = device.upload(x);
    kernel({.grid = 1}, buffer, buffer + 1, buffer + 256);
    const auto before = x;
    for (int i = 0; i < 128; ++i) x[1 + i] = before[i] + 1000;
    for (int i = 0; i < 128; ++i) x[256 + i] = before[i] * 2, x[384 + i] = x[i];
    check_same("overlap", buffer.download(), x);

    const tw::Kernel prefix("prefix", [](tw::Ptr<std::int32_t> p, int n) {
      auto i = arange(0, n);
      for (int d = 1; d < n; d *= 2) {
        auto earlier = load(p + i - d, i >= d);
        store(p + i, load(p + i) + earlier);
      }
    });
    auto counts = device.upload(std::vector<std::int32_t>(256, 1));
    prefix({.grid = 1}, counts, 256);
    std::vector<std::int32_t> want(256);
    std::iota(want.begin(), want.end(), 1);
    check_same("prefix", counts.download(), want);
  });
}
