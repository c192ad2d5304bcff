// The elements of an array that a mask keeps.
#pragma once
#include "tilewright/kernels/scan.h"

namespace tilewright::kernels {

/// counts[program] = how many of `length` elements the mask keeps.
template <class M>
void compact_counts_kernel(View<const M, 1> mask, View<std::int32_t, 1> counts, I64 length, int block) {
  const I64 begin = program_id(0).to<std::int64_t>() * length;
  auto total = zeros<std::int32_t>({block});
  for (auto i : range(begin, minimum(begin + length, mask.extent(0)), block))
    total += (mask.load({i}, {block}).template to<bool>()).template to<std::int32_t>();
  counts.store({program_id(0)}, reshape(sum(total, 0), {1}));
}

/// Writes the kept elements in their order, from y[offsets[program]] on.
template <class T, class M>
void compact_kernel(View<const T, 1> x, View<const M, 1> mask, Ptr<T> y, I64 stride, View<const std::int32_t, 1> offsets, I64 length,
                    int block) {
  const I64 begin = program_id(0).to<std::int64_t>() * length;
  I32 next = reshape(offsets.load({program_id(0)}, {1}), {});
  for (auto i : range(begin, minimum(begin + length, x.extent(0)), block)) {
    const auto kept = mask.load({i}, {block}).template to<bool>();
    const auto one = kept.template to<std::int32_t>();
    const auto to = next + cumsum(one, 0) - one;
    store(y + to.template to<std::int64_t>() * stride, x.load({i}, {block}), kept);
    next += sum(one, 0);
  }
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

/// Waits until the number of kept elements is known. `options` must have a configuration.
template <class T, class M>
TW_PER_MODULE std::int64_t launch_compact(const ArgumentCheck& check, const View<const T, 1>& x, const View<const M, 1>& mask,
                                          const View<T, 1>& y, const Options& options, const Here& at) {
  const std::int64_t n = extent_of(x, 0);
  const int bn = options.configuration->bn;
  const Parts parts = parts_of(n, *options.configuration);
  static const Kernel counts_kernel("compact_counts", compact_counts_kernel<M>);
  static const Kernel kernel("compact", compact_kernel<T, M>);
  // One extra part without elements: its offset is the number of kept elements.
  Buffer<std::int32_t> counts = check.device().template allocate<std::int32_t>(parts.count + 1, at),
                       offsets = check.device().template allocate<std::int32_t>(parts.count + 1, at);
  const auto counts_view = view_of(counts, at), offsets_view = view_of(offsets, at);
  counts_kernel(launch_of(parts.count + 1, options), mask, counts_view, parts.length, bn, at);
  launch_scan<std::int32_t>(check.device(), View<const std::int32_t, 1>(counts_view), offsets_view, 0, true, Add(),
                            {.stream = options.stream}, at);
  const auto write = [&] {
    kernel(launch_of(parts.count, options), x, mask, address_of(y), stride_of(y, 0), offsets_view, parts.length, bn, at);
  };
  const bool has_room = extent_of(y, 0) >= n;
  if (has_room) write();
  if (options.stream.handle()) options.stream.synchronize(at);
  const std::int64_t kept = offsets.download(at).back();
  if (has_room) return kept;
  if (extent_of(y, 0) < kept)
    check.fail("'y' is [" + std::to_string(extent_of(y, 0)) + "]; it must have room for the " + std::to_string(kept) +
               " elements that are kept");
  write();
  if (options.stream.handle()) options.stream.synchronize(at);
  return kept;
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// Writes the elements of x whose mask is true, or not 0, to y in their order, and returns their number. x and mask: views of one shape,
/// read in row-major order, or buffers; y: a view of rank 1 or a buffer. y may be shorter than x if the kept elements fit. Elements of y
/// after them do not change.
template <host::WholeArray X, host::WholeArray M, host::WholeArray Y>
std::int64_t compact(X&& x, M&& mask, Y&& y, const Options& options = {}, Here at = Here::current()) {
  using T = host::WholeElement<X>;
  using B = host::WholeElement<M>;
  static_assert(std::is_same_v<T, host::WholeElement<Y>>, "x and y have one element type");
  static_assert(std::is_integral_v<B>, "the mask holds bool or integers");
  const auto from = host::view_of(x, at);
  const auto flags = host::view_of(mask, at);
  const auto to = host::view_of(y, at);
  host::ArgumentCheck check("compact", at);
  check.input("x", from);
  check.input("mask", flags);
  check.output("y", to);
  check.same_shape("mask", "x");
  check.options(options);
  check.finish();
  const std::int64_t n = host::size_of(from);
  if (n == 0) return 0;
  Buffer<T> copied;
  Buffer<B> copied_mask;
  const auto line = host::line_of(from, copied, check, options);
  const auto mask_line = host::line_of(flags, copied_mask, check, options);
  std::int64_t kept = 0;
  host::launch_tuned(check, host::ScanShape{.n = n, .element_bytes = sizeof(T), .work = 4}, options,
                     [&](const Options& o) { kept = host::launch_compact(check, line, mask_line, to, o, at); });
  return kept;
}

}  // namespace tilewright::kernels
