// The trace of loops and branches, with variables in arrays, structs, vectors, lambdas and references.
#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "tests/unit/frontend/traced.h"
#include "tileir/op_kind.h"

namespace tw = tilewright;
using traced::run;
using traced::trace;

namespace {

std::string text(const tw::ir::Function& f) { return tw::ir::print(f); }

int count(const std::string& where, const std::string& what) {
  int n = 0;
  for (std::size_t at = where.find(what); at != std::string::npos; at = where.find(what, at + 1)) ++n;
  return n;
}

tw::I32 sum_to(tw::I32 n) {
  tw::I32 total = 0;
  for (auto i : tw::range(0, n)) total += i;
  return total;
}

struct State {
  tw::I32 a, b;
  std::array<tw::I32, 2> pair;
};

}  // namespace

TEST_CASE("trace: the smallest kernel is the IR it says") {
  const auto f = trace([](tw::Ptr<const float> x, tw::Ptr<float> z, tw::I32 n) {
    auto i = tw::program_id(0) * 64 + tw::arange(0, 64);
    auto mask = i < n;
    tw::store(z + i, tw::load(x + i, mask) + 1, mask);
  });
  const std::string s = text(f);
  CHECK(count(s, "load") == 1);
  CHECK(count(s, "store") == 1);
  CHECK(s.find("add_ptr") != std::string::npos);
  CHECK(count(s, "constant") == 2);  // 64 and 1.0: no constant is made twice or as a scalar to be broadcast
}

TEST_CASE("trace: every op knows its line") {
  const unsigned line = __LINE__ + 1;
  const auto f = trace([](tw::Ptr<float> p) { tw::store(p, tw::load(p) * 2); });
  int seen = 0;
  f.walk([&](tw::ir::OpId id) {
    CHECK(f.op(id).loc.line == line);
    CHECK(f.where(id).file.find("trace_test.cpp") != std::string::npos);
    ++seen;
  });
  CHECK(seen == 4);
}

TEST_CASE("range: a variable that the body assigns is carried, others are not") {
  const auto f = trace([](tw::Ptr<int> out, tw::I32 n, tw::I32 k) {
    tw::I32 total = 0, unused = 7;
    auto copy = k;
    for (auto i : tw::range(0, n)) total = total + i * copy;
    tw::store(out, total + unused);
  });
  CHECK(text(f).find("for %n, %p1") == std::string::npos);
  f.walk([&](tw::ir::OpId id) {
    if (f.kind(id) != tw::ir::OpKind::for_) return;
    CHECK(f.op(id).results.size() == 1);
    CHECK(f.op(id).operands.size() == 4);
    CHECK(f.block(f.region(id)).args.size() == 2);
  });
}

TEST_CASE("range: trips, steps and carried values are those of the C++ loop") {
  for (const auto& [lo, hi, step] : {std::array{0, 10, 1}, {3, 10, 4}, {10, 0, -3}, {5, 5, 1}, {0, 10, -1}}) {
    std::vector<std::int32_t> out(2, -1);
    run(
        [](tw::Ptr<int> out, tw::I32 lo, tw::I32 hi, tw::I32 step) {
          tw::I32 total = 0, turns = 0;
          for (auto i : tw::range(lo, hi, step)) {
            total = total * 3 + i;
            turns += 1;
          }
          tw::store(out, total);
          tw::store(out + 1, turns);
        },
        out, lo, hi, step);
    int total = 0, turns = 0;
    for (int i = lo; step > 0 ? i < hi : i > hi; i += step) total = total * 3 + i, ++turns;
    CHECK(out == std::vector{total, turns});
  }
}

TEST_CASE("range: nested loops, in functions too") {
  std::vector<std::int32_t> out(1);
  run(
      [](tw::Ptr<int> out, tw::I32 n) {
        tw::I32 total = 0;
        for (auto i : tw::range(0, n))
          for (auto j : tw::range(0, i)) total += j + sum_to(j);
        tw::store(out, total);
      },
      out, 6);
  int total = 0;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < i; ++j) {
      total += j;
      for (int k = 0; k < j; ++k) total += k;
    }
  CHECK(out[0] == total);
}

TEST_CASE("range: a swap carries both") {
  std::vector<std::int32_t> out(2);
  run(
      [](tw::Ptr<int> out, tw::I32 n) {
        tw::I32 a = 1, b = 2;
        for ([[maybe_unused]] auto i : tw::range(0, n)) std::swap(a, b);
        tw::store(out, a), tw::store(out + 1, b);
      },
      out, 3);
  CHECK(out == std::vector{2, 1});
}

TEST_CASE("range: a variable that takes the value of an unchanged one") {
  std::vector<std::int32_t> out(1);
  run(
      [](tw::Ptr<int> out, tw::I32 n, tw::I32 x) {
        tw::I32 y = 0;
        for ([[maybe_unused]] auto i : tw::range(0, n)) y = x;
        tw::store(out, y);
      },
      out, 3, 42);
  CHECK(out[0] == 42);
  run(
      [](tw::Ptr<int> out, tw::I32 n, tw::I32 x) {
        tw::I32 y = 7;
        for ([[maybe_unused]] auto i : tw::range(0, n)) y = x;
        tw::store(out, y);
      },
      out, 0, 42);
  CHECK(out[0] == 7);
}

TEST_CASE("range: handles in arrays, structs, vectors, lambdas and references") {
  std::vector<std::int32_t> out(6);
  run(
      [](tw::Ptr<int> out, tw::I32 n) {
        State s{0, 1, {2, 3}};
        std::vector<tw::I32> v{4, 5};
        auto lambda = [held = tw::I32(6)](tw::I32 x) mutable {
          held += x;
          return held;
        };
        tw::I32& alias = s.pair[1];
        const tw::I32 fixed = 100;
        for (auto i : tw::range(0, n)) {
          s.a += i;
          s.b *= 2;
          alias = alias + fixed;
          for (auto& e : v) e += 1;
          lambda(1);
        }
        tw::store(out, s.a), tw::store(out + 1, s.b), tw::store(out + 2, s.pair[0]), tw::store(out + 3, s.pair[1]);
        tw::store(out + 4, v[0] * 100 + v[1]), tw::store(out + 5, lambda(0));
      },
      out, 4);
  CHECK(out == std::vector{6, 16, 2, 403, 809, 10});
}

TEST_CASE("range: a vector that moves its elements in the body keeps them as variables") {
  std::vector<std::int32_t> out(1);
  run(
      [](tw::Ptr<int> out, tw::I32 n) {
        std::vector<tw::I32> v{1};
        for ([[maybe_unused]] auto i : tw::range(0, n)) {
          v.reserve(v.capacity() + 100);
          v[0] = v[0] * 2;
        }
        tw::store(out, v[0]);
      },
      out, 5);
  CHECK(out[0] == 32);
}

TEST_CASE("range: a variable that was moved from stays one of its own") {
  std::vector<std::int32_t> out(2);
  run(
      [](tw::Ptr<int> out, tw::I32 n) {
        tw::I32 x = 1;
        auto taken = std::make_unique<tw::I32>(std::move(x));
        x = 10;
        const auto twice = [](tw::I32 v) { return v + v; };
        for ([[maybe_unused]] auto i : tw::range(0, n)) {
          taken.reset();
          x = twice(std::move(x));
        }
        tw::store(out, x);
      },
      out, 3);
  CHECK(out[0] == 80);
}

TEST_CASE("range: a pointer is carried and bounds may be of 64 bits") {
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8}, out(1);
  run(
      [](tw::Ptr<const float> x, tw::Ptr<float> out, tw::I64 n) {
        auto p = x + tw::arange(0, 2);
        auto total = tw::zeros<float>({2});
        for (auto i : tw::range(0, n, 2)) {
          static_assert(std::is_same_v<decltype(i), tw::I64>);
          total += tw::load(p);
          p += 2;
        }
        tw::store(out, tw::sum(total));
      },
      x, out, std::int64_t{8});
  CHECK(out[0] == 36);
}

TEST_CASE("range: options are kept") {
  const std::string s = text(trace([](tw::Ptr<int> p, tw::I32 n) {
    for (auto i : tw::range(0, n, 1, {.num_stages = 3, .unroll = 2})) tw::store(p + i, 1);
  }));
  CHECK(s.find("num_stages = 3") != std::string::npos);
  CHECK(s.find("unroll = 2") != std::string::npos);
}

TEST_CASE("range: continue by a native condition and a loop without variables") {
  std::vector<std::int32_t> out(4);
  run(
      [](tw::Ptr<int> out) {
        for (auto i : tw::range(0, 4)) {
          tw::store(out + i, i + 1);
          if (out.rank() == 0) continue;
          tw::store(out, 99);
        }
      },
      out);
  CHECK(out == std::vector{1, 2, 3, 4});
}

TEST_CASE("when: variables assigned in either branch become results") {
  for (int n : {0, 5}) {
    std::vector<std::int32_t> out(4);
    run(
        [](tw::Ptr<int> out, tw::I32 n) {
          tw::I32 x = 1, y = 2, z = 3, from_outside = 4;
          tw::when(n > 0, [&] { x = n, y = y + 10, from_outside = z; }, [&] { y = 20; });
          tw::store(out, x), tw::store(out + 1, y), tw::store(out + 2, z), tw::store(out + 3, from_outside);
        },
        out, n);
    CHECK(out == (n > 0 ? std::vector{5, 12, 3, 3} : std::vector{1, 20, 3, 4}));
  }
}

TEST_CASE("when: an empty variable assigned in both branches has a value") {
  for (int n : {0, 5}) {
    std::vector<std::int32_t> out(2);
    run(
        [](tw::Ptr<int> out, tw::I32 n) {
          tw::I32 fresh, plain;
          std::optional<tw::I32> maybe;
          tw::when(n > 0, [&] { fresh = n * 2, plain = n; }, [&] { fresh = n - 1, plain = n; });
          tw::store(out, fresh), tw::store(out + 1, plain);
        },
        out, n);
    CHECK(out[0] == (n > 0 ? 10 : -1));
    CHECK(out[1] == n);
  }
}

TEST_CASE("when: stores happen in the branch that is taken; nested in loops and around them") {
  std::vector<std::int32_t> out(3, -1);
  run(
      [](tw::Ptr<int> out, tw::I32 n) {
        tw::I32 odd = 0;
        for (auto i : tw::range(0, n)) tw::when(i % 2 == 1, [&] { odd += i; });
        tw::when(
            odd > 0,
            [&] {
              tw::I32 total = 0;
              for (auto i : tw::range(0, odd)) total += i;
              tw::store(out, total);
            },
            [&] { tw::store(out + 1, 1); });
        tw::store(out + 2, odd);
      },
      out, 5);
  CHECK(out == std::vector{6, -1, 4});
}

TEST_CASE("loop_while: condition and body share the variables") {
  std::vector<std::int32_t> out(2);
  run(
      [](tw::Ptr<int> out, tw::I32 n, tw::I32 unchanged) {
        tw::I32 steps = 0;
        tw::loop_while([&] { return n != 1; },
                       [&] {
                         tw::when(n % 2 == 0, [&] { n = n / 2; }, [&] { n = n * 3 + 1; });
                         steps += unchanged;
                       });
        tw::store(out, steps), tw::store(out + 1, n);
      },
      out, 6, 1);
  CHECK(out == std::vector{8, 1});
}

TEST_CASE("loop_while: what the condition assigns is seen by the body and after it") {
  std::vector<std::int32_t> out(2);
  run(
      [](tw::Ptr<int> out) {
        tw::I32 calls = 0, turns = 0;
        tw::loop_while(
            [&] {
              calls += 1;
              return calls < 4;
            },
            [&] { turns += calls; });
        tw::store(out, calls), tw::store(out + 1, turns);
      },
      out);
  CHECK(out == std::vector{4, 6});
}

TEST_CASE("trace: the same kernel gives the same text") {
  const auto kernel = [](tw::Ptr<float> p, tw::I32 n) {
    std::vector<tw::F32> v(5, tw::F32(1.0f));
    for (auto i : tw::range(0, n)) {
      for (auto& e : v) e = e + i.to<float>();
      v.pop_back();
      v.push_back(0);
    }
    for (auto& e : v) tw::store(p, e);
  };
  // v.back() of the second iteration is another variable than that of the first, which is destroyed unused. So this is not a mistake.
  const auto fixed = [](tw::Ptr<float> p, tw::I32 n) {
    std::vector<tw::F32> v(5, tw::F32(1.0f));
    for (auto i : tw::range(0, n))
      for (auto& e : v) e = e + i.to<float>();
    for (auto& e : v) tw::store(p, e);
  };
  CHECK_THROWS_AS(trace(kernel), tw::Error);
  CHECK(text(trace(fixed)) == text(trace(fixed)));
}

TEST_CASE("trace: a kernel works after a failed one, and handles may outlive their trace") {
  std::vector<tw::I32> kept;
  CHECK_THROWS_AS(trace([&](tw::Ptr<int>, tw::I32 n) {
                    kept.push_back(n + 1);
                    for (auto i : tw::range(0, n)) {
                      kept.push_back(i);
                      throw std::runtime_error("mine");
                    }
                  }),
                  std::runtime_error);
  std::vector<std::int32_t> out(1);
  run([](tw::Ptr<int> out) { tw::store(out, 5); }, out);
  CHECK(out[0] == 5);
  kept.clear();
}

TEST_CASE("trace: the user's own exception stays as it is") {
  CHECK_THROWS_AS(trace([](tw::I32) { throw std::out_of_range("mine"); }), std::out_of_range);
}

TEST_CASE("trace: one trace inside of another") {
  std::vector<std::int32_t> out(1);
  run(
      [](tw::Ptr<int> out, tw::I32 n) {
        auto before = n + 1;
        trace([](tw::Ptr<int> p) { tw::store(p, 1); });
        tw::store(out, before + 1);
      },
      out, 3);
  CHECK(out[0] == 5);
}

TEST_CASE("handle: copies, moves and empty ones") {
  std::vector<std::int32_t> out(3);
  run(
      [](tw::Ptr<int> out, tw::I32 n) {
        tw::I32 a = n, b = a, c;
        c = std::move(a);
        b += 1;
        tw::I32 empty, other = empty;
        other = b;
        tw::store(out, a + 0), tw::store(out + 1, c), tw::store(out + 2, other);
      },
      out, 3);
  CHECK(out == std::vector{3, 3, 4});
  CHECK(sizeof(tw::I32) == 16);
}
