// A fact about terms that follows from those about their operands.
#pragma once
#include <vector>

#include "passes/search/egraph.h"

namespace tilewright::passes::search {

/// Remembers for each term of a table whether a fact holds for it. Terms that are added later are looked at when they are asked for.
class TermFact {
 public:
  /// Keeps the reference.
  explicit TermFact(const TermTable& terms) : table_(terms) {}
  virtual ~TermFact() = default;

  bool holds(int term);
  /// Whether the fact holds for a term of the class. Requires: `update` after the classes have changed.
  bool holds_in_class(int root) const { return classes_[static_cast<std::size_t>(root)]; }
  void update(const EGraph&);

 protected:
  /// Whether the fact holds for a node; `holds` answers for its operands.
  virtual bool follows(const Node&) = 0;

 private:
  const TermTable& table_;
  std::vector<bool> terms_, classes_;  // by term
};

}  // namespace tilewright::passes::search
