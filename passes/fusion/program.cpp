// Derives the kernels of a graph: values to expressions, expressions to kernels, kernels to tile IR.
#include "passes/fusion/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "passes/fusion/cover.h"
#include "passes/fusion/emit/configuration.h"
#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/expr_text.h"
#include "passes/fusion/field_check.h"
#include "passes/fusion/graph_to_exprs.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

namespace {

using graph::NodeId;
using graph::Op;

std::vector<Dim> row_major(const graph::TensorShape& shape) {
  std::vector<Dim> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

bool is_view(Op op) { return op == Op::reshape || op == Op::permute || op == Op::broadcast || op == Op::slice || op == Op::flip; }
bool is_leaf(Op op) {
  return op == Op::input || op == Op::scalar || op == Op::constant || op == Op::iota || op == Op::extent || op == Op::argument;
}

class ProgramBuilder {
 public:
  ProgramBuilder(const graph::Graph& g, const ProgramOptions& options, const ir::TargetDesc& target)
      : g_(g), options_(options), target_(target) {}

  Program run() {
    expect_supported();
    add_named_buffers();
    if (options_.fuse && options_.reassociate) {
      try {
        build_fused();
      } catch (const TileTooLarge&) {
        // Formulas with more axes than a tile has.
        program_ = {};
        buffers_.clear();
        names_.clear();
        add_named_buffers();
        build_unfused();
      }
    } else {
      build_unfused();
    }
    mark_used();
    return std::move(program_);
  }

 private:
  // Expressions of kernels that were derived together.
  struct Formulas {
    ExprPool pool;
    ExprBuilder exprs{pool};
  };

  // ---- buffers ----

  void expect_supported() const {
    for (std::size_t i = 0; i < g_.size(); ++i) {
      const graph::Node& n = g_.node({static_cast<std::uint32_t>(i)});
      const bool is_supported =
          n.op != Op::scan && n.op != Op::scatter_add && n.op != Op::call && !(n.op == Op::reduce && n.kind == graph::Combine::combine);
      if (!is_supported && is_needed({static_cast<std::uint32_t>(i)}))
        throw Error(n.where, "compile: a graph with this op cannot be compiled yet");
    }
  }

  bool is_needed(NodeId wanted) const {
    std::set<std::uint32_t> needed;
    const std::function<void(NodeId)> visit = [&](NodeId n) {
      if (!needed.insert(n.index).second) return;
      for (NodeId x : g_.node(n).operands) visit(x);
    };
    for (const graph::Output& o : g_.outputs()) visit(o.node);
    return needed.count(wanted.index) != 0;
  }

  void add_named_buffers() {
    for (std::size_t i = 0; i < g_.size(); ++i) {
      const NodeId id{static_cast<std::uint32_t>(i)};
      const graph::Node& n = g_.node(id);
      if (n.op != Op::input) continue;
      ProgramBuffer b;
      b.name = n.text;
      b.kind = BufferKind::input;
      b.element = n.element;
      b.shape = n.shape;
      b.strides = n.lengths;
      b.is_parameter = n.is_parameter;
      b.is_used = false;
      b.node = id;
      program_.buffers.push_back(std::move(b));
    }
    for (const graph::Output& o : g_.outputs()) {
      const graph::Node& n = g_.node(o.node);
      ProgramBuffer b;
      b.name = o.name;
      b.kind = BufferKind::output;
      b.element = n.element;
      b.shape = n.shape;
      b.node = o.node;
      program_.buffers.push_back(std::move(b));
    }
  }

  // The buffer of a tensor: an input or an output by its name, or a new one.
  int buffer_of(Tensor t) {
    if (const auto known = buffers_.find(t->name); known != buffers_.end()) return known->second;
    for (std::size_t i = 0; i < program_.buffers.size(); ++i)
      if (program_.buffers[i].kind == BufferKind::input && t->node.valid() && program_.buffers[i].node == t->node) {
        buffers_[t->name] = static_cast<int>(i);
        return static_cast<int>(i);
      }
    ProgramBuffer b;
    b.name = t->name;
    b.kind = BufferKind::intermediate;
    b.element = t->element;
    b.shape = t->shape;
    b.node = t->node;
    if (t->node.valid() && g_.node(t->node).op == Op::constant) {
      b.kind = BufferKind::constant;
      b.data = g_.node(t->node).data;
    }
    program_.buffers.push_back(std::move(b));
    buffers_[t->name] = static_cast<int>(program_.buffers.size()) - 1;
    return buffers_[t->name];
  }

  Tensor output_tensor(const graph::Output& o, ExprPool& pool) {
    const graph::Node& n = g_.node(o.node);
    TensorInfo info;
    info.name = "out " + o.name;
    info.element = n.element;
    info.shape = n.shape;
    info.strides = row_major(n.shape);
    const Tensor t = pool.add_tensor(std::move(info));
    for (std::size_t i = 0; i < program_.buffers.size(); ++i)
      if (program_.buffers[i].kind == BufferKind::output && program_.buffers[i].name == o.name) buffers_[t->name] = static_cast<int>(i);
    return t;
  }

  void mark_used() {
    for (const ProgramKernel& k : program_.kernels)
      for (int b : k.reads) program_.buffers[b].is_used = true;
    for (const ProgramKernel& k : program_.parameter_kernels)
      for (int b : k.reads) program_.buffers[b].is_used = true;
  }

  // ---- kernels ----

  void build_fused() {
    std::vector<NodeId> nodes;
    for (const graph::Output& o : g_.outputs()) nodes.push_back(o.node);
    const AxisAnalysis axes(g_, nodes, {});
    Formulas formulas;
    GraphToExprs translator(g_, axes, formulas.exprs, {options_.move_rounding});
    std::vector<KernelOutput> outputs;
    for (const graph::Output& o : g_.outputs()) {
      const BoundValue v = translator.translate(o.node);
      outputs.push_back({o.name, v.value, output_tensor(o, formulas.pool), v.index});
    }
    for (CoveredKernel& k : cover(formulas.exprs, std::move(outputs))) emit(formulas, k.plan, k.reason);
  }

  // Each node that computes something is a kernel; views are part of the kernel that reads them.
  void build_unfused() {
    std::set<NodeId> needed, computed;
    const std::function<void(NodeId)> visit = [&](NodeId n) {
      if (!needed.insert(n).second) return;
      for (NodeId x : g_.node(n).operands) visit(x);
      if (!is_leaf(g_.node(n).op) && !is_view(g_.node(n).op)) computed.insert(n);
    };
    for (const graph::Output& o : g_.outputs()) visit(o.node);
    for (NodeId n : computed) {
      std::set<NodeId> stored = computed;
      stored.erase(n);
      const AxisAnalysis axes(g_, {n}, std::move(stored));
      Formulas formulas;
      GraphToExprs translator(g_, axes, formulas.exprs, {options_.move_rounding});
      const BoundValue v = translator.translate(n);
      emit(formulas, best_plan(formulas.exprs, {{text_of(n), v.value, translator.tensor_of(n), v.index}}), "one node");
    }
    for (const graph::Output& o : g_.outputs()) {
      const AxisAnalysis axes(g_, {o.node}, computed);
      Formulas formulas;
      GraphToExprs translator(g_, axes, formulas.exprs, {options_.move_rounding});
      const BoundValue v = translator.translate(o.node);
      emit(formulas, best_plan(formulas.exprs, {{o.name, v.value, output_tensor(o, formulas.pool), v.index}}), "an output");
    }
  }

  std::string text_of(NodeId n) const {
    const graph::Node& node = g_.node(n);
    return !node.name.empty() ? node.name : "%" + std::to_string(n.index);
  }

  void emit(Formulas& f, const Plan& plan, const std::string& reason) {
    TileSizes sizes = choose_tiles(plan, f.exprs, target_);
    ProgramKernel k;
    k.name = kernel_name(plan);
    EmittedKernel e = emit_smaller(k.name, f.exprs, plan, sizes);
    for (const EmittedKernel::Parameter& p : e.parameters) {
      KernelArgument a;
      if (!p.tensor) {
        a.kind = KernelArgument::Kind::extent;
        a.extent = p.extent;
      } else if (p.tensor->is_scalar) {
        a.kind = KernelArgument::Kind::scalar;
        a.scalar = p.tensor->name;
      } else {
        a.kind = KernelArgument::Kind::buffer;
        a.buffer = buffer_of(p.tensor);
        const bool is_written =
            std::any_of(plan.outputs.begin(), plan.outputs.end(), [&](const KernelOutput& o) { return o.tensor == p.tensor; });
        (is_written ? k.writes : k.reads).push_back(a.buffer);
      }
      k.arguments.push_back(std::move(a));
    }
    for (int i = 0; i < 3; ++i) k.grid[i] = e.grid[i];
    k.num_warps = sizes.num_warps;
    k.num_stages = sizes.num_stages;
    k.function = std::move(e.function);
    k.reason = reason;
    k.passes = plan.passes;
    k.plan_text = plan.text();
    describe(f.pool, plan, k);
    prove(f.exprs, plan);
    program_.kernels.push_back(std::move(k));
  }

  // Halves the tiles of the grid and of the loop until every tile of the kernel is within the limits.
  static EmittedKernel emit_smaller(const std::string& name, ExprBuilder& exprs, const Plan& plan, TileSizes& sizes) {
    for (;;) {
      try {
        return emit_kernel(name, exprs, plan, sizes);
      } catch (const TileTooLarge&) {
        bool is_smaller = sizes.loop > 1;
        sizes.loop = std::max<std::int64_t>(sizes.loop / 2, 1);
        for (auto& [axis, size] : sizes.grid) {
          is_smaller = is_smaller || size > 1;
          size = std::max<std::int64_t>(size / 2, 1);
        }
        if (!is_smaller) throw;
      }
    }
  }

  std::string kernel_name(const Plan& plan) {
    std::string name;
    for (const KernelOutput& o : plan.outputs) {
      name += name.empty() ? "" : "_";
      for (unsigned char c : o.name)
        if (std::isalnum(c) || c == '_') name += static_cast<char>(c);
    }
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "k");
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  // ---- reports ----

  void describe(const ExprPool& pool, const Plan& plan, ProgramKernel& k) {
    ExprSet seen;
    std::set<std::uint32_t> covered;
    const std::function<void(Expr)> visit = [&](Expr e) {
      if (!seen.insert(e).second) return;
      for (NodeId n : pool.sources(e))
        if (!is_leaf(g_.node(n).op)) covered.insert(n.index);
      if (e->is(ExprKind::load)) return;
      for (Expr x : children(e)) visit(x);
    };
    for (const KernelOutput& o : plan.outputs) visit(o.value);
    for (std::uint32_t n : covered) k.covers.push_back({n});
    for (const Refusal& r : plan.refusals) explain(pool, plan, r);
  }

  // The node whose value an expression is, or that of the nearest expression inside.
  static NodeId source(const ExprPool& pool, Expr e) {
    if (const auto& nodes = pool.sources(e); !nodes.empty()) return nodes.front();
    for (Expr x : children(e))
      if (const NodeId n = source(pool, x); n.valid()) return n;
    return {};
  }

  std::string place(NodeId n) const {
    if (!n.valid()) return "an unknown line";
    const graph::Node& node = g_.node(n);
    const Location& where = node.composite ? g_.composite(*node.composite).where : node.where;
    return fmt::format("{}:{}", where.file, where.line);
  }

  std::string name_of(NodeId n) const {
    if (!n.valid()) return "a value";
    const graph::Node& node = g_.node(n);
    if (!node.name.empty()) return node.name;
    if (node.composite) return g_.composite(*node.composite).name;
    return std::string(node.op == Op::map ? ir::text(node.function) : graph::text(node.op));
  }

  void explain(const ExprPool& pool, const Plan& plan, const Refusal& r) {
    const NodeId what = source(pool, r.why.node), why = source(pool, r.why.pending);
    const std::string line = fmt::format("not fused: {} in {} ({}) because {} ({}) is complete only after all of {}", r.why.reason,
                                         name_of(what), place(what), name_of(why), place(why), plan.loop->name);
    if (std::find(program_.not_fused.begin(), program_.not_fused.end(), line) == program_.not_fused.end())
      program_.not_fused.push_back(line);
  }

  void prove(ExprBuilder& exprs, const Plan& plan) {
    const ProofResult proof = check_plan(exprs, plan);
    program_.proof.exact = program_.proof.exact && proof.exact;
    if (!plan.loop) return;
    program_.proof.rounds = std::max(program_.proof.rounds, proof.rounds);
    program_.proof.log2_error = program_.proof.log2_error == 0 ? proof.log2_error : std::max(program_.proof.log2_error, proof.log2_error);
    if (!proof.text.empty()) program_.proof.text += (program_.proof.text.empty() ? "" : "; ") + proof.text;
  }

  const graph::Graph& g_;
  const ProgramOptions& options_;
  const ir::TargetDesc& target_;
  Program program_;
  std::map<std::string, int> buffers_;  // by the name of the tensor
  std::set<std::string> names_;
};

}  // namespace

Program build_program(const graph::Graph& g, const ProgramOptions& options, const ir::TargetDesc& target) {
  return ProgramBuilder(g, options, target).run();
}

}  // namespace tilewright::passes::fusion
