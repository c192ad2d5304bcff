// Names the axes of expressions.
#include <fmt/format.h>

#include <algorithm>

#include "passes/fusion/translate/graph_to_exprs.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Node;
using graph::NodeId;
using graph::Op;

bool is_identifier(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; }) &&
         !std::isdigit(static_cast<unsigned char>(text[0]));
}

}  // namespace

// "axis 1 of k", "part 0 of axis 1 of k".
std::string GraphToExprs::label_of(NodeId n, std::size_t axis, std::size_t part, std::size_t parts) const {
  const std::string of = options_.name_of ? options_.name_of(n) : g_.node(n).text;
  return fmt::format("{}axis {} of {}", parts > 1 ? fmt::format("part {} of ", part) : "", axis, of);
}

// An atom is named after the first axis, by input and position, that has it: by that axis's symbol, or by input and number. The order of
// operands depends on names, so that sums have the same bits in plans for a symbol and for a number only if no symbol names an axis.
void GraphToExprs::name_axes() {
  struct Claim {
    std::string input;
    std::size_t axis, part;
    Atom* atom;
    AxisName name;
    NodeId node;
    std::string symbol;
  };
  std::vector<Claim> claims;
  for (NodeId n : axes_.nodes()) {
    const Node& node = g_.node(n);
    if (node.op != Op::input && !axes_.is_stored(n)) continue;
    const TensorAtoms all = axes_.atoms(n);
    for (std::size_t axis = 0; axis < all.size(); ++axis)
      for (std::size_t part = 0; part < all[axis].size(); ++part) {
        const std::string extent = node.shape[axis].text(), symbol = is_identifier(extent) ? extent : "";
        const bool is_of_tensor = symbol.empty() || !options_.names_axes_by_symbols;
        std::string name = is_of_tensor ? (node.op == Op::input ? node.text : "t") + std::to_string(axis) : symbol;
        if (all[axis].size() > 1) name += "_" + std::to_string(part);
        claims.push_back({node.text,
                          axis,
                          part,
                          all[axis][part],
                          {std::move(name), label_of(n, axis, part, all[axis].size()), {}},
                          n,
                          all[axis].size() == 1 ? symbol : ""});
      }
  }
  std::stable_sort(claims.begin(), claims.end(),
                   [](const Claim& a, const Claim& b) { return std::tie(a.input, a.axis, a.part) < std::tie(b.input, b.axis, b.part); });
  std::set<std::string> used, labels;
  const auto give = [&](Atom* atom, AxisName name, const std::string& symbol) {
    if (names_.count(atom) != 0) return;
    // The symbol labels only one axis; other axes with this extent are named after their tensors.
    if (!symbol.empty() && !used.contains(symbol) && labels.insert(symbol).second) name.label = symbol;
    while (!used.insert(name.name).second) name.name += "_";
    names_[atom] = std::move(name);
  };
  for (const Claim& c : claims) give(c.atom, c.name, c.symbol);
  for (const Claim& c : claims)
    if (AxisName& given = names_[c.atom]; !labels.contains(given.label)) given.labels.push_back({c.node, c.name.label});
  for (NodeId n : axes_.nodes()) {
    const TensorAtoms all = axes_.atoms(n);
    for (std::size_t axis = 0; axis < all.size(); ++axis)
      for (std::size_t part = 0; part < all[axis].size(); ++part)
        if (!names_.contains(all[axis][part]))
          give(all[axis][part], {"i" + std::to_string(names_.size()), label_of(n, axis, part, all[axis].size()), {}}, "");
  }
}

std::string GraphToExprs::name_of(Atom* atom) const {
  const auto known = names_.find(graph::root_of(atom));
  return known == names_.end() ? "" : known->second.name;
}

Axis GraphToExprs::axis_of(Atom* atom, const AxisSet& used) {
  atom = graph::root_of(atom);
  const std::string unnamed = "i" + std::to_string(names_.size());
  auto [name, label, labels] = names_.emplace(atom, AxisName{unnamed, unnamed, {}}).first->second;
  for (;; name += "'", label = label_again(label)) {
    const Axis axis = b_.pool().axis(name, atom->extent, label, label == names_[atom].label ? labels : std::vector<AxisData::Label>());
    if (!used.contains(axis)) return axis;
  }
}

// The axis that a scan binds has a name that no position has, so that substituting a position never affects it.
Axis GraphToExprs::axis_of_scan(graph::NodeId n, const AtomList& atoms, const AxisSet& used) {
  const graph::Node& node = g_.node(n);
  const Axis same = atoms.size() == 1 ? axis_of(atoms[0], {}) : nullptr;
  const auto scanned = static_cast<std::size_t>(node.axes[0]);
  std::string name = same ? same->name : "scan" + std::to_string(n.index);
  const std::string label = same ? same->label : label_of(n, scanned, 0, 1);
  for (;;) {
    name += "*";
    const Axis axis = b_.pool().axis(name, node.shape[scanned], label);
    if (!used.contains(axis)) return axis;
  }
}

}  // namespace tilewright::passes::fusion
