// The cheapest selections that a search has found. Several are kept, because costs of nodes are only good enough to propose graphs.
#pragma once
#include <limits>

#include "passes/search/extract/extraction_problem.h"

namespace tilewright::passes::search {

/// Keeps selections by their cost. If the kernels of several selections cost the same, only the cheapest one is kept, because fusion makes
/// the same kernels of them.
class BestSelections {
 public:
  struct Entry {
    double cost;
    Selection selection;  // -1 for classes that are not needed
  };

  /// At most `count`, each cheaper than `below`. Keeps the reference.
  BestSelections(const ExtractionProblem& problem, std::size_t count, double below = std::numeric_limits<double>::infinity())
      : problem_(problem), count_(count), below_(below), costs_(problem) {}

  /// Returns its cost; none if a class is computed from itself.
  std::optional<double> add(const Selection&);
  /// Adds a selection that `costs` has just evaluated.
  void add(const Selection&, double cost, const std::vector<int>& needed);
  /// Does not keep selections whose kernels cost the same as those of this one. Requires: it has no cycle.
  void exclude(const Selection&);
  /// Ascending.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  using Kernels = std::vector<double>;  // their costs, ascending
  Kernels kernels_of(const Selection&, const std::vector<int>& needed) const;
  static bool are_alike(const Kernels&, const Kernels&);

  const ExtractionProblem& problem_;
  std::size_t count_;
  double below_;
  SelectionCost costs_;
  std::vector<Entry> entries_;
  std::vector<Kernels> kernels_;  // of each entry
  std::optional<Kernels> excluded_;
};

}  // namespace tilewright::passes::search
