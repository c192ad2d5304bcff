// The pool of expressions: owns them, finds equal ones, and knows which nodes of the user's graph they represent and how the user writes
// them.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "passes/fusion/expr/expr.h"
#include "passes/fusion/steps.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// An associative function of the user: a node with two arguments, and its neutral element.
struct CombiningFunction {
  const graph::Graph* graph = nullptr;
  graph::NodeId result;
  std::uint64_t identity = 0;  // bits of the element type of `result`
};

/// The operation of the user's program that computes a value.
struct WrittenValue {
  enum class Kind : std::uint8_t { product, quotient, power, sum } kind{};
  Expr left, right;       // a power has no `right`
  Rational exponent = 1;  // the exponent of a power
};

/// Owns expressions, axes and tensors.
class ExprPool {
 public:
  /// The expression with these contents. Properties that follow from them (`axes`, `key`, `height`, what is known, ...) are set here.
  Expr intern(ExprData);
  /// The axis with this name; if it is new, it is made with this extent and label. An empty label means the name.
  Axis axis(const std::string& name, const Dim& extent, const std::string& label = {}, std::vector<AxisData::Label> labels = {});
  Axis find_axis(const std::string& name) const;
  Tensor add_tensor(TensorInfo);
  Tensor find_tensor(const std::string& name) const;
  std::size_t tensors() const { return tensors_.size(); }

  /// The number of a function; equal functions have equal numbers.
  std::uint32_t add_function(const CombiningFunction&);
  const CombiningFunction& function(std::uint32_t number) const { return functions_[number]; }

  /// The nodes whose value this expression is, in the order of note_source. A sum that is not the value of a
  /// node has the node whose value it is a part of.
  const std::vector<graph::NodeId>& sources(Expr) const;
  void note_source(Expr, graph::NodeId);
  /// Copies the sources of one expression to another one that represents it.
  void copy_sources(Expr from, Expr to);
  /// Whether an expression is the value of its first source, and not only a part of it.
  bool is_value_of_source(Expr) const;
  /// How the user writes a product or a sum: (a / b) (c / d) and a c / (b d) are one expression but have different ranges; a - b + c
  /// and a + c - b are one expression but have different errors. The first one that is noted counts.
  const WrittenValue* written_value(Expr) const;
  void note_written_value(Expr, const WrittenValue&);
  /// The first sum with this key_of_multiples that was noted as a sum; none if no such sum was noted. The expression is null if such a sum
  /// was a part of a noted value before it was noted itself.
  std::optional<Expr> written_multiple(const ExprKey&) const;
  /// The value that a load reads from a tensor in which another kernel stores it; a null expression if that is not noted.
  Expr stored_value(Expr load) const;
  void note_stored_value(Expr load, Expr value);
  /// The graph of the sources; it must stay alive while the pool is used.
  void set_graph(const graph::Graph& g) { graph_ = &g; }
  /// The user's line that computes the expression; line 0 if the expression is not the value of an operation.
  Location where(Expr) const;

  std::size_t size() const { return exprs_.size(); }
  /// Counts steps. Each request for an expression is one, even if the expression is known; plans and estimates add their own.
  Steps& steps() { return steps_; }

 private:
  struct KeyHash {
    std::size_t operator()(const ExprKey& k) const { return k.low; }
  };
  std::deque<ExprData> exprs_;
  std::unordered_map<ExprKey, const ExprData*, KeyHash> by_key_;
  std::deque<AxisData> axes_;
  std::unordered_map<std::string, Axis> axis_by_name_;
  std::deque<TensorInfo> tensors_;
  std::unordered_map<std::string, Tensor> tensor_by_name_;
  std::vector<CombiningFunction> functions_;
  std::unordered_map<const ExprData*, std::vector<graph::NodeId>> sources_;
  std::unordered_map<const ExprData*, WrittenValue> written_;
  std::unordered_map<ExprKey, Expr, KeyHash> written_multiples_;
  std::unordered_map<const ExprData*, Expr> stored_;
  std::unordered_set<const ExprData*> parts_;  // expressions that are only parts of the values of their sources
  const graph::Graph* graph_ = nullptr;
  Steps steps_;
};

/// A key that is the same for all multiples of a sum, and for no other sum; none if the quotient of two coefficients does not fit.
std::optional<ExprKey> key_of_multiples(Expr sum);

/// The first node whose value an expression is; if there is none, that of the nearest expression inside.
graph::NodeId nearest_source(const ExprPool&, Expr);

}  // namespace tilewright::passes::fusion
