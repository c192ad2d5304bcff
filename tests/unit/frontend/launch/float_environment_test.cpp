// Results are the same to the bit whatever floating-point modes the calling thread has set, and the caller gets its modes back.
#include "runtime/float_environment.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/active_call.h"
#include "tilewright/executor.h"
#include "tilewright/graph.h"
#include "tilewright/tilewright.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tw = tilewright;

namespace {

/// Modes that an application may have set.
struct Modes {
  const char* name;
  std::function<void()> set;
};

std::vector<Modes> modes() {
  std::vector<Modes> all = {{"rounds up", [] { std::fesetround(FE_UPWARD); }},
                            {"rounds down", [] { std::fesetround(FE_DOWNWARD); }},
                            {"rounds towards zero", [] { std::fesetround(FE_TOWARDZERO); }}};
#if defined(__x86_64__)
  all.push_back({"flushes subnormal numbers, as -ffast-math makes a program do", [] { _mm_setcsr(_mm_getcsr() | 0x8040); }});
  all.push_back({"stops at exceptions", [] { _mm_setcsr(_mm_getcsr() & ~(_MM_MASK_INVALID | _MM_MASK_DIV_ZERO | _MM_MASK_OVERFLOW)); }});
#endif
  return all;
}

/// Gives this thread its modes back.
struct Restore {
  Restore() { std::fegetenv(&before); }
  ~Restore() { std::fesetenv(&before); }
  std::fenv_t before;
};

// Quotients that are inexact, infinite and NaN, sums, and products that are subnormal.
void compute(tw::Ptr<const float> in, tw::Ptr<float> out, tw::I32 n) {
  const auto i = tw::program_id(0) * 32 + tw::arange(0, 32);
  const auto x = tw::load(in + i, i < n, 0.0f);
  tw::store(out + i, tw::where(x < -0.2f, x / (x - x), tw::exp(x) * 1e-37f / 100.0f + tw::where(x > 0.4f, x / 3.0f + tw::sum(x, 0), 0.0f)),
            i < n);
}

/// The bits of what a kernel and a plan compute, both compiled anew.
std::vector<std::uint32_t> results(const tw::Device& device) {
  std::vector<float> in(1000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = (static_cast<float>(i % 101) - 38) / 128;  // exact in every mode
  auto x = device.upload(in), y = device.upload(std::vector<float>(in.size(), 7.0f)),
       z = device.upload(std::vector<float>(in.size(), 7.0f)), w = device.upload(std::vector<float>(in.size(), 7.0f));
  const tw::Kernel kernel("compute", compute);
  kernel({.grid = tw::cdiv(1000, 32)}, x, y, 1000);
  tw::Graph graph;
  const auto g = graph.input<float>("x", {40, 25});
  graph.output("w", tw::softmax(g * 3.0f, 1) * 1e-37f / 100.0f);
  graph.output("z", tw::softmax(g * 3.0f, 1) + tw::sum(g, {1}, true) / 3.0f);
  tw::Plan plan = graph.compile(device);
  plan.run({{"x", x}, {"z", z}, {"w", w}});
  std::vector<std::uint32_t> bits;
  for (const auto& values : {y.download(), z.download(), w.download()})
    for (float v : values) bits.push_back(std::bit_cast<std::uint32_t>(v));
  return bits;
}

void check_all_modes(const tw::Device& device) {
  const auto want = results(device);
  for (const Modes& m : modes()) {
    CAPTURE(m.name);
    std::vector<std::uint32_t> got;
    {
      const Restore restore;
      m.set();
      got = results(device);
    }
    CHECK(got == want);
  }
}

}  // namespace

TEST_CASE("float_environment: a call of the library has the default modes, and its end brings the caller's back") {
  using Environment = tw::rt::DefaultFloatEnvironment;
  for (const Modes& m : modes()) {
    CAPTURE(m.name);
    bool before, within, nested, after;
    {
      const Restore restore;
      m.set();
      before = Environment::is_set();
      {
        const tw::rt::ActiveCall call(tw::Here::current());
        within = Environment::is_set();
        const tw::rt::ActiveCall inner(tw::Here::current());
        nested = Environment::is_set();
      }
      after = Environment::is_set();
    }
#if defined(__x86_64__)
    CHECK(!before);
    CHECK(!after);
#endif
    CHECK(within);
    CHECK(nested);
  }
}

TEST_CASE("float_environment: kernels and plans on the cpu") { check_all_modes(tw::Device::open("cpu")); }

TEST_CASE("float_environment: kernels and plans on an emulated GPU") { check_all_modes(tw::Device::open("emulator:sm_90a")); }

TEST_CASE("float_environment: an executor's threads with modes of their own") {
  const auto want = results(tw::Device::open("cpu"));
  for (const Modes& m : modes()) {
    CAPTURE(m.name);
    const tw::Device device = tw::open_device({2, [&](int count, const std::function<void()>& task) {
                                                 std::vector<std::thread> threads;
                                                 for (int i = 0; i < count; ++i)
                                                   threads.emplace_back([&] {
                                                     m.set();
                                                     task();
                                                   });
                                                 for (std::thread& t : threads) t.join();
                                               }});
    CHECK(results(device) == want);
  }
}
