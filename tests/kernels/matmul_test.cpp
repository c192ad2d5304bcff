// Products against sums in double precision: shapes, strides, types, batches, epilogues and sums in parts.
#include <algorithm>

#include "tests/kernels/matrices.h"

using namespace kernel_tests;
namespace kernels = tw::kernels;

namespace {

std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, std::int64_t batch, std::int64_t m, std::int64_t n,
                            std::int64_t k, bool one_a = false) {
  std::vector<double> c(static_cast<std::size_t>(batch * m * n));
  for (std::int64_t z = 0; z < batch; ++z)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += a[static_cast<std::size_t>(((one_a ? 0 : z) * m + i) * k + l)] * b[static_cast<std::size_t>((z * k + l) * n + j)];
        c[static_cast<std::size_t>((z * m + i) * n + j)] = sum;
      }
  return c;
}

template <class T, class C>
void check_product(tw::Device& device, std::int64_t m, std::int64_t n, std::int64_t k, Placement placement = Placement::dense,
                   const kernels::Options& options = {}) {
  INFO(m, " x ", n, " x ", k);
  Array<T, 2> a(device, {m, k}, 1, placement), b(device, {k, n}, 2, placement);
  Array<C, 2> c(device, {m, n}, 3, placement);
  kernels::matmul(a.view(), b.view(), c.view(), options);
  const double tolerance = std::max(epsilon<C>(), is_gpu(device) && std::is_same_v<T, float> ? 2e-3 : 0.0);
  CHECK(error(c.values(), product(a.values(), b.values(), 1, m, n, k)) <= tolerance);
  CHECK(c.gaps_untouched());
}

}  // namespace

TEST_CASE("matmul: shapes of 1, odd and prime") {
  on_every_device([](tw::Device& device) {
    for (auto [m, n, k] : {std::array{1, 1, 1}, {1, 17, 33}, {67, 1, 5}, {37, 41, 43}, {64, 64, 64}, {130, 70, 16}})
      check_product<float, float>(device, m, n, k);
    check_product<float, float>(device, 3, 5, 0);
    check_product<float, float>(device, 0, 5, 4);
  });
}

TEST_CASE("matmul: tiles that cover each axis exactly, or not") {
  on_every_device([](tw::Device& device) {
    for (const int splits : {1, 3})
      for (const int m : {32, 33})
        for (const int n : {32, 31})
          for (const int k : {48, 50})
            check_product<float, float>(device, m, n, k, Placement::dense,
                                        {.configuration = kernels::Configuration{.bm = 16, .bn = 16, .bk = 16, .splits = splits}});
  });
}

TEST_CASE("matmul: strides") {
  on_every_device([](tw::Device& device) {
    for (Placement p : {Placement::padded, Placement::reversed})
      check_product<float, float>(device, 35, 19, 40, p), check_product<tw::f16, tw::f16>(device, 35, 19, 40, p);
    Array<float, 2> a(device, {40, 30}, 1), b(device, {20, 40}, 2), c(device, {30, 20}, 3);
    kernels::matmul(tw::transposed(a.view()), tw::transposed(b.view()), c.view());
    Array<float, 2> plain_a(device, {30, 40}, 1), plain_b(device, {40, 20}, 2);
    std::vector<double> at(1200), bt(800);
    const auto av = a.values(), bv = b.values();
    for (std::size_t i = 0; i < 40; ++i) {
      for (std::size_t j = 0; j < 30; ++j) at[j * 40 + i] = av[i * 30 + j];
      for (std::size_t j = 0; j < 20; ++j) bt[i * 20 + j] = bv[j * 40 + i];
    }
    CHECK(error(c.values(), product(at, bt, 1, 30, 20, 40)) < 2e-3);
  });
}

TEST_CASE("matmul: element types") {
  on_every_device([](tw::Device& device) {
    check_product<tw::f16, float>(device, 33, 47, 65);
    check_product<tw::f16, tw::f16>(device, 33, 47, 65);
    check_product<tw::bf16, tw::bf16>(device, 33, 47, 65);
    check_product<tw::bf16, float>(device, 33, 47, 65);
    check_product<double, double>(device, 17, 9, 21);
    check_product<std::int8_t, std::int32_t>(device, 33, 47, 65);
    check_product<tw::f8e4m3, float>(device, 33, 20, 65);
    check_product<tw::f8e5m2, tw::bf16>(device, 33, 20, 65);
    check_product<float, tw::f16>(device, 33, 20, 65);
  });
}

TEST_CASE("matmul: batches, of one matrix too") {
  on_every_device([](tw::Device& device) {
    Array<float, 3> a(device, {3, 18, 20}, 1), b(device, {3, 20, 22}, 2, Placement::padded), c(device, {3, 18, 22}, 3);
    kernels::matmul(a.view(), b.view(), c.view());
    CHECK(error(c.values(), product(a.values(), b.values(), 3, 18, 22, 20)) < 2e-3);
    Array<float, 3> one(device, {1, 18, 20}, 4);
    kernels::matmul(one.view(), b.view(), c.view());
    CHECK(error(c.values(), product(one.values(), b.values(), 3, 18, 22, 20, true)) < 2e-3);
  });
}

TEST_CASE("matmul: sums in parts are the same from run to run") {
  on_every_device([](tw::Device& device) {
    for (int splits : {2, 3, 7})
      check_product<float, float>(device, 20, 17, 200, Placement::dense,
                                  {.configuration = kernels::Configuration{.bm = 16, .bn = 16, .bk = 16, .splits = splits}});
    Array<tw::f16, 2> a(device, {5, 2000}, 1), b(device, {2000, 7}, 2);
    Array<float, 2> c(device, {5, 7}, 3), d(device, {5, 7}, 4);
    kernels::matmul(a.view(), b.view(), c.view());
    kernels::matmul(a.view(), b.view(), d.view());
    // Tensor cores cut off what does not fit into the sum where processors round: 2.6e-6 on an H200 (2026-11-26).
    CHECK(error(c.values(), product(a.values(), b.values(), 1, 5, 7, 2000)) < 1e-5);
    CHECK(c.values() == d.values());
  });
}

TEST_CASE("matmul: epilogues get buffers, views and numbers") {
  on_every_device([](tw::Device& device) {
    Array<float, 2> a(device, {33, 20}, 1), b(device, {20, 29}, 2);
    Array<tw::f16, 2> c(device, {33, 29}, 3);
    Array<float, 1> bias(device, {29}, 4);
    Array<float, 2> residual(device, {33, 29}, 5);
    const auto fused = [](auto sum, auto row, auto column, auto bias_, auto residual_, auto scale) {
      return tw::relu(sum * scale + tw::load(bias_ + column)) + tw::load(residual_ + row * 29 + column);
    };
    kernels::matmul(a.view(), b.view(), c.view(), fused, bias.buffer, residual.buffer, 0.5f, {.precision = tw::Precision::ieee});
    auto want = product(a.values(), b.values(), 1, 33, 29, 20);
    const auto biases = bias.values(), rest = residual.values();
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = std::max(0.0, want[i] * 0.5 + biases[i % 29]) + rest[i];
    CHECK(error(c.values(), want) < 1e-3);

    Array<std::int8_t, 2> x(device, {33, 20}, 1), y(device, {20, 29}, 2);
    Array<float, 2> z(device, {33, 29}, 3);
    kernels::matmul(
        x.view(), y.view(), z.view(),
        [](auto sum, auto, auto, auto extent) { return sum.template to<float>() * extent.extent(0).template to<float>(); }, bias.view());
    want = product(x.values(), y.values(), 1, 33, 29, 20);
    for (double& w : want) w *= 29;
    CHECK(error(z.values(), want) < 1e-6);
  });
}

TEST_CASE("matmul: an epilogue's accesses end where c does, in whatever shape, and those that have nothing to do with c do not") {
  on_every_device([](tw::Device& device) {
    const kernels::Options options{.precision = tw::Precision::ieee, .configuration = kernels::Configuration{.bm = 32, .bn = 32, .bk = 16}};
    for (const auto& [m, n] : {std::pair{10, 60}, std::pair{60, 10}, std::pair{33, 29}, std::pair{64, 32}}) {
      CAPTURE(m);
      CAPTURE(n);
      Array<float, 2> a(device, {m, 20}, 1), b(device, {20, n}, 2), c(device, {m, n}, 3), transposed(device, {n, m}, 4),
          flat(device, {m, n}, 5);
      Array<float, 1> table(device, {32}, 6), rows(device, {m}, 7);
      auto counts = device.upload(std::vector<int>(static_cast<std::size_t>(n), 0));
      const std::vector<double> sums = product(a.values(), b.values(), 1, m, n, 20), old_rows = rows.values(), entries = table.values();
      kernels::matmul(
          a.view(), b.view(), c.view(),
          [](auto sum, auto row, auto column, auto t, auto f, auto table_, auto row_, auto count) {
            const auto whole = [&](auto x) { return tw::broadcast_to(x, {sum.extent(0), sum.extent(1)}); };
            tw::store(t.pointer({tw::transpose(whole(column)), tw::transpose(whole(row))}), tw::transpose(sum));
            auto place = tw::reshape(f.pointer({whole(row), whole(column)}), {sum.extent(0) * sum.extent(1)});
            for (auto i : tw::range(0, 2)) {
              tw::store(place, tw::reshape(sum, {sum.extent(0) * sum.extent(1)}) + 0.0f * i.template to<float>());
              place = place + 0;
            }
            tw::when(tw::program_id(0) >= 0, [&] { tw::atomic_add(count + tw::squeeze(column, 0), 1); });
            // A table by number, and an operand of each row.
            const auto all = tw::sum(tw::load(table_ + tw::column(tw::arange(0, 32))), 0, true);
            return sum + all + tw::column(tw::load(row_ + tw::squeeze(row, 1)));
          },
          transposed.view(), flat.view(), table.buffer, rows.buffer, counts, options);
      double all = 0;
      for (const double x : entries) all += x;
      std::vector<double> want = sums, turned(sums.size());
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          want[static_cast<std::size_t>(i * n + j)] += all + old_rows[static_cast<std::size_t>(i)];
          turned[static_cast<std::size_t>(j * m + i)] = sums[static_cast<std::size_t>(i * n + j)];
        }
      CHECK(error(c.values(), want) < 1e-6);
      CHECK(error(transposed.values(), turned) < 1e-6);
      CHECK(error(flat.values(), sums) < 1e-6);
      const int tiles = (m + 31) / 32;
      for (const int count : counts.download()) CHECK(count == tiles);
    }
  });
}

TEST_CASE("matmul: an epilogue's accesses end where c does, through joins, gathers, and what loops carry on") {
  on_every_device([](tw::Device& device) {
    const kernels::Options options{.precision = tw::Precision::ieee, .configuration = kernels::Configuration{.bm = 32, .bn = 32, .bk = 16}};
    for (const auto& [m, n] : {std::pair{10, 60}, std::pair{60, 10}, std::pair{33, 29}}) {
      INFO(device.name(), " m ", m, " n ", n);
      Array<float, 2> a(device, {m, 20}, 1), b(device, {20, n}, 2), c(device, {m, n}, 3), joined(device, {2, m * n}, 4),
          reversed(device, {m, n}, 5);
      const auto zeros = [&](int count) { return device.upload(std::vector<int>(static_cast<std::size_t>(count), 0)); };
      // Elements, and one that what starts a loop leads to.
      auto ahead = zeros(m * n + 1), behind = zeros(m * n + 1);
      kernels::matmul(
          a.view(), b.view(), c.view(),
          [](auto sum, auto row, auto column, auto pair, auto turned, auto first, auto last, auto width, auto size) {
            const auto place = row * width + column;
            tw::store(pair + tw::cat(place, place + size, 1), tw::cat(sum, -sum, 1));
            const auto back = tw::broadcast_to(tw::row(31 - tw::arange(0, 32)), {32, 32});
            const auto columns = tw::gather(tw::broadcast_to(column, {32, 32}), back, 1);
            tw::store(turned + row * width + columns, tw::gather(sum, back, 1));
            auto at = tw::full<int>({32, 32}, 0) + size;
            for (auto i : tw::range(0, 3)) {
              tw::atomic_add(first + at, 1);
              at = place + 0 * i;
            }
            auto when = tw::full<int>({32, 32}, 0) + size;
            tw::I32 turn = 0;
            tw::loop_while([&] { return turn < 2; },
                           [&] {
                             when = place;
                             turn = turn + 1;
                           });
            tw::atomic_add(last + when, 1);
            return sum;
          },
          joined.buffer, reversed.buffer, ahead, behind, n, m * n, options);
      const std::vector<double> sums = product(a.values(), b.values(), 1, m, n, 20);
      std::vector<double> both = sums;
      for (const double x : sums) both.push_back(-x);
      CHECK(error(joined.values(), both) < 1e-6);
      CHECK(error(reversed.values(), sums) < 1e-6);
      const std::vector<int> counts = ahead.download(), ends = behind.download();
      CHECK(std::all_of(counts.begin(), counts.end() - 1, [](int count) { return count == 2; }));
      CHECK(counts.back() == m * n);
      CHECK(std::all_of(ends.begin(), ends.end() - 1, [](int count) { return count == 1; }));
      CHECK(ends.back() == 0);
    }
  });
}

TEST_CASE("matmul: an epilogue's accesses end where c does, through scaled products, PTX, and what histograms count") {
  on_every_device([](tw::Device& device) {
    const kernels::Options options{.precision = tw::Precision::ieee, .configuration = kernels::Configuration{.bm = 32, .bn = 32, .bk = 16}};
    for (const auto& [m, n] : {std::pair{10, 25}, std::pair{25, 10}, std::pair{32, 32}}) {
      INFO(device.name(), " m ", m, " n ", n);
      const auto elements = static_cast<std::size_t>(m) * static_cast<std::size_t>(n);
      const auto a = device.upload(std::vector<float>(static_cast<std::size_t>(m) * 20, 1));
      const auto b = device.upload(std::vector<float>(static_cast<std::size_t>(n) * 20, 1));
      auto c = device.allocate<float>(elements);
      auto bins = device.upload(std::vector<int>(32, 0));
      const auto untouched = [&] { return device.upload(std::vector<float>(32 * 32, -1)); };
      auto rows = untouched(), columns = untouched(), by_scale = untouched(), by_ptx = untouched();
      kernels::matmul(
          tw::view(a, {m, 20}), tw::view(b, {20, n}), tw::view(c, {m, n}),
          [](auto sum, auto, auto column, auto bin, auto row_, auto column_, auto scale_, auto ptx) {
            tw::atomic_add(bin + tw::arange(0, 32), tw::histogram(tw::reshape(sum, {32 * 32}).template to<int>(), 32));
            // Addresses that no row and no column leads to: what is stored says what is left out.
            const auto place = tw::column(tw::arange(0, 32)) * 32 + tw::row(tw::arange(0, 32));
            const auto ones = tw::full<tw::f8e4m3>({32, 32}, 1);
            const auto one = tw::full<std::uint8_t>({32, 1}, 127);
            const auto narrow = sum.template to<tw::f8e4m3>();
            const auto of_rows = tw::broadcast_to(tw::max(narrow.template to<float>(), 1, true), {32, 32}).template to<tw::f8e4m3>();
            const auto of_columns = tw::broadcast_to(tw::max(narrow.template to<float>(), 0, true), {32, 32}).template to<tw::f8e4m3>();
            tw::store(row_ + place, tw::dot_scaled(of_rows, one, ones, one));
            tw::store(column_ + place, tw::dot_scaled(ones, one, of_columns, one));
            const auto scales = (tw::transpose(column) * 0 + 127).template to<std::uint8_t>();
            tw::store(scale_ + place, tw::dot_scaled(ones, one, ones, scales));
            const auto twice = [](auto x) { return x + x; };
            tw::store(ptx + place, tw::inline_ptx<float>("add.rn.f32 $0, $1, $1;", "=f,f", sum, twice));
            return sum;
          },
          bins, rows, columns, by_scale, by_ptx, options);
      const std::vector<int> counts = bins.download();
      for (std::size_t i = 0; i < 32; ++i) CHECK(counts[i] == (i == 20 ? m * n : 0));
      const std::vector<float> r = rows.download(), k = columns.download(), s = by_scale.download(), p = by_ptx.download();
      int wrong = 0;
      for (int i = 0; i < 32; ++i)
        for (int j = 0; j < 32; ++j) {
          const auto at = static_cast<std::size_t>(i * 32 + j);
          wrong += r[at] != (i < m ? 640.0f : -1.0f);
          wrong += k[at] != (j < n ? 640.0f : -1.0f);
          wrong += s[at] != (j < n ? 32.0f : -1.0f);
          wrong += p[at] != (i < m && j < n ? 40.0f : -1.0f);
        }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("matmul: what an epilogue writes beside the result is written once for each element") {
  on_every_device([](tw::Device& device) {
    // Tiles reach past the end of rows and columns, where the sum is that of no element.
    for (const auto& [m, n] : {std::pair{129, 65}, std::pair{33, 29}, std::pair{64, 64}, std::pair{1, 7}}) {
      CAPTURE(m);
      CAPTURE(n);
      Array<float, 2> a(device, {m, 20}, 1), b(device, {20, n}, 2), c(device, {m, n}, 3), momentum(device, {m, n}, 4);
      auto counts = device.upload(std::vector<int>(static_cast<std::size_t>(m) * static_cast<std::size_t>(n), 0));
      auto rows = device.upload(std::vector<int>(static_cast<std::size_t>(m), 0));
      const auto before = momentum.values();
      const auto step = [](auto sum, auto row, auto column, auto state, auto count, auto row_count) {
        const auto next = 0.9f * tw::load(state.pointer({row, column})) + sum;
        tw::store(state.pointer({row, column}), next);
        tw::atomic_add(count.pointer({row, column}), 1);
        tw::atomic_add(row_count + row, 1);
        return next;
      };
      kernels::matmul(a.view(), b.view(), c.view(), step, momentum.view(), tw::view(counts, {m, n}), rows,
                      {.precision = tw::Precision::ieee});
      auto want = product(a.values(), b.values(), 1, m, n, 20);
      for (std::size_t i = 0; i < want.size(); ++i) want[i] += 0.9 * before[i];
      CHECK(error(c.values(), want) < 1e-6);
      CHECK(error(momentum.values(), want) < 1e-6);
      CHECK(std::ranges::count(counts.download(), 1) == static_cast<std::ptrdiff_t>(counts.size()));
      const auto of_rows = rows.download();
      CHECK(std::ranges::count(of_rows, of_rows[0]) == m);  // once for each tile along the columns
    }
  });
}

TEST_CASE("matmul: a row does not depend on the others if the options say so") {
  on_every_device([](tw::Device& device) {
    Array<float, 2> a(device, {65, 100}, 1), b(device, {100, 20}, 2), c(device, {65, 20}, 3), d(device, {1, 20}, 4);
    kernels::matmul(a.view(), b.view(), c.view(), {.batch_invariant = true});
    kernels::matmul(tw::view(a.buffer, {1, 100}), b.view(), d.view(), {.batch_invariant = true});
    const auto all = c.values(), one = d.values();
    CHECK(std::vector<double>(all.begin(), all.begin() + 20) == one);
  });
}

TEST_CASE("matmul: a stream") {
  tw::Device device = tw::Device::open("cpu");
  Array<float, 2> a(device, {8, 8}, 1), b(device, {8, 8}, 2), c(device, {8, 8}, 3);
  const tw::Stream stream = device.stream();
  kernels::matmul(a.view(), b.view(), c.view(), {.stream = stream});
  stream.synchronize();
  CHECK(error(c.values(), product(a.values(), b.values(), 1, 8, 8, 8)) < 1e-5);
}
