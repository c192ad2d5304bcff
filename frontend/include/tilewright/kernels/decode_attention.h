// Attention of one query for each sequence over a cache of keys and values, in parts that run at the same time.
#pragma once
#include "tilewright/kernels/attention.h"
#include "tilewright/kernels/gather.h"

namespace tilewright::kernels {

/// pages: [batch, most pages of a sequence]. Entry p of a sequence is the index in the cache's first axis of the page with its keys from
/// p * page size on. Without pages, that index is the sequence's own number. If the cache lacks a page, its keys and values are 0, and
/// checked mode throws an Error.
struct DecodeOptions {
  std::optional<double> scale = {};  // scores are multiplied by it; default: 1 / sqrt(d)
  View<const std::int32_t, 2> pages = {};
};

/// The compile-time constants of the kernel.
struct DecodeTiles {
  int bm, bn;  // bm: at least the number of queries that share a key head; bn: keys
  int depth, value_depth;
  bool paged;
  bool whole_blocks;  // pages end where blocks of bn keys end
};

/// Handles one part of the keys of one sequence, for the group of queries that share a key head. q: [batch, key heads, group, d], caches:
/// [pages, key heads, page size, d], out: [parts, batch, key heads, group, dv], lse: [parts, batch, key heads, group].
template <class T, class O>
void decode_attention_kernel(View<const T, 4> q, View<const T, 4> k_cache, View<const T, 4> v_cache, View<const std::int32_t, 1> lengths,
                             View<const std::int32_t, 2> pages, View<O, 5> out, View<Accumulator<T>, 4> lse, F64 scale, I32 blocks_of_part,
                             DecodeTiles t, Precision precision) {
  using S = Accumulator<T>;
  const I32 batches = q.extent(0).template to<std::int32_t>(), key_heads = k_cache.extent(1).template to<std::int32_t>(),
            page_size = k_cache.extent(2).template to<std::int32_t>();
  const I32 at = program_id(0), key_head = at % key_heads, batch = at / key_heads % batches, part = at / key_heads / batches;
  const I32 most = t.paged ? pages.extent(1).template to<std::int32_t>() * page_size : page_size;
  const I32 length = clamp(load_number<std::int32_t>(lengths, batch.to<std::int64_t>()), 0, most);

  // A block has bn keys and never crosses a page boundary.
  const I32 blocks_of_page = cdiv(page_size, t.bn);
  const I32 blocks = length / page_size * blocks_of_page + cdiv(length % page_size, t.bn);
  const auto query_tile = q.at(batch).at(key_head).load({0, 0}, {t.bm, t.depth});
  auto largest = full<S>({t.bm}, -inf), total = zeros<S>({t.bm});
  auto sums = zeros<S>({t.bm, t.value_depth});
  const auto add_block = [&](const I32& block, bool masked) {
    const I32 number = block / blocks_of_page, start = block % blocks_of_page * t.bn;
    I32 page = batch, page_end = page_size;
    if (t.paged) {
      const I32 chosen = reshape(pages.at(batch).load({number}, {1}), {});
      const Bool is_there = chooses_one(chosen.to<std::int64_t>(), k_cache.extent(0), Bool(true));
      page = where(is_there, chosen, 0), page_end = where(is_there, page_size, 0);
    }
    auto key_rows = k_cache.at(page).at(key_head), value_rows = v_cache.at(page).at(key_head);
    if (t.paged) key_rows = key_rows.first(page_end), value_rows = value_rows.first(page_end);
    const auto keys = transposed(key_rows).load({0, start}, {t.depth, t.bn});
    auto scores = dot(query_tile, keys, {}, precision) * scale.template to<S>();
    auto values = value_rows.load({start, 0}, {t.bn, t.value_depth});
    if (masked) {
      const auto in_page = row(start + arange(0, t.bn));
      const auto seen = in_page < page_size && number * page_size + in_page < length;
      scores = where(seen, scores, -inf);
      // The cache may hold NaN past the length; a weight of 0 would not remove it.
      values = where(transpose(seen), values, zeros<T>({t.bn, t.value_depth}));
    }
    const auto larger = maximum(largest, max(scores, 1));
    const auto weights = exp(scores - column(larger)), rescale = exp(largest - larger);  // a block has at least one key
    total = total * rescale + sum(weights, 1);
    sums = dot(weights.template to<T>(), values, sums * column(rescale), precision);
    largest = larger;
  };
  const I32 begin = part * blocks_of_part, end = minimum(begin + blocks_of_part, blocks);
  I32 masked_begin = begin;  // where the block begins in which the sequence ends
  if (t.whole_blocks) {
    masked_begin = clamp(length / t.bn, begin, end);
    for (auto block : range(begin, masked_begin)) add_block(block, false);
  }
  for (auto block : range(masked_begin, end)) add_block(block, true);
  const auto divisor = where(total == S(0), S(1), total);
  const auto result = (sums / column(divisor)).template to<O>();
  // Rows past the group would belong to the next key head; this view ends before them.
  out.at(part).at(batch).at(key_head).store({0, 0}, result);
  lse.at(part).at(batch).at(key_head).store({0}, largest + log(total));
}

/// out = the sum of the parts' results, weighted by exp(lse), which is the sum of a part's weights.
template <class S, class T>
void decode_sum_kernel(View<const S, 4> parts, View<const S, 3> lse, View<T, 3> out, int block) {
  const I32 heads = out.extent(1).template to<std::int32_t>();
  const I32 head = program_id(0) % heads, batch = program_id(0) / heads;
  auto largest = full<S>({}, -inf);
  for (auto part : range(0, parts.extent(0).template to<std::int32_t>()))
    largest = maximum(largest, reshape(lse.at(part).at(batch).load({head}, {1}), {}));
  const auto shift = where(largest == -inf, S(0), largest);
  auto sums = zeros<S>({1, block});
  auto total = full<S>({}, 0);
  for (auto part : range(0, parts.extent(0).template to<std::int32_t>())) {
    const auto weight = exp(reshape(lse.at(part).at(batch).load({head}, {1}), {}) - shift);
    sums += weight * parts.at(part).at(batch).load({head, 0}, {1, block});
    total += weight;
  }
  out.at(batch).store({head, 0}, (sums / where(total == S(0), S(1), total)).template to<T>());
}

/// out = softmax(q k^T * scale) v over the first lengths[b] keys of each sequence. q: [batch, heads, d], caches: [batch, key heads,
/// capacity, d], or [pages, key heads, page size, d] with DecodeOptions::pages; out: [batch, heads, dv]; lengths: [batch]. The result for
/// length 0 is 0. Several programs read a long cache in parts; their results are added in a fixed order.
template <class Q, class K, class V, class O>
TW_PER_MODULE void decode_attention(const View<Q, 3>& q, const View<K, 4>& k_cache, const View<V, 4>& v_cache,
                                    const View<const std::int32_t, 1>& lengths, const View<O, 3>& out, const DecodeOptions& decode = {},
                                    const Options& options = {}, Here at = Here::current()) {
  using S = Accumulator<Q>;
  static_assert(host::kIsFloat<Q> && std::is_same_v<std::remove_const_t<Q>, O> && std::is_same_v<std::remove_const_t<K>, O> &&
                    std::is_same_v<std::remove_const_t<V>, O>,
                "q, the caches and out have one element type: f16, bf16, float or double");
  const bool paged = host::is_given(decode.pages);
  host::ArgumentCheck check("decode_attention", at);
  check.input("q", q);
  check.input("k_cache", k_cache);
  check.input("v_cache", v_cache);
  check.input("lengths", lengths);
  check.output("out", out);
  if (paged) check.input("pages", decode.pages), check.equal("pages", 0, "batch", "q", 0);
  if (!paged) check.equal("k_cache", 0, "batch", "q", 0);
  check.equal("k_cache", 3, "d", "q", 2);
  check.same_shape("v_cache", "k_cache", 3);
  check.equal("lengths", 0, "batch", "q", 0);
  check.same_shape("out", "q", 2);
  check.equal("out", 2, "d", "v_cache", 3);
  check.head_group("q", "k_cache", 1);
  check.at_most("q", 2, 256);
  check.at_most("v_cache", 3, 256);
  check.options(options);
  check.finish();
  const std::int64_t batch = host::extent_of(q, 0), heads = host::extent_of(q, 1), key_heads = host::extent_of(k_cache, 1);
  const std::int64_t page_size = host::extent_of(k_cache, 2), capacity = paged ? page_size * host::extent_of(decode.pages, 1) : page_size;
  const std::int64_t depth = host::extent_of(q, 2), value_depth = host::extent_of(v_cache, 3);
  if (batch == 0 || heads == 0 || value_depth == 0) return;
  if (page_size == 0) check.fail("'k_cache' has no key: its extent 2 is 0");
  if (options.configuration && options.configuration->bm < heads / key_heads)
    check.fail("bm of the configuration is less than the heads of a key head");
  const double scale = host::scale_of(check, decode.scale, depth);
  const View<const O, 4> grouped_q = host::split_axis(View<const O, 3>(q), 1, key_heads, at);
  const auto pages = host::or_none(decode.pages, at);
  const host::DecodeShape shape{.sequences = batch * key_heads,
                                .capacity = capacity,
                                .page_size = page_size,
                                .group = heads / key_heads,
                                .depth = host::tile_depth(std::max(depth, value_depth)),
                                .element_bytes = sizeof(O)};
  host::launch_tuned(check, shape, options, [&](const Options& o) {
    const Configuration& c = *o.configuration;
    const DecodeTiles tiles{.bm = c.bm,
                            .bn = c.bn,
                            .depth = host::tile_depth(depth),
                            .value_depth = host::tile_depth(value_depth),
                            .paged = paged,
                            .whole_blocks = !paged || page_size % c.bn == 0};
    const std::int64_t blocks = tilewright::cdiv(capacity, page_size) * tilewright::cdiv(page_size, std::int64_t{c.bn});
    const std::int64_t parts = std::min<std::int64_t>(c.splits, std::max<std::int64_t>(blocks, 1));
    const std::int64_t blocks_of_part = tilewright::cdiv(blocks, parts), programs = parts * batch * key_heads;
    Buffer<S> lse_memory = check.device().template allocate<S>(parts * batch * heads, at);
    const View<S, 3> lse = view(lse_memory, {parts, batch, heads}, at);
    if (parts == 1) {
      static const Kernel kernel("decode_attention", decode_attention_kernel<O, O>);
      kernel(host::staged_launch_of(programs, o), grouped_q, k_cache, v_cache, lengths, pages,
             host::split_axis(host::with_batch<4>(out, 1, at), 2, key_heads, at), host::split_axis(lse, 2, key_heads, at), scale,
             blocks_of_part, tiles, o.precision, at);
      return;
    }
    static const Kernel kernel("decode_attention_parts", decode_attention_kernel<O, S>);
    static const Kernel sum_kernel("decode_attention_sum", decode_sum_kernel<S, O>);
    Buffer<S> memory = check.device().template allocate<S>(parts * batch * heads * value_depth, at);
    const View<S, 4> results = view(memory, {parts, batch, heads, value_depth}, at);
    kernel(host::staged_launch_of(programs, o), grouped_q, k_cache, v_cache, lengths, pages, host::split_axis(results, 2, key_heads, at),
           host::split_axis(lse, 2, key_heads, at), scale, blocks_of_part, tiles, o.precision, at);
    sum_kernel(host::staged_launch_of(batch * heads, o), results, lse, out, tiles.value_depth, at);
  });
}

}  // namespace tilewright::kernels
