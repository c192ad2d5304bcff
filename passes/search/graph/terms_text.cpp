// Labelled terms as text for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "passes/search/graph/graph_terms.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/op_info.h"

namespace tilewright::passes::search {
namespace {

char letter(Label l) { return static_cast<char>(l < 26 ? 'a' + l : 'A' + (l - 26)); }

class Printer {
 public:
  Printer(const GraphTerms& all, const graph::Graph& g) : all_(all), g_(g) {}

  std::string print() {
    std::string text;
    for (int term = 0; term < all_.terms.size(); ++term) {
      const Labels slots = all_.terms.slots(term);
      std::vector<std::string> extents;
      for (int s = 0; s < slots.size(); ++s) extents.push_back(all_.dim(all_.terms.extent(term, s)).text());
      text += fmt::format("{} : {}[{}] = {}\n", reference({term, slots}), ir::text(all_.terms.node(term).element), fmt::join(extents, ", "),
                          node(all_.terms.node(term)));
    }
    for (const graph::Output& o : g_.outputs())
      text += fmt::format("output \"{}\" {}\n", o.name, reference(all_.values[o.node.index]->ref));
    return text;
  }

 private:
  static std::string labels(const Labels& labels) {
    std::vector<char> letters;
    for (Label l : labels) letters.push_back(letter(l));
    return fmt::format("[{}]", fmt::join(letters, ", "));
  }
  static std::string reference(const Ref& r) { return fmt::format("t{}{}", r.term, labels(r.labels)); }

  std::string node(const Node& n) const {
    if (n.op == Op::variable) return leaf(all_.leaves[static_cast<std::size_t>(n.attribute)]);
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

}  // namespace tilewright::passes::search
