// Prints the axes that the translation finds, and which of them each tensor has.
#include "passes/fusion/translate/axes_text.h"

#include <fmt/format.h>

#include <set>

#include "passes/fusion/tensor_names.h"

namespace tilewright::passes::fusion {

namespace {

using graph::NodeId;

class Printer {
 public:
  Printer(const graph::Graph& g, const AxisAnalysis& axes, const GraphToExprs& names) : axes_(axes), names_(names), tensors_(g), g_(g) {}

  std::string run() {
    std::string tensors;
    for (NodeId n : axes_.nodes()) {
      if (g_.node(n).shape.empty()) continue;
      tensors += fmt::format("{}:{}{}\n", tensors_.of(n), dimensions(axes_.atoms(n)), detached_operands(n));
    }
    return axis_lines_ + tensors;
  }

 private:
  std::string dimensions(const TensorAtoms& all) {
    std::string text;
    for (const AtomList& axis : all) text += fmt::format(" [{}]", list(axis));
    return text;
  }

  std::string list(const AtomList& atoms) {
    std::string text;
    for (Atom* a : graph::flat(atoms)) text += (text.empty() ? "" : " ") + named(a);
    return text;
  }

  // The name of an axis; its line is added where the axis is met first, behind those of the axes that it joins.
  std::string named(Atom* a) {
    const std::string name = names_.name_of(a);
    if (!met_.insert(a).second) return name;
    std::string pieces;
    for (const Atom::Piece& p : a->pieces)
      pieces += fmt::format("{}[{}] from {} to {}", pieces.empty() ? "; joins " : ", ", list(p.atoms), p.begin.text(), p.end.text());
    axis_lines_ += fmt::format("axis {}: {} positions{}\n", name, a->extent.text(), pieces);
    return name;
  }

  std::string detached_operands(NodeId n) const {
    std::string text;
    for (std::size_t i = 0; i < g_.node(n).operands.size(); ++i)
      if (axes_.is_detached({n, i}))
        text += fmt::format("{} {}", text.empty() ? ", by row-major positions of" : " and", tensors_.of(g_.node(n).operands[i]));
    return text;
  }

  const AxisAnalysis& axes_;
  const GraphToExprs& names_;
  const TensorNames tensors_;
  const graph::Graph& g_;
  std::set<Atom*> met_;
  std::string axis_lines_;
};

}  // namespace

std::string axes_text(const graph::Graph& g, const AxisAnalysis& axes, const GraphToExprs& names) { return Printer(g, axes, names).run(); }

}  // namespace tilewright::passes::fusion
