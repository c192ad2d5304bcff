// Loops and branches at run time, with handles in variables, arrays, structs, vectors, maps and lambdas.
#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::column, tw::row, tw::load, tw::store;

/// Something that a user carries through a loop.
struct Statistics {
  tw::F32 sum, most;
  std::array<tw::F32, 2> moments;
  void add(const tw::F32& x) {
    sum += tw::sum(x);
    most = tw::maximum(most, tw::max(x));
    for (int k = 0; k < 2; ++k) moments[k] += tw::sum(k == 0 ? x * x : x * x * x);
  }
};

tw::I32 sum_below(tw::I32 n) {
  tw::I32 total = 0;
  for (auto i : tw::range(0, n)) total += i;
  return total;
}

/// A tile-level function with a loop and a branch of its own.
tw::I32 collatz_steps(tw::I32 n) {
  tw::I32 steps = 0;
  tw::loop_while([&] { return n != 1; },
                 [&] {
                   tw::when(n % 2 == 0, [&] { n = n / 2; }, [&] { n = 3 * n + 1; });
                   steps += 1;
                 });
  return steps;
}

}  // namespace

TEST_CASE("control: ranges of every kind run as Python's do") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel run_time("run_time", [](tw::Ptr<std::int32_t> out, tw::I32 lo, tw::I32 hi, tw::I32 step) {
      tw::I32 count = 0, hash = 7;
      for (auto i : tw::range(lo, hi, step)) {
        count += 1;
        hash = hash * 31 + i;
      }
      store(out, count);
      store(out + 1, hash);
    });
    const tw::Kernel constant("constant", [](tw::Ptr<std::int32_t> out, int lo, int hi, int step) {
      tw::I32 count = 0, hash = 7;
      for (auto i : tw::range(lo, hi, step, {.num_stages = 2, .unroll = 4})) {
        count += 1;
        hash = hash * 31 + i;
      }
      store(out, count);
      store(out + 1, hash);
    });
    const tw::Kernel wide("wide", [](tw::Ptr<std::int32_t> out, tw::I64 lo, tw::I64 hi, tw::I32 step) {
      tw::I32 count = 0, hash = 7;
      for (tw::I64 i : tw::range(lo, hi, step)) {
        count += 1;
        hash = hash * 31 + i.to<std::int32_t>();
      }
      store(out, count);
      store(out + 1, hash);
    });
    auto out = device.allocate<std::int32_t>(2);
    const int big = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();
    for (const auto& [lo, hi, step] : {std::array{0, 10, 1},
                                       {0, 10, 3},
                                       {10, 0, -1},
                                       {10, -11, -7},
                                       {5, 5, 1},
                                       {6, 5, 1},
                                       {5, 6, -1},
                                       {-4, 4, 2},
                                       {3, 4, 100},
                                       {0, 1, big},
                                       {big - 5, big, 2},
                                       {least + 5, least, -2},
                                       {least, big, 1 << 30},
                                       {big, least, -(1 << 30)},
                                       {-7, 1000, 13}}) {
      CAPTURE(lo);
      CAPTURE(hi);
      CAPTURE(step);
      std::int32_t count = 0;
      std::uint32_t hash = 7;
      for (std::int64_t i = lo; step > 0 ? i < hi : i > hi; i += step) ++count, hash = hash * 31 + static_cast<std::uint32_t>(i);
      const std::vector<std::int32_t> want{count, static_cast<std::int32_t>(hash)};
      run_time({.grid = 1}, out, lo, hi, step);
      check_same("run time", out.download(), want);
      constant({.grid = 1}, out, lo, hi, step);
      check_same("constant", out.download(), want);
      wide({.grid = 1}, out, lo, hi, step);
      check_same("I64", out.download(), want);
    }
    wide({.grid = 1}, out, std::int64_t{1} << 40, (std::int64_t{1} << 40) + 5, 2);
    CHECK(out.download()[0] == 3);
    CHECK(has(message_of([&] { constant({.grid = 1}, out, 0, 1, 0); }), "control.cpp:"));
  });
}

TEST_CASE("control: carried tiles swap, rotate and live in arrays, structs, vectors, maps, lambdas") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("carried", [](tw::Ptr<const float> x, tw::Ptr<float> out, tw::I32 n) {
      auto i = arange(0, 16);
      auto slot = [&, k = 0]() mutable { return out + 16 * k++ + i; };
      // Fibonacci: the pair swaps.
      tw::F32 a = load(x + i), b = tw::ones<float>({16});
      for (auto s : tw::range(0, n)) {
        (void)s;
        auto next = a + b;
        a = b;
        b = next;
      }
      store(slot(), a);
      store(slot(), b);
      // std::swap, of three in an array.
      std::array<tw::F32, 3> ring{load(x + i), load(x + 16 + i), load(x + 32 + i)};
      for (auto s : tw::range(0, n)) {
        std::swap(ring[0], ring[1]);
        std::swap(ring[1], ring[2]);
        ring[0] += s.to<float>();
      }
      for (const auto& r : ring) store(slot(), r);
      // A vector that is moved in its loop, a map, an optional, a pointer that walks.
      std::vector<tw::F32> parts;
      for (int k = 0; k < 3; ++k) parts.push_back(tw::zeros<float>({16}));
      std::map<int, tw::F32> named{{3, tw::zeros<float>({16})}};
      std::optional<tw::F32> maybe = tw::full<float>({16}, -1);
      auto p = x + i;
      auto more = [&](tw::F32 by) { named[3] += by; };
      for (auto s : tw::range(0, n)) {
        auto v = load(p);
        for (int k = 0; k < 3; ++k) parts[k] += v * (k + 1);
        std::rotate(parts.begin(), parts.begin() + 1, parts.end());
        parts.reserve(parts.capacity() + 1);
        more(v + s.to<float>());
        *maybe = tw::maximum(*maybe, v);
        p += 16;
      }
      for (const auto& t : parts) store(slot(), t);
      store(slot(), named[3]);
      store(slot(), *maybe);
      store(slot(), load(p - 16 * n));
      Statistics all{0, -tw::inf, {0, 0}};
      for (auto s : tw::range(0, n)) all.add(load(x + s * 16 + i));
      store(slot(), all.sum + tw::zeros<float>({16}));
      store(slot(), all.most + tw::zeros<float>({16}));
      store(slot(), tw::where(i < 8, all.moments[0], all.moments[1]));
    });
    const int n = 7;
    auto x = numbers<float>(16 * (n + 1), 1);
    for (float& v : x) v = std::round(v * 8) / 8;  // sums are exact
    auto out = device.allocate<float>(14 * 16);
    kernel({.grid = 1}, device.upload(x), out, n);
    std::vector<double> want(14 * 16);
    double sum = 0, most = -INFINITY, squares = 0, cubes = 0;
    for (int k = 0; k < n * 16; ++k)
      sum += x[k], most = std::max<double>(most, x[k]), squares += double(x[k]) * x[k], cubes += double(x[k]) * x[k] * x[k];
    for (int i = 0; i < 16; ++i) {
      int k = 0;
      auto put = [&](double v) { want[16 * k++ + i] = v; };
      double a = x[i], b = 1;
      std::array<double, 3> ring{x[i], x[16 + i], x[32 + i]};
      std::vector<double> parts(3, 0);
      double named = 0, maybe = -1;
      for (int s = 0; s < n; ++s) {
        const double next = a + b, v = x[16 * s + i];
        a = b, b = next;
        std::swap(ring[0], ring[1]), std::swap(ring[1], ring[2]), ring[0] += s;
        for (int q = 0; q < 3; ++q) parts[q] += v * (q + 1);
        std::rotate(parts.begin(), parts.begin() + 1, parts.end());
        named += v + s, maybe = std::max(maybe, v);
      }
      put(a), put(b);
      for (double r : ring) put(r);
      for (double t : parts) put(t);
      put(named), put(maybe), put(x[i]), put(sum), put(most), put(i < 8 ? squares : cubes);
    }
    check_close("carried (rows of 16)", out.download(), want, 1e-6, 1e-5);
  });
}

TEST_CASE("control: nested loops with bounds of one another; no trip leaves everything as it was") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("nested", [](tw::Ptr<std::int32_t> out, tw::I32 n, tw::I32 m) {
      tw::I32 count = 0, last = -1;
      for (auto i : tw::range(0, n))
        for (auto j : tw::range(i, m, 2)) {
          for (auto k : tw::range(j, i - 1, -1)) {
            count += 1;
            last = i * 10000 + j * 100 + k;
          }
        }
      store(out, count);
      store(out + 1, last);
      store(out + 2, sum_below(n) + sum_below(m + 1));
      tw::I32 nothing = 42;
      for (auto i : tw::range(0, n - n)) nothing = i;
      store(out + 3, nothing);
    });
    auto out = device.allocate<std::int32_t>(4);
    for (const auto& [n, m] : {std::pair{5, 9}, {0, 4}, {4, 0}, {1, 1}}) {
      kernel({.grid = 1}, out, n, m);
      int count = 0, last = -1;
      for (int i = 0; i < n; ++i)
        for (int j = i; j < m; j += 2)
          for (int k = j; k > i - 1; --k) ++count, last = i * 10000 + j * 100 + k;
      check_same("nested", out.download(), std::vector<std::int32_t>{count, last, n * (n - 1) / 2 + m * (m + 1) / 2, 42});
    }
  });
}

TEST_CASE("control: when, with and without otherwise, in loops, in each other, with stores") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("when", [](tw::Ptr<std::int32_t> out, tw::I32 n) {
      auto i = arange(0, 8);
      auto pid = tw::program_id(0);
      tw::I32 t = tw::zeros<std::int32_t>({8}), even = 0, small = 100;
      for (auto s : tw::range(0, n)) {
        tw::when(s % 2 == pid % 2, [&] {
          t = t + i;
          tw::when(s > 3, [&] { even += s; }, [&] { tw::when(t.to<bool>().rank() == 1 ? s == 1 : s == 2, [&] { even -= 50; }); });
        });
        tw::when(s == 2, [&] { small = s; });
      }
      tw::when(pid == 1, [&] { store(out + pid * 32 + 24 + i, i * 3); }, [&] { store(out + pid * 32 + 24 + i, -i); });
      tw::I32 fresh;  // given a value in both arms
      tw::when(pid < 2, [&] { fresh = 1; }, [&] { fresh = pid * 10; });
      store(out + pid * 32 + i, t);
      store(out + pid * 32 + 8 + i, even);
      store(out + pid * 32 + 16 + i, small + fresh);
    });
    for (int n : {0, 1, 3, 9}) {
      auto out = device.allocate<std::int32_t>(96);
      kernel({.grid = 3}, out, n);
      std::vector<std::int32_t> want(96);
      for (int pid = 0; pid < 3; ++pid) {
        int times = 0, even = 0;
        for (int s = 0; s < n; ++s)
          if (s % 2 == pid % 2) {
            ++times;
            if (s > 3)
              even += s;
            else if (s == 1)
              even -= 50;
          }
        for (int i = 0; i < 8; ++i) {
          want[pid * 32 + i] = times * i;
          want[pid * 32 + 8 + i] = even;
          want[pid * 32 + 16 + i] = (n > 2 ? 2 : 100) + (pid < 2 ? 1 : pid * 10);
          want[pid * 32 + 24 + i] = pid == 1 ? i * 3 : -i;
        }
      }
      check_same("when", out.download(), want);
    }
  });
}

TEST_CASE("control: loop_while, to convergence and not at all") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("while", [](tw::Ptr<std::int32_t> steps, tw::Ptr<float> root) {
      auto pid = tw::program_id(0);
      store(steps + pid, collatz_steps(pid + 1));
      // Newton's root of a whole tile, until no lane moves.
      auto i = arange(0, 32);
      auto a = (pid * 32 + i).to<double>();
      tw::F64 x = tw::maximum(a, 1.0), moved = tw::ones<double>({32});
      tw::I32 rounds = 0;
      tw::loop_while([&] { return tw::any(moved > 1e-9) && rounds < 100; },
                     [&] {
                       auto next = (x + a / x) * 0.5;
                       moved = tw::abs(next - x);
                       x = next;
                       rounds += 1;
                     });
      store(root + pid * 32 + i, x.to<float>());
    });
    auto steps = device.allocate<std::int32_t>(30);
    auto root = device.allocate<float>(30 * 32);
    kernel({.grid = 30}, steps, root);
    std::vector<std::int32_t> want;
    std::vector<double> roots;
    for (int n = 1; n <= 30; ++n) {
      int k = 0;
      for (int v = n; v != 1; v = v % 2 ? 3 * v + 1 : v / 2) ++k;
      want.push_back(k);
    }
    for (int i = 0; i < 30 * 32; ++i) roots.push_back(std::sqrt(i));
    check_same("steps", steps.download(), want);
    check_close("root", root.download(), roots, 1e-6, 1e-6);
  });
}

TEST_CASE("control: what cannot be is refused with the user's line") {
  on_every_device([](tw::Device& device) {
    auto out = device.allocate<float>(8);
    auto refused = [&](auto f) {
      const tw::Kernel wrong("wrong", f);
      return message_of([&] { wrong({.grid = 1}, out); });
    };
    auto message = refused([](tw::Ptr<float>) {
      for (auto i : tw::range(0, 4)) {
        (void)i;
        break;
      }
    });
    CHECK(has(message, "control.cpp:" + std::to_string(__LINE__ - 5)));
    message = refused([](tw::Ptr<float> p) {
      tw::F32 x = tw::zeros<float>({4});
      for (auto i : tw::range(0, 4)) {
        (void)i;
        x = tw::sum(x);
      }
      store(p, x);
    });
    CHECK(has(message, "control.cpp:" + std::to_string(__LINE__ - 4)));
    message = refused([](tw::Ptr<float> p) {
      tw::F32 inside;
      for (auto i : tw::range(0, 4)) inside = i.to<float>();
      store(p, inside);
    });
    CHECK(has(message, "control.cpp:" + std::to_string(__LINE__ - 2)));
    const tw::Kernel throws("throws", [](tw::Ptr<float> p) {
      for (auto i : tw::range(0, 4)) {
        if (i.rank() == 0) throw std::out_of_range("mine");
        store(p, 1);
      }
    });
    CHECK_THROWS_WITH_AS(throws({.grid = 1}, out), "mine", std::out_of_range);  // the user's own exception stays as it is
    CHECK(has(refused([](tw::Ptr<float> p) { tw::when(arange(0, 4) == 1, [&] { store(p, 1); }); }), "control.cpp:"));
    tw::F32 kept;
    const tw::Kernel leak("leak", [&](tw::Ptr<float> p) { kept = load(p); });
    leak({.grid = 1}, out);
    CHECK(has(refused([&](tw::Ptr<float> p) { store(p, kept); }), "control.cpp:"));
    CHECK(has(message_of([&] { (void)(kept + 1); }), "control.cpp:"));
    // The device can still be used.
    const tw::Kernel right("right", [](tw::Ptr<float> p) { store(p + arange(0, 8), 1); });
    right({.grid = 1}, out);
    CHECK(out.download()[7] == 1);
  });
}
