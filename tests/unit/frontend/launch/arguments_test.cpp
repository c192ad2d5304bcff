// Pointer arguments that alias: the argument attributes of a specialization, and correct results of such launches on GPUs.
#include "tilewright/detail/arguments.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/messages.h"
#include "tilewright/tilewright.h"

using namespace tilewright;

namespace {

using Argument = detail::Parameter<Ptr<float>>::Argument;

// '1' for each pointer that is disjoint.
std::string disjoint(std::initializer_list<Argument> pointers) {
  detail::Arguments arguments(Here::current());
  for (const Argument& p : pointers) arguments.add_pointer(detail::kCode<float*>, p);
  std::string bits;
  for (const auto& w : arguments.words()) bits += w.disjoint ? '1' : '0';
  return bits;
}

using tilewright::test::has;

std::vector<float> iota(int n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

}  // namespace

TEST_CASE("arguments: numbers are told apart by the power of two that divides them") {
  const auto class_of = [](detail::Code code, std::int64_t value) {
    detail::Arguments arguments(Here::current());
    arguments.add_value(code, static_cast<std::uint64_t>(value));
    return arguments.words()[0].divisible_by;
  };
  using enum detail::Code;
  for (const auto& [value, expected] : {std::pair{0, 16}, {16, 16}, {-32, 16}, {24, 8}, {-12, 4}, {50258, 2}, {7, 1}, {-1, 1}}) {
    CAPTURE(value);
    CHECK(class_of(i32, value) == expected);
    CHECK(class_of(u64, value) == expected);
  }
  CHECK(class_of(i8, 16) == 1);
  CHECK(class_of(f32, 16) == 1);
}

TEST_CASE("arguments: numbers from 1 to 2^31 - 1 are told apart where kernels may depend on it") {
  const auto is_positive = [](detail::Code code, std::int64_t value) {
    detail::Arguments arguments(Here::current());
    arguments.add_value(code, static_cast<std::uint64_t>(value));
    const bool positive = arguments.words()[0].positive;
    arguments.forget_signs();
    CHECK_FALSE(arguments.words()[0].positive);
    return positive;
  };
  using enum detail::Code;
  for (const detail::Code code : {i32, i64, u32, u64}) {
    CHECK(is_positive(code, 1));
    CHECK(is_positive(code, 2147483647));
    CHECK_FALSE(is_positive(code, 0));
  }
  CHECK_FALSE(is_positive(i32, -1));
  CHECK_FALSE(is_positive(i64, 2147483648));
  CHECK_FALSE(is_positive(u32, 2147483648));
  CHECK_FALSE(is_positive(f32, 1));
}

TEST_CASE("arguments: factors of asynchronous products come by bulk copies if their rows are at positive distances") {
  const Kernel multiply("multiply", [](Ptr<const f16> a, Ptr<const f16> b, Ptr<float> c, I32 n) {
    auto i = column(arange(0, 64)), j = row(arange(0, 64));
    auto k = arange(0, 64);
    auto sum = zeros<float>({64, 64});
    for (auto at : range(0, n, 64)) sum = dot(load(a + i * n + row(at + k)), load(b + column(at + k) * n + j), sum);
    store(c + i * 64 + j, sum);
  });
  const auto ptx = [&](const char* target) {
    return multiply.compile(target, {}, pointer<const f16>(), pointer<const f16>(), pointer<float>(), scalar<int>(16)).ptx();
  };
  CHECK(has(ptx("sm_90a"), "cp.async.bulk.tensor.2d"));
  CHECK(has(ptx("sm_90"), "cp.async.cg"));
}

TEST_CASE("arguments: factors of which one matrix is repeated for a batch come by bulk copies, as batches do") {
  const Kernel multiply("multiply", [](View<const f16, 3> a, View<const f16, 3> b, Ptr<float> c, I32 n) {
    const auto batch = program_id(0);
    auto sum = zeros<float>({64, 64});
    for (auto at : range(0, n, 64)) sum = dot(a.at(batch).load({0, at}, {64, 64}), b.at(batch).load({at, 0}, {64, 64}), sum);
    store(c + batch * 4096 + column(arange(0, 64)) * 64 + row(arange(0, 64)), sum);
  });
  const Device device = Device::open("emulator:sm_90a");
  std::vector<f16> numbers(3 * 64 * 128);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = f16(static_cast<float>(i % 7) - 3);
  const Buffer<f16> x = device.upload(numbers), y = device.upload(numbers);
  for (const std::int64_t step : {64 * 128, 0}) {
    CAPTURE(step);
    const auto a = view(x, {3, 64, 128}, {step, 128, 1}), b = view(y, {3, 128, 64}, {64 * 128, 64, 1});
    Buffer<float> c = device.allocate<float>(3 * 64 * 64);
    CHECK(has(multiply.compile("sm_90a", {}, a, b, c, 128).ptx(), step == 0 ? "cp.async.bulk.tensor.2d" : "cp.async.bulk.tensor.3d"));
    multiply({3}, a, b, c, 128);
    const std::vector<float> result = c.download();
    std::size_t wrong = 0;
    for (std::size_t q = 0; q < 3; ++q)
      for (std::size_t i = 0; i < 64; ++i)
        for (std::size_t j = 0; j < 64; ++j) {
          float sum = 0;
          for (std::size_t k = 0; k < 128; ++k)
            sum += static_cast<float>(numbers[q * static_cast<std::size_t>(step) + i * 128 + k]) *
                   static_cast<float>(numbers[q * 64 * 128 + k * 64 + j]);
          wrong += sum != result[(q * 64 + i) * 64 + j];
        }
    CHECK(wrong == 0);
  }
}

TEST_CASE("arguments: rows of f16 need a multiple of 8 only for accesses of 16 bytes") {
  const Kernel copy("copy", [](Ptr<const f16> x, Ptr<f16> y, I32 n) {
    auto at = program_id(0) * n + arange(0, 1024);
    store(y + at, load(x + at, arange(0, 1024) < n), arange(0, 1024) < n);
  });
  const auto ptx = [&](int divisor) { return copy.compile("sm_80", {}, pointer<const f16>(), pointer<f16>(), scalar<int>(divisor)).ptx(); };
  CHECK(has(ptx(8), "ld.global.v4.b32"));
  CHECK_FALSE(has(ptx(4), "v4.b32"));
  CHECK(has(ptx(4), "ld.global.v2.b32"));
  CHECK(has(ptx(2), "ld.global.b32"));
  CHECK_FALSE(has(ptx(1), "b32 {"));
}

TEST_CASE("arguments: buffers are disjoint, one buffer twice is not, wherever the pointers point") {
  const Device device = Device::open("cpu");
  auto a = device.allocate<float>(64), b = device.allocate<float>(64), c = device.allocate<float>(64);
  CHECK(disjoint({a}) == "1");
  CHECK(disjoint({a, b, c}) == "111");
  CHECK(disjoint({a, b, a}) == "010");
  CHECK(disjoint({a, a, b, b}) == "0000");
  CHECK(disjoint({a + 60, a + 1}) == "00");
  CHECK(disjoint({a + 64, b}) == "11");  // a pointer to the end of a may lead back into a, but never into another buffer
  CHECK(disjoint({a + 64, a}) == "00");
}

TEST_CASE("arguments: wrapped memory counts as far as it reaches") {
  const Device device = Device::open("cpu");
  auto whole = device.allocate<float>(64), other = device.allocate<float>(8);
  auto low = device.wrap(whole.data(), 32), high = device.wrap(whole.data() + 32, 32), middle = device.wrap(whole.data() + 31, 2);
  CHECK(disjoint({low, high}) == "11");
  CHECK(disjoint({low, high, other}) == "111");
  CHECK(disjoint({low, high, middle}) == "000");
  CHECK(disjoint({low, high, whole}) == "000");
}

TEST_CASE("arguments: a raw pointer is known to lead elsewhere only where the library knows the whole allocation") {
  const Device device = Device::open("cpu");
  auto a = device.allocate<float>(64), b = device.allocate<float>(64);
  std::vector<float> mine(64), yours(64);
  CHECK(disjoint({mine.data(), a}) == "11");
  CHECK(disjoint({mine.data(), yours.data(), a}) == "001");
  CHECK(disjoint({a.data(), a, b}) == "001");
  CHECK(disjoint({a.data() + 63, a}) == "00");
  CHECK(disjoint({a.data() + 64, a}) == "00");  // a negative stride reaches it from its end
  // The allocation that `high` is a part of may begin at the raw pointer.
  auto high = device.wrap(mine.data() + 32, 32);
  CHECK(disjoint({mine.data(), high, a}) == "001");
  CHECK(disjoint({mine.data(), nullptr, nullptr}) == "111");
}

TEST_CASE("arguments: numbers between the pointers, and views") {
  const Device device = Device::open("cpu");
  auto a = device.allocate<float>(64), b = device.allocate<float>(64);
  detail::Arguments arguments(Here::current());
  using Viewed = detail::Parameter<View<float, 1>>;
  Viewed::add(arguments, view(a, {32}));
  detail::Parameter<I32>::add(arguments, 7);
  Viewed::add(arguments, view(b, {64}));
  Viewed::add(arguments, view(a, {8}, {8}));
  std::vector<bool> pointers, numbers;
  for (const auto& w : arguments.words()) (w.type.indirection == detail::Indirection::value ? numbers : pointers).push_back(w.disjoint);
  CHECK(pointers == std::vector<bool>{false, true, false});
  CHECK(numbers == std::vector<bool>(7, false));
}

TEST_CASE("arguments: parts of one buffer that overlap are right on a GPU, and cost a specialization of their own") {
  const Device device = Device::open("emulator:sm_80");
  int traces = 0;
  Kernel copy("copy", [&](Ptr<const float> from, Ptr<float> to, I32 n) {
    ++traces;
    const I32 i = arange(0, 1024);
    store(to + i, load(from + i, i < n), i < n);
  });
  // The emulator also fails where two threads meet at an address with nothing that orders them.
  auto memory = device.upload(iota(1024));
  copy({.grid = 1}, memory, memory + 1, 1023);
  std::vector<float> want = iota(1024);
  for (std::size_t i = 1023; i > 0; --i) want[i] = want[i - 1];
  CHECK(memory.download() == want);
  copy({.grid = 1}, memory + 1, memory, 1023);
  for (std::size_t i = 0; i < 1023; ++i) want[i] = want[i + 1];
  CHECK(memory.download() == want);
  copy({.grid = 1, .device = device}, memory.data() + 3, memory.data() + 7, 1001);
  for (std::size_t i = 1000; i + 1 > 0; --i) want[i + 7] = want[i + 3];
  CHECK(memory.download() == want);

  traces = 0;
  auto first = device.upload(iota(1024)), second = device.upload(std::vector<float>(1024));
  copy({.grid = 1}, first, second, 1023);
  CHECK(second.download()[1022] == 1022);
  CHECK(traces == 1);
  copy({.grid = 1}, second, second, 1023);
  CHECK(traces == 2);
  copy({.grid = 1}, second, first, 1023);
  CHECK(traces == 2);
}

TEST_CASE("arguments: nothing waits in a kernel whose pointers are disjoint") {
  Kernel add("add", [](Ptr<const float> x, Ptr<const float> y, Ptr<float> z, I32 n) {
    const I32 i = program_id(0) * 1024 + arange(0, 1024);
    store(z + i, load(x + i, i < n) + load(y + i, i < n), i < n);
  });
  const auto p = pointer<float>();
  CHECK_FALSE(has(add.compile("sm_80", {}, p, p, p, scalar<int>()).ptx(), "bar.sync"));
  const Device device = Device::open("cpu");
  auto x = device.allocate<float>(1024), y = device.allocate<float>(1024);
  CHECK_FALSE(has(add.compile("sm_80", {}, x, x, y, 1024).ptx(), "bar.sync"));
  CHECK(has(add.compile("sm_80", {}, x, y, x + 4, 1024).ptx(), "bar.sync"));
}
