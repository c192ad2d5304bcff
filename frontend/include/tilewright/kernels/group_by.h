// Values combined by key.
#pragma once
#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "tilewright/kernels/sort.h"

namespace tilewright::kernels {

/// The result of group_by: the different keys in ascending order, and the combined values of each.
template <class K, class V>
struct Groups {
  Buffer<K> keys;
  Buffer<V> values;
  std::int64_t count() const { return static_cast<std::int64_t>(keys.size()); }
};

/// Combines runs. The flag of an element says that a run begins at it; the flag of a combination says that a run begins inside.
template <class F>
struct CombineRuns {
  template <class S>
  using Run = std::tuple<I32, Tile<S>>;
  template <class S>
  Run<S> operator()(const Run<S>& a, const Run<S>& b) const {
    return {std::get<0>(a) | std::get<0>(b), after(std::get<1>(a), b)};
  }
  /// The value of a run that begins here, or of the run that continues from `before`.
  template <class S>
  static Tile<S> after(const Tile<S>& before, const Run<S>& run) {
    return where(std::get<0>(run) != 0, std::get<1>(run), Tile<S>(F()(before, std::get<1>(run))));
  }
};

/// heads[i] = 1 if sorted key i is the first or differs from the key before it, else 0.
template <class U, class K>
void group_heads_kernel(View<const K, 1> keys, View<std::int32_t, 1> heads, int block) {
  const I64 i = program_id(0).to<std::int64_t>() * block + arange(0, block), n = keys.extent(0);
  const auto bits = order_bits<U>(load(keys.pointer({i}), i < n), false);
  const auto before = order_bits<U>(load(keys.pointer({i - 1}), i > 0 && i < n), false);
  heads.store({program_id(0).to<std::int64_t>() * block}, (i == 0 || bits != before).template to<std::int32_t>());
}

/// The elements i of `values` as runs. ids has the number of each element's run, counted from 1.
template <class S, class V>
std::tuple<I32, Tile<S>> load_runs(const View<const V, 1>& values, const View<const std::int32_t, 1>& ids, const I64& i) {
  const auto inside = i < values.extent(0);
  const auto id = load(ids.pointer({i}), inside), before = load(ids.pointer({i - 1}), inside && i > 0);
  return {(id != before || !inside).template to<std::int32_t>(), load(values.pointer({i}), inside).template to<S>()};
}

/// The combination of the elements since the last run that begins among `length` elements, and whether a run begins there.
template <class S, class V, class F>
void group_parts_kernel(View<const V, 1> values, View<const std::int32_t, 1> ids, View<std::int32_t, 1> begins, View<S, 1> totals,
                        I64 length, int block, F) {
  const I64 begin = program_id(0).to<std::int64_t>() * length;
  I32 begins_run = 0;
  Tile<S> total = zeros<S>({});
  for (auto i : range(begin, minimum(begin + length, values.extent(0)), block)) {
    const auto run = tilewright::reduce(load_runs<S>(values, ids, i + arange(0, block)), 0, CombineRuns<F>());
    total = where(i == begin, std::get<1>(run), CombineRuns<F>::after(total, run));
    begins_run = begins_run | std::get<0>(run);
  }
  begins.store({program_id(0)}, reshape(begins_run, {1}));
  totals.store({program_id(0)}, reshape(total, {1}));
}

/// For a program that is one thread: takes one element after another.
template <class S, class V, class F>
void group_parts_in_order_kernel(View<const V, 1> values, View<const std::int32_t, 1> ids, View<std::int32_t, 1> begins, View<S, 1> totals,
                                 I64 length, F) {
  const I64 begin = program_id(0).to<std::int64_t>() * length;
  auto [begins_run, total] = load_runs<S>(values, ids, begin);
  for (auto i : range(begin + 1, minimum(begin + length, values.extent(0)))) {
    const auto run = load_runs<S>(values, ids, i);
    total = CombineRuns<F>::after(total, run);
    begins_run = begins_run | std::get<0>(run);
  }
  begins.store({program_id(0)}, reshape(begins_run, {1}));
  totals.store({program_id(0)}, reshape(total, {1}));
}

/// carries[part + 1] = the combination of the elements since the last run that begins in the parts up to `part`; count[0] = the number of
/// runs. Runs as a single program.
template <class S, class F>
void group_carries_kernel(View<const std::int32_t, 1> begins, View<const S, 1> totals, View<S, 1> carries, View<const std::int32_t, 1> ids,
                          View<std::int32_t, 1> count, int block, F) {
  const I64 parts = totals.extent(0);
  Tile<S> carry = zeros<S>({});
  for (auto i : range(I64(0), parts, block)) {
    const I64 part = i + arange(0, block);
    const std::tuple<I32, Tile<S>> runs(where(part < parts, begins.load({i}, {block}), 1), totals.load({i}, {block}));
    const auto scanned = tilewright::scan(runs, 0, CombineRuns<F>());
    store(carries.pointer({part + 1}), CombineRuns<F>::after(carry, scanned), part + 1 < parts);
    carry = CombineRuns<F>::after(carry, tilewright::reduce(runs, 0, CombineRuns<F>()));
  }
  count.store({0}, ids.load({ids.extent(0) - 1}, {1}));
}

/// Stores the key and the combined values of each run that ends among `length` elements.
template <class K, class S, class V, class R, class F>
void group_results_kernel(View<const K, 1> keys, View<const V, 1> values, View<const std::int32_t, 1> ids, View<const S, 1> carries,
                          View<K, 1> to_keys, View<R, 1> to_values, I64 length, int block, F) {
  const I64 begin = program_id(0).to<std::int64_t>() * length, n = values.extent(0);
  Tile<S> carry = reshape(carries.load({program_id(0)}, {1}), {});
  for (auto at : range(begin, minimum(begin + length, n), block)) {
    const I64 i = at + arange(0, block);
    const auto runs = load_runs<S>(values, ids, i);
    const auto combined = CombineRuns<F>::after(carry, tilewright::scan(runs, 0, CombineRuns<F>()));
    carry = CombineRuns<F>::after(carry, tilewright::reduce(runs, 0, CombineRuns<F>()));
    const auto id = load(ids.pointer({i}), i < n), next = load(ids.pointer({i + 1}), i + 1 < n);
    const auto ends = i < n && id != next;
    store(to_keys.pointer({(id - 1).template to<std::int64_t>()}), load(keys.pointer({i}), ends), ends);
    store(to_values.pointer({(id - 1).template to<std::int64_t>()}), combined.template to<R>(), ends);
  }
}

/// For a program that is one thread: takes one element after another.
template <class K, class S, class V, class R, class F>
void group_results_in_order_kernel(View<const K, 1> keys, View<const V, 1> values, View<const std::int32_t, 1> ids,
                                   View<const S, 1> carries, View<K, 1> to_keys, View<R, 1> to_values, I64 length, F) {
  const I64 begin = program_id(0).to<std::int64_t>() * length, n = values.extent(0);
  Tile<S> carry = reshape(carries.load({program_id(0)}, {1}), {});
  for (auto i : range(begin, minimum(begin + length, n))) {
    carry = CombineRuns<F>::after(carry, load_runs<S>(values, ids, i));
    const auto id = load(ids.pointer({i})), next = load(ids.pointer({i + 1}), i + 1 < n);
    when(id != next, [&] {
      const I64 at = (id - 1).template to<std::int64_t>();
      store(to_keys.pointer({at}), load(keys.pointer({i})));
      store(to_values.pointer({at}), carry.template to<R>());
    });
  }
}

/// The least and the greatest one of `length` keys.
template <class K>
void group_range_kernel(View<const K, 1> keys, View<K, 1> least, View<K, 1> greatest, I64 length, int block) {
  const I64 begin = program_id(0).to<std::int64_t>() * length, n = keys.extent(0);
  const Tile<K> first = load(keys.pointer({begin}));
  auto low = zeros<K>({block}) + first, high = low;
  for (auto i : range(begin, minimum(begin + length, n), block)) {
    const auto key = where(i + arange(0, block) < n, keys.load({i}, {block}), first);
    low = minimum(low, key), high = maximum(high, key);
  }
  least.store({program_id(0)}, reshape(tilewright::min(low, 0), {1}));
  greatest.store({program_id(0)}, reshape(tilewright::max(high, 0), {1}));
}

/// For a program that is one thread: combines `length` values in a table of its own, which has a slot for each number from the least key on.
template <class K, class S, class V, class F>
void group_table_kernel(View<const K, 1> keys, View<const V, 1> values, View<std::uint8_t, 2> is_there, View<S, 2> tables, I64 least,
                        I64 length, int block, F) {
  const I64 begin = program_id(0).to<std::int64_t>() * length;
  const auto marks = is_there.at(program_id(0));
  const auto table = tables.at(program_id(0));
  for (auto i : range(I64(0), marks.extent(0), block)) marks.store({i}, zeros<std::uint8_t>({block}));
  for (auto i : range(begin, minimum(begin + length, keys.extent(0)))) {
    const I64 at = load(keys.pointer({i})).template to<std::int64_t>() - least;
    const auto mark = marks.pointer({at});
    const auto slot = table.pointer({at});
    const Tile<S> value = load(values.pointer({i})).template to<S>();
    store(slot, where(load(mark) != 0, Tile<S>(F()(load(slot), value)), value));
    store(mark, 1);
  }
}

/// Combines the tables in their order. ids has 1 for each key that is there, and else 0.
template <class S, class F>
void group_tables_kernel(View<const std::uint8_t, 2> is_there, View<const S, 2> tables, View<std::int32_t, 1> ids, View<S, 1> totals,
                         int block, F) {
  const I64 first = program_id(0).to<std::int64_t>() * block;
  auto marks = zeros<std::int32_t>({block});
  auto total = zeros<S>({block});
  for (auto table : range(I64(0), tables.extent(0))) {
    const auto mark = is_there.at(table).load({first}, {block}).template to<std::int32_t>();
    const auto value = tables.at(table).load({first}, {block});
    total = where(mark == 0, total, where(marks == 0, value, Tile<S>(F()(total, value))));
    marks = marks | mark;
  }
  ids.store({first}, marks);
  totals.store({first}, total);
}

/// Stores the keys that are there and their totals. ids: how many are there up to each one.
template <class K, class S, class R>
void group_compact_kernel(View<const std::int32_t, 1> ids, View<const S, 1> totals, View<K, 1> to_keys, View<R, 1> to_values, I64 least,
                          int block) {
  const I64 i = program_id(0).to<std::int64_t>() * block + arange(0, block), n = ids.extent(0);
  const auto id = load(ids.pointer({i}), i < n), before = load(ids.pointer({i - 1}), i > 0 && i < n);
  const auto is_there = i < n && id != before;
  const I64 at = (id - 1).template to<std::int64_t>();
  store(to_keys.pointer({at}), (i + least).template to<K>(), is_there);
  store(to_values.pointer({at}), load(totals.pointer({i}), is_there).template to<R>(), is_there);
}

}  // namespace tilewright::kernels

namespace tilewright::kernels::host {

/// The number of the run of equal keys that each sorted key is in, counted from 1. `options` must have a configuration.
template <class K>
TW_PER_MODULE Buffer<std::int32_t> number_runs(const Device& device, const View<const K, 1>& sorted, const Options& options,
                                               const Here& at) {
  const std::int64_t n = extent_of(sorted, 0);
  const int bn = options.configuration->bn;
  Buffer<std::int32_t> ids = device.allocate<std::int32_t>(n, at);
  static const Kernel kernel("group_heads", group_heads_kernel<UnsignedOf<sizeof(K)>, K>);
  kernel(launch_of(tilewright::cdiv(n, std::int64_t{bn}), options), sorted, view_of(ids, at), bn, at);
  launch_scan<std::int32_t>(device, View<const std::int32_t, 1>(view_of(ids, at)), view_of(ids, at), 0, false, Add(),
                            {.stream = options.stream}, at);
  return ids;
}

/// Combines the values of sorted keys (at least one) by key. The object owns the memory that the kernels use and must outlive them.
/// `options` must have a configuration.
template <class K, class V, class F>
class TW_PER_MODULE Runs {
 public:
  using S = CombineType<V, F>;

  Runs(const Device& device, const View<const K, 1>& keys, const View<const V, 1>& values, F f, const Options& options, const Here& at)
      : device_(device),
        keys_(keys),
        values_(values),
        f_(f),
        options_(options),
        at_(at),
        c_(*options.configuration),
        parts_(parts_of(extent_of(keys, 0), c_)) {
    static const Kernel parts_kernel("group_parts", group_parts_kernel<S, V, F>);
    static const Kernel carries_kernel("group_carries", group_carries_kernel<S, F>);
    ids_ = number_runs(device, keys, options, at);
    begins_ = device.allocate<std::int32_t>(parts_.count, at), count_ = device.allocate<std::int32_t>(1, at);
    totals_ = device.allocate<S>(parts_.count, at), carries_ = device.allocate<S>(parts_.count, at);
    if (is_host(device)) {
      static const Kernel in_order_kernel("group_parts_in_order", group_parts_in_order_kernel<S, V, F>);
      in_order_kernel(launch(parts_.count), values, view_of(ids_, at), view_of(begins_, at), view_of(totals_, at), parts_.length, f, at);
    } else {
      parts_kernel(launch(parts_.count), values, view_of(ids_, at), view_of(begins_, at), view_of(totals_, at), parts_.length, c_.bn, f,
                   at);
    }
    carries_kernel(launch(1), view_of(begins_, at), view_of(totals_, at), view_of(carries_, at), view_of(ids_, at), view_of(count_, at),
                   is_host(device) ? static_cast<int>(tilewright::next_power_of_two(parts_.count)) : c_.bn, f, at);
  }

  /// The number of different keys, on the device.
  Buffer<std::int32_t>& count() { return count_; }
  /// Stores each key and its combined values, from the first element on.
  template <class R>
  void store(const View<K, 1>& to_keys, const View<R, 1>& to_values) {
    if (is_host(device_)) {
      static const Kernel kernel("group_results_in_order", group_results_in_order_kernel<K, S, V, R, F>);
      kernel(launch(parts_.count), keys_, values_, view_of(ids_, at_), view_of(carries_, at_), to_keys, to_values, parts_.length, f_, at_);
      return;
    }
    static const Kernel kernel("group_results", group_results_kernel<K, S, V, R, F>);
    kernel(launch(parts_.count), keys_, values_, view_of(ids_, at_), view_of(carries_, at_), to_keys, to_values, parts_.length, c_.bn, f_,
           at_);
  }

 private:
  Launch launch(std::int64_t grid) const { return {.grid = grid, .num_warps = c_.num_warps, .stream = stream_of(options_)}; }

  const Device& device_;
  View<const K, 1> keys_;
  View<const V, 1> values_;
  F f_;
  const Options& options_;
  const Here& at_;
  Configuration c_;
  Parts parts_;
  Buffer<std::int32_t> ids_, begins_, count_;
  Buffer<S> totals_, carries_;
};

/// On hosts: groups integer keys (at least one) of a small range without a sort. None if the range is too large. `options` must have a
/// configuration.
template <class K, class V, class F>
TW_PER_MODULE std::optional<Groups<K, V>> group_by_table(const Device& device, const View<const K, 1>& keys, const View<const V, 1>& values,
                                                         F f, const Options& options, const Here& at) {
  using S = CombineType<V, F>;
  constexpr std::int64_t kMostRange = 1 << 17;  // a table in a second-level cache
  const std::int64_t n = extent_of(keys, 0), threads = host_threads(device);
  const int bn = std::min(options.configuration->bn, 1024);
  const std::int64_t length = tilewright::cdiv(n, threads), parts = tilewright::cdiv(n, length);
  const Launch launch{.grid = parts, .stream = stream_of(options)};
  Buffer<K> low = device.allocate<K>(parts, at), high = device.allocate<K>(parts, at);
  static const Kernel range_kernel("group_range", group_range_kernel<K>);
  range_kernel(launch, keys, view_of(low, at), view_of(high, at), length, bn, at);
  if (options.stream.handle()) options.stream.synchronize(at);
  const std::vector<K> lows = low.download(at), highs = high.download(at);
  const K least = *std::min_element(lows.begin(), lows.end()), greatest = *std::max_element(highs.begin(), highs.end());
  const std::uint64_t distance = static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
  if (distance >= static_cast<std::uint64_t>(std::min(kMostRange, n / parts))) return std::nullopt;

  const std::int64_t range = static_cast<std::int64_t>(distance) + 1;
  Buffer<std::uint8_t> is_there = device.allocate<std::uint8_t>(parts * range, at);
  Buffer<S> tables = device.allocate<S>(parts * range, at), totals = device.allocate<S>(range, at);
  Buffer<std::int32_t> ids = device.allocate<std::int32_t>(range, at);
  const auto marks = view(is_there, {parts, range}, at);
  const auto of_parts = view(tables, {parts, range}, at);
  const auto first = static_cast<std::int64_t>(least);
  static const Kernel table_kernel("group_table", group_table_kernel<K, S, V, F>);
  static const Kernel tables_kernel("group_tables", group_tables_kernel<S, F>);
  static const Kernel compact_kernel("group_compact", group_compact_kernel<K, S, V>);
  const Launch by_key{.grid = tilewright::cdiv(range, std::int64_t{bn}), .stream = stream_of(options)};
  table_kernel(launch, keys, values, marks, of_parts, first, length, bn, f, at);
  tables_kernel(by_key, marks, of_parts, view_of(ids, at), view_of(totals, at), bn, f, at);
  launch_scan<std::int32_t>(device, View<const std::int32_t, 1>(view_of(ids, at)), view_of(ids, at), 0, false, Add(),
                            {.stream = options.stream}, at);
  if (options.stream.handle()) options.stream.synchronize(at);
  const std::int64_t count = ids.download(at).back();
  Groups<K, V> result{device.allocate<K>(count, at), device.allocate<V>(count, at)};
  compact_kernel(by_key, view_of(ids, at), view_of(totals, at), view_of(result.keys, at), view_of(result.values, at), first, bn, at);
  if (options.stream.handle()) options.stream.synchronize(at);
  return result;
}

}  // namespace tilewright::kernels::host

namespace tilewright::kernels {

/// The different keys in ascending order, and for each key f over its values in their order: f(f(v0, v1), v2) or any other bracketing, so f
/// must be associative. Keys and values: views of rank 1 or buffers of equal length; keys as for sort (all NaN are one key, and so are +0
/// and -0), f as for reduce. Waits for the stream.
template <host::WholeArray K, host::WholeArray V, host::CombineFunction<host::WholeElement<V>> F>
Groups<std::remove_const_t<host::WholeElement<K>>, std::remove_const_t<host::WholeElement<V>>> group_by(K&& keys, V&& values, F f,
                                                                                                        const Options& options = {},
                                                                                                        Here at = Here::current()) {
  using Key = std::remove_const_t<host::WholeElement<K>>;
  using Value = std::remove_const_t<host::WholeElement<V>>;
  static_assert(IntegerElement<Key> || host::kIsFloat<Key>, "keys are integers, f16, bf16, float or double");
  const auto by = host::view_of(keys, at);
  const auto of = host::view_of(values, at);
  host::ArgumentCheck check("group_by", at);
  check.input("keys", by);
  check.input("values", of);
  check.equal("values", 0, "N", "keys", 0);
  check.options(options);
  check.finish();
  const Device device = check.device();
  const std::int64_t n = host::extent_of(by, 0);
  Groups<Key, Value> result{device.allocate<Key>(0, at), device.allocate<Value>(0, at)};
  if (n == 0) return result;
  const auto launch = [&](const Options& o) {
    if constexpr (IntegerElement<Key>) {
      if (host::is_host(device)) {
        if (auto groups = host::group_by_table<Key, Value>(device, by, of, f, o, at)) {
          result = std::move(*groups);
          return;
        }
      }
    }
    Buffer<Key> sorted_keys = device.allocate<Key>(n, at);
    Buffer<Value> sorted_values = device.allocate<Value>(n, at);
    const auto keys_view = host::view_of(sorted_keys, at);
    const auto values_view = host::view_of(sorted_values, at);
    host::launch_copy("copy", by, keys_view, {.stream = o.stream}, at);
    host::launch_copy("copy", of, values_view, {.stream = o.stream}, at);
    host::launch_sort(device, keys_view, values_view, true, false, o, at);
    host::Runs<Key, Value, F> runs(device, keys_view, values_view, f, o, at);
    const std::int64_t groups = host::only_element(runs.count(), o, at);
    result = {device.allocate<Key>(groups, at), device.allocate<Value>(groups, at)};
    runs.store(host::view_of(result.keys, at), host::view_of(result.values, at));
    if (o.stream.handle()) o.stream.synchronize(at);
  };
  host::launch_tuned(check, host::sort_shape<Key>(n), options, launch, typeid(F));
  return result;
}

}  // namespace tilewright::kernels
