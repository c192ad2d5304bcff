// Programs that index, route, slice, pad and join, as users write them.
#include <algorithm>
#include <cstdlib>

#include "tests/unit/frontend/graph/graph_program.h"

namespace graph_program {
namespace {

/// log softmax of each row.
Numbers log_softmax(const std::vector<float>& x, int columns) {
  Numbers result;
  for (std::size_t row = 0; row < x.size(); row += static_cast<std::size_t>(columns)) {
    double most = -HUGE_VAL, total = 0;
    for (int j = 0; j < columns; ++j) most = std::max(most, double(x[row + j]));
    for (int j = 0; j < columns; ++j) total += std::exp(x[row + j] - most);
    for (int j = 0; j < columns; ++j) result.push_back(x[row + j] - most - std::log(total));
  }
  return result;
}

}  // namespace

TEST_CASE("graph programs: a loss that ignores some targets, and label smoothing") {
  const int rows = 23, columns = 61;
  const auto hx = normal(rows * columns, 1, 3);
  std::vector<int32_t> targets;
  for (int i = 0; i < rows; ++i) targets.push_back(i % 5 == 2 ? -100 : i * 7 % columns);
  const Numbers logs = log_softmax(hx, columns);
  double loss = 0, count = 0;
  Numbers smooth;
  for (int i = 0; i < rows; ++i) {
    double sum = 0;
    for (int j = 0; j < columns; ++j) sum += logs[i * columns + j] / columns;
    const bool is_target = targets[i] >= 0;
    const double picked = is_target ? logs[i * columns + targets[i]] : 0;
    if (is_target) loss -= picked, count += 1;
    smooth.push_back(is_target ? -(0.9 * picked + 0.1 * sum) : 0);
  }
  Program p;
  auto x = p.input("logits", {rows, columns}, hx);
  auto t = p.input("targets", {rows}, targets);
  auto is_target = t != -100;
  auto safe = tw::where(is_target, t, 0);
  auto log = tw::log_softmax(x, -1);
  auto picked = tw::squeeze(tw::take_along(log, tw::expand_dims(safe, 1), 1), 1);
  auto counted = is_target.to<float>();
  p.output("loss", tw::sum(tw::where(is_target, -picked, 0.0f)) / tw::sum(counted), {loss / count});
  p.output("smooth", tw::where(is_target, -(0.9f * picked + 0.1f * tw::mean(log, -1)), 0.0f), smooth);
  p.output("cross entropy", tw::where(is_target, tw::cross_entropy(x, safe), 0.0f), [&] {
    Numbers all;
    for (int i = 0; i < rows; ++i) all.push_back(targets[i] < 0 ? 0 : -logs[i * columns + targets[i]]);
    return all;
  }());
  p.check();
}

// In checked mode this is an Error: see tests/kernels/checked_mode_test.cpp.
TEST_CASE("graph programs: an index outside of a tensor reads no memory but the tensor's" *
          doctest::skip(std::getenv("TILEWRIGHT_CHECK"))) {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    for (const bool fuse : {true, false}) {
      CAPTURE(name);
      CAPTURE(fuse);
      const tw::Device device = tw::Device::open(name);
      tw::Graph g;
      const auto n = g.dim("n");
      const auto table = g.input<float>("table", {5});
      const auto rows = g.input<float>("rows", {4, 6});
      const auto index = g.input<std::int64_t>("index", {n});
      g.output("picked", tw::gather(table, index));
      g.output("along", tw::take_along(rows, tw::broadcast_to(tw::reshape(index, {n, 1}), {n, 6}), 0));
      g.output("sum", tw::sum(tw::gather(rows, index), -1));
      const tw::Plan plan = g.compile(device, {.fuse = fuse});
      // A buffer of exactly the tensor: the emulator finds any access beside it.
      const std::vector<float> values{1, 2, 3, 4, 5};
      const auto t = device.upload(values), r = device.upload(normal(24, 1, 7));
      const std::vector<std::int64_t> places{0, 5, -1, 1'000'000, -1'000'000, INT64_MAX, INT64_MIN, 3};
      const auto i = device.upload(places);
      auto picked = device.upload(std::vector<float>(8, -1)), sums = device.upload(std::vector<float>(8, -1));
      auto along = device.upload(std::vector<float>(48, -1));
      plan.run({{"table", t}, {"rows", r}, {"index", i}, {"picked", picked}, {"along", along}, {"sum", sums}});
      const auto got = picked.download();
      CHECK(got[0] == 1);
      CHECK(got[7] == 4);
      for (float x : got) CHECK(std::ranges::count(values, x) == 1);
    }
  }
}

TEST_CASE("graph programs: an index into a tensor with no element reads no memory" * doctest::skip(std::getenv("TILEWRIGHT_CHECK"))) {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    const tw::Device device = tw::Device::open(name);
    tw::Graph g;
    const auto n = g.dim("n", {.min = 0});
    const auto table = g.input<float>("table", {n, 3});
    const auto index = g.input<int>("index", {4});
    g.output("rows", tw::gather(table, index));
    const tw::Plan plan = g.compile(device);
    const auto i = device.upload(std::vector<int>{0, 1, -1, 1 << 30});
    auto rows = device.upload(std::vector<float>(12, -1));
    plan.run({{"table", device.allocate<float>(0)}, {"index", i}, {"rows", rows}, {"n", 0}});
    CHECK(rows.download() == std::vector<float>(12, 0));
    const auto t = device.upload(normal(6, 1, 3));
    plan.run({{"table", t}, {"index", i}, {"rows", rows}, {"n", 2}});
    const auto values = t.download(), got = rows.download();
    CHECK(std::equal(got.begin(), got.begin() + 6, values.begin()));
  }
}

TEST_CASE("graph programs: routing each token to one expert") {
  const int tokens = 21, d = 16, hidden = 8, experts = 4;
  const auto hx = normal(tokens * d, 1), hr = normal(d * experts, 2), h1 = normal(experts * d * hidden, 3, 0.3f),
             h2 = normal(experts * hidden * d, 4, 0.3f);
  Numbers want;
  Numbers chosen, load(experts);
  for (int t = 0; t < tokens; ++t) {
    Numbers gate(experts);
    double total = 0;
    for (int e = 0; e < experts; ++e) {
      for (int c = 0; c < d; ++c) gate[e] += double(hx[t * d + c]) * double(hr[c * experts + e]);
      total += std::exp(gate[e]);
    }
    const int e = static_cast<int>(std::max_element(gate.begin(), gate.end()) - gate.begin());
    chosen.push_back(e), load[e] += 1.0 / tokens;
    for (int c = 0; c < d; ++c) {
      double sum = 0;
      for (int k = 0; k < hidden; ++k) {
        double inner = 0;
        for (int m = 0; m < d; ++m) inner += double(hx[t * d + m]) * double(h1[(e * d + m) * hidden + k]);
        sum += std::max(inner, 0.0) * double(h2[(e * hidden + k) * d + c]);
      }
      want.push_back(sum * std::exp(gate[e]) / total);
    }
  }
  Program p;
  auto x = p.input("x", {tokens, d}, hx), router = p.input("router", {d, experts}, hr);
  auto w1 = p.input("w1", {experts, d, hidden}, h1), w2 = p.input("w2", {experts, hidden, d}, h2);
  auto gates = tw::softmax(tw::matmul(x, router), -1);
  auto best = tw::argmax(gates, -1);
  auto one_hot = tw::iota<int32_t>(p.graph, {experts}, 0) == tw::expand_dims(best, 1);
  auto y = tw::matmul(tw::relu(tw::matmul(x, w1)), w2);  // [experts, tokens, d]
  auto weight = tw::where(one_hot, gates, 0.0f);
  p.output("y", tw::sum(y * tw::expand_dims(tw::transpose(weight), 2), 0), want, 2e-3);
  p.output("chosen", best, chosen, 0);
  p.output("load", tw::mean(one_hot.to<float>(), 0), load);
  p.check();
}

TEST_CASE("graph programs: a convolution by pad and slices") {
  const int batch = 2, in = 3, out = 5, height = 9, width = 11;
  const auto hx = normal(batch * in * height * width, 1), hw = normal(out * in * 9, 2, 0.3f);
  Numbers want, pooled;
  for (int b = 0; b < batch; ++b)
    for (int o = 0; o < out; ++o)
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
          double sum = 0;
          for (int i = 0; i < in; ++i)
            for (int dy = -1; dy <= 1; ++dy)
              for (int dx = -1; dx <= 1; ++dx)
                if (y + dy >= 0 && y + dy < height && x + dx >= 0 && x + dx < width)
                  sum +=
                      double(hx[((b * in + i) * height + y + dy) * width + x + dx]) * double(hw[((o * in + i) * 3 + dy + 1) * 3 + dx + 1]);
          want.push_back(sum);
        }
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < in; ++i)
      for (int y = 0; y < height; y += 2)
        for (int x = 0; x < width; x += 2) {
          double most = -HUGE_VAL;
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
              if (y + dy >= 0 && y + dy < height && x + dx >= 0 && x + dx < width)
                most = std::max(most, double(hx[((b * in + i) * height + y + dy) * width + x + dx]));
          pooled.push_back(most);
        }
  Program p;
  auto x = p.input("x", {batch, in, height, width}, hx), w = p.input("w", {out, in, 3, 3}, hw);
  auto padded = tw::pad(tw::pad(x, 2, 1, 1), 3, 1, 1);
  auto open = tw::pad(tw::pad(x, 2, 1, 1, -tw::inf), 3, 1, 1, -tw::inf);
  std::vector<tw::Tensor<float>> patches, windows;
  for (int dy = 0; dy < 3; ++dy)
    for (int dx = 0; dx < 3; ++dx) {
      patches.push_back(tw::expand_dims(tw::slice(tw::slice(padded, 2, dy, dy + height), 3, dx, dx + width), 2));
      windows.push_back(tw::expand_dims(tw::slice(tw::slice(open, 2, dy, dy + height, 2), 3, dx, dx + width, 2), 0));
    }
  auto columns = tw::reshape(tw::concat(patches, 2), {batch, in * 9, height * width});
  auto y = tw::matmul(tw::reshape(w, {out, in * 9}), columns);
  p.output("y", tw::reshape(y, {batch, out, height, width}), want, 2e-3);
  p.output("pooled", tw::max(tw::concat(windows, 0), 0), pooled);
  p.check();
}

TEST_CASE("graph programs: a convolution as a sum of products, one for each tap") {
  const int in = 8, out = 6, n = 50;
  const auto hx = normal(in * n, 1), hw = normal(3 * out * in, 2, 0.3f);
  Numbers want;
  for (int o = 0; o < out; ++o)
    for (int x = 0; x < n; ++x) {
      double sum = 0;
      for (int t = 0; t < 3; ++t)
        for (int i = 0; i < in; ++i)
          if (x + t - 1 >= 0 && x + t - 1 < n) sum += double(hx[i * n + x + t - 1]) * double(hw[(t * out + o) * in + i]);
      want.push_back(sum);
    }
  Program p;
  auto x = p.input("x", {in, n}, hx), w = p.input("w", {3, out, in}, hw);
  auto padded = tw::pad(x, 1, 1, 1);
  const auto tap = [&](int t) { return tw::matmul(tw::squeeze(tw::slice(w, 0, t, t + 1), 0), tw::slice(padded, 1, t, t + n)); };
  p.output("y", tap(0) + tap(1) + tap(2), want, 2e-3);
  const tw::Plan plan = p.check();
  CHECK(plan.kernels().size() == 1);
}

TEST_CASE("graph programs: unequal pieces joined, then softmax; and taken apart again") {
  const int rows = 9;
  const auto ha = normal(rows * 3, 1), hb = normal(rows * 17, 2), hc = normal(rows, 3);
  std::vector<float> joined;
  for (int i = 0; i < rows; ++i) {
    joined.insert(joined.end(), ha.begin() + i * 3, ha.begin() + (i + 1) * 3);
    joined.insert(joined.end(), hb.begin() + i * 17, hb.begin() + (i + 1) * 17);
    joined.push_back(hc[i]);
  }
  Numbers soft = log_softmax(joined, 21), middle, reversed, stepped;
  for (double& v : soft) v = std::exp(v);
  for (int i = 0; i < rows; ++i) {
    for (int j = 3; j < 20; ++j) middle.push_back(soft[i * 21 + j]);
    for (int j = 20; j >= 0; --j) reversed.push_back(soft[i * 21 + j]);
    for (int j = 1; j < 20; j += 4) stepped.push_back(soft[i * 21 + j]);
  }
  Program p;
  auto x = tw::concat({p.input("a", {rows, 3}, ha), p.input("b", {rows, 17}, hb), p.input("c", {rows, 1}, hc)}, 1);
  auto s = tw::softmax(x, 1);
  p.output("softmax", s, soft);
  p.output("middle", tw::slice(s, 1, 3, 20), middle);
  p.output("reversed", tw::flip(s, -1), reversed);
  p.output("stepped", tw::slice(s, 1, 1, 20, 4), stepped);
  p.check();
}

TEST_CASE("graph programs: a table of rows by an index of two axes, of another axis, and by computed places") {
  const int rows = 30, d = 12;
  const auto table = normal(rows * d, 1);
  const std::vector<int32_t> index{3, 29, 0, 3, 17, 8};
  Numbers picked, columns, shifted;
  for (int32_t i : index)
    for (int c = 0; c < d; ++c) picked.push_back(double(table[i * d + c]) * 2);
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < 4; ++i) columns.push_back(table[r * d + i * 3]);
  for (int32_t i : index)
    for (int c = 0; c < d; ++c) shifted.push_back(table[(i + 1) % rows * d + c]);
  Program p;
  auto t = p.input("table", {rows, d}, table);
  auto i = p.input("index", {2, 3}, index);
  p.output("picked", tw::gather(t, i) * 2.0f, picked);
  p.output("columns", tw::gather(t, tw::iota<int64_t>(p.graph, {4}, 0) * 3, 1), columns);
  p.output("shifted", tw::gather(t, (i + 1) % rows), shifted);
  p.check();
}

TEST_CASE("graph programs: padding an axis that a reshape has made of two") {
  const auto hx = normal(4 * 6, 1);
  Numbers want, sums;
  for (int i = -3; i < 24 + 5; ++i) want.push_back(i >= 0 && i < 24 ? double(hx[i]) : 7);
  for (int r = 0; r < 4; ++r) {
    double sum = 0;
    for (int c = 0; c < 6; ++c) sum += hx[r * 6 + c];
    sums.push_back(sum);
  }
  Program p;
  auto x = p.input("x", {4, 6}, hx);
  p.output("padded", tw::pad(tw::reshape(x, {24}), 0, 3, 5, 7.0f), want);
  p.output("sums", tw::sum(x, 1), sums);
  Numbers other;
  for (int i = 0; i < 24; ++i) other.push_back(hx[23 - i] + hx[i]);
  auto flat = tw::reshape(x, {24});
  p.output("mirrored", tw::reshape(tw::flip(flat, 0) + flat, {3, 8}), other);
  p.check();
}

TEST_CASE("graph programs: a value of all rows at each row, and conditions picked by an index") {
  const int rows = 50, columns = 7;
  const auto hx = normal(rows * columns, 1);
  const std::vector<int32_t> index{4, 0, 6};
  Numbers place, all(columns), picked;
  const double best = static_cast<double>(std::max_element(hx.begin(), hx.end()) - hx.begin());
  for (int c = 0; c < columns; ++c) {
    all[c] = 1;
    for (int r = 0; r < rows; ++r) all[c] = all[c] != 0 && hx[r * columns + c] < 2.2f;
  }
  for (int32_t i : index) picked.push_back(all[i]);
  Program p;
  const tw::Dim n = p.graph.dim("n");
  auto x = p.input("x", {n, columns}, hx);
  p.output("place", tw::broadcast_to(tw::argmax(x), {n, columns}), Numbers(rows * columns, best), 0);
  p.output("picked", tw::gather(tw::all(x < 2.2f, 0), p.input("index", {3}, index)), picked, 0);
  p.check();
}

TEST_CASE("graph programs: reshapes that take axes apart in two ways") {
  const auto hx = normal(6 * 4 * 10, 1), hy = normal(8 * 30, 2);
  Numbers want(240), sums(8);
  for (int i = 0; i < 240; ++i) want[i] = double(hx[i]) + double(hy[i]), sums[i / 30] += want[i];
  Program p;
  auto x = p.input("x", {6, 4, 10}, hx), y = p.input("y", {8, 30}, hy);
  auto z = tw::reshape(x, {8, 30}) + y;
  p.output("z", tw::reshape(z, {2, 3, 2, 2, 5, 2}), want);
  p.output("sums", tw::sum(z, 1), sums);
  p.check();
}

namespace {

/// Rows of a cache and a new one, picked by beams; of three joined tables; of padded ones. What is picked from one tensor is outside of the
/// others: far outside with `far` rows of padding.
template <class T>
void check_picked_from_parts(const tw::PlanOptions& options, bool has_symbol) {
  const int64_t far = int64_t{1} << 28, rows = 5, d = 6;
  const auto cache = rounded_to<T>(normal(rows * d, 1)), row = rounded_to<T>(normal(d, 2)), tail = rounded_to<T>(normal(3 * d, 3));
  const std::vector<int32_t> beams{5, 0, 3, 5, 8, 1, 6, 4};
  const std::vector<int64_t> places{0, far - 1, far, far + 4, far + 5, 2 * far + 4};
  std::vector<T> joined = cache;
  joined.insert(joined.end(), row.begin(), row.end());
  joined.insert(joined.end(), tail.begin(), tail.end());
  const Numbers all = numbers_of(joined);
  Numbers reordered, padded, backwards, along;
  for (int32_t b : beams)
    for (int c = 0; c < d; ++c) reordered.push_back(all[b * d + c]), along.push_back(all[((b + c) % 9) * d + c]);
  for (int64_t p : places)
    for (int c = 0; c < d; ++c) padded.push_back(p >= far && p < far + rows ? all[(p - far) * d + c] : 3);
  for (int64_t p : places) backwards.push_back(p >= far && p < far + rows ? all[(rows - 1 - (p - far)) * d + 2] : 0);
  std::vector<int32_t> each;
  for (int32_t b : beams)
    for (int c = 0; c < d; ++c) each.push_back((b + c) % 9);
  Program p;
  const tw::Dim n = has_symbol ? p.graph.dim("n") : tw::Dim(rows);
  auto x = p.input("cache", {n, d}, cache), y = p.input("row", {1, d}, row), z = p.input("tail", {3, d}, tail);
  auto i = p.input("beams", {8}, beams);
  auto k = p.input("places", {6}, places);
  auto table = tw::concat({x, y, z}, 0);
  p.output("reordered", tw::gather(table, i), reordered);
  p.output("along", tw::take_along(table, p.input("each", {8, d}, each), 0), along);
  p.output("padded", tw::gather(tw::pad(x, 0, far, far, 3), k), padded);
  p.output("backwards", tw::gather(tw::slice(tw::flip(tw::pad(x, 0, far, far), 0), 1, 2, 3), k), backwards);
  for (const std::string& name : devices()) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    p.check_on(device, options);
  }
}

}  // namespace

TEST_CASE("graph programs: rows of a pad or of joined tables are read from the tensor that has them") {
  for (const bool has_symbol : {false, true}) {
    CAPTURE(has_symbol);
    check_picked_from_parts<float>({}, has_symbol);
    check_picked_from_parts<tw::f16>({}, has_symbol);
    check_picked_from_parts<int32_t>({}, has_symbol);
  }
  check_picked_from_parts<double>({.move_rounding = false}, true);
}

TEST_CASE("graph programs: an index that is joined, shifted or picked itself, and products of picked rows") {
  const int rows = 11, d = 24, columns = 5;
  const auto hx = normal(rows * d, 1), hy = normal(3 * d, 2), hw = normal(d * columns, 3);
  const std::vector<int32_t> first{10, 2, 7}, second{4, 0}, pages{3, 1, 4, 0};
  Numbers picked, paged, product, soft;
  std::vector<int32_t> index = first;
  index.insert(index.end(), second.begin(), second.end());
  const auto row_of = [&](int r, int c) { return r < rows ? double(hx[r * d + c]) : double(hy[(r - rows) * d + c]); };
  for (int32_t i : index)
    for (int c = 0; c < d; ++c) picked.push_back(row_of(i + 3, c));
  for (int32_t g : pages)
    for (int c = 0; c < d; ++c) paged.push_back(row_of(index[g], c));
  for (int32_t i : index)
    for (int j = 0; j < columns; ++j) {
      double sum = 0;
      for (int c = 0; c < d; ++c) sum += row_of(i + 3, c) * double(hw[c * columns + j]);
      product.push_back(sum);
    }
  Program p;
  auto x = p.input("x", {rows, d}, hx), y = p.input("y", {3, d}, hy), w = p.input("w", {d, columns}, hw);
  auto a = p.input("first", {3}, first), b = p.input("second", {2}, second), g = p.input("pages", {4}, pages);
  auto table = tw::concat({x, y}, 0);
  auto joined = tw::concat({a, b}, 0);
  p.output("picked", tw::gather(table, joined + 3), picked);
  p.output("picked apart", tw::concat({tw::gather(table, a + 3), tw::gather(table, b + 3)}, 0), picked);
  p.output("paged", tw::gather(x, tw::gather(joined, g)), paged);
  p.output("product", tw::matmul(tw::gather(table, joined + 3), w), product, 2e-3);
  p.check();
}

}  // namespace graph_program
