// Tables of attributes, each entry once.
#include "passes/search/graph/graph_terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "tileir/builder.h"
#include "tileir/graph/shapes.h"

namespace tilewright::passes::search {
namespace {

/// The number of an entry, which `add` makes if it is new.
template <class Add>
int number_of(std::unordered_map<std::string, int>& table, const std::string& key, Add&& add) {
  if (const auto known = table.find(key); known != table.end()) return known->second;
  const int number = add();
  table.emplace(key, number);
  return number;
}

std::vector<int> numbers(const std::vector<Extent>& extents) {
  std::vector<int> all;
  for (Extent e : extents) all.push_back(static_cast<int>(e));
  return all;
}

}  // namespace

AxisLabels numbered(const Layout& layout) {
  AxisLabels labels;
  Label next = 0;
  for (const std::vector<Extent>& axis : layout.axes) {
    labels.emplace_back();
    for (std::size_t i = 0; i < axis.size(); ++i) labels.back().push_back(next++);
  }
  return labels;
}

std::optional<Signs> signs_of(ir::Element e, std::span<const std::uint64_t> bits) {
  bool is_positive = true, is_negative = true, has_zero = false;
  for (std::uint64_t word : bits) {
    const bool has_sign_bit = (word >> (ir::bits(e) - 1) & 1) != 0;
    const double value = ir::is_float(e) ? ir::float_value(e, word) : word == 0 ? 0 : has_sign_bit && ir::is_signed(e) ? -1 : 1;
    if (!std::isfinite(value)) return std::nullopt;
    is_positive &= value > 0, is_negative &= value < 0, has_zero |= value == 0;
  }
  return is_positive ? Signs::positive : is_negative ? Signs::negative : has_zero ? Signs::zero : Signs::both;
}

// The windows of a view have one axis more than the term.
GraphTerms::GraphTerms() : terms(graph::kMaxRank - 1, kOfSum) {}

// Equal extents of one graph have equal texts.
Extent GraphTerms::extent(const Dim& d) {
  return static_cast<Extent>(number_of(extents_, d.text(), [&] {
    dims_.push_back(d);
    return static_cast<int>(dims_.size()) - 1;
  }));
}

Ref GraphTerms::variable(const std::string& key, const Leaf& leaf, ir::Element element, const std::vector<Extent>& extents) {
  const int number = number_of(variables_, fmt::format("{} {}", key, ir::text(element)), [&] {
    leaves.push_back(leaf);
    return static_cast<int>(leaves.size()) - 1;
  });
  return terms.variable(number, extents, element);
}

Ref GraphTerms::number(ir::Element element, std::uint64_t bits) {
  const Leaf leaf{.kind = Leaf::Kind::number, .bits = bits, .node = {}, .layout = {}, .signs = signs_of(element, std::span(&bits, 1))};
  return variable(fmt::format("number {}", bits), leaf, element, {});
}

Ref GraphTerms::ones(ir::Element element, Extent e) {
  const Leaf leaf{.kind = Leaf::Kind::ones, .bits = 0, .node = {}, .layout = {{{e}}}};
  return variable(fmt::format("ones {}", static_cast<int>(e)), leaf, element, {e});
}

Ref GraphTerms::iota(ir::Element element, const std::vector<Extent>& parts) {
  const Leaf leaf{.kind = Leaf::Kind::iota, .bits = 0, .node = {}, .layout = {{parts}}};
  return variable(fmt::format("iota {}", fmt::join(numbers(parts), " ")), leaf, element, parts);
}

Ref GraphTerms::leaf(graph::NodeId node, ir::Element element, const Layout& layout, std::optional<Signs> signs) {
  std::vector<Extent> all;
  for (const std::vector<Extent>& axis : layout.axes) all.insert(all.end(), axis.begin(), axis.end());
  const Leaf leaf{.kind = Leaf::Kind::node, .bits = 0, .node = node, .layout = layout, .signs = signs};
  return variable(fmt::format("node {}", node.index), leaf, element, all);
}

int GraphTerms::cut(const Dim& first, const Dim& second) {
  const Cut c{extent(first + second), extent(first), extent(second)};
  const std::string key = fmt::format("{} {}", static_cast<int>(c.first), static_cast<int>(c.second));
  return number_of(cuts_, key, [&] { return terms.add_cut(c); });
}

int GraphTerms::view(graph::Op op, const std::vector<Dim>& lengths, const Dim& from, const Dim& to) {
  const View v{op, lengths, {extent(from), extent(to)}};
  std::string key = fmt::format("{} {} {}", static_cast<int>(op), static_cast<int>(v.move.from), static_cast<int>(v.move.to));
  for (const Dim& d : lengths) key += " " + d.text();
  return number_of(moves_, key, [&] {
    views.push_back(v);
    return terms.add_move(v.move);
  });
}

}  // namespace tilewright::passes::search
