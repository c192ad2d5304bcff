// Finds the terms in which something is summed. What is computed element by element from leaves stays as it is written: fusion computes it
// wherever it is read, in any order.
#pragma once
#include <vector>

#include "passes/search/egraph.h"

namespace tilewright::passes::search {

class KernelTerms {
 public:
  explicit KernelTerms(const TermTable& terms) : table_(terms) {}

  /// Whether a product of the term sums, or a sum. Rules do not go through other reductions.
  bool has_kernel(int term);
  /// Whether a term of the class has one. Requires: `update` after the classes have changed.
  bool has_kernel_class(int root) const { return classes_[static_cast<std::size_t>(root)]; }
  void update(const EGraph&);

 private:
  const TermTable& table_;
  std::vector<bool> terms_, classes_;  // by term
};

}  // namespace tilewright::passes::search
