// Layer norm and RMS norm along the last axis, and their gradients.
#pragma once
#include <algorithm>
#include <utility>

#include "tilewright/kernels/rows.h"

namespace tilewright::kernels {

/// The arrays that a norm reads and writes. Arrays that are not used are empty views.
struct NormParts {
  bool centered;  // layer norm: the mean is subtracted
  bool gamma, beta, mean, rstd;
};

/// The mean and 1 / sqrt(variance + eps) of a row. The variance is the mean of (x - mean)^2, computed in its own pass: as the difference of
/// two large numbers it would lose its digits.
template <class T>
std::pair<Tile<Accumulator<T>>, Tile<Accumulator<T>>> moments(const View<const T, 1>& x, const F64& eps, int block, bool centered) {
  using S = Accumulator<T>;
  const I64 n = x.extent(0);
  const auto count = n.template to<S>();
  auto mean = full<S>({}, 0);
  if (centered) {
    auto total = zeros<S>({block});
    for (auto i : range(0, n, block)) total += x.load({i}, {block}).template to<S>();
    mean = sum(total, 0) / count;
  }
  auto squares = zeros<S>({block});
  for (auto i : range(0, n, block)) {
    const auto v = where(i + arange(0, block) < n, x.load({i}, {block}).template to<S>() - mean, S(0));
    squares += v * v;
  }
  return {mean, S(1) / sqrt(sum(squares, 0) / count + eps.template to<S>())};
}

/// y = (x - mean) * rstd * gamma + beta. Each program computes one row.
template <class T, class W, int R>
void norm_kernel(View<const T, R> x, View<const W, 1> gamma, View<const W, 1> beta, View<T, R> y, F64 eps, Numbers<T, R> mean,
                 Numbers<T, R> rstd, int block, NormParts parts) {
  using S = Accumulator<T>;
  const I64 row = program_id(0).to<std::int64_t>();
  const auto in = row_of(x, row);
  const auto out = row_of(y, row);
  const auto [center, scale] = moments<T>(in, eps, block, parts.centered);
  if (parts.mean) store_number(mean, row, center);
  if (parts.rstd) store_number(rstd, row, scale);
  for (auto i : range(0, in.extent(0), block)) {
    auto v = (in.load({i}, {block}).template to<S>() - center) * scale;
    if (parts.gamma) v = v * gamma.load({i}, {block}).template to<S>();
    if (parts.beta) v = v + beta.load({i}, {block}).template to<S>();
    out.store({i}, v.template to<T>());
  }
}

/// With g = dy * gamma and h = (x - mean) * rstd: dx = rstd * (g - mean(g) - h * mean(g * h)), without mean(g) for RMS norm.
template <class T, class W, int R>
void norm_backward_kernel(View<const T, R> x, View<const W, 1> gamma, NumbersOf<T, R> mean, NumbersOf<T, R> rstd, View<const T, R> dy,
                          View<T, R> dx, int block, NormParts parts) {
  using S = Accumulator<T>;
  const I64 row = program_id(0).to<std::int64_t>();
  const auto in = row_of(x, row), out_gradient = row_of(dy, row);
  const auto to = row_of(dx, row);
  const auto scale = load_number<S>(rstd, row);
  const auto center = parts.centered ? load_number<S>(mean, row) : full<S>({}, 0);
  const auto count = in.extent(0).template to<S>();
  const auto weighted = [&](const I64& i) {
    auto g = out_gradient.load({i}, {block}).template to<S>();
    return parts.gamma ? g * gamma.load({i}, {block}).template to<S>() : g;
  };
  const auto normalized = [&](const I64& i) { return (in.load({i}, {block}).template to<S>() - center) * scale; };
  auto sums = zeros<S>({block}), products = zeros<S>({block});
  for (auto i : range(I64(0), in.extent(0), block)) {
    const auto g = weighted(i);
    if (parts.centered) sums += g;
    products += g * normalized(i);
  }
  const auto mean_g = sum(sums, 0) / count, mean_product = sum(products, 0) / count;
  for (auto i : range(I64(0), in.extent(0), block))
    to.store({i}, (scale * (weighted(i) - mean_g - normalized(i) * mean_product)).template to<T>());
}

/// Parts of dgamma = sum(dy * h) and dbeta = sum(dy) over the rows: part p has the rows from p * length on.
template <class T, int R>
void norm_weights_kernel(View<const T, R> x, NumbersOf<T, R> mean, NumbersOf<T, R> rstd, View<const T, R> dy,
                         View<Accumulator<T>, 2> dgamma, View<Accumulator<T>, 2> dbeta, I64 rows, I64 length, int block, NormParts parts) {
  using S = Accumulator<T>;
  const I32 column = program_id(0) * block, part = program_id(1);
  const I64 begin = part.to<std::int64_t>() * length;
  auto products = zeros<S>({block}), sums = zeros<S>({block});
  for (auto row : range(begin, minimum(begin + length, rows))) {
    const auto g = row_of(dy, row).load({column}, {block}).template to<S>();
    const auto center = parts.centered ? load_number<S>(mean, row) : full<S>({}, 0);
    if (parts.gamma) products += g * (row_of(x, row).load({column}, {block}).template to<S>() - center) * load_number<S>(rstd, row);
    if (parts.beta) sums += g;
  }
  if (parts.gamma) dgamma.at(part).store({column}, products);
  if (parts.beta) dbeta.at(part).store({column}, sums);
}

/// Both in one sweep over x and dy: dx of `length` rows, and their part of dgamma and dbeta. A block has a whole row.
template <class T, class W, int R>
void norm_backward_sweep_kernel(View<const T, R> x, View<const W, 1> gamma, NumbersOf<T, R> mean, NumbersOf<T, R> rstd, View<const T, R> dy,
                                View<T, R> dx, View<Accumulator<T>, 2> dgamma, View<Accumulator<T>, 2> dbeta, I64 rows, I64 length,
                                int block, NormParts parts) {
  using S = Accumulator<T>;
  const I64 part = program_id(0).to<std::int64_t>(), begin = part * length, n = x.extent(R - 1);
  const auto count = n.template to<S>();
  auto products = zeros<S>({block}), sums = zeros<S>({block});
  for (auto row : range(begin, minimum(begin + length, rows))) {
    const auto scale = load_number<S>(rstd, row);
    const auto center = parts.centered ? load_number<S>(mean, row) : full<S>({}, 0);
    const auto h = (row_of(x, row).load({0}, {block}).template to<S>() - center) * scale;
    const auto g = row_of(dy, row).load({0}, {block}).template to<S>();
    const auto weighted = parts.gamma ? g * gamma.load({0}, {block}).template to<S>() : g;
    // Past the end of the row g is 0, and so is what it is multiplied with.
    products += g * h;
    if (parts.beta) sums += g;
    const auto mean_g = parts.centered ? sum(weighted, 0) / count : full<S>({}, 0), mean_product = sum(weighted * h, 0) / count;
    row_of(dx, row).store({0}, (scale * (weighted - mean_g - h * mean_product)).template to<T>());
  }
  dgamma.at(part).store({0}, products);
  if (parts.beta) dbeta.at(part).store({0}, sums);
}

/// to = the sum of the parts, in order.
template <class S, class W>
void add_parts_kernel(View<const S, 2> parts, View<W, 1> to, int block) {
  const I32 column = program_id(0) * block;
  auto total = zeros<S>({block});
  for (auto part : range(0, parts.extent(0))) total += parts.at(part).load({column}, {block});
  to.store({column}, total.template to<W>());
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

template <class X, class W, class Y, int R>
TW_PER_MODULE void launch_norm(const char* name, bool centered, const View<X, R>& x, const View<const W, 1>& gamma,
                               const std::type_identity_t<View<const W, 1>>& beta, const View<Y, R>& y, double eps,
                               const Numbers<Y, R>& mean, const Numbers<Y, R>& rstd, const Options& options, const Here& at) {
  static_assert(kIsFloat<X> && std::is_same_v<std::remove_const_t<X>, Y>, "x and y have one element type: f16, bf16, float or double");
  static_assert(kIsFloat<W>, "the weights are f16, bf16, float or double");
  ArgumentCheck check(name, at);
  check.input("x", x);
  check.output("y", y);
  check.same_shape("y", "x");
  const NormParts parts{centered, is_given(gamma), is_given(beta), is_given(mean), is_given(rstd)};
  const auto weight = [&](const char* what, const auto& v) {
    if (!is_given(v)) return;
    check.input(what, v);
    check.equal(what, 0, "N", "x", -1);
  };
  const auto number = [&](const char* what, const auto& v) {
    if (!is_given(v)) return;
    check.output(what, v);
    check_numbers<R>(check, what, "x");
  };
  weight("gamma", gamma), weight("beta", beta), number("mean", mean), number("rstd", rstd);
  if (!(eps >= 0)) check.fail("eps must not be negative, nor NaN");
  check.options(options);
  check.finish();
  const RowsShape shape = rows_of(x, {.passes = centered ? 3 : 2});
  if (is_empty(shape)) return;
  static const Kernel kernel("norm", norm_kernel<Y, W, R>);
  launch_tuned(check, shape, options, [&](const Options& o) {
    kernel(launch_of(shape.rows, o), x, or_none(gamma, at), or_none(beta, at), y, eps, or_none(mean, at), or_none(rstd, at),
           o.configuration->bn, parts, at);
  });
}

template <class X, class G, class DY, class DX, int R>
TW_PER_MODULE void launch_norm_backward(const char* name, bool centered, const View<X, R>& x, const View<G, 1>& gamma,
                                        const NumbersOf<DX, R>& mean, const NumbersOf<DX, R>& rstd, const View<DY, R>& dy,
                                        const View<DX, R>& dx, const View<std::remove_const_t<G>, 1>& dgamma,
                                        const View<std::remove_const_t<G>, 1>& dbeta, const Options& options, const Here& at) {
  using W = std::remove_const_t<G>;
  static_assert(kIsFloat<X> && std::is_same_v<std::remove_const_t<X>, DX> && std::is_same_v<std::remove_const_t<DY>, DX>,
                "x, dy and dx have one element type: f16, bf16, float or double");
  ArgumentCheck check(name, at);
  check.input("x", x);
  check.input("dy", dy);
  check.output("dx", dx);
  check.same_shape("dy", "x");
  check.same_shape("dx", "x");
  if (is_given(gamma)) check.input("gamma", gamma), check.equal("gamma", 0, "N", "x", -1);
  if (centered) check.input("mean", mean), check_numbers<R>(check, "mean", "x");
  check.input("rstd", rstd);
  check_numbers<R>(check, "rstd", "x");
  if (is_given(dgamma)) check.output("dgamma", dgamma), check.equal("dgamma", 0, "N", "x", -1);
  if (is_given(dbeta)) check.output("dbeta", dbeta), check.equal("dbeta", 0, "N", "x", -1);
  check.options(options);
  check.finish();
  const RowsShape shape = rows_of(x, {.arrays = 2, .passes = 2});
  if (shape.n == 0) return;
  const auto means = or_none(mean, at);
  // dgamma and dbeta are sums over rows in parts, so that more programs run than there are blocks of columns; then sums of the parts.
  using S = Accumulator<DX>;
  const bool has_weights = is_given(dgamma) || is_given(dbeta);
  Buffer<S> product_memory, sum_memory;
  View<S, 2> products, of_dy;
  const auto allocate_parts = [&](std::int64_t count) {
    product_memory = check.device().template allocate<S>(count * shape.n, at);
    sum_memory = check.device().template allocate<S>(count * shape.n, at);
    products = view(product_memory, {count, shape.n}, at), of_dy = view(sum_memory, {count, shape.n}, at);
  };
  const auto add_parts = [&](int block, const Options& o) {
    static const Kernel add_kernel("norm_add_parts", add_parts_kernel<S, W>);
    const std::int64_t blocks = tilewright::cdiv(shape.n, std::int64_t{block});
    if (is_given(dgamma)) add_kernel(launch_of(blocks, o), products, dgamma, block, at);
    if (is_given(dbeta)) add_kernel(launch_of(blocks, o), of_dy, dbeta, block, at);
  };
  constexpr std::int64_t kMostSwept = 16384;  // the tiles of a longer row leave the caches of a core
  if (is_host(check.device()) && has_weights && shape.rows > 0 && shape.n <= kMostSwept && !options.configuration) {
    const ScanShape sweep{
        .n = shape.rows, .element_bytes = sizeof(DX), .work = static_cast<int>(tilewright::cdiv(shape.n, 2)), .most_block = 16};
    launch_tuned(check, sweep, options, [&](const Options& o) {
      const std::int64_t length = tilewright::cdiv(shape.rows, std::int64_t{o.batch_invariant ? 1 : o.configuration->splits});
      const std::int64_t count = tilewright::cdiv(shape.rows, length);
      static const Kernel kernel("norm_backward_sweep", norm_backward_sweep_kernel<DX, W, R>);
      allocate_parts(count);
      kernel(launch_of(count, o), x, or_none(View<const W, 1>(gamma), at), means, rstd, dy, dx, products, of_dy, shape.rows, length,
             static_cast<int>(tilewright::next_power_of_two(shape.n)), {centered, is_given(gamma), is_given(dbeta), centered, true}, at);
      add_parts(1024, o);
    });
    return;
  }
  if (shape.rows > 0) {
    static const Kernel kernel("norm_backward", norm_backward_kernel<DX, W, R>);
    launch_tuned(check, shape, options, [&](const Options& o) {
      kernel(launch_of(shape.rows, o), x, or_none(View<const W, 1>(gamma), at), means, rstd, dy, dx, o.configuration->bn,
             {centered, is_given(gamma), false, centered, true}, at);
    });
  }
  if (!has_weights) return;
  // The caller's configuration is for kernels over rows.
  Options of_sums = options;
  of_sums.configuration = {};
  const ReductionShape sums{.matrices = 1, .m = shape.n, .k = shape.rows, .element_bytes = sizeof(DX), .transposed = true, .most_step = 1};
  launch_tuned(check, sums, of_sums, [&](const Options& o) {
    const int block = o.configuration->bm;
    const std::int64_t blocks = tilewright::cdiv(shape.n, std::int64_t{block}), count = o.batch_invariant ? 1 : o.configuration->splits;
    const std::int64_t length = std::max<std::int64_t>(tilewright::cdiv(shape.rows, count), 1);
    static const Kernel weights_kernel("norm_weights", norm_weights_kernel<DX, R>);
    allocate_parts(count);
    weights_kernel(launch_of({blocks, count}, o), x, means, rstd, dy, products, of_dy, shape.rows, length, block,
                   {centered, is_given(dgamma), is_given(dbeta), centered, true}, at);
    add_parts(block, o);
  });
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// y = (x - mean) / sqrt(variance + eps) * gamma + beta along the last axis. gamma and beta: [N], each may be an empty view. mean and
/// rstd = 1 / sqrt(variance + eps), one number for each row, are stored if they are given; the gradient needs them.
template <host::WholeArray X, host::ArrayOf<1> G, host::ArrayOf<1> B, host::ArrayLike<X> Y>
void layer_norm(X&& x, G&& gamma, B&& beta, Y&& y, double eps, const host::RowNumbers<X>& mean = {}, const host::RowNumbers<X>& rstd = {},
                const Options& options = {}, Here at = Here::current()) {
  static_assert(std::is_same_v<host::WholeElement<G>, host::WholeElement<B>>, "gamma and beta have one element type");
  host::launch_norm("layer_norm", true, host::view_of(x, at), View<const host::WholeElement<G>, 1>(host::view_of(gamma, at)),
                    host::view_of(beta, at), host::view_of(y, at), eps, mean, rstd, options, at);
}
/// y = x / sqrt(mean of x^2 + eps) * gamma along the last axis; gamma may be an empty view.
template <host::WholeArray X, host::ArrayOf<1> G, host::ArrayLike<X> Y>
void rms_norm(X&& x, G&& gamma, Y&& y, double eps, const host::RowNumbers<X>& rstd = {}, const Options& options = {},
              Here at = Here::current()) {
  host::launch_norm("rms_norm", false, host::view_of(x, at), View<const host::WholeElement<G>, 1>(host::view_of(gamma, at)), {},
                    host::view_of(y, at), eps, {}, rstd, options, at);
}
/// The gradients of layer_norm(x, gamma, beta) if dy is the gradient of its result: dx, dgamma and dbeta are overwritten. dy and dx have
/// the shape of x, [..., N]; mean and rstd: [...], stored by layer_norm; gamma, dgamma and dbeta: [N], each may be an empty view.
template <host::WholeArray X, host::ArrayOf<1> G, host::ArrayLike<X> DY, host::ArrayLike<X> DX>
void layer_norm_backward(X&& x, G&& gamma, const host::RowNumbersOf<X>& mean, const host::RowNumbersOf<X>& rstd, DY&& dy, DX&& dx,
                         const View<host::WholeElement<G>, 1>& dgamma, const View<host::WholeElement<G>, 1>& dbeta,
                         const Options& options = {}, Here at = Here::current()) {
  host::launch_norm_backward("layer_norm_backward", true, host::view_of(x, at), host::view_of(gamma, at), mean, rstd, host::view_of(dy, at),
                             host::view_of(dx, at), dgamma, dbeta, options, at);
}
/// The gradients of rms_norm(x, gamma) if dy is the gradient of its result: dx and dgamma are overwritten. dy and dx have the shape of x,
/// [..., N]; rstd: [...], stored by rms_norm; gamma and dgamma: [N], each may be an empty view.
template <host::WholeArray X, host::ArrayOf<1> G, host::ArrayLike<X> DY, host::ArrayLike<X> DX>
void rms_norm_backward(X&& x, G&& gamma, const host::RowNumbersOf<X>& rstd, DY&& dy, DX&& dx, const View<host::WholeElement<G>, 1>& dgamma,
                       const Options& options = {}, Here at = Here::current()) {
  host::launch_norm_backward("rms_norm_backward", false, host::view_of(x, at), host::view_of(gamma, at), {}, rstd, host::view_of(dy, at),
                             host::view_of(dx, at), dgamma, {}, options, at);
}

}  // namespace tilewright::kernels
