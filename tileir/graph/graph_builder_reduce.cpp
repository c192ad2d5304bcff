// Reductions, scans and products of the builder.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "tileir/graph/einsum.h"
#include "tileir/graph/function_nodes.h"
#include "tileir/graph/graph_builder.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::graph {

namespace {

/// Whether this element type keeps too few bits for running sums and products, so that they are computed in f32.
bool is_short_float(ir::Element e) { return ir::is_float(e) && ir::bits(e) <= 16; }

bool sums_or_multiplies(Combine kind) { return kind == Combine::sum || kind == Combine::prod; }

/// The named reduction that consists of this op alone; none if there is none.
std::optional<Combine> combine_of(ir::OpKind function, ir::Element e) {
  const bool is_bool = e == ir::Element::boolean;
  if (function == ir::OpKind::add_) return Combine::sum;
  if (function == ir::OpKind::mul_) return Combine::prod;
  if (function == ir::OpKind::maximum_) return Combine::max;
  if (function == ir::OpKind::minimum_) return Combine::min;
  if (function == ir::OpKind::bit_or_ && is_bool) return Combine::any;
  if (function == ir::OpKind::bit_and_ && is_bool) return Combine::all;
  return std::nullopt;
}

// A combining function may use only constants of the rest of the graph: a kernel may apply it to any elements, many at once. The error names
// the tensor that the function brings in: it is older than the function's arguments, unlike what is made of it in the function.
void expect_combiner(const GraphBuilder& b, const Graph& graph, NodeId combiner) {
  std::vector<NodeId> wrong;
  std::uint32_t arguments = UINT32_MAX;
  for (NodeId id : function_nodes(graph, combiner)) {
    const Node& n = graph.node(id);
    if (n.op == Op::argument) arguments = std::min(arguments, id.index);
    if ((n.op != Op::map && n.op != Op::argument && n.op != Op::constant) || !n.shape.empty()) wrong.push_back(id);
  }
  if (wrong.empty()) return;
  std::ranges::sort(wrong, {}, [&](NodeId id) { return std::pair(id.index >= arguments, -static_cast<std::int64_t>(id.index)); });
  const Node& n = graph.node(wrong.front());
  const bool is_named_by_run = n.op == Op::input || n.op == Op::scalar;
  const std::string name = !n.name.empty() ? n.name : is_named_by_run ? n.text : std::string(text(n.op));
  b.fail(fmt::format("the function computes with {}; it may compute with its two scalars and constants only, element by element",
                     n.shape.empty() ? fmt::format("'{}'", name) : fmt::format("'{}', a tensor {}", name, shape_text(n.shape))),
         {wrong.front(), name});
}

}  // namespace

std::vector<int> GraphBuilder::axes(const GivenAxes& given, NodeId t) const {
  std::vector<int> result;
  if (!given) {
    for (int i = 0; i < rank(t); ++i) result.push_back(i);
    return result;
  }
  for (std::int64_t a : *given) result.push_back(axis(a, rank(t), {t, "t"}));
  std::sort(result.begin(), result.end());
  if (const auto twice = std::adjacent_find(result.begin(), result.end()); twice != result.end())
    fail(fmt::format("axes [{}] name axis {} twice", fmt::join(*given, ", "), *twice), {t, "t"});
  return result;
}

NodeId GraphBuilder::reduce(Combine kind, NodeId t, const GivenAxes& given, bool keep_dims) {
  const ir::Element e = element(t);
  const bool widens = is_short_float(e) && sums_or_multiplies(kind);
  Node n = node(Op::reduce);
  n.axes = axes(given, t);
  n.operands = {widens ? cast(t, ir::Element::f32) : t};
  n.kind = kind;
  n.keep_dims = keep_dims;
  return cast(add(std::move(n)), widens ? e : kind == Combine::argmax || kind == Combine::argmin ? ir::Element::i32 : e);
}

NodeId GraphBuilder::mean(NodeId t, const GivenAxes& given, bool keep_dims) {
  begin_composite();
  const ir::Element e = element(t), wide = is_short_float(e) ? ir::Element::f32 : e;
  Dim count = 1;
  for (int a : axes(given, t)) count *= shape(t)[static_cast<std::size_t>(a)];
  const NodeId sum = reduce(Combine::sum, cast(t, wide), given, keep_dims);
  return cast(map(ir::OpKind::div_, {sum, extent(wide, count)}), e);
}

NodeId GraphBuilder::argument(ir::Element e, int position) {
  Node n = node(Op::argument);
  n.element = e;
  n.position = position;
  return add(std::move(n));
}

NodeId GraphBuilder::reduce_by(NodeId t, const GivenAxes& given, std::uint64_t identity, NodeId combiner) {
  const Node& function = graph_.node(combiner);
  const auto is_argument = [&](NodeId id) { return graph_.node(id).op == Op::argument; };
  if (function.op == Op::map && function.operands.size() == 2 && is_argument(function.operands[0]) && is_argument(function.operands[1]) &&
      graph_.node(function.operands[0]).position != graph_.node(function.operands[1]).position)
    if (const auto kind = combine_of(function.function, element(t))) return reduce(*kind, t, given, false);
  expect_combiner(*this, graph_, combiner);
  Node n = node(Op::reduce, {t});
  n.kind = Combine::combine;
  n.axes = axes(given, t);
  n.identity = identity;
  n.combiner = combiner;
  return add(std::move(n));
}

NodeId GraphBuilder::scan(Combine kind, NodeId t, std::int64_t given, bool reverse) {
  const ir::Element e = element(t);
  const bool widens = is_short_float(e) && sums_or_multiplies(kind);
  Node n = node(Op::scan);
  n.axes = {axis(given, rank(t), {t, "t"})};
  n.operands = {widens ? cast(t, ir::Element::f32) : t};
  n.kind = kind;
  n.reverse = reverse;
  return cast(add(std::move(n)), e);
}

// ---- products --------------------------------------------------------------------------------------------------------

NodeId GraphBuilder::matmul(NodeId a, NodeId b, ir::Element result, ProductPrecision precision) {
  const std::array<Party, 2> both = {{{a, "a"}, {b, "b"}}};
  for (const Party& p : both)
    if (rank(p.node) < 2) fail(fmt::format("'{}' is {}; it must have two axes or more", p.name, shape_text(shape(p.node))), p);
  const TensorShape &sa = shape(a), &sb = shape(b);
  if (sa[sa.size() - 1] != sb[sb.size() - 2])
    fail(fmt::format("'a' is {} and 'b' is {}; the last extent {} of 'a' must equal the last but one, {}, of 'b'", shape_text(sa),
                     shape_text(sb), sa[sa.size() - 1].text(), sb[sb.size() - 2].text()),
         both);
  const TensorShape batch_a(sa.begin(), sa.end() - 2), batch_b(sb.begin(), sb.end() - 2);
  for (std::size_t i = 1; i <= std::min(batch_a.size(), batch_b.size()); ++i)
    if (const Dim &x = batch_a[batch_a.size() - i], &y = batch_b[batch_b.size() - i]; !fits(x, y))
      fail(fmt::format("'a' is {} and 'b' is {}; extents before the last two must be equal or 1, aligned from the right, but {} and {} "
                       "differ",
                       shape_text(sa), shape_text(sb), x.text(), y.text()),
           both);
  begin_composite();
  return einsum("...mk,...kn->...mn", {a, b}, result, precision);
}

namespace {

/// Replaces "..." by letters that the equation does not use; the last axes of all operands get the same letters.
void expand_ellipsis(Equation& e, const std::vector<std::size_t>& ranks) {
  constexpr std::string_view kDots = "...";
  std::string used = e.result;
  for (const std::string& labels : e.operands) used += labels;
  std::vector<std::size_t> counts(e.operands.size());
  std::size_t most = 0;
  for (std::size_t k = 0; k < e.operands.size(); ++k) {
    if (e.operands[k].find(kDots) == std::string::npos) continue;
    const std::size_t named = e.operands[k].size() - kDots.size();
    counts[k] = ranks[k] > named ? ranks[k] - named : 0;
    most = std::max(most, counts[k]);
  }
  std::string letters;
  for (char c : std::string_view("abcdefghijlopqrstuvwxyzkmnABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    if (letters.size() < most && used.find(c) == std::string::npos) letters += c;
  const auto replace = [&](std::string& labels, std::size_t count) {
    if (const std::size_t at = labels.find(kDots); at != std::string::npos)
      labels.replace(at, kDots.size(), letters.substr(letters.size() - count));
  };
  for (std::size_t k = 0; k < e.operands.size(); ++k) replace(e.operands[k], counts[k]);
  replace(e.result, most);
}

}  // namespace

NodeId GraphBuilder::einsum(std::string_view text, const std::vector<NodeId>& tensors, ir::Element result, ProductPrecision precision) {
  auto [equation, problem] = parse_equation(text, true);
  if (!problem.empty()) fail(problem);
  std::vector<std::size_t> ranks;
  for (NodeId t : tensors) ranks.push_back(shape(t).size());
  if (equation.operands.size() == tensors.size()) expand_ellipsis(equation, ranks);
  std::map<char, bool> is_wide;  // indexed by label: whether an operand has an extent other than 1
  for (std::size_t k = 0; k < std::min(tensors.size(), equation.operands.size()); ++k)
    for (std::size_t i = 0; i < std::min(equation.operands[k].size(), ranks[k]); ++i)
      is_wide[equation.operands[k][i]] |= shape(tensors[k])[i] != Dim(1);
  // An extent of 1 beside a wider one broadcasts. Without that axis the operand means the same, and all extents of a label are equal.
  std::vector<NodeId> operands = tensors;
  for (std::size_t k = 0; k < std::min(tensors.size(), equation.operands.size()); ++k) {
    std::string& labels = equation.operands[k];
    if (labels.size() != ranks[k]) continue;  // the shape rule reports this
    std::string kept;
    TensorShape extents;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (shape(tensors[k])[i] == Dim(1) && is_wide[labels[i]]) continue;
      kept += labels[i];
      extents.push_back(shape(tensors[k])[i]);
    }
    if (kept.size() != labels.size()) operands[k] = reshape(tensors[k], extents);
    labels = kept;
  }
  Node n = node(Op::einsum, operands);
  n.text = equation.text();
  n.element = result;
  n.precision = precision;
  return add(std::move(n));
}

}  // namespace tilewright::graph
