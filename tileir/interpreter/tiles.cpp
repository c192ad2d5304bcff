// Interprets ops that work on whole tiles: reduce, scan, sort, gather, histogram.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "tileir/builder.h"
#include "tileir/interpreter/state.h"
#include "tileir/layout/reduce_steps.h"
#include "tileir/layout/scan_order.h"

namespace tilewright::ir {

void Interpreter::combine(OpId id, std::uint64_t* earlier, const std::uint64_t* later) {
  const BlockId region = f_.region(id);
  const auto& args = f_.block(region).args;
  const std::size_t n = args.size() / 2;
  for (std::size_t i = 0; i < n; ++i) {
    words(args[i]).assign(1, earlier[i]);
    words(args[n + i]).assign(1, later[i]);
  }
  run(region);
  const auto& yielded = f_.op(f_.terminator(region)).operands;
  for (std::size_t i = 0; i < n; ++i) earlier[i] = scalar(yielded[i]);
}

/// Whether index k is the later one of the two elements that a step combines.
static bool is_later(const ReduceStep& step, std::uint32_t k) { return std::popcount(k & step.later) % 2 != 0; }
static bool is_first(std::span<const ReduceStep> steps, std::uint32_t done, std::uint32_t k) {
  return std::none_of(steps.begin(), steps.begin() + done, [&](const ReduceStep& s) { return is_later(s, k); });
}

void Interpreter::run_reduce(OpId id) {
  const auto& x = f_.op(id).operands;
  const Type& t = type(x[0]);
  const int axis = static_cast<int>(f_.attr(id, AttrName::axis));
  const std::int64_t extent = t.extent(axis), inner = strides(t)[axis], rows = t.elements() / extent;
  const bool commutative = f_.attr(id, AttrName::commutative) != 0, innermost = inner == 1;
  const bool distributed = f_.layout_id(x[0]).valid();
  const std::vector<ReduceStep> steps = distributed ? reduce_steps(f_.layout(x[0]), axis, commutative) : std::vector<ReduceStep>();
  const std::int64_t lanes = innermost && commutative ? std::min<std::int64_t>(extent, options_.reduction.lanes) : 1;
  const std::int64_t block = innermost && !commutative ? std::min<std::int64_t>(extent, options_.reduction.block) : 1;
  const std::size_t n = x.size();
  for (ValueId r : f_.op(id).results) words(r).resize(static_cast<std::size_t>(rows));
  Words elements(static_cast<std::size_t>(extent) * n);  // element k of tile j is at k * n + j
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t base = row / inner * extent * inner + row % inner;
    for (std::int64_t k = 0; k < extent; ++k)
      for (std::size_t j = 0; j < n; ++j) elements[k * n + j] = words(x[j])[base + k * inner];
    if (distributed) {
      // After a step, only the indices on the earlier side of this step and of all earlier steps are left.
      std::uint32_t done = 0;
      for (const ReduceStep& step : steps) {
        for (std::uint32_t k = 0; k < extent; ++k)
          if (is_first(steps, done, k) && !is_later(step, k)) combine(id, &elements[k * n], &elements[(k ^ step.axis) * n]);
        ++done;
      }
    } else {
      // The result of a block replaces its first element.
      for (std::int64_t step = 1; step < block; step *= 2)
        for (std::int64_t k = 0; k < extent; k += 2 * step) combine(id, &elements[k * n], &elements[(k + step) * n]);
      // Partial k replaces element k.
      for (std::int64_t k = lanes * block; k < extent; k += block) combine(id, &elements[(k % (lanes * block)) * n], &elements[k * n]);
      for (std::int64_t half = lanes / 2; half > 0; half /= 2)
        for (std::int64_t k = 0; k < half; ++k) combine(id, &elements[k * n], &elements[(k + half) * n]);
    }
    for (std::size_t j = 0; j < n; ++j) words(f_.result(id, static_cast<int>(j)))[row] = elements[j];
  }
}

void Interpreter::scan_row(OpId id, Words& elements, const ScanOrder& order) {
  const std::size_t n = f_.op(id).operands.size(), run = std::size_t{1} << order.run, lanes = std::size_t{1} << order.lanes,
                    warps = std::size_t{1} << order.warps, runs = elements.size() / n / run;
  const auto with = [&](Words earlier, const Words& later) {
    if (earlier.empty()) return later;
    combine(id, earlier.data(), later.data());
    return earlier;
  };
  const auto element = [&](std::size_t k) { return Words(&elements[k * n], &elements[k * n] + n); };
  const auto set = [&](std::size_t k, const Words& v) { std::copy(v.begin(), v.end(), &elements[k * n]); };
  for (std::size_t k = 0; k < runs * run; ++k)
    if (k % run != 0) set(k, with(element(k - 1), element(k)));
  std::vector<Words> total;  // the total of a run, combined with the lanes before it in its warp
  for (std::size_t q = 0; q < runs; ++q) total.push_back(element(q * run + run - 1));
  for (int i = 0; i < order.lanes; ++i)
    for (std::size_t q = 0; q < runs; ++q)
      if ((q >> i & 1) != 0) total[q] = with(total[(q >> i << i) - 1], total[q]);
  Words chunks_before, warps_before;
  for (std::size_t q = 0; q < runs; ++q) {
    if (q % lanes == 0) {
      const std::size_t warp = q / lanes % warps;
      if (warp > 0) warps_before = with(warps_before, total[q - 1]);
      if (warp == 0 && q > 0) {
        chunks_before = with(chunks_before, with(warps_before, total[q - 1]));
        warps_before.clear();
      }
    }
    Words before = chunks_before;
    if (!warps_before.empty()) before = with(before, warps_before);
    if (q % lanes != 0) before = with(before, total[q - 1]);
    for (std::size_t k = q * run; k < (q + 1) * run; ++k) set(k, with(before, element(k)));
  }
}

void Interpreter::run_scan(OpId id) {
  const auto& x = f_.op(id).operands;
  const Type& t = type(x[0]);
  const int axis = static_cast<int>(f_.attr(id, AttrName::axis));
  const std::int64_t extent = t.extent(axis), inner = strides(t)[axis], rows = t.elements() / extent;
  const bool reverse = f_.attr(id, AttrName::reverse) != 0;
  const std::size_t n = x.size();
  for (std::size_t j = 0; j < n; ++j) result(id, static_cast<int>(j));
  Words running(n), element(n);
  const bool distributed = f_.layout_id(x[0]).valid();
  Words elements(distributed ? static_cast<std::size_t>(extent) * n : 0);  // element k of tile j at k * n + j, in scan order
  const ScanOrder order = distributed ? scan_order(axis_order(f_.layout(x[0]), axis).value()) : ScanOrder();
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t base = row / inner * extent * inner + row % inner;
    const auto index_of = [&](std::int64_t k) { return base + (reverse ? extent - 1 - k : k) * inner; };
    if (distributed) {
      for (std::int64_t k = 0; k < extent; ++k)
        for (std::size_t j = 0; j < n; ++j) elements[k * n + j] = words(x[j])[index_of(k)];
      scan_row(id, elements, order);
      for (std::int64_t k = 0; k < extent; ++k)
        for (std::size_t j = 0; j < n; ++j) words(f_.result(id, static_cast<int>(j)))[index_of(k)] = elements[k * n + j];
      continue;
    }
    for (std::int64_t k = 0; k < extent; ++k) {
      const std::int64_t at = index_of(k);
      for (std::size_t j = 0; j < n; ++j) element[j] = words(x[j])[at];
      if (k == 0)
        running = element;
      else
        combine(id, running.data(), element.data());
      for (std::size_t j = 0; j < n; ++j) words(f_.result(id, static_cast<int>(j)))[at] = running[j];
    }
  }
}

/// Whether key a comes before key b. NaN comes last, in ascending and in descending order.
static bool comes_before(Element e, std::uint64_t a, std::uint64_t b, bool descending) {
  if (is_float(e)) {
    const double x = float_value(e, a), y = float_value(e, b);
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
    return descending ? x > y : x < y;
  }
  if (is_unsigned(e)) return descending ? a > b : a < b;
  return descending ? integer_value(e, a) > integer_value(e, b) : integer_value(e, a) < integer_value(e, b);
}

void Interpreter::run_sort(OpId id) {
  const auto& x = f_.op(id).operands;
  const Type& t = type(x[0]);
  const bool descending = f_.attr(id, AttrName::descending) != 0;
  const std::int64_t extent = t.extent(t.rank() - 1), kept = type(f_.result(id)).extent(t.rank() - 1);
  for (std::size_t j = 0; j < x.size(); ++j) result(id, static_cast<int>(j));
  std::vector<std::int64_t> order(static_cast<std::size_t>(extent));
  for (std::int64_t row = 0; row < t.elements() / extent; ++row) {
    const std::uint64_t* keys = words(x[0]).data() + row * extent;
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t i, std::int64_t k) { return comes_before(t.element(), keys[i], keys[k], descending); });
    for (std::size_t j = 0; j < x.size(); ++j)
      for (std::int64_t i = 0; i < kept; ++i)
        words(f_.result(id, static_cast<int>(j)))[row * kept + i] = words(x[j])[row * extent + order[i]];
  }
}

void Interpreter::run_gather(OpId id) {
  const ValueId x = f_.operand(id, 0), index = f_.operand(id, 1);
  const int axis = static_cast<int>(f_.attr(id, AttrName::axis));
  const std::int64_t extent = type(x).extent(axis), picked = type(index).extent(axis), inner = strides(type(x))[axis];
  auto& out = result(id);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(out.size()); ++i) {
    const std::int64_t at = integer_value(type(index).element(), words(index)[i]) & (extent - 1);
    out[i] = words(x)[(i / (inner * picked) * extent + at) * inner + i % inner];
  }
}

void Interpreter::run_histogram(OpId id) {
  const auto& operands = f_.op(id).operands;
  const Element e = type(operands[0]).element();
  auto& out = result(id);
  std::fill(out.begin(), out.end(), 0);
  for (std::size_t i = 0; i < words(operands[0]).size(); ++i) {
    if (operands.size() > 1 && !words(operands[1])[i]) continue;
    const std::uint64_t bin = words(operands[0])[i];
    if (is_signed(e) && integer_value(e, bin) < 0) continue;
    if (bin < out.size()) ++out[bin];
  }
}

}  // namespace tilewright::ir
