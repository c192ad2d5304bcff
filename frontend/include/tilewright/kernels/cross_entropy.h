// Cross entropy of rows of logits, and its gradient.
#pragma once
#include "tilewright/kernels/softmax.h"

namespace tilewright::kernels {

/// loss = log(sum(exp(x))) - x[target]: 0 if the target is `ignore_index`, NaN if it is outside of the row. Each program computes one row.
template <class T, class I, class L, int R>
void cross_entropy_kernel(View<const T, R> logits, View<const I, kNumbersRank<R>> targets, View<L, kNumbersRank<R>> losses,
                          Numbers<T, R> lse, I64 ignore_index, int block, bool fits, bool store_lse) {
  using S = Accumulator<T>;
  const I64 row = program_id(0).to<std::int64_t>();
  const auto x = row_of(logits, row);
  const auto sums = softmax_sums<T>(x, block, fits);
  const auto log_sum = sums.largest + log(sums.total);
  const I64 target = load_number<std::int64_t>(targets, row);
  const auto at_target = reshape(x.load({target}, {1}), {}).template to<S>();
  // The difference of two close logits is exact, whereas log_sum would be rounded like the largest logit.
  const auto loss = where(target >= 0 && target < x.extent(0), log(sums.total) - (at_target - sums.largest), nan);
  store_number(losses, row, where(target == ignore_index, S(0), loss));
  if (store_lse) store_number(lse, row, log_sum);
}

/// dlogits = (exp(x - lse) - [index == target]) * dloss.
template <class T, class I, class L, int R>
void cross_entropy_backward_kernel(View<const T, R> logits, View<const I, kNumbersRank<R>> targets, NumbersOf<T, R> lse,
                                   View<const L, kNumbersRank<R>> dlosses, View<T, R> dlogits, I64 ignore_index, int block) {
  using S = Accumulator<T>;
  const I64 row = program_id(0).to<std::int64_t>();
  const auto x = row_of(logits, row);
  const auto to = row_of(dlogits, row);
  const I64 target = load_number<std::int64_t>(targets, row);
  const auto log_sum = load_number<S>(lse, row);
  const auto dloss = where(target >= 0 && target < x.extent(0), load_number<S>(dlosses, row), nan);
  for (auto i : range(0, x.extent(0), block)) {
    const auto p = exp(x.load({i}, {block}, -inf).template to<S>() - log_sum);
    const auto hit = where(i + arange(0, block) == target, S(1), zeros<S>({block}));
    to.store({i}, where(target == ignore_index, S(0), (p - hit) * dloss).template to<T>());
  }
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

template <class X, class I>
constexpr void check_cross_entropy_types() {
  static_assert(kIsFloat<X>, "logits are f16, bf16, float or double");
  static_assert(OneOf<std::remove_const_t<I>, std::int32_t, std::int64_t>, "targets are int32_t or int64_t");
}

template <class X, class I, class L, int R>
TW_PER_MODULE void launch_cross_entropy(const View<X, R>& logits, const View<I, kNumbersRank<R>>& targets,
                                        const View<L, kNumbersRank<R>>& losses, const Numbers<X, R>& lse, std::int64_t ignore_index,
                                        const Options& options, const Here& at) {
  check_cross_entropy_types<X, I>();
  static_assert(kIsFloat<L> && !std::is_const_v<L>, "losses are f16, bf16, float or double, in a view that can be written");
  ArgumentCheck check("cross_entropy", at);
  check.input("logits", logits);
  check.input("targets", targets);
  check.output("losses", losses);
  check_numbers<R>(check, "targets", "logits");
  check_numbers<R>(check, "losses", "logits");
  if (is_given(lse)) check.output("lse", lse), check_numbers<R>(check, "lse", "logits");
  check.options(options);
  check.finish();
  const RowsShape shape = rows_of(logits, {.exponentials = 1, .once = true});
  if (is_empty(shape)) return;
  static const Kernel kernel("cross_entropy", cross_entropy_kernel<std::remove_const_t<X>, std::remove_const_t<I>, L, R>);
  launch_tuned(check, shape, options, [&](const Options& o) {
    const int block = o.configuration->bn;
    kernel(launch_of(shape.rows, o), logits, targets, losses, or_none(lse, at), ignore_index, block, block >= shape.n, is_given(lse), at);
  });
}

template <class X, class I, class DL, class DX, int R>
TW_PER_MODULE void launch_cross_entropy_backward(const View<X, R>& logits, const View<I, kNumbersRank<R>>& targets,
                                                 const NumbersOf<X, R>& lse, const View<DL, kNumbersRank<R>>& dlosses,
                                                 const View<DX, R>& dlogits, std::int64_t ignore_index, const Options& options,
                                                 const Here& at) {
  check_cross_entropy_types<X, I>();
  static_assert(std::is_same_v<std::remove_const_t<X>, DX>, "dlogits has the element type of logits");
  ArgumentCheck check("cross_entropy_backward", at);
  check.input("logits", logits);
  check.input("targets", targets);
  check.input("lse", lse);
  check.input("dlosses", dlosses);
  check.output("dlogits", dlogits);
  check_numbers<R>(check, "targets", "logits");
  check_numbers<R>(check, "lse", "logits");
  check_numbers<R>(check, "dlosses", "logits");
  check.same_shape("dlogits", "logits");
  check.options(options);
  check.finish();
  const RowsShape shape = rows_of(logits, {.exponentials = 1});
  if (is_empty(shape)) return;
  static const Kernel kernel("cross_entropy_backward",
                             cross_entropy_backward_kernel<DX, std::remove_const_t<I>, std::remove_const_t<DL>, R>);
  launch_tuned(check, shape, options, [&](const Options& o) {
    kernel(launch_of(shape.rows, o), logits, targets, lse, dlosses, dlogits, ignore_index, o.configuration->bn, at);
  });
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// losses = log(sum(exp(logits))) - logits[target] of each row of the last axis. targets (int32_t or int64_t) and losses have one number
/// for each row. lse, the logarithm of the sum, is stored if it is given; the gradient needs it. The loss is 0 if the target is
/// `ignore_index`.
template <host::WholeArray X, host::RowNumbersLike<X> I, host::RowNumbersLike<X> L>
void cross_entropy(X&& logits, I&& targets, L&& losses, const host::RowNumbers<X>& lse = {}, std::int64_t ignore_index = -1,
                   const Options& options = {}, Here at = Here::current()) {
  host::launch_cross_entropy(host::view_of(logits, at), host::view_of(targets, at), host::view_of(losses, at), lse, ignore_index, options,
                             at);
}
/// cross_entropy with options only.
template <host::WholeArray X, host::RowNumbersLike<X> I, host::RowNumbersLike<X> L>
void cross_entropy(X&& logits, I&& targets, L&& losses, const host::RowNumbers<X>& lse, const Options& options, Here at = Here::current()) {
  cross_entropy(logits, targets, losses, lse, -1, options, at);
}

/// dlogits = (softmax(logits) - one at the target) * dlosses, from the lse that cross_entropy stored. It is 0 where the target is ignored.
template <host::WholeArray X, host::RowNumbersLike<X> I, host::RowNumbersLike<X> DL, host::ArrayLike<X> DX>
void cross_entropy_backward(X&& logits, I&& targets, const host::RowNumbersOf<X>& lse, DL&& dlosses, DX&& dlogits,
                            std::int64_t ignore_index = -1, const Options& options = {}, Here at = Here::current()) {
  host::launch_cross_entropy_backward(host::view_of(logits, at), host::view_of(targets, at), lse, host::view_of(dlosses, at),
                                      host::view_of(dlogits, at), ignore_index, options, at);
}
/// cross_entropy_backward with options only.
template <host::WholeArray X, host::RowNumbersLike<X> I, host::RowNumbersLike<X> DL, host::ArrayLike<X> DX>
void cross_entropy_backward(X&& logits, I&& targets, const host::RowNumbersOf<X>& lse, DL&& dlosses, DX&& dlogits, const Options& options,
                            Here at = Here::current()) {
  cross_entropy_backward(logits, targets, lse, dlosses, dlogits, -1, options, at);
}

}  // namespace tilewright::kernels
