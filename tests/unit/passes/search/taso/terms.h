// Terms of TASO's ops in the table of terms of the search: each tensor is a term without axes, and its shape stands beside it.
#pragma once
#include <string_view>

#include "passes/search/generate/op_table.h"
#include "tests/unit/passes/search/taso/tensors.h"

namespace tilewright::passes::search::taso {

class Terms {
 public:
  TermTable& table() { return table_; }
  const TermTable& table() const { return table_; }
  const Shape& shape(int term) const { return shapes_[static_cast<std::size_t>(term)]; }

  /// A leaf, by its number, of any shape.
  Ref leaf(int number, const Shape&);
  /// No term if an operand is none or the operands do not fit.
  Ref make(TasoOp, const Ref& a, const Ref& b = {});
  /// The same term of another table.
  Ref copy(const Terms&, int term);

  /// Parses "matmul(x1, w1)". The leaves have the shapes of these sizes. Throws std::runtime_error with the text if it is no term.
  Ref parse(std::string_view, const Sizes& = {});
  std::string text(int term) const;
  Tensor value(int term, const std::vector<Tensor>& by_leaf) const;

 private:
  Ref insert(const Ref&, const Shape&);
  Ref parse_at(std::string_view& rest, const Sizes&);

  TermTable table_;
  std::vector<Shape> shapes_;
};

/// The op of a node that is no leaf.
TasoOp op_of(const Node&);
/// A value for each leaf, random ones for variables.
std::vector<Tensor> leaf_values(const Sizes&, std::uint64_t seed);

/// TASO's ops as a table for the generator of rules. What is convolved has at least 5 rows, so filters are not.
class TasoOps : public OpTable {
 public:
  explicit TasoOps(int max_ops) : max_ops_(max_ops) {}
  const Terms& all() const { return all_; }

  const TermTable& terms() const override { return all_.table(); }
  void add_leaves(const Made&) override;
  void extend(const Ref&, const Made&) override;
  void combine(const Ref&, const Ref&, const Made&) override;
  std::uint64_t fingerprint(const Ref&) override;
  bool agree_elsewhere(const Ref&, const Ref&) override;
  int kind(int variable) const override;
  int size(int term) const override;

 private:
  bool is_enumerated(TasoOp, const Ref& a, const Ref& b) const;
  void add(TasoOp, const Ref& a, const Ref& b, const Made&);

  int max_ops_;
  Terms all_;
  std::vector<Tensor> values_;  // by term; only of those that are operands
};

}  // namespace tilewright::passes::search::taso
