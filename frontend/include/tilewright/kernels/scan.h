// Scans of whole arrays.
#pragma once
#include "tilewright/kernels/reduce.h"

namespace tilewright::kernels {

/// Each program scans `length` elements in steps of `block`, after the elements combined in carries[program]; it starts with the identity
/// if there are no carries.
template <class X, class S, class Y, class F>
void scan_kernel(View<const X, 1> x, View<const S, 1> carries, View<Y, 1> y, I64 length, Tile<S> identity, int block, bool exclusive, F f) {
  const I64 begin = program_id(0).to<std::int64_t>() * length, n = x.extent(0);
  Tile<S> carry = reshape(carries.load({program_id(0)}, {1}, identity), {});
  for (auto i : range(begin, minimum(begin + length, n), block)) {
    const auto v = where(i + arange(0, block) < n, x.load({i}, {block}).template to<S>(), identity);
    auto scanned = tilewright::scan(v, 0, f);
    if (exclusive) scanned = where(arange(0, block) == 0, identity, roll(scanned, 1, 0));
    y.store({i}, f(carry, scanned).template to<Y>());
    carry = f(carry, tilewright::reduce(v, 0, f));
  }
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

/// y = the scan of x: combines the parts of x, scans the results in one program, then scans each part after the result before it. If the
/// options have no configuration, it is the model's first choice.
template <class S, class X, class Y, class F>
TW_PER_MODULE void launch_scan(const Device& device, const View<const X, 1>& x, const View<Y, 1>& y, X identity, bool exclusive, F f,
                               const Options& options, const Here& at) {
  const S neutral(identity);
  const std::int64_t n = extent_of(x, 0);
  if (n == 0) return;
  const Configuration c = chosen_configuration(device, ScanShape{.n = n, .element_bytes = sizeof(X)}, options);
  const auto [length, parts] = parts_of(n, c);
  static const Kernel kernel("scan", scan_kernel<X, S, Y, F>);
  static const Kernel carry_kernel("scan_carries", scan_kernel<S, S, S, F>);
  const auto launch = [&](std::int64_t grid) { return Launch{.grid = grid, .num_warps = c.num_warps, .stream = stream_of(options)}; };
  if (parts == 1) {
    kernel(launch(1), x, no_elements<const S, 1>(at), y, length, neutral, c.bn, exclusive, f, at);
    return;
  }
  Buffer<S> totals = device.allocate<S>(parts, at), carries = device.allocate<S>(parts, at);
  Options each = options;
  each.configuration = c;
  each.configuration->bm = 1, each.configuration->bk = c.bn;
  launch_reduce_parts<S>(View<const X, 2>(with_batch<2>(x, 1, at)), view(totals, {parts, std::int64_t{1}}, at), parts, identity, f, each,
                         at);
  const View<const S, 1> from = view(totals, {parts}, at), none = no_elements<const S, 1>(at);
  const View<S, 1> to = view(carries, {parts}, at);
  carry_kernel(launch(1), from, none, to, tilewright::cdiv(parts, std::int64_t{c.bn}) * c.bn, neutral, c.bn, true, f, at);
  kernel(launch(parts), x, View<const S, 1>(to), y, length, neutral, c.bn, exclusive, f, at);
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// y[i] = f over x[0] to x[i], or to x[i - 1] if the scan is exclusive, in row-major order; y[0] of an exclusive scan is the identity. x
/// and y are views or buffers of one shape, and may be the same. f as for reduce.
template <host::WholeArray X, host::ArrayLike<X> Y, host::CombineFunction<host::WholeElement<X>> F>
void scan(X&& x, Y&& y, F f, host::ElementValue<host::WholeElement<X>> identity, bool exclusive = false, const Options& options = {},
          Here at = Here::current()) {
  using T = host::WholeElement<X>;
  using U = host::WholeElement<Y>;
  using S = CombineType<T, F>;
  const auto from = host::view_of(x, at);
  const auto to = host::view_of(y, at);
  host::ArgumentCheck check("scan", at);
  if (host::is_same_memory(from, to))
    check.update("y", to);
  else
    check.output("y", to), check.input("x", from), check.same_shape("y", "x");
  check.options(options);
  check.finish();
  Buffer<T> copy;
  Buffer<U> dense;
  const View<const T, 1> line = host::line_of(from, copy, check, options);
  const auto result = host::as_line(to, at);
  if (!result) dense = check.device().template allocate<U>(host::size_of(to), at);
  const View<U, 1> scanned = result ? *result : view(dense, {dense.size()}, at);
  const T neutral = identity.in(check, "identity");
  const auto launch = [&](const Options& o) { host::launch_scan<S>(check.device(), line, scanned, neutral, exclusive, f, o, at); };
  if (host::size_of(from) > 0)
    host::launch_tuned(check, host::ScanShape{.n = host::size_of(from), .element_bytes = sizeof(T)}, options, launch, typeid(F));
  if (!result) host::launch_copy("copy", host::dense_like(dense, to, at), to, {.stream = options.stream}, at);
}
/// scan with options only.
template <host::WholeArray X, host::ArrayLike<X> Y, host::CombineFunction<host::WholeElement<X>> F>
void scan(X&& x, Y&& y, F f, host::ElementValue<host::WholeElement<X>> identity, const Options& options, Here at = Here::current()) {
  scan(x, y, f, identity, false, options, at);
}

}  // namespace tilewright::kernels
