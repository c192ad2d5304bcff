// Arguments that a launch accepts for each kind of parameter: structs of handles, numbers of other types, const buffers.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tests/messages.h"
#include "tilewright/tilewright.h"

namespace tw = tilewright;

namespace {

enum class Mode { add, multiply };
struct Row {
  tw::Ptr<const float> x;
  tw::I32 n;
  int BLOCK = 64;
};
struct Layer {
  Row row;
  std::array<tw::Ptr<float>, 2> out;
  tw::View<const float, 2> table;
  Mode mode = Mode::add;
  tw::F32 by;
};
struct HostRow {
  const tw::Buffer<float>& x;
  std::size_t n;
  int BLOCK;
};
struct HostLayer {
  HostRow row;
  std::array<tw::Buffer<float>, 2> out;
  tw::View<float, 2> table;
  Mode mode;
  double by;
};
struct Constants {
  int a = 0;
  float b = 0;
};
struct WithPointer {
  int n;
  const char* text;
};

struct Fixed {
  const tw::Ptr<float> out;
  const int value = 0;
};
/// Looks like a smart pointer but is not one.
struct Wrapped {
  int get() const { return value; }
  int operator*() const { return value; }
  bool operator==(const Wrapped&) const = default;
  int value = 0;
};

template <class To, class From>
constexpr bool kTakes = std::is_convertible_v<From, typename tw::detail::Parameter<To>::Argument>;

std::vector<float> counted(int n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = static_cast<float>(i);
  return v;
}

void run(const Layer& l) {
  auto i = tw::arange(0, l.row.BLOCK);
  auto mask = i < l.row.n;
  auto v = tw::load(l.row.x + i, mask);
  v = l.mode == Mode::add ? v + l.by : v * l.by;
  tw::store(l.out[0] + i, v, mask);
  tw::store(l.out[1] + i, v + tw::sum(l.table.load({1, 1}, {1, 1})), mask);
}

using tilewright::test::error_of;
using tilewright::test::has;

}  // namespace

TEST_CASE("parameters: a struct of handles is passed field by field") {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    const auto device = tw::Device::open(name);
    const auto x = device.upload(counted(64));
    auto y = device.allocate<float>(64), z = device.allocate<float>(64);
    auto table = device.upload(std::vector<float>{0, 0, 0, 1000});
    int traced = 0;
    const tw::Kernel kernel("layer", [&traced](const Layer& l, tw::Ptr<float> last) {
      ++traced;
      run(l);
      tw::store(last, 1);
    });
    // Passed in braces.
    auto last = device.allocate<float>(1);
    kernel({.grid = 1}, {{x, 64, 64}, {y, z}, tw::view(table, {2, 2}), Mode::add, 0.5f}, last);
    CHECK(y.download()[63] == 63.5f);
    CHECK(z.download()[2] == 1002.5f);
    // A struct of the caller: references to buffers, buffers, numbers of other types, and views.
    HostLayer host{{x, 64, 64}, {device.allocate<float>(64), device.allocate<float>(64)}, tw::view(table, {2, 2}), Mode::add, 2};
    kernel({.grid = 1}, host, last);
    CHECK(host.out[0].download()[63] == 65);
    CHECK(traced == 1);
    host.by = 3, host.row.n = 48;  // run-time values, of the same class
    kernel({.grid = 1}, host, last);
    CHECK(host.out[0].download()[47] == 50);
    CHECK(host.out[0].download()[48] == 50);
    CHECK(traced == 1);
    host.mode = Mode::multiply;  // a constant
    kernel({.grid = 1}, host, last);
    CHECK(host.out[1].download()[47] == 1141);
    CHECK(traced == 2);
    host.row.BLOCK = 32;
    kernel({.grid = 1}, host, last);
    CHECK(traced == 3);
  }
}

TEST_CASE("parameters: stand-ins in a struct, and offsets and raw pointers in an array") {
  const tw::Kernel kernel("row", [](Row r, std::array<tw::Ptr<float>, 2> out) {
    auto i = tw::arange(0, r.BLOCK);
    tw::store(out[0] + i, tw::load(r.x + i, i < r.n));
    tw::store(out[1] + i, 7);
  });
  const std::string ptx =
      kernel.compile("sm_80", {}, {tw::pointer<const float>(), tw::scalar<int>(16), 64}, {tw::pointer<float>(), tw::pointer<float>()})
          .ptx();
  CHECK(has(ptx, ".visible .entry row"));
  CHECK(has(ptx, "row_param_3"));
  CHECK_FALSE(has(ptx, "row_param_4"));
  const auto device = tw::Device::open("cpu");
  auto all = device.upload(counted(256));
  const tw::Kernel fixed("fixed", [](const Fixed& f) { tw::store(f.out, f.value); });  // const fields too
  fixed({.grid = 1}, {all + 255, 77});
  CHECK(all.download()[255] == 77);
  kernel({.grid = 1}, {all, 3, 64}, {all + 64, all.data() + 128});
  CHECK(all.download()[66] == 2);
  CHECK(all.download()[67] == 0);
  CHECK(all.download()[128] == 7);
}

TEST_CASE("parameters: what a struct takes is seen by the host compiler") {
  static_assert(kTakes<Layer, HostLayer&> && !kTakes<Layer, const HostLayer&>);  // in a const HostLayer, the outputs are const
  static_assert(kTakes<Row, HostRow&> && kTakes<Row, const HostRow&> && kTakes<Row, HostRow>);
  static_assert(!kTakes<Row, HostLayer&> && !kTakes<Row, Constants> && !kTakes<Row, int>);
  struct Swapped {
    int n;
    const tw::Buffer<float>& x;
    int BLOCK;
  };
  struct Longer {
    const tw::Buffer<float>& x;
    int n, BLOCK, more;
  };
  static_assert(!kTakes<Row, Swapped&> && !kTakes<Row, Longer&>);
  static_assert(tw::detail::HandleAggregate<Row> && !tw::detail::HandleAggregate<Constants>);
}

TEST_CASE("parameters: mistakes in a struct name the field") {
  const auto device = tw::Device::open("cpu");
  const auto x = device.upload(counted(64));
  auto y = device.allocate<float>(64);
  const tw::Kernel kernel("row", [](tw::Ptr<float> out, Row r) { tw::store(out, tw::load(r.x)); });
  CHECK(has(error_of([&] { kernel({.grid = 1}, y, {tw::Buffer<float>(), 3, 64}); }),
            "error: kernel 'row': argument 2, field 1: this buffer is empty"));
  CHECK(has(error_of([&] { kernel({.grid = 1}, y, {x, 1ll << 40, 64}); }),
            "error: kernel 'row': argument 2, field 2: 1099511627776 does not fit"));
  CHECK(has(error_of([&] { kernel({.grid = 1}, y, {x, 3, std::size_t{1} << 32}); }), "argument 2, field 3: 4294967296 does not fit"));
}

TEST_CASE("parameters: integers of other types are taken if the value fits") {
  const auto device = tw::Device::open("cpu");
  auto out = device.allocate<std::int64_t>(4);
  const tw::Kernel kernel("numbers", [](tw::Ptr<std::int64_t> p, tw::I32 a, tw::U64 b, tw::I8 c, tw::U32 d, int constant) {
    tw::store(p, a.to<std::int64_t>()), tw::store(p + 1, b.to<std::int64_t>());
    tw::store(p + 2, c.to<std::int64_t>() + d.to<std::int64_t>()), tw::store(p + 3, constant);
  });
  const auto launch = [&](auto a, auto b, auto c, auto d, auto constant) {
    return error_of([&] { kernel({.grid = 1}, out, a, b, c, d, constant); });
  };
  CHECK(launch(std::size_t{7}, 42, 100, 3l, 5u) == "");
  CHECK(out.download() == std::vector<std::int64_t>{7, 42, 103, 5});
  CHECK(launch(3u, 42u, std::uint8_t{127}, std::int8_t{1}, std::size_t{6}) == "");
  CHECK(out.download() == std::vector<std::int64_t>{3, 42, 128, 6});
  CHECK(launch(-1ll, std::size_t{9}, -128, UINT32_MAX, -5l) == "");
  CHECK(out.download() == std::vector<std::int64_t>{-1, 9, -128ll + UINT32_MAX, -5});

  const std::string wrong = launch(3000000000u, 1, 1, 1, 1);
  CHECK(has(wrong, "error: kernel 'numbers': argument 2: 3000000000 does not fit this parameter: it must be -2147483648 to 2147483647"));
  CHECK(has(wrong, "parameters_test.cpp:"));
  CHECK(has(launch(std::size_t{1} << 63, 1, 1, 1, 1), "argument 2: 9223372036854775808 does not fit"));
  CHECK(has(launch(1, -1, 1, 1, 1), "argument 3: -1 does not fit this parameter: it must be 0 to 18446744073709551615"));
  CHECK(has(launch(1, 1, 128, 1, 1), "argument 4: 128 does not fit this parameter: it must be -128 to 127"));
  CHECK(has(launch(1, 1, 1, -1ll, 1), "argument 5: -1 does not fit"));
  CHECK(has(launch(1, 1, 1, 1, 1ull << 31), "argument 6: 2147483648 does not fit"));
  CHECK(out.download()[3] == -5);  // none of these ran
  CHECK(has(error_of([&] { (void)kernel.compile("cpu", {}, out, 1ll << 32, 1, 1, 1, 1); }), "argument 2: 4294967296 does not fit"));
}

TEST_CASE("parameters: a double for a float is rounded, and an error if it overflows") {
  const auto device = tw::Device::open("cpu");
  auto out = device.allocate<float>(2);
  const tw::Kernel kernel("floats", [](tw::Ptr<float> p, tw::F32 a, float constant) { tw::store(p, a), tw::store(p + 1, constant); });
  kernel({.grid = 1}, out, 0.1, 0.2);
  CHECK(out.download() == std::vector<float>{0.1f, 0.2f});
  kernel({.grid = 1}, out, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity());
  CHECK(out.download()[0] == std::numeric_limits<float>::infinity());
  kernel({.grid = 1}, out, 0.3L, 0.4L);
  CHECK(out.download() == std::vector<float>{0.3f, 0.4f});
  CHECK(has(error_of([&] { kernel({.grid = 1}, out, 1e3000L, 0.0); }), "argument 2: inf does not fit"));
  const tw::Kernel wide("wide", [](tw::Ptr<float> p, long double constant) { tw::store(p, static_cast<float>(constant)); });
  wide({.grid = 1}, out, 0.5L);
  wide({.grid = 1}, out, 0.25);
  CHECK(out.download()[0] == 0.25f);
  kernel({.grid = 1}, out, std::nan(""), 1e-60);
  CHECK(std::isnan(out.download()[0]));
  CHECK(has(error_of([&] { kernel({.grid = 1}, out, 1e300, 0.0); }),
            "argument 2: 1e+300 does not fit this parameter: it must be -3.40282e+38"));
}

TEST_CASE("parameters: what is of another kind does not compile") {
  static_assert(kTakes<tw::I32, std::size_t> && kTakes<tw::U64, int> && kTakes<tw::F32, double> && kTakes<int, std::size_t>);
  static_assert(!kTakes<tw::I32, float> && !kTakes<tw::I32, bool> && !kTakes<tw::Bool, int> && !kTakes<tw::F16, float>);
  static_assert(!kTakes<int, float> && !kTakes<int, bool> && !kTakes<bool, int>);
}

TEST_CASE("parameters: a const buffer is for reading") {
  using tw::Buffer, tw::Ptr, tw::BufferAt;
  static_assert(kTakes<Ptr<float>, Buffer<float>&> && kTakes<Ptr<float>, Buffer<float>> && !kTakes<Ptr<float>, const Buffer<float>&>);
  static_assert(kTakes<Ptr<const float>, Buffer<float>&> && kTakes<Ptr<const float>, const Buffer<float>&>);
  static_assert(kTakes<Ptr<float>, BufferAt<float>> && !kTakes<Ptr<float>, BufferAt<const float>>);
  static_assert(kTakes<Ptr<const float>, BufferAt<float>> && kTakes<Ptr<const float>, BufferAt<const float>>);
  const auto device = tw::Device::open("cpu");
  auto b = device.allocate<float>(8);
  const auto& c = b;
  static_assert(std::is_same_v<decltype(b + 1), BufferAt<float>> && std::is_same_v<decltype(c + 1), BufferAt<const float>>);
  static_assert(std::is_same_v<decltype(b.data()), float*> && std::is_same_v<decltype(c.data()), const float*>);
  static_assert(std::is_same_v<decltype(tw::view(b, {2, 4})), tw::View<float, 2>>);
  static_assert(std::is_same_v<decltype(tw::view(c, {2, 4})), tw::View<const float, 2>>);
  static_assert(std::is_same_v<decltype(tw::view(c, {2, 4}, {1, 2})), tw::View<const float, 2>>);
}

TEST_CASE("parameters: pointers are not constants") {
  using tw::detail::Constant, tw::detail::holds_pointer;
  static_assert(!Constant<const char*> && !Constant<const int*> && !Constant<void*> && !Constant<std::string_view>);
  static_assert(!Constant<std::shared_ptr<int>> && !Constant<std::unique_ptr<int>>);
  static_assert(!Constant<WithPointer> && !Constant<std::array<const char*, 2>> && holds_pointer<WithPointer>());
  static_assert(Constant<std::string> && Constant<int (*)(int)>);  // a function does not change
  static_assert(Constant<Wrapped>);
}

TEST_CASE("parameters: a kernel is one const function with known parameters") {
  using tw::detail::KernelFunction;
  int n = 0;
  const auto by_value = [n](tw::Ptr<int>) { (void)n; };
  const auto by_reference = [&n](tw::Ptr<int>) { (void)n; };
  const auto generic = [](auto) {};
  auto changes = [n](tw::Ptr<int>) mutable { ++n; };
  const auto returns = [](tw::Ptr<int>) { return 1; };
  static_assert(KernelFunction<decltype(by_value)> && KernelFunction<decltype(by_reference)> && KernelFunction<void (*)(tw::I32)>);
  static_assert(!KernelFunction<decltype(generic)> && !KernelFunction<decltype(changes)> && !KernelFunction<decltype(returns)>);
  CHECK(n == 0);
}
