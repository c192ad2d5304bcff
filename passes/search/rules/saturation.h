// Equality saturation: applies rules to the classes of an e-graph, round by round, until nothing changes. A rule is matched again only where the
// classes that its matches depend on have changed.
#pragma once
#include <functional>
#include <span>

#include "passes/search/egraph.h"
#include "passes/search/rules/matcher.h"

namespace tilewright::passes::search {

/// Counts, so that the outcome does not depend on the machine.
struct SaturationLimits {
  std::size_t nodes = 3000;
  int rounds = 6;
};

/// The side of a rule that is searched for; the other side is added.
struct Direction {
  int rule = 0;
  int side = 0;
};

/// Whether each variable of the other side is bound by this one.
bool binds_all(const Equation&, int side);

class Saturation {
 public:
  enum class Outcome : std::uint8_t { reached, complete, limited };

  /// The result of a rule at a term, or at a part of one.
  struct Application {
    Ref before, after;
    int rule = 0;
  };

  Saturation(TermTable&, std::span<const Rule>, const std::vector<Direction>&);

  /// Whether a direction is searched for at a class, and whether a match of it is used. Without these functions, everything is. The answer
  /// of the first one may become true only where a class has changed. The second one may look at the references for which the variables of
  /// a match stand, and at the operands of these.
  void search_where(std::function<bool(const Direction&, int root)> where) { where_ = std::move(where); }
  void use_if(std::function<bool(const Direction&, const Match&)> used) { used_ = std::move(used); }
  /// Called for each term that a round has added at a class.
  void on_added(std::function<void(int term, int root)> added) { added_ = std::move(added); }

  /// Gives classes to all terms of the table, and applies rules. reached: `is_reached` holds; complete: nothing changes; limited: a limit was met.
  Outcome run(const SaturationLimits&, const std::function<bool()>& is_reached);

  /// Unites terms to which rules were applied elsewhere. Gives classes to all terms of the table.
  void add(std::span<const Application>);

  const EGraph& graph() const { return graph_; }
  int rounds() const { return rounds_; }

 private:
  struct SideMatcher {
    Matcher matcher;
    Direction direction;
  };
  /// Whether all matches were found before the table was full.
  bool find(const SaturationLimits&);
  int depth_of_matches(const SideMatcher&) const;
  void find_distances(int deepest);

  TermTable& terms_;
  EGraph graph_;
  std::span<const Rule> rules_;
  std::vector<SideMatcher> matchers_;
  std::vector<Application> found_;
  std::vector<int> distances_;     // by class: how far below it is the nearest class that has changed since the last round
  bool is_partly_matched_ = true;  // the last round did not match all that had changed before it
  std::function<bool(const Direction&, int)> where_;
  std::function<bool(const Direction&, const Match&)> used_;
  std::function<void(int, int)> added_;
  int rounds_ = 0;
};

}  // namespace tilewright::passes::search
