// Runs graphs that were parsed from text.
#include "frontend/cli/execution/graph_execution.h"

#include <cstring>

#include "frontend/graph/run_memory.h"
#include "tileir/builder.h"

namespace tilewright::cli {

namespace {

std::uint64_t bits_at(const std::vector<std::byte>& bytes, std::size_t i, ir::Element e) {
  const auto width = static_cast<std::size_t>(ir::bytes(e));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &bytes[i * width], width);
  return bits;
}

detail::Code code_of(ir::Element e) { return static_cast<detail::Code>(e); }

/// The value of a scalar or symbol in the form that a run takes.
detail::RunValue number_value(ir::Element e, std::uint64_t word) {
  detail::RunValue value;
  if (ir::is_float(e))
    value.number = detail::Scalar(ir::float_value(e, word));
  else if (e == ir::Element::boolean)
    value.number = detail::Scalar(word != 0);
  else if (ir::is_signed(e))
    value.number = detail::Scalar(ir::integer_value(e, word));
  else
    value.number = detail::Scalar(word);
  return value;
}

}  // namespace

long double GraphResult::number(std::size_t i) const {
  const std::uint64_t bits = bits_at(bytes, i, element);
  if (ir::is_float(element)) return ir::float_value(element, bits);
  return ir::is_unsigned(element) ? static_cast<long double>(bits) : static_cast<long double>(ir::integer_value(element, bits));
}

GraphExecution::GraphExecution(const graph::Graph& g, const Plan& plan, std::shared_ptr<rt::Device> device, const GraphArguments& arguments)
    : plan_(plan), device_(std::move(device)) {
  inputs_.reserve(arguments.given.size());
  for (const GraphArgument& a : arguments.given) {
    if (!a.value.is_buffer()) {
      arguments_.emplace_back(a.value.name, number_value(a.value.type.element(), a.value.word));
      continue;
    }
    Buffer b = make_buffer(a.value.name, a.value.type.element(), a.value.elements);
    const std::uint64_t zero = 0;
    if (a.value.bytes.empty())
      b.memory.fill(&zero, Here());
    else
      b.memory.write(a.value.bytes.data(), static_cast<std::size_t>(a.value.elements), Here());
    inputs_.push_back(std::move(b));
  }
  outputs_.reserve(g.outputs().size());
  for (const graph::Output& o : g.outputs()) {
    std::vector<std::int64_t> shape = detail::shape_of(g, o.node, arguments.symbols);
    std::int64_t count = 1;
    for (std::int64_t extent : shape) count *= extent;
    const ir::Element e = g.node(o.node).element;
    outputs_.push_back({make_buffer(o.name, e, count), std::move(shape)});
    // All floats are NaN, so an element that is never written cannot pass for a result.
    const std::uint64_t poison = e == ir::Element::boolean ? 0 : UINT64_MAX;
    outputs_.back().buffer.memory.fill(&poison, Here());
  }
  for (const Buffer& b : inputs_) (g.node(*g.find_input(b.name)).is_parameter ? parameters_ : arguments_).push_back(argument(b));
  for (const OutputBuffer& o : outputs_) arguments_.push_back(argument(o.buffer));
  for (std::uint32_t s = 0; s < g.symbols()->size(); ++s)
    arguments_.emplace_back((*g.symbols())[s].name, number_value(ir::Element::i64, static_cast<std::uint64_t>(arguments.symbols[s])));
}

GraphExecution::Buffer GraphExecution::make_buffer(const std::string& name, ir::Element e, std::int64_t count) const {
  return {name, e, detail::RawBuffer(device_, code_of(e), count, Here())};
}

RunArgument GraphExecution::argument(const Buffer& b) const {
  detail::RunValue value;
  value.kind = detail::RunValue::Kind::buffer;
  value.element = code_of(b.element);
  value.buffer = &b.memory;
  return {b.name, value};
}

// Programs, too, give parameters once and then run many times.
void GraphExecution::launch() {
  std::vector<RunArgument> all = arguments_;
  all.insert(all.end(), parameters_.begin(), parameters_.end());
  parameters_.clear();
  plan_.run(all, {}, Here());
  device_->synchronize();
}

std::vector<GraphResult> GraphExecution::results() const {
  std::vector<GraphResult> results;
  for (const OutputBuffer& o : outputs_) {
    GraphResult r{o.buffer.name, o.buffer.element, o.shape, {}};
    r.bytes.resize(o.buffer.memory.size() * static_cast<std::size_t>(ir::bytes(r.element)));
    o.buffer.memory.read(r.bytes.data(), o.buffer.memory.size(), Here());
    results.push_back(std::move(r));
  }
  return results;
}

namespace {

template <class How>
std::vector<GraphResult> interpreted(const graph::Graph& g, const GraphArguments& arguments, const How& how) {
  graph::Arguments values;
  for (const GraphArgument& a : arguments.given) {
    std::vector<std::uint64_t>& words = values.arrays[a.value.name];
    if (!a.value.is_buffer()) {
      words = {a.value.word};
      continue;
    }
    words.resize(static_cast<std::size_t>(a.value.elements));
    if (a.value.bytes.empty()) continue;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = bits_at(a.value.bytes, i, a.value.type.element());
  }
  for (std::uint32_t s = 0; s < g.symbols()->size(); ++s) values.symbols[(*g.symbols())[s].name] = arguments.symbols[s];
  const auto arrays = graph::interpret(g, values, how);
  std::vector<GraphResult> results;
  for (const graph::Output& o : g.outputs()) {
    const graph::Array& array = arrays.at(o.name);
    GraphResult r{o.name, array.element, array.shape, {}};
    const auto width = static_cast<std::size_t>(ir::bytes(r.element));
    r.bytes.resize(array.bits.size() * width);
    for (std::size_t i = 0; i < array.bits.size(); ++i) std::memcpy(&r.bytes[i * width], &array.bits[i], width);
    results.push_back(std::move(r));
  }
  return results;
}

}  // namespace

std::vector<GraphResult> interpret_graph(const graph::Graph& g, const GraphArguments& arguments, graph::Rounding rounding) {
  return interpreted(g, arguments, rounding);
}

std::vector<GraphResult> interpret_graph(const graph::Graph& g, const GraphArguments& arguments, const graph::Perturbation& perturbation) {
  return interpreted(g, arguments, perturbation);
}

}  // namespace tilewright::cli
