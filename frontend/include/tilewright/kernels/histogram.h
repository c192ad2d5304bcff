// Histograms of whole arrays.
#pragma once
#include "tilewright/kernels/detail/whole_arrays.h"

namespace tilewright::kernels {

/// Each program counts the values of `length` elements in a tile of `table` bins, which it adds to the counts at the end. If `table` is 0,
/// it adds each element directly. Integer sums do not depend on the order.
template <class X, class C>
void histogram_kernel(View<const X, 1> x, Ptr<C> counts, I64 stride, I64 bins, I64 length, int block, int table) {
  const I64 begin = program_id(0).to<std::int64_t>() * length, n = x.extent(0);
  auto total = zeros<std::int32_t>({table > 0 ? table : 1});
  // Negative numbers are not counted, nor are the greatest ones of 32 bits and more.
  constexpr bool kIsMarked = std::is_signed_v<X> || sizeof(X) >= 4;
  for (auto i : range(begin, minimum(begin + length, n), block)) {
    const auto v = x.load({i}, {block}, kIsMarked ? X(-1) : X(0));
    const auto inside = i + arange(0, block) < n;
    if (table > 0) {
      total += kIsMarked ? tilewright::histogram(v, table) : tilewright::histogram(v, table, inside);
    } else {
      const auto bin = v.template to<std::int64_t>();
      atomic_add(counts + bin * stride, C(1), inside && bin >= 0 && bin < bins, {.order = Order::relaxed});
    }
  }
  if (table > 0) {
    const auto bin = arange(0, table).template to<std::int64_t>();
    atomic_add(counts + bin * stride, total.template to<C>(), bin < bins && total != 0, {.order = Order::relaxed});
  }
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

template <class X, class C>
TW_PER_MODULE void launch_histogram(ArgumentCheck& check, const View<const X, 1>& x, const View<C, 1>& counts, const Options& options) {
  const std::int64_t n = extent_of(x, 0), bins = extent_of(counts, 0);
  if (n == 0) return fill(counts, C(0), {.stream = options.stream}, check.at());
  const int table = bins <= 4096 ? static_cast<int>(next_power_of_two(bins)) : 0;
  static const Kernel kernel("histogram", histogram_kernel<X, C>);
  launch_tuned(check, ScanShape{.n = n, .element_bytes = sizeof(X), .work = 4, .counters = table}, options, [&](const Options& o) {
    const auto [length, parts] = parts_of(n, *o.configuration);
    fill(counts, C(0), {.stream = o.stream}, check.at());
    kernel(launch_of(parts, o), x, address_of(counts), stride_of(counts, 0), bins, length, o.configuration->bn, table, check.at());
  });
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// counts[b] = how many elements of x equal b, for each b in [0, extent of counts); other values are not counted. x: integers, a view or a
/// buffer; counts: 32- or 64-bit integers.
template <host::WholeArray X, host::WholeArray C>
  requires(!std::is_integral_v<std::remove_cvref_t<C>>)
void histogram(X&& x, C&& counts, const Options& options = {}, Here at = Here::current()) {
  using T = host::WholeElement<X>;
  static_assert(IntegerElement<T>, "x holds integers");
  static_assert(OneOf<host::WholeElement<C>, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>,
                "counts are int32_t, uint32_t, int64_t or uint64_t");
  const auto all = host::view_of(x, at);
  const auto to = host::view_of(counts, at);
  host::ArgumentCheck check("histogram", at);
  check.input("x", all);
  check.output("bins", to);
  if (host::extent_of(to, 0) == 0) check.fail("'bins' is [0]; there must be at least 1");
  check.options(options);
  check.finish();
  Buffer<T> copy;
  host::launch_histogram(check, host::line_of(all, copy, check, options), to, options);
}
/// The counts of 0 to bins - 1 in a new buffer.
template <host::WholeArray X, std::integral N>
Buffer<std::int32_t> histogram(X&& x, N bins, const Options& options = {}, Here at = Here::current()) {
  using T = host::WholeElement<X>;
  static_assert(IntegerElement<T>, "x holds integers");
  const auto all = host::view_of(x, at);
  host::ArgumentCheck check("histogram", at);
  check.input("x", all);
  if (!std::in_range<std::int32_t>(bins) || bins < 1) check.fail("bins = " + std::to_string(bins) + "; it must be 1 to 2147483647");
  check.options(options);
  check.finish();
  Buffer<T> copy;
  Buffer<std::int32_t> counts = check.device().template allocate<std::int32_t>(bins, at);
  host::launch_histogram(check, host::line_of(all, copy, check, options), host::view_of(counts, at), options);
  return counts;
}

}  // namespace tilewright::kernels
