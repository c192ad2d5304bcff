// Translates node by node, in the order of definition.
#include "passes/search/graph/graph_to_terms.h"

#include <algorithm>
#include <map>

#include "passes/search/graph/axis_parts.h"
#include "passes/search/thresholds.h"
#include "tileir/builder.h"
#include "tileir/graph/einsum.h"
#include "tileir/graph/shapes.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::search {
namespace {

using graph::Combine;
using graph::NodeId;
using ir::Element;
using ir::OpKind;

/// The type in which sums of products of this type are accumulated.
Element accumulator(Element e) {
  if (ir::is_float(e)) return ir::bits(e) < 32 ? Element::f32 : e;
  return ir::is_integer(e) && ir::bits(e) < 32 ? Element::i32 : e;
}

class Translation {
 public:
  Translation(const graph::Graph& g, const AxisParts& parts) : g_(g), parts_(parts) {}

  GraphTerms run() {
    all_.values.resize(g_.size());
    for (std::uint32_t i = 0; i < g_.size(); ++i) {
      if (!parts_.is_needed({i})) continue;
      id_ = {i};
      node_ = &g_.node(id_);
      layout_ = layout_of(id_);
      own_ = numbered(layout_);
      fresh_ = 0;
      for (const auto& axis : own_) fresh_ += static_cast<Label>(axis.size());
      Ref made = parts_.is_opaque(id_) ? Ref{} : translate();
      if (!made) made = all_.leaf(id_, node_->element, layout_, signs());
      all_.values[i] = Value{made, layout_};
      all_.origins.resize(static_cast<std::size_t>(all_.terms.size()), id_);
    }
    return std::move(all_);
  }

 private:
  std::optional<Signs> signs() const {
    return node_->op == graph::Op::constant ? signs_of(node_->element, node_->data->bits) : std::nullopt;
  }

  // ---- operands ----

  Layout layout_of(NodeId n) {
    Layout layout;
    for (const std::vector<Dim>& axis : parts_.of(n)) {
      layout.axes.emplace_back();
      for (const Dim& d : axis) layout.axes.back().push_back(all_.extent(d));
    }
    return layout;
  }

  NodeId operand(std::size_t i) const { return node_->operands[i]; }
  const Layout& layout(std::size_t i) const { return all_.values[operand(i).index]->layout; }

  /// The term of an operand with these labels for the parts of its axes.
  Ref labelled(std::size_t i, const AxisLabels& labels) const { return labelled(operand(i), labels); }
  Ref labelled(NodeId n, const AxisLabels& labels) const {
    std::vector<Label> flat;
    for (const auto& axis : labels) flat.insert(flat.end(), axis.begin(), axis.end());
    Ref r = all_.values[n.index]->ref;
    for (Label& l : r.labels) l = flat[l];
    return r;
  }

  /// The labels of an operand's axes where they are those of the result, aligned from the right.
  AxisLabels aligned(std::size_t i) const {
    AxisLabels labels;
    const std::size_t missing = own_.size() - layout(i).axes.size();
    for (std::size_t axis = 0; axis < layout(i).axes.size(); ++axis)
      labels.push_back(layout(i).axes[axis].empty() ? std::vector<Label>() : own_[missing + axis]);
    return labels;
  }
  Ref element_wise(std::size_t i) const { return labelled(i, aligned(i)); }

  std::vector<Label> fresh(std::size_t count) {
    std::vector<Label> labels;
    for (std::size_t k = 0; k < count; ++k) labels.push_back(fresh_++);
    return labels;
  }

  TermTable& terms() { return all_.terms; }
  Ref cast(const Ref& r, Element to) {
    if (!r || terms().element(r) == to) return r;
    return terms().function(std::span(&r, 1), static_cast<int>(OpKind::cast_), to);
  }
  Ref times(const Ref& a, const Ref& b) { return a && b ? terms().product(a, b, a.labels.set() | b.labels.set()) : Ref{}; }

  /// The term with this label, along which it is broadcast if it lacks it.
  Ref with_label(const Ref& r, Label l, Extent e) {
    if (!r || r.labels.slot_of(l) >= 0) return r;
    Ref ones = all_.ones(terms().element(r), e);
    ones.labels[0] = l;
    return times(r, ones);
  }

  /// A sum whose addends have this label, so that it can be summed addend by addend: in sum(x w + b) over rows, b is broadcast.
  Ref with_label_in_addends(const Ref& r, Label l, Extent e, int depth) {
    const Node n = r ? terms().node(r.term) : Node();
    if (n.op != Op::add || depth == 0) return with_label(r, l, e);
    const Labels slots = terms().slots(r.term);
    Ref addends[2] = {n.in[0], n.in[1]};
    for (Ref& x : addends) {
      for (Label& own : x.labels) own = r.labels[slots.slot_of(own)];
      x = with_label_in_addends(x, l, e, depth - 1);
    }
    return terms().add(addends[0], addends[1]);
  }

  // ---- ops; none: the node is a leaf ----

  Ref translate() {
    using graph::Op;
    switch (node_->op) {
      case Op::constant: return node_->data->bits.size() == 1 ? all_.number(node_->element, node_->data->bits[0]) : Ref{};
      case Op::iota: return iota();
      case Op::map: return map();
      case Op::reshape: return reshape();
      case Op::permute: return permute();
      case Op::broadcast: return element_wise(0);
      case Op::slice: return slice();
      case Op::concat: return concat();
      case Op::pad: return pad();
      case Op::flip:
      case Op::rotate: return view(node_->op, node_->lengths);
      case Op::reduce: return reduce();
      case Op::einsum: return einsum();
      case Op::input:
      case Op::scalar:
      case Op::extent:
      case Op::rand:
      case Op::argument:
      case Op::window:       // sums of windows are views
      case Op::materialize:  // the search does not look past it
      case Op::scan:
      case Op::gather:
      case Op::take_along:
      case Op::scatter_add:
      case Op::call: return {};
    }
    TW_UNREACHABLE("a tensor op");
  }

  Ref iota() {
    const auto axis = static_cast<std::size_t>(node_->axes[0]);
    if (layout_.axes[axis].empty()) return {};
    Ref r = all_.iota(node_->element, layout_.axes[axis]);
    for (Label& l : r.labels) l = own_[axis][l];
    return r;
  }

  Ref map() {
    std::vector<Ref> x;
    for (std::size_t i = 0; i < node_->operands.size(); ++i) x.push_back(element_wise(i));
    const Element e = node_->element;
    const bool is_number = e != Element::boolean;
    const auto negated = [&](const Ref& r) {
      const std::uint64_t bits = ir::is_float(e) ? ir::element_bits(e, -1.0) : ir::element_bits(e, std::int64_t{-1});
      return times(all_.number(e, bits), r);
    };
    switch (node_->function) {
      case OpKind::add_: return is_number ? terms().add(x[0], x[1]) : function(x);
      case OpKind::sub_: return is_number ? terms().add(x[0], negated(x[1])) : function(x);
      case OpKind::neg_: return is_number ? negated(x[0]) : function(x);
      case OpKind::mul_: return is_number ? times(x[0], x[1]) : function(x);
      case OpKind::div_: return ir::is_float(e) ? times(x[0], terms().function(x[1], static_cast<int>(OpKind::div_))) : function(x);
      case OpKind::fma_: return ir::bits(e) >= 32 ? terms().add(times(x[0], x[1]), x[2]) : function(x);
      default: return function(x);
    }
  }
  Ref function(const std::vector<Ref>& x) {
    if (x.size() > kMaxOperands) return {};
    return terms().function(x, static_cast<int>(node_->function), node_->element);
  }

  Ref permute() {
    AxisLabels labels(own_.size());
    for (std::size_t axis = 0; axis < own_.size(); ++axis) labels[static_cast<std::size_t>(node_->axes[axis])] = own_[axis];
    return labelled(0, labels);
  }
  Ref reshape() { return labelled(0, numbered(layout(0))); }

  // Along the axis of a view the result has one label of its own.
  struct Along {
    AxisLabels labels;  // the labels of an operand
    std::size_t axis = 0;
    Label label = 0;
    bool fits = false;  // no axis that matters is divided
  };
  Along along(std::size_t i) {
    Along a{own_, static_cast<std::size_t>(node_->axes[0]), 0, true};
    const auto& x = layout(i).axes[a.axis];
    a.fits = x.size() <= 1 && own_[a.axis].size() <= 1;
    if (!a.fits) return a;
    a.label = own_[a.axis].empty() ? fresh_ : own_[a.axis][0];
    a.labels[a.axis] = x.empty() ? std::vector<Label>() : std::vector{a.label};
    return a;
  }
  /// Removes an axis of extent 1 along which the result has no label.
  Ref without_ones(const Ref& r, const Along& a) { return own_[a.axis].empty() && r ? terms().sum(r, ~set_of(a.label)) : r; }

  Ref view(graph::Op op, const std::vector<Dim>& lengths) {
    const Along a = along(0);
    if (!a.fits) return {};
    const Ref x = labelled(0, a.labels);
    if (x.labels.slot_of(a.label) < 0) return x;
    const Dim& from = g_.node(operand(0)).shape[a.axis];
    return without_ones(terms().view(x, a.label, all_.view(op, lengths, from, node_->shape[a.axis])), a);
  }

  Ref slice() {
    const std::vector<Dim>& lengths = node_->lengths;
    if (lengths[2] != Dim(1)) return view(graph::Op::slice, lengths);
    const Along a = along(0);
    if (!a.fits) return {};
    Ref x = labelled(0, a.labels);
    if (x.labels.slot_of(a.label) < 0) return x;
    const Dim &begin = lengths[0], &end = lengths[1], &extent = g_.node(operand(0)).shape[a.axis];
    if (!(end == extent)) x = terms().part(Op::part0, x, a.label, all_.cut(end, extent - end));
    if (!(begin == Dim(0))) x = terms().part(Op::part1, x, a.label, all_.cut(begin, end - begin));
    return without_ones(x, a);
  }

  Ref concat() {
    Ref all;
    Dim length = 0;
    for (std::size_t i = 0; i < node_->operands.size(); ++i) {
      const Along a = along(i);
      if (!a.fits) return {};
      const Dim& own = g_.node(operand(i)).shape[a.axis];
      const Ref piece = with_label(labelled(i, a.labels), a.label, all_.extent(own));
      all = all ? joined(all, piece, a.label, length, own) : piece;
      if (!all) return {};
      length = length + own;
    }
    return all;
  }

  /// Two pieces along an axis, each broadcast along what only the other has.
  Ref joined(Ref a, Ref b, Label axis, const Dim& first, const Dim& second) {
    if (!a || !b) return {};
    for (Label l : Labels(b.labels)) a = with_label(a, l, terms().extent(b, l));
    for (Label l : Labels(a ? a.labels : Labels())) b = with_label(b, l, terms().extent(a, l));
    return terms().cat(a, b, axis, all_.cut(first, second));
  }

  Ref pad() {
    const Along a = along(0);
    if (!a.fits || own_[a.axis].empty()) return {};
    const Dim &before = node_->lengths[0], &after = node_->lengths[1], &extent = g_.node(operand(0)).shape[a.axis];
    const Ref x = with_label(labelled(0, a.labels), a.label, all_.extent(extent));
    if (!x) return {};
    const Ref value = labelled(1, {});
    if (value == all_.number(node_->element, 0))
      return terms().view(x, a.label, all_.view(graph::Op::pad, node_->lengths, extent, node_->shape[a.axis]));
    Ref all = x;
    Dim length = extent;
    if (!(before == Dim(0))) {
      all = joined(with_label(value, a.label, all_.extent(before)), all, a.label, before, length);
      length = length + before;
    }
    if (!(after == Dim(0))) all = joined(all, with_label(value, a.label, all_.extent(after)), a.label, length, after);
    return all;
  }

  /// A sum over all elements of windows, written as a linear map along the axes of the windows; none for other reductions.
  Ref sum_of_windows() {
    std::vector<int> reduced = node_->axes;
    std::vector<NodeId> windows;  // the outermost first
    NodeId x = operand(0);
    const auto shape = [&](NodeId n) -> const graph::TensorShape& { return g_.node(n).shape; };
    for (; !reduced.empty() && g_.node(x).op == graph::Op::window && static_cast<std::size_t>(reduced.back()) + 1 == shape(x).size();
         x = g_.node(x).operands[0]) {
      windows.push_back(x);
      reduced.pop_back();
    }
    if (node_->kind != Combine::sum || windows.empty() || !reduced.empty() || g_.node(x).element != node_->element) return {};
    const auto& extents = all_.values[x.index]->layout.axes;
    AxisLabels labels(own_.begin(), own_.begin() + static_cast<std::ptrdiff_t>(extents.size()));
    for (NodeId w : windows) {
      const auto axis = static_cast<std::size_t>(g_.node(w).axes[0]);
      if (parts_.is_opaque(w) || axis >= extents.size() || extents[axis].size() != 1 || own_[axis].size() != 1) return {};
    }
    Ref r = labelled(x, labels);
    for (; !windows.empty(); x = windows.back(), windows.pop_back()) {
      const graph::Node& w = g_.node(windows.back());
      const auto axis = static_cast<std::size_t>(w.axes[0]);
      r = with_label(r, own_[axis][0], all_.extent(shape(x)[axis]));
      if (r) r = terms().view(r, own_[axis][0], all_.view(w.op, w.lengths, shape(x)[axis], w.shape[axis]));
    }
    return r;
  }

  Ref reduce() {
    if (const Ref sums = sum_of_windows()) return sums;
    AxisLabels labels;
    std::vector<std::pair<Label, Extent>> reduced;
    std::size_t kept = 0;
    for (std::size_t axis = 0; axis < layout(0).axes.size(); ++axis) {
      const auto& extents = layout(0).axes[axis];
      const bool is_reduced = std::find(node_->axes.begin(), node_->axes.end(), static_cast<int>(axis)) != node_->axes.end();
      labels.push_back(is_reduced ? fresh(extents.size()) : extents.empty() ? std::vector<Label>() : own_[kept]);
      if (!is_reduced || node_->keep_dims) ++kept;
      for (std::size_t i = 0; is_reduced && i < extents.size(); ++i) reduced.emplace_back(labels.back()[i], extents[i]);
    }
    Ref x = labelled(0, labels);
    LabelSet rest = x.labels.set();
    for (const auto& [label, extent] : reduced) rest &= ~set_of(label);
    // A sum or a product counts how often a value occurs.
    const bool is_sum = node_->kind == Combine::sum;
    if (is_sum || node_->kind == Combine::prod)
      for (const auto& [label, extent] : reduced) {
        const bool is_in_addends = is_sum && x && x.labels.slot_of(label) >= 0;
        x = is_in_addends ? with_label_in_addends(x, label, extent, kMostAddends) : with_label(x, label, extent);
      }
    if (!x) return {};
    return node_->kind == Combine::sum ? terms().sum(x, rest) : terms().reduce(x, rest, static_cast<int>(node_->kind));
  }

  Ref einsum() {
    const graph::Equation equation = graph::parse_equation(node_->text, false).equation;
    std::map<char, std::vector<Label>> labels;
    LabelSet kept = 0;
    for (std::size_t axis = 0; axis < own_.size(); ++axis) {
      labels[equation.result[axis]] = own_[axis];
      for (Label l : own_[axis]) kept |= set_of(l);
    }
    std::vector<Ref> x;
    std::map<Label, Extent> summed;
    for (std::size_t i = 0; i < node_->operands.size(); ++i) {
      AxisLabels own;
      for (std::size_t axis = 0; axis < layout(i).axes.size(); ++axis) {
        const auto& extents = layout(i).axes[axis];
        std::vector<Label>& label = labels[equation.operands[i][axis]];
        if (label.empty() && fresh_ + extents.size() > kMaxLabels) return {};
        if (label.empty()) label = fresh(extents.size());
        own.push_back(extents.empty() ? std::vector<Label>() : label);
        for (std::size_t k = 0; k < extents.size(); ++k)
          if (!contains(kept, label[k])) summed[label[k]] = extents[k];
      }
      x.push_back(labelled(i, own));
    }
    // If no operand has a summed label, the sum multiplies the product by the extent of the label.
    LabelSet had = 0;
    for (const Ref& r : x) had |= r.labels.set();
    for (const auto& [label, extent] : summed)
      if (!contains(had, label)) x[0] = with_label(x[0], label, extent);
    return product(std::move(x), kept);
  }

  Ref product(std::vector<Ref> x, LabelSet kept) {
    const Element of = g_.node(operand(0)).element;
    Element result = node_->element;
    // A product of two operands is summed in the accumulator. Every other sum has the type of the value.
    if (x.size() == 1 && (x[0].labels.set() & ~kept) == 0) return cast(x[0], result);
    if (x.size() != 2 || ((x[0].labels.set() ^ x[1].labels.set()) & ~kept) != 0) {
      for (Ref& r : x) r = cast(r, accumulator(of));
      result = accumulator(of);
    }
    const int precision = static_cast<int>(node_->precision);
    Ref all = x[0];
    for (std::size_t i = 1; i < x.size() && all; ++i) {
      LabelSet later = kept;
      for (std::size_t k = i + 1; k < x.size(); ++k) later |= x[k].labels.set();
      all = terms().product(all, x[i], later, precision, result);
    }
    return all ? cast(terms().sum(all, kept), node_->element) : Ref{};
  }

  const graph::Graph& g_;
  const AxisParts& parts_;
  GraphTerms all_;
  NodeId id_;
  const graph::Node* node_ = nullptr;  // the node that is translated
  Layout layout_;                      // the axes of its value
  AxisLabels own_;                     // the labels of its value
  Label fresh_ = 0;                    // the first label that its value does not have
};

}  // namespace

GraphTerms graph_to_terms(const graph::Graph& g) {
  const AxisParts divided(g, AxisParts::Reshapes::divide_axes);
  if (divided.most() <= static_cast<std::size_t>(graph::kMaxRank) - 1) return Translation(g, divided).run();
  // Every term can be written as a tensor, which has few axes.
  return Translation(g, AxisParts(g, AxisParts::Reshapes::keep_axes)).run();
}

}  // namespace tilewright::passes::search
