// Runs graphs: arguments, extents, leaves and element-wise ops.
#include "tileir/graph/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/evaluation.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/philox.h"
#include "tileir/graph/shapes.h"
#include "tileir/interpreter/evaluate.h"
#include "tileir/interpreter/evaluate_scalar.h"

namespace tilewright::graph {

namespace {
constexpr std::int64_t kUnknown = INT64_MIN;
}

std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) count *= extent;
  return count;
}

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i]) strides[i] = stride;
  return strides;
}

std::int64_t offset_of(const std::vector<std::int64_t>& index, const std::vector<std::int64_t>& strides) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

Evaluation::Evaluation(const Graph& graph, const Arguments& arguments, Rounding rounding)
    : graph_(graph), arguments_(arguments), rounding_(rounding), values_(graph.size()), is_done_(graph.size()) {
  const SymbolTable& symbols = *graph.symbols();
  for (std::uint32_t i = 0; i < symbols.size(); ++i) {
    const auto given = arguments.symbols.find(symbols[i].name);
    symbols_.push_back(given == arguments.symbols.end() ? kUnknown : given->second);
    const DimBounds& bounds = symbols[i].bounds;
    if (symbols_[i] == kUnknown) continue;
    if (symbols_[i] < bounds.min || symbols_[i] > bounds.max || symbols_[i] % bounds.multiple_of != 0)
      throw Error(symbols[i].where, fmt::format("symbol '{}' is {}; it must be a multiple of {} from {} to {}", symbols[i].name,
                                                symbols_[i], bounds.multiple_of, bounds.min, bounds.max));
  }
}

Evaluation::Evaluation(const Graph& graph, const Arguments& arguments, const Perturbation& perturbation)
    : Evaluation(graph, arguments, Rounding::double_precision) {
  perturbed_.emplace(graph, perturbation);
  others_.resize(graph.size());
}

void Evaluation::fail(const Node& n, const std::string& message) const { throw Error(n.where, fmt::format("{}: {}", text(n.op), message)); }

ir::Element Evaluation::carried(ir::Element e) const {
  return rounding_ == Rounding::double_precision && ir::is_float(e) ? ir::Element::f64 : e;
}

std::uint64_t Evaluation::carry(ir::Element e, std::uint64_t bits) const {
  return carried(e) == e ? bits : ir::element_bits(carried(e), ir::float_value(e, bits));
}

std::int64_t Evaluation::value_of(const Dim& d, const Node& n) const {
  for (std::uint32_t symbol : d.symbols())
    if (symbols_[symbol] == kUnknown) fail(n, fmt::format("symbol '{}' has no value", (*graph_.symbols())[symbol].name));
  const std::optional<std::int64_t> value = d.evaluate(symbols_);
  if (!value) fail(n, fmt::format("{} is not an integer", d.text()));
  return *value;
}

Array Evaluation::result(const Node& n) const {
  Array a{carried(n.element), {}, {}};
  for (const Dim& d : n.shape) {
    a.shape.push_back(value_of(d, n));
    if (a.shape.back() < 0)
      fail(n, fmt::format("extent {} of shape {} is {}; it must not be negative", d.text(), shape_text(n.shape), a.shape.back()));
  }
  a.bits.resize(static_cast<std::size_t>(count_of(a.shape)));
  return a;
}

void Evaluation::saturate(const Node& n, Array& a) const {
  if (a.element != ir::Element::f64 || (n.op == Op::map && !may_overflow(n.function))) return;
  const auto number = [](std::uint64_t bits) { return ir::float_value(ir::Element::f64, bits); };
  const bool is_map = n.op == Op::map;
  std::vector<bool> is_finite(a.bits.size(), true);
  for (std::size_t k = 0; k < n.operands.size(); ++k) {
    const Array& x = operand(n, k);
    if (x.element != ir::Element::f64) continue;
    if (is_map) {
      const std::vector<std::uint64_t> words = broadcast(x, a.shape);
      for (std::size_t i = 0; i < words.size(); ++i)
        if (!std::isfinite(number(words[i])) || number(words[i]) == 0) is_finite[i] = false;
    } else if (!std::ranges::all_of(x.bits, [&](std::uint64_t bits) { return std::isfinite(number(bits)); })) {
      return;
    }
  }
  for (std::size_t i = 0; i < a.bits.size(); ++i)
    if (is_finite[i] && std::isinf(number(a.bits[i])))
      a.bits[i] = ir::element_bits(ir::Element::f64, std::copysign(kSaturated, number(a.bits[i])));
}

std::uint64_t Evaluation::apply(ir::OpKind function, ir::Element e, std::span<const std::uint64_t> operands) const {
  const std::array<ir::Type, 3> types{ir::Type(e), ir::Type(e), ir::Type(e)};
  return ir::evaluate_scalar(function, std::span(types).first(operands.size()), operands, ir::Type(e));
}

Array Evaluation::run(const Node& n) {
  switch (n.op) {
#define TW_GRAPH_OP(name, ...) \
  case Op::name: return run_##name(n);
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  }
  TW_UNREACHABLE("an op of a graph");
}

void Evaluation::run_perturbed(NodeId id) {
  const Node& n = graph_.node(id);
  auto [operands, other_operands] = perturbed_->of(n, values_, others_);
  const auto result = [&](PerturbedOperands::Operands& moved) {
    moved_ = std::move(moved);
    Array a = run(n);
    if (!n.operands.empty()) saturate(n, a);
    return a;
  };
  Array first = result(operands);
  others_[id.index] = n.operands.empty() ? first : result(other_operands);
  values_[id.index] = std::move(first);
}

const Array& Evaluation::value(NodeId id) {
  std::vector<bool> is_needed(graph_.size());
  is_needed[id.index] = true;
  for (std::uint32_t i = id.index + 1; i-- > 0;)
    if (is_needed[i] && !is_done_[i])
      for (NodeId operand : graph_.node({i}).operands) is_needed[operand.index] = true;
  for (std::uint32_t i = 0; i <= id.index; ++i) {
    if (!is_needed[i] || is_done_[i]) continue;
    const Node& n = graph_.node({i});
    if (perturbed_)
      run_perturbed({i});
    else
      values_[i] = run(n);
    is_done_[i] = true;
  }
  return values_[id.index];
}

namespace {
std::map<std::string, Array> outputs_of(Evaluation&& evaluation, const Graph& graph) {
  std::map<std::string, Array> outputs;
  for (const Output& output : graph.outputs()) outputs[output.name] = evaluation.value(output.node);
  return outputs;
}
}  // namespace

std::map<std::string, Array> interpret(const Graph& graph, const Arguments& arguments, Rounding rounding) {
  return outputs_of(Evaluation(graph, arguments, rounding), graph);
}

std::map<std::string, Array> interpret(const Graph& graph, const Arguments& arguments, const Perturbation& perturbation) {
  return outputs_of(Evaluation(graph, arguments, perturbation), graph);
}

Array interpret(const Graph& graph, NodeId node, const Arguments& arguments, Rounding rounding) {
  return Evaluation(graph, arguments, rounding).value(node);
}

// ---- leaves ----------------------------------------------------------------------------------------------------------

const std::vector<std::uint64_t>& Evaluation::argument(const Node& n) const {
  const auto given = arguments_.arrays.find(n.text);
  if (given == arguments_.arrays.end()) fail(n, fmt::format("'{}' is not given", n.text));
  return given->second;
}

Array Evaluation::run_input(const Node& n) {
  Array a = result(n);
  std::vector<std::int64_t> strides = strides_of(a.shape);
  for (std::size_t i = 0; i < n.lengths.size(); ++i) strides[i] = value_of(n.lengths[i], n);
  std::int64_t needed = a.bits.empty() ? 0 : 1;
  for (std::size_t i = 0; i < strides.size() && needed != 0; ++i) needed += (a.shape[i] - 1) * strides[i];
  const std::vector<std::uint64_t>& given = argument(n);
  const std::int64_t size = static_cast<std::int64_t>(given.size());
  if (n.lengths.empty() ? size != needed : size < needed)
    fail(n, fmt::format("'{}' has {} elements; {} needs {}", n.text, size, shape_text(n.shape), needed));
  std::size_t i = 0;
  for_each_index(a.shape, [&](const std::vector<std::int64_t>& index) {
    a.bits[i++] = carry(n.element, given[static_cast<std::size_t>(offset_of(index, strides))]);
  });
  return a;
}

Array Evaluation::run_scalar(const Node& n) {
  const std::vector<std::uint64_t>& given = argument(n);
  if (given.size() != 1) fail(n, fmt::format("'{}' has {} elements; it must have one", n.text, given.size()));
  return {carried(n.element), {}, {carry(n.element, given[0])}};
}

Array Evaluation::run_constant(const Node& n) {
  Array a = result(n);
  for (std::size_t i = 0; i < a.bits.size(); ++i) a.bits[i] = carry(n.element, n.data->bits[n.data->bits.size() == 1 ? 0 : i]);
  return a;
}

namespace {
std::uint64_t bits_of(ir::Element e, std::int64_t value) {
  return ir::is_float(e) ? ir::element_bits(e, static_cast<double>(value)) : ir::element_bits(e, value);
}
}  // namespace

Array Evaluation::run_iota(const Node& n) {
  Array a = result(n);
  std::size_t i = 0;
  for_each_index(a.shape, [&](const std::vector<std::int64_t>& index) {
    a.bits[i++] = bits_of(a.element, index[static_cast<std::size_t>(n.axes[0])]);
  });
  return a;
}

Array Evaluation::run_extent(const Node& n) { return {carried(n.element), {}, {bits_of(carried(n.element), value_of(n.lengths[0], n))}}; }

Array Evaluation::run_rand(const Node& n) {
  Array a = result(n);
  for (std::size_t i = 0; i < a.bits.size(); ++i)
    a.bits[i] = ir::element_bits(a.element, static_cast<double>(philox(n.seed, i)[0] >> 8) * 0x1p-24);
  return a;
}

Array Evaluation::run_argument(const Node& n) { fail(n, "an argument of a combining function is used outside of it"); }

// ---- element-wise ----------------------------------------------------------------------------------------------------

std::vector<std::uint64_t> Evaluation::broadcast(const Array& a, const std::vector<std::int64_t>& shape) const {
  std::vector<std::int64_t> strides(shape.size()), own = strides_of(a.shape);
  for (std::size_t i = 0; i < a.shape.size(); ++i)
    if (a.shape[i] != 1) strides[shape.size() - a.shape.size() + i] = own[i];
  std::vector<std::uint64_t> bits;
  bits.reserve(static_cast<std::size_t>(count_of(shape)));
  for_each_index(
      shape, [&](const std::vector<std::int64_t>& index) { bits.push_back(a.bits[static_cast<std::size_t>(offset_of(index, strides))]); });
  return bits;
}

Array Evaluation::run_map(const Node& n) {
  Array a = result(n);
  const bool is_bitcast = n.function == ir::OpKind::bitcast_;
  std::vector<std::vector<std::uint64_t>> operands;
  std::vector<ir::Type> types;
  std::vector<const std::uint64_t*> pointers;
  for (std::size_t i = 0; i < n.operands.size(); ++i) {
    operands.push_back(broadcast(operand(n, i), a.shape));
    types.emplace_back(operand(n, i).element);
    // A bitcast uses the bits of the float's own type, not of the f64 that carries it.
    const ir::Element own = graph_.node(n.operands[i]).element;
    if (is_bitcast && own != operand(n, i).element) {
      for (std::uint64_t& word : operands[i]) word = ir::element_bits(own, ir::float_value(ir::Element::f64, word));
      types[i] = ir::Type(own);
    }
  }
  for (const auto& words : operands) pointers.push_back(words.data());
  const ir::Element to = is_bitcast ? n.element : a.element;
  if (n.function == ir::OpKind::cast_ && types[0] == ir::Type(to)) return {a.element, a.shape, operands[0]};
  ir::evaluate_lanes(n.function, {types, pointers, ir::Type(to), a.bits.data(), a.bits.size()});
  if (to != a.element)
    for (std::uint64_t& word : a.bits) word = carry(to, word);
  return a;
}

}  // namespace tilewright::graph
