// Chosen nodes as formulas for reports: "q (k v)", "x (w1 + w2)", "(q k / 8) v", "sum(x) w".
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "passes/search/graph/choice.h"
#include "passes/search/graph/graph_terms.h"

namespace tilewright::passes::search {

class FormulaText {
 public:
  /// `name`: the text that stands for a class, or an empty one where its node is written. Long formulas are cut.
  FormulaText(const graph::Graph& written, const GraphTerms& all, const Choice& choice, std::function<std::string(int root)> name)
      : written_graph_(written), all_(all), choice_(choice), name_(std::move(name)) {}

  /// Operands of a call that the user has written stand in the user's order. For others labels give the order of factors: the axes of the
  /// result come from the left.
  std::string of(const Ref&);

 private:
  enum class Level : std::uint8_t { sum, product, factor };  // how strongly the text binds
  struct Part {
    std::string text;
    Level level = Level::factor;
  };
  Part part(const Ref&);
  Part product(const Ref&, const Node&);
  Part reduced(std::string_view name, const Node&);
  Part add(const Ref&, const Node&);
  std::optional<Part> quotient(const Ref&, const Ref&);
  bool are_exchanged(const Ref& of, const Ref& a, const Ref& b) const;
  std::optional<bool> is_written_before(const Ref& of, const Ref& a, const Ref& b) const;
  std::string inside(const Ref&, Level least);
  std::string list(const Node&);
  Node expanded(const Ref&);
  const Leaf* leaf_of(const Ref&) const;
  bool is_minus_one(const Ref&) const;

  const graph::Graph& written_graph_;
  const GraphTerms& all_;
  const Choice& choice_;
  const std::function<std::string(int)> name_;
  Label fresh_ = 0;
  int written_ = 0;        // nodes so far
  bool is_right_ = false;  // the node is a right factor
};

}  // namespace tilewright::passes::search
