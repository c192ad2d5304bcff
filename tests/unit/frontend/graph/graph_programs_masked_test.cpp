// Graphs of narrow elements whose extents are not powers of two. Masked elements share registers and words of shared memory with stored
// elements; an emulated device must not report them as uses of undefined values.
#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

/// Small integers, whose sums and products every type holds exactly.
template <class T>
std::vector<T> small(int count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> values;
  for (int i = 0; i < count; ++i) values.push_back(T(static_cast<float>(static_cast<int>(engine() % 5) - 2)));
  return values;
}

const Devices& emulators() {
  static const Devices all{"emulator:sm_80", "emulator:sm_90a"};
  return all;
}

void check_on_emulators(const Program& p) {
  for (const std::string& name : emulators()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    p.check_on(device);
  }
}

/// x * transpose(x * row)
template <class T>
void check_transposed(int n) {
  CAPTURE(n);
  Program p;
  const std::vector<T> xs = small<T>(n * n, 1), rows = small<T>(n, 2);
  const auto x = p.input("x", {n, n}, xs), row = p.input("row", {n}, rows);
  Numbers want;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) want.push_back(number_of(xs[i * n + j]) * number_of(xs[j * n + i]) * number_of(rows[i]));
  p.output("out", x * tw::transpose(x * row), want, 0);
  check_on_emulators(p);
}

/// where(x y > x, x, y)
template <class T>
void check_compared(int n) {
  CAPTURE(n);
  Program p;
  const std::vector<T> xs = small<T>(n * n, 1), ys = small<T>(n * n, 2);
  const auto x = p.input("x", {n, n}, xs), y = p.input("y", {n, n}, ys);
  Numbers want;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += number_of(xs[i * n + k]) * number_of(ys[k * n + j]);
      want.push_back(number_of(sum > number_of(xs[i * n + j]) ? xs[i * n + j] : ys[i * n + j]));
    }
  p.output("out", tw::where(tw::matmul(x, y) > x, x, y), want, 0);
  check_on_emulators(p);
}

/// y = transpose(x) in another type, by one warp: a thread converts several elements at a time between the orders of x and of y.
template <class T, class U>
void check_cast(int m, int n) {
  CAPTURE(m);
  CAPTURE(n);
  static const tw::Kernel kernel("cast_transposed", [](tw::Ptr<const T> x, tw::Ptr<U> y, tw::I32 rows, tw::I32 columns) {
    const auto i = tw::reshape(tw::arange(0, 64), {1, 64}), j = tw::reshape(tw::arange(0, 64), {64, 1});
    const auto mask = (i < rows) & (j < columns);
    tw::store(y + (j * rows + i), tw::load(x + (i * columns + j), mask).template to<U>(), mask);
  });
  const std::vector<T> xs = small<T>(m * n, 1);
  Numbers want;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) want.push_back(number_of(U(static_cast<float>(number_of(xs[i * n + j])))));
  for (const std::string& name : emulators()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    auto x = device.upload(xs);
    auto y = device.allocate<U>(xs.size());
    kernel({.grid = 1, .num_warps = 1}, x, y, m, n);
    CHECK(relative_error(numbers_of(y.download()), want) == 0);
  }
}

}  // namespace

TEST_CASE("graph programs: a tile and its transpose, of which masks leave out halves of registers") {
  for (const int n : {17, 33}) check_transposed<tw::f16>(n);
  check_transposed<tw::bf16>(17);
  for (const int n : {17, 33}) check_transposed<std::int8_t>(n);
  check_transposed<std::int16_t>(33);
}

TEST_CASE("graph programs: a product that is compared, of which masks leave out bytes of words") {
  for (const int n : {17, 33}) check_compared<tw::f16>(n);
  check_compared<tw::bf16>(50);
}

TEST_CASE("programs: casts of transposed tiles of 8 and 16 bits with ragged edges") {
  for (const auto& [m, n] : {std::pair(61, 59), {63, 64}, {33, 50}}) {
    check_cast<std::int16_t, std::int8_t>(m, n);
    check_cast<std::int8_t, std::int16_t>(m, n);
    check_cast<float, tw::f16>(m, n);
    check_cast<tw::f16, tw::bf16>(m, n);
  }
}

TEST_CASE("graph programs: masked divisions and remainders of 64-bit integers") {
  const auto run = [](auto type) {
    using T = decltype(type);
    Program p;
    std::vector<T> xs, ys;
    for (int i = 0; i < 601; ++i) xs.push_back(T(1000 + 77 * i)), ys.push_back(T(1 + i % 13));
    const auto x = p.input("x", {601}, xs), y = p.input("y", {601}, ys);
    Numbers quotients, remainders;
    for (std::size_t i = 0; i < xs.size(); ++i)
      quotients.push_back(number_of(xs[i] / ys[i])), remainders.push_back(number_of(xs[i] % ys[i]));
    p.output("quotient", x / y, quotients, 0);
    p.output("remainder", x % y, remainders, 0);
    check_on_emulators(p);
  };
  run(std::int64_t());
  run(std::uint64_t());
}

}  // namespace graph_program
