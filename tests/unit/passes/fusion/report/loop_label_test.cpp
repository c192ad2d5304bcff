// The names of loops in reports: a loop is named after a tensor that its kernel reads.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "passes/fusion/sequence/build_sequence.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::fusion::test {
namespace {

ir::TargetDesc host() {
  ir::TargetDesc target;
  target.processors = 2;
  return target;
}

/// The name of the tensor in "axis 1 of k"; empty for a symbol.
std::string tensor_of(const std::string& label) {
  const std::size_t of = label.starts_with("axis ") ? label.find(" of ") : label.npos;
  return of == label.npos ? std::string() : label.substr(of + 4);
}

bool reads(const KernelSequence& p, const SequenceKernel& k, const std::string& name) {
  return std::ranges::any_of(k.reads, [&](int b) { return p.buffers[static_cast<std::size_t>(b)].name == name; });
}

void check_labels(const KernelSequence& p) {
  for (const SequenceKernel& k : p.kernels) {
    CAPTURE(k.plan_text);
    const std::string name = tensor_of(k.loop.axis);
    if (!name.empty()) CHECK_MESSAGE(reads(p, k, name), k.loop.axis);
    if (!k.loop.axis.empty() && k.reason.find("a loop over ") != k.reason.npos)
      CHECK(k.reason.find("a loop over " + k.loop.axis) != k.reason.npos);
  }
}

TEST_CASE("fusion report: loops are named after inputs and values that their kernels read") {
  for (const char* text : {R"(graph {
  %x = input : f32[4000, 64]
  %w = input : f32[64, 512]
  %product = einsum %x, %w {text = "ik,kj->ij"} : f32[4000, 512]
  %m = reduce %product {kind = max, axes = [1], keep_dims} : f32[4000, 1]
  %s = sub %product, %m : f32[4000, 512]
  %e = exp %s : f32[4000, 512]
  %y = reduce %e {kind = sum, axes = [1]} : f32[4000]
  output "product" %product
  output "y" %y
})",
                           R"(graph {
  %x0 = input : f32[2000, 2000]
  %w = input {is_parameter} : f32[2000, 2000]
  %v = input {is_parameter} : f32[2000, 2000]
  %a = einsum %x0, %w {text = "ik,kj->ij"} : f32[2000, 2000]
  %b = tanh %a : f32[2000, 2000]
  %c = einsum %b, %v {text = "ik,kj->ij"} : f32[2000, 2000]
  %z = add %c, %x0 : f32[2000, 2000]
  output "y" %z
})",
                           R"(graph {
  %a = input : f32[600]
  %y = scan %a {kind = sum, axes = [0]} : f32[600]
  output "y" %y
})"}) {
    CAPTURE(text);
    check_labels(build_sequence(graph::parse(text, "labels"), {}, host()));
  }
}

TEST_CASE("fusion report: loops of the workloads are named after what their kernels read") {
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    graph::Graph g;
    Variants plain;
    w.build(g, plain);
    check_labels(build_sequence(g, {}, host()));
  }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
