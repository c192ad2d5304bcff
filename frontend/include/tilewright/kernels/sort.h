// Radix sort of whole arrays.
#pragma once
#include <vector>

#include "tilewright/kernels/scan.h"

namespace tilewright::kernels {

inline constexpr int kDigits = 256;  // values of an 8-bit digit

/// Keys as unsigned integers in the same order. NaN are last in either direction; +0 and -0 are equal.
template <class U, class K>
Tile<U> order_bits(const Tile<K>& key, bool descending) {
  constexpr U kHigh = static_cast<U>(U{1} << (sizeof(U) * 8 - 1)), kOnes = static_cast<U>(~U{0});
  if constexpr (IntegerElement<K>) {
    const auto bits = std::is_signed_v<K> ? key.template to<U>() ^ kHigh : key.template to<U>();
    return descending ? ~bits : bits;
  } else {
    const auto raw = key.template bitcast<U>();
    auto bits = where((raw & kHigh) != U{0}, ~raw, raw | kHigh);
    bits = where((raw & static_cast<U>(~kHigh)) == U{0}, kHigh, bits);
    return where(key != key, kOnes, descending ? ~bits : bits);
  }
}

/// counts[digit][program] = how many of `length` keys have this digit.
template <class U, class K>
void sort_counts_kernel(View<const K, 1> keys, View<std::int32_t, 2> counts, I64 length, Tile<U> shift, int block, bool descending) {
  const I64 begin = program_id(0).to<std::int64_t>() * length, n = keys.extent(0);
  auto total = zeros<std::int32_t>({kDigits});
  for (auto i : range(begin, minimum(begin + length, n), block)) {
    const auto digit = ((order_bits<U>(keys.load({i}, {block}), descending) >> shift) & U{255}).template to<std::int32_t>();
    total += tilewright::histogram(digit, kDigits, i + arange(0, block) < n);
  }
  counts.store({0, program_id(0)}, column(total));
}

/// Moves keys, and values if there are any, to the offsets of their digits; keys of one digit keep their order. Each tile is first sorted
/// by digit, so that neighbours are written to neighbours.
template <class U, class K, class V>
void sort_kernel(View<const K, 1> keys, Ptr<K> to_keys, I64 key_stride, View<const V, 1> values, Ptr<V> to_values, I64 value_stride,
                 View<const std::int32_t, 2> offsets, I64 length, Tile<U> shift, int block, bool descending, bool has_values) {
  const I64 begin = program_id(0).to<std::int64_t>() * length, n = keys.extent(0);
  auto next = reshape(offsets.load({0, program_id(0)}, {kDigits, 1}), {kDigits});
  const auto lane = arange(0, block);
  for (auto i : range(begin, minimum(begin + length, n), block)) {
    const auto key = keys.load({i}, {block});
    auto digit = ((order_bits<U>(key, descending) >> shift) & U{255}).template to<std::int32_t>();
    digit = where(i + lane < n, digit, kDigits);
    const auto ordered = tilewright::sort(digit * block + lane);
    const auto from = ordered % block, at = ordered / block;
    const auto counts = tilewright::histogram(digit, kDigits);
    const auto first = next - (cumsum(counts, 0) - counts);
    const auto to = (tilewright::gather(first, minimum(at, kDigits - 1), 0) + lane).template to<std::int64_t>();
    store(to_keys + to * key_stride, tilewright::gather(key, from, 0), at < kDigits);
    if (has_values) store(to_values + to * value_stride, tilewright::gather(values.load({i}, {block}), from, 0), at < kDigits);
    next += counts;
  }
}

/// For a program that is one thread: one key after another goes to the next position of its digit. next: [programs, digits].
template <class U, class K, class V>
void sort_in_order_kernel(View<const K, 1> keys, Ptr<K> to_keys, I64 key_stride, View<const V, 1> values, Ptr<V> to_values,
                          I64 value_stride, View<const std::int32_t, 2> offsets, View<std::int32_t, 2> next, I64 length, Tile<U> shift,
                          bool descending, bool has_values) {
  const I64 begin = program_id(0).to<std::int64_t>() * length;
  const auto positions = next.at(program_id(0));
  positions.store({0}, reshape(offsets.load({0, program_id(0)}, {kDigits, 1}), {kDigits}));
  for (auto i : range(begin, minimum(begin + length, keys.extent(0)))) {
    const auto key = load(keys.pointer({i}));
    const auto position = positions.pointer({((order_bits<U>(key, descending) >> shift) & U{255}).template to<std::int64_t>()});
    const I32 at = load(position);
    store(position, at + 1);
    const I64 to = at.to<std::int64_t>();
    store(to_keys + to * key_stride, key);
    if (has_values) store(to_values + to * value_stride, load(values.pointer({i})));
  }
}

/// differ[program] = the bits in which one of `length` keys differs from the first key.
template <class U, class K>
void sort_bits_kernel(View<const K, 1> keys, View<U, 1> differ, I64 length, int block) {
  const I64 begin = program_id(0).to<std::int64_t>() * length, n = keys.extent(0);
  const auto first = order_bits<U>(load(keys.pointer({I64(0)})), false);
  auto total = zeros<U>({block});
  for (auto i : range(begin, minimum(begin + length, n), block)) {
    const auto bits = order_bits<U>(keys.load({i}, {block}), false);
    total = total | where(i + arange(0, block) < n, bits ^ first, U{0});
  }
  differ.store({program_id(0)}, reshape(tilewright::reduce(total, 0, [](auto a, auto b) { return a | b; }), {1}));
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

template <std::size_t Bytes>
using UnsignedOf =
    std::conditional_t<Bytes == 1, std::uint8_t,
                       std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// Stands for the values when sort() gets keys only.
struct NoValues {};

/// The problem: n keys are counted and moved for each of their bytes. More than 1024 keys in a step do not fit in registers.
template <class K>
ScanShape sort_shape(std::int64_t n) {
  return {.n = n, .element_bytes = sizeof(K), .work = 20 * static_cast<int>(sizeof(K)), .most_block = 1024, .counters = kDigits};
}

/// The lowest bits of the digits in which some keys differ. On GPUs all digits: the host would have to wait for the keys.
template <class U, class K>
TW_PER_MODULE std::vector<int> differing_digits(const Device& device, const View<K, 1>& keys, const Options& options, const Here& at) {
  U differ = static_cast<U>(~U{0});
  if (is_host(device)) {
    const auto [length, parts] = parts_of(extent_of(keys, 0), *options.configuration);
    static const Kernel kernel("sort_bits", sort_bits_kernel<U, K>);
    Buffer<U> of_parts = device.allocate<U>(parts, at);
    kernel(launch_of(parts, options), keys, view_of(of_parts, at), length, options.configuration->bn, at);
    if (options.stream.handle()) options.stream.synchronize(at);
    differ = 0;
    for (const U bits : of_parts.download(at)) differ = static_cast<U>(differ | bits);
  }
  std::vector<int> shifts;
  for (int shift = 0; shift < static_cast<int>(sizeof(K)) * 8; shift += 8)
    if ((differ >> shift & U{255}) != 0) shifts.push_back(shift);
  return shifts;
}

/// Sorts keys, and values if has_values, by 8 bits at a time. Passes alternate between the caller's memory and memory of its own.
template <class K, class V>
TW_PER_MODULE void launch_sort(const Device& device, const View<K, 1>& keys, const View<V, 1>& values, bool has_values, bool descending,
                               const Options& options, const Here& at) {
  using U = UnsignedOf<sizeof(K)>;
  const std::int64_t n = extent_of(keys, 0);
  if (n < 2) return;
  const Configuration c = chosen_configuration(device, sort_shape<K>(n), options);
  const bool in_order = is_host(device);
  Options chosen = options;
  chosen.configuration = c;
  const std::vector<int> shifts = differing_digits<U>(device, keys, chosen, at);
  if (shifts.empty()) return;
  const auto [length, parts] = parts_of(n, c);
  Buffer<K> key_memory = device.allocate<K>(n, at);
  Buffer<V> value_memory = device.allocate<V>(has_values ? n : 1, at);
  Buffer<std::int32_t> counts = device.allocate<std::int32_t>(kDigits * parts, at),
                       offsets = device.allocate<std::int32_t>(kDigits * parts, at),
                       next = device.allocate<std::int32_t>(in_order ? kDigits * parts : 0, at);
  View<K, 1> from = keys, to = view_of(key_memory, at);
  View<V, 1> from_values = values, to_values = view_of(value_memory, at);
  const auto swap = [&] { std::swap(from, to), std::swap(from_values, to_values); };
  if (shifts.size() % 2 == 1) {  // the last pass must end in the caller's memory
    copy(from, to, {.stream = options.stream}, at);
    if (has_values) copy(from_values, to_values, {.stream = options.stream}, at);
    swap();
  }
  static const Kernel counts_kernel("sort_counts", sort_counts_kernel<U, K>);
  static const Kernel kernel("sort", sort_kernel<U, K, V>);
  static const Kernel in_order_kernel("sort_in_order", sort_in_order_kernel<U, K, V>);
  const Launch launch{.grid = parts, .num_warps = c.num_warps, .stream = stream_of(options)};
  for (const int shift : shifts) {
    counts_kernel(launch, from, view(counts, {std::int64_t{kDigits}, parts}, at), length, static_cast<U>(shift), c.bn, descending, at);
    launch_scan<std::int32_t>(device, View<const std::int32_t, 1>(view_of(counts, at)), view_of(offsets, at), 0, true, Add(),
                              {.stream = options.stream}, at);
    const View<std::int32_t, 2> begins = view(offsets, {std::int64_t{kDigits}, parts}, at);
    if (in_order)
      in_order_kernel(launch, from, address_of(to), stride_of(to, 0), from_values, address_of(to_values), stride_of(to_values, 0), begins,
                      view(next, {parts, std::int64_t{kDigits}}, at), length, static_cast<U>(shift), descending, has_values, at);
    else
      kernel(launch, from, address_of(to), stride_of(to, 0), from_values, address_of(to_values), stride_of(to_values, 0), begins, length,
             static_cast<U>(shift), c.bn, descending, has_values, at);
    swap();
  }
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// Sorts keys in place, ascending or descending; values, if given, are moved with them. Views of rank 1 or buffers. Equal keys keep their
/// order. Keys: integers, f16, bf16, float, double; NaN come last in either direction, +0 and -0 are equal.
template <host::WholeArray K, class V = host::NoValues>
  requires(host::WholeArray<V> || std::is_same_v<V, host::NoValues>)
void sort(K&& keys, V&& values = {}, bool descending = false, const Options& options = {}, Here at = Here::current()) {
  using T = host::WholeElement<K>;
  static_assert(IntegerElement<T> || host::kIsFloat<T>, "keys are integers, f16, bf16, float or double");
  const auto in = host::view_of(keys, at);
  host::ArgumentCheck check("sort", at);
  check.update("keys", in);
  if constexpr (std::is_same_v<V, host::NoValues>) {
    check.options(options);
    check.finish();
    host::launch_tuned(check, host::sort_shape<T>(host::extent_of(in, 0)), options, [&](const Options& o) {
      host::launch_sort(check.device(), in, host::no_elements<std::int32_t, 1>(at), false, descending, o, at);
    });
  } else {
    const auto moved = host::view_of(values, at);
    check.update("values", moved);
    check.equal("values", 0, "N", "keys", 0);
    check.options(options);
    check.finish();
    host::launch_tuned(check, host::sort_shape<T>(host::extent_of(in, 0)), options,
                       [&](const Options& o) { host::launch_sort(check.device(), in, moved, true, descending, o, at); });
  }
}

}  // namespace tilewright::kernels
