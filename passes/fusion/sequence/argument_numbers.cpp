// Counts operations on tiles, and replaces arguments.
#include "passes/fusion/sequence/argument_numbers.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "passes/fusion/graph/replaced_symbols.h"
#include "passes/fusion/thresholds.h"
#include "tileir/graph/symbols.h"
#include "tileir/splat.h"

namespace tilewright::passes::fusion {

using graph::Op;

namespace {

// Whether an op works on a tile of values. A number of the kernel is a constant or, if it is an argument, the broadcast of a scalar: neither
// counts, nor does the arithmetic of positions, to which the begin of a slice belongs.
bool is_counted(const ir::Function& f, ir::OpId id) {
  const std::vector<ir::ValueId>& results = f.op(id).results;
  return std::any_of(results.begin(), results.end(), [&](ir::ValueId r) {
    const ir::Type type = f.type(r);
    const bool is_position = type.is_pointer() || (ir::is_integer(type.element()) && f.kind(id) != ir::OpKind::load_);
    return !type.is_scalar() && !is_position && !ir::is_splat(f, r);
  });
}

// Operations on tiles by the number of loops and branches around them.
void count_operations(const ir::Function& f, ir::BlockId block, std::size_t depth, std::vector<std::size_t>& counts) {
  counts.resize(std::max(counts.size(), depth + 1));
  for (const ir::OpId id : f.ops(block)) {
    if (is_counted(f, id)) ++counts[depth];
    for (const ir::BlockId region : f.op(id).regions) count_operations(f, region, depth + 1, counts);
  }
}

bool has_same_programs(const SequenceKernel& a, const SequenceKernel& b) {
  if (a.num_warps != b.num_warps || a.num_stages != b.num_stages) return false;
  // The extents have symbols of different graphs.
  const auto is_equal = [](const GridFactor& x, const GridFactor& y) { return x.tile == y.tile && x.extent.text() == y.extent.text(); };
  for (int i = 0; i < 3; ++i)
    if (!std::equal(a.grid[i].begin(), a.grid[i].end(), b.grid[i].begin(), b.grid[i].end(), is_equal)) return false;
  return true;
}

bool do_same_work(const SequenceKernel& with_number, const SequenceKernel& with_argument) {
  std::vector<std::size_t> few, many;
  count_operations(with_number.function, with_number.function.body(), 0, few);
  count_operations(with_argument.function, with_argument.function.body(), 0, many);
  // Without a loop, a program reads nothing again that another one has read, whatever its tile is.
  if (few.size() > 1 && !has_same_programs(with_number, with_argument)) return false;
  return std::equal(few.begin(), few.end(), many.begin(), many.end(), [](std::size_t a, std::size_t b) {
    return static_cast<double>(b) <= static_cast<double>(a) * (1 + kMostAddedByArguments);
  });
}

}  // namespace

bool do_same_work(std::span<const SequenceKernel> with_numbers, std::span<const SequenceKernel> with_arguments) {
  return std::equal(with_numbers.begin(), with_numbers.end(), with_arguments.begin(), with_arguments.end(),
                    [](const SequenceKernel& a, const SequenceKernel& b) { return do_same_work(a, b); });
}

void set_numbers(KernelSequence& sequence, const graph::Graph& g, const graph::Graph& changed) {
  std::map<std::string, std::uint64_t> bits;  // by the name of the scalar
  std::map<std::uint32_t, Dim> begins;        // by symbol
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const graph::Node &was = g.node({i}), &is = changed.node({i});
    if (was.op == Op::constant && is.op == Op::scalar) bits[is.text] = was.data->bits[0];
    if (was.op == Op::slice && was.lengths[0].is_constant() && !is.lengths[0].is_constant())
      begins.emplace(is.lengths[0].symbols()[0], was.lengths[0]);
  }
  const auto replace = [&](Dim& d) {
    if (begins.empty()) return;
    d = with_symbols(d, [&](std::uint32_t s) { return s < g.symbols()->size() ? g.symbols()->dim(s) : begins.at(s); });
  };
  const auto set_argument = [&](KernelArgument& a) {
    const bool was_constant = a.extent.is_constant();
    replace(a.extent);
    const auto number = a.kind == KernelArgument::Kind::scalar ? bits.find(a.scalar) : bits.end();
    if (number == bits.end()) return a.extent.is_constant() != was_constant;
    a.kind = KernelArgument::Kind::number;
    a.bits = number->second;
    a.scalar.clear();
    return true;
  };
  for (auto* kernels : {&sequence.kernels, &sequence.parameter_kernels})
    for (SequenceKernel& k : *kernels) {
      const auto set = std::count_if(k.arguments.begin(), k.arguments.end(), set_argument);
      for (std::vector<GridFactor>& axis : k.grid)
        for (GridFactor& f : axis) replace(f.extent);
      for (FlopCount& c : k.flops)
        for (Dim& d : c.space) replace(d);
      if (set > 0 && k.like >= 0) k.reason += " and gets other numbers";
    }
  for (SequenceBuffer& b : sequence.buffers) {
    for (Dim& d : b.shape) replace(d);
    for (Dim& d : b.strides) replace(d);
  }
}

}  // namespace tilewright::passes::fusion
