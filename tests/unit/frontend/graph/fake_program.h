// Programs made by hand, for tests of plans: kernels in textual tile IR over the inputs and outputs of a graph.
#pragma once
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/compile_request.h"
#include "runtime/plan/plan_state.h"
#include "tileir/graph/shapes.h"
#include "tileir/text/parser.h"
#include "tilewright/tilewright.h"

namespace fake_program {

namespace tw = tilewright;
namespace fusion = tw::passes::fusion;
using fusion::BufferKind;

inline tw::graph::Graph& nodes(const tw::Graph& g) { return *tw::detail::tensor::nodes_of(g, "test", tw::Here::current()); }

/// A program over a graph's inputs and outputs, in f32.
class FakeProgram {
 public:
  explicit FakeProgram(const tw::Graph& g) : graph_(&g) {
    const tw::graph::Graph& all = nodes(g);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      const tw::graph::Node& n = all.node({i});
      if (n.op != tw::graph::Op::input) continue;
      const int b = add(n.text, BufferKind::input, n.shape);
      program.buffers[b].element = n.element;
      program.buffers[b].strides = n.lengths;
      program.buffers[b].is_parameter = n.is_parameter;
      program.buffers[b].node = {i};
    }
    for (const tw::graph::Output& o : all.outputs()) {
      const int b = add(o.name, BufferKind::output, all.node(o.node).shape);
      program.buffers[b].node = o.node;
    }
  }

  int add(const std::string& name, BufferKind kind, tw::graph::TensorShape shape) {
    fusion::SequenceBuffer b;
    b.name = name;
    b.kind = kind;
    b.element = tw::ir::Element::f32;
    b.shape = std::move(shape);
    program.buffers.push_back(std::move(b));
    return static_cast<int>(program.buffers.size()) - 1;
  }
  int buffer(const std::string& name) const {
    for (std::size_t i = 0; i < program.buffers.size(); ++i)
      if (program.buffers[i].name == name) return static_cast<int>(i);
    FAIL("no buffer '" << name << "'");
    return -1;
  }

  /// to = factor * a + b, element by element; b may be a scalar that is named. `stride` is the stride of a.
  fusion::SequenceKernel& kernel(const std::string& to, float factor, const std::string& a, const std::string& b,
                                 bool for_parameters = false, const std::string& scalar = "", int stride = 1) {
    const tw::Dim count = tw::graph::element_count(program.buffers[buffer(to)].shape);
    const std::string text = fmt::format(
        R"(kernel @{}(%a: ptr<const f32> {{divisible_by = 16}}, %b: {}, %to: ptr<f32> {{divisible_by = 16, disjoint}}, %n: i32) {{
  %p = program_id {{axis = 0}} : i32
  %size = constant {{value = 64}} : i32
  %start = mul %p, %size : i32
  %lane = arange {{lo = 0, hi = 64}} : i32[64]
  %starts = broadcast %start : i32[64]
  %i = add %starts, %lane : i32[64]
  %ns = broadcast %n : i32[64]
  %inside = lt %i, %ns : i1[64]
  %stride = constant {{value = {}}} : i32
  %strides = broadcast %stride : i32[64]
  %ia = mul %i, %strides : i32[64]
  %as = broadcast %a : ptr<const f32>[64]
  %pa = add_ptr %as, %ia : ptr<const f32>[64]
  %va = load %pa, %inside : f32[64]
  {}
  %factor = constant {{value = {:.1f}}} : f32
  %factors = broadcast %factor : f32[64]
  %product = mul %factors, %va : f32[64]
  %sum = add %product, %vb : f32[64]
  %tos = broadcast %to : ptr<f32>[64]
  %pt = add_ptr %tos, %i : ptr<f32>[64]
  store %pt, %sum, %inside
}}
)",
        tw::detail::symbol_name("make_" + to), scalar.empty() ? "ptr<const f32> {divisible_by = 16}" : "f32", stride,
        scalar.empty()
            ? "%bs = broadcast %b : ptr<const f32>[64]\n  %pb = add_ptr %bs, %i : ptr<const f32>[64]\n  %vb = load %pb, %inside : f32[64]"
            : "%vb = broadcast %b : f32[64]",
        factor);
    fusion::SequenceKernel k;
    k.function = tw::ir::parse(text, "fake.tile").functions.front();
    k.name = "make_" + to;
    using Kind = fusion::KernelArgument::Kind;
    k.arguments.push_back({Kind::buffer, buffer(a), {}, ""});
    k.arguments.push_back(scalar.empty() ? fusion::KernelArgument{Kind::buffer, buffer(b), {}, ""}
                                         : fusion::KernelArgument{Kind::scalar, -1, {}, scalar});
    k.arguments.push_back({Kind::buffer, buffer(to), {}, ""});
    k.arguments.push_back({Kind::extent, -1, count, ""});
    k.grid[0] = {{count, 64}};
    k.reason = "made by hand";
    k.reads = {buffer(a)};
    if (scalar.empty() && b != a) k.reads.push_back(buffer(b));
    k.writes = {buffer(to)};
    k.flops = {{2, {count}}};
    auto& kernels = for_parameters ? program.parameter_kernels : program.kernels;
    kernels.push_back(std::move(k));
    return kernels.back();
  }

  tw::Plan plan(const tw::Device& device, std::size_t max_workspace = SIZE_MAX, tw::Here at = tw::Here::current()) const {
    return tw::Plan(tw::detail::make_plan_state({.graph = std::make_shared<tw::graph::Graph>(nodes(*graph_)),
                                                 .sequence = program,
                                                 .unfused = {},
                                                 .device = device.handle(),
                                                 .target = device.handle()->target(),
                                                 .max_workspace = max_workspace},
                                                at));
  }

  fusion::KernelSequence program;

 private:
  const tw::Graph* graph_;
};

/// Calls test(device) for each kind of device that a test machine has.
inline void on_devices(const std::function<void(tw::Device&)>& test) {
  for (const char* name : {"cpu", "emulator:sm_80"}) {
    CAPTURE(name);
    tw::Device device = tw::Device::open(name);
    test(device);
  }
}

inline std::vector<float> counted(std::size_t n, float first = 0) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = first + static_cast<float>(i);
  return v;
}
inline std::vector<float> mapped(std::vector<float> v, const std::function<float(float)>& f) {
  for (float& x : v) x = f(x);
  return v;
}

}  // namespace fake_program
