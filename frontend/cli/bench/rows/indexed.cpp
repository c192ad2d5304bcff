// Kernels with index arrays: gather, scatter_add, and the product of a sparse matrix and a vector.
#include <algorithm>

#include "frontend/cli/bench/rows/kernel_row.h"
#include "tilewright/kernels/gather.h"
#include "tilewright/kernels/scatter_add.h"
#include "tilewright/kernels/spmv.h"

namespace tilewright::cli::bench {

namespace {

using kernels::Options;

/// Bytes of the rows of `width` elements that are read or written through an index, and of the index.
template <class T>
double bytes_of_rows(double moved, std::int64_t width, std::int64_t indices) {
  return moved * static_cast<double>(width) * sizeof(T) + static_cast<double>(indices) * sizeof(std::int32_t);
}

constexpr auto gather = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t n = s[0], rows = s[1], width = s[2];
  Problem p;
  p.tensors = {random_input<T>("x", {n, width}), random_below<std::int32_t>("index", {rows}, n), result<T>("y", {rows, width})};
  p.bytes = bytes_of_rows<T>(2.0 * static_cast<double>(rows), width, rows);
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::gather(t.view<const T, 2>("x"), t.view<const std::int32_t, 1>("index"), t.view<T, 2>("y"), o);
  };
  p.references = {exactly({.tensor = "y",
                           .rows = rows,
                           .columns = width,
                           .operations_a_row = static_cast<double>(width),
                           .row = [width](const Values& v, std::int64_t row, std::span<double> to) {
                             const Reader x = v.at("x");
                             const auto from = static_cast<std::int64_t>(v.at("index")[row]);
                             for (std::int64_t i = 0; i < width; ++i) to[static_cast<std::size_t>(i)] = x[from * width + i];
                           }})};
  return p;
};

constexpr auto scatter_add = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t n = s[0], rows = s[1], width = s[2];
  Problem p;
  p.tensors = {random_input<T>("x", {rows, width}), random_below<std::int32_t>("index", {rows}, n),
               changed(random_input<T>("y", {n, width}))};
  const double written = static_cast<double>(std::min(n, rows));
  p.bytes = bytes_of_rows<T>(static_cast<double>(rows) + 2 * written, width, rows);
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::scatter_add(t.view<const T, 2>("x"), t.view<const std::int32_t, 1>("index"), t.view<T, 2>("y"), o);
  };
  p.references = {whole("y", n * width, [rows, width](const Values& v, std::span<double> to) {
    const Reader x = v.at("x"), index = v.at("index"), before = v.at("y before");
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = before[static_cast<std::int64_t>(i)];
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < width; ++i)
        to[static_cast<std::size_t>(static_cast<std::int64_t>(index[row]) * width + i)] += x[row * width + i];
  })};
  return p;
};

/// The columns of a row's nonzeros: the row is divided into equal parts, and each part has one nonzero at a random position. So columns differ
/// and ascend.
std::vector<std::int32_t> columns_of_rows(const std::vector<std::int64_t>& ends) {
  std::vector<std::int32_t> columns;
  const auto width = static_cast<std::int64_t>(ends.size());
  for (std::size_t row = 0; row < ends.size(); ++row) {
    const std::int64_t nonzeros = ends[row] - (row > 0 ? ends[row - 1] : 0);
    for (std::int64_t k = 0; k < nonzeros; ++k) {
      const std::int64_t begin = k * width / nonzeros, part = (k + 1) * width / nonzeros - begin;
      columns.push_back(
          static_cast<std::int32_t>(begin + static_cast<std::int64_t>(scrambled(columns.size()) % static_cast<std::uint64_t>(part))));
    }
  }
  return columns;
}

constexpr auto spmv = []<class T>(std::type_identity<T>, const Shape& s) {
  const std::int64_t rows = s[0], mean = s[1];
  std::vector<std::int64_t> ends;
  for (std::int64_t row = 0, end = 0; row < rows; ++row)
    ends.push_back(end += static_cast<std::int64_t>(scrambled(static_cast<std::uint64_t>(row)) % static_cast<std::uint64_t>(2 * mean + 1)));
  const std::int64_t nonzeros = ends.back();
  const std::vector<std::int32_t> columns = columns_of_rows(ends);
  Problem p;
  p.tensors = {input<std::int32_t>("row_ends", {rows}, [&](std::int64_t row) { return ends[static_cast<std::size_t>(row)]; }),
               input<std::int32_t>("columns", {nonzeros}, [&](std::int64_t k) { return columns[static_cast<std::size_t>(k)]; }),
               random_input<T>("values", {nonzeros}), random_input<T>("x", {rows}), result<T>("y", {rows})};
  p.launch = [](DeviceTensors& t, const Options& o) {
    kernels::spmv(t.view<const std::int32_t, 1>("row_ends"), t.view<const std::int32_t, 1>("columns"), t.view<const T, 1>("values"),
                  t.view<const T, 1>("x"), t.view<T, 1>("y"), o);
  };
  p.references = {{.tensor = "y",
                   .rows = rows,
                   .operations_a_row = static_cast<double>(4 * mean),
                   .row = [](const Values& v, std::int64_t row, std::span<double> to) {
                     const Reader ends_ = v.at("row_ends"), columns = v.at("columns"), values = v.at("values"), x = v.at("x");
                     to[0] = 0;
                     const auto end = static_cast<std::int64_t>(ends_[row]);
                     for (auto k = row > 0 ? static_cast<std::int64_t>(ends_[row - 1]) : 0; k < end; ++k)
                       to[0] += values[k] * x[static_cast<std::int64_t>(columns[k])];
                   }}};
  return p;
};

}  // namespace

void add_indexed(KernelRows& rows) {
  const std::vector<std::string> axes = {"N", "ROWS", "WIDTH"};
  const DefaultShapes shapes{.emulator = {{64, 32, 64}},
                             .cpu = {{8192, 16384, 256}, {1 << 20, 1 << 20, 1}},
                             .gpu = {{131072, 65536, 1024}, {1 << 24, 1 << 22, 1}}};
  rows.push_back({"gather", "y[i] = x[index[i]]: ROWS of the N rows of x, of WIDTH elements", axes, shapes, problems(Floats(), gather),
                  "indices uniform over N"});
  rows.push_back({"scatter_add", "y[index[i]] += x[i]: ROWS rows of WIDTH elements, added to N", axes, shapes,
                  problems(Floats(), scatter_add), "indices uniform over N"});
  rows.push_back(
      {"spmv",
       "y = a x, a sparse in compressed rows",
       {"ROWS", "NONZEROS"},
       {.emulator = {{200, 9}}, .cpu = {{100000, 16}, {20000, 200}}, .gpu = {{1 << 22, 16}, {1 << 18, 300}}},
       problems(Floats(), spmv),
       "nonzeros of a row uniform in 0 to 2 NONZEROS, at random columns",
       [](const Shape& s) {
         return 2 * s[1] > s[0] ? "NONZEROS is at most ROWS / 2" : s[0] * s[1] >= 1'000'000'000 ? "there are at most 10^9 nonzeros" : "";
       }});
}

}  // namespace tilewright::cli::bench
