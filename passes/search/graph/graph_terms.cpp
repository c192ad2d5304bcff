// Tables of attributes, each entry once.
#include "passes/search/graph/graph_terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  return variable(fmt::format("number {}", bits), {.kind = Leaf::Kind::number, .bits = bits, .node = {}, .layout = {}}, element, {});
}

Ref GraphTerms::ones(ir::Element element, Extent e) {
  const Leaf leaf{.kind = Leaf::Kind::ones, .bits = 0, .node = {}, .layout = {{{e}}}};
  return variable(fmt::format("ones {}", static_cast<int>(e)), leaf, element, {e});
}

Ref GraphTerms::iota(ir::Element element, const std::vector<Extent>& parts) {
  const Leaf leaf{.kind = Leaf::Kind::iota, .bits = 0, .node = {}, .layout = {{parts}}};
  return variable(fmt::format("iota {}", fmt::join(numbers(parts), " ")), leaf, element, parts);
}

Ref GraphTerms::leaf(graph::NodeId node, ir::Element element, const Layout& layout) {
  std::vector<Extent> all;
  for (const std::vector<Extent>& axis : layout.axes) all.insert(all.end(), axis.begin(), axis.end());
  const Leaf leaf{.kind = Leaf::Kind::node, .bits = 0, .node = node, .layout = layout};
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
