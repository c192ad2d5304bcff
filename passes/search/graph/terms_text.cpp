// Labelled terms as text for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "passes/search/graph/graph_terms.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/op_info.h"

namespace tilewright::passes::search {
namespace {

class Printer {
 public:
  Printer(const GraphTerms& all, const graph::Graph& g) : all_(all), g_(g) {}

  std::string print() {
    std::string text;
    for (int term = 0; term < all_.terms.size(); ++term) {
      const Labels slots = all_.terms.slots(term);
      text += fmt::format("{} = {}\n", typed({term, slots}), node(all_.terms.node(term)));
    }
    return text + outputs([](const Ref& r) { return r; });
  }

  std::string print(const NodeSource& classes) {
    std::string text;
    for (int term = 0; term < all_.terms.size(); ++term) {
      if (classes.find({term, {}}).term != term) continue;
      Ref r{term, all_.terms.slots(term)};
      for (int s = 0; s < r.labels.size(); ++s) r.labels[s] = static_cast<Label>(s);
      text += typed(r) + "\n";
      for (const Member& m : classes.members(term)) {
        // In the labels of the class; what the node sums has the labels behind them.
        std::array<Label, kMaxLabels> named;
        named.fill(kNoLabel);
        auto next = static_cast<Label>(m.slots.size());
        for (int s = 0; s < m.slots.size(); ++s) named[m.slots[s]] = static_cast<Label>(s);
        for_labels(m.node, [&](Label l) {
          if (named[l] == kNoLabel) named[l] = next++;
        });
        text += fmt::format("  = {}\n", node(with_labels(m.node, [&](Label l) { return named[l]; })));
      }
    }
    return text + outputs([&](const Ref& r) { return classes.find(r); });
  }

 private:
  std::string typed(const Ref& r) const {
    std::vector<std::string> extents;
    for (int s = 0; s < r.labels.size(); ++s) extents.push_back(all_.dim(all_.terms.extent(r.term, s)).text());
    return fmt::format("{} : {}[{}]", reference(r), ir::text(all_.terms.element(r)), fmt::join(extents, ", "));
  }
  template <class Find>
  std::string outputs(Find&& find) const {
    std::string text;
    for (const graph::Output& o : g_.outputs())
      text += fmt::format("output \"{}\" {}\n", o.name, reference(find(all_.values[o.node.index]->ref)));
    return text;
  }
  static std::string labels(const Labels& labels) {
    std::vector<char> letters;
    for (Label l : labels) letters.push_back(letter(l));
    return fmt::format("[{}]", fmt::join(letters, ", "));
  }
  static std::string reference(const Ref& r) { return fmt::format("t{}{}", r.term, labels(r.labels)); }

  std::string node(const Node& n) const {
    if (const Leaf* l = all_.leaf(n)) return leaf(*l);
    std::vector<std::string> operands;
    for (int i = 0; i < operands_of(n); ++i) operands.push_back(reference(n.in[static_cast<std::size_t>(i)]));
    if (n.op == Op::cat) return fmt::format("[{}]; {}", fmt::join(operands, " | "), letter(n.axis));
    std::string rest;
    if (has_axis(n.op)) rest = fmt::format("; {}", letter(n.axis));
    if (n.op == Op::product || n.op == Op::sum || n.op == Op::reduce) {
      Labels kept;
      for (Label l = 0; l < kMaxLabels; ++l)
        if (contains(n.kept, l)) kept.push_back(l);
      rest = fmt::format(" -> {}", labels(kept));
    }
    return fmt::format("{}({}{})", name(n), fmt::join(operands, ", "), rest);
  }

  std::string name(const Node& n) const {
    switch (n.op) {
      case Op::product: return "product";
      case Op::sum: return "sum";
      case Op::add: return "add";
      case Op::reduce: return std::string(graph::text(static_cast<graph::Combine>(n.attribute)));
      case Op::function: return std::string(ir::text(static_cast<ir::OpKind>(n.attribute)));
      case Op::part0: return "part0";
      case Op::part1: return "part1";
      case Op::view: {
        const View& v = all_.views[static_cast<std::size_t>(n.attribute)];
        std::vector<std::string> lengths;
        for (const Dim& d : v.lengths) lengths.push_back(d.text());
        return fmt::format("{}{{{}}}", graph::text(v.op), fmt::join(lengths, ", "));
      }
      case Op::variable:
      case Op::cat: break;
    }
    return "";
  }

  std::string leaf(const Leaf& leaf) const {
    switch (leaf.kind) {
      case Leaf::Kind::number: return fmt::format("number {:#x}", leaf.bits);
      case Leaf::Kind::ones: return "ones";
      case Leaf::Kind::iota: return "iota";
      case Leaf::Kind::node: break;
    }
    const graph::Node& n = g_.node(leaf.node);
    std::vector<std::string> operands;
    for (graph::NodeId x : n.operands) operands.push_back(reference(all_.values[x.index]->ref));
    const std::string_view op = n.op == graph::Op::map ? ir::text(n.function) : graph::text(n.op);
    return operands.empty() ? fmt::format("{} {}", op, n.text) : fmt::format("leaf {}({})", op, fmt::join(operands, ", "));
  }

  const GraphTerms& all_;
  const graph::Graph& g_;
};

}  // namespace

std::string text(const GraphTerms& all, const graph::Graph& g) { return Printer(all, g).print(); }

std::string text(const GraphTerms& all, const graph::Graph& g, const NodeSource& classes) { return Printer(all, g).print(classes); }

}  // namespace tilewright::passes::search
