// The shape rules of reductions, scans, products and indexed ops.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tileir/graph/einsum.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/shape_rule_checks.h"

namespace tilewright::graph::rules {

namespace {

bool is_arg(Combine kind) { return kind == Combine::argmax || kind == Combine::argmin; }

/// Why this reduction cannot combine elements of this type; empty if it can.
std::string check_combine(Combine kind, ir::Element e) {
  const bool is_logic = kind == Combine::any || kind == Combine::all;
  if (is_logic && e != ir::Element::boolean) return fmt::format("'t' has elements {}; they must be i1", ir::text(e));
  if (!is_logic && kind != Combine::combine && (e == ir::Element::boolean || ir::is_fp8(e)))
    return fmt::format("'t' has elements {}; expected integers, f16, bf16, f32 or f64 (cast it first)", ir::text(e));
  return {};
}

Inferred check_combiner(const RuleInput& in) {
  const Node& node = in.node;
  if (!node.combiner.valid() || node.combiner.index >= in.graph.size() || !node.identity)
    return in.fail("it needs a function and its identity");
  const Node& combiner = in.graph.node(node.combiner);
  if (!combiner.shape.empty() || combiner.element != in.element(0))
    return in.fail(fmt::format("the function gives {} of {}; it takes and gives scalars of {}", shape_text(combiner.shape),
                               ir::text(combiner.element), ir::text(in.element(0))));
  return {};
}

}  // namespace

Inferred rule_reduce(const RuleInput& in) {
  const Node& node = in.node;
  for (std::size_t i = 0; i < node.axes.size(); ++i) {
    if (Inferred r = in.check_axis(node.axes[i]); !r.ok()) return r;
    if (i > 0 && node.axes[i] <= node.axes[i - 1])
      return in.fail(fmt::format("axes [{}] must ascend, each named once", fmt::join(node.axes, ", ")), {0});
  }
  if (std::string problem = check_combine(node.kind, in.element(0)); !problem.empty()) return in.fail(problem, {0});
  if (node.kind == Combine::combine)
    if (Inferred r = check_combiner(in); !r.ok()) return r;
  Inferred result{{}, is_arg(node.kind) ? ir::Element::i32 : in.element(0), {}, {}};
  for (std::size_t i = 0; i < in.shape(0).size(); ++i) {
    const bool is_reduced = std::find(node.axes.begin(), node.axes.end(), static_cast<int>(i)) != node.axes.end();
    if (!is_reduced || node.keep_dims) result.shape.push_back(is_reduced ? Dim(1) : in.shape(0)[i]);
  }
  return result;
}

Inferred rule_scan(const RuleInput& in) {
  const Node& node = in.node;
  if (node.axes.size() != 1) return in.fail("it needs one axis");
  if (Inferred r = in.check_axis(node.axes[0]); !r.ok()) return r;
  if (node.kind != Combine::sum && node.kind != Combine::prod && node.kind != Combine::max && node.kind != Combine::min)
    return in.fail(fmt::format("no scan by {}", text(node.kind)));
  if (std::string problem = check_combine(node.kind, in.element(0)); !problem.empty()) return in.fail(problem, {0});
  return {in.shape(0), in.element(0), {}, {}};
}

Inferred rule_einsum(const RuleInput& in) {
  const auto [equation, problem] = parse_equation(in.node.text, false);
  if (!problem.empty()) return in.fail(problem);
  if (equation.operands.size() != in.node.operands.size())
    return in.fail(
        fmt::format("equation '{}' has {} operands; there are {}", in.node.text, equation.operands.size(), in.node.operands.size()));
  std::map<char, std::pair<std::size_t, Dim>> extents;  // indexed by label: the first operand that has it, and its extent
  for (std::size_t k = 0; k < equation.operands.size(); ++k) {
    const std::string& labels = equation.operands[k];
    if (in.element(k) != in.element(0))
      return in.fail(fmt::format("'{}' is {} and '{}' is {}; they must have one element type", in.party(0).name, ir::text(in.element(0)),
                                 in.party(k).name, ir::text(in.element(k))),
                     {0, k});
    if (labels.size() != in.shape(k).size())
      return in.fail(fmt::format("{}; its labels '{}' must be one for each of its {} axes", in.seen(k), labels, in.shape(k).size()), {k});
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto [at, is_new] = extents.try_emplace(labels[i], k, in.shape(k)[i]);
      const auto& [other, extent] = at->second;
      if (is_new || extent == in.shape(k)[i]) continue;
      return in.fail(fmt::format("{} and {}; the extents {} and {} of label '{}' must be equal", in.seen(other), in.seen(k), extent.text(),
                                 in.shape(k)[i].text(), labels[i]),
                     {other, k});
    }
  }
  if (in.node.operands.empty()) return in.fail("there are no operands");
  if (!is_product_element(in.element(0), in.node.element))
    return in.fail(fmt::format("no product of {} as {}", ir::text(in.element(0)), ir::text(in.node.element)), {0});
  Inferred result{{}, in.node.element, {}, {}};
  for (char label : equation.result) result.shape.push_back(extents.at(label).second);
  return result;
}

namespace {

Inferred check_index(const RuleInput& in, std::size_t operand) {
  if (ir::is_integer(in.element(operand))) return {};
  return in.fail(fmt::format("'{}' has elements {}; expected integers", in.party(operand).name, ir::text(in.element(operand))), {operand});
}

Inferred check_indexed(const RuleInput& in) {
  if (in.node.axes.size() != 1) return in.fail("it needs one axis");
  if (Inferred r = in.check_axis(in.node.axes[0]); !r.ok()) return r;
  return check_index(in, 1);
}

}  // namespace

Inferred rule_gather(const RuleInput& in) {
  if (Inferred r = check_indexed(in); !r.ok()) return r;
  return {gather_shape(in.shape(0), in.shape(1), in.node.axes[0]), in.element(0), {}, {}};
}

Inferred rule_take_along(const RuleInput& in) {
  if (Inferred r = check_indexed(in); !r.ok()) return r;
  const int axis = in.node.axes[0];
  const TensorShape &x = in.shape(0), &index = in.shape(1);
  bool is_alike = x.size() == index.size();
  for (std::size_t i = 0; is_alike && i < x.size(); ++i)
    if (static_cast<int>(i) != axis) is_alike = x[i] == index[i];
  if (!is_alike) return in.fail(fmt::format("{} and {}; they must be alike but for axis {}", in.seen(0), in.seen(1), axis), {0, 1});
  return {index, in.element(0), {}, {}};
}

Inferred rule_scatter_add(const RuleInput& in) {
  if (Inferred r = check_indexed(in); !r.ok()) return r;
  if (std::string problem = check_combine(Combine::sum, in.element(0)); !problem.empty()) return in.fail(problem, {0});
  const TensorShape expected = gather_shape(in.shape(0), in.shape(1), in.node.axes[0]);
  if (in.shape(2) != expected)
    return in.fail(fmt::format("'updates' is {}; with 't', which is {}, and 'index', which is {}, it must be {}", shape_text(in.shape(2)),
                               shape_text(in.shape(0)), shape_text(in.shape(1)), shape_text(expected)),
                   {0, 1, 2});
  if (in.element(2) != in.element(0))
    return in.fail(fmt::format("'updates' is {}; it must be {} as 't' is", ir::text(in.element(2)), ir::text(in.element(0))), {0, 2});
  return {in.shape(0), in.element(0), {}, {}};
}

}  // namespace tilewright::graph::rules
