// Atomics in kernels: counters, sums, locks, scans that wait for their neighbours. ctest also runs this file with many threads.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::load, tw::program_id, tw::store;

/// The value that lane `i` of the whole grid contributes.
template <class T>
tw::Tile<T> contribution(const tw::I32& i) {
  return (i.to<std::uint32_t>() * 2654435761u ^ 0x9e37u).to<T>();
}
template <class T>
T contribution(std::uint32_t i) {
  return static_cast<T>(i * 2654435761u ^ 0x9e37u);
}

template <class T>
void combine_all(tw::Ptr<T> cells, int BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  auto v = contribution<T>(i);
  auto at = [&](int cell) { return cells + (i * 0 + cell); };
  tw::atomic_add(at(0), v);
  tw::atomic_max(at(1), v);
  tw::atomic_min(at(2), v);
  tw::atomic_and(at(3), v | 1);
  tw::atomic_or(at(4), v & 0xf0);
  tw::atomic_xor(at(5), v);
  tw::atomic_add(cells + 6, 1);  // once a program
}

template <class T>
void check_combined(tw::Device& device) {
  constexpr int kPrograms = 200, kBlock = 64;
  const std::vector<T> before{3, 0, std::numeric_limits<T>::max(), static_cast<T>(~T(0)), 0, 0x55, 0};
  auto cells = device.upload(before);
  tw::Kernel kernel("combine_all", combine_all<T>);
  kernel({.grid = kPrograms}, cells, kBlock);
  std::vector<T> want = before;
  for (std::uint32_t i = 0; i < kPrograms * kBlock; ++i) {
    const T v = contribution<T>(i);
    want[0] = static_cast<T>(static_cast<std::uint64_t>(want[0]) + static_cast<std::uint64_t>(v));
    want[1] = std::max(want[1], v);
    want[2] = std::min(want[2], v);
    want[3] &= v | 1;
    want[4] |= v & 0xf0;
    want[5] ^= v;
  }
  want[6] = kPrograms;
  check_same("combined", cells.download(), want);
}

template <class T>
void tickets(tw::Ptr<T> next, tw::Ptr<std::int32_t> holder, int BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  auto mine = tw::atomic_add(next + i * 0, 1, i % 3 != 0, {.order = tw::Order::relaxed});
  store(holder + mine, i, i % 3 != 0);
}

template <class T>
void add_all(tw::Ptr<T> cells, tw::Ptr<const T> x, int BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  tw::atomic_add(cells + i % 4, load(x + i));
}

/// Sums of whole numbers that the type holds exactly, whatever the order.
template <class T>
void check_float_sums(tw::Device& device, int programs, int greatest) {
  const int n = programs * 32;
  std::vector<T> x(n), want(4);
  std::vector<int> sums(4);
  for (int i = 0; i < n; ++i) {
    const int v = (i * 7) % (2 * greatest + 1) - greatest;
    x[i] = static_cast<T>(static_cast<float>(v));
    sums[i % 4] += v;
  }
  for (int i = 0; i < 4; ++i) want[i] = static_cast<T>(static_cast<float>(sums[i]));
  auto cells = device.upload(std::vector<T>(4));
  tw::Kernel kernel("add_all", add_all<T>);
  kernel({.grid = programs}, cells, device.upload(x), 32);
  check_same("sums", cells.download(), want);
}

/// Adds x to the cells that `at` names, for most lanes, in steps.
template <class T>
void add_where(tw::Ptr<T> cells, tw::Ptr<const std::int32_t> at, tw::Ptr<const T> x, tw::I32 n, tw::I32 per_program, tw::I32 stride,
               int BLOCK) {
  const auto begin = program_id(0) * per_program;
  for (auto first : tw::range(begin, tw::minimum(begin + per_program, n), BLOCK)) {
    auto i = first + arange(0, BLOCK);
    auto inside = i < tw::minimum(begin + per_program, n) && i % 7 != 3;
    tw::atomic_add(cells + load(at + i, inside) * stride, load(x + i, inside), inside, {.order = tw::Order::relaxed});
  }
}

/// Whole numbers into `count` cells: a float or an integer holds each sum exactly, whatever the order.
template <class T>
void check_relaxed_sums(tw::Device& device, int n, int count, int stride, int per_program) {
  std::vector<std::int32_t> at(n);
  std::vector<T> x(n), want(static_cast<std::size_t>(count) * stride);
  std::vector<int> sums(count);
  std::mt19937 engine(static_cast<unsigned>(n + count));
  for (int i = 0; i < n; ++i) {
    at[i] = static_cast<std::int32_t>(engine() % static_cast<unsigned>(count));
    const int v = static_cast<int>(engine() % 3);
    x[i] = static_cast<T>(static_cast<float>(v));
    if (i % 7 != 3) sums[at[i]] += v;
  }
  for (int c = 0; c < count; ++c) want[static_cast<std::size_t>(c) * stride] = static_cast<T>(static_cast<float>(sums[c]));
  auto cells = device.upload(std::vector<T>(want.size()));
  tw::Kernel kernel("add_where", add_where<T>);
  kernel({.grid = std::max(1, (n + per_program - 1) / per_program)}, cells, device.upload(at), device.upload(x), n, per_program, stride,
         64);
  check_same("sums", cells.download(), want);
}

/// Applies one operation, number `op`, between x and the cells that `at` names.
template <class T>
void update_where(tw::Ptr<T> cells, tw::Ptr<const std::int32_t> at, tw::Ptr<const T> x, int op, int BLOCK) {
  const auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  const auto to = cells + load(at + i);
  const auto v = load(x + i);
  const tw::AtomicOptions relaxed{.order = tw::Order::relaxed};
  if (op == 0) tw::atomic_add(to, v, i % 5 != 2, relaxed);
  if (op == 1) tw::atomic_max(to, v, i % 5 != 2, relaxed);
  if (op == 2) tw::atomic_min(to, v, i % 5 != 2, relaxed);
  if constexpr (std::is_integral_v<T>) {
    if (op == 3) tw::atomic_and(to, v, i % 5 != 2, relaxed);
    if (op == 4) tw::atomic_or(to, v, i % 5 != 2, relaxed);
    if (op == 5) tw::atomic_xor(to, v, i % 5 != 2, relaxed);
  }
}

/// The combined values do not depend on the order. What they start with and what is combined are each other's extremes, NaN and -0 too.
template <class T>
void check_relaxed_updates(tw::Device& device) {
  constexpr int kPrograms = 25, kBlock = 128, kCells = 300, kCount = kPrograms * kBlock;
  using Limits = std::numeric_limits<T>;
  std::vector<T> special{T(0), T(1), Limits::lowest(), Limits::max()};
  if constexpr (std::is_floating_point_v<T>)
    special.insert(special.end(), {T(-0.0), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()});
  std::mt19937 engine(7);
  std::vector<std::int32_t> at(kCount);
  std::vector<T> x(kCount), before(kCells);
  for (T& v : before) v = special[engine() % special.size()];
  const auto same_bits = [](const std::vector<T>& a, const std::vector<T>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      INFO("cell ", i);
      CHECK(((a[i] != a[i] && b[i] != b[i]) || std::memcmp(&a[i], &b[i], sizeof(T)) == 0));
    }
  };
  tw::Kernel kernel("update_where", update_where<T>);
  for (int op = 0; op < (std::is_integral_v<T> ? 6 : 3); ++op) {
    INFO("operation ", op);
    for (int i = 0; i < kCount; ++i) {
      at[i] = static_cast<std::int32_t>(engine() % kCells);
      // Sums of these floats are the same in any order.
      x[i] = std::is_floating_point_v<T> && op == 0 ? T(i % 3 == 0 ? -0.0 : 0.0) : special[engine() % special.size()];
    }
    std::vector<T> want = before;
    for (int i = 0; i < kCount; ++i) {
      if (i % 5 == 2) continue;
      T& cell = want[at[i]];
      if (op == 0) {
        if constexpr (std::is_integral_v<T>)
          cell = static_cast<T>(static_cast<std::uint64_t>(cell) + static_cast<std::uint64_t>(x[i]));
        else
          cell += x[i];
      } else if (op <= 2) {
        bool takes = x[i] != x[i] || (op == 1 ? x[i] > cell : x[i] < cell);
        if constexpr (std::is_floating_point_v<T>) takes |= x[i] == cell && std::signbit(x[i]) == (op == 2);  // zeros have an order
        if (takes) cell = x[i];
      }
      if constexpr (std::is_integral_v<T>) {
        if (op == 3) cell &= x[i];
        if (op == 4) cell |= x[i];
        if (op == 5) cell ^= x[i];
      }
    }
    auto cells = device.upload(before);
    kernel({.grid = kPrograms}, cells, device.upload(at), device.upload(x), op, kBlock);
    same_bits(cells.download(), want);
  }
}

/// What a program adds before it looks, or before it takes the maximum, it sees. Each program has 64 cells of its own.
void add_and_look(tw::Ptr<std::int32_t> cells, tw::Ptr<std::int32_t> seen, int BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  tw::atomic_add(cells + i, i, {}, {.order = tw::Order::relaxed});
  tw::atomic_max(cells + i, 40, {}, {.order = tw::Order::relaxed});
  tw::atomic_add(cells + i, 2, i % 2 == 0, {.order = tw::Order::relaxed});
  store(seen + i, load(cells + i));
}

template <class T>
void extremes(tw::Ptr<T> cells, tw::Ptr<const T> x, int BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  auto v = load(x + i);
  tw::atomic_max(cells + i * 0, v);
  tw::atomic_min(cells + (i * 0 + 1), v);
}

void locked_sums(tw::Ptr<std::int32_t> lock, tw::Ptr<std::int32_t> sums, bool polls) {
  auto at = sums + arange(0, 64);
  if (polls)
    tw::loop_while([&] { return tw::atomic_exchange(lock, 1, {}, {.order = tw::Order::acquire}) != 0; },
                   [&] { tw::loop_while([&] { return load(lock, {}, {}, {.is_volatile = true}) != 0; }, [] {}); });
  else
    tw::loop_while([&] { return tw::atomic_cas(lock, 0, 1, {.order = tw::Order::acquire}) != 0; }, [] {});
  store(at, load(at) + arange(0, 64) + program_id(0));
  tw::atomic_exchange(lock, 0, {}, {.order = tw::Order::release});
}

/// The running sum of all of x: each program adds what those before it have published, as far back as the nearest one whose prefix is
/// published.
void look_back_scan(tw::Ptr<const std::int32_t> x, tw::Ptr<std::int32_t> out, tw::Ptr<std::int32_t> state, tw::Ptr<std::int32_t> sums,
                    tw::Ptr<std::int32_t> prefixes, bool volatile_flags) {
  constexpr int kBlock = 32;
  auto me = program_id(0);
  auto publish = [&](tw::Ptr<std::int32_t> values, tw::I32 value, int flag) {
    store(values + me, value);
    if (volatile_flags)
      store(state + me, flag, {}, {.is_volatile = true});
    else
      tw::atomic_exchange(state + me, flag, {}, {.order = tw::Order::release});
  };
  auto lanes = arange(0, kBlock);
  auto mine = load(x + me * kBlock + lanes);
  auto running = tw::sum(tw::where(tw::row(lanes) <= tw::column(lanes), tw::row(mine), 0), 1);
  auto total = tw::sum(mine, 0);
  publish(sums, total, 1);
  tw::I32 before = 0, at = me - 1;
  tw::loop_while([&] { return at >= 0; },
                 [&] {
                   tw::I32 seen = 0;
                   tw::loop_while([&] { return seen == 0; },
                                  [&] {
                                    if (volatile_flags)
                                      seen = load(state + at, {}, {}, {.is_volatile = true});
                                    else
                                      seen = tw::atomic_add(state + at, 0, {}, {.order = tw::Order::acquire});
                                  });
                   tw::when(
                       seen == 2,
                       [&] {
                         before += load(prefixes + at);
                         at = -1;
                       },
                       [&] {
                         before += load(sums + at);
                         at -= 1;
                       });
                 });
  publish(prefixes, before + total, 2);
  store(out + me * kBlock + lanes, running + before);
}

}  // namespace

TEST_CASE("atomics: all lanes of all programs on one address, integers of every width") {
  on_every_device([](tw::Device& device) {
    check_combined<std::int32_t>(device);
    check_combined<std::uint32_t>(device);
    check_combined<std::int64_t>(device);
    check_combined<std::uint64_t>(device);
  });
}

TEST_CASE("atomics: every lane that counts gets a number of its own") {
  on_every_device([](tw::Device& device) {
    constexpr int kPrograms = 100, kBlock = 128;
    std::vector<std::int32_t> want;
    for (int i = 0; i < kPrograms * kBlock; ++i)
      if (i % 3 != 0) want.push_back(i);
    auto next = device.upload(std::vector<std::int32_t>(1));
    auto wide_next = device.upload(std::vector<std::int64_t>(1));
    auto holder = device.upload(std::vector<std::int32_t>(want.size(), -1));
    const auto check = [&] {
      auto got = holder.download();
      std::sort(got.begin(), got.end());
      check_same("holders", got, want);
    };
    tw::Kernel kernel("tickets", tickets<std::int32_t>);
    kernel({.grid = kPrograms}, next, holder, kBlock);
    check();
    CHECK(next.download()[0] == std::int32_t(want.size()));
    holder.fill(-1);
    tw::Kernel wide("wide_tickets", tickets<std::int64_t>);
    wide({.grid = kPrograms}, wide_next, holder, kBlock);
    check();
  });
}

TEST_CASE("atomics: relaxed sums into few cells and many, near each other and far apart") {
  on_every_device([](tw::Device& device) {
    for (int count : {1, 5, 256, 4000}) {
      check_relaxed_sums<std::int32_t>(device, 9001, count, 1, 700);
      check_relaxed_sums<float>(device, 9001, count, 1, 64);
    }
    check_relaxed_sums<std::uint64_t>(device, 5000, 100, 256, 5000);
    check_relaxed_sums<double>(device, 5000, 100, 4096, 333);
    check_relaxed_sums<tw::f16>(device, 3000, 30, 1, 100);
    check_relaxed_sums<tw::bf16>(device, 300, 7, 3, 100);
    check_relaxed_sums<float>(device, 0, 7, 1, 64);
    // More lines of memory than a thread combines, and so many that it gives up.
    check_relaxed_sums<std::int32_t>(device, 9000, 2500, 64, 9000);
    check_relaxed_sums<float>(device, 20000, 8000, 64, 10000);
  });
}

TEST_CASE("atomics: relaxed updates by each operation, of NaN and extremes") {
  on_every_device([](tw::Device& device) {
    check_relaxed_updates<std::int32_t>(device);
    check_relaxed_updates<std::uint64_t>(device);
    check_relaxed_updates<float>(device);
    check_relaxed_updates<double>(device);
  });
}

TEST_CASE("atomics: a program sees its own relaxed ones, and in their order") {
  on_every_device([](tw::Device& device) {
    constexpr int kPrograms = 30, kBlock = 64;
    auto cells = device.upload(std::vector<std::int32_t>(kPrograms * kBlock)), seen = device.upload(cells.download());
    tw::Kernel kernel("add_and_look", add_and_look);
    kernel({.grid = kPrograms}, cells, seen, kBlock);
    std::vector<std::int32_t> want;
    for (int i = 0; i < kPrograms * kBlock; ++i) want.push_back(std::max(i, 40) + (i % 2 == 0 ? 2 : 0));
    check_same("cells", cells.download(), want);
    check_same("seen", seen.download(), want);
  });
}

TEST_CASE("atomics: sums of floats of every width lose no addend") {
  on_every_device([](tw::Device& device) {
    check_float_sums<float>(device, 200, 100);
    check_float_sums<double>(device, 200, 100);
    check_float_sums<tw::f16>(device, 64, 1);
    check_float_sums<tw::bf16>(device, 64, 1);
    // Sums of numbers that are rounded are right within half a unit for each addition.
    const int n = 100 * 32;
    const auto x = numbers<float>(n, 5);
    const auto halves = numbers<tw::f16>(n, 6);
    std::vector<double> sums(4), half_sums(4);
    for (int i = 0; i < n; ++i) sums[i % 4] += x[i], half_sums[i % 4] += as_double(halves[i]);
    auto cells = device.upload(std::vector<float>(4));
    auto half_cells = device.upload(std::vector<tw::f16>(4));
    tw::Kernel("add_f32", add_all<float>)({.grid = 100}, cells, device.upload(x), 32);
    tw::Kernel("add_f16", add_all<tw::f16>)({.grid = 100}, half_cells, device.upload(halves), 32);
    check_close("f32 sums", cells.download(), sums, 1e-4, 1e-3);
    check_close("f16 sums", half_cells.download(), half_sums, 0.1, 4);
  });
}

TEST_CASE("atomics: extremes of floats: NaN wins, zeros are ordered") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel single("extremes_f32", extremes<float>);
    const tw::Kernel wide("extremes_f64", extremes<double>);
    const auto check = [&](std::vector<double> x, double greatest, double least) {
      INFO("extremes ", greatest, " and ", least);
      x.resize(512, x.back());
      std::rotate(x.begin(), x.begin() + 300, x.end());
      auto cells = device.upload(std::vector<double>{-INFINITY, INFINITY});
      wide({.grid = 16}, cells, device.upload(x), 32);
      check_same("f64", cells.download(), std::vector<double>{greatest, least});
      auto single_cells = device.upload(std::vector<float>{-INFINITY, INFINITY});
      single({.grid = 16}, single_cells, device.upload(std::vector<float>(x.begin(), x.end())), 32);
      check_same("f32", single_cells.download(), std::vector<float>{float(greatest), float(least)});
    };
    check({3, -7, 2.5}, 3, -7);
    check({0.0, -0.0, 0.0}, 0.0, -0.0);
    check({-0.0}, -0.0, -0.0);
    check({1, NAN, 2}, NAN, NAN);
    check({INFINITY, 5, -INFINITY}, INFINITY, -INFINITY);
  });
}

TEST_CASE("atomics: a lock lets one program at a time change a tile") {
  on_every_device([](tw::Device& device) {
    for (bool polls : {false, true}) {
      constexpr int kPrograms = 300;
      auto lock = device.upload(std::vector<std::int32_t>(1));
      auto sums = device.upload(std::vector<std::int32_t>(64));
      tw::Kernel("locked_sums", locked_sums)({.grid = kPrograms}, lock, sums, polls);
      std::vector<std::int32_t> want(64);
      for (int i = 0; i < 64; ++i) want[i] = kPrograms * i + kPrograms * (kPrograms - 1) / 2;
      check_same("sums", sums.download(), want);
      CHECK(lock.download()[0] == 0);
    }
  });
}

TEST_CASE("atomics: a program may wait for those of lower number: a scan in one launch") {
  on_every_device([](tw::Device& device) {
    for (bool volatile_flags : {false, true}) {
      if (volatile_flags && is_gpu(device)) continue;  // volatile accesses order no others there
      constexpr int kPrograms = 400, kBlock = 32;
      const auto x = numbers<std::int32_t>(kPrograms * kBlock, 3, 50);
      auto out = device.upload(std::vector<std::int32_t>(x.size(), -1));
      auto state = device.upload(std::vector<std::int32_t>(kPrograms)), sums = device.allocate<std::int32_t>(kPrograms);
      auto prefixes = device.allocate<std::int32_t>(kPrograms);
      tw::Kernel("look_back_scan", look_back_scan)({.grid = kPrograms}, device.upload(x), out, state, sums, prefixes, volatile_flags);
      std::vector<std::int32_t> want(x.size());
      std::partial_sum(x.begin(), x.end(), want.begin());
      check_same("scan", out.download(), want);
    }
  });
}

TEST_CASE("atomics: a histogram of bytes") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("histogram", [](tw::Ptr<const std::uint8_t> x, tw::Ptr<std::int32_t> bins, tw::I32 n, int BLOCK) {
      auto i = program_id(0) * BLOCK + arange(0, BLOCK);
      auto value = load(x + i, i < n);
      tw::atomic_add(bins + value.to<std::int32_t>(), 1, i < n, {.order = tw::Order::relaxed});
    });
    const auto x = random_bits<std::uint8_t>(10007, 4);
    std::vector<std::int32_t> want(256);
    for (std::uint8_t v : x) ++want[v];
    auto bins = device.upload(std::vector<std::int32_t>(256));
    kernel({.grid = tw::cdiv(10007, 512)}, device.upload(x), bins, 10007, 512);
    check_same("bins", bins.download(), want);
  });
}

TEST_CASE("atomics: lanes that are off touch nothing and give 0; mask and value broadcast") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("masked", [](tw::Ptr<std::int32_t> x, tw::Ptr<std::int32_t> nowhere, tw::Ptr<std::int32_t> out) {
      auto r = tw::column(arange(0, 8)), c = tw::row(arange(0, 8));
      auto at = r * 8 + c;
      store(out + at, tw::atomic_add(x + at, tw::row(arange(0, 8)), tw::column(arange(0, 8)) < 3));
      store(out + 64 + at, tw::atomic_exchange(nowhere + at, 7, false));
      store(out + 128 + at, tw::atomic_or(nowhere + at, 7, program_id(0) > 0));
      store(out + 192 + at, tw::atomic_cas(x + at, c, -1));
      store(out + 256, tw::atomic_max(nowhere, 3, program_id(0) == 1));
    });
    std::vector<std::int32_t> x(64), want(257);
    std::iota(x.begin(), x.end(), 0);
    auto memory = device.upload(x);
    auto out = device.upload(std::vector<std::int32_t>(257, -5));
    kernel({.grid = 1}, memory, nullptr, out);
    for (int i = 0; i < 64; ++i) {
      if (i / 8 < 3) want[i] = x[i], x[i] += i % 8;
      want[192 + i] = x[i];
      if (x[i] == i % 8) x[i] = -1;
    }
    check_same("old values", out.download(), want);
    check_same("memory", memory.download(), x);
  });
}

TEST_CASE("atomics: stores, atomics and loads of one program see each other in order") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("in_order", [](tw::Ptr<std::int32_t> x, tw::Ptr<std::int32_t> out) {
      auto i = arange(0, 16);
      store(x + i, i);
      auto old = tw::atomic_add(x + (15 - i), 100, {}, {.order = tw::Order::relaxed});
      auto now = load(x + i);
      store(x + i, now * 2);
      auto last = tw::atomic_exchange(x + i / 2, -i, {}, {.order = tw::Order::relaxed});
      store(out + i, old);
      store(out + 16 + i, now);
      store(out + 32 + i, last);
      store(out + 48 + i, load(x + i));
    });
    auto x = device.upload(std::vector<std::int32_t>(16, -1)), out = device.upload(std::vector<std::int32_t>(64));
    kernel({.grid = 1}, x, out);
    std::vector<std::int32_t> want(64);
    for (int i = 0; i < 16; ++i) {
      want[i] = 15 - i;
      want[16 + i] = i + 100;
      want[32 + i] = i % 2 == 0 ? (i / 2 + 100) * 2 : -(i - 1);
      want[48 + i] = i < 8 ? -(2 * i + 1) : (i + 100) * 2;
    }
    check_same("in order", out.download(), want);
  });
}

TEST_CASE("atomics: checked mode turns off and names what is outside or misaligned") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("bins", [](tw::Ptr<std::int32_t> bins, tw::Ptr<std::int32_t> out, tw::I32 first) {
      auto i = arange(0, 8) + first;
      store(out + arange(0, 8), tw::atomic_add(bins + i, 1));
    });
    const std::vector<std::int32_t> start{1, 2, 3, 4};
    auto bins = device.upload(start), out = device.upload(std::vector<std::int32_t>(8, -1));
    const std::string outside = message_of([&] { kernel({.grid = 1, .check = true}, bins, out, 0); });
    INFO(outside);
    CHECK(has(outside, "error: atomic access of 4 bytes at index 4 of a buffer of 4 int elements (the first element past its end)"));
    CHECK(has(outside, "4 accesses in all were outside of every buffer or misaligned"));
    check_same("bins", bins.download(), std::vector<std::int32_t>{2, 3, 4, 5});
    check_same("old values", out.download(), std::vector<std::int32_t>{1, 2, 3, 4, 0, 0, 0, 0});

    const tw::Kernel shifted("shifted", [](tw::Ptr<std::int32_t> bins, tw::Ptr<std::int32_t> out) {
      auto between = (bins.bitcast<std::uint64_t>() + 2).bitcast<std::int32_t*>();
      store(out, tw::atomic_add(between, 1));
      store(out + 1, tw::atomic_add(bins, 1));
    });
    const std::string crooked = message_of([&] { shifted({.grid = 1, .check = true}, bins, out); });
    INFO(crooked);
    CHECK(has(crooked, "error: atomic access of 4 bytes at address 0x"));
    CHECK(has(crooked, ", which is not a multiple of 4"));
    check_same("old values", out.download(), std::vector<std::int32_t>{0, 2, 3, 4, 0, 0, 0, 0});
  });
}
