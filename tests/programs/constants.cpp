// Compile-time parameters, kernels as members, templates, lambdas and captured values.
#include <functional>
#include <new>

#include "tests/programs/programs.h"

namespace programs_constants {

enum class Mode { add, multiply };

/// A type that is not an aggregate: it is compared by its own == and std::hash.
class Name {
 public:
  explicit Name(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }
  bool operator==(const Name&) const = default;

 private:
  std::string text_;
};

}  // namespace programs_constants

template <>
struct std::hash<programs_constants::Name> {
  std::size_t operator()(const programs_constants::Name& n) const { return n.text().size(); }  // collides on purpose
};

namespace {

using namespace programs;
using namespace programs_constants;
using tw::arange, tw::load, tw::store;

struct Inner {
  char tag = 'a';
  double scale = 1;  // padding in front of it
};
struct Settings {
  int block = 16;
  Mode mode = Mode::add;
  bool negate = false;
  std::array<Inner, 2> inner{};
  tw::f16 half{};
  std::int64_t wide = 0;
};

void with_settings(tw::Ptr<const float> x, tw::Ptr<float> out, Settings s, int* traced) {
  ++*traced;
  auto i = arange(0, s.block);
  tw::F32 v = load(x + i);
  v = s.mode == Mode::add ? v + 2 : v * 2;
  if (s.negate) v = -v;
  for (const Inner& in : s.inner) v = v * in.scale + (in.tag == 'b' ? 100 : 0);
  store(out + i, v + s.half + static_cast<float>(s.wide));
}

/// A user's own operator with its kernels as members.
template <class T>
class Scaler {
 public:
  explicit Scaler(float by) : by_(by), kernel_("scaler", body) {}
  void operator()(const tw::Buffer<T>& x, tw::Buffer<T>& y) const {
    kernel_({.grid = tw::cdiv(x.size(), std::size_t{32})}, x, y, static_cast<int>(x.size()), by_, 32);
  }

 private:
  static void body(tw::Ptr<const T> x, tw::Ptr<T> y, tw::I32 n, tw::F32 by, int block) {
    auto i = tw::program_id(0) * block + arange(0, block);
    store(y + i, (load(x + i, i < n).template to<float>() * by).template to<T>(), i < n);
  }
  float by_;
  tw::Kernel<void(tw::Ptr<const T>, tw::Ptr<T>, tw::I32, tw::F32, int)> kernel_;
};

template <class T, int N, auto Op>
void fixed(tw::Ptr<T> out) {
  store(out + arange(0, N), Op(arange(0, N)).template to<T>());
}

}  // namespace

TEST_CASE("constants: each new value compiles again, an equal one does not, padding is ignored") {
  on_every_device([](tw::Device& device) {
    int traced = 0;
    const tw::Kernel kernel("settings", [&](tw::Ptr<const float> x, tw::Ptr<float> out, Settings s) { with_settings(x, out, s, &traced); });
    const auto x = numbers<float>(16, 1);
    const auto in = device.upload(x);
    auto out = device.allocate<float>(16);
    auto check = [&](const Settings& s, int times) {
      kernel({.grid = 1}, in, out, s);
      std::vector<double> want;
      for (float v : x) {
        double w = s.mode == Mode::add ? v + 2.0 : v * 2.0;
        if (s.negate) w = -w;
        for (const Inner& i : s.inner) w = w * i.scale + (i.tag == 'b' ? 100 : 0);
        want.push_back(w + as_double(s.half) + double(s.wide));
      }
      check_close("settings", out.download(), want, 1e-6, 1e-5);
      CHECK(traced == times);
    };
    check({}, 1);
    check({.mode = Mode::multiply}, 2);
    check({.negate = true}, 3);
    check({.inner = {Inner{}, Inner{'b', 0.5}}}, 4);
    check({.half = tw::f16(1.5f)}, 5);
    check({.wide = 1 << 20}, 6);
    check({}, 6);
    alignas(Settings) unsigned char dirty[sizeof(Settings)];
    std::memset(dirty, 0xa5, sizeof dirty);
    check(*new (dirty) Settings{.negate = true}, 6);
    check({.inner = {Inner{'a', -0.0}, Inner{}}}, 7);
    check({.inner = {Inner{'a', 0.0}, Inner{}}}, 8);  // floats count by their bits
    // The classes of run-time arguments: an unaligned pointer is another specialization with the same results.
    auto more = device.upload(numbers<float>(64, 2));
    const int before = traced;
    kernel({.grid = 1}, more + 1, more + 33, Settings{});
    CHECK(traced == before + 1);
    const auto y = more.download();
    for (int i = 0; i < 16; ++i) CHECK(y[33 + i] == y[1 + i] + 2);
  });
}

TEST_CASE("constants: numbers, enums, arrays, lambdas, types with == and hash") {
  on_every_device([](tw::Device& device) {
    int traced = 0;
    const tw::Kernel kernel("kinds", [&](tw::Ptr<double> out, bool flag, Mode mode, std::array<short, 3> list, double number, Name name,
                                         unsigned long long big, float single) {
      ++traced;
      tw::F64 v = flag ? 1 : 0;
      v += mode == Mode::multiply ? 10 : 0;
      for (short s : list) v += s;
      store(out, v + number + static_cast<int>(name.text()[0]) + static_cast<double>(big) + single);
    });
    auto out = device.allocate<double>(1);
    auto run = [&](bool flag, Mode mode, std::array<short, 3> list, double number, const char* name) {
      kernel({.grid = 1}, out, flag, mode, list, number, Name(name), 1u, 0.5f);
      return out.download()[0];
    };
    CHECK(run(true, Mode::add, {1, 2, 3}, 0.25, "x") == 1 + 6 + 0.25 + 'x' + 1.5);
    CHECK(run(true, Mode::add, {1, 2, 4}, 0.25, "x") == 1 + 7 + 0.25 + 'x' + 1.5);
    CHECK(run(false, Mode::multiply, {1, 2, 3}, 0.25, "x") == 10 + 6 + 0.25 + 'x' + 1.5);
    CHECK(run(false, Mode::multiply, {1, 2, 3}, 0.25, "y") == 10 + 6 + 0.25 + 'y' + 1.5);  // the same hash
    CHECK(traced == 4);
    CHECK(run(false, Mode::multiply, {1, 2, 3}, 0.25, "x") == 10 + 6 + 0.25 + 'x' + 1.5);
    CHECK(traced == 4);

    auto square = [](tw::F32 v) { return v * v; };
    auto shift = [](tw::F32 v) { return v + 10; };
    auto map = [](auto f) {
      return tw::Kernel<void(tw::Ptr<float>, decltype(f))>(
          "map", [](tw::Ptr<float> p, decltype(f) g) { store(p + arange(0, 8), g(load(p + arange(0, 8)))); });
    };
    auto x = device.upload(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
    map(square)({.grid = 1}, x, square);
    map(shift)({.grid = 1}, x, shift);
    check_same("map", x.download(), std::vector<float>{10, 11, 14, 19, 26, 35, 46, 59});
  });
}

TEST_CASE("constants: template instances, members, captured values") {
  on_every_device([](tw::Device& device) {
    const Scaler<tw::bf16> twice(2);
    const Scaler<std::int16_t> thrice(3);
    const auto x = numbers<tw::bf16>(77, 1);
    const auto k = numbers<std::int16_t>(45, 2, 100);
    const auto bx = device.upload(x);
    auto y = device.allocate<tw::bf16>(77);
    const auto bk = device.upload(k);
    auto z = device.allocate<std::int16_t>(45);
    twice(bx, y);
    thrice(bk, z);
    std::vector<double> want, whole;
    for (tw::bf16 v : x) want.push_back(as_double(v) * 2);
    for (std::int16_t v : k) whole.push_back(v * 3);
    check_close("twice", y.download(), want, 0);
    check_close("thrice", z.download(), whole, 0);

    const tw::Kernel instance("fixed", fixed<float, 8, [](tw::I32 i) { return i * i; }>);
    auto out = device.allocate<float>(8);
    instance({.grid = 1}, out);
    check_same("fixed", out.download(), std::vector<float>{0, 1, 4, 9, 16, 25, 36, 49});

    int captured = 5;
    const tw::Kernel capturing(
        "capturing", [&captured, copy = 7](tw::Ptr<float> p, int) { store(p + arange(0, 8), tw::full<float>({8}, captured * 10 + copy)); });
    capturing({.grid = 1}, out, 0);
    CHECK(out.download()[3] == 57);
    captured = 6;  // read when it is traced
    capturing({.grid = 1}, out, 0);
    CHECK(out.download()[3] == 57);
    capturing({.grid = 1}, out, 1);
    CHECK(out.download()[3] == 67);
  });
}

TEST_CASE("constants: many specializations of one kernel") {
  on_every_device([](tw::Device& device) {
    int notices = 0;
    tw::set_log_sink([&](tw::LogLevel level, std::string_view text) {
      notices += level == tw::LogLevel::warning && text.find("many_constants") != std::string_view::npos;
    });
    const tw::Kernel kernel("many_constants", [](tw::Ptr<std::int32_t> p, int value) { store(p, value); });
    auto out = device.allocate<std::int32_t>(1);
    for (int i = 0; i < 40; ++i) {
      kernel({.grid = 1}, out, i);
      REQUIRE(out.download()[0] == i);
    }
    tw::set_log_sink({});
    CHECK(notices == 1);
  });
}
