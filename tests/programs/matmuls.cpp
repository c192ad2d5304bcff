// Matrix products of all types, layouts in memory, tiles, sizes, stages and warps, drawn from a table, against double precision.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::column, tw::row, tw::load, tw::store;

/// How a matrix is in memory, and read.
enum Storage {
  kRows,       // row-major
  kColumns,    // column-major, by strides
  kTransposed  // column-major: rows of its transpose are loaded, and the tile is transposed
};

template <class T>
using Sum = std::conditional_t<std::same_as<T, std::int8_t>, std::int32_t, std::conditional_t<std::same_as<T, double>, double, float>>;

/// A tile of rows x columns whose first element is at (i, j) of a matrix of these extents.
template <class T>
tw::Tile<T> read(tw::Ptr<const T> p, const tw::I32& i, const tw::I32& j, int rows, int columns, const tw::I32& all_rows,
                 const tw::I32& all_columns, int storage, bool masked) {
  if (storage == kTransposed) return tw::transpose(read(p, j, i, columns, rows, all_columns, all_rows, kRows, masked));
  auto r = column(i + arange(0, rows)), c = row(j + arange(0, columns));
  auto at = storage == kRows ? p + r * all_columns + c : p + c * all_rows + r;
  return masked ? load(at, r < all_rows && c < all_columns) : load(at);
}

template <class T>
void matmul(tw::Ptr<const T> a, tw::Ptr<const T> b, tw::Ptr<Sum<T>> out, tw::I32 m, tw::I32 n, tw::I32 k, std::array<int, 7> shape) {
  const auto [bm, bn, bk, a_storage, b_storage, masked, precision] = shape;
  auto i = tw::program_id(0) * bm, j = tw::program_id(1) * bn;
  auto acc = tw::zeros<Sum<T>>({bm, bn});
  for (auto l : tw::range(0, k, bk))
    acc = tw::dot(read(a, i, l, bm, bk, m, k, a_storage, masked != 0), read(b, l, j, bk, bn, k, n, b_storage, masked != 0), acc,
                  static_cast<tw::Precision>(precision));
  auto r = column(i + arange(0, bm)), c = row(j + arange(0, bn));
  if (masked)
    store(out + r * n + c, acc, r < m && c < n);
  else
    store(out + r * n + c, acc);
}

struct Case {
  std::array<int, 3> size;  // m, n, k
  std::array<int, 2> storage;
  bool masked;
  int stages, warps;
  bool checked = false;
};

constexpr std::array<int, 3> kTiles[] = {{1, 1, 1},     {1, 16, 8},    {2, 4, 64},     {8, 8, 32},    {16, 8, 16},  {16, 16, 16},
                                         {32, 16, 8},   {4, 64, 4},    {32, 32, 32},   {16, 64, 32},  {64, 32, 16}, {64, 64, 32},
                                         {32, 128, 16}, {128, 16, 64}, {128, 128, 32}, {128, 128, 64}};

template <class T>
void check_case(tw::Device& device, const std::array<int, 3>& tile, const Case& c, tw::Precision precision) {
  static const tw::Kernel kernel("matmul", matmul<T>);
  const auto [m, n, k] = c.size;
  INFO("tile ", tile[0], " x ", tile[1], " x ", tile[2], " of ", m, " x ", n, " x ", k, ", a ", c.storage[0], ", b ", c.storage[1],
       ", masked ", c.masked, ", stages ", c.stages, ", warps ", c.warps, ", checked ", c.checked);
  // One element more than none: a matrix may be empty.
  const auto a = numbers<T>(m * k + 1, 1, std::integral<T> ? 60 : 1), b = numbers<T>(k * n + 1, 2, std::integral<T> ? 60 : 1);
  std::vector<Sum<T>> poison(m * n);
  std::memset(poison.data(), 0xff, poison.size() * sizeof(Sum<T>));  // NaNs
  auto out = device.upload(poison);
  kernel({.grid = {tw::cdiv(m, tile[0]), tw::cdiv(n, tile[1])}, .num_warps = c.warps, .num_stages = c.stages, .check = c.checked},
         device.upload(a), device.upload(b), out, m, n, k,
         std::array{tile[0], tile[1], tile[2], c.storage[0], c.storage[1], int{c.masked}, static_cast<int>(precision)});
  std::vector<double> x(m * k), y(n * k), want(m * n);
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l) x[i * k + l] = as_double(a[c.storage[0] == kRows ? i * k + l : l * m + i]);
  for (int j = 0; j < n; ++j)
    for (int l = 0; l < k; ++l) y[j * k + l] = as_double(b[c.storage[1] == kRows ? l * n + j : j * k + l]);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      const double *p = x.data() + i * k, *q = y.data() + j * k;
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += p[l] * q[l];
      want[i * n + j] = sum;
    }
  const bool rounds = std::same_as<T, float> && (precision == tw::Precision::standard || precision == tw::Precision::tf32);
  const bool splits = std::same_as<T, float> && precision == tw::Precision::bf16x3;  // into halves of 8 bits each
  const double tolerance = std::integral<T>          ? 0
                           : std::same_as<T, double> ? 1e-14
                           : rounds                  ? f32_dot_tolerance(device)
                           : splits                  ? 5e-5
                                                     : 1e-5;
  check_close("product", out.download(), want, tolerance, tolerance * std::sqrt(k) * 2);
}

/// The values of a table, one after the other in a random order that is always the same.
class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  template <std::size_t N>
  int of(const int (&values)[N]) {
    return values[below(N)];
  }

 private:
  std::mt19937 engine_;
};

template <class T>
int check_type(tw::Device& device, tw::Precision precision, unsigned seed, int draws) {
  INFO("elements of type ", typeid(T).name(), ", precision ", static_cast<int>(precision));
  Draw draw(seed);
  int cases = 0;
  for (int d = 0; d < draws; ++d) {
    std::array<int, 3> tile = kTiles[(seed + static_cast<unsigned>(d) * 5) % std::size(kTiles)];
    // Both operands are in shared memory at once, as whole tiles if there is no matrix instruction.
    while ((tile[0] + tile[1]) * tile[2] * static_cast<int>(sizeof(T)) > 32 * 1024) *std::max_element(tile.begin(), tile.end()) /= 2;
    const auto [bm, bn, bk] = tile;
    Case c{};
    c.masked = draw.below(3) != 0;
    c.storage = {draw.below(3), draw.below(3)};
    c.stages = draw.of({1, 2, 3, 4});
    c.warps = draw.of({1, 2, 4, 8});
    c.checked = draw.below(4) == 0;
    if (c.masked)
      c.size = {draw.of({1, 7, bm, bm + 1, bm + 3}), draw.of({1, 5, bn, bn + 1, bn + 16}),
                draw.of({1, 13, bk, 2 * bk + 1, 3 * bk, 4 * bk + 3})};
    else
      c.size = {bm * draw.of({1, 2}), bn, bk * draw.of({1, 2, 3, 5})};
    check_case<T>(device, tile, c, precision);
    ++cases;
  }
  return cases;
}

/// cpu, and a GPU of each level of matrix instructions; or those that the environment names.
std::vector<tw::Device> targets() {
  if (std::getenv("PROGRAMS_DEVICES")) return devices();
  std::vector<tw::Device> all;
  for (const char* name : {"cpu", "emulator:sm_75", "emulator:sm_80", "emulator:sm_89", "emulator:sm_90"})
    all.push_back(tw::Device::open(name));
  return all;
}

}  // namespace

TEST_CASE("matmuls: every type, storage, tile, size, number of stages and of warps") {
  int cases = 0;
  unsigned seed = 0;
  for (tw::Device device : targets()) {
    INFO("on ", device.name());
    constexpr int kDraws = 12;
    cases += check_type<tw::f16>(device, tw::Precision::standard, ++seed, 2 * kDraws);
    cases += check_type<tw::bf16>(device, tw::Precision::standard, ++seed, kDraws);
    cases += check_type<float>(device, tw::Precision::standard, ++seed, kDraws);
    cases += check_type<float>(device, tw::Precision::tf32, ++seed, kDraws / 2);
    for (tw::Precision p : {tw::Precision::tf32x3, tw::Precision::bf16x3}) cases += check_type<float>(device, p, ++seed, kDraws / 3);
    cases += check_type<float>(device, tw::Precision::ieee, ++seed, kDraws);
    cases += check_type<double>(device, tw::Precision::standard, ++seed, kDraws);
    cases += check_type<std::int8_t>(device, tw::Precision::standard, ++seed, kDraws);
    cases += check_type<tw::f8e4m3>(device, tw::Precision::standard, ++seed, kDraws);
    cases += check_type<tw::f8e5m2>(device, tw::Precision::standard, ++seed, kDraws);
  }
  MESSAGE(cases, " products");
}

TEST_CASE("matmuls: tiles of a fast matrix product, every number of stages and of warps") {
  for (tw::Device device : targets()) {
    INFO("on ", device.name());
    const std::array tile{64, 64, 32};
    for (int stages : {1, 2, 3, 4})
      for (int warps : {1, 2, 4, 8}) {
        const Case odd{{67, 61, 101}, {kRows, kRows}, true, stages, warps},
            aligned{{64, 64, 160}, {kRows, kTransposed}, false, stages, warps};
        check_case<tw::f16>(device, tile, stages % 2 == 0 ? odd : aligned, tw::Precision::standard);
      }
  }
}

TEST_CASE("matmuls: infinities, NaNs and zeros in f32 of every precision are what they are in IEEE arithmetic") {
  constexpr int kExtent = 16;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::array<float, 11> special{kInf, -kInf, NAN, 0.0f, -0.0f, 1.5f, -1.5f, 0x1.fdp+127f, -0x1.fffffep-1f, 0x1p-126f, 1e30f};
  const tw::Kernel kernel("matmul", matmul<float>);
  for (tw::Device device : targets())
    for (tw::Precision p : {tw::Precision::standard, tw::Precision::tf32x3, tw::Precision::bf16x3, tw::Precision::ieee})
      for (const int at : {3, 12}) {  // K of the special value of b; that of a is 3
        // Row i of a and column i of b hold one special value and ones.
        std::vector<float> a(kExtent * kExtent, 1.0f), b(kExtent * kExtent, 1.0f);
        for (int i = 0; i < kExtent; ++i) {
          a[i * kExtent + 3] = special[i % special.size()];
          b[at * kExtent + i] = special[i % special.size()];
        }
        auto out = device.upload(std::vector<float>(kExtent * kExtent, 99.0f));
        kernel({.grid = {1, 1}, .num_warps = 1}, device.upload(a), device.upload(b), out, kExtent, kExtent, kExtent,
               std::array{kExtent, kExtent, kExtent, int{kRows}, int{kRows}, 0, static_cast<int>(p)});
        const std::vector<float> got = out.download();
        for (int i = 0; i < kExtent; ++i)
          for (int j = 0; j < kExtent; ++j) {
            double sum = 0;
            for (int l = 0; l < kExtent; ++l) sum += double{a[i * kExtent + l]} * double{b[l * kExtent + j]};
            // Where a product is greater than every f32, its parts may be infinities of both signs.
            if (std::isfinite(sum) && std::abs(sum) > double{std::numeric_limits<float>::max()}) continue;
            const float x = got[i * kExtent + j];
            INFO("on ", device.name(), ", precision ", static_cast<int>(p), ", ", special[i % special.size()], " and ",
                 special[j % special.size()], ", k ", at, ": ", x);
            CHECK(std::isnan(x) == std::isnan(sum));
            if (std::isinf(sum)) CHECK(x == static_cast<float>(sum));
            if (std::isfinite(sum)) CHECK(x == doctest::Approx(sum).epsilon(2e-3));
          }
      }
}

TEST_CASE("matmuls: the greatest finite numbers are finite factors where factors are split") {
  constexpr int kExtent = 16;
  const std::array<float, 6> large{0x1.fffffep+127f, -0x1.fffffep+127f, 0x1.fffp+127f, 0x1.ffep+127f, -0x1.ffp+127f, 0x1.fep+127f};
  const std::array<float, 5> small{1.0f, -0.75f, 0x1.23456p-9f, -3.0e-5f, 0x1p-100f};
  const tw::Kernel kernel("matmul", matmul<float>);
  for (tw::Device device : targets())
    for (tw::Precision p : {tw::Precision::tf32x3, tw::Precision::bf16x3, tw::Precision::ieee})
      for (const bool is_left : {true, false}) {
        std::vector<float> a(kExtent * kExtent), b(kExtent * kExtent);
        for (int i = 0; i < kExtent; ++i) {
          a[i * kExtent + 5] = is_left ? large[i % large.size()] : small[i % small.size()];
          b[5 * kExtent + i] = is_left ? small[i % small.size()] : large[i % large.size()];
        }
        auto out = device.upload(std::vector<float>(kExtent * kExtent, NAN));
        kernel({.grid = {1, 1}, .num_warps = 1}, device.upload(a), device.upload(b), out, kExtent, kExtent, kExtent,
               std::array{kExtent, kExtent, kExtent, int{kRows}, int{kRows}, 0, static_cast<int>(p)});
        const std::vector<float> got = out.download();
        for (int i = 0; i < kExtent; ++i)
          for (int j = 0; j < kExtent; ++j) {
            const double want = double{a[i * kExtent + 5]} * double{b[5 * kExtent + j]};
            INFO("on ", device.name(), ", precision ", static_cast<int>(p), ", ", a[i * kExtent + 5], " and ", b[5 * kExtent + j]);
            CHECK(got[i * kExtent + j] == doctest::Approx(want).epsilon(p == tw::Precision::bf16x3 ? 0x1p-14 : 0x1p-20));
          }
      }
}

namespace {

/// (a b) c: a and the result are row-major.
template <class T>
void chain(tw::Ptr<const T> a, tw::Ptr<const T> b, tw::Ptr<const T> c, tw::Ptr<Sum<T>> out, std::array<int, 6> shape) {
  const auto [m, k, n, p, b_storage, c_storage] = shape;
  const tw::I32 zero = 0;
  auto x = read(a, zero, zero, m, k, m, k, kRows, false), y = read(b, zero, zero, k, n, k, n, b_storage, false),
       z = read(c, zero, zero, n, p, n, p, c_storage, false);
  store(out + column(arange(0, m)) * p + row(arange(0, p)), tw::dot(tw::dot(x, y).template to<T>(), z));
}

template <class T>
int check_chains(tw::Device& device) {
  static const tw::Kernel kernel("chain", chain<T>);
  int cases = 0;
  // Sums of few small integers, which every type holds.
  constexpr int m = 64, k = 4, n = 64, p = 32;
  std::mt19937 random(1);
  const auto integers = [&](int count) {
    std::vector<T> v;
    for (int i = 0; i < count; ++i) {
      const int x = static_cast<int>(random() % 3) - 1;
      if constexpr (std::is_arithmetic_v<T>)
        v.push_back(static_cast<T>(x));
      else
        v.push_back(T(static_cast<float>(x)));
    }
    return v;
  };
  const auto a = integers(m * k), b = integers(k * n), c = integers(n * p);
  for (int b_storage : {kRows, kTransposed})
    for (int c_storage : {kRows, kTransposed})
      for (int warps : {1, 4, 8}) {
        INFO("on ", device.name(), ", elements of type ", typeid(T).name(), ", b ", b_storage, ", c ", c_storage, ", warps ", warps);
        std::vector<double> want;
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < p; ++j) {
            double sum = 0;
            for (int l = 0; l < n; ++l) {
              double inner = 0;
              for (int q = 0; q < k; ++q) inner += as_double(a[i * k + q]) * as_double(b[b_storage == kRows ? q * n + l : l * k + q]);
              sum += inner * as_double(c[c_storage == kRows ? l * p + j : j * n + l]);
            }
            want.push_back(sum);
          }
        auto out = device.upload(std::vector<Sum<T>>(m * p, Sum<T>(99)));
        kernel({.grid = 1, .num_warps = warps}, device.upload(a), device.upload(b), device.upload(c), out,
               std::array{m, k, n, p, b_storage, c_storage});
        check_close("product", out.download(), want, 0, 0);
        ++cases;
      }
  return cases;
}

}  // namespace

TEST_CASE("matmuls: chained products of every type, whose first result keeps its threads") {
  int cases = 0;
  for (tw::Device device : targets()) {
    cases += check_chains<tw::f16>(device) + check_chains<tw::bf16>(device) + check_chains<float>(device) + check_chains<double>(device);
    cases += check_chains<std::int8_t>(device) + check_chains<tw::f8e4m3>(device) + check_chains<tw::f8e5m2>(device);
  }
  MESSAGE(cases, " products");
}

TEST_CASE("matmuls: checked mode reports the elements outside of a buffer that a loop would copy, and no copy past its last iteration") {
  for (tw::Device device : targets()) {
    INFO("on ", device.name());
    const tw::Kernel kernel("matmul", matmul<tw::f16>);
    const std::vector<tw::f16> ones(64 * 64, tw::f16(1.0f));
    const auto a = device.upload(ones), b = device.upload(ones);
    auto out = device.allocate<float>(64 * 64);
    const auto launch = [&](int k) {
      kernel({.grid = {1, 1}, .check = true}, a, b, out, 64, 64, k, std::array{64, 64, 32, int{kRows}, int{kRows}, 0, 0});
      device.synchronize();
    };
    CHECK(message_of([&] { launch(64); }) == "");
    CHECK(out.download() == std::vector<float>(64 * 64, 64.0f));
    const std::string message = message_of([&] { launch(96); });
    // Which element the message names is up to the copies: each of them is an access of its own.
    CHECK_MESSAGE(has(message, "load of 2 bytes at index 4"), message);
    CHECK_MESSAGE(has(message, " of a buffer of 4096 f16 elements ("), message);
    CHECK_MESSAGE(has(message, "matmuls.cpp:"), message);
  }
}

namespace {

constexpr int kTile = 32;
using F16 = tw::Ptr<const tw::f16>;

/// a[row i, column l] and b[row l, column j] of matrices with kTile rows and columns, and zeros from k on.
tw::Tile<tw::f16> left(const F16& a, const tw::I32& l, const tw::I32& k) {
  auto i = column(arange(0, kTile)), c = row(l + arange(0, kTile));
  return load(a + i * k + c, c < k);
}
tw::Tile<tw::f16> right(const F16& b, const tw::I32& l, const tw::I32& k) {
  auto r = column(l + arange(0, kTile)), j = row(arange(0, kTile));
  return load(b + r * kTile + j, r < k);
}
tw::F32 zeros() { return tw::zeros<float>({kTile, kTile}); }

/// Kernels that compute a b, each in a way of its own.
struct Variant {
  std::string name;
  void (*function)(F16, F16, tw::Ptr<float>, tw::I32);
};
void put(const tw::Ptr<float>& out, const tw::F32& x) { store(out + column(arange(0, kTile)) * kTile + row(arange(0, kTile)), x); }

const Variant kVariants[] = {
    {"carried pointers",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       auto l = arange(0, kTile);
       auto pa = a + column(l) * k + row(l);
       auto pb = b + column(l) * kTile + row(l);
       auto acc = zeros();
       for (auto at : tw::range(0, tw::cdiv(k, kTile))) {
         auto rest = k - at * kTile;
         acc = tw::dot(load(pa, row(l) < rest), load(pb, column(l) < rest), acc);
         pa += kTile;
         pb += kTile * kTile;
       }
       put(out, acc);
     }},
    {"a loop that starts late and a counter of 64 bits",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       auto acc = tw::dot(left(a, 0, k), right(b, 0, k));
       for (auto at : tw::range(tw::I64(kTile), k.to<std::int64_t>(), kTile))
         acc = tw::dot(left(a, at.to<std::int32_t>(), k), right(b, at.to<std::int32_t>(), k), acc);
       put(out, acc);
     }},
    {"two loops, the second of odd tiles",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       auto acc = zeros();
       for (auto at : tw::range(0, k, 2 * kTile)) acc = tw::dot(left(a, at, k), right(b, at, k), acc);
       for (auto at : tw::range(kTile, k, 2 * kTile)) acc = tw::dot(left(a, at, k), right(b, at, k), acc);
       put(out, acc);
     }},
    {"nested loops",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       auto acc = zeros();
       for (auto at : tw::range(0, k, 3 * kTile)) {
         auto end = tw::minimum(at + 3 * kTile, k);
         for (auto in : tw::range(at, end, kTile)) acc = tw::dot(left(a, in, k), right(b, in, k), acc);
       }
       put(out, acc);
     }},
    {"an outer loop that stores",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       for (auto time : tw::range(0, 3)) {
         auto acc = tw::full<float>({kTile, kTile}, 0.0f) * time.to<float>();
         for (auto at : tw::range(0, k, kTile)) acc = tw::dot(left(a, at, k), right(b, at, k), acc);
         put(out, acc);
       }
     }},
    {"a loop that stores the sum so far",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       auto acc = zeros();
       put(out, acc);
       for (auto at : tw::range(0, k, kTile)) {
         acc = tw::dot(left(a, at, k), right(b, at, k), acc);
         put(out, acc);
       }
     }},
    {"operands that are computed",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       auto acc = zeros();
       for (auto at : tw::range(0, k, kTile)) acc = tw::dot((left(a, at, k).to<float>() * 2).to<tw::f16>(), right(b, at, k), acc);
       put(out, acc / 2);
     }},
    {"two products of one operand",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       auto acc = zeros(), twice = zeros();
       for (auto at : tw::range(0, k, kTile)) {
         auto x = left(a, at, k), y = right(b, at, k);
         acc = tw::dot(x, y, acc);
         twice = tw::dot(tw::transpose(y), tw::transpose(x), twice);
       }
       put(out, (acc + tw::transpose(twice)) / 2);
     }},
    {"a product under a condition",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       auto acc = zeros();
       for (auto at : tw::range(0, k + 2 * kTile, kTile)) tw::when(at < k, [&] { acc = tw::dot(left(a, at, k), right(b, at, k), acc); });
       put(out, acc);
     }},
    {"a loop while",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       auto acc = zeros();
       tw::I32 at = 0;
       tw::loop_while([&] { return at < k; },
                      [&] {
                        acc = tw::dot(left(a, at, k), right(b, at, k), acc);
                        at += kTile;
                      });
       put(out, acc);
     }},
    {"an operand that does not change, and chained products",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       auto one = tw::where(column(arange(0, kTile)) == row(arange(0, kTile)), 1.0f, 0.0f).to<tw::f16>();
       auto acc = zeros();
       for (auto at : tw::range(0, k, kTile)) acc = tw::dot(tw::dot(one, left(a, at, k)).to<tw::f16>(), right(b, at, k), acc);
       put(out, acc);
     }},
    {"a batch of two, every second tile each",
     [](F16 a, F16 b, tw::Ptr<float> out, tw::I32 k) {
       auto acc = tw::zeros<float>({2, kTile, kTile});
       auto z = arange(0, 2), i = arange(0, kTile);
       auto batch = tw::reshape(z, {2, 1, 1}), r = tw::reshape(i, {1, kTile, 1}), c = tw::reshape(i, {1, 1, kTile});
       for (auto at : tw::range(0, k, 2 * kTile)) {
         auto ca = at + batch * kTile + c, rb = at + batch * kTile + r;
         acc = tw::dot(load(a + r * k + ca, ca < k), load(b + rb * kTile + c, rb < k), acc);
       }
       put(out, tw::sum(acc, 0));
     }},
};

}  // namespace

TEST_CASE("matmuls: loops of every form") {
  constexpr std::pair<int, int> kOptions[] = {{4, 3}, {1, 2}, {8, 4}, {2, 1}};  // warps, stages
  unsigned number = 0;
  for (tw::Device device : targets())
    for (const Variant& v : kVariants) {
      const tw::Kernel kernel("product", v.function);
      for (int k : {0, 1, 32, 63, 200}) {
        const auto [warps, stages] = kOptions[number++ % 4];
        INFO("on ", device.name(), ", ", v.name, ", k ", k, ", warps ", warps, ", stages ", stages);
        const auto a = numbers<tw::f16>(kTile * k + 1, 1), b = numbers<tw::f16>(kTile * k + 1, 2);
        auto out = device.upload(std::vector<float>(kTile * kTile, NAN));
        kernel({.grid = 1, .num_warps = warps, .num_stages = stages, .check = k == 63}, device.upload(a), device.upload(b), out, k);
        std::vector<double> want;
        for (int i = 0; i < kTile; ++i)
          for (int j = 0; j < kTile; ++j) {
            double sum = 0;
            for (int l = 0; l < k; ++l) sum += as_double(a[i * k + l]) * as_double(b[l * kTile + j]);
            want.push_back(sum);
          }
        check_close("product", out.download(), want, 1e-5, 1e-4);
      }
    }
}
