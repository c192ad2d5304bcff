// The problem of an extraction: to decide for each class that is needed which of its nodes computes it. A class costs once, however many
// nodes read it.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright::passes::search {

struct ExtractionNode {
  double cost = 0;
  std::vector<int> operands;  // classes, ascending, each once
  std::size_t member = 0;     // the number of the member of the class in the e-graph
  bool is_kernel = false;     // graphs that differ only in other nodes count as one: fusion makes the same kernels of both
};

struct ExtractionProblem {
  std::vector<std::vector<ExtractionNode>> classes;
  std::vector<int> roots;  // classes that are needed in any case
};

/// By class: the number of its node, or -1.
using Selection = std::vector<int>;

/// Drops nodes that need their own class. Also drops a node if another node of the class costs no more and needs no other classes.
void drop_dominated_nodes(ExtractionProblem&);

/// Adds up what the roots need. Keeps the reference.
class SelectionCost {
 public:
  explicit SelectionCost(const ExtractionProblem& problem) : problem_(problem), states_(problem.classes.size()) {}

  /// None if a class is computed from itself. Requires: each needed class has a node.
  std::optional<double> of(const Selection&);
  /// The classes that the selection of the latest call needs, operands first.
  const std::vector<int>& needed() const { return needed_; }
  /// How many classes were visited, by all calls.
  std::uint64_t steps() const { return steps_; }

 private:
  struct Entry {
    int class_number;
    std::size_t next;  // operand
  };
  const ExtractionProblem& problem_;
  std::vector<std::uint64_t> states_;  // twice the number of the call: on the stack; one more: done
  std::uint64_t calls_ = 0, steps_ = 0;
  std::vector<int> needed_;
  std::vector<Entry> stack_;
};

}  // namespace tilewright::passes::search
