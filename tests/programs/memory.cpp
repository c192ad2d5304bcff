// Loads and stores through pointers and views: masks, values of masked-off lanes, options, strides, edges, and loads after stores of the
// same program.
#include <algorithm>

#include "tests/programs/programs.h"

namespace {

using namespace programs;
using tw::arange, tw::column, tw::row, tw::load, tw::store;

}  // namespace

TEST_CASE("memory: masks and others: scalars, tiles, constants, broadcast") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("others", [](tw::Ptr<const float> x, tw::Ptr<const float> other, tw::Ptr<float> out, tw::I32 n) {
      auto i = arange(0, 64);
      auto slot = [&, k = 0]() mutable { return out + k++ * 64 + i; };
      store(slot(), load(x + i));
      store(slot(), load(x + i, i < n));
      store(slot(), load(x + i, i < n, -1.5));
      store(slot(), load(x + i, i < n, load(other + i)));
      store(slot(), load(x + i, i % 3 == 0, load(other + 5)));
      store(slot(), load(x + i, true));
      store(slot(), load(x + i, false, tw::inf));
      store(slot(), load(x + i, n > 5, 3));
      store(slot(), load(x + (63 - i), i >= n, i.to<float>()));
      auto square = load(x + column(arange(0, 8)) * 8 + row(arange(0, 8)), row(arange(0, 8)) < 5, column(arange(0, 8)).to<float>());
      store(slot(), tw::ravel(square));
      store(slot(), load(x + i * 0 + 3));
      auto p = slot();
      store(p, 0);
      store(p, load(x + i), i % 2 == 1);
      store(p, 9.5f, i < 4);
      store(out + 12 * 64 + i, load(x), i < n);  // a scalar value
    });
    const auto x = numbers<float>(64, 1), other = numbers<float>(64, 2);
    auto out = device.upload(std::vector<float>(13 * 64, -7));
    kernel({.grid = 1}, device.upload(x), device.upload(other), out, 37);
    std::vector<float> want;
    auto rows = [&](auto f) {
      for (int i = 0; i < 64; ++i) want.push_back(f(i));
    };
    rows([&](int i) { return x[i]; });
    rows([&](int i) { return i < 37 ? x[i] : 0; });
    rows([&](int i) { return i < 37 ? x[i] : -1.5f; });
    rows([&](int i) { return i < 37 ? x[i] : other[i]; });
    rows([&](int i) { return i % 3 == 0 ? x[i] : other[5]; });
    rows([&](int i) { return x[i]; });
    rows([&](int) { return INFINITY; });
    rows([&](int i) { return x[i]; });
    rows([&](int i) { return i >= 37 ? x[63 - i] : i; });
    rows([&](int i) { return i % 8 < 5 ? x[i] : i / 8; });
    rows([&](int) { return x[3]; });
    rows([&](int i) { return i < 4 ? 9.5f : i % 2 == 1 ? x[i] : 0; });
    rows([&](int i) { return i < 37 ? x[0] : -7; });
    check_same("others (rows of 64)", out.download(), want);
  });
}

TEST_CASE("memory: cache and eviction options change nothing that is computed") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("options", [](tw::Ptr<const std::int64_t> x, tw::Ptr<std::int64_t> y) {
      auto i = arange(0, 32);
      auto a = load(x + i, {}, {}, {.cache = tw::Cache::streaming});
      auto b = load(x + i, i < 8, 1, {.cache = tw::Cache::global, .evict = tw::Evict::first});
      auto c = load(x + i, i > 3, {}, {.is_volatile = true});
      store(y + i, a, {}, {.cache = tw::Cache::write_back});
      store(y + 32 + i, b, i < 16, {.evict = tw::Evict::last});
      store(y + 64 + i, c, {}, {.cache = tw::Cache::write_through, .is_volatile = true});
    });
    const auto x = random_bits<std::int64_t>(32, 1);
    auto y = device.upload(std::vector<std::int64_t>(96, -1));
    kernel({.grid = 1}, device.upload(x), y);
    std::vector<std::int64_t> want = x;
    for (int i = 0; i < 32; ++i) want.push_back(i < 8 ? x[i] : i < 16 ? 1 : -1);
    for (int i = 0; i < 32; ++i) want.push_back(i > 3 ? x[i] : 0);
    check_same("options", y.download(), want);
  });
}

TEST_CASE("memory: a program sees its own stores, shifted, through another pointer, of another shape, in a loop") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("visible", [](tw::Ptr<float> x, tw::Ptr<float> y, tw::I32 steps) {
      auto i = arange(0, 128);
      store(x + i, load(x + 127 - i));  // reverses in place
      auto t = load(x + column(arange(0, 8)) * 16 + row(arange(0, 16)));
      store(x + column(arange(0, 16)) * 8 + row(arange(0, 8)), tw::transpose(t));  // transposes in place
      auto before = load(x + i);
      store(x + i, before + 1);
      store(y + i, load(x + i) - before);  // 1 everywhere
      for (auto s : tw::range(0, steps)) {
        auto left = load(x + i - 1, i > 0), right = load(x + i + 1, i < 127);
        store(x + i, (left + right) * 0.5f + s.to<float>());
      }
      store(y + 128, load(x + 5));
      store(x + 5, 0);
      store(y + 129, load(x + 5));
    });
    auto x = numbers<float>(128, 1);
    auto bx = device.upload(x);
    auto by = device.allocate<float>(130);
    kernel({.grid = 1}, bx, by, 7);
    std::vector<float> y(128, 1);
    std::reverse(x.begin(), x.end());
    auto old = x;
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 16; ++c) x[c * 8 + r] = old[r * 16 + c];
    for (int i = 0; i < 128; ++i) old[i] = x[i] + 1, y[i] = (x[i] + 1) - x[i];
    for (int s = 0; s < 7; ++s) {
      x = old;
      for (int i = 0; i < 128; ++i) old[i] = ((i > 0 ? x[i - 1] : 0) + (i < 127 ? x[i + 1] : 0)) * 0.5f + s;
    }
    y.push_back(old[5]), y.push_back(0), old[5] = 0;
    check_same("x", bx.download(), old);
    check_same("y", by.download(), y);
  });
}

TEST_CASE("memory: pointers are 64-bit where the offsets are not") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("far", [](tw::Ptr<const std::uint8_t> x, tw::Ptr<std::uint8_t> y, tw::I32 big) {
      auto i = arange(0, 16);
      auto far = x + big + big;     // 64-bit in effect
      auto near = x + (big + big);  // wraps to a negative number
      store(y + i, load(far - (std::int64_t{1} << 31) + i));
      store(y + 16 + i, load(near + (std::int64_t{1} << 31) + i));
      store(y + 32 + i, load(x + tw::full<std::uint32_t>({}, 4294967295u) - (std::int64_t{1} << 32) + i + 1));
      store(y + 48 + i, load(x + 15 + tw::cast<std::int8_t>(-i)));
    });
    const auto x = random_bits<std::uint8_t>(16, 1);
    auto y = device.allocate<std::uint8_t>(64);
    kernel({.grid = 1}, device.upload(x), y, 1 << 30);
    std::vector<std::uint8_t> want = x;
    for (int k = 0; k < 2; ++k) want.insert(want.end(), x.begin(), x.end());
    want.insert(want.end(), x.rbegin(), x.rend());
    check_same("far", y.download(), want);
  });
}

TEST_CASE("memory: buffers at an offset, raw pointers, wrapped memory, null") {
  on_every_cpu([](tw::Device& device) {
    const tw::Kernel kernel("scale", [](tw::Ptr<const double> x, tw::Ptr<double> y, tw::I32 n, tw::F64 by) {
      auto i = arange(0, 16);
      store(y + i, load(x + i, i < n) * by, i < n);
    });
    const auto x = numbers<double>(20, 1);
    const auto in = device.upload(x);
    std::vector<double> memory(32, 0), want(32, 0);
    auto out = device.wrap(memory.data(), memory.size());
    kernel({.grid = 1}, in + 3, out + 1, 16, 2.0);
    for (int i = 0; i < 16; ++i) want[1 + i] = x[3 + i] * 2;
    kernel({.grid = 1, .device = device}, in.data() + 1, memory.data() + 17, 13, 0.5f);
    for (int i = 0; i < 13; ++i) want[17 + i] = x[1 + i] * 0.5;
    kernel({.grid = 1}, nullptr, out, 0, 1.0);  // all lanes masked off
    device.synchronize();
    check_same("scale", memory, want);
    CHECK(out.data() == memory.data());
    CHECK(has(message_of([&] { kernel({.grid = 1}, in + 21, out, 1, 1.0); }), "memory.cpp:"));
    CHECK(has(message_of([&] { kernel({.grid = 1}, in.data(), memory.data(), 1, 1.0); }), "memory.cpp:"));  // no device
  });
}

TEST_CASE("memory: views of any strides, their edges, read only") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("view_copy", [](tw::View<const float, 2> x, tw::View<float, 2> y, int bm, int bn) {
      auto i = tw::program_id(0).to<std::int64_t>() * bm;
      auto j = tw::program_id(1) * bn;
      y.store({i, j}, x.load({i, j}, {bm, bn}) * 2.0f + 1.0f);
    });
    const int m = 19, n = 37;
    const auto x = numbers<float>(m * n, 1);
    auto bx = device.upload(x);
    const tw::Launch launch{.grid = {tw::cdiv(m, 8), tw::cdiv(n, 16)}};
    for (int form = 0; form < 4; ++form) {
      CAPTURE(form);
      auto out = device.upload(std::vector<float>(2000, -1));
      // The four forms: from a dense matrix, from a transposed one, and from one row repeated to a dense matrix; from a dense matrix to a
      // transposed one.
      const auto from = form == 1 ? tw::view(bx, {m, n}, {1, m}) : form == 2 ? tw::view(bx, {m, n}, {0, 1}) : tw::view(bx, {m, n});
      const auto to = form == 3 ? tw::view(out, {m, n}, {2, 50}) : tw::view(out, {m, n}, {50, 1});
      kernel(launch, from, to, 8, 16);
      std::vector<float> want(2000, -1);
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          const float v = form == 1 ? x[i + j * m] : form == 2 ? x[j] : x[i * n + j];
          want[form == 3 ? i * 2 + j * 50 : i * 50 + j] = v * 2.0f + 1.0f;
        }
      check_same("view", out.download(), want);
    }
    auto small = device.allocate<float>(m * n - 1);
    CHECK(has(message_of([&] { tw::view(small, {m, n}); }), "memory.cpp:"));
    CHECK(has(message_of([&] { tw::view(bx, {m, n}, {n + 1, 1}); }), "memory.cpp:"));
  });
}

TEST_CASE("memory: views outside of their extents: other, and nothing written; ranks 1, 3 and 5") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("outside", [](tw::View<std::int32_t, 1> x, tw::View<std::int32_t, 3> y, tw::View<const std::int32_t, 5> z,
                                          tw::Ptr<std::int32_t> out, tw::I32 at) {
      auto i = arange(0, 16);
      store(out + i, x.load({at}, {16}, 7));
      store(out + 16 + i, x.load({-5}, {16}, tw::I32(8)));
      store(out + 32 + i, x.load({1000000000}, {16}));
      store(out + 48 + i, x.load({tw::I64(1) << 40}, {16}, i));
      store(out + 64 + i, tw::ravel(y.load({1, -1, 2}, {1, 4, 4}, -3)));
      store(out + 80 + i, tw::ravel(z.load({0, 1, 0, 1, 0}, {1, 2, 2, 2, 2}, 9)));
      store(out + 96, x.extent(0).to<std::int32_t>());
      store(out + 97, (y.stride(0) + y.stride(-1) * 1000 + z.extent(-2) * 100000).to<std::int32_t>());
      x.store({at}, tw::full<std::int32_t>({16}, 100));
      x.store({-14}, tw::full<std::int32_t>({16}, 200));
      y.store({1, 2, -2}, tw::full<std::int32_t>({2, 2, 4}, 5));
    });
    std::vector<std::int32_t> x(20), y(2 * 3 * 5), z(2 * 2 * 2 * 2 * 2), want;
    for (int i = 0; i < 20; ++i) x[i] = 10 + i;
    for (int i = 0; i < 30; ++i) y[i] = 1000 + i;
    for (int i = 0; i < 32; ++i) z[i] = 2000 + i;
    auto bx = device.upload(x), by = device.upload(y);
    const auto bz = device.upload(z);
    auto out = device.allocate<std::int32_t>(98);
    kernel({.grid = 1}, tw::view(bx, {18}), tw::view(by, {2, 3, 5}), tw::view(bz, {2, 2, 2, 2, 2}), out, 11);
    for (int i = 0; i < 16; ++i) want.push_back(11 + i < 18 ? x[11 + i] : 7);
    for (int i = 0; i < 16; ++i) want.push_back(i - 5 >= 0 ? x[i - 5] : 8);
    for (int i = 0; i < 16; ++i) want.push_back(0);
    for (int i = 0; i < 16; ++i) want.push_back(i);
    for (int i = 0; i < 16; ++i) want.push_back(i / 4 >= 1 && i % 4 < 3 ? y[15 + (i / 4 - 1) * 5 + 2 + i % 4] : -3);
    for (int i = 0; i < 16; ++i) want.push_back(i / 8 == 0 && i / 2 % 2 == 0 ? z[8 + (i / 4 % 2) * 4 + 2 + i % 2] : 9);
    want.insert(want.end(), {18, 15 + 1000 + 200000});
    check_same("outside", out.download(), want);
    for (int i = 11; i < 18; ++i) x[i] = 100;
    x[0] = x[1] = 200;
    for (int j = 0; j < 2; ++j) y[15 + 10 + j] = 5;
    check_same("x", bx.download(), x);
    check_same("y", by.download(), y);
  });
}

namespace {

/// Column sums of a matrix, a block of rows at a time, and of the same block shifted by a column.
template <class T>
void column_sums(tw::Ptr<const T> x, tw::Ptr<float> out, tw::I32 rows, tw::I32 columns, std::array<int, 3> block) {
  const auto [bm, bn, stages] = block;
  auto r = tw::column(tw::arange(0, bm)), c = tw::row(tw::program_id(0) * bn + tw::arange(0, bn));
  auto acc = tw::zeros<float>({bm, bn});
  for (auto at : tw::range(0, rows, bm, {.num_stages = stages})) {
    auto there = at + r < rows;
    auto v = tw::load(x + (at + r) * columns + c, there && c < columns);
    auto w = tw::load(x + (at + r) * columns + c + 1, there && c + 1 < columns);
    acc += v.template to<float>() + 2 * w.template to<float>() * v.template to<float>();
  }
  tw::store(out + tw::program_id(0) * bn + tw::arange(0, bn), tw::sum(acc, 0), tw::program_id(0) * bn + tw::arange(0, bn) < columns);
}

template <class T>
void check_column_sums(tw::Device& device) {
  const tw::Kernel kernel("column_sums", column_sums<T>);
  for (const auto& [rows, columns] : {std::pair{0, 5}, {1, 64}, {100, 64}, {37, 61}, {64, 130}})
    for (int stages : {1, 2, 3, 5}) {
      INFO("elements of ", sizeof(T), " bytes, ", rows, " x ", columns, ", stages ", stages);
      std::vector<T> x(rows * columns + 1);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(static_cast<float>(static_cast<int>(i * 7 % 11) - 5));
      auto out = device.upload(std::vector<float>(columns, NAN));
      kernel({.grid = tw::cdiv(columns, 64), .check = stages == 3}, device.upload(x), out, rows, columns, std::array{16, 64, stages});
      std::vector<float> want(columns);
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
          const double v = as_double(x[i * columns + j]), w = j + 1 < columns ? as_double(x[i * columns + j + 1]) : 0;
          want[j] += static_cast<float>(v + 2 * w * v);
        }
      check_same("column sums", out.download(), want);
    }
}

}  // namespace

TEST_CASE("memory: tiles along the first and the middle axis, with masks, others and sums") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel("other_axes", [](tw::View<const float, 3> x, tw::Ptr<const bool> rows, tw::Ptr<const std::int8_t> bytes,
                                             tw::Ptr<float> out, tw::I32 i, tw::I32 n) {
      auto a = arange(0, 2), b = arange(0, 32), c = arange(0, 16);
      const auto at = tw::expand_dims(tw::expand_dims(a, 1), 2) * 512 + tw::expand_dims(column(b), 0) * 16 + tw::expand_dims(row(c), 0);
      store(out + at, x.load({0, i, 0}, {2, 32, 16}, 5.0f) * 2);  // its middle axis is dense
      // One mask is not a bound; the other masks differ.
      auto m = column(b), k = row(c);
      const auto v = load(bytes + m + k * 32, (m + k) % 3 != 0 && k < n, (m - k).to<std::int8_t>());
      store(out + 1024 + m * 16 + k, v.to<float>());
      // Rows that are chosen by loaded flags.
      const auto w = load(bytes + m + k * 32, load(rows + k) && m < n, -1);
      store(out + 1536 + c, tw::sum(w.to<float>(), 0));
      store(out + 1552 + b, tw::sum(w.to<float>(), 1));
    });
    const int plane = 37 * 16;
    const auto x = numbers<float>(2 * plane, 1);
    std::vector<std::int8_t> bytes(512);
    for (int t = 0; t < 512; ++t) bytes[static_cast<std::size_t>(t)] = static_cast<std::int8_t>(t * 7 % 101 - 50);
    std::vector<bool> rows;
    for (int k = 0; k < 16; ++k) rows.push_back(k % 5 != 1);
    const auto in = device.upload(x);
    for (const auto& [i, n] : {std::pair{0, 16}, {20, 9}, {-3, 0}, {37, 1}}) {
      auto out = device.upload(std::vector<float>(1584, -7));
      kernel({.grid = 1}, tw::view(in, {2, 37, 16}, {plane, 1, 37}), device.upload(rows), device.upload(bytes), out, i, n);
      std::vector<float> want(1584, 0);
      for (int p = 0; p < 2; ++p)
        for (int q = 0; q < 32; ++q)
          for (int r = 0; r < 16; ++r)
            want[p * 512 + q * 16 + r] = 2 * (i + q >= 0 && i + q < 37 ? x[static_cast<std::size_t>(p * plane + i + q + r * 37)] : 5.0f);
      for (int m = 0; m < 32; ++m)
        for (int k = 0; k < 16; ++k) {
          const float byte = bytes[static_cast<std::size_t>(m + k * 32)];
          want[1024 + m * 16 + k] = (m + k) % 3 != 0 && k < n ? byte : static_cast<float>(m - k);
          const float w = rows[k] && m < n ? byte : -1;
          want[1536 + k] += w;
          want[1552 + m] += w;
        }
      check_same("other axes", out.download(), want);
    }
  });
}

namespace {

/// Stores tiles along their first axis: loaded, computed, permuted, constant along either axis, and of indices alone.
template <class T>
void store_columns(tw::Ptr<const T> x, tw::Ptr<T> out, tw::I32 rows, tw::I32 columns, int m, int n) {
  auto i = column(arange(0, m)), j = row(arange(0, n));
  const auto inside = i < rows && j < columns;
  auto slot = [&, k = 0]() mutable { return out + k++ * m * n + i + j * m; };
  const auto v = load(x + i * n + j);
  store(slot(), v);
  store(slot(), v + load(x + j), inside);
  store(slot(), tw::transpose(load(x + column(arange(0, n)) * m + row(arange(0, m)))), j < columns);
  store(slot(), tw::broadcast_to(load(x + i), {m, n}), i < rows);
  store(slot(), tw::broadcast_to(load(x + j), {m, n}), inside);
  store(slot(), (i * 3 + j).template to<std::int8_t>().template to<T>(), inside);
  store(slot(), v, (i + j) % 3 == 0);
  // Stored values are loaded again, along either axis.
  auto p = slot();
  store(p, v + v);
  store(p, load(p) + load(out + 7 * m * n + i * n + j), inside);
}

template <class T>
void check_store_columns(tw::Device& device) {
  const tw::Kernel kernel("store_columns", store_columns<T>);
  for (const auto& [m, n] : {std::pair{64, 64}, {16, 4}, {4, 32}, {128, 2}, {8, 16}})
    for (const auto& [rows, columns] : {std::pair{m, n}, {m - 1, n / 2 + 1}, {3, n}, {0, 1}}) {
      INFO(sizeof(T), " bytes, ", rows, " x ", columns, " of ", m, " x ", n);
      const int size = m * n;
      std::vector<T> x(static_cast<std::size_t>(size));
      for (int k = 0; k < size; ++k) x[static_cast<std::size_t>(k)] = static_cast<T>(static_cast<float>(k * 7 % 29 - 14));
      auto out = device.upload(std::vector<T>(static_cast<std::size_t>(8 * size), static_cast<T>(99.0f)));
      kernel({.grid = 1}, device.upload(x), out, rows, columns, m, n);
      std::vector<T> want(static_cast<std::size_t>(8 * size), static_cast<T>(99.0f));
      const auto at = [&](int k) { return as_double(x[static_cast<std::size_t>(k)]); };
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          const bool inside = i < rows && j < columns;
          const auto put = [&](int k, double value) {
            want[static_cast<std::size_t>(k * size + i + j * m)] = static_cast<T>(static_cast<float>(value));
          };
          put(0, at(i * n + j));
          if (inside) put(1, at(i * n + j) + at(j));
          if (j < columns) put(2, at(j * m + i));
          if (i < rows) put(3, at(i));
          if (inside) put(4, at(j));
          if (inside) put(5, static_cast<std::int8_t>(i * 3 + j));
          if ((i + j) % 3 == 0) put(6, at(i * n + j));
          const int other = i * n + j;  // in the order of the store: element [other % m, other / m]
          put(7, at(i * n + j) * 2 + (inside ? at(other % m * n + other / m) * 2 : 0));
        }
      check_same("columns", out.download(), want);
    }
}

}  // namespace

TEST_CASE("memory: stores along another axis than the last one, of every size of an element") {
  on_every_device([](tw::Device& device) {
    check_store_columns<std::int8_t>(device);
    check_store_columns<tw::f16>(device);
    check_store_columns<float>(device);
    check_store_columns<double>(device);
  });
}

TEST_CASE("memory: loops that are pipelined load what others load") {
  on_every_device([](tw::Device& device) {
    check_column_sums<float>(device);
    check_column_sums<tw::f16>(device);
    check_column_sums<std::int8_t>(device);
    check_column_sums<double>(device);
  });
}

TEST_CASE("memory: rows of several vectors that begin before a view, inside of it, or end behind it") {
  on_every_device([](tw::Device& device) {
    const tw::Kernel kernel(
        "rows", [](tw::View<const std::int32_t, 2> x, tw::View<std::int32_t, 2> y, tw::Ptr<std::int32_t> sums, tw::I32 i, tw::I32 j) {
          const auto t = x.load({i, j}, {2, 128}, -1);
          tw::store(sums + tw::arange(0, 2), tw::sum(t, 1));
          y.store({i, j}, t * 2);
        });
    constexpr int m = 3, n = 150;
    std::vector<std::int32_t> x(m * n);
    for (int k = 0; k < m * n; ++k) x[k] = 10 + k;
    const auto bx = device.upload(x);
    for (int i : {-1, 0, 2})
      for (int j : {-140, -128, -127, -17, -1, 0, 22, 23, 100, 149, 150}) {
        auto y = device.upload(std::vector<std::int32_t>(m * n, 5)), sums = device.allocate<std::int32_t>(2);
        kernel({.grid = 1}, tw::view(bx, {m, n}), tw::view(y, {m, n}), sums, i, j);
        std::vector<std::int32_t> want(m * n, 5), want_sums(2);
        for (int r = i; r < i + 2; ++r)
          for (int c = j; c < j + 128; ++c) {
            const bool inside = r >= 0 && r < m && c >= 0 && c < n;
            want_sums[r - i] += inside ? x[r * n + c] : -1;
            if (inside) want[r * n + c] = x[r * n + c] * 2;
          }
        check_same("y", y.download(), want);
        check_same("sums", sums.download(), want_sums);
      }
  });
}
