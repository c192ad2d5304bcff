// Runs programs of graphs by the interpreter.
#include "tests/unit/passes/fusion/run_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "tileir/builder.h"
#include "tileir/interpreter/interpreter.h"
#include "tileir/verifier.h"

namespace tilewright::passes::fusion::test {

namespace {

std::vector<std::int64_t> symbol_values(const graph::Graph& g, const std::map<std::string, std::int64_t>& given) {
  std::vector<std::int64_t> values;
  for (std::uint32_t i = 0; i < g.symbols()->size(); ++i) {
    const auto at = given.find((*g.symbols())[i].name);
    values.push_back(at == given.end() ? 0 : at->second);
  }
  return values;
}

std::int64_t elements(const graph::TensorShape& shape, const std::vector<std::int64_t>& symbols) {
  std::int64_t product = 1;
  for (const Dim& d : shape) product *= *d.evaluate(symbols);
  return product;
}

// Random values: normal floats, small integers (a target of cross entropy below 61), conditions that mostly hold.
std::uint64_t random_bits(std::mt19937_64& engine, ir::Element e, const std::string& name) {
  if (e == ir::Element::boolean) return engine() % 8 != 0;
  if (ir::is_float(e)) return ir::element_bits(e, std::normal_distribution<double>()(engine));
  return engine() % (name == "t" ? 61 : 3);
}

}  // namespace

graph::Arguments random_arguments(const graph::Graph& g, const std::map<std::string, std::int64_t>& symbols, std::uint64_t seed) {
  graph::Arguments arguments;
  arguments.symbols = symbols;
  std::mt19937_64 engine(seed);
  const std::vector<std::int64_t> values = symbol_values(g, symbols);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const graph::Node& n = g.node({static_cast<std::uint32_t>(i)});
    if (n.op != graph::Op::input && n.op != graph::Op::scalar) continue;
    std::vector<std::uint64_t>& array = arguments.arrays[n.text];
    for (std::int64_t at = 0; at < elements(n.shape, values); ++at) array.push_back(random_bits(engine, n.element, n.text));
  }
  if (arguments.arrays.count("dq") != 0) arguments.arrays["dk"] = arguments.arrays["dq"];  // every query has a key of its own document
  return arguments;
}

graph::Arguments full_range_arguments(const graph::Graph& g, const std::map<std::string, std::int64_t>& symbols, std::uint64_t seed) {
  graph::Arguments arguments = random_arguments(g, symbols, seed);
  std::mt19937_64 engine(seed);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const graph::Node& n = g.node({static_cast<std::uint32_t>(i)});
    if (n.op != graph::Op::input || !ir::is_integer(n.element)) continue;
    const int width = ir::bits(n.element);
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1, top = std::uint64_t{1} << (width - 1);
    const std::uint64_t ends[] = {0, 1, top - 1, top, mask};
    for (std::uint64_t& bits : arguments.arrays[n.text]) bits = engine() % 4 == 0 ? ends[engine() % 5] : engine() & mask;
  }
  return arguments;
}

std::map<std::string, std::vector<double>> outputs_of(const graph::Graph& g, const KernelSequence& program,
                                                      const graph::Arguments& arguments) {
  const std::vector<std::int64_t> symbols = symbol_values(g, arguments.symbols);
  std::vector<std::vector<std::byte>> memory;
  for (const SequenceBuffer& b : program.buffers) {
    const auto width = static_cast<std::size_t>(ir::bytes(b.element));
    const auto count = static_cast<std::size_t>(elements(b.shape, symbols));
    memory.emplace_back(count * width, std::byte{0xff});  // NaN, for what is not written
    const std::vector<std::uint64_t>* bits = b.kind == BufferKind::input      ? &arguments.arrays.at(b.name)
                                             : b.kind == BufferKind::constant ? &b.data->bits
                                                                              : nullptr;
    for (std::size_t i = 0; bits && i < count; ++i)
      std::memcpy(memory.back().data() + i * width, &(*bits)[bits->size() == 1 ? 0 : i], width);
  }
  const auto run = [&](const SequenceKernel& k) {
    ir::verify_or_throw(k.function);
    std::vector<std::uint64_t> words;
    for (const KernelArgument& a : k.arguments) {
      switch (a.kind) {
        case KernelArgument::Kind::buffer:
          words.push_back(reinterpret_cast<std::uintptr_t>(memory[static_cast<std::size_t>(a.buffer)].data()));
          break;
        case KernelArgument::Kind::extent: words.push_back(static_cast<std::uint64_t>(*a.extent.evaluate(symbols))); break;
        case KernelArgument::Kind::number: words.push_back(a.bits); break;
        case KernelArgument::Kind::scalar: words.push_back(arguments.arrays.at(a.scalar)[0]); break;
      }
    }
    ir::InterpretOptions options;
    for (std::size_t i = 0; i < 3; ++i)
      for (const GridFactor& f : k.grid[i]) options.grid[i] *= static_cast<std::int32_t>(f.programs(*f.extent.evaluate(symbols)));
    if (options.grid[0] != 0 && options.grid[1] != 0 && options.grid[2] != 0) ir::interpret(k.function, words, options);
  };
  for (const SequenceKernel& k : program.parameter_kernels) run(k);
  for (const SequenceKernel& k : program.kernels) run(k);
  std::map<std::string, std::vector<double>> outputs;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const ir::Element element = program.buffers[b].element;
    if (program.buffers[b].kind != BufferKind::output) continue;
    const auto width = static_cast<std::size_t>(ir::bytes(element));
    std::vector<double>& values = outputs[program.buffers[b].name];
    for (std::size_t i = 0; i < memory[b].size() / width; ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, memory[b].data() + i * width, width);
      values.push_back(ir::is_float(element) ? ir::float_value(element, bits) : static_cast<double>(ir::integer_value(element, bits)));
    }
  }
  return outputs;
}

double relative_error(const std::vector<double>& got, const graph::Array& want) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < want.bits.size(); ++i) {
    const double w = want.number(i);
    if (!std::isfinite(w)) {  // as written; the result is then not finite either
      if (std::isfinite(got[i])) return HUGE_VAL;
      continue;
    }
    difference += (got[i] - w) * (got[i] - w);
    size += w * w;
  }
  size = std::max(size, 1e-6 * static_cast<double>(want.bits.size()));
  return std::isfinite(difference) ? size > 0 ? std::sqrt(difference / size) : std::sqrt(difference) : HUGE_VAL;
}

std::map<std::string, double> errors_of(const graph::Graph& g, const KernelSequence& program, const graph::Arguments& arguments) {
  const std::map<std::string, std::vector<double>> outputs = outputs_of(g, program, arguments);
  std::map<std::string, double> errors;
  for (const auto& [name, want] : graph::interpret(g, arguments, graph::Rounding::double_precision))
    errors[name] = relative_error(outputs.at(name), want);
  return errors;
}

}  // namespace tilewright::passes::fusion::test
