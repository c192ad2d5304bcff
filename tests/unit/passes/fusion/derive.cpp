// Derives the kernel of a workload, and runs it by the interpreter.
#include "tests/unit/passes/fusion/derive.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/translate/graph_to_exprs.h"
#include "passes/fusion/translate/signed_zeros.h"
#include "tileir/graph/interpreter.h"
#include "tileir/interpreter/interpreter.h"
#include "tileir/verifier.h"

namespace tilewright::passes::fusion::test {

namespace {

std::int64_t elements(const graph::TensorShape& shape) {
  std::int64_t product = 1;
  for (const Dim& d : shape) product *= d.value();
  return product;
}

// Random values of an input: normal floats, small integers, conditions that mostly hold.
std::uint64_t random_bits(std::mt19937_64& engine, ir::Element e, const std::string& name) {
  if (e == ir::Element::boolean) return engine() % 8 != 0;
  if (e == ir::Element::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(std::normal_distribution<double>()(engine)));
  return engine() % (name == "t" ? 61 : 3);  // a target of cross entropy, or a document's number
}

}  // namespace

void translate_outputs(Derived& d) {
  std::vector<graph::NodeId> nodes;
  for (const graph::Output& o : d.graph->outputs()) nodes.push_back(o.node);
  const AxisAnalysis axes(*d.graph, nodes, {});
  const std::vector<ZeroSign> zero_signs = nodes_with_signed_zeros(*d.graph);
  GraphToExprs translator(*d.graph, axes, zero_signs, *d.exprs, {});
  for (const graph::Output& o : d.graph->outputs()) {
    const BoundValue v = translator.translate(o.node);
    TensorInfo info;
    info.name = "out_" + o.name;
    info.element = d.graph->node(o.node).element;
    info.shape = d.graph->node(o.node).shape;
    info.strides.assign(info.shape.size(), 1);
    for (std::size_t i = info.shape.size(); i-- > 1;) info.strides[i - 1] = info.strides[i] * info.shape[i];
    d.outputs.push_back({o.name, v.value, d.pool->add_tensor(std::move(info)), v.index});
  }
}

Derived derive(const Workload& w, Variants& v) {
  Derived d;
  w.build(*d.graph, v);
  translate_outputs(d);
  return d;
}

LoopPlan plan_of(Derived& d) { return best_plan(*d.exprs, d.outputs); }

namespace {

// A kernel, or the two of a loop in `parts` parts.
std::vector<EmittedKernel> emitted(Derived& d, const LoopPlan& plan, const TileSizes& sizes, std::int64_t parts) {
  std::vector<EmittedKernel> kernels;
  if (parts == 1) {
    kernels.push_back(emit_kernel("kernel", *d.exprs, plan, sizes));
  } else {
    int states = 0;
    const SplitLoop split =
        split_loop(*d.exprs, plan, accumulator_order(plan, sizes), parts, [&](Expr) { return "state" + std::to_string(states++); });
    kernels.push_back(emit_part_kernel("parts", *d.exprs, plan, sizes, split));
    kernels.push_back(emit_merge_kernel("merge", *d.exprs, plan, sizes, split, std::min<std::int64_t>(parts, 4)));
  }
  for (const EmittedKernel& k : kernels) ir::verify_or_throw(k.function);
  return kernels;
}

}  // namespace

std::map<std::string, double> errors_of(Derived& d, const LoopPlan& plan, const TileSizes& sizes, std::uint64_t seed, std::int64_t parts) {
  std::mt19937_64 engine(seed);
  graph::Arguments arguments;
  std::map<std::string, std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < d.graph->size(); ++i) {
    const graph::Node& n = d.graph->node({static_cast<std::uint32_t>(i)});
    if (n.op != graph::Op::input) continue;
    const auto width = static_cast<std::size_t>(ir::bytes(n.element));
    std::vector<std::byte>& bytes = memory[n.text];
    bytes.resize(static_cast<std::size_t>(elements(n.shape)) * width);
    for (std::int64_t at = 0; at < elements(n.shape); ++at) {
      const std::uint64_t bits = random_bits(engine, n.element, n.text);
      arguments.arrays[n.text].push_back(bits);
      std::memcpy(bytes.data() + static_cast<std::size_t>(at) * width, &bits, width);
    }
  }
  // Documents: every query has a key of its own document.
  if (arguments.arrays.count("dq") != 0) arguments.arrays["dk"] = arguments.arrays["dq"], memory["dk"] = memory["dq"];
  const std::map<std::string, graph::Array> want = graph::interpret(*d.graph, arguments, graph::Rounding::double_precision);

  std::map<std::string, std::vector<float>> got;
  for (const EmittedKernel& kernel : emitted(d, plan, sizes, parts)) {
    std::vector<std::uint64_t> words;
    for (const EmittedKernel::Parameter& p : kernel.parameters) {
      void* at = nullptr;
      const auto count = static_cast<std::size_t>(elements(p.tensor->shape));
      if (p.tensor->name.starts_with("out_")) {
        std::vector<float>& out = got[p.tensor->name.substr(4)];
        out.assign(count, NAN);
        at = out.data();
      } else {
        std::vector<std::byte>& bytes = memory[p.tensor->name];
        // NaN, for what is not written of a state.
        if (bytes.empty()) bytes.assign(count * static_cast<std::size_t>(ir::bytes(p.tensor->element)), std::byte{0xff});
        at = bytes.data();
      }
      words.push_back(reinterpret_cast<std::uintptr_t>(at));
    }
    ir::InterpretOptions options;
    for (int i = 0; i < 3; ++i)
      for (const GridFactor& f : kernel.grid[i])
        options.grid[static_cast<std::size_t>(i)] *= static_cast<std::int32_t>((f.extent.value() + f.tile - 1) / f.tile);
    ir::interpret(kernel.function, words, options);
  }

  std::map<std::string, double> errors;
  for (const auto& [name, array] : want) {
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < array.bits.size(); ++i) {
      const double w = std::bit_cast<double>(array.bits[i]), g = got.at(name)[i];
      if (std::isnan(w) && std::isnan(g)) continue;
      difference += (g - w) * (g - w);
      size += w * w;
    }
    errors[name] = std::isfinite(difference) ? std::sqrt(difference / size) : HUGE_VAL;
  }
  return errors;
}

}  // namespace tilewright::passes::fusion::test
